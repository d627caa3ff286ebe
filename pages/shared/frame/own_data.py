"""What a visitor uploads: theirs alone, in a folder of its own, for as long as their session lasts.

The folder's name cannot be guessed, the list of names is kept in the session, and the folder goes soon after the
visitor; what a server that was killed left behind goes with the next upload after ``MAX_AGE``.
"""

import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from recall_core import datasets
from recall_core.diagnosis import state_folder
from recall_core.errors import DataError

MAX_SETS = 3
"""Of one visitor; a further one takes the place of the oldest."""

MAX_BYTES = 8 * 2**30
"""Of all visitors together, before a further upload is taken."""

MAX_VISITOR_BYTES, MAX_VISITOR_HELD = 2 * 2**30, 2**30
"""Of one visitor: on the disk, and in memory once they are read; where it is more, the oldest go."""

MAX_AGE = 12 * 3600
"""Seconds after which a folder that no session touches is left over."""

GRACE_SECONDS = 180
"""How long a visitor who has left may come back: Streamlit gives a torn connection two minutes."""

_taking = threading.Lock()

MARK = re.compile(r"-[0-9a-f]{6}$")


@dataclass(frozen=True)
class Upload:
    """One data set that a visitor brought: where it lies, and what was said when it was unpacked."""

    folder: Path
    notes: tuple[str, ...]
    n_bytes: int = 0
    held: int = 0


class Shelf:
    """A visitor's uploads by name, the oldest first; without the shelf there is no folder."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=_root()))
        self.uploads: dict[str, Upload] = {}
        self.present = True
        self.clear = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)  # at the latest at exit

    def clear_unless_back(self) -> None:
        """Let go of everything, unless the visitor has come back."""
        if not self.present:
            self.clear()

    def put(self, name: str, upload: Upload) -> None:
        """Take one in, and the oldest out where there are too many, or where together they are too large."""
        self.drop(name)
        self.uploads[name] = upload
        while len(self.uploads) > 1 and self.is_too_much():
            self.drop(next(iter(self.uploads)))

    def is_too_much(self) -> bool:
        """Are these more than one visitor may have?"""
        every = self.uploads.values()
        return (
            len(every) > MAX_SETS
            or sum(one.n_bytes for one in every) > MAX_VISITOR_BYTES
            or sum(one.held for one in every) > MAX_VISITOR_HELD
        )

    def drop(self, name: str) -> None:
        """Take one out, with its files."""
        gone = self.uploads.pop(name, None)
        if gone is not None:
            shutil.rmtree(gone.folder.parent, ignore_errors=True)


def sets() -> dict[str, Upload]:
    """Which data sets did this visitor upload? Nobody else's are ever in the list."""
    shelf = _shelf()
    if shelf is None or not shelf.folder.is_dir():
        return {}
    shelf.present = True
    os.utime(shelf.folder)
    _watch(shelf)
    return dict(shelf.uploads)


def add(files: Sequence[tuple[str, BinaryIO]]) -> str:
    """Store an upload; it is in ``sets`` from now on, under the name that is returned.

    The name ends with a mark of the content: the same files get the same name again.

    Raises
    ------
    DataError
        It is refused, too large for one visitor, or the server is full.
    """
    _sweep()
    with _taking:  # one at a time, so that the room that one was promised is not filled by another
        room = MAX_BYTES - _size(_root())
        if room <= 0:
            raise DataError(f"the uploads of all visitors fill {MAX_BYTES / 2**30:.0f} GiB; try again later")
        shelf, into = _place()
        try:
            folder, notes = datasets.receive(files, into, most=min(room, MAX_VISITOR_BYTES))
            held = _held(folder)
        except BaseException:
            shutil.rmtree(into, ignore_errors=True)
            raise
        name = f"{MARK.sub('', folder.name)}-{_digest(files)[:6]}"
        shelf.put(name, Upload(folder, notes, _size(folder), held))
    _watch(shelf)
    return name


def _place() -> tuple[Shelf, Path]:
    """The visitor's shelf, and a new folder in it."""
    try:
        shelf = _shelf() or st.session_state.setdefault("uploads", Shelf())
        return shelf, Path(tempfile.mkdtemp(dir=shelf.folder))
    except OSError as error:
        raise DataError(f"{_root()} cannot be written ({error.strerror}); set RECALL_STATE_DIR to a folder") from error


def _held(folder: Path) -> int:
    """How much memory does an upload take once it is read? More than a visitor may have is refused."""
    held = datasets.weight(folder)
    if held > MAX_VISITOR_HELD:
        raise DataError(
            f"{folder.name} takes {held / 2**30:.1f} GiB of memory once it is read, a visitor may have "
            f"{MAX_VISITOR_HELD / 2**30:.3g}; upload a smaller part"
        )
    return held


def drop(name: str) -> None:
    """Forget an upload, with its files."""
    shelf = _shelf()
    if shelf is not None:
        shelf.drop(name)


def shown(path: Path) -> str | None:
    """Give a path inside an upload as the visitor knows it; None for any other path."""
    root = state_folder() / "uploads"
    return str(Path(*path.relative_to(root).parts[2:])) if path.is_relative_to(root) else None


def _left(shelf: Shelf) -> None:
    """Clear the shelf in a while. That the session is collected as garbage may take far longer."""
    shelf.present = False
    timer = threading.Timer(GRACE_SECONDS, shelf.clear_unless_back)
    timer.daemon = True
    timer.start()


@st.cache_resource(scope="session", show_spinner=False, on_release=_left)
def _watch(_shelf: Shelf) -> Shelf:
    """Hear from Streamlit when the visitor's connection ends."""
    return _shelf


def _shelf() -> Shelf | None:
    if get_script_run_ctx(suppress_warning=True) is None:
        return None  # a thread of ours, which serves nobody in particular
    found: Shelf | None = st.session_state.get("uploads")
    return found


def _root() -> Path:
    folder = state_folder() / "uploads"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made ({error.strerror}); set RECALL_STATE_DIR to a folder") from error
    return folder


def _sweep() -> None:
    for folder in _root().iterdir():
        with suppress(OSError):
            if folder.stat().st_mtime < time.time() - MAX_AGE:
                shutil.rmtree(folder)


def _size(folder: Path) -> int:
    found = 0
    for parent, _folders, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found += os.lstat(os.path.join(parent, name)).st_size
    return found


def _digest(files: Sequence[tuple[str, BinaryIO]]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(files, key=lambda file: file[0]):
        content.seek(0)
        digest.update(name.encode(errors="surrogateescape") + b"\0")
        while piece := content.read(2**20):
            digest.update(piece)
    return digest.hexdigest()
