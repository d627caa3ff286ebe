"""A wrong answer's intrusions are what a loop over all lists counts; its label is judged as the audit judges it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recall_core as rc
from recall_core.diagnosis import failure_list, neighbours
from recall_core.diagnosis.audit import inspect
from recall_core.evaluation import opening
from recall_core.evaluation.record import Direction, Evaluation
from recall_core.images import thumbnails
from tests.diagnosis.test_failure_list import evaluations


def one_direction(evaluation: Evaluation) -> Direction:
    (direction,) = evaluation.directions
    return direction


def by_loop(direction: Direction) -> list[int]:
    """From the definition, item by item and query by query."""
    counts = []
    for item in range(len(direction.split.gallery)):
        intruded = 0
        for query in range(direction.ranking.n_query):
            first = direction.ranking.top_position[query, : neighbours.FIRST].tolist()
            intruded += item in first and item not in direction.relevance.relevant.of(query).tolist()
        counts.append(intruded)
    return counts


@settings(max_examples=60, deadline=None)
@given(evaluation=evaluations())
def test_intrusions_are_what_a_loop_over_the_lists_counts(evaluation: Evaluation) -> None:
    direction = one_direction(evaluation)
    assert neighbours.intrusions(direction).count.tolist() == by_loop(direction)


@settings(max_examples=60, deadline=None)
@given(evaluation=evaluations())
def test_an_item_intrudes_on_no_more_queries_than_it_can(evaluation: Evaluation) -> None:
    direction = one_direction(evaluation)
    found = neighbours.intrusions(direction)
    count = found.count
    for item in range(len(count)):
        relevance = direction.relevance
        exposed = [
            item not in relevance.relevant.of(q) and item not in relevance.junk.of(q)
            for q in range(direction.ranking.n_query)
        ]
        assert found.exposed[item] == sum(exposed)
        assert count[item] <= sum(exposed)


def hub_among_pairs(n_pair: int = 12) -> Evaluation:
    """Pairs of alike items, each in a plane of its own, and one item in the middle of all of them."""
    vectors = np.zeros((2 * n_pair + 1, n_pair))
    for pair in range(n_pair):
        vectors[2 * pair : 2 * pair + 2, pair] = 1
    vectors[-1] = 1
    labels = [f"pair{i // 2}" for i in range(2 * n_pair)] + ["middle"]
    return rc.evaluate(rc.from_arrays(vectors, labels=labels), ks=(1,))


def test_what_lies_in_the_middle_of_everything_is_a_hub() -> None:
    direction = one_direction(hub_among_pairs())
    found = neighbours.intrusions(direction)
    assert found.count[-1] == 24
    assert (found.exposed[-1], found.share(24)) == (24, 1)
    # Of ten places an item of a pair has its partner at one; the item of the middle has nothing right.
    assert found.count.sum() == 24 * 9 + 10
    assert found.mean == 226 / 25
    assert (found.n_above(24), found.n_above(0), found.n_above(8)) == (0, 1, 9)


def counted(count: np.ndarray) -> neighbours.Intrusions:
    return neighbours.Intrusions(count, np.full_like(count, 20))


def test_a_hub_intrudes_on_five_times_as_many_queries_as_is_usual_and_on_five_at_least() -> None:
    assert counted(np.array([5, 0, 0, 0, 0])).is_hub(0)
    assert not counted(np.array([4, 0, 0, 0, 0])).is_hub(0)
    assert counted(np.array([15] + [3] * 15 + [0] * 4)).mean == 3
    assert counted(np.array([15] + [3] * 15 + [0] * 4)).is_hub(0)
    assert not counted(np.array([14] + [3] * 15 + [0] * 4)).is_hub(0)
    assert counted(np.array([4, 2, 0])).median == 2


def test_the_list_of_failures_says_on_how_many_queries_the_wrong_answer_intrudes() -> None:
    evaluation = rc.evaluate(rc.load("digits"))
    found = failure_list.failures(evaluation, 1)
    listed = failure_list.failure_table(evaluation, found, lambda one, other: False)
    columns = listed.columns.tolist()
    assert columns.index("wrong_intrudes_on") == columns.index("wrong_similarity") + 1
    ids = evaluation.dataset.ids
    counts = {d.name: dict(zip(ids[d.split.gallery], by_loop(d), strict=True)) for d in evaluation.directions}
    told = [counts[row["direction"]][row["wrong_id"]] for _, row in listed.head(40).iterrows()]
    assert listed["wrong_intrudes_on"].head(40).tolist() == told
    assert max(told) > 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 16))
def test_a_label_is_suspicious_for_one_item_exactly_where_the_audit_finds_it_so(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, labels = rng.integers(-2, 3, (n, 3)), [str(x) for x in rng.choice(["a", "b", ""], n, p=[0.7, 0.25, 0.05])]
    data = rc.from_arrays(vectors, labels=labels)
    evaluation = rc.evaluate(data, ks=(1,))
    audited = inspect(data, evaluation.given).labels
    there = neighbours.neighbourhood(evaluation)
    assert there is not None
    told = {row: there.label(row).agreed for row in range(n)}
    assert {row: other for row, other in told.items() if other} == dict(
        zip(audited["row"], audited["neighbours"], strict=True)
    )


def test_a_twin_with_another_label_is_a_conflict() -> None:
    data = rc.from_arrays([[1.0, 0], [1, 0.01], [0, 1], [0.1, 1]], labels=["a", "b", "b", "b"])
    there = neighbours.neighbourhood(rc.evaluate(data, ks=(1,)))
    assert there is not None
    alike = failure_list.comparer(rc.evaluate(data, ks=(1,)))
    label = there.label(0, alike)
    assert (label.own, label.agreed, label.conflicting, label.enough) == ("a", "", (1,), False)
    assert label.suspicious
    assert not there.label(3, alike).suspicious


def test_without_vectors_nothing_is_said_of_labels(tmp_path: Path) -> None:
    evaluation = rc.evaluate(rc.load("digits"))
    assert neighbours.neighbourhood(evaluation) is None  # nothing is encoded behind the visitor's back
    evaluation.save(tmp_path / "run")
    opened = opening.open_run(tmp_path / "run")
    assert neighbours.neighbourhood(opened) is None
    for before, after in zip(evaluation.directions, opened.directions, strict=True):
        assert neighbours.intrusions(before).count.tolist() == neighbours.intrusions(after).count.tolist()


def test_a_row_without_a_vector_has_no_neighbours() -> None:
    data = rc.from_arrays([[1.0, 0], [1, 1], [np.nan, 1], [0, 1]], labels=["a", "a", "b", "b"])
    there = neighbours.neighbourhood(rc.evaluate(data, ks=(1,), bad_rows="drop"))
    assert there is not None
    assert there.nearest(2).tolist() == []
    assert not there.label(2).enough
    assert sorted(there.nearest(0).tolist()) == [1, 3]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000))
def test_the_difference_of_two_pictures_is_the_same_both_ways_and_0_of_a_picture_from_itself(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.random((2, 4, 5, 3), dtype=np.float32)
    apart, mean, most = thumbnails.difference(one, other)
    assert apart.max() == (1 if most else 0)
    assert mean <= most <= 1
    assert apart.shape == (4, 5)
    assert np.array_equal(apart, thumbnails.difference(other, one)[0])
    assert 0 <= mean <= 1
    assert thumbnails.difference(one, one)[1] == 0


def test_black_and_white_differ_by_1_and_grey_is_compared_with_colour() -> None:
    black, white = np.zeros((2, 2), np.float32), np.ones((2, 2, 3), np.float32)
    apart, mean, most = thumbnails.difference(black, white)
    assert most == 1
    assert thumbnails.difference(black, np.full((2, 2), 0.25, np.float32))[0].tolist() == [[1, 1], [1, 1]]
    assert apart.tolist() == [[1, 1], [1, 1]]
    assert mean == 1
    with pytest.raises(ValueError, match="one size"):
        thumbnails.difference(black, np.zeros((2, 3), np.float32))
