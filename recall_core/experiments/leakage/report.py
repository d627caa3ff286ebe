"""What leaks, as text and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from ...evaluation import FORMAT, Evaluation, defined, report_json, spell_number, without_zeros
from ...program import flag
from ...protocol import Spec
from ...version import VERSION
from . import draws, experiment, training
from .draws import Draw, Halves
from .experiment import Experiments
from .training import Material


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
        lines += [f"[{part}]", f"  left out: {reason.spelled(flag)}"]
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
            case: {"words": experiment.SAME_PICTURE[case], "chance": experiment.chance(one), **report_json(one)}
            for case, one in found.same_picture.items()
        }
    if found.training is not None:
        material, table = found.training
        gap = training.gap(table)
        parts["training"] = {
            "features": material.source,
            "n_item": len(material.rows),
            "n_left_out": material.n_left_out,
            "gap": {name: defined(value) for name, value in vars(gap).items()},
            "winners": training.winners(table).to_dict(orient="index"),
            "draws": _by_seed(table, "draw"),
        }
    skipped = {part: reason.spelled(flag) for part, reason in found.skipped.items()}
    return {"format": FORMAT, "version": VERSION, "parts": parts, "skipped": skipped}


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
    told = [f"R@{k}={spell_number(draw.recall[k])}/{spell_number(draw.recall_evaluable[k])}" for k in ks]
    return f"  lost counts as missed/is left out: {' '.join(told)}"


def _same_picture_lines(cases: Mapping[str, Evaluation]) -> list[str]:
    lines = []
    for case, one in cases.items():
        k = one.spec.ks[0]
        recall, evaluable = one.scores[f"recall@{k}"], one.scores[f"recall_evaluable@{k}"]
        ratio = f"{without_zeros(recall.numerator)}/{without_zeros(recall.denominator)}"
        lines += [
            f"  {case}: {experiment.SAME_PICTURE[case]}",
            f"    R@{k} {spell_number(recall.value)} ({ratio}), of the evaluable {spell_number(evaluable.value)}, "
            f"by chance {spell_number(experiment.chance(one))} at k=1",
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
        f"[{spell_number(gap.low)}, {spell_number(gap.high)}], higher in {gap.n_positive} of {gap.n}"
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
        **{f"recall@{k}": defined(value) for k, value in draw.recall.items()},
        **{f"recall_evaluable@{k}": defined(value) for k, value in draw.recall_evaluable.items()},
    }


def _by_seed(table: pd.DataFrame, split: str) -> dict[str, dict[str, list[Any]]]:
    """Each draw's columns, in the order of the seeds."""
    return {
        str(name): {
            column: [defined(value) if isinstance(value, float) else value for value in part[column].tolist()]
            for column in part.columns
            if column != split
        }
        for name, part in table.groupby(split, sort=False)
    }
