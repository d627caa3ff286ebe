"""The only wiring: ``evaluate(dataset, spec) -> Evaluation``.

load → encode → split → relate → rank → score → estimate
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from . import audit, metrics, protocol, ranking, sources
from .audit import Finding
from .dataset import Dataset
from .errors import DataError
from .metrics import Score
from .ranking import Ranking
from .relevance import IntArray, Relevance
from .rerank import RERANKERS
from .spec import Filter, Spec, write_filter
from .splits import Split, units
from .uncertainty import Interval, band, bootstrap_intervals, intervals
from .vectors import Array
from .version import VERSION

TOP = 50
"""How many items of each ranked list an evaluation keeps; every rank of a relevant item is kept besides."""


CURVES_SHOWN = ("recall", "map")


@dataclass(frozen=True, eq=False)
class Estimate:
    """A score with what is known of its uncertainty.

    Parameters
    ----------
    score : Score
    interval : Interval or None
        By groups; None where nothing can be evaluated.
    bootstrap : Interval or None
        For query-level R@k: the group-level bootstrap that the lab prescribes, beside it.
    """

    score: Score
    interval: Interval | None
    bootstrap: Interval | None = None

    @property
    def value(self) -> float:
        """Ratio of the sums; nan where nothing can be evaluated."""
        return self.score.value

    @property
    def numerator(self) -> float:
        """Sum of the numerators: for R@k, the hits."""
        return float(self.score.numerator.sum())

    @property
    def denominator(self) -> float:
        """Sum of the denominators: for R@k, the queries that count."""
        return float(self.score.denominator.sum())


@dataclass(frozen=True, eq=False)
class Direction:
    """One direction of an evaluation: who asks whom, what is right, and what came out."""

    split: Split
    relevance: Relevance
    ranking: Ranking
    counts: Mapping[str, int | None]
    scores: Mapping[str, Estimate]

    @property
    def name(self) -> str:
        """As reports key it: ``view0->view1``."""
        return self.split.name


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A number, everything that determined it, and everything behind it.

    Parameters
    ----------
    dataset : Dataset
    given : Spec
        As it was asked for; its command prints the same numbers.
    spec : Spec
        The same, fully resolved.
    directions : tuple of Direction
    counts, scores : mapping
        Of all directions together: queries one after the other.
    table : pandas.DataFrame
        One row a query of each direction: see ``query_table``.
    findings : tuple of Finding
    version : str or None
        Of the program that ranked; None for a saved run that does not say, since it was made before 0.2.0.
    """

    dataset: Dataset
    given: Spec
    spec: Spec
    directions: tuple[Direction, ...]
    counts: Mapping[str, int | None]
    scores: Mapping[str, Estimate]
    table: pd.DataFrame
    findings: tuple[Finding, ...]
    version: str | None = VERSION

    def direction(self, name: str) -> Direction:
        """Look a direction up by its name, or raise ``KeyError``."""
        return {direction.name: direction for direction in self.directions}[name]

    @cached_property
    def curves(self) -> pd.DataFrame:
        """How do R@k and mAP@k change with k, in each direction and pooled?

        Columns ``metric`` (recall, map), ``direction`` (name, or ``both``), ``k``, ``value``, ``low``, ``high``;
        the band is the metric's interval at each k, nan where there is none.
        """
        depth = min(TOP, max(len(direction.split.gallery) for direction in self.directions))
        parts = []
        for metric in CURVES_SHOWN:
            for name, which in _views(self.directions).items():
                parts.append(_curve(self, metric, name, which, depth))
        return pd.concat(parts, ignore_index=True)

    @cached_property
    def first_hits(self) -> pd.DataFrame:
        """At which rank do queries find their first relevant item, and how many find none?

        Columns ``direction``, ``rank`` (1 …; 0 for queries that find none), ``n_query``.
        """
        counted = self.table.groupby(["direction", "first_rank"], sort=True).size()
        return counted.rename("n_query").reset_index().rename(columns={"first_rank": "rank"})

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the run to a folder: see ``runs.save``."""
        from .runs import save  # what a notebook calls on the record looks down the flow; nothing else does

        save(self, Path(folder), force=force)

    def __repr__(self) -> str:
        from .report import text  # as above

        return text(self)


def rank_here(
    asked: Any,
    query: IntArray,
    answers: Any,
    gallery: IntArray,
    relevance: Relevance,
    *,
    by: Callable[..., Ranking] = ranking.rank,
    **choices: Any,
) -> Ranking:
    """Rank these rows of the vectors that ask among these rows of those that answer, in this process."""
    gallery_vectors = answers[gallery]
    same = asked is answers and np.array_equal(query, gallery)  # half the work
    return by(gallery_vectors if same else asked[query], gallery_vectors, relevance, **choices)


def evaluate(
    dataset: Dataset,
    spec: Spec | None = None,
    *,
    encoded: Array | None = None,
    ranker: Callable[..., Ranking] = rank_here,
    **choices: Any,
) -> Evaluation:
    """How well do the queries find what is relevant to them?

    Parameters
    ----------
    dataset : Dataset
        From ``load`` or ``Dataset.from_arrays``.
    spec : Spec, optional
        The choices; what is left open is filled from the data and reported.
    encoded : (n_item, n_dim) array, optional
        What ``encode_dataset`` returned for the same data set, encoder and training draw, to save encoding it again.
    ranker : callable
        Called as ``rank_here`` is: whatever gives the same ranking, such as ``distributed.open_ranker``'s.
    **choices
        Fields of ``Spec``, for a notebook: ``evaluate(data, ks=(1, 5), relevant="label")``.

    Returns
    -------
    Evaluation
        With both directions apart and pooled where the split has two.

    Raises
    ------
    DataError
        The data or the choices cannot be right; the message says what, where, and what to do.
    """
    given = (spec or Spec(data=dataset.name)).replace(**choices)
    given = given if given.draws else given.replace(seed=None)
    spec = sources.resolve(dataset, given)
    splits = protocol.directions(dataset, spec)
    asked, answers, notes = sources.side_vectors(dataset, spec, splits, encoded)
    if asked is not None:
        splits, found = sources.leave_out_bad_rows(dataset, spec, splits, asked, answers)
        notes += found
    same = sources.copies(dataset, spec, splits, asked)
    notes += sources.same_pictures(dataset, spec, same)
    matrix = None
    if spec.scores is not None:
        matrix, found = sources.score_matrix(dataset, Path(spec.scores), splits[0], spec.ks)
        notes += found
    if spec.rerank is not None:
        ranker = partial(rank_here, by=_reranker(spec.rerank))
    ranked = []
    for i, split in enumerate(splits):
        relevance = protocol.relate(dataset, spec, split, reverse=i == 1)
        if matrix is not None:
            order = ranking.rank_scores(matrix if i == 0 else matrix.T, relevance, top=TOP)
        else:
            order = ranker(asked, split.query, answers, split.gallery, relevance, top=TOP, similarity=spec.similarity)
        if asked is not None and spec.similarity == "cosine":
            zero, found = sources.zero_queries(dataset, split, asked)
            order = ranking.without_answers(order, zero)
            notes += found
        ranked.append((split, relevance, order))
        notes += protocol.findings(dataset, spec, split, relevance, same)
    whole = assemble(
        dataset, given, spec.replace(slice=None), ranked, n_dim=None if asked is None else int(asked.shape[1])
    )
    if spec.slice is not None:
        whole = select_queries(whole, spec.slice)
        notes += whole.findings
    return replace(whole, given=given, findings=(*notes, *_whole_findings(whole)))


def _reranker(name: str) -> Callable[..., Ranking]:
    if name not in RERANKERS:
        raise DataError(f"re-ranker {name!r} is not known; choose from {', '.join(RERANKERS)}")
    return RERANKERS[name]


def assemble(
    dataset: Dataset,
    given: Spec,
    spec: Spec,
    ranked: Sequence[tuple[Split, Relevance, Ranking]],
    *,
    n_dim: int | None,
    findings: Sequence[Finding] = (),
    version: str | None = VERSION,
) -> Evaluation:
    """Make the evaluation out of rankings, however these came to be: scores, estimates, tables, pooled and apart."""
    directions = tuple(_direction(dataset, spec, *one, n_dim) for one in ranked)
    tables = [query_table(dataset, spec, direction) for direction in directions]
    return Evaluation(
        dataset,
        given,
        spec,
        directions,
        _pooled_counts(directions),
        _pooled_scores(dataset, directions),
        pd.concat(tables, ignore_index=True),
        tuple(findings),
        version,
    )


def select_queries(evaluation: Evaluation, conditions: Filter) -> Evaluation:
    """How do these queries fare, asking the same gallery as before? (a slice)

    Parameters
    ----------
    evaluation : Evaluation
    conditions : Filter
        On the queries' cells in the data set's table; see ``spec.read_filter``. A value ``low..high`` takes a range of
        numbers. A slice of a slice meets both, so it names other columns.

    Returns
    -------
    Evaluation
        Queries counted anew from 0, everything estimated from them alone; directions without such queries are gone.
        The first finding says what was selected; the others are those of the whole.

    Raises
    ------
    DataError
        No such column or value, no query that meets the conditions, or a column that is sliced already.
    """
    dataset, former = evaluation.dataset, evaluation.spec.slice or ()
    twice = {column for column, _ in former} & {column for column, _ in conditions}
    if twice:
        raise DataError(f"the queries are already a slice by {', '.join(sorted(twice))}; choose it anew from the whole")
    rows = protocol.select_rows(dataset, conditions)
    ranked, n_query = [], 0
    for direction in evaluation.directions:
        at = np.flatnonzero(np.isin(direction.split.query, rows))
        n_query += len(at)
        if len(at):
            split = replace(direction.split, query=direction.split.query[at])
            ranked.append((split, direction.relevance.select(at), direction.ranking.select(at)))
    words = write_filter(conditions)
    if not ranked:
        raise DataError(f"no query has {words}; the slice takes queries, after --where and the split")
    message = f"{n_query} of {evaluation.counts['n_query']} queries are counted: those with {words}"
    sliced = assemble(
        dataset,
        evaluation.given.replace(slice=(*former, *conditions)),
        evaluation.spec.replace(slice=(*former, *conditions)),
        ranked,
        n_dim=evaluation.counts["n_dim"],
        version=evaluation.version,
    )
    return replace(sliced, findings=(audit.note("slice", message, n_query), *evaluation.findings))


def query_groups(evaluation: Evaluation) -> IntArray:
    """(n_query,) the independent unit behind each query, all directions one after the other; they share units."""
    return np.concatenate([split_units(evaluation.dataset, direction.split) for direction in evaluation.directions])


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
    value = None if spec.relevant is None else dataset.values(spec.relevant)
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
        "reason": audit.reasons_without_relevant(split, direction.relevance, value),
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


def _direction(
    dataset: Dataset, spec: Spec, split: Split, relevance: Relevance, ranked: Ranking, n_dim: int | None
) -> Direction:
    lone = int((ranked.n_relevant == 0).sum())
    counts = {
        "n_query": len(split.query),
        "n_gallery": len(split.gallery),
        "n_evaluable": len(split.query) - lone,
        "n_without_relevant": lone,
        "n_junk": int((len(split.gallery) - ranked.n_gallery).sum()),
        "n_dim": n_dim,
    }
    scores = metrics.all_scores(ranked, spec.ks, spec.no_relevant)  # type: ignore[arg-type]
    groups = split_units(dataset, split)
    return Direction(
        split, relevance, ranked, counts, _estimates({name: [score] for name, score in scores.items()}, groups)
    )


def split_units(dataset: Dataset, split: Split) -> IntArray:
    """(n_query,) the independent unit behind each query of one direction."""
    group = dataset.role("group")
    return split.query if group is None else units(group)[split.query]


def _estimates(scores: Mapping[str, Sequence[Score]], groups: IntArray) -> dict[str, Estimate]:
    """Pool each metric's directions and put its interval beside it."""
    pooled = {name: metrics.pool(parts) if len(parts) > 1 else parts[0] for name, parts in scores.items()}
    hits = [score for name, score in pooled.items() if name.startswith(("recall@", "recall_evaluable@"))]
    boots = dict(zip([score.name for score in hits], bootstrap_intervals(hits, groups), strict=True))
    ranges = intervals(list(pooled.values()), groups)
    return {
        name: Estimate(score, interval, boots.get(name))
        for (name, score), interval in zip(pooled.items(), ranges, strict=True)
    }


def _pooled_scores(dataset: Dataset, directions: Sequence[Direction]) -> Mapping[str, Estimate]:
    if len(directions) == 1:
        return directions[0].scores
    groups = np.concatenate([split_units(dataset, direction.split) for direction in directions])
    return _estimates({name: [d.scores[name].score for d in directions] for name in directions[0].scores}, groups)


def _pooled_counts(directions: Sequence[Direction]) -> dict[str, int | None]:
    pooled: dict[str, int | None] = {}
    for name in ("n_query", "n_evaluable", "n_without_relevant", "n_junk"):
        pooled[name] = sum(direction.counts[name] or 0 for direction in directions)
    for name in ("n_gallery", "n_dim"):
        values = {direction.counts[name] for direction in directions}
        pooled[name] = values.pop() if len(values) == 1 else None
    return pooled


def _views(directions: Sequence[Direction]) -> dict[str, Sequence[Direction]]:
    views: dict[str, Sequence[Direction]] = {direction.name: [direction] for direction in directions}
    return views | ({"both": directions} if len(directions) > 1 else {})


def _curve(whole: Evaluation, metric: str, name: str, which: Sequence[Direction], depth: int) -> pd.DataFrame:
    options = {"no_relevant": whole.spec.no_relevant} if metric == "recall" else {}
    parts = [metrics.CURVES[metric](direction.ranking, depth, **options) for direction in which]
    numerator = np.concatenate([numerator for numerator, _ in parts])
    denominator = np.concatenate([denominator for _, denominator in parts])
    groups = np.concatenate([split_units(whole.dataset, direction.split) for direction in which])
    low, high = band(metric, numerator, denominator, groups)
    total = denominator.sum()
    value = numerator.sum(axis=0) / total if total > 0 else np.full(depth, np.nan)
    k = np.arange(1, depth + 1)
    return pd.DataFrame({"metric": metric, "direction": name, "k": k, "value": value, "low": low, "high": high})


def _whole_findings(whole: Evaluation) -> list[Finding]:
    """What is to be known about all directions together."""
    dataset, spec, directions = whole.dataset, whole.spec, whole.directions
    found = audit.training_leak(dataset.role("group"), directions[0].split)
    smallest = min(int(direction.ranking.n_gallery.min()) for direction in directions)
    beyond = [k for k in spec.ks if k > smallest]
    if beyond:
        message = f"k = {', '.join(map(str, beyond))} reaches beyond a gallery of {smallest}: the whole gallery counts"
        found.append(audit.note("k_beyond_gallery", message, len(beyond)))
    if "group" not in dataset.columns:
        found.append(audit.note("no_group", "no group column: each item is taken as independent in the intervals"))
    first = whole.scores[f"recall@{spec.ks[0]}"].score
    if first.n_tied:
        message = f"{first.n_tied} of {first.n_query} queries: {first.name} depends on the order of tied items"
        found.append(Finding("ties", "warning", first.n_tied, message))
    return found
