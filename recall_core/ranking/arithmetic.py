"""Sums in one fixed order, and the gallery's side of a float32 filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyFloat, FloatArray

Parts = tuple[AnyFloat, ...]
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]  # map, or an executor's

MAX_DIM = 16_000
ROWS, PAIRS = 128, 64  # temporaries that stay in the second-level cache


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


# n·2⁻²⁴ / (1 − n·2⁻²⁴) ≤ 1.001·n·2⁻²⁴ up to 16,000 terms; what float32 loses below its smallest numbers is far less
# than 2⁻¹¹⁰.
SUM_SLACK, UNDERFLOW = 1.001 * 2.0**-24, 2.0**-110


def row_norms(values: AnyFloat, centre: FloatArray | None) -> FloatArray:
    """(n,) lengths, of the centred rows where there is a centre."""
    result = np.empty(len(values))
    for at in row_slices(len(values), ROWS):
        rows = values[at].astype(np.float64)
        if centre is not None:
            rows -= centre
        result[at] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return result


def narrow(values: AnyFloat, centre: FloatArray | None, exponent: int) -> NDArray[np.float32]:
    """Centred, scaled by 2⁻ᵉ and narrowed to float32; what does not fit becomes infinite, and its slack huge."""
    result = np.empty(values.shape, np.float32)
    for at in row_slices(len(values), ROWS):
        rows = values[at].astype(np.float64)
        if centre is not None:
            rows -= centre
        result[at] = np.ldexp(rows, -exponent)
    return result


def by_pairs(pairs: Callable[[Parts, Parts], FloatArray], query: Parts, gallery: Parts) -> FloatArray:
    """A block of exact similarities, made pair by pair."""
    (q,), (g,) = query, gallery
    result = np.empty((len(q), len(g)))
    for row in range(len(q)):
        for at in row_slices(len(g), PAIRS):
            result[row, at] = pairs((np.broadcast_to(q[row], (at.stop - at.start, q.shape[1])),), (g[at],))
    return result


def are_small_integers(q: AnyFloat, g: AnyFloat) -> bool:
    """Whether all sums of products, and squared distances, are integers below 2⁵³: counts, codes, pixels in bytes."""
    largest = sum(float(np.abs(x).max(initial=0.0)) for x in (q, g))
    if largest**2 * q.shape[1] >= 2.0**53:
        return False
    return bool((np.rint(q) == q).all() and (np.rint(g) == g).all())


def as_float64(parts: Parts) -> tuple[FloatArray, FloatArray]:
    """Both parts as float64."""
    high, low = parts
    return high.astype(np.float64), low.astype(np.float64)


def row_slices(n: int, step: int) -> Iterator[slice]:
    """Slices of at most ``step`` rows that cover ``n``."""
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def as_given(values: AnyFloat, run: Run) -> Parts:
    """The parts of a similarity that needs the vectors alone."""
    return (values,)
