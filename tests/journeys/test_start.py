"""Journeys on Start: uploads of two visitors, export and back, findings with pictures, text that stays text."""

import io
import shlex
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recall_core.datasets.dataset import load
from recall_core.datasets.uploads import load_upload
from tests.browser import Server, open_page, settle
from tests.conftest import DATA, PROGRAM
from tests.datasets.test_readers import png

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page
Browser = playwright.Browser

EVIL = "<img src=x onerror=alert(1)> **x** [a](javascript:alert(1)) $x$ :material/home: :red[y] `z` &lt;b&gt;"
"""Text that would be something else if it were read as HTML or Markdown."""


def zipped(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return stream.getvalue()


def evil_set() -> bytes:
    """Two groups of two, with names, a column and a file that try to be markup."""
    names = [f"{EVIL} {i // 2}".replace("/", "∕") for i in range(4)]
    header = f'path,group,"{EVIL}"\n'
    rows = "".join(f'"{name} {i}.png","{EVIL} {i // 2}","{EVIL}"\n' for i, name in enumerate(names))
    files = {f"{name} {i}.png": png(40 * (i % 2)) for i, name in enumerate(names)}
    return zipped(**{"metadata.csv": (header + rows).encode()}, **files)


def upload(page: Page, name: str, content: bytes) -> None:
    page.get_by_role("button", name="Upload files").click()
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "application/zip", "buffer": content})
    page.get_by_test_id("stFileChip").wait_for()
    settle(page)
    page.get_by_role("button", name="Read these files").click()
    page.get_by_text("Only you see it").wait_for()
    settle(page)
    page.keyboard.press("Escape")


def chosen(page: Page) -> Any:
    return page.get_by_role("combobox", name="Data set")


@pytest.fixture
def dialogs(page: Page) -> Iterator[list[str]]:
    """What scripts of the data managed to say; nothing, that is."""
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    yield said
    assert said == []


def test_an_upload_is_seen_on_every_page_by_its_visitor_alone(app: Server, page: Page, chromium: Browser) -> None:
    open_page(page, app, "/")
    upload(page, "shop.zip", zipped(**{f"{c}/{i}.png": png(i) for c in ("cat", "dog") for i in range(2)}))
    name = chosen(page).input_value()
    assert name.startswith("shop-")
    for link in ("Overview", "Failures", "Query"):
        page.get_by_role("link", name=link, exact=True).click()
        expect(page.get_by_role("heading", name=link, exact=True)).to_be_visible()
        settle(page)
        expect(page.get_by_text(f"{name} ·").first).to_be_visible()
    assert f"data={name}" in page.url
    context = chromium.new_context()
    other = context.new_page()
    open_page(other, app, f"/?data={name}")
    expect(other.get_by_text(f"{name} is not here").first).to_be_visible()
    expect(other.get_by_role("heading", name="4 pictures")).to_have_count(0)
    open_page(other, app, f"/overview?data={name}")
    expect(other.get_by_text(f"{name} is not here").first).to_be_visible()
    expect(other.get_by_test_id("stMetric")).to_have_count(0)
    context.close()


def test_what_is_exported_comes_back_the_same(app: Server, page: Page, tmp_path: Path) -> None:
    open_page(page, app, "/?data=glyphlab")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Export").click()
    assert waiting.value.suggested_filename == "glyphlab.zip"
    content = Path(waiting.value.path()).read_bytes()
    assert (
        load_upload([("glyphlab.zip", content)], tmp_path / "back").fingerprint == load(DATA / "glyphlab").fingerprint
    )
    upload(page, "glyphlab.zip", content)
    expect(page.get_by_role("heading", name="360 pictures")).to_be_visible()
    assert chosen(page).input_value().startswith("glyphlab-")


def test_a_refused_file_is_explained_at_its_door(app: Server, page: Page) -> None:
    open_page(page, app, "/")
    page.get_by_role("button", name="Upload files").click()
    page.locator("input[type=file]").set_input_files({"name": "x.zip", "mimeType": "", "buffer": b"no zip"})
    page.get_by_test_id("stFileChip").wait_for()
    settle(page)
    page.get_by_role("button", name="Read these files").click()
    expect(page.get_by_text("x.zip cannot be unpacked")).to_be_visible()
    expect(chosen(page)).to_have_value("photo_patches")


def test_a_pair_of_twins_opens_side_by_side(app: Server, page: Page) -> None:
    open_page(page, app, "/")
    upload(page, "twins.zip", zipped(**{"a/1.png": png(0), "a/2.png": png(7), "b/3.png": png(0), "b/4.png": png(90)}))
    page.get_by_role("tab", name="Findings").click()
    expect(page.get_by_text("1 pair of items is exactly the same").first).to_be_visible()
    settle(page)
    page.locator("button.tile").first.click()
    expect(page.get_by_role("heading", name="Side by side")).to_be_visible()
    large = page.get_by_role("group", name="Side by side").locator(".tile")
    expect(large).to_have_count(2)
    left, right = (large.nth(i).bounding_box() for i in range(2))
    assert (left["y"], left["width"]) == (right["y"], right["width"])
    assert left["x"] + left["width"] <= right["x"]
    expect(page.get_by_text("label: a | b")).to_be_visible()


@pytest.mark.usefixtures("dialogs")
def test_names_from_the_data_stay_text_everywhere(app: Server, page: Page) -> None:
    open_page(page, app, "/")
    upload(page, f"{EVIL.replace('/', '∕').replace(':', '')}.zip", evil_set())
    for tab in ("Columns", "Findings"):
        page.get_by_role("tab", name=tab).click()
        settle(page)
        only_text(page)
    expect(page.get_by_text(shlex.join([*PROGRAM, "audit"]))).to_be_visible()
    only_text(page)
    for link in ("Overview", "Failures", "Query", "Leakage", "Definitions"):
        page.get_by_role("link", name=link, exact=True).click()
        expect(page.get_by_role("heading", name=link, exact=True)).to_be_visible()
        settle(page)
        only_text(page)


MARKUP = """() => {
  const found = [];
  const walk = (root) => root.querySelectorAll('*').forEach((node) => {
    const text = node.textContent.trim();
    if (node.tagName === 'IMG' && node.getAttribute('src') === 'x') found.push('an image');
    if (node.tagName === 'A' && /^javascript:/i.test(node.getAttribute('href') ?? '')) found.push('a script in a link');
    if (node.tagName === 'A' && text === 'a') found.push('a link');
    if (['STRONG', 'B'].includes(node.tagName) && text === 'x') found.push('bold');
    if (node.tagName === 'CODE' && text === 'z') found.push('code');
    if (node.classList.contains('katex') && /^x+$/.test(text)) found.push('a formula');
    if (node.dataset.testid === 'stIconMaterial' && text === 'home') found.push('an icon');
    if (node.classList.contains('stMarkdownColoredText') && text === 'y') found.push('a colour');
    if (node.shadowRoot) walk(node.shadowRoot);
  });
  walk(document);
  return [...new Set(found)];
}"""
"""What of ``EVIL`` became something else than text."""


def only_text(page: Page) -> None:
    assert page.evaluate(MARKUP) == []
