"""The conventions under which a ranking is scored: their formulas, what other tools call them, one literal table.

A page shows them in its reader's language: ``key``, ``level`` and the notes of a name are keys, and formulas are LaTeX
without words.

Keys, and what they mean:

``recall_miss``        query-level R@k; a query with nothing relevant counts as missed
``recall_exclude``     query-level R@k; a query with nothing relevant is left out
``item_recall``        share of all relevant items found, over all queries at once (micro)
``item_recall_macro``  share of its relevant items that a query finds, averaged over queries (macro)
``capped_recall``      hits over the most that fit: min(|Rel|, k)
``precision``          hits over k
``precision_to_last``  hits over k, or over the rank of the last relevant item where that comes earlier
``r_precision``        share of the first |Rel| places that hold a relevant item
``map_min``            AP@k divided by min(|Rel|, k): this program's mAP@k
``map_relevant``       AP@k divided by |Rel|
``map_hits``           AP@k divided by the hits found; 0 where none is found
``map``                AP of the whole list
``map_trapezoid``      area under the precision-recall curve by trapezoids
``map_at_r``           AP cut at |Rel|
``mrr_at_k``, ``mrr``  1 / rank of the first relevant item, 0 where it comes after k
``ndcg_at_k``, ``ndcg``  discounted gain over that of a perfect list
``minp``               |Rel| / rank of the last relevant item

Levels: ``query`` (hit or miss), ``item`` (counts relevant items), ``list`` (weighs their ranks).

Notes of names: ``empty_as_0`` (the tool counts queries with nothing relevant as 0, ours leaves them out),
``judged_empty`` (so does a query that is judged, with grade 0 alone; one without any judgement is left out),
``empty_skip`` (only with ``empty_target_action="skip"``), ``ties_mean`` (the tool's value is our *expected* one),
``ties_last`` (tied items all take their group's last place), ``positive_scores`` (hits with a score of 0 or less are
dropped), ``true_neighbours`` (relevant are the exact k nearest, so |Rel| = k), ``k_is_1`` (only at k = 1),
``until_1_6_0`` and ``from_1_6_1`` (versions), ``all_retrieved`` (equal where every relevant item was retrieved).

Where the names were looked up: trec_eval f4253652 (``m_success.c``, ``m_recall.c``, ``m_rel_P.c``, ``m_map_cut.c``, …)
through pytrec-eval-terrier 0.5.11; ir_measures dc04a88 (``measures/success.py``, ``measures/r.py``,
``providers/pytrec_eval_provider.py``); ranx 0.3.21 (``ranx/metrics``); torchmetrics 1.9.0
(``functional/retrieval``); pytorch-metric-learning 2.8.1 (``utils/accuracy_calculator.py``; the divisor of its
``mean_average_precision`` was mended in 1.6.1, its issue 525); OML 4.0.0 (``oml/functional/metrics.py``); torchreid
37f92b7 and fast-reid 23bedfc (``rank.py``); revisitop 3bb68d3 (``evaluate.py``); faiss 0e31626
(``contrib/evaluation.py``); ann-benchmarks f402b2c (``plotting/metrics.py``); scikit-learn 1.9.1
(``metrics/_ranking.py``). trec_eval puts items with equal scores in the order of their names, last first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..ranking import Ranking
from . import measures, ties
from .score import Score
from .ties import TieGroups

MAX_TERMS = 6


@dataclass(frozen=True)
class Name:
    """What a tool calls a number, with the keys of what to know about it."""

    tool: str
    name: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Convention:
    """How a row is made: its score, its formula, its numbers filled in for one query, and its names elsewhere."""

    level: str
    score: Callable[[Ranking, int], Score]
    formula: str
    inner: Callable[[One], str]
    names: tuple[Name, ...]
    cuts: bool = True


# ---- conventions that metrics does not have --------------------------------------------------------------------------


def capped_recall(ranking: Ranking, k: int) -> Score:
    """What share of the most that could be in the first k places is there? Hits / min(|Rel|, k), averaged."""
    n = ranking.n_relevant
    return _scaled(measures.item_recall_macro(ranking, k), n / np.maximum(np.minimum(n, k), 1), f"capped_recall@{k}")


def average_precision_by_relevant(ranking: Ranking, k: int) -> Score:
    """How early do the relevant items come, of all that there are? AP@k divided by |Rel|: a short cut costs."""
    n = ranking.n_relevant
    score = measures.average_precision(ranking, k)
    return _scaled(score, np.minimum(n, k) / np.maximum(n, 1), f"map_relevant@{k}")


def average_precision_by_hits(ranking: Ranking, k: int) -> Score:
    """How early do the relevant items come that are found at all? AP@k divided by the hits among the first k.

    0 where none is found; queries with nothing relevant are left out. Finding one item more may lower it, so the
    extremes under ties try each number of hits that the group at the cut can give.
    """
    n = ranking.n_relevant
    hits = _sum(ranking, (ranking.rank > 0) & (ranking.rank <= k))
    found = measures.average_precision(ranking, k)
    stands = found.numerator * np.minimum(n, k) / np.maximum(hits, 1)
    worst, best = stands.copy(), stands.copy()
    for q in np.unique(ranking.query[ranking.tied > 0]):
        stands[q], worst[q], best[q] = _hits_extremes(ranking.select([q]), k)
    return Score(f"map_hits@{k}", stands, _evaluable(ranking), worst, best)


def average_precision_by_trapezoids(ranking: Ranking) -> Score:
    """What is the area under the precision-recall curve, by trapezoids?

    Each relevant item adds the mean of the precision just before it and at it, over |Rel|; before rank 1 the
    precision is 1. Never above AP. One that was not retrieved adds 0.
    """
    found = np.arange(1, len(ranking.rank) + 1) - np.repeat(ranking.indptr[:-1], ranking.n_relevant)

    def numerator(rank: FloatArray) -> FloatArray:
        before = np.where(rank > 1, (found - 1) / np.maximum(rank - 1, 1), 1)
        return _sum(ranking, (before + found / rank) / 2) / np.maximum(ranking.n_relevant, 1)

    return _monotone("map_trapezoid", ranking, numerator)


def precision_to_last(ranking: Ranking, k: int) -> Score:
    """What share is relevant of the first k places, or of those up to the last relevant item if that comes earlier?"""

    def numerator(rank: FloatArray) -> FloatArray:
        last = np.zeros(ranking.n_query)
        np.maximum.at(last, ranking.query, np.where(np.isfinite(rank), rank, 0))
        cut = np.where(last > 0, np.minimum(last, k), k)
        return _sum(ranking, rank <= cut[ranking.query]) / cut

    return _monotone(f"precision_to_last@{k}", ranking, numerator)


def _monotone(name: str, ranking: Ranking, numerator: Callable[[FloatArray], FloatArray]) -> Score:
    """Score what grows whenever a relevant item moves forward, so that its extremes are those of the ranks."""
    stands, worst, best = (numerator(rank) for rank in _three_orders(ranking))
    return Score(name, stands, _evaluable(ranking), worst, best)


def _three_orders(ranking: Ranking) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n_pair,) ranks as they stand, with relevant items last and first in their ties; inf where not retrieved."""
    worst, best = ties.extreme_ranks(ranking, TieGroups.of(ranking))
    return np.where(ranking.rank > 0, ranking.rank, np.inf), worst, best


def _hits_extremes(one: Ranking, k: int) -> tuple[float, float, float]:
    """AP by hits of one query: as it stands, least and greatest over all orders of its ties."""

    def value(rank: FloatArray) -> float:
        inside = np.sort(rank[rank <= k])
        return float((np.arange(1, len(inside) + 1) / inside).mean()) if len(inside) else 0.0

    stands, last, first = _three_orders(one)
    least, greatest = [value(last)], [value(first)]
    groups = TieGroups.of(one)
    for g in np.flatnonzero((groups.above < k) & (k < groups.above + groups.size)):
        above, n, r = int(groups.above[g]), int(groups.size[g]), int(groups.relevant[g])
        places = k - above
        pairs = slice(groups.first_pair[g], groups.first_pair[g] + r)
        for hits in range(max(0, r - (n - places)), min(r, places) + 1):
            for order, start, into in ((last, k - hits, least), (first, above, greatest)):
                rank = order.copy()
                rank[pairs] = np.inf
                rank[pairs.start : pairs.start + hits] = start + 1 + np.arange(hits)
                into.append(value(rank))
    return value(stands), min(least), max(greatest)


def _scaled(score: Score, factor: FloatArray, name: str) -> Score:
    """Divide each query by something else."""
    return replace(
        score,
        name=name,
        numerator=score.numerator * factor,
        worst=score.worst * factor,
        best=score.best * factor,
        expected=None if score.expected is None else score.expected * factor,
    )


def _sum(ranking: Ranking, of_pair: NDArray) -> FloatArray:
    return np.bincount(ranking.query, weights=of_pair, minlength=ranking.n_query).astype(np.float64, copy=False)


def _evaluable(ranking: Ranking) -> FloatArray:
    return (ranking.n_relevant > 0).astype(np.float64)


# ---- the numbers filled in -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class One:
    """One query as its formula needs it: |Rel|, the ranks of the relevant items that were retrieved, and k."""

    n: int
    found: tuple[int, ...]
    k: int

    @property
    def inside(self) -> tuple[int, ...]:
        """Ranks among the first k."""
        return tuple(rank for rank in self.found if rank <= self.k)

    @property
    def hits(self) -> int:
        """How many are among the first k."""
        return len(self.inside)


def frac(above: object, below: object) -> str:
    """Write a fraction as LaTeX."""
    return rf"\frac{{{above}}}{{{below}}}"


def plus(terms: Iterable[str]) -> str:
    """Join the terms to a sum; of a long one the middle is left out."""
    parts = list(terms)
    if len(parts) > 2 * MAX_TERMS:
        parts[3:-1] = [r"\cdots"]
    return " + ".join(parts) or "0"


def _precisions(ranks: Iterable[int]) -> str:
    return rf"\left({plus(frac(j, rank) for j, rank in enumerate(ranks, 1))}\right)"


def _trapezoids(ranks: Iterable[int]) -> str:
    parts = (
        frac(f"{frac(j - 1, rank - 1) if rank > 1 else 1} + {frac(j, rank)}", 2) for j, rank in enumerate(ranks, 1)
    )
    return rf"\left({plus(parts)}\right)"


def _gains(ranks: Iterable[int]) -> str:
    return plus(frac(1, rf"\log_2 {rank + 1}") for rank in ranks)


def _to_last(one: One) -> str:
    cut = min(one.found[-1], one.k) if one.found else one.k
    return frac(sum(rank <= cut for rank in one.found), cut)


def _minp(one: One) -> str:
    return frac(one.n, one.found[-1] if len(one.found) == one.n else r"\infty")


# ---- the table -------------------------------------------------------------------------------------------------------

_TOP = r"\mathrm{Top}_k \cap \mathrm{Rel}"
_REL = r"\lvert\mathrm{Rel}\rvert"
_HITS = rf"\lvert{_TOP}\rvert"
_STEPS = r"\sum_{j:\,\rho_j \le k} \frac{j}{\rho_j}"
_TREC_TOOLS = ("trec_eval", "ir_measures", "ranx")


def _names(*names: tuple[str, ...]) -> tuple[Name, ...]:
    return tuple(Name(tool, name, tuple(notes)) for tool, name, *notes in names)


def _trec(trec_eval: str, ir_measures: str, ranx: str, *notes: str) -> tuple[Name, ...]:
    return _names(
        *((tool, name, *notes) for tool, name in zip(_TREC_TOOLS, (trec_eval, ir_measures, ranx), strict=True))
    )


CONVENTIONS: dict[str, Convention] = {
    "recall_miss": Convention(
        "query",
        measures.recall,
        rf"\frac{{1}}{{N_q}} \sum_q \left[{_HITS} > 0\right]",
        lambda q: frac(rf"\left[{q.hits} > 0\right]", 1),
        _trec("success_{k}", "Success@{k}", "hit_rate@{k}", "judged_empty")
        + _names(("torchmetrics", "RetrievalHitRate(top_k={k})"), ("OML", "cmc@{k}")),
    ),
    "recall_exclude": Convention(
        "query",
        measures.recall_evaluable,
        rf"\frac{{1}}{{\lvert\{{q : {_REL} > 0\}}\rvert}} \sum_{{q:\,{_REL} > 0}} \left[{_HITS} > 0\right]",
        lambda q: frac(rf"\left[{q.hits} > 0\right]", 1),
        _names(
            ("torchreid", "CMC Rank-{k}"),
            ("fast-reid", "Rank-{k}"),
            ("pytorch-metric-learning", "precision_at_1", "k_is_1"),
            ("torchmetrics", "RetrievalHitRate(top_k={k})", "empty_skip"),
        ),
    ),
    "item_recall": Convention(
        "item",
        measures.item_recall,
        rf"\frac{{\sum_q {_HITS}}}{{\sum_q {_REL}}}",
        lambda q: frac(q.hits, q.n),
        _names(
            ("faiss", 'contrib.evaluation.range_PR(mode="overall")'),
            ("faiss", "contrib.evaluation.knn_intersection_measure", "true_neighbours"),
        ),
    ),
    "item_recall_macro": Convention(
        "item",
        measures.item_recall_macro,
        rf"\frac{{{_HITS}}}{{{_REL}}}",
        lambda q: frac(q.hits, q.n),
        _trec("recall_{k}", "R@{k}", "recall@{k}", "judged_empty")
        + _names(
            ("torchmetrics", "RetrievalRecall(top_k={k})", "empty_as_0", "positive_scores"),
            ("faiss", 'contrib.evaluation.range_PR(mode="average")', "empty_as_0"),
            ("ann-benchmarks", "k-nn: Recall", "true_neighbours"),
        ),
    ),
    "capped_recall": Convention(
        "item",
        capped_recall,
        rf"\frac{{{_HITS}}}{{\min({_REL}, k)}}",
        lambda q: frac(q.hits, rf"\min({q.n}, {q.k})"),
        _names(("trec_eval", "relative_P_{k}", "judged_empty"), ("OML", "precision@{k}")),
    ),
    "precision": Convention(
        "item",
        measures.precision,
        rf"\frac{{{_HITS}}}{{k}}",
        lambda q: frac(q.hits, q.k),
        _trec("P_{k}", "P@{k}", "precision@{k}", "judged_empty")
        + _names(("torchmetrics", "RetrievalPrecision(top_k={k})", "empty_as_0", "positive_scores")),
    ),
    "precision_to_last": Convention(
        "item",
        precision_to_last,
        r"\frac{\lvert\mathrm{Top}_m \cap \mathrm{Rel}\rvert}{m},\quad m = \min(k, \max_j \rho_j)",
        _to_last,
        _names(("revisitop", "mP@{k}")),
    ),
    "r_precision": Convention(
        "item",
        lambda ranking, k: measures.r_precision(ranking),
        rf"\frac{{\lvert\mathrm{{Top}}_{{{_REL}}} \cap \mathrm{{Rel}}\rvert}}{{{_REL}}}",
        lambda q: frac(sum(rank <= q.n for rank in q.found), q.n),
        _trec("Rprec", "Rprec", "r-precision", "judged_empty")
        + _names(("torchmetrics", "RetrievalRPrecision()", "empty_as_0"), ("pytorch-metric-learning", "r_precision")),
        cuts=False,
    ),
    "map_min": Convention(
        "list",
        measures.average_precision,
        rf"\frac{{1}}{{\min({_REL}, k)}} {_STEPS}",
        lambda q: frac(1, rf"\min({q.n}, {q.k})") + _precisions(q.inside),
        (),
    ),
    "map_relevant": Convention(
        "list",
        average_precision_by_relevant,
        rf"\frac{{1}}{{{_REL}}} {_STEPS}",
        lambda q: frac(1, q.n) + _precisions(q.inside),
        _trec("map_cut_{k}", "AP@{k}", "map@{k}", "judged_empty")
        + _names(("pytorch-metric-learning", "mean_average_precision (k={k})", "from_1_6_1")),
    ),
    "map_hits": Convention(
        "list",
        average_precision_by_hits,
        rf"\frac{{1}}{{{_HITS}}} {_STEPS}",
        lambda q: frac(1, q.hits) + _precisions(q.inside) if q.hits else "0",
        _names(
            ("torchmetrics", "RetrievalMAP(top_k={k})", "empty_as_0", "positive_scores"),
            ("OML", "map@{k}"),
            ("pytorch-metric-learning", "mean_average_precision (k={k})", "until_1_6_0"),
        ),
    ),
    "map": Convention(
        "list",
        lambda ranking, k: measures.average_precision(ranking),
        rf"\frac{{1}}{{{_REL}}} \sum_j \frac{{j}}{{\rho_j}}",
        lambda q: frac(1, q.n) + _precisions(q.found),
        _trec("map", "AP", "map", "judged_empty")
        + _names(
            ("torchmetrics", "RetrievalMAP()", "empty_as_0", "positive_scores"),
            ("torchreid", "mAP", "all_retrieved"),
            ("fast-reid", "mAP", "all_retrieved"),
            ("scikit-learn", "label_ranking_average_precision_score", "ties_last", "all_retrieved"),
        ),
        cuts=False,
    ),
    "map_trapezoid": Convention(
        "list",
        lambda ranking, k: average_precision_by_trapezoids(ranking),
        rf"\frac{{1}}{{{_REL}}} \sum_j \frac{{1}}{{2}}\left(\frac{{j-1}}{{\rho_j-1}} + \frac{{j}}{{\rho_j}}\right)",
        lambda q: frac(1, q.n) + _trapezoids(q.found),
        _names(("revisitop", "mAP")),
        cuts=False,
    ),
    "map_at_r": Convention(
        "list",
        lambda ranking, k: measures.map_at_r(ranking),
        rf"\frac{{1}}{{{_REL}}} \sum_{{j:\,\rho_j \le {_REL}}} \frac{{j}}{{\rho_j}}",
        lambda q: frac(1, q.n) + _precisions(rank for rank in q.found if rank <= q.n),
        _names(("pytorch-metric-learning", "mean_average_precision_at_r")),
        cuts=False,
    ),
    "mrr_at_k": Convention(
        "list",
        measures.reciprocal_rank,
        r"\frac{\left[\rho_1 \le k\right]}{\rho_1}",
        lambda q: frac(1, q.inside[0]) if q.hits else "0",
        _names(
            ("ir_measures", "RR@{k}", "judged_empty"),
            ("ranx", "mrr@{k}", "judged_empty"),
            ("torchmetrics", "RetrievalMRR(top_k={k})", "empty_as_0", "positive_scores"),
            ("pytorch-metric-learning", "mean_reciprocal_rank (k={k})"),
        ),
    ),
    "mrr": Convention(
        "list",
        lambda ranking, k: measures.reciprocal_rank(ranking),
        r"\frac{1}{\rho_1}",
        lambda q: frac(1, q.found[0]) if q.found else "0",
        _trec("recip_rank", "RR", "mrr", "judged_empty")
        + _names(("torchmetrics", "RetrievalMRR()", "empty_as_0", "positive_scores")),
        cuts=False,
    ),
    "ndcg_at_k": Convention(
        "list",
        measures.ndcg,
        rf"\frac{{\sum_{{j:\,\rho_j \le k}} 1/\log_2(\rho_j + 1)}}{{\sum_{{j \le \min({_REL}, k)}} 1/\log_2(j + 1)}}",
        lambda q: frac(_gains(q.inside), _gains(range(1, min(q.n, q.k) + 1))),
        _trec("ndcg_cut_{k}", "nDCG@{k}", "ndcg@{k}", "judged_empty")
        + _names(
            ("torchmetrics", "RetrievalNormalizedDCG(top_k={k})", "empty_as_0", "ties_mean"),
            ("scikit-learn", "ndcg_score(k={k})", "empty_as_0", "ties_mean"),
        ),
    ),
    "ndcg": Convention(
        "list",
        lambda ranking, k: measures.ndcg(ranking),
        rf"\frac{{\sum_j 1/\log_2(\rho_j + 1)}}{{\sum_{{j \le {_REL}}} 1/\log_2(j + 1)}}",
        lambda q: frac(_gains(q.found), _gains(range(1, q.n + 1))),
        _trec("ndcg", "nDCG", "ndcg", "judged_empty")
        + _names(
            ("torchmetrics", "RetrievalNormalizedDCG()", "empty_as_0", "ties_mean"),
            ("scikit-learn", "ndcg_score()", "empty_as_0", "ties_mean"),
        ),
        cuts=False,
    ),
    "minp": Convention(
        "list",
        lambda ranking, k: measures.minp(ranking),
        rf"\frac{{{_REL}}}{{\max_j \rho_j}}",
        _minp,
        _names(("fast-reid", "mINP", "all_retrieved")),
        cuts=False,
    ),
}
"""Key → convention, in the order of a page. In the formulas ρ_j is the rank of the j-th relevant item; a number without
a sum over queries is averaged over those that have something relevant."""

TOOLS = tuple(dict.fromkeys(name.tool for convention in CONVENTIONS.values() for name in convention.names))
"""The tools whose names are known, in the order in which they first stand."""
