"""Saved runs: what is written is what opens again."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from recall_core.datasets.dataset import Dataset, load
from recall_core.diagnosis import html
from recall_core.diagnosis import report as diagnosis_report
from recall_core.diagnosis.comparison import compare
from recall_core.errors import DataError
from recall_core.evaluation import opening, replacing, report, saving
from recall_core.evaluation.record import Evaluation
from recall_core.evaluation.wiring import evaluate, select_queries
from recall_core.protocol.choices import read_filter
from recall_core.protocol.spec import Spec
from recall_core.version import VERSION
from tests.conftest import DATA, ROOT


@pytest.fixture(scope="module")
def lab() -> Evaluation:
    return evaluate(load(DATA / "glyphlab"), Spec(data="data/glyphlab", encoder="colour"))


@pytest.fixture
def saved(lab: Evaluation, tmp_path: Path) -> Path:
    lab.save(tmp_path / "run")
    return tmp_path / "run"


def without_fingerprint(evaluation: Evaluation) -> dict:
    return {name: part for name, part in report.report_json(evaluation).items() if name != "dataset"}


def test_save_then_open_is_identity(lab: Evaluation, saved: Path) -> None:
    opened = opening.open_run(saved)
    assert without_fingerprint(opened) == without_fingerprint(lab)
    assert report.report_csv(opened) == report.report_csv(lab)
    assert report.report_text(opened) == report.report_text(lab)
    assert opened.curves.equals(lab.curves)
    for mine, theirs in zip(opened.directions, lab.directions, strict=True):
        for name in type(mine.ranking).__dataclass_fields__:
            np.testing.assert_array_equal(getattr(mine.ranking, name), getattr(theirs.ranking, name))


def test_a_run_opens_without_the_data_and_shows_small_pictures(saved: Path, lab: Evaluation) -> None:
    opened = opening.open_run(saved)
    row = int(opened.directions[0].split.query[0])
    assert np.abs(opened.dataset.image(row) - lab.dataset.image(row)).max() <= 1 / 255
    train = int(np.flatnonzero(opened.dataset.values("split") == "train")[0])
    with pytest.raises(DataError):
        opened.dataset.image(train)


def test_the_format_is_checked_before_anything_is_shown(saved: Path) -> None:
    content = json.loads((saved / "report.json").read_text(encoding="utf-8"))
    (saved / "report.json").write_text(json.dumps(content | {"format": 99}), encoding="utf-8")
    with pytest.raises(DataError, match="was saved in format 99, this version reads 1"):
        opening.open_run(saved)


FORMER = ROOT / "tests" / "golden" / "run_0_1_0"
"""A run that 0.1.0 saved: three queries, of which the first finds, the second misses and the third has no match."""


def test_a_run_of_the_former_format_opens_and_says_that_its_version_is_not_known() -> None:
    former = json.loads((FORMER / "report.json").read_text(encoding="utf-8"))
    opened = opening.open_run(FORMER)
    spelled = report.report_json(opened)
    assert "version" not in former
    assert spelled["version"] is None
    assert {name: spelled[name] for name in ("counts", "scores", "directions")} == {
        name: former[name] for name in ("counts", "scores", "directions")
    }
    assert report.report_text(opened).endswith(
        f"[version]\n  ranked by a version before 0.2.0, reported by recall-explorer {VERSION}\n"
    )


def test_a_run_keeps_the_version_that_ranked(saved: Path, tmp_path: Path) -> None:
    content = json.loads((saved / "report.json").read_text(encoding="utf-8"))
    assert content["version"] == VERSION
    (saved / "report.json").write_text(json.dumps(content | {"version": "0.9.1"}), encoding="utf-8")
    opened = opening.open_run(saved)
    saving.save(opened, tmp_path / "again")
    again = opening.open_run(tmp_path / "again")
    words = f"ranked by 0.9.1, reported by recall-explorer {VERSION}"
    assert words in report.report_text(again)
    assert words in html.html_page(again)
    assert select_queries(again, read_filter("view_id=0")).version == "0.9.1"
    both = compare({"new": evaluate(load(DATA / "glyphlab"), opened.given), "old": again})
    assert f"  old: {words}\n" in diagnosis_report.comparison_text(both, ["map"])
    assert diagnosis_report.comparison_json(both, ["map"])["versions"] == {"new": VERSION, "old": "0.9.1"}


@pytest.mark.parametrize("file", ["report.json", "ranking.npz", "items.csv"])
def test_an_incomplete_run_is_a_data_error(saved: Path, file: str) -> None:
    (saved / file).write_bytes((saved / file).read_bytes()[:100])
    with pytest.raises(DataError):
        opening.open_run(saved)


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
        opening.open_run(saved)


def test_a_former_run_is_replaced_only_when_asked_and_other_files_never(lab: Evaluation, saved: Path) -> None:
    with pytest.raises(DataError, match="replace it with force=True"):
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

    monkeypatch.setattr(saving, "_write_thumbnails", interrupted)
    for folder in (saved, saved.parent / "new"):
        with pytest.raises(KeyboardInterrupt):
            lab.save(folder, force=True)
    assert {path.name: path.read_bytes() for path in saved.iterdir() if path.is_file()} == before
    assert sorted(path.name for path in saved.parent.iterdir()) == ["run", "run.part"]


def test_cells_come_back_as_they_were_whatever_they_hold(tmp_path: Path) -> None:
    labels = [" x", "x", "a\rb", "a\nb", '"q"', "a,b;c\t", "é\u2028z", ""]
    evaluate(Dataset.from_arrays(np.eye(8), labels), ks=(1,)).save(tmp_path / "run")
    assert opening.open_run(tmp_path / "run").dataset.values("label").tolist() == labels


def test_vectors_without_pictures_are_saved_too(tmp_path: Path) -> None:
    evaluate(Dataset.from_arrays(np.eye(3), ["a", "a", ""]), ks=(1,)).save(tmp_path / "run")
    opened = opening.open_run(tmp_path / "run")
    assert opened.dataset.pictures is None
    assert opened.counts["n_without_relevant"] == 1


# ---- replaced at once, and nothing left behind -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> Evaluation:
    return evaluate(Dataset.from_arrays(np.eye(3), ["a", "a", "b"]), ks=(1,))


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="this system swaps no folders")
def test_a_run_is_there_at_every_moment_of_its_replacement(small: Evaluation, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    small.save(folder)
    moments: list[bool] = []
    ours = {saving.__file__, replacing.__file__}

    def at_each_line(frame: FrameType, _event: str, _given: object) -> Callable | None:
        if frame.f_code.co_filename not in ours and "pathlib" not in frame.f_code.co_filename:
            return None
        moments.append(os.path.isfile(folder / "report.json"))
        return at_each_line

    former = sys.gettrace()
    sys.settrace(at_each_line)
    try:
        small.save(folder, force=True)
    finally:
        sys.settrace(former)
    assert len(moments) > 50
    assert all(moments)


def test_where_the_system_cannot_swap_the_former_run_comes_back_if_the_new_one_cannot_come(
    small: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    small.save(folder)
    monkeypatch.setattr(replacing, "swap", lambda *_: False)
    (folder / "mark").touch()
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if path.name == "made":
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", refuse)
        with pytest.raises(DataError, match="cannot be written: Permission denied"):
            small.save(folder, force=True)
    assert (folder / "mark").exists()
    small.save(folder, force=True)
    assert not (folder / "mark").exists()
    assert hidden(tmp_path) == []


SAVER = """
import sys
from pathlib import Path
import numpy as np
from recall_core import Dataset, evaluate
from recall_core.evaluation import saving
def wait(*_):
    print("half", flush=True)
    sys.stdin.read()
saving._write = wait
evaluate(Dataset.from_arrays(np.eye(3), ["a", "a", "b"]), ks=(1,)).save(Path(sys.argv[1]), force=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="this system has no locks of folders")
def test_what_a_killed_save_left_goes_with_the_next_and_what_lives_stays(small: Evaluation, tmp_path: Path) -> None:
    small.save(tmp_path / "run")
    (tmp_path / ".recall-saving-of-mine").mkdir()
    command = [sys.executable, "-c", SAVER, str(tmp_path / "run")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stdin=pipe, text=True, cwd=ROOT) as saver:
        assert saver.stdout.readline() == "half\n"
        small.save(tmp_path / "other")
        assert len(hidden(tmp_path)) == 2
        saver.kill()
    assert len(hidden(tmp_path)) == 2
    assert opening.open_run(tmp_path / "run").counts == small.counts
    small.save(tmp_path / "third")
    assert hidden(tmp_path) == [".recall-saving-of-mine"]


@pytest.mark.skipif(os.name != "posix", reason="this system has no locks of folders")
def test_a_save_killed_between_two_steps_gives_the_former_run_back(small: Evaluation, tmp_path: Path) -> None:
    small.save(tmp_path / ".recall-saving-abcd_123" / "former" / "run")
    small.save(tmp_path / "other")
    assert opening.open_run(tmp_path / "run").counts == small.counts
    assert hidden(tmp_path) == []


def test_a_run_is_not_replaced_by_one_that_was_saved_meanwhile_without_force(
    small: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = saving._write

    def slow(evaluation: Evaluation, made: Path) -> None:
        monkeypatch.setattr(saving, "_write", write)
        small.save(tmp_path / "run")
        (tmp_path / "run" / "mark").touch()
        write(evaluation, made)

    monkeypatch.setattr(saving, "_write", slow)
    with pytest.raises(DataError, match="cannot be written"):
        small.save(tmp_path / "run")
    assert (tmp_path / "run" / "mark").exists()


def test_a_run_goes_where_a_link_leads_and_the_link_stays(small: Evaluation, tmp_path: Path) -> None:
    for force in (False, True):
        (tmp_path / f"really{force}").mkdir()
        (tmp_path / f"link{force}").symlink_to(tmp_path / f"really{force}")
        small.save(tmp_path / f"link{force}", force=force)
        small.save(tmp_path / f"link{force}", force=True)
        assert (tmp_path / f"link{force}").is_symlink()
        assert (tmp_path / f"really{force}" / "report.json").is_file()
