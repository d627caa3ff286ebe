"""Which rows meet the conditions?"""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from .. import arrays
from ..arrays import IntArray
from ..datasets import NOBODY, REIDENTIFICATION, Dataset, numbers_of, parse_number
from ..errors import DataError, setting
from .choices import Filter


def select_rows(dataset: Dataset, conditions: Filter, *, field: str = "where") -> IntArray:
    """Positions of the rows that meet all conditions of this field, in table order.

    Raises
    ------
    DataError
        No such column, a value that no row has, or nothing left.
    """
    keep = np.ones(len(dataset), bool)
    for column, values in conditions:
        cells = dataset.values(column, field=field)
        chosen = np.zeros(len(dataset), bool)
        for value in values:
            found = matching(cells, value)
            if not found.any():
                there = sorted(set(cells))
                shown = ", ".join(map(repr, there[:8])) + (" …" if len(there) > 8 else "")
                raise DataError(f"no row has {column}={value}; its values are {shown}", field=field)
            chosen |= found
        keep &= chosen
    if not len(keep):
        raise DataError(f"{dataset.name} has no rows")
    if not keep.any():
        words = " and ".join(f"{column} in {'|'.join(values)}" for column, values in conditions)
        raise DataError(f"no row has {words}; widen {setting(field)}")
    return np.flatnonzero(keep)


def matching(cells: arrays.Text, value: str) -> NDArray[np.bool_]:
    """(n,) which cells are this value; where none is, ``low..high`` takes a column's numbers, both ends included."""
    same: NDArray[np.bool_] = cells == value
    low, dots, high = value.partition("..")
    numbers = numbers_of(cells) if dots and not same.any() else None
    try:
        return same if numbers is None else (parse_number(low) <= numbers) & (numbers <= parse_number(high))
    except ValueError:
        return same


def marked_junk(dataset: Dataset) -> IntArray:
    """Rows that the junk column marks."""
    cells = dataset.role("junk")
    if cells is None:
        return np.zeros(0, np.intp)
    return np.flatnonzero([cell.strip().lower() in JUNK_WORDS for cell in cells])


def rows_of_nobody(dataset: Dataset) -> IntArray:
    """Rows with a name of Market-1501's whose person is −1."""
    person = dataset.role("group")
    found = []
    for row, names in enumerate(zip(*dataset.names, strict=True)):
        matches = [REIDENTIFICATION.fullmatch(PurePosixPath(name).stem) for name in names]
        persons = {match["person"] for match in matches if match is not None}
        if persons and NOBODY in (*persons, "" if person is None else _whole(person[row])):
            found.append(row)
    return np.array(found, dtype=np.intp)


def _whole(cell: str) -> str:
    """A number as pandas may have written it, without its decimals: ``-1.0`` is ``-1``."""
    return cell.strip().removesuffix(".0")


JUNK_WORDS = frozenset({"1", "yes", "true", "junk"})
