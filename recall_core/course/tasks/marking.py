"""The lab's tasks as questions that can be checked at once: an answer in, marks and a hint out.

Every answer is text as a student types it, or the key of a choice; pages translate the keys of hints. Whatever a hint
says of the data is computed from the data set that is given. The docstring of each task lists its hints and their
parameters; ``""`` where all is right.

Hints of every task: ``empty_cell`` (cell), ``not_a_number`` (cell, typed), ``more_digits`` (cell, typed),
``wrong_number`` (cell).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..typed_input import read_number

TASKS = ("opening", "F1", "F2", "F3", "F4", "F5")


@dataclass(frozen=True)
class Marked:
    """What became of an answer.

    Parameters
    ----------
    marks : mapping of cell to bool
        Every cell that was asked for; an empty one is wrong.
    hint : str
        Key for the first cell that is wrong, in the order of ``marks``; empty if none is.
    parameters : mapping
        What the hint's words need: numbers, names, cells.
    counter_example : tuple of int
        Rows of the table that show the answer wrong; empty where data show nothing.
    """

    marks: Mapping[str, bool]
    hint: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    counter_example: tuple[int, ...] = ()

    @property
    def correct(self) -> bool:
        """Is every cell right?"""
        return all(self.marks.values())


Wrong = tuple[str, dict[str, Any]] | None
"""What is wrong with one cell: a hint and its parameters; None if nothing."""


def marked(wrongs: Mapping[str, Wrong], counter_example: tuple[int, ...] = ()) -> Marked:
    """Make marks and the first hint out of what is wrong with each cell."""
    hint, parameters = next((wrong for wrong in wrongs.values() if wrong), ("", {}))
    return Marked({cell: wrong is None for cell, wrong in wrongs.items()}, hint, parameters, counter_example)


def check_number(cell: str, typed: str, right: float) -> Wrong:
    """Is a typed number right, to two decimals or to as many as were typed? Comma or point, per cent, or a ratio."""
    if not typed.strip():
        return "empty_cell", {"cell": cell}
    number = read_number(typed)
    if number is None:
        return "not_a_number", {"cell": cell, "typed": typed}
    away = abs(number.value - right)
    if away <= 0.5 * 10.0 ** -max(number.digits, 2) + 1e-12:
        return None
    if number.digits == 1 and away <= 0.05 and not float(right).is_integer():
        return "more_digits", {"cell": cell, "typed": typed}
    return "wrong_number", {"cell": cell}
