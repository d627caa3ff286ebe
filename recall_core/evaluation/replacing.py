"""A folder written whole, which then stands at its place at once: no reader ever finds half of it, or none.

Until then it lies hidden beside its place. Whoever writes there holds a lock on it, so what a killed process left is
known by its lock, which the system lets go, and is cleared by the next who writes there. Where the system has no such
locks (Windows), it stays. Linux and macOS swap two folders in one step; where a file system cannot, the former one is
put aside first, for a moment, and brought back if that moment is the last.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

PREFIX = ".recall-saving-"
LEFT = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")
"""Names of hidden folders; nothing else is ever cleared."""

PART_SECONDS = 3600
"""Age at which a part of a file is left over: to write one takes less than a second."""

SWAP, HERE = 2, -100
"""RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS; AT_FDCWD of Linux."""


@contextmanager
def folder_written(place: Path, *, replace: bool) -> Iterator[Path]:
    """Give an empty folder to write into; if nothing fails, it stands at its place afterwards.

    Parameters
    ----------
    place : Path
        Where links lead is where it will stand. Nothing may be there, or an empty folder.
    replace : bool
        A folder there gives way.

    Raises
    ------
    OSError
        It cannot be written, or something is there that may not be replaced.
    """
    place = place.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    clear_left(place.parent)
    hidden, lock = _hidden(place.parent)
    try:
        made = hidden / "made"
        made.mkdir()
        yield made
        if not replace or not os.path.lexists(place):
            with suppress(OSError):
                place.rmdir()  # only an empty one goes
            made.rename(place)
        elif not swap(made, place):
            _replace_in_steps(made, place, hidden / "former")
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def clear_left(parent: Path) -> None:
    """Clear what killed processes left in a folder; what they had put aside stands at its place again."""
    if fcntl is None:
        return
    for left in [path for path in parent.iterdir() if LEFT.fullmatch(path.name)]:
        lock = _lock(left)
        if lock is None:
            continue
        with suppress(OSError):
            aside = left / "former"
            for former in aside.iterdir() if aside.is_dir() else ():
                if not os.path.lexists(parent / former.name):
                    former.rename(parent / former.name)
        shutil.rmtree(left, ignore_errors=True)
        os.close(lock)


def swap(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system or the file system cannot."""
    if sys.platform not in ("linux", "darwin"):
        return False
    import ctypes

    library = ctypes.CDLL(None)
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "linux":
            return bool(library.renameat2(HERE, names[0], HERE, names[1], SWAP) == 0)
        return bool(library.renamex_np(*names, SWAP) == 0)
    except AttributeError:
        return False  # an old C library


def write_file(file: Path, content: str) -> None:
    """Write a text file, whole or not at all; parts that killed processes left beside it are cleared."""
    for left in file.parent.glob("*.part"):
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - PART_SECONDS:
                left.unlink()
    number, name = tempfile.mkstemp(suffix=".part", dir=file.parent)
    try:
        with open(number, "w", encoding="utf-8", newline="") as stream:
            stream.write(content)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _replace_in_steps(made: Path, place: Path, aside: Path) -> None:
    aside.mkdir()
    place.rename(aside / place.name)
    try:
        made.rename(place)
    except BaseException:
        (aside / place.name).rename(place)
        raise


def _hidden(parent: Path) -> tuple[Path, int | None]:
    """Make a hidden folder, and lock it."""
    while True:
        hidden = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        lock = _lock(hidden)
        if lock is not None or hidden.is_dir():  # without a lock: the file system has none, so nobody clears it
            return hidden, lock


def _lock(folder: Path) -> int | None:
    """Lock a folder until the descriptor is closed; None where somebody else holds it, or it is gone."""
    if fcntl is None:
        return None
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(folder)):
            return lock
    except OSError:
        pass
    os.close(lock)
    return None
