"""The exact pass: ranks and ties of the relevant items, and the top of each list."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, IntArray, Tick
from ..errors import DataError
from .arithmetic import Run
from .certified import Sizes, one_blas_thread, part_of, parts_of_self
from .record import Ranking, finish
from .relevance import Relevance
from .similarity import SIMILARITIES, Vectors, exact_block, exact_pairs, prepare
from .stretch import Asked, Part, ranges, rank_row, top_of_row


def rank(
    query: ArrayLike | Vectors,
    gallery: ArrayLike | Vectors,
    relevance: Relevance,
    *,
    top: int = 10,
    similarity: str = "cosine",
    memory: int = 256 * 2**20,
    workers: int | None = None,
    progress: Tick | None = None,
) -> Ranking:
    """Where do the relevant items stand among the gallery, by the similarity of vectors?

    Parameters
    ----------
    query, gallery : (n_query, n_dim) and (n_gallery, n_dim) arrays, or prepared
        Real numbers. ``prepare`` makes them ready once for many calls.
    relevance : Relevance
    top : int
        Depth of the lists that are kept; 0 keeps none.
    similarity : str
        ``cosine`` (a zero row is 0 to everything, see ``without_answers``), ``dot``, or ``euclidean`` (negative
        distance).
    memory : int
        Bytes to work in, beside the vectors, their prepared copies and the result.
    workers : int, optional
        Threads; as many as there are processors if not given.
    progress : callable, optional
        Called with (blocks done, blocks in all) after each block; what it raises ends the pass.

    Returns
    -------
    Ranking
        Order: descending similarity, ties by gallery position. The same bit for bit whatever the BLAS, the number of
        threads, the memory budget or the order of the queries.

    Raises
    ------
    DataError
        Vectors that cannot be compared (see ``prepare``) or do not fit in memory.

    Notes
    -----
    What "exactly" means. Cosine: cosines more than 1.2e-12 apart (512 dimensions) are ordered rightly, closer ones may
    tie, and mathematically equal ones nearly always do. Dot product: of float32 vectors the correctly rounded one but
    for extreme cancellation, of float64 vectors within the last bit. Distance: squared distances that differ by more
    than 2⁻³⁹ of their size are ordered rightly. Whole numbers are exact throughout.

    Time. Cosine: about that of one float32 product, about ten where most items tie. The others are as fast while few
    items come close to a relevant one; but each close pair costs microseconds, so vectors that are nearly all the same
    under ``dot``, or a gallery with a far outlier under ``euclidean``, take minutes where cosine takes seconds.
    """
    workers = workers or _n_processors()
    with _threads(workers) as pool:
        g = _ready(gallery, "gallery vectors", similarity, pool.map)
        q = g if query is gallery else _ready(query, "query vectors", similarity, pool.map)
    _check_agreement(q, g, relevance, similarity)
    small = 2**20 if SIMILARITIES[similarity].by_product else 2**14
    if len(q) * len(g) <= small or 4 * top >= len(g):
        return _rank_blocks(
            lambda rows: exact_block(q.take(rows), g), relevance, top=top, memory=memory, progress=progress
        )
    try:
        return _rank_tiles(
            q,
            g,
            relevance,
            top=top,
            sizes=_sizes(len(g), memory, workers),
            workers=workers,
            symmetric=q is g and 2 * g.coarse.matrix.nbytes <= memory,
            progress=progress,
        )
    except MemoryError as error:
        raise DataError(
            f"ranking {len(q)} queries against {len(g)} items ran out of memory; give a smaller budget than"
            f" {memory / 2**20:.0f} MiB, keep fewer than {top} at the top, or use a larger machine"
        ) from error


def rank_scores(
    scores: ArrayLike,
    relevance: Relevance,
    *,
    top: int = 10,
    memory: int = 256 * 2**20,
    progress: Tick | None = None,
) -> Ranking:
    """Where do the relevant items stand in a given matrix of scores?

    Parameters
    ----------
    scores : (n_query, n_gallery) array
        Larger is more similar; compared as float64. nan means that the item was not retrieved.
    relevance : Relevance
    top, memory, progress
        As in ``rank``.

    Raises
    ------
    DataError
        An infinite score, or a matrix whose shape is not that of the relevance.
    """
    matrix = np.asarray(scores)
    expected = (relevance.n_query, relevance.n_gallery)
    if matrix.shape != expected:
        raise DataError(
            f"the scores have shape {matrix.shape}; expected {expected}, one row a query, one column an item"
        )
    if matrix.dtype.kind not in "fiub":
        raise DataError(f"the scores hold {matrix.dtype}; they must be real numbers")

    def block(rows: slice) -> FloatArray:
        values: FloatArray = matrix[rows].astype(np.float64)
        infinite = np.argwhere(np.isinf(values))
        if len(infinite):
            row, column = infinite[0] + (rows.start, 0)
            raise DataError(
                f"score {values[tuple(infinite[0])]} in row {row}, column {column} (counted from 0); scores must be"
                " finite, or nan where an item was not retrieved"
            )
        return values

    return _rank_blocks(block, relevance, top=top, memory=memory, progress=progress)


def without_answers(ranking: Ranking, queries: IntArray) -> Ranking:
    """The same, but nothing is retrieved for these queries, as for a row of nan in ``rank_scores``.

    For a query that is zero under cosine: it has no direction, so whoever stood first would stand there by the order of
    the gallery alone.
    """
    if not len(queries):
        return ranking
    pairs, rows = np.isin(ranking.query, queries), np.isin(np.arange(ranking.n_query), queries)[:, None]
    # Inside a query, what was not retrieved stands by position.
    order = np.lexsort((np.where(pairs, ranking.position, np.arange(len(pairs))), ranking.query))
    return Ranking(
        ranking.indptr,
        ranking.position[order],
        np.where(pairs, -1, ranking.above),
        np.where(pairs, -1, ranking.tied),
        np.where(pairs, 0, ranking.rank),
        np.where(pairs, np.nan, ranking.similarity),
        ranking.n_gallery,
        np.where(rows, -1, ranking.top_position),
        np.where(rows, np.nan, ranking.top_similarity),
    )


def own_similarities(query: Vectors, gallery: Vectors, relevance: Relevance, run: Run = map) -> FloatArray:
    """(n_pair,) exact similarities of the pairs of ``relevance.pairs()``.

    Where many queries share a set, one small product serves them all; else pair by pair. ``run`` maps a function over
    work, in order, at the same time if it likes.
    """
    indptr, position = relevance.pairs()
    owner = np.repeat(np.arange(relevance.n_query), np.diff(indptr))
    own = np.empty(len(position))

    def alone(at: slice) -> None:
        own[at] = exact_pairs(query, gallery, owner[at], position[at])

    sets = relevance.relevant
    askers = np.argsort(sets.index, kind="stable")
    bounds = np.searchsorted(sets.index[askers], np.arange(sets.n_set + 1))

    def together(a: int) -> None:
        for s in range(a, min(a + 64, sets.n_set)):
            members = sets.positions[sets.indptr[s] : sets.indptr[s + 1]]
            for first in range(bounds[s], bounds[s + 1], 256):
                queries = askers[first : min(first + 256, bounds[s + 1])]
                counts = indptr[queries + 1] - indptr[queries]
                pairs = ranges(indptr[queries], counts)
                block = exact_block(query.take(queries), gallery.take(members))
                row = np.repeat(np.arange(len(queries)), counts)
                own[pairs] = block[row, np.searchsorted(members, position[pairs])]

    shared = len(position) >= 32 * sets.n_set and len(sets.index) >= 4 * sets.n_set
    if shared and SIMILARITIES[query.similarity].by_product:
        list(run(together, range(0, sets.n_set, 64)))
    else:
        list(run(alone, [slice(a, a + 8192) for a in range(0, len(position), 8192)]))
    return own


def _rank_tiles(
    query: Vectors,
    gallery: Vectors,
    relevance: Relevance,
    *,
    top: int,
    sizes: Sizes,
    workers: int,
    symmetric: bool,
    progress: Tick | None = None,
) -> Ranking:
    """Rank by the certified pass, in threads of one BLAS thread each, so that counting overlaps the product."""
    indptr, position = relevance.pairs()
    junk_indptr, junk_position = relevance.junk.pairs()
    starts = range(0, len(query), sizes.block)
    slices = [slice(start, min(start + sizes.block, len(query))) for start in starts]
    whole = Part.empty(len(position), len(query), top)
    cancelled = Event()

    def tick() -> None:
        if cancelled.is_set():
            raise CancelledError

    with one_blas_thread(), _threads(workers) as pool:
        try:
            own = own_similarities(query, gallery, relevance, run=pool.map)
            asked = [
                Asked(
                    indptr[at.start : at.stop + 1] - indptr[at.start],
                    position[indptr[at.start] : indptr[at.stop]],
                    own[indptr[at.start] : indptr[at.stop]],
                    junk_indptr[at.start : at.stop + 1] - junk_indptr[at.start],
                    junk_position[junk_indptr[at.start] : junk_indptr[at.stop]],
                )
                for at in slices
            ]

            def one(b: int) -> Part:
                rows = query.take(slices[b])
                return part_of(rows, gallery, asked[b], start=0, top=top, sizes=sizes, tick=tick)

            if symmetric:
                parts = parts_of_self(gallery, asked, top=top, sizes=sizes, run=pool.map, tick=tick)
            else:
                parts = pool.map(one, range(len(slices)))
            for done, (at, part) in enumerate(zip(slices, parts, strict=True), 1):
                pairs = slice(indptr[at.start], indptr[at.stop])
                whole.above[pairs], whole.before[pairs], whole.tied[pairs] = part.above, part.before, part.tied
                whole.top_position[at], whole.top_similarity[at] = part.top_position, part.top_similarity
                if progress is not None:
                    progress(done, len(slices))
        except BaseException:
            cancelled.set()
            pool.shutdown(cancel_futures=True)
            raise
    return finish(indptr, position, own, relevance.n_gallery - relevance.junk.counts(), whole)


def _rank_blocks(
    block: Callable[[slice], FloatArray], relevance: Relevance, *, top: int, memory: int, progress: Tick | None
) -> Ranking:
    """Rank from exact similarities, a block of queries at a time."""
    n_query, n_gallery = relevance.n_query, relevance.n_gallery
    step = max(1, memory // max(1, 4 * 8 * n_gallery))
    starts = range(0, n_query, step)
    indptr, position = relevance.pairs()
    own = np.full(len(position), np.nan)
    n_kept = np.zeros(n_query, np.intp)
    part = Part.empty(len(position), n_query, min(top, n_gallery))
    for done, start in enumerate(starts, 1):
        values = block(slice(start, min(start + step, n_query)))
        for q, row in enumerate(values, start):
            junk = relevance.junk.of(q)
            row[junk] = np.nan
            n_kept[q] = n_gallery - len(junk)
            at = slice(indptr[q], indptr[q + 1])
            own[at] = row[position[at]]
            part.above[at], part.before[at], part.tied[at] = rank_row(row, own[at], position[at])
            first, similar = top_of_row(row, part.top_position.shape[1])
            part.top_position[q, : len(first)], part.top_similarity[q, : len(first)] = first, similar
        if progress is not None:
            progress(done, len(starts))
    return finish(indptr, position, own, n_kept, part)


def _threads(n: int) -> ThreadPoolExecutor:
    """Threads in which comparisons of short rows are not buffered: three times faster below 4096 columns."""
    return ThreadPoolExecutor(n, initializer=np.setbufsize, initargs=(1024,))


def _sizes(n_gallery: int, memory: int, workers: int) -> Sizes:
    """Cut the work so that all workers stay within the budget: about 50 kB for each query under way."""
    block = min(max(memory // (workers * 50_000), 64), 1024)
    return Sizes(block=block, sample=min(max(n_gallery // 40, 512), 8192))


def _n_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _ready(vectors: ArrayLike | Vectors, name: str, similarity: str, run: Run) -> Vectors:
    return vectors if isinstance(vectors, Vectors) else prepare(vectors, similarity, name=name, run=run)


def _check_agreement(query: Vectors, gallery: Vectors, relevance: Relevance, similarity: str) -> None:
    for name, vectors, n in (("query", query, relevance.n_query), ("gallery", gallery, relevance.n_gallery)):
        if len(vectors) != n:
            raise DataError(f"there are {len(vectors)} {name} vectors, the relevance speaks of {n}; they must agree")
        if vectors.similarity != similarity:
            raise ValueError(f"the {name} vectors were prepared for {vectors.similarity}, not for {similarity}")
    _check_dims(query, gallery)


def _check_dims(query: Vectors, gallery: Vectors) -> None:
    if query.n_dim != gallery.n_dim:
        raise DataError(
            f"query vectors have {query.n_dim} dimensions, gallery vectors {gallery.n_dim};"
            " both must come from one encoder"
        )
