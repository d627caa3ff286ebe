"""Slices: which queries they hold, what they score, and that a filter names the same ones."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_core.datasets.dataset import Dataset, load
from recall_core.diagnosis.slicing import MAX_VALUES, SMALL, sliceable, slices
from recall_core.errors import DataError
from recall_core.evaluation import opening, report
from recall_core.evaluation.record import Evaluation, query_groups
from recall_core.evaluation.wiring import evaluate, select_queries
from recall_core.metrics.intervals import bonferroni, interval
from recall_core.protocol.choices import read_filter
from recall_core.protocol.spec import Spec
from tests.conftest import DATA


def table_data(cells: dict[str, list[str]], seed: int = 0) -> Dataset:
    """Vectors at random, pairs of rows alike, with these columns beside."""
    n = len(next(iter(cells.values())))
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"label": [str(i // 2) for i in range(n)], **cells}, dtype="str")
    vectors = rng.normal(size=(n, 3)) + np.repeat(rng.normal(size=((n + 1) // 2, 3)), 2, axis=0)[:n]
    return Dataset("made", table, {"label": "label"}, None, {"given": vectors})


@pytest.fixture(scope="module")
def lab() -> Evaluation:
    return evaluate(load(DATA / "glyphlab"), Spec(data="data/glyphlab", encoder="colour", ks=(1, 5)))


def test_each_slice_scores_what_its_filter_selects(lab: Evaluation) -> None:
    for metric in ("recall@5", "map"):
        found = slices(lab, "orientation", metric)
        assert found["n_query"].sum() == 60
        for row in found.itertuples():
            part = select_queries(lab, read_filter(row.filter))
            assert part.scores[metric].value == pytest.approx(row.value)
            assert part.counts["n_query"] == row.n_query
            assert set(part.dataset.values("orientation")[part.table["row"]]) == {row.slice}


def test_the_worst_stands_first_and_what_is_small_after_the_rest() -> None:
    kind = ["a"] * 40 + ["b"] * 40 + ["c"] * 4
    found = slices(evaluate(table_data({"kind": kind})), "kind")
    assert found["small"].tolist() == [False, False, True]
    assert found["value"][0] <= found["value"][1]
    assert found["slice"][2] == "c"
    assert (found["n_group"] < SMALL).tolist() == found["small"].tolist()


def test_all_intervals_hold_together_by_bonferroni(lab: Evaluation) -> None:
    found = slices(lab, "view_id", "map")
    groups, score = query_groups(lab), lab.scores["map"].score
    cells = lab.dataset.values("view_id")[lab.table["row"]]
    for row in found.itertuples():
        at = np.flatnonzero(cells == row.slice)
        alone = interval(score.select(at), groups[at], level=1 - 0.05 / 2)
        assert (row.low, row.high, row.method) == (alone.low, alone.high, alone.method)
    assert bonferroni(0.95, 1) == pytest.approx(0.95)
    assert bonferroni(0.95, 0) == pytest.approx(0.95)


def test_loss_is_the_share_of_what_the_whole_lacks(lab: Evaluation) -> None:
    assert slices(lab, "orientation", "map")["loss"].sum() == pytest.approx(1)
    perfect = evaluate(Dataset.from_arrays(np.eye(2)[[0, 0, 1, 1]], ["a", "a", "b", "b"]), ks=(1,))
    assert slices(perfect, "label")["loss"].isna().all()


def test_missing_cells_are_a_slice_of_their_own() -> None:
    result = evaluate(table_data({"kind": ["a", "", "a", "", "b", ""]}))
    found = slices(result, "kind").set_index("slice")
    assert found.loc["missing", "n_query"] == 3
    assert found.loc["missing", "filter"] == "kind="
    part = select_queries(result, read_filter("kind="))
    assert part.table["row"].tolist() == [1, 3, 5]


def test_few_numbers_are_slices_each_and_many_are_cut_at_their_quantiles() -> None:
    n = 2 * (MAX_VALUES + 1)
    few = slices(evaluate(table_data({"size": [str(i % MAX_VALUES) for i in range(n)]})), "size")
    assert len(few) == MAX_VALUES
    many = slices(evaluate(table_data({"size": [str(i / 4) for i in range(n)]})), "size")
    assert sorted(many["slice"], key=lambda text: float(text.partition("..")[0])) == [
        *("0.0..1.75", "2.0..3.75", "4.0..6.0", "6.25..8.0", "8.25..10.25")
    ]


numbers = st.integers(-30, 30).map(lambda x: str(x / 2)) | st.just("") | st.just("7")


@settings(max_examples=40, deadline=None)
@given(st.lists(numbers, min_size=30, max_size=60), st.booleans())
def test_every_query_is_in_exactly_one_slice_and_its_filter_finds_it(cells: list[str], text: bool) -> None:
    result = evaluate(table_data({"x": [f"v {cell}" if text and cell else cell for cell in cells]}))
    found = slices(result, "x")
    rows = [select_queries(result, read_filter(spelled)).table["row"].tolist() for spelled in found["filter"]]
    assert sorted(row for part in rows for row in part) == list(range(len(cells)))
    assert [len(part) for part in rows] == found["n_query"].tolist()


def test_a_sliced_evaluation_is_the_whole_s_queries_with_the_whole_s_ranks(lab: Evaluation) -> None:
    part = select_queries(lab, read_filter("view_id=0"))
    assert [d.name for d in part.directions] == ["view0->view1"]
    whole = lab.table[lab.table["direction"] == "view0->view1"].reset_index(drop=True)
    pd.testing.assert_frame_equal(part.table, whole)
    assert part.directions[0].counts == lab.directions[0].counts
    assert part.findings[0].kind == "slice"
    assert "30 of 60 queries are counted: those with view_id=0" in part.findings[0].message
    assert part.findings[1:] == lab.findings


def test_the_spec_says_the_slice_and_evaluates_to_it(lab: Evaluation) -> None:
    part = select_queries(lab, read_filter("orientation=diagonal,vertical;view_id=1"))
    again = evaluate(lab.dataset, part.given)
    assert part.given.slice == (("orientation", ("diagonal", "vertical")), ("view_id", ("1",)))
    assert "--slice orientation=diagonal --slice orientation=vertical --slice view_id=1" in part.given.to_command()
    pd.testing.assert_frame_equal(again.table, part.table)
    assert again.counts == part.counts
    assert again.spec == part.spec
    assert again.scores["map"].interval == part.scores["map"].interval


def test_a_saved_slice_opens_as_it_was(lab: Evaluation, tmp_path: Path) -> None:
    part = select_queries(lab, read_filter("orientation=diagonal"))
    part.save(tmp_path / "run")
    opened = opening.open_run(tmp_path / "run")
    assert report.report_text(opened) == report.report_text(part)
    assert (opened.given, opened.spec) == (part.given, part.spec)


def test_a_slice_of_a_slice_names_another_column(lab: Evaluation) -> None:
    part = select_queries(select_queries(lab, read_filter("view_id=0")), read_filter("orientation=diagonal"))
    assert part.spec == select_queries(lab, read_filter("view_id=0;orientation=diagonal")).spec
    with pytest.raises(DataError, match="already a slice by view_id"):
        select_queries(part, read_filter("view_id=1"))


@pytest.mark.parametrize(
    ("spelled", "message"),
    [
        ("colour=red", "has no column 'colour'"),
        ("orientation=17", "no row has orientation=17"),
        ("split=train", "no query has split=train"),
        ("index=900000..900001", r"no row has index=900000\.\.900001"),
        ("orientation=a..b", r"no row has orientation=a\.\.b"),
    ],
)
def test_a_slice_without_queries_is_refused(lab: Evaluation, spelled: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        select_queries(lab, read_filter(spelled))


def test_a_range_selects_rows_as_well() -> None:
    data = table_data({"year": [str(1990 + i) for i in range(10)]})
    assert evaluate(data, where=(("year", ("1992..1995",)),)).table["row"].tolist() == [2, 3, 4, 5]


def test_a_cell_that_looks_like_a_range_is_taken_as_written() -> None:
    data = table_data({"span": ["1..3", "2", "1..3", "2"]})
    assert select_queries(evaluate(data), read_filter("span=1..3")).table["row"].tolist() == [0, 2]


def test_an_unknown_metric_lists_those_there_are(lab: Evaluation) -> None:
    with pytest.raises(DataError, match=r"no score is named 'recall@7'; there are recall@1, recall@5"):
        slices(lab, "orientation", "recall@7")


def test_columns_worth_slicing_tell_queries_apart(lab: Evaluation) -> None:
    found = sliceable(lab)
    assert "orientation" in found
    assert "view_id" in found
    assert "split" not in found


def test_policies_hold_inside_a_slice() -> None:
    data = Dataset.from_arrays(np.eye(4), ["a", "a", "b", ""], groups=["x", "x", "y", "y"])
    found = slices(evaluate(data, ks=(3,), no_relevant="exclude", relevant="label"), "group").set_index("slice")
    assert found.loc["y", ["n_query", "n_counted"]].tolist() == [2, 0]
    assert np.isnan(found.loc["y", "value"])
    assert found.index.tolist() == ["x", "y"]
