"""One ranking under every convention: what a score is divided by, what it is worth, and what other tools call it.

A page shows the rows in its reader's language: ``key``, ``level`` and the notes of a name are keys, formulas are LaTeX
without words, and messages of ``Unreadable`` carry a key with parameters beside their English text.

Keys of rows, and what they mean:

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

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from . import metrics, ties
from .errors import DataError
from .metrics import Score, checked_k, pool
from .ranking import FloatArray, Ranking, rank_scores
from .relevance import IntArray, Relevance, Sets
from .ties import TieGroups

MAX_ORDERS = 20_000
MAX_TERMS = 6
MAX_TYPED = 1_000
MAX_DIGITS = 40
EXACT = 9
"""Decimals of a number that was typed as a ratio."""


@dataclass(frozen=True)
class Name:
    """What a tool calls a number, with the keys of what to know about it."""

    tool: str
    name: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """One convention's number for a ranking.

    Parameters
    ----------
    key, level : str
        See the module.
    k : int or None
        Where it cuts; None where the whole list counts.
    formula, filled : str
        LaTeX: the definition, and the same with the numbers of this ranking. Of one query its own terms are shown, of
        several each query's share; beyond ``MAX_TERMS`` queries the sums alone.
    value : float
        Ties by gallery position; nan where undefined (``filled`` is then 0/0).
    worst, expected, best : float or None
        The same with tied items in the worst, a random and the best order. ``expected`` is None where no closed form
        is known and there are more than ``MAX_ORDERS`` orders to try.
    n_counted, n_left_out : int
        Queries in the denominator, and not in it.
    names : tuple of Name
    """

    key: str
    level: str
    k: int | None
    formula: str
    filled: str
    value: float
    worst: float
    expected: float | None
    best: float
    n_counted: int
    n_left_out: int
    names: tuple[Name, ...]

    @property
    def tied(self) -> bool:
        """Does the value depend on the order of tied items?"""
        return self.worst < self.best


def rows(rankings: Sequence[Ranking], k: int) -> tuple[Row, ...]:
    """What is this ranking worth under each convention?

    Parameters
    ----------
    rankings : sequence of Ranking
        One; or both directions, whose queries are then pooled. ``typed`` and ``of_query`` make small ones.
    k : int
        At least 1. Beyond the gallery it means the whole gallery.

    Returns
    -------
    tuple of Row
        In the order of ``CONVENTIONS``. Values are those of ``metrics`` wherever these have the number.

    Raises
    ------
    ValueError
        If k is not an integer of at least 1.
    """
    k = checked_k(k)
    every = _every_order(rankings)
    return tuple(_row(key, rankings, k, every) for key in CONVENTIONS)


# ---- which rows give the number that somebody has? -------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A number as it was typed: its value as a fraction of 1, and how many decimals of it are known."""

    value: float
    digits: int


@dataclass(frozen=True)
class Match:
    """A row that gives the figure, and which of its numbers: ``value``, ``worst``, ``expected`` or ``best``."""

    row: Row
    which: str


def read_number(text: str) -> Figure | None:
    """Which number was typed? ``12``, ``0.583``, ``0,583``, ``58,3 %``, ``7/12`` (exact); None where it is none.

    Examples
    --------
    >>> read_number("0,58"), read_number("58 %"), read_number("7/8")
    (Figure(value=0.58, digits=2), Figure(value=0.58, digits=2), Figure(value=0.875, digits=9))
    """
    compact = re.sub(r"\s", "", text)
    if len(compact) > MAX_DIGITS:
        return None
    ratio = re.fullmatch(r"([0-9]+)/([0-9]+)", compact)
    if ratio:
        return Figure(int(ratio[1]) / int(ratio[2]), EXACT) if int(ratio[2]) else None
    decimal = re.fullmatch(r"([0-9]*)(?:[.,]([0-9]*))?(%?)", compact)
    if not decimal or not (decimal[1] or decimal[2]):
        return None
    decimals = decimal[2] or ""
    shift = 2 if decimal[3] else 0
    value = Fraction(int(decimal[1] + decimals), 10 ** (len(decimals) + shift))
    return Figure(float(value), len(decimals) + shift)


def read_figure(text: str) -> Figure | None:
    """Which score was typed? As ``read_number``; more than 1 is per cent, and 0 and 1 are known to two decimals.

    To one place less, half of all rows would be 1.

    Examples
    --------
    >>> read_figure("58,3"), read_figure("1")
    (Figure(value=0.583, digits=3), Figure(value=1.0, digits=2))
    """
    number = read_number(text)
    if number is None:
        return None
    if number.value > 1:
        return Figure(number.value / 100, number.digits + 2)
    return number if number.digits else Figure(number.value, 2)


def matching(rows: Iterable[Row], value: float, digits: int) -> list[Match]:
    """Why does my number not match? The rows whose number, rounded to so many decimals, is this one.

    Either way of rounding a half is accepted. A row's value comes before its extremes under ties, and each row at most
    once; undefined numbers match nothing. Rows of several k may be given together.
    """
    within = 0.5 * 10.0**-digits + 1e-12
    found = []
    for row in rows:
        for which in ("value", "expected", "worst", "best"):
            number = getattr(row, which)
            if number is not None and abs(number - value) <= within:
                found.append(Match(row, which))
                break
    return found


# ---- rankings to look at ---------------------------------------------------------------------------------------------


class Unreadable(DataError):
    """What was typed is no ranking; a page translates ``key`` with ``parameters``.

    Keys: ``nothing`` (no item), ``character`` (character, place), ``nested``, ``unclosed``, ``unopened`` (place),
    ``too_few_relevant`` (n_relevant, shown), ``several_lists``, ``too_many`` (n, most).
    """

    def __init__(self, key: str, message: str, **parameters: object) -> None:
        super().__init__(message)
        self.key = key
        self.parameters = parameters


def typed(text: str, n_relevant: int | None = None) -> Ranking:
    """Read a ranking from its relevance in rank order.

    Parameters
    ----------
    text : str
        ``1`` is a relevant item, ``0`` another one, best first; ``(01)1``: the items in parentheses are tied, and stand
        in this order otherwise. ``101+2``: two more relevant items were not retrieved. ``/`` parts the lists of several
        queries. Spaces and commas are ignored.
    n_relevant : int, optional
        Relevant items in all, of a single list: those that are not shown were not retrieved.

    Returns
    -------
    Ranking
        One query a list; its gallery is the items shown and those not retrieved.

    Raises
    ------
    Unreadable

    Examples
    --------
    >>> typed("(01)1").above.tolist(), typed("(01)1").tied.tolist()
    ([0, 2], [1, 0])
    """
    lists = [_one_list(part) for part in text.split("/")]
    if n_relevant is not None:
        if len(lists) > 1:
            raise Unreadable("several_lists", "|Rel| can be given for one list only; write 101+2 / 01 instead")
        flags, scores, _ = lists[0]
        shown = sum(flags)
        if n_relevant < shown:
            raise Unreadable(
                "too_few_relevant",
                f"{shown} relevant items are shown, so |Rel| cannot be {n_relevant}",
                n_relevant=n_relevant,
                shown=shown,
            )
        lists = [(flags, scores, n_relevant - shown)]
    n = sum(len(flags) + more for flags, _, more in lists)
    if n > MAX_TYPED:
        raise Unreadable("too_many", f"{n} items; at most {MAX_TYPED} can be typed", n=n, most=MAX_TYPED)
    width = max(len(flags) + more for flags, _, more in lists)
    matrix = np.full((len(lists), width), np.nan)
    for row, (_, scores, _) in zip(matrix, lists, strict=True):
        row[: len(scores)] = scores
    relevant = [[*np.flatnonzero(flags).tolist(), *range(len(flags), len(flags) + more)] for flags, _, more in lists]
    absent = [range(len(flags) + more, width) for flags, _, more in lists]
    return rank_scores(matrix, Relevance.of(Sets.from_lists(relevant), width, Sets.from_lists(absent)))


def of_query(ranking: Ranking, query: int) -> Ranking:
    """Take one query's part of a ranking."""
    pairs = slice(ranking.indptr[query], ranking.indptr[query + 1])
    one = slice(query, query + 1)
    return Ranking(
        ranking.indptr[query : query + 2] - ranking.indptr[query],
        *(getattr(ranking, name)[pairs] for name in ("position", "above", "tied", "rank", "similarity")),
        *(getattr(ranking, name)[one] for name in ("n_gallery", "top_position", "top_similarity")),
    )


def _one_list(text: str) -> tuple[list[int], list[float], int]:
    """Relevance and score of each item shown, and how many relevant ones are not."""
    listed, plus, more = text.partition("+")
    if plus and not re.fullmatch("[0-9]{1,9}", more.strip()):
        place = len(listed) + 2
        raise Unreadable("character", f"after + a number is expected, got {more!r}", character=more, place=place)
    flags: list[int] = []
    scores: list[float] = []
    score, opened = 0.0, 0
    for place, character in enumerate(listed, 1):
        if character in "01":
            flags.append(int(character))
            scores.append(score)
            score -= 0 if opened else 1
        elif character == "(":
            if opened:
                raise Unreadable("nested", f"place {place}: a group of ties inside another one", place=place)
            opened = place
        elif character == ")":
            if not opened:
                raise Unreadable("unopened", f"place {place}: ) without (", place=place)
            opened, score = 0, score - 1
        elif not (character.isspace() or character == ","):
            message = f"place {place}: {character!r} is neither 0 nor 1; write 10101, ties as (01)1"
            raise Unreadable("character", message, character=character, place=place)
    if opened:
        raise Unreadable("unclosed", f"place {opened}: ( without )", place=opened)
    if not flags and not plus:
        raise Unreadable("nothing", "write the relevance in rank order, best first: 10101")
    return flags, scores, int(more) if plus else 0


# ---- conventions that metrics does not have --------------------------------------------------------------------------


def capped_recall(ranking: Ranking, k: int) -> Score:
    """What share of the most that could be in the first k places is there? Hits / min(|Rel|, k), averaged."""
    n = ranking.n_relevant
    return _scaled(metrics.item_recall_macro(ranking, k), n / np.maximum(np.minimum(n, k), 1), f"capped_recall@{k}")


def average_precision_by_relevant(ranking: Ranking, k: int) -> Score:
    """How early do the relevant items come, of all that there are? AP@k divided by |Rel|: a short cut costs."""
    n = ranking.n_relevant
    score = metrics.average_precision(ranking, k)
    return _scaled(score, np.minimum(n, k) / np.maximum(n, 1), f"map_relevant@{k}")


def average_precision_by_hits(ranking: Ranking, k: int) -> Score:
    """How early do the relevant items come that are found at all? AP@k divided by the hits among the first k.

    0 where none is found; queries with nothing relevant are left out. Finding one item more may lower it, so the
    extremes under ties try each number of hits that the group at the cut can give.
    """
    n = ranking.n_relevant
    hits = _sum(ranking, (ranking.rank > 0) & (ranking.rank <= k))
    found = metrics.average_precision(ranking, k)
    stands = found.numerator * np.minimum(n, k) / np.maximum(hits, 1)
    worst, best = stands.copy(), stands.copy()
    for q in np.unique(ranking.query[ranking.tied > 0]):
        stands[q], worst[q], best[q] = _hits_extremes(of_query(ranking, q), k)
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
class _One:
    """One query as its formula needs it: |Rel|, the ranks of the relevant items that were retrieved, and k."""

    n: int
    found: tuple[int, ...]
    k: int

    @property
    def inside(self) -> tuple[int, ...]:
        return tuple(rank for rank in self.found if rank <= self.k)

    @property
    def hits(self) -> int:
        return len(self.inside)


def _frac(above: object, below: object) -> str:
    return rf"\frac{{{above}}}{{{below}}}"


def _plus(terms: Iterable[str]) -> str:
    """Join the terms to a sum; of a long one the middle is left out."""
    parts = list(terms)
    if len(parts) > 2 * MAX_TERMS:
        parts[3:-1] = [r"\cdots"]
    return " + ".join(parts) or "0"


def _precisions(ranks: Iterable[int]) -> str:
    return rf"\left({_plus(_frac(j, rank) for j, rank in enumerate(ranks, 1))}\right)"


def _trapezoids(ranks: Iterable[int]) -> str:
    parts = (
        _frac(f"{_frac(j - 1, rank - 1) if rank > 1 else 1} + {_frac(j, rank)}", 2) for j, rank in enumerate(ranks, 1)
    )
    return rf"\left({_plus(parts)}\right)"


def _gains(ranks: Iterable[int]) -> str:
    return _plus(_frac(1, rf"\log_2 {rank + 1}") for rank in ranks)


def _to_last(one: _One) -> str:
    cut = min(one.found[-1], one.k) if one.found else one.k
    return _frac(sum(rank <= cut for rank in one.found), cut)


def _minp(one: _One) -> str:
    return _frac(one.n, one.found[-1] if len(one.found) == one.n else r"\infty")


def _filled(convention: Convention, rankings: Sequence[Ranking], k: int, score: Score) -> str:
    counted = score.denominator > 0
    if not counted.any():
        return _frac(0, 0)
    if score.n_query == 1:
        ranks = rankings[0].rank
        return convention.inner(_One(int(rankings[0].n_relevant[0]), tuple(ranks[ranks > 0].tolist()), k))
    above, below = score.numerator[counted], score.denominator[counted]
    if len(above) > MAX_TERMS:
        return _frac(_number(above.sum()), _number(below.sum()))
    total = _number(below.sum()) if (below == 1).all() else _plus(map(_number, below))
    return _frac(_plus(map(_number, above)), total)


def _number(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")


# ---- rows ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Convention:
    """How a row is made: its score, its formula, its numbers filled in for one query, and its names elsewhere."""

    level: str
    score: Callable[[Ranking, int], Score]
    formula: str
    inner: Callable[[_One], str]
    names: tuple[Name, ...]
    cuts: bool = True


def _row(key: str, rankings: Sequence[Ranking], k: int, every: tuple[Ranking, IntArray] | None) -> Row:
    convention = CONVENTIONS[key]
    score = pool([convention.score(ranking, k) for ranking in rankings])
    worst, expected, best = score.bounds
    n_counted = int((score.denominator > 0).sum())
    return Row(
        key,
        convention.level,
        k if convention.cuts else None,
        convention.formula,
        _filled(convention, rankings, k, score),
        score.value,
        worst,
        _mean_of_orders(convention.score, k, score, every) if expected is None else expected,
        best,
        n_counted,
        score.n_query - n_counted,
        tuple(
            replace(name, name=name.name.format(k=k))
            for name in convention.names
            if k == 1 or "k_is_1" not in name.notes
        ),
    )


def _mean_of_orders(
    metric: Callable[[Ranking, int], Score], k: int, score: Score, every: tuple[Ranking, IntArray] | None
) -> float | None:
    """Mean value over all orders of the ties, where they can be tried."""
    if score.n_tied == 0:
        return score.value
    if every is None:
        return None
    ranking, owner = every
    total = score.denominator.sum()
    mean = np.bincount(owner, metric(ranking, k).numerator, score.n_query) / np.bincount(owner, minlength=score.n_query)
    return float(mean.sum() / total) if total > 0 else float("nan")


def _every_order(rankings: Sequence[Ranking]) -> tuple[Ranking, IntArray] | None:
    """Each query in each order of its ties, as a query of its own without ties, and whose it is.

    Orders that give the same places to relevant items are one; all of them are equally likely. None where there are no
    ties, or too many orders.
    """
    if not any((ranking.tied > 0).any() for ranking in rankings) or not _few(rankings):
        return None
    queries = [of_query(ranking, q) for ranking in rankings for q in range(ranking.n_query)]
    ranks, owner, retrieved = [], [], []
    for q, one in enumerate(queries):
        for order in _orders(TieGroups.of(one)):
            missing = int((one.rank == 0).sum())
            ranks.append([*order, *[0] * missing])
            owner.append(q)
            retrieved.append(int(one.n_gallery[0]))
    indptr = np.concatenate([[0], np.cumsum([len(rank) for rank in ranks], dtype=np.intp)])
    rank = np.array([one for order in ranks for one in order], np.intp)
    n = len(owner)
    nothing = np.zeros((n, 0))
    return (
        Ranking(
            indptr,
            np.maximum(rank - 1, 0),
            rank - 1,
            np.where(rank > 0, 0, -1),
            rank,
            np.full(len(rank), np.nan),
            np.array(retrieved, np.intp),
            nothing.astype(np.intp),
            nothing,
        ),
        np.array(owner, np.intp),
    )


def _few(rankings: Sequence[Ranking]) -> bool:
    """Are there few orders to try in all?"""
    total = 0
    for ranking in rankings:
        groups = TieGroups.of(ranking)
        n_tied = groups.per_query(groups.size - 1)
        total += int((n_tied == 0).sum())
        for q in np.flatnonzero(n_tied):
            mine = groups.select(groups.query == q)
            total += prod(comb(int(n), int(r)) for n, r in zip(mine.size, mine.relevant, strict=True))
            if total > MAX_ORDERS:
                return False
    return total <= MAX_ORDERS


def _orders(groups: TieGroups) -> Iterator[list[int]]:
    """Ranks of one query's retrieved relevant items, for each choice of places inside its groups of ties."""
    choices = [
        combinations(range(int(above) + 1, int(above + n) + 1), int(r))
        for above, n, r in zip(groups.above, groups.size, groups.relevant, strict=True)
    ]
    for chosen in product(*choices):
        yield [rank for places in chosen for rank in places]


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
        metrics.recall,
        rf"\frac{{1}}{{N_q}} \sum_q \left[{_HITS} > 0\right]",
        lambda q: _frac(rf"\left[{q.hits} > 0\right]", 1),
        _trec("success_{k}", "Success@{k}", "hit_rate@{k}", "judged_empty")
        + _names(("torchmetrics", "RetrievalHitRate(top_k={k})"), ("OML", "cmc@{k}")),
    ),
    "recall_exclude": Convention(
        "query",
        metrics.recall_evaluable,
        rf"\frac{{1}}{{\lvert\{{q : {_REL} > 0\}}\rvert}} \sum_{{q:\,{_REL} > 0}} \left[{_HITS} > 0\right]",
        lambda q: _frac(rf"\left[{q.hits} > 0\right]", 1),
        _names(
            ("torchreid", "CMC Rank-{k}"),
            ("fast-reid", "Rank-{k}"),
            ("pytorch-metric-learning", "precision_at_1", "k_is_1"),
            ("torchmetrics", "RetrievalHitRate(top_k={k})", "empty_skip"),
        ),
    ),
    "item_recall": Convention(
        "item",
        metrics.item_recall,
        rf"\frac{{\sum_q {_HITS}}}{{\sum_q {_REL}}}",
        lambda q: _frac(q.hits, q.n),
        _names(
            ("faiss", 'contrib.evaluation.range_PR(mode="overall")'),
            ("faiss", "contrib.evaluation.knn_intersection_measure", "true_neighbours"),
        ),
    ),
    "item_recall_macro": Convention(
        "item",
        metrics.item_recall_macro,
        rf"\frac{{{_HITS}}}{{{_REL}}}",
        lambda q: _frac(q.hits, q.n),
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
        lambda q: _frac(q.hits, rf"\min({q.n}, {q.k})"),
        _names(("trec_eval", "relative_P_{k}", "judged_empty"), ("OML", "precision@{k}")),
    ),
    "precision": Convention(
        "item",
        metrics.precision,
        rf"\frac{{{_HITS}}}{{k}}",
        lambda q: _frac(q.hits, q.k),
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
        lambda ranking, k: metrics.r_precision(ranking),
        rf"\frac{{\lvert\mathrm{{Top}}_{{{_REL}}} \cap \mathrm{{Rel}}\rvert}}{{{_REL}}}",
        lambda q: _frac(sum(rank <= q.n for rank in q.found), q.n),
        _trec("Rprec", "Rprec", "r-precision", "judged_empty")
        + _names(("torchmetrics", "RetrievalRPrecision()", "empty_as_0"), ("pytorch-metric-learning", "r_precision")),
        cuts=False,
    ),
    "map_min": Convention(
        "list",
        metrics.average_precision,
        rf"\frac{{1}}{{\min({_REL}, k)}} {_STEPS}",
        lambda q: _frac(1, rf"\min({q.n}, {q.k})") + _precisions(q.inside),
        (),
    ),
    "map_relevant": Convention(
        "list",
        average_precision_by_relevant,
        rf"\frac{{1}}{{{_REL}}} {_STEPS}",
        lambda q: _frac(1, q.n) + _precisions(q.inside),
        _trec("map_cut_{k}", "AP@{k}", "map@{k}", "judged_empty")
        + _names(("pytorch-metric-learning", "mean_average_precision (k={k})", "from_1_6_1")),
    ),
    "map_hits": Convention(
        "list",
        average_precision_by_hits,
        rf"\frac{{1}}{{{_HITS}}} {_STEPS}",
        lambda q: _frac(1, q.hits) + _precisions(q.inside) if q.hits else "0",
        _names(
            ("torchmetrics", "RetrievalMAP(top_k={k})", "empty_as_0", "positive_scores"),
            ("OML", "map@{k}"),
            ("pytorch-metric-learning", "mean_average_precision (k={k})", "until_1_6_0"),
        ),
    ),
    "map": Convention(
        "list",
        lambda ranking, k: metrics.average_precision(ranking),
        rf"\frac{{1}}{{{_REL}}} \sum_j \frac{{j}}{{\rho_j}}",
        lambda q: _frac(1, q.n) + _precisions(q.found),
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
        lambda q: _frac(1, q.n) + _trapezoids(q.found),
        _names(("revisitop", "mAP")),
        cuts=False,
    ),
    "map_at_r": Convention(
        "list",
        lambda ranking, k: metrics.map_at_r(ranking),
        rf"\frac{{1}}{{{_REL}}} \sum_{{j:\,\rho_j \le {_REL}}} \frac{{j}}{{\rho_j}}",
        lambda q: _frac(1, q.n) + _precisions(rank for rank in q.found if rank <= q.n),
        _names(("pytorch-metric-learning", "mean_average_precision_at_r")),
        cuts=False,
    ),
    "mrr_at_k": Convention(
        "list",
        metrics.reciprocal_rank,
        r"\frac{\left[\rho_1 \le k\right]}{\rho_1}",
        lambda q: _frac(1, q.inside[0]) if q.hits else "0",
        _names(
            ("ir_measures", "RR@{k}", "judged_empty"),
            ("ranx", "mrr@{k}", "judged_empty"),
            ("torchmetrics", "RetrievalMRR(top_k={k})", "empty_as_0", "positive_scores"),
            ("pytorch-metric-learning", "mean_reciprocal_rank (k={k})"),
        ),
    ),
    "mrr": Convention(
        "list",
        lambda ranking, k: metrics.reciprocal_rank(ranking),
        r"\frac{1}{\rho_1}",
        lambda q: _frac(1, q.found[0]) if q.found else "0",
        _trec("recip_rank", "RR", "mrr", "judged_empty")
        + _names(("torchmetrics", "RetrievalMRR()", "empty_as_0", "positive_scores")),
        cuts=False,
    ),
    "ndcg_at_k": Convention(
        "list",
        metrics.ndcg,
        rf"\frac{{\sum_{{j:\,\rho_j \le k}} 1/\log_2(\rho_j + 1)}}{{\sum_{{j \le \min({_REL}, k)}} 1/\log_2(j + 1)}}",
        lambda q: _frac(_gains(q.inside), _gains(range(1, min(q.n, q.k) + 1))),
        _trec("ndcg_cut_{k}", "nDCG@{k}", "ndcg@{k}", "judged_empty")
        + _names(
            ("torchmetrics", "RetrievalNormalizedDCG(top_k={k})", "empty_as_0", "ties_mean"),
            ("scikit-learn", "ndcg_score(k={k})", "empty_as_0", "ties_mean"),
        ),
    ),
    "ndcg": Convention(
        "list",
        lambda ranking, k: metrics.ndcg(ranking),
        rf"\frac{{\sum_j 1/\log_2(\rho_j + 1)}}{{\sum_{{j \le {_REL}}} 1/\log_2(j + 1)}}",
        lambda q: _frac(_gains(q.found), _gains(range(1, q.n + 1))),
        _trec("ndcg", "nDCG", "ndcg", "judged_empty")
        + _names(
            ("torchmetrics", "RetrievalNormalizedDCG()", "empty_as_0", "ties_mean"),
            ("scikit-learn", "ndcg_score()", "empty_as_0", "ties_mean"),
        ),
        cuts=False,
    ),
    "minp": Convention(
        "list",
        lambda ranking, k: metrics.minp(ranking),
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
