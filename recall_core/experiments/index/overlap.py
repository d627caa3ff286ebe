"""How far does an approximate list agree with the exact one?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ... import metrics
from ...arrays import FloatArray
from ...ranking import Ranking


def overlap(ranking: Ranking, exact: Ranking, k: int) -> FloatArray:
    """(n_query,) which share of the exact first k is among the first k? nan where the exact list is empty."""
    width = int(max(ranking.top_position.max(initial=0), exact.top_position.max(initial=0))) + 1
    owner = np.arange(exact.n_query)[:, None] * width
    mine, right = ranking.top_position[:, :k], exact.top_position[:, :k]
    shared = (right >= 0) & np.isin(owner + right, (owner + mine)[mine >= 0])
    size = (right >= 0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        share: FloatArray = shared.sum(axis=1) / np.where(size > 0, size, np.nan)
    return share


OUTCOMES = ("both", "not_returned", "worse_rank", "index_only", "neither")


def outcomes(own: Ranking, exact: Ranking, k: int) -> NDArray[np.object_]:
    """What became of each query at a cut, in the index's own order?

    Returns
    -------
    (n_query,) text
        ``both``: a relevant item is among the first k of both; ``not_returned``: only of the exact list, and the index
        returned nothing relevant at all; ``worse_rank``: only of the exact list, but the index returned something
        relevant further down; ``index_only``: only of the index's list, since it left out what stood before it;
        ``neither``: of no list, so the representation misses.
    """
    first, right = metrics.first_hit(own), metrics.first_hit(exact)
    found, should = (first > 0) & (first <= k), (right > 0) & (right <= k)
    result = np.full(own.n_query, "neither", dtype=object)
    result[found & should], result[found & ~should] = "both", "index_only"
    result[should & ~found] = np.where(first > 0, "worse_rank", "not_returned")[should & ~found]
    return result
