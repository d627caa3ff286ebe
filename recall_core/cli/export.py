"""``export``: the data in our own folder form."""

from __future__ import annotations

import argparse
from pathlib import Path

from .common import load_data
from .spec_options import READING, add_choices, spec_of


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    option = command.add_argument
    option("data", metavar="DATA", help="a folder, a table, or a built-in data set: digits, photo_patches")
    option("folder", metavar="FOLDER", help="a new folder; evaluate FOLDER prints the same numbers")
    add_choices(command, READING)


def run(parsed: argparse.Namespace) -> None:
    """Write the data to a new folder."""
    from ..datasets import export

    export(load_data(spec_of(parsed, ("data", *READING))), Path(parsed.folder))
