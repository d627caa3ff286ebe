"""Ranks → scores. Every metric is a function of the ranks of the relevant items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..ranking import Ranking
from . import ties
from .score import Score
from .ties import TieGroups

NoRelevant = Literal["miss", "exclude"]


def recall(ranking: Ranking, k: int, *, no_relevant: NoRelevant = "miss") -> Score:
    """How often is at least one relevant item among the first k? (query-level R@k)

    Parameters
    ----------
    ranking : Ranking
    k : int
        At least 1. Beyond the gallery's size it means the whole gallery.
    no_relevant : {"miss", "exclude"}
        A query with nothing relevant counts as missed (denominator 1), or is left out (denominator 0).

    Returns
    -------
    Score
        Numerator 1 for a hit, else 0. Under ``miss``, R@k of queries that have nothing relevant is 0/N, not nan.
        A relevant item that was not retrieved is never a hit. Expected under ties: hypergeometric, exact.

    Raises
    ------
    ValueError
        If k is not an integer of at least 1, or the policy is unknown.

    Notes
    -----
    Success@k or hit rate in TREC tools, CMC in re-identification. TREC's ``recall_k`` is another number:
    ``item_recall_macro``.
    """
    k = checked_k(k)
    return _score(
        f"recall@{k}",
        ranking,
        lambda rank: _first(ranking, rank) <= k,
        _counted(ranking, no_relevant),
        lambda groups: ties.expected_hit(groups, k),
    )


def recall_evaluable(ranking: Ranking, k: int) -> Score:
    """How often is a relevant item among the first k, of the queries that have one at all?

    ``recall`` with queries that have nothing relevant left out; nan where no query is left.
    """
    return replace(recall(ranking, k, no_relevant="exclude"), name=f"recall_evaluable@{checked_k(k)}")


def item_recall(ranking: Ranking, k: int) -> Score:
    """What share of all relevant items is among the first k of their query? (item-level, pooled: micro)

    Per query, hits in the first k over |Rel|; the value is the ratio of the sums, so a query with many relevant
    items weighs more. Queries with nothing relevant add nothing. Expected under ties: exact.

    Notes
    -----
    Only faiss's contrib code pools like this. Differs from ``recall`` wherever |Rel| is not 1.
    """
    k = checked_k(k)
    return _score(
        f"item_recall@{k}",
        ranking,
        lambda rank: _hits(ranking, rank, k),
        _n_relevant(ranking),
        lambda groups: ties.expected_hits(groups, k),
    )


def item_recall_macro(ranking: Ranking, k: int) -> Score:
    """What share of its relevant items does a query find among the first k, on average? (item-level, macro)

    Numerator hits / |Rel|, denominator 1; queries with nothing relevant are left out. Expected under ties: exact.

    Notes
    -----
    ``recall_k`` in trec_eval, recall in ranx and ir_measures.
    """
    k = checked_k(k)
    size = np.maximum(_n_relevant(ranking), 1)
    return _score(
        f"item_recall_macro@{k}",
        ranking,
        lambda rank: _hits(ranking, rank, k) / size,
        _evaluable(ranking),
        lambda groups: ties.expected_hits(groups, k) / size,
    )


def average_precision(ranking: Ranking, k: int | None = None) -> Score:
    """How early do the relevant items come, all of them? (AP; its mean is mAP)

    AP = (1/|Rel|) Σ over the relevant items of (relevant items up to its rank) / (its rank); one that was not
    retrieved adds 0. AP@k takes only ranks ≤ k and divides by min(|Rel|, k), so a perfect list has AP@k = 1.

    Parameters
    ----------
    ranking : Ranking
    k : int, optional
        Where to cut; by default the whole list counts.

    Returns
    -------
    Score
        Numerator AP, denominator 1; queries with nothing relevant are left out. Expected under ties: exact.

    Raises
    ------
    ValueError
        If k is not an integer of at least 1.

    Notes
    -----
    AP@k may fall as k grows. trec_eval's ``map_cut_k`` divides by |Rel|; torchmetrics and OML divide by the hits
    found; ROxford's AP integrates by trapezoids. Ties: McSherry and Najork, ECIR 2008.
    """
    cut = _cut(k)
    size = np.maximum(np.minimum(_n_relevant(ranking), cut), 1)
    return _score(
        _named("map", k),
        ranking,
        lambda rank: _precision_sum(ranking, rank, cut) / size,
        _evaluable(ranking),
        lambda groups: ties.expected_precision_sum(groups, cut) / size,
    )


def reciprocal_rank(ranking: Ranking, k: int | None = None) -> Score:
    """How early does the first relevant item come? (RR = 1 / its rank; its mean is MRR)

    0 where it is not among the first k, or was not retrieved. Queries with nothing relevant are left out.
    Expected under ties: exact.
    """
    cut = _cut(k)

    def numerator(rank: FloatArray) -> FloatArray:
        first = _first(ranking, rank)
        return np.where(first <= cut, 1 / first, 0)

    return _score(
        _named("mrr", k),
        ranking,
        numerator,
        _evaluable(ranking),
        lambda groups: ties.expected_reciprocal_rank(groups, cut),
    )


def precision(ranking: Ranking, k: int) -> Score:
    """What share of the first k places holds a relevant item?

    Numerator hits, denominator k, whatever the gallery's size: places that a short gallery leaves empty hold
    nothing relevant (as in trec_eval). Queries with nothing relevant are left out.
    """
    k = checked_k(k)
    return _score(f"precision@{k}", ranking, lambda rank: _hits(ranking, rank, k), k * _evaluable(ranking))


def ndcg(ranking: Ranking, k: int | None = None) -> Score:
    """How much of the discounted gain of a perfect list is reached? (nDCG with relevance 0 or 1)

    DCG@k = Σ over relevant items with rank ≤ k of 1 / log₂(1 + rank), over the same for a list with the relevant
    items first. Queries with nothing relevant are left out.
    """
    cut = _cut(k)
    size = np.minimum(_n_relevant(ranking), cut).astype(np.intp)
    ideal = np.concatenate([[1.0], np.cumsum(1 / np.log2(np.arange(2, size.max(initial=0) + 2)))])[size]
    return _score(
        _named("ndcg", k),
        ranking,
        lambda rank: _sum(ranking, np.where(rank <= cut, 1 / np.log2(1 + rank), 0)) / ideal,
        _evaluable(ranking),
    )


def r_precision(ranking: Ranking) -> Score:
    """What share of the first |Rel| places holds a relevant item? (R-precision)"""
    size = _n_relevant(ranking)
    cut = size[ranking.query]
    return _score(
        "r_precision", ranking, lambda rank: _sum(ranking, rank <= cut) / np.maximum(size, 1), _evaluable(ranking)
    )


def map_at_r(ranking: Ranking) -> Score:
    """How early do the relevant items come within the first |Rel| places? (MAP@R)

    AP cut at each query's own |Rel| and divided by it (Musgrave, Belongie and Lim, ECCV 2020).
    """
    size = _n_relevant(ranking)
    cut = size[ranking.query]
    return _score(
        "map_at_r",
        ranking,
        lambda rank: _precision_sum(ranking, rank, cut) / np.maximum(size, 1),
        _evaluable(ranking),
    )


def minp(ranking: Ranking) -> Score:
    """How much must one read to see every relevant item? (INP = |Rel| / rank of the last; its mean is mINP)

    0 where a relevant item was not retrieved (Ye and others, TPAMI 2021).
    """
    size = _n_relevant(ranking)
    return _score("minp", ranking, lambda rank: size / _last(ranking, rank), _evaluable(ranking))


# Report name → function. The first table is asked for at each k, the second for the whole list.
AT_K: dict[str, Callable[..., Score]] = {
    "recall": recall,
    "recall_evaluable": recall_evaluable,
    "item_recall": item_recall,
    "item_recall_macro": item_recall_macro,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "precision": precision,
    "ndcg": ndcg,
}
WHOLE_LIST: dict[str, Callable[[Ranking], Score]] = {
    "map": average_precision,
    "mrr": reciprocal_rank,
    "r_precision": r_precision,
    "map_at_r": map_at_r,
    "minp": minp,
}
METRICS: dict[str, Callable[..., Score]] = AT_K | WHOLE_LIST


def all_scores(ranking: Ranking, ks: Iterable[int], no_relevant: NoRelevant = "miss") -> dict[str, Score]:
    """Every metric of a ranking, by its name in reports: ``recall@1``, …, ``map``, …

    Parameters
    ----------
    ranking : Ranking
    ks : iterable of int
        Where to cut; a repeated k counts once.
    no_relevant : {"miss", "exclude"}
        Policy of ``recall``; no other metric knows it.
    """
    cuts = list(dict.fromkeys(checked_k(k) for k in ks))
    scores = [
        recall(ranking, k, no_relevant=no_relevant) if name == "recall" else at_k(ranking, k)
        for name, at_k in AT_K.items()
        for k in cuts
    ]
    scores += [metric(ranking) for metric in WHOLE_LIST.values()]
    return {score.name: score for score in scores}


def first_hit(ranking: Ranking) -> IntArray:
    """At which rank does each query find its first relevant item? (n_query,) intp; 0 where it finds none."""
    first = _first(ranking, _retrieved_rank(ranking))
    return np.where(np.isfinite(first), first, 0).astype(np.intp)


def recall_curve(ranking: Ranking, depth: int, *, no_relevant: NoRelevant = "miss") -> tuple[FloatArray, FloatArray]:
    """How does R@k grow with k, query by query?

    Returns
    -------
    numerator : (n_query, depth) float64
        Column j is the numerator of ``recall(ranking, j + 1)``.
    denominator : (n_query,) float64
        The same at every k: the curve is ``numerator.sum(0) / denominator.sum()``. Directions are pooled by
        concatenation.
    """
    ks = np.arange(1, checked_k(depth) + 1)
    hit = _first(ranking, _retrieved_rank(ranking))[:, None] <= ks
    return hit.astype(np.float64), _counted(ranking, no_relevant)


def item_recall_curve(ranking: Ranking, depth: int) -> tuple[FloatArray, FloatArray]:
    """How does pooled item-level R@k grow with k, query by query? Shapes as in ``recall_curve``."""
    hits = _by_rank(ranking, np.ones(len(ranking.rank)), checked_k(depth))
    return np.cumsum(hits, axis=1), _n_relevant(ranking)


def average_precision_curve(ranking: Ranking, depth: int) -> tuple[FloatArray, FloatArray]:
    """How does AP@k change with k, query by query? It may fall. Shapes as in ``recall_curve``."""
    ks = np.arange(1, checked_k(depth) + 1)
    gained = _by_rank(ranking, _ordinal(ranking) / np.maximum(ranking.rank, 1), depth)
    size = np.maximum(np.minimum(_n_relevant(ranking)[:, None], ks), 1)
    return np.cumsum(gained, axis=1) / size, _evaluable(ranking)


CURVES: dict[str, Callable[..., tuple[FloatArray, FloatArray]]] = {
    "recall": recall_curve,
    "item_recall": item_recall_curve,
    "map": average_precision_curve,
}


def checked_k(k: object) -> int:
    """Refuse a k that is not an integer of at least 1: 0, −1, 1.5, True and "5" are errors, not guesses."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be an integer of at least 1, got {k!r}")
    return int(k)


def _cut(k: int | None) -> float:
    return np.inf if k is None else checked_k(k)


def _named(metric: str, k: int | None) -> str:
    return metric if k is None else f"{metric}@{k}"


def _n_relevant(ranking: Ranking) -> FloatArray:
    return ranking.n_relevant.astype(np.float64)


def _evaluable(ranking: Ranking) -> FloatArray:
    return (ranking.n_relevant > 0).astype(np.float64)


def _counted(ranking: Ranking, no_relevant: NoRelevant) -> FloatArray:
    """(n_query,) 1 where the policy counts the query."""
    if no_relevant not in get_args(NoRelevant):
        raise ValueError(f"no_relevant must be one of {', '.join(get_args(NoRelevant))}, got {no_relevant!r}")
    return np.ones(ranking.n_query) if no_relevant == "miss" else _evaluable(ranking)


def _sum(ranking: Ranking, of_pair: NDArray) -> FloatArray:
    """(n_query,) sum of the pairs' values."""
    return np.bincount(ranking.query, weights=of_pair, minlength=ranking.n_query).astype(np.float64, copy=False)


def _hits(ranking: Ranking, rank: FloatArray, k: float) -> FloatArray:
    return _sum(ranking, rank <= k)


def _first(ranking: Ranking, rank: FloatArray) -> FloatArray:
    """(n_query,) rank of the first relevant item; inf where there is none."""
    has = ranking.n_relevant > 0
    first = np.full(ranking.n_query, np.inf)
    first[has] = rank[ranking.indptr[:-1][has]]
    return first


def _last(ranking: Ranking, rank: FloatArray) -> FloatArray:
    """(n_query,) rank of the last relevant item; inf where there is none."""
    has = ranking.n_relevant > 0
    last = np.full(ranking.n_query, np.inf)
    last[has] = rank[ranking.indptr[1:][has] - 1]
    return last


def _precision_sum(ranking: Ranking, rank: FloatArray, cut: FloatArray | float) -> FloatArray:
    """(n_query,) sum, over relevant items with rank ≤ cut, of the precision at their rank."""
    return _sum(ranking, np.where(rank <= cut, _ordinal(ranking) / rank, 0))


def _ordinal(ranking: Ranking) -> IntArray:
    """1, 2, 3, … inside each query: the relevant items up to and with this one."""
    ordinal: IntArray = np.arange(1, len(ranking.rank) + 1) - np.repeat(ranking.indptr[:-1], ranking.n_relevant)
    return ordinal


def _retrieved_rank(ranking: Ranking) -> FloatArray:
    """Ranks, inf where not retrieved: then no cut counts the item, and whatever is divided by its rank is 0."""
    return np.where(ranking.rank > 0, ranking.rank, np.inf)


def _by_rank(ranking: Ranking, of_pair: NDArray, depth: int) -> FloatArray:
    """(n_query, depth) each pair's value at its rank, 0 elsewhere."""
    table = np.zeros((ranking.n_query, depth))
    shown = (ranking.rank > 0) & (ranking.rank <= depth)
    table[ranking.query[shown], ranking.rank[shown] - 1] = of_pair[shown]
    return table


def _score(
    name: str,
    ranking: Ranking,
    numerator: Callable[[FloatArray], NDArray],
    denominator: FloatArray,
    expected: Callable[[TieGroups], FloatArray] | None = None,
) -> Score:
    """One metric under three orders of the ties: as they stand, relevant items last, relevant items first."""
    stands = numerator(_retrieved_rank(ranking))
    if not (ranking.tied > 0).any():
        return Score(name, stands, denominator, stands, stands, None if expected is None else stands)
    groups = TieGroups.of(ranking)
    worst, best = (numerator(rank) for rank in ties.extreme_ranks(ranking, groups))
    if expected is None:
        return Score(name, stands, denominator, worst, best)
    # The closed forms are exact but for rounding, which must not lead out of the range.
    return Score(name, stands, denominator, worst, best, np.clip(expected(groups), worst, best))
