"""Several evaluations of the same queries: which is better, by how much, could it be chance, and on which queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import IntArray, Text
from ..datasets import some
from ..errors import DataError, setting
from ..evaluation import Evaluation, query_groups
from ..metrics import Score, holm, interval, paired_difference
from ..protocol import AND, Finding, Listed, Phrase, find

LEVEL = 0.95

JUDGED_BY = ("relevant", "relevant_pairs", "protocol", "corrections", "junk_same", "no_relevant")
"""Fields of the spec that must agree: with another of them a score means something else."""

SHOWN = 5
"""Ids that a refusal names."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Evaluations of the same queries, lined up.

    Parameters
    ----------
    names : tuple of str
        One a run, all different.
    evaluations : tuple of Evaluation
    rows : tuple of (n_query,) intp
        For each run, where the common queries stand in its table: entry ``i`` is the same query in all.
    groups : (n_query,) intp
        The independent unit of each common query.
    left_out : tuple of int
        For each run, its queries that are not common to all.
    findings : tuple of Finding
        What else differs, and is to be known.
    """

    names: tuple[str, ...]
    evaluations: tuple[Evaluation, ...]
    rows: tuple[IntArray, ...]
    groups: IntArray
    left_out: tuple[int, ...]
    findings: tuple[Finding, ...]

    def __post_init__(self) -> None:
        if not len(self.names) == len(self.evaluations) == len(self.rows) == len(self.left_out):
            raise ValueError("there must be one name, evaluation, line-up and count a run")

    @property
    def n_query(self) -> int:
        """Number of queries that are compared."""
        return len(self.groups)

    @property
    def ids(self) -> Text:
        """(n_query,) ids of the queries."""
        ids: Text = self.evaluations[0].table["id"].to_numpy()[self.rows[0]]
        return ids

    def scores(self, metric: str) -> tuple[Score, ...]:
        """The metric of each run on the common queries.

        Raises
        ------
        DataError
            A run has no such score, or counts a query otherwise than another does.
        """
        lacking = [name for name, one in zip(self.names, self.evaluations, strict=True) if metric not in one.scores]
        if lacking:
            shared = [
                name for name in self.evaluations[0].scores if all(name in one.scores for one in self.evaluations)
            ]
            raise DataError(f"{', '.join(lacking)}: there is no score {metric!r}; all have {', '.join(shared)}")
        found = [one.scores[metric].score.select(at) for one, at in zip(self.evaluations, self.rows, strict=True)]
        for name, score in zip(self.names[1:], found[1:], strict=True):
            apart = np.flatnonzero(score.denominator != found[0].denominator)
            if len(apart):
                raise DataError(
                    f"{metric}: {self.names[0]} and {name} do not count {len(apart)} of {self.n_query} queries alike, "
                    f"among them {some(self.ids[apart], SHOWN)}: something else is relevant to them"
                )
        return tuple(found)


def compare(evaluations: Mapping[str, Evaluation], *, common: bool = False) -> Comparison:
    """Line up evaluations of the same queries.

    Parameters
    ----------
    evaluations : mapping of name to Evaluation
        At least two. A query is known by its id (with its direction, where an id asks twice).
    common : bool
        Compare the queries that all have, and count the others, instead of refusing other sets of queries.

    Raises
    ------
    DataError
        Fewer than two; another rule of relevance, or policy; other groups; other queries; or no common one. The message
        says what differs, and where.
    """
    if not isinstance(evaluations, Mapping):
        raise TypeError("compare takes runs by name, as in {'raw': one, 'colour': other}")
    names, given = tuple(evaluations), tuple(evaluations.values())
    if len(given) < 2:
        raise DataError("a comparison takes at least two runs; name another")
    for name, one in zip(names[1:], given[1:], strict=True):
        _refuse_other_rules(names[0], given[0], name, one)
    keys = _keys(given)
    positions = [{key: i for i, key in enumerate(own)} for own in keys]
    shared = [key for key in keys[0] if all(key in own for own in positions)]
    if not common:
        for name, own in zip(names[1:], keys[1:], strict=True):
            _refuse_other_queries(names[0], keys[0], name, own)
    if not shared:
        raise DataError(f"{', '.join(names)} have no query in common")
    at = tuple(np.array([own[key] for key in shared], dtype=np.intp) for own in positions)
    for name, one, where in zip(names[1:], given[1:], at[1:], strict=True):
        _refuse_other_groups(names[0], given[0], at[0], name, one, where)
    left_out = tuple(len(own) - len(shared) for own in keys)
    groups = query_groups(given[0])[at[0]]
    return Comparison(names, given, at, groups, left_out, tuple(_findings(names, given, left_out, len(shared))))


def single(name: str, evaluation: Evaluation) -> Comparison:
    """Put one evaluation into the form of a comparison, for what shows each run by itself."""
    rows = np.arange(len(evaluation.table), dtype=np.intp)
    return Comparison((name,), (evaluation,), (rows,), query_groups(evaluation), (0,), ())


def run_table(comparison: Comparison, metrics: Sequence[str], *, level: float = LEVEL) -> pd.DataFrame:
    """What does each run score?

    Columns ``run``, ``metric``, ``value``, ``low``, ``high`` (by groups, each interval by itself), ``method``,
    ``n_query``, ``n_counted`` (queries that the metric counts), ``n_left_out``; run by run.
    """
    scores = {metric: comparison.scores(metric) for metric in metrics}
    rows: list[dict[str, Any]] = []
    for i, name in enumerate(comparison.names):
        for metric in metrics:
            score = scores[metric][i]
            made = interval(score, comparison.groups, level=level)
            rows.append(
                {
                    "run": name,
                    "metric": metric,
                    "value": score.value,
                    "low": np.nan if made is None else made.low,
                    "high": np.nan if made is None else made.high,
                    "method": "" if made is None else made.method,
                    "n_query": score.n_query,
                    "n_counted": int((score.denominator > 0).sum()),
                    "n_left_out": comparison.left_out[i],
                }
            )
    return pd.DataFrame(rows)


def paired_tests(comparison: Comparison, metrics: Sequence[str], *, level: float = LEVEL) -> pd.DataFrame:
    """Is one run better than another, or could it be chance?

    One row a metric and pair of runs: ``metric``, ``first``, ``second``, ``difference`` (second − first), ``low``,
    ``high`` (by resampling groups, each interval by itself), ``p`` (sign-flip test by group), ``p_holm`` (corrected for
    all rows of this table), ``n_group``, ``n_changed`` (groups in which the two differ), ``won``, ``lost``, ``tied``
    (queries, as the second sees it).
    """
    rows: list[dict[str, Any]] = []
    for metric in metrics:
        scores = comparison.scores(metric)
        for a, b in combinations(range(len(scores)), 2):
            found = paired_difference(scores[b], scores[a], comparison.groups, level=level)
            outcome = _outcomes(scores[a], scores[b])
            rows.append(
                {
                    "metric": metric,
                    "first": comparison.names[a],
                    "second": comparison.names[b],
                    "difference": found.difference,
                    "low": np.nan if found.interval is None else found.interval.low,
                    "high": np.nan if found.interval is None else found.interval.high,
                    "p": found.p_value,
                    "p_holm": np.nan,
                    "n_group": found.n_group,
                    "n_changed": found.n_changed,
                    **{name: int((outcome == name).sum()) for name in ("won", "lost", "tied")},
                }
            )
    for row, corrected in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = float(corrected)
    return pd.DataFrame(rows)


def query_moves(comparison: Comparison, metric: str, first: int = 0, second: int = 1) -> pd.DataFrame:
    """On which queries does the second run do better than the first, and how far do ranks move?

    Parameters
    ----------
    metric : str
    first, second : int
        Which runs, as positions in ``comparison.names``.

    Returns
    -------
    DataFrame
        One row a common query: ``id``, ``direction``, ``query`` (direction and position in the first run),
        ``second_direction``, ``second_query`` (the same in the second), ``outcome`` (won, lost, tied; ``left out``
        where the metric does not count the query), ``first_value``, ``second_value``, ``difference`` (second − first),
        ``first_rank``, ``second_rank`` (of the best relevant item; 0: none found). The largest losses first, then the
        largest wins, then the rest.
    """
    scores = comparison.scores(metric)
    a, b = scores[first], scores[second]
    tables = [comparison.evaluations[i].table.iloc[comparison.rows[i]].reset_index(drop=True) for i in (first, second)]
    table = pd.DataFrame(
        {
            "id": tables[0]["id"],
            "direction": tables[0]["direction"],
            "query": tables[0]["query"],
            "second_direction": tables[1]["direction"],
            "second_query": tables[1]["query"],
            "outcome": _outcomes(a, b),
            "first_value": a.per_query(),
            "second_value": b.per_query(),
            "difference": b.per_query() - a.per_query(),
            "first_rank": tables[0]["first_rank"],
            "second_rank": tables[1]["first_rank"],
        }
    )
    place = table["outcome"].map({name: i for i, name in enumerate(OUTCOMES)})
    order = np.lexsort([-table["difference"].abs().fillna(0), place])
    return table.iloc[order].reset_index(drop=True)


def count_outcomes(moves: pd.DataFrame) -> dict[str, int]:
    """How many queries have each outcome, in the order of ``OUTCOMES``? ``moves`` is ``query_moves``'."""
    return {outcome: int((moves["outcome"] == outcome).sum()) for outcome in OUTCOMES}


def count_moves(moves: pd.DataFrame) -> pd.DataFrame:
    """How many queries move from which rank to which?

    Parameters
    ----------
    moves : DataFrame
        ``query_moves``; queries that found nothing in one of the two runs have no move and are left out.

    Returns
    -------
    DataFrame
        One row an outcome and pair of ranks, in their order: ``outcome``, ``first_rank``, ``second_rank``, ``n``, and
        ``id``, ``direction`` and ``query`` of the first such query.
    """
    found = moves[(moves["first_rank"] > 0) & (moves["second_rank"] > 0)]
    counted = found.groupby(["outcome", "first_rank", "second_rank"], sort=True)
    example = {name: (name, "first") for name in ("id", "direction", "query")}
    return counted.agg(n=("id", "size"), **example).reset_index()


def count_unfound(moves: pd.DataFrame) -> int:
    """How many queries found nothing in one of the two runs? They are not in ``count_moves``."""
    return int(((moves["first_rank"] == 0) | (moves["second_rank"] == 0)).sum())


Key = tuple[str, ...]

OUTCOMES = ("lost", "won", "tied", "left out")
"""What becomes of a query from the first run to the second, in the order in which it is worth a look."""


def before_after(before: Evaluation, after: Evaluation, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """What do corrections of the judgements do to the scores?

    The rule of relevance is not the same before and after, so no test is made: one row a metric with ``before``,
    ``before_low``, ``before_high``, ``after``, ``after_low``, ``after_high``, ``change`` and ``n_changed`` (queries
    whose own value changes, or that are counted in one and not in the other).

    Raises
    ------
    DataError
        Other queries.
    """
    (keys, others) = _keys((before, after))
    _refuse_other_queries("before", keys, "after", others)
    position = {key: i for i, key in enumerate(others)}
    at = np.array([position[key] for key in keys], dtype=np.intp)
    rows: list[dict[str, Any]] = []
    for metric in metrics or [name for name in before.scores if name in after.scores]:
        row: dict[str, Any] = {"metric": metric}
        for name, one in (("before", before), ("after", after)):
            made = one.scores[metric].interval
            row |= {
                name: one.scores[metric].value,
                f"{name}_low": np.nan if made is None else made.low,
                f"{name}_high": np.nan if made is None else made.high,
            }
        own, other = before.scores[metric].score.per_query(), after.scores[metric].score.per_query()[at]
        changed = ~((own == other) | (np.isnan(own) & np.isnan(other)))
        rows.append(row | {"change": row["after"] - row["before"], "n_changed": int(changed.sum())})
    return pd.DataFrame(rows)


def default_metrics(evaluations: Iterable[Evaluation]) -> list[str]:
    """R@k at the first k that all have, and mAP."""
    ks = set.intersection(*(set(one.spec.ks) for one in evaluations))
    return [f"recall@{min(ks)}", "map"] if ks else ["map"]


def _outcomes(a: Score, b: Score) -> Text:
    """(n_query,) what becomes of each query from a to b; rounding makes no winner."""
    move = b.numerator - a.numerator
    named = np.select([a.denominator == 0, move > 1e-12, move < -1e-12], ["left out", "won", "lost"], "tied")
    return named.astype(object)


def _keys(evaluations: Sequence[Evaluation]) -> list[list[Key]]:
    """Each run's queries by id; with their direction where an id asks twice in any run."""
    twice = any(one.table["id"].duplicated().any() for one in evaluations)
    columns = ["direction", "id"] if twice else ["id"]
    return [list(one.table[columns].itertuples(index=False, name=None)) for one in evaluations]


def _refuse_other_rules(name: str, one: Evaluation, other_name: str, other: Evaluation) -> None:
    differ = [
        f"{field} ({_said(getattr(one.spec, field))} and {_said(getattr(other.spec, field))})"
        for field in JUDGED_BY
        if getattr(one.spec, field) != getattr(other.spec, field)
    ]
    if differ:
        raise DataError(
            f"{name} and {other_name} differ in {', '.join(differ)}; evaluate both by the same rule to compare them"
        )


def _refuse_other_queries(
    name: str, own: list[tuple[str, ...]], other_name: str, others: list[tuple[str, ...]]
) -> None:
    lacking = []
    for who, mine, whose, theirs in ((other_name, others, name, own), (name, own, other_name, others)):
        held = set(mine)
        missing = [key[-1] for key in theirs if key not in held]
        if missing:
            lacking.append(
                f"{who} lacks {len(missing)} of the {len(theirs)} queries of {whose}: {some(missing, SHOWN)}"
            )
    if lacking:
        raise DataError(f"{'; '.join(lacking)}. To compare those that all have, give {setting('common')}")


def _refuse_other_groups(
    name: str, one: Evaluation, at: IntArray, other_name: str, other: Evaluation, other_at: IntArray
) -> None:
    cells = [
        np.full(len(where), "") if "group" not in run.table else run.table["group"].to_numpy()[where]
        for run, where in ((one, at), (other, other_at))
    ]
    apart = np.flatnonzero(cells[0] != cells[1])
    if len(apart):
        ids = one.table["id"].to_numpy()[at[apart]]
        raise DataError(
            f"{name} and {other_name} put {len(apart)} of {len(at)} queries into other groups, among them "
            f"{some(ids, SHOWN)}; are they of the same data?"
        )


def _findings(
    names: Sequence[str], evaluations: Sequence[Evaluation], left_out: Sequence[int], n_query: int
) -> list[Finding]:
    found = []
    if any(left_out):
        counts = [Phrase("of_run", {"n": n, "run": name}) for name, n in zip(names, left_out, strict=True) if n]
        found.append(find("not_common", max(left_out), n=n_query, counts=Listed(tuple(counts))))
    galleries = [
        {frozenset(one.dataset.ids[direction.split.gallery]) for direction in one.directions} for one in evaluations
    ]
    if any(gallery != galleries[0] for gallery in galleries):
        sizes = [
            Phrase("in_run", {"sizes": Listed(tuple(sorted(map(len, gallery), key=str)), AND), "run": name})
            for name, gallery in zip(names, galleries, strict=True)
        ]
        found.append(find("other_gallery", len(evaluations), sizes=Listed(tuple(sizes))))
    sets = {one.dataset.name for one in evaluations}
    if len(sets) > 1:
        found.append(find("other_data", len(sets), names=Listed(tuple(sorted(sets)))))
    return found


def _said(value: object) -> str:
    return "none" if value is None else str(value)
