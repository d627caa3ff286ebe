"""Golden values, and an obvious loop per metric from its definition."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_core.metrics import measures
from recall_core.metrics.measures import all_scores, average_precision, recall
from recall_core.metrics.score import Score, pool
from recall_core.ranking.exact_pass import rank, rank_scores
from recall_core.ranking.record import Ranking
from recall_core.ranking.relevance import Relevance, Sets

NAN = math.nan


def ranked(scores, relevant, junk=None) -> Ranking:
    matrix = np.atleast_2d(np.asarray(scores, np.float64))
    sets = Sets.from_lists(relevant)
    return rank_scores(matrix, Relevance.of(sets, matrix.shape[1], None if junk is None else Sets.from_lists(junk)))


def as_scores(lists) -> list[list[float]]:
    """Scores that put gallery positions in the given order."""
    return [[-order.index(item) for item in range(len(order))] for order in lists]


def one_list(flags: str) -> Ranking:
    """A single query whose list holds relevant items where the text has a 1."""
    return ranked([[-place for place in range(len(flags))]], [[i for i, flag in enumerate(flags) if flag == "1"]])


# ---- the definitions, as loops --------------------------------------------------------------------------------------


def retrieved(scores, junk) -> list[int]:
    there = [item for item, score in enumerate(scores) if item not in junk and not math.isnan(score)]
    return sorted(there, key=lambda item: (-scores[item], item))


def by_definition(order: list[int], relevant: set[int], k: int) -> dict[str, tuple[float, float]]:
    """(numerator, denominator) of every metric of one query, from the list as a person reads it."""
    n = len(relevant)
    hits = [item in relevant for item in order]
    found = [place for place, hit in enumerate(hits, 1) if hit]
    top = found_within(found, k)

    def summed_precision(places: list[int]) -> float:
        return sum(sum(hits[:place]) / place for place in places)

    def gain(places) -> float:
        return sum(1 / math.log2(place + 1) for place in places)

    if n == 0:
        left_out = dict.fromkeys(by_definition([0], {0}, k), (0.0, 0.0))
        return left_out | {f"recall@{k}": (0.0, 1.0)}
    return {
        f"recall@{k}": (float(bool(top)), 1),
        f"recall_evaluable@{k}": (float(bool(top)), 1),
        f"item_recall@{k}": (len(top), n),
        f"item_recall_macro@{k}": (len(top) / n, 1),
        f"map@{k}": (summed_precision(top) / min(n, k), 1),
        f"mrr@{k}": (1 / top[0] if top else 0, 1),
        f"precision@{k}": (len(top), k),
        f"ndcg@{k}": (gain(top) / gain(range(1, min(n, k) + 1)), 1),
        "map": (summed_precision(found) / n, 1),
        "mrr": (1 / found[0] if found else 0, 1),
        "r_precision": (len(found_within(found, n)) / n, 1),
        "map_at_r": (summed_precision(found_within(found, n)) / n, 1),
        "minp": (n / found[-1] if len(found) == n else 0, 1),
    }


def found_within(found: list[int], k: int) -> list[int]:
    return [place for place in found if place <= k]


@st.composite
def judged_scores(draw, most_items=7, most_queries=4):
    """Few distinct scores, so that ties abound; negative ones, items not retrieved, junk, nothing relevant."""
    items, queries = draw(st.integers(1, most_items)), draw(st.integers(1, most_queries))
    row = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.0, NAN]), min_size=items, max_size=items)
    some = st.sets(st.integers(0, items - 1))
    return (
        [draw(row) for _ in range(queries)],
        [draw(some) for _ in range(queries)],
        [draw(some) for _ in range(queries)],
    )


@given(judged_scores(), st.integers(1, 10))
def test_every_metric_is_its_definition(case, k):
    scores, relevant, junk = case
    found = all_scores(ranked(scores, relevant, junk), [k])
    for q, row in enumerate(scores):
        for name, (numerator, denominator) in by_definition(retrieved(row, junk[q]), relevant[q] - junk[q], k).items():
            assert found[name].denominator[q] == denominator, name
            assert found[name].numerator[q] == pytest.approx(numerator, abs=1e-14), name


def test_all_scores_are_named_as_in_the_contract():
    names = list(all_scores(one_list("01"), [1, 5, 1]))
    assert names == [
        *("recall@1", "recall@5", "recall_evaluable@1", "recall_evaluable@5", "item_recall@1", "item_recall@5"),
        *("item_recall_macro@1", "item_recall_macro@5", "map@1", "map@5", "mrr@1", "mrr@5"),
        *("precision@1", "precision@5", "ndcg@1", "ndcg@5", "map", "mrr", "r_precision", "map_at_r", "minp"),
    ]
    assert {name.split("@")[0] for name in names} == set(measures.METRICS)


# ---- golden values --------------------------------------------------------------------------------------------------

F2 = ranked(as_scores([[2, 0, 1, 3, 4], [1, 4, 0, 2, 3], [3, 2, 0, 1, 4], [0, 1, 2, 3, 4]]), [[1], [0, 2], [3], []])


@pytest.mark.parametrize(
    ("metric", "options", "values"),
    [
        (recall, {}, [1 / 4, 1 / 4, 3 / 4, 3 / 4, 3 / 4]),
        (recall, {"no_relevant": "exclude"}, [1 / 3, 1 / 3, 1, 1, 1]),
        (measures.recall_evaluable, {}, [1 / 3, 1 / 3, 1, 1, 1]),
        (measures.item_recall, {}, [1 / 4, 1 / 4, 3 / 4, 1, 1]),
        (measures.item_recall_macro, {}, [1 / 3, 1 / 3, 5 / 6, 1, 1]),
        (average_precision, {}, [1 / 3, 1 / 3, 1 / 2, 7 / 12, 7 / 12]),
    ],
)
def test_the_lab_s_table_f2(metric, options, values):
    assert [metric(F2, k, **options).value for k in range(1, 6)] == pytest.approx(values, abs=1e-15)


def test_the_lab_s_table_f2_over_whole_lists():
    assert average_precision(F2).per_query() == pytest.approx([1 / 3, 5 / 12, 1, NAN], nan_ok=True)
    assert average_precision(F2).value == pytest.approx(7 / 12)
    assert measures.reciprocal_rank(F2).value == pytest.approx(5 / 9)
    assert measures.r_precision(F2).value == pytest.approx(1 / 3)
    assert measures.ndcg(F2, 3).value == pytest.approx(0.602191, abs=5e-7)
    assert measures.minp(F2).value == pytest.approx(11 / 18)
    assert measures.first_hit(F2).tolist() == [3, 3, 1, 0]


@pytest.mark.parametrize("by_vectors", [False, True])
def test_hand_example_and_its_reverse(by_vectors):
    query = np.array([[1, 0], [0, 1], [0.5, 0.5]])
    gallery = np.array([[1, 3.4], [3.4, 1.1], [1.6, 1.8]])
    scores = np.array([[1, 3.4, 1.6], [3.4, 1.1, 1.8], [2.2, 2.25, 1.7]])
    diagonal = Relevance.of(Sets.from_lists([[0], [1], [2]]), 3)
    if by_vectors:
        forward = rank(query, gallery, diagonal, similarity="dot")
        reverse = rank(gallery, query, diagonal, similarity="dot")
    else:
        forward, reverse = rank_scores(scores, diagonal), rank_scores(scores.T, diagonal)
    assert forward.rank.tolist() == [3, 3, 3]
    assert [recall(forward, k).value for k in (1, 2, 3)] == [0, 0, 1]
    assert average_precision(forward, 2).value == 0
    assert average_precision(forward, 5).value == pytest.approx(1 / 3)
    assert reverse.rank.tolist() == [3, 3, 2]


@pytest.mark.parametrize(
    ("flags", "ap", "at_2", "at_3"),
    [
        ("101010", 34 / 45, 1 / 2, 5 / 9),
        ("01101", 53 / 90, 1 / 4, 7 / 18),
        ("00011", 13 / 40, 0, 0),
    ],
)
def test_average_precision_of_lists_done_by_hand(flags, ap, at_2, at_3):
    one = one_list(flags)
    assert average_precision(one).value == pytest.approx(ap)
    assert average_precision(one, 2).value == pytest.approx(at_2)
    assert average_precision(one, 3).value == pytest.approx(at_3)


def test_query_level_and_item_level_recall_are_told_apart():
    # One query has 3 relevant items, at ranks 1, 4 and 5; the other has 1, at rank 3.
    case = ranked(as_scores([[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]), [[0, 3, 4], [2]])
    both = {name: score.value for name, score in all_scores(case, [1, 4]).items()}
    assert (both["recall@1"], both["item_recall@1"], both["item_recall_macro@1"]) == pytest.approx(
        (1 / 2, 1 / 4, 1 / 6)
    )
    assert (both["recall@4"], both["item_recall@4"], both["item_recall_macro@4"]) == pytest.approx((1, 3 / 4, 5 / 6))


@given(judged_scores())
def test_query_level_equals_item_level_recall_where_each_query_has_one_relevant_item(case):
    scores = case[0]
    one_each = ranked(scores, [[0]] * len(scores))
    for k in (1, 2, 5):
        assert recall(one_each, k).numerator.tolist() == measures.item_recall(one_each, k).numerator.tolist()
        assert measures.item_recall_macro(one_each, k).value == measures.item_recall(one_each, k).value


# ---- what other tools got wrong -------------------------------------------------------------------------------------


def test_average_precision_at_k_counts_hits_between_rank_r_and_k():
    assert average_precision(one_list("10110"), 5).value == pytest.approx(0.805556, abs=5e-7)


def test_perfect_list_has_average_precision_1_even_if_more_is_relevant_than_counted():
    assert average_precision(one_list("1" * 8), 3).value == 1


def test_average_precision_is_the_step_sum_not_the_trapezoid():
    assert average_precision(one_list("1010")).value == pytest.approx(0.8333, abs=5e-5)


def test_a_score_does_not_depend_on_the_other_k_asked_for():
    case = ranked([[-1, -2, -2, -3]], [[0, 1, 3]])
    alone, among = all_scores(case, [2]), all_scores(case, [2, 4])
    for name, score in alone.items():
        assert score.numerator.tolist() == among[name].numerator.tolist()
        assert score.bounds == among[name].bounds


def test_k_beyond_the_gallery_is_the_whole_gallery():
    case = ranked([[3, 2, 1], [3, 2, 1]], [[1], [0, 2]])
    for name, metric in measures.AT_K.items():
        if name != "precision":
            assert metric(case, 5).value == metric(case, 10**30).value == metric(case, 3).value, name
    assert average_precision(case, 10).value == average_precision(case).value


def test_precision_divides_by_k_even_beyond_the_gallery():
    assert measures.precision(ranked([[3, 2, 1]], [[0, 1]]), 10).value == 2 / 10


@pytest.mark.parametrize("k", [0, -1, 1.5, 1.0, True, np.True_, "5", None, NAN])
def test_a_k_that_is_not_a_positive_integer_is_refused_by_name(k):
    for name, metric in measures.AT_K.items():
        if k is not None or name in ("recall", "recall_evaluable", "item_recall", "item_recall_macro", "precision"):
            with pytest.raises(ValueError, match=r"^k must be an integer of at least 1, got "):
                metric(F2, k)
    with pytest.raises(ValueError, match="k must be an integer"):
        all_scores(F2, [1, k])
    for curve in measures.CURVES.values():
        with pytest.raises(ValueError, match="k must be an integer"):
            curve(F2, k)


def test_numpy_integers_are_integers():
    assert recall(F2, np.int32(3)).name == "recall@3"
    assert average_precision(F2, np.uint8(3)).value == average_precision(F2, 3).value


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="miss, exclude, got 'drop'"):
        recall(F2, 1, no_relevant="drop")


def test_nothing_answerable_is_a_miss_under_one_policy_and_undefined_elsewhere():
    none = ranked([[1, 2], [1, 2], [2, 1]], [[], [], []])
    scores = all_scores(none, [1])
    assert (scores["recall@1"].value, scores["recall@1"].denominator.sum()) == (0, 3)
    assert all(math.isnan(score.value) for name, score in scores.items() if name != "recall@1")
    assert math.isnan(recall(none, 1, no_relevant="exclude").value)


def test_query_that_the_system_did_not_answer_counts_as_missed():
    some = ranked([[2, 1], [1, 2], [NAN, NAN], [2, 1]], [[0], [1], [0], [0]])
    assert {score.value for score in all_scores(some, [1]).values()} == {0.75}


def test_item_that_was_not_retrieved_is_never_a_hit_even_beyond_the_gallery():
    case = ranked([[5, NAN, 4]], [[1]])
    assert [score.value for score in all_scores(case, [1, 3, 100]).values()] == [0] * 29


def test_last_in_the_list_is_not_the_same_as_not_retrieved():
    last, gone = ranked([[5, 4, 3]], [[0, 2]]), ranked([[5, 4, NAN]], [[0, 2]])
    assert measures.minp(last).value == pytest.approx(2 / 3)
    assert measures.minp(gone).value == 0
    assert (average_precision(last).value, average_precision(gone).value) == pytest.approx((5 / 6, 1 / 2))


def test_no_query_at_all():
    empty = rank_scores(np.zeros((0, 3)), Relevance.of(Sets.empty(0), 3))
    assert all(math.isnan(score.value) and score.n_query == 0 for score in all_scores(empty, [1]).values())
    assert [curve(empty, 4)[0].shape for curve in measures.CURVES.values()] == [(0, 4)] * 3


# ---- properties -----------------------------------------------------------------------------------------------------


@given(judged_scores())
def test_recall_never_falls_as_k_grows(case):
    one = ranked(*case)
    for metric in (recall, measures.recall_evaluable, measures.item_recall, measures.item_recall_macro):
        rows = np.array([metric(one, k).numerator for k in range(1, 9)])
        assert (np.diff(rows, axis=0) >= 0).all()


def test_average_precision_at_k_may_fall():
    assert average_precision(one_list("1001"), 2).value < average_precision(one_list("1001"), 1).value


@given(judged_scores(), st.randoms(use_true_random=False))
def test_the_order_of_queries_changes_nothing(case, random):
    scores, relevant, junk = case
    order = list(range(len(scores)))
    random.shuffle(order)
    shuffled = ranked([scores[q] for q in order], [relevant[q] for q in order], [junk[q] for q in order])
    other = all_scores(shuffled, [1, 3])
    for name, score in all_scores(ranked(*case), [1, 3]).items():
        assert score.numerator[order].tolist() == other[name].numerator.tolist(), name


@given(judged_scores(), st.sampled_from([-2.0, 1.0, 9.0]))
def test_one_more_junk_item_changes_nothing(case, score_of_junk):
    scores, relevant, junk = case
    n = len(scores[0])
    more = ranked(
        [[*row, score_of_junk] for row in scores], [items | {n} for items in relevant], [items | {n} for items in junk]
    )
    other = all_scores(more, [1, 3])
    for name, score in all_scores(ranked(*case), [1, 3]).items():
        assert score.numerator.tolist() == other[name].numerator.tolist(), name
        assert score.bounds == pytest.approx(other[name].bounds, nan_ok=True), name


@given(judged_scores(), st.integers(1, 9))
def test_a_curve_is_the_score_at_each_k(case, depth):
    one = ranked(*case)
    for name, curve in measures.CURVES.items():
        numerator, denominator = curve(one, depth)
        assert numerator.shape == (one.n_query, depth)
        for k in range(1, depth + 1):
            score = measures.AT_K[name](one, k)
            assert numerator[:, k - 1] == pytest.approx(score.numerator, abs=1e-14)
            assert denominator.tolist() == score.denominator.tolist()


def test_the_recall_curve_follows_the_policy():
    assert measures.recall_curve(F2, 2)[1].tolist() == [1, 1, 1, 1]
    assert measures.recall_curve(F2, 2, no_relevant="exclude")[1].tolist() == [1, 1, 1, 0]


# ---- the record -----------------------------------------------------------------------------------------------------


@given(judged_scores(), judged_scores())
def test_pooling_is_one_score_over_all_queries_and_a_slice_undoes_it(first, second):
    a, b = (all_scores(ranked(*case), [1, 2]) for case in (first, second))
    for name in a:
        both = pool([a[name], b[name]])
        assert both.denominator.sum() == a[name].denominator.sum() + b[name].denominator.sum()
        mask = np.arange(both.n_query) >= a[name].n_query
        for column in ("numerator", "denominator", "worst", "best", "expected"):
            kept, own = getattr(both.select(mask), column), getattr(b[name], column)
            assert (kept is None) == (own is None)
            assert own is None or kept.tolist() == own.tolist()


def test_a_score_whose_arrays_disagree_is_refused():
    with pytest.raises(ValueError, match=r"best must have one entry a query, shape \(2,\), got \(3,\)"):
        Score("map", np.ones(2), np.ones(2), np.ones(2), np.ones(3))


def test_a_score_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        recall(F2, 1).numerator[0] = 1
