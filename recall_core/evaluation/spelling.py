"""How reports spell numbers, intervals, rows and findings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from .. import datasets
from ..metrics import Interval
from ..protocol import CHOICES, FILTERS, Filter, Finding, Spec

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


def describe(spec: Spec, say: Callable[[str], str] = str) -> str:
    """A resolved spec in one or two sentences, made of what its rows say; ``say`` translates the templates."""
    given = {choice.name: getattr(spec, choice.name) for choice in CHOICES}
    given |= {name: _conditions(given[name], say) for name in FILTERS}
    said: dict[str, list[str]] = {part: [] for part in ("right", "vectors", "counted", "end")}
    for choice in CHOICES:
        part, template = choice.says
        if template and getattr(spec, choice.name) not in (None, "", ()):
            said[part].append(say(template).format(**given))
    given["data"] = given["data"] or say("the data")
    data = say("{data} where {where}").format(**given) if spec.where else given["data"]
    if spec.query is not None:
        sides = say("{query} asks, {gallery} answers").format(**given)
    else:
        sides = say(SPLIT_WORDS[spec.split]) if spec.split in SPLIT_WORDS else spec.split or say("split by default")
    parts = [sides, " ".join(said["right"]), ", ".join(said["vectors"]), *said["counted"]]
    ends = [say(NO_RELEVANT_WORDS[spec.no_relevant]), *said["end"]]
    return f"{data}: {'; '.join(filter(None, parts))}. {' '.join(ends)}"


def _conditions(conditions: Filter | None, say: Callable[[str], str]) -> str:
    both = " " + say("and") + " "
    return both.join(f"{column}={'|'.join(values)}" for column, values in conditions or ()) or say("every row")


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
        "message": finding.reported,
        "examples": list(finding.examples),
    }


def defined(value: float | None) -> float | None:
    """The number, or None where it is undefined, as JSON has no nan."""
    return None if value is None or math.isnan(value) else value


def without_zeros(value: float) -> str:
    """A count without decimals, anything else with two."""
    return f"{value:.0f}" if value == round(value) else f"{value:.2f}"


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
