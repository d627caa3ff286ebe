"""One ranking under every convention: each score, with the numbers filled in, and which one somebody has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import comb, prod

import numpy as np

from ..arrays import IntArray
from ..metrics import CONVENTIONS, MAX_TERMS, Convention, Name, One, Score, TieGroups, checked_k, frac, plus, pool
from ..ranking import Ranking

MAX_ORDERS = 20_000

MOST_K, LEAST_K, WORK = 1000, 20, 4_000_000
"""A number is looked for at every k up to ``MOST_K``; where there are so many right items that this would take more
than some seconds, up to fewer, but at least ``LEAST_K``."""


@dataclass(frozen=True)
class Row:
    """One convention's number for a ranking.

    Parameters
    ----------
    key, level : str
        See ``conventions``.
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


def definition_rows(rankings: Sequence[Ranking], k: int) -> tuple[Row, ...]:
    """What is this ranking worth under each convention?

    Parameters
    ----------
    rankings : sequence of Ranking
        One; or both directions, whose queries are then pooled. ``typed.read_ranking`` makes small ones.
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
    return tuple(_row(key, rankings, k, _numbers(key, rankings, k, every)) for key in CONVENTIONS)


@dataclass(frozen=True)
class Match:
    """A row that gives the figure, and which of its numbers: ``value``, ``worst``, ``expected`` or ``best``."""

    row: Row
    which: str


def matching(rows: Iterable[Row], value: float, digits: int) -> list[Match]:
    """Why does my number not match? The rows whose number, rounded to so many decimals, is this one.

    Either way of rounding a half is accepted. A row's value comes before its extremes under ties, and each row at most
    once; undefined numbers match nothing. Rows of several k may be given together.
    """
    return [Match(row, which) for row in rows if (which := _which(row, value, digits))]


def matching_at(rankings: Sequence[Ranking], ks: Iterable[int], value: float, digits: int) -> dict[int, list[Match]]:
    """At which of these k does a row that cuts give this number? k → matches, where there are any.

    As ``matching`` on the ``rows`` of each k, but formulas are filled only for what matches.
    """
    every, found = _every_order(rankings), {}
    for k in ks:
        hits = []
        for key in (key for key, convention in CONVENTIONS.items() if convention.cuts):
            numbers = _numbers(key, rankings, checked_k(k), every)
            which = _which(numbers, value, digits)
            if which:
                hits.append(Match(_row(key, rankings, k, numbers), which))
        if hits:
            found[k] = hits
    return found


def most_k(rankings: Sequence[Ranking]) -> int:
    """Up to which k can a number be looked for in some seconds? To the end of the longest list, where that is near."""
    every = _every_order(rankings)
    n_rank = sum(len(ranking.rank) for ranking in [*rankings, *(() if every is None else every[:1])])
    longest = max(int(ranking.n_gallery.max(initial=1)) for ranking in rankings)
    return max(LEAST_K, min(MOST_K, longest, WORK // (n_rank + 2500)))


@dataclass(frozen=True, eq=False)
class _Numbers:
    """A convention's score at one k, and what ties may make of it."""

    score: Score
    value: float
    worst: float
    expected: float | None
    best: float


def _numbers(key: str, rankings: Sequence[Ranking], k: int, every: tuple[Ranking, IntArray] | None) -> _Numbers:
    convention = CONVENTIONS[key]
    score = pool([convention.score(ranking, k) for ranking in rankings])
    worst, expected, best = score.bounds
    if expected is None:
        expected = _mean_of_orders(convention.score, k, score, every)
    return _Numbers(score, score.value, worst, expected, best)


def _which(numbers: Row | _Numbers, value: float, digits: int) -> str:
    """Which of its numbers is this one, rounded? Empty where none is."""
    within = 0.5 * 10.0**-digits + 1e-12
    for which in ("value", "expected", "worst", "best"):
        number = getattr(numbers, which)
        if number is not None and abs(number - value) <= within:
            return which
    return ""


def _row(key: str, rankings: Sequence[Ranking], k: int, numbers: _Numbers) -> Row:
    convention, score = CONVENTIONS[key], numbers.score
    n_counted = int((score.denominator > 0).sum())
    return Row(
        key,
        convention.level,
        k if convention.cuts else None,
        convention.formula,
        _filled(convention, rankings, k, score),
        numbers.value,
        numbers.worst,
        numbers.expected,
        numbers.best,
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
    queries = [ranking.select([q]) for ranking in rankings for q in range(ranking.n_query)]
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


def _filled(convention: Convention, rankings: Sequence[Ranking], k: int, score: Score) -> str:
    counted = score.denominator > 0
    if not counted.any():
        return frac(0, 0)
    if score.n_query == 1:
        ranks = rankings[0].rank
        return convention.inner(One(int(rankings[0].n_relevant[0]), tuple(ranks[ranks > 0].tolist()), k))
    above, below = score.numerator[counted], score.denominator[counted]
    if len(above) > MAX_TERMS:
        return frac(_number(above.sum()), _number(below.sum()))
    total = _number(below.sum()) if (below == 1).all() else plus(map(_number, below))
    return frac(plus(map(_number, above)), total)


def _number(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")
