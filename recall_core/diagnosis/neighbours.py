"""What is known of a wrong answer: on how many queries it intrudes, and whether its label can be believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, IntArray
from ..datasets import MISSING, bad_rows
from ..errors import DataError
from ..evaluation import Direction, Evaluation, wrong_places
from ..ranking import Sets, Vectors, exact_pairs, prepare
from . import audit
from .duplicates import HUB_TIMES, N_HUB, N_LABEL, contradiction

FIRST = N_HUB
"""An item intrudes on a query where it is a wrong answer among so many first ones, whatever k is reported."""


@dataclass(frozen=True, eq=False)
class Intrusions:
    """On how many queries of a direction does each gallery item intrude?

    Parameters
    ----------
    count : (n_gallery,) intp
        Queries that have the item among their first ``FIRST`` as a wrong answer: neither relevant nor junk. These
        are known exactly, since every list is kept deeper than that.
    exposed : (n_gallery,) intp
        The denominator: queries to which the item is neither relevant nor junk.
    """

    count: IntArray
    exposed: IntArray

    @property
    def mean(self) -> float:
        """What is usual: the wrong places of all queries, shared out equally among the gallery; nan without one."""
        return float(self.count.mean()) if len(self.count) else float("nan")

    @property
    def median(self) -> float:
        """What the item in the middle has; nan without a gallery."""
        return float(np.median(self.count)) if len(self.count) else float("nan")

    def share(self, position: int) -> float:
        """On what share of the queries on which it can intrude does it? nan where it can on none."""
        n = int(self.exposed[position])
        return float(self.count[position] / n) if n else float("nan")

    def n_above(self, position: int) -> int:
        """How many gallery items intrude on more queries than this one?"""
        return int((self.count > self.count[position]).sum())

    def is_hub(self, position: int) -> bool:
        """Does it intrude on ``HUB_TIMES`` times as many queries as is usual, and on ``HUB_TIMES`` at least?"""
        return bool(self.count[position] >= HUB_TIMES * max(self.mean, 1.0))


def intrusions(direction: Direction, counted: NDArray[np.bool_] | None = None) -> Intrusions:
    """On how many queries does each gallery item intrude? ``counted``, (n_query,), says on which; all if not given.

    Called bad k-occurrence, BN_k with k = 10, by Radovanović, Nanopoulos and Ivanović: *Hubs in space: popular nearest
    neighbors in high-dimensional data*, JMLR 11 (2010).
    """
    n_query, n_gallery = direction.ranking.n_query, len(direction.split.gallery)
    asking = np.arange(n_query) if counted is None else np.flatnonzero(counted)
    ranked, relevance = direction.ranking.select(asking), direction.relevance.select(asking)
    n_first = min(FIRST, ranked.depth)
    wrong = ranked.top_position[:, :n_first][wrong_places(ranked, n_first)]
    safe = np.bincount(relevance.pairs()[1], minlength=n_gallery) + _n_sets_with(relevance.junk, n_gallery)
    return Intrusions(np.bincount(wrong, minlength=n_gallery), len(asking) - safe)


def _n_sets_with(sets: Sets, n_gallery: int) -> IntArray:
    """(n_gallery,) how many queries have the item in their set? Sets that queries share are not copied."""
    used = np.bincount(sets.index, minlength=len(sets.indptr) - 1)
    return np.bincount(sets.positions, np.repeat(used, np.diff(sets.indptr)), n_gallery).astype(np.intp)


@dataclass(frozen=True)
class Label:
    """Can the value that decides relevance be believed, of one item?

    Parameters
    ----------
    own : str
        Its value; empty: it has none.
    agreed : str
        The other value that its neighbours agree on, by the rule of the audit; empty: none.
    conflicting : tuple of int
        Rows of nearly the same picture with another value, among its neighbours.
    enough : bool
        Are there the ``N_LABEL`` neighbours that the rule asks for?
    """

    own: str
    agreed: str
    conflicting: tuple[int, ...]
    enough: bool

    @property
    def suspicious(self) -> bool:
        """Do the neighbours agree on another value, or has nearly the same picture another?"""
        return bool(self.agreed or self.conflicting)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """All items that have a vector, ready to be asked for the neighbours of one.

    Parameters
    ----------
    rows : (n,) intp
        Rows of the table, ascending.
    vectors : Vectors
        Prepared for the cosine, as the audit compares them, whatever similarity is evaluated.
    value : (n_item,) object
        The cells that decide relevance.
    """

    rows: IntArray
    vectors: Vectors
    value: NDArray[np.object_]

    def nearest(self, row: int, n: int = N_LABEL) -> IntArray:
        """(at most n,) rows that are most similar to this one, itself left out; none where it has no vector."""
        at = int(np.searchsorted(self.rows, row))
        if at == len(self.rows) or self.rows[at] != row:
            return np.zeros(0, np.intp)
        coarse = self.vectors.parts[0] @ self.vectors.parts[0][at]
        coarse[at] = -np.inf
        n = min(n, len(coarse) - 1)
        if n < 1:
            return np.zeros(0, np.intp)
        # Products in float32 leave out what is certainly too far; only the others are compared exactly.
        slack = 4 * self.vectors.n_dim * np.finfo(np.float32).eps
        close = np.flatnonzero(coarse >= np.partition(coarse, -n)[-n] - slack)
        similarity = exact_pairs(self.vectors, self.vectors, np.full(len(close), at), close)
        near: IntArray = self.rows[close[np.lexsort((close, -similarity))[:n]]]
        return near

    def label(self, row: int, alike: Callable[[int, int], bool] | None = None) -> Label:
        """Can this item's value be believed? ``alike``, from ``failures.comparer``, tells nearly the same pictures."""
        near, own = self.nearest(row), str(self.value[row])
        values = [str(self.value[other]) for other in near]
        differing = [
            int(row) for row, value in zip(near, values, strict=True) if MISSING not in (own, value) and value != own
        ]
        twins = tuple(other for other in differing if alike is not None and alike(row, other))
        return Label(own, contradiction(own, values), twins, len(near) == N_LABEL)


def neighbourhood(evaluation: Evaluation, encoded: Array | None = None) -> Neighbourhood | None:
    """Make the items ready to be asked for their neighbours.

    Parameters
    ----------
    encoded : (n_item, n_dim) array, optional
        What ``encode_dataset`` returned; nothing is encoded here.

    Returns
    -------
    Neighbourhood or None
        None where there are no vectors, as in a saved run, or no value that decides relevance.
    """
    dataset, spec = evaluation.dataset, evaluation.spec
    value = audit.deciding_values(dataset, spec)
    if value is None or (encoded is None and spec.embeddings is None and not dataset.embeddings):
        return None
    vectors = _vectors(evaluation, encoded)
    if vectors is None:
        return None
    rows = np.setdiff1d(np.arange(len(dataset)), bad_rows(vectors))
    return Neighbourhood(rows, prepare(vectors if len(rows) == len(vectors) else vectors[rows]), value)


def _vectors(evaluation: Evaluation, encoded: Array | None) -> Array | None:
    dataset, spec = evaluation.dataset, evaluation.spec
    if encoded is None and spec.embeddings is None and spec.encoder is not None and spec.scores is None:
        return None
    splits = tuple(direction.split for direction in evaluation.directions)
    try:
        return audit.item_vectors(dataset, spec, spec, splits, encoded)
    except (OSError, DataError):  # a saved run names a file that need not be here any more
        return None
