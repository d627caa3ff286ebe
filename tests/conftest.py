"""What the tests share: where the optional real data lie."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from recall_core import program
from tests.browser import app, chromium, dark_page, fresh_app, page, profiles

__all__ = [
    "DATA",
    "PROGRAM",
    "ROOT",
    "SHARED",
    "app",
    "chromium",
    "dark_page",
    "fresh_app",
    "needs_shared",
    "page",
    "profiles",
]

# No test asserts a time: a slow machine is not a fault. In CI the examples are the same at each run.
settings.register_profile(
    "ours", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=bool(os.environ.get("CI"))
)
settings.load_profile("ours")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
DATA = ROOT / "data"

PROGRAM = program.words()
"""How a command that a server prints begins: the package may be installed where the tests run, or not."""

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="real data and public cases are not here (a folder named shared beside the checkout)"
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what drives a browser by what it asks for: a test cannot forget to say so."""
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


@pytest.fixture(autouse=True)
def a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print commands as in a checkout, whether the package is installed or not."""
    monkeypatch.setattr(program, "words", lambda: program.MODULE)


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Keep ``__main__``: a page test puts the app there, and every new process would then run it when it starts."""
    kept = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = kept
