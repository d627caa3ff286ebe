"""Journeys through slices, curves and comparisons with the keyboard, in a real browser."""

import re
from pathlib import Path

import pytest

from recall_core.datasets.dataset import load
from recall_core.evaluation.wiring import evaluate
from tests.browser import Server, open_page, serve, settle
from tests.conftest import SHARED, needs_shared

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page


def test_a_slice_narrows_overview_and_failures_and_back_widens_it(app: Server, page: Page) -> None:
    open_page(page, app, "/overview?data=photo_patches")
    page.get_by_role("tab", name="Slices").click()
    row = page.get_by_role("table", name="Slices, the worst first").get_by_role("button").first
    expect(row).to_be_visible()
    settle(page)
    assert "tab=slices" in page.url
    row.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile("^Only [0-9]+ of 480 queries"))).to_be_visible()
    settle(page)
    assert "slice=" in page.url
    page.go_back()
    expect(page.get_by_role("button", name="All queries again")).to_have_count(0)
    page.go_forward()
    page.get_by_role("link", name="Failures of this slice").click()
    expect(page.get_by_text(re.compile("of these 152"))).to_be_visible()
    assert "slice=" in page.url


def test_a_lost_query_is_looked_at_in_both_runs(app: Server, page: Page) -> None:
    open_page(page, app, "/compare?data=photo_patches&runs=raw,colour")
    moved = page.get_by_role("table", name="Queries").get_by_role("button")
    expect(moved.first).to_be_visible()
    settle(page)
    wanted = moved.nth(2).inner_text()
    moved.nth(2).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"Query {wanted} in both")).to_be_visible()
    settle(page)
    assert "on=view" in page.url
    page.reload()
    settle(page)
    expect(page.get_by_text(f"Query {wanted} in both")).to_be_visible()
    expect(page.locator(".gallery")).to_have_count(2)


def test_the_tables_of_runs_are_taken_home(app: Server, page: Page) -> None:
    open_page(page, app, "/compare?data=glyphlab&runs=raw,mean,orientation")
    expect(page.get_by_role("table", name="Differences").locator("tbody tr")).to_have_count(6)
    for button, begins in (("Table as CSV", "run,metric,value"), ("Table as LaTeX", "% 60 queries")):
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        assert Path(download.value.path()).read_text("utf-8").startswith(begins)


def test_the_report_opens_by_itself(app: Server, page: Page) -> None:
    open_page(page, app, "/overview?data=glyphlab&encoder=mean")
    with page.expect_download() as download:
        page.get_by_role("button", name="Report as one HTML file").click()
    text = Path(download.value.path()).read_text("utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "Recall of" in text


def test_points_that_are_drawn_around_lead_to_their_failures(app: Server, page: Page) -> None:
    open_page(page, app, "/overview?data=photo_patches&tab=curves")
    plot = page.locator(".js-plotly-plot").nth(2)
    plot.scroll_into_view_if_needed()
    settle(page)
    box = plot.locator(".nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.35, box["y"] + box["height"] * 0.4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.6, steps=8)
    page.mouse.up()
    page.get_by_role("link", name=re.compile("^Failures among these")).click()
    expect(page.get_by_role("heading", name="Failures", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile("of these 152"))).to_be_visible()
    assert "slice=" in page.url


@needs_shared
def test_product_photographs_are_sliced_and_compared(tmp_path: Path, dark_page: Page) -> None:
    with serve(tmp_path, RECALL_DATA_ROOT=str(SHARED / "data")) as app:
        open_page(dark_page, app, "/overview?data=grocery&encoder=colour&tab=slices")
        dark_page.get_by_role("button", name="Juice", exact=True).click()
        expect(dark_page.get_by_text("Only 40 of 324 queries")).to_be_visible()
        settle(dark_page)
        open_page(dark_page, app, "/compare?data=grocery&runs=raw,colour,gradient")
        expect(dark_page.get_by_role("table", name="Runs").locator("tbody tr")).to_have_count(3)
        expect(dark_page.locator(".gallery")).to_have_count(2)
        settle(dark_page)


def press(page: Page, target: playwright.Locator) -> None:
    """Put the focus on it and press Enter: the mouse takes no part."""
    target.focus()
    expect(target).to_be_focused()
    page.keyboard.press("Enter")


@pytest.mark.parametrize(
    ("tab", "chart"), [("numbers", "Found among the first k (R@k)"), ("curves", "Map of the vectors")]
)
def test_a_chart_is_taken_home_as_png_and_svg_by_keyboard(app: Server, page: Page, tab: str, chart: str) -> None:
    open_page(page, app, f"/overview?data=photo_patches&tab={tab}")
    for kind, begins in (("PNG", b"\x89PNG\r\n"), ("SVG", b"<svg")):
        button = page.get_by_role("button", name=f"{chart}: save as {kind}")
        expect(button).to_be_visible()
        with page.expect_download() as download:
            press(page, button)
        assert download.value.suggested_filename.endswith(f".{kind.lower()}")
        assert Path(download.value.path()).read_bytes().startswith(begins)


def test_a_click_on_a_curve_opens_the_failures_at_its_k(app: Server, page: Page) -> None:
    open_page(page, app, "/overview?data=photo_patches")
    plot = page.locator(".st-key-recall_at_k .js-plotly-plot")
    plot.scroll_into_view_if_needed()
    settle(page)
    x, y = plot.evaluate(
        """(plot) => {
          const line = plot._fullData.find((trace) => trace.customdata);
          const at = [...line.x].indexOf(5), {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
          return [box.left + xaxis._offset + xaxis.d2p(5), box.top + yaxis._offset + yaxis.d2p(line.y[at])];
        }"""
    )
    page.mouse.move(x, y)
    page.mouse.click(x, y)
    expect(page.get_by_role("heading", name="Failures", exact=True)).to_be_visible()
    settle(page)
    assert "k=5" in page.url


def test_failures_are_reached_from_a_k_and_from_the_map_by_keyboard(app: Server, page: Page) -> None:
    open_page(page, app, "/overview?data=photo_patches")
    press(page, page.get_by_role("button", name="5 · 105"))
    expect(page.get_by_text(re.compile("of these 105|105 of 480"))).to_be_visible()
    settle(page)
    assert "k=5" in page.url
    open_page(page, app, "/overview?data=photo_patches&tab=curves")
    pill = page.get_by_role("button", name="miss · 152")
    press(page, pill)
    link = page.get_by_role("link", name="Their failures")
    expect(link).to_be_visible()
    settle(page)
    press(page, link)
    expect(page.get_by_role("heading", name="Failures", exact=True)).to_be_visible()


def test_a_run_is_saved_and_compared_by_keyboard(app: Server, page: Page) -> None:
    open_page(page, app, "/overview?data=glyphlab&encoder=mean")
    press(page, page.get_by_role("button", name="Save this run"))
    name = page.get_by_label("Name", exact=True)
    expect(name).to_be_visible()
    name.focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("kept")
    page.keyboard.press("Enter")
    settle(page)
    press(page, page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("Saved as kept.")).to_be_visible()
    open_page(page, app, "/compare?data=glyphlab&runs=raw,saved:kept")
    expect(page.get_by_role("table", name="Runs").locator("tbody tr")).to_have_count(2)


def test_epochs_are_drawn_in_the_order_of_their_numbers(tmp_path: Path, page: Page) -> None:
    for number, encoder in ((1, "mean"), (2, "orientation"), (10, "raw")):
        evaluate(load("data/glyphlab"), encoder=encoder).save(tmp_path / "state" / "runs" / f"net-e{number:02}")
    with serve(tmp_path) as app:
        open_page(page, app, "/compare?data=glyphlab&runs=saved:net-e10,saved:net-e02,saved:net-e01")
        ticks = page.locator(".st-key-trend .xtick")
        expect(ticks).to_have_text(["1", "2", "10"])
        rows = page.get_by_role("table", name="Runs").locator("tbody tr td:first-child")
        expect(rows).to_have_text(["saved:net-e01", "saved:net-e02", "saved:net-e10"])
        expect(page.locator(".st-key-trend .errorbar")).to_have_count(3)
        settle(page)


@needs_shared
def test_product_photographs_by_keyboard_alone(tmp_path: Path, page: Page) -> None:
    with serve(tmp_path, RECALL_DATA_ROOT=str(SHARED / "data")) as app:
        open_page(page, app, "/overview?data=grocery&encoder=colour&tab=slices")
        worst = page.get_by_role("table", name="Slices, the worst first").get_by_role("button").first
        expect(worst).to_be_visible()
        press(page, worst)
        expect(page.get_by_text(re.compile("^Only [0-9]+ of 324 queries"))).to_be_visible()
        settle(page)
        page.go_back()
        expect(page.get_by_role("button", name="All queries again")).to_have_count(0)
        open_page(page, app, "/overview?data=grocery&encoder=colour&tab=curves")
        press(page, page.get_by_role("button", name=re.compile("^miss · ")))
        expect(page.get_by_role("link", name="Their failures")).to_be_visible()
        open_page(page, app, "/compare?data=grocery&runs=raw,colour")
        press(page, page.get_by_role("button", name="gradient", exact=True))
        expect(page.get_by_role("table", name="Runs").locator("tbody tr")).to_have_count(3, timeout=60_000)
        moved = page.get_by_role("table", name="Queries").get_by_role("button")
        settle(page)
        wanted = moved.nth(1).inner_text()
        press(page, moved.nth(1))
        expect(page.get_by_text(f"Query {wanted} in both")).to_be_visible()
        expect(page.locator(".gallery")).to_have_count(2)
        settle(page)
