"""Journeys through why a query fails, with the keyboard alone: hub and label, three ways to look at two pictures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Server, open_page, serve, settle, showing
from tests.conftest import SHARED, needs_shared

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page
FIRST = "/query?data=photo_patches&failure=view1-%3Eview0:60&reason=deep"


@pytest.fixture(scope="module")
def shared_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("shared")
    with serve(folder, RECALL_DATA_ROOT=str(SHARED / "data")) as server:
        yield server


def unfold(page: Page) -> None:
    """Open the part that explains, as a keyboard user does."""
    page.locator("summary", has_text="Why does this query have this AP?").focus()
    page.keyboard.press("Enter")
    page.locator(".look .stage").wait_for()
    settle(page)


def mode(page: Page, name: str) -> object:
    return page.get_by_role("radio", name=name)


def test_the_keyboard_unfolds_the_reasons_and_switches_how_two_pictures_are_shown(app: Server, page: Page) -> None:
    open_page(page, app, FIRST)
    unfold(page)
    expect(page.get_by_text("Wrongly among the first 10 of")).to_be_visible()
    expect(page.get_by_text("hub")).not_to_have_count(0)
    expect(page.get_by_text("label").first).to_be_visible()
    look = page.locator(".look")
    expect(look.locator(".stage figure")).to_have_count(2)
    mode(page, "Side by side").focus()
    page.keyboard.press("ArrowRight")
    expect(look).to_have_attribute("data-mode", "1")
    expect(mode(page, "Difference")).to_be_focused()
    expect(look.locator(".stage figure")).to_have_count(3)
    expect(look.locator(".note")).to_contain_text("Mean difference 0.")
    page.keyboard.press("ArrowRight")
    expect(look).to_have_attribute("data-mode", "2")
    expect(look.locator(".stage figure")).to_have_count(1)
    first = look.locator("figcaption").inner_text()
    # The visitor of these journeys prefers reduced motion: nothing moves until it is asked for.
    expect(look).to_have_attribute("data-running", "false")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="The other one")).to_be_focused()
    page.keyboard.press("Enter")
    expect(look.locator("figcaption")).not_to_have_text(first)


def test_what_is_unfolded_stays_so_while_stepping_and_a_picked_picture_takes_the_wrong_ones_place(
    app: Server, page: Page
) -> None:
    open_page(page, app, FIRST)
    unfold(page)
    at = int(page.locator(".gallery[data-query]").get_attribute("data-query") or 0)
    caption = page.locator(".look figcaption").first.inner_text()
    mode(page, "Side by side").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("j")
    showing(page, at + 1)
    settle(page)
    expect(page.locator(".look figcaption").first).not_to_have_text(caption)
    expect(page.locator(".look")).to_have_attribute("data-mode", "1")
    expect(page.get_by_text("The best wrong picture, rank 1")).to_be_visible()
    third = page.locator("button.tile.wrong").nth(2)
    third.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The picked wrong picture, rank")).to_be_visible()
    expect(page.locator(".look figcaption").last).to_contain_text("wrong one")


@needs_shared
def test_photographs_of_other_sizes_are_seen_side_by_side_alone(shared_app: Server, page: Page) -> None:
    open_page(page, shared_app, "/query?data=grocery")
    unfold(page)
    look = page.locator(".look")
    expect(look.locator(".note")).to_contain_text("they can only be seen side by side")
    expect(mode(page, "Difference")).to_have_attribute("aria-disabled", "true")
    mode(page, "Side by side").focus()
    page.keyboard.press("ArrowRight")
    expect(look).to_have_attribute("data-mode", "0")
    expect(look.locator(".stage figure")).to_have_count(2)
