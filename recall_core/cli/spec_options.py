"""The options that spell a spec, and the spec that they spell: the table of choices, row by row."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import about, spelled
from ..program import flag

if TYPE_CHECKING:
    from ..protocol import Choice, Spec

READING = ("columns", "encoding")
"""The choices that say how a table is read."""


def spec_of(parsed: argparse.Namespace, names: Collection[str] | None = None) -> Spec:
    """The spec that parsed arguments spell: of all choices, or of these."""
    from ..protocol import CHOICES, Spec

    chosen: dict[str, Any] = {}
    for choice in CHOICES:
        if names is None or choice.name in names:
            with about(choice.name):
                chosen[choice.name] = choice.kind.parse(getattr(parsed, choice.name))
    return Spec(**chosen)


def add_spec_options(command: argparse.ArgumentParser, *, optional: bool = False, several: bool = False) -> None:
    """Give a command the options that spell a spec.

    Parameters
    ----------
    optional : bool
        It can do without data.
    several : bool
        It has an argument of its own for the data, and evaluates several files of vectors.
    """
    from ..protocol import CHOICES

    if not several:
        data = CHOICES[0]
        command.add_argument(data.name, metavar=data.metavar, nargs="?" if optional else None, help=data.help)
    names = [choice.name for choice in CHOICES[1:]]
    add_choices(command, names, **({"embeddings": {"nargs": "+"}} if several else {}))


def add_choices(command: argparse.ArgumentParser, names: Collection[str], **otherwise: Mapping[str, Any]) -> None:
    """Give a command the options of these choices; ``otherwise`` has what this command says in its own way."""
    from ..protocol import CHOICES

    for choice in CHOICES:
        if choice.name in names:
            command.add_argument(choice.flag, **{**_argument(choice), **otherwise.get(choice.name, {})})


def _argument(choice: Choice) -> dict[str, Any]:
    """What the parser needs to know of a choice; an option that repeats begins with nothing."""
    repeats = choice.kind.argument.get("action") == "append"
    argument = {
        "dest": choice.name,
        "default": None if repeats else choice.default,
        "help": spelled(choice.help, flag).replace("%", "%%"),
        **choice.kind.argument,
    }
    if choice.metavar:
        argument["metavar"] = choice.metavar
    if choice.among:
        argument["choices"] = choice.among
    return argument
