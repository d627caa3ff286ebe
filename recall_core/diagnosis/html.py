"""An evaluation as one HTML file: numbers with intervals, curves, the worst queries with their pictures, findings.

The file holds everything and asks nothing of a network; it follows the reader's light or dark, and prints. Text out of
the data is escaped wherever it stands, and a content policy keeps the browser from running or fetching anything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import DataError
from ..evaluation import LEVELS, NO_RELEVANT_WORDS, Direction, Evaluation, base_name, describe, made_by, spell_number
from ..images import Pictures, thumbnail_uri
from ..protocol import query_pictures
from ..version import VERSION
from . import slicing, triage
from .failure_list import MISS_REASONS, failures

N_WORST = 24
"""Queries that are shown with their pictures."""

N_TOP = 8
"""Items of each list that are shown."""

SIZE, QUERY_SIZE = 112, 176
"""Pixels of the pictures."""

STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")

Thumbnail = Callable[[int], str]


def html_page(
    evaluation: Evaluation,
    *,
    columns: Sequence[str] = (),
    metric: str | None = None,
    marks: pd.DataFrame | None = None,
    n_worst: int = N_WORST,
) -> str:
    """Spell an evaluation as one self-contained HTML document.

    Parameters
    ----------
    columns : sequence of str
        Columns by which it is sliced.
    metric : str, optional
        The score of the slices; R@k at the first k by default.
    marks : DataFrame, optional
        From ``triage.marks``: tags stand beside their queries, and in a table of their own.
    n_worst : int
        Queries that miss at the first k and are shown with their pictures, the worst first.
    """
    dataset, spec = evaluation.dataset, evaluation.spec
    sections = {
        "Numbers": _cards(evaluation) + _excluded(evaluation),
        "Curves": _curves(evaluation),
        "Findings": _findings(evaluation),
        f"Queries that miss at k={spec.ks[0]}": _worst(evaluation, marks, n_worst),
        **{f"Slices by {column}": _slices(evaluation, column, metric) for column in columns},
    }
    if marks is not None and len(marks):
        sections["Tags and notes"] = _marks(marks)
    sections |= {"All scores": _scores(evaluation), "Made from": _made_from(evaluation)}
    head = f"<p>{escape(describe(spec))}</p>\n<pre>{escape(evaluation.given.to_command())}</pre>"
    return html_document(f"Recall of {dataset.name}", dataset.name, head, sections)


def html_document(title: str, heading: str, head: str, sections: Mapping[str, str], *, language: str = "en") -> str:
    """Write a self-contained HTML document that follows the reader's light or dark, and prints.

    Parameters
    ----------
    title, heading : str
    head : str
        HTML under the heading.
    sections : mapping of title to HTML
    language : str
    """
    body = "\n".join(f"<section>\n<h2>{escape(name)}</h2>\n{content}\n</section>" for name, content in sections.items())
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="generator" content="recall-explorer {VERSION}">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<header><h1>{escape(heading)}</h1>\n{head}</header>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _cards(evaluation: Evaluation) -> str:
    shown = [*(f"recall@{k}" for k in evaluation.spec.ks), f"map@{evaluation.spec.ks[-1]}", "map"]
    cards = []
    for name in dict.fromkeys(shown):
        estimate = evaluation.scores[name]
        made = estimate.interval
        ends = "no interval" if made is None else f"{made.low:.3f} – {made.high:.3f} ({made.level:.0%})"
        cards.append(
            f"<div class=card><h3>{name}</h3><p class=value>{spell_number(estimate.value)}</p>"
            f"<p>{ends}</p><p>{_ratio(estimate.numerator, estimate.denominator)}</p></div>"
        )
    return f"<div class=cards>{''.join(cards)}</div>"


def _arrow(direction: str) -> str:
    return direction.replace("->", " → ")


def _ratio(numerator: float, denominator: float) -> str:
    whole = f"{numerator:.0f}" if numerator == round(numerator) else f"{numerator:.2f}"
    return f"{whole} of {denominator:.0f}"


def _excluded(evaluation: Evaluation) -> str:
    counts = evaluation.counts
    galleries = ", ".join(f"{d.counts['n_gallery']} in {_arrow(d.name)}" for d in evaluation.directions)
    words = (
        f"{counts['n_query']} queries, {counts['n_evaluable']} of them with something relevant in the gallery; "
        f"gallery items: {galleries}; junk pairs left out: {counts['n_junk']}. "
        f"{NO_RELEVANT_WORDS[evaluation.spec.no_relevant]}"
    )
    return f"<p>{escape(words)}</p>"


def _findings(evaluation: Evaluation) -> str:
    items = []
    for finding in evaluation.findings:
        mark = f"<b>{MARKS[finding.severity]} {finding.severity}</b>"
        items.append(f"<li class={finding.severity}>{mark} {escape(finding.reported)}</li>")
    return f"<ul class=findings>{''.join(items)}</ul>" if items else "<p>None.</p>"


MARKS = {"error": "✗", "warning": "!", "note": "·"}


def _scores(evaluation: Evaluation) -> str:
    rows = []
    for name, estimate in evaluation.scores.items():
        made, score = estimate.interval, estimate.score
        worst, _, best = score.bounds
        tied = "none" if not score.n_tied else f"{score.n_tied}: {spell_number(worst)} to {spell_number(best)}"
        rows.append(
            [
                name,
                spell_number(estimate.value),
                "undefined" if made is None else f"{made.low:.4f} – {made.high:.4f}",
                _ratio(estimate.numerator, estimate.denominator),
                tied,
                LEVELS[base_name(name)],
            ]
        )
    return _table(["score", "value", "95 % interval, by group", "sum of", "queries that hang on ties", "counts"], rows)


def _slices(evaluation: Evaluation, column: str, metric: str | None) -> str:
    found = slicing.slices(evaluation, column, metric)
    name = slicing.score_of(evaluation, metric).name
    rows = []
    for row in found.to_dict("records"):
        ends = "undefined" if math.isnan(row["low"]) else f"{row['low']:.4f} – {row['high']:.4f}"
        loss = "" if math.isnan(row["loss"]) else f"{row['loss']:.0%}"
        queries = f"{row['n_counted']} of {row['n_query']}"
        few = f"{row['n_group']} (few)" if row["small"] else str(row["n_group"])
        rows.append([row["slice"], spell_number(row["value"]), ends, loss, queries, few])
    head = [column, name, f"interval, all together {slicing.LEVEL:.0%}", "share of all loss", "queries", "groups"]
    return _table(head, rows)


def _marks(marks: pd.DataFrame) -> str:
    rows = [
        [row["item"], row["other"], MARK_WORDS[row["kind"], row["value"] if row["kind"] == "relevant" else ""], text]
        for row in marks.to_dict("records")
        for text in [row["name"] if row["kind"] == "tag" else row["value"] if row["kind"] == "note" else ""]
    ]
    return _table(["item", "and", "what", ""], rows)


MARK_WORDS = {
    ("tag", ""): "tag",
    ("note", ""): "note",
    ("relevant", "1"): "is in truth right",
    ("relevant", "0"): "is in truth wrong",
}


def _made_from(evaluation: Evaluation) -> str:
    spelled = {name: value for name, value in evaluation.spec.to_json().items() if value not in (None, {}, False)}
    written = json.dumps(spelled, ensure_ascii=False)
    return (
        f"<p>Data with the fingerprint {evaluation.dataset.fingerprint}</p>\n<pre>{escape(written)}</pre>\n"
        f"<p>{escape(made_by(evaluation))}</p>"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f"<th scope=col>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td><bdi>{escape(cell)}</bdi></td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class=scroll><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"


# ---- curves ---------------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 280, 44, 12, 12, 36
LINES = (("one", ""), ("two", "7 4"), ("three", "2 3"))
"""A direction's class and dash, so that lines are told apart without colour."""


def _curves(evaluation: Evaluation) -> str:
    names = {"recall": "R@k", "map": "mAP@k"}
    figures = [
        _figure(evaluation.curves[evaluation.curves["metric"] == metric], name) for metric, name in names.items()
    ]
    return f"<div class=figures>{''.join(figures)}</div>"


def _figure(frame: pd.DataFrame, name: str) -> str:
    """Draw one metric over k, a line and a band for each direction; k on a logarithmic axis."""
    last = max(int(frame["k"].max()), 2)

    def x(k: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(k) / math.log(last)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value)

    parts = [_axes(x, y, last)]
    legend = []
    for (style, dash), (direction, line) in zip(LINES, frame.groupby("direction", sort=False), strict=False):
        line = line.dropna(subset=["value"])
        whole = line.dropna(subset=["low"])
        band = [(x(k), y(v)) for k, v in zip(whole["k"], whole["high"], strict=True)]
        band += [(x(k), y(v)) for k, v in zip(whole["k"][::-1], whole["low"][::-1], strict=True)]
        parts.append(f'<polygon class="band {style}" points="{_points(band)}"/>')
        points = _points([(x(k), y(v)) for k, v in zip(line["k"], line["value"], strict=True)])
        parts.append(f'<polyline class="line {style}" stroke-dasharray="{dash}" points="{points}"/>')
        stroke = f'<path class="line {style}" stroke-dasharray="{dash}" d="M0 5h34"/>'
        legend.append(
            f"<span><svg width=34 height=10 aria-hidden=true>{stroke}</svg> {escape(_arrow(str(direction)))}</span>"
        )
    first, end = frame["value"].iloc[0], frame["value"].iloc[-1]
    words = f"{name} from k=1 ({spell_number(first)}) to k={last} ({spell_number(end)}), with its interval"
    picture = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role=img aria-label="{escape(words)}">{"".join(parts)}</svg>'
    return f"<figure><h3>{escape(name)}</h3>{picture}<figcaption>{' '.join(legend)}</figcaption></figure>"


def _axes(x: Callable[[float], float], y: Callable[[float], float], last: int) -> str:
    parts = []
    for value in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<path class=grid d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f"<text x={LEFT - 6} y={y(value) + 4:.1f} text-anchor=end>{value:g}</text>")
    for k in (1, 2, 3, 5, 10, 20, 50):
        if k <= last:
            parts.append(f"<text x={x(k):.1f} y={HEIGHT - BOTTOM + 18} text-anchor=middle>{k}</text>")
    parts.append(f"<text x={WIDTH - RIGHT} y={HEIGHT - 3} text-anchor=end>k</text>")
    return "".join(parts)


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


# ---- the worst queries ----------------------------------------------------------------------------------------------


def _worst(evaluation: Evaluation, marks: pd.DataFrame | None, most: int) -> str:
    k = evaluation.spec.ks[0]
    found = failures(evaluation, k)
    if not len(found):
        return "<p>None: every query that counts finds a right item at once.</p>"
    tags = {} if marks is None else triage.tags_of(marks)
    own = _thumbnails(evaluation.dataset.pictures, SIZE)
    asked = _asked(evaluation)
    cards = [_query(evaluation, row, own, asked, tags) for row in found.head(most).to_dict("records")]
    shown = f"{len(found)} queries miss; {'all' if len(cards) == len(found) else f'the {len(cards)} worst'} are shown."
    legend = "Framed in full with ✓: right. Dashed with ✗: wrong. Beside each picture its rank and similarity."
    return f"<p>{shown} {legend}</p>{''.join(cards)}"


def _query(
    evaluation: Evaluation, facts: Mapping[Any, Any], own: Thumbnail, asked: Thumbnail, tags: Mapping[str, list[str]]
) -> str:
    direction, query = evaluation.direction(facts["direction"]), int(facts["query"])
    rank = facts["first_rank"]
    fate = f"first right item at rank {rank} of {facts['n_gallery']}" if rank else "no right item found"
    fate = fate if facts["n_relevant"] else "nothing in the gallery is right"
    reasons = [MISS_REASONS[reason] for reason in facts["reasons"].split() if reason in TOLD]
    given = "".join(f"<span class=tag>{escape(tag)}</span>" for tag in tags.get(str(facts["id"]), []))
    head = f"<h3><bdi>{escape(str(facts['id']))}</bdi> <small>{escape(_arrow(direction.name))}</small>{given}</h3>"
    words = f"<p>{escape('; '.join([fate, *reasons]))}</p>"
    row = int(facts["row"])
    tiles = [_tile(asked(row), _name(evaluation, row), "query", "asks")]
    tiles += _answers(evaluation, direction, query, own)
    return f"<article>{head}{words}<div class=tiles>{''.join(tiles)}</div></article>"


TOLD = ("junk", "unlabelled", "unmatched", "not_retrieved", "tie")
"""Reasons that say more than the rank does."""


def _answers(evaluation: Evaluation, direction: Direction, query: int, own: Thumbnail) -> list[str]:
    """The top of the list, and the best right item where it stands further down."""
    ranked = direction.ranking
    pairs = slice(int(ranked.indptr[query]), int(ranked.indptr[query + 1]))
    right = set(ranked.position[pairs].tolist())
    tiles = []
    for at in range(min(N_TOP, ranked.depth)):
        position = int(ranked.top_position[query, at])
        if position >= 0:
            row = int(direction.split.gallery[position])
            kind = "right" if position in right else "wrong"
            words = f"{at + 1} · {ranked.top_similarity[query, at]:.3f}"
            tiles.append(_tile(own(row), _name(evaluation, row), kind, words))
    if right and not 1 <= ranked.rank[pairs][0] <= N_TOP:
        row = int(direction.split.gallery[ranked.position[pairs][0]])
        place = f"{ranked.rank[pairs][0]} · {ranked.similarity[pairs][0]:.3f}" if ranked.rank[pairs][0] else "not found"
        tiles.append(_tile(own(row), _name(evaluation, row), "right apart", place))
    return tiles


def _name(evaluation: Evaluation, row: int) -> str:
    """What makes an item right, where a column says so; else its id."""
    column = evaluation.spec.relevant
    return str(evaluation.dataset.ids[row] if column is None else evaluation.dataset.values(column)[row])


def _tile(uri: str, name: str, kind: str, words: str) -> str:
    mark = {"right": "✓ ", "wrong": "✗ "}.get(kind.split()[0], "")
    crisp = " crisp" if uri.startswith("data:image/png") else ""
    picture = f'<img src="{uri}" alt="">' if uri else "<span class=none>no picture</span>"
    caption = f'<b>{mark}{escape(words)}</b><bdi title="{escape(name)}">{escape(name)}</bdi>'
    return (
        f'<figure class="tile {kind}{crisp}"><div class=frame>{picture}</div>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _asked(evaluation: Evaluation) -> Thumbnail:
    """The pictures that queries ask with: replaced or corrupted ones where the spec says so and they are here."""
    dataset, spec = evaluation.dataset, evaluation.spec
    if dataset.pictures is None or (spec.query_images is None and spec.corrupt is None):
        return _thumbnails(dataset.pictures, QUERY_SIZE)
    try:
        pictures, rows = query_pictures(dataset, spec)
    except DataError:
        return _thumbnails(dataset.pictures, QUERY_SIZE)  # a saved run shows the clean ones that it holds
    make, place = _thumbnails(pictures, QUERY_SIZE), {int(row): i for i, row in enumerate(rows)}
    return lambda row: make(place[row])


def _thumbnails(pictures: Pictures | None, size: int) -> Thumbnail:
    """Each picture as an address that holds it; empty where there is none, or it cannot be read."""

    @cache
    def make(row: int) -> str:
        try:
            return "" if pictures is None else thumbnail_uri(pictures.preview(row, size), size)
        except DataError:
            return ""

    return make
