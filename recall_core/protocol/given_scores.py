"""Where scores come from: a matrix that the user gives, put in the table's order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .. import datasets
from ..arrays import Array, IntArray
from ..datasets import Dataset, read_scores
from ..errors import DataError
from .findings import Finding, Listed, Phrase, find, first_of, spell_value
from .splits import Split


def score_matrix(dataset: Dataset, path: Path, split: Split, ks: Sequence[int] = ()) -> tuple[Array, list[Finding]]:
    """Find the user's scores of this direction, and what is to be said about them.

    Parameters
    ----------
    ks : sequence of int
        Where the lists are cut: lists that are shorter are counted.

    Returns
    -------
    (n_query, n_gallery) array
        In the split's order. With ids in the file, whatever it does not name was not retrieved (nan); without, its
        shape must agree, rows and columns in table order.
    list of Finding
    """
    given = read_scores(path)
    expected = (len(split.query), len(split.gallery))
    by_position = [ids is None for ids in (given.query_ids, given.gallery_ids)]
    for place, (side, n) in enumerate(zip(("query", "gallery"), expected, strict=True)):
        if by_position[place] and given.values.shape[place] != n:
            raise DataError(
                f"{path.name} has shape {given.values.shape}; expected {expected}: a row for each query and a column "
                f"for each gallery item, both in table order, or with {side}_ids in the file (.npz or .csv)"
            )
    rows, found = _places(dataset, split.query, given.query_ids, path.name, "query ids")
    columns, more = _places(dataset, split.gallery, given.gallery_ids, path.name, "gallery ids")
    matrix = given.values[np.ix_(np.maximum(rows, 0), np.maximum(columns, 0))]
    if matrix.dtype.kind in "iu" and matrix.size and max(abs(int(matrix.min())), int(matrix.max())) > 2**53:
        raise DataError(
            f"{path.name} holds whole numbers beyond 2**53, which float64 cannot tell apart; scale them down"
        )
    infinite = np.argwhere(np.isinf(matrix))
    if len(infinite):
        query, answer = (
            dataset.ids[side[at]] for side, at in zip((split.query, split.gallery), infinite[0], strict=True)
        )
        raise DataError(
            f"{path.name}: the score of query {query!r} and item {answer!r} is infinite; "
            "scores are numbers, or nan where an item was not retrieved"
        )
    if (rows < 0).any() or (columns < 0).any():
        matrix = matrix.astype(np.result_type(matrix, np.float32))
        matrix[rows < 0], matrix[:, columns < 0] = np.nan, np.nan
    found += more
    if any(by_position):
        found.append(find("matching:scores", file=path.name))
    without = (
        np.isnan(matrix).all(axis=1) if matrix.dtype.kind == "f" and matrix.shape[1] else np.zeros(len(rows), bool)
    )
    if without.any():
        n = int(without.sum())
        examples = dataset.ids[split.query[without]]
        found.append(find("without_result", n, examples, m=len(without), split=split.name, file=path.name))
    found += _short_lists(dataset, path, split, matrix, ks)
    return matrix, found


def _short_lists(dataset: Dataset, path: Path, split: Split, matrix: Array, ks: Sequence[int]) -> list[Finding]:
    """Which lists end before the largest k, though the gallery does not?"""
    if matrix.dtype.kind != "f" or not ks:
        return []
    n_listed = np.count_nonzero(~np.isnan(matrix), axis=1)
    short = np.flatnonzero((n_listed > 0) & (n_listed < min(max(ks), matrix.shape[1])))
    if not len(short):
        return []
    return [
        find(
            "short_lists",
            len(short),
            dataset.ids[split.query[short]],
            m=len(matrix),
            split=split.name,
            file=path.name,
            k=max(ks),
            shortest=int(n_listed[short].min()),
        )
    ]


def _places(
    dataset: Dataset, rows: IntArray, ids: list[str] | None, file: str, which: str
) -> tuple[IntArray, list[Finding]]:
    """Where in the file does each row of one side stand? −1: nowhere. Without ids: in table order."""
    if ids is None:
        return np.argsort(np.argsort(rows)), []
    said = Phrase(which, {"file": file})
    name = spell_value(said)
    datasets.check_unique(ids, name)
    place = {item: i for i, item in enumerate(ids)}
    best = max(
        ([place.get(item, -1) for item in names[rows]] for names in dataset.names),
        key=lambda at: sum(i >= 0 for i in at),
    )
    at = np.array(best, dtype=np.intp)
    if len(at) and (at < 0).all():
        raise DataError(f"{name}: none is an id of {dataset.name}, such as {dataset.ids[rows[0]]!r}; check the ids")
    known = {str(item) for names in dataset.names for item in names}
    unknown = [item for item in ids if item not in known]
    found = []
    if unknown:
        shown = Listed(tuple(map(repr, first_of(unknown))))
        found.append(find("unknown_ids", len(unknown), unknown, ids=said, m=len(ids), data=dataset.name, shown=shown))
    unused = len(ids) - int((at >= 0).sum()) - len(unknown)
    if unused:
        found.append(find("unused_ids", unused, ids=said, m=len(ids)))
    return at, found
