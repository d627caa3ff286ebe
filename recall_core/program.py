"""How this program is called, and how its flags are spelled.

Printed commands begin with the script where the package is installed, else with the module of a checkout.
"""

from __future__ import annotations

import shlex
from functools import cache
from importlib.metadata import entry_points

from .errors import setting, spelled

SCRIPT = "recall-explorer"
MODULE = ("python", "-m", "recall_core")


FLAGS = {"columns": "column", "ks": "k"}
"""The fields that the command line calls otherwise: what is a list there is a flag that repeats, or takes several."""

KEPT = (("junk_same", "id"), ("where", "run=…"))
"""The settings, with their values, that our files name in findings and notes."""


@cache
def words() -> tuple[str, ...]:
    """How is this program called, as the first words of a command?"""
    return (SCRIPT,) if entry_points(group="console_scripts", name=SCRIPT) else MODULE


def command(*arguments: str) -> str:
    """Spell a command of this program for a shell.

    Examples
    --------
    >>> command("compare", "runs/a run").removeprefix(command())
    " compare 'runs/a run'"
    """
    return shlex.join([*words(), *arguments])


def flag(field: str, value: str = "") -> str:
    """A field as the command line spells it, with a value where there is one.

    Examples
    --------
    >>> flag("junk_same", "id"), flag("columns", "id=sku"), flag("force", "True")
    ('--junk-same id', '--column id=sku', '--force')
    """
    name = "--" + FLAGS.get(field, field).replace("_", "-")
    return f"{name} {value}" if value and value != "True" else name


def with_flags(text: str) -> str:
    """A text of the engine as our files and reports have it: each setting as the command line spells it.

    Examples
    --------
    >>> with_flags(with_settings("remove them with --junk-same id"))
    'remove them with --junk-same id'
    """
    return spelled(text, flag)


def with_settings(text: str) -> str:
    """Undo ``with_flags`` in a text that we have read from a file of ours."""
    for field, value in KEPT:
        text = text.replace(flag(field, value), setting(field, value))
    return text
