"""An evaluation as text, JSON or CSV, and a spec in words. All shaping for display is here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..datasets import qrels_text, run_text
from ..version import VERSION
from .spelling import (
    FORMAT,
    LEVELS,
    NO_RELEVANT_WORDS,
    base_name,
    defined,
    describe,
    finding_json,
    interval_cells,
    spell_number,
    table_csv,
    without_zeros,
)

if TYPE_CHECKING:
    from .record import Estimate, Evaluation


def report_text(evaluation: Evaluation) -> str:
    """Spell the report as text: the runner's block, a line a direction in the lab's form, then sections of our own."""
    lines = ["[evaluation]"]
    counts = evaluation.counts
    lines += [
        f"  num queries:   {counts['n_query']}",
        f"  num gallery:   {_gallery_sizes(evaluation)}",
        f"  embedding_dim: {'none' if counts['n_dim'] is None else counts['n_dim']}",
    ]
    lines += ["[recall]", *_score_lines(evaluation, ("recall",))]
    ks = evaluation.spec.ks
    lines += [f"{direction.name} {_lab_line(direction.scores, ks)}" for direction in evaluation.directions]
    if len(evaluation.directions) > 1:
        lines.append(f"both directions: {_lab_line(evaluation.scores, ks)}")
    lines += ["[item recall]", *_score_lines(evaluation, ("item_recall", "item_recall_macro"))]
    lines += ["[map]", *_score_lines(evaluation, ("map", "mrr", "precision", "ndcg"))]
    lines += _score_lines(evaluation, ("r_precision", "map_at_r", "minp"))
    lines += ["[excluded]", *_excluded_lines(evaluation)]
    lines += ["[ties]", *_tie_lines(evaluation)]
    lines += ["[uncertainty]", *_uncertainty_lines(evaluation)]
    lines += ["[findings]"]
    lines += [f"  {finding.severity}: {finding.reported}" for finding in evaluation.findings] or ["  none"]
    lines += ["[spec]", f"  {describe(evaluation.spec)}", f"  {evaluation.given.to_command()}"]
    lines += ["[version]", f"  {made_by(evaluation)}"]
    return "\n".join(lines) + "\n"


def made_by(evaluation: Evaluation) -> str:
    """Name the version that ranked and, for a saved run of another version, the one that reports."""
    if evaluation.version == VERSION:
        return f"recall-explorer {VERSION}"
    ranked = evaluation.version or "a version before 0.2.0"
    return f"ranked by {ranked}, reported by recall-explorer {VERSION}"


def report_json(evaluation: Evaluation) -> dict[str, Any]:
    """Spell the report as one JSON object; undefined values are ``None``."""
    return {
        "format": FORMAT,
        "version": evaluation.version,
        "spec": evaluation.spec.to_json(),
        "dataset": {"name": evaluation.dataset.name, "fingerprint": evaluation.dataset.fingerprint},
        "counts": dict(evaluation.counts),
        "scores": {name: _score_json(estimate) for name, estimate in evaluation.scores.items()},
        "directions": {
            direction.name: {
                "counts": dict(direction.counts),
                "scores": {name: _score_json(estimate) for name, estimate in direction.scores.items()},
            }
            for direction in evaluation.directions
        },
        "findings": [finding_json(finding) for finding in evaluation.findings],
    }


def report_csv(evaluation: Evaluation) -> str:
    """Spell the table of queries as CSV; what is undefined is empty."""
    return table_csv(evaluation.table)


def to_qrels(evaluation: Evaluation) -> str:
    """Spell what is relevant as TREC qrels, one direction after the other; junk pairs get grade −1."""
    judged: list[tuple[str, str, int]] = []
    for direction in evaluation.directions:
        ids, split = evaluation.dataset.ids, direction.split
        for grade, (indptr, position) in ((1, direction.relevance.pairs()), (-1, direction.relevance.junk.pairs())):
            query = np.repeat(np.arange(len(split.query)), np.diff(indptr))
            pairs = zip(ids[split.query[query]], ids[split.gallery[position]], strict=True)
            judged += [(asked, answer, grade) for asked, answer in pairs]
    return qrels_text(judged)


def to_run(evaluation: Evaluation) -> str:
    """Spell the kept top of each list as a TREC run, one direction after the other; see ``interchange.run_text``."""
    ids = evaluation.dataset.ids
    return "".join(
        run_text(
            list(ids[direction.split.query]),
            list(ids[direction.split.gallery]),
            direction.ranking.top_position,
            direction.ranking.top_similarity,
            "recall_core",
        )
        for direction in evaluation.directions
    )


def _score_lines(evaluation: Evaluation, bases: tuple[str, ...]) -> list[str]:
    shown = {name: e for name, e in evaluation.scores.items() if base_name(name) in bases}
    width = max((len(name) for name in shown), default=0) + 1
    lines = []
    for name, estimate in shown.items():
        ratio = f"{without_zeros(estimate.numerator)}/{without_zeros(estimate.denominator)}"
        line = (
            f"  {name + ':':<{width}} {spell_number(estimate.value)}  {ratio:>9}  {interval_cells(estimate.interval)}"
        )
        lines.append(f"{line}  {LEVELS[base_name(name)]}".rstrip())
    return lines


def _lab_line(scores: Mapping[str, Estimate], ks: tuple[int, ...]) -> str:
    cut = 5 if 5 in ks else ks[-1]
    parts = [f"R@{k}={spell_number(scores[f'recall@{k}'].value)}" for k in ks]
    return " ".join([*parts, f"mAP@{cut}={spell_number(scores[f'map@{cut}'].value)}"])


def _excluded_lines(evaluation: Evaluation) -> list[str]:
    counts, policy = evaluation.counts, evaluation.spec.no_relevant
    lines = [
        f"  queries: {counts['n_query']}, evaluable: {counts['n_evaluable']}, "
        f"without relevant: {counts['n_without_relevant']}, junk pairs removed: {counts['n_junk']}",
        f"  {NO_RELEVANT_WORDS[policy]} Every metric but R@k leaves it out.",
    ]
    if counts["n_without_relevant"]:
        k = evaluation.spec.ks[0]
        recall, evaluable = evaluation.scores[f"recall@{k}"], evaluation.scores[f"recall_evaluable@{k}"]
        n_query = counts["n_query"] or 0
        lines.append(
            f"  R@{k}: {spell_number(recall.numerator / n_query)} of all {n_query} queries, "
            f"{spell_number(evaluable.value)} of the {counts['n_evaluable']} evaluable ones"
        )
    return lines


def _tie_lines(evaluation: Evaluation) -> list[str]:
    lines = []
    for name, estimate in evaluation.scores.items():
        if estimate.score.n_tied:
            worst, expected, best = estimate.score.bounds
            middle = "" if expected is None else f", expected {spell_number(expected)}"
            lines.append(
                f"  {name}: {estimate.score.n_tied} queries depend on the order of ties; "
                f"worst {spell_number(worst)}{middle}, best {spell_number(best)}"
            )
    return lines or ["  no score depends on the order of ties"]


def _uncertainty_lines(evaluation: Evaluation) -> list[str]:
    """Wilson and bootstrap side by side for R@k, then why each method was taken, each reason once."""
    group = evaluation.dataset.columns.get("group")
    unit = f"the group (column {group})" if group else "each item, since there is no group column"
    lines = [f"  the independent unit is {unit}; intervals are over the queries' units, given this gallery"]
    reasons: dict[str, list[str]] = {}
    for name, estimate in evaluation.scores.items():
        if base_name(name) not in ("recall", "map"):
            continue
        interval = estimate.interval
        if interval is not None:
            boot = f", bootstrap {interval_cells(estimate.bootstrap)}" if base_name(name) == "recall" else ""
            lines.append(f"  {name}: {interval.level:.0%} {interval.method} {interval_cells(interval)}{boot}")
            reasons.setdefault(f"{interval.method}: {interval.reason}", []).append(name)
    return lines + [f"  {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _score_json(estimate: Estimate) -> dict[str, Any]:
    worst, expected, best = estimate.score.bounds
    interval = estimate.interval
    return {
        "value": defined(estimate.value),
        "numerator": estimate.numerator,
        "denominator": estimate.denominator,
        "interval": None if interval is None else [interval.low, interval.high],
        "interval_method": None if interval is None else interval.method,
        "bootstrap": None if estimate.bootstrap is None else [estimate.bootstrap.low, estimate.bootstrap.high],
        "ties": {
            "n_queries": estimate.score.n_tied,
            "worst": defined(worst),
            "expected": defined(expected),
            "best": defined(best),
        },
    }


def _gallery_sizes(evaluation: Evaluation) -> str:
    return ", ".join(dict.fromkeys(str(direction.counts["n_gallery"]) for direction in evaluation.directions))
