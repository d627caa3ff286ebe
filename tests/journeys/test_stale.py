"""Journeys with files that are written while they are shown, and with addresses of data that are not here."""

from pathlib import Path

import pytest

from tests.browser import open_page, serve, settle
from tests.datasets.test_readers import png
from tests.pages.test_stale import GREYS, SWAPPED, write, write_set

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page


def first_card(page: Page) -> str:
    return str(page.get_by_test_id("stMetricValue").first.inner_text())


def test_a_page_that_is_reloaded_shows_the_number_of_the_files_as_they_are_now(page: Page, tmp_path: Path) -> None:
    folder = write_set(tmp_path / "root" / "mine", GREYS)
    with serve(tmp_path, RECALL_DATA_ROOT=str(tmp_path / "root")) as server:
        open_page(page, server, "/overview?data=mine&similarity=euclidean")
        assert first_card(page) == "1.0000"
        for name, grey in SWAPPED.items():
            write(folder / name, png(grey))
        page.reload()
        settle(page)
        assert first_card(page) == "0.0000"


def test_the_address_of_a_set_that_is_not_here_stays_and_leads_to_the_upload(page: Page, tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        open_page(page, server, "/overview?data=shop-0a1b2c&encoder=mean")
        expect(page.get_by_text("shop-0a1b2c is not here")).to_be_visible()
        assert page.get_by_test_id("stMetricValue").count() == 0
        assert "data=shop-0a1b2c" in page.url
        page.reload()
        settle(page)
        expect(page.get_by_text("shop-0a1b2c is not here")).to_be_visible()
        page.get_by_role("button", name="Go to the upload").click()
        page.get_by_role("button", name="Upload files").wait_for()
        settle(page)
        expect(page.get_by_text("shop-0a1b2c is not here")).to_be_visible()
        page.get_by_role("button", name="Open glyphlab").click()
        page.get_by_role("button", name="Copy link").wait_for()
        settle(page)
        assert first_card(page) == "1.0000"
