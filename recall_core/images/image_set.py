"""Many images, decoded on demand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..errors import DataError
from .decoding import SMALL, DeepRange, Picture, Shape, Source, chunks, decode, header_shape, scale_deep, unit_floats

BATCH_VALUES = 2**25
"""A batch of large pictures is cut short here: 134 MB, and one picture more."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """Many pictures, decoded only when they are asked for.

    Made by ``from_array`` or ``from_files``; ``len``, ``pictures[i]`` and iteration work as for a list.

    Parameters
    ----------
    source : array or tuple of Path or bytes
        (n, H, W) or (n, H, W, 3) array of uint8, uint16, bool or floats in [0, 1] (never copied as a whole), or files.
    positions : (n_picture,) intp
        Which entries of ``source`` these pictures are, in this order.
    deep : DeepRange, optional
        Of the whole source, which all selections share.
    """

    source: NDArray[Any] | tuple[Source, ...]
    positions: NDArray[np.intp]
    deep: DeepRange | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.deep is None:
            object.__setattr__(self, "deep", DeepRange(self.source))
        positions = np.ascontiguousarray(self.positions, dtype=np.intp).view()
        positions.flags.writeable = False
        object.__setattr__(self, "positions", positions)
        if len(positions) and not (0 <= positions.min() and positions.max() < len(self.source)):
            raise ValueError(f"positions must lie in 0 … {len(self.source) - 1}")

    @classmethod
    def from_array(cls, array: ArrayLike) -> Pictures:
        """Take pictures from an array, which may be memory-mapped.

        Parameters
        ----------
        array : (n, H, W), (n, 1, H, W), (n, 3, H, W), (n, H, W, 1) or (n, H, W, 3)
            uint8 is divided by 255, uint16 by the first of ``FULL_SCALES`` that holds the whole array, bool is 0 and
            1, floats must lie in [0, 1].

        Raises
        ------
        DataError
            Another shape or number type; a shape that can be read in two ways; a value outside [0, 1], nan, infinity.
        """
        pictures = _channels_last(np.asanyarray(array))
        if pictures.dtype.kind == "f":
            _check_unit_range(pictures)
        elif pictures.dtype.kind != "b" and pictures.dtype.newbyteorder("=") not in (np.uint8, np.uint16):
            raise DataError(
                f"pictures have the number type {pictures.dtype}; expected uint8, uint16, bool, or floats in [0, 1]"
            )
        return cls(pictures, np.arange(len(pictures)))

    @classmethod
    def from_files(cls, sources: Sequence[Source | str]) -> Pictures:
        """Take pictures from files (paths) or from their contents (bytes); nothing is opened yet."""
        files = tuple(Path(source) if isinstance(source, str) else source for source in sources)
        return cls(files, np.arange(len(files)))

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, i: int) -> Picture:
        at = int(self.positions[i])
        if isinstance(self.source, np.ndarray):
            values = self.source[at]
            deep = values.dtype.kind == "u" and values.dtype.itemsize > 1
            return scale_deep(values, None, self.deep) if deep else unit_floats(values)
        return decode(self.source[at], name=self._name(at), deep=self.deep)

    def __iter__(self) -> Iterator[Picture]:
        for i in range(len(self)):
            yield self[i]

    def select(self, positions: ArrayLike) -> Pictures:
        """Keep these pictures (positions or a mask), in the order given; nothing is copied or opened."""
        at = np.asarray(positions)
        return Pictures(self.source, self.positions[at if at.size else at.astype(np.intp)], deep=self.deep)

    def batches(self, size: int) -> Iterator[list[Picture]]:
        """Go through the pictures in lists of ``size``.

        The last may be shorter, and any where the pictures are large: a list ends once it holds ``BATCH_VALUES``.
        """
        batch: list[Picture] = []
        held = 0
        for picture in self:
            batch.append(picture)
            held += picture.size
            if len(batch) == size or held >= BATCH_VALUES:
                yield batch
                batch, held = [], 0
        if batch:
            yield batch

    @cached_property
    def same_shape(self) -> Shape | None:
        """The shape that all pictures have in common; None if they differ, or if there are none.

        Files are asked for their headers, one after the other, until two shapes differ. ``DataError`` where a header
        cannot be read.
        """
        if len(self) == 0:
            return None
        if isinstance(self.source, np.ndarray):
            return tuple(self.source.shape[1:])
        common = self.shape(0)
        return common if all(self.shape(i) == common for i in range(1, len(self))) else None

    def shape(self, i: int) -> Shape:
        """Shape of picture ``i``: from its header, for a file."""
        at = int(self.positions[i])
        if isinstance(self.source, np.ndarray):
            return tuple(self.source.shape[1:])
        return header_shape(self.source[at], name=self._name(at))

    def preview(self, i: int, size: int = 128) -> Picture:
        """Picture ``i`` for a thumbnail of ``size``: decoded no finer than needed, which saves time on photographs."""
        at = int(self.positions[i])
        if isinstance(self.source, np.ndarray):
            return self[i]
        return decode(self.source[at], name=self._name(at), enough=2 * max(size, SMALL), deep=self.deep)

    def _name(self, at: int) -> str | None:
        """Call a file by its path, which is the default, and bytes by their place in the source."""
        return f"picture {at}" if isinstance(self.source[at], bytes) else None

    def problems(self) -> dict[int, str]:
        """Which pictures cannot be opened, and why: position → message. Each file is decoded once."""
        found: dict[int, str] = {}
        if isinstance(self.source, np.ndarray):
            return found
        for i in range(len(self)):
            try:
                self[i]
            except DataError as problem:
                found[i] = str(problem)
        return found


def _channels_last(array: NDArray[Any]) -> NDArray[Any]:
    """View an array of pictures as (n, H, W) or (n, H, W, 3)."""
    expected = "expected (n, H, W), (n, 1, H, W), (n, 3, H, W), (n, H, W, 1) or (n, H, W, 3)"
    if array.ndim not in (3, 4) or 0 in array.shape[1:]:
        raise DataError(f"pictures have the shape {array.shape}; {expected}")
    if array.ndim == 3:
        return array
    first, last = array.shape[1] in (1, 3), array.shape[3] in (1, 3)
    if first and last and array.shape[1:] != (1, 1, 1):
        raise DataError(f"pictures of shape {array.shape} can be read in two ways; give (n, H, W) or (n, H, W, 3)")
    if not first and not last:
        raise DataError(f"pictures have the shape {array.shape}; {expected}")
    channels_last = array if last else np.moveaxis(array, 1, 3)
    return channels_last[..., 0] if channels_last.shape[3] == 1 else channels_last


def _check_unit_range(pictures: NDArray[Any]) -> None:
    """Refuse floats outside [0, 1]."""
    low, high = np.inf, -np.inf
    for some in chunks(pictures):
        low, high = np.minimum(low, some.min()), np.maximum(high, some.max())
    if len(pictures) and not (low >= 0 and high <= 1):
        seen = "nan" if np.isnan(low + high) else f"{low:g} to {high:g}"
        raise DataError(
            f"pictures of floating-point numbers must lie in [0, 1], these hold {seen}; "
            "divide by the full scale, or store them as uint8"
        )


UNREADABLE = b"unreadable"


def array_digest(array: Array) -> bytes:
    """SHA-256 over an array's type, shape and numbers, whatever its byte or memory order."""
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return hashlib.sha256(f"{plain.dtype.str}{plain.shape}".encode() + plain.tobytes()).digest()


def reason(pictures: Pictures, position: int, message: str) -> str:
    """Why a picture cannot be read, with its file's name but not the folder, which is nobody's business on a page."""
    source = pictures.source[pictures.positions[position]]
    return message.replace(str(source), source.name, 1) if isinstance(source, Path) else message


def picture_digests(pictures: Pictures) -> list[bytes]:
    """SHA-256 of each picture's content as it is stored: of its file, or of its pixels in an array.

    Equal content, equal digest. A file that cannot be read has the digest ``UNREADABLE``.
    """
    if isinstance(pictures.source, np.ndarray):
        return [array_digest(pictures.source[at]) for at in pictures.positions]
    return [_source_digest(pictures.source[at]) for at in pictures.positions]


def _source_digest(source: Path | bytes) -> bytes:
    if isinstance(source, bytes):
        return hashlib.sha256(source).digest()
    try:
        status = source.stat()
        return _file_digest(source, status.st_size, status.st_mtime_ns) if source.is_file() else UNREADABLE
    except OSError:
        return UNREADABLE


@lru_cache(maxsize=500_000)
def _file_digest(file: Path, size: int, mtime_ns: int) -> bytes:
    """Hash the content; size and time are there for the cache alone."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
