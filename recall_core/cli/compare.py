"""``compare``: which of several runs or encoders is better, and on which queries?"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError
from .common import load_data, print_json, writable
from .spec_options import add_spec_options, spec_of

if TYPE_CHECKING:
    from ..evaluation import Evaluation
    from ..protocol import Spec


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    option = command.add_argument
    option(
        "runs",
        metavar="RUN",
        nargs="+",
        help="folders written by evaluate --save, or one DATA with --embeddings FILE FILE; "
        "the differences are later - earlier",
    )
    add_spec_options(command, several=True)
    option("--metric", metavar="NAME", nargs="+", help="scores to compare (default: recall@k at the first k, and map)")
    option("--common", action="store_true", help="compare the queries that all have, and count the others")
    option("--json", action="store_true", help="print one JSON object instead of text")
    option("--csv", metavar="OUT", help="write one row a run and metric to this file")
    option("--latex", metavar="OUT", help="write the table of runs as a LaTeX tabular to this file")


def run(parsed: argparse.Namespace) -> None:
    """Compare runs, and print the differences."""
    from ..diagnosis import (
        compare,
        comparison_json,
        comparison_latex,
        comparison_text,
        default_metrics,
        run_table,
    )
    from ..evaluation import table_csv

    opened = _evaluated(parsed) if parsed.embeddings is not None else _opened(parsed)
    compared = compare(opened, common=parsed.common)
    metrics = parsed.metric or default_metrics(opened.values())
    if parsed.csv is not None:
        writable(parsed.csv).write_text(table_csv(run_table(compared, metrics)), encoding="utf-8")
    if parsed.latex is not None:
        writable(parsed.latex).write_text(comparison_latex(compared, metrics), encoding="utf-8")
    if parsed.json:
        print_json(comparison_json(compared, metrics))
    else:
        print(comparison_text(compared, metrics), end="")


def _opened(parsed: argparse.Namespace) -> dict[str, Evaluation]:
    """Open saved runs, whose choices were made when they were saved."""
    from ..evaluation import open_run
    from ..protocol import Spec

    chosen = _spec_with(parsed, data="", embeddings=None).to_json()
    idle = [name for name, value in Spec().to_json().items() if chosen[name] != value]
    if idle:
        flag = "--k" if idle[0] == "ks" else "--" + idle[0].replace("_", "-")
        raise DataError(f"{flag} is a choice for DATA with --embeddings FILE FILE; a saved run has made its own")
    return {name: open_run(Path(given)) for name, given in zip(run_names(parsed.runs), parsed.runs, strict=True)}


def _evaluated(parsed: argparse.Namespace) -> dict[str, Evaluation]:
    """Evaluate one data set with each file of vectors, all other choices the same."""
    from ..evaluation import evaluate

    if len(parsed.runs) > 1 or len(parsed.embeddings) < 2:
        raise DataError(
            f"compare takes one DATA with at least two files of --embeddings, not {len(parsed.runs)} with "
            f"{len(parsed.embeddings)}; or saved runs without --embeddings"
        )
    specs = [_spec_with(parsed, data=parsed.runs[0], embeddings=file) for file in parsed.embeddings]
    dataset = load_data(specs[0])
    names = run_names(parsed.embeddings, named=lambda path: path.stem)
    return {name: evaluate(dataset, spec) for name, spec in zip(names, specs, strict=True)}


def _spec_with(parsed: argparse.Namespace, **given: str | None) -> Spec:
    return spec_of(argparse.Namespace(**vars(parsed) | given))


def run_names(folders: Sequence[str], *, named: Callable[[Path], str] = lambda path: path.name) -> list[str]:
    """Name each run by its folder's name, or by the path as given where two share a name."""
    short = [named(Path(folder).resolve()) for folder in folders]
    names = [one if short.count(one) == 1 else folder for one, folder in zip(short, folders, strict=True)]
    there = [Path(folder).resolve() for folder in folders]
    if len(set(there)) < len(there):
        raise DataError(
            f"{folders[there.index(max(there, key=there.count))]} is named twice; a run is compared with another"
        )
    return names
