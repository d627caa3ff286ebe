"""Which data sets and saved runs lie at a place: a folder of data sets, one data set, a table, or a saved run."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from ..errors import DataError
from ..rights import is_inside
from .dataset import load
from .location import PICTURE_SUFFIXES, Place
from .readers import FOLDERS, READERS

RUNS = "runs"
"""The folder beside the data in which saved runs are looked for, too."""

_DEEP = (
    "Parquet with pictures, paths or vectors",
    "Omniglot's one-shot runs (class_labels.txt)",
    "pictures in folders, a folder a class",
)
"""Forms whose files lie anywhere below the folder: what holds them may be a data set, or hold several."""


def find(spelled: str) -> Path:
    """Where does a path lead that a person typed or pasted, with its quotes?

    Raises
    ------
    DataError
        Neither data sets nor saved runs are there; the message says what was looked for.
    """
    plain = spelled.strip().strip("\"'").strip()
    if not plain or "\0" in plain:
        raise DataError("no path is given; name a folder, a table or a saved run, as in /home/ana/shop")
    try:
        root = Path(plain).expanduser().resolve()
        there = root.exists()
    except (OSError, RuntimeError) as error:
        raise DataError(f"{plain!r} is no path: {error}; name a folder, a table or a saved run") from error
    if not there:
        raise DataError(f"{plain!r}: there is nothing of this name on this machine; check the spelling")
    check(root)
    return root


def check(root: Path) -> None:
    """Let the readers say what is wrong, where nothing lies that a page could show.

    Raises
    ------
    DataError
        In the words of ``load``.
    """
    if root.is_dir() and (data_sets(root) or runs(root)):
        return
    if not root.is_file() or not _has_form(Place(root.parent, root)):
        load(root)


def is_one_data_set(root: Path) -> bool:
    """Is this one data set, not a folder of some?"""
    return root.is_file() or (root.is_dir() and not is_run(root) and is_data_set(root))


def data_sets(root: Path) -> dict[str, Path]:
    """Which data sets lie here, by name?

    Parameters
    ----------
    root : Path
        A table, a folder that is itself a data set, or a folder whose folders are data sets. A saved run is none.

    Returns
    -------
    mapping of name to Path
        Hidden folders, saved runs, and links that lead out of the folder are passed over.
    """
    if is_one_data_set(root):
        return {root.stem if root.is_file() else root.resolve().name: root}
    if not root.is_dir() or is_run(root):
        return {}
    return {folder.name: folder for folder in _folders(root) if not is_run(folder)}


def runs(root: Path) -> list[Path]:
    """Which saved runs lie here: in the folder, in its folder ``runs``, or beside the run that it is?"""
    if root.is_file() or is_run(root):
        root = root.parent
    inside = _folders(root) if root.is_dir() else []
    beside = [folder for place in inside if place.name == RUNS for folder in _folders(place)]
    return [folder for folder in (*inside, *beside) if is_run(folder)]


def is_run(folder: Path) -> bool:
    """Does the folder look like what ``Evaluation.save`` writes?"""
    return (folder / "report.json").is_file() and (folder / "ranking.npz").is_file()


def is_data_set(folder: Path) -> bool:
    """Is the folder itself a data set, not one that holds data sets?

    It is where one of the forms of ``readers.READERS`` lies in the folder itself. Without one it is where all its
    folders hold images, a folder a class, or are named as the sides and parts of one (``query``, ``train``).
    """
    return _is_data_set(folder, folder.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _is_data_set(folder: Path, _mtime_ns: int) -> bool:
    if _has_form(Place(folder)):
        return True
    inside = _folders(folder)  # only two levels are looked at: below a home folder there may be millions of files
    if any(_has_form(Place(one)) for one in inside):
        return False
    parts = [part for one in inside for part in (_folders(one) if one.name.lower() in FOLDERS else [one])]
    return all(map(_holds_files, parts or inside or [folder]))


def _has_form(place: Place) -> bool:
    deep = () if place.file else _DEEP
    try:
        return any(fits(place) for name, (fits, _reader) in READERS.items() if name not in deep)
    except (DataError, OSError):
        return False  # several tables, or a folder that is not ours to read


def _holds_files(folder: Path) -> bool:
    """Lie files of one of the deep forms in the folder itself?"""
    try:
        with os.scandir(folder) as entries:
            return any(
                entry.name == "class_labels.txt"
                or os.path.splitext(entry.name)[1].lower() in (*PICTURE_SUFFIXES, ".parquet")
                for entry in entries
            )
    except OSError:
        return False


def _folders(folder: Path) -> list[Path]:
    """Visible folders in a folder, in the order of their names; links that lead out of it are passed over."""
    try:
        found = sorted(path for path in folder.iterdir() if not path.name.startswith(".") and path.is_dir())
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror or error}; check who may read it") from error
    return [path for path in found if is_inside(path, folder)]
