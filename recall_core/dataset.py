"""``load(path) -> Dataset``: a table, pictures on demand, and a fingerprint that says which data a number is about."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .errors import DataError
from .images import Pictures
from .samples import SAMPLES
from .tables import MISSING, read_table
from .vectors import Array, read_array

COLUMN_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "image_id", "item_id", "sample_id", "uid"),
    "path": ("path", "filepath", "file_path", "image_path", "filename", "file_name", "file"),
    "group": (
        *("scene_id", "group_id", "group", "identity", "pid", "person_id"),
        *("product_id", "product", "instance_id", "landmark_id", "place_id"),
    ),
    "view": ("view_id", "view"),
    "split": ("split", "subset", "partition"),
    "label": ("label", "class", "class_name", "orientation", "class_id", "category"),
    "camera": ("camera_id", "camera", "camid", "cam"),
    "side": ("role", "side", "is_query", "evaluation_status"),
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """One row an item: what is known of it, its picture, its vectors.

    Parameters
    ----------
    name : str
        As shown and as tags are keyed: the folder's name, or that of a built-in set.
    table : pandas.DataFrame
        All cells are text exactly as written; ``""`` is missing.
    columns : mapping of role to column name
        The mapping in use, by conventional names or as the user named them.
    pictures : Pictures or None
        In the table's order; None where the data are vectors only.
    embeddings : mapping of name to (n_item, n_dim) array
        In the table's order.
    notes : tuple of str
        What was assumed while reading, to be shown: for example that rows were matched by position.
    """

    name: str
    table: pd.DataFrame
    columns: Mapping[str, str]
    pictures: Pictures | None = None
    embeddings: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    _content: Callable[[], bytes] = field(default=lambda: b"", repr=False)

    def __post_init__(self) -> None:
        n = len(self.table)
        if self.pictures is not None and len(self.pictures) != n:
            raise DataError(f"{self.name}: {n} rows in the table but {len(self.pictures)} pictures; they must agree")
        for name, vectors in self.embeddings.items():
            if len(vectors) != n:
                raise DataError(f"{self.name}: {n} rows in the table but {len(vectors)} in embedding {name!r}")
        ids = pd.Series(self.ids)
        repeated = ids[ids.duplicated()].unique()
        if len(repeated):
            shown = ", ".join(map(repr, repeated[:5]))
            raise DataError(
                f"{self.name}: {len(repeated)} ids stand more than once, among them {shown}; "
                "an id names one picture: make them unique, or name another column with --column id=…"
            )

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def ids(self) -> NDArray[np.object_]:
        """(n_item,) text: the id column, else the path, else the lab's index, else the row number."""
        for role in ("id", "path"):
            if role in self.columns:
                return self.values(self.columns[role])
        if "index" in self.table:
            return self.values("index")
        return np.array([str(i) for i in range(len(self.table))], dtype=object)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over table cells and picture content, in hexadecimal: equal data, equal fingerprint."""
        digest = hashlib.sha256()
        digest.update(repr(list(self.table.columns)).encode())
        for name in self.table.columns:
            digest.update("\0".join(self.table[name]).encode() + b"\1")
        digest.update(repr(sorted(self.columns.items())).encode())
        digest.update(self._content())
        for name in sorted(self.embeddings):
            digest.update(name.encode() + array_digest(self.embeddings[name]))
        return digest.hexdigest()

    def values(self, column: str) -> NDArray[np.object_]:
        """(n_item,) the cells of one column, as text.

        Raises
        ------
        DataError
            There is no such column; the message lists those that there are.
        """
        if column not in self.table:
            if column == "id":
                return self.ids
            raise DataError(
                f"{self.name} has no column {column!r}; there are: {', '.join(map(str, self.table.columns))}"
            )
        cells: NDArray[np.object_] = self.table[column].to_numpy(dtype=object)
        return cells

    def role(self, role: str) -> NDArray[np.object_] | None:
        """(n_item,) the cells of the column that plays a role, or None where none does."""
        return self.values(self.columns[role]) if role in self.columns else None

    def image(self, position: int) -> NDArray[np.float32]:
        """Decode one picture: (H, W) or (H, W, 3) float32 in [0, 1]."""
        if self.pictures is None:
            raise DataError(f"{self.name} has no pictures, only a table and vectors")
        return self.pictures[position]

    @classmethod
    def from_arrays(
        cls,
        embeddings: ArrayLike,
        labels: Sequence[object],
        gallery_embeddings: ArrayLike | None = None,
        gallery_labels: Sequence[object] | None = None,
        *,
        groups: Sequence[object] | None = None,
        images: ArrayLike | None = None,
        name: str = "arrays",
    ) -> Self:
        """Make a data set from vectors and labels, as a notebook has them.

        Parameters
        ----------
        embeddings : (n_query, n_dim) array
            Alone: every item asks all the others (leave-one-out).
        labels : sequence of n_query
            Equal labels are relevant to each other; taken as text.
        gallery_embeddings, gallery_labels : optional
            With them, the first two ask and these answer.
        groups : sequence, optional
            The independent units behind the items (scene, person, product), of queries then gallery.
        images : array, optional
            Pictures of queries then gallery.
        """
        query = np.asarray(embeddings)
        texts = _as_text(labels)
        if len(query) != len(texts):
            raise DataError(f"{len(query)} embeddings but {len(texts)} labels; they must agree")
        table = pd.DataFrame({"label": texts}, dtype="str")
        vectors = query
        if gallery_embeddings is not None:
            gallery = np.asarray(gallery_embeddings)
            answers = _as_text(() if gallery_labels is None else gallery_labels)
            if len(gallery) != len(answers):
                raise DataError(f"{len(gallery)} gallery embeddings but {len(answers)} gallery labels")
            if query.ndim != 2 or gallery.ndim != 2 or query.shape[1] != gallery.shape[1]:
                raise DataError(f"query is {query.shape}, gallery is {gallery.shape}; the dimensions must agree")
            roles = ["query"] * len(query) + ["gallery"] * len(gallery)
            table = pd.DataFrame({"label": texts + answers, "role": roles}, dtype="str")
            vectors = np.concatenate([query, gallery])
        if groups is not None:
            table["group"] = pd.Series(_as_text(groups), dtype="str")
        pictures = None if images is None else Pictures.from_array(np.asarray(images))
        columns = {"label": "label"} | ({"side": "role"} if gallery_embeddings is not None else {})
        columns |= {"group": "group"} if groups is not None else {}
        return cls(name, table, columns, pictures, {"given": vectors})


def load(data: str | Path, *, columns: Mapping[str, str] | None = None, encoding: str = "utf-8") -> Dataset:
    """Read a data set: a folder in one of the forms of ``READERS``, or the name of a built-in set.

    Parameters
    ----------
    data : str or Path
        A folder, or ``digits`` or ``photo_patches``. A folder of that name wins.
    columns : mapping of role to column name, optional
        Where the file's names are not the conventional ones.
    encoding : str
        Of the table.

    Raises
    ------
    DataError
        Nothing readable is there; the message lists the forms that are read.
    """
    path = Path(data)
    if not path.exists() and str(data) in SAMPLES:
        images, table = SAMPLES[str(data)]()
        chosen = find_columns(table, columns)
        return Dataset(str(data), table, chosen, Pictures.from_array(images), _content=lambda: array_digest(images))
    if not path.is_dir():
        raise DataError(
            f"{str(data)!r} is neither a folder nor a built-in data set ({', '.join(SAMPLES)}); check the spelling"
        )
    for fits, read in READERS.values():
        if fits(path):
            return read(path, columns, encoding)
    raise DataError(f"{path.name}: no data set found in this folder; it may hold {'; or '.join(READERS)}")


def find_columns(table: pd.DataFrame, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Which column plays which role?

    Raises
    ------
    DataError
        A role is not known, or a column that the user named is not in the table.
    """
    found = {}
    lower = {str(name).lower(): str(name) for name in reversed(table.columns)}
    for role, names in COLUMN_NAMES.items():
        match = next((lower[name] for name in names if name in lower), None)
        if match is not None:
            found[role] = match
    for role, column in (given or {}).items():
        if role not in COLUMN_NAMES:
            raise DataError(f"--column {role}=…: no such role; the roles are {', '.join(COLUMN_NAMES)}")
        if column not in table:
            raise DataError(f"--column {role}={column}: there is no such column; there are {', '.join(table.columns)}")
        found[role] = column
    return found


def array_digest(array: Array) -> bytes:
    """SHA-256 over an array's type, shape and numbers, whatever its byte or memory order."""
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return hashlib.sha256(f"{plain.dtype.str}{plain.shape}".encode() + plain.tobytes()).digest()


def _read_arrays(path: Path, columns: Mapping[str, str] | None, encoding: str) -> Dataset:
    """``images.npy`` beside ``metadata.csv``; a column ``index`` names the row in the array, whatever the order."""
    table = read_table(path / "metadata.csv", encoding=encoding)
    images = read_array(path / "images.npy", mapped=True)
    notes: tuple[str, ...] = ()
    if "index" in table:
        rows = _image_rows(table["index"], len(images))
    elif len(table) == len(images):
        rows = np.arange(len(images))
        notes = ("metadata.csv has no column index: pictures were matched to rows by position",)
    else:
        raise DataError(
            f"metadata.csv has {len(table)} rows, images.npy has {len(images)} pictures; "
            "make the counts agree, or add a column index with each row's place in images.npy"
        )
    pictures = Pictures.from_array(images).select(rows)
    chosen = find_columns(table, columns)
    return Dataset(path.name, table, chosen, pictures, notes=notes, _content=lambda: array_digest(images))


def _read_files(path: Path, columns: Mapping[str, str] | None, encoding: str) -> Dataset:
    """``metadata.csv`` with a path column, relative to the folder."""
    table = read_table(path / "metadata.csv", encoding=encoding)
    chosen = find_columns(table, columns)
    if "path" not in chosen:
        raise DataError(
            f"metadata.csv names no picture files and there is no images.npy; add a column "
            f"{' or '.join(COLUMN_NAMES['path'])}, or name yours with --column path=…"
        )
    files = [_inside(path, cell, row) for row, cell in enumerate(table[chosen["path"]])]
    return Dataset(path.name, table, chosen, Pictures.from_files(files), _content=lambda: _files_digest(path, files))


def _as_text(values: Sequence[object]) -> list[str]:
    """Names as text; None and nan are missing."""
    return [MISSING if value is None or value != value else str(value) for value in values]


def _image_rows(index: pd.Series, n_image: int) -> NDArray[np.intp]:
    """Check the lab's column ``index``: each row's place in ``images.npy``."""
    rows = np.empty(len(index), np.intp)
    for row, cell in enumerate(index):
        if not (cell.isascii() and cell.isdigit() and int(cell) < n_image):
            raise DataError(
                f"metadata.csv row {row + 1}: index is {cell!r}, but images.npy has rows 0 to {n_image - 1}; correct it"
            )
        rows[row] = int(cell)
    return rows


def _inside(root: Path, cell: str, row: int) -> Path:
    """The picture's file, which must lie under the data set's folder."""
    if cell == MISSING:
        raise DataError(f"metadata.csv row {row + 1}: the path is empty; name the picture's file or drop the row")
    file = root / cell.replace("\\", "/")
    if not file.resolve().is_relative_to(root.resolve()):
        raise DataError(
            f"metadata.csv row {row + 1}: {cell!r} leads out of the data set's folder; use a path inside it"
        )
    return file


def _files_digest(root: Path, files: Sequence[Path]) -> bytes:
    digest = hashlib.sha256()
    for file in files:
        try:
            content = _file_digest(file, file.stat().st_size, file.stat().st_mtime_ns)
        except OSError:
            content = b"unreadable"
        digest.update(str(file.relative_to(root)).encode() + b"\0" + content)
    return digest.digest()


@lru_cache(maxsize=500_000)
def _file_digest(file: Path, size: int, mtime_ns: int) -> bytes:
    """Hash the content; size and time are there for the cache alone."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


READERS: dict[str, tuple[Callable[[Path], bool], Callable[[Path, Mapping[str, str] | None, str], Dataset]]] = {
    "images.npy and metadata.csv": (
        lambda path: (path / "images.npy").is_file() and (path / "metadata.csv").is_file(),
        _read_arrays,
    ),
    "metadata.csv with a column of picture files": (lambda path: (path / "metadata.csv").is_file(), _read_files),
}
"""Form of a folder → does it fit, and how is it read. The first that fits is used."""
