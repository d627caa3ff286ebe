"""What a person found out: tags, notes and judgements on items and on pairs, kept in one small database.

Every change is a row that is added and never altered: the latest row of a key is its state, an undo is one more row,
and a process that is killed in the middle loses at most the change that it had not been told was kept. The file is
SQLite with a write-ahead log, so several processes read and write at once; each call opens it anew, so threads share
nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import platformdirs

from . import sheets
from .dataset import Dataset
from .errors import DataError
from .replacing import write_file
from .tables import parse_table

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

_COLUMNS = ("item", "other", "kind", "name", "value", "fingerprint", "session", "time")


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
    plain = [_tag_name(name) for name in names]
    if len(set(plain)) < len(plain):
        raise DataError(f"tags are {', '.join(map(repr, names))}; each needs a name of its own")
    with _writing(folder) as store:
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
    key = (dataset, item, other, "tag", _tag_name(tag))
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
    with _writing(folder) as store:
        turned = (dataset, gallery_item, query, "relevant", "")
        replaced = _value(store, turned) != "" and _add(store, turned, "", fingerprint, session)
        return _add(store, (dataset, query, gallery_item, "relevant", ""), value, fingerprint, session) or replaced


def undo(dataset: str, *, session: str = "", folder: Path | None = None) -> dict[str, str] | None:
    """Take back the latest change of this session that still stands; may be called again and again.

    Changes that somebody else has overwritten meanwhile are passed over. Returns what was taken back (``item``,
    ``other``, ``kind``, ``name``, ``value``, and ``before``, which it is again), or None where there is nothing.
    """
    with _writing(folder) as store:
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


def marks(dataset: str, *, folder: Path | None = None) -> pd.DataFrame:
    """What is known of a data set's items and pairs at this moment?

    Columns ``item``, ``other`` (empty for an item alone), ``kind`` (see ``KINDS``), ``name`` (of the tag), ``value``,
    ``fingerprint``, ``session``, ``time`` (UTC); one row a tag, note or judgement, in the order in which they were
    made.
    """
    latest = "SELECT MAX(id) FROM change WHERE dataset = ? GROUP BY item, other, kind, name"
    question = f"SELECT {', '.join(_COLUMNS)} FROM change WHERE id IN ({latest}) AND value <> '' ORDER BY id"
    rows = _read(question, dataset, folder)
    return pd.DataFrame(rows, columns=list(_COLUMNS), dtype="str")


def tags_of(found: pd.DataFrame) -> dict[str, list[str]]:
    """Which tags has each item: id → tags, out of ``marks``; those of pairs are left out."""
    own = found[(found["kind"] == "tag") & (found["other"] == "")]
    return {str(item): list(part["name"]) for item, part in own.groupby("item", sort=False)}


def meets(given: Mapping[str, Sequence[str]], item: str, tags: Collection[str]) -> bool:
    """Has an item one of the tags, given ``tags_of``? ``UNTAGGED`` among them: an item with no tag at all, too."""
    return not set(given.get(item) or [UNTAGGED]).isdisjoint(tags)


def to_csv(found: pd.DataFrame) -> str:
    """Spell ``marks`` as CSV, guarded against spreadsheets: notes are written by whoever can see the page."""
    return sheets.to_csv(found)


def to_patch(found: pd.DataFrame) -> str:
    """Spell the judged pairs as a patch of the judgements, as ``--corrections`` reads it.

    CSV with ``query_id``, ``gallery_id``, ``grade``: 1 where the pair is in truth right, 0 where it is not. The ids are
    guarded against spreadsheets.
    """
    judged = found[found["kind"] == "relevant"]
    return sheets.to_csv(
        pd.DataFrame({"query_id": judged["item"], "gallery_id": judged["other"], "grade": judged["value"]})
    )


def write_patch(dataset: str, *, folder: Path | None = None) -> Path | None:
    """Write the judged pairs to a file that ``Spec.corrections`` can name; None where nothing is judged.

    The file lies in the state folder and is named by its content: another content, another spec.
    """
    found = marks(dataset, folder=folder)
    if not (found["kind"] == "relevant").any():
        return None
    content = to_patch(found)
    file = (folder or state_folder()) / "corrections" / f"{hashlib.sha256(content.encode()).hexdigest()[:16]}.csv"
    if not file.exists():
        _make(file.parent)
        try:
            write_file(file, content)
        except OSError as error:
            raise _unwritable(file.parent, error.strerror) from error
    return file


def to_fiftyone(found: pd.DataFrame, dataset: Dataset) -> str:
    """Spell tags and notes as ``samples.json``, which FiftyOne opens from a folder as a ``FiftyOneDataset``.

    One sample an item that has any: ``filepath`` (as the table has it, relative to where the file is put),
    ``item_id``, ``tags``, ``note``, and ``also_right`` and ``not_right`` (ids of judged items).

    Raises
    ------
    DataError
        The data set has no files, so FiftyOne has nothing to open.
    """
    path = dataset.role("path")
    if path is None:
        raise DataError(f"{dataset.name} has no column of paths; FiftyOne opens files, so export the tags as CSV")
    file_of = dict(zip(dataset.ids, path, strict=True))
    samples: dict[str, dict[str, Any]] = {}
    for row in found.to_dict("records"):
        if row["item"] not in file_of:
            continue  # an item that has left the data keeps its tags, and stands in the CSV
        empty = {"filepath": file_of[row["item"]], "item_id": row["item"], "tags": [], "note": None}
        sample = samples.setdefault(row["item"], empty | {"also_right": [], "not_right": []})
        if row["kind"] == "relevant":
            sample["also_right" if row["value"] == "1" else "not_right"].append(row["other"])
        elif row["other"]:
            continue
        elif row["kind"] == "note":
            sample["note"] = row["value"]
        else:
            sample["tags"].append(row["name"])
    return json.dumps({"samples": list(samples.values())}, indent=2, ensure_ascii=False) + "\n"


def read_csv(text: str, dataset: str, *, session: str = "", folder: Path | None = None) -> int:
    """Take over what ``to_csv`` wrote, for example on another machine; returns how many marks changed.

    The guard against spreadsheets is taken off.

    Raises
    ------
    DataError
        A column is missing, a kind is unknown, or a tag has no name.
    """
    try:
        table = parse_table(text.removeprefix("\ufeff"), "the file").map(sheets.unguard)
    except DataError as error:
        raise DataError(f"the tags cannot be read ({error}); they are a CSV with {', '.join(_COLUMNS[:5])}") from error
    missing = [name for name in _COLUMNS[:5] if name not in table]
    unknown = sorted(set(table.get("kind", pd.Series(dtype="str"))) - set(KINDS))
    if missing or unknown:
        what = f"columns {', '.join(missing)} are missing" if missing else f"{unknown[0]!r} is no kind of mark"
        raise DataError(f"the tags cannot be read: {what}; they are a CSV with {', '.join(_COLUMNS[:5])}")
    with _writing(folder) as store:
        changed = 0
        for row in table.to_dict("records"):
            name = _tag_name(row["name"]) if row["kind"] == "tag" else row["name"]
            key = (dataset, row["item"], row["other"], row["kind"], name)
            changed += _add(store, key, row["value"], row.get("fingerprint", ""), session)
    return changed


def _tag_name(given: str) -> str:
    name = given.strip()
    if not name:
        raise DataError("a tag is empty; each needs a name of its own")
    if name == UNTAGGED:
        raise DataError(f"{UNTAGGED!r} cannot be a tag: in a filter it stands for no tag at all; name it otherwise")
    return name


Key = tuple[str, str, str, str, str]


def _change(key: Key, value: str, fingerprint: str, session: str, folder: Path | None) -> bool:
    with _writing(folder) as store:
        return _add(store, key, value, fingerprint, session)


def _add(store: sqlite3.Connection, key: Key, value: str, fingerprint: str, session: str) -> bool:
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
            raise DataError(str(error).replace(str(copy), str(folder))) from error


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
    _make(file.parent)
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
def _writing(folder: Path | None) -> Iterator[sqlite3.Connection]:
    """One transaction: whole, or not at all; other processes wait."""
    where = folder or state_folder()
    if where.is_dir() and not _can_write(where):
        raise _unwritable(where, "it is read-only")
    with _opened(folder) as store:
        store.execute("BEGIN IMMEDIATE")
        try:
            yield store
        except BaseException:
            store.execute("ROLLBACK")
            raise
        store.execute("COMMIT")


def _unwritable(folder: Path, why: str | None) -> DataError:
    return DataError(f"{folder} cannot be written ({why}), so nothing was kept; set RECALL_STATE_DIR to another folder")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made ({error.strerror}); set RECALL_STATE_DIR to a folder") from error
