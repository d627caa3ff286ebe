"""Pairs of items that are one picture twice, items that are near everything, labels that the neighbours contradict.

Always pairs with a score, never clusters: that a is like b, and b like c, says nothing about a and c.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..datasets import MAX_PAIRS, MISSING, Pairs, zero_rows
from ..errors import DataError, setting
from ..images import Looks
from ..ranking import Relevance, Sets, exact_block, prepare, rank, without_answers

NEAR_COSINE = 0.95
"""Vectors whose cosine reaches this are near-duplicates, unless the user says otherwise."""

NEAR_DISTANCE = 4
"""Perceptual hashes that differ in at most so many of their 64 bits are near-duplicates."""

DEPTH = 32
N_HUB = 10
HUB_TIMES = 5
N_LABEL = 5


def neighbours(
    vectors: NDArray[np.generic], *, depth: int = DEPTH, progress: Callable[[int, int], object] | None = None
) -> tuple[IntArray, FloatArray]:
    """Which items are nearest to each item, by cosine, itself left out? One exact pass.

    Returns
    -------
    position, similarity : (n, depth) intp, float64
        Descending, ties by position; −1 and nan where there are fewer items, and for a zero row, which has no cosine.
    """
    n = len(vectors)
    own = np.arange(n)
    relevance = Relevance(Sets.empty(n), Sets(own, np.arange(n + 1), own), n)
    ranked = without_answers(
        rank(vectors, vectors, relevance, top=depth, progress=progress), zero_rows(np.asarray(vectors))
    )
    return ranked.top_position, ranked.top_similarity


def near_pairs(
    vectors: NDArray[np.generic],
    position: IntArray,
    similarity: FloatArray,
    *,
    threshold: float = NEAR_COSINE,
    skip: NDArray[np.bool_] | None = None,
) -> Pairs:
    """Which pairs have a cosine of at least ``threshold``?

    Parameters
    ----------
    position, similarity : (n, depth)
        From ``neighbours``. Where the last neighbour still reaches the threshold, the whole row is compared.
    skip : (n,) bool, optional
        Rows that are nobody's duplicate: flat pictures, zero vectors.
    """
    check_threshold(threshold)
    n, depth = position.shape
    left_out = np.zeros(n, bool) if skip is None else skip.copy()
    left_out[zero_rows(vectors)] = True
    reaches = (position >= 0) & (similarity >= threshold)
    row, place = np.nonzero(reaches)
    parts = [(row, position[row, place], similarity[row, place])]
    flooded = np.flatnonzero(reaches[:, -1] & ~left_out) if depth and depth < n - 1 else np.zeros(0, np.intp)
    prepared = prepare(vectors) if len(flooded) else None
    found = 0
    for start in range(0, len(flooded), 64):
        if prepared is None or found > MAX_PAIRS:
            break
        rows = flooded[start : start + 64]
        block = exact_block(prepared.take(rows), prepared)
        at, other = np.divmod(np.flatnonzero(block >= threshold), n)
        parts.append((rows[at], other, block[at, other]))
        found += len(at)
    first = np.concatenate([np.minimum(a, b) for a, b, _ in parts])
    second = np.concatenate([np.maximum(a, b) for a, b, _ in parts])
    score = np.concatenate([score for _, _, score in parts])
    keep = (first < second) & ~left_out[first] & ~left_out[second]
    _, unique = np.unique(first[keep] * max(n, 1) + second[keep], return_index=True)
    return _best(first[keep][unique], second[keep][unique], score[keep][unique])


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that is no cosine above 0."""
    if not 0 < threshold <= 1:
        raise DataError(
            f"{setting('threshold', f'{threshold:g}')}: a cosine above 0, at most 1, says "
            "from where on vectors are alike"
        )


def nearest(query: NDArray[np.generic], gallery: NDArray[np.generic]) -> IntArray:
    """(n_query,) which gallery item is nearest to each query, by cosine, ties by position?"""
    relevance = Relevance(Sets.empty(len(query)), Sets.empty(len(query)), len(gallery))
    return rank(query, gallery, relevance, top=1).top_position[:, 0]


def hash_pairs(looks: Looks, *, distance: int = NEAR_DISTANCE) -> Pairs:
    """Which pictures have perceptual hashes that differ in at most ``distance`` of 64 bits? Flat ones take no part."""
    if not 0 <= distance < 32:
        raise DataError(f"{setting('distance', distance)}: hashes have 64 bits; 0 to 31 of them may differ")
    rows = np.flatnonzero(looks.has_hash & ~looks.flat)
    code = looks.hash[rows]
    parts: list[tuple[IntArray, IntArray, IntArray]] = []
    found = 0
    for start in range(0, len(rows), 256):
        differing = np.bitwise_count(code[start : start + 256, None] ^ code[None, start:])
        at, other = np.divmod(np.flatnonzero(differing <= distance), differing.shape[1])
        after = other > at
        at, other = at[after], other[after]
        parts.append((rows[start + at], rows[start + other], differing[at, other].astype(np.intp)))
        found += len(at)
        if found > 10 * MAX_PAIRS:
            break
    if not parts:
        return Pairs(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))
    first, second, bits = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _best(first, second, 1 - bits / 64)


def hub_counts(position: IntArray) -> IntArray:
    """(n,) in how many of the others' first ``N_HUB`` places does each item stand? The fair share is ``N_HUB``."""
    first = position[:, :N_HUB]
    return np.bincount(first[first >= 0], minlength=len(position))


def hubs(position: IntArray) -> IntArray:
    """Rows that stand among the nearest of at least ``HUB_TIMES`` times their fair share of items, most first."""
    counts = hub_counts(position)
    share = min(N_HUB, max(len(position) - 1, 0))
    found = np.flatnonzero(counts >= max(HUB_TIMES * share, 1))
    return found[np.argsort(-counts[found], kind="stable")]


def contradicted(
    position: IntArray, similarity: FloatArray, label: NDArray[np.object_]
) -> tuple[IntArray, list[str], FloatArray]:
    """Which items have neighbours that agree on another label?

    All of an item's first ``N_LABEL`` neighbours but one at most carry the same other label, and none its own.

    Returns
    -------
    row : (n_found,) intp
        Most similar neighbours first.
    other : list of n_found text
        The label that the neighbours agree on.
    score : (n_found,) float64
        Mean cosine to those neighbours.
    """
    rows, others, scores = [], [], []
    for row in range(len(position)):
        near = position[row, :N_LABEL]
        top = contradiction(str(label[row]), [str(label[i]) for i in near]) if near.min(initial=0) >= 0 else ""
        if top:
            rows.append(row)
            others.append(top)
            scores.append(float(similarity[row, :N_LABEL].mean()))
    order = np.argsort(-np.array(scores), kind="stable").astype(np.intp)
    return np.array(rows, dtype=np.intp)[order], [others[i] for i in order], np.array(scores)[order]


def contradiction(own: str, near: Sequence[str]) -> str:
    """Which other label do the ``N_LABEL`` nearest neighbours of an item agree on, all but one at most?

    Empty where they do not, where one carries the item's own label, where there are fewer, or where it has no label.

    Examples
    --------
    >>> contradiction("cat", ["dog", "dog", "hen", "dog", "dog"])
    'dog'
    >>> contradiction("cat", ["dog", "dog", "cat", "dog", "dog"])
    ''
    """
    if own == MISSING or len(near) < N_LABEL:
        return ""
    top = max(set(near), key=near.count)
    agreed = top not in (MISSING, own) and own not in near and near.count(top) >= N_LABEL - 1
    return top if agreed else ""


def other_numbering(query: Sequence[str], gallery: Sequence[str], nearest: Sequence[str]) -> dict[str, str]:
    """Do both sides number their classes, each in its own way?

    Parameters
    ----------
    query, gallery : labels of the queries and of the gallery items
    nearest : (n_query,) label of each query's nearest gallery item

    Returns
    -------
    dict of query label to the gallery label that most of its queries find
        Only if all labels are whole numbers, and most classes of at least two queries agree on another number than
        their own; else empty.
    """
    if not all(cell.isascii() and cell.isdigit() for cell in {*query, *gallery} - {MISSING}):
        return {}
    found: dict[str, list[str]] = {}
    for own, other in zip(query, nearest, strict=True):
        found.setdefault(own, []).append(other)
    agreed = {}
    for own, others in found.items():
        top = max(set(others), key=others.count)
        if own != MISSING and len(others) > 1 and others.count(top) > 0.6 * len(others):
            agreed[own] = top
    elsewhere = {own: top for own, top in agreed.items() if own != top}
    enough = len(elsewhere) >= 3 and len(elsewhere) > len(agreed) / 2 and len(set(elsewhere.values())) > 2
    return elsewhere if enough else {}


def _best(first: IntArray, second: IntArray, score: FloatArray) -> Pairs:
    """The pairs, most alike first, at most ``MAX_PAIRS``."""
    order = np.lexsort((second, first, -score))
    kept = order[:MAX_PAIRS]
    return Pairs(first[kept], second[kept], score[kept], len(order) > MAX_PAIRS)
