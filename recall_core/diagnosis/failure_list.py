"""Which queries miss, the worst first, and why: the list that a person works through."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import protocol
from ..arrays import IntArray
from ..datasets import Dataset
from ..errors import DataError
from ..evaluation import Direction, Evaluation, best_wrong
from ..images import Pictures, perceptual_hash
from ..protocol import NO_RELEVANT_REASONS as NOTHING_RELEVANT
from ..protocol import Filter
from .duplicates import NEAR_COSINE, NEAR_DISTANCE
from .neighbours import intrusions

DEEP = 10
"""A first relevant item beyond rank ``DEEP`` × k is deep."""

N_RIGHT = 4
"""The best wrong answer is compared with so many of the query's relevant items, the best ones first."""

SMALL = 64
"""Pictures are compared after they were decoded no finer than needed for this size."""

MISS_REASONS = {
    **{name: f"nothing is relevant: {why}" for name, why in NOTHING_RELEVANT.items()},
    "not_retrieved": "no relevant item was retrieved",
    "near_duplicate": "the best wrong match is nearly the same image (without images: vector) as a relevant one",
    "tie": "a relevant item is exactly as similar as one of the first k, and stands behind it",
    "close": f"the first relevant item stands after k, but not beyond {DEEP} times k",
    "deep": f"the first relevant item stands beyond {DEEP} times k",
}
"""Why a query misses: reason → words. A query may have several."""

SORTS = ("rank", "ap", "margin")
"""What the list is sorted by, the worst first."""

Alike = Callable[[int, int], bool]
"""Are these two rows of the table nearly the same picture?"""


def failures(
    evaluation: Evaluation,
    k: int,
    *,
    where: Filter = (),
    reasons: Collection[str] = (),
    sort: str = "rank",
    alike: Alike | None = None,
) -> pd.DataFrame:
    """Which queries miss at k, the worst first?

    Their number, without filters, is the denominator less the numerator of R@k: a query with nothing relevant is a
    failure under the policy ``miss``, and left out under ``exclude``.

    Parameters
    ----------
    evaluation : Evaluation
    k : int
    where : Filter
        On the queries' cells in the data set's table, as for ``protocol.select_rows``.
    reasons : collection of str
        Keys of ``REASONS``; a query is kept if it has one of them. Empty: all are kept.
    sort : str
        ``rank`` (of the first relevant item, deepest first), ``ap`` (lowest first) or ``margin`` (best relevant less
        best other similarity, lowest first). What was not retrieved comes first, queries with nothing relevant last.
        Equal ones follow rank, then margin, then the order of the queries.
    alike : callable, optional
        From ``comparer``; made here if not given. Asked only if ``near_duplicate`` is among the reasons.

    Returns
    -------
    DataFrame
        Columns ``direction``, ``query`` (position in the direction), ``row`` (in the table), ``id``, ``group`` and
        ``label`` where there are such, ``n_relevant``, ``n_gallery``, ``first_rank`` (0: found none), ``n_tied``,
        ``right_id``, ``right_similarity``, ``wrong_id``, ``wrong_similarity``, ``margin``, ``ap`` (nan: left out), and
        ``reasons``, separated by spaces. ``near_duplicate`` is among them only if it was asked for: see ``compare``.

    Raises
    ------
    DataError
        k below 1, an unknown reason or sort, a condition that names what is not there, or near-duplicates asked for
        where there is nothing to compare.
    """
    _check(k, reasons, sort)
    table = evaluation.table
    hit = (table["first_rank"] > 0) & (table["first_rank"] <= k)
    counted = (table["n_relevant"] > 0) | (evaluation.spec.no_relevant == "miss")
    keep = ~hit & counted
    if where:
        keep &= table["row"].isin(protocol.select_rows(evaluation.dataset, where))
    found = table.loc[keep].rename(columns={"map": "ap"})
    found["reasons"] = _reasons(found, _above(evaluation)[keep], k)
    found = found[[column for column in COLUMNS if column in found]]
    if "near_duplicate" in reasons:
        found = compare_misses(evaluation, found, alike)
    if reasons:
        found = found[np.array([not set(reasons).isdisjoint(row.split()) for row in found["reasons"]], dtype=bool)]
    return found.iloc[_order(found, sort)].reset_index(drop=True)


COLUMNS = (
    *("direction", "query", "row", "id", "group", "label", "n_relevant", "n_gallery", "first_rank", "n_tied"),
    *("right_id", "right_similarity", "wrong_id", "wrong_similarity", "margin", "ap", "reasons"),
)


def failure_table(
    evaluation: Evaluation, found: pd.DataFrame, alike: Alike | None = None, *, where: Filter = ()
) -> pd.DataFrame:
    """The failures as a file holds them: what ``failures`` found, completed.

    Parameters
    ----------
    where : Filter
        As ``failures`` was asked: intrusions on these queries alone are counted, as in an evaluation of that slice.

    Returns
    -------
    DataFrame
        The same, near-duplicates compared wherever they can be, and ``wrong_intrudes_on`` beside ``wrong_similarity``:
        on how many queries of the direction the best wrong answer intrudes (see ``neighbours.intrusions``), of
        ``wrong_exposed_to`` on which it can; 0 where there is none. Ids name the queries, so ``query`` is left out.
    """
    if alike is None:
        alike = comparer(evaluation)
    whole = (found if alike is None else compare_misses(evaluation, found, alike)).drop(columns="query")
    place = whole.columns.tolist().index("wrong_similarity") + 1
    count, exposed = _intrude_on(evaluation, found, where)
    whole.insert(place, "wrong_intrudes_on", count)
    whole.insert(place + 1, "wrong_exposed_to", exposed)
    return whole


def _intrude_on(evaluation: Evaluation, found: pd.DataFrame, where: Filter) -> tuple[IntArray, IntArray]:
    """(n_found,) on how many queries does each best wrong answer intrude, and on how many can it?"""
    counts, exposed = np.zeros((2, len(found)), np.intp)
    asking = protocol.select_rows(evaluation.dataset, where)
    for direction in evaluation.directions:
        here = np.flatnonzero(found["direction"] == direction.name)
        wrong = best_wrong(direction.ranking)[0][found["query"].to_numpy()[here]]
        all_of_them = intrusions(direction, np.isin(direction.split.query, asking))
        exposed[here] = np.append(all_of_them.exposed, 0)[wrong]
        counts[here] = np.append(all_of_them.count, 0)[wrong]
    return counts, exposed


def compare_misses(evaluation: Evaluation, found: pd.DataFrame, alike: Alike | None = None) -> pd.DataFrame:
    """Whose best wrong answer is nearly the same picture as a relevant one?

    Parameters
    ----------
    found : DataFrame
        From ``failures``, or some of its rows.

    Returns
    -------
    DataFrame
        The same, with ``near_duplicate`` among the reasons where it is one. ``N_RIGHT`` relevant items are looked at.

    Raises
    ------
    DataError
        There is nothing to compare.
    """
    alike = alike or comparer(evaluation)
    if alike is None:
        raise DataError("near-duplicates cannot be told: there are neither pictures nor the data set's own vectors")
    directions = {direction.name: direction for direction in evaluation.directions}
    marked = []
    for name, query, reasons in zip(found["direction"], found["query"], found["reasons"], strict=True):
        wrong, right = best(directions[name], query)
        twin = wrong is not None and any(alike(wrong, one) for one in right)
        had = [reason for reason in reasons.split() if reason != "near_duplicate"]
        marked.append(
            " ".join(reason for reason in MISS_REASONS if reason in had or (twin and reason == "near_duplicate"))
        )
    return found.assign(reasons=pd.Series(marked, index=found.index, dtype=object))


def comparer(evaluation: Evaluation) -> Alike | None:
    """Give what tells whether two rows are nearly the same picture; None where there is nothing to compare.

    Pictures are compared by their perceptual hashes, whatever the encoder: an encoder that takes everything for the
    same must not call everything a duplicate. Without pictures, the data set's own vectors are compared by cosine.
    What was seen of a picture is remembered, so keep the comparer for as long as there is something to compare.
    """
    dataset, name = evaluation.dataset, evaluation.spec.embeddings
    if dataset.pictures is not None:
        return by_hash(dataset.pictures)
    return _by_cosine(dataset, name) if name is not None and name in dataset.embeddings else None


def by_hash(pictures: Pictures) -> Alike:
    """Compare pictures by perceptual hash; what cannot be read, or is too even, is like nothing."""

    @lru_cache(maxsize=1_000_000)
    def code(row: int) -> np.uint64 | None:
        try:
            bits, means_something = perceptual_hash(pictures.preview(row, SMALL))
        except DataError:
            return None
        return bits if means_something else None

    def alike(one: int, other: int) -> bool:
        first, second = code(one), code(other)
        return first is not None and second is not None and int(np.bitwise_count(first ^ second)) <= NEAR_DISTANCE

    return alike


def position(found: pd.DataFrame, direction: str, query: int) -> int:
    """At which place of the list, 1-based, does this query stand? 0: nowhere."""
    at = np.flatnonzero((found["direction"] == direction) & (found["query"] == query))
    return int(at[0]) + 1 if len(at) else 0


def count_reasons(found: pd.DataFrame) -> dict[str, int]:
    """How many have each reason? Those that nobody has are left out; a query with two counts twice."""
    given = [reason for reasons in found["reasons"] for reason in reasons.split()]
    return {reason: given.count(reason) for reason in MISS_REASONS if reason in given}


def count_values(dataset: Dataset, found: pd.DataFrame, column: str) -> dict[str, int]:
    """How many queries of the list have each value of a column of the data set's table? The most frequent first."""
    counts = pd.Series(dataset.values(column)[found["row"].to_numpy()]).value_counts()
    return {str(value): int(n) for value, n in counts.items()}


def precision_terms(direction: Direction, query: int) -> list[tuple[int, int]]:
    """What is a query's AP made of? AP is the mean of i / rank over its relevant items, i the first, second, ….

    Returns
    -------
    list of (i, rank)
        Ascending; what was not retrieved adds 0 and is left out, but is counted in the mean.
    """
    ranked = direction.ranking
    ranks = ranked.rank[ranked.indptr[query] : ranked.indptr[query + 1]]
    return [(i + 1, int(rank)) for i, rank in enumerate(ranks[ranks > 0])]


def right_answers(evaluation: Evaluation, direction: Direction, query: int, k: int) -> pd.DataFrame:
    """Where does each relevant item of a query stand?

    Returns
    -------
    DataFrame
        Columns ``id``, ``rank`` (missing where it was not retrieved), ``similarity``, ``tied`` (other gallery items
        exactly as similar) and ``hit`` (rank ≤ k); the best first.
    """
    ranked = direction.ranking
    pairs = slice(ranked.indptr[query], ranked.indptr[query + 1])
    rank = ranked.rank[pairs]
    found = rank > 0
    return pd.DataFrame(
        {
            "id": evaluation.dataset.ids[direction.split.gallery[ranked.position[pairs]]],
            "rank": pd.Series(rank, dtype="Int64").where(pd.Series(found)),
            "similarity": ranked.similarity[pairs],
            "tied": pd.Series(ranked.tied[pairs], dtype="Int64").where(pd.Series(found)),
            "hit": found & (rank <= k),
        }
    )


def range_under_ties(direction: Direction, query: int) -> tuple[float, float]:
    """Between which values does a query's AP lie, over all orders of equally similar items? nan: left out."""
    score = direction.scores["map"].score
    if not score.denominator[query]:
        return float("nan"), float("nan")
    return float(score.worst[query] / score.denominator[query]), float(score.best[query] / score.denominator[query])


def _check(k: int, reasons: Collection[str], sort: str) -> None:
    if k < 1:
        raise DataError(f"k is {k}; a query can miss at a whole number of at least 1")
    for reason in reasons:
        if reason not in MISS_REASONS:
            raise DataError(f"there is no reason {reason!r}; choose among {', '.join(MISS_REASONS)}")
    if sort not in SORTS:
        raise DataError(f"failures cannot be sorted by {sort!r}; choose one of {', '.join(SORTS)}")


def _above(evaluation: Evaluation) -> IntArray:
    """(n_query,) how many items stand strictly above the best relevant one; −1 where none was retrieved."""
    parts = []
    for direction in evaluation.directions:
        ranked = direction.ranking
        first = np.minimum(ranked.indptr[:-1], len(ranked.above))
        parts.append(np.where(ranked.n_relevant > 0, np.append(ranked.above, -1)[first], -1))
    return np.concatenate(parts).astype(np.intp)


def _reasons(found: pd.DataFrame, above: IntArray, k: int) -> list[str]:
    rank, relevant = found["first_rank"].to_numpy(), found["n_relevant"].to_numpy() > 0
    has: dict[str, NDArray[np.bool_]] = {name: (found["reason"] == name).to_numpy() for name in NOTHING_RELEVANT}
    has["not_retrieved"] = relevant & (rank == 0)
    has["tie"] = (rank > 0) & (above >= 0) & (above < k)
    has["close"] = (rank > 0) & (rank <= DEEP * k)
    has["deep"] = rank > DEEP * k
    flags = [(name, has[name].tolist()) for name in MISS_REASONS if name in has]
    return [" ".join(name for name, flag in flags if flag[i]) for i in range(len(found))]


def _order(found: pd.DataFrame, sort: str) -> IntArray:
    rank = found["first_rank"].to_numpy(np.float64)
    rank = -np.where(rank == 0, np.inf, rank)
    margin = np.nan_to_num(found["margin"].to_numpy(), nan=-np.inf, posinf=np.inf)
    by = {"rank": rank, "ap": np.nan_to_num(found["ap"].to_numpy(), nan=0.0), "margin": margin}[sort]
    nothing = found["n_relevant"].to_numpy() == 0
    order: IntArray = np.lexsort((margin, rank, by, nothing))
    return order


def best(direction: Direction, query: int) -> tuple[int | None, list[int]]:
    """Which rows of the table are a query's best wrong answer (None: there is none), and its first relevant items?"""
    ranked, gallery = direction.ranking, direction.split.gallery
    right = ranked.position[ranked.indptr[query] : ranked.indptr[query + 1]]
    top = ranked.top_position[query]
    wrong = top[(top >= 0) & ~np.isin(top, right)]
    return (int(gallery[wrong[0]]) if len(wrong) else None), [int(row) for row in gallery[right[:N_RIGHT]]]


def _by_cosine(dataset: Dataset, name: str) -> Alike:
    def alike(one: int, other: int) -> bool:
        first, second = dataset.embeddings[name][[one, other]].astype(np.float64)
        lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
        return lengths > 0 and float(first @ second) >= NEAR_COSINE * lengths

    return alike
