"""``Evaluation``, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from .. import metrics
from ..arrays import IntArray
from ..datasets import Dataset
from ..metrics import Interval, Score, band
from ..protocol import Finding, Spec, Split, units
from ..ranking import Ranking, Relevance
from ..version import VERSION
from .spelling import interval_cells

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

    def __repr__(self) -> str:
        return f"{self.score!r}, interval {interval_cells(self.interval)}"


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

    def __repr__(self) -> str:
        lines = [f"Direction {self.name}: {self.counts['n_query']} queries, {self.counts['n_gallery']} in the gallery"]
        return "\n".join([*lines, *_main_lines(self.scores)])


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
        from .saving import save  # what a notebook calls on the record looks down the flow; nothing else does

        save(self, Path(folder), force=force)

    def __repr__(self) -> str:
        """A few lines; ``print`` shows the report."""
        n_query, n_gallery = self.counts["n_query"], " / ".join(str(d.counts["n_gallery"]) for d in self.directions)
        return "\n".join(
            [
                f"Evaluation of {self.dataset.name}: {n_query} queries, {n_gallery} items in the gallery",
                *_main_lines(self.scores),
                f"  findings: {len(self.findings)}; print() shows the report",
            ]
        )

    def __str__(self) -> str:
        from .report import report_text as text  # as above

        return text(self)


def _main_lines(scores: Mapping[str, Estimate]) -> list[str]:
    return [f"  {one!r}" for name, one in scores.items() if name.startswith("recall@") or name == "map"]


def query_groups(evaluation: Evaluation) -> IntArray:
    """(n_query,) the independent unit behind each query, all directions one after the other; they share units."""
    return np.concatenate([split_units(evaluation.dataset, direction.split) for direction in evaluation.directions])


def split_units(dataset: Dataset, split: Split) -> IntArray:
    """(n_query,) the independent unit behind each query of one direction."""
    group = dataset.role("group")
    return split.query if group is None else units(group)[split.query]


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
