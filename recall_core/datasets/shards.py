"""Vectors in many files, read row by row where they are needed, so that nobody holds them whole.

A folder holds ``.npy`` files (read through a memory map) or Parquet files (read by row groups), and ``manifest.json``:

    {"format": 1, "n_dim": 512, "dtype": "float32", "ids": "ids.txt",
     "shards": [{"file": "part-00000.npy", "rows": 1000000}, …]}

``ids`` names a file with one id a line, through all shards in order; without it, rows follow the table. Parquet files
keep the vectors in a column of lists called ``embedding``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..errors import DataError
from ..rights import below
from .arrow import arrow_header, arrow_vectors, import_pyarrow
from .containers import read_array
from .documents import read_json
from .embeddings import Embeddings, read_ids

FORMAT = 1
MANIFEST, IDS, COLUMN = "manifest.json", "ids.txt", "embedding"
ROW_GROUP = 8192
MAX_DIM, MAX_ROWS = 2**20, 2**40
"""No vectors are as long, and no shards as many rows, as these: a manifest that says so is damaged."""


@dataclass(frozen=True, eq=False)
class Shards:
    """Vectors on disk that read like an array: ``shards[rows]`` fetches these rows alone.

    Small enough to send to another process, which then reads the files by itself.

    Parameters
    ----------
    files : tuple of str
    starts : (n_file + 1,) intp
        The rows of file ``i`` are ``starts[i] … starts[i + 1] - 1``.
    n_dim : int
    dtype : dtype
    order : (n,) intp or None
        Which stored row stands at each place; −1 is a row of zeros. None: all, as they are stored.
    """

    files: tuple[str, ...]
    starts: NDArray[np.intp]
    n_dim: int
    dtype: np.dtype[Any]
    order: NDArray[np.intp] | None = None

    ndim = 2

    def __len__(self) -> int:
        return int(self.starts[-1]) if self.order is None else len(self.order)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n_dim)."""
        return len(self), self.n_dim

    def arranged(self, order: ArrayLike) -> Shards:
        """The same files with their rows in another order; −1 is a row of zeros."""
        places = np.asarray(order, np.intp)
        if self.order is not None:
            places = np.where(places >= 0, self.order[np.maximum(places, 0)], -1)
        return replace(self, order=places)

    def __getitem__(self, rows: ArrayLike | slice) -> Array:
        """(n, n_dim) these rows."""
        at = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows, np.intp)
        stored = at if self.order is None else self.order[at]
        result = np.zeros((len(stored), self.n_dim), self.dtype)
        owner = np.searchsorted(self.starts, stored, side="right") - 1
        for i in np.unique(owner[stored >= 0]):
            mine = np.flatnonzero((owner == i) & (stored >= 0))
            self._fetch(Path(self.files[i]), stored[mine] - self.starts[i], result, mine)
        return result

    def _fetch(self, file: Path, rows: NDArray[np.intp], result: Array, places: NDArray[np.intp]) -> None:
        """Copy rows of one file to their places."""
        if file.suffix.lower() == ".npy":
            stored = read_array(file, mapped=True)
            _check(stored.shape[1:] == (self.n_dim,) and stored.dtype == self.dtype, file)
            _check(rows.max(initial=-1) < len(stored), file)
            result[places] = stored[rows]
            return
        for start, values in _row_groups(file, rows):
            _check(values.shape[1] == self.n_dim and values.dtype == self.dtype, file)
            here = (rows >= start) & (rows < start + len(values))
            result[places[here]] = values[rows[here] - start]


def read_shards(folder: Path) -> Embeddings:
    """Which vectors does the folder hold, and what does it call them? No vector is read yet.

    Raises
    ------
    DataError
        There is no manifest, it is not whole, or files are missing.
    """
    if not (folder / MANIFEST).is_file():
        raise DataError(
            f"{folder.name} is a folder without {MANIFEST}, so it holds no shards of vectors; name a file of vectors, "
            f"or a folder that shards were written to"
        )
    manifest = read_json(folder / MANIFEST)
    try:
        written_as, n_dim, dtype = manifest["format"], manifest["n_dim"], np.dtype(manifest["dtype"])
        shards = [(one["file"], one["rows"]) for one in manifest["shards"]]
        ids = manifest.get("ids")
    except Exception as error:  # the name of a type is a small language of numpy's, with errors of its own
        raise DataError(f"{folder.name}/{MANIFEST} lacks something ({error}); write the shards again") from error
    wholes = [n_dim, *(n for _, n in shards)]
    if (
        written_as != FORMAT
        or not isinstance(manifest["dtype"], str)
        or dtype.kind not in "fiu"
        or any(type(n) is not int or not 0 <= n <= MAX_ROWS for n in wholes)
        or not 1 <= n_dim <= MAX_DIM
        or not all(isinstance(file, str) for file, _ in shards)
    ):
        raise DataError(f"{folder.name}/{MANIFEST} is of a form that is not read here; write the shards again")
    for file, _ in shards:
        if Path(file).name != file or Path(file).suffix.lower() not in (".npy", ".parquet"):
            raise DataError(f"{folder.name}/{MANIFEST}: {file!r} is not a .npy or .parquet file in this folder")
        below(folder, folder / file)
        if not (folder / file).is_file():
            raise DataError(f"{folder.name}/{file} is missing, though {MANIFEST} names it")
    for file, n_row in shards:
        _check_header(folder / file, n_row, n_dim, dtype)
    starts = np.cumsum([0, *(n for _, n in shards)]).astype(np.intp)
    stored = Shards(tuple(str(folder.resolve() / file) for file, _ in shards), starts, n_dim, dtype)
    names = None if ids is None else read_ids(below(folder, folder / Path(str(ids)).name))
    values: Any = stored
    return Embeddings(values, names)


def write_shards(
    folder: Path | str,
    vectors: ArrayLike | Shards,
    ids: Sequence[str] | None = None,
    *,
    rows: int = 1_000_000,
    kind: str = ".npy",
) -> None:
    """Write vectors as a folder of shards, a stretch at a time.

    Parameters
    ----------
    folder : Path or str
        New, or without a manifest.
    vectors : (n, n_dim) array
        A memory map will do.
    ids : sequence of n text, optional
    rows : int
        In each file.
    kind : {".npy", ".parquet"}
    """
    folder = Path(folder)
    if (folder / MANIFEST).exists():
        raise DataError(f"{folder} holds shards already; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    values: Any = vectors if isinstance(vectors, Shards) else np.asarray(vectors)
    shards = []
    for number, start in enumerate(range(0, len(values), rows)):
        part, file = values[start : start + rows], f"part-{number:05d}{kind}"
        _WRITERS[kind](folder / file, part)
        shards.append({"file": file, "rows": len(part)})
    manifest = {"format": FORMAT, "n_dim": int(values.shape[1]), "dtype": str(values.dtype), "shards": shards}
    if ids is not None:
        (folder / IDS).write_text("".join(f"{name}\n" for name in ids), encoding="utf-8")
        manifest["ids"] = IDS
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")


def one_file(file: Path, vectors: Array) -> Shards:
    """Put an array into a file that other processes can read by themselves."""
    np.save(file, vectors)
    return Shards((str(file),), np.array([0, len(vectors)], np.intp), int(vectors.shape[1]), vectors.dtype)


def _row_groups(file: Path, rows: NDArray[np.intp]) -> Iterator[tuple[int, Array]]:
    """(first row, vectors) of the row groups that hold any of these rows, one at a time."""
    pyarrow = import_pyarrow(file.name)
    try:
        opened = pyarrow.parquet.ParquetFile(file)
        start = 0
        for group in range(opened.num_row_groups):
            n = opened.metadata.row_group(group).num_rows
            if ((rows >= start) & (rows < start + n)).any():
                column = opened.read_row_group(group, columns=[COLUMN])[COLUMN]
                yield start, arrow_vectors(column, f"{file.name} column {COLUMN}")
            start += n
    except (pyarrow.ArrowException, OSError, KeyError) as error:
        raise DataError(f"{file.name} cannot be read ({error}); write the shards again") from error
    _check(rows.max(initial=-1) < start, file)


def _check_header(file: Path, n_row: int, n_dim: int, dtype: np.dtype[Any]) -> None:
    """Hold what a file says of itself against the manifest, and a Parquet file to the ratio of unpacking."""
    if file.suffix.lower() == ".npy":
        stored = read_array(file, mapped=True)
        _check(stored.shape == (n_row, n_dim) and stored.dtype == dtype, file)
        return
    found = arrow_header(file)
    _check(found.n_row == n_row and found.n_bytes >= n_row * n_dim * dtype.itemsize, file)


def _check(agrees: bool, file: Path) -> None:
    if not agrees:
        raise DataError(f"{file.name} holds other rows, dimensions or numbers than {MANIFEST} says; write it again")


def _write_parquet(file: Path, vectors: Array) -> None:
    pyarrow = import_pyarrow(file.name)
    flat = pyarrow.array(np.ascontiguousarray(vectors).reshape(-1))
    column = pyarrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    pyarrow.parquet.write_table(pyarrow.table({COLUMN: column}), file, row_group_size=ROW_GROUP)


_WRITERS = {".npy": lambda file, part: np.save(file, part), ".parquet": _write_parquet}
