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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, setting
from ..images import Pictures, thumbnail
from ..ranking import Ranking, Sets
from . import report
from .replacing import folder_written

if TYPE_CHECKING:
    from .record import Evaluation


SHOWN = 12
"""Thumbnails are kept of the queries, of this many items at the top of each list, and of the best relevant item."""

SPLIT_ARRAYS = ("query", "gallery", "train", "validation")
SETS = ("relevant", "junk")


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
            raise DataError(
                f"{folder} holds a run already; choose another folder, or replace it with {setting('force', True)}"
            )


def _write(evaluation: Evaluation, folder: Path) -> None:
    sides = [[d.split.query_name, d.split.gallery_name, d.split.drawn] for d in evaluation.directions]
    whole = report.report_json(evaluation) | {"given": evaluation.given.to_json(), "sides": sides}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / "report.json").write_text(text, encoding="utf-8")
    (folder / "queries.csv").write_text(report.report_csv(evaluation), encoding="utf-8")
    # Quoted throughout, so that blanks and line ends inside a cell come back.
    evaluation.dataset.table.to_csv(folder / "items.csv", index=False, lineterminator="\n", quoting=csv.QUOTE_ALL)
    arrays: dict[str, NDArray[Any]] = {}
    for i, direction in enumerate(evaluation.directions):
        arrays |= {f"{i}/split/{name}": getattr(direction.split, name) for name in SPLIT_ARRAYS}
        for name in SETS:
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
