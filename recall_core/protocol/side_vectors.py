"""Where similarities come from: an encoder, files of vectors, or a matrix of scores, put in the table's order."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets, images
from ..arrays import Array, IntArray
from ..datasets import COLUMN_NAMES, MISSING, Dataset, Embeddings, Pairs, Shards, read_shards, row_digests, same_content
from ..errors import DataError, about, setting
from ..images import UNREADABLE, Pictures, corrupt, parse_corruption, picture_digests, reason
from . import defaults, selection
from .findings import N_EXAMPLES, Finding, Listed, Phrase, Value, find, name_rows, spell_value
from .sides import directions
from .spec import Spec
from .splits import Split


def resolve(dataset: Dataset, spec: Spec) -> Spec:
    """Resolve the spec, the source of similarities included."""
    spec = defaults.as_the_data_prescribe(dataset, spec)
    if spec.scores is None and spec.embeddings is None and spec.encoder is None:
        replaced = spec.query_images is not None or spec.corrupt is not None
        if dataset.pictures is not None and (replaced or not dataset.embeddings):
            spec = spec.replace(encoder="raw")
        elif dataset.embeddings:
            spec = spec.replace(embeddings=next(iter(dataset.embeddings)))
        else:
            raise DataError(
                f"{dataset.name} has neither pictures nor vectors; bring {setting('embeddings')} or "
                f"{setting('scores')}, or a column of picture files: {', '.join(COLUMN_NAMES['path'])}, "
                f"or yours with {setting('columns', 'path=…')}",
                field="columns",
            )
    return defaults.fill_defaults(dataset, spec, fitted=is_fitted(spec.encoder))


def encode_dataset(dataset: Dataset, spec: Spec) -> Array:
    """Encode every picture of the data set once, with the spec's encoder.

    Returns
    -------
    (n_item, n_dim) array
        In table order. It depends on the data set and the encoder, and for a fitted encoder on the training draw.
    """
    spec = resolve(dataset, spec)
    return _encode(dataset, spec, _pictures(dataset), directions(dataset, spec)[0].train)


def vectors_of_sides(
    dataset: Dataset, spec: Spec, splits: Sequence[Split], encoded: Array | None
) -> tuple[Any, Any, list[Finding]]:
    """Vectors of every row as a query and as an answer, (n_item, n_dim) each; rows that take no part are 0."""
    notes = [find("reading", text=text) for text in dataset.notes]
    if spec.scores is not None:
        return None, None, notes
    if spec.embeddings is not None and spec.embeddings in dataset.embeddings:
        return dataset.embeddings[spec.embeddings], dataset.embeddings[spec.embeddings], notes
    if spec.embeddings is not None:
        asked, answers, how = _given_vectors(dataset, spec, splits[0])
        return asked, answers, [*notes, how]
    clean = _encode(dataset, spec, _pictures(dataset), splits[0].train) if encoded is None else encoded
    if spec.query_images is None and spec.corrupt is None:
        return clean, clean, notes
    pictures, rows = query_pictures(dataset, spec)
    asked = clean.copy()
    asked[rows] = _encode(dataset, spec, pictures, splits[0].train)
    return asked, clean, notes


def encode_unfitted(dataset: Dataset, spec: Spec) -> Array | None:
    """Encode every picture of data that have no rule of relevance yet; None where the encoder needs labels."""
    return None if is_fitted(spec.encoder) else _encode(dataset, spec, _pictures(dataset), np.zeros(0, np.intp))


def table_vectors(dataset: Dataset, spec: Spec) -> Array:
    """(n_item, n_dim) the vectors of a file, in table order; the spec is resolved and names every row."""
    rows = np.arange(len(dataset))
    return _given_vectors(dataset, spec, Split(rows, rows, "all", "all", ""))[0]


def query_pictures(dataset: Dataset, spec: Spec) -> tuple[Pictures, IntArray]:
    """Which pictures ask, and for which rows of the table?

    Parameters
    ----------
    spec : Spec
        Resolved.

    Returns
    -------
    pictures : Pictures
        The data set's own, those of the file that replaces them, or corrupted ones.
    rows : (n_picture,) intp
        The selected rows, in table order; ``pictures[i]`` is what row ``rows[i]`` asks with.
    """
    rows = selection.select_rows(dataset, spec.where or ())
    if spec.query_images is None:
        clean = _pictures(dataset).select(rows)
        return (
            clean if spec.corrupt is None else corrupt(clean, *parse_corruption(spec.corrupt), seed=spec.seed or 0)
        ), rows
    path = Path(spec.query_images)
    with about("query_images"):
        pictures = Pictures.from_array(datasets.read_array(path, mapped=True))
    if len(pictures) != len(rows):
        raise DataError(
            f"{path.name} has {len(pictures)} pictures, but {len(rows)} rows are selected; "
            f"the pictures must follow the selected rows in table order (see {setting('where')})",
            field="query_images",
        )
    return pictures, rows


def leave_out_bad_rows(
    dataset: Dataset, spec: Spec, splits: Sequence[Split], asked: Array, answers: Array
) -> tuple[tuple[Split, ...], list[Finding]]:
    """Take rows without a usable vector out of the splits, and say so; nothing is drawn anew.

    Images that cannot be read are always left out, of the rows trained on too; the user's vectors with nan or infinity
    only if the spec drops them, else they are an error.
    """
    taken = np.unique(np.concatenate([rows for split in splits for rows in (split.query, split.gallery)]))
    bad = _either(datasets.bad_rows, asked, answers, taken)
    encodes = spec.embeddings is None
    found: list[Finding] = []
    if len(bad) == len(taken) and spec.bad_rows == "drop" and not encodes:
        raise DataError(f"all {len(taken)} vectors hold nan or infinity, so none is left: {_named(dataset, bad)}")
    if len(bad) and (encodes or spec.bad_rows == "drop"):
        found.append(_unreadable(dataset, bad, len(taken)) if encodes else _dropped(dataset, bad, taken))
    if is_fitted(spec.encoder):
        train = splits[0].train
        unseen = datasets.rows_where(datasets.bad_rows, answers, train)
        if len(unseen):
            found.append(_not_learned_from(dataset, unseen, len(train)))
        bad = np.union1d(bad, unseen)
    if found:
        splits = [split.without(bad, found[0].text) for split in splits]
    for split in splits:
        stop_at_bad_rows(dataset, split, asked, answers)
    if spec.similarity == "cosine":
        rows = np.setdiff1d(taken, bad)
        zero = _either(datasets.zero_rows, asked, answers, rows)
        if len(zero):
            shown = name_rows(dataset.ids, zero)
            found.append(find("zero_vectors", len(zero), dataset.ids[zero], m=len(rows), rows=shown))
    return tuple(splits), found


def zero_queries(dataset: Dataset, split: Split, asked: Array) -> tuple[IntArray, list[Finding]]:
    """Which queries (positions) are zero, so that they have no cosine, and what is to be said about them?"""
    rows = datasets.rows_where(datasets.zero_rows, asked, split.query)
    if not len(rows):
        return rows, []
    found = find(
        "without_result:zero",
        len(rows),
        dataset.ids[rows],
        split=split.name,
        m=len(split.query),
        rows=name_rows(dataset.ids, rows),
    )
    return np.flatnonzero(np.isin(split.query, rows)), [found]


def stop_at_bad_rows(dataset: Dataset, split: Split, asked: Array, answers: Array) -> None:
    """Refuse vectors with nan or infinity, naming row and id."""
    for side, rows in ((asked, split.query), (answers, split.gallery)):
        bad = datasets.rows_where(datasets.bad_rows, side, rows)
        if len(bad):
            overflows = side.dtype.itemsize < 8 and np.isinf(side[bad]).any()
            limit = f" ({side.dtype} ends at {np.finfo(side.dtype).max:.5g}, so they may have overflowed)"
            raise DataError(
                f"{len(bad)} vectors hold nan or infinity{limit if overflows else ''}: {_named(dataset, bad)}; "
                f"correct them, or leave them out with {setting('bad_rows', 'drop')}"
            )


def copies(dataset: Dataset, spec: Spec, splits: Sequence[Split], asked: Array | None) -> Pairs:
    """Which rows that take part are exactly the same?

    Pictures are compared by their stored content, given vectors number by number; ``audit`` looks closer. Nothing is
    known of a matrix of scores.
    """
    taken = np.unique(np.concatenate([rows for split in splits for rows in (split.query, split.gallery)]))
    if spec.scores is not None:
        pairs = same_content([])
    elif defaults.compares_images(dataset, spec) and dataset.pictures is not None:
        digests = picture_digests(dataset.pictures.select(taken))
        pairs = same_content([None if one == UNREADABLE else one for one in digests])
    elif asked is not None:
        pairs = same_content([one for rows in datasets.row_chunks(asked, taken) for one in row_digests(asked[rows])])
    else:
        pairs = same_content([])
    return Pairs(taken[pairs.first], taken[pairs.second], pairs.score, pairs.cut)


def same_pictures(dataset: Dataset, spec: Spec, same: Pairs) -> list[Finding]:
    """Which items under different names are one image twice, or have the same vector?

    Under another value of the relevant column, finding the copy counts as an error, whatever is found; in another
    group, no split by group keeps them apart. Equal vectors alone say nothing of the images.
    """
    of_images = defaults.compares_images(dataset, spec)
    of_value, of_group = (
        ("same_across_groups:relevant", "same_across_groups")
        if of_images
        else ("equal_across_groups:relevant", "equal_across_groups")
    )
    found: list[Finding] = []
    group, name = dataset.columns.get("group"), spec.relevant or dataset.columns.get("group")
    for column, sentence in ((name, of_value), (group, of_group)):
        if column is None or (found and column == name):
            continue
        value = dataset.values(column, field="relevant")
        first, second = value[same.first], value[same.second]
        across = np.flatnonzero((first != second) & (first != MISSING) & (second != MISSING))
        if not len(across):
            continue
        pairs = [(dataset.ids[same.first[i]], dataset.ids[same.second[i]]) for i in across[:N_EXAMPLES]]
        shown = tuple(f"{one} = {other}" for one, other in pairs)
        found.append(find(sentence, len(across), shown, column=column, pairs=Listed(shown, "; ")))
    return found


def is_fitted(encoder: str | None) -> bool:
    """Does this encoder learn from training rows?"""
    return encoder in images.FITTED


def _pictures(dataset: Dataset) -> Pictures:
    if dataset.pictures is None:
        raise DataError(
            f"{dataset.name} has no pictures to encode; bring {setting('embeddings')} or {setting('scores')}"
        )
    return dataset.pictures


def _encode(dataset: Dataset, spec: Spec, pictures: Pictures, train: IntArray) -> Array:
    """Encode the pictures; those that cannot be read get a row of nan, and nobody learns from them."""
    clean = _pictures(dataset)
    try:
        return _encode_readable(dataset, spec, pictures, clean, train)
    except DataError:
        whole = np.setdiff1d(np.arange(len(clean)), list(clean.problems()))
        problems = pictures.problems()
        good = np.setdiff1d(np.arange(len(pictures)), list(problems))
        if len(good) == len(pictures) and len(whole) == len(clean):
            raise
        if not len(good):
            raise DataError(
                f"none of the {len(pictures)} pictures can be read; the first: {reason(pictures, 0, problems[0])}"
            ) from None
    readable_train = train[np.isin(train, whole)]
    if is_fitted(spec.encoder) and len(readable_train) < 2 <= len(train):
        lost = np.setdiff1d(train, whole)
        raise DataError(
            f"encoder {spec.encoder} has {len(readable_train)} images to learn from: {len(lost)} of {len(train)} "
            f"training images cannot be read: {spell_value(_why_unreadable(dataset, lost))}"
        )
    made = _encode_readable(dataset, spec, pictures.select(good), clean.select(whole), readable_train)
    encoded = np.full((len(pictures), made.shape[1]), np.nan, made.dtype)
    encoded[good] = made
    return encoded


def _encode_readable(dataset: Dataset, spec: Spec, pictures: Pictures, like: Pictures, train: IntArray) -> Array:
    name = spec.encoder or "raw"
    encoder = images.import_encoder(name) if ":" in name else name
    if not is_fitted(spec.encoder):
        return images.encode(pictures, encoder, like=like)
    label = dataset.role("label")
    labels = dataset.values(spec.relevant or "", field="relevant") if label is None else label
    seen = _pictures(dataset).select(train)
    return images.encode(pictures, encoder, train=seen, train_labels=list(labels[train]), like=like)


@about("embeddings")
def _given_vectors(dataset: Dataset, spec: Spec, split: Split) -> tuple[Array, Array, Finding]:
    """The user's files of vectors, put in the table's order, and how that was done."""
    name = Path(spec.embeddings or "").name
    selected = selection.select_rows(dataset, spec.where or ())

    def one_a_row(n: int) -> None:
        if n not in (len(selected), len(dataset)):
            raise DataError(
                f"{name} has {n} rows, the table has {len(dataset)} ({len(selected)} selected); "
                f"make the counts agree, or give the rows' ids with {setting('ids')}"
            )

    if spec.gallery_embeddings is not None:
        return _two_files(dataset, spec, _read_vectors(Path(spec.embeddings or ""), spec.ids), split)
    given = _read_vectors(Path(spec.embeddings or ""), spec.ids, one_a_row)
    n = len(given.values)
    rows, whose = np.arange(len(dataset)), "matched_by_position"
    if given.ids is not None:
        # Rows that take no part need no vector.
        known = set(given.ids)
        rows = rows if any(known.issuperset(names) for names in dataset.names) else selected
    elif n == len(selected) != len(dataset):
        rows, whose = selected, "matched_to_selected"
    else:
        one_a_row(n)
    called = [list(names[rows]) for names in dataset.names]
    at, by_id = datasets.match_rows(given, len(rows), called, name)
    how = _matched(len(rows), Phrase("matched_by_id" if by_id else whose, {"file": name, "n": len(rows)}), by_id=by_id)
    if isinstance(given.values, Shards):
        order = np.full(len(dataset), -1, np.intp)
        order[rows] = at
        there: Any = given.values.arranged(order)
        return there, there, how
    whole = np.zeros((len(dataset), given.values.shape[1]), given.values.dtype)
    whole[rows] = given.values[at]
    return whole, whole, how


def _read_vectors(path: Path, ids: str | None = None, told: datasets.Told = lambda n_row: None) -> Embeddings:
    """Read a file of vectors, with the ids of its own or of a file beside it; without any, ``told`` may refuse."""
    read = read_shards if os.path.isdir(path) else datasets.read_embeddings  # ``Path.is_dir`` fails at a long name
    if ids is None:
        return read(path) if os.path.isdir(path) else datasets.read_embeddings(path, told=told)
    given = read(path)
    with about("ids"):
        names = datasets.read_ids(Path(ids))
    if len(names) != len(given.values):
        raise DataError(
            f"{Path(ids).name} has {len(names)} ids, {path.name} {len(given.values)} rows; they must agree", field="ids"
        )
    return Embeddings(given.values, names)


def _two_files(dataset: Dataset, spec: Spec, query: Embeddings, split: Split) -> tuple[Array, Array, Finding]:
    """Vectors of the two sides stored apart; in the other direction each side keeps its own."""
    with about("gallery_embeddings"):
        gallery = _read_vectors(Path(spec.gallery_embeddings or ""))
    sides = []
    for name, rows, side in (("query", np.sort(split.query), query), ("gallery", np.sort(split.gallery), gallery)):
        if side.ids is None and len(side.values) != len(rows):
            raise DataError(f"{len(side.values)} {name} embeddings but {len(rows)} {name} rows; they must agree")
        names = [list(called[rows]) for called in dataset.names]
        at, by_id = datasets.match_rows(side, len(rows), names, f"{name} embeddings")
        file = Phrase(f"{name} embeddings")
        how = Phrase("matched_by_id" if by_id else "matched_by_position", {"file": file, "n": len(rows)})
        sides.append((rows, side.values[at], how, by_id))
    (query_rows, asks, how, by_id), (gallery_rows, replies, how_gallery, gallery_by_id) = sides
    if asks.shape[1] != replies.shape[1]:
        raise DataError(
            f"query embeddings have {asks.shape[1]} dimensions, gallery embeddings {replies.shape[1]}; they must agree"
        )
    asked = np.zeros((len(dataset), asks.shape[1]), np.result_type(asks, replies))
    answers = asked.copy()
    asked[gallery_rows], asked[query_rows] = replies, asks
    answers[query_rows], answers[gallery_rows] = asks, replies
    both = Listed((how, how_gallery), "; ")
    return asked, answers, _matched(len(dataset), both, by_id=by_id and gallery_by_id)


def _matched(n: int, how: Value, *, by_id: bool) -> Finding:
    """How vectors were put in the table's order; without ids, the order is taken on trust."""
    return find("matching:by_id" if by_id else "matching:by_position", n, how=how)


def _either(test: Callable[[Array], IntArray], asked: Array, answers: Array, rows: IntArray) -> IntArray:
    """Which of these rows pass the test on the one side or on the other?"""
    found = datasets.rows_where(test, asked, rows)
    return found if answers is asked else np.union1d(found, datasets.rows_where(test, answers, rows))


def _unreadable(dataset: Dataset, rows: IntArray, n: int) -> Finding:
    """Images to evaluate without a vector: file by file, and why."""
    return find("unreadable_pictures", len(rows), dataset.ids[rows], m=n, rows=_why_unreadable(dataset, rows))


def _not_learned_from(dataset: Dataset, rows: IntArray, n: int) -> Finding:
    """Images to learn from that nothing was learned from: file by file, and why."""
    return find("unreadable_training", len(rows), dataset.ids[rows], m=n, rows=_why_unreadable(dataset, rows))


def _why_unreadable(dataset: Dataset, rows: IntArray) -> Listed:
    shown_pictures = _pictures(dataset).select(rows[:N_EXAMPLES])
    problems = {i: reason(shown_pictures, i, why) for i, why in shown_pictures.problems().items()}
    return name_rows(dataset.ids, rows, [problems.get(i, Phrase("no vector")) for i in range(len(shown_pictures))])


def _dropped(dataset: Dataset, rows: IntArray, taken: IntArray) -> Finding:
    return find("bad_rows", len(rows), dataset.ids[rows], m=len(taken), rows=name_rows(dataset.ids, rows))


def _named(dataset: Dataset, rows: IntArray) -> str:
    return spell_value(name_rows(dataset.ids, rows))
