"""An evaluation as text, JSON or CSV, and a spec in words. All shaping for display is here."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from . import ann, comparison, draws, leakage, slices, tables, training
from .ann import Experiment
from .audit import Finding
from .comparison import Comparison
from .dataset import Dataset
from .draws import Draw, Halves
from .evaluation import Estimate, Evaluation
from .inspection import Inspection
from .interchange import qrels_text, run_text
from .leakage import Experiments
from .spec import Spec
from .training import Material
from .uncertainty import Interval
from .version import VERSION

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
    lines += ["[version]", f"  {made_by(evaluation)}"]
    return "\n".join(lines) + "\n"


def made_by(evaluation: Evaluation) -> str:
    """Name the version that ranked and, for a saved run of another version, the one that reports."""
    if evaluation.version == VERSION:
        return f"recall-explorer {VERSION}"
    ranked = evaluation.version or "a version before 0.2.0"
    return f"ranked by {ranked}, reported by recall-explorer {VERSION}"


def to_json(evaluation: Evaluation) -> dict[str, Any]:
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
        "findings": [_finding_json(finding) for finding in evaluation.findings],
    }


def to_csv(evaluation: Evaluation) -> str:
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


def inspection_text(dataset: Dataset, found: Inspection) -> str:
    """Spell an inspection as text: what was looked at, then a line a finding."""
    lines = ["[audit]", f"  {dataset.name}: {len(dataset)} items, fingerprint {dataset.fingerprint[:12]}", "[findings]"]
    lines += [f"  {finding.severity}: {finding.message}" for finding in found.findings] or ["  none"]
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
        "findings": [_finding_json(finding) for finding in found.findings],
        **{name: json.loads(getattr(found, name).to_json(orient="records", double_precision=15)) for name in tables},
    }


def table_csv(table: pd.DataFrame) -> str:
    """Spell a table as CSV; what is undefined is empty."""
    return tables.to_csv(table)


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


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "count": finding.count,
        "message": finding.message,
        "examples": list(finding.examples),
    }


def _defined(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _gallery_sizes(evaluation: Evaluation) -> str:
    return ", ".join(dict.fromkeys(str(direction.counts["n_gallery"]) for direction in evaluation.directions))


def _plain(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.2f}"


def _conditions(conditions: Any) -> str:
    return " and ".join(f"{column}={'|'.join(values)}" for column, values in conditions)


def leakage_text(found: Experiments) -> str:
    """Spell the experiments on leakage as text: each number's distribution over seeds, and the counts."""
    lines: list[str] = []
    if found.query_gallery is not None:
        lines += ["[query-gallery]", *_query_gallery_lines(*found.query_gallery)]
    if found.same_picture is not None:
        lines += ["[same-picture]", *_same_picture_lines(found.same_picture)]
    if found.training is not None:
        lines += ["[training]", *_training_lines(*found.training)]
    for part, reason in found.skipped.items():
        lines += [f"[{part}]", f"  left out: {reason}"]
    lines += ["[version]", f"  recall-explorer {VERSION}"]
    return "\n".join(lines) + "\n"


def leakage_json(found: Experiments) -> dict[str, Any]:
    """Spell the experiments on leakage as one JSON object, with every seed's values; what is undefined is ``None``."""
    parts: dict[str, Any] = {}
    if found.query_gallery is not None:
        halves, table = found.query_gallery
        shown, course = draws.random_draw(halves, int(table["seed"].iloc[0])), draws.course_draw(halves)
        parts["query-gallery"] = {
            "spec": halves.spec.replace(seed=int(table["seed"].iloc[0])).to_json(),
            "shown": _draw_json(halves, shown),
            "course": _draw_json(halves, course),
            "splits": _by_seed(table, "split"),
        }
    if found.same_picture is not None:
        parts["same-picture"] = {
            case: {"words": leakage.SAME_PICTURE[case], "chance": leakage.chance(one), **to_json(one)}
            for case, one in found.same_picture.items()
        }
    if found.training is not None:
        material, table = found.training
        gap = training.gap(table)
        parts["training"] = {
            "features": material.source,
            "n_item": len(material.rows),
            "n_left_out": material.n_left_out,
            "gap": {name: _defined(value) for name, value in vars(gap).items()},
            "winners": training.winners(table).to_dict(orient="index"),
            "draws": _by_seed(table, "draw"),
        }
    return {"format": FORMAT, "version": VERSION, "parts": parts, "skipped": dict(found.skipped)}


def _query_gallery_lines(halves: Halves, table: pd.DataFrame) -> list[str]:
    dataset, spec = halves.dataset, halves.spec
    seed = int(table["seed"].iloc[0])
    shown, course = draws.random_draw(halves, seed), draws.course_draw(halves)
    lost = f": {', '.join(map(str, dataset.ids[shown.lost]))}" if shown.n_lost else ""
    lines = [
        f"  {len(halves.rows)} images; same {spec.relevant or 'pairs as judged'} is right",
        f"  seed {seed}: {shown.n_lost} of {shown.n_query} queries have lost their partner{lost}",
        f"  {_draw_line(shown, spec.ks)}",
        f"  the course's draw ({course.splits[0].drawn}): {course.n_lost} of {course.n_query} have lost theirs",
        f"  {_draw_line(course, spec.ks)}",
        _spread_head(table),
    ]
    for split, part in table.groupby("split", sort=False):
        n_query = int(part["n_query"].iloc[0])
        lines.append(_spread_line(f"{split}: lost, of {n_query} queries", part["n_lost"], digits=2))
        for k in spec.ks:
            lines.append(_spread_line(f"{split}: R@{k}, lost counts as missed", part[f"recall@{k}"]))
            lines.append(_spread_line(f"{split}: R@{k}, lost left out", part[f"recall_evaluable@{k}"]))
    return [
        *lines,
        *(f"  {draw.to_command()}" for draw in (_given(halves, "random", seed), _given(halves, None, None))),
    ]


def _given(halves: Halves, split: str | None, seed: int | None) -> Spec:
    return halves.given.replace(split=split or halves.paired.split, seed=seed)


def _draw_line(draw: Draw, ks: tuple[int, ...]) -> str:
    told = [f"R@{k}={number(draw.recall[k])}/{number(draw.recall_evaluable[k])}" for k in ks]
    return f"  lost counts as missed/is left out: {' '.join(told)}"


def _same_picture_lines(cases: Mapping[str, Evaluation]) -> list[str]:
    lines = []
    for case, one in cases.items():
        k = one.spec.ks[0]
        recall, evaluable = one.scores[f"recall@{k}"], one.scores[f"recall_evaluable@{k}"]
        ratio = f"{_plain(recall.numerator)}/{_plain(recall.denominator)}"
        lines += [
            f"  {case}: {leakage.SAME_PICTURE[case]}",
            f"    R@{k} {number(recall.value)} ({ratio}), of the evaluable {number(evaluable.value)}, "
            f"by chance {number(leakage.chance(one))} at k=1",
            f"    {one.given.to_command()}",
        ]
    return lines


def _training_lines(material: Material, table: pd.DataFrame) -> list[str]:
    gap, chosen = training.gap(table), training.winners(table)
    first = table[table["seed"] == table["seed"].iloc[0]].set_index("draw")
    lines = [
        f"  {len(material.rows)} images with {material.source}, {material.n_left_out} left out; trained on "
        f"{first.loc['random', 'n_train']} (random) and {first.loc['grouped', 'n_train']} (grouped), "
        f"evaluated on {first.loc['random', 'n_evaluated']}, leave-one-out",
        *(f"  {score}: {words}" for score, words in training.SCORES.items()),
        _spread_head(table),
    ]
    for draw, part in table.groupby("draw", sort=False):
        for score in training.SCORES:
            lines.append(_spread_line(f"{draw}: {score}", part[score]))
        lines.append(_spread_line(f"{draw}: chance", part["chance"]))
        lines.append(_spread_line(f"{draw}: share of groups trained on", part["share_known"]))
        lines.append(_spread_line(f"{draw}: pairs across the border", part["n_crossing"], digits=2))
    lines.append(
        f"  ridge scores {gap.mean:+.4f} higher under the random draw, 95 % interval over seeds "
        f"[{number(gap.low)}, {number(gap.high)}], higher in {gap.n_positive} of {gap.n}"
    )
    for draw in chosen.index:
        counts = ", ".join(f"{name} in {chosen.loc[draw, name]}" for name in chosen.columns)
        lines.append(f"  the {draw} draw chooses {counts} of {gap.n}")
    return lines


def _spread_head(table: pd.DataFrame) -> str:
    words = f"over {table['seed'].nunique()} seeds"
    return f"  {words:<42} " + "".join(f"{name:>10}" for name in ("mean", "min", "25 %", "median", "75 %", "max"))


def _spread_line(name: str, values: ArrayLike, *, digits: int = 4) -> str:
    spread = draws.spread(values)
    numbers = list(vars(spread).values())[1:]
    shown = "".join(f"{'undefined' if math.isnan(value) else f'{value:.{digits}f}':>10}" for value in numbers)
    return f"  {name:<42} {shown}"


def _draw_json(halves: Halves, draw: Draw) -> dict[str, Any]:
    return {
        "seed": None if draw.spec is None else draw.spec.seed,
        "n_query": draw.n_query,
        "n_lost": draw.n_lost,
        "lost": [str(item) for item in halves.dataset.ids[draw.lost]],
        **{f"recall@{k}": _defined(value) for k, value in draw.recall.items()},
        **{f"recall_evaluable@{k}": _defined(value) for k, value in draw.recall_evaluable.items()},
    }


def _by_seed(table: pd.DataFrame, split: str) -> dict[str, dict[str, list[Any]]]:
    """Each draw's columns, in the order of the seeds."""
    return {
        str(name): {
            column: [_defined(value) if isinstance(value, float) else value for value in part[column].tolist()]
            for column in part.columns
            if column != split
        }
        for name, part in table.groupby(split, sort=False)
    }


def ann_text(whole: Experiment) -> str:
    """Spell an experiment on indexes as text: representation and index error in columns of their own, then costs."""
    lines = [
        "[exact]",
        f"  {whole.n_gallery} items of {whole.n_dim} dimensions; {_spent(whole.exact_cost.seconds)} a query exactly",
        f"  {len(whole.test)} queries in {_n_group(whole, whole.test)} groups are measured; "
        f"{len(whole.validation)} in {_n_group(whole, whole.validation)} others tune",
    ]
    measured, tried = ann.table(whole), ann.table(whole, "validation")
    if len(measured):
        lines += ["[index error]", *_aligned([_error_cells(row, whole) for row in _records(measured)])]
        lines += ["[index cost]", *_aligned([_cost_cells(row) for row in _records(measured)])]
    if len(tried):
        lines.append(f"[tuning, on the validation queries alone: the highest R@{whole.k}, of equals the first]")
        lines += _aligned([_trial_cells(row, whole) for row in _records(tried)])
    lines += ["[limits]", *(f"  {words}" for words in ann_limits(whole)), "[findings]"]
    lines += [f"  {finding.severity}: {finding.message}" for finding in whole.findings] or ["  none"]
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
        "test": _records(ann.table(whole)),
        "validation": _records(ann.table(whole, "validation")),
        "findings": [_finding_json(finding) for finding in whole.findings],
        "limits": ann_limits(whole),
    }


def ann_csv(whole: Experiment) -> str:
    """Spell both tables of an experiment on indexes as one CSV, its first column says which queries."""
    parts = {part: ann.table(whole, part) for part in ("test", "validation")}
    return table_csv(pd.concat([one.assign(queries=part) for part, one in parts.items()], ignore_index=True))


def _error_cells(row: Mapping[str, Any], whole: Experiment) -> dict[str, str]:
    cells = {"": row["name"] + (" (chosen)" if row["chosen"] else "")}
    for k in whole.ks:
        lost = (
            _range({"low": row[f"low@{k}"], "high": row[f"high@{k}"]}, _signed) if row[f"low@{k}"] is not None else ""
        )
        cells |= {
            f"exact R@{k}": number(row[f"exact_recall@{k}"]),
            f"index R@{k}": number(row[f"recall@{k}"]),
            f"difference@{k}": f"{_signed(row[f'difference@{k}'])} {lost}".strip(),
        }
    return cells | {
        f"own R@{whole.ks[0]}": number(row[f"own_recall@{whole.ks[0]}"]),
        f"overlap@{whole.k}": number(row["overlap"]),
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
        **{f"R@{k}": number(row[f"recall@{k}"]) for k in whole.ks},
        f"overlap@{whole.k}": number(row["overlap"]),
        "CPU ms/query": _measured(row["cpu_milliseconds"], 1, 3),
    }


def _measured(value: float | None, unit: float, digits: int) -> str:
    return "-" if value is None else f"{value / unit:.{digits}f}"


def _spent(seconds: float) -> str:
    return f"{1000 * seconds:.3f} ms"


def _n_group(whole: Experiment, queries: ArrayLike) -> int:
    return len(np.unique(whole.groups[np.asarray(queries)]))


def _aligned(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Lay cells out in columns: names to the left, numbers to the right."""
    lines = [list(rows[0]), *(list(row.values()) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return [
        "  "
        + "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    ]


def slices_text(table: pd.DataFrame, column: str, metric: str) -> str:
    """Spell ``slices.slices`` as a section of the report."""
    width = max((len(name) for name in table["slice"]), default=0) + 1
    lines = [
        f"[slices by {column}]",
        f"  {metric}, worst first; all intervals hold together at {slices.LEVEL:.0%} (Bonferroni)",
    ]
    for row in _records(table):
        line = f"  {row['slice'] + ':':<{width}} {number(row['value'])}  {_range(row)}"
        line += f"  {row['n_counted']} of {row['n_query']} queries"
        line += "" if row["loss"] is None else f"  {row['loss']:.0%} of all loss"
        lines.append(line + (f"  small: {row['n_group']} independent groups" if row["small"] else ""))
    return "\n".join(lines) + "\n"


def slices_json(tables: Mapping[str, pd.DataFrame], metric: str) -> dict[str, Any]:
    """Spell ``slices.slices`` of several columns for JSON: column → its slices."""
    return {"metric": metric, "level": slices.LEVEL, "columns": {name: _records(one) for name, one in tables.items()}}


def comparison_text(compared: Comparison, metrics: Sequence[str]) -> str:
    """Spell a comparison as text: what each run scores, the paired tests, and for two runs the queries that changed."""
    lines = ["[comparison]", f"  {compared.n_query} queries in {len(set(compared.groups.tolist()))} groups"]
    lines += [f"  {finding.severity}: {finding.message}" for finding in compared.findings]
    runs = _records(comparison.run_table(compared, metrics))
    width = max(map(len, compared.names)) + 1
    for metric in metrics:
        lines.append(f"[{metric}]")
        for row in runs:
            if row["metric"] == metric:
                value = f"{number(row['value'])}  {_range(row)}  {row['method']}"
                lines.append(f"  {row['run'] + ':':<{width}} {value}".rstrip())
    lines += [
        "[paired tests]",
        "  difference with its interval; sign-flip test by group, corrected for all tests (Holm)",
    ]
    lines += [_test_line(row) for row in _records(comparison.paired_tests(compared, metrics))]
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
        "runs": _records(comparison.run_table(compared, metrics)),
        "tests": _records(comparison.paired_tests(compared, metrics)),
        "specs": {name: one.spec.to_json() for name, one in zip(compared.names, compared.evaluations, strict=True)},
        "versions": {name: one.version for name, one in zip(compared.names, compared.evaluations, strict=True)},
        "findings": [_finding_json(finding) for finding in compared.findings],
    }
    if len(compared.names) == 2:
        spelled["queries"] = {metric: _records(comparison.query_moves(compared, metric)) for metric in metrics}
    return spelled


def comparison_latex(compared: Comparison, metrics: Sequence[str]) -> str:
    """Spell the table of runs as a LaTeX ``tabular`` (package booktabs), the best value of each metric in bold."""
    rows = {(row["run"], row["metric"]): row for row in _records(comparison.run_table(compared, metrics))}
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
            shown = number(row["value"])
            first = row["value"] is not None and shown == number(best[metric])
            cells.append((f"\\textbf{{{shown}}}" if first else shown) + f" {_range(row)}")
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
        for row in _records(rows.head(most)):
            ranks = " -> ".join(str(row[name] or "none") for name in ("first_rank", "second_rank"))
            values = f"{number(row['first_value'])} -> {number(row['second_value'])}"
            lines.append(f"    {row['direction']} {row['id']}: {values}, first hit at rank {ranks}")
        if len(rows) > most:
            lines.append(f"    and {len(rows) - most} more")
    return lines


def _test_line(row: Mapping[str, Any]) -> str:
    what = f"{row['metric']}, {row['second']} - {row['first']}: {_signed(row['difference'])}  {_range(row, _signed)}"
    tested = f"p={number(row['p'])} corrected {number(row['p_holm'])}"
    counts = f"won {row['won']}, lost {row['lost']}, tied {row['tied']}"
    return f"  {what}  {tested}  {counts}; {row['n_changed']} of {row['n_group']} groups differ"


def _range(row: Mapping[str, Any], spell: Callable[[float | None], str] = number) -> str:
    return "undefined" if row["low"] is None else f"[{spell(row['low'])}, {spell(row['high'])}]"


def _signed(value: float | None) -> str:
    return "undefined" if value is None else f"{value:+.4f}"


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table; what is undefined is ``None``."""
    return [
        {str(name): _defined(value) if isinstance(value, float) else value for name, value in row.items()}
        for row in table.to_dict("records")
    ]
