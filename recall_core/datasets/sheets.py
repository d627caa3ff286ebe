"""CSV that a spreadsheet opens without running what stands in it, and back, exactly.

A spreadsheet takes a cell that begins with one of ``= + - @``, a tab or a line end for a formula. An apostrophe before
it makes it text. A cell that begins with apostrophes and then such a character gets one more, so that the guard can be
taken off again and nothing else with it. The same holds inside a cell after a semicolon, a tab or a line end, where a
spreadsheet of another country begins the next cell.
"""

from __future__ import annotations

import re

import pandas as pd

from . import tables
from .tables import text_columns

_FORMULA = r"(?:^|(?<=[;\t\r\n]))"
_GUARDABLE = re.compile(_FORMULA + r"(?='*[=+\-@\t\r\n])")
_ANY_GUARDABLE = re.compile(r"[\0;\t\r\n]'*[=+\-@\t\r\n]")
_GUARDED = re.compile(_FORMULA + r"'(?='*[=+\-@\t\r\n])")


def guard(text: str) -> str:
    """Write a text so that no spreadsheet takes it for a formula.

    Examples
    --------
    >>> guard("=1+1"), guard("'=1+1"), guard("-1"), guard("it's 1"), guard("a;=1+1")
    ("'=1+1", "''=1+1", "'-1", "it's 1", "a;'=1+1")
    """
    return _GUARDABLE.sub("'", text)


def unguard(text: str) -> str:
    """Read what ``guard`` wrote.

    Examples
    --------
    >>> unguard("'=1+1"), unguard("''=1+1"), unguard("'tis"), unguard("a;'=1+1")
    ('=1+1', "'=1+1", "'tis", 'a;=1+1')
    """
    return _GUARDED.sub("", text)


def guarded(table: pd.DataFrame) -> pd.DataFrame:
    """Guard the names and the texts of a table; columns of numbers stay as they are."""
    safe = table.copy()
    for name in text_columns(table):
        cells = table[name].to_numpy(dtype=object).tolist()
        texts = [cell for cell in cells if isinstance(cell, str)]
        if _ANY_GUARDABLE.search("\0".join(["", *texts])):  # many times faster than a look at each cell
            safe[name] = [guard(cell) if isinstance(cell, str) else cell for cell in cells]
    return safe.rename(columns=lambda name: guard(str(name)))


def guarded_csv(table: pd.DataFrame) -> str:
    """Spell a table as CSV for a spreadsheet: as ``tables.to_csv``, with its names and texts guarded."""
    return tables.exact_csv(guarded(table))
