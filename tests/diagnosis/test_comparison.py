"""Comparisons: queries are lined up, the tests are those of the scores, and what cannot be compared is refused."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recall_core import cli
from recall_core.cli.compare import run_names
from recall_core.datasets.dataset import Dataset, load
from recall_core.diagnosis import report
from recall_core.diagnosis.comparison import (
    before_after,
    compare,
    count_moves,
    count_outcomes,
    count_unfound,
    default_metrics,
    paired_tests,
    query_moves,
    run_table,
    single,
)
from recall_core.errors import DataError
from recall_core.evaluation.record import Evaluation, query_groups
from recall_core.evaluation.wiring import evaluate, select_queries
from recall_core.metrics.intervals import holm, paired_difference
from recall_core.protocol.choices import read_filter
from recall_core.protocol.side_vectors import encode_dataset
from recall_core.protocol.spec import Spec
from tests.conftest import DATA

LAB = DATA / "glyphlab"


@pytest.fixture(scope="module")
def runs() -> dict[str, Evaluation]:
    data = load(LAB)
    return {name: evaluate(data, Spec(data="data/glyphlab", encoder=name)) for name in ("raw", "colour", "gradient")}


def shuffled(data: Dataset, seed: int) -> Dataset:
    """The same items in another order."""
    order = np.random.default_rng(seed).permutation(len(data))
    table = data.table.assign(id=data.ids).iloc[order].reset_index(drop=True)
    return Dataset(data.name, table, {**data.columns, "id": "id"}, data.pictures.select(order))  # type: ignore[union-attr]


def test_tests_are_those_of_the_scores_corrected_for_all_of_them(runs: dict[str, Evaluation]) -> None:
    metrics = ["recall@1", "map"]
    found = paired_tests(compare(runs), metrics)
    assert found[["metric", "first", "second"]].to_numpy().tolist() == [
        [metric, *pair]
        for metric in metrics
        for pair in (("raw", "colour"), ("raw", "gradient"), ("colour", "gradient"))
    ]
    groups = query_groups(runs["raw"])
    for row in found.itertuples():
        first, second = (runs[name].scores[row.metric].score for name in (row.first, row.second))
        theirs = paired_difference(second, first, groups)
        assert row.difference == pytest.approx(second.value - first.value)
        assert row.p == theirs.p_value
        assert (row.low, row.high) == (theirs.interval.low, theirs.interval.high)
        assert row.won + row.lost + row.tied == 60
    assert found["p_holm"].tolist() == holm(found["p"]).tolist()


def test_the_table_of_runs_has_each_run_s_own_numbers(runs: dict[str, Evaluation]) -> None:
    for row in run_table(compare(runs), ["recall@5", "map"]).itertuples():
        own = runs[row.run].scores[row.metric]
        assert (row.value, row.low, row.high) == pytest.approx((own.value, own.interval.low, own.interval.high))
        assert (row.n_query, row.n_left_out, row.method) == (60, 0, own.interval.method)


def test_queries_are_lined_up_by_id_whatever_the_order_of_rows() -> None:
    data, spec = load(LAB), Spec(encoder="colour")
    one, other = evaluate(data, spec), evaluate(shuffled(data, 3), spec)
    compared = compare({"one": one, "other": other})
    again = other.table["id"].to_numpy()[compared.rows[1]]
    assert compared.ids.tolist() == again.tolist()
    moves = query_moves(compared, "map")
    assert set(moves["outcome"]) == {"tied"}
    assert (moves["first_rank"] == moves["second_rank"]).all()
    for row in moves.itertuples():
        here, there = one.direction(row.direction), other.direction(row.second_direction)
        assert one.dataset.ids[here.split.query[row.query]] == row.id
        assert other.dataset.ids[there.split.query[row.second_query]] == row.id


def test_moves_say_what_became_of_each_query_the_largest_loss_first(runs: dict[str, Evaluation]) -> None:
    compared = compare({name: runs[name] for name in ("raw", "colour")})
    moves = query_moves(compared, "map")
    lost, won = (moves[moves["outcome"] == name] for name in ("lost", "won"))
    assert moves["outcome"].tolist() == sorted(moves["outcome"], key=["lost", "won", "tied"].index)
    assert (lost["difference"] < 0).all()
    assert (won["difference"] > 0).all()
    assert lost["difference"].is_monotonic_increasing
    assert won["difference"].is_monotonic_decreasing
    assert moves["difference"].mean() == pytest.approx(
        runs["colour"].scores["map"].value - runs["raw"].scores["map"].value
    )
    test = paired_tests(compared, ["map"]).iloc[0]
    assert (test["won"], test["lost"]) == (len(won), len(lost))
    back = query_moves(compared, "map", 1, 0).set_index("id")
    assert back.loc[lost["id"], "outcome"].eq("won").all()


def test_moves_are_counted_by_outcome_and_ranks() -> None:
    moves = pd.DataFrame(
        {
            "id": ["a", "b", "c", "d", "e"],
            "direction": ["x", "x", "y", "y", "y"],
            "query": [3, 4, 0, 1, 2],
            "outcome": ["lost", "lost", "won", "tied", "lost"],
            "first_rank": [1, 1, 5, 0, 1],
            "second_rank": [2, 2, 1, 0, 0],
        }
    )
    assert count_outcomes(moves) == {"lost": 3, "won": 1, "tied": 1, "left out": 0}
    assert count_moves(moves).to_dict("records") == [
        {"outcome": "lost", "first_rank": 1, "second_rank": 2, "n": 2, "id": "a", "direction": "x", "query": 3},
        {"outcome": "won", "first_rank": 5, "second_rank": 1, "n": 1, "id": "c", "direction": "y", "query": 0},
    ]
    assert count_unfound(moves) == 2
    assert count_moves(moves[3:]).empty


def test_other_queries_are_refused_by_name_or_cut_to_the_common_ones(runs: dict[str, Evaluation]) -> None:
    part = select_queries(runs["colour"], read_filter("orientation=diagonal"))
    n, rest = len(part.table), 60 - len(part.table)
    with pytest.raises(DataError, match=rf"part lacks {rest} of the 60 queries of whole: '\d+'.*give common="):
        compare({"whole": runs["raw"], "part": part})
    compared = compare({"whole": runs["raw"], "part": part}, common=True)
    assert compared.n_query == n
    assert compared.left_out == (rest, 0)
    assert compared.findings[0].message == f"{n} queries are common to all and compared; left out: {rest} of whole"
    cut = select_queries(runs["raw"], read_filter("orientation=diagonal"))
    assert run_table(compared, ["map"])["value"].tolist() == [cut.scores["map"].value, part.scores["map"].value]


def test_runs_without_a_common_query_are_refused(runs: dict[str, Evaluation]) -> None:
    one, other = (select_queries(runs["raw"], read_filter(f"view_id={view}")) for view in "01")
    with pytest.raises(DataError, match="one, other have no query in common"):
        compare({"one": one, "other": other}, common=True)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"relevant": "orientation"}, r"differ in relevant \(scene_id and orientation\)"),
        ({"no_relevant": "exclude"}, r"differ in no_relevant \(miss and exclude\)"),
        ({"junk_same": "orientation"}, r"differ in junk_same \(none and orientation\)"),
    ],
)
def test_another_rule_of_relevance_is_refused(runs: dict[str, Evaluation], choices: dict, message: str) -> None:
    other = evaluate(runs["raw"].dataset, Spec(encoder="raw", **choices))
    with pytest.raises(DataError, match=message):
        compare({"one": runs["raw"], "other": other})


def test_a_k_that_one_lacks_is_refused_and_those_that_all_have_are_listed(runs: dict[str, Evaluation]) -> None:
    other = evaluate(runs["raw"].dataset, Spec(encoder="raw", ks=(3, 7)))
    compared = compare({"one": runs["raw"], "other": other})
    with pytest.raises(DataError, match=r"other: there is no score 'recall@1'; all have recall@3, recall_evaluable@3"):
        compared.scores("recall@1")
    assert default_metrics([runs["raw"], other]) == ["recall@3", "map"]


def test_queries_that_are_not_counted_alike_are_refused() -> None:
    vectors, labels = np.eye(4) + 0.1, ["a", "a", "b", "b"]
    one = evaluate(Dataset.from_arrays(vectors, labels), ks=(1,))
    other = evaluate(Dataset.from_arrays(vectors, ["a", "a", "b", ""]), ks=(1,))
    compared = compare({"one": one, "other": other})
    compared.scores("recall@1")
    with pytest.raises(DataError, match=r"map: one and other do not count 2 of 4 queries alike, among them '2', '3'"):
        compared.scores("map")


def test_other_groups_are_refused() -> None:
    vectors, labels = np.eye(4) + 0.1, ["a", "a", "b", "b"]
    one, other = (
        evaluate(Dataset.from_arrays(vectors, labels, groups=groups), ks=(1,), relevant="label")
        for groups in ("xxyy", "xyxy")
    )
    with pytest.raises(DataError, match="put 2 of 4 queries into other groups, among them '1', '2'"):
        compare({"one": one, "other": other})


def test_an_id_that_asks_in_both_directions_is_told_apart_by_its_direction() -> None:
    data = Dataset.from_arrays(np.eye(3) + 0.1, ["a", "a", "a"])
    sides = {"query": (("label", ("a",)),), "gallery": (("label", ("a",)),)}
    one = evaluate(data, ks=(1,), both=True, **sides)
    compared = compare({"one": one, "other": one})
    assert one.table["id"].duplicated().any()
    assert compared.rows[1].tolist() == list(range(6))


def test_another_gallery_is_said(runs: dict[str, Evaluation]) -> None:
    data = runs["raw"].dataset
    whole = evaluate(data, Spec(encoder="raw", split="leave-one-out"))
    compared = compare({"by view": runs["raw"], "all": whole}, common=True)
    assert [finding.kind for finding in compared.findings] == ["other_gallery"]
    assert "30 and 30 in by view, 60 in all" in compared.findings[0].message
    assert not compare(runs).findings


def test_one_run_is_no_comparison(runs: dict[str, Evaluation]) -> None:
    with pytest.raises(DataError, match="at least two"):
        compare({"raw": runs["raw"]})


def test_before_and_after_corrections(tmp_path: Path) -> None:
    data = Dataset.from_arrays(np.eye(4) + 0.1, ["a", "a", "b", ""])
    (tmp_path / "patch.csv").write_text("query_id,gallery_id,grade\n2,3,1\n", encoding="utf-8")
    before, after = evaluate(data, ks=(1, 3)), evaluate(data, ks=(1, 3), corrections=str(tmp_path / "patch.csv"))
    found = before_after(before, after).set_index("metric")
    assert found.loc["recall@3", ["before", "after", "change"]].tolist() == [0.5, 1.0, 0.5]
    assert found.loc["recall@3", "n_changed"] == 2
    assert found.loc["map", "n_changed"] == 2
    with pytest.raises(DataError, match="after lacks 2 of the 4 queries"):
        before_after(before, select_queries(after, read_filter("label=a")))


@pytest.fixture(scope="module")
def saved(runs: dict[str, Evaluation], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for name, one in runs.items():
        one.save(folder / f"{name}_1")
    return {name: folder / f"{name}_1" for name in runs}


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_compare_prints_the_same_numbers(
    runs: dict[str, Evaluation], saved: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "compare", saved["raw"], saved["colour"])
    assert (code, err) == (0, "")
    compared = compare({"raw_1": runs["raw"], "colour_1": runs["colour"]})
    assert out == report.comparison_text(compared, ["recall@1", "map"])
    assert "[queries by map]" in out
    _, spelled, _ = run(capsys, "compare", *saved.values(), "--metric", "map", "mrr", "--json")
    whole = json.loads(spelled)
    assert whole == json.loads(
        json.dumps(report.comparison_json(compare({f"{n}_1": one for n, one in runs.items()}), ["map", "mrr"]))
    )
    assert len(whole["tests"]) == 6
    assert "queries" not in whole


@pytest.fixture
def vectors(runs: dict[str, Evaluation], tmp_path: Path) -> list[str]:
    """Two encoders' vectors of every row of the lab, as files."""
    data, files = load(LAB), []
    for name in ("raw", "colour"):
        np.save(tmp_path / f"{name}.npy", encode_dataset(data, Spec(encoder=name, where=())))
        files.append(str(tmp_path / f"{name}.npy"))
    return files


@pytest.mark.parametrize(
    "choices", [[], ["--split", "random", "--seed", "3", "--k", "2", "5", "--no-relevant", "exclude"]]
)
def test_encoders_compared_at_once_print_what_their_saved_runs_print(
    choices: list[str], vectors: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / "runs" / Path(file).stem for file in vectors]
    for file, folder in zip(vectors, folders, strict=True):
        assert run(capsys, "evaluate", LAB, "--embeddings", file, *choices, "--save", folder)[0] == 0
    for form in ([], ["--json"], ["--metric", "mrr", "map"], ["--common", "--json"]):
        later = run(capsys, "compare", *folders, *form)
        assert later == run(capsys, "compare", LAB, "--embeddings", *vectors, *choices, *form)
        assert later[0] == 0
    for name in ("csv", "latex"):
        run(capsys, "compare", *folders, f"--{name}", tmp_path / "later")
        run(capsys, "compare", LAB, "--embeddings", *vectors, *choices, f"--{name}", tmp_path / "at_once")
        assert (tmp_path / "later").read_bytes() == (tmp_path / "at_once").read_bytes()


def test_a_choice_that_a_comparison_cannot_follow_is_refused(
    saved: dict[str, Path], vectors: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, message in (
        ([*saved.values(), "--where", "split=test"], "--where is a choice for DATA with --embeddings FILE FILE"),
        ([*saved.values(), "--k", "2"], "--k is a choice for DATA"),
        ([*saved.values(), "--no-relevant", "exclude"], "--no-relevant is a choice for DATA"),
        ([*saved.values(), "--embeddings", *vectors], "one DATA with at least two files of --embeddings, not 3 with 2"),
        ([LAB, "--embeddings", vectors[0]], "one DATA with at least two files of --embeddings, not 1 with 1"),
        ([LAB, "--embeddings", vectors[0], vectors[0]], "is named twice"),
        ([LAB, "--embeddings", *vectors, "--encoder", "raw"], "--embeddings and --encoder exclude each other"),
    ):
        code, out, err = run(capsys, "compare", *arguments)
        assert (code, out) == (2, "")
        assert message in err


def test_compare_writes_csv_and_latex(
    saved: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], runs: dict[str, Evaluation]
) -> None:
    run(capsys, "compare", *saved.values(), "--csv", tmp_path / "runs.csv", "--latex", tmp_path / "runs.tex")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "runs.csv").read_text(encoding="utf-8"))))
    assert [(row["run"], row["metric"]) for row in rows[:2]] == [("raw_1", "recall@1"), ("raw_1", "map")]
    assert float(rows[1]["value"]) == runs["raw"].scores["map"].value
    latex = (tmp_path / "runs.tex").read_text(encoding="utf-8")
    best = max(one.scores["map"].value for one in runs.values())
    assert rf"\textbf{{{best:.4f}}}" in latex
    assert r"colour\_1 & " in latex
    assert latex.count(r"\\") == 4


@pytest.mark.parametrize("name", ["a_b", "50% & more", r"back\slash{}", "[x]", "~^#$"])
def test_names_mean_nothing_to_latex(runs: dict[str, Evaluation], name: str) -> None:
    spelled = report.comparison_latex(compare({name: runs["raw"], "b": runs["colour"]}), ["map"])
    line = next(line for line in spelled.splitlines() if line.endswith(r"\\") and " & " in line and "run" not in line)
    shown = line.split(" & 0.")[0].split(" & \\textbf")[0]
    for letter, print_as in reversed(report.LATEX.items()):
        shown = shown.replace(print_as, letter)
    assert shown == name


def test_runs_are_named_by_their_folder_or_by_the_path_where_two_share_a_name(tmp_path: Path) -> None:
    assert run_names(["a/x", "b/y/"]) == ["x", "y"]
    assert run_names(["a/x.1", "b/x.2"]) == ["x.1", "x.2"]
    assert run_names(["a/x", "b/x"]) == ["a/x", "b/x"]
    with pytest.raises(DataError, match="named twice"):
        run_names(["a/x", "a/x"])


def test_what_cannot_be_compared_is_one_line(saved: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "compare", saved["raw"])
    assert (code, out) == (2, "")
    assert err == "error: a comparison takes at least two runs; name another\n"


def test_slices_are_printed_and_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["evaluate", LAB, "--encoder", "colour", "--slices", "orientation", "--metric", "map"]
    _, out, _ = run(capsys, *arguments)
    section = out[out.index("[slices by orientation]") :]
    assert section.startswith("[slices by orientation]\n  map, worst first; all intervals hold together at 95%")
    assert len(section.splitlines()) == 5
    _, out, _ = run(capsys, *arguments, "--json")
    spelled = json.loads(out)["slices"]
    assert spelled["metric"] == "map"
    assert [row["n_query"] for row in spelled["columns"]["orientation"]] == [20, 20, 20]


def test_a_sliced_command_prints_the_slice_alone(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "evaluate", LAB, "--encoder", "colour", "--slice", "orientation=diagonal", "--json")
    assert json.loads(out)["counts"]["n_query"] == 20
    assert json.loads(out)["spec"]["slice"] == {"orientation": ["diagonal"]}
    assert pd.Series([finding["kind"] for finding in json.loads(out)["findings"]]).eq("slice").sum() == 1


def test_one_run_by_itself_scores_as_it_does_in_a_comparison() -> None:
    found = evaluate(load(DATA / "glyphlab"), encoder="mean", ks=(1,))
    together = run_table(compare({"a": found, "b": found}), ["recall@1"])
    alone = run_table(single("a", found), ["recall@1"])
    pd.testing.assert_frame_equal(alone, together[together["run"] == "a"])


def test_runs_without_names_are_refused_with_what_names_them() -> None:
    with pytest.raises(TypeError, match="takes runs by name"):
        compare([])  # type: ignore[arg-type]
