"""No page has a serious fault for those who cannot see it well, or use the keyboard alone."""

import pytest

from tests.browser import Server, open_page, settle

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install -r tests/requirements.txt")

Page = playwright.Page

PAGES = (
    "/?data=photo_patches",
    "/overview?data=photo_patches",
    "/overview?data=photo_patches&tab=slices",
    "/overview?data=photo_patches&tab=curves",
    "/failures?data=photo_patches",
    "/query?data=photo_patches",
    "/compare?data=photo_patches",
    "/lesson?data=glyphlab",
    "/exercises?data=glyphlab",
    "/leakage?data=glyphlab",
    "/definitions?data=glyphlab",
    "/index?data=glyphlab",
)

KNOWN = {"list", "listitem"}
"""Streamlit's navigation puts the titles of its sections, <p>, between the <li> of its <ul>: not ours to mend."""

GRAVE = ("serious", "critical")


def grave_faults(page: Page) -> list[str]:
    """What axe finds, but for what is known; each as its rule and where it is."""
    found = axe.Axe().run(page).response["violations"]
    faults = [
        f"{one['id']}: {node['target']} {node['html'][:160]} {node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"]
        if one["impact"] in GRAVE and not is_known(page, one["id"], node["target"])
    ]
    return faults


def is_known(page: Page, rule: str, target: list[object]) -> bool:
    inside = "(at) => document.querySelector(at).closest('[data-testid=stSidebarNav]') !== null"
    return rule in KNOWN and len(target) == 1 and bool(page.evaluate(inside, target[0]))


def look(page: Page, app: Server, address: str) -> None:
    open_page(page, app, address)
    page.locator("h1").first.wait_for()
    settle(page)
    assert grave_faults(page) == []


@pytest.mark.parametrize("address", PAGES)
def test_a_light_page_has_no_serious_fault(app: Server, page: Page, address: str) -> None:
    look(page, app, address)


@pytest.mark.parametrize("address", PAGES)
def test_a_dark_page_has_no_serious_fault(app: Server, dark_page: Page, address: str) -> None:
    look(dark_page, app, address)


@pytest.mark.parametrize(("key", "opened"), [("n", "form.writing"), ("?", "dialog.sheet")])
def test_what_a_key_opens_has_no_serious_fault(app: Server, page: Page, key: str, opened: str) -> None:
    open_page(page, app, "/query?data=photo_patches")
    page.locator(".triage").wait_for()
    settle(page)
    page.keyboard.press(key)
    page.locator(opened).wait_for()
    assert grave_faults(page) == []
