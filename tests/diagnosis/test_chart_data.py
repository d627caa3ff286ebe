"""What charts draw: precision over recall by its definition, pairs that are what they are said to be, a true PCA."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_core.datasets.dataset import Dataset, load
from recall_core.diagnosis.chart_data import (
    Map,
    Similarities,
    bin_ranks,
    interpolated_precision,
    pca_map,
    precision_recall,
    similarities,
)
from recall_core.errors import DataError
from recall_core.evaluation import opening
from recall_core.evaluation.record import Evaluation
from recall_core.evaluation.wiring import evaluate
from recall_core.metrics.intervals import interval
from recall_core.protocol.spec import Spec
from recall_core.ranking.exact_pass import rank_scores
from recall_core.ranking.relevance import Relevance, Sets
from tests.conftest import DATA


@pytest.fixture(scope="module")
def lab() -> Evaluation:
    return evaluate(load(DATA / "glyphlab"), Spec(encoder="colour"))


def by_definition(ranks: list[int], n_relevant: int, level: float) -> float:
    """The best precision at any place of the list where the recall is at least the level."""
    places = [(sum(r <= place for r in ranks), place) for place in range(1, max(ranks, default=0) + 1)]
    return max((hits / place for hits, place in places if hits >= level * n_relevant - 1e-9 and hits), default=0.0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 8))
def test_interpolated_precision_is_its_definition(seed: int, n_query: int, n_gallery: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (n_query, n_gallery)).astype(float)
    scores[rng.random(scores.shape) < 0.2] = np.nan
    lists = [np.flatnonzero(rng.random(n_gallery) < 0.4) for _ in range(n_query)]
    ranking = rank_scores(scores, Relevance.of(Sets.from_lists(lists), n_gallery))
    levels = np.array([0, 0.1, 1 / 3, 0.5, 2 / 3, 0.9, 1])
    table = interpolated_precision(ranking, levels)
    for q in range(n_query):
        ranks = ranking.rank[ranking.indptr[q] : ranking.indptr[q + 1]]
        expected = [by_definition([r for r in ranks if r], len(ranks), level) for level in levels]
        assert table[q].tolist() == pytest.approx(expected, abs=1e-9)


def test_eleven_points_of_a_textbook_example() -> None:
    # Relevant at 1, 3, 6, 9, 10 of 5: Manning, Raghavan and Schütze, chapter 8, by the same rule.
    scores = -np.arange(10.0)[None, :]
    ranking = rank_scores(scores, Relevance.of(Sets.from_lists([[0, 2, 5, 8, 9]]), 10))
    found = interpolated_precision(ranking, np.linspace(0, 1, 11))[0]
    assert found.tolist() == pytest.approx([1, 1, 1, 2 / 3, 2 / 3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])


def test_the_curve_pools_directions_falls_and_has_its_band(lab: Evaluation) -> None:
    found = precision_recall(lab, n_level=11)
    assert found["direction"].unique().tolist() == ["view0->view1", "view1->view0", "both"]
    for _, line in found.groupby("direction"):
        assert (np.diff(line["precision"]) <= 1e-12).all()
        assert (line["low"] <= line["precision"] + 1e-12).all()
        assert (line["precision"] <= line["high"] + 1e-12).all()
    # With one relevant item a query the curve is flat at the mean reciprocal rank.
    both = found[found["direction"] == "both"]
    assert both["precision"].tolist() == pytest.approx([lab.scores["mrr"].value] * 11)
    own = interval(lab.scores["mrr"].score, np.tile(np.arange(30), 2))
    assert (both["low"].iloc[0], both["high"].iloc[0]) == pytest.approx((own.low, own.high))


def test_nothing_relevant_gives_no_curve() -> None:
    found = precision_recall(evaluate(Dataset.from_arrays(np.eye(3), ["a", "b", ""]), ks=(1,)), n_level=3)
    assert found["precision"].isna().all()


def test_all_pairs_are_held_where_they_are_few(lab: Evaluation) -> None:
    found = similarities(lab)
    assert (found.n_right, found.n_other, found.sampled) == (60, 2 * 30 * 29, False)
    every = np.concatenate([found.right, found.other])
    top = np.concatenate([direction.ranking.top_similarity.ravel() for direction in lab.directions])
    assert np.sort(every) == pytest.approx(np.sort(top[~np.isnan(top)]))


def test_a_sample_holds_none_but_other_pairs_and_says_how_many_there_are() -> None:
    labels = [str(i % 3) for i in range(60)]
    vectors = np.repeat(np.eye(3), 20, axis=0).reshape(3, 20, 3).transpose(1, 0, 2).reshape(60, 3)
    result = evaluate(Dataset.from_arrays(vectors, labels), ks=(1,))
    found = similarities(result, n=500)
    assert found.sampled
    assert (len(found.right), len(found.other)) == (500, 500)
    assert (found.n_right, found.n_other) == (60 * 19, 60 * 40)
    assert set(found.right) == {1.0}
    assert set(found.other) == {0.0}
    assert similarities(result, n=500).other.tolist() == found.other.tolist()


def test_scores_of_a_matrix_have_a_distribution_too(tmp_path) -> None:  # type: ignore[no-untyped-def]
    data = Dataset.from_arrays(np.eye(3), ["a", "a", "b"], np.eye(3)[:2], ["a", "b"])
    scores = np.array([[0.9, np.nan], [0.8, 0.1], [0.2, 0.7]])
    np.save(tmp_path / "scores.npy", scores)
    result = evaluate(data, ks=(1,), scores=str(tmp_path / "scores.npy"))
    found = similarities(result)
    assert sorted(found.right) == [0.7, 0.8, 0.9]
    assert sorted(found.other) == [0.1, 0.2]
    with pytest.raises(DataError, match="a map needs vectors"):
        pca_map(result, 1)


def test_histograms_of_both_kinds_share_their_bins() -> None:
    found = Similarities(np.array([0.9, 1.0]), np.array([0.0, 0.1, 0.1, 1.0]), 2, 4).histogram(10)
    assert found["low"].iloc[0] == 0
    assert found["high"].iloc[-1] == 1
    assert found["right"].sum() == pytest.approx(1)
    assert found["other"].tolist()[:2] == [0.25, 0.5]
    assert Similarities(np.zeros(0), np.zeros(0), 0, 0).histogram().empty


def test_the_map_is_the_projection_on_the_two_widest_directions() -> None:
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(40, 6)) * [5, 3, 1, 0.5, 0.2, 0.1]
    data = Dataset.from_arrays(vectors, [str(i // 2) for i in range(40)])
    found = pca_map(evaluate(data, ks=(1,), similarity="euclidean"), 1)
    centred = vectors - vectors.mean(0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    place = found.points[["x", "y"]].to_numpy()
    assert np.abs(place) == pytest.approx(np.abs(u[:, :2] * s[:2]), abs=1e-6)
    assert found.explained == pytest.approx(tuple(s[:2] ** 2 / (s**2).sum()), abs=1e-6)
    assert found.points["side"].tolist() == ["query"] * 40


def test_the_map_tells_queries_from_gallery_and_hits_from_misses(lab: Evaluation) -> None:
    found = pca_map(lab, 1)
    assert found.n_item == len(found.points) == 60
    joined = found.points.merge(lab.table, on=["direction", "query"])
    assert len(joined) == 60
    assert ((joined["fate"] == "hit") == (joined["recall@1"] == 1)).all()
    data = Dataset.from_arrays(np.eye(3), ["a", "a", "b"], np.eye(3)[:2], ["a", "b"])
    points = pca_map(evaluate(data, ks=(1,)), 1).points
    assert points["side"].tolist() == ["query"] * 3 + ["gallery"] * 2
    assert points["fate"].tolist()[3:] == ["", ""]


def test_a_large_map_is_sampled_and_said(lab: Evaluation) -> None:
    found = pca_map(lab, 1, n=20)
    assert (len(found.points), found.n_item) == (20, 60)
    assert found.points["row"].is_unique


def test_equal_vectors_lie_on_one_point() -> None:
    found = pca_map(evaluate(Dataset.from_arrays(np.ones((4, 3)), list("aabb")), ks=(1,)), 1)
    assert np.abs(found.points[["x", "y"]].to_numpy()).max() < 1e-9
    assert found.explained == (0, 0)


def test_ranks_are_binned_with_a_border_at_k_and_lost_queries_last() -> None:
    frame = pd.DataFrame({"direction": "a", "rank": [0, 1, 2, 4, 5, 8, 60], "n_query": [7, 10, 1, 2, 3, 4, 5]})
    bins = bin_ranks(frame, 4)
    assert list(bins["label"]) == ["1", "2", "3", "4", "5", "6–10", "11–20", "21–50", "> 50", "none"]
    assert list(bins["n_query"]) == [10, 1, 0, 2, 3, 4, 0, 0, 5, 7]
    assert list(bins["hit"]) == [True] * 4 + [False] * 6


def test_points_of_a_map_are_counted_by_query() -> None:
    points = pd.DataFrame(
        {
            "side": ["query", "query", "query", "gallery", "query"],
            "fate": ["hit", "miss", "miss", "", "miss"],
        }
    )
    found, values = Map(points, (0.5, 0.1), 5), np.array(["b", "a", "b", "b", ""], object)
    assert list(found.count_values(values).items()) == [("a", 1), ("b", 2)]
    assert list(found.count_values(points["fate"]).items()) == [("hit", 1), ("miss", 3)]
    assert found.count_misses(values, ["b"]) == (1, 2)
    assert found.count_misses(values, ["a", "b"]) == (2, 3)
    assert found.count_misses(values, []) == (0, 0)


def test_a_saved_run_has_no_vectors_of_its_own(tmp_path) -> None:  # type: ignore[no-untyped-def]
    evaluate(Dataset.from_arrays(np.eye(3), ["a", "a", "b"]), ks=(1,)).save(tmp_path / "run")
    opened = opening.open_run(tmp_path / "run")
    with pytest.raises(DataError):
        pca_map(opened, 1)
    assert precision_recall(opened)["precision"].notna().all()
