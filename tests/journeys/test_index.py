"""Journeys over the page on indexes in a real browser."""

import re

import pytest

from tests.browser import Server, open_page, settle

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page

PATIENCE_MS = 180_000
LOSSY = "/index?data=photo_patches&index=ivf-pq&nprobe=2"


def measured(page: Page) -> None:
    """Wait until the results stand."""
    expect(card(page, "Exact R@10: the vectors")).to_be_visible(timeout=PATIENCE_MS)
    settle(page)


def card(page: Page, label: str) -> playwright.Locator:
    """The number on a card."""
    return page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue")


def test_a_fresh_server_opens_a_link_to_a_configuration(fresh_app: Server, page: Page) -> None:
    open_page(page, fresh_app, LOSSY)
    measured(page)
    expect(page.get_by_role("slider", name=re.compile("nprobe"))).to_have_attribute("aria-valuetext", "2")
    expect(page.locator(".js-plotly-plot")).to_be_in_viewport()
    expect(page.locator("code", has_text="ann photo_patches")).to_be_visible()


def test_the_slider_moves_the_marked_configuration_and_the_address(app: Server, page: Page) -> None:
    open_page(page, app, LOSSY)
    measured(page)
    page.get_by_role("slider", name=re.compile("nprobe")).press("ArrowRight")
    expect(page.locator("strong").get_by_text(re.compile(r"^ivf-pq .*nprobe=4$"))).to_be_visible()
    settle(page)
    assert "nprobe=4" in page.url
    page.go_back()
    expect(page.locator("strong").get_by_text(re.compile(r"^ivf-pq .*nprobe=2$"))).to_be_visible()
    page.get_by_role("radio", name="hnsw").click()
    expect(page.get_by_role("slider", name=re.compile("efSearch"))).to_be_visible()
    settle(page)


def test_a_lost_query_shows_its_exact_list_beside_the_indexs(app: Server, page: Page) -> None:
    open_page(page, app, LOSSY)
    measured(page)
    lost = page.locator(".gallery button.tile")
    second = lost.nth(1)
    name = second.locator(".title").first.inner_text()
    second.click()
    expect(page.get_by_text(f"The lists of {name}")).to_be_visible()
    settle(page)
    lists = page.locator(".gallery").filter(has=page.locator(".grid .badge", has_text=re.compile("^10$")))
    expect(lists).to_have_count(2)
    expect(lists.nth(0).locator(".tile.right")).not_to_have_count(0)
    expect(lists.nth(1).locator(".tile.right")).to_have_count(0)


def test_slow_vectors_begin_by_a_button_show_progress_and_stay(fresh_app: Server, page: Page) -> None:
    open_page(page, fresh_app, "/index?vectors=made&size=100000")
    page.get_by_role("button", name=re.compile("^Measure")).click()
    expect(page.get_by_role("progressbar")).to_be_visible(timeout=PATIENCE_MS)
    measured(page)
    expect(page.get_by_role("progressbar")).to_have_count(0)
    exact = card(page, "Exact R@10: the vectors").inner_text()
    page.reload()
    measured(page)
    expect(card(page, "Exact R@10: the vectors")).to_have_text(exact)


def test_leaving_while_it_measures_is_calm(fresh_app: Server, page: Page) -> None:
    open_page(page, fresh_app, "/index?vectors=made&size=100000")
    page.get_by_role("button", name=re.compile("^Measure")).click()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("heading", name="Overview", exact=True)).to_be_visible()
    settle(page)
    expect(page.get_by_test_id("stException")).to_have_count(0)


def test_dark_visitors_read_the_page_in_hungarian(app: Server, dark_page: Page) -> None:
    open_page(dark_page, app, LOSSY + "&lang=hu")
    number = card(dark_page, "Egzakt R@10: a vektorok")
    expect(number).to_be_visible(timeout=PATIENCE_MS)
    settle(dark_page)
    assert number.evaluate("(node) => getComputedStyle(node).color") == "rgb(228, 232, 234)"
