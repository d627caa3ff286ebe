"""How alike are two vectors, to the last bit the same on every machine?

A float32 product differs in its last bits between BLAS kernels, thread counts and block shapes, so equal items stop
being equal and near-ties flip. Here a similarity depends on its two rows alone: every step is either an elementwise
IEEE operation, a sum in one fixed order, or a float64 sum that is exact in any order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyFloat, FloatArray
from ..errors import DataError
from .arithmetic import MAX_DIM, PAIRS, Coarse, Parts, Run, as_given, row_slices
from .cosine import cosine_ask, cosine_block, cosine_coarse, cosine_pairs, cosine_scale, unit_parts
from .dot import dot_ask, dot_block, dot_coarse, dot_pairs, dot_scale
from .euclidean import euclidean_ask, euclidean_block, euclidean_coarse, euclidean_pairs, euclidean_scale

_LARGEST = 1e150  # squares and their sums stay finite in float64


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors made ready for exact comparison; make them with :func:`prepare`.

    Parameters
    ----------
    similarity : str
        A name in ``SIMILARITIES``.
    parts : tuple of (n, n_dim) arrays
        What exact similarities are made of. Cosine: the high and the low part of the unit rows, float32 (see
        :func:`unit_parts`). Otherwise the vectors as given, float32 or float64.
    """

    similarity: str
    parts: Parts

    def __len__(self) -> int:
        return len(self.parts[0])

    @property
    def n_dim(self) -> int:
        """Number of dimensions."""
        return int(self.parts[0].shape[1])

    @cached_property
    def coarse(self) -> Coarse:
        """These vectors as the gallery of a float32 product; made at first use."""
        return SIMILARITIES[self.similarity].coarse(self.parts)

    def without_direction(self) -> NDArray[np.intp]:
        """Zero rows under cosine: as queries they have no similarity to anything; empty for other similarities."""
        if self.similarity != "cosine":
            return np.zeros(0, np.intp)
        return np.flatnonzero(~self.parts[0].any(axis=1))

    def take(self, rows: ArrayLike | slice) -> Vectors:
        """Keep these rows, in this order."""
        at = rows if isinstance(rows, slice) else np.asarray(rows)
        return Vectors(self.similarity, tuple(part[at] for part in self.parts))


@dataclass(frozen=True)
class Similarity:
    """What the exact pass must know of a similarity: plain functions.

    ``prepare`` makes the parts; ``pairs`` and ``block`` give exact similarities (``by_product``: a block is made of
    matrix products, much faster than pairs); ``coarse`` makes the gallery's side of the float32 product, ``ask`` the
    queries' side and the slack that certifies it, ``scale`` turns an exact similarity into the scale of that product
    and says which share of the slack is enough there.
    """

    prepare: Callable[[AnyFloat, Run], Parts]
    pairs: Callable[[Parts, Parts], FloatArray]
    block: Callable[[Parts, Parts], FloatArray]
    by_product: bool
    coarse: Callable[[Parts], Coarse]
    ask: Callable[[Parts, Coarse], tuple[NDArray[np.float32], FloatArray]]
    scale: Callable[[FloatArray, Coarse], tuple[FloatArray, FloatArray | float]]


def prepare(vectors: ArrayLike, similarity: str = "cosine", *, name: str = "vectors", run: Run = map) -> Vectors:
    """Check vectors once and bring them into the form in which they are compared.

    Parameters
    ----------
    vectors : (n, n_dim) array
        Real numbers of any kind; float16, float32 and float64 are taken exactly.
    similarity : str
        A name in ``SIMILARITIES``.
    name : str
        What messages call the vectors.
    run : callable
        Like ``map``: an executor's ``map`` prepares many rows at the same time.

    Raises
    ------
    DataError
        Not two-dimensional, nan or infinity (the rows are named), more than 16,000 dimensions, an unknown similarity,
        or values beyond 1e150 where squares would overflow.
    """
    if similarity not in SIMILARITIES:
        raise DataError(
            f"similarity {similarity!r} is not known; choose from {', '.join(SIMILARITIES)}", field="similarity"
        )
    values = _checked(vectors, name)
    needed = 8 * values.size
    if similarity != "cosine" and values.dtype == np.float64:
        _refuse_rows(values, name, _LARGEST, f"values beyond {_LARGEST:g}", "scale them down")
    try:
        if needed > physical_memory():
            raise MemoryError
        return Vectors(similarity, SIMILARITIES[similarity].prepare(values, run))
    except MemoryError as error:
        raise DataError(
            f"{name} {values.shape} need {needed / 2**30:.1f} GiB more in the form in which they are compared, and"
            " there is not so much memory; give fewer rows or dimensions, or use a larger machine"
        ) from error


def physical_memory() -> float:
    """Bytes of memory in this machine; infinite where the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return float("inf")


def exact_pairs(query: Vectors, gallery: Vectors, query_rows: ArrayLike, gallery_rows: ArrayLike) -> FloatArray:
    """How alike are these pairs of rows?

    Parameters
    ----------
    query, gallery : Vectors
        Of the same similarity and dimension.
    query_rows, gallery_rows : (n_pair,) int

    Returns
    -------
    (n_pair,) float64
        The canonical similarity of each pair; it depends on the two rows alone.
    """
    qi, gi = np.asarray(query_rows, np.intp), np.asarray(gallery_rows, np.intp)
    kind, result = SIMILARITIES[query.similarity], np.empty(len(qi))
    firsts = np.flatnonzero(np.diff(qi, prepend=-1))
    if kind.by_product and len(qi) >= 24 * len(firsts):  # long runs of one query: a product, twice as fast
        for first, last in pairwise([*firsts, len(qi)]):
            one = query.take(qi[first : first + 1]).parts
            for at in row_slices(last - first, 256):
                rows = slice(first + at.start, first + at.stop)
                result[rows] = kind.block(one, gallery.take(gi[rows]).parts)[0]
    else:
        for rows in row_slices(len(qi), PAIRS):
            result[rows] = kind.pairs(query.take(qi[rows]).parts, gallery.take(gi[rows]).parts)
    return result


def exact_block(query: Vectors, gallery: Vectors) -> FloatArray:
    """How alike is every query to every gallery item? (n_query, n_gallery) float64, the same values as the pairs'."""
    result = np.empty((len(query), len(gallery)))
    block = SIMILARITIES[query.similarity].block
    for at in row_slices(len(gallery), 2048):
        result[:, at] = block(query.parts, gallery.take(at).parts)
    return result


def coarse_query(query: Vectors, gallery: Vectors) -> tuple[NDArray[np.float32], FloatArray]:
    """The queries' side of the float32 product, and how far that product can be from the truth.

    Returns
    -------
    matrix : (n_query, m) float32
    slack : (n_query,) float64
        For every gallery item |matrix · coarse − scaled similarity| ≤ slack, for any order of summation, fused or
        not, the rounding of ``scaled similarity ± slack`` to float32 included.
    """
    with np.errstate(over="ignore"):  # a query far beyond the gallery gets an infinite slack, and is never filtered
        return SIMILARITIES[query.similarity].ask(query.parts, gallery.coarse)


def bands(
    similarity: FloatArray, slack: FloatArray, gallery: Vectors
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(low, high) in the product's scale: an item above ``high`` is surely more similar than this, below ``low`` less.

    Parameters
    ----------
    similarity, slack : (n_pair,) float64
        Exact similarities, and the slack of their queries.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        edge, share = SIMILARITIES[gallery.similarity].scale(similarity, gallery.coarse)
        return (edge - share * slack).astype(np.float32), (edge + share * slack).astype(np.float32)


def _checked(vectors: ArrayLike, name: str) -> AnyFloat:
    """The vectors as float32 or float64, without loss; refuse what cannot be compared."""
    array = np.asarray(vectors)
    if array.dtype.kind not in "fiub":
        raise DataError(f"{name} hold {array.dtype}; vectors must be real numbers")
    if array.ndim != 2:
        raise DataError(f"{name} have shape {array.shape}; expected (n, n_dim), one row an item; reshape them")
    if array.shape[1] > MAX_DIM:
        raise DataError(
            f"{name} have {array.shape[1]} dimensions; at most {MAX_DIM} can be compared exactly, reduce them"
        )
    exact32 = array.dtype in (np.dtype(np.float16), np.dtype(np.float32))
    values: AnyFloat = array.astype(np.float32 if exact32 else np.float64, copy=False)
    _refuse_rows(values, name, float(np.finfo(values.dtype).max), "nan or infinity", "mend or drop them")
    return values


def _refuse_rows(values: AnyFloat, name: str, largest: float, what: str, remedy: str) -> None:
    if not values.size:
        return
    # The largest and the smallest of a row show nan (it spreads) and infinity, several times faster than isfinite.
    wrong = ~(np.maximum(values.max(axis=1), -values.min(axis=1)) <= largest)
    rows = np.flatnonzero(wrong)
    if len(rows):
        shown = ", ".join(str(row) for row in rows[:5]) + (f" and {len(rows) - 5} more" if len(rows) > 5 else "")
        raise DataError(f"{name} hold {what} in row{'s' * (len(rows) > 1)} {shown} (counted from 0); {remedy}")


SIMILARITIES = {
    "cosine": Similarity(unit_parts, cosine_pairs, cosine_block, True, cosine_coarse, cosine_ask, cosine_scale),
    "dot": Similarity(as_given, dot_pairs, dot_block, False, dot_coarse, dot_ask, dot_scale),
    "euclidean": Similarity(
        as_given,
        euclidean_pairs,
        euclidean_block,
        False,
        euclidean_coarse,
        euclidean_ask,
        euclidean_scale,
    ),
}
