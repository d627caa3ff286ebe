"""Every number on a page equals what the commands on it print: run each of them, and look for the page's numbers."""

import logging
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.lesson import walkthrough
from pages.shared import cached, seeds, words
from pages.shared.components import value_table
from pages.shared.learner import leakage_runs
from recall_core.cli import main
from recall_core.datasets.dataset import load
from recall_core.evaluation.wiring import evaluate
from tests.conftest import ROOT
from tests.pages.test_app import run, said

Act = Callable[[AppTest], Any]
BUILT_IN = ("photo_patches", "glyphlab", "digits")
COSTS = {"milliseconds", "queries_per_second", "build_seconds", "memory_bytes", "index_bytes"}
"""Columns of times and memory, which differ from run to run."""

FIGURE = re.compile(r"(?<![\d.])\d\.\d{4}(?!\d)")
"""How pages and reports write a score."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[Path]:
    """A folder to run commands in, with the data as the folder of the app has them."""
    caplog.set_level(logging.ERROR, logger="streamlit")
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "data").symlink_to(ROOT / "data")
    yield tmp_path / "here"
    cached._dataset.clear()


@pytest.fixture(autouse=True)
def few_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """All seeds are there at the first run, so that nothing depends on how fast the machine is."""
    monkeypatch.setattr(seeds, "N_FIRST", 8)
    monkeypatch.setattr(seeds, "WAIT_SECONDS", 60.0)
    monkeypatch.setattr(seeds, "N_ALL", 8)
    leakage_runs._seeds.clear()


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the lists of a page show, as each run of the page leaves it."""
    found: list[str] = []
    real = value_table.show

    def show(name: str, heads: Any, rows: Any, **more: Any) -> None:
        found.extend(cell for row in rows for cell in row.cells)
        real(name, heads, rows, **more)

    monkeypatch.setattr(value_table, "show", show)
    return found


def figures(app: AppTest, cells: list[str]) -> set[str]:
    """Scores that the page shows in words, on cards, in tables and in lists."""
    texts = [said(app), *cells, *(str(element.value) for element in (*app.success, *app.latex))]
    texts += [f"{metric.value} {metric.delta}" for metric in app.metric]
    for frame in (table.value for table in (*app.dataframe, *app.table)):
        for column in set(frame) - COSTS:
            texts += [f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in frame[column]]
    return {figure for text in texts for figure in FIGURE.findall(re.sub(r"[\d.]+ m?s\b", "", text))}


def commands(app: AppTest) -> list[str]:
    lines = [line for block in app.code for line in str(block.value).splitlines()]
    return [line for line in lines if line.startswith("python -m recall_core ")]


def printed(lines: list[str], capsys: pytest.CaptureFixture[str], *more: str) -> set[str]:
    """All numbers that some commands print, as scores are written; none of them may fail."""
    capsys.readouterr()
    for line in lines:
        code = main([*shlex.split(line)[3:], *more])
        assert code == 0, f"{line}\n{capsys.readouterr().err}"
    return scores_in(capsys.readouterr().out)


def scores_in(text: str) -> set[str]:
    return {f"{float(one):.4f}" for one in re.findall(r"\d+\.\d+(?:e-?\d+)?|\d+e-\d+", text)}


def has_json(line: str) -> bool:
    return " --save " not in line and shlex.split(line)[3] != "failures"


def check(app: AppTest, cells: list[str], place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Run what stands on the page; what the page shows must be among what is printed."""
    assert not app.error, app.error[0].value
    lines, shown = commands(app), figures(app, cells)
    assert lines
    monkeypatch.chdir(place)
    missing = shown - printed(lines, capsys)
    if missing:
        missing -= printed([line for line in lines if has_json(line)], capsys, "--json")
    assert not missing, f"on the page, but printed by none of {lines}: {sorted(missing)}"
    return shown


@pytest.mark.parametrize("data", BUILT_IN)
@pytest.mark.parametrize("page", ["overview", "compare", "index"])
def test_the_commands_of_a_page_print_its_numbers(
    page: str, data: str, cells: list[str], place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = run(page, data=data, k="5")
    for _turn in range(60):
        if app.metric or page != "index":
            break
        app.run()  # measured in the background; each run of the page waits for it a while
    assert check(app, cells, place, capsys, monkeypatch)


@pytest.mark.parametrize(
    "choices",
    [
        {"encoder": "mean", "k": "3"},
        {"split": "random", "seed": "3", "no_relevant": "exclude"},
        {"relevant": "orientation", "junk_same": "scene_id", "similarity": "euclidean"},
        {"query_images": "corrupted_test.npy", "ks": "1,2,7"},
        {"corrupt": "noise:0.5"},
        {"where": "*"},
    ],
    ids=lambda choices: " ".join(choices),
)
def test_the_command_prints_the_numbers_of_other_choices(
    choices: dict[str, str], cells: list[str], place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check(run("overview", data="glyphlab", **choices), cells, place, capsys, monkeypatch)


@pytest.mark.parametrize("data", BUILT_IN)
def test_the_command_of_failures_prints_as_many_as_the_page_counts(
    data: str, place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = run("failures", data=data, k="1", encoder="mean")
    (line,) = commands(app)
    monkeypatch.chdir(place)
    capsys.readouterr()
    assert main(shlex.split(line)[3:]) == 0
    n_printed = len(capsys.readouterr().out.splitlines()) - 1
    assert n_printed
    assert words.number(n_printed) in said(app)


@pytest.mark.parametrize("data", ["photo_patches", "glyphlab"])
def test_the_command_of_the_findings_prints_their_numbers(
    data: str, cells: list[str], place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.query_params["data"] = data
    app.session_state["parts"] = "Findings"
    app.run()
    check(app, cells, place, capsys, monkeypatch)


@pytest.mark.parametrize("draw", ["random", "grouped"])
@pytest.mark.parametrize("part", ["query-gallery", "same-picture", "training"])
@pytest.mark.parametrize("on", ["lab", "chosen"])
def test_the_commands_of_the_page_on_leakage_print_its_numbers(
    part: str, draw: str, on: str, cells: list[str], place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = run("leakage", data="photo_patches", part=part, draw=draw, on=on, label_column="photo")
    assert check(app, cells, place, capsys, monkeypatch)


def choose(key: str, value: object) -> Act:
    return lambda app: app.segmented_control(key=key).set_value(value).run()


def turn_on(key: str) -> Act:
    return lambda app: app.toggle(key=key).set_value(True).run()


def slide(key: str, value: object) -> Act:
    return lambda app: app.slider(key=key).set_value(value).run()


STEPS: dict[str, list[list[Act]]] = {
    "recall": [[], [slide("k_recall", 7)]],
    "denominators": [[], [turn_on("other_seed")], [choose("denominator", "sizes"), slide("k_sizes", 5)]],
    "ties": [[], [choose("tied_encoder", "mean"), slide("k_ties", 5)]],
    "pitfalls": [[], [turn_on("same_view")], [turn_on("own_removed"), turn_on("class_right")]],
    "leakage": [[], [choose("training_draw", "grouped")]],
    "certainty": [[choose("sure_of", which)] for which in ("brightness", "corrupted", "clean")],
    "directions": [[], [choose("both_encoder", "orientation"), slide("k_both", 4)]],
    "index": [[], [lambda app: app.select_slider(key="effort").set_value(16).run()]],
}
"""Step of the lesson → what is done in it, one list a visit."""

BY_HAND = {"relevance", "ranking", "precision"}
"""Steps whose numbers are worked out from what is typed, or counted; no command has them."""


def test_every_step_of_the_lesson_has_commands_or_is_worked_out_by_hand() -> None:
    assert {step.name for step in walkthrough.STEPS} == STEPS.keys() | BY_HAND


@pytest.mark.parametrize(
    ("step", "visit"), [(step, i) for step, visits in STEPS.items() for i in range(len(visits))], ids=str
)
def test_the_commands_of_a_step_print_its_numbers(
    step: str, visit: int, cells: list[str], place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [one.name for one in walkthrough.STEPS]
    app = run("lesson", step=str(names.index(step) + 1))
    for act in STEPS[step][visit]:
        act(app)
    assert check(app, cells, place, capsys, monkeypatch)


def test_the_step_on_indexes_shows_the_queries_that_are_measured_not_those_that_tune(
    cells: list[str], place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = run("lesson", step=str([one.name for one in walkthrough.STEPS].index("index") + 1))
    (line,) = commands(app)
    monkeypatch.chdir(place)
    capsys.readouterr()
    assert main(shlex.split(line)[3:]) == 0
    measured, tuning = capsys.readouterr().out.split("[tuning")
    assert figures(app, cells) <= scores_in(measured)
    assert not figures(app, cells) <= scores_in(tuning)


def test_a_saved_run_in_the_folder_of_the_app_is_compared_by_its_command(
    cells: list[str], place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(load("photo_patches"), encoder="gradient").save(place.parent / "state" / "runs" / "mine")
    app = run("compare", data="photo_patches", runs="raw,saved:mine", k="3")
    assert "R@3" in str(app.selectbox(key="metric").options)
    assert check(app, cells, place, capsys, monkeypatch)


def test_the_command_of_the_definitions_prints_the_numbers_that_a_report_has(
    place: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = run("definitions", data="glyphlab", encoder="mean", k="5")
    app.segmented_control(key="ranking_of").set_value("all").run()
    monkeypatch.chdir(place)
    given = printed(commands(app), capsys)
    rows = [line for line in said(app).splitlines() if line.startswith("| ") and FIGURE.search(line)]
    ours = [
        line for line in rows if re.match(r"\| (R@5|Item|AP@5 by min|AP of|Reciprocal|nDCG@5|Precision@5 |R-pre)", line)
    ]
    assert len(ours) >= 10
    for line in ours:
        assert FIGURE.search(line.split(" | ")[3]).group() in given, line  # type: ignore[union-attr]
