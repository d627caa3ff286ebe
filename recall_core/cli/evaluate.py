"""``evaluate``: how well do queries find what is relevant to them?"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError
from .common import load_data, print_json, teller, writable
from .spec_options import add_spec_options, spec_of

if TYPE_CHECKING:
    from ..protocol import Spec
    from ..ranking import Ranking


def add_options(command: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    from ..ranking import EXECUTORS, MEMORY

    add_spec_options(command)
    option = command.add_argument
    option("--json", action="store_true", help="print one JSON object instead of text")
    option("--csv", metavar="OUT", help="write one row a query to this file")
    option(
        "--slices", metavar="COLUMN", action="append", default=[], help="a score by the values of a column; repeatable"
    )
    option("--metric", metavar="NAME", help="the score that --slices shows (default: recall@k at the first k)")
    option("--html", metavar="OUT", help="write the report as one HTML file, with curves and the worst queries")
    option("--tags", action="store_true", help="put the tags and notes that the app keeps into the HTML file")
    option("--trec-qrels", metavar="OUT", help="write what is relevant as TREC qrels to this file")
    option("--trec-run", metavar="OUT", help="write the top of each list as a TREC run to this file")
    option("--save", metavar="DIR", help="write the run to this folder, to be opened again or compared")
    option("--force", action="store_true", help="let --save replace a former run")
    option("--save-embeddings", metavar="FILE", help="write the encoder's vectors, by row, as .npy")
    names = ", ".join(EXECUTORS)
    option("--executor", metavar="NAME", help=f"rank in many workers: {names}; the numbers stay the same")
    option("--workers", metavar="N", type=int, help="of threads or processes (default: one a processor)")
    mebibytes = MEMORY // 2**20
    option("--task-memory", metavar="MIB", type=int, default=mebibytes, help=f"of each task (default: {mebibytes})")


def run(parsed: argparse.Namespace) -> None:
    """Evaluate, print the report, and write what was asked for."""
    import numpy as np

    from ..diagnosis import html_page, marks, score_of, slices, slices_json, slices_text
    from ..evaluation import evaluate, report_csv, report_json, report_text, save, to_qrels, to_run
    from ..protocol import encode_dataset, resolve

    _check_outputs(parsed)
    spec = spec_of(parsed)
    dataset = load_data(spec)
    encoded = None
    if parsed.save_embeddings is not None:
        if resolve(dataset, spec).encoder is None:
            raise DataError("--save-embeddings writes what an encoder makes, and here vectors or scores are given")
        encoded = encode_dataset(dataset, spec)
        with writable(parsed.save_embeddings).open("wb") as stream:
            np.save(stream, encoded)
    with _ranker(parsed, spec) as ranker:
        evaluation = evaluate(dataset, spec, encoded=encoded, ranker=ranker)
    if parsed.csv is not None:
        writable(parsed.csv).write_text(report_csv(evaluation), encoding="utf-8")
    if parsed.save is not None:
        save(evaluation, Path(parsed.save), force=parsed.force)
    if parsed.trec_qrels is not None:
        writable(parsed.trec_qrels).write_text(to_qrels(evaluation), encoding="utf-8")
    if parsed.trec_run is not None:
        writable(parsed.trec_run).write_text(to_run(evaluation), encoding="utf-8")
    metric = score_of(evaluation, parsed.metric).name
    sliced = {column: slices(evaluation, column, metric) for column in parsed.slices}
    if parsed.html is not None:
        known = marks(dataset.name) if parsed.tags else None
        written = html_page(evaluation, columns=parsed.slices, metric=metric, marks=known)
        writable(parsed.html).write_text(written, encoding="utf-8")
    if parsed.json:
        whole = report_json(evaluation)
        if sliced:
            whole["slices"] = slices_json(sliced, metric)
        print_json(whole)
    else:
        sections = [slices_text(table, column, metric) for column, table in sliced.items()]
        print(report_text(evaluation), *sections, sep="", end="")


def _check_outputs(parsed: argparse.Namespace) -> None:
    """Find out before hours of ranking, not after, that a result cannot be kept."""
    from ..evaluation import check_free

    for name in (parsed.csv, parsed.html, parsed.trec_qrels, parsed.trec_run, parsed.save_embeddings):
        if name is not None:
            writable(name)
    if parsed.save is not None:
        check_free(Path(parsed.save), force=parsed.force)


@contextmanager
def _ranker(parsed: argparse.Namespace, spec: Spec) -> Iterator[Callable[..., Ranking]]:
    """Open the executor that was asked for, or rank in this process."""
    from ..evaluation import rank_here
    from ..ranking import open_ranker

    if parsed.executor is None:
        yield rank_here
        return
    if spec.scores is not None:
        raise DataError("--executor ranks vectors, and --scores has none; leave one of the two out")
    if spec.rerank is not None:
        raise DataError("--rerank ranks in this process; leave --executor out")
    if parsed.task_memory < 1 or (parsed.workers is not None and parsed.workers < 1):
        raise DataError("--task-memory and --workers are at least 1")
    tell, memory = teller(), parsed.task_memory * 2**20
    with open_ranker(
        parsed.executor, workers=parsed.workers, memory=memory, progress=lambda done, total: tell("tasks", done, total)
    ) as ranker:
        yield ranker
