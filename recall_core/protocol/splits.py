"""Which rows ask, which answer, and which train.

Two meanings of "split" are kept apart. A *query/gallery split* says who asks and who answers: in the lab every scene
is on both sides, one view each. A *training draw* says what a fitted encoder has seen: there no group may be on both
sides of the border.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import IntArray, Text
from ..datasets import MISSING
from ..errors import DataError, setting

QUERY_WORDS = {"query", "queries", "q", "probe", "1", "true", "yes"}
GALLERY_WORDS = {"gallery", "g", "index", "database", "reference", "0", "false", "no"}
NEITHER_WORDS = {"train", "val", "validation", MISSING}
TRAIN_SHARE = 2 / 3


def _nothing() -> IntArray:
    return np.zeros(0, np.intp)


@dataclass(frozen=True, eq=False)
class Split:
    """Positions in the table: who asks and who answers.

    Parameters
    ----------
    query, gallery : (n,) intp
        Rows of the table; ``query[i]`` is the row of the query that the engine calls ``i``.
    query_name, gallery_name : str
        For the report: ``view0`` and ``view1``.
    drawn : str
        How the two sides were drawn, in words.
    train, validation : (n,) intp
        What a fitted encoder has seen; what an index is tuned on.
    """

    query: IntArray
    gallery: IntArray
    query_name: str
    gallery_name: str
    drawn: str
    train: IntArray = field(default_factory=_nothing)
    validation: IntArray = field(default_factory=_nothing)

    def __post_init__(self) -> None:
        for name in ("query", "gallery", "train", "validation"):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.intp).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def name(self) -> str:
        """The direction, as reports key it: ``view0->view1``."""
        return f"{self.query_name}->{self.gallery_name}"

    def without(self, rows: IntArray, why: str) -> Split:
        """The same draw without these rows; where one side of the two is left empty, a ``DataError`` says why."""
        query, gallery, train, validation = (
            side[~np.isin(side, rows)] for side in (self.query, self.gallery, self.train, self.validation)
        )
        for name, left, side in (("query", query, self.query), ("gallery", gallery, self.gallery)):
            if not len(left):
                raise DataError(f"{self.name}: none of the {len(side)} {name} rows is left: {why}")
        return replace(self, query=query, gallery=gallery, train=train, validation=validation)

    def reverse(self) -> Split:
        """The other direction: who answered now asks."""
        return Split(
            self.gallery, self.query, self.gallery_name, self.query_name, self.drawn, self.train, self.validation
        )


def by_view(group: Text, view: Text, rows: IntArray) -> Split:
    """Grouped by scene: one view asks, the other answers; every group is meant to be on both sides.

    Rows are sorted by group on both sides, so that with complete data the right pairs stand on the diagonal.

    Raises
    ------
    DataError
        There are not exactly two views among the rows, or a row has none.
    """
    blank = rows[view[rows] == MISSING]
    if len(blank):
        raise DataError(
            f"{len(blank)} of {len(rows)} rows have no view, the first is row {blank[0] + 1}; "
            f"fill it in, or choose rows that have one with {setting('where')}"
        )
    names = view_names(view[rows])
    if len(names) != 2:
        raise DataError(
            f"a split by view needs exactly two views, the chosen rows have {len(names)}: "
            f"{', '.join(map(repr, names[:8]))}; "
            f"choose with {setting('query', 'COL=VALUE')} and {setting('gallery', 'COL=VALUE')}"
        )
    sides = []
    for name in names:
        side = rows[view[rows] == name]
        sides.append(side[np.argsort(group[side].astype(str), kind="stable")])
    first, second = (name if name.startswith("view") else f"view{name}" for name in names)
    return Split(sides[0], sides[1], first, second, "grouped: one view of each group asks, the other answers")


def view_names(view: Text) -> list[str]:
    """Which views are there, the first first? Numbers in their order, then words."""
    return sorted(set(view), key=_natural)


def by_role(side: Text, rows: IntArray, column: str) -> Split:
    """A column says who asks and who answers.

    Raises
    ------
    DataError
        A cell says neither, or one side is empty.
    """
    words = np.array([cell.strip().lower() for cell in side[rows]], dtype=object)
    known = QUERY_WORDS | GALLERY_WORDS | NEITHER_WORDS
    for row, word in zip(rows, words, strict=True):
        if word not in known:
            raise DataError(
                f"row {row + 1}: {column} is {side[row]!r}, which is neither query nor gallery; "
                "use these two words, or "
                f"choose with {setting('query', 'COL=VALUE')} and {setting('gallery', 'COL=VALUE')}"
            )
    query = rows[np.isin(words, list(QUERY_WORDS))]
    gallery = rows[np.isin(words, list(GALLERY_WORDS))]
    _both_filled(query, gallery, f"the column {column}")
    return Split(query, gallery, "query", "gallery", f"the column {column} says who asks and who answers")


def leave_one_out(rows: IntArray) -> Split:
    """Every row asks all the others; a row never answers itself."""
    _both_filled(rows, rows, "leave-one-out")
    return Split(rows, rows, "all", "all", "leave-one-out: every item asks all the others")


def random_halves(rows: IntArray, *, seed: int) -> Split:
    """Draw half of the images to ask, without regard to groups: the bad split, kept for comparison."""
    order = rows[np.random.default_rng(seed).permutation(len(rows))]
    half = len(rows) // 2
    _both_filled(order[:half], order[half:], "a random half")
    drawn = f"random: images drawn without regard to groups (seed {seed})"
    return Split(np.sort(order[:half]), np.sort(order[half:]), "query", "gallery", drawn)


def grouped(group: Text, rows: IntArray, *, seed: int) -> Split:
    """Each group of at least two gives one drawn query; its other items answer, as do single items.

    Rows without a group are single items.

    Raises
    ------
    DataError
        No group has two items.
    """
    order = rows[np.random.default_rng(seed).permutation(len(rows))]
    names, first, counts = np.unique(group[order].astype(str), return_index=True, return_counts=True)
    asks = np.sort(order[first[(counts >= 2) & (names != MISSING)]])
    if not len(asks):
        raise DataError("no group has two items, so nobody could find a partner; choose another group column")
    drawn = f"grouped: one item of each group asks, drawn with seed {seed}; its others answer"
    return Split(asks, np.setdiff1d(rows, asks), "query", "gallery", drawn)


def by_filter(query: IntArray, gallery: IntArray, words: str) -> Split:
    """Both sides named by the user."""
    _both_filled(query, gallery, words)
    return Split(query, gallery, "query", "gallery", words)


def draw_random_train(rows: IntArray, *, seed: int) -> tuple[IntArray, IntArray]:
    """Draw two thirds of the *images* for training, without regard to groups; returns (train, rest)."""
    order = rows[np.random.default_rng(seed).permutation(len(rows))]
    n_train = round(TRAIN_SHARE * len(rows))
    return np.sort(order[:n_train]), np.sort(order[n_train:])


def draw_grouped_train(group: Text, rows: IntArray, *, seed: int) -> tuple[IntArray, IntArray]:
    """Draw two thirds of the *groups* for training, so that no group is on both sides; returns (train, rest)."""
    unit = units(group)[rows]
    names = np.unique(unit)
    chosen = np.random.default_rng(seed).permutation(names)[: round(TRAIN_SHARE * len(names))]
    inside = np.isin(unit, chosen)
    return rows[inside], rows[~inside]


def units(group: Text) -> IntArray:
    """(n_item,) number of each row's independent unit: its group, or the row itself where the group is missing.

    Examples
    --------
    >>> units(np.array(["a", "", "b", "a", ""], dtype=object)).tolist()
    [2, 0, 3, 2, 1]
    """
    keys = [f"1{name}" if name != MISSING else f"0{row:012d}" for row, name in enumerate(group)]
    codes: IntArray = np.unique(np.array(keys, dtype=str), return_inverse=True)[1]
    return codes


def lacking_a_side(group: Text, split: Split) -> list[str]:
    """Which groups are on one side of the split only, so that their queries find no partner?"""
    sides: Any = (set(group[split.query]), set(group[split.gallery]))
    return sorted((sides[0] ^ sides[1]) - {MISSING})


def _both_filled(query: IntArray, gallery: IntArray, words: str) -> None:
    for name, side in (("query", query), ("gallery", gallery)):
        if not len(side):
            raise DataError(f"{words} leaves no {name} rows; check the values, or let more rows take part")


def _natural(name: str) -> tuple[int, int, str, str]:
    """Order numbers by their value, however many digits they have, before names."""
    digits = name.lstrip("0") if name.isascii() and name.isdigit() else None
    return (1, 0, "", name) if digits is None else (0, len(digits), digits, name)


SPLITS = ("by-role", "by-view", "grouped", "random", "leave-one-out")
"""Names of the query/gallery splits, as ``Spec.split`` takes them; the default is the first of by-role, by-view and
leave-one-out that the columns allow."""
