"""The exact pass: ranks and ties of the relevant items, and the top of each list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .relevance import IntArray, Relevance

FloatArray = NDArray[np.float64]


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


def rank_scores(scores: ArrayLike, relevance: Relevance, *, top: int = 10) -> Ranking:
    """Where do the relevant items stand in a given matrix of scores?

    Parameters
    ----------
    scores : (n_query, n_gallery) array
        Larger is more similar; nan means that the item was not retrieved.
    relevance : Relevance
    top : int
        Depth of the lists that are kept.
    """
    matrix = np.asarray(scores, dtype=np.float64)
    n_query, n_gallery = matrix.shape
    if (n_query, n_gallery) != (relevance.n_query, relevance.n_gallery):
        raise ValueError(
            f"scores are {matrix.shape}, the relevance speaks of ({relevance.n_query}, {relevance.n_gallery})"
        )
    indptr, positions = relevance.pairs()
    rows: list[tuple[IntArray, ...]] = []
    similarity: list[FloatArray] = []
    depth = min(top, n_gallery)
    top_position = np.full((n_query, depth), -1, np.intp)
    top_similarity = np.full((n_query, depth), np.nan)
    n_kept = np.zeros(n_query, np.intp)
    for q in range(n_query):
        alive = np.ones(n_gallery, bool)
        alive[relevance.junk.of(q)] = False
        n_kept[q] = alive.sum()
        alive &= ~np.isnan(matrix[q])
        kept = np.flatnonzero(alive)
        order = kept[np.argsort(-matrix[q, kept], kind="stable")]
        rank_of = np.zeros(n_gallery, np.intp)
        rank_of[order] = np.arange(1, len(order) + 1)
        here = positions[indptr[q] : indptr[q + 1]]
        here = here[np.lexsort((here, np.where(rank_of[here] > 0, rank_of[here], n_gallery + 1)))]
        own = matrix[q, here]
        above = (matrix[q, order] > own[:, None]).sum(1)
        tied = (matrix[q, order] == own[:, None]).sum(1) - 1
        gone = rank_of[here] == 0
        rows.append((here, np.where(gone, -1, above), np.where(gone, -1, tied), rank_of[here]))
        similarity.append(np.where(gone, np.nan, own))
        shown = order[:depth]
        top_position[q, : len(shown)] = shown
        top_similarity[q, : len(shown)] = matrix[q, shown]
    columns = [np.concatenate([np.zeros(0, np.intp), *column]) for column in zip(*rows, strict=True)] or [
        np.zeros(0, np.intp)
    ] * 4
    return Ranking(indptr, *columns, np.concatenate([np.zeros(0), *similarity]), n_kept, top_position, top_similarity)


def rank(
    query: ArrayLike, gallery: ArrayLike, relevance: Relevance, *, top: int = 10, similarity: str = "cosine"
) -> Ranking:
    """Where do the relevant items stand among the gallery, by the similarity of vectors?"""
    q, g = np.asarray(query, np.float64), np.asarray(gallery, np.float64)
    if similarity == "cosine":
        q, g = (x / np.maximum(np.sqrt((x * x).sum(1, keepdims=True)), 1e-300) for x in (q, g))
        return rank_scores(np.rint(q @ g.T * 2**40) / 2**40, relevance, top=top)
    if similarity == "dot":
        return rank_scores(q @ g.T, relevance, top=top)
    return rank_scores(-np.sqrt(((q[:, None] - g[None]) ** 2).sum(2)), relevance, top=top)
