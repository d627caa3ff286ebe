"""``failures``: which queries miss, the worst first?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from ..errors import DataError
from .common import load_data
from .spec_options import add_spec_options, spec_of


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    from ..diagnosis import MISS_REASONS, SORTS

    add_spec_options(command)
    option = command.add_argument
    option("--cut", metavar="K", type=int, default=1, help="nothing relevant among the first K is a miss (default: 1)")
    option("--reason", choices=MISS_REASONS, action="append", help="only these; may be repeated (default: all)")
    option("--sort", choices=SORTS, default="rank", help="the worst first, by this (default: rank)")
    option(
        "--tag", metavar="NAME", action="append", default=[], help="only with this tag of the app's, or another named"
    )
    option("--untagged", action="store_true", help="only without a tag, or with one that --tag names")


def run(parsed: argparse.Namespace) -> None:
    """Print the queries that miss, as CSV."""
    import numpy as np

    from .. import diagnosis
    from ..evaluation import evaluate, table_csv

    spec = spec_of(parsed)
    dataset = load_data(spec)
    given = diagnosis.tags_of(diagnosis.marks(dataset.name)) if parsed.tag or parsed.untagged else {}
    tags = _known_tags(parsed.tag, given, dataset.name) + [diagnosis.UNTAGGED] * parsed.untagged
    evaluation = evaluate(dataset, spec)
    alike = diagnosis.comparer(evaluation)
    found = diagnosis.failures(evaluation, parsed.cut, reasons=parsed.reason or (), sort=parsed.sort, alike=alike)
    if tags:
        kept = np.array([diagnosis.meets(given, str(item), tags) for item in found["id"]], dtype=bool)
        found = found[kept].reset_index(drop=True)
    print(table_csv(diagnosis.failure_table(evaluation, found, alike)), end="")


def _known_tags(asked: list[str], given: Mapping[str, Sequence[str]], dataset: str) -> list[str]:
    """Check that each tag is one that some item has."""
    used = sorted({tag for tags in given.values() for tag in tags})
    for tag in asked:
        if tag not in used:
            there = f"those in use are {', '.join(used)}" if used else "none is in use; check RECALL_STATE_DIR"
            raise DataError(f"no item of {dataset} has the tag {tag!r}; {there}")
    return asked
