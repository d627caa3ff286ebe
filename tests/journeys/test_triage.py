"""Journeys through the failures with the keyboard alone: tags, notes, judgements, and what they do to the score."""

import csv
import io
import json
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from recall_core import cli
from recall_core.datasets.dataset import load
from recall_core.diagnosis import triage, triage_files
from recall_core.diagnosis.failure_list import failures
from recall_core.evaluation.wiring import evaluate
from tests.browser import Server, open_page, serve, settle, showing, visit
from tests.conftest import PROGRAM, SHARED, needs_shared

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page
FIRST = "/query?data=photo_patches&failure=view1-%3Eview0:60&reason=deep"


def chip(page: Page, name: str) -> object:
    return page.locator(".triage .tagset .chip", has_text=name)


def pressed(page: Page, name: str, on: bool = True) -> None:
    expect(chip(page, name)).to_have_attribute("aria-pressed", "true" if on else "false")


def begin(page: Page, app: Server, address: str = FIRST) -> None:
    open_page(page, app, address)
    expect(page.locator(".triage")).to_be_visible()
    settle(page)


def kept(page: Page) -> None:
    """Wait until the server has carried out every key press."""
    page.locator(".gallery[data-pending='0']").wait_for()
    settle(page)


def marks_of(app_state: Path) -> list[tuple[str, str]]:
    found = triage.marks("photo_patches", folder=app_state)
    return list(zip(found["item"], found["name"] + found["value"], strict=True))


def test_a_tag_is_one_key_and_outlives_a_reload_and_a_restart(tmp_path: Path, page: Page) -> None:
    for visited in range(2):
        with serve(tmp_path) as app:
            begin(page, app)
            if not visited:
                page.keyboard.press("3")
                pressed(page, "label problem")
                kept(page)
                page.reload()
                settle(page)
            pressed(page, "label problem")
            pressed(page, "wrong answer", on=False)
            page.goto("about:blank")


def test_twenty_fast_keys_tag_each_its_own_query(tmp_path: Path, page: Page) -> None:
    with serve(tmp_path) as app:
        begin(page, app)
        for _press in range(20):
            page.keyboard.press("2", delay=0)
            page.keyboard.press("j", delay=0)
        showing(page, 21)
        kept(page)
        wanted = [str(name) for name in failures(evaluate(load("photo_patches")), 1, reasons=("deep",))["id"]][:20]
        assert marks_of(tmp_path / "state") == [(name, "near-duplicate1") for name in wanted]


def test_undo_takes_back_and_says_what(app: Server, page: Page) -> None:
    begin(page, app, "/query?data=photo_patches&q=9")
    page.keyboard.press("1")
    page.keyboard.press("4")
    pressed(page, "ambiguous")
    page.keyboard.press("u")
    pressed(page, "ambiguous", on=False)
    expect(page.locator(".said")).to_contain_text("Taken back: ambiguous")
    page.keyboard.press("u")
    pressed(page, "wrong answer", on=False)
    page.keyboard.press("u")
    expect(page.locator(".said")).to_have_text("There is nothing to take back.")


def test_a_note_is_written_and_kept_without_the_mouse(app: Server, page: Page) -> None:
    begin(page, app, "/query?data=photo_patches&q=11")
    page.keyboard.press("n")
    page.keyboard.type("juj, 2 jobb!")
    page.keyboard.press("Enter")
    expect(page.locator(".written")).to_have_text("juj, 2 jobb!")
    kept(page)
    showing(page, 11)
    page.reload()
    settle(page)
    expect(page.locator(".written")).to_have_text("juj, 2 jobb!")
    page.keyboard.press("n")
    page.keyboard.type(" and more")
    page.keyboard.press("Escape")
    expect(page.locator(".written")).to_have_text("juj, 2 jobb!")


def test_the_sheet_of_keys_opens_and_closes(app: Server, page: Page) -> None:
    begin(page, app, "/query?data=photo_patches&q=12")
    page.keyboard.press("?")
    expect(page.locator("dialog.sheet")).to_contain_text("take the last change back")
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    expect(page.locator("dialog.sheet")).to_be_hidden()
    pressed(page, "wrong answer", on=False)


def test_another_browser_sees_the_tag_but_takes_back_only_its_own(
    app: Server, page: Page, profiles: dict[str, object]
) -> None:
    begin(page, app, "/query?data=photo_patches&q=14")
    page.keyboard.press("5")
    kept(page)
    for other in visit(profiles["dark"]):  # type: ignore[arg-type]
        begin(other, app, "/query?data=photo_patches&q=14")
        pressed(other, "missing in gallery")
        other.keyboard.press("u")
        expect(other.locator(".said")).to_have_text("There is nothing to take back.")
        pressed(other, "missing in gallery")


def test_tiles_are_tagged_and_the_tag_filters_the_list(app: Server, page: Page) -> None:
    open_page(page, app, "/failures?data=photo_patches&sort=ap")
    tiles = page.locator(".gallery .grid button.tile")
    expect(tiles).to_have_count(24)
    settle(page)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("6")
    expect(tiles.nth(2).locator(":scope > .marks")).to_have_text("hard view")
    expect(tiles.nth(2)).to_be_focused()
    wanted = tiles.nth(2).locator(":scope > .title").inner_text()
    kept(page)
    page.get_by_test_id("stButtonGroup").get_by_role("button", name="hard view").click()
    expect(page.get_by_text("1 of these 152")).to_be_visible()
    assert "tag=hard" in page.url
    expect(tiles).to_have_count(1)
    expect(tiles.first.locator(":scope > .title")).to_have_text(wanted)
    page.get_by_role("button", name="Show all").click()
    expect(tiles).to_have_count(24)


def test_j_turns_the_page_of_tiles(app: Server, page: Page) -> None:
    open_page(page, app, "/failures?data=photo_patches&sort=margin")
    tiles = page.locator(".gallery .grid button.tile")
    expect(tiles).to_have_count(24)
    settle(page)
    for _press in range(25):
        page.keyboard.press("j", delay=0)
    expect(page.locator(".pager .where")).to_have_text(re.compile("Page 2 of"))
    settle(page)
    expect(tiles.nth(1)).to_be_focused()


def test_a_judged_pair_changes_the_score_before_and_after(tmp_path: Path, page: Page) -> None:
    with serve(tmp_path) as app:
        begin(page, app)
        page.locator(".gallery .grid button.tile").first.focus()
        page.keyboard.press("t")
        expect(page.locator(".gallery .grid .tile > .marks").first).to_have_text("in truth right")
        kept(page)
        found = triage.marks("photo_patches", folder=tmp_path / "state")
        assert list(found["kind"]) == ["relevant"]
        page.get_by_role("link", name="Back to the failures").click()
        settle(page)
        page.get_by_text("Tags and corrections · 0 tags and notes · 1 judged pair").click()
        page.get_by_role("button", name="Re-evaluate with my corrections").click()
        expect(page.get_by_text("no test is made between the two")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Judged pairs as a patch of the judgements").click()
        assert Path(download.value.path()).read_text("utf-8") == triage_files.triage_patch(found)


def test_the_list_of_tags_is_edited(tmp_path: Path, page: Page) -> None:
    with serve(tmp_path) as app:
        open_page(page, app, "/failures?data=photo_patches")
        page.get_by_text(re.compile("^Tags and corrections")).click()
        field = page.get_by_role("textbox", name=re.compile("Tags, one a line"))
        field.fill("mine\nyours")
        field.press("Control+Enter")
        expect(chip(page, "yours")).to_be_visible()
        expect(page.locator(".triage .tagset .chip")).to_have_count(2)


@needs_shared
def test_product_photographs_are_tagged_and_judged_by_keyboard(tmp_path: Path, dark_page: Page) -> None:
    with serve(tmp_path, RECALL_DATA_ROOT=str(SHARED / "data")) as app:
        open_page(dark_page, app, "/failures?data=grocery&encoder=colour")
        dark_page.locator(".triage").wait_for()
        settle(dark_page)
        dark_page.keyboard.press("j")
        dark_page.keyboard.press("1")
        dark_page.keyboard.press("Enter")
        showing(dark_page, 2)
        settle(dark_page)
        pressed(dark_page, "wrong answer")
        dark_page.locator(".gallery .grid button.tile").first.focus()
        dark_page.keyboard.press("t")
        kept(dark_page)
        found = triage.marks("grocery", folder=tmp_path / "state")
        assert list(found["kind"]) == ["tag", "relevant"]
        assert found["item"][0] == found["item"][1]


def test_under_a_filter_of_tags_fast_keys_hit_what_was_seen_and_the_list_holds(tmp_path: Path, page: Page) -> None:
    with serve(tmp_path) as app:
        wanted = [str(name) for name in failures(evaluate(load("photo_patches")), 1)["id"]]
        triage.set_tag("photo_patches", wanted[0], "label problem", True, folder=tmp_path / "state")
        open_page(page, app, "/failures?data=photo_patches&tag=!")
        expect(page.get_by_text("151 of these 152")).to_be_visible()
        settle(page)
        for _press in range(30):  # past the end of the first page of 24
            page.keyboard.press("1", delay=0)
            page.keyboard.press("j", delay=0)
        page.keyboard.press("k", delay=0)
        page.keyboard.press("2", delay=0)
        kept(page)
        marked = triage.tags_of(triage.marks("photo_patches", folder=tmp_path / "state"))
        assert [name for name, tags in marked.items() if "wrong answer" in tags] == wanted[1:31]
        assert marked[wanted[30]] == ["wrong answer", "near-duplicate"]
        expect(
            page.get_by_text("30 were tagged otherwise meanwhile, and stay until the filter changes")
        ).to_be_visible()
        expect(page.get_by_text("151 of these 152")).to_be_visible()
        tile = page.locator(".gallery .grid button.tile:focus")
        expect(tile.locator(":scope > .marks")).to_have_text("wrong answer · near-duplicate")
        page.keyboard.press("Enter")
        showing(page, 30)
        settle(page)
        page.keyboard.press("j")
        showing(page, 31)
        expect(page.locator(".gallery .stepper .where")).to_have_text("31 of 151 failures")
        settle(page)
        page.get_by_role("link", name="Back to the failures").click()
        again = page.get_by_role("button", name="Filter again")
        again.focus()
        again.press("Enter")
        expect(page.get_by_text("121 of these 152")).to_be_visible()
        page.goto("about:blank")


def test_a_server_killed_among_fast_keys_keeps_every_tag_that_it_said_was_kept(tmp_path: Path, page: Page) -> None:
    with serve(tmp_path) as app:
        begin(page, app, "/failures?data=photo_patches")
        wanted = [str(name) for name in failures(evaluate(load("photo_patches")), 1)["id"]][:20]
        for press in range(20):
            page.keyboard.press("2", delay=0)
            page.keyboard.press("j", delay=0)
            if press == 9:
                page.locator(".gallery:not([data-pending='10'])").wait_for()
            if press == 14:
                app.process.kill()
                app.process.wait()
        told = page.locator(".gallery").evaluate("(node) => Object.keys(node.view.triage.tagged).length")
        assert told
    with closing(sqlite3.connect(tmp_path / "state" / triage.FILE)) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    stored = marks_of(tmp_path / "state")
    assert stored == [(name, "near-duplicate1") for name in wanted[: len(stored)]]
    assert told <= len(stored) < len(wanted)
    page.goto("about:blank")
    with serve(tmp_path) as app:
        begin(page, app, "/failures?data=photo_patches&tag=near-duplicate")
        expect(page.locator(".gallery .grid > .tile")).to_have_count(len(stored))
        page.goto("about:blank")


def test_two_visitors_share_saved_tags_and_nothing_else(
    tmp_path: Path, page: Page, profiles: dict[str, object]
) -> None:
    with serve(tmp_path) as app:
        begin(page, app, "/failures?data=photo_patches&reason=deep&k=5")
        mine = page.url
        for other in visit(profiles["dark"]):  # type: ignore[arg-type]
            begin(other, app, "/query?data=glyphlab&split=random&q=7&lang=hu")
            showing(other, 7)
            other.keyboard.press("j")
            showing(other, 8)
            settle(other)
            assert page.url == mine
            begin(other, app, "/failures?data=photo_patches&lang=hu")
            page.keyboard.press("j")
            page.keyboard.press("3")
            kept(page)
            page.wait_for_url(re.compile("failure="))
            mine = page.url
            marked = page.locator(".gallery .grid button.tile:focus > .title").inner_text()
            other.keyboard.press("u")
            expect(other.locator(".said")).not_to_be_empty()
            kept(other)
            assert [item for item, _name in marks_of(tmp_path / "state")] == [marked]
            tile = other.locator(".gallery .grid button.tile", has=other.get_by_text(marked, exact=True)).first
            expect(tile.locator(":scope > .marks")).to_have_text("label problem")
            assert "reason=" not in other.url
            assert "k=5" not in other.url
            other.get_by_text(re.compile("^Címkék és javítások")).click()
            settle(other)
            expect(page.get_by_text(re.compile("^Tags and corrections"))).to_be_visible()
            expect(page.get_by_role("textbox", name=re.compile("Tags, one a line"))).to_have_count(0)
            expect(page.get_by_role("heading", name="Failures", exact=True)).to_be_visible()
            assert page.url == mine
            other.goto("about:blank")
        page.goto("about:blank")


def taken(page: Page, name: str) -> str:
    """Download a file by keyboard; returns what it holds."""
    button = page.get_by_role("button", name=name)
    button.focus()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    return Path(download.value.path()).read_text("utf-8")


def home(page: Page, app: Server, state: Path, data: str, with_files: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """Tag, note and judge by keyboard; then check every file, and the corrected score against the command's."""
    begin(page, app, f"/failures?data={data}&encoder=colour")
    page.keyboard.press("j")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    showing(page, 2)
    settle(page)
    page.keyboard.press("n")
    page.keyboard.type("unclear, “both”")
    page.keyboard.press("Enter")
    page.locator(".gallery .grid button.tile").first.focus()
    page.keyboard.press("t")
    kept(page)
    found = triage.marks(data, folder=state)
    assert sorted(found["kind"]) == ["note", "relevant", "tag"]
    item, other = found[found["kind"] == "relevant"][["item", "other"]].iloc[0]
    back = page.get_by_role("link", name="Back to the failures")
    back.focus()
    page.keyboard.press("Enter")
    unfold = page.locator("summary", has_text="Tags and corrections")
    unfold.focus()
    page.keyboard.press("Enter")
    rows = list(csv.DictReader(io.StringIO(taken(page, "All marks as CSV"))))
    assert {(row["kind"], row["name"] or row["value"]) for row in rows} == {
        ("tag", "ambiguous"),
        ("note", "unclear, “both”"),
        ("relevant", "1"),
    }
    assert {row["item"] for row in rows} == {item}
    patch = taken(page, "Judged pairs as a patch of the judgements")
    assert list(csv.reader(io.StringIO(patch))) == [["query_id", "gallery_id", "grade"], [item, other, "1"]]
    if with_files:
        (sample,) = json.loads(taken(page, "Tags for FiftyOne"))["samples"]
        assert sample["item_id"] == item
        assert sample["filepath"]
        assert (sample["tags"], sample["note"]) == (["ambiguous"], "unclear, “both”")
        assert (sample["also_right"], sample["not_right"]) == ([other], [])
    again = page.get_by_role("button", name="Re-evaluate with my corrections")
    again.focus()
    page.keyboard.press("Enter")
    command = page.get_by_text(shlex.join([*PROGRAM, "evaluate"])).filter(has_text="--corrections").first
    expect(command).to_be_visible()
    settle(page)
    words = shlex.split(command.inner_text())
    shown = page.get_by_test_id("stTable").locator("tbody tr").all_text_contents()
    assert cli.main([*words[len(PROGRAM) :], "--json"]) == 0
    after = json.loads(capsys.readouterr().out)["scores"]
    at = words.index("--corrections")
    assert cli.main([*words[3:at], *words[at + 2 :], "--json"]) == 0
    before = json.loads(capsys.readouterr().out)["scores"]
    changed = [name for name in ("recall@1", "map") if before[name]["value"] != after[name]["value"]]
    assert changed
    for name in changed:
        assert any(f"{before[name]['value']:.4f}" in row and f"{after[name]['value']:.4f}" in row for row in shown), (
            shown
        )


def test_everything_is_taken_home_by_keyboard(tmp_path: Path, page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(tmp_path) as app:
        home(page, app, tmp_path / "state", "photo_patches", False, capsys)
        page.goto("about:blank")


@needs_shared
def test_everything_about_product_photographs_is_taken_home_by_keyboard(
    tmp_path: Path, page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(tmp_path, RECALL_DATA_ROOT=str(SHARED / "data")) as app:
        home(page, app, tmp_path / "state", "grocery", True, capsys)
        page.goto("about:blank")
