"""What charts draw beyond the scores: precision over recall, similarities of right and other pairs, a map of vectors.

Where there are too many pairs or items they are sampled from a literal seed, and the record says how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .. import protocol
from ..arrays import Array, FloatArray, IntArray
from ..errors import DataError, needs
from ..evaluation import Direction, Evaluation, query_groups
from ..metrics import band
from ..ranking import Ranking, exact_pairs, prepare

SEED = 20_260_101
N_PAIR = 20_000
N_POINT = 5_000
N_LEVEL = 101


def precision_recall(evaluation: Evaluation, *, n_level: int = N_LEVEL) -> pd.DataFrame:
    """How precise are the lists at each level of recall?

    Per query, the interpolated precision at a recall r: the best precision at any place where the list has reached at
    least r of the relevant items, 0 where it never does; then the mean over the queries that have relevant items.

    Parameters
    ----------
    n_level : int
        Levels from 0 to 1, evenly; 11 gives the classic curve.

    Returns
    -------
    DataFrame
        Columns ``direction`` (name, or ``both``), ``recall``, ``precision``, ``low``, ``high`` (band by groups; nan
        where there is none). Precision is nan where no query has a relevant item.

    Notes
    -----
    ``iprec_at_recall`` of trec_eval, which rounds the number of relevant items that a level asks for a little lower.
    """
    levels = np.linspace(0, 1, n_level)
    tables = [interpolated_precision(direction.ranking, levels) for direction in evaluation.directions]
    counted = [(direction.ranking.n_relevant > 0).astype(np.float64) for direction in evaluation.directions]
    starts = np.cumsum([0, *(len(one) for one in counted)])
    groups = query_groups(evaluation)
    views = {d.name: slice(starts[i], starts[i + 1]) for i, d in enumerate(evaluation.directions)}
    if len(views) > 1:
        views["both"] = slice(0, int(starts[-1]))
    numerator, denominator = np.concatenate(tables), np.concatenate(counted)
    parts = []
    for name, at in views.items():
        total = denominator[at].sum()
        precision = numerator[at].sum(axis=0) / total if total else np.full(n_level, np.nan)
        low, high = band("precision_at_recall", numerator[at], denominator[at], groups[at])
        columns = {"direction": name, "recall": levels, "precision": precision, "low": low, "high": high}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def interpolated_precision(ranking: Ranking, levels: FloatArray) -> FloatArray:
    """(n_query, n_level) best precision where this share of the relevant items is reached; 0 where it never is."""
    size, first = ranking.n_relevant, ranking.indptr[:-1]
    ordinal = np.arange(1, len(ranking.rank) + 1) - np.repeat(first, size)
    precision = np.where(ranking.rank > 0, ordinal / np.maximum(ranking.rank, 1), 0.0)
    # From the last pair to the first, each query lifted above the one after it, so that one sweep serves all.
    lift = 2.0 * (ranking.n_query - ranking.query)
    best = np.maximum.accumulate((precision + lift)[::-1])[::-1] - lift
    asked = np.maximum(np.ceil(np.outer(size, levels) - 1e-9).astype(np.intp), 1)
    has = size > 0
    table = np.zeros((ranking.n_query, len(levels)))
    table[has] = best[(first[:, None] + asked - 1)[has]]
    return table


def bin_ranks(first_hits: pd.DataFrame, k: int) -> pd.DataFrame:
    """At which rank do the queries find their first relevant item, in bins?

    Parameters
    ----------
    first_hits : DataFrame
        ``Evaluation.first_hits``.
    k : int
        A border of the bins: those up to k are hits.

    Returns
    -------
    DataFrame
        Columns ``label``, ``n_query``, ``hit``: the bins 1, 2, 3, 4–5, 6–10, … > 50; empty ones between filled ones
        are kept. The last, ``none``, are queries that find nothing.
    """
    ranks = first_hits.groupby("rank")["n_query"].sum()
    deepest = int(ranks.index.max()) if len(ranks) else 0
    edges = sorted({0, 1, 2, 3, 5, 10, 20, 50, 10**9, k})
    rows = []
    for low, high in pairwise(edges):
        if low >= max(deepest, k):
            break
        label = f"> {low}" if high == edges[-1] else str(high) if high == low + 1 else f"{low + 1}–{high}"
        rows.append((label, int(ranks[(ranks.index > low) & (ranks.index <= high)].sum()), high <= k))
    if ranks.get(0, 0):
        rows.append(("none", int(ranks[0]), False))
    return pd.DataFrame(rows, columns=["label", "n_query", "hit"])


@dataclass(frozen=True, eq=False)
class Similarities:
    """How alike are right pairs, and how alike are other pairs?

    Parameters
    ----------
    right, other : (n,) float64
        Similarities of (query, relevant item) pairs, and of pairs that are neither relevant nor junk; what was not
        retrieved has none and is left out.
    n_right, n_other : int
        How many such pairs there are; where more than were asked for, a random sample is held.
    """

    right: FloatArray
    other: FloatArray
    n_right: int
    n_other: int

    @property
    def sampled(self) -> bool:
        """Is either side a sample?"""
        return len(self.right) < self.n_right or len(self.other) < self.n_other

    def histogram(self, n_bin: int = 40) -> pd.DataFrame:
        """Count both in the same bins: columns ``low``, ``high``, ``right``, ``other`` (shares of their own kind)."""
        every = np.concatenate([self.right, self.other])
        if not len(every):
            return pd.DataFrame({name: np.zeros(0) for name in ("low", "high", "right", "other")})
        edges = np.histogram_bin_edges(every, n_bin)
        shares = {
            name: np.histogram(values, edges)[0] / max(len(values), 1)
            for name, values in (("right", self.right), ("other", self.other))
        }
        return pd.DataFrame({"low": edges[:-1], "high": edges[1:], **shares})


def similarities(
    evaluation: Evaluation, *, encoded: Array | None = None, n: int = N_PAIR, seed: int = SEED
) -> Similarities:
    """Do right pairs stand apart from other pairs?

    Parameters
    ----------
    encoded : (n_item, n_dim) array, optional
        As for ``evaluate``: saves encoding again.
    n : int
        At most so many pairs of each kind.

    Raises
    ------
    DataError
        The vectors are not here, as in a saved run.
    """
    rng = np.random.default_rng(seed)
    retrieved = np.concatenate([d.ranking.similarity[d.ranking.rank > 0] for d in evaluation.directions])
    right = retrieved if len(retrieved) <= n else rng.choice(retrieved, n, replace=False)
    left = [_n_other(direction) for direction in evaluation.directions]
    shares = [n if sum(left) <= n else round(n * count / sum(left)) for count in left]
    other = []
    for i, (direction, share) in enumerate(zip(evaluation.directions, shares, strict=True)):
        query, gallery = _other_pairs(direction, min(share, left[i]), rng)
        other.append(_pair_similarities(evaluation, i, query, gallery, encoded))
    return Similarities(right, np.concatenate(other), len(retrieved), sum(left))


@dataclass(frozen=True, eq=False)
class Map:
    """Vectors on a plane.

    Parameters
    ----------
    points : DataFrame
        ``row`` (in the table), ``id``, ``side`` (query or gallery), ``direction`` and ``query`` (of a query; empty and
        −1 otherwise), ``fate`` (hit or miss of a query at k, empty otherwise), ``x``, ``y``.
    explained : tuple of float
        Share of the variance along x and along y.
    n_item : int
        How many there are; a random sample is shown where more than were asked for.
    """

    points: pd.DataFrame
    explained: tuple[float, float]
    n_item: int

    def count_values(self, values: ArrayLike) -> dict[str, int]:
        """How many drawn queries have each value? Ascending, without the empty one; ``values`` has one a point."""
        of_query = np.asarray(values)[(self.points["side"] == "query").to_numpy()]
        found, counts = np.unique(of_query.astype(str), return_counts=True)
        return {value: n for value, n in zip(found.tolist(), counts.tolist(), strict=True) if value}

    def count_misses(self, values: ArrayLike, chosen: Sequence[str]) -> tuple[int, int]:
        """How many of the drawn queries that have a chosen value miss, and of how many?"""
        have = np.isin(np.asarray(values).astype(str), list(chosen)) & (self.points["side"] == "query").to_numpy()
        return int((self.points.loc[have, "fate"] == "miss").sum()), int(have.sum())


def pca_map(evaluation: Evaluation, k: int, *, encoded: Array | None = None, n: int = N_POINT, seed: int = SEED) -> Map:
    """How do the vectors of queries and gallery lie? (the two principal components)

    Under cosine the vectors are made of unit length first, as they are compared. A row that both asks and answers with
    the same vector is one point, as a query.

    Parameters
    ----------
    k : int
        A query hits if a relevant item is among its first k.
    encoded, n, seed
        As for ``similarities``.

    Raises
    ------
    DataError
        The vectors are not here (a saved run, or scores given as a matrix), or there are fewer than 2 of them.
    """
    with needs("scikit-learn", "the map", extra="app"):
        from sklearn.decomposition import PCA  # slow to import, and only charts need it

    asked, answers = _vectors(evaluation, encoded)
    points = _points(evaluation, k, same=asked is answers)
    n_item = len(points)
    if n_item < 2 or asked.shape[1] < 2:
        raise DataError(f"a map needs at least 2 items of 2 dimensions; there are {n_item} of {asked.shape[1]}")
    if n_item > n:
        points = points.iloc[np.sort(np.random.default_rng(seed).choice(n_item, n, replace=False))]
    asks = (points["side"] == "query").to_numpy()
    rows = points["row"].to_numpy()
    vectors = np.where(asks[:, None], asked[rows], answers[rows]).astype(np.float64)
    if evaluation.spec.similarity == "cosine":
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(length > 0, length, 1)
    pca = PCA(2, svd_solver="randomized", random_state=seed)
    with np.errstate(invalid="ignore"):  # equal vectors have no variance to divide by
        place = pca.fit_transform(vectors)
    x, y = np.nan_to_num(pca.explained_variance_ratio_).tolist()
    return Map(points.assign(x=place[:, 0], y=place[:, 1]).reset_index(drop=True), (x, y), n_item)


def _points(evaluation: Evaluation, k: int, *, same: bool) -> pd.DataFrame:
    """One row a query and a gallery item; a row of the table that asks twice is one point, its first question."""
    table = evaluation.table
    hit = (table["first_rank"] > 0) & (table["first_rank"] <= k)
    asks = pd.DataFrame(
        {
            "row": table["row"],
            "id": table["id"],
            "side": "query",
            "direction": table["direction"],
            "query": table["query"],
            "fate": np.where(hit, "hit", "miss"),
        }
    ).drop_duplicates("row")
    rows = np.unique(np.concatenate([direction.split.gallery for direction in evaluation.directions]))
    if same:
        rows = np.setdiff1d(rows, asks["row"])
    answers = pd.DataFrame(
        {"row": rows, "id": evaluation.dataset.ids[rows], "side": "gallery", "direction": "", "query": -1, "fate": ""}
    )
    return pd.concat([asks, answers], ignore_index=True)


def _vectors(evaluation: Evaluation, encoded: Array | None) -> tuple[Array, Array]:
    if evaluation.spec.scores is not None:
        raise DataError("there are scores and no vectors; a map needs vectors")
    splits = [direction.split for direction in evaluation.directions]
    asked, answers, _ = protocol.vectors_of_sides(evaluation.dataset, evaluation.spec, splits, encoded)
    return asked, answers


def _n_other(direction: Direction) -> int:
    return int((direction.ranking.n_gallery - direction.ranking.n_relevant).sum())


def _other_pairs(direction: Direction, n: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Pairs that are neither relevant nor junk: all of them where n is their number, else drawn at random."""
    n_query, n_gallery = len(direction.split.query), len(direction.split.gallery)
    taken = _taken(direction)
    if n == _n_other(direction) and n_query * n_gallery <= 10 * N_PAIR:
        free = np.setdiff1d(np.arange(n_query * n_gallery), taken)
        return np.divmod(free, n_gallery)
    keys = np.zeros(0, np.intp)
    for _ in range(100):  # nearly every draw is free, unless most of the gallery is right or junk
        drawn = rng.integers(n_query * n_gallery, size=n)
        keys = np.concatenate([keys, drawn[~_within(drawn, taken)]])
        if len(keys) >= n:
            break
    query, gallery = np.divmod(np.sort(keys[:n]), n_gallery)
    return query, gallery


def _taken(direction: Direction) -> IntArray:
    """Sorted keys (query × gallery size + position) of the relevant and junk pairs."""
    width, keys = len(direction.split.gallery), []
    for sets in (direction.relevance.relevant, direction.relevance.junk):
        indptr, position = sets.pairs()
        keys.append(np.repeat(np.arange(sets.n_query), np.diff(indptr)) * width + position)
    return np.unique(np.concatenate(keys))


def _within(keys: IntArray, taken: IntArray) -> NDArray[np.bool_]:
    at = np.minimum(np.searchsorted(taken, keys), max(len(taken) - 1, 0))
    return taken[at] == keys if len(taken) else np.zeros(len(keys), bool)


def _pair_similarities(
    evaluation: Evaluation, i: int, query: IntArray, gallery: IntArray, encoded: Array | None
) -> FloatArray:
    spec, split = evaluation.spec, evaluation.directions[i].split
    if spec.scores is not None:
        first = evaluation.directions[0].split
        matrix, _ = protocol.score_matrix(evaluation.dataset, Path(spec.scores), first)
        found = np.asarray(matrix[query, gallery] if i == 0 else matrix[gallery, query], np.float64)
        return found[~np.isnan(found)]
    asked, answers = _vectors(evaluation, encoded)
    # Only the rows that stand in a pair are prepared.
    asks, q = np.unique(split.query[query], return_inverse=True)
    replies, g = np.unique(split.gallery[gallery], return_inverse=True)
    return exact_pairs(prepare(asked[asks], spec.similarity), prepare(answers[replies], spec.similarity), q, g)
