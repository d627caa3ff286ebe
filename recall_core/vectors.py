"""Numbers that the user brings: embeddings and score matrices, checked and put in the table's order.

Nothing is ever unpickled.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError

Array = NDArray[Any]


def read_array(path: Path, *, mapped: bool = False) -> Array:
    """What does the ``.npy`` file hold, as an array of numbers in this machine's byte order?

    Parameters
    ----------
    path : Path
    mapped : bool
        Leave the array on disk and read it on demand (not where the byte order has to be turned).

    Raises
    ------
    DataError
        Not an ``.npy`` file, truncated, an array of Python objects, or not numbers.
    """
    try:
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}; check that the file exists") from error
    except (ValueError, EOFError, SyntaxError) as error:
        reason = "holds Python objects" if "allow_pickle" in str(error) else "is not a whole .npy file"
        raise DataError(
            f"{path.name} {reason}; save a plain numeric array with numpy.save(file, array.astype('float32'))"
        ) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
        kind = getattr(array, "dtype", type(array).__name__)
        raise DataError(f"{path.name} holds {kind}, not real numbers; save a float array")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def read_embeddings(path: Path) -> Array:
    """Read (n, n_dim) vectors; a one-dimensional file is n vectors of one number."""
    array = read_array(path)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"{path.name} has shape {array.shape}; embeddings are (rows, dimensions)")
    return array


def read_ids(path: Path) -> list[str]:
    """Read the ids, one a line, as written; blank lines at the end do not count."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} cannot be read as UTF-8 text: {error}") from error
    while lines and not lines[-1]:
        lines.pop()
    return lines


def rows_by_id(wanted: list[str], given: list[str], name: str) -> NDArray[np.intp]:
    """Which row of the file belongs to each wanted id?

    Raises
    ------
    DataError
        An id stands twice in the file, or a wanted one is missing from it.
    """
    repeated = [item for item, n in Counter(given).items() if n > 1]
    if repeated:
        raise DataError(f"{name}: {_some(repeated)} stand more than once; ids must be unique")
    row = {item: i for i, item in enumerate(given)}
    missing = [item for item in wanted if item not in row]
    if missing:
        raise DataError(
            f"{name} has no row for {len(missing)} of {len(wanted)} ids: {_some(missing)}; "
            "add them, or restrict the data with --where"
        )
    return np.array([row[item] for item in wanted], dtype=np.intp)


def bad_rows(vectors: Array) -> NDArray[np.intp]:
    """Which rows contain nan or infinity?"""
    if vectors.dtype.kind != "f":
        return np.zeros(0, np.intp)
    return np.flatnonzero(~np.isfinite(vectors).all(axis=1))


def _some(items: list[str], n: int = 5) -> str:
    shown = ", ".join(map(repr, items[:n]))
    return shown + (f" and {len(items) - n} more" if len(items) > n else "")
