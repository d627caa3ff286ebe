"""Journeys through the app in a real browser."""

import re
import shlex

import pytest

from tests.browser import Server, open_page, settle, showing
from tests.conftest import PROGRAM

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page


def test_a_deep_link_on_a_fresh_server_shows_its_query_in_the_frame(fresh_app: Server, page: Page) -> None:
    open_page(page, fresh_app, "/query?data=glyphlab&direction=view1-%3Eview0&q=3&lang=en")
    showing(page, 3)
    expect(page.get_by_text("Page not found")).to_have_count(0)
    expect(page.get_by_role("heading", name="Query", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Overview")).to_be_visible()
    expect(page.get_by_role("combobox", name=re.compile("Direction"))).to_have_value("view1->view0")
    expect(page.get_by_text("glyphlab ·")).to_be_visible()


def test_a_door_opens_the_overview_of_its_data_set(app: Server, page: Page) -> None:
    open_page(page, app, "/")
    page.get_by_role("button", name="Open glyphlab").click()
    expect(page.get_by_role("heading", name="Overview", exact=True)).to_be_visible()
    settle(page)
    expect(page.get_by_text("glyphlab · ")).to_be_visible()
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("1.0000")
    assert "data=glyphlab" in page.url


def test_back_and_forward_move_between_queries(app: Server, page: Page) -> None:
    open_page(page, app, "/query?data=glyphlab")
    for query in (2, 3):
        page.get_by_role("button", name="Next query (J)").click()
        showing(page, query)
        settle(page)
    page.go_back()
    showing(page, 2)
    page.go_forward()
    showing(page, 3)


def test_back_returns_to_the_page_before(app: Server, page: Page) -> None:
    open_page(page, app, "/overview?data=glyphlab")
    page.get_by_role("link", name="Query").click()
    showing(page, 1)
    settle(page)
    assert "data=glyphlab" in page.url
    page.go_back()
    expect(page.get_by_role("heading", name="Overview", exact=True)).to_be_visible()
    expect(page.get_by_text("glyphlab · ")).to_be_visible()


def test_twenty_fast_key_presses_step_twenty_queries(app: Server, page: Page) -> None:
    open_page(page, app, "/query?data=photo_patches&q=5")
    showing(page, 5)
    for _press in range(20):
        page.keyboard.press("j", delay=0)
    showing(page, 25)
    settle(page)
    showing(page, 25)
    expect(page.get_by_role("spinbutton", name="Query")).to_have_value("25")
    for _press in range(20):
        page.keyboard.press("k", delay=0)
    showing(page, 5)
    settle(page)
    showing(page, 5)


def test_keys_typed_into_a_field_do_not_step(app: Server, page: Page) -> None:
    open_page(page, app, "/query?data=glyphlab&q=4")
    showing(page, 4)
    page.get_by_role("spinbutton", name="Query").focus()
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    settle(page)
    showing(page, 4)


def test_a_reload_keeps_the_query_and_the_choices(app: Server, page: Page) -> None:
    open_page(page, app, "/query?data=glyphlab&encoder=mean")
    page.get_by_role("button", name="Next query (J)").click()
    showing(page, 2)
    settle(page)
    page.reload()
    settle(page)
    showing(page, 2)
    assert "encoder=mean" in page.url


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/query?data=../../etc/passwd&q=../../etc/passwd&k=9999&split=nope&lang=xx", "../../etc/passwd is not here"),
        ("/query?data=photo_patches&q=-3&direction=nowhere&where=%3Cscript%3E&ks=zero&seed=abc", "photo_patches ·"),
        ("/query?data=%2Fetc&q=999999&encoder=os:system&similarity=0", "/etc is not here"),
    ],
)
def test_a_malformed_address_shows_the_defaults_or_what_is_missing(
    app: Server, page: Page, address: str, shown: str
) -> None:
    open_page(page, app, address)
    if "not here" not in shown:
        showing(page, 1)
    expect(page.get_by_text(shown).first).to_be_visible()
    expect(page.get_by_text("Traceback")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_arrows_move_in_the_grid_and_enter_picks(app: Server, page: Page) -> None:
    open_page(page, app, "/query?data=photo_patches")
    showing(page, 1)
    tiles = page.locator(".gallery .grid button.tile")
    tiles.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    expect(tiles.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".gallery .panel h3", has_text="Rank 2")).to_be_visible()
    expect(tiles.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(tiles.nth(1)).to_be_focused()
    expect(tiles.nth(1)).to_have_attribute("aria-label", re.compile(r"^Rank 2, (right|wrong), similarity 0\.\d{3}, P"))


def test_a_missed_query_opens_from_the_overview(app: Server, page: Page) -> None:
    open_page(page, app, "/overview?data=photo_patches")
    page.locator(".gallery button.tile").first.click()
    expect(page.get_by_role("heading", name="Query", exact=True)).to_be_visible()
    settle(page)
    expect(page.locator(".gallery .panel").first).to_contain_text("✗ first right picture at rank")
    expect(page.locator(".gallery .panel").nth(1)).to_contain_text("not among the first 1")


def test_dark_visitors_see_a_dark_page_and_readable_tiles(app: Server, dark_page: Page) -> None:
    open_page(dark_page, app, "/query?data=glyphlab")
    showing(dark_page, 1)
    colour = "(node) => getComputedStyle(node).backgroundColor"
    assert dark_page.get_by_test_id("stApp").evaluate(colour) == "rgb(20, 24, 27)"
    title = dark_page.locator(".gallery .title").first
    assert title.evaluate("(node) => getComputedStyle(node).color") == "rgb(228, 232, 234)"
    image = dark_page.locator(".gallery .grid img").first
    assert image.evaluate("(node) => getComputedStyle(node).imageRendering") == "pixelated"


def test_hungarian_visitors_read_hungarian(app: Server, page: Page) -> None:
    open_page(page, app, "/overview?data=glyphlab&lang=hu")
    expect(page.get_by_role("heading", name="Áttekintés", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Lekérdezés", exact=True)).to_be_visible()


def test_the_copied_link_shows_the_same_to_a_colleague(app: Server, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_page(page, app, "/overview?data=glyphlab&encoder=orientation")
    shown = page.get_by_test_id("stMetricValue").first.inner_text()
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert "split=by-view" in link
    assert "similarity=cosine" in link
    page.goto(link)
    settle(page)
    expect(page.get_by_test_id("stMetricValue").first).to_have_text(shown)
    page.get_by_role("button", name="Copy command").click()
    command = page.evaluate("navigator.clipboard.readText()")
    assert command.startswith(shlex.join([*PROGRAM, "evaluate", "data/glyphlab"]))
