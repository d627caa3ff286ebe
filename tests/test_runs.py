"""Saved runs: what is written is what opens again."""

import json
from pathlib import Path

import numpy as np
import pytest

from recall_core import DataError, Dataset, Evaluation, Spec, evaluate, html_report, load, report, runs
from recall_core.comparison import compare
from recall_core.evaluation import select_queries
from recall_core.spec import read_filter
from recall_core.version import VERSION
from tests.conftest import DATA


@pytest.fixture(scope="module")
def lab() -> Evaluation:
    return evaluate(load(DATA / "glyphlab"), Spec(data="data/glyphlab", encoder="colour"))


@pytest.fixture
def saved(lab: Evaluation, tmp_path: Path) -> Path:
    lab.save(tmp_path / "run")
    return tmp_path / "run"


def without_fingerprint(evaluation: Evaluation) -> dict:
    return {name: part for name, part in report.to_json(evaluation).items() if name != "dataset"}


def test_save_then_open_is_identity(lab: Evaluation, saved: Path) -> None:
    opened = runs.open_run(saved)
    assert without_fingerprint(opened) == without_fingerprint(lab)
    assert report.to_csv(opened) == report.to_csv(lab)
    assert report.text(opened) == report.text(lab)
    assert opened.curves.equals(lab.curves)
    for mine, theirs in zip(opened.directions, lab.directions, strict=True):
        for name in type(mine.ranking).__dataclass_fields__:
            np.testing.assert_array_equal(getattr(mine.ranking, name), getattr(theirs.ranking, name))


def test_a_run_opens_without_the_data_and_shows_small_pictures(saved: Path, lab: Evaluation) -> None:
    opened = runs.open_run(saved)
    row = int(opened.directions[0].split.query[0])
    assert np.abs(opened.dataset.image(row) - lab.dataset.image(row)).max() <= 1 / 255
    train = int(np.flatnonzero(opened.dataset.values("split") == "train")[0])
    with pytest.raises(DataError):
        opened.dataset.image(train)


def test_the_format_is_checked_before_anything_is_shown(saved: Path) -> None:
    content = json.loads((saved / "report.json").read_text(encoding="utf-8"))
    (saved / "report.json").write_text(json.dumps(content | {"format": 99}), encoding="utf-8")
    with pytest.raises(DataError, match="was saved in format 99, this version reads 1"):
        runs.open_run(saved)


FORMER = Path(__file__).parent / "golden" / "run_0_1_0"
"""A run that 0.1.0 saved: three queries, of which the first finds, the second misses and the third has no match."""


def test_a_run_of_the_former_format_opens_and_says_that_its_version_is_not_known() -> None:
    former = json.loads((FORMER / "report.json").read_text(encoding="utf-8"))
    opened = runs.open_run(FORMER)
    spelled = report.to_json(opened)
    assert "version" not in former
    assert spelled["version"] is None
    assert {name: spelled[name] for name in ("counts", "scores", "directions")} == {
        name: former[name] for name in ("counts", "scores", "directions")
    }
    assert report.text(opened).endswith(
        f"[version]\n  ranked by a version before 0.2.0, reported by recall-explorer {VERSION}\n"
    )


def test_a_run_keeps_the_version_that_ranked(saved: Path, tmp_path: Path) -> None:
    content = json.loads((saved / "report.json").read_text(encoding="utf-8"))
    assert content["version"] == VERSION
    (saved / "report.json").write_text(json.dumps(content | {"version": "0.9.1"}), encoding="utf-8")
    opened = runs.open_run(saved)
    runs.save(opened, tmp_path / "again")
    again = runs.open_run(tmp_path / "again")
    words = f"ranked by 0.9.1, reported by recall-explorer {VERSION}"
    assert words in report.text(again)
    assert words in html_report.page(again)
    assert select_queries(again, read_filter("view_id=0")).version == "0.9.1"
    both = compare({"new": evaluate(load(DATA / "glyphlab"), opened.given), "old": again})
    assert f"  old: {words}\n" in report.comparison_text(both, ["map"])
    assert report.comparison_json(both, ["map"])["versions"] == {"new": VERSION, "old": "0.9.1"}


@pytest.mark.parametrize("file", ["report.json", "ranking.npz", "items.csv"])
def test_an_incomplete_run_is_a_data_error(saved: Path, file: str) -> None:
    (saved / file).write_bytes((saved / file).read_bytes()[:100])
    with pytest.raises(DataError):
        runs.open_run(saved)


@pytest.mark.parametrize(
    "changed",
    [
        {"sides": []},
        {"sides": 5},
        {"findings": [{}]},
        {"findings": 5},
        {"dataset": {}},
        {"counts": 5},
        {"given": None},
        {"spec": {"where": "split=test"}},
        {"spec": {"ks": 5}},
        {"spec": {"columns": 5}},
    ],
)
def test_a_report_whose_parts_do_not_fit_is_a_data_error(saved: Path, changed: dict) -> None:
    content = json.loads((saved / "report.json").read_text(encoding="utf-8"))
    (saved / "report.json").write_text(json.dumps(content | changed), encoding="utf-8")
    with pytest.raises(DataError, match="save the run again"):
        runs.open_run(saved)


def test_a_former_run_is_replaced_only_when_asked_and_other_files_never(lab: Evaluation, saved: Path) -> None:
    with pytest.raises(DataError, match="replace it with --force"):
        lab.save(saved)
    lab.save(saved, force=True)
    other = saved.parent / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(DataError, match="holds other files"):
        lab.save(other, force=True)
    assert (other / "thesis.txt").read_text(encoding="utf-8") == "mine"
    assert sorted(path.name for path in saved.parent.iterdir()) == ["other", "run"]


def test_a_run_is_not_saved_in_the_place_of_a_file(lab: Evaluation, saved: Path) -> None:
    with pytest.raises(DataError, match="is a file; name a new folder"):
        lab.save(saved / "report.json", force=True)
    with pytest.raises(DataError, match="cannot be written"):
        lab.save(saved / "report.json" / "run")


def test_a_save_that_breaks_off_leaves_what_was_there(
    lab: Evaluation, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (saved.parent / "run.part").mkdir()  # somebody else's
    before = {path.name: path.read_bytes() for path in saved.iterdir() if path.is_file()}

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runs, "_write_thumbnails", interrupted)
    for folder in (saved, saved.parent / "new"):
        with pytest.raises(KeyboardInterrupt):
            lab.save(folder, force=True)
    assert {path.name: path.read_bytes() for path in saved.iterdir() if path.is_file()} == before
    assert sorted(path.name for path in saved.parent.iterdir()) == ["run", "run.part"]


def test_cells_come_back_as_they_were_whatever_they_hold(tmp_path: Path) -> None:
    labels = [" x", "x", "a\rb", "a\nb", '"q"', "a,b;c\t", "é\u2028z", ""]
    evaluate(Dataset.from_arrays(np.eye(8), labels), ks=(1,)).save(tmp_path / "run")
    assert runs.open_run(tmp_path / "run").dataset.values("label").tolist() == labels


def test_vectors_without_pictures_are_saved_too(tmp_path: Path) -> None:
    evaluate(Dataset.from_arrays(np.eye(3), ["a", "a", ""]), ks=(1,)).save(tmp_path / "run")
    opened = runs.open_run(tmp_path / "run")
    assert opened.dataset.pictures is None
    assert opened.counts["n_without_relevant"] == 1
