"""The dot product, canonical."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from .arithmetic import (
    SUM_SLACK,
    UNDERFLOW,
    Coarse,
    Parts,
    are_small_integers,
    by_pairs,
    narrow,
    row_norms,
    two_sum_fold,
)


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


def dot_coarse(parts: Parts) -> Coarse:
    """The gallery's side of the float32 product, scaled so that nothing overflows."""
    norms = row_norms(parts[0], None)
    exponent = int(np.frexp(norms.max(initial=0.0))[1])
    matrix = narrow(parts[0], None, exponent)
    return Coarse(matrix, exponent, float(np.ldexp(norms.max(initial=0.0), -exponent)), np.zeros(0))


def dot_ask(parts: Parts, coarse: Coarse) -> tuple[NDArray[np.float32], FloatArray]:
    """Slack: d for the sum, 2 for the narrowed inputs, 1 for the edges, each ·2⁻²⁴·‖query‖·max ‖gallery‖."""
    matrix = narrow(parts[0], None, coarse.exponent)
    length = np.ldexp(row_norms(parts[0], None), -coarse.exponent)
    return matrix, SUM_SLACK * (parts[0].shape[1] + 5) * length * coarse.reach + UNDERFLOW


def dot_scale(similarity: FloatArray, coarse: Coarse) -> tuple[FloatArray, float]:
    """A dot product in the scale of the float32 product."""
    return np.ldexp(similarity, -2 * coarse.exponent), 1.0


def dot_block(query: Parts, gallery: Parts) -> FloatArray:
    """Dot product of every row with every row: a matrix product of whole numbers is exact, else pair by pair."""
    q, g = query[0], gallery[0]
    if not are_small_integers(q, g):
        return by_pairs(dot_pairs, query, gallery)
    return q.astype(np.float64) @ g.astype(np.float64).T + 0.0


def _halves(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Veltkamp's split: x = high + low, 26 bits each, so that products of halves are exact."""
    shifted = x * 134217729.0
    high = shifted - (shifted - x)
    return high, x - high
