"""Which gallery items are right for a query, and which are junk.

Relevance is a *protocol*, not a property of vectors: the same ranking is judged differently under another rule.
Junk items are neither right nor wrong; they are removed before anything is counted, and junk wins over relevant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import IntArray


@dataclass(frozen=True, eq=False)
class Sets:
    """One set of gallery positions for each query; queries may share a set.

    Labels (all queries of a class share one set) and judgements (each query has its own) are one thing here.
    Nothing is ever dense.

    Parameters
    ----------
    index : (n_query,) intp
        For each query, which set is its own.
    indptr : (n_set + 1,) intp
        Set ``s`` is ``positions[indptr[s]:indptr[s + 1]]``.
    positions : (n_entry,) intp
        Gallery positions, 0-based, strictly ascending inside each set.
    """

    index: IntArray
    indptr: IntArray
    positions: IntArray

    def __post_init__(self) -> None:
        for name in ("index", "indptr", "positions"):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.intp).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if len(self.indptr) == 0 or self.indptr[0] != 0 or self.indptr[-1] != len(self.positions):
            raise ValueError("indptr must run from 0 to the number of positions")
        if (np.diff(self.indptr) < 0).any():
            raise ValueError("indptr must not fall")
        if len(self.index) and not (0 <= self.index.min() and self.index.max() < self.n_set):
            raise ValueError(f"index must lie in 0 … {self.n_set - 1}")
        if len(self.positions) > 1:
            rises = np.diff(self.positions) > 0
            starts = self.indptr[1:-1]
            rises[starts[(starts > 0) & (starts < len(self.positions))] - 1] = True
            if not rises.all():
                raise ValueError("positions must ascend, without repeats, inside each set")

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return len(self.index)

    @property
    def n_set(self) -> int:
        """Number of distinct sets."""
        return len(self.indptr) - 1

    @classmethod
    def empty(cls, n_query: int) -> Self:
        """Nothing for anybody."""
        return cls(np.zeros(n_query, np.intp), np.zeros(2, np.intp), np.zeros(0, np.intp))

    @classmethod
    def from_lists(cls, lists: Iterable[Iterable[int]]) -> Self:
        """Each query's own positions, in any order; repeats count once."""
        rows = [np.unique(np.fromiter(row, np.intp)) for row in lists]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.intp)])
        positions = np.concatenate(rows) if rows else np.zeros(0, np.intp)
        return cls(np.arange(len(rows)), indptr, positions)

    @classmethod
    def from_pairs(cls, query: ArrayLike, position: ArrayLike, n_query: int) -> Self:
        """Sets from parallel arrays of query positions and gallery positions; repeats count once."""
        query, position = np.asarray(query, np.intp), np.asarray(position, np.intp)
        pairs = np.unique(np.stack([query, position], axis=1), axis=0) if len(query) else np.zeros((0, 2), np.intp)
        indptr = np.searchsorted(pairs[:, 0], np.arange(n_query + 1))
        return cls(np.arange(n_query), indptr, pairs[:, 1])

    @classmethod
    def from_labels(cls, query: Sequence[str], gallery: Sequence[str]) -> Self:
        """Equal labels belong together; the empty string is a missing label and equals nothing.

        Examples
        --------
        >>> sets = Sets.from_labels(["a", "b", ""], ["b", "a", "b", ""])
        >>> [sets.of(q).tolist() for q in range(3)]
        [[1], [0, 2], []]
        """
        q, g = np.asarray(query, dtype=object), np.asarray(gallery, dtype=object)
        names, code = np.unique(np.concatenate([q, g]).astype(str), return_inverse=True)
        q_code, g_code = code[: len(q)], code[len(q) :]
        filled = np.flatnonzero(g.astype(str) != "")
        order = filled[np.argsort(g_code[filled], kind="stable")]
        indptr = np.searchsorted(g_code[order], np.arange(len(names) + 1))
        return cls(q_code, indptr, order)

    def of(self, query: int) -> IntArray:
        """Positions of one query's set, ascending."""
        s = self.index[query]
        return self.positions[self.indptr[s] : self.indptr[s + 1]]

    def counts(self) -> IntArray:
        """(n_query,) size of each query's set."""
        sizes: IntArray = np.diff(self.indptr)[self.index]
        return sizes

    def select(self, queries: ArrayLike) -> Sets:
        """Keep these queries, in this order; the sets themselves are shared, not copied."""
        return Sets(self.index[np.asarray(queries)], self.indptr, self.positions)

    def pairs(self, start: int = 0, stop: int | None = None) -> tuple[IntArray, IntArray]:
        """Entries of the queries ``start … stop - 1`` as CSR: (indptr, positions), query by query."""
        index = self.index[start:stop]
        first, sizes = self.indptr[index], np.diff(self.indptr)[index]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        offset = np.arange(indptr[-1]) - np.repeat(indptr[:-1], sizes)
        return indptr, self.positions[np.repeat(first, sizes) + offset]


@dataclass(frozen=True, eq=False)
class Relevance:
    """What is right, and what is junk, for each query.

    Parameters
    ----------
    relevant : Sets
        Gallery positions that answer the query. Entries that are junk as well do not count.
    junk : Sets
        Gallery positions removed from the query's gallery before anything is counted: the query itself above all.
    n_gallery : int
        Size of the gallery before junk is removed.
    """

    relevant: Sets
    junk: Sets
    n_gallery: int

    def __post_init__(self) -> None:
        if self.relevant.n_query != self.junk.n_query:
            raise ValueError(
                f"relevant speaks of {self.relevant.n_query} queries, junk of {self.junk.n_query}; they must agree"
            )
        for name in ("relevant", "junk"):
            positions = getattr(self, name).positions
            if len(positions) and not (0 <= positions.min() and positions.max() < self.n_gallery):
                raise ValueError(f"{name} positions must lie in 0 … {self.n_gallery - 1}")

    @property
    def n_query(self) -> int:
        """Number of queries."""
        return self.relevant.n_query

    @classmethod
    def of(cls, relevant: Sets, n_gallery: int, junk: Sets | None = None) -> Self:
        """Relevance with junk left out where there is none."""
        return cls(relevant, Sets.empty(relevant.n_query) if junk is None else junk, n_gallery)

    def pairs(self, start: int = 0, stop: int | None = None) -> tuple[IntArray, IntArray]:
        """Relevant entries that are not junk, of the queries ``start … stop - 1``, as CSR (indptr, positions)."""
        indptr, positions = self.relevant.pairs(start, stop)
        junk_indptr, junk_positions = self.junk.pairs(start, stop)
        n = len(indptr) - 1
        width = max(self.n_gallery, 1)
        query = np.repeat(np.arange(n), np.diff(indptr))
        junk_query = np.repeat(np.arange(n), np.diff(junk_indptr))
        keep = ~np.isin(query * width + positions, junk_query * width + junk_positions)
        kept = np.bincount(query[keep], minlength=n)
        return np.concatenate([[0], np.cumsum(kept)]).astype(np.intp), positions[keep]

    def select(self, queries: ArrayLike) -> Relevance:
        """Keep these queries, in this order; the gallery stays whole."""
        return Relevance(self.relevant.select(queries), self.junk.select(queries), self.n_gallery)

    def n_relevant(self) -> IntArray:
        """(n_query,) relevant gallery items that are not junk."""
        counts: IntArray = np.diff(self.pairs()[0])
        return counts
