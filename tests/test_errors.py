"""What an optional package is needed for, and what is said where it is missing."""

import ast
import json
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from recall_core import cli
from recall_core.datasets import shards
from recall_core.datasets.dataset import load
from recall_core.diagnosis.chart_data import pca_map
from recall_core.errors import SCREEN, DataError, MissingDependency, keyword, needs, setting, spelled
from recall_core.evaluation.wiring import evaluate
from recall_core.program import flag
from recall_core.protocol.spec import Spec
from tests.conftest import DATA, ROOT

LAB = str(DATA / "glyphlab")
OPTIONAL = {"dask", "distributed", "faiss", "plotly", "pyarrow", "segno", "sklearn", "streamlit"}
"""What the extras bring, as it is imported."""

# What a person asks for, the package that is not there, its name in the message, and the extra that brings it.
ASKED = {
    "digits": (["evaluate", "digits"], "sklearn", "the built-in data set digits needs scikit-learn", "app"),
    "patches": (["audit", "photo_patches"], "sklearn", "the built-in data set photo_patches needs scikit-learn", "app"),
    "pca": (["evaluate", LAB, "--encoder", "pca"], "sklearn", "the encoder pca needs scikit-learn", "app"),
    "lda": (["evaluate", LAB, "--encoder", "lda"], "sklearn", "the encoder lda needs scikit-learn", "app"),
    "table": (["evaluate", "{folder}/a.parquet"], "pyarrow", "a.parquet needs pyarrow", "app"),
    "parquet": (["evaluate", LAB, "--embeddings", "{folder}/a.parquet"], "pyarrow", "a.parquet needs pyarrow", "app"),
    "feather": (["evaluate", LAB, "--embeddings", "{folder}/a.feather"], "pyarrow", "a.feather needs pyarrow", "app"),
    "shards": (["evaluate", LAB, "--embeddings", "{folder}"], "pyarrow", "a.parquet needs pyarrow", "app"),
    "index": (["ann", LAB], "faiss", "an approximate index needs faiss", "index"),
    "dask": (["evaluate", LAB, "--executor", "dask://x:1"], "distributed", "a dask cluster needs dask.distrib", "dask"),
}


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Hide a package and all that was loaded of it."""

    def hide(package: str) -> None:
        for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
            monkeypatch.setitem(sys.modules, name, None)

    return hide


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that cannot be read without pyarrow, however they look inside."""
    for name in ("a.parquet", "a.feather"):
        (tmp_path / name).write_bytes(b"PAR1")
    manifest = {"format": 1, "n_dim": 2, "dtype": "float32", "shards": [{"file": "a.parquet", "rows": 360}]}
    (tmp_path / shards.MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("asked", ASKED)
def test_a_missing_package_is_named_with_its_command(
    asked: str, without: Callable[[str], None], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, package, message, extra = ASKED[asked]
    without(package)
    assert cli.main([part.format(folder=folder) for part in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.endswith(f'; install it: pip install "recall-explorer[{extra}]"\n')


def test_a_package_that_only_python_asks_for_is_named_too(without: Callable[[str], None], tmp_path: Path) -> None:
    evaluation = evaluate(load(LAB), Spec(LAB))
    without("sklearn")
    without("pyarrow")
    with pytest.raises(MissingDependency, match="the map needs scikit-learn"):
        pca_map(evaluation, 1)
    with pytest.raises(MissingDependency, match=r"part-00000.parquet needs pyarrow"):
        shards.write_shards(tmp_path / "new", np.eye(3), kind=".parquet")


def test_a_package_that_is_there_and_broken_is_told_from_one_that_is_missing() -> None:
    with (
        pytest.raises(MissingDependency, match=r"needs faiss, which cannot be imported \(libgomp.so.1: no such file\)"),
        needs("faiss", "an approximate index", extra="index"),
    ):
        raise ImportError("libgomp.so.1: no such file")


def test_a_field_is_spelled_by_each_face_in_its_own_way() -> None:
    error = DataError(
        f"{setting('query')} and {setting('columns', 'id=…')} exclude each other; leave {setting('both')} out"
    )
    assert str(error) == "query= and columns={'id': '…'} exclude each other; leave both= out"
    assert error.spelled(flag) == "--query and --column id=… exclude each other; leave --both out"
    assert error.spelled(lambda field, value: f"<{field}|{value}>").startswith("<query|> and <columns|id=…> exclude")


@pytest.mark.parametrize(
    ("field", "value", "python", "shell"),
    [
        ("junk_same", "id", "junk_same='id'", "--junk-same id"),
        ("where", "side=a=b", "where={'side': 'a=b'}", "--where side=a=b"),
        ("query", "", "query=", "--query"),
        ("train", "COLUMN=VALUE", "train='COLUMN=VALUE'", "--train COLUMN=VALUE"),
        ("threshold", 1.5, "threshold=1.5", "--threshold 1.5"),
        ("threshold", -2, "threshold=-2", "--threshold -2"),
        ("force", True, "force=True", "--force"),
        ("ks", 3, "ks=3", "--k 3"),
    ],
)
def test_a_value_is_spelled_with_its_field(field: str, value: object, python: str, shell: str) -> None:
    assert spelled(setting(field, value), keyword) == python
    assert spelled(setting(field, value), flag) == shell


def test_the_engine_names_no_flag() -> None:
    """The command line has flags; a page and a notebook have none. Only ``program`` spells them."""
    found = []
    for path in sorted((ROOT / "recall_core").rglob("*.py")):
        if path.is_relative_to(ROOT / "recall_core" / "cli") or path == ROOT / "recall_core" / "program.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings say nothing to a user
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in told:
                found += [
                    f"{path.name}:{node.lineno} {name}" for name in re.findall(r"(?<![\w-])--[a-z][\w-]*", node.value)
                ]
    assert found == []


def test_an_error_names_the_field_to_change() -> None:
    assert DataError("the file is empty").field == ""
    assert DataError("no such split", field="split").field == "split"
    assert DataError(f"leave {setting('split')} out, or {setting('query')}").field == "split"
    assert DataError(f"bring {setting('embeddings')}", field="columns").field == "columns"


def test_an_error_comes_whole_out_of_another_process() -> None:
    error = DataError(f"widen {setting('where')}", field="query")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.field, again.spelled(flag)) == ("widen where=", "query", "widen --where")


def test_what_data_say_is_never_taken_for_a_field() -> None:
    assert spelled(setting("where", "a\ufdd1b\ufdd0query\ufdd1"), flag) == "--where abquery"
    assert spelled("a {query} «query» [[query]] 50% <query>", flag) == "a {query} «query» [[query]] 50% <query>"


def test_a_long_message_loses_its_middle_as_each_face_spells_it() -> None:
    error = DataError("x" * 2 * SCREEN + f" leave {setting('junk_same')} out")
    for said, end in ((str(error), "leave junk_same= out"), (error.spelled(flag), "leave --junk-same out")):
        assert len(said) == SCREEN
        assert said.endswith(end)


def test_an_optional_package_is_imported_only_where_its_lack_is_said() -> None:
    said, bare = 0, []
    for path in sorted((ROOT / "recall_core").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inside = {node for block in ast.walk(tree) if is_said(block) for node in ast.walk(block)}
        for node in ast.walk(tree):
            names = imported(node) & OPTIONAL
            said += bool(names)
            bare += [f"{path.name}:{node.lineno} imports {name}" for name in names if node not in inside]  # type: ignore[attr-defined]
    assert said > 5
    assert bare == []


def is_said(node: ast.AST) -> bool:
    """Is this a ``with needs(…)``?"""
    calls = [item.context_expr for item in node.items] if isinstance(node, ast.With) else []
    return any(isinstance(call, ast.Call) and ast.unparse(call.func).endswith("needs") for call in calls)


def imported(node: ast.AST) -> set[str]:
    """Packages from outside that one statement imports, by their first names."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return {(node.module or "").partition(".")[0]}
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
        name = node.args[0]
        return {str(name.value).partition(".")[0]} if isinstance(name, ast.Constant) else set()
    return set()
