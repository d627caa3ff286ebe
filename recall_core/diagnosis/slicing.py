"""Where does it fail? Each metric by the values of a column of the queries, worst first."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..arrays import IntArray, Text
from ..datasets import MISSING, numbers_of
from ..errors import DataError
from ..evaluation import Evaluation, query_groups
from ..metrics import Score, bonferroni, interval
from ..protocol import Filter, write_filter

MAX_VALUES, N_BIN = 20, 5
"""Numbers with more different values than the first are cut at their quantiles into at most as many ranges."""

SMALL = 10
"""A slice of fewer independent groups is marked: its interval is wide, and its place in the order is chance."""

LEVEL = 0.95


def slices(evaluation: Evaluation, column: str, metric: str | None = None, *, level: float = LEVEL) -> pd.DataFrame:
    """Which kinds of queries fare worst?

    Parameters
    ----------
    evaluation : Evaluation
    column : str
        Of the data set's table. Numbers are cut at their quantiles into ranges, equal numbers never apart; queries
        whose cell is missing are a slice of their own.
    metric : str, optional
        A key of ``evaluation.scores``; by default R@k at the first k.
    level : float
        At which *all* intervals hold together (Bonferroni: each is made at 1 − (1 − level) / their number, which
        holds however slices share groups).

    Returns
    -------
    DataFrame
        ``slice`` (as shown), ``filter`` (``COL=V``, as ``Spec.slice`` and the URL take it), ``n_query``, ``n_counted``
        (queries that the metric counts), ``n_group`` (independent groups among these), ``value`` (nan where it counts
        none), ``low``, ``high`` (nan for fewer than 2 groups), ``method``, ``loss`` (the slice's share of all that the
        whole lacks to 1; nan where it lacks nothing), ``small`` (fewer than ``SMALL`` groups). Worst first; small
        slices after the others, and those that count nothing last. All directions together.

    Raises
    ------
    DataError
        No such column or metric.

    Notes
    -----
    A slice has the score of ``evaluation.select_queries`` with its filter; only the level of the interval differs.
    """
    score = score_of(evaluation, metric)
    dataset, rows = evaluation.dataset, evaluation.table["row"].to_numpy()
    groups = query_groups(evaluation)
    parts = _parts(dataset.values(column), column, rows)
    counted = [score.denominator[at] > 0 for _, _, at in parts]
    n_group = [len(np.unique(groups[at][some])) for (_, _, at), some in zip(parts, counted, strict=True)]
    each = bonferroni(level, sum(n > 1 for n in n_group))
    lacks = score.denominator.sum() - score.numerator.sum()
    found = []
    for (name, conditions, at), some, n in zip(parts, counted, n_group, strict=True):
        part = score.select(at)
        made = interval(part, groups[at], level=each)
        found.append(
            {
                "slice": name,
                "filter": write_filter(conditions),
                "n_query": len(at),
                "n_counted": int(some.sum()),
                "n_group": n,
                "value": part.value,
                "low": np.nan if made is None else made.low,
                "high": np.nan if made is None else made.high,
                "method": "" if made is None else made.method,
                "loss": (part.denominator.sum() - part.numerator.sum()) / lacks if lacks > 0 else np.nan,
                "small": n < SMALL,
            }
        )
    table = pd.DataFrame(found)
    order = np.lexsort([-table["n_query"], table["value"], table["small"], table["value"].isna()])
    return table.iloc[order].reset_index(drop=True)


def score_of(evaluation: Evaluation, metric: str | None = None) -> Score:
    """Look a score up by its name; R@k at the first k where none is named. ``DataError`` where there is none."""
    name = metric or f"recall@{evaluation.spec.ks[0]}"
    if name not in evaluation.scores:
        raise DataError(f"no score is named {name!r}; there are {', '.join(evaluation.scores)}")
    return evaluation.scores[name].score


def sliceable(evaluation: Evaluation, most: int = 50) -> list[str]:
    """Which columns tell the queries apart, into 2 to ``most`` slices? Ids, paths and constant columns do not."""
    rows = evaluation.table["row"].to_numpy()
    table = evaluation.dataset.table
    counts = {str(name): len(_parts(evaluation.dataset.values(name), name, rows)) for name in table.columns}
    return [name for name, n in counts.items() if 2 <= n <= most and name != evaluation.dataset.columns.get("id")]


def _parts(cells: Text, column: str, rows: IntArray) -> list[tuple[str, Filter, IntArray]]:
    """Name, filter and queries of each slice."""
    asked = cells[rows]
    parts = _by_range(cells, rows) or _by_value(asked)
    missing = np.flatnonzero(asked == MISSING)
    if len(missing):
        parts.append(("missing", MISSING, missing))
    return [(name, ((column, (value,)),), at) for name, value, at in parts]


def _by_value(asked: Text) -> list[tuple[str, str, IntArray]]:
    values, code = np.unique(asked.astype(str), return_inverse=True)
    by_code = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code, minlength=len(values)))[:-1])
    return [(str(value), str(value), at) for value, at in zip(values, by_code, strict=True) if value != MISSING]


def _by_range(cells: Text, rows: IntArray) -> list[tuple[str, str, IntArray]]:
    """Ranges of numbers, about equally many queries in each; empty where the column is not one of many numbers."""
    numbers = numbers_of(cells)
    if numbers is None:
        return []
    asked = numbers[rows]
    given = np.sort(asked[~np.isnan(asked)])
    if len(np.unique(given)) <= MAX_VALUES:
        return []
    edges = np.searchsorted(given, given[len(given) * np.arange(1, N_BIN) // N_BIN])
    parts = []
    for part in np.split(given, np.unique(edges[edges > 0])):
        low, high = (str(cells[rows[np.flatnonzero(asked == end)[0]]]) for end in (part[0], part[-1]))
        value = low if part[0] == part[-1] else f"{low}..{high}"
        parts.append((value, value, np.flatnonzero((part[0] <= asked) & (asked <= part[-1]))))
    return parts
