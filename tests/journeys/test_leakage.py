"""Journeys over the page on leakage in a real browser."""

import re

import pytest

from recall_core.experiments.leakage import draws, experiment
from tests.browser import Server, open_page, settle, showing

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page

ALL_DRAWS = re.compile(r"^200 draws")
PATIENCE_MS = 60_000


def all_drawn(page: Page) -> None:
    """Wait until the draws have grown to all of them."""
    expect(page.get_by_text(ALL_DRAWS)).to_be_visible(timeout=PATIENCE_MS)
    settle(page)


def card(page: Page, label: str) -> playwright.Locator:
    """The number on a card."""
    return page.get_by_test_id("stMetric").filter(has_text=label).get_by_test_id("stMetricValue")


def test_moving_the_toggle_moves_the_score_in_view_to_the_right_value(app: Server, page: Page) -> None:
    table = draws.all_draws(draws.halves(experiment.lab()), range(200))
    means = table.groupby("split")["recall@1"].mean()
    open_page(page, app, "/leakage")
    all_drawn(page)
    score = card(page, "R@1, lost counts as missed")
    expect(score).to_have_text(f"{means['random']:.4f}")
    expect(score).to_be_in_viewport()
    page.get_by_role("radio", name="grouped").click()
    expect(score).to_have_text(f"{means['by-view']:.4f}")
    expect(score).to_be_in_viewport()
    expect(page.locator(".js-plotly-plot").first).to_be_in_viewport()
    settle(page)
    assert "draw=grouped" in page.url
    page.go_back()
    expect(score).to_have_text(f"{means['random']:.4f}")


def test_each_part_shows_its_numbers_and_the_toggle_moves_the_trained_score(app: Server, page: Page) -> None:
    open_page(page, app, "/leakage")
    page.get_by_role("radio", name="The same picture twice").click()
    expect(card(page, "Each finds itself")).to_have_text("1.0000")
    expect(card(page, "Sees nothing")).to_have_text("0.0333")
    expect(page.get_by_role("radio", name="grouped")).to_be_disabled()
    page.get_by_role("radio", name="Training").click()
    all_drawn(page)
    learned = card(page, "Learned: ridge")
    at_random = float(learned.inner_text())
    expect(page.get_by_text("pairs cross the border")).to_be_visible()
    page.get_by_role("radio", name="grouped").click()
    expect(page.get_by_text("Nothing crosses the border")).to_be_visible()
    settle(page)
    assert at_random - float(learned.inner_text()) > 0.3


def test_draws_grow_by_themselves_and_then_rest(fresh_app: Server, page: Page) -> None:
    open_page(page, fresh_app, "/leakage?data=photo_patches&on=chosen")
    all_drawn(page)
    expect(page.get_by_text("more are coming")).to_have_count(0)
    expect(page.locator("code", has_text="--seeds 200")).to_be_visible()


def test_own_data_with_another_column_to_learn(app: Server, page: Page) -> None:
    open_page(page, app, "/leakage?data=photo_patches&part=training")
    page.get_by_role("radio", name="photo_patches").click()
    expect(page.get_by_text("These data cannot show this part")).to_be_visible()
    page.get_by_role("combobox", name=re.compile("Is to be learned")).click()
    page.get_by_role("option", name="photo", exact=True).click()
    expect(card(page, "Learned: ridge")).to_be_visible(timeout=60_000)  # it trains first
    settle(page)
    assert "label_column=photo" in page.url
    expect(page.locator("code", has_text="--column label=photo")).to_be_visible()


def test_a_lost_query_opens_with_its_draw_as_the_split(app: Server, page: Page) -> None:
    open_page(page, app, "/leakage?drawn=2")
    page.locator(".gallery .grid button.tile").first.click()
    expect(page.get_by_role("heading", name="Query", exact=True)).to_be_visible()
    settle(page)
    expect(page.locator(".gallery .panel").first).to_contain_text("nothing in the gallery is right")
    for part in ("data=glyphlab", "split=random", "seed=2"):
        assert part in page.url


def test_another_draw_shows_other_pictures(app: Server, page: Page) -> None:
    lost = draws.random_draw(draws.halves(experiment.lab()), 8).n_lost
    open_page(page, app, "/leakage")
    number = page.get_by_role("spinbutton", name="Draw number")
    number.fill("8")
    number.press("Enter")
    expect(page.get_by_text(f"{lost} of 30 queries have nothing right to find")).to_be_visible()
    expect(page.locator(".gallery .grid button.tile")).to_have_count(lost)
    settle(page)
    assert "drawn=8" in page.url


def test_changing_the_language_keeps_the_part_and_the_toggle(app: Server, page: Page) -> None:
    open_page(page, app, "/leakage?part=training&draw=grouped")
    page.get_by_role("radio", name="hu").click()
    expect(page.get_by_role("heading", name="Szivárgás", exact=True)).to_be_visible()
    expect(page.get_by_role("radio", name="Tanítás")).to_be_checked()
    expect(page.get_by_role("radio", name="csoportos")).to_be_checked()
    settle(page)
    page.reload()
    settle(page)
    expect(page.get_by_role("radio", name="Tanítás")).to_be_checked()
    expect(page.get_by_role("radio", name="csoportos")).to_be_checked()


def test_dark_visitors_read_the_page_too(app: Server, dark_page: Page) -> None:
    open_page(dark_page, app, "/leakage?draw=grouped")
    expect(card(dark_page, "R@1, lost counts as missed")).to_be_visible()
    colour = "(node) => getComputedStyle(node).color"
    assert card(dark_page, "R@1, lost counts as missed").evaluate(colour) == "rgb(228, 232, 234)"


def test_leaving_while_draws_come_in_is_calm(fresh_app: Server, page: Page) -> None:
    open_page(page, fresh_app, "/leakage?part=training")
    page.get_by_role("link", name="Query").click()
    showing(page, 1)
    settle(page)
    expect(page.get_by_test_id("stException")).to_have_count(0)
