"""What a printed command begins with."""

import shlex
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from recall_core import program
from recall_core.protocol.spec import Spec

words = program.words.__wrapped__
"""Unpatched: tests print commands as in a checkout."""


def test_a_checkout_is_called_as_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "entry_points", lambda **kind: [])
    assert words() == ("python", "-m", "recall_core")


def test_an_installed_program_is_called_by_its_script(monkeypatch: pytest.MonkeyPatch) -> None:
    script = EntryPoint("recall-explorer", "recall_core.cli:main", "console_scripts")
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(program, "entry_points", lambda **kind: asked.append(kind) or [script])
    assert words() == ("recall-explorer",)
    assert asked == [{"group": "console_scripts", "name": "recall-explorer"}]


@pytest.mark.parametrize("called", [("recall-explorer",), ("python", "-m", "recall_core")])
def test_every_printed_command_begins_so(called: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "words", lambda: called)
    assert program.command("compare", "a run") == shlex.join([*called, "compare", "a run"])
    assert shlex.split(Spec(data="d", encoder="mean").to_command()) == [*called, "evaluate", "d", "--encoder", "mean"]
