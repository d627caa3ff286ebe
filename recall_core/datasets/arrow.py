"""Parquet and Feather: read whole or refused, and columns of lists as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import budget
from ..arrays import Array
from ..budget import CELL
from ..errors import DataError, needs
from .arrow_sizes import Unpacked, feather_sizes, parquet_sizes

BATCH_ROWS, BATCH_BYTES = 2**16, 2**28
"""A file is read in pieces of so many rows at the most, and of so many bytes where its texts are long."""


def import_pyarrow(name: str) -> Any:
    """Import pyarrow, which is slow, for the sake of the file of this name."""
    with needs("pyarrow", name, extra="app"):
        import pyarrow
        import pyarrow.compute
        import pyarrow.ipc
        import pyarrow.parquet
        import pyarrow.types
    return pyarrow


def read_arrow(path: Path, told: Callable[[Sequence[str], int], object] | None = None) -> Any:
    """Read a Parquet or Feather file as a pyarrow table.

    Parameters
    ----------
    path : Path
    told : callable, optional
        Is told the names of the columns and the number of rows before any data are read, and may refuse them.

    Raises
    ------
    DataError
        The file is not whole, or would unpack to too much (see ``budget``).
    """
    found = arrow_header(path)
    repeated = [name for name, n in Counter(found.names).items() if n > 1]
    if repeated:
        raise DataError(f"{path.name}: the column {repeated[0]} stands more than once; rename one")
    if told is not None:
        told(found.names, found.n_row)
    with _whole(path), budget.hold(found.n_bytes):
        return _read(path, found)


def arrow_header(path: Path) -> Unpacked:
    """What does a Parquet or Feather file hold? Judged by its headers; ``DataError`` as of ``read_arrow``."""
    import_pyarrow(path.name)
    with _whole(path):
        found = (parquet_sizes if _is_parquet(path) else feather_sizes)(path)
        budget.check(path.name, found.n_bytes, path.stat().st_size)
    return found


def arrow_weight(path: Path, cell: int) -> int:
    """How many bytes do a file's values take, each text as often as it stands there, and at least ``cell`` a value?

    Read piece by piece, and let go of; ``DataError`` as of ``read_arrow``.
    """
    found = arrow_header(path)
    with _whole(path), budget.hold(found.n_bytes):
        pieces = _pieces(path, found)
        next(pieces)  # the schema
        return sum(_unpacked(column, path.name, cell) for batch in _checked(path, pieces) for column in batch.columns)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong inside into a ``DataError`` that says that the file is not whole."""
    import_pyarrow(path.name)
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # pyarrow raises nearly every kind of exception on a malformed file
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise DataError(
            f"{path.name} is not a whole {path.suffix[1:].capitalize()} file ({reason}); write it again"
        ) from error


def values_of(column: Any, name: str) -> list[Any]:
    """Python values out of an arrow column; ``DataError`` where Python has none for them, such as the year 20000."""
    try:
        return list(column.to_pylist())
    except Exception as error:  # each type of arrow has its own conversion, and each fails in its own way
        raise _unheld(column, name, error) from error


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _read(path: Path, found: Unpacked) -> Any:
    """Read a file that has been judged, piece by piece."""
    pieces = _pieces(path, found)
    schema = next(pieces)
    str(schema)  # decodes every name
    return import_pyarrow(path.name).Table.from_batches(list(_checked(path, pieces)), schema)


def _checked(path: Path, batches: Iterator[Any]) -> Iterator[Any]:
    """Give on the pieces, each whole, and stop as soon as their texts are too much."""
    total, size = 0, path.stat().st_size
    for batch in batches:
        batch.validate(full=True)
        total += sum(_unpacked(column, path.name) for column in batch.columns)
        budget.check(path.name, total, size)
        yield batch


def _pieces(path: Path, found: Unpacked) -> Iterator[Any]:
    """The schema, then the record batches."""
    return _parquet_batches(path, found, path.stat().st_size) if _is_parquet(path) else _feather_batches(path)


def _parquet_batches(path: Path, found: Unpacked, size: int) -> Iterator[Any]:
    """The schema, then pieces so short that they are not too much even where each text is as long as any can be."""
    pyarrow = import_pyarrow(path.name)
    rows = min(budget.allowed(size), BATCH_BYTES) // found.largest
    with pyarrow.parquet.ParquetFile(path, read_dictionary=list(found.repeated)) as file:
        yield file.schema_arrow
        for group in range(file.num_row_groups):  # each has its own dictionary, and pyarrow joins none inside lists
            yield from file.iter_batches(max(1, min(rows, BATCH_ROWS)), row_groups=[group], use_threads=False)


def _feather_batches(path: Path) -> Iterator[Any]:
    """The schema, then the record batches; from the stream that was judged, not from where the footer points."""
    pyarrow = import_pyarrow(path.name)
    with pyarrow.OSFile(str(path)) as file:
        file.seek(8)
        reader = pyarrow.ipc.open_stream(file)
        yield reader.schema
        yield from reader


def _unpacked(column: Any, name: str, cell: int = CELL) -> int:
    """Bytes of a column's values, each counted as often as it stands there, at least ``cell`` a value.

    A dictionary, a view or a run may name one long text a million times.
    """
    pyarrow = import_pyarrow(name)
    types, kind = pyarrow.types, column.type
    if isinstance(kind, pyarrow.BaseExtensionType):
        return _unpacked(column.storage, name, cell)
    if types.is_map(kind):
        return cell * len(column) + _unpacked(column.keys, name, cell) + _unpacked(column.items, name, cell)
    if types.is_struct(kind):
        return cell * len(column) + sum(_unpacked(column.field(i), name, cell) for i in range(kind.num_fields))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if is_number(kind.value_type):
            return int(column.nbytes)
        return cell * len(column) + _unpacked(column.flatten(), name, cell)
    if types.is_dictionary(kind):
        sizes = _lengths(column.dictionary, name)
        at = column.indices.fill_null(0).to_numpy(zero_copy_only=False) if len(sizes) else []
        return cell * len(column) + int(sizes[at].sum())
    return cell * len(column) + int(_lengths(column, name).sum())


def _lengths(column: Any, name: str) -> NDArray[np.int64]:
    """(n,) bytes of each value, none beyond ``CELL`` for numbers."""
    pyarrow = import_pyarrow(name)
    types, kind = pyarrow.types, column.type
    if types.is_string_view(kind) or types.is_binary_view(kind):
        views = np.frombuffer(column.buffers()[1], np.int32).reshape(-1, 4) if len(column) else np.zeros((0, 4))
        return np.maximum(views[column.offset : column.offset + len(column), 0], 0).astype(np.int64)
    if types.is_string(kind) or types.is_binary(kind) or types.is_large_string(kind) or types.is_large_binary(kind):
        lengths = pyarrow.compute.binary_length(column).fill_null(0)
        return np.asarray(lengths.to_numpy(zero_copy_only=False), np.int64)
    if types.is_nested(kind) or types.is_run_end_encoded(kind) or types.is_dictionary(kind):
        raise DataError(f"{name}: values stored as {str(kind)[:80]} are not read; store plain texts, numbers or lists")
    return np.zeros(len(column), np.int64)


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
