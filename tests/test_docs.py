"""The documents say what the program does."""

import ast
import importlib
import re
import shlex

import numpy as np
import pandas as pd
import pytest

import recall_core
from recall_core import cli
from recall_core.datasets import COLUMN_NAMES
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {path.name: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]}
COMMANDS = cli.parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]


def blocks(text: str, kind: str) -> list[str]:
    return re.findall(rf"^```{re.escape(kind)}\n(.*?)^```", text, re.M | re.S)


def shown_sessions() -> list[tuple[str, str]]:
    """Every ``$ command`` of a console block with the output that is shown below it."""
    return [
        (command, output)
        for text in PAGES.values()
        for block in blocks(text, "console")
        for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
    ]


@pytest.mark.parametrize(("command", "output"), shown_sessions(), ids=lambda text: text[:60])
def test_a_shown_command_prints_what_is_shown(
    command: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "recall_core"]
    assert cli.main(words[3:]) == 0
    printed = capsys.readouterr().out
    at = 0
    for part in output.split("…\n"):
        assert part in printed[at:], f"not printed, or not in this order:\n{part}"
        at = printed.index(part, at) + len(part)


def test_there_are_sessions_to_check() -> None:
    assert shown_sessions()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_is_documented(command: str) -> None:
    reference = PAGES["command-line.md"]
    assert f"## `{command}`" in reference
    for action in COMMANDS[command]._actions:
        for flag in action.option_strings:
            if flag.startswith("--") and flag != "--help":
                assert f"`{flag}" in reference, f"docs/command-line.md does not tell of {flag}"


def test_ci_runs_the_test_command_of_the_readme() -> None:
    (command,) = blocks(README, "bash tests")
    assert command.strip() in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "bash tests" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_notebook_example_of_the_readme_runs(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    example = next(block for block in blocks(README, "python") if "from_arrays" in block)
    names = {
        "query_vectors": np.eye(2),
        "query_labels": ["a", "b"],
        "gallery_vectors": np.eye(2),
        "gallery_labels": "ab",
    }
    exec(compile(example, "README.md", "exec"), names)
    assert (tmp_path / "run1" / "report.json").is_file()


def test_code_in_the_readme_compiles() -> None:
    for block in blocks(README, "python"):
        compile(block, "README.md", "exec")


def test_what_code_in_the_documents_imports_is_there() -> None:
    trees = [ast.parse(block) for text in PAGES.values() for block in blocks(text, "python")]
    found = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [(node.module, alias.name) for node in found for alias in node.names if str(node.module)[:6] == "recall"]
    assert ours
    for module, name in ours:
        assert hasattr(importlib.import_module(str(module)), name), f"{module}.{name}"


def test_links_inside_the_documents_lead_somewhere() -> None:
    for name, text in PAGES.items():
        folder = ROOT if name == "README.md" else ROOT / "docs"
        for target in re.findall(r"\]\(([^)#]+)", text):
            assert target.startswith("https://") or (folder / target).exists(), f"{name}: {target}"


def test_the_map_for_the_next_engineer_leads_somewhere() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("## To add something") : text.index("## What may import what")]
    for path in re.findall(r"`((?:recall_core|pages|tests|benchmarks)/[\w./]*)`", text):
        assert (ROOT / path).exists(), path
    rows = [line for line in section.splitlines() if line.startswith("| a")]
    assert len(rows) > 15
    for row in rows:
        files = [ROOT / path for path in re.findall(r"`([\w/]+\.py)`", row)]
        source = "".join(path.read_text(encoding="utf-8") for path in files)
        for name in re.findall(r"`(_?[A-Z]{4,}|_\w+)`", row):
            assert re.search(rf"^(def )?{name}\b", source, re.MULTILINE), f"{name} is in none of {files}"


def test_every_public_name_has_a_docstring() -> None:
    for name in recall_core.__all__:
        assert getattr(recall_core, name).__doc__, name


def test_the_table_of_column_roles_is_complete() -> None:
    section = README[README.index("| role | found as") :]
    for role in COLUMN_NAMES:
        assert f"| {role} |" in section


def test_data_forms_in_the_readme_load(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from PIL import Image

    for name, shade in (("cup1.jpg", 40), ("cup2.jpg", 200)):
        Image.new("RGB", (40, 40), (shade, 90, 60)).save(tmp_path / name)
    pd.DataFrame({"path": ["cup1.jpg", "cup2.jpg"], "group": "cup", "role": ["query", "gallery"]}).to_csv(
        tmp_path / "metadata.csv", index=False
    )
    assert recall_core.evaluate(recall_core.load(tmp_path)).scores["recall@1"].value == 1
