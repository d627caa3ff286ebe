"""``python -m recall_core``."""

import sys

from .cli import main

sys.exit(main())
