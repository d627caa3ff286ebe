"""Task F2: Recall@k by hand.

Hints: ``not_a_set`` (cell, typed), ``not_in_top``, ``not_relevant``, ``missing_items`` (cell, query, k, items),
``left_out`` (cell, k: queries with nothing relevant were left out), ``item_micro``, ``item_macro`` (cell, k: items were
counted, not queries), ``wrong_number`` (cell); ``empty_cell`` (cell).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ... import metrics
from ...ranking import Ranking, Relevance, Sets, rank_scores
from .marking import Marked, Wrong, check_number, marked

# ---- F2: fill in the table -------------------------------------------------------------------------------------------

F2_LISTS = ((2, 0, 1, 3, 4), (1, 4, 0, 2, 3), (3, 2, 0, 1, 4), (0, 1, 2, 3, 4))
F2_RELEVANT = (frozenset({1}), frozenset({0, 2}), frozenset({3}), frozenset[int]())
F2_KS = (1, 2, 3)


def f2_ranking() -> Ranking:
    """Rank the gallery as task F2 lists it."""
    n = len(F2_LISTS[0])
    return rank_scores(-np.argsort(F2_LISTS, axis=1), Relevance.of(Sets.from_lists(F2_RELEVANT), n), top=n)


def f2_hits(query: int, k: int) -> frozenset[int]:
    """Top_k ∩ Rel of a query, counted from 1."""
    return frozenset(F2_LISTS[query - 1][:k]) & F2_RELEVANT[query - 1]


def f2_solution() -> dict[str, str]:
    """Solve task F2: cell → answer, for the teacher's sheet. Cells ``hits:q@k`` (q from 1) and ``recall@k``."""
    solved = {
        f"hits:{q}@{k}": "{" + ", ".join(map(str, sorted(f2_hits(q, k)))) + "}"
        for q in range(1, len(F2_LISTS) + 1)
        for k in F2_KS
    }
    for k in F2_KS:
        score = metrics.recall(f2_ranking(), k)
        solved[f"recall@{k}"] = f"{score.numerator.sum():.0f}/{score.denominator.sum():.0f}"
    return solved


def check_f2(answers: Mapping[str, str]) -> Marked:
    """Is each cell of task F2 right? Cells as in ``f2_solution``; sets like ``{0, 2}``, ``0 2``, ``{}``, ``∅``."""
    wrongs: dict[str, Wrong] = {}
    for cell in f2_solution():
        typed = answers.get(cell, "")
        where, k = cell.split("@")
        if where == "recall":
            wrongs[cell] = _f2_recall(cell, int(k), typed)
        else:
            wrongs[cell] = _f2_hits(cell, int(where.split(":")[1]), int(k), typed)
    return marked(wrongs)


def read_set(text: str) -> frozenset[int] | None:
    """Which set of positions was typed? None where it is none.

    Examples
    --------
    >>> sorted(read_set("{0; 2}")), read_set("∅"), read_set("a")
    ([0, 2], frozenset(), None)
    """
    compact = text.strip().removeprefix("{").removesuffix("}").strip()
    if compact in ("", "∅", "-", "–"):
        return frozenset() if text.strip() else None
    parts = re.split(r"[\s,;]+", compact)
    return frozenset(map(int, parts)) if all(re.fullmatch("[0-9]{1,9}", part) for part in parts) else None


def _f2_hits(cell: str, query: int, k: int, typed: str) -> Wrong:
    if not typed.strip():
        return "empty_cell", {"cell": cell}
    given, right = read_set(typed), f2_hits(query, k)
    if given is None:
        return "not_a_set", {"cell": cell, "typed": typed}
    listed = frozenset(F2_LISTS[query - 1][:k])
    for hint, items in (
        ("not_in_top", given - listed),
        ("not_relevant", given - F2_RELEVANT[query - 1]),
        ("missing_items", right - given),
    ):
        if items:
            return hint, {"cell": cell, "query": query, "k": k, "items": sorted(items)}
    return None


def _f2_recall(cell: str, k: int, typed: str) -> Wrong:
    ranking = f2_ranking()
    wrong = check_number(cell, typed, metrics.recall(ranking, k).value)
    if wrong is None or wrong[0] != "wrong_number":
        return wrong
    for hint, misread in (
        ("left_out", metrics.recall_evaluable(ranking, k)),
        ("item_micro", metrics.item_recall(ranking, k)),
        ("item_macro", metrics.item_recall_macro(ranking, k)),
    ):
        if check_number(cell, typed, misread.value) is None:
            return hint, {"cell": cell, "k": k}
    return wrong
