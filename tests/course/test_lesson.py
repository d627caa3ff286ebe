"""What the lesson's steps compute, live and through the engine."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recall_core as rc
from recall_core.cli import main
from recall_core.course import lesson
from recall_core.course.lesson import (
    HAND_GALLERY,
    HAND_QUERY,
    hand_example,
    levels,
    relevance_matrix,
    resampled,
    uneven_gallery,
)
from recall_core.errors import DataError
from recall_core.experiments.leakage import experiment
from recall_core.protocol.spec import Spec


@pytest.fixture(scope="module")
def lab():
    return experiment.lab()


# ---- the hand example -----------------------------------------------------------------------------------------------


def test_the_course_s_hand_example():
    hand = hand_example()
    assert hand.similarity == pytest.approx(np.array([[1, 3.4, 1.6], [3.4, 1.1, 1.8], [2.2, 2.25, 1.7]]))
    assert hand.order.tolist() == [[1, 2, 0], [0, 2, 1], [1, 0, 2]]
    assert hand.ranks.tolist() == [3, 3, 3]
    assert dict(hand.recall) == {1: 0, 2: 0, 3: 1, 5: 1}
    assert dict(hand.mean_average_precision) == pytest.approx({1: 0, 2: 0, 3: 1 / 3, 5: 1 / 3})
    assert hand.average_precision[5].tolist() == pytest.approx([1 / 3] * 3)


def test_the_reverse_direction_of_the_hand_example():
    assert hand_example(HAND_GALLERY, HAND_QUERY).ranks.tolist() == [3, 3, 2]


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=6, max_size=6))
@settings(max_examples=50, deadline=None)
def test_edited_vectors_rank_as_numpy_does(numbers):
    query, gallery = np.array(numbers[:3], float), np.array(numbers[3:], float)
    by_hand = {
        "dot": query @ gallery.T,
        "euclidean": -np.square(query[:, None] - gallery[None]).sum(2),
    }
    for similarity, expected in by_hand.items():
        hand = hand_example(query, gallery, similarity=similarity)
        own = np.diag(expected)[:, None]
        before = np.tri(3, k=-1, dtype=bool)
        assert hand.ranks.tolist() == (1 + (expected > own).sum(1) + ((expected == own) & before).sum(1)).tolist()
        assert hand.recall[1] == (hand.ranks == 1).mean()


def test_cosine_forgets_lengths_and_dot_does_not():
    query, gallery = [[1, 0], [0, 1]], [[1, 0], [9, 1]]
    assert hand_example(query, gallery, similarity="cosine").ranks.tolist() == [1, 1]
    assert hand_example(query, gallery, similarity="dot").ranks.tolist() == [2, 1]


@pytest.mark.parametrize("gallery", [HAND_GALLERY[:2], [[1, 2, 3]] * 3, [[1, math.nan]] * 3])
def test_vectors_that_do_not_pair_are_refused(gallery):
    with pytest.raises(DataError):
        hand_example(HAND_QUERY, gallery)


# ---- relevance as a picture -----------------------------------------------------------------------------------------


def test_scene_relevance_is_the_diagonal_and_class_relevance_three_blocks(lab):
    scene, kind = (relevance_matrix(lab, relevant=role) for role in ("group", "label"))
    assert scene.cells.tolist() == np.eye(30, dtype=int).tolist()
    assert kind.cells.tolist() == np.kron(np.eye(3, dtype=int), np.ones((10, 10), int)).tolist()
    assert set(kind.n_relevant) == {10}
    assert [(one.n_pair, one.most_relevant) for one in (scene, kind)] == [(30, 1), (300, 10)]
    assert lab.role("group")[scene.split.query].tolist() == lab.role("group")[scene.split.gallery].tolist()


def test_junk_is_neither_right_nor_wrong_in_the_picture(lab):
    spec = Spec(data=lab.name, relevant="orientation", junk_same="scene_id")
    cells = relevance_matrix(lab, spec).cells
    assert (np.diag(cells) == -1).all()
    assert (cells == 1).sum() == 270


def test_a_split_too_large_for_a_picture_is_refused(lab):
    with pytest.raises(DataError, match="360 × 360"):
        relevance_matrix(lab, Spec(data=lab.name, where=(), split="leave-one-out"))


# ---- query level and item level -------------------------------------------------------------------------------------


def test_the_uneven_gallery_of_the_lab(lab):
    spec = uneven_gallery(lab)
    found = rc.evaluate(lab, spec)
    assert found.counts["n_gallery"] == 17
    names, sizes = np.unique(lab.role("label")[found.directions[0].split.gallery].astype(str), return_counts=True)
    assert (names.tolist(), sizes.tolist()) == (["diagonal", "horizontal", "vertical"], [2, 5, 10])
    first, last = levels(found)[0], levels(found)[-1]
    assert (first.n_query, first.n_relevant, first.n_evaluable) == (30, 170, 30)
    assert first.query == pytest.approx(0.7333, abs=5e-5)
    assert first.micro == pytest.approx(0.1294, abs=5e-5)
    assert (last.k, last.query > last.macro > first.macro) == (10, True)


def test_levels_are_the_report_s_numbers(lab):
    found = rc.evaluate(lab, uneven_gallery(lab))
    for one in levels(found):
        assert one.query == one.hit_queries / one.n_query == found.scores[f"recall@{one.k}"].value
        assert one.micro == one.hits / one.n_relevant == found.scores[f"item_recall@{one.k}"].value
        assert one.macro == found.scores[f"item_recall_macro@{one.k}"].value


def test_levels_agree_where_each_query_has_one_relevant_item(lab):
    found = levels(rc.evaluate(lab, encoder="orientation"))
    for one in found:
        assert [one.micro, one.macro] == pytest.approx([one.query] * 2)
    assert 0 < found[0].query < 1


def test_the_command_of_the_uneven_gallery_prints_the_same(lab, capsys, monkeypatch):
    import json
    import shlex

    from tests.conftest import ROOT

    monkeypatch.chdir(ROOT)
    spec = uneven_gallery(lab).replace(data="data/glyphlab")
    assert main([*shlex.split(spec.to_command())[3:], "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["scores"]
    assert printed["item_recall@10"]["value"] == pytest.approx(levels(rc.evaluate(lab, spec))[-1].micro)


def test_a_size_for_each_class_is_needed(lab):
    with pytest.raises(DataError, match="2 sizes for 3 classes"):
        uneven_gallery(lab, (10, 5))


# ---- the interval that lies -----------------------------------------------------------------------------------------


def test_resampling_by_query_makes_the_interval_too_narrow(lab):
    found = resampled(rc.evaluate(lab, encoder="orientation"), 1)
    assert (found.n_group, found.n_query) == (30, 60)
    assert 0.6 < found.width_ratio < 0.9
    assert found.by_group.low < found.by_query.low < found.value < found.by_query.high < found.by_group.high


def test_where_all_hit_only_wilson_has_a_width(lab):
    found = resampled(rc.evaluate(lab), 1)
    assert (found.by_group, found.by_query) == (None, None)
    assert math.isnan(found.width_ratio)
    assert found.wilson.low == pytest.approx(0.8865, abs=5e-5)


def test_the_group_interval_is_the_report_s_bootstrap(lab):
    evaluation = rc.evaluate(lab, encoder="mean")
    reported = evaluation.scores["recall@1"]
    found = resampled(evaluation, 1)
    assert (found.by_group.low, found.by_group.high) == (reported.bootstrap.low, reported.bootstrap.high)
    assert (found.wilson.low, found.wilson.high) == (reported.interval.low, reported.interval.high)


def test_resampling_by_group_needs_a_group():
    data = rc.from_arrays(np.eye(4), labels=list("aabb"))
    with pytest.raises(DataError, match="group"):
        resampled(rc.evaluate(data), 1)


def test_records_are_explained():
    for name in ("HandExample", "RelevanceMatrix", "Levels", "Resampled"):
        assert getattr(lesson, name).__doc__
