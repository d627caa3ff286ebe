"""Market-1501's person −1 is junk wherever it is read from; a zero query has no cosine, so it finds nothing."""

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import recall_core as rc
from recall_core import plain
from recall_core.datasets.dataset import Dataset, load
from recall_core.datasets.tables import find_columns
from recall_core.diagnosis import duplicates
from recall_core.experiments.index import experiment as engine_experiment
from recall_core.experiments.leakage import draws, training
from recall_core.metrics.measures import all_scores
from recall_core.protocol import side_vectors, sides
from recall_core.protocol.spec import Spec
from recall_core.ranking import distributed, exact_pass
from recall_core.ranking.relevance import Relevance, Sets

NAMES = [
    *("0002_c1s1_000451_03", "0002_c2s1_000776_01", "0007_c1s1_000001_00", "0007_c3s1_000551_01"),
    *("-1_c1s1_000401_03", "-1_c2s1_000402_01"),
]
PERSONS = ["2", "2", "7", "7", "-1", "-1"]
VECTORS = np.array([[1, 0], [0.8, 0.2], [0, 1], [0.2, 0.8], [1, 0.01], [0.01, 1]])
JUNK = [4, 5]


def table_of(**columns):
    table = pd.DataFrame(columns, dtype="str")
    return Dataset("market", table, find_columns(table), embeddings={"given": VECTORS})


def scored(dataset, **choices):
    return rc.evaluate(dataset, split="leave-one-out", ks=(1,), **choices)


@pytest.mark.parametrize(
    "columns",
    [
        {"path": [f"gallery/{name}.jpg" for name in NAMES], "pid": PERSONS},
        {"id": NAMES, "pid": PERSONS},
        {"id": [str(row) for row in range(6)], "path": [f"{name}.png" for name in NAMES], "pid": PERSONS},
        {"path": [f"{name}.jpg" for name in NAMES], "pid": ["2.0", "2.0", "7.0", "7.0", "-1.0", "-1.0"]},
        {"path": [f"{name}.jpg" for name in NAMES], "pid": ["2", "2", "7", "7", "", ""]},
        {"path": [f"{name.replace('-1', '0009')}.jpg" for name in NAMES], "pid": PERSONS},
    ],
    ids=["paths", "ids", "both", "floats", "the name alone says it", "the table alone says it"],
)
def test_person_minus_one_is_junk_wherever_the_names_are_of_market(columns):
    dataset = table_of(**columns)
    assert sides.junk_rows(dataset).tolist() == JUNK
    result = scored(dataset)
    assert result.scores["recall@1"].value == 1
    assert result.counts["n_query"] == result.counts["n_gallery"] == 4
    found = next(finding for finding in result.findings if finding.kind == "junk_rows")
    assert found.message.startswith("2 rows are junk, as person −1 of names such as")


@pytest.mark.parametrize(
    "columns",
    [
        {"path": [f"{row}.jpg" for row in range(6)], "pid": PERSONS},
        {"id": ["a", "b", "c", "d", "e", "f"], "label": PERSONS},
    ],
)
def test_minus_one_is_a_value_like_any_other_where_names_are_not_of_market(columns):
    dataset = table_of(**columns)
    assert not len(sides.junk_rows(dataset))
    assert scored(dataset).counts["n_query"] == 6


def test_the_same_images_score_the_same_by_their_names_and_by_a_table(tmp_path):
    rng = np.random.default_rng(1)
    for name in NAMES:
        content = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (8, 8), dtype=np.uint8)).save(content, "PNG")
        for folder in ("named", "tabled"):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{name}.png").write_bytes(content.getvalue())
    rows = [f"{name}.png,{person},{name.split('_c')[1][0]}" for name, person in zip(NAMES, PERSONS, strict=True)]
    (tmp_path / "tabled" / "metadata.csv").write_text("path,pid,camid\n" + "\n".join(rows), encoding="utf-8")
    by_name = scored(load(tmp_path / "named"), junk_same="camera")
    by_table = scored(load(tmp_path / "tabled"), junk_same="camid")
    assert by_name.counts == by_table.counts
    assert {name: one.value for name, one in by_name.scores.items()} == pytest.approx(
        {name: one.value for name, one in by_table.scores.items()}, nan_ok=True
    )


def test_junk_is_not_trained_on_either():
    dataset = table_of(path=[f"{name}.jpg" for name in NAMES], pid=PERSONS, part=["train", "test"] * 3)
    spec = side_vectors.resolve(dataset, Spec(train="part=train", where=(("part", ("test",)),), split="leave-one-out"))
    assert sides.directions(dataset, spec)[0].train.tolist() == [0, 2]


# A zero query

ZERO = np.array([[0, 0], [1, 0], [1, 0.1], [0, 1], [0, 0]], dtype=float)
LABELS = list("aaabb")


def zero_data(similarity="cosine", **choices):
    return rc.evaluate(
        rc.from_arrays(ZERO, LABELS, groups=LABELS), split="leave-one-out", ks=(1, 3), similarity=similarity, **choices
    )


@pytest.mark.parametrize("policy", ["miss", "exclude"])
@pytest.mark.parametrize("rerank", [None, "query-expansion", "k-reciprocal"])
def test_a_zero_query_finds_nothing_and_counts_in_every_metric(policy, rerank):
    result = zero_data(no_relevant=policy, rerank=rerank)
    order = result.directions[0].ranking
    for query in (0, 4):
        pairs = order.query == query
        assert (order.rank[pairs] == 0).all()
        assert pairs.any()
        assert (order.top_position[query] == -1).all()
        for name, one in result.scores.items():
            if one.score.denominator[query]:
                assert one.score.numerator[query] == 0, name
    assert result.scores["recall@1"].score.denominator[[0, 4]].tolist() == [1, 1]
    assert result.table.loc[0, "first_rank"] == 0
    found = next(finding for finding in result.findings if finding.kind == "without_result")
    assert (found.count, found.examples) == (2, ("0", "4"))
    assert "2 of 5 queries are zero vectors, which have no cosine: nothing is retrieved for them" in found.message


def test_a_zero_gallery_row_has_cosine_zero_to_everything_and_is_a_finding():
    result = zero_data()
    order = result.directions[0].ranking
    zero = (order.query == 1) & (order.position == 0)
    assert order.similarity[zero].tolist() == [0.0]
    assert order.rank[zero] > 0
    assert any("their cosine to everything is 0" in finding.message for finding in result.findings)


@pytest.mark.parametrize("similarity", ["dot", "euclidean"])
def test_dot_product_and_distance_have_values_for_zero_rows(similarity):
    result = zero_data(similarity)
    assert (result.directions[0].ranking.rank > 0).all()
    assert "without_result" not in {finding.kind for finding in result.findings}


def test_a_zero_query_is_a_row_of_nan_in_a_matrix_of_scores(tmp_path):
    """The same numbers as ``--scores`` with nan; R@1 was a hit by row order."""
    cosine = ZERO @ ZERO.T / np.maximum(np.outer(*[np.linalg.norm(ZERO, axis=1)] * 2), 1e-9)
    cosine[[0, 4]] = np.nan
    np.save(tmp_path / "scores.npy", cosine)
    given = rc.evaluate(
        rc.from_arrays(ZERO, LABELS, groups=LABELS),
        split="leave-one-out",
        ks=(1, 3),
        scores=str(tmp_path / "scores.npy"),
    )
    for name, one in zero_data().scores.items():
        assert one.value == pytest.approx(given.scores[name].value, nan_ok=True), name
        assert one.score.numerator.tolist() == pytest.approx(given.scores[name].score.numerator.tolist()), name


def test_black_images_ask_in_vain():
    images = np.random.default_rng(0).integers(0, 256, (6, 5, 5), dtype=np.uint8)
    images[2] = 0
    data = Dataset.from_arrays(np.ones((6, 1)), list("aabbcc"), images=images)
    result = rc.evaluate(data, encoder="raw", split="leave-one-out", ks=(1,))
    assert result.scores["recall@1"].score.numerator[2] == 0


def test_the_experiments_find_nothing_for_a_zero_query_either():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 6))
    vectors[[3, 10]] = 0
    groups = [f"g{row // 2:02d}" for row in range(40)]
    table = pd.DataFrame({"group": groups, "label": [str(row // 2 % 4) for row in range(40)]}, dtype="str")
    data = Dataset("zero", table, find_columns(table), embeddings={"given": vectors})
    halves = draws.halves(data)
    for seed in range(4):
        evaluation = rc.evaluate(data, split="random", seed=seed)
        assert draws.random_draw(halves, seed).recall[1] == evaluation.scores["recall@1"].value
    block = halves.compared.block(np.arange(40), np.arange(40))
    assert np.isnan(block[[3, 10]]).all()
    assert np.flatnonzero(np.isnan(block).any(axis=1)).tolist() == [3, 10]
    run = training.train_and_compare(training.material(data), 0)
    assert all(0 <= value <= 1 for arm in run.arms for value in arm.scores.values())
    spec, plan = Spec(split="leave-one-out"), engine_experiment.Plan(ks=(1, 3))
    _, _, experiment = engine_experiment.experiment_of(data, spec, plan, index=("flat",))
    asked = [(trial, experiment.test) for trial in experiment.tested]
    asked += [(trial, experiment.validation) for trial in experiment.trials]
    for trial, at in asked:
        for found in (trial.ranking, trial.own):
            assert (found.top_position[np.isin(at, [3, 10])] == -1).all()
            assert (found.top_position[~np.isin(at, [3, 10])] >= 0).any()
    assert (experiment.exact.rank[np.isin(experiment.exact.query, [3, 10])] == 0).all()


def test_taking_answers_away_leaves_the_other_queries_as_they_were():
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 3, (6, 9)).astype(float)
    relevance = Relevance(Sets.from_lists([rng.permutation(9)[:3] for _ in range(6)]), Sets.empty(6), 9)
    whole = exact_pass.rank_scores(scores, relevance, top=4)
    scores[[1, 4]] = np.nan
    expected = exact_pass.rank_scores(scores, relevance, top=4)
    found = exact_pass.without_answers(whole, np.array([1, 4]))
    for name in expected.__dataclass_fields__:
        assert np.array_equal(getattr(found, name), getattr(expected, name), equal_nan=True), name
    assert exact_pass.without_answers(whole, np.zeros(0, np.intp)) is whole
    assert all_scores(found, (1, 3), "miss")["recall@1"].numerator[[1, 4]].tolist() == [0, 0]


def test_the_plain_function_finds_nothing_for_a_zero_query():
    """Row 0 has the label of the zero query: by row order it was found first."""
    assert plain.embedding_recall([[0, 0], [1, 0]], [[1, 0], [0, 1]], ["a", "a"], ["a", "b"], (1,)) == {"recall@1": 0.5}


def test_a_zero_row_has_no_neighbours_so_none_contradict_its_label_and_none_is_its_hub():
    vectors = np.concatenate([np.random.default_rng(0).normal(size=(12, 3)), np.zeros((30, 3))])
    position, similarity = duplicates.neighbours(vectors)
    assert (position[12:] == -1).all()
    assert np.isnan(similarity[12:]).all()
    labels = np.array(["a"] * 12 + ["b"] * 30, dtype=object)
    rows, _, _ = duplicates.contradicted(position, similarity, labels)
    assert not (rows >= 12).any()
    assert duplicates.hub_counts(position).sum() == 12 * duplicates.N_HUB


def test_distributed_ranking_gives_the_same_for_zero_queries():
    with distributed.open_ranker("threads", workers=2) as ranker:
        found = rc.evaluate(
            rc.from_arrays(ZERO, LABELS, groups=LABELS), split="leave-one-out", ks=(1, 3), ranker=ranker
        )
    assert found.table.equals(zero_data().table)
