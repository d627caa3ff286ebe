"""The commands that open the app, each as a process of its own, and the pages that they open, in a real Chromium."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser import Log, Server, open_page, settle
from tests.conftest import DATA, ROOT
from tests.datasets.test_readers import png

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")
expect, Browser, Page = playwright.expect, playwright.Browser, playwright.Page


READY = "Ctrl-C ends it"


@contextmanager
def command(
    folder: Path, *arguments: str, end: signal.Signals = signal.SIGINT, **environment: str
) -> Iterator[tuple[str, Log]]:
    """Run a command from an empty folder; give the address that it prints, and end it, which it must do in order."""
    empty = folder / "empty"
    empty.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "recall_core", *arguments],
        cwd=empty,
        env=os.environ | {"PYTHONPATH": str(ROOT), "RECALL_STATE_DIR": str(folder / "state")} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    log = Log(process, READY)
    try:
        assert log.listening.wait(timeout=240), f"the app did not start:\n{log.text}"
        yield next(word for word in log.text.split() if word.startswith("http://")), log
        process.send_signal(end)
        assert process.wait(timeout=30) == 0, log.text
    finally:
        process.kill()
        process.wait()
        log.thread.join(timeout=20)
    assert "Traceback" not in log.text, log.text
    assert "Streamlit" not in log.text, "no word of its own"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A data set: images in folders, a folder a class."""
    for i in range(4):
        folder = tmp_path / "my shop" / ("cat", "dog")[i // 2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i}.png").write_bytes(png(i))
    return tmp_path / "my shop"


def test_app_opens_the_folder_and_ends_in_order(shop: Path, tmp_path: Path, page: Page) -> None:
    with command(tmp_path, "app", str(shop), "--no-browser") as (address, _log):
        assert address.endswith("/overview?data=my+shop")
        health = address.replace("/overview?data=my+shop", "/_stcore/health")
        assert urllib.request.urlopen(health).read() == b"ok"
        page.goto(address)
        settle(page)
        expect(page.get_by_text("4 queries,")).to_be_visible()
        expect(page.get_by_text("Page not found")).to_have_count(0)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_as_soon_as_the_app_is_there_ends_it_in_order(tmp_path: Path, end: signal.Signals) -> None:
    with command(tmp_path, "app", "--no-browser", end=end):
        pass


def test_a_folder_typed_at_this_machine_is_opened(shop: Path, tmp_path: Path, page: Page) -> None:
    with command(tmp_path, "app", "--no-browser", end=signal.SIGTERM) as (address, log):
        server = Server(address.removesuffix("/"), log.process)
        open_page(page, server, "/")
        page.get_by_role("button", name="Open a folder").click()
        page.get_by_label("Path of a folder").fill(str(shop))
        page.get_by_test_id("stBaseButton-secondaryFormSubmit").get_by_text("Open", exact=True).click()
        expect(page.get_by_text("my shop · 4 pictures")).to_be_visible()
        settle(page)


def test_a_class_gets_an_address_and_no_code_or_folders(
    tmp_path: Path, page: Page, profiles: "dict[str, playwright.BrowserContext]"
) -> None:
    with command(tmp_path, "class", "--address", "localhost", RECALL_CODE_BOX="1") as (address, log):
        assert "█▀" in log.text, "a code for telephones"
        server = Server(address.removesuffix("/"), log.process)
        open_page(page, server, "/")
        expect(page.get_by_text("Upload files")).to_be_visible()
        expect(page.get_by_text("Open a folder")).to_have_count(0)
        open_page(page, server, "/exercises?task=F3")
        expect(page.get_by_text("Code does not run on this server").first).to_be_visible()


def test_text_is_copied_without_a_clipboard_of_the_new_kind(app: Server, page: Page) -> None:
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    open_page(page, app, "/overview?data=glyphlab")
    page.get_by_role("button", name="Copy link").click()
    copied = page.get_by_role("button", name="Copied")
    expect(copied).to_be_focused()
    page.evaluate("document.body.append(Object.assign(document.createElement('textarea'), { id: 'pasted' }))")
    page.locator("#pasted").focus()
    page.keyboard.press("Control+V")
    assert page.locator("#pasted").input_value().startswith(f"{app.url}/overview?data=glyphlab")


def test_two_files_of_vectors_open_their_comparison(tmp_path: Path, page: Page) -> None:
    import numpy as np

    names = [str(tmp_path / name) for name in ("A.npy", "B.npy")]
    draw = np.random.default_rng(0)
    for name in names:
        np.save(name, draw.normal(size=(360, 8)))
    with command(tmp_path, "app", str(DATA / "glyphlab"), "--embeddings", *names, "--no-browser") as (address, _log):
        page.goto(address)
        settle(page)
        expect(page.get_by_text("From vectors:A.npy to vectors:B.npy")).to_be_visible()
