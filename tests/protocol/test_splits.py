"""Who asks, who answers, who trains."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_core.errors import DataError
from recall_core.protocol import splits


def text(*cells: str) -> np.ndarray:
    return np.array(cells, dtype=object)


def rows(n: int) -> np.ndarray:
    return np.arange(n)


def test_by_view_sorts_both_sides_by_group_so_that_pairs_stand_on_the_diagonal() -> None:
    group, view = text("b", "a", "a", "b", "c", "c"), text("1", "0", "1", "0", "0", "1")
    split = splits.by_view(group, view, rows(6))
    assert split.name == "view0->view1"
    assert group[split.query].tolist() == group[split.gallery].tolist() == ["a", "b", "c"]
    assert split.reverse().name == "view1->view0"
    assert split.reverse().query.tolist() == split.gallery.tolist()


def test_by_view_needs_exactly_two_views() -> None:
    with pytest.raises(DataError, match=r"exactly two views, the chosen rows have 3: '0', '2', '10'"):
        splits.by_view(text("a", "a", "a"), text("10", "2", "0"), rows(3))


def test_a_row_without_a_view_is_named_and_is_no_view_of_its_own() -> None:
    with pytest.raises(DataError, match="1 of 4 rows have no view, the first is row 3"):
        splits.by_view(text("a", "a", "b", "b"), text("0", "1", "", "1"), rows(4))


def test_a_split_of_too_few_rows_says_which_side_is_empty() -> None:
    with pytest.raises(DataError, match="leave-one-out leaves no query rows"):
        splits.leave_one_out(rows(0))
    with pytest.raises(DataError, match="a random half leaves no query rows"):
        splits.random_halves(rows(1), seed=0)


def test_groups_on_one_side_only_are_named() -> None:
    split = splits.by_view(text("a", "a", "b", "c", ""), text("0", "1", "0", "1", "0"), rows(5))
    assert splits.lacking_a_side(text("a", "a", "b", "c", ""), split) == ["b", "c"]


def test_by_role_reads_the_words_in_any_case_and_leaves_training_rows_out() -> None:
    split = splits.by_role(text("Query", "gallery", "TRAIN", " query "), rows(4), "role")
    assert (split.query.tolist(), split.gallery.tolist()) == ([0, 3], [1])


def test_a_role_that_says_neither_is_named_with_its_row() -> None:
    with pytest.raises(DataError, match="row 2: role is 'both', which is neither query nor gallery"):
        splits.by_role(text("query", "both"), rows(2), "role")
    with pytest.raises(DataError, match="leaves no gallery rows"):
        splits.by_role(text("query", "query"), rows(2), "role")


@given(st.integers(2, 30), st.integers(0, 5))
def test_random_halves_part_the_rows(n: int, seed: int) -> None:
    split = splits.random_halves(rows(n), seed=seed)
    assert sorted([*split.query, *split.gallery]) == list(range(n))
    assert len(split.query) == n // 2


@given(st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=2, max_size=12), st.integers(0, 3))
def test_grouped_gives_each_query_a_partner(names: list[str], seed: int) -> None:
    group = text(*names)
    pairs = {name for name in names if name and names.count(name) > 1}
    if not pairs:
        with pytest.raises(DataError, match="no group has two items"):
            splits.grouped(group, rows(len(names)), seed=seed)
        return
    split = splits.grouped(group, rows(len(names)), seed=seed)
    assert sorted(group[split.query]) == sorted(pairs)
    assert pairs <= set(group[split.gallery])
    assert sorted([*split.query, *split.gallery]) == list(range(len(names)))


@given(st.lists(st.sampled_from(["a", "b", "c", "d", ""]), min_size=1, max_size=12), st.integers(0, 3))
def test_a_grouped_training_draw_puts_no_group_on_both_sides(names: list[str], seed: int) -> None:
    group = text(*names)
    train, rest = splits.draw_grouped_train(group, rows(len(names)), seed=seed)
    assert not (set(group[train]) & set(group[rest])) - {""}
    assert sorted([*train, *rest]) == list(range(len(names)))


def test_a_random_training_draw_takes_two_thirds_of_the_images() -> None:
    train, rest = splits.draw_random_train(rows(360), seed=1)
    assert (len(train), len(rest)) == (240, 120)
    assert not set(train) & set(rest)


def test_draws_follow_their_seed() -> None:
    same, again, other = (splits.random_halves(rows(50), seed=seed).query.tolist() for seed in (3, 3, 4))
    assert same == again != other
