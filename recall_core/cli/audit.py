"""``audit``: what is suspicious about the data?"""

from __future__ import annotations

import argparse

from .common import load_data, print_json, writable
from .spec_options import add_spec_options, spec_of


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    from ..diagnosis import NEAR_COSINE, NEAR_DISTANCE

    add_spec_options(command)
    option = command.add_argument
    option(
        "--threshold",
        metavar="COSINE",
        type=float,
        default=NEAR_COSINE,
        help=f"of near-duplicates (default: {NEAR_COSINE})",
    )
    bits = f"bits of 64 that near-duplicates' perceptual hashes may differ in (default: {NEAR_DISTANCE})"
    option("--distance", metavar="BITS", type=int, default=NEAR_DISTANCE, help=bits)
    option("--json", action="store_true", help="print one JSON object instead of text")
    option("--csv", metavar="OUT", help="write one row a pair of duplicates to this file")


def run(parsed: argparse.Namespace) -> None:
    """Inspect the data, and print what is suspicious."""
    from ..diagnosis import inspect, inspection_json, inspection_text
    from ..evaluation import table_csv

    spec = spec_of(parsed)
    dataset = load_data(spec)
    found = inspect(dataset, spec, threshold=parsed.threshold, distance=parsed.distance)
    if parsed.csv is not None:
        writable(parsed.csv).write_text(table_csv(found.pairs), encoding="utf-8")
    if parsed.json:
        print_json(inspection_json(dataset, found))
    else:
        print(inspection_text(dataset, found), end="")
