"""What the tests share: where the optional real data lie."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import app, chromium, dark_page, fresh_app, page, profiles

__all__ = ["DATA", "ROOT", "SHARED", "app", "chromium", "dark_page", "fresh_app", "needs_shared", "page", "profiles"]

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
DATA = ROOT / "data"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="real data and public cases are not here (a folder named shared beside the checkout)"
)


@pytest.fixture(autouse=True)
def main_module() -> Iterator[None]:
    """Keep ``__main__``: a page test puts the app there, and every new process would then run it when it starts."""
    kept = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = kept
