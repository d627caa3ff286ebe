"""What tests of several pages begin with."""

from pathlib import Path

import pytest


@pytest.fixture
def own_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root of the visitor's own."""
    monkeypatch.setenv("RECALL_DATA_ROOT", str(tmp_path))
    return tmp_path
