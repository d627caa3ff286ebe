"""What the browser reports of tags is checked, and done once and in order; files and corrections stand on the page."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pages.shared import failure_list
from pages.shared.components import triage as engine_triage
from pages.shared.failure_list import Chosen
from recall_core.datasets.dataset import load
from recall_core.diagnosis import triage
from recall_core.evaluation.record import Evaluation
from recall_core.evaluation.wiring import evaluate
from tests.pages.test_app import run, said
from tests.pages.test_gallery import anything

pytestmark = pytest.mark.filterwarnings("ignore:.*ScriptRunContext")


@pytest.fixture(scope="module")
def photos() -> Evaluation:
    return evaluate(load("photo_patches"))


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> engine_triage.Log:
    mine = engine_triage.Log()
    monkeypatch.setattr(engine_triage, "log", lambda: mine)
    return mine


def report(evaluation: Evaluation, *actions: dict[str, object]) -> dict[str, object]:
    """What the browser would report; the presses are numbered from 1."""
    listed = engine_triage.board(evaluation, evaluation.table, 1)["list"]
    return {"list": listed, "actions": [{"number": i + 1, **action} for i, action in enumerate(actions)]}


def press(item: int, tag: int, on: bool = True) -> dict[str, object]:
    return {"do": "tag", "item": item, "tag": tag, "on": on}


def test_a_report_heard_twice_changes_nothing(photos: Evaluation, log: engine_triage.Log) -> None:
    event = report(photos, press(3, 0), press(4, 1), {"do": "undo"})
    for _hearing in range(2):
        engine_triage.apply(photos, event)
        found = engine_triage.marks(photos.dataset)
        assert list(zip(found["item"], found["name"], strict=True)) == [(photos.table["id"][3], triage.TAGS[0])]
    assert log.done == 3
    assert photos.table["id"][4] in log.said


def test_a_judgement_names_the_picture_at_its_place(photos: Evaluation, log: engine_triage.Log) -> None:
    engine_triage.apply(photos, report(photos, {"do": "judge", "item": 5, "place": 1, "relevant": True}))
    direction = photos.directions[0]
    first = photos.dataset.ids[direction.split.gallery[direction.ranking.top_position[5, 0]]]
    found = engine_triage.marks(photos.dataset)
    assert list(found["other"]) == [first]
    board = engine_triage.board(photos, photos.table, 6, one=(direction.name, 5))
    assert board["judged"] == {"1": True}


some_action = st.fixed_dictionaries(
    {"number": anything, "do": st.sampled_from(["tag", "note", "judge", "x"])},
    optional=dict.fromkeys(("item", "tag", "on", "text", "place", "relevant"), anything),
)


@settings(max_examples=40, deadline=None)
@given(actions=st.lists(some_action | anything))
def test_whatever_is_reported_only_what_is_there_is_tagged(photos: Evaluation, actions: list[object]) -> None:
    event = report(photos)
    event["actions"] = actions
    for number, action in engine_triage._actions(photos, event):
        assert number >= 1
        assert 0 <= action["item"] < len(photos.table)
        assert action.get("other") is None or action["other"] in set(photos.dataset.ids)


def test_presses_that_belong_to_another_list_are_not_carried_out(photos: Evaluation, log: engine_triage.Log) -> None:
    engine_triage.apply(photos, report(photos, press(0, 0)) | {"list": "another"})
    assert engine_triage.marks(photos.dataset).empty


def test_a_step_leads_to_the_query_it_names_where_the_list_has_changed(photos: Evaluation) -> None:
    found = failure_list.find(photos, 1, Chosen())
    item = engine_triage._items(photos, found.iloc[[7]])[0]
    event = report(photos) | {"query": 8, "item": item}
    assert engine_triage.place_of(photos, found.iloc[3:], event, 8) == 5
    assert engine_triage.place_of(photos, found.iloc[8:], event, 2) == 2


def test_the_list_keeps_the_tags_that_are_asked_for_and_what_is_shown(photos: Evaluation) -> None:
    found = failure_list.find(photos, 1, Chosen())
    names = [str(name) for name in found["id"][:2]]
    triage.set_tag("photo_patches", names[0], "hard view")
    triage.set_tag("photo_patches", names[1], "a, b!")
    assert list(failure_list.find(photos, 1, Chosen(tags=("a, b!",)))["id"]) == names[1:]
    assert len(failure_list.find(photos, 1, Chosen(tags=(failure_list.UNTAGGED,)))) == len(found) - len(
        found[found["id"].isin(names)]
    )
    shown = (found["direction"][0], found["query"][0])
    kept = failure_list.find(photos, 1, Chosen(tags=(failure_list.UNTAGGED,)), shown)
    assert names[0] in set(kept["id"])


def test_tags_in_the_address_are_read_as_they_are_spelled() -> None:
    triage.set_tag("photo_patches", "P059-0", "a, b!")
    spelled = failure_list.link(Chosen(tags=("a, b!", failure_list.UNTAGGED)))
    app = run("failures", data="photo_patches", **spelled)
    assert app.button_group(key="tag_shown").value == ["a, b!", "!"]
    app.button(key="clear").click().run()
    assert app.button_group(key="tag_shown").value == []


def test_the_filter_of_tags_is_there_before_the_first_tag() -> None:
    (box,) = [box for box in run("failures", data="photo_patches").button_group if box.key == "tag_shown"]
    assert list(box.options) == [*triage.TAGS, "no tag"]


def test_corrections_show_the_score_before_and_after(photos: Evaluation) -> None:
    facts = failure_list.find(photos, 1, Chosen()).iloc[0]
    triage.judge("photo_patches", str(facts["id"]), str(facts["wrong_id"]), True)
    app = run("failures", data="photo_patches")
    app.session_state["corrections"] = True
    app.run()
    app.button(key="correct").click().run()
    assert not app.error
    shown = app.table[0].value
    before, after = (float(shown[column][0].split()[0]) for column in ("before", "after"))
    assert before < after
    assert "Judged pairs as a patch of the judgements" in [button.label for button in app.get("download_button")]


def test_without_tags_the_page_says_how_to_give_some() -> None:
    app = run("failures", data="photo_patches")
    app.session_state["corrections"] = True
    app.run()
    assert "Nothing is tagged yet" in said(app)
