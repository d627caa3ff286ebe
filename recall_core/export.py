"""A data set written in our own folder form, which reads back as the same data set, fingerprint and all."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib.format import open_memmap

from .dataset import Dataset
from .errors import DataError
from .images import Pictures
from .readers import OWN_FORM, OWN_VERSION
from .rights import PRESCRIBED_FILES
from .sheets import guarded as guarded_table

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
            "notes": list(dataset.notes),
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
