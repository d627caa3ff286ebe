"""The style tools, so that one command runs every check."""

import ast
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.style

TOOLS = {
    "format": ["ruff", "format", "--check", "."],
    "lint": ["ruff", "check", "."],
    "types": ["mypy"],
}

SOURCES = [path for part in ("recall_core", "pages", "tests", "benchmarks") for path in (ROOT / part).rglob("*.py")]


@pytest.mark.parametrize("tool", TOOLS)
def test_style_tool_is_content(tool: str) -> None:
    done = subprocess.run([sys.executable, "-m", *TOOLS[tool]], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_line_is_kept_from_the_formatter() -> None:
    mark = "fmt" + ": "
    here = [path for path in SOURCES if re.search(rf"{mark}(skip|off)", path.read_text(encoding="utf-8"))]
    assert not here


def test_style_and_script_lie_in_files_of_their_own() -> None:
    """A string of a page that has several lines is a docstring; what a browser reads lies beside the module."""
    long = []
    for path in (ROOT / "pages").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        loose = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in loose:
                long += [f"{path.name}:{node.lineno}"] * (node.value.count("\n") > 2)
    assert not long
