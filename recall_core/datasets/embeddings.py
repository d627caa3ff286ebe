"""Embeddings that the user brings, checked, with their ids where the file has them.

Nothing is ever unpickled: arrays of Python objects are refused.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import DataError, setting
from .arrow import arrow_numbers, arrow_vectors, is_number, is_vector_column, read_arrow, values_of
from .containers import as_numbers, as_texts, npz_headers, read_array, read_npz, shapes, texts
from .tables import COLUMN_NAMES, MISSING, SUFFIXES, normal, parse_number, read_table, read_text, some

Told = Callable[[int], object]
"""Is told how many rows a file has, where it does not name them, before a number is read; may refuse them."""


EMBEDDING_NAMES = ("embeddings", "embedding", "emb", "vectors", "vector", "features", "feats", "feature", "x")


ID_NAMES = (*COLUMN_NAMES["id"], "ids", "image_ids", "names", "name", "keys", *COLUMN_NAMES["path"], "paths", "files")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors as a file holds them.

    Parameters
    ----------
    values : (n, n_dim) array
        Real numbers in this machine's byte order, else as stored.
    ids : list of n text, or None
        What the file calls its rows.
    """

    values: Array
    ids: list[str] | None = None

    def __post_init__(self) -> None:
        if self.ids is not None and len(self.ids) != len(self.values):
            raise DataError(f"{len(self.ids)} ids but {len(self.values)} vectors; they must agree")


def read_embeddings(path: Path, *, told: Told = lambda n_row: None) -> Embeddings:
    """Which vectors does the file hold, and what does it call them?

    Parameters
    ----------
    path : Path
        ``.npy`` (rows, dimensions); ``.npz`` with an array of vectors and, if it has one, an array of ids; Parquet or
        Feather with a column of lists or a column a dimension; CSV with cells such as ``[0.1, 0.2]`` or a column a
        dimension. Ids are in a column with a conventional name.
    told : callable
        Is told the number of rows where the file does not name them, before a number is read; a wrong number may be
        refused there with ``DataError``.

    Returns
    -------
    Embeddings
        The same numbers whatever the byte order, memory order and file form. nan and infinity are kept: the data set,
        which knows the ids, names them.

    Raises
    ------
    DataError
        The file is not whole, holds Python objects, has no vectors, or vectors of different lengths.
    """
    read = _chosen(EMBEDDING_FORMS, path, "embeddings")
    given = read(path, told)
    values = given.values[:, None] if given.values.ndim == 1 else given.values
    if values.ndim != 2 or values.shape[1] == 0:
        raise DataError(f"{path.name} has shape {values.shape}; embeddings are (rows, dimensions)")
    return Embeddings(values, given.ids)


def read_ids(path: Path) -> list[str]:
    """Read the ids, one a line, as written; blank lines at the end do not count."""
    lines = [normal(line.rstrip("\r")) for line in read_text(path).split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def rows_by_id(wanted: Sequence[str], given: Sequence[str], name: str) -> NDArray[np.intp]:
    """Which row of the file belongs to each wanted id?

    Raises
    ------
    DataError
        An id stands twice in the file, or a wanted one is missing from it.
    """
    check_unique(given, name)
    row = {item: i for i, item in enumerate(given)}
    missing = [item for item in wanted if item not in row]
    if missing:
        raise DataError(
            f"{name} has no row for {len(missing)} of {len(wanted)} ids: {some(missing)}; "
            f"add them, or restrict the data with {setting('where')}"
        )
    return np.array([row[item] for item in wanted], dtype=np.intp)


MATCHED = {
    "matched_by_id": "{file}: {n} rows matched by id",
    "matched_by_position": "{file}: {n} rows matched to the table by position; give the rows' ids to be sure of the "
    "order",
    "matched_to_selected": "{file}: {n} rows matched by position to the selected rows, in table order; give the rows' "
    "ids to be sure of the order",
}
"""How vectors were put in the table's order, in words."""


def match_rows(
    given: Embeddings,
    n_item: int,
    names: Sequence[Sequence[str]],
    file: str,
) -> tuple[NDArray[np.intp], bool]:
    """Which vector belongs to each of ``n_item`` items?

    Parameters
    ----------
    names : sequence of lists of n_item text
        What the items are called, in the order in which these are tried: ids, then paths.

    Returns
    -------
    rows : (n_item,) intp
    by_id : bool
        False: only the counts agree, and the order is taken on trust.

    Raises
    ------
    DataError
        The file has no ids and the counts differ, or an item is missing from it.
    """
    if given.ids is not None:
        known = set(given.ids)
        chosen = next((called for called in names if known.issuperset(called)), names[0])
        return rows_by_id(chosen, given.ids, file), True
    check_rows(file, len(given.values), n_item)
    return np.arange(n_item), False


def check_rows(file: str, n_row: int, n_item: int) -> None:
    """Refuse vectors that have no ids where there are more or fewer than items."""
    if n_row != n_item:
        raise DataError(
            f"{file} has {n_row} rows, the table has {n_item}; "
            f"make the counts agree, or give the rows' ids with {setting('ids')}"
        )


def check_unique(ids: Sequence[str], name: str) -> None:
    """Refuse a list of ids in which one stands twice."""
    repeated = [item for item, n in Counter(ids).items() if n > 1]
    if repeated:
        raise DataError(f"{name}: {some(repeated)} stand more than once; ids must be unique")


def bad_rows(vectors: Array) -> NDArray[np.intp]:
    """Which rows contain nan or infinity?"""
    if vectors.dtype.kind != "f":
        return np.zeros(0, np.intp)
    return np.flatnonzero(~np.isfinite(vectors).all(axis=1))


def zero_rows(vectors: Array) -> NDArray[np.intp]:
    """Which rows hold nothing but zeros, so that they have no direction?"""
    return np.flatnonzero(~vectors.any(axis=1))


def rows_where(test: Callable[[Array], NDArray[np.intp]], vectors: Array, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Which of these rows pass the test? A few are looked at at a time, so that vectors on disk may stay there."""
    found = [chunk[test(vectors[chunk])] for chunk in row_chunks(vectors, rows)]
    return np.concatenate([rows[:0], *found])


def row_chunks(vectors: Array, rows: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Cut rows into stretches of about 64 MiB of vectors."""
    step = max(2**23 // max(vectors.shape[1], 1), 1)
    for start in range(0, len(rows), step):
        yield rows[start : start + step]


def named(columns: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The first conventional name that is there, whatever its case."""
    lower = {name.lower(): name for name in reversed(list(columns))}
    return next((lower[name] for name in names if name in lower), None)


def cell_number(cell: str, name: str, row: int, column: str) -> float:
    """Read a number out of a table's cell, or say which one it is not in."""
    try:
        return parse_number(cell)
    except ValueError:
        shown = "empty" if cell == MISSING else repr(cell)
        raise DataError(f"{name} row {row + 1}: {column} is {shown}; write a number") from None


def _chosen(forms: Mapping[str, Form], path: Path, what: str) -> Form:
    suffix = path.suffix.lower()
    if suffix not in forms:
        raise DataError(f"{path.name}: {what} are read from {', '.join(forms)} files; convert it to one of them")
    return forms[suffix]


def _npy_embeddings(path: Path, told: Told) -> Embeddings:
    told(len(np.atleast_1d(read_array(path, mapped=True))))
    return Embeddings(read_array(path))


def _npz_embeddings(path: Path, told: Told) -> Embeddings:
    headers = npz_headers(path)
    wide = {name: shape for name, (shape, kind) in headers.items() if len(shape) == 2 and kind.kind in "fiub"}
    name = named(wide, EMBEDDING_NAMES) or (next(iter(wide)) if len(wide) == 1 else None)
    if name is None:
        raise DataError(
            f"{path.name} holds {shapes(headers)}; call the vectors (rows, dimensions) embeddings, and their ids ids"
        )
    ids = named(headers, ID_NAMES)
    if ids is None:
        told(wide[name][0])
    elif headers[ids][0][:1] != wide[name][:1]:
        n_id, n_row = (math.prod(headers[one][0][:1]) for one in (ids, name))
        raise DataError(f"{path.name}: {n_id} ids but {n_row} vectors; they must agree")
    arrays = read_npz(path, [name] if ids is None else [name, ids])
    return Embeddings(as_numbers(arrays[name], path.name), None if ids is None else texts(arrays[ids], path.name))


def _csv_embeddings(path: Path, told: Told) -> Embeddings:
    table = read_table(path)
    if not len(table):
        raise DataError(f"{path.name} has no rows; it needs a header line and a row a vector")
    columns = {str(name): list(table[name]) for name in table.columns}
    ids = named(columns, ID_NAMES)
    if ids is None:
        told(len(table))
    vectors = named(columns, EMBEDDING_NAMES)
    names = list(columns[ids]) if ids is not None else [str(row + 1) for row in range(len(table))]
    if vectors is not None:
        rows = [_cell_vector(cell, path.name, row, names[row]) for row, cell in enumerate(columns[vectors])]
        values = _equal_length(rows, path.name)
    else:
        dimensions = _dimension_columns(list(columns))
        if not dimensions:
            raise DataError(
                f"{path.name}: no column of vectors; call it embedding (cells such as [0.1, 0.2]), "
                "or number one column a dimension: e0, e1, …"
            )
        values = np.empty((len(table), len(dimensions)))
        for place, name in enumerate(dimensions):
            for row, cell in enumerate(columns[name]):
                values[row, place] = cell_number(cell, path.name, row, name)
    return Embeddings(values, None if ids is None else columns[ids])


def _arrow_embeddings(path: Path, told: Told) -> Embeddings:
    def told_all(names: Sequence[str], n_row: int) -> None:
        if named(dict.fromkeys(names), ID_NAMES) is None:
            told(n_row)

    table = read_arrow(path, told_all)
    ids = named(dict.fromkeys(table.column_names), ID_NAMES)
    names = None if ids is None else as_texts(values_of(table[ids], f"{path.name} column {ids}"), path.name)
    lists = [name for name in table.column_names if is_vector_column(table.schema.field(name).type)]
    chosen = named(dict.fromkeys(lists), EMBEDDING_NAMES) or (lists[0] if len(lists) == 1 else None)
    if chosen is not None:
        return Embeddings(arrow_vectors(table[chosen], f"{path.name} column {chosen}"), names)
    numeric = [name for name in table.column_names if is_number(table.schema.field(name).type) and name != ids]
    dimensions = _dimension_columns(numeric)
    if not dimensions:
        raise DataError(
            f"{path.name} has the columns {', '.join(table.column_names)}; call the column of vectors embedding, "
            "or number one column a dimension: e0, e1, …"
        )
    parts = [arrow_numbers(table[name], f"{path.name} column {name}") for name in dimensions]
    return Embeddings(np.stack(parts, axis=1), names)


def _dimension_columns(names: Sequence[str]) -> list[str]:
    """Columns that differ in a number at the end alone, counted from 0 or 1 without gaps; by that number."""
    families: dict[str, dict[int, str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)([0-9]{1,6})", name)
        if match:
            families.setdefault(match[1], {})[int(match[2])] = name
    whole = [
        [family[n] for n in sorted(family)]
        for family in families.values()
        if min(family) in (0, 1) and max(family) - min(family) + 1 == len(family)
    ]
    return max(whole, key=len, default=[])


def _cell_vector(cell: str, name: str, row: int, item: str) -> list[float]:
    inside = cell.strip().strip("[]()")
    words = [word for word in re.split(r"[\s,;]+", inside) if word]
    try:
        return [parse_number(word) for word in words]
    except ValueError:
        what = "is cut short (…)" if "..." in cell else f"is {cell[:40]!r}"
        raise DataError(
            f"{name} row {row + 1} (id {item!r}): the vector {what}; write all numbers, as in [0.1, 0.2]"
        ) from None


def _equal_length(rows: list[list[float]], name: str) -> Array:
    for row, numbers in enumerate(rows):
        if len(numbers) != len(rows[0]):
            raise DataError(
                f"{name} row {row + 1}: {len(numbers)} numbers where the first row has {len(rows[0])}; "
                "every vector needs the same length"
            )
    return np.array(rows, dtype=np.float64)


Form = Callable[[Path, Told], Embeddings]

EMBEDDING_FORMS: dict[str, Form] = {
    ".npy": _npy_embeddings,
    ".npz": _npz_embeddings,
    ".parquet": _arrow_embeddings,
    ".feather": _arrow_embeddings,
    **dict.fromkeys(SUFFIXES, _csv_embeddings),
}
"""Suffix of a file of vectors → how it is read."""
