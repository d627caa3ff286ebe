"""What one stretch of the gallery adds to a ranking, the plain rule for it, and how stretches merge.

Counts add up and tops merge, so a gallery may be ranked in stretches, in any order, by any executor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked about a block of queries; positions are in the whole gallery.

    Parameters
    ----------
    indptr : (n_query + 1,) intp
    position : (n_pair,) intp
        Relevant items, junk left out.
    own : (n_pair,) float64
        Their exact similarities.
    junk_indptr, junk_position
        Junk of each query, in the same form.
    """

    indptr: IntArray
    position: IntArray
    own: FloatArray
    junk_indptr: IntArray
    junk_position: IntArray

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return len(self.indptr) - 1

    @property
    def query(self) -> IntArray:
        """(n_pair,) the query of each pair."""
        return np.repeat(np.arange(self.n_query), np.diff(self.indptr))

    @property
    def junk_query(self) -> IntArray:
        """(n_junk,) the query of each junk entry."""
        return np.repeat(np.arange(self.n_query), np.diff(self.junk_indptr))

    def junk_of(self, query: int) -> IntArray:
        """Junk positions of one query."""
        return self.junk_position[self.junk_indptr[query] : self.junk_indptr[query + 1]]


@dataclass(frozen=True, eq=False)
class Part:
    """What one stretch of the gallery adds to a ranking: counts that add up, and the top of its own lists.

    Parameters
    ----------
    above, before, tied : (n_pair,) intp
        For each pair, items of the stretch that are more similar; exactly as similar and earlier in the gallery;
        exactly as similar (the relevant item itself not counted).
    top_position, top_similarity : (n_query, depth)
        The first items of the stretch, −1 and nan where there are fewer; positions in the whole gallery.
    """

    above: IntArray
    before: IntArray
    tied: IntArray
    top_position: IntArray
    top_similarity: FloatArray

    @classmethod
    def empty(cls, n_pair: int, n_query: int, depth: int) -> Part:
        """Nothing counted yet; the arrays may be filled in."""
        above, before, tied = np.zeros((3, n_pair), np.intp)
        return cls(above, before, tied, np.empty((n_query, 0), np.intp), np.empty((n_query, 0))).with_top(
            n_query, depth
        )

    def with_top(self, n_query: int, depth: int) -> Part:
        """The same counts, with room for lists of this depth."""
        position, similarity = np.full((n_query, depth), -1, np.intp), np.full((n_query, depth), np.nan)
        return Part(self.above, self.before, self.tied, position, similarity)


def merge(parts: Sequence[Part]) -> Part:
    """One part out of several stretches of the same gallery: counts add up, the tops are merged.

    Associative and in any order.
    """
    position = np.concatenate([part.top_position for part in parts], axis=1)
    similarity = np.concatenate([part.top_similarity for part in parts], axis=1)
    depth = max(part.top_position.shape[1] for part in parts)
    order = np.lexsort((position, -similarity), axis=1)[:, :depth]  # nan sorts last
    return Part(
        np.sum([part.above for part in parts], axis=0),
        np.sum([part.before for part in parts], axis=0),
        np.sum([part.tied for part in parts], axis=0),
        np.take_along_axis(position, order, axis=1),
        np.take_along_axis(similarity, order, axis=1),
    )


def rank_row(row: FloatArray, own: FloatArray, position: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """(above, before, tied) of one query's relevant items in a row of exact similarities, by sorting it.

    The plain rule that all else must equal. nan is not there; ``position`` is in the row, and may lie outside.
    """
    ascending = np.sort(row)  # nan sorts last
    n_there = len(row) - int(np.isnan(row).sum())
    up_to = np.searchsorted(ascending[:n_there], own, side="right")
    tied = up_to - np.searchsorted(ascending[:n_there], own, side="left")
    before = np.zeros(len(own), np.intp)
    for i in np.flatnonzero(tied):
        before[i] = np.count_nonzero(row[: max(position[i], 0)] == own[i])
    return n_there - up_to, before, tied - ((position >= 0) & (position < len(row)))


def top_of_row(row: FloatArray, depth: int) -> tuple[IntArray, FloatArray]:
    """The first positions of a row of exact similarities, and these; nan left out, ties by position."""
    there = np.flatnonzero(~np.isnan(row))
    depth = min(depth, len(there))
    if depth < len(there):
        worst = np.partition(row[there], len(there) - depth)[len(there) - depth] if depth else np.inf
        there = there[row[there] >= worst]
    order = there[np.argsort(-row[there], kind="stable")][:depth]
    return order, row[order]


def ranges(first: IntArray, counts: IntArray) -> IntArray:
    """first[0], first[0] + 1, … counts[0] of them, then the same from first[1]."""
    ends = np.cumsum(counts)
    ranges: IntArray = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)
    return ranges
