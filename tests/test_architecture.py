"""Arrows run with the data: what the modules may import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import recall_core
from tests.conftest import ROOT

MODULES = [
    line.split("``")[1] for line in (recall_core.__doc__ or "").splitlines() if line.startswith("``") and "``  " in line
]
FILES = sorted(path for path in (ROOT / "recall_core").glob("*.py") if not path.stem.startswith("__"))


def imports(path: Path, *, top_level: bool = False) -> set[str]:
    """Modules imported anywhere in a file (or at its top level only), relative ones as ``.name``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
            found |= {f".{name}" for name in names}
    return found


def test_the_package_lists_its_modules_in_the_order_of_the_flow() -> None:
    assert sorted(MODULES) == [path.stem for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_module_imports_only_earlier_modules(path: Path) -> None:
    earlier = {f".{name}" for name in MODULES[: MODULES.index(path.stem)]}
    mine = {name for name in imports(path, top_level=True) if name.startswith(".")}
    assert mine <= earlier, f"{path.stem} imports {mine - earlier}, which come later in the flow"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_engine_knows_nothing_of_the_app(path: Path) -> None:
    assert not imports(path) & {"streamlit", "plotly", "pages", "app"}


@pytest.mark.parametrize("path", sorted((ROOT / "pages").glob("*.py")), ids=lambda path: path.stem)
def test_pages_do_no_arithmetic_on_arrays(path: Path) -> None:
    assert not imports(path) & {"numpy", "scipy", "sklearn", "pandas"}


def test_optional_and_slow_packages_are_imported_only_where_they_are_used() -> None:
    slow = ["sklearn", "faiss", "dask", "streamlit", "plotly", "pillow_heif", "torch", "pyarrow.parquet"]
    code = f"import sys, recall_core.cli; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
