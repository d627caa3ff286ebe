"""One row a query: what it found, and at which rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import metrics, protocol
from ..arrays import IntArray
from ..datasets import Dataset
from ..protocol import Spec
from ..ranking import Ranking
from .record import Direction


def query_table(dataset: Dataset, spec: Spec, direction: Direction) -> pd.DataFrame:
    """What happened to each query?

    Columns
    -------
    direction, query (position in the direction), row (in the table), id, group, label,
    n_relevant, n_gallery, first_rank (0: found none), n_tied (gallery items as similar as the best relevant one),
    right_id, right_similarity (the best-ranked relevant item), wrong_id, wrong_similarity (the best-ranked other item),
    margin (right − wrong: below 0 where a wrong item stands first), reason (why nothing is relevant), and the
    query's own value of each score, nan where it is left out.
    """
    split, ranked = direction.split, direction.ranking
    first, has = ranked.indptr[:-1], ranked.n_relevant > 0
    has &= np.append(ranked.rank, 0)[np.minimum(first, len(ranked.rank))] > 0
    at = first[has]
    right, right_similarity = np.full(ranked.n_query, -1, np.intp), np.full(ranked.n_query, np.nan)
    right[has], right_similarity[has] = ranked.position[at], ranked.similarity[at]
    n_tied = np.zeros(ranked.n_query, np.intp)
    n_tied[has] = ranked.tied[at]
    wrong, wrong_similarity = best_wrong(ranked)
    ids = np.append(dataset.ids, "")
    gallery = np.append(split.gallery, len(dataset))
    value = None if spec.relevant is None else dataset.values(spec.relevant, field="relevant")
    columns: dict[str, Any] = {
        "direction": direction.name,
        "query": np.arange(ranked.n_query),
        "row": split.query,
        "id": dataset.ids[split.query],
    }
    for role in ("group", "label"):
        cells = dataset.role(role)
        if cells is not None:
            columns[role] = cells[split.query]
    columns |= {
        "n_relevant": ranked.n_relevant,
        "n_gallery": ranked.n_gallery,
        "first_rank": metrics.first_hit(ranked),
        "n_tied": n_tied,
        "right_id": ids[gallery[right]],
        "right_similarity": right_similarity,
        "wrong_id": ids[gallery[wrong]],
        "wrong_similarity": wrong_similarity,
        "margin": right_similarity - wrong_similarity,
        "reason": protocol.reasons_without_relevant(split, direction.relevance, value),
    }
    return pd.DataFrame(columns | {name: e.score.per_query() for name, e in direction.scores.items()})


def best_wrong(ranked: Ranking) -> tuple[IntArray, NDArray[np.float64]]:
    """Which item that is not relevant stands highest in each list?

    Returns
    -------
    position : (n_query,) intp
        −1 where the kept part of the list (``ranked.depth``) holds relevant items only, or nothing.
    similarity : (n_query,) float64
    """
    wrong = wrong_places(ranked, ranked.depth)
    at = wrong.argmax(axis=1) if ranked.depth else np.zeros(ranked.n_query, np.intp)
    rows = np.arange(ranked.n_query)
    if not ranked.depth:
        return np.full(ranked.n_query, -1, np.intp), np.full(ranked.n_query, np.nan)
    found = wrong[rows, at]
    return (
        np.where(found, ranked.top_position[rows, at], -1),
        np.where(found, ranked.top_similarity[rows, at], np.nan),
    )


def wrong_places(ranked: Ranking, k: int) -> NDArray[np.bool_]:
    """(n_query, k) at which of the first k places does an item stand that is not relevant? k at most ``depth``."""
    top = ranked.top_position[:, :k]
    width = max(int(top.max(initial=0)), int(ranked.position.max(initial=0))) + 1
    keys = np.arange(ranked.n_query)[:, None] * width + top
    wrong: NDArray[np.bool_] = (top >= 0) & ~np.isin(keys, ranked.query * width + ranked.position)
    return wrong
