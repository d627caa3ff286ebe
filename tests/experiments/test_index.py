"""Index error is told apart from representation error, and nothing is tuned on what is measured."""

import json
import sys

import faiss
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_core import cli
from recall_core.cli import main
from recall_core.errors import DataError, MissingDependency
from recall_core.experiments.index import experiment, kinds, report
from recall_core.experiments.index.experiment import Plan, Problem
from recall_core.experiments.index.overlap import outcomes, overlap
from recall_core.metrics.measures import item_recall, recall
from recall_core.ranking.exact_pass import rank, rank_scores
from recall_core.ranking.lists import rank_lists
from recall_core.ranking.record import Ranking
from recall_core.ranking.relevance import Relevance, Sets
from recall_core.ranking.similarity import Vectors, exact_block, prepare
from tests.conftest import DATA

LAB = str(DATA / "glyphlab")
SMALL = ["hnsw:M=8,efConstruction=40,efSearch=8/64", "ivf-flat:nlist=16,nprobe=1/16", "ivf-pq:nlist=8,m=4,nprobe=8"]


def clustered(seed: int, n_group: int = 40, n_dim: int = 16, per_group: int = 5) -> Problem:
    return experiment.synthetic(n_group * per_group, n_dim, 2 * n_group, seed=seed, per_group=per_group)


def same(a: Ranking, b: Ranking) -> bool:
    return all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=True) for n in Ranking.__dataclass_fields__)


def by_hand(listed, query: Vectors, gallery: Vectors, relevance: Relevance, top: int):  # type: ignore[no-untyped-def]
    """Each list from the definition: pads, repeats and junk go, the first ``top`` stay, exact similarity sorts."""
    similar = exact_block(query, gallery)
    lists, pairs = [], []
    for q, row in enumerate(listed):
        kept: list[int] = []
        for item in row:
            if item >= 0 and item not in kept and item not in relevance.junk.of(q):
                kept.append(int(item))
        kept = sorted(kept[:top], key=lambda item: (-similar[q, item], item))
        lists.append(kept)
        wanted = [int(p) for p in relevance.relevant.of(q) if p not in relevance.junk.of(q)]
        ranks = {p: kept.index(p) + 1 if p in kept else 0 for p in wanted}
        pairs.append(ranks)
    return lists, pairs


@st.composite
def listed_cases(draw):  # type: ignore[no-untyped-def]
    n_query, n_gallery = draw(st.integers(1, 4)), draw(st.integers(1, 7))
    rows = st.lists(st.integers(-2, 2), min_size=2, max_size=2)
    query = draw(st.lists(rows, min_size=n_query, max_size=n_query))
    gallery = draw(st.lists(rows, min_size=n_gallery, max_size=n_gallery))
    sets = st.lists(st.lists(st.integers(0, n_gallery - 1)), min_size=n_query, max_size=n_query)
    width = draw(st.integers(1, 8))
    row = st.lists(st.integers(-1, n_gallery - 1), min_size=width, max_size=width)
    listed = draw(st.lists(row, min_size=n_query, max_size=n_query))
    relevance = Relevance(Sets.from_lists(draw(sets)), Sets.from_lists(draw(sets)), n_gallery)
    return np.array(listed), prepare(np.array(query)), prepare(np.array(gallery)), relevance, draw(st.integers(1, 8))


@given(listed_cases())
def test_a_list_is_ranked_as_its_definition_says(case) -> None:  # type: ignore[no-untyped-def]
    listed, query, gallery, relevance, top = case
    ranked = rank_lists(listed, query, gallery, relevance, top=top)
    lists, pairs = by_hand(*case)
    assert [[p for p in row if p >= 0] for row in ranked.top_position.tolist()] == lists
    for q, ranks in enumerate(pairs):
        at = slice(ranked.indptr[q], ranked.indptr[q + 1])
        assert dict(zip(ranked.position[at].tolist(), ranked.rank[at].tolist(), strict=True)) == ranks
    assert ranked.n_gallery.tolist() == [relevance.n_gallery - len(relevance.junk.of(q)) for q in range(len(listed))]
    assert np.array_equal(np.isnan(ranked.similarity), ranked.rank == 0)


@given(listed_cases())
def test_a_whole_list_is_the_exact_ranking(case) -> None:  # type: ignore[no-untyped-def]
    _, query, gallery, relevance, _ = case
    n = len(gallery)
    everything = np.tile(np.arange(n)[::-1], (len(query), 1))
    assert same(rank_lists(everything, query, gallery, relevance, top=n), rank(query, gallery, relevance, top=n))


def test_flat_on_normalised_vectors_agrees_with_our_ranking_up_to_ties() -> None:
    data = clustered(1)
    copies = np.concatenate([data.gallery, data.gallery[:20]])
    relevance = Relevance.of(data.relevance.relevant, len(copies))
    query, gallery = prepare(data.query), prepare(copies)
    flat = kinds.Configuration("flat")
    position = kinds.answer(kinds.build(flat, gallery), flat, query, len(copies))
    exact = rank(query, gallery, relevance, top=len(copies))
    assert same(rank_lists(position, query, gallery, relevance, top=len(copies)), exact)
    similar = np.take_along_axis(exact_block(query, gallery), position, axis=1)
    assert (np.diff(similar, axis=1) <= 1e-6).all()  # its own order differs by float32's last bits alone
    assert np.abs(similar - exact.top_similarity).max() <= 1e-6


def test_planted_representation_and_index_errors_each_stand_in_their_own_column() -> None:
    n_group = 50
    rng = np.random.default_rng(3)
    centre = np.linalg.qr(rng.standard_normal((64, 64)))[0][:n_group]
    gallery = np.repeat(centre, 4, axis=0) + 0.01 * rng.standard_normal((200, 64))
    query = np.repeat(centre, 2, axis=0) + 0.01 * rng.standard_normal((100, 64))
    group = np.repeat(np.arange(n_group), 2)
    mistaken, lost = np.arange(10), np.arange(10, 25)  # groups
    shown = query.copy()
    shown[np.isin(group, mistaken)] = query[np.isin(group, mistaken)][::-1] * 0 + centre[40]  # the encoder's mistake
    relevance = Relevance.of(Sets(group, np.arange(0, 201, 4), np.arange(200)), 200)
    q, g = prepare(shown), prepare(gallery)
    flat = kinds.Configuration("flat")
    index = kinds.build(flat, g)
    # An index that does not hold some groups at all: its numbers go on counting the items as they stand.
    partial = faiss.IndexIDMap2(faiss.IndexFlatIP(64))
    held = np.flatnonzero(~np.isin(np.arange(200) // 4, lost))
    partial.add_with_ids(np.ascontiguousarray(g.parts[0][held]), held)
    for built, missing in ((index, 0), (partial, 30)):
        ranked = rank_lists(kinds.answer(built, flat, q, 4), q, g, relevance, top=4)
        exact = rank(q, g, relevance, top=5)
        representation = 1 - recall(exact, 4).value
        assert representation == pytest.approx(20 / 100)
        assert recall(exact, 4).value - recall(ranked, 4).value == pytest.approx(missing / 100)
        assert (outcomes(ranked, exact, 4) == "not_returned").sum() == missing
        assert (outcomes(ranked, exact, 4) == "neither").sum() == 20


def test_the_experiment_recovers_a_planted_index_error() -> None:
    """One list searched of two: whatever lies in the other one is lost, and the representation is perfect."""
    rng = np.random.default_rng(0)
    side = np.array([1.0] * 60 + [-1.0] * 60)
    own = np.eye(60, 60)[np.tile(np.arange(60), 2)]
    gallery = np.column_stack([3 * side, own])
    label = np.tile(np.arange(60), 2)
    query = np.column_stack([np.full(60, 3.0), np.eye(60)])[rng.permutation(60)]
    asked = query[:, 1:].argmax(axis=1)
    # Each query's only right item is on its own side, or, for every third, on the far one.
    right = asked + 60 * (asked % 3 == 0)
    relevance = Relevance.of(Sets.from_lists([[r] for r in right]), 120)
    assert (label[right] == asked).all()
    found = experiment.run_experiment(
        Problem(query, gallery, relevance, asked),
        Plan(ks=(1, 120)),
        tried=kinds.configurations(120, 61, ["ivf-flat:nlist=2,nprobe=1"]),
    )
    (row,) = experiment.trial_table(found).to_dict("records")
    far = (asked[found.test] % 3 == 0).mean()
    assert row["exact_recall@120"] == 1
    assert row["difference@120"] == pytest.approx(-far)
    assert row["low@120"] <= -far <= row["high@120"] < 0
    assert row["not_returned@120"] == (asked[found.test] % 3 == 0).sum()


def numbers(trial: experiment.Trial) -> tuple[object, ...]:
    return trial.name, trial.ranking.rank.tolist(), trial.ranking.top_position.tolist(), trial.own.rank.tolist()


def test_tuning_never_sees_test_queries() -> None:
    data = clustered(2)
    tried = kinds.configurations(*data.gallery.shape, SMALL)
    first = experiment.run_experiment(data, Plan(ks=(1, 5)), tried=tried)
    # Poison: other vectors and other right answers for every test query, whatever would suit another configuration.
    query, index = data.query.copy(), data.relevance.relevant.index.copy()
    query[first.test] = np.random.default_rng(9).standard_normal((len(first.test), query.shape[1]))
    index[first.test] = np.roll(index[first.test], 7)
    sets = Sets(index, data.relevance.relevant.indptr, data.relevance.relevant.positions)
    poisoned = experiment.run_experiment(
        data._replace(query=query, relevance=Relevance.of(sets, 200)), Plan(ks=(1, 5)), tried=tried
    )
    assert [numbers(one) for one in first.trials] == [numbers(one) for one in poisoned.trials]
    assert [one.name for one in first.tested] == [one.name for one in poisoned.tested]
    assert first.chosen == poisoned.chosen
    assert [numbers(one) for one in first.tested] != [numbers(one) for one in poisoned.tested]


def test_tuning_is_handed_the_validation_queries_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    data = clustered(4)
    seen: list[int] = []
    tune = experiment._tune

    def watched(asked, *rest):  # type: ignore[no-untyped-def]
        seen.extend([len(asked.query), asked.relevance.n_query])
        return tune(asked, *rest)

    monkeypatch.setattr(experiment, "_tune", watched)
    found = experiment.run_experiment(data, tried=kinds.configurations(200, 16, SMALL[:1]))
    assert seen == [len(found.validation)] * 2


@given(st.lists(st.integers(0, 6), min_size=2, max_size=30), st.integers(0, 5), st.floats(0, 1))
def test_no_group_both_tunes_and_is_measured(groups: list[int], seed: int, share: float) -> None:
    if len(set(groups)) < 2:
        with pytest.raises(DataError, match="at least two are needed"):
            experiment.draw_validation(groups, share=share, seed=seed)
        return
    validation, test = experiment.draw_validation(groups, share=share, seed=seed)
    code = np.array(groups)
    assert len(validation)
    assert len(test)
    assert sorted([*validation, *test]) == list(range(len(groups)))
    assert not set(code[validation]) & set(code[test])


def test_the_best_on_validation_is_measured_and_of_equals_the_first() -> None:
    data = clustered(5)
    found = experiment.run_experiment(data, tried=kinds.configurations(200, 16, [*SMALL, "flat"]))
    values = experiment.trial_table(found, "validation")
    for name in ("hnsw", "ivf-flat", "ivf-pq", "flat"):
        best = values[values["index"] == name]["recall@10"].idxmax()  # the first of the highest
        assert values["name"][best] == next(one.name for one in found.tested if one.index == name)
    assert found.chosen is not None
    assert found.tested[found.chosen].name == values["name"][values["recall@10"].idxmax()]
    assert values["chosen"].sum() == 1


def test_a_budget_of_memory_leaves_out_what_is_too_large() -> None:
    data = clustered(5)
    tried = kinds.configurations(200, 16, [*SMALL, "flat"])
    free = experiment.run_experiment(data, tried=tried)
    size = {one.index: one.cost.index_bytes for one in free.trials}
    budget = size["ivf-pq"]
    bound = experiment.run_experiment(data, Plan(memory=budget), tried=tried)
    assert [one.index for one in bound.tested] == [one for one, needed in size.items() if needed <= budget]
    nothing = experiment.run_experiment(data, Plan(latency=0.0), tried=tried)
    assert (nothing.tested, nothing.chosen) == ((), None)
    assert "no configuration keeps the budget" in nothing.findings[0].message


def test_junk_is_left_out_and_pushes_nothing_out() -> None:
    data = clustered(6)
    nearest = rank(data.query, data.gallery, data.relevance, top=3).top_position
    relevance = Relevance(data.relevance.relevant, Sets.from_lists(nearest.tolist()), 200)
    found = experiment.run_experiment(data._replace(relevance=relevance), tried=kinds.configurations(200, 16, ["flat"]))
    (one,) = found.tested
    exact = found.exact.select(found.test)
    assert np.array_equal(one.ranking.top_position, exact.top_position[:, :10])
    assert recall(one.ranking, 10).value == recall(exact, 10).value
    assert np.array_equal(one.ranking.n_relevant, exact.n_relevant)


def test_copies_in_the_gallery_are_told() -> None:
    data = clustered(7)
    gallery = data.gallery.copy()
    gallery[100:130] = gallery[:30]
    found = experiment.run_experiment(data._replace(gallery=gallery), tried=kinds.configurations(200, 16, SMALL[:1]))
    (finding,) = [one for one in found.findings if one.kind == "copies"]
    assert (found.n_copy, finding.count) == (30, 30)
    assert "overlap with the exact list is too low" in finding.message


def test_a_run_of_ones_own_is_compared_by_its_own_scores_on_all_queries() -> None:
    data = clustered(8)
    similar = exact_block(prepare(data.query), prepare(data.gallery))
    similar[:, ::2] = np.nan  # this system never returns every second item
    mine = rank_scores(similar, data.relevance, top=10)
    found = experiment.run_experiment(data, tried=(), runs={"mine": mine})
    (row,) = experiment.trial_table(found).to_dict("records")
    assert (row["name"], row["index"], len(found.test), found.chosen) == ("mine", "run", 80, None)
    assert row["recall@1"] == recall(mine, 1).value
    assert item_recall(mine, 200).value < 1
    assert np.isnan(row["milliseconds"])


def test_overlap_is_the_share_of_the_exact_list() -> None:
    query, gallery = prepare(np.eye(2)), prepare(np.array([[3.0, 1], [2, 1], [1, 1], [1, 2]]))
    relevance = Relevance.of(Sets.from_lists([[0], [3]]), 4)
    exact = rank(query, gallery, relevance, top=2)
    mine = rank_lists([[0, 3], [-1, -1]], query, gallery, relevance, top=2)
    assert overlap(mine, exact, 2).tolist() == [0.5, 0.0]
    assert overlap(exact, exact, 2).tolist() == [1, 1]
    assert outcomes(mine, exact, 1).tolist() == ["both", "not_returned"]


def test_a_worse_rank_is_told_apart_from_never_returned() -> None:
    query, gallery = prepare(np.eye(2)), prepare(np.array([[3.0, 1], [2, 1], [1, 1], [1, 2]]))
    relevance = Relevance.of(Sets.from_lists([[0], [3]]), 4)
    exact = rank(query, gallery, relevance, top=2)
    listed = [[2, 0], [2, 1]]
    own = rank_lists(listed, query, gallery, relevance, top=2, own_order=True)
    assert own.rank.tolist() == [2, 0]
    assert outcomes(own, exact, 1).tolist() == ["worse_rank", "not_returned"]
    assert rank_lists(listed, query, gallery, relevance, top=2).rank.tolist() == [1, 0]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=8),
)
def test_the_front_is_what_nothing_beats(points: list[tuple[int, int]]) -> None:
    cost, value = zip(*points, strict=True)
    beaten = [any(c <= a and v >= b and (c, v) != (a, b) for c, v in points) for a, b in points]
    assert experiment.pareto(cost, value).tolist() == [not one for one in beaten]


def test_the_front_is_a_table_the_fastest_first() -> None:
    table = pd.DataFrame({"name": list("abcd"), "milliseconds": [3, 1, 2, 4], "recall@10": [0.9, 0.5, 0.4, 0.9]})
    assert experiment.pareto_front(table, "recall@10")["name"].tolist() == ["b", "a"]


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ("annoy", "index 'annoy' is not known; choose from hnsw, ivf-flat, ivf-pq, flat"),
        ("hnsw:m=3", "'m' is none of its numbers: M, efConstruction, efSearch"),
        ("hnsw:M=x", "M is 'x'; write whole numbers, apart by /"),
        ("hnsw:M=1", "M is 1; it is at least 2"),
        ("flat:M=2", "'M' is none of its numbers: it has none"),
        ("ivf-flat:nlist=101", "101 lists for 100 items; take fewer lists"),
        ("ivf-pq:m=5", "12 dimensions cannot be cut into m=5; take one of 1, 2, 3, 4, 6, 12"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused(given_: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        kinds.configurations(100, 12, [given_])
    assert message in str(error.value)


def test_a_gallery_of_one_needs_no_index() -> None:
    with pytest.raises(DataError, match="at least 2 items"):
        kinds.configurations(1, 8)


@pytest.mark.parametrize(("n", "n_dim"), [(2, 1), (3, 7), (30, 576), (1000, 64)])
def test_the_usual_configurations_work_at_every_size(n: int, n_dim: int) -> None:
    vectors = np.random.default_rng(0).standard_normal((n, n_dim))
    relevance = Relevance.of(Sets.from_lists([[0]] * min(n, 4)), n)
    query = prepare(vectors[: min(n, 4)])
    for one in kinds.configurations(n, n_dim):
        index = kinds.build(one, prepare(vectors))
        ranked = rank_lists(kinds.answer(index, one, query, 10), query, prepare(vectors), relevance, top=10)
        assert ranked.n_query == min(n, 4)


def test_the_command_prints_text_json_and_csv_of_the_same_numbers(capsys: pytest.CaptureFixture[str], tmp_path) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "ann.csv"
    arguments = ["ann", LAB, "--index", "flat", "--index", "hnsw:efSearch=16", "--k", "1", "10", "--csv", str(out)]
    assert cli.main([*arguments, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["spec"]["encoder"] == "raw"
    assert (whole["n_gallery"], whole["n_validation"] + whole["n_test"]) == (30, 30)
    assert {row["index"] for row in whole["test"]} == {"flat", "hnsw"}
    lines = out.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(whole["test"]) + len(whole["validation"])
    assert cli.main(arguments) == 0
    text = capsys.readouterr()
    assert "flat" in text.out
    assert "holds for" in text.out
    assert "exact ranking" in text.err


def test_the_command_makes_its_own_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main(["ann", "--synthetic", "2000x16", "--queries", "40", "--index", "ivf-flat:nprobe=1/8", "--json"]) == 0
    )
    whole = json.loads(capsys.readouterr().out)
    assert (whole["n_gallery"], whole["n_dim"], whole["n_validation"] + whole["n_test"]) == (2000, 16, 40)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ann"], "name the data, or make some with --synthetic 100000x64"),
        (["ann", LAB, "--synthetic", "10x2"], "--synthetic makes its own data; leave"),
        (["ann", "--synthetic", "10"], "--synthetic '10' is not of the form ITEMSxDIMENSIONS"),
        (["ann", LAB, "--similarity", "dot"], "compared with the cosines of vectors"),
        (["ann", LAB, "--share", "2"], "--share 2.0: a part of the groups, between 0 and 1"),
    ],
)
def test_the_command_refuses_what_cannot_be(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_run_from_a_file_is_told_apart_from_the_representation(capsys: pytest.CaptureFixture[str], tmp_path) -> None:  # type: ignore[no-untyped-def]
    run = tmp_path / "mine.run"
    assert cli.main(["evaluate", LAB, "--trec-run", str(run)]) == 0
    capsys.readouterr()
    assert cli.main(["ann", LAB, "--run", str(run), "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    (row,) = whole["test"]
    assert (row["index"], row["difference@10"], row["overlap"]) == ("run", 0, 1)
    assert whole["validation"] == []


def test_without_faiss_the_message_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependency, match=r'pip install "recall-explorer\[index\]"'):
        kinds.build(kinds.Configuration("flat"), prepare(np.eye(2)))


def test_report_states_the_limit_of_validity() -> None:
    data = clustered(9)
    found = experiment.run_experiment(data, tried=kinds.configurations(200, 16, SMALL[:1]))
    assert "200 items of 16 dimensions" in report.ann_text(found)


@pytest.mark.parametrize("budget", [["--latency", "nan"], ["--latency", "-1"], ["--memory", "inf"], ["--memory", "0"]])
def test_a_budget_is_a_number_above_0(budget: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ann", "digits", "--index", "flat", *budget]) == 2
    assert f"{budget[0]} " in capsys.readouterr().err
