"""Frozen reports and page texts: what a change of structure may not change.

To renew them after a change that is meant: ``RENEW_GOLDENS=1 python -m pytest tests/test_goldens.py``, then read the
difference before it is committed.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.index import index_runs
from pages.shared import seeds
from pages.shared.learner import leakage_runs
from recall_core.cli import main
from tests.conftest import DATA, ROOT

GOLDEN = ROOT / "tests" / "golden"
LAB = str(DATA / "glyphlab")

TABLE = (
    "id,group,label,role\na1,a,x,query\na2,a,x,gallery\nb1,b,x,query\nb2,b,x,gallery\nc1,c,y,query\nd1,d,y,gallery\n"
)
VECTORS = [[4, 0, 1], [4, 0, 1], [0, 3, 1], [1, 3, 0], [2, 2, 1], [2, 2, 1]]


def a_table_with_vectors(folder: Path) -> list[str]:
    (folder / "metadata.csv").write_text(TABLE, encoding="utf-8")
    np.save(folder / "vectors.npy", np.array(VECTORS, np.float64))
    return [str(folder), "--embeddings", str(folder / "vectors.npy")]


def a_table_with_scores(folder: Path) -> list[str]:
    (folder / "metadata.csv").write_text(TABLE, encoding="utf-8")
    scores = np.array([[4, 2, 1], [1, 3, 3], [2, np.nan, 2]], np.float64)
    np.save(folder / "scores.npy", scores)
    return [str(folder), "--scores", str(folder / "scores.npy")]


def judged_pairs(folder: Path) -> list[str]:
    pairs = folder / "pairs.csv"
    pairs.write_text("query_id,gallery_id,grade\na1,b2,1\na1,a2,1\nb1,d1,1\nb1,b2,0\n", encoding="utf-8")
    return [*a_table_with_vectors(folder), "--relevant-pairs", str(pairs)]


def vectors_by_id(folder: Path) -> list[str]:
    (folder / "metadata.csv").write_text(TABLE, encoding="utf-8")
    order = [3, 1, 5, 0, 2, 4]
    ids = ["a1", "a2", "b1", "b2", "c1", "d1"]
    np.savez(folder / "v.npz", ids=[ids[i] for i in order], embeddings=np.array(VECTORS, np.float64)[order])
    return [str(folder), "--embeddings", str(folder / "v.npz"), "--similarity", "euclidean"]


SPECS: dict[str, Callable[[Path], list[str]]] = {
    "lab": lambda folder: ["evaluate", LAB],
    "lab_corrupted": lambda folder: ["evaluate", LAB, "--query-images", f"{LAB}/corrupted_test.npy", "--k", "1", "3"],
    "lab_class": lambda folder: ["evaluate", LAB, "--relevant", "orientation", "--junk-same", "scene_id"],
    "lab_random": lambda folder: ["evaluate", LAB, "--split", "random", "--seed", "7", "--no-relevant", "exclude"],
    "lab_ridge": lambda folder: ["evaluate", LAB, "--encoder", "pca", "--train", "grouped", "--seed", "5"],
    "lab_slice": lambda folder: ["evaluate", LAB, "--encoder", "mean", "--slice", "orientation=vertical"],
    "lab_corrupt": lambda folder: ["evaluate", LAB, "--corrupt", "noise:0.5", "--seed", "1"],
    "photo_patches": lambda folder: ["evaluate", "photo_patches", "--encoder", "colour"],
    "digits_rerank": lambda folder: ["evaluate", "digits", "--rerank", "query-expansion", "--k", "1", "5"],
    "table_vectors": lambda folder: ["evaluate", *a_table_with_vectors(folder), "--both"],
    "table_scores": lambda folder: ["evaluate", *a_table_with_scores(folder)],
    "table_pairs": lambda folder: ["evaluate", *judged_pairs(folder), "--similarity", "dot"],
    "table_ids": lambda folder: ["evaluate", *vectors_by_id(folder)],
    "lab_audit": lambda folder: ["audit", LAB],
    "lab_leakage": lambda folder: ["leakage", "--seeds", "2"],
}

PLAIN = ("start", "overview", "failures", "query", "compare", "exercises", "definitions", "leakage", "index")
LESSON = {f"lesson_{step}": {"step": str(step)} for step in range(1, 12)}
PAGES: dict[str, dict[str, str]] = {**{name: {} for name in PLAIN}, **LESSON}
"""What is shown → what its address says beside the data set and the language."""


def compared(kind: str, name: str, text: str) -> None:
    path = GOLDEN / kind / name
    if os.environ.get("RENEW_GOLDENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def plain(value: Any, folder: Path) -> Any:
    """Leave out what a machine or a release changes: the folder, the version, times, the last digits."""
    if isinstance(value, dict):
        told = {"version", "seconds", "fit_seconds", "build_seconds", "query_ms", "ms"}
        return {key: plain(cell, folder) for key, cell in value.items() if key not in told}
    if isinstance(value, list):
        return [plain(cell, folder) for cell in value]
    if isinstance(value, float):
        return float(f"{value:.10g}")
    return (
        value.replace(str(folder), "FOLDER").replace(folder.name, "NAME").replace(str(ROOT), "ROOT")
        if isinstance(value, str)
        else value
    )


@pytest.mark.parametrize("name", SPECS)
def test_the_report_of_a_spec_is_as_it_was(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SPECS[name](tmp_path), "--json"]) == 0
    report = plain(json.loads(capsys.readouterr().out), tmp_path)
    compared("specs", f"{name}.json", json.dumps(report, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def words_of(app: AppTest) -> Iterator[str]:
    """Everything that a page says, in its order: the sidebar, then the page."""
    for block in (app.sidebar, app.main):
        for element in block:
            told = [element.type]
            for field in ("label", "value", "options", "help", "placeholder"):
                value = getattr(element, field, None)
                if field == "help":
                    value = getattr(element.proto, "help", None)
                if isinstance(value, str | list | tuple | int | float) and value not in ("", []):
                    told.append(f"{field}={value}")
            if len(told) > 1:
                yield " | ".join(told)
        yield "----"


@pytest.fixture
def nothing_grows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is computed in the background is there at the first run, so that no text depends on how fast it is."""
    monkeypatch.setattr(seeds, "N_FIRST", 8)
    monkeypatch.setattr(seeds, "WAIT_SECONDS", 60.0)
    monkeypatch.setattr(seeds, "N_ALL", 8)
    monkeypatch.setattr(index_runs, "WAIT_SECONDS", 120.0)
    leakage_runs._seeds.clear()
    yield
    leakage_runs._seeds.clear()


@pytest.mark.usefixtures("nothing_grows")
@pytest.mark.parametrize("language", ["en", "hu"])
@pytest.mark.parametrize("name", PAGES)
def test_the_text_of_a_page_is_as_it_was(name: str, language: str) -> None:
    page = name.partition("_")[0]
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.switch_page(f"pages/{page}/{page}.py")
    for key, value in {"data": "glyphlab", "lang": language, **PAGES[name]}.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    assert not app.error
    text = "\n".join(words_of(app)).replace(str(ROOT), "ROOT")
    if page == "index":  # times and what depends on them: only the words are held
        text = re.sub(r"\d+(?:[.,]\d+)*", "#", text)
    compared("pages", f"{name}.{language}.txt", text + "\n")
