"""What printed commands begin with: the script where the package is installed, else the module of a checkout."""

from __future__ import annotations

import shlex
from functools import cache
from importlib.metadata import entry_points

SCRIPT = "recall-explorer"
MODULE = ("python", "-m", "recall_core")


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
