"""The style tools, so that one command runs every check."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT

TOOLS = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "types": ["mypy"],
}


@pytest.mark.parametrize("tool", TOOLS)
def test_style_tool_is_content(tool: str) -> None:
    done = subprocess.run([sys.executable, "-m", *TOOLS[tool]], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
