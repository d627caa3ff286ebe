"""Ranked lists that somebody else made, such as an approximate index: what became of the exact ranking.

A list never changes what is relevant, what is junk, or what ties.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FloatArray, IntArray
from .record import Ranking, finish
from .relevance import Relevance
from .similarity import Vectors, exact_pairs
from .stretch import Part


def rank_lists(
    position: ArrayLike, query: Vectors, gallery: Vectors, relevance: Relevance, *, top: int, own_order: bool = False
) -> Ranking:
    """Where do the relevant items stand in lists that somebody else made?

    Parameters
    ----------
    position : (n_query, n) intp
        Gallery positions; −1 is no item, a repeated one counts once.
    query, gallery : Vectors
    relevance : Relevance
    top : int
        So many are kept of each list, junk not counted; the rest is as if it had not been returned.
    own_order : bool
        Keep the order of the lists instead of that by exact similarity.

    Returns
    -------
    Ranking
        Similarities are exact in either order. Rank 0: not among the items that were returned.
    """
    listed = np.asarray(position, np.intp)
    n_query, width = len(listed), max(relevance.n_gallery, 1)
    owner = np.arange(n_query)[:, None]
    entry = owner * width + np.maximum(listed, 0)
    junk_indptr, junk_position = relevance.junk.pairs()
    junk = np.repeat(np.arange(n_query), np.diff(junk_indptr)) * width + junk_position
    kept = (listed >= 0) & ~np.isin(entry, junk) & _first_of_its_kind(np.where(listed >= 0, entry, -1))
    similarity = np.full(listed.shape, np.nan)
    similarity[kept] = exact_pairs(query, gallery, np.nonzero(kept)[0], listed[kept])
    # Only the first ``top`` that are no junk were asked for; an index gives more so that junk can go.
    kept &= np.cumsum(kept, axis=1) <= top
    similarity[~kept] = np.nan
    key = np.where(kept, -np.arange(listed.shape[1], dtype=np.float64), np.nan) if own_order else similarity
    order = np.lexsort((np.where(kept, listed, width), -key), axis=1)[:, :top]  # nan sorts last
    found, key, similarity = (
        np.take_along_axis(a, order, axis=1) for a in (np.where(kept, listed, -1), key, similarity)
    )
    return _ranking(found, key, similarity, relevance)


def _ranking(found: IntArray, key: FloatArray, similarity: FloatArray, relevance: Relevance) -> Ranking:
    """The ranking of sorted lists: what stands in none of them has rank 0."""
    n_query, depth = found.shape
    column = np.broadcast_to(np.arange(depth), found.shape)
    starts = np.concatenate([np.ones((n_query, 1), bool), key[:, 1:] != key[:, :-1]], axis=1)[:, :depth]
    above = np.maximum.accumulate(np.where(starts, column, 0), axis=1)
    ends = np.concatenate([starts[:, 1:], np.ones((n_query, 1), bool)], axis=1)[:, :depth]
    last = np.minimum.accumulate(np.where(ends, column, depth)[:, ::-1], axis=1)[:, ::-1]
    indptr, position = relevance.pairs()
    width = max(relevance.n_gallery, 1)
    entry = np.where(found >= 0, np.arange(n_query)[:, None] * width + found, -1).ravel()
    order = np.argsort(entry, kind="stable")
    wanted = np.repeat(np.arange(n_query), np.diff(indptr)) * width + position
    at = np.searchsorted(entry[order], wanted)
    at = np.append(order, -1)[np.minimum(at, len(order))]
    there = (np.append(entry, -1)[at] == wanted) & (at >= 0)

    def of_pair(values: NDArray[Any], missing: float) -> NDArray[Any]:
        return np.where(there, np.append(values.ravel(), missing)[at], missing)

    of = {"above": of_pair(above, 0), "tied": of_pair(last - above, 0), "before": of_pair(column - above, 0)}
    part = Part(
        **{name: values.astype(np.intp) for name, values in of.items()}, top_position=found, top_similarity=similarity
    )
    n_kept = relevance.n_gallery - relevance.junk.counts()
    return finish(indptr, position, of_pair(similarity, np.nan), n_kept, part)


def _first_of_its_kind(entry: IntArray) -> NDArray[np.bool_]:
    """Entries of each row that stand there for the first time."""
    order = np.argsort(entry, axis=1, kind="stable")
    ascending = np.take_along_axis(entry, order, axis=1)
    new = np.concatenate([np.ones((len(entry), 1), bool), ascending[:, 1:] != ascending[:, :-1]], axis=1)
    result = np.empty_like(new[:, : entry.shape[1]])
    np.put_along_axis(result, order, new[:, : entry.shape[1]], axis=1)
    return result
