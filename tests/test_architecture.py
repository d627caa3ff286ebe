"""The house: what may import what, read from all imports, lazy ones too.

A package lists its files (and ``recall_core`` its packages) in its docstring, in the order of the flow; imports run
against that order only. ``EXCEPTIONS`` may only shrink.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

from pages.shared import warming
from pages.shared.frame import shell
from tests.conftest import ROOT

EXCEPTIONS: frozenset[tuple[str, str]] = frozenset()
"""(module, what it imports) pairs that break a rule, each with its reason beside it."""

ENGINE = sorted((ROOT / "recall_core").rglob("*.py"))
PAGES = sorted(path for path in (ROOT / "pages").rglob("*.py") if path.stem.isidentifier())
APART = {("diagnosis", "experiments"), ("diagnosis", "course"), ("experiments", "diagnosis"), ("course", "diagnosis")}
ARITHMETIC = {"mean", "sum", "groupby", "merge", "sort_values", "value_counts", "apply"}


class Import(NamedTuple):
    """One imported name: the module that it is taken from, absolute, and what it is called there."""

    module: str
    name: str
    line: int


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in (*ENGINE, *PAGES)}


def package_of(module: str) -> str:
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[Import]:
    """Every import of a file, wherever it stands, but what only a type checker reads."""
    tree, package = tree_of(path), package_of(module_of(path)).split(".")
    hidden = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, "", node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            yield from (Import(module, alias.name, node.lineno) for alias in node.names)


def target(found: Import) -> str:
    """The module that is imported: ``from package import module`` means the module."""
    inner = f"{found.module}.{found.name}"
    return inner if inner in MODULES else found.module


@cache
def order(package: str) -> list[str]:
    """The files and packages of a package, in the order in which its docstring names them."""
    text = ast.get_docstring(tree_of(MODULES[package])) or ""
    return re.findall(r"^``(\w+)``  ", text, flags=re.MULTILINE)


def runs_against_the_flow(module: str, imported: str) -> bool:
    mine, theirs = module.split("."), imported.split(".")
    shared = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None)
    if shared is None:  # a package and what is inside it
        return len(mine) > len(theirs)
    listed = order(".".join(mine[:shared]))
    return listed.index(theirs[shared]) > listed.index(mine[shared])


def names(paths: list[Path]) -> list[str]:
    return [module_of(path) for path in paths]


def inner(paths: list[Path]) -> list[Path]:
    return [path for path in paths if module_of(path) not in ("recall_core", "recall_core.__main__")]


@pytest.mark.parametrize("package", [name for name, path in MODULES.items() if path.name == "__init__.py"])
def test_a_package_lists_its_files_in_the_order_of_the_flow(package: str) -> None:
    if not package.startswith("recall_core"):
        return
    inside = {name.removeprefix(package + ".").split(".")[0] for name in MODULES if name.startswith(package + ".")}
    assert sorted(order(package)) == sorted(inside - {"__main__"})


@pytest.mark.parametrize("path", inner(ENGINE), ids=module_of)
def test_imports_run_with_the_data(path: Path) -> None:
    module = module_of(path)
    for found in imports(path):
        imported = target(found)
        assert imported != "recall_core", f"{module}:{found.line} takes from the face of the whole"
        if imported in MODULES and imported.startswith("recall_core.") and (module, imported) not in EXCEPTIONS:
            assert not runs_against_the_flow(module, imported), f"{module}:{found.line} imports {imported}"


@pytest.mark.parametrize("path", inner(ENGINE), ids=module_of)
def test_diagnosis_never_meets_experiments_or_course(path: Path) -> None:
    mine = module_of(path).split(".")[1]
    met = {target(found).split(".")[1] for found in imports(path) if target(found).startswith("recall_core.")}
    assert not [other for other in met if (mine, other) in APART]


@pytest.mark.parametrize("path", [*ENGINE, *PAGES], ids=module_of)
def test_another_package_is_entered_through_its_face(path: Path) -> None:
    mine = package_of(module_of(path))
    for found in imports(path):
        imported = target(found)
        if not imported.startswith("recall_core.") or imported not in MODULES:
            continue
        package = package_of(imported)
        if imported == package or package == "recall_core" or (mine + ".").startswith(package + "."):
            continue
        assert (module_of(path), imported) in EXCEPTIONS, f"{module_of(path)}:{found.line} reaches into {imported}"


@pytest.mark.parametrize("package", [name for name in MODULES if name != "recall_core" and name in names(ENGINE)])
def test_a_face_is_sorted_complete_and_plain(package: str) -> None:
    if package_of(package) != package:
        return
    tree = tree_of(MODULES[package])
    taken = [
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    listed = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    assert len(listed) <= 1
    assert set(taken) == set(*listed)
    assert {type(node) for node in tree.body} <= {ast.Expr, ast.ImportFrom, ast.Assign}
    beside = {name.rpartition(".")[2] for name in MODULES if name.rpartition(".")[0] == package}
    assert not beside & set(taken), "a function carries the name of a module beside it"


@pytest.mark.parametrize("path", [*ENGINE, *PAGES], ids=module_of)
def test_nobody_uses_a_private_name_of_another_module(path: Path) -> None:
    modules = set()
    for found in imports(path):
        assert not found.name.startswith("_") or found.name == "_" or found.name.startswith("__"), found
        if f"{found.module}.{found.name}" in MODULES:
            modules.add(found.name)
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            assert not node.attr.startswith("_"), f"{module_of(path)}:{node.lineno} {ast.unparse(node)}"


@pytest.mark.parametrize("path", ENGINE, ids=module_of)
def test_the_engine_knows_nothing_of_the_app(path: Path) -> None:
    known = {found.module.split(".")[0] for found in imports(path)}
    assert not known & {"streamlit", "plotly", "pages", "app"}


@pytest.mark.parametrize("path", PAGES, ids=module_of)
def test_pages_do_no_arithmetic(path: Path) -> None:
    found = list(imports(path))
    assert not {one.module.split(".")[0] for one in found} & {"numpy", "scipy", "sklearn"}
    bound = {one.name or one.module.split(".")[0] for one in found}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ARITHMETIC:
            of_module = isinstance(node.func.value, ast.Name) and node.func.value.id in bound
            assert of_module, f"{module_of(path)}:{node.lineno} {ast.unparse(node.func)}"


@pytest.mark.parametrize("path", PAGES, ids=module_of)
def test_no_page_imports_another(path: Path) -> None:
    page = module_of(path).split(".")[1:2]
    for found in imports(path):
        parts = target(found).split(".")
        assert parts[0] != "pages" or parts[1:2] in (["shared"], page), f"{module_of(path)}:{found.line} {found}"


def test_modules_of_the_pages_import_in_no_circle() -> None:
    graph = {module_of(path): {target(found) for found in imports(path)} & set(names(PAGES)) for path in PAGES}
    for name, others in graph.items():
        others.discard(name)
    TopologicalSorter(graph).prepare()


def test_a_page_is_a_folder_with_a_script_of_the_same_name() -> None:
    folders = [path for path in (ROOT / "pages").iterdir() if path.is_dir() and path.name[0] not in "_."]
    assert [path.name for path in folders if not (path / f"{path.name}.py").is_file()] == ["shared"]


def test_each_page_can_be_the_first_that_a_fresh_server_shows() -> None:
    """There Streamlit looks for a deep link's page among the scripts that lie directly in ``pages``."""
    direct = {path.name.partition("_")[2]: path for path in (ROOT / "pages").glob("[0-9]*.py")}
    folders = {path.name for path in (ROOT / "pages").iterdir() if (path / f"{path.name}.py").is_file()}
    assert {name.removesuffix(".py") for name in direct} == folders - {"start"}
    assert folders == {name for pages in shell._sections().values() for name in pages}
    assert set(warming.PAGES) == folders - {"index"}
    for path in direct.values():
        assert ast.unparse(tree_of(path).body[-1]) == "shell.main()"


def test_optional_and_slow_packages_are_imported_only_where_they_are_used() -> None:
    slow = ["sklearn", "faiss", "dask", "streamlit", "plotly", "pillow_heif", "torch", "pyarrow.parquet"]
    packages = ", ".join(f"recall_core.{name}" for name in order("recall_core"))
    code = f"import sys, {packages}; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_the_package_itself_is_lazy_and_shows_what_a_notebook_needs() -> None:
    code = (
        "import sys, recall_core as rc; print('numpy' in sys.modules, *(n for n in dir(rc) if not n.startswith('_')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    first, *shown = done.stdout.split()
    assert first == "False"
    assert shown == [
        *("DataError", "Dataset", "Evaluation", "MissingDependency", "Relevance", "Spec", "compare", "evaluate"),
        *("from_arrays", "load", "metrics", "open_run", "plain", "rank"),
    ]
