"""How far can a score be trusted? Intervals and tests whose independent unit is the group, not the query.

Queries of one group (both directions of a scene, all pictures of a person) rise and fall together; to count them one by
one makes every interval too narrow. Groups that share a gallery are not fully independent either: an interval is over
query groups, given this gallery.

Resampling starts from a literal seed, so a number is the same on every call. The seed steers only the noise of the
resampling itself and is no part of what was evaluated. Draws depend on the seed and the number of groups alone: the
interval of a score does not depend on which other scores are asked for with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from ..arrays import FloatArray
from .resampling import ROUNDING, Distribution, Expansion, GroupSums, distributions, sign_flip
from .score import Score

SEED = 20_260_101

# Fewer groups than this that differ from a perfect (or an empty) result are too few to be resampled: most resamples
# would repeat the same few groups or miss them all.
MIN_IMPERFECT = 5

# Metrics of hits and misses, for which the Wilson interval keeps its level where resampling does not.
HIT_OR_MISS = ("recall", "recall_evaluable")


@dataclass(frozen=True)
class Interval:
    """A range for a score, with how it was made and why in this way.

    Parameters
    ----------
    low, high : float
        In [0, 1] for a score, in [−1, 1] for a difference.
    level : float
        Nominal coverage, such as 0.95.
    method : {"wilson-cluster", "bootstrap-bca", "bootstrap-percentile"}
    reason : str
        One English sentence for the report.
    """

    low: float
    high: float
    level: float
    method: str
    reason: str


@dataclass(frozen=True)
class PairedDifference:
    """How much better is a than b, on the same queries?

    Parameters
    ----------
    difference : float
        Value of a minus value of b; nan where nothing can be evaluated.
    interval : Interval or None
        None where the two differ in no group, or there are fewer than 2 groups.
    p_value : float
        Two-sided sign-flip test by group; 1 where no group differs, nan where nothing can be evaluated.
    n_group, n_changed : int
        Groups with something to evaluate, and those among them in which a and b differ.
    """

    difference: float
    interval: Interval | None
    p_value: float
    n_group: int
    n_changed: int


def interval(score: Score, groups: ArrayLike, *, level: float = 0.95, seed: int = SEED) -> Interval | None:
    """In which range does the score lie, were other groups of the same kind asked?

    Parameters
    ----------
    score : Score
    groups : (n_query,) labels
        The independent unit of each query; a label of its own for each where none is known. Directions that are pooled
        share the labels of their groups.
    level : float
        Nominal coverage, between 0 and 1.
    seed : int
        Of the resampling.

    Returns
    -------
    Interval or None
        None where fewer than 2 groups have anything to evaluate.

        R@k: Wilson on a sample size adjusted for the correlation inside groups, always. Every other metric: bootstrap
        of groups, BCa; Wilson where fewer than 5 groups are imperfect (or fewer than 5 above 0), or all groups agree,
        since resampling cannot see what is not in the sample. Never of zero width.

    Raises
    ------
    ValueError
        If there is not one label a query, or the level is not between 0 and 1.
    """
    return intervals_of([score], groups, level=level, seed=seed)[0]


def intervals_of(
    scores: Sequence[Score], groups: ArrayLike, *, level: float = 0.95, seed: int = SEED
) -> list[Interval | None]:
    """``interval`` of many scores of the same queries at once; they share the resamples."""
    code = _code(groups)
    sums = [GroupSums.of(score.numerator, score.denominator, code) for score in scores]
    return _intervals([score.name for score in scores], sums, level, seed)


def band(
    name: str,
    numerator: FloatArray,
    denominator: FloatArray,
    groups: ArrayLike,
    *,
    level: float = 0.95,
    seed: int = SEED,
) -> tuple[FloatArray, FloatArray]:
    """Which band surrounds a curve? At each k the same as ``interval`` of the score at that k.

    Parameters
    ----------
    name : str
        Metric of the curve, as in ``metrics.CURVES``.
    numerator : (n_query, depth) float64
    denominator : (n_query,) float64
        As the functions in ``metrics.CURVES`` give them.
    groups : (n_query,) labels
    level, seed
        As in ``interval``.

    Returns
    -------
    low, high : (depth,) float64
        nan where ``interval`` is None.
    """
    code = _code(groups)
    sums = [GroupSums.of(column, denominator, code) for column in numerator.T]
    found = _intervals([name] * len(sums), sums, level, seed)
    ends = np.array([(np.nan, np.nan) if one is None else (one.low, one.high) for one in found]).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def wilson_interval(score: Score, groups: ArrayLike, *, level: float = 0.95) -> Interval | None:
    """In which range does a rate lie, by Wilson's formula on a sample size adjusted for groups?

    None where fewer than 2 groups have anything to evaluate. Never of zero width, even if all queries agree.
    """
    sums = GroupSums.of(score.numerator, score.denominator, _code(groups))
    return _wilson(sums, _checked_level(level), "Wilson was asked for") if sums.n_group > 1 else None


def bootstrap_interval(score: Score, groups: ArrayLike, *, level: float = 0.95, seed: int = SEED) -> Interval | None:
    """In which range do resamples of the groups put the score? (grouped bootstrap, percentile)

    The interval that courses prescribe, shown beside ``interval``. None where fewer than 2 groups have anything to
    evaluate, and where all groups agree: every resample then repeats the same value, which says nothing of its
    uncertainty. Exact, without resampling noise, where all groups have the same denominator and numerators are counts.
    """
    return bootstrap_intervals([score], groups, level=level, seed=seed)[0]


def bootstrap_intervals(
    scores: Sequence[Score], groups: ArrayLike, *, level: float = 0.95, seed: int = SEED
) -> list[Interval | None]:
    """``bootstrap_interval`` of many scores of the same queries at once; they share the resamples."""
    code = _code(groups)
    sums = [GroupSums.of(score.numerator, score.denominator, code) for score in scores]
    level = _checked_level(level)
    found: list[Interval | None] = [None] * len(sums)
    varied = [i for i, one in enumerate(sums) if one.varies]
    for i, distribution in zip(varied, distributions([sums[i] for i in varied], seed), strict=True):
        found[i] = _percentile(distribution, level, f"resampled {sums[i].n_group} groups")
    return found


def paired_difference(
    a: Score, b: Score, groups: ArrayLike, *, level: float = 0.95, seed: int = SEED
) -> PairedDifference:
    """Is a better than b on the same queries, or could it be chance?

    The same groups are resampled for both (percentile interval of the difference); the test flips the sign of each
    group's difference: all 2ⁿ ways where at most 13 groups differ, 10,000 random ways otherwise.

    Parameters
    ----------
    a, b : Score
        Of the same queries in the same order, so of equal denominators.
    groups : (n_query,) labels
    level, seed
        As in ``interval``.

    Raises
    ------
    ValueError
        If the denominators differ: then it is not the same queries, relevance and policy.
    """
    level = _checked_level(level)
    if not np.array_equal(a.denominator, b.denominator):
        raise ValueError(
            f"{a.name} and {b.name} have different denominators; a paired difference needs the same queries with the "
            "same relevance and policy"
        )
    sums = GroupSums.of(a.numerator - b.numerator, a.denominator, _code(groups))
    changed = sums.numerator[np.abs(sums.numerator) > ROUNDING]
    found = None
    if sums.varies and len(changed):
        found = _percentile(next(distributions([sums], seed)), level, f"resampled {sums.n_group} groups for both")
    p_value = sign_flip(changed, seed) if sums.n_group else float("nan")
    return PairedDifference(a.value - b.value, found, p_value, sums.n_group, len(changed))


def holm(p_values: ArrayLike) -> FloatArray:
    """Which p-values remain small when several comparisons are looked at? (Holm, 1979)

    Adjusted p-values in the given order; nan stays nan and is not counted as a comparison.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1)
    return adjusted


def bonferroni(level: float, n: int) -> float:
    """At which level must each of n intervals be made, that all hold together at ``level``, whatever links them?"""
    return 1 - (1 - _checked_level(level)) / max(n, 1)


def _intervals(names: Sequence[str], sums: Sequence[GroupSums], level: float, seed: int) -> list[Interval | None]:
    level = _checked_level(level)
    found: list[Interval | None] = [None] * len(sums)
    resampled = []
    for i, (name, one) in enumerate(zip(names, sums, strict=True)):
        if one.n_group < 2:
            continue
        reason = _why_wilson(name, one)
        if reason:
            found[i] = _wilson(one, level, reason)
        else:
            resampled.append(i)
    for i, distribution in zip(resampled, distributions([sums[i] for i in resampled], seed), strict=True):
        found[i] = _bca(sums[i], distribution, level)
    return found


def _why_wilson(name: str, sums: GroupSums) -> str:
    """Reason not to resample; empty where resampling serves."""
    imperfect = int((sums.numerator < sums.denominator - ROUNDING).sum())
    above_zero = int((sums.numerator > ROUNDING).sum())
    if name.split("@")[0] in HIT_OR_MISS:
        return "each query hits or misses"
    if sums.n_group < MIN_IMPERFECT:
        return f"only {sums.n_group} groups, too few to resample"
    if imperfect < MIN_IMPERFECT:
        return f"only {imperfect} of {sums.n_group} groups are imperfect, too few to resample"
    if above_zero < MIN_IMPERFECT:
        return f"only {above_zero} of {sums.n_group} groups are above 0, too few to resample"
    if not sums.varies:
        return f"all {sums.n_group} groups have the same value, resamples would only repeat it"
    return ""


def _wilson(sums: GroupSums, level: float, reason: str) -> Interval:
    n, p = _effective_size(sums), sums.value
    z = float(ndtri((1 + level) / 2))
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(max(p * (1 - p), 0) / n + (z / (2 * n)) ** 2)
    low = 0.0 if p <= ROUNDING else max(0.0, float(centre - half))
    high = 1.0 if p >= 1 - ROUNDING else min(1.0, float(centre + half))
    text = f"{reason}; {sums.denominator.sum():g} in {sums.n_group} groups count as {n:.1f} independent ones"
    if n < sums.denominator.sum() and _intraclass_correlation(sums) is None:
        text += "; all agree, so the correlation inside groups is unknown and taken as full"
    return Interval(low, high, level, "wilson-cluster", text)


def _effective_size(sums: GroupSums) -> float:
    """Units that would be worth as much were they independent: n / (1 + (Σm²/n − 1)·ICC⁺)."""
    n = float(sums.denominator.sum())
    correlation = _intraclass_correlation(sums)
    inside = 1.0 if correlation is None else min(max(correlation, 0.0), 1.0)
    return n / (1 + (float((sums.denominator**2).sum()) / n - 1) * inside)


def _intraclass_correlation(sums: GroupSums) -> float | None:
    """How alike units of one group are, by one-way analysis of variance; None where undefined."""
    m = sums.denominator
    n, n_group = float(m.sum()), sums.n_group
    if n <= n_group:
        return None
    mean = sums.numerator / m
    between = float((m * (mean - sums.value) ** 2).sum()) / (n_group - 1)
    within = max(float((sums.square - m * mean**2).sum()), 0.0) / (n - n_group)
    typical = (n - float((m**2).sum()) / n) / (n_group - 1)
    total = between + (typical - 1) * within
    return (between - within) / total if total > ROUNDING else None


def _how(distribution: Distribution | Expansion) -> str:
    return ", by expansion instead of draws" if isinstance(distribution, Expansion) else ""


def _percentile(distribution: Distribution | Expansion, level: float, reason: str) -> Interval:
    low, high = distribution.quantile([(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, "bootstrap-percentile", reason + _how(distribution))


def _bca(sums: GroupSums, distribution: Distribution | Expansion, level: float) -> Interval:
    """Bias-corrected and accelerated (Efron, 1987); resamples that equal the estimate count half on each side.

    The acceleration lies within ±1/6 for any sample, so the divisor stays positive.
    """
    without = (sums.numerator.sum() - sums.numerator) / (sums.denominator.sum() - sums.denominator)
    pull = without.mean() - without
    acceleration = float((pull**3).sum()) / (6 * float((pull**2).sum()) ** 1.5)
    bias = float(ndtri(distribution.below(sums.value)))
    z = bias + ndtri([(1 - level) / 2, (1 + level) / 2])
    low, high = distribution.quantile(ndtr(bias + z / (1 - acceleration * z)))
    return Interval(
        min(max(float(low), 0.0), 1.0),
        min(max(float(high), 0.0), 1.0),
        level,
        "bootstrap-bca",
        f"mean over queries, resampled by group ({sums.n_group} groups{_how(distribution)})",
    )


def _code(groups: ArrayLike) -> NDArray[np.intp]:
    """(n_query,) 0-based code of each label."""
    return np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.intp)


def _checked_level(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, such as 0.95, got {level!r}")
    return float(level)
