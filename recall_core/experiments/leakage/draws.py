"""A random half asks the other half: how many queries lose their partner, and what does R@k become?

One seed at a time, and a seed's result depends on nothing but the seed: the first 50 of 200 seeds are the 50 seeds. A
distribution over seeds speaks of other draws from *these* images, not of other images.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ... import images, metrics, protocol, ranking
from ...arrays import Array, FloatArray, IntArray, Text
from ...datasets import MISSING, Dataset
from ...errors import DataError, setting
from ...metrics import Score
from ...protocol import Spec, Split
from ...ranking import Relevance, Vectors, exact_block, prepare

MATRIX_ROWS = 2000
COURSE_STATE = 42


@dataclass(frozen=True, eq=False)
class Compared:
    """Rows compared once, so that ranking some of them against others is a matter of milliseconds.

    Parameters
    ----------
    vectors : Vectors
    similarity : (n, n) float64 or None
        Of all pairs; None beyond ``MATRIX_ROWS`` rows, where each ranking computes its own.
    """

    vectors: Vectors
    similarity: FloatArray | None

    @classmethod
    def of(cls, vectors: ArrayLike, similarity: str = "cosine") -> Self:
        """Compare all rows with each other."""
        ready = prepare(vectors, similarity)
        return cls(ready, exact_block(ready, ready) if len(ready) <= MATRIX_ROWS else None)

    def rank(self, query: IntArray, gallery: IntArray, relevance: Relevance) -> ranking.Ranking:
        """Rank these rows against those, as the engine does."""
        if self.similarity is not None:
            return ranking.rank_scores(self.block(query, gallery), relevance, top=0)
        asked, answers = self.vectors.take(query), self.vectors.take(gallery)
        found = ranking.rank(asked, answers, relevance, top=0, similarity=self.vectors.similarity)
        return ranking.without_answers(found, asked.without_direction())

    def block(self, query: IntArray, gallery: IntArray) -> FloatArray:
        """(n_query, n_gallery) similarities of these rows to those; a copy. nan where a query has no cosine."""
        asked = self.vectors.take(query)
        if self.similarity is not None:
            made = self.similarity[np.ix_(query, gallery)]
        else:
            made = exact_block(asked, self.vectors.take(gallery))
        made[asked.without_direction()] = np.nan
        return made


@dataclass(frozen=True, eq=False)
class Halves:
    """What every draw of one data set has in common, made once by ``halves``.

    Parameters
    ----------
    dataset : Dataset
    given : Spec
        As it was asked for, without a split.
    spec : Spec
        Resolved, with ``split="random"``.
    paired : Spec
        The same with the split that parts no group: by-view where there are two views, else grouped.
    rows, left_out : (n,) intp
        Rows that take part, ascending; those without a usable vector do not.
    compared : Compared
        These rows.
    """

    dataset: Dataset
    given: Spec
    spec: Spec
    paired: Spec
    rows: IntArray
    left_out: IntArray
    compared: Compared


@dataclass(frozen=True, eq=False)
class Draw:
    """One way of saying who asks and who answers, and what came of it.

    Parameters
    ----------
    spec : Spec or None
        ``evaluate`` gives the same numbers for it; None for the course's own draw, which no spec spells.
    splits : tuple of Split
        One a direction.
    lost : (n_lost,) intp
        Rows of the table that ask and have nothing relevant in the gallery, by direction and query.
    n_query : int
        In all directions together.
    recall, recall_evaluable : mapping of k to value
        R@k where a lost query counts as missed (denominator ``n_query``), and where it is left out
        (``n_query − n_lost``; nan where none is left): the same ranking, two stories.
    """

    spec: Spec | None
    splits: tuple[Split, ...]
    lost: IntArray
    n_query: int
    recall: Mapping[int, float]
    recall_evaluable: Mapping[int, float]

    @property
    def n_lost(self) -> int:
        """Queries that have lost their partner."""
        return len(self.lost)


def halves(dataset: Dataset, spec: Spec | None = None, *, encoded: Array | None = None) -> Halves:
    """Encode and compare all rows once, so that each draw is a matter of milliseconds.

    Parameters
    ----------
    dataset : Dataset
    spec : Spec, optional
        Where, relevance, junk, encoder or vectors, similarity and ks are taken from it; its split is not.
    encoded : (n_item, n_dim) array, optional
        What ``sources.encode_dataset`` returned.

    Raises
    ------
    DataError
        No column says the group, no group has two items, an encoder that is fitted, a matrix of scores; what
        ``evaluate`` raises.
    """
    given = shared_choices(dataset, spec)
    drawn = resolve_draws(dataset, given.replace(split="random"))
    rows = taking_part(dataset, drawn)
    group = needed(dataset, "group")
    view = dataset.role("view")
    by_view = view is not None and len(set(view[rows])) == 2
    paired = protocol.resolve(dataset, given.replace(split="by-view" if by_view else "grouped"))
    if not some_group_has_two(group[rows]):
        raise DataError(f"no {dataset.columns['group']} has two items, so no query has a partner to lose")
    everyone = (protocol.leave_one_out(rows),)
    vectors, _, _ = protocol.vectors_of_sides(dataset, drawn, everyone, encoded)
    sides, _ = protocol.leave_out_bad_rows(dataset, drawn.replace(split="leave-one-out"), everyone, vectors, vectors)
    left_out, rows = np.setdiff1d(rows, sides[0].query), sides[0].query
    return Halves(dataset, given, drawn, paired, rows, left_out, Compared.of(vectors[rows], drawn.similarity))


def random_draw(halves: Halves, seed: int) -> Draw:
    """How many queries lose their partner if a random half asks, and what does R@k become?

    The numbers of ``evaluate(split="random", seed=N)``.
    """
    return _draw(halves, halves.spec.replace(seed=seed))


def paired_draw(halves: Halves, seed: int) -> Draw:
    """How does the split that parts no group fare? Nobody is lost who has a partner at all.

    By view, where there are two views, nothing is drawn, and every seed gives the same.
    """
    return _draw(halves, halves.paired.replace(seed=seed if halves.paired.draws else None))


def course_draw(halves: Halves, state: int = COURSE_STATE) -> Draw:
    """How does the draw of the course's exercise fare?

    The table is shuffled with pandas' ``random_state`` 42, the first half asks and the rest answers.
    """
    order = pd.Series(np.union1d(halves.rows, halves.left_out)).sample(frac=1, random_state=state).to_numpy()
    half = len(order) // 2
    words = f"the table shuffled by pandas with random_state={state}, the first {half} ask"
    split = Split(np.sort(order[:half]), np.sort(order[half:]), "query", "gallery", words)
    return _result(halves, None, (split,))


def all_draws(halves: Halves, seeds: Iterable[int]) -> pd.DataFrame:
    """Random and paired draws over many seeds.

    Returns
    -------
    DataFrame
        One row for each seed and split: ``seed``, ``split`` (``random``; ``by-view`` or ``grouped``), ``n_query``,
        ``n_lost``, and for each k ``recall@k`` and ``recall_evaluable@k``.
    """
    fixed = None if halves.paired.draws else paired_draw(halves, 0)
    rows = []
    for seed in seeds:
        paired = fixed or paired_draw(halves, seed)
        for split, draw in (("random", random_draw(halves, seed)), (str(halves.paired.split), paired)):
            row: dict[str, object] = {"seed": seed, "split": split, "n_query": draw.n_query, "n_lost": draw.n_lost}
            row |= {f"recall@{k}": value for k, value in draw.recall.items()}
            rows.append(row | {f"recall_evaluable@{k}": value for k, value in draw.recall_evaluable.items()})
    return pd.DataFrame(rows)


def _draw(halves: Halves, spec: Spec) -> Draw:
    return _result(halves, spec, protocol.directions(halves.dataset, spec))


def _result(halves: Halves, spec: Spec | None, parts: tuple[Split, ...]) -> Draw:
    parts = tuple(split.without(halves.left_out, "they have no usable image or vector") for split in parts)
    ranked, lost = [], []
    for i, split in enumerate(parts):
        relevance = protocol.relate(halves.dataset, halves.spec, split, reverse=i == 1)
        query, gallery = (np.searchsorted(halves.rows, side) for side in (split.query, split.gallery))
        ranked.append(halves.compared.rank(query, gallery, relevance))
        lost.append(split.query[ranked[-1].n_relevant == 0])

    def value(score: Sequence[Score]) -> float:
        return metrics.pool(score).value

    return Draw(
        spec,
        parts,
        np.concatenate(lost),
        sum(len(split.query) for split in parts),
        {k: value([metrics.recall(some, k) for some in ranked]) for k in halves.spec.ks},
        {k: value([metrics.recall_evaluable(some, k) for some in ranked]) for k in halves.spec.ks},
    )


@dataclass(frozen=True)
class Spread:
    """How one number is distributed over seeds; nan values are left out, and ``n`` counts the others."""

    n: int
    mean: float
    minimum: float
    quarter: float
    median: float
    three_quarters: float
    maximum: float


def spread(values: ArrayLike) -> Spread:
    """How is a number distributed over seeds?"""
    given = np.asarray(values, np.float64)
    defined = given[~np.isnan(given)]
    if not len(defined):
        return Spread(0, *[float("nan")] * 6)
    five = np.quantile(defined, [0, 0.25, 0.5, 0.75, 1])
    return Spread(len(defined), float(defined.mean()), *map(float, five))


def frequencies(values: pd.Series) -> pd.Series:
    """How many seeds gave each value? Values ascend in the index."""
    return values.value_counts().sort_index()


def shared_choices(dataset: Dataset, spec: Spec | None) -> Spec:
    """Keep the choices that every experiment takes; refuse those that none can."""
    given = spec or Spec(data=dataset.name)
    if protocol.is_fitted(given.encoder):
        raise DataError(
            f"the encoder {given.encoder} is fitted to training rows; the training part fits its own. "
            f"Choose one that is not: {', '.join(images.ENCODERS)}"
        )
    return given.replace(
        query=None, gallery=None, split=None, both=False, train=None, query_images=None, corrupt=None, seed=None
    )


def resolve_draws(dataset: Dataset, spec: Spec) -> Spec:
    """Resolve the spec, and refuse a matrix of scores."""
    resolved = protocol.resolve(dataset, spec)
    if resolved.scores is not None:
        raise DataError(
            "each draw compares other pictures, so this needs vectors or an encoder, not a matrix of scores"
        )
    return resolved


def taking_part(dataset: Dataset, spec: Spec) -> IntArray:
    """Rows that take part, ascending."""
    return protocol.directions(dataset, spec.replace(split="leave-one-out", both=False))[0].query


def needed(dataset: Dataset, role: str) -> Text:
    """Cells of the column that plays a role; ``DataError`` where none does."""
    cells = dataset.role(role)
    if cells is None:
        raise DataError(
            f"this part needs a column that says the {role}, and {dataset.name} has none of the usual names; "
            f"name yours with {setting('columns', f'{role}=COLUMN')}: {', '.join(map(str, dataset.table.columns))}"
        )
    return cells


def some_group_has_two(group: Text) -> bool:
    """Has any group two of these items?"""
    named = group[group != MISSING]
    return len(set(named)) < len(named)
