"""The forms in which people have their data: one function a form, and one literal table of them.

A reader turns a folder, or one file, into a ``Reading``; it opens no picture, and follows no path out of the folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..arrays import Array
from ..errors import DataError
from ..images import Pictures
from ..rights import below
from .containers import read_array
from .embeddings import MATCHED, Embeddings, check_rows, match_rows, read_embeddings, read_ids
from .foreign import (
    fiftyone_form,
    ground_truth_form,
    labels_form,
    one_shot_form,
    parquet_files,
    parquet_form,
    trec_form,
)
from .location import PICTURE_SUFFIXES, Place, Reading, has_pictures, is_vectors, picture_file, pictures_below
from .own_form import OWN_FORM, read_own_form
from .tables import MISSING, find_columns, item_ids, normal, read_table, whole

FOLDERS = {
    "query": ("role", "query"),
    "queries": ("role", "query"),
    "probe": ("role", "query"),
    "gallery": ("role", "gallery"),
    "bounding_box_test": ("role", "gallery"),
    "bounding_box_train": ("split", "train"),
    "train": ("split", "train"),
    "training": ("split", "train"),
    "val": ("split", "val"),
    "valid": ("split", "val"),
    "validation": ("split", "val"),
    "test": ("split", "test"),
}
"""Folders at the top that say what their pictures are for: name → column and value."""


REIDENTIFICATION = re.compile(r"(?P<person>-1|\d+)_c(?P<camera>\d+)(?:s(?P<sequence>\d+))?(?:[_.-].*)?")
"""``0002_c1s1_000451_03.jpg``: person 2, camera 1, sequence 1 (Market-1501, DukeMTMC, VeRi)."""


NOBODY = "-1"
"""What Market-1501 calls the person of an image that shows no whole person: junk."""


def read(place: Place) -> Reading:
    """Read a place in the first form of ``READERS`` that fits, with the files of vectors that lie beside it.

    Raises
    ------
    DataError
        No form fits; the message lists them.
    """
    place = _inner(place)
    for fits, reader in READERS.values():
        if fits(place):
            return _with_embeddings(place, reader(place))
    what = place.folder.name if place.file is None else place.file.name
    raise DataError(f"{what}: no data set found here; it may hold {'; or '.join(READERS)}")


def header(path: Path, *, encoding: str = "utf-8") -> list[str]:
    """Which columns has the table of data that cannot be read as they are? None where there is no text table."""
    try:
        table = _inner(Place(path if path.is_dir() else path.parent, None if path.is_dir() else path)).table
        return [] if table is None else [str(name) for name in read_table(table, encoding=encoding)]
    except (DataError, OSError):
        return []


def _inner(place: Place) -> Place:
    """Step into a folder that holds one folder and nothing else, as archives often do."""
    folder = place.folder
    while place.file is None:
        inside = [path for path in folder.iterdir() if not path.name.startswith(".") and path.name != "__MACOSX"]
        only = inside[0] if len(inside) == 1 else None
        if only is None or not only.is_dir() or only.is_symlink() or only.name.lower() in FOLDERS:
            break
        if all(path.suffix.lower() in PICTURE_SUFFIXES for path in only.iterdir()):
            break  # the pictures of one class
        folder = only
    return Place(folder, place.file, place.columns, place.encoding)


def _lab_form(place: Place) -> Reading:
    """``images.npy`` beside a table; a column ``index`` names the row in the array, whatever the order."""
    path = _required(place.table)
    table = read_table(path, encoding=place.encoding)
    images = Pictures.from_array(read_array(place.own(place.folder / "images.npy"), mapped=True))
    notes: tuple[str, ...] = ()
    if "index" in table:
        rows = _image_rows(table["index"], len(images), path.name)
    elif len(table) == len(images):
        rows = np.arange(len(images))
        notes = (f"{path.name} has no column index: pictures were matched to rows by position",)
    else:
        raise DataError(
            f"{path.name} has {len(table)} rows, images.npy has {len(images)} pictures; "
            "make the counts agree, or add a column index with each row's place in images.npy"
        )
    return Reading(table, find_columns(table, place.columns), images.select(rows), notes=notes)


def _table_form(place: Place) -> Reading:
    """A table with a column of picture files, relative to its folder; without one, its rows need vectors or scores."""
    path = _required(place.table)
    table = read_table(path, encoding=place.encoding)
    columns = find_columns(table, place.columns)
    if "path" in columns:
        cells = enumerate(table[columns["path"]])
        files = [picture_file(place.folder, cell, row, path.name) for row, cell in cells]
        return Reading(table, columns, Pictures.from_files(files))
    pictures, notes = _pictures_by_id(place.folder, item_ids(table, columns))
    return Reading(table, columns, pictures, notes=notes)


def _pictures_by_id(folder: Path, ids: list[str]) -> tuple[Pictures | None, tuple[str, ...]]:
    """Picture files that are called as the ids, with or without suffix, wherever they lie below the folder."""
    files = pictures_below(folder)
    by_name: dict[str, list[Path]] = {}
    for file in files:
        for name in {normal(file.name), normal(file.stem)}:
            by_name.setdefault(name, []).append(file)
    found = [by_name.get(name, []) for name in ids]
    if not any(found):
        unused = f"the table names none of the {len(files)} pictures in the folder; add a column path"
        return None, (unused,) if files else ()
    twice = next((i for i, some in enumerate(found) if len(some) > 1), None)
    if twice is not None:
        names = " and ".join(file.relative_to(folder).as_posix() for file in found[twice][:2])
        raise DataError(f"row {twice + 1}: id {ids[twice]!r} could be {names}; add a column path that says which")
    sources = [
        some[0] if some else below(folder, folder / name.replace("/", "_"))
        for some, name in zip(found, ids, strict=True)
    ]
    note = f"the table has no column path: {sum(map(bool, found))} of {len(ids)} pictures were found by their ids"
    return Pictures.from_files(sources), (note,)


def _folder_form(place: Place) -> Reading:
    """Pictures alone: folders say class, split and side; names may say person and camera."""
    files = pictures_below(place.folder)
    notes: list[str] = []
    by_name: dict[str, Path] = {}
    for file in files:
        by_name.setdefault(normal(file.relative_to(place.folder).as_posix()), file)
    if len(by_name) < len(files):
        notes.append(
            f"{len(files) - len(by_name)} files have the name of another one in the other Unicode form: left out"
        )
    table = pd.DataFrame([_folder_row(PurePosixPath(name)) for name in by_name]).fillna(MISSING).astype("str")
    matches = [REIDENTIFICATION.fullmatch(PurePosixPath(name).stem) for name in by_name]
    n_match = sum(match is not None for match in matches)
    defaults: dict[str, str] = {}
    if n_match == len(matches):
        persons = [match for match in matches if match is not None]
        table["person_id"] = [match["person"] for match in persons]
        table["camera"] = [match["camera"] for match in persons]
        table["junk"] = ["yes" if match["person"] == NOBODY else "no" for match in persons]
        notes.append("names were read as person and camera (0002_c1s1_000451_03.jpg); person −1 is junk")
        if len(set(table["camera"])) > 1:
            defaults["junk_same"] = "camera"
    elif n_match > len(matches) / 2:
        odd = next(name for name, match in zip(by_name, matches, strict=True) if match is None)
        notes.append(
            f"{n_match} of {len(matches)} names look like person_camera names; {odd!r} does not, so none was read so"
        )
    if "split" in table and "role" in table:
        table.loc[(table["split"] == MISSING) & (table["role"] != MISSING), "split"] = "test"
    if "folder" in table and "label" in table:
        notes.append("classes are nested: label is the whole folder, column folder its first part")
    columns = find_columns(table, place.columns)
    return Reading(table, columns, Pictures.from_files(list(by_name.values())), notes=tuple(notes), defaults=defaults)


def _folder_row(name: PurePosixPath) -> dict[str, str]:
    """What a picture's folders say of it."""
    row = {"path": str(name)}
    parts = list(name.parts[:-1])
    while parts and parts[0].lower() in FOLDERS:
        column, value = FOLDERS[parts.pop(0).lower()]
        row[column] = value
    if parts:
        row["label"] = "/".join(parts)
    if len(parts) > 1:
        row["folder"] = parts[0]
    return row


def _with_embeddings(place: Place, reading: Reading) -> Reading:
    """Add the files of vectors that lie in the folder, put in the table's order."""
    if place.file is not None or (place.folder / OWN_FORM).is_file():
        return reading
    added: dict[str, Array] = {}
    notes = list(reading.notes)
    names = [item_ids(reading.table, reading.columns)]
    if "path" in reading.columns:
        names.append(list(reading.table[reading.columns["path"]]))
    for file in sorted(place.folder.iterdir()):
        if not is_vectors(file):
            continue
        listed = next(
            (p for p in (file.with_name(f"{file.stem}_ids.txt"), file.with_name("ids.txt")) if p.is_file()), None
        )
        given = read_embeddings(place.own(file), told=partial(_as_many, file, listed, len(reading.table)))
        if given.ids is None and listed is not None:
            ids = read_ids(place.own(listed))
            if len(ids) != len(given.values):
                raise DataError(
                    f"{listed.name} has {len(ids)} ids, {file.name} {len(given.values)} rows; they must agree"
                )
            given = Embeddings(given.values, ids)
        rows, by_id = match_rows(given, len(reading.table), names, file.name)
        added[file.stem] = given.values[rows] if by_id else given.values
        matched = MATCHED["matched_by_id" if by_id else "matched_by_position"]
        notes.append(matched.format(file=file.name, n=len(rows)))
    if not added:
        return reading
    embeddings = dict(reading.embeddings) | added
    return Reading(
        reading.table, reading.columns, reading.pictures, embeddings, tuple(notes), reading.defaults, reading.name
    )


def _as_many(file: Path, listed: Path | None, n_item: int, n_row: int) -> None:
    """Refuse vectors without ids of another number than the table's rows before they are read."""
    if listed is None:
        check_rows(file.name, n_row, n_item)


def _required(path: Path | None) -> Path:
    if path is None:
        raise ValueError("this form needs a table")
    return path


def _image_rows(index: pd.Series, n_image: int, name: str) -> NDArray[np.intp]:
    """Check the lab's column ``index``: each row's place in ``images.npy``."""
    rows = np.empty(len(index), np.intp)
    for row, cell in enumerate(index):
        at = whole(cell, n_image - 1) if n_image else None
        if at is None:
            raise DataError(
                f"{name} row {row + 1}: index is {cell!r}, but images.npy has rows 0 to {n_image - 1}; correct it"
            )
        rows[row] = at
    return rows


Form = tuple[Callable[[Place], bool], Callable[[Place], Reading]]


READERS: dict[str, Form] = {
    "what export wrote (dataset.json)": (
        lambda place: place.file is None and (place.folder / OWN_FORM).is_file(),
        read_own_form,
    ),
    "images.npy and a table": (
        lambda place: (place.folder / "images.npy").is_file() and place.table is not None,
        _lab_form,
    ),
    "samples.json of a FiftyOne data set": (lambda place: bool(place.find("samples.json")), fiftyone_form),
    "labels.json of FiftyOne, with its folder data": (lambda place: bool(place.find("labels.json")), labels_form),
    "ROxford's ground truth (gnd….json)": (lambda place: bool(place.find("gnd*.json")), ground_truth_form),
    "TREC qrels, and a run": (lambda place: bool(place.find_word("qrels")), trec_form),
    "a table (.csv, .tsv) with a column of picture files, or with embeddings beside it": (
        lambda place: place.table is not None,
        _table_form,
    ),
    "Parquet with pictures, paths or vectors": (lambda place: bool(parquet_files(place)), parquet_form),
    "Omniglot's one-shot runs (class_labels.txt)": (
        lambda place: place.file is None and next(place.folder.rglob("class_labels.txt"), None) is not None,
        one_shot_form,
    ),
    "pictures in folders, a folder a class": (
        lambda place: place.file is None and has_pictures(place.folder),
        _folder_form,
    ),
}
"""Form of the data → does it fit, and how is it read. The first that fits is used."""
