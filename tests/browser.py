"""A real server and a real Chromium: fixtures and helpers for the journeys in ``test_browser*.py``.

The browser is Debian's (``CHROMIUM`` names another): nothing is downloaded. Where there is none the journeys are
skipped, saying so; in CI that is a failure.
"""

import importlib.util
import io
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PATIENCE_MS = 30_000

READY = """() => {
  if (!document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')) return false;
  if (document.querySelector('[data-testid=stSkeleton]')) return false;
  const images = [];
  const walk = (root) => root.querySelectorAll('*').forEach((node) => {
    if (node.tagName === 'IMG' && node.src) images.push(node);
    if (node.shadowRoot) walk(node.shadowRoot);
  });
  walk(document);
  return document.fonts.status === 'loaded' && images.every((image) => image.complete);
}"""
"""The script has run, fonts and pictures are there, those in shadow roots included."""


@dataclass(frozen=True)
class Server:
    """A running app; its process for those who kill it."""

    url: str
    process: "subprocess.Popen[str]"


def missing() -> str:
    """Say what the journeys lack on this machine; empty where they can run."""
    if importlib.util.find_spec("playwright") is None:
        return "the journeys need a driver: pip install -r tests/requirements.txt"
    return "" if CHROMIUM else "the journeys need a browser: apt-get install chromium, or name one in CHROMIUM"


@pytest.fixture(scope="session")
def chromium() -> "Iterator[Browser]":
    """One browser for all journeys."""
    lacking = missing()
    if lacking:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(lacking)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An app that the journeys of one module share."""
    with serve(tmp_path_factory.mktemp("app")) as server:
        yield server


@pytest.fixture
def fresh_app(tmp_path: Path) -> Iterator[Server]:
    """An app that nobody has visited yet."""
    with serve(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def profiles(chromium: "Browser") -> "Iterator[dict[str, BrowserContext]]":
    """A visitor who prefers light and one who prefers dark, 1440×900; each keeps what its browser has loaded once."""
    made = {
        scheme: chromium.new_context(
            viewport={"width": 1440, "height": 900}, color_scheme=scheme, reduced_motion="reduce", locale="en-GB"
        )
        for scheme in ("light", "dark")
    }
    for profile in made.values():
        profile.set_default_timeout(PATIENCE_MS)
    yield made
    for profile in made.values():
        profile.close()


@pytest.fixture
def page(profiles: "dict[str, BrowserContext]") -> "Iterator[Page]":
    """A new light page."""
    yield from visit(profiles["light"])


@pytest.fixture
def dark_page(profiles: "dict[str, BrowserContext]") -> "Iterator[Page]":
    """A new dark page."""
    yield from visit(profiles["dark"])


def visit(profile: "BrowserContext") -> "Iterator[Page]":
    """Open a page; afterwards check that it broke nothing and asked nobody outside this machine."""
    page = profile.new_page()
    failures: list[str] = []
    asked: set[str] = set()
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.on("request", lambda request: asked.add(request.url))
    yield page
    page.close()
    assert not failures
    assert not [url for url in asked if not url.startswith(("http://localhost:", "data:", "blob:"))]


@contextmanager
def serve(folder: Path, script: str = "app.py", **environment: str) -> Iterator[Server]:
    """Start the app, or another script, on a free port; afterwards stop it, and check that nothing failed in it."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    options = [f"--server.port={port}", "--server.headless=true", "--server.fileWatcherType=none"]
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", script, *options],
        cwd=ROOT,
        env=os.environ | {"RECALL_STATE_DIR": str(folder / "state")} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    log = Log(process)
    try:
        assert log.listening.wait(timeout=60), f"the app did not start:\n{log.text}"
        yield Server(f"http://localhost:{port}", process)
    finally:
        process.terminate()
        process.wait(timeout=20)
        log.thread.join(timeout=20)
    assert "Traceback" not in log.text, log.text


class Log:
    """What a server writes, read as it comes; it says that it listens, as a rule by naming its address."""

    def __init__(self, process: "subprocess.Popen[str]", mark: str = "URL:") -> None:
        self.process, self.mark = process, mark
        self.text = ""
        self.listening = threading.Event()
        self.thread = threading.Thread(target=self._read, args=(process,), daemon=True)
        self.thread.start()

    def _read(self, process: "subprocess.Popen[str]") -> None:
        with process.stdout or io.StringIO() as lines:
            for line in lines:
                self.text += line
                if self.mark in line:
                    self.listening.set()


def settle(page: "Page") -> None:
    """Wait until the script has run and everything is painted."""
    page.wait_for_function(READY)


def open_page(page: "Page", server: Server, address: str) -> None:
    """Go to an address of the app, and wait until it stands."""
    page.goto(server.url + address)
    settle(page)


def showing(page: "Page", query: int) -> None:
    """Wait until the gallery shows this query."""
    page.locator(f".gallery[data-query='{query}']").wait_for()
