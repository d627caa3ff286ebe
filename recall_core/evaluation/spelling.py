"""How reports spell numbers, intervals, rows and findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from .. import datasets
from ..metrics import Interval
from ..protocol import Finding, Spec

FORMAT = 1

LEVELS = {
    "recall": "query-level",
    "recall_evaluable": "query-level, queries with nothing relevant left out",
    "item_recall": "item-level, pooled (micro)",
    "item_recall_macro": "item-level, mean of the queries (macro)",
    "map": "query-level",
    "mrr": "query-level",
    "precision": "query-level",
    "ndcg": "query-level",
    "r_precision": "query-level",
    "map_at_r": "query-level",
    "minp": "query-level",
}
"""What each metric counts: its name before ``@`` → words."""


def table_csv(table: pd.DataFrame) -> str:
    """Spell a table as CSV; what is undefined is empty."""
    return datasets.exact_csv(table)


def describe(spec: Spec) -> str:
    """Say a resolved spec in one or two sentences."""
    data = spec.data or "the data"
    if spec.where:
        data += f" where {_conditions(spec.where)}"
    if spec.query is not None and spec.gallery is not None:
        asks = f"{_conditions(spec.query) or 'every row'} asks, {_conditions(spec.gallery) or 'every row'} answers"
    else:
        asks = SPLIT_WORDS.get(spec.split or "", spec.split or "split by default")
    right = f"same {spec.relevant} is right" if spec.relevant else f"{spec.relevant_pairs} says what is right"
    if spec.corrections:
        right += f" (but for the pairs in {spec.corrections})"
    if spec.protocol:
        right += f" (protocol {spec.protocol})"
    if spec.junk_same:
        right += f" (same {spec.junk_same} as well: left out)"
    source = f"scores from {spec.scores}" if spec.scores else f"{spec.similarity} similarity of "
    if not spec.scores:
        source += f"vectors from {spec.embeddings}" if spec.embeddings else f"the encoder {spec.encoder}"
    if spec.rerank:
        source += f", re-ranked by {spec.rerank}"
    if spec.query_images:
        source += f", query pictures replaced by {spec.query_images}"
    if spec.corrupt:
        source += f", query pictures made worse by {spec.corrupt}"
    if spec.slice:
        source += f"; only queries with {_conditions(spec.slice)} count"
    policy = NO_RELEVANT_WORDS[spec.no_relevant]
    seed = "" if spec.seed is None else f" Drawn with seed {spec.seed}."
    train = f" Trained on {spec.train}." if spec.train else ""
    return f"{data}: {asks}; {right}; {source}. {policy}{train}{seed}"


SPLIT_WORDS = {
    "by-view": "grouped by scene, one view asks and the other answers, in both directions",
    "by-role": "a column says who asks and who answers",
    "grouped": "one item of each group asks, its others answer",
    "random": "a random half of the images asks, the other half answers",
    "leave-one-out": "every item asks all the others",
}
"""A query/gallery split in words."""

NO_RELEVANT_WORDS = {
    "miss": "A query with nothing relevant counts as missed.",
    "exclude": "A query with nothing relevant is left out.",
}
"""The policy in words."""


def spell_number(value: float | None) -> str:
    """Spell a value with four digits, or ``undefined``."""
    return "undefined" if value is None or math.isnan(value) else f"{value:.4f}"


def base_name(name: str) -> str:
    """Name of the metric without its cut: ``recall`` of ``recall@5``."""
    return name.partition("@")[0]


def interval_cells(interval: Interval | None) -> str:
    """An interval in brackets."""
    return "undefined" if interval is None else f"[{spell_number(interval.low)}, {spell_number(interval.high)}]"


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding as JSON."""
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "count": finding.count,
        "message": finding.message,
        "examples": list(finding.examples),
    }


def defined(value: float | None) -> float | None:
    """The number, or None where it is undefined, as JSON has no nan."""
    return None if value is None or math.isnan(value) else value


def without_zeros(value: float) -> str:
    """A count without decimals, anything else with two."""
    return f"{value:.0f}" if value == round(value) else f"{value:.2f}"


def _conditions(conditions: Any) -> str:
    return " and ".join(f"{column}={'|'.join(values)}" for column, values in conditions)


def aligned(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Lay cells out in columns: names to the left, numbers to the right."""
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return [
        "  "
        + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    ]


def range_text(row: Mapping[str, Any], spell: Callable[[float | None], str] = spell_number) -> str:
    """The interval of a table's row in brackets."""
    return "undefined" if row["low"] is None else f"[{spell(row['low'])}, {spell(row['high'])}]"


def signed(value: float | None) -> str:
    """A difference with its sign."""
    return "undefined" if value is None else f"{value:+.4f}"


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table; what is undefined is ``None``."""
    return [
        {str(name): defined(value) if isinstance(value, float) else value for name, value in row.items()}
        for row in table.to_dict("records")
    ]
