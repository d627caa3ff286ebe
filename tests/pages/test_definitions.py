"""The page of definitions without a browser: its rows are the engine's, and a figure lights the right ones."""

import json
import re
import shlex

import pytest

from pages.definitions import convention_table
from pages.shared import words
from recall_core.cli import main
from recall_core.course import typed_input
from recall_core.datasets.dataset import load
from recall_core.diagnosis import definitions
from recall_core.evaluation.wiring import evaluate
from recall_core.metrics import conventions as engine_conventions
from tests.pages.test_app import run, said


def lit(text: str) -> list[str]:
    """Names of the rows that stand out."""
    return [line.split("**")[1] for line in text.splitlines() if line.startswith("| ▶")]


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_every_row_stands_on_the_page_with_its_value(language: str) -> None:
    app = run("definitions", list="10101", k="3", lang=language)
    shown = said(app)
    for row in definitions.definition_rows([typed_input.read_ranking("10101")], 3):
        assert f"$\\displaystyle {row.filled}$".replace("|", r"\|") in shown
        assert f"{row.value:.4f}" in shown
    assert "@{k}" not in shown
    assert not app.warning


def test_words_cover_every_row_note_and_problem() -> None:
    assert all(convention_table.row_words(key, 3) for key in engine_conventions.CONVENTIONS)
    notes = {note for one in engine_conventions.CONVENTIONS.values() for name in one.names for note in name.notes}
    assert notes <= set(convention_table.note_words())


@pytest.mark.parametrize(
    ("mine", "rows"),
    [
        ("0.5556", ["AP@3 by min(\\|Rel\\|, k): this program's", "AP@3 by \\|Rel\\|", "AP cut at \\|Rel\\| (MAP@R)"]),
        ("83,3 %", ["AP@3 by the hits found"]),
        ("5/9", ["AP@3 by min(\\|Rel\\|, k): this program's", "AP@3 by \\|Rel\\|", "AP cut at \\|Rel\\| (MAP@R)"]),
    ],
)
def test_the_rows_that_give_a_figure_light_up(mine: str, rows: list[str]) -> None:
    app = run("definitions", list="10101", mine=mine, k="3")
    assert lit(said(app)) == rows
    assert app.success


def test_a_figure_at_another_k_is_found_there() -> None:
    app = run("definitions", list="10101", mine="0.5", k="3")
    assert not lit(said(app))
    told = app.info[0].value
    assert told.startswith("No row gives this number at k = 3, but others do: ")
    assert "Capped recall@k, out of as many as fit: k = 2;" in told
    assert "Precision@k: k = 2, 4, 6;" in told


def test_the_page_follows_the_chosen_k_and_has_none_of_its_own() -> None:
    app = run("definitions", list="01101", k="5")
    assert "R@5 by query" in said(app)
    assert not [one for one in app.number_input if one.label == "k"]
    app.segmented_control(key="k").set_value("1").run()
    assert "R@1 by query" in said(app)
    assert "R@5 by query" not in said(app)


def test_r_at_1_is_found_for_a_typed_number_whatever_k_is_chosen() -> None:
    recall = evaluate(load("photo_patches"), ks=(1,)).scores["recall@1"].value
    app = run("definitions", data="photo_patches", mine=f"{recall:.4f}", k="1")
    app.segmented_control(key="ranking_of").set_value("all").run()
    assert "R@1 by query, nothing right counts as missed" in lit(said(app))
    app.segmented_control(key="k").set_value("5").run()
    assert re.search(r"R@k by query, nothing right counts as missed: k = 1(;|$)", app.info[0].value)


def test_every_k_to_the_end_of_the_list_is_looked_at_even_where_the_chosen_one_matches() -> None:
    text = "0" * 40 + "1" + "0" * 59
    app = run("definitions", list=text, mine=f"{1 / 41:.4f}", k="1", ks="1,41")
    assert "Precision@k: k = 41" in app.info[0].value
    assert "Reciprocal rank, cut at k: k = 41–100" in app.info[0].value
    app.segmented_control(key="k").set_value("41").run()
    assert "Precision@41" in lit(said(app))
    assert "At other k too: " in app.info[0].value
    assert "Reciprocal rank, cut at k: k = 42–100" in app.info[0].value


def test_a_figure_that_nothing_gives_and_one_that_is_none_are_told_apart() -> None:
    assert "No row gives this number" in run("definitions", list="10101", mine="0.123").warning[0].value
    assert "That is no number" in run("definitions", list="10101", mine="x").warning[0].value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("102", "neither 0 nor 1"),
        ("(0(1))", "inside another"),
        ("(01", "( without )"),
        ("01)", ") without ("),
        (" ", "Write the relevance"),
    ],
)
def test_what_is_no_ranking_is_explained_in_place(text: str, problem: str) -> None:
    app = run("definitions", list=text)
    assert problem in app.warning[0].value.replace("\\", "")
    assert not app.error


def test_ties_show_their_range() -> None:
    app = run("definitions", list="0(101)0", ks="2", k="2")
    assert "ties: expected" in said(app)


def test_the_current_evaluation_gives_the_numbers_of_its_command(capsys: pytest.CaptureFixture) -> None:
    app = run("definitions", data="glyphlab", encoder="mean", k="3")
    app.segmented_control(key="ranking_of").set_value("all").run()
    command = shlex.split(app.code[0].value)
    assert main([*command[3:], "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    for name in ("recall@3", "item_recall@3", "map@3", "mrr", "ndcg@3", "minp"):
        assert f"{scores[name]['value']:.4f}" in said(app)


def test_one_query_of_the_evaluation_can_be_looked_at() -> None:
    app = run("definitions", data="glyphlab", encoder="mean", q="4")
    app.segmented_control(key="ranking_of").set_value("one").run()
    assert not app.error
    assert app.number_input(key="q").value == 4
    assert r"\frac{[" in said(app) or r"\frac{\left[" in said(app)
