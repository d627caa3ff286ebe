"""The only wiring: ``evaluate(dataset, spec) -> Evaluation``.

load → encode → split → relate → rank → score → estimate
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .. import metrics, protocol
from ..arrays import Array, IntArray
from ..datasets import Dataset
from ..errors import DataError, about, setting
from ..metrics import Score, bootstrap_intervals, intervals_of
from ..protocol import Filter, Finding, Listed, Spec, Split, write_filter
from ..ranking import RERANKERS, Ranking, Relevance, rank, rank_scores, without_answers
from ..version import VERSION
from .query_rows import query_table
from .record import TOP, Direction, Estimate, Evaluation, split_units


def rank_here(
    asked: Any,
    query: IntArray,
    answers: Any,
    gallery: IntArray,
    relevance: Relevance,
    *,
    by: Callable[..., Ranking] = rank,
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
    if not isinstance(dataset, Dataset):
        kind = type(dataset).__name__
        raise TypeError(f"evaluate takes a Dataset, not {kind}; load('FOLDER') reads one, from_arrays(…) makes one")
    given = (spec or Spec(data=dataset.name)).replace(**choices)
    for role, column in given.columns:
        if dataset.columns.get(role) != column:
            there = dataset.columns.get(role) or "no column"
            raise DataError(
                f"the data set was read with {there!r} as its {role}, not {column!r}; "
                f"a column is chosen when data are read: load(…, columns={{{role!r}: {column!r}}})",
                field="columns",
            )
    given = given if given.draws else given.replace(seed=None)
    spec = protocol.resolve(dataset, given)
    splits = protocol.directions(dataset, spec)
    asked, answers, notes = protocol.vectors_of_sides(dataset, spec, splits, encoded)
    if asked is not None:
        splits, found = protocol.leave_out_bad_rows(dataset, spec, splits, asked, answers)
        notes += found
    same = protocol.copies(dataset, spec, splits, asked)
    notes += protocol.same_pictures(dataset, spec, same)
    matrix = None
    if spec.scores is not None:
        with about("scores"):
            matrix, found = protocol.score_matrix(dataset, Path(spec.scores), splits[0], spec.ks)
        notes += found
    if spec.rerank is not None:
        ranker = partial(rank_here, by=_reranker(spec.rerank))
    ranked = []
    for i, split in enumerate(splits):
        relevance = protocol.relate(dataset, spec, split, reverse=i == 1)
        if matrix is not None:
            order = rank_scores(matrix if i == 0 else matrix.T, relevance, top=TOP)
        else:
            order = ranker(asked, split.query, answers, split.gallery, relevance, top=TOP, similarity=spec.similarity)
        if asked is not None and spec.similarity == "cosine":
            zero, found = protocol.zero_queries(dataset, split, asked)
            order = without_answers(order, zero)
            notes += found
        ranked.append((split, relevance, order))
        notes += protocol.split_findings(dataset, spec, split, relevance, same)
    whole = assemble(
        dataset, given, spec.replace(slice=None), ranked, n_dim=None if asked is None else int(asked.shape[1])
    )
    if spec.slice is not None:
        whole = select_queries(whole, spec.slice)
        notes += whole.findings
    return replace(whole, given=given, findings=(*notes, *_whole_findings(whole)))


def _reranker(name: str) -> Callable[..., Ranking]:
    if name not in RERANKERS:
        raise DataError(f"re-ranker {name!r} is not known; choose from {', '.join(RERANKERS)}", field="rerank")
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
    rows = protocol.select_rows(dataset, conditions, field="slice")
    ranked, n_query = [], 0
    for direction in evaluation.directions:
        at = np.flatnonzero(np.isin(direction.split.query, rows))
        n_query += len(at)
        if len(at):
            split = replace(direction.split, query=direction.split.query[at])
            ranked.append((split, direction.relevance.select(at), direction.ranking.select(at)))
    words = write_filter(conditions)
    if not ranked:
        raise DataError(
            f"no query has {words}; the slice takes queries, after {setting('where')} and the split", field="slice"
        )
    told = protocol.find("slice", n_query, m=evaluation.counts["n_query"] or 0, conditions=words)
    sliced = assemble(
        dataset,
        evaluation.given.replace(slice=(*former, *conditions)),
        evaluation.spec.replace(slice=(*former, *conditions)),
        ranked,
        n_dim=evaluation.counts["n_dim"],
        version=evaluation.version,
    )
    return replace(sliced, findings=(told, *evaluation.findings))


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


def _estimates(scores: Mapping[str, Sequence[Score]], groups: IntArray) -> dict[str, Estimate]:
    """Pool each metric's directions and put its interval beside it."""
    pooled = {name: metrics.pool(parts) if len(parts) > 1 else parts[0] for name, parts in scores.items()}
    hits = [score for name, score in pooled.items() if name.startswith(("recall@", "recall_evaluable@"))]
    boots = dict(zip([score.name for score in hits], bootstrap_intervals(hits, groups), strict=True))
    ranges = intervals_of(list(pooled.values()), groups)
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


def _whole_findings(whole: Evaluation) -> list[Finding]:
    """What is to be known about all directions together."""
    dataset, spec, directions = whole.dataset, whole.spec, whole.directions
    found = protocol.training_leak(dataset.role("group"), directions[0].split)
    smallest = min(int(direction.ranking.n_gallery.min()) for direction in directions)
    beyond = [k for k in spec.ks if k > smallest]
    if beyond:
        found.append(protocol.find("k_beyond_gallery", len(beyond), ks=Listed(tuple(beyond)), m=smallest))
    if "group" not in dataset.columns:
        found.append(protocol.find("no_group"))
    first = whole.scores[f"recall@{spec.ks[0]}"].score
    if first.n_tied:
        found.append(protocol.find("ties", first.n_tied, m=first.n_query, metric=first.name))
    return found
