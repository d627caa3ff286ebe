"""Rules of relevance: labels, judged pairs, junk, corrections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..arrays import IntArray
from ..datasets import Dataset, Judgements, Pairs, read_judgements
from ..errors import DataError, about
from ..ranking import Relevance, Sets
from .checks import groups_lacking_a_side, own_picture_kept, queries_without_relevant, right_copies, same_view
from .defaults import compares_images
from .findings import Finding, find
from .selection import marked_junk, rows_of_nobody
from .spec import Spec
from .splits import Split


def relate(dataset: Dataset, spec: Spec, split: Split, *, reverse: bool = False) -> Relevance:
    """What is right and what is junk for each query of one direction.

    Parameters
    ----------
    reverse : bool
        Is this the other direction? A file of judgements that has none for it is then read from right to left.
    """
    n_gallery = len(split.gallery)
    junk = Sets.empty(len(split.query))
    if spec.relevant_pairs is not None:
        relevant, junk = _judged(dataset, spec, split, reverse=reverse)
    else:
        cells = dataset.values(spec.relevant or "", field="relevant")
        relevant = Sets.from_labels(list(cells[split.query]), list(cells[split.gallery]))
    if spec.corrections is not None:
        query, position, right = corrections(dataset, spec, split)
        relevant = _corrected(relevant, query, position, right)
    if spec.split == "leave-one-out":
        own = np.arange(len(split.query))
        junk = _union(junk, Sets(own, np.arange(len(own) + 1), own), n_gallery)
    if spec.junk_same:
        same = dataset.values(spec.junk_same, field="junk_same")
        alike = Sets.from_labels(list(same[split.query]), list(same[split.gallery]))
        junk = _union(junk, _intersection(relevant, alike, n_gallery), n_gallery)
    return Relevance(relevant, junk, n_gallery)


@about("corrections")
def corrections(dataset: Dataset, spec: Spec, split: Split) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
    """Which pairs of this direction were corrected, and which of them are right? (n,) query, position, right.

    What is the same is so whichever of the two asks: a pair is read in both orders.

    Raises
    ------
    DataError
        The file cannot be read, names an unknown item, or judges a pair one way and its turned pair the other.
    """
    path = Path(spec.corrections or "")
    judged = read_judgements(path, guarded=True)
    pairs: dict[tuple[int, int], bool] = {}
    for one in (judged, judged.turned()):
        for q, g, grade, _ in _pairs_of(dataset, split, one).tolist():
            if pairs.setdefault((q, g), grade > 0) != (grade > 0):
                asks, answers = dataset.ids[split.query[q]], dataset.ids[split.gallery[g]]
                raise DataError(f"{path.name}: {asks!r} and {answers!r} are right in one order and wrong in the other")
    table = np.array(list(pairs), dtype=np.intp).reshape(-1, 2)
    return table[:, 0], table[:, 1], np.array(list(pairs.values()), dtype=bool)


@about("relevant_pairs")
def _judged(dataset: Dataset, spec: Spec, split: Split, *, reverse: bool) -> tuple[Sets, Sets]:
    """Sets from a file of judgements: what is relevant (a grade above 0), and what the judges left out."""
    path = Path(spec.relevant_pairs or "")
    judged = read_judgements(path, spec.protocol)
    table = _pairs_of(dataset, split, judged)
    if reverse and not len(table):
        table = _pairs_of(dataset, split, judged.turned())
    if judged.query and not len(table) and not reverse:
        raise DataError(
            f"{path.name}: none of its {len(judged.query)} pairs has its query among the queries and its item in the "
            "gallery; are the two columns swapped, or the sides?"
        )
    right, left_out = table[table[:, 2] > 0], table[table[:, 3] > 0]
    n_query = len(split.query)
    return Sets.from_pairs(right[:, 0], right[:, 1], n_query), Sets.from_pairs(left_out[:, 0], left_out[:, 1], n_query)


def _pairs_of(dataset: Dataset, split: Split, judged: Judgements) -> IntArray:
    """(n, 4) query, gallery position, right, junk: the judged pairs whose two items stand on the two sides."""
    row_of = {name: row for names in reversed(dataset.names) for row, name in enumerate(names)}
    at_query = {row: q for q, row in enumerate(split.query)}
    at_gallery = {row: g for g, row in enumerate(split.gallery)}
    pairs = []
    for asked, answer, grade, junk, place in zip(
        judged.query, judged.gallery, judged.grade, judged.junk, judged.place, strict=True
    ):
        for item in (asked, answer):
            if item not in row_of:
                raise DataError(f"{place}: {dataset.name} has no item {item!r}; check the ids")
        q, g = at_query.get(row_of[asked]), at_gallery.get(row_of[answer])
        if q is not None and g is not None:
            pairs.append((q, g, grade > 0, junk))
    return np.array(pairs, dtype=np.intp).reshape(-1, 4)


def _corrected(relevant: Sets, query: IntArray, position: IntArray, right: NDArray[np.bool_]) -> Sets:
    """Give each corrected query a set of its own; all others go on sharing theirs."""
    own = [
        np.setdiff1d(np.union1d(relevant.of(q), position[(query == q) & right]), position[(query == q) & ~right])
        for q in np.unique(query)
    ]
    index = relevant.index.copy()
    index[np.unique(query)] = relevant.n_set + np.arange(len(own))
    sizes = np.cumsum([len(one) for one in own], dtype=np.intp)
    return Sets(
        index,
        np.concatenate([relevant.indptr, relevant.indptr[-1] + sizes]),
        np.concatenate([relevant.positions, *own]),
    )


def _keys(sets: Sets, n_gallery: int) -> IntArray:
    """One integer for each (query, position) pair."""
    indptr, positions = sets.pairs()
    return np.repeat(np.arange(sets.n_query), np.diff(indptr)) * max(n_gallery, 1) + positions


def _from_keys(keys: IntArray, n_query: int, n_gallery: int) -> Sets:
    query, position = np.divmod(keys, max(n_gallery, 1))
    return Sets.from_pairs(query, position, n_query)


def _intersection(a: Sets, b: Sets, n_gallery: int) -> Sets:
    return _from_keys(np.intersect1d(_keys(a, n_gallery), _keys(b, n_gallery)), a.n_query, n_gallery)


def _union(a: Sets, b: Sets, n_gallery: int) -> Sets:
    return _from_keys(np.union1d(_keys(a, n_gallery), _keys(b, n_gallery)), a.n_query, n_gallery)


def split_findings(dataset: Dataset, spec: Spec, split: Split, relevance: Relevance, same: Pairs) -> list[Finding]:
    """What is to be known about one direction before its number is believed; ``same`` are rows that are copies."""
    value = None if spec.relevant is None else dataset.values(spec.relevant, field="relevant")
    group = dataset.role("group")
    found = []
    marked = marked_junk(dataset)
    if len(marked):
        found.append(find("junk_rows", len(marked), column=dataset.columns["junk"]))
    nobody = np.setdiff1d(rows_of_nobody(dataset), marked)
    if len(nobody):
        found.append(find("junk_rows:person", len(nobody)))
    if spec.corrections is not None:
        n = len(corrections(dataset, spec, split)[0])
        found.append(find("corrections", n, split=split.name, file=Path(spec.corrections).name))
    found += queries_without_relevant(dataset.ids, split, relevance, value)
    found += own_picture_kept(dataset.ids, split, relevance)
    found += same_view(dataset.role("view"), split)
    if spec.query_images is None and spec.corrupt is None:
        of_images = compares_images(dataset, spec)
        found += right_copies(dataset.ids, split, relevance, same, of_images=of_images)
    return found + (groups_lacking_a_side(group, split) if spec.split == "by-view" else [])
