"""``Ranking``: ranks and ties of the relevant items, and the top of each list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, IntArray
from .stretch import Part, ranges


@dataclass(frozen=True, eq=False)
class Ranking:
    """Where each query's relevant items stand, and what stands at the top of its list.

    Order: descending similarity, ties by gallery position. Junk is gone before anything is counted.

    Parameters
    ----------
    indptr : (n_query + 1,) intp
        The relevant items of query ``q`` are the pairs ``indptr[q]:indptr[q + 1]``; inside a query ranks ascend,
        items that were not retrieved come last.
    position : (n_pair,) intp
        Gallery position of the relevant item, 0-based, in the whole gallery (junk included).
    above : (n_pair,) intp
        Gallery items strictly more similar to the query; −1 where the item was not retrieved.
    tied : (n_pair,) intp
        Other gallery items exactly as similar, itself not counted; −1 where not retrieved.
    rank : (n_pair,) intp
        1-based, ties by gallery position; 0 where not retrieved (which is not the same as ranked last).
    similarity : (n_pair,) float64
        Similarity of query and relevant item; nan where not retrieved.
    n_gallery : (n_query,) intp
        Gallery items after junk is removed, retrieved or not.
    top_position : (n_query, depth) intp
        The first ``depth`` gallery positions of each list; −1 where the list is shorter.
    top_similarity : (n_query, depth) float64
        Their similarities; nan where the list is shorter.
    """

    indptr: IntArray
    position: IntArray
    above: IntArray
    tied: IntArray
    rank: IntArray
    similarity: FloatArray
    n_gallery: IntArray
    top_position: IntArray
    top_similarity: FloatArray

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            kind = np.float64 if name.endswith("similarity") else np.intp
            array = np.ascontiguousarray(getattr(self, name), dtype=kind).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        n_pair = len(self.position)
        if not len(self.above) == len(self.tied) == len(self.rank) == len(self.similarity) == n_pair:
            raise ValueError("position, above, tied, rank and similarity must have one entry a pair")
        if len(self.indptr) != self.n_query + 1 or self.indptr[0] != 0 or self.indptr[-1] != n_pair:
            raise ValueError("indptr must run from 0 to the number of pairs, one step a query")
        if self.top_position.shape != self.top_similarity.shape or len(self.top_position) != self.n_query:
            raise ValueError("top_position and top_similarity must both be (n_query, depth)")
        retrieved = self.rank > 0
        if ((self.rank <= self.above) | (self.rank > self.above + self.tied + 1))[retrieved].any():
            raise ValueError("a rank must lie between above + 1 and above + tied + 1")

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return len(self.n_gallery)

    @property
    def depth(self) -> int:
        """How far the lists at the top reach."""
        return int(self.top_position.shape[1])

    @property
    def n_relevant(self) -> IntArray:
        """(n_query,) relevant gallery items that are not junk, retrieved or not."""
        counts: IntArray = np.diff(self.indptr)
        return counts

    @property
    def query(self) -> IntArray:
        """(n_pair,) the query of each pair."""
        return np.repeat(np.arange(self.n_query), self.n_relevant)

    def n_listed(self, query: int) -> int:
        """How many items of this query's list are kept? At most ``depth``."""
        return int((self.top_position[query] >= 0).sum())

    def select(self, queries: ArrayLike) -> Ranking:
        """Keep these queries (positions), in this order; the gallery stays whole."""
        at = np.asarray(queries, dtype=np.intp)
        sizes = self.n_relevant[at]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        pairs = ranges(self.indptr[at], sizes)
        of_pair = {name: getattr(self, name)[pairs] for name in ("position", "above", "tied", "rank", "similarity")}
        of_query = {name: getattr(self, name)[at] for name in ("n_gallery", "top_position", "top_similarity")}
        return Ranking(indptr, **of_pair, **of_query)


def finish(indptr: IntArray, position: IntArray, own: FloatArray, n_kept: IntArray, part: Part) -> Ranking:
    """Make a ranking of all that was counted: inside a query by rank, items that were not retrieved last, by position.

    ``own`` are the relevant items' similarities, nan where not retrieved; ``n_kept`` the size of each query's gallery
    without junk.
    """
    gone = np.isnan(own)
    rank_of = np.where(gone, 0, part.above + part.before + 1)
    query = np.repeat(np.arange(len(n_kept)), np.diff(indptr))
    last = int(rank_of.max(initial=0)) + 1
    width = last + int(position.max(initial=0)) + 1
    order = np.argsort(query * width + np.where(gone, last + position, rank_of))
    return Ranking(
        indptr,
        position[order],
        np.where(gone, -1, part.above)[order],
        np.where(gone, -1, part.tied)[order],
        rank_of[order],
        own[order],
        n_kept,
        part.top_position,
        part.top_similarity,
    )
