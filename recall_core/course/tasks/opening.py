"""The opening question: which ranks have this mean?

Hints: ``unique`` (one ranking is not all), ``not_admissible`` (which, problem, …), ``same_recall`` (both rankings have
the same R@1 and R@3); ``empty_cell`` (cell). Problems of ranks: ``how_many`` (n, n_query), ``not_a_rank`` (place,
typed), ``out_of_range`` (place, rank), ``mean`` (mean, wanted).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .marking import Marked, Wrong, marked

# ---- the opening question: mean rank 4, 30 queries, 30 gallery items: what is R@1, R@3? ------------------------------

OPENING_MEAN, OPENING_N = 4, 30


@dataclass(frozen=True)
class Ranks:
    """Ranks that somebody proposes, and what they make of R@k.

    Parameters
    ----------
    problem : str
        Why they are not admissible, empty if they are; with ``parameters``.
    recall : mapping of k to value
        R@1 and R@3; empty where not admissible.
    """

    problem: str
    parameters: Mapping[str, Any]
    recall: Mapping[int, float]


def propose_ranks(typed: Sequence[object] | str, *, n: int = OPENING_N, mean: int = OPENING_MEAN) -> Ranks:
    """Are these ranks of n queries among n items with this mean, and what are then R@1 and R@3?

    Parameters
    ----------
    typed : text or sequence
        Whole numbers, in text parted by spaces, commas or semicolons; ``26*1`` stands for 26 ones.
    """
    words = re.split(r"[\s,;]+", typed.strip()) if isinstance(typed, str) else list(map(str, typed))
    ranks: list[int] = []
    for place, word in enumerate(filter(None, words), 1):
        many = re.fullmatch(r"(?:([0-9]{1,3})[*×·])?([0-9]{1,9})", word)
        if not many:
            return Ranks("not_a_rank", {"place": place, "typed": word}, {})
        ranks += [int(many[2])] * int(many[1] or 1)
        if len(ranks) > 100 * n:
            break
    if len(ranks) != n:
        return Ranks("how_many", {"n": len(ranks), "n_query": n}, {})
    outside = next((place for place, rank in enumerate(ranks, 1) if not 1 <= rank <= n), None)
    if outside is not None:
        return Ranks("out_of_range", {"place": outside, "rank": ranks[outside - 1]}, {})
    if sum(ranks) != mean * n:
        return Ranks("mean", {"mean": sum(ranks) / n, "wanted": mean}, {})
    return Ranks("", {}, {k: sum(rank <= k for rank in ranks) / n for k in (1, 3)})


def extreme_ranks(k: int, *, n: int = OPENING_N, mean: int = OPENING_MEAN) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Which ranks of n queries among n items with this mean have the fewest, and which the most, within the first k?

    h hits are possible just if the sum lies between h·1 + (n − h)·(k + 1) and h·k + (n − h)·n; the misses then take the
    sum up from the last one on.
    """
    total = mean * n
    k = min(k, n)
    possible = [h for h in range(n + 1) if h + (n - h) * (k + 1) <= total <= h * k + (n - h) * n and (k < n or h == n)]
    if not possible:
        raise ValueError(f"{n} ranks of at most {n} cannot have the mean {mean}")
    return _with_hits(min(possible), k, n, total), _with_hits(max(possible), k, n, total)


def _with_hits(hits: int, k: int, n: int, total: int) -> tuple[int, ...]:
    """Ranks with so many hits and this sum, in ascending order."""
    ranks = [1] * hits + [k + 1] * (n - hits)
    left = total - sum(ranks)
    for i in reversed(range(n)):
        more = min(left, (k if i < hits else n) - ranks[i])
        ranks[i] += more
        left -= more
    return tuple(sorted(ranks))


def check_opening(answer: str, one: Sequence[object] | str, other: Sequence[object] | str) -> Marked:
    """Does the mean rank say what R@1 and R@3 are? Cells ``answer`` (``no_unique_answer``), ``one``, ``other``.

    The two rankings must have the mean and differ in R@1 or R@3: they are the proof.
    """
    wrongs: dict[str, Wrong] = {"answer": None if answer == "no_unique_answer" else ("unique", {})}
    if not answer:
        wrongs["answer"] = ("empty_cell", {"cell": "answer"})
    proposed = {"one": propose_ranks(one), "other": propose_ranks(other)}
    for which, ranks in proposed.items():
        problem = {"which": which, "problem": ranks.problem, **ranks.parameters}
        wrongs[which] = ("not_admissible", problem) if ranks.problem else None
    if not wrongs["one"] and not wrongs["other"] and proposed["one"].recall == proposed["other"].recall:
        wrongs["other"] = ("same_recall", {})
    return marked(wrongs)
