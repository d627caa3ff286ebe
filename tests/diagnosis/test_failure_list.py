"""The list of failures holds exactly the queries that R@k counts as missed, in order, with reasons that are true."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recall_core as rc
from recall_core.datasets.dataset import Dataset
from recall_core.diagnosis import failure_list
from recall_core.diagnosis.failure_list import MISS_REASONS, SORTS
from recall_core.evaluation import spelling
from recall_core.evaluation.record import Evaluation
from recall_core.images.image_set import Pictures
from recall_core.protocol.spec import POLICIES

KS = (1, 2, 3)


def arrays(labels: list[str], vectors: list[list[int]]) -> Dataset:
    return rc.from_arrays(vectors, labels=labels)


@st.composite
def evaluations(draw: st.DrawFn) -> Evaluation:
    """Few labels and few values: ties, queries with nothing relevant, k beyond the gallery."""
    n = draw(st.integers(2, 9))
    vectors = draw(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), min_size=n, max_size=n))
    labels = draw(st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=n, max_size=n))
    return rc.evaluate(arrays(labels, vectors), similarity="dot", ks=KS, no_relevant=draw(st.sampled_from(POLICIES)))


@settings(max_examples=60, deadline=None)
@given(evaluation=evaluations(), k=st.sampled_from(KS))
def test_there_are_as_many_failures_as_recall_counts_misses(evaluation: Evaluation, k: int) -> None:
    recall = evaluation.scores[f"recall@{k}"]
    assert len(failure_list.failures(evaluation, k)) == recall.denominator - recall.numerator


@settings(max_examples=60, deadline=None)
@given(evaluation=evaluations(), k=st.sampled_from(KS))
def test_reasons_are_what_the_similarities_say(evaluation: Evaluation, k: int) -> None:
    vectors = evaluation.dataset.embeddings[evaluation.spec.embeddings].astype(float)
    labels = [str(label) for label in evaluation.dataset.values("label")]
    for _, facts in failure_list.failures(evaluation, k).iterrows():
        own, reasons = facts["row"], facts["reasons"].split()
        others = [i for i in range(len(labels)) if i != own]
        similar = {i: float(vectors[own] @ vectors[i]) for i in others}
        right = [i for i in others if labels[own] and labels[i] == labels[own]]
        if not right:
            same = [i for i in range(len(labels)) if labels[own] and labels[i] == labels[own]]
            assert reasons == ["junk" if same else "unlabelled"]
            continue
        best = max(similar[i] for i in right)
        above = sum(similar[i] > best for i in others)
        assert ("tie" in reasons) == (above < k)
        assert ("deep" in reasons) == (facts["first_rank"] > failure_list.DEEP * k)
        assert ("close" in reasons) != ("deep" in reasons)


@settings(max_examples=40, deadline=None)
@given(evaluation=evaluations(), k=st.sampled_from(KS), sort=st.sampled_from(SORTS))
def test_the_order_is_that_of_the_worst_first(evaluation: Evaluation, k: int, sort: str) -> None:
    found = failure_list.failures(evaluation, k, sort=sort)
    lone = found["n_relevant"] == 0
    assert not lone[:-1].reset_index(drop=True).gt(lone[1:].reset_index(drop=True)).any()
    column = {"rank": -found["first_rank"], "ap": found["ap"], "margin": found["margin"]}[sort]
    assert column[~lone].is_monotonic_increasing


@settings(max_examples=40, deadline=None)
@given(evaluation=evaluations(), k=st.sampled_from(KS), reasons=st.sets(st.sampled_from(sorted(MISS_REASONS))))
def test_a_filter_by_reasons_keeps_those_with_one_of_them(evaluation: Evaluation, k: int, reasons: set[str]) -> None:
    everything = failure_list.compare_misses(evaluation, failure_list.failures(evaluation, k))
    kept = failure_list.failures(evaluation, k, reasons=reasons)
    rows = zip(everything["row"], everything["reasons"], strict=True)
    assert kept["row"].tolist() == [row for row, has in rows if not reasons or reasons & set(has.split())]


def test_what_was_not_retrieved_comes_first_and_what_has_nothing_relevant_last(tmp_path) -> None:  # type: ignore[no-untyped-def]
    scores = np.array([[3.0, 2, 1], [np.nan, 2, 1], [3, 2, 1]])
    np.save(tmp_path / "scores.npy", scores)
    table = pd.DataFrame(
        {
            "id": ["deep", "gone", "lone", "A", "B", "C"],
            "group": ["c", "a", "z", "a", "b", "c"],
            "role": ["query"] * 3 + ["gallery"] * 3,
        }
    )
    data = Dataset("scored", table, {"id": "id", "group": "group", "side": "role"})
    evaluation = rc.evaluate(data, scores=str(tmp_path / "scores.npy"))
    for sort in SORTS:
        found = failure_list.failures(evaluation, 1, sort=sort)
        assert found["id"].tolist() == ["gone", "deep", "lone"]
        assert found["reasons"].tolist() == ["not_retrieved", "close", "unmatched"]
    assert failure_list.comparer(evaluation) is None
    assert failure_list.failure_table(evaluation, found)["reasons"].tolist() == found["reasons"].tolist()
    with pytest.raises(rc.DataError, match="neither pictures"):
        failure_list.failures(evaluation, 1, reasons=["near_duplicate"])


def test_a_wrong_answer_that_is_nearly_the_right_picture_is_told_by_its_picture() -> None:
    rng = np.random.default_rng(0)
    thing, other = rng.random((32, 32)), rng.random((32, 32))
    pictures = np.stack([other, thing, np.clip(thing + 0.01, 0, 1)]).astype(np.float32)
    data = Dataset(
        "three",
        pd.DataFrame(
            {"id": ["q", "right", "wrong"], "group": ["a", "a", "b"], "role": ["query", "gallery", "gallery"]}
        ),
        {"id": "id", "group": "group", "side": "role"},
        Pictures.from_array(pictures),
        {"given": np.array([[1.0, 0], [0.6, 0.8], [1, 0.1]])},
    )
    evaluation = rc.evaluate(data, embeddings="given")
    plain = failure_list.failures(evaluation, 1)
    assert plain["reasons"].tolist() == ["close"]
    assert failure_list.compare_misses(evaluation, plain)["reasons"].tolist() == ["near_duplicate close"]
    assert len(failure_list.failures(evaluation, 1, reasons=["near_duplicate"])) == 1


def test_without_pictures_the_data_sets_own_vectors_are_compared() -> None:
    data = rc.from_arrays([[1, 0], [0, 1]], ["a", "b"], [[0.6, 0.8], [0.61, 0.79], [0, 1]], ["a", "c", "b"])
    found = failure_list.failures(rc.evaluate(data), 1, reasons=["near_duplicate"])
    assert len(found) == 1


def test_a_slice_takes_queries_and_says_what_is_not_there() -> None:
    evaluation = rc.evaluate(arrays(["a", "b", "a", "b"], [[1, 0], [1, 0], [0, 1], [0, 1]]), ks=(1,))
    assert len(failure_list.failures(evaluation, 1)) == 4
    assert failure_list.failures(evaluation, 1, where=(("label", ("b",)),))["row"].tolist() == [1, 3]
    with pytest.raises(rc.DataError, match="no row has label=z"):
        failure_list.failures(evaluation, 1, where=(("label", ("z",)),))


@pytest.mark.parametrize(
    ("choices", "message"),
    [({"k": 0}, "k is 0"), ({"k": 1, "reasons": ["bad"]}, "no reason 'bad'"), ({"k": 1, "sort": "x"}, "sorted by 'x'")],
)
def test_a_choice_that_cannot_be_is_named(choices: dict, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(rc.DataError, match=message):
        failure_list.failures(rc.evaluate(arrays(["a", "a"], [[1, 0], [0, 1]])), **choices)


def test_both_directions_are_one_list_and_each_query_is_found_in_it() -> None:
    evaluation = rc.evaluate(rc.load("photo_patches"), ks=(1,))
    found = failure_list.failures(evaluation, 1)
    assert len(found) == 152
    assert found["direction"].nunique() == 2
    for place, (direction, query) in enumerate(zip(found["direction"], found["query"], strict=True), start=1):
        assert failure_list.position(found, direction, query) == place
    assert failure_list.position(found, "nowhere", 0) == 0
    counts = failure_list.count_reasons(found)
    assert counts["close"] + counts["deep"] == len(found)


def test_the_terms_add_up_to_average_precision() -> None:
    evaluation = rc.evaluate(rc.load("digits"), split="leave-one-out", where=())
    direction = evaluation.directions[0]
    for query in range(0, direction.ranking.n_query, 97):
        terms = failure_list.precision_terms(direction, query)
        mean = sum(i / rank for i, rank in terms) / direction.ranking.n_relevant[query]
        assert mean == pytest.approx(evaluation.table["map"].iloc[query])


def test_the_list_as_a_file_names_queries_by_id_and_not_by_position() -> None:
    evaluation = rc.evaluate(rc.load("photo_patches"), ks=(1,))
    found = failure_list.failures(evaluation, 1)
    columns = spelling.table_csv(failure_list.failure_table(evaluation, found)).splitlines()[0].split(",")
    for counted in ("wrong_intrudes_on", "wrong_exposed_to"):  # which the file alone has
        columns.remove(counted)
    assert columns == [column for column in failure_list.COLUMNS if column in found and column != "query"]
