"""Failures and Query without a browser: filters and order from the URL, the file, what would be harder, the banner."""

import io
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.failures import corrupt_queries
from pages.query import explanation
from pages.shared import cached, failure_list
from pages.shared.components import findings_banner, gallery
from pages.shared.components.gallery import Place
from pages.shared.failure_list import PAGE_SIZE, Chosen
from pages.shared.keys import key
from recall_core import cli
from recall_core.datasets.dataset import load
from recall_core.diagnosis import failure_list as engine_failure_list
from recall_core.diagnosis.failure_list import MISS_REASONS, SORTS
from recall_core.evaluation import spelling
from recall_core.evaluation.record import Evaluation
from recall_core.evaluation.wiring import evaluate
from recall_core.images import CORRUPTIONS, thumbnails
from recall_core.protocol.findings import Finding
from tests.conftest import ROOT
from tests.pages import test_app
from tests.pages.test_app import said, write_set

pytestmark = pytest.mark.filterwarnings("ignore:.*ScriptRunContext")


@pytest.fixture(scope="module")
def photos() -> Evaluation:
    return evaluate(load("photo_patches"))


def run(name: str, **query: str) -> AppTest:
    """Open a page; the address may have a ``page`` of tiles."""
    if "page" not in query:
        return test_app.run(name, **query)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.switch_page(f"pages/{name}/{name}.py")
    app.query_params.update(query)
    app.run()
    assert not app.exception
    return app


def asked(app: AppTest, name: str) -> str:
    """One value of the address; empty where it is not there."""
    value = app.query_params.get(name, "")
    return value if isinstance(value, str) else str(value[0])


def shown(app: AppTest) -> str:
    """The line that says how many fail."""
    return next(str(element.value) for element in app.markdown if "miss at k" in str(element.value))


def test_the_page_counts_what_recall_counts() -> None:
    assert shown(run("failures", data="photo_patches")) == "**152 of 480 queries miss at k = 1**"
    assert "85 of 480 queries miss at k = 10" in shown(run("failures", data="photo_patches", k="10"))


def test_each_filter_and_order_comes_from_the_address() -> None:
    app = run("failures", data="photo_patches", reason="deep", sort="ap", slice="group_id=P059,P117")
    assert shown(app).startswith("**4 of these 152**")
    assert app.button_group(key="reason_shown").value == ["deep"]
    assert app.button_group(key="sort_shown").value == "ap"
    assert app.button_group(key="slice_values_shown").value == ["P059", "P117"]
    assert app.code[0].value == (
        "python -m recall_core failures photo_patches --cut 1 "
        "--slice group_id=P059 --slice group_id=P117 --reason deep --sort ap"
    )


def test_what_the_visitor_chooses_goes_into_the_address() -> None:
    app = run("failures", data="photo_patches", page="3")
    app.button_group(key="reason_shown").set_value(["close"]).run()
    assert asked(app, "reason") == "close"
    assert "page" not in app.query_params
    app.selectbox(key="slice_value_shown").set_value("P059").run()
    assert asked(app, "slice") == "group_id=P059"
    app.selectbox(key="slice_column").set_value("photo").run()
    app.selectbox(key="slice_value_shown").set_value("china").run()
    assert asked(app, "slice") == "group_id=P059;photo=china"
    app.selectbox(key="slice_value_shown").set_value("flower").run()
    assert asked(app, "slice") == "group_id=P059;photo=china,flower"
    app.button_group(key="slice_values_shown").set_value(["china"]).run()
    assert asked(app, "slice") == "group_id=P059;photo=china"
    assert "group\\_id\\: P059" in said(app)
    app.button_group(key="sort_shown").set_value("margin").run()
    assert asked(app, "sort") == "margin"
    app.button(key="clear").click().run()
    assert not {"reason", "slice"} & set(app.query_params)
    assert not app.error


@pytest.mark.parametrize(
    "bad",
    [
        {"reason": "bad,worse", "sort": "x", "page": "-3"},
        {"page": "99999999999", "sort": ""},
        {"page": "²"},
        {"reason": "near_duplicate" * 40},
    ],
)
def test_an_address_that_makes_no_sense_shows_everything(bad: dict[str, str]) -> None:
    app = run("failures", data="photo_patches", **bad)
    assert shown(app) == "**152 of 480 queries miss at k = 1**"


@pytest.mark.parametrize("spelled", ["nonsense", "no_such=1", "group_id=nobody"])
def test_a_slice_that_cannot_be_read_is_named_and_everything_shown(spelled: str) -> None:
    app = run("failures", data="photo_patches", slice=spelled)
    assert "⚠️" in said(app)
    assert shown(app) == "**152 of 480 queries miss at k = 1**"


def test_conditions_that_no_row_meets_together_show_nothing_and_the_way_out() -> None:
    app = run("failures", data="photo_patches", slice="group_id=P059;photo=flower")
    assert shown(app).startswith("**0 of these 152**")
    assert app.button(key="clear")
    assert not app.error


@pytest.mark.parametrize("where", ["nowhere:1", "view0->view1:0", "view0->view1:999", "x", "view0->view1:²", ":"])
def test_a_failure_that_is_not_there_leaves_query_with_all_of_them(where: str) -> None:
    app = run("query", data="photo_patches", failure=where)
    assert not app.error
    assert "of 240 queries" in said(app)


def test_query_steps_through_the_list_of_the_address_and_leads_back() -> None:
    app = run("query", data="photo_patches", failure="view1->view0:60", reason="deep", slice="group_id=P059")
    assert "failures at k = 1 · deep · group\\_id\\: P059" in said(app)
    app.button(key="all").click().run()
    assert "of 240 queries" in said(app)
    assert not {"failure", "reason", "slice"} & set(app.query_params)


def test_query_says_when_its_query_is_no_failure_of_the_list() -> None:
    assert "not among them" in said(run("query", data="photo_patches", failure="view0->view1:1", reason="deep"))
    assert not run("query", data="glyphlab", failure="view0->view1:1").error


@pytest.mark.parametrize("sort", SORTS)
def test_the_file_is_what_the_command_prints(sort: str, photos: Evaluation, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = Chosen(slice=(("group_id", ("P059", "P117")),), reasons=("deep",), sort=sort)
    found = failure_list.find(photos, 3, chosen)
    file = spelling.table_csv(engine_failure_list.failure_table(photos, found, where=chosen.slice))
    words = failure_list.command("python -m recall_core evaluate photo_patches", 3, chosen).split()
    assert cli.main(words[3:]) == 0
    assert capsys.readouterr().out == file
    assert pd.read_csv(io.StringIO(file))["group"].isin(["P059", "P117"]).all()


def test_a_list_of_thousands_makes_only_the_tiles_of_its_page(
    photos: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    monkeypatch.setattr(cached, "alike", lambda _evaluation: None)
    monkeypatch.setattr(cached, "query_thumbnail", lambda _evaluation, row, _size: made.append(row) or "")
    monkeypatch.setattr(cached, "thumbnail", lambda *_given: "")
    found = failure_list.find(photos, 1, failure_list.EVERYTHING)
    tiles = failure_list.tiles_of(photos, found, 2)
    assert made == found["row"].tolist()[PAGE_SIZE : 2 * PAGE_SIZE]
    assert [len(tile.beside) for tile in tiles] == [2] * PAGE_SIZE
    wrong, right = tiles[0].beside
    assert (wrong.right, wrong.badge, right.right) == (False, "1", True)
    assert right.badge == str(found["first_rank"].iloc[PAGE_SIZE])


def test_a_page_beyond_the_last_is_the_last(photos: Evaluation) -> None:
    found = failure_list.find(photos, 1, failure_list.EVERYTHING)[:30]
    assert failure_list.place(photos, Chosen(page=500), found, None) == Place(PAGE_SIZE + 1, 2)
    assert failure_list.place(photos, Chosen(page=2), found, {"page": 1, "number": 4}).number == 4
    assert failure_list.place(photos, Chosen(), found[:0], {"query": 7, "number": 1}) == Place(1, 1)


def test_the_cursor_stands_on_the_query_that_the_address_names(
    photos: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = failure_list.find(photos, 1, failure_list.EVERYTHING)
    at = PAGE_SIZE + 5
    monkeypatch.setattr(failure_list.st, "query_params", failure_list.address(found, at, Chosen()))
    assert failure_list.place(photos, Chosen(), found, None) == Place(at, 2)
    assert failure_list.place(photos, Chosen(page=3), found.drop(index=at - 1), None) == Place(2 * PAGE_SIZE + 1, 3)
    assert failure_list.addresses(found, Chosen(), 2)[4] == failure_list.address(found, at, Chosen())


def test_the_address_of_a_failure_holds_the_page_of_its_tile(photos: Evaluation) -> None:
    found = failure_list.find(photos, 1, failure_list.EVERYTHING)
    address = failure_list.address(found, PAGE_SIZE + 1, Chosen(sort="ap"))
    facts = found.iloc[PAGE_SIZE]
    assert address == {"failure": f"{facts['direction']}:{facts['query'] + 1}", "sort": "ap", "page": "2"}


def test_without_failures_the_page_says_so_and_the_slider_makes_some() -> None:
    app = run("failures", data="glyphlab")
    assert "No failure at k = 1: each of the 60 queries" in app.success[0].value
    app.slider(key="disturb_severity").set_value(0.8).run()
    assert asked(app, "corrupt") == "noise:0.8"
    assert shown(app) == "**6 of 60 queries miss at k = 1**"
    assert "--corrupt noise:0.8" in app.code[0].value


def test_the_kind_of_disturbance_changes_and_no_severity_is_none() -> None:
    app = run("failures", data="glyphlab", corrupt="noise:0.5")
    app.button_group(key="disturb_kind").set_value("patch").run()
    assert asked(app, "corrupt") == "patch:0.5"
    app.slider(key="disturb_severity").set_value(0.0).run()
    assert "corrupt" not in app.query_params
    assert app.success


def test_a_disturbance_of_the_address_stands_on_the_slider() -> None:
    app = run("failures", data="glyphlab", corrupt="shift:0.75")
    assert app.slider(key="disturb_severity").value == 0.75
    assert app.button_group(key="disturb_kind").value == "shift"


@pytest.mark.parametrize("bad", ["noise:2", "smear:0.5", "noise"])
def test_a_disturbance_that_cannot_be_is_named_and_the_pictures_stay(bad: str) -> None:
    app = run("failures", data="glyphlab", corrupt=bad)
    assert "⚠️" in said(app)
    assert app.success


def test_asking_for_the_class_or_another_set_is_offered_where_nothing_fails() -> None:
    app = run("failures", data="glyphlab")
    assert r"Ask for the same orientation, not the same scene\_id" in [button.label for button in app.button]
    app.button(key=key("other", "photo_patches")).click().run()
    assert shown(app) == "**152 of 480 queries miss at k = 1**"


def test_the_pictures_that_ask_are_shown_as_they_ask() -> None:
    data = load("data/glyphlab")
    clean, worse = evaluate(data), evaluate(data, corrupt="patch:0.9")
    row = int(clean.directions[0].split.query[0])
    assert cached.query_thumbnail(clean, row, 128) == cached.thumbnail(data, row)
    assert cached.query_thumbnail(worse, row, 128) != cached.thumbnail(data, row)


@pytest.mark.parametrize("page", ["overview", "failures", "query"])
def test_the_banner_stands_on_every_page_with_its_examples_folded(page: str) -> None:
    app = run(page, data="glyphlab", split="random")
    assert "16 of 30 queries have nothing relevant" in app.warning[0].value
    assert "Examples of what is suspicious" in [expander.label for expander in app.expander]


def test_the_banner_is_silent_where_nothing_is_suspicious() -> None:
    app = run("failures", data="glyphlab")
    assert not app.warning
    assert not [expander for expander in app.expander if "suspicious" in expander.label]


def test_the_banner_shows_the_pictures_of_its_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = load("data/glyphlab")
    scene = str(data.table["scene_id"].iloc[0])
    kinds = {
        Finding("without_relevant_unmatched", "warning", 1, "m", ("12",)): 1,
        Finding("same_across_groups", "warning", 1, "m", ("12 = 13",)): 2,
        Finding("train_leak", "error", 1, "m", (scene,)): 2,
        Finding("train_rows", "error", 1, "m", ("0",)): 1,
    }
    for finding, n in kinds.items():
        assert len(findings_banner._pictures(data, finding, finding.examples[0])) == n


def test_ap_is_explained_with_the_querys_own_numbers() -> None:
    evaluation = evaluate(load("data/glyphlab"), relevant="orientation", junk_same="scene_id", encoder="mean")
    direction = evaluation.directions[0]
    terms = engine_failure_list.precision_terms(direction, 3)
    formula = explanation.precision_formula(direction, 3, "0.5000")
    assert formula.count(r"\frac") == 1 + len(terms)
    assert rf"\frac{{1}}{{{terms[0][1]}}}" in formula
    table = engine_failure_list.right_answers(evaluation, direction, 3, 1)
    assert table["rank"].tolist() == [rank for _i, rank in terms]
    assert table["hit"].tolist() == [rank <= 1 for _i, rank in terms]
    low, high = engine_failure_list.range_under_ties(direction, 3)
    assert low <= evaluation.table["map"].iloc[3] <= high


def test_every_reason_order_and_kind_has_words() -> None:
    assert all(failure_list.reason_words(reason) for reason in MISS_REASONS)
    assert all(failure_list.sort_words(sort) for sort in SORTS)
    assert all(corrupt_queries.kind_words(kind) for kind in CORRUPTIONS)


@pytest.mark.parametrize(
    ("value", "spelled"), [(0.25, "+0.250"), (-0.25, "−0.250"), (0.0, "+0.000"), (-2e-5, "−2.0e−05")]
)
def test_a_margin_that_is_not_zero_is_not_rounded_to_it(value: float, spelled: str) -> None:
    assert failure_list.signed(value, 3) == spelled


def test_a_set_without_groups_or_labels_still_lists_its_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(tmp_path))
    write_set(tmp_path, "bare", "path,class\na.png,x\nb.png,x\nc.png,y\n")
    pictures = load("digits").pictures
    assert pictures is not None
    for i, name in enumerate("abc"):
        (tmp_path / "bare" / f"{name}.png").write_bytes(thumbnails.png(pictures[i]))
    app = run("failures", data="bare", relevant="class")
    assert not app.error
    assert "of 3 queries miss at k = 1" in shown(app)
    assert gallery.PAGE_SIZE > PAGE_SIZE


def test_a_slice_that_cannot_be_read_is_said_once() -> None:
    app = run("failures", data="photo_patches", slice="nowhere=1")
    assert len([one for one in app.markdown if "nowhere" in str(one.value)]) == 1
