"""The cosine, canonical: it depends on the two rows alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyFloat, FloatArray
from .arithmetic import ROWS, Coarse, Parts, Run, as_float64, fold_sum, row_slices


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

    list(run(fill, row_slices(len(values), ROWS)))
    return high, low


def cosine_pairs(query: Parts, gallery: Parts) -> FloatArray:
    """Cosine of row by row, rounded to 2⁻⁴⁰ so that mathematically equal cosines stay equal.

    Each of the three products is exact in any order of summation; their two additions are elementwise.
    Cosines further apart than 1.2e-12 (n_dim = 512) are always ordered rightly; with itself a row has exactly 1.
    """
    (qh, ql), (gh, gl) = as_float64(query), as_float64(gallery)
    return _round_cosine(np.vecdot(qh, gh), np.vecdot(qh, gl) + np.vecdot(ql, gh), qh.shape[1])


def cosine_block(query: Parts, gallery: Parts) -> FloatArray:
    """Cosine of every row with every row: three float64 matrix products, each exact on any BLAS."""
    (qh, ql), (gh, gl) = as_float64(query), as_float64(gallery)
    return _round_cosine(qh @ gh.T, qh @ gl.T + ql @ gh.T, qh.shape[1])


def cosine_coarse(parts: Parts) -> Coarse:
    """The gallery's side of the float32 product of cosines."""
    return Coarse(parts[0], 0, 1.0, np.zeros(0))


def cosine_ask(parts: Parts, coarse: Coarse) -> tuple[NDArray[np.float32], FloatArray]:
    """Slack: d·2⁻²⁴ for the sum (Σ|terms| ≤ 1), ¼√(d + 64)·2⁻²⁴ for the low parts left out, one unit for the edges.

    The further summands are reserve, so that half of it is enough below 0.99 (see ``_cosine_scale``).
    """
    high: NDArray[np.float32] = parts[0]
    n, n_dim = high.shape
    return high, np.full(n, 2.0**-24 * (n_dim + 0.5 * n_dim**0.5 + 10))


def cosine_scale(similarity: FloatArray, coarse: Coarse) -> tuple[FloatArray, FloatArray]:
    """As it is. Up to 0.99 every partial sum is at most (1 + cosine)/2 < 1, so it is rounded by 2⁻²⁵ at most: half."""
    return similarity, np.where(np.abs(similarity) <= 0.99, 0.5, 1.0)


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


def _nonzero(x: FloatArray) -> FloatArray:
    return np.where(x > 0, x, 1.0)
