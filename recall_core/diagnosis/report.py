"""Slices, comparison and audit as text, JSON or LaTeX."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ..datasets import Dataset
from ..evaluation import FORMAT, finding_json, made_by, range_text, records, signed, spell_number
from ..version import VERSION
from . import comparison, slicing
from .audit import Inspection
from .comparison import Comparison


def inspection_text(dataset: Dataset, found: Inspection) -> str:
    """Spell an inspection as text: what was looked at, then a line a finding."""
    lines = ["[audit]", f"  {dataset.name}: {len(dataset)} items, fingerprint {dataset.fingerprint[:12]}", "[findings]"]
    lines += [f"  {finding.severity}: {finding.reported}" for finding in found.findings] or ["  none"]
    lines += ["[version]", f"  recall-explorer {VERSION}"]
    return "\n".join(lines) + "\n"


def inspection_json(dataset: Dataset, found: Inspection) -> dict[str, Any]:
    """Spell an inspection as one JSON object: findings, and each table as a list of rows."""
    tables = ("pairs", "hubs", "labels", "classes", "unreadable", "without_relevant")
    return {
        "format": FORMAT,
        "version": VERSION,
        "dataset": {"name": dataset.name, "fingerprint": dataset.fingerprint},
        "n_item": len(dataset),
        "findings": [finding_json(finding) for finding in found.findings],
        **{name: json.loads(getattr(found, name).to_json(orient="records", double_precision=15)) for name in tables},
    }


def slices_text(table: pd.DataFrame, column: str, metric: str) -> str:
    """Spell ``slices.slices`` as a section of the report."""
    width = max((len(name) for name in table["slice"]), default=0) + 1
    lines = [
        f"[slices by {column}]",
        f"  {metric}, worst first; all intervals hold together at {slicing.LEVEL:.0%} (Bonferroni)",
    ]
    for row in records(table):
        line = f"  {row['slice'] + ':':<{width}} {spell_number(row['value'])}  {range_text(row)}"
        line += f"  {row['n_counted']} of {row['n_query']} queries"
        line += "" if row["loss"] is None else f"  {row['loss']:.0%} of all loss"
        lines.append(line + (f"  small: {row['n_group']} independent groups" if row["small"] else ""))
    return "\n".join(lines) + "\n"


def slices_json(tables: Mapping[str, pd.DataFrame], metric: str) -> dict[str, Any]:
    """Spell ``slices.slices`` of several columns for JSON: column → its slices."""
    return {"metric": metric, "level": slicing.LEVEL, "columns": {name: records(one) for name, one in tables.items()}}


def comparison_text(compared: Comparison, metrics: Sequence[str]) -> str:
    """Spell a comparison as text: what each run scores, the paired tests, and for two runs the queries that changed."""
    lines = ["[comparison]", f"  {compared.n_query} queries in {len(set(compared.groups.tolist()))} groups"]
    lines += [f"  {finding.severity}: {finding.reported}" for finding in compared.findings]
    runs = records(comparison.run_table(compared, metrics))
    width = max(map(len, compared.names)) + 1
    for metric in metrics:
        lines.append(f"[{metric}]")
        for row in runs:
            if row["metric"] == metric:
                value = f"{spell_number(row['value'])}  {range_text(row)}  {row['method']}"
                lines.append(f"  {row['run'] + ':':<{width}} {value}".rstrip())
    lines += [
        "[paired tests]",
        "  difference with its interval; sign-flip test by group, corrected for all tests (Holm)",
    ]
    lines += [_test_line(row) for row in records(comparison.paired_tests(compared, metrics))]
    if len(compared.names) == 2:
        for metric in metrics:
            lines += _moved_lines(compared, metric)
    lines += ["[version]", f"  recall-explorer {VERSION}"]
    for name, one in zip(compared.names, compared.evaluations, strict=True):
        if one.version != VERSION:
            lines.append(f"  {name}: {made_by(one)}")
    return "\n".join(lines) + "\n"


def comparison_json(compared: Comparison, metrics: Sequence[str]) -> dict[str, Any]:
    """Spell a comparison as one JSON object; undefined values are ``None``."""
    spelled: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "n_query": compared.n_query,
        "runs": records(comparison.run_table(compared, metrics)),
        "tests": records(comparison.paired_tests(compared, metrics)),
        "specs": {name: one.spec.to_json() for name, one in zip(compared.names, compared.evaluations, strict=True)},
        "versions": {name: one.version for name, one in zip(compared.names, compared.evaluations, strict=True)},
        "findings": [finding_json(finding) for finding in compared.findings],
    }
    if len(compared.names) == 2:
        spelled["queries"] = {metric: records(comparison.query_moves(compared, metric)) for metric in metrics}
    return spelled


def comparison_latex(compared: Comparison, metrics: Sequence[str]) -> str:
    """Spell the table of runs as a LaTeX ``tabular`` (package booktabs), the best value of each metric in bold."""
    rows = {(row["run"], row["metric"]): row for row in records(comparison.run_table(compared, metrics))}
    best = {
        name: max((r["value"] for r in rows.values() if r["metric"] == name and r["value"] is not None), default=None)
        for name in metrics
    }
    lines = [
        f"% {compared.n_query} queries, {comparison.LEVEL:.0%} intervals by groups, recall-explorer {VERSION}",
        "\\begin{tabular}{l" + "l" * len(metrics) + "}",
        "\\toprule",
        " & ".join(["run", *map(_latex, metrics)]) + r" \\",
        "\\midrule",
    ]
    for name in compared.names:
        cells = [_latex(name)]
        for metric in metrics:
            row = rows[name, metric]
            shown = spell_number(row["value"])
            first = row["value"] is not None and shown == spell_number(best[metric])
            cells.append((f"\\textbf{{{shown}}}" if first else shown) + f" {range_text(row)}")
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "[": "{[}",
    **{letter: "\\" + letter for letter in "&%$#_{}"},
}
"""Letters that mean something to LaTeX → how it prints them."""


def _latex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)


def _moved_lines(compared: Comparison, metric: str, most: int = 10) -> list[str]:
    moves = comparison.query_moves(compared, metric)
    lines = [f"[queries by {metric}]"]
    for outcome in ("lost", "won"):
        rows = moves[moves["outcome"] == outcome]
        lines.append(f"  {outcome}: {len(rows)}")
        for row in records(rows.head(most)):
            ranks = " -> ".join(str(row[name] or "none") for name in ("first_rank", "second_rank"))
            values = f"{spell_number(row['first_value'])} -> {spell_number(row['second_value'])}"
            lines.append(f"    {row['direction']} {row['id']}: {values}, first hit at rank {ranks}")
        if len(rows) > most:
            lines.append(f"    and {len(rows) - most} more")
    return lines


def _test_line(row: Mapping[str, Any]) -> str:
    what = f"{row['metric']}, {row['second']} - {row['first']}: {signed(row['difference'])}  {range_text(row, signed)}"
    tested = f"p={spell_number(row['p'])} corrected {spell_number(row['p_holm'])}"
    counts = f"won {row['won']}, lost {row['lost']}, tied {row['tied']}"
    return f"  {what}  {tested}  {counts}; {row['n_changed']} of {row['n_group']} groups differ"
