"""Matrices of scores that the user brings, with the ids of their rows and columns where the file has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import budget
from ..arrays import Array
from ..errors import DataError
from .containers import as_numbers, npz_headers, read_array, read_npz, shapes, texts
from .embeddings import cell_number, named
from .tables import MISSING, parse_number, read_table, split_lines

DENSE = 2**28
"""Bytes that a run may take as a matrix, however few lines name its queries and items."""

SCORE_NAMES = ("scores", "score", "similarity", "similarities", "sim")


QUERY_ID_NAMES = ("query_ids", "query_id", "query", "queries")


GALLERY_ID_NAMES = ("gallery_ids", "gallery_id", "gallery")


@dataclass(frozen=True, eq=False)
class Scores:
    """A matrix of scores as a file holds it.

    Parameters
    ----------
    values : (n_query, n_gallery) array
        Larger is more similar; nan: not retrieved.
    query_ids, gallery_ids : list of text, or None
        What the file calls its rows and columns.
    """

    values: Array
    query_ids: list[str] | None = None
    gallery_ids: list[str] | None = None

    def __post_init__(self) -> None:
        if self.values.ndim != 2:
            raise DataError(f"the scores have shape {self.values.shape}; expected a row a query, a column an item")
        for name, ids, n in (
            ("query", self.query_ids, self.values.shape[0]),
            ("gallery", self.gallery_ids, self.values.shape[1]),
        ):
            if ids is not None and len(ids) != n:
                raise DataError(f"{len(ids)} {name} ids but scores of shape {self.values.shape}; they must agree")


def read_scores(path: Path) -> Scores:
    """Which scores does the file hold, and whose are they?

    Parameters
    ----------
    path : Path
        ``.npy``: a matrix; ``.npz``: ``scores`` and, if there, ``query_ids`` and ``gallery_ids``; CSV: query ids in the
        first column, gallery ids in the header, an empty cell where an item was not retrieved; anything else:
        a TREC run.

    Raises
    ------
    DataError
        The file cannot be read, or ids and shape do not agree.
    """
    return SCORE_FORMS.get(path.suffix.lower(), _run_scores)(path)


def _npz_scores(path: Path) -> Scores:
    headers = npz_headers(path)
    name = named(headers, SCORE_NAMES)
    if name is None:
        raise DataError(f"{path.name} holds {shapes(headers)}; call the matrix scores")
    sides = [named(headers, names) for names in (QUERY_ID_NAMES, GALLERY_ID_NAMES)]
    for side, n in zip(sides, headers[name][0], strict=False):
        if side is not None and headers[side][0][:1] != (n,):
            raise DataError(f"{path.name} holds {shapes(headers)}; {side} and {name} must agree")
    arrays = read_npz(path, dict.fromkeys([name, *filter(None, sides)]))
    query, gallery = (None if side is None else texts(arrays[side], path.name) for side in sides)
    return Scores(as_numbers(arrays[name], path.name), query, gallery)


def _csv_scores(path: Path) -> Scores:
    table = read_table(path)
    if table.shape[1] < 2:
        raise DataError(f"{path.name} has one column; a matrix of scores has query ids first, then a column an item")
    values = np.empty((len(table), table.shape[1] - 1))
    for place, name in enumerate(table.columns[1:]):
        for row, cell in enumerate(table[name]):
            values[row, place] = np.nan if cell == MISSING else cell_number(cell, path.name, row, str(name))
    return Scores(values, list(table.iloc[:, 0]), [str(name) for name in table.columns[1:]])


def _run_scores(path: Path) -> Scores:
    """TREC run: ``query Q0 item rank score tag``; the score orders, the rank column is not used."""
    query_row: dict[str, int] = {}
    column: dict[str, int] = {}
    entries: dict[tuple[int, int], float] = {}
    for line, words in split_lines(path):
        if len(words) not in (5, 6):
            raise DataError(
                f"{path.name} line {line}: {len(words)} words; a TREC run has query, Q0, item, rank, score and tag"
            )
        try:
            score = parse_number(words[4])
        except ValueError:
            raise DataError(f"{path.name} line {line}: score is {words[4]!r}; write a number") from None
        if not math.isfinite(score):
            raise DataError(f"{path.name} line {line}: score is {words[4]!r}; leave out what was not retrieved")
        at = query_row.setdefault(words[0], len(query_row)), column.setdefault(words[2], len(column))
        if at in entries:
            raise DataError(
                f"{path.name} line {line}: query {words[0]!r} retrieves item {words[2]!r} a second time; "
                "each item stands once in a list"
            )
        entries[at] = score
    if not entries:
        raise DataError(f"{path.name} is empty; a TREC run has query, Q0, item, rank, score and tag on each line")
    budget.check(
        f"{path.name} as a matrix of {len(query_row)} × {len(column)}",
        8 * len(query_row) * len(column),
        path.stat().st_size,
        DENSE,
    )
    values = np.full((len(query_row), len(column)), np.nan)
    where = np.array(list(entries))
    values[where[:, 0], where[:, 1]] = list(entries.values())
    return Scores(values, list(query_row), list(column))


SCORE_FORMS: dict[str, Callable[[Path], Scores]] = {
    ".npy": lambda path: Scores(read_array(path)),
    ".npz": _npz_scores,
    ".csv": _csv_scores,
    ".tsv": _csv_scores,
}
"""Suffix of a file of scores → how it is read; anything else is a TREC run."""
