"""Our own folder form: written here, and read back the same."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.lib.format import open_memmap

from ..errors import DataError
from ..images import Pictures
from ..program import with_flags, with_settings
from ..rights import PRESCRIBED_FILES, check_prescribed
from .containers import read_array
from .documents import read_json, texts_by_name, texts_of
from .embeddings import read_embeddings
from .location import Place, Reading, picture_file
from .sheets import guarded as guarded_table
from .sheets import unguard
from .tables import find_columns, parse_table, read_text

if TYPE_CHECKING:
    from .dataset import Dataset


SUFFIX_OF = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif", b"RIFF": ".webp", b"BM": ".bmp"}
"""First bytes of a picture's content → suffix of its file; readers look at the content alone."""


def export(dataset: Dataset, folder: Path, *, guarded: bool = False) -> None:
    """Write a data set to a folder: ``load(folder)`` gives it back.

    Parameters
    ----------
    dataset : Dataset
    folder : Path
        Made if need be; must be empty. Gets ``dataset.json`` (columns, names, notes), ``metadata.csv``, pictures as
        ``images.npy`` or, unchanged, as files by row, and each embedding as ``embeddings/N.npy``.
    guarded : bool
        Write ``metadata.csv`` so that no spreadsheet runs a cell; ``load`` takes the guard off.

    Raises
    ------
    DataError
        The folder is not empty, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise DataError(f"{folder} is not empty; export into a new folder")
        about = {
            "format": OWN_VERSION,
            "name": dataset.name,
            "fingerprint": dataset.fingerprint,
            "header": [str(name) for name in dataset.table.columns],
            "columns": dict(dataset.columns),
            "pictures": _write_pictures(dataset.pictures, folder),
            "embeddings": list(dataset.embeddings),
            "notes": list(map(with_flags, dataset.notes)),
            "defaults": _write_defaults(dataset, folder),
            "guarded": guarded,
        }
        _write_table(guarded_table(dataset.table) if guarded else dataset.table, folder / "metadata.csv")
        for i, vectors in enumerate(dataset.embeddings.values()):
            (folder / "embeddings").mkdir(exist_ok=True)
            np.save(folder / "embeddings" / f"{i}.npy", np.asarray(vectors), allow_pickle=False)
        (folder / OWN_FORM).write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}; choose another folder") from error


def export_zip(dataset: Dataset) -> bytes:
    """The same folder as one archive, for a download; uploaded again, it is the same data set."""
    with tempfile.TemporaryDirectory() as place:
        folder, archive = Path(place) / "data", Path(place) / "data.zip"
        export(dataset, folder, guarded=True)
        with zipfile.ZipFile(archive, "w") as packed:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    # Pictures are compressed already; an even array would look like a bomb when it comes back.
                    packed.write(path, path.relative_to(folder).as_posix(), zipfile.ZIP_STORED)
        return archive.read_bytes()


def _write_table(table: pd.DataFrame, path: Path) -> None:
    """All cells quoted, so that blanks, separators and line ends come back as they are."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow([str(name).strip() or f"column {i + 1}" for i, name in enumerate(table.columns)])
        writer.writerows(table.to_numpy(dtype=object).tolist())


def _write_pictures(pictures: Pictures | None, folder: Path) -> str | list[str]:
    if pictures is None:
        return []
    if isinstance(pictures.source, np.ndarray):
        source = pictures.source
        kind = source.dtype.newbyteorder("<")
        whole = open_memmap(folder / "images.npy", "w+", kind, (len(pictures), *source.shape[1:]))
        for row, at in enumerate(pictures.positions):
            whole[row] = source[at]
        whole.flush()
        return "images.npy"
    (folder / "pictures").mkdir()
    names = []
    for row, at in enumerate(pictures.positions):
        picture: Any = pictures.source[at]
        suffix = _suffix(picture) if isinstance(picture, bytes) else picture.suffix
        names.append(f"pictures/{row:06d}{suffix}")
        if isinstance(picture, bytes):
            (folder / names[-1]).write_bytes(picture)
        elif picture.is_file():
            shutil.copyfile(picture, folder / names[-1])
    return names


def _write_defaults(dataset: Dataset, folder: Path) -> dict[str, str]:
    """Files that the data bring along are copied; their names are then relative."""
    written = {}
    for name, value in dataset.defaults.items():
        written[name] = value
        if name in PRESCRIBED_FILES:
            (folder / "files").mkdir(exist_ok=True)
            written[name] = f"files/{Path(value).name}"
            shutil.copyfile(value, folder / written[name])
    return written


def _suffix(content: bytes) -> str:
    return next((suffix for start, suffix in SUFFIX_OF.items() if content.startswith(start)), ".img")


OWN_FORM = "dataset.json"


OWN_VERSION = 1


def read_own_form(place: Place) -> Reading:
    """What ``export`` wrote: ``dataset.json``, ``metadata.csv``, pictures by row, vectors by name."""
    about = read_json(place.own(place.folder / OWN_FORM))
    if not isinstance(about, dict) or about.get("format") != OWN_VERSION:
        raise DataError(f"{OWN_FORM} is not of format {OWN_VERSION}; export the data set again with this version")
    for key, fits in OWN_KEYS.items():
        if not fits(about.get(key)):
            raise DataError(f"{OWN_FORM}: {key} is {about.get(key)!r}; export the data set again")
    check_prescribed(about["defaults"], OWN_FORM)
    table = parse_table(read_text(place.own(place.folder / "metadata.csv")), "metadata.csv", keep_blank=True)
    if len(about["header"]) != table.shape[1]:
        raise DataError(
            f"metadata.csv has {table.shape[1]} columns, {OWN_FORM} {len(about['header'])}; export it again"
        )
    if about.get("guarded"):
        table = table.map(unguard)
    table.columns = pd.Index(about["header"])
    given = about["columns"] | dict(place.columns)
    columns = {role: name for role, name in find_columns(table, given).items() if role in given}
    pictures: Pictures | None = None
    if about["pictures"] == "images.npy":
        pictures = Pictures.from_array(read_array(place.own(place.folder / "images.npy"), mapped=True))
    elif about["pictures"]:
        files = enumerate(about["pictures"])
        pictures = Pictures.from_files([picture_file(place.folder, file, row, OWN_FORM) for row, file in files])
    folder = place.folder / "embeddings"
    vectors = {name: place.own(folder / f"{i}.npy") for i, name in enumerate(about["embeddings"])}
    defaults = dict(about["defaults"])
    for name in set(defaults) & set(PRESCRIBED_FILES):
        defaults[name] = str(picture_file(place.folder, defaults[name], 0, OWN_FORM))
    return Reading(
        *(table, columns, pictures),
        {name: read_embeddings(file).values for name, file in vectors.items()},
        tuple(map(with_settings, about["notes"])),
        defaults,
        about["name"],
    )


OWN_KEYS: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: isinstance(value, str),
    "header": lambda value: _are_names(value) and len(set(value)) == len(value),
    "columns": lambda value: texts_by_name(value) is not None,
    "pictures": lambda value: value == "images.npy" or _are_names(value),
    "embeddings": lambda value: _are_names(value),
    "notes": lambda value: _are_names(value),
    "defaults": lambda value: isinstance(value, dict),
    "guarded": lambda value: value is None or isinstance(value, bool),
}
"""What ``dataset.json`` holds, and whether a value is of that kind; ``rights`` says what ``defaults`` may be. Older
ones lack ``guarded``."""


def _are_names(value: object) -> bool:
    return texts_of(value) is not None
