"""What the steps of the lesson compute that nothing else does: small, live, through the engine.

Whatever a spec can spell is a spec here, so that the command line prints the numbers that the lesson shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import metrics, protocol
from ..arrays import FloatArray, IntArray
from ..datasets import Dataset
from ..errors import DataError
from ..evaluation import Evaluation
from ..experiments.leakage import needed
from ..metrics import Interval, NoRelevant, bootstrap_interval, wilson_interval
from ..protocol import Spec, Split, make_filter
from ..ranking import Ranking, Relevance, Sets, exact_block, prepare, rank_scores

HAND_QUERY = ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5))
HAND_GALLERY = ((1.0, 3.4), (3.4, 1.1), (1.6, 1.8))
MAX_SHOWN = 200


@dataclass(frozen=True, eq=False)
class HandExample:
    """A ranking small enough to be worked out by hand; query i is right with gallery item i.

    Parameters
    ----------
    similarity : (n, n) float64
        Rows are queries.
    order : (n, n) intp
        Gallery positions, best first, ties by position.
    ranks : (n,) intp
        Of each query's own item.
    ranking : Ranking
        The same as a record: for ties, and for ``definitions.rows``.
    recall, mean_average_precision : mapping of k to value
    average_precision : mapping of k to (n,) float64
    """

    similarity: FloatArray
    order: IntArray
    ranks: IntArray
    ranking: Ranking
    recall: Mapping[int, float]
    mean_average_precision: Mapping[int, float]
    average_precision: Mapping[int, FloatArray]


def hand_example(
    query: ArrayLike = HAND_QUERY,
    gallery: ArrayLike = HAND_GALLERY,
    *,
    similarity: str = "dot",
    ks: Sequence[int] = (1, 2, 3, 5),
) -> HandExample:
    """Where does each query's own item stand, and what is R@k, by these vectors?

    Parameters
    ----------
    query, gallery : (n, n_dim) arrays
        The course's by default. For the other direction, give them the other way round.
    similarity : str
        ``dot``, ``cosine`` or ``euclidean``.
    ks : sequence of int

    Raises
    ------
    DataError
        As many queries as gallery items are needed, of one width, of finite numbers.
    """
    asked, answers = prepare(query, similarity, name="query vectors"), prepare(gallery, similarity, name="gallery")
    n = len(asked)
    if len(answers) != n or asked.n_dim != answers.n_dim:
        raise DataError(
            f"{n} queries of {asked.n_dim} numbers, {len(answers)} gallery items of {answers.n_dim}: query i is right "
            "with item i, so both need as many"
        )
    block = exact_block(asked, answers)
    own = np.arange(n)
    ranked = rank_scores(block, Relevance.of(Sets(own, np.arange(n + 1), own), n), top=n)
    precision = {k: metrics.average_precision(ranked, k) for k in ks}
    return HandExample(
        block,
        ranked.top_position,
        ranked.rank,
        ranked,
        MappingProxyType({k: metrics.recall(ranked, k).value for k in ks}),
        MappingProxyType({k: score.value for k, score in precision.items()}),
        MappingProxyType({k: score.per_query() for k, score in precision.items()}),
    )


@dataclass(frozen=True, eq=False)
class RelevanceMatrix:
    """Who is right for whom, as a picture: small splits only.

    Parameters
    ----------
    split : Split
        Rows of the table behind the rows and columns of the picture.
    cells : (n_query, n_gallery) int8
        1 relevant, 0 not, −1 junk.
    """

    split: Split
    cells: NDArray[np.int8]

    @property
    def n_relevant(self) -> IntArray:
        """(n_query,) the denominators that item-level recall has."""
        counts: IntArray = (self.cells == 1).sum(axis=1)
        return counts

    @property
    def n_pair(self) -> int:
        """Relevant pairs of all queries together."""
        return int(self.n_relevant.sum())

    @property
    def most_relevant(self) -> int:
        """Relevant items of the query that has the most."""
        return int(self.n_relevant.max(initial=0))


def relevance_matrix(dataset: Dataset, spec: Spec | None = None, *, relevant: str | None = None) -> RelevanceMatrix:
    """Which pairs of a split are right under a rule, for a picture of its first direction?

    Parameters
    ----------
    dataset : Dataset
    spec : Spec, optional
        The split and the junk; the data's own by default.
    relevant : str, optional
        Role (``group``: the scene, ``label``: the class) or column that decides, instead of the spec's.

    Raises
    ------
    DataError
        No such column, or more than ``MAX_SHOWN`` queries or gallery items.
    """
    given = spec or Spec(data=dataset.name)
    if relevant is not None:
        given = given.replace(relevant=dataset.columns.get(relevant, relevant), relevant_pairs=None)
    resolved = protocol.resolve(dataset, given)
    split = protocol.directions(dataset, resolved)[0]
    n_query, n_gallery = len(split.query), len(split.gallery)
    if max(n_query, n_gallery) > MAX_SHOWN:
        raise DataError(f"{n_query} × {n_gallery} pairs are too many for a picture; at most {MAX_SHOWN} a side")
    relevance = protocol.relate(dataset, resolved, split)
    cells = np.zeros((n_query, n_gallery), np.int8)
    for q in range(n_query):
        cells[q, relevance.relevant.of(q)] = 1
        cells[q, relevance.junk.of(q)] = -1
    return RelevanceMatrix(split, cells)


def uneven_gallery(dataset: Dataset, sizes: Sequence[int] = (10, 5, 2)) -> Spec:
    """Spell the lab's example in which classes have galleries of different sizes, so that |Rel| varies.

    The first view asks. The second answers with the first ``sizes[c]`` groups of class c, classes and groups in the
    order of the groups' names. An item of the same class is right; the own group is kept.

    Raises
    ------
    DataError
        There are no groups, classes or two views, or another number of classes than sizes.
    """
    group, label, view = (needed(dataset, role) for role in ("group", "label", "view"))
    split = protocol.directions(dataset, protocol.resolve(dataset, Spec(data=dataset.name, split="by-view")))[0]
    classes = list(dict.fromkeys(label[split.gallery]))
    if len(classes) != len(sizes):
        raise DataError(f"{len(sizes)} sizes for {len(classes)} classes: {', '.join(classes)}; give one a class")
    kept = []
    for name, size in zip(classes, sizes, strict=True):
        kept += list(group[split.gallery[label[split.gallery] == name]][:size])
    columns = dataset.columns
    one, other = (view[side[0]] for side in (split.query, split.gallery))
    return Spec(
        data=dataset.name,
        query=make_filter([(columns["view"], one)]),
        gallery=make_filter([(columns["view"], other), *((columns["group"], name) for name in kept)]),
        relevant=columns["label"],
    )


@dataclass(frozen=True)
class Levels:
    """R@k at both levels, with what each is divided by.

    Parameters
    ----------
    k : int
    query : float
        Share of queries that find something relevant: ``hit_queries / n_query``.
    micro : float
        Share of all relevant items that are found: ``hits / n_relevant``.
    macro : float
        Share that a query finds, averaged over the ``n_evaluable`` queries that have something to find.
    """

    k: int
    query: float
    hit_queries: int
    n_query: int
    micro: float
    hits: int
    n_relevant: int
    macro: float
    n_evaluable: int


def levels(evaluation: Evaluation) -> tuple[Levels, ...]:
    """How do query-level and item-level R@k differ, at each k of the spec? Equal where |Rel| = 1 for every query.

    The scores of the report: ``recall@k``, ``item_recall@k``, ``item_recall_macro@k``.
    """
    found = []
    for k in evaluation.spec.ks:
        query, micro, macro = (
            evaluation.scores[f"{name}@{k}"] for name in ("recall", "item_recall", "item_recall_macro")
        )
        found.append(
            Levels(
                k,
                query.value,
                round(query.numerator),
                round(query.denominator),
                micro.value,
                round(micro.numerator),
                round(micro.denominator),
                macro.value,
                round(macro.denominator),
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class Resampled:
    """One score with intervals by two units.

    Parameters
    ----------
    value : float
    by_group, by_query : Interval or None
        Bootstrap with whole groups, and with single queries, drawn anew. Queries of one group rise and fall together,
        so the second is too narrow: it counts a group as often as it asks. None where all agree, as when every query
        hits: each resample then repeats the same value.
    wilson : Interval or None
        By groups; of a width even where all agree. None where fewer than 2 groups have anything to evaluate.
    n_group, n_query : int
    """

    value: float
    by_group: Interval | None
    by_query: Interval | None
    wilson: Interval | None
    n_group: int
    n_query: int

    @property
    def width_ratio(self) -> float:
        """Width by query over width by group; nan where there is no such interval."""
        if self.by_group is None or self.by_query is None:
            return float("nan")
        return (self.by_query.high - self.by_query.low) / (self.by_group.high - self.by_group.low)


def resampled(evaluation: Evaluation, k: int) -> Resampled:
    """How much narrower does the interval of R@k get if queries are resampled as if they were independent?

    Raises
    ------
    DataError
        There is no group column.
    """
    needed(evaluation.dataset, "group")
    policy: NoRelevant = "exclude" if evaluation.spec.no_relevant == "exclude" else "miss"
    score = metrics.pool([metrics.recall(d.ranking, k, no_relevant=policy) for d in evaluation.directions])
    unit = protocol.units(evaluation.table["group"].to_numpy(dtype=object))
    return Resampled(
        score.value,
        bootstrap_interval(score, unit),
        bootstrap_interval(score, np.arange(score.n_query)),
        wilson_interval(score, unit),
        len(set(unit.tolist())),
        score.n_query,
    )
