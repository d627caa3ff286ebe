"""Matrix products and solutions that are the same to the last bit on any BLAS.

A BLAS kernel adds in an order of its own, so a product of fractions differs between processors in its last bits. Here
both sides are cut into slices of so few bits that every sum of their products is exact, whatever its order; what is
then left to add is added elementwise, in one order. It costs a few products instead of one.
"""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray

N_SLICE = 2
PANEL = 48


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """(n, m) @ (m, l), to about 2⁻⁴⁰ of the largest terms.

    Examples
    --------
    >>> product(np.array([[0.5, 0.25]]), np.array([[2.0], [4.0]])).tolist()
    [[2.0]]
    """
    bits = (53 - int(np.ceil(np.log2(left.shape[1] + 1)))) // 2
    firsts, rows = _slices(left, 1, bits)
    seconds, columns = _slices(right, 0, bits)
    total = np.zeros((left.shape[0], right.shape[1]))
    for order in reversed(range(N_SLICE)):  # the small terms first
        for i, first in enumerate(firsts):
            if 0 <= order - i < len(seconds):
                total += np.ldexp(first @ seconds[order - i], -bits * (order + 2))
    return total * rows * columns


def solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve ``matrix @ x = right`` for a symmetric positive definite matrix: Cholesky's method, a panel at a time.

    Examples
    --------
    >>> solve(np.array([[4.0, 0.0], [0.0, 1.0]]), np.array([[8.0], [1.5]])).tolist()
    [[2.0], [1.5]]
    """
    lower, x = matrix.copy(), right.astype(np.float64)
    n = len(lower)
    starts = range(0, n, PANEL)
    for start in starts:
        stop = min(start + PANEL, n)
        for j in range(start, stop):
            lower[j, j] = np.sqrt(lower[j, j])
            lower[j + 1 :, j] /= lower[j, j]
            lower[j + 1 :, j + 1 : stop] -= lower[j + 1 :, j, None] * lower[j + 1 : stop, j]
        below = lower[stop:, start:stop]
        if stop < n:
            lower[stop:, stop:] -= product(below, below.T)
    for start in starts:
        stop = min(start + PANEL, n)
        for j in range(start, stop):
            x[j] /= lower[j, j]
            x[j + 1 : stop] -= lower[j + 1 : stop, j, None] * x[j]
        if stop < n:
            x[stop:] -= product(lower[stop:, start:stop], x[start:stop])
    for start in reversed(starts):
        stop = min(start + PANEL, n)
        if stop < n:
            x[start:stop] -= product(lower[stop:, start:stop].T, x[stop:])
        for j in reversed(range(start, stop)):
            x[j] /= lower[j, j]
            x[start:j] -= lower[j, start:j, None] * x[j]
    return x


def _slices(values: FloatArray, axis: int, bits: int) -> tuple[list[FloatArray], FloatArray]:
    """Whole numbers of ``bits`` bits whose sum, each 2⁻ᵇⁱᵗˢ of the one before, is the matrix over its scale (2ᵉ)."""
    exponent = np.frexp(np.abs(values).max(axis=axis, keepdims=True, initial=0))[1]
    rest = np.ldexp(values, -exponent)
    slices: list[FloatArray] = []
    while len(slices) < N_SLICE and rest.any():
        rest = np.ldexp(rest, bits)
        slices.append(np.rint(rest))
        rest = rest - slices[-1]
    return slices, np.ldexp(1.0, exponent)
