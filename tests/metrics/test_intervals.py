"""Intervals and tests by group: published values, enumeration, and what must never happen."""

import math
from itertools import product

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recall_core.metrics import measures, resampling
from recall_core.metrics.intervals import (
    SEED,
    _bca,
    _effective_size,
    _percentile,
    _wilson,
    band,
    bootstrap_interval,
    bootstrap_intervals,
    holm,
    interval,
    intervals_of,
    paired_difference,
    wilson_interval,
)
from recall_core.metrics.resampling import GroupSums
from recall_core.metrics.score import Score
from recall_core.ranking.exact_pass import rank_scores
from recall_core.ranking.relevance import Relevance, Sets

SCIPY = tuple(int(part) for part in scipy.__version__.split(".")[:2])

GOLDEN = {
    (0, 1, 29): ((0.9114, 0.9971), (0.95, 1), (0.9167, 1)),
    (6, 0, 24): ((0.6269, 0.9049), (0.6333, 0.9333), (0.6333, 0.9333)),
}


def score_of(numerator, denominator=None, name="map") -> Score:
    numerator = np.asarray(numerator, np.float64)
    denominator = np.ones(len(numerator)) if denominator is None else np.asarray(denominator, np.float64)
    return Score(name, numerator, denominator, numerator, numerator)


def two_directions(none, half, both, name="recall@1") -> tuple[Score, np.ndarray]:
    """Scenes with 0, 1 and 2 hits in their two queries, one direction after the other."""
    first = np.repeat([0, 1, 1], [none, half, both])
    second = np.repeat([0, 0, 1], [none, half, both])
    scenes = np.array([f"G0-{i:04}" for i in range(none + half + both)])
    return score_of([*first, *second], name=name), np.concatenate([scenes, scenes])


def ends(found) -> tuple[float, float]:
    return found.low, found.high


@st.composite
def grouped_scores(draw):
    """Uneven groups, agreeing or not; some queries left out."""
    n = draw(st.integers(1, 40))
    values = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0])
    numerator = np.array(draw(st.lists(values, min_size=n, max_size=n)))
    denominator = np.array(draw(st.lists(st.sampled_from([1.0, 1.0, 1.0, 0.0]), min_size=n, max_size=n)))
    groups = draw(st.lists(st.sampled_from("abcdefghijklmnop"), min_size=n, max_size=n))
    return score_of(numerator * denominator, denominator), groups


# ---- published values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", GOLDEN)
def test_wilson_on_the_adjusted_size(counts):
    found = interval(*two_directions(*counts))
    assert found.method == "wilson-cluster"
    assert ends(found) == pytest.approx(GOLDEN[counts][0], abs=5e-5)
    assert found == interval(*two_directions(*counts, name="recall_evaluable@10"))


@pytest.mark.parametrize("counts", GOLDEN)
def test_percentile_bootstrap_is_exact_for_hits_in_equal_groups(counts):
    found = bootstrap_interval(*two_directions(*counts))
    assert found.method == "bootstrap-percentile"
    assert ends(found) == pytest.approx(GOLDEN[counts][1], abs=5e-5)


@pytest.mark.parametrize("counts", GOLDEN)
def test_bca_bootstrap_with_ties_at_the_estimate(counts):
    score, groups = two_directions(*counts)
    sums = GroupSums.of(score.numerator, score.denominator, np.unique(groups, return_inverse=True)[1])
    (distribution,) = resampling.distributions([sums], SEED)
    assert ends(_bca(sums, distribution, 0.95)) == pytest.approx(GOLDEN[counts][2], abs=5e-5)


def test_thirty_perfect_scenes():
    score, groups = two_directions(0, 0, 30)
    found = interval(score, groups)
    assert ends(found) == pytest.approx((0.8865, 1), abs=5e-5)
    assert found.high == 1
    assert "60 in 30 groups count as 30.0" in found.reason
    assert "all agree" in found.reason
    assert bootstrap_interval(score, groups) is None


def test_perfect_map_gets_the_same_interval_as_perfect_recall():
    score, groups = two_directions(0, 0, 30, name="map@5")
    assert ends(interval(score, groups)) == pytest.approx((0.8865, 1), abs=5e-5)


# ---- the formulas ---------------------------------------------------------------------------------------------------


def test_size_of_pairs_by_the_formula_for_two_queries_a_scene():
    for none, half, both in [(3, 5, 22), (1, 9, 20), (8, 1, 21), (0, 12, 18)]:
        n = none + half + both
        mean = np.repeat([0, 0.5, 1], [none, half, both])
        between = 2 * ((mean - mean.mean()) ** 2).sum() / (n - 1)
        within = 0.5 * half / n
        alike = min(max((between - within) / (between + within), 0), 1)
        score, groups = two_directions(none, half, both)
        sums = GroupSums.of(score.numerator, score.denominator, np.unique(groups, return_inverse=True)[1])
        assert _effective_size(sums) == pytest.approx(2 * n / (1 + alike))


def effective_size_by_loops(values, groups) -> float:
    """One-way analysis of variance, read off a textbook."""
    parts = [[v for v, g in zip(values, groups, strict=True) if g == name] for name in sorted(set(groups))]
    n, n_group, grand = len(values), len(parts), sum(values) / len(values)
    squares = sum(len(part) ** 2 for part in parts)
    between = sum(len(part) * (sum(part) / len(part) - grand) ** 2 for part in parts) / (n_group - 1)
    alike = 1.0
    if n > n_group:
        within = sum((v - sum(part) / len(part)) ** 2 for part in parts for v in part) / (n - n_group)
        typical = (n - squares / n) / (n_group - 1)
        if between + (typical - 1) * within > 1e-12:
            alike = min(max((between - within) / (between + (typical - 1) * within), 0), 1)
    return n / (1 + (squares / n - 1) * alike)


@given(grouped_scores())
def test_wilson_is_the_formula_on_the_adjusted_size(case):
    score, groups = case
    there = score.denominator > 0
    values, kept = score.numerator[there].tolist(), [g for g, ok in zip(groups, there, strict=True) if ok]
    found = wilson_interval(score, groups)
    if len(set(kept)) < 2:
        assert found is None
        return
    size, p = effective_size_by_loops(values, kept), sum(values) / len(values)
    z = stats.norm.ppf(0.975)  # the ends solve (p − x)² = z²·x·(1 − x) / size
    roots = np.roots([1 + z * z / size, -(2 * p + z * z / size), p * p])
    assert ends(found) == pytest.approx(sorted(roots.real), abs=1e-7)


def test_wilson_of_independent_hits_is_scipy_s():
    score = score_of([1] * 17 + [0] * 6, name="recall@1")
    theirs = stats.binomtest(17, 23).proportion_ci(method="wilson")
    assert ends(interval(score, range(23))) == pytest.approx((theirs.low, theirs.high))


def test_items_of_a_pooled_ratio_are_the_units():
    # 4 queries with 5 relevant items each, all found: 20 items in 4 groups that cannot be told to be less than alike.
    found = interval(score_of([5] * 4, [5] * 4, "item_recall@9"), range(4))
    assert found.method == "wilson-cluster"
    assert found.low == pytest.approx(stats.binomtest(4, 4).proportion_ci(method="wilson").low)


def test_coverage_of_thirty_scenes_by_enumeration():
    """Every outcome of 30 scenes with two queries, at rates .80 … .97 and any correlation inside a scene."""
    n = 30
    outcomes = np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)])
    hits = [np.repeat([0.0, 1.0, 2.0], counts) for counts in outcomes]
    sums = [GroupSums(hit, np.full(n, 2.0), hit) for hit in hits]
    wilson = np.array([ends(_wilson(one, 0.95, "")) for one in sums])
    resampled = resampling.distributions(sums, 0)
    percentile = np.array([ends(_percentile(one, 0.95, "")) for one in resampled])
    covered = []
    for p, alike in product(np.arange(0.80, 0.975, 0.01), (0, 0.3, 0.5, 0.7, 1)):
        mixed = p * (1 - p) * (1 - alike)
        chance = stats.multinomial.pmf(outcomes, n, [1 - p - mixed, 2 * mixed, p - mixed])
        covered.append([chance[(low <= p) & (p <= high)].sum() for low, high in (wilson.T, percentile.T)])
    share = np.array(covered)
    assert 0.918 <= share[:, 0].min()
    assert share[:, 0].max() <= 0.980
    assert share[:, 0].mean() == pytest.approx(0.952, abs=0.003)
    at_97 = share[-5:, 1]
    assert (at_97 < 0.835).all()
    assert at_97.min() < 0.60


@pytest.mark.parametrize("per_query", [[2, 0, 1, 0], [0, 2, 2, 1], [-1, 2, 0, 1]])
def test_exact_distribution_is_that_of_all_resamples(per_query):
    sums = GroupSums(np.array(per_query, float), np.full(4, 2.0), np.zeros(4))
    found = resampling._exact_distribution(sums)
    every = np.array([sum(drawn) / 8 for drawn in product(per_query, repeat=4)])
    value, times = np.unique(every, return_counts=True)
    there = found.weight > 1e-12
    assert found.value[there] == pytest.approx(value)
    assert found.weight[there] == pytest.approx(times / len(every))
    for q in (0.025, 0.2, 0.5, 0.8, 0.975):
        assert found.quantile(q) == np.quantile(every, q, method="inverted_cdf")


def test_exact_distribution_of_many_groups_is_the_binomial():
    n, k = 60_000, 58_000
    score = score_of([1] * k + [0] * (n - k), name="recall@1")
    binomial = stats.binom(n, k / n)
    expected = binomial.ppf(0.025) / n, binomial.ppf(0.975) / n
    assert ends(bootstrap_interval(score, range(n))) == pytest.approx(expected, abs=1e-12)


def test_resampling_agrees_with_the_exact_distribution():
    score, groups = two_directions(9, 10, 41)
    exact = bootstrap_interval(score, groups)
    scaled = score_of(score.numerator * 0.7)  # no longer whole: is resampled
    drawn = bootstrap_interval(scaled, groups)
    # One step of the lattice is 1/120; the ends have a standard error of less than that.
    assert ends(drawn) == pytest.approx((0.7 * exact.low, 0.7 * exact.high), abs=1.1 * 0.7 / 120)


@pytest.fixture
def drawn_instead(monkeypatch):
    """Draw resamples of however many groups."""

    def both(call):
        by_expansion = call()
        with monkeypatch.context() as patched:
            patched.setattr(resampling, "MANY_GROUPS", 10**9)
            return by_expansion, call()

    return both


@pytest.mark.parametrize("kind", ["even", "skewed", "ratio", "few below 1"])
def test_with_many_groups_the_expansion_is_what_draws_tend_to(kind, drawn_instead):
    rng, n = np.random.default_rng(8), 1_500
    size = rng.integers(1, 9, n)
    score = {
        "even": lambda: score_of(rng.random(n)),
        "skewed": lambda: score_of(rng.beta(0.2, 3, n)),
        "ratio": lambda: score_of(0.99 * rng.binomial(size, size / 10), size, "item_recall@5"),
        "few below 1": lambda: score_of(np.where(np.arange(n) < 8, rng.random(n), 1)),
    }[kind]()
    for estimate in (interval, bootstrap_interval):
        found, drawn = drawn_instead(lambda estimate=estimate: estimate(score, range(n)))
        assert found.method == drawn.method
        assert "by expansion instead of draws" in found.reason
        assert "by expansion" not in drawn.reason
        # The ends of 10,000 resamples have a standard error of 0.7 % of the width; 1 % where they are sparse.
        assert ends(found) == pytest.approx(ends(drawn), abs=0.03 * (drawn.high - drawn.low))


def test_the_expansion_agrees_with_the_exact_distribution():
    n = 201
    per_group = np.random.default_rng(3).binomial(40, 0.9 * np.random.default_rng(4).beta(6, 2, n))
    sums = GroupSums.of(per_group.astype(float), np.full(n, 40.0), np.arange(n))
    exact, expansion = resampling._exact_distribution(sums), resampling._expansion(sums)
    step = 1 / (40 * n)
    assert resampling.MANY_GROUPS == 200
    q = [0.001, 0.025, 0.3, 0.5, 0.9, 0.975, 0.999]
    assert expansion.quantile(q) == pytest.approx(exact.quantile(q), abs=1.01 * step)
    for value in exact.quantile(q):
        assert expansion.below(value) == pytest.approx(exact.below(value), abs=2e-5)


def test_the_expansion_solves_for_its_own_quantiles():
    rng = np.random.default_rng(6)
    size = rng.integers(1, 9, 3_000).astype(float)
    expansion = resampling._expansion(GroupSums.of(0.9 * rng.binomial(size.astype(int), 0.3), size, np.arange(3_000)))
    for q in (0.025, 0.5, 0.975):
        assert expansion.below(expansion.quantile(q)[0]) == pytest.approx(q, abs=1e-5)


@pytest.mark.parametrize("denominator", [np.ones(200), np.r_[np.ones(5_000), 5_000]])
def test_few_groups_or_one_that_outweighs_all_are_drawn(denominator):
    rng = np.random.default_rng(9)
    score = score_of(denominator * rng.random(len(denominator)), denominator, "item_recall@1")
    assert "by expansion" not in interval(score, range(len(denominator))).reason


def test_a_score_too_skewed_to_expand_is_drawn():
    values = np.full(2_000, 0.001)
    values[:3] = 1
    assert "by expansion" not in bootstrap_interval(score_of(0.9 * values), range(2_000)).reason


def test_a_difference_over_many_groups_is_the_drawn_one(drawn_instead):
    rng, n = np.random.default_rng(10), 1_500
    hard = rng.random(n)
    a, b = score_of(np.clip(hard + rng.normal(0.01, 0.1, n), 0, 1)), score_of(hard)
    found, drawn = drawn_instead(lambda: paired_difference(a, b, range(n)))
    assert "by expansion" in found.interval.reason
    width = drawn.interval.high - drawn.interval.low
    assert ends(found.interval) == pytest.approx(ends(drawn.interval), abs=0.03 * width)
    assert found.p_value == drawn.p_value


@pytest.mark.skipif(SCIPY < (1, 15), reason="scipy before 1.15 calls its random generator otherwise")
def test_bca_agrees_with_scipy_where_nothing_ties():
    values = np.random.default_rng(5).beta(4, 1, 60)
    found = interval(score_of(values), range(60))
    theirs = stats.bootstrap((values,), np.mean, n_resamples=9999, method="BCa", rng=np.random.default_rng(1))
    assert found.method == "bootstrap-bca"
    width = found.high - found.low
    assert ends(found) == pytest.approx(tuple(theirs.confidence_interval), abs=0.05 * width)


def test_pooled_ratio_resamples_both_sums():
    rng = np.random.default_rng(3)
    size = rng.integers(1, 30, 50)
    hits = rng.binomial(size, 0.6)
    found = bootstrap_interval(score_of(hits, size, "item_recall@5"), range(50))
    draws = rng.integers(50, size=(20_000, 50))
    theirs = np.quantile(hits[draws].sum(1) / size[draws].sum(1), [0.025, 0.975])
    assert ends(found) == pytest.approx(tuple(theirs), abs=0.05 * (found.high - found.low))
    assert interval(score_of(hits, size, "item_recall@5"), range(50)).method == "bootstrap-bca"


# ---- which method, and why ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "method", "reason"),
    [
        ([0.5] * 4 + [1] * 26, "wilson-cluster", "only 4 of 30 groups are imperfect"),
        ([0.5] * 5 + [1] * 25, "bootstrap-bca", "resampled by group (30 groups)"),
        ([0.5] * 4 + [0] * 26, "wilson-cluster", "only 4 of 30 groups are above 0"),
        ([0.2] * 30, "wilson-cluster", "all 30 groups have the same value"),
        ([0, 0.1], "wilson-cluster", "only 2 groups"),
    ],
)
def test_method_of_a_mean_follows_what_resampling_can_see(values, method, reason):
    found = interval(score_of(values), range(len(values)))
    assert found.method == method
    assert reason in found.reason


def test_every_metric_of_a_ranking_gets_its_method():
    rng = np.random.default_rng(0)
    relevant = [rng.choice(20, rng.integers(1, 5), replace=False) for _ in range(25)]
    ranking = rank_scores(rng.normal(size=(25, 20)), Relevance.of(Sets.from_lists(relevant), 20))
    scores = measures.all_scores(ranking, [3])
    found = dict(zip(scores, intervals_of(list(scores.values()), range(25)), strict=True))
    for name, one in found.items():
        assert one.method == ("wilson-cluster" if name.startswith("recall") else "bootstrap-bca"), name
        assert one.low <= scores[name].value <= one.high, name
        assert one.level == 0.95


@settings(max_examples=50)
@given(grouped_scores(), st.sampled_from(["map", "recall@1", "mrr@3"]), st.sampled_from([0.5, 0.95, 0.999]))
def test_an_interval_has_width_holds_the_value_and_stays_between_0_and_1(case, name, level):
    score, groups = case
    named = score_of(score.numerator, score.denominator, name)
    evaluable = {g for g, d in zip(groups, score.denominator, strict=True) if d}
    found = interval(named, groups, level=level)
    assert (found is None) == (len(evaluable) < 2)
    if found is not None:
        assert 0 <= found.low < found.high <= 1
        assert found.low - 1e-12 <= named.value <= found.high + 1e-12
        assert found.level == level


@given(grouped_scores())
def test_labels_and_order_of_queries_touch_nothing(case):
    score, groups = case
    order = np.random.default_rng(0).permutation(score.n_query)
    renamed = [f"{ord('z') - ord(g):03}" for g in groups]
    for estimate in (interval, bootstrap_interval, wilson_interval):
        first = estimate(score, groups)
        second = estimate(score.select(order), np.array(renamed)[order])
        assert (first is None) == (second is None)
        if first is not None:
            assert ends(first) == pytest.approx(ends(second), abs=1e-9)
            assert first.method == second.method


def test_more_in_step_means_a_wider_interval():
    apart, groups = two_directions(0, 8, 22)
    together, _ = two_directions(4, 0, 26)
    assert apart.value == together.value
    assert interval(together, groups).low < interval(apart, groups).low
    one_by_one = interval(together, range(60))
    assert interval(together, groups).low < one_by_one.low


def test_a_higher_level_gives_a_wider_interval():
    case = two_directions(3, 5, 22)
    narrow, wide = interval(*case, level=0.8), interval(*case, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_queries_that_are_left_out_change_nothing():
    score, groups = score_of([0.2, 0.4, 0.9, 1, 0.3, 0.1, 0.7]), list("abcdefg")
    more = score_of([*score.numerator, 0, 0], [1] * 7 + [0] * 2)
    assert interval(more, [*groups, "a", "z"]) == interval(score, groups)
    assert bootstrap_interval(more, [*groups, "a", "z"]) == bootstrap_interval(score, groups)


@pytest.mark.parametrize("groups", [["a", "a", "a"], ["a", "b", "b"]])
def test_one_group_says_nothing(groups):
    score = score_of([1, 0, 0], [1, 0, 0] if groups[1] == "b" else None)
    assert interval(score, groups) is None
    assert bootstrap_interval(score, groups) is None
    assert wilson_interval(score, groups) is None


def test_nothing_to_evaluate_says_nothing():
    assert interval(score_of([0, 0], [0, 0]), ["a", "b"]) is None
    assert interval(score_of([]), []) is None


def test_many_at_once_are_the_same_as_one_by_one():
    rng = np.random.default_rng(7)
    groups = np.repeat(np.arange(40), 2)
    scores = [score_of(rng.random(80), name="map") for _ in range(3)]
    scores += [score_of(rng.integers(2, size=80), name="recall@1"), score_of(rng.random(80), rng.integers(2, size=80))]
    for many, one in ((intervals_of, interval), (bootstrap_intervals, bootstrap_interval)):
        for score, found in zip(scores, many(scores, groups), strict=True):
            assert ends(found) == pytest.approx(ends(one(score, groups)), abs=1e-12)


def test_band_is_the_interval_at_each_k():
    rng = np.random.default_rng(2)
    relevant = [rng.choice(30, rng.integers(0, 4), replace=False) for _ in range(40)]
    ranking = rank_scores(rng.normal(size=(40, 30)), Relevance.of(Sets.from_lists(relevant), 30))
    groups = np.arange(40) // 2
    for name, curve in measures.CURVES.items():
        low, high = band(name, *curve(ranking, 6), groups)
        assert low.shape == high.shape == (6,)
        for k in range(1, 7):
            found = interval(measures.AT_K[name](ranking, k), groups)
            assert (low[k - 1], high[k - 1]) == pytest.approx(ends(found), abs=1e-12)


def test_band_of_nothing_is_nan():
    low, high = band("map", np.zeros((2, 3)), np.zeros(2), ["a", "b"])
    assert np.isnan(low).all()
    assert np.isnan(high).all()
    assert low.shape == (3,)


def test_the_seed_moves_only_the_noise_of_resampling():
    score = score_of(np.random.default_rng(1).random(50))
    first, second = (interval(score, range(50), seed=seed) for seed in (1, 2))
    assert first != second
    assert ends(first) == pytest.approx(ends(second), abs=0.02)
    assert first == interval(score, range(50), seed=1)


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, math.nan])
def test_a_level_that_is_no_probability_is_refused(level):
    score = score_of([0, 1])
    for call in (
        lambda: interval(score, ["a", "b"], level=level),
        lambda: bootstrap_interval(score, ["a", "b"], level=level),
        lambda: wilson_interval(score, ["a", "b"], level=level),
        lambda: paired_difference(score, score, ["a", "b"], level=level),
    ):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            call()


def test_a_label_short_is_refused():
    with pytest.raises(ValueError, match="2 queries, 3 labels"):
        interval(score_of([0, 1]), ["a", "b", "c"])


# ---- pairs ----------------------------------------------------------------------------------------------------------


def hits(won, lost, same) -> tuple[Score, Score]:
    return (
        score_of([1] * won + [0] * lost + [1] * same, name="recall@1"),
        score_of([0] * won + [1] * lost + [1] * same, name="recall@1"),
    )


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (1, 0), (5, 0), (6, 2), (3, 3), (9, 4), (25, 9), (40, 41)])
def test_sign_flip_of_hits_is_the_binomial_test_of_won_against_lost(won, lost):
    found = paired_difference(*hits(won, lost, 20), range(won + lost + 20))
    exact = stats.binomtest(won, won + lost).pvalue if won + lost else 1.0
    assert found.p_value == pytest.approx(exact, abs=1e-12 if won + lost <= 13 else 0.02)
    assert found.difference == pytest.approx((won - lost) / (won + lost + 20))
    assert (found.n_group, found.n_changed) == (won + lost + 20, won + lost)


def test_sign_flip_by_chance_is_never_impossible():
    assert paired_difference(*hits(400, 0, 0), range(400)).p_value == 1 / 10_001


def test_sign_flip_flips_whole_groups():
    # 12 won queries in 3 groups: 2 of the 8 ways to flip three groups reach as far.
    found = paired_difference(*hits(12, 0, 0), [0, 1, 2] * 4)
    assert found.p_value == 2 / 8


@given(grouped_scores(), grouped_scores())
@settings(max_examples=30)
def test_the_difference_turns_with_its_sides(case, other):
    a, groups = case
    b = score_of(np.resize(other[0].numerator, a.n_query) * a.denominator, a.denominator)
    forth, back = paired_difference(a, b, groups), paired_difference(b, a, groups)
    assert forth.difference == pytest.approx(-back.difference, nan_ok=True)
    assert forth.p_value == pytest.approx(back.p_value, abs=0.03, nan_ok=True)
    if forth.interval is not None:
        assert -1 <= forth.interval.low <= forth.interval.high <= 1
        step = 0.05 + 0.1 * (forth.interval.high - forth.interval.low)
        assert ends(forth.interval) == pytest.approx((-back.interval.high, -back.interval.low), abs=step)


def test_no_difference_has_no_interval_and_p_1():
    score, groups = two_directions(2, 3, 25)
    found = paired_difference(score, score, groups)
    assert (found.difference, found.interval, found.p_value, found.n_changed) == (0, None, 1.0, 0)


def test_nothing_to_compare_is_undefined():
    none = score_of([0, 0], [0, 0])
    found = paired_difference(none, none, ["a", "b"])
    assert math.isnan(found.difference)
    assert math.isnan(found.p_value)
    assert found.interval is None


def test_pairing_is_worth_more_than_two_intervals():
    rng = np.random.default_rng(4)
    hard = rng.random(60)
    a, b = score_of(np.clip(hard + 0.05, 0, 1)), score_of(np.clip(hard + rng.normal(0, 0.02, 60), 0, 1))
    found = paired_difference(a, b, range(60))
    assert 0 < found.interval.low < found.difference < found.interval.high
    assert found.p_value < 0.001
    assert interval(a, range(60)).low < interval(b, range(60)).high


def test_scores_of_different_queries_are_refused():
    with pytest.raises(ValueError, match=r"map and map have different denominators"):
        paired_difference(score_of([1, 0]), score_of([1, 0], [1, 0]), ["a", "b"])


@pytest.mark.parametrize(
    ("given_p", "adjusted"),
    [
        ([], []),
        ([0.04], [0.04]),
        ([0.01, 0.02, 0.03], [0.03, 0.04, 0.04]),
        ([0.5, 0.9, 0.6], [1, 1, 1]),
        ([0.03, math.nan, 0.01], [0.03, math.nan, 0.02]),
    ],
)
def test_holm_by_hand(given_p, adjusted):
    assert holm(given_p).tolist() == pytest.approx(adjusted, nan_ok=True)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_never_lowers(p_values):
    adjusted = holm(p_values)
    assert (adjusted >= p_values).all()
    assert (adjusted <= 1).all()
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
