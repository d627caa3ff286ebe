"""``python -m recall_core``."""

import io
import sys

from .cli import main

if isinstance(sys.stdout, io.TextIOWrapper):
    # Reports, JSON and CSV are UTF-8 wherever they are sent, not what the terminal's language happens to be.
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
sys.exit(main())
