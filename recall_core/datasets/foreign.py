"""Data as other programs write them: Hugging Face's Parquet, FiftyOne, ROxford, TREC, Omniglot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import Array
from ..errors import DataError, setting
from ..images import Pictures, check_inside
from .arrow import arrow_vectors, import_pyarrow, is_vector_column, read_arrow, values_of
from .documents import parse_json, read_json, texts_of
from .judgements import read_ground_truth
from .location import Place, Reading, cell, is_vectors, picture_file, pictures_below
from .tables import MISSING, find_columns, normal, split_lines


def parquet_form(place: Place) -> Reading:
    """Parquet as Hugging Face writes it: pictures' bytes, class names, vectors; the file's name may say the split."""
    files = parquet_files(place)
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
                source if isinstance(source, bytes) else picture_file(place.folder, source, row, "the Parquet file")
                for row, source in enumerate(sources)
            ]
        )
    elif "path" in columns:
        cells = enumerate(table[columns["path"]])
        pictures = Pictures.from_files([picture_file(place.folder, cell, row, files[0].name) for row, cell in cells])
    vectors = {name: _stacked([part.vectors[name] for part in parts], name) for name in parts[0].vectors}
    return Reading(table, columns, pictures, vectors)


def fiftyone_form(place: Place) -> Reading:
    """``samples.json`` of a FiftyOne data set: file, tags, and the fields that hold a label."""
    file = place.find("samples.json")[0]
    content = read_json(file)
    samples = content.get("samples") if isinstance(content, dict) else None
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples) or not samples:
        raise DataError(f"{file.name} has no list samples; export the data set as FiftyOneDataset")
    rows = [_flat(sample) for sample in samples]
    names = dict.fromkeys(name for row in rows for name in row)
    texts = {normal(name): [row.get(name, MISSING) for row in rows] for name in names}
    tags = [set(texts_of(sample.get("tags")) or []) & {"train", "val", "validation", "test"} for sample in samples]
    if all(len(tag) == 1 for tag in tags) and "split" not in texts:
        texts["split"] = [next(iter(tag)) for tag in tags]
    table = pd.DataFrame(texts, dtype="str")
    columns = find_columns(table, place.columns)
    if "path" not in columns:
        raise DataError(f"{file.name}: its samples name no picture; each needs a filepath")
    cells = enumerate(table[columns["path"]])
    pictures = Pictures.from_files([picture_file(place.folder, cell, row, file.name) for row, cell in cells])
    return Reading(table, columns, pictures, _sample_vectors(samples, file.name))


def labels_form(place: Place) -> Reading:
    """``labels.json`` beside ``data/``: FiftyOne's image classification form, file stem → class."""
    file = place.find("labels.json")[0]
    content = read_json(file)
    labels = content.get("labels") if isinstance(content, dict) else None
    if not isinstance(labels, dict) or not labels:
        raise DataError(
            f"{file.name} has no labels, file stem → class; export it as FiftyOneImageClassificationDataset"
        )
    classes = content.get("classes") or []
    if not isinstance(classes, list):
        raise DataError(f"{file.name}: classes is {classes!r}; it is a list of names")
    there = {normal(path.stem): path for path in pictures_below(place.folder)}
    rows = []
    for stem, target in labels.items():
        value = target.get("label") if isinstance(target, dict) else target
        if isinstance(value, int) and not isinstance(value, bool) and classes:
            if not 0 <= value < len(classes):
                raise DataError(f"{file.name}: {stem!r} is of class {value}, but there are {len(classes)} classes")
            value = classes[value]
        name = there[normal(stem)].relative_to(place.folder).as_posix() if normal(stem) in there else f"data/{stem}"
        rows.append((normal(name), cell(value)))
    table = pd.DataFrame(rows, columns=["path", "label"], dtype="str")
    files = [picture_file(place.folder, cell, row, file.name) for row, cell in enumerate(table["path"])]
    return Reading(table, find_columns(table, place.columns), Pictures.from_files(files))


def ground_truth_form(place: Place) -> Reading:
    """ROxford's ground truth, with or without its pictures beside it; queries first."""
    file = place.find("gnd*.json")[0]
    queries, items, _ = read_ground_truth(file)
    roles = ["query"] * len(queries) + ["gallery"] * len(items)
    table = pd.DataFrame({"id": queries + items, "role": roles}, dtype="str")
    there = {normal(path.stem): path for path in pictures_below(place.folder)}
    pictures = None
    if there:
        names = enumerate(table["id"])
        found = [
            there.get(PurePosixPath(name).stem) or picture_file(place.folder, name, row, file.name)
            for row, name in names
        ]
        pictures = Pictures.from_files(found)
    note = "queries are whole pictures: the boxes of the ground truth (bbx) are not cut out"
    defaults = {"relevant_pairs": str(file)}
    return Reading(
        table, find_columns(table, place.columns), pictures, notes=(note,) if there else (), defaults=defaults
    )


def trec_form(place: Place) -> Reading:
    """``qrels*`` and, if there, ``run*``: the topics ask, the documents answer."""
    qrels = place.find_word("qrels")[0]
    runs = place.find_word("run")
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


def one_shot_form(place: Place) -> Reading:
    """Omniglot's one-shot runs: each ``class_labels.txt`` pairs a test item with its training item."""
    rows = []
    for file in map(place.own, sorted(place.folder.rglob("class_labels.txt"))):
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
    alone = len(set(table["run"])) == 1 and not (place.folder / table["run"][0]).is_dir()
    cells = [cell.partition("/")[2] or cell if alone else cell for cell in table["path"]]
    files = [picture_file(place.folder, cell, row, "class_labels.txt") for row, cell in enumerate(cells)]
    note = f"all runs share one gallery here; the published task is one run at a time: {setting('where', 'run=…')}"
    notes = (note,) if len(set(table["run"])) > 1 else ()
    return Reading(table, find_columns(table, place.columns), Pictures.from_files(files), notes=notes)


def parquet_files(place: Place) -> list[Path]:
    """Parquet files of a data set: the one that was named, or all below the folder, in order."""
    if place.file is not None:
        return [place.file] if place.file.suffix.lower() in (".parquet", ".feather") else []
    return [place.own(path) for path in sorted(place.folder.rglob("*.parquet")) if not is_vectors(path)]


@dataclass(frozen=True, eq=False)
class _ArrowPart:
    """One Parquet file: columns of text, pictures (bytes, or a path), vectors by name."""

    n_row: int
    texts: dict[str, list[str]]
    pictures: list[bytes | str]
    vectors: dict[str, Array]


def _arrow_part(file: Path) -> _ArrowPart:
    table = read_arrow(file)
    types = import_pyarrow(file.name).types
    classes = _class_names(table.schema.metadata or {})
    part = _ArrowPart(table.num_rows, {}, [], {})
    for name in table.column_names:
        kind, column = table.schema.field(name).type, f"{file.name} column {name}"
        is_picture = types.is_struct(kind) and {field.name for field in kind} == {"bytes", "path"}
        if is_picture or (types.is_binary(kind) or types.is_large_binary(kind)):
            if part.pictures:
                raise DataError(f"{file.name} has two columns of pictures, the second is {name}; keep one")
            cells = [cell or {} if is_picture else {"bytes": cell} for cell in values_of(table[name], column)]
            part.pictures.extend(cell.get("bytes") or _named_path(cell.get("path")) or b"" for cell in cells)
            for row, one in enumerate(part.pictures):
                if isinstance(one, bytes):
                    check_inside(one, file.stat().st_size, name=f"{file.name} row {row + 1}")
            if is_picture and all(cell.get("path") for cell in cells):
                part.texts["file_name"] = [normal(str(cell["path"])) for cell in cells]
        elif is_vector_column(kind):
            part.vectors[name] = arrow_vectors(table[name], column)
        else:
            values = values_of(table[name], column)
            names = classes.get(name)
            part.texts[normal(name)] = [
                cell(names[value] if names and isinstance(value, int) and 0 <= value < len(names) else value)
                for value in values
            ]
    if part.pictures and "file_name" in part.texts and not any(isinstance(one, bytes) for one in part.pictures):
        part.texts["file_name"] = [str(one) for one in part.pictures]
    return part


def _named_path(path: object) -> str | None:
    return str(path) if path else None


def _class_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """Names of the classes, from what Hugging Face's datasets write beside the columns."""
    try:
        features = parse_json(metadata.get(b"huggingface", b"{}").decode(), "huggingface")["info"]["features"]
        return {name: list(map(str, one["names"])) for name, one in features.items() if one.get("names")}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _flat(sample: Mapping[str, Any]) -> dict[str, str]:
    """A FiftyOne sample's fields as cells; an object's label is its field's value."""
    row = {}
    for name, value in sample.items():
        if name == "_id" or name == "id":
            row["id"] = cell(value.get("$oid") if isinstance(value, dict) else value)
        elif isinstance(value, dict):
            if "label" in value:
                row[name] = cell(value["label"])
        elif isinstance(value, list):
            if not value or all(isinstance(one, str) for one in value):
                row[name] = ",".join(map(normal, value))
        elif not name.startswith("_"):
            row[name] = cell(value)
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
