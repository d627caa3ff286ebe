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

from recall_core import uploads
from recall_core.errors import DataError
from recall_core.triage import state_folder

MAX_SETS = 3
"""Of one visitor; a further one takes the place of the oldest."""

MAX_BYTES = 8 * 2**30
"""Of all visitors together, before a further upload is taken."""

MAX_AGE = 12 * 3600
"""Seconds after which a folder that no session touches is left over."""

GRACE_SECONDS = 180
"""How long a visitor who has left may come back: Streamlit gives a torn connection two minutes."""

MARK = re.compile(r"-[0-9a-f]{6}$")


@dataclass(frozen=True)
class Upload:
    """One data set that a visitor brought: where it lies, and what was said when it was unpacked."""

    folder: Path
    notes: tuple[str, ...]


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
        """Take one in, and the oldest out where there are too many."""
        self.drop(name)
        self.uploads[name] = upload
        for oldest in list(self.uploads)[:-MAX_SETS]:
            self.drop(oldest)

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
        It is refused, or the server is full.
    """
    _sweep()
    if _size(_root()) > MAX_BYTES:
        raise DataError(f"the uploads of all visitors fill {MAX_BYTES / 2**30:.0f} GiB; try again later")
    try:
        shelf = _shelf() or st.session_state.setdefault("uploads", Shelf())
        into = Path(tempfile.mkdtemp(dir=shelf.folder))
    except OSError as error:
        raise DataError(f"{_root()} cannot be written ({error.strerror}); set RECALL_STATE_DIR to a folder") from error
    try:
        folder, notes = uploads.receive(files, into)
    except BaseException:
        shutil.rmtree(into, ignore_errors=True)
        raise
    name = f"{MARK.sub('', folder.name)}-{_digest(files)[:6]}"
    shelf.put(name, Upload(folder, notes))
    _watch(shelf)
    return name


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
