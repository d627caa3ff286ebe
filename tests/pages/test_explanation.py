"""Query without a browser: what the unfolded part says of a wrong answer is what the engine found; nothing breaks."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.query import explanation, side_by_side
from pages.shared import cached
from recall_core.datasets.dataset import Dataset, load
from recall_core.diagnosis import neighbours
from recall_core.evaluation.record import Evaluation
from recall_core.evaluation.wiring import evaluate
from tests.conftest import ROOT
from tests.pages.test_app import said

pytestmark = pytest.mark.filterwarnings("ignore:.*ScriptRunContext")


@pytest.fixture(scope="module")
def photos() -> Evaluation:
    return evaluate(load("photo_patches"))


def unfolded(**query: str) -> AppTest:
    """Open Query with its reasons unfolded."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.switch_page("pages/query/query.py")
    app.query_params.update(query)
    app.session_state["why"] = True
    app.run()
    assert not app.exception
    return app


def test_the_reasons_count_the_queries_that_the_wrong_answer_intrudes_on(photos: Evaluation) -> None:
    direction = photos.directions[0]
    facts = photos.table[photos.table["first_rank"] > 1].iloc[0]
    position = photos.dataset.ids[direction.split.gallery].tolist().index(facts["wrong_id"])
    found = neighbours.intrusions(direction)
    n, m = found.count[position], found.exposed[position]
    words = said(unfolded(data="photo_patches", q=str(facts["query"] + 1)))
    assert f"Wrongly among the first 10 of {n} of {m} queries ({n / m:.1%})" in words
    assert f"rank 1: {facts['wrong_id']}" in words


def test_the_page_speaks_hungarian_of_it_too() -> None:
    assert "tévesen az első 10 között áll" in said(unfolded(data="photo_patches", q="5", lang="hu"))


@pytest.mark.parametrize("choice", [{"corrupt": "blur:0.5"}, {"split": "random"}, {"encoder": "mean", "k": "10"}])
def test_it_unfolds_whatever_the_evaluation(choice: dict[str, str]) -> None:
    assert "label" in said(unfolded(data="glyphlab", **choice))


def test_a_wrong_answer_with_the_label_of_another_is_told(photos: Evaluation) -> None:
    data = Dataset(
        "twins",
        pd.DataFrame({"id": ["a1", "a2", "odd", "b1", "b2"], "label": ["a", "a", "b", "b", "b"]}),
        {"id": "id", "label": "label"},
        None,
        {"given": np.array([[1.0, 0], [1, 0.01], [1, 0.02], [0, 1], [0.1, 1]])},
    )
    evaluation = evaluate(data)
    assert "a2, with nearly the same vector, is a" in explanation.label_line(evaluation, 2)
    assert "fewer than 5" in explanation.label_line(evaluation, 3)
    twin = explanation.twin_line(evaluation, evaluation.directions[0], 0, 2)
    assert twin == "**Nearly the same vector** as the relevant a2."


def test_of_scores_alone_is_said_that_it_cannot_be_told(tmp_path: Path) -> None:
    np.save(tmp_path / "scores.npy", np.array([[3.0, 2, 1], [3, 2, 1]]))
    table = pd.DataFrame(
        {"id": ["p", "q", "A", "B", "C"], "group": ["c", "a", "a", "b", "c"], "role": ["query"] * 2 + ["gallery"] * 3}
    )
    data = Dataset("scored", table, {"id": "id", "group": "group", "side": "role"})
    evaluation = evaluate(data, scores=str(tmp_path / "scores.npy"))
    (direction,) = evaluation.directions
    told = explanation.wrong_lines(evaluation, direction, 0, 2)
    assert [line for line in told if "cannot be told" in line] == [told[0], told[-1]]
    assert told[1].startswith("Wrongly among the first 10 of 1 of 1 queries (100.0%)")


def test_the_difference_is_that_of_the_pictures_as_they_ask_and_answer(photos: Evaluation) -> None:
    same = cached.apart(photos, (0, True), (0, False))
    assert (same.mean, same.most, same.sizes) == (0, 0, ("64 × 64", "64 × 64"))
    worse = evaluate(load("photo_patches"), corrupt="blur:0.5")
    assert cached.apart(worse, (0, True), (0, False)).mean > 0


def test_nothing_from_the_data_is_ever_parsed_as_html() -> None:
    script = (Path(side_by_side.__file__).parent / "side_by_side.js").read_text("utf-8")
    assert not [way for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write") if way in script]
