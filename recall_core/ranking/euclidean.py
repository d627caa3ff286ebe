"""The negative Euclidean distance, canonical."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyFloat, FloatArray
from .arithmetic import SUM_SLACK, UNDERFLOW, Coarse, Parts, are_small_integers, by_pairs, fold_sum, narrow, row_norms


def euclidean_pairs(query: Parts, gallery: Parts) -> FloatArray:
    """Negative Euclidean distance of row by row; larger is more alike, and nothing is positive.

    The squared distance, from direct float64 differences, is rounded to 40 significant bits, so that a few roundings
    do not tear equal distances apart; the root of a 40-bit number is injective in float64, so it neither makes nor
    breaks ties. Relative error of the squared distance: at most 2⁻⁴⁰.
    """
    (q,), (g,) = query, gallery
    difference = q.astype(np.float64) - g
    return _negative_distance(fold_sum(difference * difference))


def euclidean_coarse(parts: Parts) -> Coarse:
    """Centred at the mean, with −½‖c‖² as a further column: the product is −½ of the squared distance."""
    values = parts[0]
    centre = values.mean(axis=0, dtype=np.float64) if len(values) else np.zeros(values.shape[1])
    norms = row_norms(values, centre)
    exponent = int(np.frexp(norms.max(initial=0.0))[1])
    matrix = _with_half_squares(values, centre, exponent, norms, gallery=True)
    return Coarse(matrix, exponent, float(np.ldexp(norms.max(initial=0.0), -exponent)), centre)


def euclidean_ask(parts: Parts, coarse: Coarse) -> tuple[NDArray[np.float32], FloatArray]:
    """Slack: d + 2 for the sum, 2 for the narrowed inputs, 1 for the edges, each ·2⁻²⁴·½(‖query‖ + max ‖gallery‖)²."""
    norms = row_norms(parts[0], coarse.centre)
    matrix = _with_half_squares(parts[0], coarse.centre, coarse.exponent, norms, gallery=False)
    most = 0.5 * (np.ldexp(norms, -coarse.exponent) + coarse.reach) ** 2
    return matrix, SUM_SLACK * (parts[0].shape[1] + 7) * most + UNDERFLOW


def euclidean_scale(similarity: FloatArray, coarse: Coarse) -> tuple[FloatArray, float]:
    """A negative distance in the scale of the float32 product."""
    return -0.5 * np.ldexp(similarity, -coarse.exponent) ** 2, 1.0


def _with_half_squares(
    values: AnyFloat, centre: FloatArray, exponent: int, norms: FloatArray, *, gallery: bool
) -> NDArray[np.float32]:
    """Two further columns: (1, −½‖c‖²) on the gallery's side, (−½‖c‖², 1) on the queries'."""
    n, n_dim = values.shape
    matrix = np.ones((n, n_dim + 2), np.float32)
    matrix[:, :n_dim] = narrow(values, centre, exponent)
    matrix[:, n_dim + gallery] = -0.5 * np.ldexp(norms, -exponent) ** 2
    return matrix


def euclidean_block(query: Parts, gallery: Parts) -> FloatArray:
    """Negative distance of every row to every row: by products of whole numbers, which are exact, else pair by pair."""
    if not are_small_integers(query[0], gallery[0]):
        return by_pairs(euclidean_pairs, query, gallery)
    q, g = query[0].astype(np.float64), gallery[0].astype(np.float64)
    return _negative_distance(fold_sum(q * q)[:, None] + fold_sum(g * g) - 2 * (q @ g.T))


def _negative_distance(squared: FloatArray) -> FloatArray:
    mantissa, exponent = np.frexp(squared)
    distance: FloatArray = np.sqrt(np.ldexp(np.rint(mantissa * 2.0**40), exponent - 40))
    return 0.0 - distance
