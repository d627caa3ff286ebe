"""What is suspicious about the data, the split or the result.

A finding does not stop a run; it stands beside the number, with a count and a few examples.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Text
from ..datasets import MISSING, Pairs
from ..ranking import Relevance
from .splits import Split, lacking_a_side

SEVERITIES = ("note", "warning", "error")
N_EXAMPLES = 5

NO_RELEVANT_REASONS = {
    "junk": "all their relevant items are junk (the query itself, or the same-value rule)",
    "unlabelled": "their own label is missing",
    "unmatched": "no gallery item is relevant to them",
}
"""Why a query has nothing relevant: reason → words."""


@dataclass(frozen=True)
class Finding:
    """One thing to know before the number is believed.

    Parameters
    ----------
    kind : str
        For machines: ``without_relevant``, ``train_leak`` and so on.
    severity : str
        ``note`` (good to know), ``warning`` (the number may mislead), ``error`` (the number means something else).
    count : int
        How many items, queries or groups are concerned.
    message : str
        One sentence with the count and its denominator.
    examples : tuple of str
        The first few ids.
    """

    kind: str
    severity: str
    count: int
    message: str
    examples: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(f"severity is {self.severity!r}; choose one of {SEVERITIES}")


def note(kind: str, message: str, count: int = 0) -> Finding:
    """Make a finding that is good to know and names nobody."""
    return Finding(kind, "note", count, message)


def queries_without_relevant(ids: Text, split: Split, relevance: Relevance, value: Text | None) -> list[Finding]:
    """Which queries have nothing relevant in the gallery, and which rule is the reason?

    Parameters
    ----------
    ids, value : (n_item,) text
        Ids of the table's rows, and the cells that decide relevance (None under pairs of judgements).
    """
    reason = reasons_without_relevant(split, relevance, value)
    findings = []
    for kind, why in NO_RELEVANT_REASONS.items():
        lone = np.flatnonzero(reason == kind)
        if len(lone):
            message = f"{split.name}: {len(lone)} of {len(reason)} queries have nothing relevant in the gallery: {why}"
            examples = _first(ids[split.query[lone]])
            findings.append(Finding(f"without_relevant_{kind}", "warning", len(lone), message, examples))
    return findings


def reasons_without_relevant(split: Split, relevance: Relevance, value: Text | None) -> NDArray[np.object_]:
    """(n_query,) text: why a query has nothing relevant (``junk``, ``unlabelled``, ``unmatched``), else empty."""
    lone = relevance.n_relevant() == 0
    reason = np.where(lone, "unmatched", "").astype(object)
    if value is not None:
        reason[lone & (value[split.query] == MISSING)] = "unlabelled"
    reason[lone & (relevance.relevant.counts() > 0)] = "junk"
    return reason


def groups_lacking_a_side(group: Text | None, split: Split) -> list[Finding]:
    """Which groups are on one side of a by-view split only?"""
    lacking = [] if group is None else lacking_a_side(group, split)
    if not lacking:
        return []
    message = f"{len(lacking)} groups are on one side of {split.name} only: {', '.join(lacking[:N_EXAMPLES])}"
    more = f" and {len(lacking) - N_EXAMPLES} more" if len(lacking) > N_EXAMPLES else ""
    return [Finding("lacking_a_side", "warning", len(lacking), message + more, _first(lacking))]


def own_picture_kept(ids: Text, split: Split, relevance: Relevance) -> list[Finding]:
    """How many queries find themselves in their own gallery, not removed as junk?"""
    order = np.argsort(split.gallery, kind="stable")
    at = np.searchsorted(split.gallery[order], split.query)
    inside = at < len(order)
    inside[inside] = split.gallery[order[at[inside]]] == split.query[inside]
    own = np.flatnonzero(inside)
    indptr, junk = relevance.junk.pairs()
    junk_query = np.repeat(np.arange(relevance.n_query), np.diff(indptr))
    width = max(relevance.n_gallery, 1)
    kept = own[~np.isin(own * width + order[at[own]], junk_query * width + junk)]
    if not len(kept):
        return []
    message = (
        f"{split.name}: {len(kept)} of {len(split.query)} queries stand in their own gallery and find themselves; "
        "a perfect score then means nothing (remove them with --junk-same id)"
    )
    return [Finding("own_picture", "error", len(kept), message, _first(ids[split.query[kept]]))]


def right_copies(
    ids: Text, split: Split, relevance: Relevance, same: Pairs, *, of_images: bool = True
) -> list[Finding]:
    """How many queries have an exact copy in the gallery that is another row, and is relevant?

    Parameters
    ----------
    same : Pairs
        Rows of the table that are exactly the same; of many equal ones, each with the first is enough.
    of_images : bool
        Are they the same image? Otherwise their vectors are equal, which hash codes and collapsed encoders give to
        different images too, so that nothing is known to be inflated.
    """
    if not len(same):
        return []
    content = np.arange(len(ids))
    np.minimum.at(content, same.second, same.first)
    indptr, position = relevance.pairs()
    query = np.repeat(np.arange(len(split.query)), np.diff(indptr))
    asks, answers = split.query[query], split.gallery[position]
    found = np.unique(query[(content[asks] == content[answers]) & (asks != answers)])
    if not len(found):
        return []
    if not of_images:
        message = (
            f"{split.name}: {len(found)} of {len(split.query)} queries have exactly the vector of a relevant gallery "
            "item; the encoder does not tell the two apart, or they are copies of one image"
        )
        return [Finding("equal_vectors", "note", len(found), message, _first(ids[split.query[found]]))]
    message = (
        f"{split.name}: {len(found)} of {len(split.query)} queries have an exact copy in the gallery, as another row, "
        "that counts as right: they find it whatever the encoder, and the score is inflated"
    )
    return [Finding("right_copies", "warning", len(found), message, _first(ids[split.query[found]]))]


def same_view(view: Text | None, split: Split) -> list[Finding]:
    """Do both sides show one and the same view, though the data have others?"""
    if view is None or len(set(view)) < 2:
        return []
    shown = set(view[split.query]) | set(view[split.gallery])
    if len(shown) > 1:
        return []
    message = (
        f"{split.name}: all {len(split.query)} queries and all {len(split.gallery)} gallery items are view "
        f"{shown.pop()!r}; the score does not say whether another view of the same thing is found"
    )
    return [Finding("same_view", "warning", len(split.query), message)]


def look_alikes(column: str, cells: Text) -> list[Finding]:
    """Which values of a column look the same, and differ only in blanks at an end or in characters nobody sees?

    Parameters
    ----------
    cells : (n_item,) text
    """
    values: dict[str, list[str]] = {}
    for value in dict.fromkeys(cells):
        values.setdefault(_as_seen(value), []).append(value)
    alike = [same for same in values.values() if len(same) > 1]
    if not alike:
        return []
    count = sum(map(len, alike))
    shown = _first(" and ".join(map(_spelled, same[:N_EXAMPLES])) for same in alike)
    message = (
        f"{count} of {sum(map(len, values.values()))} values of {column} look like another one, and differ only in "
        f"blanks or in characters that cannot be seen: {'; '.join(shown)}; write them alike, or they count as different"
    )
    return [Finding("look_alikes", "warning", count, message, shown)]


def same_files(ids: Text, cells: Text, files: Sequence[str]) -> list[Finding]:
    """Which rows name one and the same file, as ``a.png`` and ``./a.png`` do?

    Parameters
    ----------
    ids, cells : (n_item,) text
        What the rows are called, and the file as the table spells it.
    files : sequence of n_item str
        The same files spelled in one way.
    """
    rows: dict[str, list[int]] = {}
    for row, file in enumerate(files):
        rows.setdefault(file, []).append(row)
    shared = [same for same in rows.values() if len(same) > 1]
    if not shared:
        return []
    count = sum(map(len, shared))
    shown = _first(" and ".join(_spelled(cells[row]) for row in same[:N_EXAMPLES]) for same in shared)
    message = (
        f"{count} of {len(cells)} rows share their file with another row: {'; '.join(shown)}; "
        "each finds its own picture under another name; keep one row a file"
    )
    return [Finding("same_files", "warning", count, message, _first(ids[[row for same in shared for row in same]]))]


def training_leak(group: Text | None, split: Split) -> list[Finding]:
    """Which groups are both in the training draw and in the evaluation?"""
    if not len(split.train):
        return []
    rows = np.union1d(split.query, split.gallery)
    findings = []
    shared_rows = np.intersect1d(rows, split.train)
    if len(shared_rows):
        message = f"{len(shared_rows)} of {len(rows)} evaluated images were trained on"
        findings.append(Finding("train_rows", "error", len(shared_rows), message, _first(map(str, shared_rows))))
    if group is not None:
        crossing = sorted((set(group[rows]) & set(group[split.train])) - {MISSING})
        if crossing:
            evaluated = set(group[rows]) - {MISSING}
            message = (
                f"{len(crossing)} of {len(evaluated)} evaluated groups were also trained on: the score is inflated"
            )
            findings.append(Finding("train_leak", "error", len(crossing), message, _first(crossing)))
    return findings


UNSEEN = dict.fromkeys((0x034F, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)))
UNSEEN |= dict.fromkeys((0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0), " ")
"""Marks and fillers that show nothing, though Unicode counts them among marks, letters and symbols."""


def _as_seen(value: str) -> str:
    """A value without what cannot be seen: blanks at its ends, kinds of blanks, marks of no width."""
    if not (value.isascii() and value.isprintable()):
        seen = value.translate(UNSEEN)
        value = "".join(one for one in seen if one.isspace() or unicodedata.category(one) not in ("Cc", "Cf"))
    return " ".join(value.split())


def _spelled(value: str) -> str:
    """A value in quotes, with a number for each letter that cannot be seen."""
    return "".join(f"\\u{ord(one):04x}" if ord(one) in UNSEEN else one for one in repr(str(value)))


def _first(items: Iterable[Any] | Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(item) for item in list(items)[:N_EXAMPLES])
