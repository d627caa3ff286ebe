"""Journeys from the failures to their causes and back, in a real browser."""

import re
import shlex
from pathlib import Path

import pytest

from recall_core import cli
from recall_core.datasets.dataset import load
from recall_core.diagnosis.failure_list import SORTS, failures
from recall_core.evaluation.wiring import evaluate
from tests.browser import Server, open_page, settle, showing
from tests.conftest import PROGRAM

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page
TITLES = ".gallery button.tile > .title"
ALL = "152 of 480 queries miss at k = 1"


def count(page: Page, text: str) -> None:
    """Wait until the page says how many failures it shows."""
    expect(page.get_by_text(text, exact=False).first).to_be_visible()
    settle(page)


def tiles(page: Page) -> object:
    return page.locator(".gallery .grid button.tile")


def on_query(page: Page, at: int) -> None:
    """Wait until Query shows this place of the list."""
    expect(page.get_by_role("heading", name="Query", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile(f"^{at} of [0-9]+ failures$"))).to_be_visible()
    showing(page, at)
    settle(page)


def names(page: Page) -> list[str]:
    """Ids of the queries on the tiles."""
    return page.locator(TITLES).all_inner_texts()


def worst(order: str) -> list[str]:
    """Ids of the failing queries, as the engine sorts them."""
    return [str(name) for name in failures(evaluate(load("photo_patches")), 1, sort=order)["id"]]


def open_failures(page: Page, app: Server, query: str = "") -> None:
    open_page(page, app, f"/failures?data=photo_patches{query}")
    count(page, ALL)


def test_reasons_filter_and_back_takes_the_filter_away(app: Server, page: Page) -> None:
    open_failures(page, app)
    page.get_by_role("button", name="deep · 85").click()
    count(page, "85 of these 152")
    assert "reason=deep" in page.url
    page.get_by_role("button", name="deep · 85").click()
    page.get_by_role("button", name="just behind · 67").click()
    count(page, "67 of these 152")
    page.go_back()
    page.go_back()
    count(page, "85 of these 152")
    page.get_by_role("button", name="Show all").click()
    expect(page.get_by_text("of these 152")).to_have_count(0)
    assert "reason" not in page.url


def test_twins_are_looked_for_when_they_are_asked_for(app: Server, page: Page) -> None:
    open_failures(page, app)
    page.get_by_role("button", name="wrong one is a twin").click()
    count(page, "0 of these 152")
    expect(page.get_by_text("No failure is like that. Take a filter away.")).to_be_visible()
    assert "reason=near_duplicate" in page.url


def test_values_of_a_column_filter(app: Server, page: Page) -> None:
    open_failures(page, app)
    field = page.get_by_role("combobox", name="is")
    field.click()
    field.fill("P059")
    page.get_by_role("option", name=re.compile("P059")).click()
    count(page, "2 of these 152")
    assert "slice=group_id%3DP059" in page.url
    assert sorted(names(page)) == ["P059-0", "P059-1"]
    page.reload()
    settle(page)
    count(page, "2 of these 152")


@pytest.mark.parametrize("order", SORTS)
def test_each_order_puts_its_worst_first(app: Server, page: Page, order: str) -> None:
    open_failures(page, app, "&sort=margin" if order == "rank" else "")
    page.get_by_role("radio", name=re.compile(f"^{order}$", re.IGNORECASE)).click()
    expect(page.locator(TITLES)).to_have_text(worst(order)[:24])
    assert (f"sort={order}" in page.url) == (order != "rank")


def test_enter_opens_the_query_within_the_list_and_j_and_k_step_through_it(app: Server, page: Page) -> None:
    open_failures(page, app, "&reason=deep&sort=margin")
    wanted = names(page)
    tiles(page).first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    on_query(page, 2)
    panel = page.locator(".gallery .panel .title").first
    expect(panel).to_have_text(wanted[1])
    expect(page.locator(".gallery .stepper .where")).to_have_text("2 of 85 failures")
    settle(page)
    page.keyboard.press("j")
    showing(page, 3)
    expect(panel).to_have_text(wanted[2])
    page.keyboard.press("k")
    page.keyboard.press("k")
    showing(page, 1)
    expect(panel).to_have_text(wanted[0])
    settle(page)
    page.reload()
    settle(page)
    expect(page.locator(".gallery .panel .title").first).to_have_text(wanted[0])


def test_the_way_back_leads_to_the_page_of_the_tile(app: Server, page: Page) -> None:
    open_failures(page, app, "&sort=margin")
    page.get_by_role("button", name="Next page").click()
    second = worst("margin")[24:48]
    expect(page.locator(TITLES)).to_have_text(second)
    settle(page)
    tiles(page).nth(3).click()
    on_query(page, 28)
    page.get_by_role("link", name="Back to the failures").click()
    expect(page.locator(TITLES)).to_have_text(second)
    settle(page)
    page.go_back()
    on_query(page, 28)
    page.go_back()
    expect(page.locator(TITLES)).to_have_text(second)


def test_back_walks_through_the_failures_as_they_were_seen(app: Server, page: Page) -> None:
    open_failures(page, app)
    tiles(page).first.click()
    on_query(page, 1)
    for at in (2, 3):
        page.keyboard.press("j")
        on_query(page, at)
    for at in (2, 1):
        page.go_back()
        on_query(page, at)
    page.go_back()
    expect(page.get_by_role("heading", name="Failures", exact=True)).to_be_visible()
    count(page, ALL)


def test_a_link_into_the_list_shows_a_colleague_the_same_place(fresh_app: Server, page: Page) -> None:
    open_page(page, fresh_app, "/query?data=photo_patches&failure=view1-%3Eview0:60&reason=deep&lang=en")
    showing(page, 1)
    expect(page.locator(".gallery .stepper .where")).to_have_text("1 of 85 failures")
    page.get_by_role("button", name="Step through all queries").click()
    expect(page.get_by_text("Query 60 of 240")).to_be_visible()


def test_the_downloaded_file_is_what_the_command_prints(
    app: Server, page: Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    open_failures(page, app, "&reason=deep&sort=ap&slice=photo%3Dchina.jpg")
    count(page, "of these 152")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    download.value.save_as(tmp_path / "failures.csv")
    words = page.get_by_text(shlex.join([*PROGRAM, "failures"])).inner_text().split()
    assert cli.main(words[len(PROGRAM) :]) == 0
    assert (tmp_path / "failures.csv").read_text(encoding="utf-8") == capsys.readouterr().out


def test_the_slider_makes_the_lab_harder_until_it_fails(app: Server, page: Page) -> None:
    open_page(page, app, "/failures?data=glyphlab")
    expect(page.get_by_text("No failure at k = 1")).to_be_visible()
    slider = page.get_by_role("slider")
    slider.focus()
    for _press in range(16):
        page.keyboard.press("ArrowRight")
    count(page, "6 of 60 queries miss at k = 1")
    assert "corrupt=noise%3A0.8" in page.url
    page.get_by_role("radio", name="blur").click()
    page.wait_for_url(re.compile("corrupt=blur"))
    page.go_back()
    count(page, "6 of 60 queries miss at k = 1")


def test_the_slider_keeps_the_focus_when_the_first_failure_comes_in(app: Server, page: Page) -> None:
    open_page(page, app, "/failures?data=glyphlab&corrupt=noise%3A0.2")
    slider = page.get_by_role("slider")
    slider.focus()
    for percent in range(25, 85, 5):  # each press is waited for: the slowest hand
        page.keyboard.press("ArrowRight")
        page.wait_for_url(re.compile(f"corrupt=noise%3A{percent / 100:g}(&|$)"))
        settle(page)
        expect(slider).to_be_focused()
    count(page, "6 of 60 queries miss at k = 1")


def test_the_class_with_the_own_scene_left_out_is_one_click_away(app: Server, page: Page) -> None:
    open_page(page, app, "/failures?data=glyphlab")
    page.get_by_role("button", name="Ask for the same orientation, not the same scene_id").click()
    expect(page.get_by_text("No failure at k = 1")).to_have_count(0)
    assert "junk_same=scene_id" in page.url


def test_examples_of_a_finding_unfold_as_pictures(app: Server, page: Page) -> None:
    open_page(page, app, "/query?data=glyphlab&split=random")
    expect(page.get_by_text("16 of 30 queries have nothing relevant").first).to_be_visible()
    expect(page.locator(".gallery")).to_have_count(1)
    page.get_by_text("Examples of what is suspicious").click()
    expect(page.locator(".gallery").first.locator(".tile img")).to_have_count(5)


def test_the_formula_of_a_querys_ap_unfolds(dark_page: Page, app: Server) -> None:
    open_page(dark_page, app, "/query?data=glyphlab&relevant=orientation&junk_same=scene_id&encoder=mean&q=4")
    dark_page.get_by_text("Why does this query have this AP?").click()
    expect(dark_page.locator(".katex").first).to_contain_text("0.4404")
    expect(dark_page.get_by_text("No tie matters here")).to_be_visible()
