"""The directions of a split, and the training draw."""

from __future__ import annotations

import numpy as np

from .. import arrays
from ..arrays import IntArray
from ..datasets import COLUMN_NAMES, Dataset
from ..errors import DataError, setting
from . import splits
from .choices import Filter
from .selection import marked_junk, rows_of_nobody, select_rows
from .spec import Spec
from .splits import Split


def directions(dataset: Dataset, spec: Spec) -> tuple[Split, ...]:
    """Who asks, who answers and what is trained on, in each direction of a resolved spec.

    Whatever is drawn is drawn here, once, from the rows whether they can be used or not: what turns out to be
    unusable is then taken out (``Split.without``) and never drawn anew, since a second draw would evaluate what the
    first one has trained on.
    """
    junk = junk_rows(dataset)
    rows, train = _training_draw(dataset, spec, np.setdiff1d(select_rows(dataset, spec.where or ()), junk))
    train = np.setdiff1d(train, junk)
    split = _query_gallery(dataset, spec, rows)
    split = Split(split.query, split.gallery, split.query_name, split.gallery_name, split.drawn, train)
    return (split, split.reverse()) if spec.both else (split,)


def junk_rows(dataset: Dataset) -> IntArray:
    """Rows that are junk to everybody: nobody's right answer, nobody's wrong one, and no query.

    A column says so, or the image's name is one of Market-1501's (``REIDENTIFICATION``) and its person is −1, in the
    name or in the group's column.
    """
    return np.union1d(marked_junk(dataset), rows_of_nobody(dataset))


def _training_draw(dataset: Dataset, spec: Spec, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Rows left to evaluate, and rows trained on."""
    if spec.train is None:
        return rows, np.zeros(0, np.intp)
    if spec.train == "random":
        train, rest = splits.draw_random_train(rows, seed=spec.seed or 0)
    elif spec.train == "grouped":
        train, rest = splits.draw_grouped_train(_groups(dataset), rows, seed=spec.seed or 0)
    else:
        column, equals, value = spec.train.partition("=")
        if not equals:
            raise DataError(f"{setting('train', spec.train)}: write random, grouped or COLUMN=VALUE")
        train, rest = select_rows(dataset, ((column, (value,)),), field="train"), rows
    return rest, train


def _query_gallery(dataset: Dataset, spec: Spec, rows: IntArray) -> Split:
    if spec.query is not None and spec.gallery is not None:
        query = np.intersect1d(rows, select_rows(dataset, spec.query, field="query"))
        gallery = np.intersect1d(rows, select_rows(dataset, spec.gallery, field="gallery"))
        return splits.by_filter(query, gallery, f"{_words(spec.query)} asks, {_words(spec.gallery)} answers")
    if spec.split == "by-role":
        return splits.by_role(_cells(dataset, "side"), rows, dataset.columns["side"])
    if spec.split == "by-view":
        return splits.by_view(_groups(dataset), _cells(dataset, "view"), rows)
    if spec.split == "random":
        return splits.random_halves(rows, seed=spec.seed or 0)
    if spec.split == "grouped":
        return splits.grouped(_groups(dataset), rows, seed=spec.seed or 0)
    return splits.leave_one_out(rows)


def _cells(dataset: Dataset, role: str) -> arrays.Text:
    cells = dataset.role(role)
    if cells is None:
        raise DataError(
            f"this choice needs a column that says the {role}; {dataset.name} has none named "
            f"{', '.join(COLUMN_NAMES[role])}; name yours with {setting('columns', f'{role}=COLUMN')}"
        )
    return cells


def _groups(dataset: Dataset) -> arrays.Text:
    return _cells(dataset, "group")


def _words(conditions: Filter) -> str:
    return " and ".join(f"{column}={'|'.join(values)}" for column, values in conditions) or "every row"
