"""The courses' plain functions: matrices, arrays and labels in, floats and dicts out.

What they answer comes from the same engine as every other number. The two policies differ, as the courses define them:
``recall_at_k`` counts a query with nothing relevant as missed, the others leave it out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .datasets import name_of, zero_rows
from .metrics import checked_k, recall_evaluable
from .ranking import Relevance, Sets, rank, without_answers

EncoderFunction = Callable[[Any], Any]


def recall_at_k(rank_matrix: ArrayLike, rel_matrix: ArrayLike, k: int) -> float:
    """How often is at least one relevant item among the first k? (query-level, of all queries)

    Parameters
    ----------
    rank_matrix : (n_query, n_gallery) integers
        Each row lists all gallery positions, 0-based, best first.
    rel_matrix : (n_query, n_gallery) of 0 and 1
        1 where gallery item j (not place j of the list) is relevant for the query.
    k : int
        1 … n_gallery.

    Returns
    -------
    float
        Hits / n_query. A query with nothing relevant counts as missed, so an empty relevance gives 0.

    Raises
    ------
    ValueError
        If k is not in 1 … n_gallery, a row is not a permutation, relevance is not 0/1, or there is no query.

    Examples
    --------
    >>> recall_at_k([[2, 0, 1], [0, 1, 2]], [[1, 0, 0], [1, 0, 0]], k=1)
    0.5
    """
    order, relevant = np.asarray(rank_matrix), np.asarray(rel_matrix)
    if order.ndim != 2 or order.shape != relevant.shape or len(order) == 0:
        raise ValueError(
            f"rank_matrix {order.shape} and rel_matrix {relevant.shape} must have one shape (n_query, n_gallery), with"
            " at least one query"
        )
    n_gallery = order.shape[1]
    if checked_k(k) > n_gallery:
        raise ValueError(f"k must lie in 1 … {n_gallery}, the size of the gallery, got {k!r}")
    wrong = np.flatnonzero((np.sort(order, axis=1) != np.arange(n_gallery)).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"rank_matrix row {wrong[0]} is not a permutation of the gallery positions 0 … {n_gallery - 1}:"
            f" {order[wrong[0]].tolist()}"
        )
    wrong = np.flatnonzero(~np.isin(relevant, (0, 1)).all(axis=1))
    if len(wrong):
        raise ValueError(f"rel_matrix row {wrong[0]} must hold 0 and 1 only: {relevant[wrong[0]].tolist()}")
    top = np.take_along_axis(relevant == 1, order[:, :k].astype(np.intp), axis=1)
    return float(top.any(axis=1).mean())


def encode_all(images: Sequence[Any], encoder_fn: EncoderFunction, batch: int = 64) -> NDArray:
    """Which vector stands for each image? ``encoder_fn`` is given ``images[i:i + batch]`` at a time.

    Parameters
    ----------
    images : sequence
        Arrays, paths, whatever ``encoder_fn`` understands.
    encoder_fn : callable
        From a batch of n images to (n, n_dim) numbers.
    batch : int

    Returns
    -------
    (n_image, n_dim) array
        In the order of the images; (0, 0) where there is none.

    Raises
    ------
    ValueError
        If the batch size is below 1, or the encoder does not give one row an image.
    """
    if batch < 1:
        raise ValueError(f"batch must be at least 1, got {batch!r}")
    parts = []
    for start in range(0, len(images), batch):
        some = images[start : start + batch]
        vectors = np.asarray(encoder_fn(some))
        if vectors.ndim != 2 or len(vectors) != len(some):
            raise ValueError(
                f"encoder_fn gave shape {vectors.shape} for images {start} … {start + len(some) - 1}; expected"
                f" ({len(some)}, n_dim), one row an image"
            )
        parts.append(vectors)
    return np.concatenate(parts) if parts else np.zeros((0, 0))


def embedding_recall(
    query_emb: ArrayLike,
    gallery_emb: ArrayLike,
    q_labels: Sequence[Any],
    g_labels: Sequence[Any],
    ks: Sequence[int] = (1, 5, 10),
    query_ids: Sequence[Any] | None = None,
    gallery_ids: Sequence[Any] | None = None,
) -> dict[str, float]:
    """How often is an item of the query's label among the k most similar by cosine?

    Parameters
    ----------
    query_emb, gallery_emb : (n_query, n_dim) and (n_gallery, n_dim) arrays
    q_labels, g_labels : one label a row
        Compared as text (3.0 is 3). A missing label (None, nan, empty) equals nothing.
    ks : sequence of int
    query_ids, gallery_ids : one id a row, optional
        Equal ids are the same item: it is removed from its own gallery before it is asked whether anything relevant is
        left. Both or neither.

    Returns
    -------
    dict
        ``{"recall@1": …}`` over the queries that have something relevant; 0.0 where none has. A zero query has no
        cosine and finds nothing.

    Raises
    ------
    ValueError
        If counts disagree, a k is not an integer of at least 1, or only one side has ids.
    DataError
        If vectors cannot be compared: other widths, nan or infinity.
    """
    cuts = [checked_k(k) for k in ks]
    query, gallery = np.asarray(query_emb), np.asarray(gallery_emb)
    if (query_ids is None) != (gallery_ids is None):
        raise ValueError("give query_ids and gallery_ids, or neither: an id is compared with those of the other side")
    relevant = Sets.from_labels(_texts("q_labels", q_labels, len(query)), _texts("g_labels", g_labels, len(gallery)))
    junk = None
    if query_ids is not None and gallery_ids is not None:
        junk = Sets.from_labels(
            _texts("query_ids", query_ids, len(query)), _texts("gallery_ids", gallery_ids, len(gallery))
        )
    relevance = Relevance.of(relevant, len(gallery), junk)
    if not relevance.n_relevant().any():
        return {f"recall@{k}": 0.0 for k in cuts}
    ranking = without_answers(rank(query, gallery, relevance, top=0), zero_rows(query))
    return {f"recall@{k}": recall_evaluable(ranking, k).value for k in cuts}


def evaluate_images(
    query_images: Sequence[Any],
    query_labels: Sequence[Any],
    gallery_images: Sequence[Any],
    gallery_labels: Sequence[Any],
    encoder_fn: EncoderFunction,
    ks: Sequence[int] = (1, 5, 10),
    batch: int = 64,
) -> dict[str, float]:
    """``encode_all`` on both sides, then ``embedding_recall``.

    Where images are given by their paths, the same path on both sides is the query itself and is removed from its own
    gallery. Images given as arrays have no identity: nothing is removed.
    """
    query_ids = gallery_ids = None
    if all(isinstance(image, str | PathLike) for image in [*query_images, *gallery_images]):
        query_ids, gallery_ids = [fspath(image) for image in query_images], [fspath(image) for image in gallery_images]
    query, gallery = encode_all(query_images, encoder_fn, batch), encode_all(gallery_images, encoder_fn, batch)
    return embedding_recall(query, gallery, query_labels, gallery_labels, ks, query_ids, gallery_ids)


def _texts(name: str, values: Sequence[Any], n_row: int) -> list[str]:
    """Labels or ids as text, empty where missing."""
    if len(values) != n_row:
        raise ValueError(f"{name} has {len(values)} entries, there are {n_row} vectors; they must agree")
    return [name_of(value) for value in values]
