"""A saved evaluation, opened again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets import Dataset, parse_table, read_json, read_npz, read_text, whole
from ..errors import DataError
from ..images import Pictures
from ..program import with_settings
from ..protocol import Finding, Spec, Split
from ..ranking import Ranking, Relevance, Sets
from ..rights import below
from . import spelling
from .record import Evaluation
from .saving import SETS, SPLIT_ARRAYS
from .wiring import assemble


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
    given, spec = (_spec(folder, saved[name]) for name in ("given", "spec"))
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
    findings = [_finding(**found) for found in saved["findings"]]
    return assemble(
        dataset,
        given,
        spec,
        ranked,
        n_dim=saved["counts"]["n_dim"],
        findings=findings,
        version=None if saved.get("version") is None else str(saved["version"]),
    )


def _finding(kind: str, severity: str, count: int, message: str, examples: Sequence[str]) -> Finding:
    return Finding(kind, severity, count, with_settings(message), tuple(examples))


def _spec(folder: Path, spelled: Mapping[str, Any]) -> Spec:
    try:
        return Spec.from_json(spelled)
    except DataError as error:
        raise DataError(f"{folder}: report.json: {error.message}; save the run again") from error


def _read_report(folder: Path) -> dict[str, Any]:
    file = below(folder, folder / "report.json")
    try:
        saved = read_json(file)
        written_as = saved["format"]
    except (DataError, KeyError, TypeError) as error:
        raise DataError(f"{folder} is not a saved run: it has no report.json that can be read") from error
    if written_as != spelling.FORMAT:
        raise DataError(
            f"{folder} was saved in format {written_as}, this version reads {spelling.FORMAT}; save it again"
        )
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
        ("ties", np.concatenate([ranking.above, ranking.tied, ranking.above + ranking.tied]), -2, n_gallery - 1),
    ):
        if len(values) and not (low <= values.min() and values.max() <= high):
            raise ValueError(f"{name} outside {low} … {high}")
    if not n_query == relevance.n_query == ranking.n_query:
        raise ValueError(f"{n_query} queries, {relevance.n_query} judged, {ranking.n_query} ranked")
    return split, relevance, ranking


def _split(arrays: Mapping[str, NDArray[Any]], names: list[str]) -> Split:
    query_name, gallery_name, drawn = names
    query, gallery, train, validation = (arrays[f"split/{name}"] for name in SPLIT_ARRAYS)
    return Split(query, gallery, query_name, gallery_name, drawn, train, validation)


def _relevance(arrays: Mapping[str, NDArray[Any]]) -> Relevance:
    relevant, junk = (Sets(*(arrays[f"{name}/{part}"] for part in ("index", "indptr", "positions"))) for name in SETS)
    return Relevance(relevant, junk, len(arrays["split/gallery"]))


def _ranking(arrays: Mapping[str, NDArray[Any]]) -> Ranking:
    return Ranking(**{name: arrays[f"ranking/{name}"] for name in Ranking.__dataclass_fields__})
