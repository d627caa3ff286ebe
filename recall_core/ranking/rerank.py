"""Re-rankers: rankers that look at the neighbours too, compared like any other.

Each has ``rank``'s signature. They see the gallery's vectors and never what is right; junk never helps a query.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, IntArray, Tick
from ..errors import DataError, setting
from .exact_pass import rank, rank_scores
from .record import Ranking
from .relevance import Relevance, Sets
from .similarity import exact_block, physical_memory, prepare
from .stretch import top_of_row

N_EXPANSION = 5
K1, K2, WEIGHT = 20, 6, 0.3
_DIGITS = 9  # exp and sums differ in the last bits between machines; what is equal must stay equal


def query_expansion(
    query: ArrayLike,
    gallery: ArrayLike,
    relevance: Relevance,
    *,
    top: int = 10,
    similarity: str = "cosine",
    n: int = N_EXPANSION,
    progress: Tick | None = None,
) -> Ranking:
    """Where do the relevant items stand, if each query is replaced by its mean with the first n items of its list?

    Average query expansion (Chum et al., ICCV 2007): unit vectors are averaged, and the gallery is ranked anew. Junk is
    gone from the first list. An expanded query that cancels to zero stays as it was.

    Parameters
    ----------
    query, gallery, relevance, top, progress
        As in ``ranking.rank``.
    similarity : str
        ``cosine`` alone.
    n : int
        Items that are added; 0 changes nothing.
    """
    _only_cosine(similarity)
    q, g = _units(query), _units(gallery)
    first = rank(q, g, relevance, top=n).top_position
    there = first >= 0
    total = q + (g[np.maximum(first, 0)] * there[:, :, None]).sum(axis=1)
    expanded = np.where(total.any(axis=1, keepdims=True), total, q)
    return rank(expanded, g, relevance, top=top, progress=progress)


def k_reciprocal(
    query: ArrayLike,
    gallery: ArrayLike,
    relevance: Relevance,
    *,
    top: int = 10,
    similarity: str = "cosine",
    k1: int = K1,
    k2: int = K2,
    weight: float = WEIGHT,
    progress: Tick | None = None,
) -> Ranking:
    """Where do the relevant items stand, if items are near that are each other's neighbours, and share theirs?

    k-reciprocal encoding (Zhong et al., CVPR 2017): the distance is ``weight`` times the original one plus the rest
    times the Jaccard distance of the neighbourhoods, among queries and gallery together. It needs all pairs of them, so
    it is for some ten thousand items. A query's junk is left out of the neighbours that stand for the query.

    Parameters
    ----------
    query, gallery, relevance, top, progress
        As in ``ranking.rank``. Where they are the same array, each item stands there once.
    similarity : str
        ``cosine`` alone.
    k1, k2 : int
        Neighbours that must be mutual; neighbours whose neighbourhoods are averaged, the item itself being the first.
    weight : float
        Of the original distance, between 0 and 1; 1 changes nothing.

    Returns
    -------
    Ranking
        Similarities are negative distances, rounded to 9 digits.

    Raises
    ------
    DataError
        All pairs do not fit in memory.
    """
    _only_cosine(similarity)
    together = query is gallery
    vectors = np.asarray(gallery) if together else np.concatenate([np.asarray(query), np.asarray(gallery)])
    n, n_query = len(vectors), relevance.n_query
    if 3 * 8 * n * n > physical_memory() / 2:
        raise DataError(f"k-reciprocal compares all pairs of {n} items, which does not fit in memory; take fewer")
    prepared = prepare(vectors)
    cosine = exact_block(prepared, prepared)
    offset = 0 if together else n_query
    scores = reciprocal_scores(cosine, n_query, offset, relevance.junk, k1=k1, k2=k2, weight=weight)
    return rank_scores(scores, relevance, top=top, progress=progress)


def reciprocal_scores(
    cosine: FloatArray, n_query: int, offset: int, junk: Sets, *, k1: int, k2: int, weight: float
) -> FloatArray:
    """(n_query, n − offset) negative distances by k-reciprocal encoding.

    Parameters
    ----------
    cosine : (n, n) float64
        Of all items; the first ``n_query`` ask, those from ``offset`` on answer.
    """
    distance = 1 - cosine
    largest = distance.max(axis=1, keepdims=True)
    distance /= np.where(largest > 0, largest, 1)
    nearest = _nearest(cosine, max(k1, k2 - 1), n_query, offset, junk)
    near_half = [_mutual(nearest, i, round(k1 / 2)) for i in range(len(cosine))]
    encoded = np.zeros_like(cosine)
    for i in range(len(cosine)):
        core = _mutual(nearest, i, k1)
        grown = [near_half[j] for j in core if len(np.intersect1d(near_half[j], core)) > 2 / 3 * len(near_half[j])]
        members = np.unique(np.concatenate([core, *grown]))
        weights = np.exp(-distance[i, members])
        encoded[i, members] = weights / weights.sum()
    if k2 > 1:
        encoded = np.stack([encoded[row[:k2]].mean(axis=0) for row in nearest])
    scores = np.empty((n_query, len(cosine) - offset))
    for i in range(n_query):
        shared = np.flatnonzero(encoded[i])
        common = np.minimum(encoded[i, shared], encoded[offset:, shared]).sum(axis=1)
        jaccard = 1 - common / (2 - common)
        scores[i] = -np.round((1 - weight) * jaccard + weight * distance[i, offset:], _DIGITS)
    return scores


def _nearest(cosine: FloatArray, k: int, n_query: int, offset: int, junk: Sets) -> list[IntArray]:
    """For each item itself, then its k nearest others, ties by position; a query's junk is no neighbour of it."""
    found = []
    for i, row in enumerate(cosine):
        others = row.copy()
        if i < n_query:
            others[junk.of(i) + offset] = np.nan
        others[i] = np.nan
        found.append(np.concatenate([[i], top_of_row(others, k)[0]]).astype(np.intp))
    return found


def _mutual(nearest: list[IntArray], i: int, k: int) -> IntArray:
    """Itself and those of its k nearest that have it among their k nearest."""
    mine = nearest[i][: k + 1]
    return np.array([j for j in mine if i in nearest[j][: k + 1]], np.intp)


def _units(vectors: ArrayLike) -> FloatArray:
    """Unit rows, from the canonical parts, so that every machine averages the same numbers; zero stays zero."""
    high, low = prepare(vectors).parts
    return high.astype(np.float64) + low


def _only_cosine(similarity: str) -> None:
    if similarity != "cosine":
        raise DataError(f"re-ranking is by cosine, not by {similarity}; leave {setting('similarity')} out")


RERANKERS: dict[str, Callable[..., Ranking]] = {"k-reciprocal": k_reciprocal, "query-expansion": query_expansion}
"""As ``Spec.rerank`` takes them: name → ranker."""
