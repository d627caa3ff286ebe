"""``export``: the data in our own folder form."""

from __future__ import annotations

import argparse
from pathlib import Path

from .common import read_pair
from .spec_options import add_reading_options


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    option = command.add_argument
    option("data", metavar="DATA", help="a folder, a table, or a built-in data set: digits, photo_patches")
    option("folder", metavar="FOLDER", help="a new folder; evaluate FOLDER prints the same numbers")
    add_reading_options(command)


def run(parsed: argparse.Namespace) -> None:
    """Write the data to a new folder."""
    from ..datasets import export, load

    columns = dict(read_pair(given, "--column ROLE=COLUMN") for given in parsed.column)
    export(load(parsed.data, columns=columns, encoding=parsed.encoding), Path(parsed.folder))
