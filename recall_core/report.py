"""An evaluation as text, JSON or CSV, and a spec in words. All shaping for display is here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .evaluation import Estimate, Evaluation
from .spec import Spec
from .uncertainty import Interval

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


def text(evaluation: Evaluation) -> str:
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
    lines += [f"  {finding.severity}: {finding.message}" for finding in evaluation.findings] or ["  none"]
    lines += ["[spec]", f"  {describe(evaluation.spec)}", f"  {evaluation.given.to_command()}"]
    return "\n".join(lines) + "\n"


def to_json(evaluation: Evaluation) -> dict[str, Any]:
    """Spell the report as one JSON object; undefined values are ``None``."""
    return {
        "format": FORMAT,
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
        "findings": [
            {
                "kind": finding.kind,
                "severity": finding.severity,
                "count": finding.count,
                "message": finding.message,
                "examples": list(finding.examples),
            }
            for finding in evaluation.findings
        ],
    }


def to_csv(evaluation: Evaluation) -> str:
    """Spell the table of queries as CSV; what is undefined is empty."""
    return str(evaluation.table.to_csv(index=False, lineterminator="\n"))


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
    if spec.junk_same:
        right += f" (same {spec.junk_same} as well: left out)"
    source = f"scores from {spec.scores}" if spec.scores else f"{spec.similarity} similarity of "
    if not spec.scores:
        source += f"vectors from {spec.embeddings}" if spec.embeddings else f"the encoder {spec.encoder}"
    if spec.query_images:
        source += f", query pictures replaced by {spec.query_images}"
    if spec.corrupt:
        source += f", query pictures made worse by {spec.corrupt}"
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


def number(value: float | None) -> str:
    """Spell a value with four digits, or ``undefined``."""
    return "undefined" if value is None or math.isnan(value) else f"{value:.4f}"


def base_name(name: str) -> str:
    """Name of the metric without its cut: ``recall`` of ``recall@5``."""
    return name.partition("@")[0]


def _score_lines(evaluation: Evaluation, bases: tuple[str, ...]) -> list[str]:
    shown = {name: e for name, e in evaluation.scores.items() if base_name(name) in bases}
    width = max((len(name) for name in shown), default=0) + 1
    lines = []
    for name, estimate in shown.items():
        ratio = f"{_plain(estimate.numerator)}/{_plain(estimate.denominator)}"
        line = f"  {name + ':':<{width}} {number(estimate.value)}  {ratio:>9}  {_interval(estimate.interval)}"
        lines.append(f"{line}  {LEVELS[base_name(name)]}".rstrip())
    return lines


def _lab_line(scores: Mapping[str, Estimate], ks: tuple[int, ...]) -> str:
    cut = 5 if 5 in ks else ks[-1]
    parts = [f"R@{k}={number(scores[f'recall@{k}'].value)}" for k in ks]
    return " ".join([*parts, f"mAP@{cut}={number(scores[f'map@{cut}'].value)}"])


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
            f"  R@{k}: {number(recall.numerator / n_query)} of all {n_query} queries, "
            f"{number(evaluable.value)} of the {counts['n_evaluable']} evaluable ones"
        )
    return lines


def _tie_lines(evaluation: Evaluation) -> list[str]:
    lines = []
    for name, estimate in evaluation.scores.items():
        if estimate.score.n_tied:
            worst, expected, best = estimate.score.bounds
            middle = "" if expected is None else f", expected {number(expected)}"
            lines.append(
                f"  {name}: {estimate.score.n_tied} queries depend on the order of ties; "
                f"worst {number(worst)}{middle}, best {number(best)}"
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
            boot = f", bootstrap {_interval(estimate.bootstrap)}" if base_name(name) == "recall" else ""
            lines.append(f"  {name}: {interval.level:.0%} {interval.method} {_interval(interval)}{boot}")
            reasons.setdefault(f"{interval.method}: {interval.reason}", []).append(name)
    return lines + [f"  {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _interval(interval: Interval | None) -> str:
    return "undefined" if interval is None else f"[{number(interval.low)}, {number(interval.high)}]"


def _score_json(estimate: Estimate) -> dict[str, Any]:
    worst, expected, best = estimate.score.bounds
    interval = estimate.interval
    return {
        "value": _defined(estimate.value),
        "numerator": estimate.numerator,
        "denominator": estimate.denominator,
        "interval": None if interval is None else [interval.low, interval.high],
        "interval_method": None if interval is None else interval.method,
        "bootstrap": None if estimate.bootstrap is None else [estimate.bootstrap.low, estimate.bootstrap.high],
        "ties": {
            "n_queries": estimate.score.n_tied,
            "worst": _defined(worst),
            "expected": _defined(expected),
            "best": _defined(best),
        },
    }


def _defined(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _gallery_sizes(evaluation: Evaluation) -> str:
    return ", ".join(dict.fromkeys(str(direction.counts["n_gallery"]) for direction in evaluation.directions))


def _plain(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.2f}"


def _conditions(conditions: Any) -> str:
    return " and ".join(f"{column}={'|'.join(values)}" for column, values in conditions)
