"""``Score``: a numerator, a denominator, and the range under ties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Score:
    """A metric's value with what it is made of: per query a numerator and a denominator.

    The value is the ratio of the sums, so policies, pooling, slicing and resampling are one mechanism, and a query
    that was left out (denominator 0) can be counted.

    Parameters
    ----------
    name : str
        As in the report: ``recall@5``, ``map``.
    numerator, denominator : (n_query,) float64
        Denominator 0 (with numerator 0) where the query is left out.
    worst, best : (n_query,) float64
        Numerators under the least and the most favourable order of tied items.
    expected : (n_query,) float64, optional
        Mean numerator under a random order of tied items, where a closed form is known.
    """

    name: str
    numerator: FloatArray
    denominator: FloatArray
    worst: FloatArray
    best: FloatArray
    expected: FloatArray | None = None

    def __post_init__(self) -> None:
        for field in ("numerator", "denominator", "worst", "best", "expected"):
            given = getattr(self, field)
            if given is None:
                continue
            array = np.ascontiguousarray(given, dtype=np.float64).view()
            array.flags.writeable = False
            object.__setattr__(self, field, array)
            if array.shape != (self.n_query,):
                raise ValueError(f"{field} must have one entry a query, shape ({self.n_query},), got {array.shape}")

    @property
    def n_query(self) -> int:
        """Number of queries, those left out included."""
        return len(self.numerator)

    @property
    def value(self) -> float:
        """Ratio of the sums; nan where nothing can be evaluated."""
        return self._ratio(self.numerator)

    @property
    def bounds(self) -> tuple[float, float | None, float]:
        """Value with ties in the worst, a random (expected; None where unknown) and the best order."""
        expected = None if self.expected is None else self._ratio(self.expected)
        return self._ratio(self.worst), expected, self._ratio(self.best)

    @property
    def n_tied(self) -> int:
        """Number of queries whose numerator depends on the order of ties."""
        return int((self.worst != self.best).sum())

    def per_query(self) -> FloatArray:
        """(n_query,) each query's own value; nan where it is left out."""
        with np.errstate(invalid="ignore", divide="ignore"):
            values: FloatArray = np.where(self.denominator > 0, self.numerator / self.denominator, np.nan)
        return values

    def select(self, queries: ArrayLike) -> Score:
        """Keep these queries (positions or a mask): the score of a slice."""
        at = np.asarray(queries)
        expected = None if self.expected is None else self.expected[at]
        return Score(self.name, self.numerator[at], self.denominator[at], self.worst[at], self.best[at], expected)

    def __repr__(self) -> str:
        value = f"{self.value:.4f}" if self.denominator.any() else "undefined"
        ties = f", {self.n_tied} queries with ties" if self.n_tied else ""
        return f"{self.name} {value} ({self.numerator.sum():.6g} of {self.denominator.sum():.6g}{ties})"

    def _ratio(self, numerator: FloatArray) -> float:
        total = float(self.denominator.sum())
        return float(numerator.sum()) / total if total > 0 else float("nan")


def pool(scores: Sequence[Score]) -> Score:
    """Both directions as one score: the queries one after the other."""
    first = scores[0]
    known = [score.expected for score in scores if score.expected is not None]
    return Score(
        first.name,
        np.concatenate([score.numerator for score in scores]),
        np.concatenate([score.denominator for score in scores]),
        np.concatenate([score.worst for score in scores]),
        np.concatenate([score.best for score in scores]),
        np.concatenate(known) if len(known) == len(scores) else None,
    )
