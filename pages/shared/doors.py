"""The three doors of the start page: each with live pictures and one live number."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from recall_core.dataset import Dataset
from recall_core.errors import DataError
from recall_core.evaluation import Evaluation
from recall_core.spec import Spec

from . import cached, gallery, shell, tiles
from .gallery import Tile
from .words import _, number

N_TILES = 4


@dataclass(frozen=True)
class Door:
    """A way in: what it is called, its data set, pictures, and a number with its words; empty where there is none."""

    title: str
    name: str
    text: str
    tiles: Sequence[Tile]
    number: str
    meaning: str


def doors() -> list[Door]:
    """Make the three doors: photographs, the lab, the visitor's own data."""
    photos, lab = _default_evaluation(cached.PHOTOS), _default_evaluation(cached.LAB)
    return [
        Door(
            _("Photographs"),
            cached.PHOTOS,
            _("Places in two photographs, seen twice. The computer compares pixel by pixel, and often fails."),
            _first_failure(photos),
            *_found(photos),
        ),
        Door(
            _("The lab: GlyphLab"),
            cached.LAB,
            _("Drawn lines, two noisy pictures of each. Small enough to check every number by hand."),
            _query_and_list(lab, lab.directions[0].name, 0),
            *_found(lab),
        ),
        _own(),
    ]


def show(door: Door) -> None:
    """Show one door; its button opens the overview of its data set."""
    st.subheader(door.title, anchor=False)
    if door.tiles:
        gallery.show(door.tiles, key=f"door_{door.name}", columns=N_TILES)
    if door.number:
        st.metric(door.meaning, door.number)
    st.markdown(door.text)
    if door.name:
        label = _("Open {name}").format(name=door.name)
        st.button(label, key=f"open_{door.name}", width="stretch", on_click=_open, args=(door.name,))


def roles(dataset: Dataset) -> pd.DataFrame:
    """Say which column plays which role, with an example."""
    meaning = {
        "id": _("name of the picture"),
        "path": _("file of the picture"),
        "group": _("pictures of the same thing"),
        "view": _("which of the pictures of a thing"),
        "split": _("part of the data: train, val, test"),
        "label": _("class"),
        "camera": _("camera"),
        "side": _("asks or answers"),
    }
    rows = [
        (meaning.get(role, role), column, dataset.table[column].iloc[0], dataset.table[column].nunique())
        for role, column in dataset.columns.items()
    ]
    return pd.DataFrame(rows, columns=[_("role"), _("column"), _("first value"), _("different values")])


def _open(name: str) -> None:
    shell.choose(name)
    shell.go("overview")


def _default_evaluation(name: str) -> Evaluation:
    return cached.evaluation(cached.dataset(name), Spec(cached.data_sets()[name]))


def _found(evaluation: Evaluation) -> tuple[str, str]:
    """Give the live number of a door: how many find a right picture first."""
    first = evaluation.scores[f"recall@{evaluation.spec.ks[0]}"]
    hits = _("{a} of {b}").format(a=number(int(first.numerator)), b=number(int(first.denominator)))
    return hits, _("Right at the first try")


def _first_failure(evaluation: Evaluation) -> list[Tile]:
    """Show the surest mistake whose right picture can still be seen beside it, where there is one."""
    table = evaluation.table
    near = table[table["first_rank"].between(2, N_TILES - 1)]
    facts = (near if len(near) else table).nsmallest(1, "margin").iloc[0]
    return _query_and_list(evaluation, facts["direction"], int(facts["query"]))


def _query_and_list(evaluation: Evaluation, direction_name: str, query: int) -> list[Tile]:
    direction = evaluation.direction(direction_name)
    row = int(direction.split.query[query])
    asked = Tile(cached.query_thumbnail(evaluation, row, 128), _("Query"), _("Query"))
    return [asked, *tiles.ranked(evaluation, direction, query, 1, N_TILES - 1)]


def _own() -> Door:
    """Make the door to the visitor's own data: the first folder that can be read, or how to bring one."""
    title = _("Your own data")
    names = cached.own_data_sets()
    for name in names:
        try:
            dataset = cached.dataset(name)
            pictures = tiles.sample(dataset, 1, N_TILES)
        except DataError:
            continue  # its own page says what is wrong
        text = _("From your folder `{root}`.").format(root=_shown_root())
        if len(names) > 1:
            text += " " + _("The list at the left has {n} more.").format(n=number(len(names) - 1))
        return Door(title, name, text, pictures, number(len(dataset)), _("Pictures in {name}").format(name=name))
    text = _("Make a folder in `{root}` with your pictures and a table that names them, then reload this page:")
    form = "my_pictures/\n  metadata.csv\n  cup1.jpg\n  cup2.jpg …"
    table = "path,group\ncup1.jpg,cup\ncup2.jpg,cup"
    return Door(title, "", "\n".join([text.format(root=_shown_root()), *_code(form), *_code(table)]), [], "", "")


def _code(text: str) -> list[str]:
    return ["```text", text, "```"]


def _shown_root() -> str:
    root = cached.data_root()
    return str(root.relative_to(cached.ROOT)) if root.is_relative_to(cached.ROOT) else str(root)
