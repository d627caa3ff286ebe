"""The report: the same numbers as text, JSON and CSV."""

import csv
import io
import json
import math

import numpy as np
import pytest

import recall_core
from recall_core.datasets.dataset import load
from recall_core.evaluation import report, spelling
from recall_core.evaluation.record import Evaluation
from recall_core.evaluation.wiring import evaluate
from recall_core.metrics.measures import METRICS
from recall_core.protocol.spec import Spec
from tests.conftest import DATA

KS = (1, 3, 5, 10)


@pytest.fixture(scope="module")
def lab() -> Evaluation:
    return evaluate(load(DATA / "glyphlab"), Spec(data="data/glyphlab", encoder="colour"))


@pytest.fixture(scope="module")
def undefined() -> Evaluation:
    return evaluate(recall_core.from_arrays([[1.0]], ["x"], [[1.0], [2.0]], ["y", "z"]))


def test_text_has_the_runners_block_then_a_line_a_direction_in_the_labs_form(lab: Evaluation) -> None:
    lines = report.report_text(lab).splitlines()
    assert lines[:5] == [
        "[evaluation]",
        "  num queries:   60",
        "  num gallery:   30",
        "  embedding_dim: 512",
        "[recall]",
    ]
    assert lines[5].startswith(f"  recall@1:  {lab.scores['recall@1'].value:.4f} ")
    for direction in lab.directions:
        r = " ".join(f"R@{k}={direction.scores[f'recall@{k}'].value:.4f}" for k in KS)
        assert f"{direction.name} {r} mAP@5={direction.scores['map@5'].value:.4f}" in lines
    assert any(line.startswith("both directions: R@1=") for line in lines)
    for section in ("[map]", "[excluded]", "[ties]", "[uncertainty]", "[findings]", "[spec]"):
        assert section in lines


def test_each_score_line_says_at_which_level_it_counts(lab: Evaluation) -> None:
    assert set(spelling.LEVELS) == set(METRICS)
    lines = report.report_text(lab).splitlines()
    for name in lab.scores:
        if not name.startswith("recall_evaluable"):
            line = next(line for line in lines if line.startswith(f"  {name}:") and "/" in line)
            assert "query-level" in line or "item-level" in line


def test_json_holds_every_score_of_every_direction_with_its_parts(lab: Evaluation) -> None:
    given = json.loads(json.dumps(report.report_json(lab), allow_nan=False))
    assert given["format"] == 1
    assert list(given["directions"]) == ["view0->view1", "view1->view0"]
    assert given["counts"] == {
        "n_query": 60,
        "n_gallery": 30,
        "n_evaluable": 60,
        "n_without_relevant": 0,
        "n_junk": 0,
        "n_dim": 512,
    }
    names = {
        *(f"{base}@{k}" for k in KS for base in ("recall", "recall_evaluable", "item_recall", "item_recall_macro")),
        *(f"{base}@{k}" for k in KS for base in ("map", "mrr", "precision", "ndcg")),
        *("map", "mrr", "r_precision", "map_at_r", "minp"),
    }
    assert names <= set(given["scores"])
    for scores in (given["scores"], *(direction["scores"] for direction in given["directions"].values())):
        for score in scores.values():
            told = "value numerator denominator interval interval_method bootstrap ties"
            assert set(score) == set(told.split())
            assert score["value"] == pytest.approx(score["numerator"] / score["denominator"])
            ties = score["ties"]
            assert ties["worst"] <= score["value"] <= ties["best"]
    assert given["scores"]["recall@1"]["bootstrap"] is not None
    assert given["scores"]["map"]["bootstrap"] is None
    assert Spec.from_json(given["spec"]) == lab.spec


def test_pooled_recall_is_the_sum_of_both_directions(lab: Evaluation) -> None:
    parts = [direction.scores["recall@1"] for direction in lab.directions]
    assert lab.scores["recall@1"].numerator == sum(part.numerator for part in parts)
    assert lab.scores["recall@1"].denominator == sum(part.denominator for part in parts) == 60


def test_ties_are_counted_with_their_range() -> None:
    text = report.report_text(evaluate(load(DATA / "glyphlab"), Spec(encoder="constant")))
    line = "recall@1: 60 queries depend on the order of ties; worst 0.0000, expected 0.0333, best 1.0000"
    assert line in text


def test_undefined_is_null_in_json_and_a_word_in_text(undefined: Evaluation) -> None:
    given = report.report_json(undefined)
    assert given["scores"]["map"]["value"] is None
    assert given["scores"]["recall@1"]["value"] == 0
    json.dumps(given, allow_nan=False)
    text = report.report_text(undefined)
    assert "undefined" in text
    assert "nan" not in text
    assert "evaluable: 0, without relevant: 1" in text


def test_csv_has_a_row_a_query_and_reads_back(lab: Evaluation) -> None:
    rows = list(csv.DictReader(io.StringIO(report.report_csv(lab))))
    assert len(rows) == 60
    hits = sum(float(row["recall@1"]) for row in rows)
    assert hits == lab.scores["recall@1"].numerator
    assert {row["direction"] for row in rows} == {"view0->view1", "view1->view0"}


def test_a_spec_in_words_names_every_choice_that_was_made() -> None:
    spec = Spec(
        data="shop",
        where=(("split", ("test",)),),
        split="random",
        seed=4,
        relevant="label",
        junk_same="camera",
        encoder="ridge",
        train="grouped",
        no_relevant="exclude",
        query_images="q.npy",
    )
    words = spelling.describe(spec)
    for part in ("shop", "split=test", "random half", "label", "camera", "ridge", "grouped", "left out", "q.npy", "4"):
        assert part in words


@pytest.mark.parametrize(("value", "spelled"), [(1, "1.0000"), (math.nan, "undefined"), (None, "undefined")])
def test_numbers_have_four_digits_or_are_undefined(value: float | None, spelled: str) -> None:
    assert spelling.spell_number(value) == spelled


def test_print_shows_the_report(lab: Evaluation) -> None:
    assert str(lab) == report.report_text(lab)
    assert np.isfinite(lab.scores["map"].value)


def test_a_notebook_shows_a_record_in_a_few_lines(lab: Evaluation) -> None:
    shown = repr(lab).splitlines()
    assert shown[0] == "Evaluation of glyphlab: 60 queries, 30 / 30 items in the gallery"
    assert [line.split()[0] for line in shown[1:-1]] == ["recall@1", "recall@3", "recall@5", "recall@10", "map"]
    assert shown[-1] == f"  findings: {len(lab.findings)}; print() shows the report"
    recall = lab.scores["recall@1"]
    assert repr(recall).startswith(repr(recall.score))
    assert repr(recall.score).startswith(f"recall@1 {recall.value:.4f} ({recall.numerator:g} of 60")
    for record in (recall, recall.score, lab.directions[0], lab.dataset):
        assert len(repr(record).splitlines()) < 10
        assert "array(" not in repr(record)
