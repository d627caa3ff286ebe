"""Arrays in files: npy and npz; read whole, or refused."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from .. import budget
from ..arrays import Array
from ..errors import DataError
from .tables import MISSING, normal

Header = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and type of an array."""

_Entries = dict[str, tuple[Header, zipfile.ZipInfo]]


MAX_UNPACKED = 8 * 2**30
"""Bytes that an ``.npz`` may unpack to."""


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
        with path.open("rb") as stream:
            _check_npy(stream, path.stat().st_size, path.name)
        array: Array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}; check that the file exists") from error
    except DataError:
        raise
    except Exception as error:  # as many kinds as there are malformed headers
        raise _not_whole(path.name) from error
    return as_numbers(array, path.name)


def npz_headers(path: Path) -> dict[str, Header]:
    """Which arrays does the ``.npz`` file hold? Name → shape and type, from the headers; no number is read."""
    return _in_archive(path, lambda archive, entries: {name: header for name, (header, _) in entries.items()})


def read_npz(path: Path, names: Iterable[str] | None = None) -> dict[str, Array]:
    """Read arrays of an ``.npz`` file, all or those that are named; what they unpack to is judged by their headers."""

    def read(archive: zipfile.ZipFile, entries: _Entries) -> dict[str, Array]:
        wanted = entries if names is None else {name: entries[name] for name in names}
        total = sum(math.prod(shape) * kind.itemsize for (shape, kind), _ in wanted.values())
        if total > MAX_UNPACKED:
            raise DataError(
                f"{path.name} unpacks to {total / 2**30:.1f} GiB, more than {MAX_UNPACKED / 2**30:.0f}; "
                "store the vectors as .npy, which needs no unpacking"
            )
        budget.check(path.name, total, path.stat().st_size)
        arrays = {}
        with budget.hold(total):
            for name, (_, entry) in wanted.items():
                with archive.open(entry) as stream:
                    arrays[name] = npy.read_array(stream, allow_pickle=False)
        return arrays

    return _in_archive(path, read)


def as_numbers(array: Array, name: str) -> Array:
    """Real numbers in this machine's byte order; extended precision becomes float64."""
    if array.dtype.kind not in "fiub":
        raise DataError(f"{name} holds {array.dtype}, not real numbers; save a float array")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # what float64 does not hold is infinity, and is named as such
            return array.astype(np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def texts(array: Array, name: str) -> list[str]:
    """Ids out of an array of text or whole numbers."""
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        raise DataError(f"{name}: the ids are {array.dtype} of shape {array.shape}; store a list of text")
    try:
        return as_texts(array.tolist(), name)
    except DataError:
        raise
    except Exception as error:  # numpy keeps characters that Unicode does not have, and Python fails at them
        raise _not_text(name) from error


def shapes(headers: Mapping[str, Header]) -> str:
    """Spell names and shapes for a message."""
    return ", ".join(f"{name} {shape}" for name, (shape, _) in headers.items()) or "no arrays"


def _in_archive(path: Path, do: Callable[[zipfile.ZipFile, _Entries], dict[str, Any]]) -> dict[str, Any]:
    """Open an ``.npz`` file, look at the headers of its arrays, and do something with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries: _Entries = {}
            for entry in archive.infolist():
                with archive.open(entry) as stream:
                    header = _check_npy(stream, entry.file_size, f"{path.name}: {entry.filename}")
                entries[entry.filename.removesuffix(".npy")] = header, entry
            return do(archive, entries)
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}; check that the file exists") from error
    except DataError:
        raise
    except Exception as error:  # zipfile raises nearly every kind of exception on a malformed file
        raise _not_whole(path.name, "z") from error


def _check_npy(stream: IO[bytes], size: int, name: str) -> Header:
    """Read the header alone: refuse Python objects, and an array larger than its file."""
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, kind = read(stream)
    except Exception as error:  # a malformed header raises nearly every kind of exception
        raise _not_whole(name) from error
    if kind.hasobject:
        raise DataError(
            f"{name} holds Python objects, which are never unpickled; "
            "save a plain numeric array with numpy.save(file, array.astype('float32'))"
        )
    if any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) * kind.itemsize > size:
        raise _not_whole(name)
    return shape, kind


def _not_whole(name: str, kind: str = "y") -> DataError:
    return DataError(
        f"{name} is not a whole .np{kind} file; "
        "save a plain numeric array with numpy.save(file, array.astype('float32'))"
    )


def as_texts(values: Sequence[object], name: str) -> list[str]:
    """Ids as text, of which each character must be one of Unicode's."""
    try:
        given = [value.decode() if isinstance(value, bytes) else value for value in values]
        texts = [MISSING if value is None else normal(str(value)) for value in given]
        "".join(texts).encode()
    except UnicodeError as error:
        raise _not_text(name) from error
    return texts


def _not_text(name: str) -> DataError:
    return DataError(f"{name}: an id is not UTF-8 text; store the ids as text")
