"""Two pictures of a query seen closely: side by side, their difference, or one after the other in the same place."""

from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared import cached, tiles
from pages.shared.words import _
from recall_core.evaluation import Direction, Evaluation

HERE = Path(__file__).parent

_component = st.components.v2.component(
    "recall_look",
    html="<div class='look'></div>",
    css=(HERE / "side_by_side.css").read_text(encoding="utf-8"),
    js=(HERE / "side_by_side.js").read_text(encoding="utf-8"),
)


def closely(evaluation: Evaluation, direction: Direction, query: int, wrong: int | None, right: int | None) -> None:
    """Show the query, a wrong and a right picture (rows of the table) two at a time."""
    asked = int(direction.split.query[query])
    given = {"query": (asked, True), "wrong": (wrong, False), "right": (right, False)}
    there = {kind: (row, asks) for kind, (row, asks) in given.items() if row is not None}
    pictures = {kind: _picture(evaluation, kind, *one) for kind, one in there.items()}
    shown = [kind for kind, picture in pictures.items() if picture["src"]]
    pairs = [(one, other) for one, other in PAIRS if one in shown and other in shown]
    if not pairs:
        st.markdown(
            _("There are no two pictures to be seen beside each other: the data came without, or they cannot be read.")
        )
        return
    _component(
        key="look",
        data={
            "pairs": [
                {
                    "label": " – ".join((_names()[one], _names()[other])),
                    "pictures": [pictures[one], pictures[other]],
                    **_apart(evaluation, there[one], there[other]),
                }
                for one, other in pairs
            ],
            "modes": [_("Side by side"), _("Difference"), _("Blink")],
            "words": {
                "pair": _("Which two"),
                "mode": _("How they are shown"),
                "swap": _("The other one"),
                "stop": _("Stop"),
                "start": _("Take turns"),
            },
        },
    )


PAIRS = (("query", "wrong"), ("query", "right"), ("wrong", "right"))


def _names() -> dict[str, str]:
    return {"query": _("query"), "wrong": _("wrong one"), "right": _("right one")}


def _picture(evaluation: Evaluation, kind: str, row: int, asks: bool) -> dict[str, str]:
    source = (
        cached.query_thumbnail(evaluation, row, tiles.QUERY_SIZE)
        if asks
        else cached.thumbnail(evaluation.dataset, row, tiles.QUERY_SIZE)
    )
    mark = {"wrong": "✗ ", "right": "✓ "}.get(kind, "")
    name = tiles.short(str(evaluation.dataset.ids[row]))
    return {"src": source, "caption": f"{mark}{_names()[kind]}: {name}", "kind": "" if kind == "query" else kind}


def _apart(evaluation: Evaluation, one: tuple[int, bool], other: tuple[int, bool]) -> dict[str, Any]:
    apart = cached.apart(evaluation, one, other)
    if not apart.src:
        sizes = {"a": apart.sizes[0], "b": apart.sizes[1]}
        return {
            "difference": "",
            "scale": "",
            "note": _("Different sizes ({a} and {b}): they can only be seen side by side.").format(**sizes),
        }
    scale = (
        _("difference, white = {most} of 1").format(most=f"{apart.most:.2f}")
        if apart.most
        else _("no difference at all")
    )
    note = _("Mean difference {mean} of 1, both {size}.").format(mean=f"{apart.mean:.3f}", size=apart.sizes[0])
    return {"difference": apart.src, "scale": scale, "note": note}
