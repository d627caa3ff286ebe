"""Where data lie, what a reader makes of them, and how picture files are found without leaving the folder."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pandas as pd

from ..arrays import Array
from ..errors import DataError
from ..images import Pictures
from ..rights import below, is_inside
from .embeddings import EMBEDDING_FORMS, EMBEDDING_NAMES
from .tables import MISSING, SUFFIXES, normal

PICTURE_SUFFIXES = frozenset(
    (
        *(".avif", ".bmp", ".dib", ".gif", ".heic", ".heif", ".ico", ".j2k", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg"),
        *(".pbm", ".pcx", ".pgm", ".png", ".pnm", ".ppm", ".qoi", ".sgi", ".tga", ".tif", ".tiff", ".webp"),
    )
)


BY_NUMBER = os.scandir in os.supports_fd
"""Files are asked about from their open folder, where the system can: it need not find the folder for each again."""


@dataclass(frozen=True)
class Place:
    """What is to be read, and how.

    Parameters
    ----------
    folder : Path
    file : Path or None
        The file that was named, where it was not the folder.
    columns : mapping of role to column name
        As the user named them.
    encoding : str
        Of a text table.
    """

    folder: Path
    file: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8"

    @property
    def table(self) -> Path | None:
        """The text table: the one that was named, ``metadata.csv``, or the only one in the folder."""
        if self.file is not None:
            return self.file if self.file.suffix.lower() in SUFFIXES else None
        tables = sorted(
            path
            for path in self.folder.iterdir()
            if path.suffix.lower() in (".csv", ".tsv") and path.is_file() and not is_vectors(path)
        )
        named = [path for path in tables if path.stem.lower() in ("metadata", "labels")]
        if len(tables) > 1 and not named:
            names = ", ".join(path.name for path in tables)
            raise DataError(f"{self.folder.name} holds the tables {names}; name one of them, or call it metadata.csv")
        chosen = next(iter(named or tables), None)
        return None if chosen is None else self.own(chosen)

    def find(self, *patterns: str) -> list[Path]:
        """Files of the folder itself whose names fit, or the file that was named.

        Raises
        ------
        DataError
            One is a link that leads out of the folder.
        """
        return [self.own(path) for path in self._files() if any(path.match(pattern) for pattern in patterns)]

    def find_word(self, start: str) -> list[Path]:
        """Files whose name is, or begins with, this word; as ``find``."""
        return [self.own(path) for path in self._files() if re.match(rf"{start}\b|{start}_", path.name.lower())]

    def own(self, path: Path) -> Path:
        """Give back a file of the folder, or the one that was named; a link out of the folder is a ``DataError``."""
        return path if path == self.file else below(self.folder, path)

    def _files(self) -> list[Path]:
        files = sorted(self.folder.iterdir()) if self.file is None else [self.file]
        return [path for path in files if path.is_file()]


@dataclass(frozen=True, eq=False)
class Reading:
    """What a reader found; a ``Dataset`` is made of it.

    Parameters
    ----------
    table : pandas.DataFrame
        All cells text.
    columns : mapping of role to column name
    pictures : Pictures or None
    embeddings : mapping of name to (n_item, n_dim) array
    notes : tuple of str
        What was assumed.
    defaults : mapping of spec field to value
        What this form of data prescribes where the user leaves the choice open: a re-identification set its
        same-camera rule, ROxford its ground truth.
    name : str, optional
        What the data set calls itself, where it does.
    """

    table: pd.DataFrame
    columns: Mapping[str, str]
    pictures: Pictures | None = None
    embeddings: Mapping[str, Array] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    name: str = ""


def picture_file(root: Path, cell: str, row: int, name: str) -> Path:
    """The picture's file, under the data set's folder or its ``data``, in either Unicode form."""
    if cell == MISSING:
        raise DataError(f"{name} row {row + 1}: the path is empty; name the picture's file or drop the row")
    plain = cell.replace("\\", "/").removeprefix("file://")
    candidates = [root / plain, root / "data" / plain]
    if PurePosixPath(plain).is_absolute() or re.match(r"[A-Za-z]:/", plain):
        candidates = [root / plain, root / "data" / PurePosixPath(plain).name, root / PurePosixPath(plain).name]
    inside = [path for path in candidates if is_inside(path, root)]
    found = next((there for path in inside if (there := _existing(path)) is not None), None)
    if found is not None and is_inside(found, root):
        return found
    if not inside or not is_inside(candidates[0], root):
        raise DataError(f"{name} row {row + 1}: {cell!r} leads out of the data set's folder; use a path inside it")
    return candidates[0]


def pictures_below(folder: Path) -> list[Path]:
    """All picture files, in the order of their names; links and hidden files are passed over."""
    found = []
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__MACOSX")
        for name in sorted(names):
            path = Path(parent) / name
            if path.suffix.lower() in PICTURE_SUFFIXES and not name.startswith(".") and not path.is_symlink():
                _check_name(path)
                found.append(path)
    return found


def has_pictures(folder: Path) -> bool:
    """Is there any picture file below the folder?"""
    return any(
        Path(name).suffix.lower() in PICTURE_SUFFIXES and not name.startswith(".")
        for parent, _, names in os.walk(folder)
        if "__MACOSX" not in parent
        for name in names
    )


def stamp(place: Path) -> int:
    """In which state are the files of a data set? Equal as long as none came, went or was written.

    It covers the path, size and time of every file below the folder (of a table: below its folder), whatever a reader
    takes of them, and opens none. Where nothing is, it is always the same. Equal within one process only. As for
    readers, a link to a folder leads nowhere.
    """
    states: list[Hashable] = []
    waiting = [str(place if place.is_dir() else place.parent)] if place.exists() else []
    while waiting:
        folder = waiting.pop()
        try:
            states.append((folder, *_files(folder, waiting)))
        except OSError as error:
            states.append((folder, error.errno))
    return hash(frozenset(states))


def _files(folder: str, waiting: list[str]) -> list[Hashable]:
    """Name, size and time of each file of a folder, one after the other; its folders are added to those that wait."""
    found: list[Hashable] = []
    asked = os.open(folder, os.O_RDONLY) if BY_NUMBER else folder
    try:
        with os.scandir(asked) as entries:
            for entry in entries:
                if entry.is_dir():
                    if not entry.is_symlink():
                        waiting.append(os.path.join(folder, entry.name))
                    continue
                try:
                    state = entry.stat()
                    found += (entry.name, state.st_size, state.st_mtime_ns)
                except OSError as error:  # a link to nothing, or a file that has just gone
                    found += (entry.name, error.errno)
    finally:
        if isinstance(asked, int):
            os.close(asked)
    return found


def is_vectors(file: Path) -> bool:
    """Does the name say that the file holds vectors for the table beside it: ``embeddings_clip.npy``?"""
    return (
        file.suffix.lower() in EMBEDDING_FORMS
        and file.stem.lower().startswith(EMBEDDING_NAMES[:-1])
        and not file.stem.lower().endswith("_ids")
        and file.is_file()
    )


def cell(value: object) -> str:
    """A value as a cell: true and false in small letters, nothing as missing."""
    if value is None or value != value:
        return MISSING
    return normal(str(value).lower() if isinstance(value, bool) else str(value))


def _existing(path: Path) -> Path | None:
    """The file itself, or the one whose name is the same in the other Unicode form."""
    for form in ("NFC", "NFD"):
        other = Path(unicodedata.normalize(form, str(path)))
        if os.path.lexists(other):
            return other
    return path if os.path.lexists(path) else None


def _check_name(path: Path) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{path.name!r}: the file's name is not UTF-8; rename it") from error
