"""The courses' plain functions."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_core.errors import DataError
from recall_core.metrics.measures import recall
from recall_core.plain import embedding_recall, encode_all, evaluate_images, recall_at_k
from recall_core.ranking.exact_pass import rank_scores
from recall_core.ranking.relevance import Relevance, Sets

F2_LISTS = [[2, 0, 1, 3, 4], [1, 4, 0, 2, 3], [3, 2, 0, 1, 4], [0, 1, 2, 3, 4]]
F2_RELEVANT = [[0, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 0]]


# ---- recall_at_k ----------------------------------------------------------------------------------------------------


def test_the_lab_s_table_f2():
    assert [recall_at_k(F2_LISTS, F2_RELEVANT, k) for k in range(1, 6)] == [0.25, 0.25, 0.75, 0.75, 0.75]


def test_empty_relevance_gives_0():
    assert recall_at_k(F2_LISTS, np.zeros((4, 5)), 5) == 0.0


def test_perfect_lists_give_1():
    assert recall_at_k([[1, 0], [0, 1]], [[0, 1], [1, 0]], 1) == 1.0


def test_it_returns_a_plain_float_and_changes_nothing():
    lists, relevant = np.array(F2_LISTS), np.array(F2_RELEVANT, bool)
    lists.flags.writeable = relevant.flags.writeable = False
    assert type(recall_at_k(lists, relevant, np.int64(1))) is float


@given(st.integers(1, 4), st.integers(1, 6), st.data())
def test_it_agrees_with_the_engine(n_query, n_gallery, data):
    lists = [data.draw(st.permutations(range(n_gallery))) for _ in range(n_query)]
    relevant = [data.draw(st.sets(st.integers(0, n_gallery - 1))) for _ in range(n_query)]
    dense = [[item in items for item in range(n_gallery)] for items in relevant]
    scores = -np.argsort(lists, axis=1)
    ranking = rank_scores(scores, Relevance.of(Sets.from_lists(relevant), n_gallery))
    for k in range(1, n_gallery + 1):
        assert recall_at_k(lists, dense, k) == recall(ranking, k).value


@pytest.mark.parametrize("k", [0, -1, 6, 1.0, True, "1", None])
def test_k_outside_the_gallery_is_refused_by_name(k):
    with pytest.raises(ValueError, match=r"^k must "):
        recall_at_k(F2_LISTS, F2_RELEVANT, k)


@pytest.mark.parametrize(
    ("lists", "relevant", "message"),
    [
        ([[0, 1], [1, 1]], [[1, 0], [1, 0]], r"row 1 is not a permutation .* 0 … 1: \[1, 1\]"),
        ([[1, 2]], [[1, 0]], r"row 0 is not a permutation"),
        ([[0.5, 1]], [[1, 0]], r"row 0 is not a permutation"),
        ([[0, 1]], [[2, 0]], r"rel_matrix row 0 must hold 0 and 1 only: \[2, 0\]"),
        ([[0, 1]], [[math.nan, 0]], r"rel_matrix row 0 must hold 0 and 1"),
        ([[0, 1]], [[1], [0]], r"rank_matrix \(1, 2\) and rel_matrix \(2, 1\) must have one shape"),
        ([0, 1], [1, 0], r"must have one shape"),
        (np.zeros((0, 2)), np.zeros((0, 2)), r"at least one query"),
    ],
)
def test_matrices_that_cannot_be_right_are_refused(lists, relevant, message):
    with pytest.raises(ValueError, match=message):
        recall_at_k(lists, relevant, 1)


# ---- encode_all -----------------------------------------------------------------------------------------------------


@given(st.integers(0, 7), st.integers(1, 9))
def test_batches_are_put_together_in_order(n, batch):
    images = list(np.arange(2 * n).reshape(n, 2))
    sizes = []

    def encoder(some):
        sizes.append(len(some))
        return np.asarray(some, np.float32) * 2

    found = encode_all(images, encoder, batch)
    assert found.tolist() == [[2 * a, 2 * b] for a, b in images]
    assert sum(sizes) == n
    assert max(sizes, default=0) <= batch


def test_encoder_keeps_its_number_type():
    assert encode_all(np.zeros((3, 4)), lambda some: np.asarray(some, np.float32)).dtype == np.float32


@pytest.mark.parametrize("broken", [lambda some: np.zeros((1, 3)), lambda some: np.zeros(len(some))])
def test_encoder_that_does_not_give_one_row_an_image_is_refused(broken):
    with pytest.raises(ValueError, match=r"images 0 … 1; expected \(2, n_dim\)"):
        encode_all([1, 2, 3], broken, batch=2)


def test_empty_batches_are_refused():
    with pytest.raises(ValueError, match="batch must be at least 1, got 0"):
        encode_all([1], np.asarray, 0)


# ---- embedding_recall -----------------------------------------------------------------------------------------------


def test_queries_with_nothing_relevant_are_left_out():
    found = embedding_recall([[1, 0], [0, 1]], [[1, 0], [1, 1]], ["a", "z"], ["a", "b"], ks=(1,))
    assert found == {"recall@1": 1.0}


def test_nothing_to_evaluate_gives_0():
    assert embedding_recall([[1, 0]], [[1, 0]], ["a"], ["b"], (1, 5)) == {"recall@1": 0.0, "recall@5": 0.0}
    assert embedding_recall(np.zeros((0, 2)), [[1, 0]], [], ["b"], (1,)) == {"recall@1": 0.0}
    assert embedding_recall([[1, 0]], np.zeros((0, 2)), ["b"], [], (1,)) == {"recall@1": 0.0}


def test_the_query_itself_is_removed_before_it_is_asked_whether_anything_relevant_is_left():
    vectors, labels, ids = [[1, 0], [1, 0.1], [0, 1]], ["a", "a", "b"], ["x", "y", "z"]
    with_self = embedding_recall(vectors, vectors, labels, labels, (1,))
    without = embedding_recall(vectors, vectors, labels, labels, (1,), ids, ids)
    assert (with_self, without) == ({"recall@1": 1.0}, {"recall@1": 1.0})
    # z has no partner: it is left out, not missed; nobody at all is left if all partners go.
    assert embedding_recall(vectors[:1], vectors[:1], ["a"], ["a"], (1,), ["x"], ["x"]) == {"recall@1": 0.0}


def test_the_query_itself_is_known_by_id_not_by_position():
    values, labels, ids = np.array([[1, 0], [1, 0], [0, 1], [0, 1]]), [1, 0, 1, 0], list("abcd")
    for order in ([0, 1, 2, 3], [1, 0, 3, 2], [3, 1, 0, 2]):
        gallery = [values[order], [labels[i] for i in order], [ids[i] for i in order]]
        found = embedding_recall(values, gallery[0], labels, gallery[1], (1,), ids, gallery[2])
        assert found == {"recall@1": 0.0}


def test_directions_are_not_interchangeable():
    query, gallery = [[1, 0], [0, 1]], [[1, 0], [0.9, 0.1], [0, 1]]
    forward = embedding_recall(query, gallery, ["a", "b"], ["b", "a", "b"], (1,))
    reverse = embedding_recall(gallery, query, ["b", "a", "b"], ["a", "b"], (1,))
    assert forward["recall@1"] == 1 / 2
    assert reverse["recall@1"] == 2 / 3


def test_labels_of_both_sides_meet_whatever_holds_them():
    vectors = [[1, 0], [0, 1]]
    for labels in ([3, 4], np.array([3, 4]), [3.0, 4.0], ["3", "4"], np.array([3, 4], np.float32)):
        assert embedding_recall(vectors, vectors, labels, [3, 4], (1,)) == {"recall@1": 1.0}


@pytest.mark.parametrize("missing", [None, math.nan, ""])
def test_a_missing_label_equals_nothing(missing):
    assert embedding_recall([[1, 0]], [[1, 0]], [missing], [missing], (1,)) == {"recall@1": 0.0}


def test_k_beyond_the_gallery_is_the_whole_gallery():
    found = embedding_recall([[1, 0]], [[0, 1], [1, 0]], ["a"], ["a", "b"], (1, 2, 10))
    assert found == {"recall@1": 0.0, "recall@2": 1.0, "recall@10": 1.0}


def test_a_collapsed_encoder_ties_by_gallery_position():
    same = np.ones((30, 4))
    assert embedding_recall(same, same, range(30), range(30), (1,))["recall@1"] == 1 / 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q_labels": ["a", "b"]}, "q_labels has 2 entries, there are 1 vectors"),
        ({"gallery_ids": ["x"]}, "give query_ids and gallery_ids, or neither"),
        ({"query_ids": ["x"], "gallery_ids": ["x", "y"]}, "gallery_ids has 2 entries, there are 1 vectors"),
        ({"ks": (0,)}, "k must be an integer of at least 1, got 0"),
    ],
)
def test_what_cannot_be_right_is_refused(change, message):
    given = {"query_emb": [[1, 0]], "gallery_emb": [[1, 0]], "q_labels": ["a"], "g_labels": ["a"]}
    with pytest.raises(ValueError, match=message):
        embedding_recall(**given | change)


def test_vectors_that_cannot_be_compared_are_refused():
    with pytest.raises(DataError):
        embedding_recall([[1, 0]], [[math.nan, 0]], ["a"], ["a"])


# ---- evaluate_images ------------------------------------------------------------------------------------------------

PICTURES = {"a1.png": [1.0, 0.0], "a2.png": [0.9, 0.2], "b1.png": [0.0, 1.0]}


def by_name(paths):
    return np.array([PICTURES[Path(path).name] for path in paths])


@pytest.mark.parametrize("kind", [str, Path])
def test_the_same_path_on_both_sides_is_the_query_itself(kind):
    paths = [kind(name) for name in PICTURES]
    assert evaluate_images(paths, list("aab"), paths, list("aab"), by_name, (1,)) == {"recall@1": 1.0}
    lone = paths[2:]
    assert evaluate_images(lone, ["b"], paths, list("aab"), by_name, (1,)) == {"recall@1": 0.0}


def test_arrays_have_no_identity_and_nothing_is_removed():
    arrays = list(np.array(list(PICTURES.values())))
    assert evaluate_images(arrays, list("xyz"), arrays, list("xyz"), np.asarray, (1,)) == {"recall@1": 1.0}


def test_no_images_give_0():
    assert evaluate_images([], [], ["a1.png"], ["a"], by_name, (1,)) == {"recall@1": 0.0}
