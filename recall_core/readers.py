"""The forms in which people have their data: one function a form, and one literal table of them.

A reader turns a folder, or one file, into a ``Reading``; it opens no picture, and follows no path out of the folder.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .errors import DataError
from .images import Pictures
from .interchange import read_ground_truth, read_json
from .tables import COLUMN_NAMES, MISSING, SUFFIXES, find_columns, item_ids, normal, parse_table, read_table, read_text
from .vectors import (
    EMBEDDING_FORMS,
    EMBEDDING_NAMES,
    Array,
    Embeddings,
    arrow_vectors,
    is_vector_column,
    match_rows,
    read_array,
    read_arrow,
    read_embeddings,
    read_ids,
    split_lines,
)

PICTURE_SUFFIXES = frozenset(
    (
        *(".avif", ".bmp", ".dib", ".gif", ".heic", ".heif", ".ico", ".j2k", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg"),
        *(".pbm", ".pcx", ".pgm", ".png", ".pnm", ".ppm", ".qoi", ".sgi", ".tga", ".tif", ".tiff", ".webp"),
    )
)

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

OWN_FORM = "dataset.json"
OWN_VERSION = 1
FILE_DEFAULTS = ("relevant_pairs", "scores")
"""Defaults of the data that name files."""


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
            if path.suffix.lower() in (".csv", ".tsv") and path.is_file() and not _is_vectors(path)
        )
        named = [path for path in tables if path.stem.lower() in ("metadata", "labels")]
        if len(tables) > 1 and not named:
            names = ", ".join(path.name for path in tables)
            raise DataError(f"{self.folder.name} holds the tables {names}; name one of them, or call it metadata.csv")
        return next(iter(named or tables), None)

    def find(self, *patterns: str) -> list[Path]:
        """Files of the folder itself whose names fit, or the file that was named."""
        files = sorted(self.folder.iterdir()) if self.file is None else [self.file]
        return [path for path in files if path.is_file() and any(path.match(pattern) for pattern in patterns)]


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


def _own_form(place: Place) -> Reading:
    """What ``export`` wrote: ``dataset.json``, ``metadata.csv``, pictures by row, vectors by name."""
    about = read_json(place.folder / OWN_FORM)
    if not isinstance(about, dict) or about.get("format") != OWN_VERSION:
        raise DataError(f"{OWN_FORM} is not of format {OWN_VERSION}; export the data set again with this version")
    for key, kind in OWN_KEYS.items():
        if not isinstance(about.get(key), kind):
            raise DataError(f"{OWN_FORM}: {key} is {about.get(key)!r}; export the data set again")
    table = parse_table(read_text(place.folder / "metadata.csv"), "metadata.csv", keep_blank=True)
    if len(about["header"]) != table.shape[1]:
        raise DataError(
            f"metadata.csv has {table.shape[1]} columns, {OWN_FORM} {len(about['header'])}; export it again"
        )
    table.columns = pd.Index([str(name) for name in about["header"]])
    given = {str(role): str(name) for role, name in about["columns"].items()} | dict(place.columns)
    columns = {role: name for role, name in find_columns(table, given).items() if role in given}
    pictures: Pictures | None = None
    if about["pictures"] == "images.npy":
        pictures = Pictures.from_array(read_array(place.folder / "images.npy", mapped=True))
    elif about["pictures"]:
        files = enumerate(map(str, about["pictures"]))
        pictures = Pictures.from_files([_picture_file(place.folder, file, row, OWN_FORM) for row, file in files])
    vectors = {str(name): place.folder / "embeddings" / f"{i}.npy" for i, name in enumerate(about["embeddings"])}
    defaults = {str(name): str(value) for name, value in about["defaults"].items()}
    for name in set(defaults) & set(FILE_DEFAULTS):
        defaults[name] = str(_picture_file(place.folder, defaults[name], 0, OWN_FORM))
    return Reading(
        *(table, columns, pictures),
        {name: read_embeddings(file).values for name, file in vectors.items()},
        tuple(map(str, about["notes"])),
        defaults,
        about["name"],
    )


OWN_KEYS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "header": list,
    "columns": dict,
    "pictures": (list, str),
    "embeddings": list,
    "notes": list,
    "defaults": dict,
}
"""What ``dataset.json`` holds, and of which kind."""


def _lab_form(place: Place) -> Reading:
    """``images.npy`` beside a table; a column ``index`` names the row in the array, whatever the order."""
    path = _required(place.table)
    table = read_table(path, encoding=place.encoding)
    images = read_array(place.folder / "images.npy", mapped=True)
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
    return Reading(table, find_columns(table, place.columns), Pictures.from_array(images).select(rows), notes=notes)


def _table_form(place: Place) -> Reading:
    """A table with a column of picture files, relative to its folder; without one, vectors must lie beside it."""
    path = _required(place.table)
    table = read_table(path, encoding=place.encoding)
    columns = find_columns(table, place.columns)
    if "path" in columns:
        cells = enumerate(table[columns["path"]])
        files = [_picture_file(place.folder, cell, row, path.name) for row, cell in cells]
        return Reading(table, columns, Pictures.from_files(files))
    if any(_is_vectors(file) for file in place.folder.iterdir()) or place.file is not None:
        return Reading(table, columns)
    raise DataError(
        f"{path.name} names no picture files and there is no images.npy; add a column "
        f"{' or '.join(COLUMN_NAMES['path'])}, or name yours with --column path=…"
    )


def _parquet_form(place: Place) -> Reading:
    """Parquet as Hugging Face writes it: pictures' bytes, class names, vectors; the file's name may say the split."""
    files = _parquet_files(place)
    parts = [_arrow_part(file) for file in files]
    for file, part in zip(files[1:], parts[1:], strict=True):
        if list(part.texts) != list(parts[0].texts) or list(part.vectors) != list(parts[0].vectors):
            raise DataError(f"{file.name} has other columns than {files[0].name}; files of one set must agree")
    n_rows = [part.n_row for part in parts]
    texts = {name: [cell for part in parts for cell in part.texts[name]] for name in parts[0].texts}
    splits = [re.match(r"(train|validation|val|test)\b", file.name.lower()) for file in files]
    if all(splits) and "split" not in texts:
        texts["split"] = [match[1] for match, n in zip(splits, n_rows, strict=True) if match for _ in range(n)]
    sources = [source for part in parts for source in part.pictures]
    if sources and len(set(texts.get("file_name", [""] * len(sources)))) < len(sources):
        texts.pop("file_name", None)
    table = pd.DataFrame(texts, dtype="str", index=range(sum(n_rows)))
    columns = find_columns(table, place.columns)
    pictures = None
    if sources:
        pictures = Pictures.from_files(
            [
                source if isinstance(source, bytes) else _picture_file(place.folder, source, row, "the Parquet file")
                for row, source in enumerate(sources)
            ]
        )
    elif "path" in columns:
        cells = enumerate(table[columns["path"]])
        pictures = Pictures.from_files([_picture_file(place.folder, cell, row, files[0].name) for row, cell in cells])
    vectors = {name: _stacked([part.vectors[name] for part in parts], name) for name in parts[0].vectors}
    return Reading(table, columns, pictures, vectors)


def _fiftyone_form(place: Place) -> Reading:
    """``samples.json`` of a FiftyOne data set: file, tags, and the fields that hold a label."""
    file = place.find("samples.json")[0]
    content = read_json(file)
    samples = content.get("samples") if isinstance(content, dict) else None
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples) or not samples:
        raise DataError(f"{file.name} has no list samples; export the data set as FiftyOneDataset")
    rows = [_flat(sample) for sample in samples]
    names = dict.fromkeys(name for row in rows for name in row)
    texts = {normal(name): [row.get(name, MISSING) for row in rows] for name in names}
    tags = [set(sample.get("tags") or []) & {"train", "val", "validation", "test"} for sample in samples]
    if all(len(tag) == 1 for tag in tags) and "split" not in texts:
        texts["split"] = [next(iter(tag)) for tag in tags]
    table = pd.DataFrame(texts, dtype="str")
    columns = find_columns(table, place.columns)
    if "path" not in columns:
        raise DataError(f"{file.name}: its samples name no picture; each needs a filepath")
    cells = enumerate(table[columns["path"]])
    pictures = Pictures.from_files([_picture_file(place.folder, cell, row, file.name) for row, cell in cells])
    return Reading(table, columns, pictures, _sample_vectors(samples, file.name))


def _labels_form(place: Place) -> Reading:
    """``labels.json`` beside ``data/``: FiftyOne's image classification form, file stem → class."""
    file = place.find("labels.json")[0]
    content = read_json(file)
    labels = content.get("labels") if isinstance(content, dict) else None
    if not isinstance(labels, dict) or not labels:
        raise DataError(
            f"{file.name} has no labels, file stem → class; export it as FiftyOneImageClassificationDataset"
        )
    classes = content.get("classes") or []
    there = {normal(path.stem): path for path in _pictures_below(place.folder)}
    rows = []
    for stem, target in labels.items():
        value = target.get("label") if isinstance(target, dict) else target
        if isinstance(value, int) and not isinstance(value, bool) and classes:
            if not 0 <= value < len(classes):
                raise DataError(f"{file.name}: {stem!r} is of class {value}, but there are {len(classes)} classes")
            value = classes[value]
        name = there[normal(stem)].relative_to(place.folder).as_posix() if normal(stem) in there else f"data/{stem}"
        rows.append((normal(name), _cell(value)))
    table = pd.DataFrame(rows, columns=["path", "label"], dtype="str")
    files = [_picture_file(place.folder, cell, row, file.name) for row, cell in enumerate(table["path"])]
    return Reading(table, find_columns(table, place.columns), Pictures.from_files(files))


def _ground_truth_form(place: Place) -> Reading:
    """ROxford's ground truth, with or without its pictures beside it; queries first."""
    file = place.find("gnd*.json")[0]
    queries, items, _ = read_ground_truth(file)
    roles = ["query"] * len(queries) + ["gallery"] * len(items)
    table = pd.DataFrame({"id": queries + items, "role": roles}, dtype="str")
    there = {normal(path.stem): path for path in _pictures_below(place.folder)}
    names = [there.get(PurePosixPath(name).stem, place.folder / name) for name in table["id"]]
    pictures = Pictures.from_files(names) if there else None
    note = "queries are whole pictures: the boxes of the ground truth (bbx) are not cut out"
    defaults = {"relevant_pairs": str(file)}
    return Reading(
        table, find_columns(table, place.columns), pictures, notes=(note,) if there else (), defaults=defaults
    )


def _trec_form(place: Place) -> Reading:
    """``qrels*`` and, if there, ``run*``: the topics ask, the documents answer."""
    qrels = _files_named(place, "qrels")[0]
    runs = _files_named(place, "run")
    topics: dict[str, None] = {}
    documents: dict[str, None] = {}
    for file in [qrels, *runs[:1]]:
        for line, words in split_lines(file):
            if len(words) < 4:
                raise DataError(f"{file.name} line {line}: {len(words)} words; qrels have 4, a run has 6")
            topics[words[0]], documents[words[2]] = None, None
    both = [name for name in topics if name in documents]
    if both:
        raise DataError(
            f"{qrels.name}: {len(both)} names are both a topic and a document, among them {both[0]!r}; "
            "give the topics names of their own, in the qrels and in the run"
        )
    roles = ["query"] * len(topics) + ["gallery"] * len(documents)
    table = pd.DataFrame({"id": [*topics, *documents], "role": roles}, dtype="str")
    defaults = {"relevant_pairs": str(qrels)} | ({"scores": str(runs[0])} if runs else {})
    note = "the gallery is made of the documents that the qrels or the run name"
    return Reading(table, find_columns(table, place.columns), notes=(note,), defaults=defaults)


def _one_shot_form(place: Place) -> Reading:
    """Omniglot's one-shot runs: each ``class_labels.txt`` pairs a test item with its training item."""
    rows = []
    for file in sorted(place.folder.rglob("class_labels.txt")):
        answered: dict[str, None] = {}
        for line, words in split_lines(file):
            if len(words) != 2:
                raise DataError(
                    f"{file.name} line {line}: {len(words)} words; a test item and its training item stand there"
                )
            run = words[0].split("/")[0]
            rows.append((words[0], words[1], "query", run))
            answered[words[1]] = None
        rows += [(name, name, "gallery", name.split("/")[0]) for name in answered]
    if not rows:
        raise DataError("class_labels.txt is empty; each line holds a test item and its training item")
    table = pd.DataFrame(rows, columns=["path", "label", "role", "run"], dtype="str")
    # One run is often read alone, from its own folder, whose name its paths begin with.
    root = (
        place.folder if len(set(table["run"])) > 1 or (place.folder / table["run"][0]).is_dir() else place.folder.parent
    )
    files = [_picture_file(root, cell, row, "class_labels.txt") for row, cell in enumerate(table["path"])]
    note = "all runs share one gallery here; the published task is one run at a time: --where run=…"
    notes = (note,) if len(set(table["run"])) > 1 else ()
    return Reading(table, find_columns(table, place.columns), Pictures.from_files(files), notes=notes)


def _folder_form(place: Place) -> Reading:
    """Pictures alone: folders say class, split and side; names may say person and camera."""
    files = _pictures_below(place.folder)
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
        table["junk"] = ["yes" if match["person"] == "-1" else "no" for match in persons]
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
        if not _is_vectors(file):
            continue
        given = read_embeddings(file)
        listed = next(
            (p for p in (file.with_name(f"{file.stem}_ids.txt"), file.with_name("ids.txt")) if p.is_file()), None
        )
        if given.ids is None and listed is not None:
            ids = read_ids(listed)
            if len(ids) != len(given.values):
                raise DataError(
                    f"{listed.name} has {len(ids)} ids, {file.name} {len(given.values)} rows; they must agree"
                )
            given = Embeddings(given.values, ids)
        rows, how, by_id = match_rows(given, len(reading.table), names, file.name)
        added[file.stem] = given.values[rows] if by_id else given.values
        notes.append(how)
    if not added:
        return reading
    embeddings = dict(reading.embeddings) | added
    return Reading(
        reading.table, reading.columns, reading.pictures, embeddings, tuple(notes), reading.defaults, reading.name
    )


def _is_vectors(file: Path) -> bool:
    return (
        file.suffix.lower() in EMBEDDING_FORMS
        and file.stem.lower().startswith(EMBEDDING_NAMES[:-1])
        and not file.stem.lower().endswith("_ids")
        and file.is_file()
    )


def _required(path: Path | None) -> Path:
    if path is None:
        raise ValueError("this form needs a table")
    return path


def _image_rows(index: pd.Series, n_image: int, name: str) -> NDArray[np.intp]:
    """Check the lab's column ``index``: each row's place in ``images.npy``."""
    rows = np.empty(len(index), np.intp)
    for row, cell in enumerate(index):
        if not (cell.isascii() and cell.isdigit() and int(cell) < n_image):
            raise DataError(
                f"{name} row {row + 1}: index is {cell!r}, but images.npy has rows 0 to {n_image - 1}; correct it"
            )
        rows[row] = int(cell)
    return rows


def _picture_file(root: Path, cell: str, row: int, name: str) -> Path:
    """The picture's file, under the data set's folder or its ``data``, in either Unicode form."""
    if cell == MISSING:
        raise DataError(f"{name} row {row + 1}: the path is empty; name the picture's file or drop the row")
    plain = cell.replace("\\", "/").removeprefix("file://")
    candidates = [root / plain, root / "data" / plain]
    if PurePosixPath(plain).is_absolute() or re.match(r"[A-Za-z]:/", plain):
        candidates = [root / plain, root / "data" / PurePosixPath(plain).name, root / PurePosixPath(plain).name]
    inside = [path for path in candidates if _is_inside(path, root)]
    found = next((there for path in inside if (there := _existing(path)) is not None), None)
    if found is not None and _is_inside(found, root):
        return found
    if not inside or not _is_inside(candidates[0], root):
        raise DataError(f"{name} row {row + 1}: {cell!r} leads out of the data set's folder; use a path inside it")
    return candidates[0]


def _is_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def _existing(path: Path) -> Path | None:
    """The file itself, or the one whose name is the same in the other Unicode form."""
    for form in ("NFC", "NFD"):
        other = Path(unicodedata.normalize(form, str(path)))
        if os.path.lexists(other):
            return other
    return path if os.path.lexists(path) else None


def _pictures_below(folder: Path) -> list[Path]:
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


def _check_name(path: Path) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{path.name!r}: the file's name is not UTF-8; rename it") from error


def _has_pictures(folder: Path) -> bool:
    return any(
        Path(name).suffix.lower() in PICTURE_SUFFIXES and not name.startswith(".")
        for parent, _, names in os.walk(folder)
        if "__MACOSX" not in parent
        for name in names
    )


def _files_named(place: Place, start: str) -> list[Path]:
    return [path for path in place.find("*") if re.match(rf"{start}\b|{start}_", path.name.lower())]


def _parquet_files(place: Place) -> list[Path]:
    if place.file is not None:
        return [place.file] if place.file.suffix.lower() in (".parquet", ".feather") else []
    return [path for path in sorted(place.folder.rglob("*.parquet")) if not _is_vectors(path)]


@dataclass(frozen=True, eq=False)
class _ArrowPart:
    """One Parquet file: columns of text, pictures (bytes, or a path), vectors by name."""

    n_row: int
    texts: dict[str, list[str]]
    pictures: list[bytes | str]
    vectors: dict[str, Array]


def _arrow_part(file: Path) -> _ArrowPart:
    import pyarrow.types as types

    table = read_arrow(file)
    classes = _class_names(table.schema.metadata or {})
    part = _ArrowPart(table.num_rows, {}, [], {})
    for name in dict.fromkeys(table.column_names):
        kind = table.schema.field(name).type
        if table.column_names.count(name) > 1:
            raise DataError(f"{file.name}: the column {name} stands more than once; rename one")
        is_picture = types.is_struct(kind) and {field.name for field in kind} == {"bytes", "path"}
        if is_picture or (types.is_binary(kind) or types.is_large_binary(kind)):
            if part.pictures:
                raise DataError(f"{file.name} has two columns of pictures, the second is {name}; keep one")
            cells = [cell or {} if is_picture else {"bytes": cell} for cell in table[name].to_pylist()]
            part.pictures.extend(cell.get("bytes") or _named_path(cell.get("path")) or b"" for cell in cells)
            if is_picture and all(cell.get("path") for cell in cells):
                part.texts["file_name"] = [normal(str(cell["path"])) for cell in cells]
        elif is_vector_column(kind):
            part.vectors[name] = arrow_vectors(table[name], f"{file.name} column {name}")
        else:
            values = table[name].to_pylist()
            names = classes.get(name)
            part.texts[normal(name)] = [
                _cell(names[value] if names and isinstance(value, int) and 0 <= value < len(names) else value)
                for value in values
            ]
    if "file_name" in part.texts and not any(isinstance(one, bytes) for one in part.pictures):
        part.texts["file_name"] = [str(one) for one in part.pictures]
    return part


def _named_path(path: object) -> str | None:
    return str(path) if path else None


def _class_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """Names of the classes, from what Hugging Face's datasets write beside the columns."""
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
        return {name: list(map(str, one["names"])) for name, one in features.items() if one.get("names")}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _flat(sample: Mapping[str, Any]) -> dict[str, str]:
    """A FiftyOne sample's fields as cells; an object's label is its field's value."""
    row = {}
    for name, value in sample.items():
        if name == "_id" or name == "id":
            row["id"] = _cell(value.get("$oid") if isinstance(value, dict) else value)
        elif isinstance(value, dict):
            if "label" in value:
                row[name] = _cell(value["label"])
        elif isinstance(value, list):
            if not value or all(isinstance(one, str) for one in value):
                row[name] = ",".join(map(normal, value))
        elif not name.startswith("_"):
            row[name] = _cell(value)
    return row


def _sample_vectors(samples: Sequence[Mapping[str, Any]], name: str) -> dict[str, Array]:
    """Fields that hold a list of numbers in every sample."""
    found = {}
    for key, first in samples[0].items():
        if isinstance(first, list) and first and all(isinstance(one, int | float) for one in first):
            rows = [sample.get(key) for sample in samples]
            try:
                found[normal(key)] = np.array(rows, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise DataError(f"{name}: {key} is not a list of {len(first)} numbers in every sample") from error
    return found


def _stacked(parts: list[Array], name: str) -> Array:
    parts = [part for part in parts if len(part)] or parts[:1]
    if len({part.shape[1] for part in parts}) > 1:
        raise DataError(f"column {name} holds vectors of different lengths, {sorted({p.shape[1] for p in parts})}")
    return np.concatenate(parts)


def _cell(value: object) -> str:
    """A value as a cell: true and false in small letters, nothing as missing."""
    if value is None or value != value:
        return MISSING
    return normal(str(value).lower() if isinstance(value, bool) else str(value))


Form = tuple[Callable[[Place], bool], Callable[[Place], Reading]]

READERS: dict[str, Form] = {
    "what export wrote (dataset.json)": (
        lambda place: place.file is None and (place.folder / OWN_FORM).is_file(),
        _own_form,
    ),
    "images.npy and a table": (
        lambda place: (place.folder / "images.npy").is_file() and place.table is not None,
        _lab_form,
    ),
    "samples.json of a FiftyOne data set": (lambda place: bool(place.find("samples.json")), _fiftyone_form),
    "labels.json of FiftyOne, with its folder data": (lambda place: bool(place.find("labels.json")), _labels_form),
    "ROxford's ground truth (gnd….json)": (lambda place: bool(place.find("gnd*.json")), _ground_truth_form),
    "TREC qrels, and a run": (lambda place: bool(_files_named(place, "qrels")), _trec_form),
    "a table (.csv, .tsv) with a column of picture files, or with embeddings beside it": (
        lambda place: place.table is not None,
        _table_form,
    ),
    "Parquet with pictures, paths or vectors": (lambda place: bool(_parquet_files(place)), _parquet_form),
    "Omniglot's one-shot runs (class_labels.txt)": (
        lambda place: place.file is None and next(place.folder.rglob("class_labels.txt"), None) is not None,
        _one_shot_form,
    ),
    "pictures in folders, a folder a class": (
        lambda place: place.file is None and _has_pictures(place.folder),
        _folder_form,
    ),
}
"""Form of the data → does it fit, and how is it read. The first that fits is used."""
