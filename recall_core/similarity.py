"""How alike are two vectors, to the last bit the same on every machine?

A float32 product differs in its last bits between BLAS kernels, thread counts and block shapes, so equal items stop
being equal and near-ties flip. Here a similarity depends on its two rows alone: every step is either an elementwise
IEEE operation, a sum in one fixed order, or a float64 sum that is exact in any order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import DataError

FloatArray = NDArray[np.float64]
AnyFloat = NDArray[np.floating]  # float32 or float64
Parts = tuple[AnyFloat, ...]
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # map, or an executor's

MAX_DIM = 16_000
_LARGEST = 1e150  # squares and their sums stay finite in float64
_ROWS, _PAIRS = 128, 64  # temporaries that stay in the second-level cache


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


@dataclass(frozen=True, eq=False)
class Coarse:
    """A gallery in the form in which a float32 product filters it.

    Parameters
    ----------
    matrix : (n, m) float32
        The gallery's side of the product.
    exponent : int
        Vectors were multiplied by 2⁻ᵉ, so that the longest has a length in (½, 1] and nothing overflows.
    reach : float
        Length of the longest vector, in that scale.
    centre : (n_dim,) float64
        What was subtracted from each vector (Euclidean only).
    """

    matrix: NDArray[np.float32]
    exponent: int
    reach: float
    centre: FloatArray


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
        raise DataError(f"similarity {similarity!r} is not known; choose from {', '.join(SIMILARITIES)}")
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
            for at in _slices(last - first, 256):
                rows = slice(first + at.start, first + at.stop)
                result[rows] = kind.block(one, gallery.take(gi[rows]).parts)[0]
    else:
        for rows in _slices(len(qi), _PAIRS):
            result[rows] = kind.pairs(query.take(qi[rows]).parts, gallery.take(gi[rows]).parts)
    return result


def exact_block(query: Vectors, gallery: Vectors) -> FloatArray:
    """How alike is every query to every gallery item? (n_query, n_gallery) float64, the same values as the pairs'."""
    result = np.empty((len(query), len(gallery)))
    block = SIMILARITIES[query.similarity].block
    for at in _slices(len(gallery), 2048):
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


def fold_sum(values: FloatArray) -> FloatArray:
    """Sum of the last axis in one fixed order: the second half is added to the first until one column is left.

    ``np.sum`` and BLAS choose their order by memory layout, instruction set and version; elementwise additions are the
    same everywhere.

    Examples
    --------
    >>> float(fold_sum(np.array([1.0, 2.0, 3.0, 4.0, 5.0])))
    15.0
    """
    rest = values.copy()
    n = rest.shape[-1]
    while n > 1:
        head = (n + 1) // 2
        rest[..., : n - head] += rest[..., head:n]
        n = head
    total: FloatArray = rest[..., 0] if n else np.zeros(rest.shape[:-1])
    return total


def two_sum_fold(values: FloatArray) -> FloatArray:
    """Sum of the last axis, each rounding error caught (Knuth's TwoSum) and added back at the end.

    Equal to the correctly rounded sum but for extreme cancellation (``math.fsum`` in every trial of the tests).
    """
    total, error = values.copy(), np.zeros_like(values)
    n = total.shape[-1]
    while n > 1:
        head = (n + 1) // 2
        a, b = total[..., : n - head], total[..., head:n]
        s = a + b
        shift = s - a
        error[..., : n - head] += error[..., head:n]
        error[..., : n - head] += (a - (s - shift)) + (b - shift)
        total[..., : n - head] = s
        n = head
    result: FloatArray = total[..., 0] + error[..., 0] if n else np.zeros(total.shape[:-1])
    return result


def unit_parts(values: AnyFloat, run: Run = map) -> Parts:
    """Unit rows as a high and a low part, both float32, whose products sum exactly in float64.

    A row is divided by its largest magnitude first, so exact multiples of a row become identical and nothing
    overflows. The high part is a multiple of 2⁻²⁶, so a sum of products of high parts has at most 53 bits, whatever
    its order; the low part holds what the high one lacks, on a grid fine enough for cosines to 2⁻⁴⁰ and coarse enough
    that high × low sums exactly too (‖low‖ ≤ 2⁻²⁷·√(n_dim + 64)). A zero row stays zero.
    """
    high, low = np.empty(values.shape, np.float32), np.empty(values.shape, np.float32)
    grid = 2.0 ** _low_bits(values.shape[1])

    def fill(at: slice) -> None:
        unit = values[at].astype(np.float64)
        unit /= _nonzero(np.maximum(unit.max(axis=1, initial=0.0), -unit.min(axis=1, initial=0.0)))[:, None]
        unit /= _nonzero(np.sqrt(fold_sum(unit * unit)))[:, None]
        part = unit * 2.0**26
        np.rint(part, out=part)
        part *= 2.0**-26
        high[at] = part
        unit -= high[at]
        unit *= grid
        np.rint(unit, out=unit)
        unit /= grid
        low[at] = unit

    list(run(fill, _slices(len(values), _ROWS)))
    return high, low


def cosine_pairs(query: Parts, gallery: Parts) -> FloatArray:
    """Cosine of row by row, rounded to 2⁻⁴⁰ so that mathematically equal cosines stay equal.

    Each of the three products is exact in any order of summation; their two additions are elementwise.
    Cosines further apart than 1.2e-12 (n_dim = 512) are always ordered rightly; with itself a row has exactly 1.
    """
    (qh, ql), (gh, gl) = _float64(query), _float64(gallery)
    return _round_cosine(np.vecdot(qh, gh), np.vecdot(qh, gl) + np.vecdot(ql, gh), qh.shape[1])


def cosine_block(query: Parts, gallery: Parts) -> FloatArray:
    """Cosine of every row with every row: three float64 matrix products, each exact on any BLAS."""
    (qh, ql), (gh, gl) = _float64(query), _float64(gallery)
    return _round_cosine(qh @ gh.T, qh @ gl.T + ql @ gh.T, qh.shape[1])


def dot_pairs(query: Parts, gallery: Parts) -> FloatArray:
    """Dot product of row by row.

    float32 inputs: the products are exact in float64 and the sum is the correctly rounded one but for extreme
    cancellation. float64 inputs: the products' own errors are caught too (Veltkamp, Dekker). Integers are exact while
    Σ|xy| < 2⁵³.
    """
    (q,), (g,) = query, gallery
    x, y = q.astype(np.float64), g.astype(np.float64)
    product = x * y
    if q.dtype == g.dtype == np.float32:
        return two_sum_fold(product) + 0.0
    (xh, xl), (yh, yl) = _halves(x), _halves(y)
    error = ((xh * yh - product) + xh * yl + xl * yh) + xl * yl
    return two_sum_fold(np.concatenate([product, error], axis=1)) + 0.0


def euclidean_pairs(query: Parts, gallery: Parts) -> FloatArray:
    """Negative Euclidean distance of row by row; larger is more alike, and nothing is positive.

    The squared distance, from direct float64 differences, is rounded to 40 significant bits, so that a few roundings
    do not tear equal distances apart; the root of a 40-bit number is injective in float64, so it neither makes nor
    breaks ties. Relative error of the squared distance: at most 2⁻⁴⁰.
    """
    (q,), (g,) = query, gallery
    difference = q.astype(np.float64) - g
    return _negative_distance(fold_sum(difference * difference))


def _cosine_coarse(parts: Parts) -> Coarse:
    return Coarse(parts[0], 0, 1.0, np.zeros(0))


def _cosine_ask(parts: Parts, coarse: Coarse) -> tuple[NDArray[np.float32], FloatArray]:
    """Slack: d·2⁻²⁴ for the sum (Σ|terms| ≤ 1), ¼√(d + 64)·2⁻²⁴ for the low parts left out, one unit for the edges.

    The further summands are reserve, so that half of it is enough below 0.99 (see ``_cosine_scale``).
    """
    high: NDArray[np.float32] = parts[0]
    n, n_dim = high.shape
    return high, np.full(n, 2.0**-24 * (n_dim + 0.5 * n_dim**0.5 + 10))


def _cosine_scale(similarity: FloatArray, coarse: Coarse) -> tuple[FloatArray, FloatArray]:
    """As it is. Up to 0.99 every partial sum is at most (1 + cosine)/2 < 1, so it is rounded by 2⁻²⁵ at most: half."""
    return similarity, np.where(np.abs(similarity) <= 0.99, 0.5, 1.0)


def _dot_coarse(parts: Parts) -> Coarse:
    norms = _norms(parts[0], None)
    exponent = int(np.frexp(norms.max(initial=0.0))[1])
    matrix = _narrow(parts[0], None, exponent)
    return Coarse(matrix, exponent, float(np.ldexp(norms.max(initial=0.0), -exponent)), np.zeros(0))


def _dot_ask(parts: Parts, coarse: Coarse) -> tuple[NDArray[np.float32], FloatArray]:
    """Slack: d for the sum, 2 for the narrowed inputs, 1 for the edges, each ·2⁻²⁴·‖query‖·max ‖gallery‖."""
    matrix = _narrow(parts[0], None, coarse.exponent)
    length = np.ldexp(_norms(parts[0], None), -coarse.exponent)
    return matrix, _SUM_SLACK * (parts[0].shape[1] + 5) * length * coarse.reach + _UNDERFLOW


def _dot_scale(similarity: FloatArray, coarse: Coarse) -> tuple[FloatArray, float]:
    return np.ldexp(similarity, -2 * coarse.exponent), 1.0


def _euclidean_coarse(parts: Parts) -> Coarse:
    """Centred at the mean, with −½‖c‖² as a further column: the product is −½ of the squared distance."""
    values = parts[0]
    centre = values.mean(axis=0, dtype=np.float64) if len(values) else np.zeros(values.shape[1])
    norms = _norms(values, centre)
    exponent = int(np.frexp(norms.max(initial=0.0))[1])
    matrix = _with_half_squares(values, centre, exponent, norms, gallery=True)
    return Coarse(matrix, exponent, float(np.ldexp(norms.max(initial=0.0), -exponent)), centre)


def _euclidean_ask(parts: Parts, coarse: Coarse) -> tuple[NDArray[np.float32], FloatArray]:
    """Slack: d + 2 for the sum, 2 for the narrowed inputs, 1 for the edges, each ·2⁻²⁴·½(‖query‖ + max ‖gallery‖)²."""
    norms = _norms(parts[0], coarse.centre)
    matrix = _with_half_squares(parts[0], coarse.centre, coarse.exponent, norms, gallery=False)
    most = 0.5 * (np.ldexp(norms, -coarse.exponent) + coarse.reach) ** 2
    return matrix, _SUM_SLACK * (parts[0].shape[1] + 7) * most + _UNDERFLOW


def _euclidean_scale(similarity: FloatArray, coarse: Coarse) -> tuple[FloatArray, float]:
    return -0.5 * np.ldexp(similarity, -coarse.exponent) ** 2, 1.0


# n·2⁻²⁴ / (1 − n·2⁻²⁴) ≤ 1.001·n·2⁻²⁴ up to 16,000 terms; what float32 loses below its smallest numbers is far less
# than 2⁻¹¹⁰.
_SUM_SLACK, _UNDERFLOW = 1.001 * 2.0**-24, 2.0**-110


def _norms(values: AnyFloat, centre: FloatArray | None) -> FloatArray:
    """(n,) lengths, of the centred rows where there is a centre."""
    result = np.empty(len(values))
    for at in _slices(len(values), _ROWS):
        rows = values[at].astype(np.float64)
        if centre is not None:
            rows -= centre
        result[at] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return result


def _narrow(values: AnyFloat, centre: FloatArray | None, exponent: int) -> NDArray[np.float32]:
    """Centred, scaled by 2⁻ᵉ and narrowed to float32; what does not fit becomes infinite, and its slack huge."""
    result = np.empty(values.shape, np.float32)
    for at in _slices(len(values), _ROWS):
        rows = values[at].astype(np.float64)
        if centre is not None:
            rows -= centre
        result[at] = np.ldexp(rows, -exponent)
    return result


def _with_half_squares(
    values: AnyFloat, centre: FloatArray, exponent: int, norms: FloatArray, *, gallery: bool
) -> NDArray[np.float32]:
    """Two further columns: (1, −½‖c‖²) on the gallery's side, (−½‖c‖², 1) on the queries'."""
    n, n_dim = values.shape
    matrix = np.ones((n, n_dim + 2), np.float32)
    matrix[:, :n_dim] = _narrow(values, centre, exponent)
    matrix[:, n_dim + gallery] = -0.5 * np.ldexp(norms, -exponent) ** 2
    return matrix


def dot_block(query: Parts, gallery: Parts) -> FloatArray:
    """Dot product of every row with every row: a matrix product of whole numbers is exact, else pair by pair."""
    q, g = query[0], gallery[0]
    if not _are_small_integers(q, g):
        return _by_pairs(dot_pairs, query, gallery)
    return q.astype(np.float64) @ g.astype(np.float64).T + 0.0


def euclidean_block(query: Parts, gallery: Parts) -> FloatArray:
    """Negative distance of every row to every row: by products of whole numbers, which are exact, else pair by pair."""
    if not _are_small_integers(query[0], gallery[0]):
        return _by_pairs(euclidean_pairs, query, gallery)
    q, g = query[0].astype(np.float64), gallery[0].astype(np.float64)
    return _negative_distance(fold_sum(q * q)[:, None] + fold_sum(g * g) - 2 * (q @ g.T))


def _by_pairs(pairs: Callable[[Parts, Parts], FloatArray], query: Parts, gallery: Parts) -> FloatArray:
    (q,), (g,) = query, gallery
    result = np.empty((len(q), len(g)))
    for row in range(len(q)):
        for at in _slices(len(g), _PAIRS):
            result[row, at] = pairs((np.broadcast_to(q[row], (at.stop - at.start, q.shape[1])),), (g[at],))
    return result


def _are_small_integers(q: AnyFloat, g: AnyFloat) -> bool:
    """Whether all sums of products, and squared distances, are integers below 2⁵³: counts, codes, pixels in bytes."""
    largest = sum(float(np.abs(x).max(initial=0.0)) for x in (q, g))
    if largest**2 * q.shape[1] >= 2.0**53:
        return False
    return bool((np.rint(q) == q).all() and (np.rint(g) == g).all())


def _negative_distance(squared: FloatArray) -> FloatArray:
    mantissa, exponent = np.frexp(squared)
    distance: FloatArray = np.sqrt(np.ldexp(np.rint(mantissa * 2.0**40), exponent - 40))
    return 0.0 - distance


def _round_cosine(high: FloatArray, cross: FloatArray, n_dim: int) -> FloatArray:
    grid = 2.0 ** (40 if _low_bits(n_dim) == 48 else 38)
    high += cross
    high *= grid
    np.rint(high, out=high)
    high /= grid
    high += 0.0  # no negative zero
    return high


def _low_bits(n_dim: int) -> int:
    """Bits below one of the low part's grid: high × low sums exactly while ‖low‖·2^(26 + bits) ≤ 2⁵³."""
    return 48 if n_dim <= 3900 else 47


def _halves(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Veltkamp's split: x = high + low, 26 bits each, so that products of halves are exact."""
    shifted = x * 134217729.0
    high = shifted - (shifted - x)
    return high, x - high


def _float64(parts: Parts) -> tuple[FloatArray, FloatArray]:
    high, low = parts
    return high.astype(np.float64), low.astype(np.float64)


def _nonzero(x: FloatArray) -> FloatArray:
    return np.where(x > 0, x, 1.0)


def _slices(n: int, step: int) -> Iterator[slice]:
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _as_given(values: AnyFloat, run: Run) -> Parts:
    return (values,)


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
    "cosine": Similarity(unit_parts, cosine_pairs, cosine_block, True, _cosine_coarse, _cosine_ask, _cosine_scale),
    "dot": Similarity(_as_given, dot_pairs, dot_block, False, _dot_coarse, _dot_ask, _dot_scale),
    "euclidean": Similarity(
        _as_given,
        euclidean_pairs,
        euclidean_block,
        False,
        _euclidean_coarse,
        _euclidean_ask,
        _euclidean_scale,
    ),
}
