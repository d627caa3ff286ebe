"""Where similarities come from: an encoder, files of vectors, or a matrix of scores, put in the table's order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import audit, encoders, protocol, vectors
from .audit import Finding
from .corruption import corrupt, parse
from .dataset import Dataset
from .errors import DataError
from .images import Pictures
from .relevance import IntArray
from .spec import Spec
from .splits import Split
from .vectors import Array


def resolve(dataset: Dataset, spec: Spec) -> Spec:
    """Resolve the spec, the source of similarities included."""
    if spec.scores is None and spec.embeddings is None and spec.encoder is None:
        replaced = spec.query_images is not None or spec.corrupt is not None
        if dataset.pictures is not None and (replaced or not dataset.embeddings):
            spec = spec.replace(encoder="raw")
        elif dataset.embeddings:
            spec = spec.replace(embeddings=next(iter(dataset.embeddings)))
        else:
            raise DataError(f"{dataset.name} has neither pictures nor vectors; bring --embeddings or --scores")
    return protocol.resolve(dataset, spec, fitted=is_fitted(spec.encoder))


def encode_dataset(dataset: Dataset, spec: Spec) -> Array:
    """Encode every picture of the data set once, with the spec's encoder.

    Returns
    -------
    (n_item, n_dim) array
        In table order. It depends on the data set and the encoder, and for a fitted encoder on the training draw.
    """
    spec = resolve(dataset, spec)
    return _encode(dataset, spec, _pictures(dataset), protocol.directions(dataset, spec)[0].train)


def side_vectors(
    dataset: Dataset, spec: Spec, splits: Sequence[Split], encoded: Array | None
) -> tuple[Any, Any, list[Finding]]:
    """Vectors of every row as a query and as an answer, (n_item, n_dim) each; rows that take no part are 0."""
    notes = [audit.note("reading", text) for text in dataset.notes]
    if spec.scores is not None:
        return None, None, notes
    if spec.embeddings is not None and spec.embeddings in dataset.embeddings:
        return dataset.embeddings[spec.embeddings], dataset.embeddings[spec.embeddings], notes
    if spec.embeddings is not None:
        asked, answers, how = _given_vectors(dataset, spec, splits[0])
        return asked, answers, [*notes, audit.note("matching", how)]
    clean = _encode(dataset, spec, _pictures(dataset), splits[0].train) if encoded is None else encoded
    if spec.query_images is None and spec.corrupt is None:
        return clean, clean, notes
    pictures, rows = query_pictures(dataset, spec)
    asked = clean.copy()
    asked[rows] = _encode(dataset, spec, pictures, splits[0].train)
    return asked, clean, notes


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
    rows = protocol.select_rows(dataset, spec.where or ())
    if spec.query_images is None:
        clean = _pictures(dataset).select(rows)
        return (clean if spec.corrupt is None else corrupt(clean, *parse(spec.corrupt), seed=spec.seed or 0)), rows
    path = Path(spec.query_images)
    pictures = Pictures.from_array(vectors.read_array(path, mapped=True))
    if len(pictures) != len(rows):
        raise DataError(
            f"{path.name} has {len(pictures)} pictures, but {len(rows)} rows are selected; "
            "the pictures must follow the selected rows in table order (see --where)"
        )
    return pictures, rows


def score_matrix(path: Path, split: Split) -> Array:
    """The user's scores, from table order to the split's order."""
    given = vectors.read_array(path)
    expected = (len(split.query), len(split.gallery))
    if given.shape != expected:
        raise DataError(
            f"{path.name} has shape {given.shape}; expected {expected}: a row for each query and a column for each "
            "gallery item, both in table order"
        )
    at_query, at_gallery = (np.argsort(np.argsort(side)) for side in (split.query, split.gallery))
    return given[np.ix_(at_query, at_gallery)]


def stop_at_bad_rows(dataset: Dataset, split: Split, asked: Array, answers: Array) -> None:
    """Refuse vectors with nan or infinity, naming row and id."""
    for side, rows in ((asked, split.query), (answers, split.gallery)):
        bad = rows[vectors.bad_rows(side[rows])]
        if len(bad):
            shown = ", ".join(f"row {row + 1} (id {dataset.ids[row]!r})" for row in bad[:5])
            raise DataError(
                f"{len(bad)} vectors hold nan or infinity: {shown}; "
                "correct them, or leave them out with --bad-rows drop"
            )


def is_fitted(encoder: str | None) -> bool:
    """Does this encoder learn from training rows?"""
    return encoder in encoders.FITTED


def _pictures(dataset: Dataset) -> Pictures:
    if dataset.pictures is None:
        raise DataError(f"{dataset.name} has no pictures to encode; bring --embeddings or --scores")
    return dataset.pictures


def _encode(dataset: Dataset, spec: Spec, pictures: Pictures, train: IntArray) -> Array:
    name = spec.encoder or "raw"
    encoder = encoders.import_encoder(name) if ":" in name else name
    if not is_fitted(spec.encoder):
        return encoders.encode(pictures, encoder, like=_pictures(dataset))
    label = dataset.role("label")
    labels = dataset.values(spec.relevant or "") if label is None else label
    clean = _pictures(dataset)
    return encoders.encode(pictures, encoder, train=clean.select(train), train_labels=list(labels[train]), like=clean)


def _given_vectors(dataset: Dataset, spec: Spec, split: Split) -> tuple[Array, Array, str]:
    """The user's files of vectors, put in the table's order, and how that was done."""
    path = Path(spec.embeddings or "")
    given = vectors.read_embeddings(path)
    selected = protocol.select_rows(dataset, spec.where or ())
    if spec.gallery_embeddings is not None:
        return _two_files(dataset, given, vectors.read_embeddings(Path(spec.gallery_embeddings)), split)
    if spec.ids is not None:
        ids = vectors.read_ids(Path(spec.ids))
        if len(ids) != len(given):
            raise DataError(f"{Path(spec.ids).name} has {len(ids)} ids, {path.name} {len(given)} rows; they must agree")
        wanted = list(dataset.ids[selected])
        rows, source = selected, given[vectors.rows_by_id(wanted, ids, Path(spec.ids).name)]
        how = f"{path.name}: {len(rows)} rows matched by id"
    elif len(given) == len(dataset):
        return given, given, f"{path.name}: {len(given)} rows matched to the table by position"
    elif len(given) == len(selected):
        rows, source = selected, given
        how = f"{path.name}: {len(given)} rows matched by position to the selected rows, in table order"
    else:
        raise DataError(
            f"{path.name} has {len(given)} rows, the table has {len(dataset)} ({len(selected)} selected); "
            "make the counts agree, or give the rows' ids with --ids"
        )
    whole = np.zeros((len(dataset), given.shape[1]), given.dtype)
    whole[rows] = source
    return whole, whole, how


def _two_files(dataset: Dataset, query: Array, gallery: Array, split: Split) -> tuple[Array, Array, str]:
    """Vectors of the two sides stored apart; in the other direction each side keeps its own."""
    query_rows, gallery_rows = np.sort(split.query), np.sort(split.gallery)
    for name, rows, side in (("query", query_rows, query), ("gallery", gallery_rows, gallery)):
        if len(side) != len(rows):
            raise DataError(f"{len(side)} {name} embeddings but {len(rows)} {name} rows; they must agree")
    if query.shape[1] != gallery.shape[1]:
        raise DataError(
            f"query embeddings have {query.shape[1]} dimensions, gallery embeddings {gallery.shape[1]}; they must agree"
        )
    asked = np.zeros((len(dataset), query.shape[1]), np.result_type(query, gallery))
    answers = asked.copy()
    asked[gallery_rows], asked[query_rows] = gallery, query
    answers[query_rows], answers[gallery_rows] = query, gallery
    return asked, answers, "query and gallery embeddings were matched to their rows by position, in table order"
