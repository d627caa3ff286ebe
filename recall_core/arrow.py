"""Parquet and Feather: read whole or refused, and columns of lists as arrays."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, needs

Array = NDArray[Any]


def import_pyarrow(name: str) -> Any:
    """Import pyarrow, which is slow, for the sake of the file of this name."""
    with needs("pyarrow", name, extra="app"):
        import pyarrow
        import pyarrow.feather
        import pyarrow.parquet
        import pyarrow.types
    return pyarrow


def read_arrow(path: Path) -> Any:
    """Read a Parquet or Feather file as a pyarrow table; ``DataError`` where it is not whole."""
    pyarrow = import_pyarrow(path.name)
    read = pyarrow.parquet.read_table if path.suffix.lower() == ".parquet" else pyarrow.feather.read_table
    try:
        table = read(path)
        table.validate(full=True)
        str(table.schema)  # decodes every name
        repeated = [name for name, n in Counter(table.column_names).items() if n > 1]
    except Exception as error:  # pyarrow raises nearly every kind of exception on a malformed file
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise DataError(
            f"{path.name} is not a whole {path.suffix[1:].capitalize()} file ({reason}); write it again"
        ) from error
    if repeated:
        raise DataError(f"{path.name}: the column {repeated[0]} stands more than once; rename one")
    return table


def values_of(column: Any, name: str) -> list[Any]:
    """Python values out of an arrow column; ``DataError`` where Python has none for them, such as the year 20000."""
    try:
        return list(column.to_pylist())
    except Exception as error:  # each type of arrow has its own conversion, and each fails in its own way
        raise _unheld(column, name, error) from error


def is_vector_column(kind: Any) -> bool:
    """Is this arrow type a list of numbers?"""
    types = import_pyarrow("a column of arrow's").types
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(lists and is_number(kind.value_type))


def is_number(kind: Any) -> bool:
    """Is this arrow type a real number?"""
    types = import_pyarrow("a column of arrow's").types
    return bool(types.is_floating(kind) or types.is_integer(kind))


def arrow_numbers(column: Any, name: str) -> Array:
    """(n,) numbers out of an arrow column of numbers; a missing one is nan."""
    try:
        return np.asarray(column.to_numpy())
    except Exception as error:  # as for ``values_of``
        raise _unheld(column, name, error) from error


def arrow_vectors(column: Any, name: str) -> Array:
    """(n, n_dim) numbers out of an arrow column of lists; every row must be there, and as long as the first."""
    pyarrow = import_pyarrow(name)
    chunks = [np.zeros((0, 0))]
    for chunk in column.chunks:
        gaps = np.flatnonzero(chunk.is_null().to_numpy(zero_copy_only=False))
        if len(gaps):
            raise DataError(f"{name} row {gaps[0] + 1}: the vector is missing; add it or drop the row")
        lengths = chunk.value_lengths().to_numpy(zero_copy_only=False)
        odd = np.flatnonzero(lengths != lengths[0]) if len(lengths) else lengths
        if len(odd):
            raise DataError(
                f"{name} row {odd[0] + 1}: {lengths[odd[0]]} numbers where the first row has {lengths[0]}; "
                "every vector needs the same length"
            )
        if len(lengths):
            flat = arrow_numbers(pyarrow.chunked_array([chunk.flatten()]), name)
            chunks.append(flat.reshape(len(lengths), lengths[0]))
    widths = {part.shape[1] for part in chunks[1:]}
    if len(widths) > 1:
        raise DataError(f"{name}: vectors of different lengths, {sorted(widths)}; every vector needs the same length")
    return np.concatenate(chunks[1:]) if len(chunks) > 1 else chunks[0]


def _unheld(column: Any, name: str, error: Exception) -> DataError:
    return DataError(f"{name} holds {column.type}, which cannot be read ({error}); store text or plain numbers")
