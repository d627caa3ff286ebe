"""What a person found out: tags, notes and judgements on items and on pairs, kept in one small database.

Every change is a row that is added and never altered: the latest row of a key is its state, an undo is one more row,
and a process that is killed in the middle loses at most the change that it had not been told was kept. The file is
SQLite with a write-ahead log, so several processes read and write at once; each call opens it anew, so threads share
nothing.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import platformdirs

from ..errors import DataError

TAGS = (
    "wrong answer",
    "near-duplicate",
    "label problem",
    "ambiguous",
    "missing in gallery",
    "hard view",
    "bad picture",
)
"""Tags that are offered where nobody has edited the list; the first nine have the keys 1 to 9."""

FILE = "triage.sqlite3"
VERSION = 1
PATIENCE = 10
"""Seconds to wait while another process writes."""

ATTEMPTS = 5
"""How often a database that cannot be opened where it lies is copied, where it changes meanwhile."""

UNTAGGED = "!"
"""Stands among the tags of a filter for "none was given"."""

KINDS = ("tag", "note", "relevant")
"""What is known of an item or a pair. ``relevant``: "1" where the pair is in truth right, "0" where it is not."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS change (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    dataset TEXT NOT NULL, item TEXT NOT NULL, other TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    value TEXT NOT NULL, before TEXT NOT NULL, undoes INTEGER,
    fingerprint TEXT NOT NULL, session TEXT NOT NULL, time TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS change_key ON change (dataset, item, other, kind, name, id);
CREATE TABLE IF NOT EXISTS tag_list (dataset TEXT NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (dataset, place));
"""

COLUMNS = ("item", "other", "kind", "name", "value", "fingerprint", "session", "time")


def state_folder() -> Path:
    """Where does the app keep what it writes? ``RECALL_STATE_DIR``, else the system's folder for a user's state."""
    given = os.environ.get("RECALL_STATE_DIR")
    if given:
        return Path(given).expanduser()
    return platformdirs.user_state_path("recall-explorer", appauthor=False)


def tag_list(dataset: str, *, folder: Path | None = None) -> list[str]:
    """Which tags are offered for a data set? As edited, else ``TAGS``."""
    rows = _read("SELECT name FROM tag_list WHERE dataset = ? ORDER BY place", dataset, folder)
    return [name for (name,) in rows] or list(TAGS)


def edit_tag_list(dataset: str, names: Sequence[str], *, folder: Path | None = None) -> None:
    """Offer these tags from now on; tags that were given stay given. An empty list brings ``TAGS`` back.

    Raises
    ------
    DataError
        A name is empty, is ``UNTAGGED``, or stands twice.
    """
    plain = [tag_name(name) for name in names]
    if len(set(plain)) < len(plain):
        raise DataError(f"tags are {', '.join(map(repr, names))}; each needs a name of its own")
    with writing(folder) as store:
        store.execute("DELETE FROM tag_list WHERE dataset = ?", (dataset,))
        rows = [(dataset, place, name) for place, name in enumerate(plain)]
        store.executemany("INSERT INTO tag_list VALUES (?, ?, ?)", rows)


def set_tag(
    dataset: str,
    item: str,
    tag: str,
    on: bool = True,
    *,
    other: str = "",
    fingerprint: str = "",
    session: str = "",
    folder: Path | None = None,
) -> bool:
    """Give an item a tag, or take it away; returns whether that changed anything.

    Parameters
    ----------
    dataset, item : str
        Name of the data set and id of the item: one corrected label elsewhere orphans nothing.
    other : str
        Of a pair (query, gallery item): the gallery item's id.
    fingerprint : str
        Of the data at this time, kept as provenance.
    session : str
        Who does it: ``undo`` takes back the changes of the same session alone.
    folder : Path, optional
        Where the database lies; ``state_folder()`` by default.

    Raises
    ------
    DataError
        The tag has no name or is ``UNTAGGED``, or the folder cannot be written.
    """
    key = (dataset, item, other, "tag", tag_name(tag))
    return _change(key, "1" if on else "", fingerprint, session, folder)


def set_note(
    dataset: str,
    item: str,
    text: str,
    *,
    other: str = "",
    fingerprint: str = "",
    session: str = "",
    folder: Path | None = None,
) -> bool:
    """Write a note on an item or a pair; empty takes it away. Returns whether that changed anything."""
    return _change((dataset, item, other, "note", ""), text.strip(), fingerprint, session, folder)


def judge(
    dataset: str,
    query: str,
    gallery_item: str,
    relevant: bool | None,
    *,
    fingerprint: str = "",
    session: str = "",
    folder: Path | None = None,
) -> bool:
    """Say that a gallery item is in truth right (or wrong) for a query; None leaves it to the rule again.

    What is the same is so whichever asks: a judgement of the turned pair is replaced. Returns whether anything changed.

    Raises
    ------
    DataError
        An item is judged against itself.
    """
    if query == gallery_item:
        raise DataError(f"{query!r} cannot be judged against itself")
    value = "" if relevant is None else str(int(relevant))
    with writing(folder) as store:
        turned = (dataset, gallery_item, query, "relevant", "")
        replaced = _value(store, turned) != "" and add_mark(store, turned, "", fingerprint, session)
        return add_mark(store, (dataset, query, gallery_item, "relevant", ""), value, fingerprint, session) or replaced


def undo(dataset: str, *, session: str = "", folder: Path | None = None) -> dict[str, str] | None:
    """Take back the latest change of this session that still stands; may be called again and again.

    Changes that somebody else has overwritten meanwhile are passed over. Returns what was taken back (``item``,
    ``other``, ``kind``, ``name``, ``value``, and ``before``, which it is again), or None where there is nothing.
    """
    with writing(folder) as store:
        rows = store.execute(
            "SELECT id, item, other, kind, name, value, before, fingerprint FROM change AS mine "
            "WHERE dataset = ? AND session = ? AND undoes IS NULL "
            "AND NOT EXISTS (SELECT 1 FROM change AS later WHERE later.undoes = mine.id) "
            "ORDER BY id DESC",
            (dataset, session),
        )
        for number, item, other, kind, name, value, before, fingerprint in rows.fetchall():
            key = (dataset, item, other, kind, name)
            if _value(store, key) == value:
                _insert(store, key, before, value, number, fingerprint, session)
                return {"item": item, "other": other, "kind": kind, "name": name, "value": value, "before": before}
    return None


def count_judged(found: pd.DataFrame) -> int:
    """How many of the marks are judged pairs? ``found`` is ``marks``'."""
    return int((found["kind"] == "relevant").sum())


def marks(dataset: str, *, folder: Path | None = None) -> pd.DataFrame:
    """What is known of a data set's items and pairs at this moment?

    Columns ``item``, ``other`` (empty for an item alone), ``kind`` (see ``KINDS``), ``name`` (of the tag), ``value``,
    ``fingerprint``, ``session``, ``time`` (UTC); one row a tag, note or judgement, in the order in which they were
    made.
    """
    latest = "SELECT MAX(id) FROM change WHERE dataset = ? GROUP BY item, other, kind, name"
    question = f"SELECT {', '.join(COLUMNS)} FROM change WHERE id IN ({latest}) AND value <> '' ORDER BY id"
    rows = _read(question, dataset, folder)
    return pd.DataFrame(rows, columns=list(COLUMNS), dtype="str")


def tags_of(found: pd.DataFrame) -> dict[str, list[str]]:
    """Which tags has each item: id → tags, out of ``marks``; those of pairs are left out."""
    own = found[(found["kind"] == "tag") & (found["other"] == "")]
    return {str(item): list(part["name"]) for item, part in own.groupby("item", sort=False)}


def meets(given: Mapping[str, Sequence[str]], item: str, tags: Collection[str]) -> bool:
    """Has an item one of the tags, given ``tags_of``? ``UNTAGGED`` among them: an item with no tag at all, too."""
    return not set(given.get(item) or [UNTAGGED]).isdisjoint(tags)


def tag_name(given: str) -> str:
    """The name without blanks around it; refused where it cannot name a tag."""
    name = given.strip()
    if not name:
        raise DataError("a tag is empty; each needs a name of its own")
    if name == UNTAGGED:
        raise DataError(f"{UNTAGGED!r} cannot be a tag: in a filter it stands for no tag at all; name it otherwise")
    return name


Key = tuple[str, str, str, str, str]


def _change(key: Key, value: str, fingerprint: str, session: str, folder: Path | None) -> bool:
    with writing(folder) as store:
        return add_mark(store, key, value, fingerprint, session)


def add_mark(store: sqlite3.Connection, key: Key, value: str, fingerprint: str, session: str) -> bool:
    """Keep one mark of a person; False where it stands already."""
    before = _value(store, key)
    if before == value:
        return False
    _insert(store, key, value, before, None, fingerprint, session)
    return True


def _insert(
    store: sqlite3.Connection, key: Key, value: str, before: str, undoes: int | None, fingerprint: str, session: str
) -> None:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    store.execute(
        "INSERT INTO change (dataset, item, other, kind, name, value, before, undoes, fingerprint, session, time) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*key, value, before, undoes, fingerprint, session, now),
    )


def _value(store: sqlite3.Connection, key: Key) -> str:
    row = store.execute(
        "SELECT value FROM change WHERE dataset = ? AND item = ? AND other = ? AND kind = ? AND name = ? "
        "ORDER BY id DESC LIMIT 1",
        key,
    ).fetchone()
    return "" if row is None else str(row[0])


def _read(question: str, dataset: str, folder: Path | None) -> list[tuple[str, ...]]:
    """Ask about one data set; to look makes no file."""
    folder = folder or state_folder()
    if not (folder / FILE).exists():
        return []
    if _can_write(folder):
        with _opened(folder) as store:
            return _texts(store.execute(question, (dataset,)).fetchall(), folder)
    with tempfile.TemporaryDirectory(prefix="recall-tags-") as name:
        copy = Path(name)
        _copy(folder, copy)
        try:
            with _opened(copy) as store:
                return _texts(store.execute(question, (dataset,)).fetchall(), folder)
        except DataError as error:
            raise DataError(error.message.replace(str(copy), str(folder)), field=error.field) from error


def _can_write(folder: Path) -> bool:
    """Can the database be opened where it lies? Even to read it, SQLite writes beside a write-ahead log."""
    files = [folder / f"{FILE}{suffix}" for suffix in ("", "-wal", "-shm")]
    return all(os.access(path, os.W_OK) for path in (folder, *files) if path.exists())


def _copy(folder: Path, into: Path) -> None:
    """Copy the database with what its logs hold, as it is at one moment."""
    files = [folder / f"{FILE}{suffix}" for suffix in ("", "-wal", "-journal")]
    try:
        for _ in range(ATTEMPTS):
            before = _states(files)
            for file in files:
                (into / file.name).unlink(missing_ok=True)
                if file.exists():
                    shutil.copyfile(file, into / file.name)
            if _states(files) == before:
                return
    except OSError as error:
        raise DataError(
            f"{folder / FILE}: the tags cannot be read ({error.strerror}); check who may read the file"
        ) from error
    raise DataError(f"{folder / FILE}: the tags cannot be read while they are written all the time; try again")


def _states(files: Sequence[Path]) -> list[tuple[int, int] | None]:
    found = [file.stat() if file.exists() else None for file in files]
    return [None if one is None else (one.st_mtime_ns, one.st_size) for one in found]


def _texts(rows: list[tuple[str, ...]], folder: Path) -> list[tuple[str, ...]]:
    """Refuse what this program never wrote: SQLite keeps a value of any type in a column of text."""
    if not all(isinstance(cell, str) for row in rows for cell in row):
        raise DataError(f"{folder / FILE} holds tags that are no text; put a copy of the file back")
    return rows


@contextmanager
def _opened(folder: Path | None) -> Iterator[sqlite3.Connection]:
    """Open the database, made if need be; what goes wrong comes out as a DataError with the file's name."""
    file = (folder or state_folder()) / FILE
    make_folder(file.parent)
    try:
        with closing(sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)) as store:
            store.execute("PRAGMA synchronous = FULL")
            version = store.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                _log_ahead(store)
                store.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
            elif version != VERSION:
                raise DataError(f"{file} was written in version {version}, this program reads {VERSION}; update it")
            yield store
    except sqlite3.Error as error:
        raise DataError(f"{file}: the tags cannot be read or written ({error})") from error


def _log_ahead(store: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; where several do so at once SQLite refuses all but one, and does not wait."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            store.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def writing(folder: Path | None) -> Iterator[sqlite3.Connection]:
    """One transaction: whole, or not at all; other processes wait."""
    where = folder or state_folder()
    if where.is_dir() and not _can_write(where):
        raise unwritable(where, "it is read-only")
    with _opened(folder) as store:
        store.execute("BEGIN IMMEDIATE")
        try:
            yield store
        except BaseException:
            store.execute("ROLLBACK")
            raise
        store.execute("COMMIT")


def unwritable(folder: Path, why: str | None) -> DataError:
    """The error of a state folder that cannot be written, with what to do."""
    return DataError(f"{folder} cannot be written ({why}), so nothing was kept; set RECALL_STATE_DIR to another folder")


def make_folder(folder: Path) -> None:
    """Make the state folder where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made ({error.strerror}); set RECALL_STATE_DIR to a folder") from error
