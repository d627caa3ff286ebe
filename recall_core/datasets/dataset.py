"""``load(path) -> Dataset``: a table, pictures on demand, and a fingerprint that says which data a number is about."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..errors import DataError, setting
from ..images import Pictures, array_digest, picture_digests
from ..rights import check_prescribed
from .containers import as_numbers
from .location import Place
from .readers import read
from .samples import SAMPLES
from .tables import SUFFIXES, find_columns, item_ids, name_of


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
    defaults : mapping of spec field to value
        What this form of data prescribes where the user leaves the choice open: fields of ``rights.PRESCRIBED``.
    """

    name: str
    table: pd.DataFrame
    columns: Mapping[str, str]
    pictures: Pictures | None = None
    embeddings: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_prescribed(self.defaults, self.name)
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
                f"an id names one picture: make them unique, or name another column with {setting('columns', 'id=…')}"
            )

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        parts = [f"{len(self)} items", f"columns {', '.join(map(str, self.table.columns))}"]
        parts += [] if self.pictures is None else ["with images"]
        parts += [f"vectors {', '.join(self.embeddings)}"] if self.embeddings else []
        return f"Dataset {self.name}: {'; '.join(parts)}"

    @cached_property
    def ids(self) -> NDArray[np.object_]:
        """(n_item,) text: the id column, else the path, else the lab's index, else the row number."""
        return np.array(item_ids(self.table, self.columns), dtype=object)

    @property
    def names(self) -> tuple[NDArray[np.object_], ...]:
        """What files beside the table may call the items: (n_item,) ids, then paths where there are any."""
        path = self.role("path")
        return (self.ids,) if path is None else (self.ids, path)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over table cells and picture content, in hexadecimal: equal data, equal fingerprint."""
        cells = [[str(name), *self.table[name]] for name in self.table.columns]
        digest = hashlib.sha256(json.dumps([cells, sorted(self.columns.items())]).encode())
        if self.pictures is not None:
            for content in picture_digests(self.pictures):
                digest.update(content)
        for name in sorted(self.embeddings):
            digest.update(name.encode() + array_digest(self.embeddings[name]))
        return digest.hexdigest()

    def values(self, column: str, *, field: str = "") -> NDArray[np.object_]:
        """(n_item,) the cells of one column, as text; ``field`` is the choice that names it.

        Raises
        ------
        DataError
            There is no such column; the message lists those that there are.
        """
        if column not in self.table:
            if column == "id":
                return self.ids
            raise DataError(
                f"{self.name} has no column {column!r}; there are: {', '.join(map(str, self.table.columns))}",
                field=field,
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
            Equal labels are relevant to each other; taken as text (3.0 is 3). None and nan are missing.
        gallery_embeddings, gallery_labels : optional
            With them, the first two ask and these answer.
        groups : sequence, optional
            The independent units behind the items (scene, person, product), of queries then gallery.
        images : array, optional
            Pictures of queries then gallery.
        """
        query = _matrix(embeddings, "query")
        texts = [name_of(label) for label in labels]
        if len(query) != len(texts):
            raise DataError(f"{len(query)} embeddings but {len(texts)} labels; they must agree")
        table = pd.DataFrame({"label": texts}, dtype="str")
        vectors = query
        if gallery_embeddings is not None:
            gallery = _matrix(gallery_embeddings, "gallery")
            answers = [name_of(label) for label in (() if gallery_labels is None else gallery_labels)]
            if len(gallery) != len(answers):
                raise DataError(f"{len(gallery)} gallery embeddings but {len(answers)} gallery labels")
            if query.shape[1] != gallery.shape[1]:
                raise DataError(f"query is {query.shape}, gallery is {gallery.shape}; the dimensions must agree")
            roles = ["query"] * len(query) + ["gallery"] * len(gallery)
            table = pd.DataFrame({"label": texts + answers, "role": roles}, dtype="str")
            vectors = np.concatenate([query, gallery])
        if groups is not None:
            units = [name_of(group) for group in groups]
            if len(units) != len(table):
                raise DataError(f"{len(table)} items but {len(units)} groups; they must agree")
            table["group"] = pd.Series(units, dtype="str")
        pictures = None if images is None else Pictures.from_array(np.asarray(images))
        columns = {"label": "label"} | ({"side": "role"} if gallery_embeddings is not None else {})
        columns |= {"group": "group"} if groups is not None else {}
        return cls(name, table, columns, pictures, {"given": vectors}, defaults={"relevant": "label"})


def load(data: str | Path, *, columns: Mapping[str, str] | None = None, encoding: str = "utf-8") -> Dataset:
    """Read a data set: a folder or table in one of the forms of ``readers.READERS``, or a built-in set by its name.

    Parameters
    ----------
    data : str or Path
        A folder; a table (CSV, TSV, Parquet, Feather) with its pictures beside it; or ``digits`` or ``photo_patches``.
        A folder of that name wins.
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
    is_file, is_dir = os.path.isfile(path), os.path.isdir(path)  # the methods of a path fail at a long name
    if not os.path.exists(path) and str(data) in SAMPLES:
        images, table = SAMPLES[str(data)]()
        return Dataset(str(data), table, find_columns(table, columns), Pictures.from_array(images))
    if is_file and path.suffix.lower() not in (*SUFFIXES, ".parquet", ".feather", ".json"):
        raise DataError(
            f"{path.name}: a data set is read from a folder, or from a table ({', '.join(SUFFIXES)}, .parquet, "
            ".feather); unpack an archive first; vectors alone need a table beside them"
        )
    if not is_dir and not is_file:
        raise DataError(
            f"{str(data)!r} is neither a folder nor a built-in data set ({', '.join(SAMPLES)}); check the spelling"
        )
    file = path if is_file else None
    try:
        found = read(Place(path if file is None else path.parent, file, dict(columns or {}), encoding))
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror or error}; check who may read it") from error
    if not len(found.table):
        raise DataError(f"{path.name} has no rows; it needs a header line and a row for each picture")
    name = found.name or (path.resolve().name if file is None else path.stem)
    return Dataset(name, found.table, found.columns, found.pictures, found.embeddings, found.notes, found.defaults)


def _matrix(embeddings: ArrayLike, side: str) -> Array:
    """Vectors from a notebook, checked as those from a file are."""
    try:
        given = np.asarray(embeddings)
    except ValueError as error:
        raise DataError(f"the {side} vectors are not one array: {error}") from error
    if given.ndim != 2 or given.shape[1] == 0:
        raise DataError(f"the {side} vectors have shape {given.shape}; embeddings are (rows, dimensions)")
    return as_numbers(given, f"the {side} side")
