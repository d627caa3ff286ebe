"""An index experiment as text, JSON and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ...evaluation import FORMAT, aligned, finding_json, range_text, records, signed, spell_number, table_csv
from ...version import VERSION
from . import experiment
from .experiment import Experiment


def ann_text(whole: Experiment) -> str:
    """Spell an experiment on indexes as text: representation and index error in columns of their own, then costs."""
    lines = [
        "[exact]",
        f"  {whole.n_gallery} items of {whole.n_dim} dimensions; {_spent(whole.exact_cost.seconds)} a query exactly",
        f"  {len(whole.test)} queries in {_n_group(whole, whole.test)} groups are measured; "
        f"{len(whole.validation)} in {_n_group(whole, whole.validation)} others tune",
    ]
    measured, tried = experiment.trial_table(whole), experiment.trial_table(whole, "validation")
    if len(measured):
        lines += ["[index error]", *aligned([_error_cells(row, whole) for row in records(measured)])]
        lines += ["[index cost]", *aligned([_cost_cells(row) for row in records(measured)])]
    if len(tried):
        lines.append(f"[tuning, on the validation queries alone: the highest R@{whole.k}, of equals the first]")
        lines += aligned([_trial_cells(row, whole) for row in records(tried)])
    lines += ["[limits]", *(f"  {words}" for words in ann_limits(whole)), "[findings]"]
    lines += [f"  {finding.severity}: {finding.reported}" for finding in whole.findings] or ["  none"]
    lines += ["[version]", f"  recall-explorer {VERSION}"]
    return "\n".join(lines) + "\n"


def ann_limits(whole: Experiment) -> list[str]:
    """Say for what an experiment on indexes holds, and how its columns are to be read."""
    first, k, size = whole.ks[0], whole.k, f"{whole.n_gallery} items of {whole.n_dim} dimensions"
    return [
        f"this holds for these indexes, these vectors and this size ({size}); another encoder, more items or harder "
        "queries need their own measurement",
        f"exact R@k is the representation's; the index's R@k counts, of the {whole.depth} items that it returns, the "
        "first k by exact similarity; own R@k those in its own order; the difference is the index's error",
        f"not returned: queries whose right item is among the exact first {k}, and the index returned none; worse "
        f"rank: it returned one, but its own order has it after {first}",
        "times are of one thread, by the clock of this machine; CPU time is what a quiet machine would need; "
        f"indexes were built with {whole.threads} thread{'s' * (whole.threads > 1)}, seed {whole.seed}",
    ]


def ann_json(whole: Experiment) -> dict[str, Any]:
    """Spell an experiment on indexes as one JSON object; what is undefined is ``None``."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "n_gallery": whole.n_gallery,
        "n_dim": whole.n_dim,
        "n_copies": whole.n_copy,
        "n_validation": len(whole.validation),
        "n_test": len(whole.test),
        "ks": list(whole.ks),
        "depth": whole.depth,
        "seed": whole.seed,
        "threads": whole.threads,
        "exact_milliseconds": 1000 * whole.exact_cost.seconds,
        "exact_cpu_milliseconds": 1000 * whole.exact_cost.cpu_seconds,
        "test": records(experiment.trial_table(whole)),
        "validation": records(experiment.trial_table(whole, "validation")),
        "findings": [finding_json(finding) for finding in whole.findings],
        "limits": ann_limits(whole),
    }


def ann_csv(whole: Experiment) -> str:
    """Spell both tables of an experiment on indexes as one CSV, its first column says which queries."""
    parts = {part: experiment.trial_table(whole, part) for part in ("test", "validation")}
    return table_csv(pd.concat([one.assign(queries=part) for part, one in parts.items()], ignore_index=True))


def _error_cells(row: Mapping[str, Any], whole: Experiment) -> dict[str, str]:
    cells = {"": row["name"] + (" (chosen)" if row["chosen"] else "")}
    for k in whole.ks:
        lost = (
            range_text({"low": row[f"low@{k}"], "high": row[f"high@{k}"]}, signed)
            if row[f"low@{k}"] is not None
            else ""
        )
        cells |= {
            f"exact R@{k}": spell_number(row[f"exact_recall@{k}"]),
            f"index R@{k}": spell_number(row[f"recall@{k}"]),
            f"difference@{k}": f"{signed(row[f'difference@{k}'])} {lost}".strip(),
        }
    return cells | {
        f"own R@{whole.ks[0]}": spell_number(row[f"own_recall@{whole.ks[0]}"]),
        f"overlap@{whole.k}": spell_number(row["overlap"]),
        "not returned": str(row[f"not_returned@{whole.k}"]),
        "worse rank": str(row[f"worse_rank@{whole.ks[0]}"]),
    }


def _cost_cells(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "": row["name"],
        "queries/s": _measured(row["queries_per_second"], 1, 0),
        "ms/query": _measured(row["milliseconds"], 1, 3),
        "CPU ms/query": _measured(row["cpu_milliseconds"], 1, 3),
        "build s": _measured(row["build_seconds"], 1, 1),
        "build CPU s": _measured(row["build_cpu_seconds"], 1, 1),
        "index MiB": _measured(row["index_bytes"], 2**20, 1),
        "memory MiB": _measured(row["memory_bytes"], 2**20, 1),
    }


def _trial_cells(row: Mapping[str, Any], whole: Experiment) -> dict[str, str]:
    return {
        "": row["name"] + (" (chosen)" if row["chosen"] else ""),
        **{f"R@{k}": spell_number(row[f"recall@{k}"]) for k in whole.ks},
        f"overlap@{whole.k}": spell_number(row["overlap"]),
        "CPU ms/query": _measured(row["cpu_milliseconds"], 1, 3),
    }


def _measured(value: float | None, unit: float, digits: int) -> str:
    return "-" if value is None else f"{value / unit:.{digits}f}"


def _spent(seconds: float) -> str:
    return f"{1000 * seconds:.3f} ms"


def _n_group(whole: Experiment, queries: ArrayLike) -> int:
    return len(np.unique(whole.groups[np.asarray(queries)]))
