"""The three cards of the start page: each with live pictures and one live number."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from pages.shared import cached, tiles
from pages.shared.components import gallery
from pages.shared.components.gallery import Grid, Tile
from pages.shared.frame import opened_folders, own_data, shell, table_reading
from pages.shared.keys import key
from pages.shared.words import _, number, plain
from pages.shared.words.labels import problem_text
from recall_core import datasets, program
from recall_core.datasets import UPLOADABLE
from recall_core.errors import DataError
from recall_core.evaluation import Evaluation
from recall_core.protocol import Spec

N_TILES = 4


@dataclass(frozen=True)
class Card:
    """A way in: what it is called, its data set, pictures, and a number with its words; empty where there is none.

    ``uploads`` says that the visitor's files may come in by it.
    """

    title: str
    name: str
    text: str
    tiles: Sequence[Tile]
    number: str
    meaning: str
    uploads: bool = False


def cards() -> list[Card]:
    """Make the three cards: photographs, the lab, the visitor's own data."""
    photos, lab = _default_evaluation(cached.PHOTOS), _default_evaluation(cached.LAB)
    return [
        Card(
            _("Photographs"),
            cached.PHOTOS,
            _("Places in two photographs, seen twice. The computer compares pixel by pixel, and often fails."),
            _first_failure(photos),
            *_found(photos),
        ),
        Card(
            _("The lab: GlyphLab"),
            cached.LAB,
            _("Drawn lines, two noisy pictures of each. Small enough to check every number by hand."),
            _query_and_list(lab, lab.directions[0].name, 0),
            *_found(lab),
        ),
        _own(),
    ]


def show(card: Card) -> None:
    """Show one card; its button opens the overview of its data set."""
    st.subheader(card.title, anchor=False)
    if card.tiles:
        gallery.show(card.tiles, Grid(columns=N_TILES), key=key("card", card.name))
    if card.number:
        st.metric(card.meaning, card.number)
    st.markdown(card.text)
    if card.name:
        label = _("Open {name}").format(name=plain(card.name))
        st.button(label, key=key("open", card.name), width="stretch", on_click=_open, args=(card.name,))
    if card.uploads:
        _ask_for_files()


def _open(name: str) -> None:
    shell.choose(name)
    shell.go("overview")


def _default_evaluation(name: str) -> Evaluation:
    return cached.evaluation(cached.dataset(name), Spec(cached.data_sets()[name]))


def _found(evaluation: Evaluation) -> tuple[str, str]:
    """Give the live number of a card: how many find a right picture first."""
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


def _own() -> Card:
    """Make the card of the visitor's own data: the last upload, else the first folder that can be read, or how to."""
    title = _("Your own data")
    names = cached.own_data_sets()
    uploaded, typed = own_data.sets(), cached.opened_data_sets()
    for name in [*(name for name in reversed(names) if name in uploaded or name in typed), *names]:
        try:
            dataset = cached.dataset(name)
            pictures = tiles.sample(dataset, 1, N_TILES)
        except DataError:
            continue  # its own page says what is wrong
        if name in uploaded:
            text = _("Uploaded. Only you see it, until you close or reload this page.")
        elif name in typed:
            text = _("From `{root}`, until you close or reload this page.").format(root=typed[name])
        else:
            text = _("From your folder `{root}`.").format(root=cached.data_root())
        if len(names) > 1:
            text += " " + _("The list at the left has {n} more.").format(n=number(len(names) - 1))
        meaning = _("Pictures in {name}").format(name=plain(name))
        return Card(title, name, text, pictures, number(len(dataset)), meaning, uploads=True)
    text = _("Your images with a table that names them, as here: upload them, or start the app on their folder:")
    form = "metadata.csv    path,group\ncup1.jpg        cup1.jpg,cup\ncup2.jpg        cup2.jpg,cup"
    lines = [text, f"`{program.command('app', 'FOLDER')}`", *_code(form)]
    return Card(title, "", "\n".join(lines), [], "", "", uploads=True)


def _ask_for_files() -> None:
    """Take files from the visitor, and show in place why they are refused."""
    # The form lets go of the files once they are stored; outside one they would stay in the server's memory.
    with st.popover(_("Upload files"), width="stretch"), st.form("upload", clear_on_submit=True, border=False):
        st.file_uploader(
            _("A zip, or a table with its vectors or pictures"),
            type=[suffix.removeprefix(".") for suffix in UPLOADABLE],
            accept_multiple_files=True,
            key="files",
        )
        st.form_submit_button(_("Read these files"), on_click=_receive, width="stretch")
    if opened_folders.allowed():
        _ask_for_a_folder()
    if "upload_problem" in st.session_state:
        st.error(plain(st.session_state.pop("upload_problem")))


def _ask_for_a_folder() -> None:
    """Take a path from the visitor, who sits at the machine of the server."""
    with st.popover(_("Open a folder"), width="stretch"), st.form("folder", border=False):
        st.text_input(
            _("Path of a folder, a table or a saved run on this machine"),
            key="folder_path",
            placeholder="/home/ana/shop",
        )
        st.form_submit_button(_("Open"), on_click=_open_folder, width="stretch")


def _open_folder() -> None:
    """Open what lies there: a data set is chosen, a saved run shown on Compare."""
    try:
        root = opened_folders.add(st.session_state["folder_path"])
    except DataError as problem:
        st.session_state["upload_problem"] = problem_text(problem)
        return
    sets = [name for name, path in cached.opened_data_sets().items() if Path(path).is_relative_to(root)]
    if sets:
        shell.choose(sets[0])
    else:
        first = root if datasets.is_run(root) else datasets.runs(root)[0]
        shell.go("compare", runs=f"saved:{first.name}")


def _receive() -> None:
    """Store the files, and choose them. What no other choice of columns or encoding can mend is refused at once."""
    files = [(file.name, file) for file in st.session_state["files"]]
    if not files:
        st.session_state["upload_problem"] = _("Choose files first.")
        return
    try:
        name = own_data.add(files)
    except DataError as problem:
        st.session_state["upload_problem"] = problem_text(problem)
        return
    try:
        cached.dataset(name)
    except DataError as problem:
        if not table_reading.can_be_corrected(problem):
            own_data.drop(name)
            st.session_state["upload_problem"] = problem_text(problem)
            return
    shell.choose(name)


def _code(text: str) -> list[str]:
    return ["```text", text, "```"]
