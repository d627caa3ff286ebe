"""What the order of equally similar items can do to a score: the extremes, and the mean over all orders.

Closed forms: McSherry and Najork, "Computing information retrieval performance measures efficiently in the presence
of tied scores", ECIR 2008. They need only those groups of ties that hold a relevant item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from ..arrays import FloatArray, IntArray
from ..ranking import Ranking

# A probability below this cannot be told from 0 in the sums that it enters.
NEGLIGIBLE = 1e-30


@dataclass(frozen=True, eq=False)
class TieGroups:
    """Runs of equally similar items with a relevant one among them, query by query; an untied item is a run of one.

    Parameters
    ----------
    n_query : int
    query : (n_group,) intp
    first_pair : (n_group,) intp
        The relevant items of the group are the pairs ``first_pair``, ``first_pair + 1``, … of the ranking.
    above, size, relevant, before : (n_group,) float64
        Items that stand before the group (N), items in it (n), relevant ones among these (r), and relevant items
        that stand before it (R0).
    """

    n_query: int
    query: IntArray
    first_pair: IntArray
    above: FloatArray
    size: FloatArray
    relevant: FloatArray
    before: FloatArray

    @classmethod
    def of(cls, ranking: Ranking) -> TieGroups:
        """The groups of a ranking; items that were not retrieved stand in none."""
        n_pair = len(ranking.rank)
        before = np.arange(n_pair) - np.repeat(ranking.indptr[:-1], ranking.n_relevant)
        opens = (before == 0) | (np.diff(ranking.above, prepend=0) != 0)
        first = np.flatnonzero(opens)
        relevant = np.diff(first, append=n_pair)
        retrieved = ranking.rank[first] > 0
        first, relevant = first[retrieved], relevant[retrieved]
        return cls(
            ranking.n_query,
            ranking.query[first],
            first,
            ranking.above[first].astype(np.float64),
            ranking.tied[first].astype(np.float64) + 1,
            relevant.astype(np.float64),
            before[first].astype(np.float64),
        )

    def select(self, groups: NDArray[np.bool_]) -> TieGroups:
        """Keep these groups."""
        return TieGroups(
            self.n_query,
            self.query[groups],
            self.first_pair[groups],
            self.above[groups],
            self.size[groups],
            self.relevant[groups],
            self.before[groups],
        )

    def per_query(self, of_group: FloatArray) -> FloatArray:
        """(n_query,) sum of the groups' values."""
        return np.bincount(self.query, weights=of_group, minlength=self.n_query).astype(np.float64, copy=False)

    def counted(self, k: float) -> FloatArray:
        """(n_group,) places of each group that are among the first k (m)."""
        return np.clip(k - self.above, 0, self.size)


def extreme_ranks(ranking: Ranking, groups: TieGroups) -> tuple[FloatArray, FloatArray]:
    """(n_pair,) ranks with the relevant items last, and first, in each group of ties; inf where not retrieved."""
    relevant = groups.relevant.astype(np.intp)
    within = np.arange(relevant.sum()) - np.repeat(np.cumsum(relevant) - relevant, relevant)
    pair = np.repeat(groups.first_pair, relevant) + within
    best = np.full(len(ranking.rank), np.inf)
    best[pair] = np.repeat(groups.above, relevant) + 1 + within
    worst = best.copy()
    worst[pair] += np.repeat(groups.size - groups.relevant, relevant)
    return worst, best


def expected_hit(groups: TieGroups, k: float) -> FloatArray:
    """(n_query,) probability that a relevant item is among the first k.

    1 − C(n − r, m) / C(n, m) in the first group with a relevant item; later groups add nothing, since they are reached
    only when all of the first is counted.
    """
    first = groups.select(groups.before == 0)
    return first.per_query(1 - _none_drawn(first.size, first.relevant, first.counted(k)))


def expected_hits(groups: TieGroups, k: float) -> FloatArray:
    """(n_query,) mean number of relevant items among the first k: r·m/n from each group."""
    return groups.per_query(groups.relevant * groups.counted(k) / groups.size)


def expected_precision_sum(groups: TieGroups, k: float) -> FloatArray:
    """(n_query,) mean of the sum, over relevant items with rank ≤ k, of the precision at their rank.

    Place N + i of a group is relevant with probability r/n, and then R0 + 1 + (i − 1)·b relevant items are expected up
    to it, b = (r − 1)/(n − 1). Written as b·(N + i) + c, the sum over i ≤ m is b·m + c·(H(N + m) − H(N)), H the
    harmonic numbers: no loop over the places of a group that may be as long as the gallery.
    """
    n, r, m = groups.size, groups.relevant, groups.counted(k)
    b = (r - 1) / np.maximum(n - 1, 1)
    c = groups.before + 1 - b * (groups.above + 1)
    harmonic = digamma(groups.above + m + 1) - digamma(groups.above + 1)
    return groups.per_query(r / n * (b * m + c * harmonic))


def expected_reciprocal_rank(groups: TieGroups, k: float) -> FloatArray:
    """(n_query,) mean of 1 / rank of the first relevant item, 0 where that is beyond k.

    Σ over i ≤ n − r + 1 of P(the first relevant item is at place i) / (N + i), in the first group with a relevant item.
    Groups alike in (N, n, r) are summed once: under a collapsed encoder all queries share one, as long as the gallery.
    """
    first = groups.select(groups.before == 0)
    shapes = np.stack([first.above, first.size, first.relevant], axis=1)
    kinds, kind = np.unique(shapes, axis=0, return_inverse=True)
    above, n, r = kinds.T
    last = np.minimum(n - r + 1, k - above)
    mean = np.zeros(len(kinds))
    at_place = r / n
    place = 1
    active = np.flatnonzero(last >= place)
    while len(active):
        mean[active] += at_place[active] / (above[active] + place)
        at_place[active] *= (n - r - place + 1)[active] / np.maximum(n[active] - place, 1)
        place += 1
        active = active[(last[active] >= place) & (at_place[active] > NEGLIGIBLE)]
    return first.per_query(mean[kind])


def _none_drawn(n: FloatArray, r: FloatArray, m: FloatArray) -> FloatArray:
    """C(n − r, m) / C(n, m): probability that m items drawn out of n miss all r marked ones.

    Symmetric in r and m, so min(r, m) ratios are multiplied; these keep the precision that the difference of two large
    log-gammas would lose.
    """
    few, many = np.minimum(r, m), np.maximum(r, m)
    missed = np.ones(len(n))
    drawn = 0
    active = np.flatnonzero(few > drawn)
    while len(active):
        missed[active] *= np.maximum(n[active] - many[active] - drawn, 0) / (n[active] - drawn)
        drawn += 1
        active = active[(few[active] > drawn) & (missed[active] > NEGLIGIBLE)]
    return missed
