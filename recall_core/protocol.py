"""From a spec to a protocol: which rows take part, who asks whom, and what counts as right.

Whatever the user left open is filled here, each default separately, and said.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from . import audit, splits
from .dataset import Dataset
from .duplicates import Pairs
from .errors import DataError
from .interchange import DEFAULT_PROTOCOL, Judgements, read_judgements
from .readers import NOBODY, REIDENTIFICATION
from .relevance import IntArray, Relevance, Sets
from .rights import PRESCRIBED
from .spec import DEFAULT_SEED, RANDOM_SPLITS, Filter, Spec
from .splits import Split
from .tables import COLUMN_NAMES, MISSING, number, numbers_of


def resolve(dataset: Dataset, spec: Spec, *, fitted: bool) -> Spec:
    """Fill every choice that was left open.

    Parameters
    ----------
    fitted : bool
        Does the encoder learn from training rows, so that it needs some?

    Raises
    ------
    DataError
        A choice names a column or value that is not there, or no rule of relevance can be found.
    """
    spec = as_the_data_prescribe(dataset, spec)
    where = spec.where
    if where is None:
        where = _test_rows(dataset) if spec.train not in RANDOM_SPLITS else ()
    filled = spec.replace(where=where, columns=tuple(dataset.columns.items()))
    rows = select_rows(dataset, where)
    if filled.query is None and filled.split is None:
        filled = filled.replace(split=_default_split(dataset, rows))
    if filled.protocol is not None and filled.relevant_pairs is None:
        raise DataError(
            f"--protocol {filled.protocol} belongs to ROxford's ground truth; bring it with --relevant-pairs"
        )
    if filled.split is not None and filled.split not in splits.SPLITS:
        raise DataError(f"--split {filled.split}: no such split; choose one of {', '.join(splits.SPLITS)}")
    if filled.relevant is None and filled.relevant_pairs is None:
        filled = filled.replace(relevant=_default_relevant(dataset))
    if fitted and filled.train is None:
        filled = filled.replace(train=_default_train(dataset))
    if filled.split == "by-view":
        filled = filled.replace(both=True)
    elif filled.split == "leave-one-out" and filled.both:
        raise DataError("leave-one-out is its own other direction; leave --both out")
    seed = (DEFAULT_SEED if spec.seed is None else spec.seed) if filled.draws else None
    return filled.replace(seed=seed)


def select_rows(dataset: Dataset, conditions: Filter) -> IntArray:
    """Positions of the rows that meet all conditions, in table order.

    Raises
    ------
    DataError
        No such column, a value that no row has, or nothing left.
    """
    keep = np.ones(len(dataset), bool)
    for column, values in conditions:
        cells = dataset.values(column)
        chosen = np.zeros(len(dataset), bool)
        for value in values:
            found = matching(cells, value)
            if not found.any():
                there = sorted(set(cells))
                shown = ", ".join(map(repr, there[:8])) + (" …" if len(there) > 8 else "")
                raise DataError(f"no row has {column}={value}; its values are {shown}")
            chosen |= found
        keep &= chosen
    if not len(keep):
        raise DataError(f"{dataset.name} has no rows")
    if not keep.any():
        words = " and ".join(f"{column} in {'|'.join(values)}" for column, values in conditions)
        raise DataError(f"no row has {words}; widen --where")
    return np.flatnonzero(keep)


def matching(cells: splits.Text, value: str) -> NDArray[np.bool_]:
    """(n,) which cells are this value; where none is, ``low..high`` takes a column's numbers, both ends included."""
    same: NDArray[np.bool_] = cells == value
    low, dots, high = value.partition("..")
    numbers = numbers_of(cells) if dots and not same.any() else None
    try:
        return same if numbers is None else (number(low) <= numbers) & (numbers <= number(high))
    except ValueError:
        return same


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
    return np.union1d(_marked_junk(dataset), _nobody(dataset))


def _marked_junk(dataset: Dataset) -> IntArray:
    cells = dataset.role("junk")
    if cells is None:
        return np.zeros(0, np.intp)
    return np.flatnonzero([cell.strip().lower() in JUNK_WORDS for cell in cells])


def _nobody(dataset: Dataset) -> IntArray:
    """Rows with a name of Market-1501's whose person is −1."""
    person = dataset.role("group")
    found = []
    for row, names in enumerate(zip(*dataset.names, strict=True)):
        matches = [REIDENTIFICATION.fullmatch(PurePosixPath(name).stem) for name in names]
        persons = {match["person"] for match in matches if match is not None}
        if persons and NOBODY in (*persons, "" if person is None else _whole(person[row])):
            found.append(row)
    return np.array(found, dtype=np.intp)


def _whole(cell: str) -> str:
    """A number as pandas may have written it, without its decimals: ``-1.0`` is ``-1``."""
    return cell.strip().removesuffix(".0")


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
        cells = dataset.values(spec.relevant or "")
        relevant = Sets.from_labels(list(cells[split.query]), list(cells[split.gallery]))
    if spec.corrections is not None:
        query, position, right = corrections(dataset, spec, split)
        relevant = _corrected(relevant, query, position, right)
    if spec.split == "leave-one-out":
        own = np.arange(len(split.query))
        junk = _union(junk, Sets(own, np.arange(len(own) + 1), own), n_gallery)
    if spec.junk_same:
        same = dataset.values(spec.junk_same)
        alike = Sets.from_labels(list(same[split.query]), list(same[split.gallery]))
        junk = _union(junk, _intersection(relevant, alike, n_gallery), n_gallery)
    return Relevance(relevant, junk, n_gallery)


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


def as_the_data_prescribe(dataset: Dataset, spec: Spec) -> Spec:
    """Fill what this form of data brings with it, where the user chose neither that nor its rival.

    ``rights.PRESCRIBED`` lists what it may be.
    """
    taken = {
        name: dataset.defaults[name]
        for name in PRESCRIBED
        if name in dataset.defaults and all(getattr(spec, rival) is None for rival in (name, *RIVALS.get(name, ())))
    }
    spec = spec.replace(**taken)
    if spec.relevant_pairs is not None and spec.relevant_pairs.lower().endswith(".json") and spec.protocol is None:
        spec = spec.replace(protocol=DEFAULT_PROTOCOL)
    return spec


JUNK_WORDS = frozenset({"1", "yes", "true", "junk"})

RIVALS = {
    "relevant": ("relevant_pairs",),
    "relevant_pairs": ("relevant",),
    "protocol": ("relevant", "relevant_pairs"),
    "scores": ("embeddings", "encoder", "query_images", "corrupt"),
}
"""A default of the data → the choices of the user that keep it out."""


def _test_rows(dataset: Dataset) -> Filter:
    cells = dataset.role("split")
    return ((dataset.columns["split"], ("test",)),) if cells is not None and (cells == "test").any() else ()


def _default_split(dataset: Dataset, rows: IntArray) -> str:
    if "side" in dataset.columns:
        return "by-role"
    view = dataset.role("view")
    views = set() if view is None else set(view[rows])
    if len(views) == 2 and MISSING not in views and "group" in dataset.columns:
        return "by-view"
    return "leave-one-out"


def _default_relevant(dataset: Dataset) -> str:
    for role in ("group", "label"):
        if role in dataset.columns:
            return dataset.columns[role]
    conventional = ", ".join(COLUMN_NAMES["group"] + COLUMN_NAMES["label"])
    raise DataError(
        f"what makes an item relevant? {dataset.name} has no column named {conventional}; "
        f"choose one with --relevant COLUMN: {', '.join(map(str, dataset.table.columns))}"
    )


def _default_train(dataset: Dataset) -> str:
    cells = dataset.role("split")
    if cells is not None and (cells == "train").any():
        return f"{dataset.columns['split']}=train"
    raise DataError(
        "this encoder learns from training rows, and the table has no rows with split=train; "
        "choose --train grouped, --train random or --train COLUMN=VALUE"
    )


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
            raise DataError(f"--train {spec.train}: write random, grouped or COLUMN=VALUE")
        train, rest = select_rows(dataset, ((column, (value,)),)), rows
    return rest, train


def _query_gallery(dataset: Dataset, spec: Spec, rows: IntArray) -> Split:
    if spec.query is not None and spec.gallery is not None:
        query, gallery = (np.intersect1d(rows, select_rows(dataset, side)) for side in (spec.query, spec.gallery))
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


def _cells(dataset: Dataset, role: str) -> splits.Text:
    cells = dataset.role(role)
    if cells is None:
        raise DataError(
            f"this choice needs a column that says the {role}; {dataset.name} has none named "
            f"{', '.join(COLUMN_NAMES[role])}; name yours with --column {role}=COLUMN"
        )
    return cells


def _groups(dataset: Dataset) -> splits.Text:
    return _cells(dataset, "group")


def _words(conditions: Filter) -> str:
    return " and ".join(f"{column}={'|'.join(values)}" for column, values in conditions) or "every row"


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


def compares_images(dataset: Dataset, spec: Spec) -> bool:
    """Do the similarities come from the data set's images, and not from vectors or scores that the user brings?"""
    return spec.scores is None and spec.embeddings is None and dataset.pictures is not None


def findings(dataset: Dataset, spec: Spec, split: Split, relevance: Relevance, same: Pairs) -> list[audit.Finding]:
    """What is to be known about one direction before its number is believed; ``same`` are rows that are copies."""
    value = None if spec.relevant is None else dataset.values(spec.relevant)
    group = dataset.role("group")
    found = []
    marked = _marked_junk(dataset)
    if len(marked):
        message = f"{len(marked)} rows are junk, as column {dataset.columns['junk']} says, and take no part"
        found.append(audit.note("junk_rows", message, len(marked)))
    nobody = np.setdiff1d(_nobody(dataset), marked)
    if len(nobody):
        message = f"{len(nobody)} rows are junk, as person −1 of names such as 0002_c1s1_000451_03, and take no part"
        found.append(audit.note("junk_rows", message, len(nobody)))
    if spec.corrections is not None:
        n = len(corrections(dataset, spec, split)[0])
        message = f"{split.name}: {n} pairs are judged by {Path(spec.corrections).name} instead of the rule"
        found.append(audit.note("corrections", message, n))
    found += audit.queries_without_relevant(dataset.ids, split, relevance, value)
    found += audit.own_picture_kept(dataset.ids, split, relevance)
    found += audit.same_view(dataset.role("view"), split)
    if spec.query_images is None and spec.corrupt is None:
        of_images = compares_images(dataset, spec)
        found += audit.right_copies(dataset.ids, split, relevance, same, of_images=of_images)
    return found + (audit.groups_lacking_a_side(group, split) if spec.split == "by-view" else [])
