"""What is suspicious about the data, the split or the result: the checks that make findings."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import Text
from ..datasets import MISSING, Pairs
from ..errors import setting
from ..ranking import Relevance
from .findings import AND, N_EXAMPLES, NO_RELEVANT_REASONS, Finding, Listed, Phrase, find, listed, spell_value
from .splits import Split, lacking_a_side


def queries_without_relevant(ids: Text, split: Split, relevance: Relevance, value: Text | None) -> list[Finding]:
    """Which queries have nothing relevant in the gallery, and which rule is the reason?

    Parameters
    ----------
    ids, value : (n_item,) text
        Ids of the table's rows, and the cells that decide relevance (None under pairs of judgements).
    """
    reason = reasons_without_relevant(split, relevance, value)
    findings = []
    for kind in NO_RELEVANT_REASONS:
        lone = np.flatnonzero(reason == kind)
        if len(lone):
            n, why = len(lone), Phrase(kind, {"n": len(lone)})
            examples = ids[split.query[lone]]
            findings.append(find(f"without_relevant_{kind}", n, examples, split=split.name, m=len(reason), why=why))
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
    return [find("lacking_a_side", len(lacking), lacking, split=split.name, groups=listed(lacking))]


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
    return [
        find(
            "own_picture",
            len(kept),
            ids[split.query[kept]],
            split=split.name,
            m=len(split.query),
            junk_same=setting("junk_same", "id"),
        )
    ]


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
    n, examples = len(found), ids[split.query[found]]
    kind = "right_copies" if of_images else "equal_vectors"
    return [find(kind, n, examples, split=split.name, m=len(split.query))]


def same_view(view: Text | None, split: Split) -> list[Finding]:
    """Do both sides show one and the same view, though the data have others?"""
    if view is None or len(set(view)) < 2:
        return []
    shown = set(view[split.query]) | set(view[split.gallery])
    if len(shown) > 1:
        return []
    return [find("same_view", len(split.query), split=split.name, m=len(split.gallery), view=repr(shown.pop()))]


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
    m, shown = sum(map(len, values.values())), _together(map(_spelled, same) for same in alike)
    return [find("look_alikes", count, map(spell_value, shown.items), m=m, column=column, values=shown)]


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
    shown = _together((_spelled(cells[row]) for row in same) for same in shared)
    return [find("same_files", count, ids[[row for same in shared for row in same]], m=len(cells), files=shown)]


def training_leak(group: Text | None, split: Split) -> list[Finding]:
    """Which groups are both in the training draw and in the evaluation?"""
    if not len(split.train):
        return []
    rows = np.union1d(split.query, split.gallery)
    findings = []
    shared_rows = np.intersect1d(rows, split.train)
    if len(shared_rows):
        findings.append(find("train_rows", len(shared_rows), shared_rows, m=len(rows)))
    if group is not None:
        crossing = sorted((set(group[rows]) & set(group[split.train])) - {MISSING})
        if crossing:
            findings.append(find("train_leak", len(crossing), crossing, m=len(set(group[rows]) - {MISSING})))
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


def _together(same: Iterable[Iterable[str]]) -> Listed:
    """The first few sets of what is one and the same, of each the first few."""
    few = (tuple(one)[:N_EXAMPLES] for one in list(same)[:N_EXAMPLES])
    return Listed(tuple(Listed(one, AND) for one in few), "; ")
