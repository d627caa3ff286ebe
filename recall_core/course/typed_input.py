"""What a person types to look at: a number as precise as it was written, and a ranking as its relevance in rank order.

A page shows what is wrong in its reader's language: ``Unreadable`` carries a key with parameters beside its English
text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..errors import DataError
from ..ranking import Ranking, Relevance, Sets, rank_scores

MAX_TYPED = 1_000
MAX_DIGITS = 40
EXACT = 9
"""Decimals of a number that was typed as a ratio."""


@dataclass(frozen=True)
class Figure:
    """A number as it was typed: its value as a fraction of 1, and how many decimals of it are known."""

    value: float
    digits: int


def read_number(text: str) -> Figure | None:
    """Which number was typed? ``12``, ``0.583``, ``0,583``, ``58,3 %``, ``7/12`` (exact); None where it is none.

    Examples
    --------
    >>> read_number("0,58"), read_number("58 %"), read_number("7/8")
    (Figure(value=0.58, digits=2), Figure(value=0.58, digits=2), Figure(value=0.875, digits=9))
    """
    compact = re.sub(r"\s", "", text)
    if len(compact) > MAX_DIGITS:
        return None
    ratio = re.fullmatch(r"([0-9]+)/([0-9]+)", compact)
    if ratio:
        return Figure(int(ratio[1]) / int(ratio[2]), EXACT) if int(ratio[2]) else None
    decimal = re.fullmatch(r"([0-9]*)(?:[.,]([0-9]*))?(%?)", compact)
    if not decimal or not (decimal[1] or decimal[2]):
        return None
    decimals = decimal[2] or ""
    shift = 2 if decimal[3] else 0
    value = Fraction(int(decimal[1] + decimals), 10 ** (len(decimals) + shift))
    return Figure(float(value), len(decimals) + shift)


def read_figure(text: str) -> Figure | None:
    """Which score was typed? As ``read_number``; more than 1 is per cent, and 0 and 1 are known to two decimals.

    To one place less, half of all rows would be 1.

    Examples
    --------
    >>> read_figure("58,3"), read_figure("1")
    (Figure(value=0.583, digits=3), Figure(value=1.0, digits=2))
    """
    number = read_number(text)
    if number is None:
        return None
    if number.value > 1:
        return Figure(number.value / 100, number.digits + 2)
    return number if number.digits else Figure(number.value, 2)


class Unreadable(DataError):
    """What was typed is no ranking; a page translates ``key`` with ``parameters``.

    Keys: ``nothing`` (no item), ``character`` (character, place), ``nested``, ``unclosed``, ``unopened`` (place),
    ``too_few_relevant`` (n_relevant, shown), ``several_lists``, ``too_many`` (n, most).
    """

    def __init__(self, key: str, message: str, **parameters: object) -> None:
        super().__init__(message)
        self.key = key
        self.parameters = parameters


def read_ranking(text: str, n_relevant: int | None = None) -> Ranking:
    """Read a ranking from its relevance in rank order.

    Parameters
    ----------
    text : str
        ``1`` is a relevant item, ``0`` another one, best first; ``(01)1``: the items in parentheses are tied, and stand
        in this order otherwise. ``101+2``: two more relevant items were not retrieved. ``/`` parts the lists of several
        queries. Spaces and commas are ignored.
    n_relevant : int, optional
        Relevant items in all, of a single list: those that are not shown were not retrieved.

    Returns
    -------
    Ranking
        One query a list; its gallery is the items shown and those not retrieved.

    Raises
    ------
    Unreadable

    Examples
    --------
    >>> read_ranking("(01)1").above.tolist(), read_ranking("(01)1").tied.tolist()
    ([0, 2], [1, 0])
    """
    lists = [_one_list(part) for part in text.split("/")]
    if n_relevant is not None:
        if len(lists) > 1:
            raise Unreadable("several_lists", "|Rel| can be given for one list only; write 101+2 / 01 instead")
        flags, scores, _ = lists[0]
        shown = sum(flags)
        if n_relevant < shown:
            raise Unreadable(
                "too_few_relevant",
                f"{shown} relevant items are shown, so |Rel| cannot be {n_relevant}",
                n_relevant=n_relevant,
                shown=shown,
            )
        lists = [(flags, scores, n_relevant - shown)]
    n = sum(len(flags) + more for flags, _, more in lists)
    if n > MAX_TYPED:
        raise Unreadable("too_many", f"{n} items; at most {MAX_TYPED} can be typed", n=n, most=MAX_TYPED)
    width = max(len(flags) + more for flags, _, more in lists)
    matrix = np.full((len(lists), width), np.nan)
    for row, (_, scores, _) in zip(matrix, lists, strict=True):
        row[: len(scores)] = scores
    relevant = [[*np.flatnonzero(flags).tolist(), *range(len(flags), len(flags) + more)] for flags, _, more in lists]
    absent = [range(len(flags) + more, width) for flags, _, more in lists]
    return rank_scores(matrix, Relevance.of(Sets.from_lists(relevant), width, Sets.from_lists(absent)))


def _one_list(text: str) -> tuple[list[int], list[float], int]:
    """Relevance and score of each item shown, and how many relevant ones are not."""
    listed, plus, more = text.partition("+")
    if plus and not re.fullmatch("[0-9]{1,9}", more.strip()):
        place = len(listed) + 2
        raise Unreadable("character", f"after + a number is expected, got {more!r}", character=more, place=place)
    flags: list[int] = []
    scores: list[float] = []
    score, opened = 0.0, 0
    for place, character in enumerate(listed, 1):
        if character in "01":
            flags.append(int(character))
            scores.append(score)
            score -= 0 if opened else 1
        elif character == "(":
            if opened:
                raise Unreadable("nested", f"place {place}: a group of ties inside another one", place=place)
            opened = place
        elif character == ")":
            if not opened:
                raise Unreadable("unopened", f"place {place}: ) without (", place=place)
            opened, score = 0, score - 1
        elif not (character.isspace() or character == ","):
            message = f"place {place}: {character!r} is neither 0 nor 1; write 10101, ties as (01)1"
            raise Unreadable("character", message, character=character, place=place)
    if opened:
        raise Unreadable("unclosed", f"place {opened}: ( without )", place=opened)
    if not flags and not plus:
        raise Unreadable("nothing", "write the relevance in rank order, best first: 10101")
    return flags, scores, int(more) if plus else 0
