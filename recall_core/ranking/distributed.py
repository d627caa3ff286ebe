"""The exact pass beyond one machine: a map over (queries × stretch of the gallery), and a merge.

Counts add up and tops merge (``stretch``), so the stretches may be ranked by any ``concurrent.futures.Executor``:
threads, processes, a dask cluster. Each task is a function of its arguments alone; it reads the rows that it needs by
itself, and may be run again where a worker is lost. Rankings are those of ``exact_pass.rank``, bit for bit.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray, Tick
from ..datasets import Shards, one_file
from ..errors import DataError, needs, setting
from .arithmetic import row_slices
from .certified import Sizes, one_blas_thread, part_of
from .record import Ranking, finish
from .relevance import Relevance
from .similarity import SIMILARITIES, Vectors, exact_pairs, prepare
from .stretch import Asked, Part, merge

MEMORY = 2**30
EXECUTORS = ("threads", "processes", "dask://HOST:PORT")
"""As ``open_executor`` takes them."""


@dataclass(frozen=True, eq=False)
class Side:
    """The rows of one side, where they lie.

    Parameters
    ----------
    source : (n_item, n_dim) array or Shards
        Whatever gives rows for ``source[rows]``. An array is sent along, so only to threads.
    rows : (n,) intp
        Which rows are this side's, in its order.
    """

    source: Any
    rows: IntArray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_dim(self) -> int:
        """Number of dimensions."""
        return int(self.source.shape[1])

    @property
    def row_bytes(self) -> int:
        """What a row takes while it is worked on: as read, as float64 where it must be, and in its prepared form."""
        return (12 if self.source.dtype == np.float32 else 24) * max(self.n_dim, 1)

    def take(self, at: slice | IntArray) -> Side:
        """Keep these places of the side."""
        return Side(self.source, self.rows[at])

    def prepared(self, similarity: str) -> Vectors:
        """Read the rows and make them ready for exact comparison."""
        return prepare(self.source[self.rows], similarity)


class Task(NamedTuple):
    """One stretch of the gallery, from position ``start`` on, for some queries, ``block`` of them at a time."""

    query: Side
    gallery: Side
    asked: Asked
    start: int
    top: int
    similarity: str
    block: int


class Plan(NamedTuple):
    """How the work is cut: places of the queries, and of the gallery; each pair of the two is a task."""

    queries: list[slice]
    stretches: list[slice]
    block: int


def rank_distributed(
    query: Side,
    gallery: Side,
    relevance: Relevance,
    executor: Executor,
    *,
    top: int = 10,
    similarity: str = "cosine",
    memory: int = MEMORY,
    workers: int = 1,
    progress: Tick | None = None,
) -> Ranking:
    """Where do the relevant items stand, ranked by many workers that each see a part of the gallery?

    Parameters
    ----------
    query, gallery : Side
        Which rows of which vectors; nobody holds them whole.
    relevance : Relevance
    executor : Executor
        Its workers must be able to read the files of both sides.
    top, similarity
        As in ``exact_pass.rank``.
    memory : int
        Bytes that a task works in, its vectors included.
    workers : int
        So many tasks are thought to run at the same time; twice as many are on their way at any moment.
    progress : callable, optional
        Called with (tasks done, tasks in all).

    Returns
    -------
    Ranking
        The same bit for bit as ``rank`` of the same vectors, whatever the executor, the cut, or the order in which the
        answers arrive.

    Raises
    ------
    DataError
        Vectors that cannot be compared, or workers that are lost again and again.
    """
    if similarity not in SIMILARITIES:
        raise DataError(
            f"similarity {similarity!r} is not known; choose from {', '.join(SIMILARITIES)}", field="similarity"
        )
    if query.n_dim != gallery.n_dim:
        raise DataError(
            f"query vectors have {query.n_dim} dimensions, gallery vectors {gallery.n_dim};"
            " both must come from one encoder"
        )
    if (len(query), len(gallery)) != (relevance.n_query, relevance.n_gallery):
        raise ValueError("the sides must be those that the relevance speaks of")
    top = min(top, len(gallery))
    row_bytes = max(query.row_bytes, gallery.row_bytes)
    plan = cut(len(query), len(gallery), row_bytes, memory=memory, workers=workers)
    indptr, position = relevance.pairs()
    owner = np.repeat(np.arange(len(query)), np.diff(indptr))
    # Neighbours in the gallery are read together.
    order = np.argsort(position, kind="stable")
    step = max(memory // 4 // row_bytes, 1)
    pairs = [order[start : start + step] for start in range(0, len(order), step)]
    total, done = len(pairs) + len(plan.queries) * len(plan.stretches), 0

    def told(result: Any) -> Any:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)
        return result

    own = np.empty(len(position))
    asked_pairs = ((query.take(owner[at]), gallery.take(position[at]), similarity) for at in pairs)
    for number, found in _run(executor, own_of, asked_pairs, 2 * workers):
        own[pairs[number]] = told(found)

    tasks = [(s, q) for s in range(len(plan.stretches)) for q in range(len(plan.queries))]  # a worker keeps its stretch
    asked = [_asked(relevance, own, at) for at in plan.queries]
    made = (
        Task(query.take(plan.queries[q]), gallery.take(at), asked[q], at.start, top, similarity, plan.block)
        for s, q in tasks
        for at in [plan.stretches[s]]
    )
    parts: list[Part | None] = [None] * len(plan.queries)
    for number, part in _run(executor, part_of_stretch, made, 2 * workers):
        q = tasks[number][1]
        former = parts[q]
        parts[q] = told(part) if former is None else merge([former, told(part)])
    _stretch.cache_clear()
    whole = _joined([part for part in parts if part is not None], len(position), len(query), top)
    return finish(indptr, position, own, relevance.n_gallery - relevance.junk.counts(), whole)


def cut(n_query: int, n_gallery: int, row_bytes: int, *, memory: int, workers: int) -> Plan:
    """How is the work cut, so that a task keeps the budget and every worker has something to do?

    Half of the budget is for the stretch of the gallery, a quarter for the queries, a quarter for the products. Each
    further stretch costs: its queries are prepared again, and have a top of their own. So there are as few as possible.
    """
    stretch = max(memory // 2 // row_bytes, 1)
    queries = max(min(memory // 4 // row_bytes, 65_536), 1)
    block = int(min(max(memory // 4 // 50_000, 16), 1024))
    n_query_cut = -(-n_query // queries)
    wanted = min(-(-workers // max(n_query_cut, 1)), -(-n_gallery // 2048))
    return Plan(_evenly(n_query, n_query_cut), _evenly(n_gallery, max(-(-n_gallery // stretch), wanted, 1)), block)


def own_of(query: Side, gallery: Side, similarity: str) -> FloatArray:
    """(n_pair,) exact similarities of row by row; each row is read once."""
    rows, q = np.unique(query.rows, return_inverse=True)
    items, g = np.unique(gallery.rows, return_inverse=True)
    asked, answers = Side(query.source, rows).prepared(similarity), Side(gallery.source, items).prepared(similarity)
    return exact_pairs(asked, answers, q, g)


def part_of_stretch(
    query: Side, gallery: Side, asked: Asked, start: int, top: int, similarity: str, block: int
) -> Part:
    """Rank a stretch of the gallery, as a ``Task`` says: what it adds to the ranking of these queries."""
    answers = _stretch(_key(gallery, similarity))
    parts = []
    with one_blas_thread(), _small_buffers():
        for at in row_slices(len(query), block):
            rows = query.take(at).prepared(similarity)
            parts.append(part_of(rows, answers, _rows_of(asked, at), start=start, top=top, sizes=Sizes(block=block)))
    return _joined(parts, len(asked.position), len(query), top)


@contextmanager
def open_executor(name: str, workers: int | None = None) -> Iterator[tuple[Executor, int]]:
    """Open the executor of this name; yields it and the number of its workers.

    Raises
    ------
    DataError
        No such executor, or a cluster that does not answer.
    MissingDependency
        dask.distributed is not installed.
    """
    n = workers or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    if name == "threads":
        with ThreadPoolExecutor(n) as pool:
            yield pool, n
    elif name == "processes":
        # A forked child of a process with threads may inherit a lock that nobody will ever release.
        with ProcessPoolExecutor(n, mp_context=get_context("spawn")) as pool:
            yield pool, n
    elif re.fullmatch(r"dask://.+:\d+", name):
        with _dask(name.removeprefix("dask://")) as opened:
            yield opened
    else:
        raise DataError(f"{setting('executor', name)}: no such executor; choose {', '.join(EXECUTORS)}")


@contextmanager
def open_ranker(
    name: str, *, workers: int | None = None, memory: int = MEMORY, progress: Tick | None = None
) -> Iterator[Callable[..., Ranking]]:
    """Open an executor as a ranker: what ``evaluation.evaluate`` takes as ``ranker``.

    Vectors that are in memory are written to a temporary file, which the workers map; so a cluster of other machines
    needs shards that it can reach.
    """
    with open_executor(name, workers) as (executor, n), tempfile.TemporaryDirectory(prefix="recall-") as folder:
        spilled: dict[int, tuple[Any, Shards]] = {}

        def source(vectors: Any) -> Any:
            if name == "threads" or isinstance(vectors, Shards):
                return vectors
            if id(vectors) not in spilled:
                spilled[id(vectors)] = vectors, one_file(Path(folder) / f"{len(spilled)}.npy", np.asarray(vectors))
            return spilled[id(vectors)][1]

        def ranker(
            asked: Any, query: IntArray, answers: Any, gallery: IntArray, relevance: Relevance, **choices: Any
        ) -> Ranking:
            sides = Side(source(asked), query), Side(source(answers), gallery)
            return rank_distributed(*sides, relevance, executor, memory=memory, workers=n, progress=progress, **choices)

        yield ranker


@dataclass(frozen=True)
class _Key:
    """What makes two stretches the same; the side itself only says where to read."""

    files: tuple[object, ...]
    rows: bytes
    similarity: str
    side: Side = field(compare=False)


@lru_cache(maxsize=1)
def _stretch(key: _Key) -> Vectors:
    """Prepare a stretch, kept until another is asked for: a worker meets the same one many times."""
    return key.side.prepared(key.similarity)


def _key(side: Side, similarity: str) -> _Key:
    files = side.source.files if isinstance(side.source, Shards) else (id(side.source),)
    return _Key(files, side.rows.tobytes(), similarity, side)


def _run(
    executor: Executor, function: Callable[..., Any], tasks: Iterator[tuple[Any, ...]], in_flight: int
) -> Iterator[tuple[int, Any]]:
    """(number, result) of each task as it comes; only so many are on their way that their arguments stay few."""
    waiting: dict[Future[Any], int] = {}
    numbered = enumerate(tasks)
    try:
        while True:
            while len(waiting) < in_flight and (one := next(numbered, None)) is not None:
                waiting[executor.submit(function, *one[1])] = one[0]
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()
    except BrokenProcessPool as error:
        raise DataError(
            "a worker process ended without an answer, perhaps for want of memory; give a smaller budget, or fewer"
            " workers"
        ) from error
    finally:
        for future in waiting:
            future.cancel()


@contextmanager
def _dask(address: str) -> Iterator[tuple[Executor, int]]:
    with needs("dask.distributed", "a dask cluster", extra="dask"):
        dask: Any = import_module("distributed")
    try:
        client = dask.Client(f"tcp://{address}", set_as_default=False)
    except OSError as error:
        raise DataError(f"no dask scheduler answers at {address} ({error}); start one with: dask scheduler") from error
    with client, client.get_executor(pure=False) as executor:
        yield executor, max(sum(client.nthreads().values()), 1)


@contextmanager
def _small_buffers() -> Iterator[None]:
    """Comparisons of short rows without buffering: three times faster below 4096 columns."""
    former = np.setbufsize(1024)
    try:
        yield
    finally:
        np.setbufsize(former)


def _asked(relevance: Relevance, own: FloatArray, at: slice) -> Asked:
    """What is asked about these queries, of all their pairs' similarities."""
    first = len(relevance.pairs(0, at.start)[1])
    indptr, position = relevance.pairs(at.start, at.stop)
    return Asked(indptr, position, own[first : first + len(position)], *relevance.junk.pairs(at.start, at.stop))


def _rows_of(asked: Asked, at: slice) -> Asked:
    pairs = slice(asked.indptr[at.start], asked.indptr[at.stop])
    junk = slice(asked.junk_indptr[at.start], asked.junk_indptr[at.stop])
    return Asked(
        asked.indptr[at.start : at.stop + 1] - pairs.start,
        asked.position[pairs],
        asked.own[pairs],
        asked.junk_indptr[at.start : at.stop + 1] - junk.start,
        asked.junk_position[junk],
    )


def _joined(parts: Sequence[Part], n_pair: int, n_query: int, top: int) -> Part:
    """Parts of queries that follow each other, as one."""
    parts = parts or [Part.empty(n_pair, n_query, top)]
    return Part(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in Part.__dataclass_fields__})


def _evenly(n: int, parts: int) -> list[slice]:
    edges: NDArray[np.intp] = np.linspace(0, n, max(parts, 1) + 1).astype(np.intp)
    return [slice(int(a), int(b)) for a, b in pairwise(edges) if b > a]
