"""Relevance and junk: sets in compressed form against the plain definition."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_core.ranking.relevance import Relevance, Sets

positions = st.lists(st.integers(0, 6), max_size=7)


@given(st.lists(positions, max_size=6))
def test_lists_come_back_sorted_and_without_repeats(lists: list[list[int]]) -> None:
    sets = Sets.from_lists(lists)
    assert [sets.of(q).tolist() for q in range(len(lists))] == [sorted(set(row)) for row in lists]
    assert sets.counts().tolist() == [len(set(row)) for row in lists]


@given(st.lists(st.sampled_from(["a", "b", ""]), max_size=6), st.lists(st.sampled_from(["a", "b", ""]), max_size=6))
def test_equal_labels_belong_together_and_a_missing_label_equals_nothing(query: list[str], gallery: list[str]) -> None:
    sets = Sets.from_labels(query, gallery)
    for q, label in enumerate(query):
        assert sets.of(q).tolist() == [g for g, other in enumerate(gallery) if other == label and label]


@given(st.lists(st.tuples(positions, positions), min_size=1, max_size=6), st.data())
def test_junk_wins_over_relevant(pairs: list[tuple[list[int], list[int]]], data: st.DataObject) -> None:
    relevance = Relevance(Sets.from_lists(r for r, _ in pairs), Sets.from_lists(j for _, j in pairs), 7)
    expected = [sorted(set(relevant) - set(junk)) for relevant, junk in pairs]
    assert relevance.n_relevant().tolist() == [len(row) for row in expected]
    start = data.draw(st.integers(0, len(pairs)))
    stop = data.draw(st.integers(start, len(pairs)))
    indptr, flat = relevance.pairs(start, stop)
    assert [flat[a:b].tolist() for a, b in pairwise(indptr)] == expected[start:stop]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.data())
def test_selected_queries_keep_their_sets(labels: list[str], data: st.DataObject) -> None:
    sets = Sets.from_labels(labels, labels)
    chosen = data.draw(st.lists(st.integers(0, len(labels) - 1)))
    selected = sets.select(np.array(chosen, dtype=int))
    assert [selected.of(i).tolist() for i in range(len(chosen))] == [sets.of(q).tolist() for q in chosen]


def test_pairs_of_judgements_may_come_in_any_order_and_twice() -> None:
    sets = Sets.from_pairs([2, 0, 2, 2], [1, 3, 0, 1], n_query=3)
    assert [sets.of(q).tolist() for q in range(3)] == [[3], [], [0, 1]]


@pytest.mark.parametrize(
    ("index", "indptr", "entries", "message"),
    [
        ([0], [0, 1], [], "indptr must run"),
        ([0], [1, 1], [0], "indptr must run"),
        ([1], [0, 1], [0], "index must lie"),
        ([0], [0, 2], [1, 1], "must ascend"),
        ([0, 1], [0, 2, 1, 3], [0, 1, 2], "must not fall"),
    ],
)
def test_sets_that_contradict_themselves_are_refused(
    index: list[int], indptr: list[int], entries: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Sets(np.array(index), np.array(indptr), np.array(entries, dtype=int))


def test_a_set_may_start_lower_than_the_one_before_ended() -> None:
    assert Sets(np.array([0, 1, 2]), np.array([0, 2, 2, 3]), np.array([4, 5, 0])).of(2).tolist() == [0]


def test_positions_beyond_the_gallery_are_refused() -> None:
    with pytest.raises(ValueError, match=r"relevant positions must lie in 0 … 1"):
        Relevance.of(Sets.from_lists([[2]]), 2)
    with pytest.raises(ValueError, match="must agree"):
        Relevance(Sets.from_lists([[1]]), Sets.empty(2), 2)
