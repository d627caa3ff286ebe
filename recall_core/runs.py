"""A saved evaluation: a folder that opens at once, here or on another machine, without the data or the vectors.

``report.json``    the report, with the format's number, the version of the program that ranked, and the spec
``queries.csv``    one row a query
``items.csv``      the table of the data set, for ids, groups and labels
``ranking.npz``    who asked whom, what was right, and where it stood; numbers only, nothing is unpickled
``thumbnails/``    small pictures of the queries and of the items that stand at the top
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import report
from .audit import Finding
from .dataset import Dataset
from .documents import read_json
from .errors import DataError
from .evaluation import Evaluation, assemble
from .images import Pictures, thumbnail
from .ranking import Ranking
from .relevance import Relevance, Sets
from .replacing import folder_written
from .rights import below
from .spec import Spec
from .splits import Split
from .tables import parse_table, read_text, whole
from .vectors import read_npz

SHOWN = 12
"""Thumbnails are kept of the queries, of this many items at the top of each list, and of the best relevant item."""

_SPLIT_ARRAYS = ("query", "gallery", "train", "validation")
_SETS = ("relevant", "junk")


def save(evaluation: Evaluation, folder: Path, *, force: bool = False) -> None:
    """Write an evaluation to a folder, whole or not at all; what it replaces is there until then.

    Parameters
    ----------
    force : bool
        Replace what a former run left there.

    Raises
    ------
    DataError
        Something is there already, or the folder cannot be made.
    """
    folder = Path(folder)
    check_free(folder, force=force)
    try:
        with folder_written(folder, replace=force) as made:
            _write(evaluation, made)
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}") from error


def check_free(folder: Path, *, force: bool = False) -> None:
    """Refuse a folder that holds anything but a former run, and that too unless it may be replaced."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise DataError(f"{folder} is a file; name a new folder for the run")
    if any(folder.iterdir()):
        if not (folder / "report.json").is_file():
            raise DataError(f"{folder} holds other files; choose a new folder for the run")
        if not force:
            raise DataError(f"{folder} holds a run already; choose another folder, or replace it with --force")


def open_run(folder: Path) -> Evaluation:
    """Open a saved evaluation: every score, list and table as it was, without ranking again.

    Raises
    ------
    DataError
        The folder is not a saved run, is incomplete, or was written in another format.
    """
    folder = Path(folder)
    saved = _read_report(folder)
    try:
        return _opened(folder, saved)
    except DataError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: its files do not fit each other ({error}); save the run again") from error


def _opened(folder: Path, saved: Mapping[str, Any]) -> Evaluation:
    table = parse_table(read_text(below(folder, folder / "items.csv")), "items.csv", keep_blank=True)
    spec = Spec.from_json(saved["spec"])
    _check_report(saved)
    pictures = None
    if (folder / "thumbnails").is_dir():
        small = sorted(below(folder, folder / "thumbnails").iterdir())
        there = {whole(file.stem, len(table)): below(folder, file) for file in small}
        pictures = Pictures.from_files(
            [there.get(row, folder / "thumbnails" / f"{row}.png") for row in range(len(table))]
        )
    dataset = Dataset(saved["dataset"]["name"], table, dict(spec.columns), pictures)
    ranked = [
        _checked(_split(arrays, names), _relevance(arrays), _ranking(arrays), len(table))
        for arrays, names in zip(_read_arrays(folder, len(saved["sides"])), saved["sides"], strict=True)
    ]
    findings = [Finding(**{**found, "examples": tuple(found["examples"])}) for found in saved["findings"]]
    return assemble(
        dataset,
        Spec.from_json(saved["given"]),
        spec,
        ranked,
        n_dim=saved["counts"]["n_dim"],
        findings=findings,
        version=None if saved.get("version") is None else str(saved["version"]),
    )


def _write(evaluation: Evaluation, folder: Path) -> None:
    sides = [[d.split.query_name, d.split.gallery_name, d.split.drawn] for d in evaluation.directions]
    whole = report.to_json(evaluation) | {"given": evaluation.given.to_json(), "sides": sides}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "report.json").write_text(text, encoding="utf-8")
    (folder / "queries.csv").write_text(report.to_csv(evaluation), encoding="utf-8")
    # Quoted throughout, so that blanks and line ends inside a cell come back.
    evaluation.dataset.table.to_csv(folder / "items.csv", index=False, lineterminator="\n", quoting=csv.QUOTE_ALL)
    arrays: dict[str, NDArray[Any]] = {}
    for i, direction in enumerate(evaluation.directions):
        arrays |= {f"{i}/split/{name}": getattr(direction.split, name) for name in _SPLIT_ARRAYS}
        for name in _SETS:
            sets: Sets = getattr(direction.relevance, name)
            arrays |= {f"{i}/{name}/{part}": getattr(sets, part) for part in ("index", "indptr", "positions")}
        arrays |= {f"{i}/ranking/{name}": getattr(direction.ranking, name) for name in Ranking.__dataclass_fields__}
    np.savez_compressed(folder / "ranking.npz", allow_pickle=False, **arrays)
    if evaluation.dataset.pictures is not None:
        _write_thumbnails(evaluation, evaluation.dataset.pictures, folder / "thumbnails")


def _write_thumbnails(evaluation: Evaluation, pictures: Pictures, folder: Path) -> None:
    folder.mkdir()
    shown: set[int] = set()
    for direction in evaluation.directions:
        split, ranked = direction.split, direction.ranking
        top = ranked.top_position[:, :SHOWN]
        best = ranked.position[ranked.indptr[:-1][ranked.n_relevant > 0]]
        shown |= set(split.query.tolist()) | set(split.gallery[np.unique(top[top >= 0])].tolist())
        shown |= set(split.gallery[np.unique(best)].tolist())
    for row in sorted(shown):
        try:
            content, mime = thumbnail(pictures[row])
        except DataError:
            continue  # an unreadable picture has a finding of its own; the run is saved without it
        (folder / f"{row}.{mime.rpartition('/')[2]}").write_bytes(content)


def _read_report(folder: Path) -> dict[str, Any]:
    file = below(folder, folder / "report.json")
    try:
        saved = read_json(file)
        written_as = saved["format"]
    except (DataError, KeyError, TypeError) as error:
        raise DataError(f"{folder} is not a saved run: it has no report.json that can be read") from error
    if written_as != report.FORMAT:
        raise DataError(f"{folder} was saved in format {written_as}, this version reads {report.FORMAT}; save it again")
    missing = {"spec", "given", "sides", "counts", "findings", "dataset"} - set(saved)
    if missing:
        raise DataError(f"{folder}: report.json lacks {', '.join(sorted(missing))}; save the run again")
    return dict(saved)


def _read_arrays(folder: Path, n_direction: int) -> list[dict[str, NDArray[Any]]]:
    file = below(folder, folder / "ranking.npz")
    try:
        every = read_npz(file)
    except DataError as error:
        raise DataError(f"{folder}: ranking.npz is damaged or missing ({error}); save the run again") from error
    parts: list[dict[str, NDArray[Any]]] = [{} for _ in range(n_direction)]
    for name, array in every.items():
        i, _, rest = name.partition("/")
        place = whole(i, n_direction - 1) if n_direction else None
        if place is not None:
            if array.dtype.kind != ("f" if rest.endswith("similarity") else "i"):
                raise DataError(f"{folder}: ranking.npz holds {array.dtype} as {name}; save the run again")
            parts[place][rest] = array
    return parts


def _check_report(saved: Mapping[str, Any]) -> None:
    """Refuse parts of another type than ``_write`` gives them."""
    n_dim, name = saved["counts"]["n_dim"], saved["dataset"]["name"]
    texts = [name, *(text for side in saved["sides"] for text in side)]
    for found in saved["findings"]:
        texts += [found["kind"], found["severity"], found["message"], *found["examples"]]
    wholes = [found["count"] for found in saved["findings"]] + ([] if n_dim is None else [n_dim])
    if not (all(isinstance(text, str) for text in texts) and all(type(one) is int for one in wholes)):
        raise TypeError("report.json holds a number for a text, or a text for a number")


def _checked(split: Split, relevance: Relevance, ranking: Ranking, n_row: int) -> tuple[Split, Relevance, Ranking]:
    """Refuse rows and positions outside the table and the gallery, and parts that speak of other queries."""
    n_query, n_gallery = len(split.query), len(split.gallery)
    rows = np.concatenate([split.query, split.gallery, split.train, split.validation])
    places = np.concatenate([ranking.position, ranking.top_position.ravel()])
    for name, values, low, high in (
        ("rows", rows, 0, n_row - 1),
        ("positions", places, -1, n_gallery - 1),
        ("positions of pairs", ranking.position, 0, n_gallery - 1),
        ("galleries", ranking.n_gallery, 0, n_gallery),
        ("pairs of a query", np.diff(ranking.indptr), 0, n_gallery),
        ("ranks", ranking.rank, 0, n_gallery),
    ):
        if len(values) and not (low <= values.min() and values.max() <= high):
            raise ValueError(f"{name} outside {low} … {high}")
    if not n_query == relevance.n_query == ranking.n_query:
        raise ValueError(f"{n_query} queries, {relevance.n_query} judged, {ranking.n_query} ranked")
    return split, relevance, ranking


def _split(arrays: Mapping[str, NDArray[Any]], names: list[str]) -> Split:
    query_name, gallery_name, drawn = names
    query, gallery, train, validation = (arrays[f"split/{name}"] for name in _SPLIT_ARRAYS)
    return Split(query, gallery, query_name, gallery_name, drawn, train, validation)


def _relevance(arrays: Mapping[str, NDArray[Any]]) -> Relevance:
    relevant, junk = (Sets(*(arrays[f"{name}/{part}"] for part in ("index", "indptr", "positions"))) for name in _SETS)
    return Relevance(relevant, junk, len(arrays["split/gallery"]))


def _ranking(arrays: Mapping[str, NDArray[Any]]) -> Ranking:
    return Ranking(**{name: arrays[f"ranking/{name}"] for name in Ranking.__dataclass_fields__})
