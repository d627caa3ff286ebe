"""Tags, notes and judgements as files, written and read."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd

from .. import datasets
from ..datasets import Dataset, parse_table
from ..errors import DataError
from ..evaluation import write_file
from .triage import COLUMNS, KINDS, add_mark, make_folder, marks, state_folder, tag_name, unwritable, writing


def triage_csv(found: pd.DataFrame) -> str:
    """Spell ``marks`` as CSV, guarded against spreadsheets: notes are written by whoever can see the page."""
    return datasets.guarded_csv(found)


def triage_patch(found: pd.DataFrame) -> str:
    """Spell the judged pairs as a patch of the judgements, as ``Spec.corrections`` reads it.

    CSV with ``query_id``, ``gallery_id``, ``grade``: 1 where the pair is in truth right, 0 where it is not. The ids are
    guarded against spreadsheets.
    """
    judged = found[found["kind"] == "relevant"]
    return datasets.guarded_csv(
        pd.DataFrame({"query_id": judged["item"], "gallery_id": judged["other"], "grade": judged["value"]})
    )


def write_patch(dataset: str, *, folder: Path | None = None) -> Path | None:
    """Write the judged pairs to a file that ``Spec.corrections`` can name; None where nothing is judged.

    The file lies in the state folder and is named by its content: another content, another spec.
    """
    found = marks(dataset, folder=folder)
    if not (found["kind"] == "relevant").any():
        return None
    content = triage_patch(found)
    file = (folder or state_folder()) / "corrections" / f"{hashlib.sha256(content.encode()).hexdigest()[:16]}.csv"
    if not file.exists():
        make_folder(file.parent)
        try:
            write_file(file, content)
        except OSError as error:
            raise unwritable(file.parent, error.strerror) from error
    return file


def triage_fiftyone(found: pd.DataFrame, dataset: Dataset) -> str:
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


def read_triage_csv(text: str, dataset: str, *, session: str = "", folder: Path | None = None) -> int:
    """Take over what ``to_csv`` wrote, for example on another machine; returns how many marks changed.

    The guard against spreadsheets is taken off.

    Raises
    ------
    DataError
        A column is missing, a kind is unknown, or a tag has no name.
    """
    try:
        table = parse_table(text.removeprefix("\ufeff"), "the file").map(datasets.unguard)
    except DataError as error:
        raise DataError(f"the tags cannot be read ({error}); they are a CSV with {', '.join(COLUMNS[:5])}") from error
    missing = [name for name in COLUMNS[:5] if name not in table]
    unknown = sorted(set(table.get("kind", pd.Series(dtype="str"))) - set(KINDS))
    if missing or unknown:
        what = f"columns {', '.join(missing)} are missing" if missing else f"{unknown[0]!r} is no kind of mark"
        raise DataError(f"the tags cannot be read: {what}; they are a CSV with {', '.join(COLUMNS[:5])}")
    with writing(folder) as store:
        changed = 0
        for row in table.to_dict("records"):
            name = tag_name(row["name"]) if row["kind"] == "tag" else row["name"]
            key = (dataset, row["item"], row["other"], row["kind"], name)
            changed += add_mark(store, key, row["value"], row.get("fingerprint", ""), session)
    return changed
