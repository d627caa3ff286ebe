"""The range and the mean of every metric under ties, against all orders of the tied items."""

import math
from fractions import Fraction
from itertools import chain, groupby, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_core.metrics import measures, ties
from recall_core.metrics.measures import all_scores, average_precision, recall, reciprocal_rank
from recall_core.metrics.ties import TieGroups
from recall_core.ranking.exact_pass import rank
from recall_core.ranking.relevance import Relevance, Sets
from tests.metrics.test_metrics import by_definition, judged_scores, one_list, ranked, retrieved

WITH_MEAN = ("recall", "recall_evaluable", "item_recall", "item_recall_macro", "map", "mrr")


def all_orders(scores, junk) -> list[list[int]]:
    """Every list that differs from the given one by the order of equally similar items only."""
    runs = [list(run) for _, run in groupby(retrieved(scores, junk), key=lambda item: scores[item])]
    return [list(chain.from_iterable(chosen)) for chosen in product(*map(permutations, runs))]


@settings(max_examples=60)
@given(judged_scores(most_items=6, most_queries=2), st.integers(1, 7))
def test_worst_best_and_mean_over_all_orders_of_tied_items(case, k):
    scores, relevant, junk = case
    found = all_scores(ranked(scores, relevant, junk), [k])
    for q, row in enumerate(scores):
        judged = [by_definition(order, relevant[q] - junk[q], k) for order in all_orders(row, junk[q])]
        for name, score in found.items():
            numerators = [values[name][0] for values in judged]
            assert score.worst[q] == pytest.approx(min(numerators), abs=1e-14), name
            assert score.best[q] == pytest.approx(max(numerators), abs=1e-14), name
            if name.split("@")[0] in WITH_MEAN:
                assert score.expected[q] == pytest.approx(np.mean(numerators), abs=1e-13), name
            else:
                assert score.expected is None, name


@given(judged_scores())
def test_value_and_mean_lie_between_worst_and_best(case):
    for score in all_scores(ranked(*case), [1, 2, 5]).values():
        assert (score.worst <= score.numerator).all()
        assert (score.numerator <= score.best).all()
        if score.expected is not None:
            assert (score.worst <= score.expected).all()
            assert (score.expected <= score.best).all()


@given(judged_scores())
def test_queries_are_counted_as_tied_only_where_the_order_of_ties_alters_the_value(case):
    scores, relevant, junk = case
    score = average_precision(ranked(*case))
    mixed = 0
    for row, right, gone in zip(scores, relevant, junk, strict=True):
        there = retrieved(row, gone)
        mixed += any(row[a] == row[b] for a in there for b in there if a in right and b not in right)
    assert score.n_tied == mixed


@given(judged_scores())
def test_without_ties_range_and_mean_are_the_value(case):
    scores, relevant, junk = case
    apart = [[score + 0.01 * item for item, score in enumerate(row)] for row in scores]
    for score in all_scores(ranked(apart, relevant, junk), [1, 3]).values():
        assert score.worst.tolist() == score.best.tolist() == score.numerator.tolist()
        assert score.n_tied == 0


def test_golden_values_for_three_tied_in_the_middle():
    one = ranked([0.9, 0.5, 0.5, 0.5, 0.1], [[1, 3]])
    assert average_precision(one).value == 1 / 2
    assert average_precision(one).bounds == pytest.approx((5 / 12, 1 / 2, 7 / 12))
    assert recall(one, 1).bounds == (0, 0, 0)
    assert recall(one, 2).bounds[1] == pytest.approx(2 / 3)


def test_golden_values_for_three_tied_at_the_top():
    one = ranked([0.7, 0.7, 0.7, 0.2], [[2]])
    assert average_precision(one).value == pytest.approx(1 / 3)
    assert average_precision(one).bounds == pytest.approx((1 / 3, 11 / 18, 1))
    assert [recall(one, k).bounds[1] for k in (1, 2, 3)] == pytest.approx([1 / 3, 2 / 3, 1])


def test_renaming_tied_items_moves_the_value_but_not_its_range():
    first, second = ranked([1, 1], [[0]]), ranked([1, 1], [[1]])
    assert (average_precision(first).value, average_precision(second).value) == (1, 0.5)
    assert average_precision(first).bounds == average_precision(second).bounds == (0.5, 0.75, 1)
    assert average_precision(first).n_tied == 1


def test_mean_over_tie_orders_of_a_constant_score_is_not_the_prevalence():
    constant = ranked(np.ones(100), [range(0, 100, 4)])
    assert average_precision(constant).bounds[1] == pytest.approx(0.28, abs=0.01)
    assert average_precision(constant).value == pytest.approx(average_precision(one_list("1000" * 25)).value)


def one_group(above, size, relevant, before) -> TieGroups:
    columns = (np.array([float(value)]) for value in (above, size, relevant, before))
    return TieGroups(1, np.zeros(1, np.intp), np.zeros(1, np.intp), *columns)


@pytest.mark.parametrize(("n", "r", "k"), [(60_000, 60, 5), (60_000, 3, 59_000), (5_000, 700, 12), (300, 150, 150)])
def test_probability_of_a_hit_keeps_its_precision_in_large_groups(n, r, k):
    exact = 1 - Fraction(math.comb(n - r, k), math.comb(n, k))
    assert ties.expected_hit(one_group(0, n, r, 0), k)[0] == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(
    ("above", "n", "r", "before", "k"),
    [
        (0, 60_000, 60, 0, math.inf),
        (59_000, 1_000, 900, 40, math.inf),
        (7, 5_000, 1, 2, 20),
        (50_000, 3, 2, 1, math.inf),
    ],
)
def test_mean_precision_sum_keeps_its_precision_in_large_groups(above, n, r, before, k):
    counted = range(1, int(min(n, k - above)) + 1)
    terms = (r / n * (before + 1 + (i - 1) * (r - 1) / max(n - 1, 1)) / (above + i) for i in counted)
    found = ties.expected_precision_sum(one_group(above, n, r, before), k)[0]
    assert found == pytest.approx(math.fsum(terms), abs=1e-9)


@pytest.mark.parametrize(
    ("above", "n", "r", "k"), [(0, 3_000, 2, math.inf), (10, 800, 400, math.inf), (5, 2_000, 3, 30), (9, 100, 7, 9)]
)
def test_mean_reciprocal_rank_keeps_its_precision_in_large_groups(above, n, r, k):
    last = int(min(n - r + 1, k - above))
    exact = sum(Fraction(math.comb(n - i, r - 1), math.comb(n, r) * (above + i)) for i in range(1, last + 1))
    assert ties.expected_reciprocal_rank(one_group(above, n, r, 0), k)[0] == pytest.approx(float(exact), rel=1e-12)


def test_collapsed_encoder_has_one_kind_of_group_for_all_queries():
    n = 400
    same = Relevance.of(Sets.from_labels([str(q % 4) for q in range(n)], [str(g % 4) for g in range(n)]), n)
    constant = rank(np.ones((n, 2)), np.ones((n, 2)), same, top=0)
    assert recall(constant, 1).value == 1 / 4
    assert recall(constant, 1).bounds == pytest.approx((0, 1 / 4, 1))
    one = one_group(0, n, n // 4, 0)
    assert reciprocal_rank(constant).bounds[1] == pytest.approx(ties.expected_reciprocal_rank(one, math.inf)[0])
    assert recall(constant, 1).n_tied == n


def test_items_that_were_not_retrieved_tie_with_nothing():
    gone = ranked([math.nan, math.nan, 1.0], [[0, 1]])
    assert len(TieGroups.of(gone).query) == 0
    assert measures.item_recall(gone, 3).bounds == (0, 0, 0)
