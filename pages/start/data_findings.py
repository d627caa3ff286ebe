"""What is suspicious about the data, with its pictures: the same findings and numbers as the command ``audit``."""

from collections.abc import Callable, Hashable
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import cached, tiles
from pages.shared.background import Job
from pages.shared.components import gallery, guarded_table
from pages.shared.components.findings_banner import SIGNS
from pages.shared.components.gallery import Grid, Paging, Place, Tile
from pages.shared.frame import settings
from pages.shared.frame.shell import Here, quiet
from pages.shared.words import _, number, plain, plural
from pages.shared.words.engine_words import told
from recall_core import diagnosis
from recall_core.arrays import PhaseTick
from recall_core.datasets import Dataset
from recall_core.diagnosis import Inspection
from recall_core.protocol import SEVERITIES, Spec

N_AT_ONCE = 1000
"""Data sets of up to so many items are looked through unasked: that takes seconds."""

PATIENCE_SECONDS = 0.3
N_PAIR_TILES = 16
N_LABEL = 4
N_HUB = 8
LARGE = 320


def show(here: Here) -> None:
    """Show what is suspicious about the chosen data set; large ones are looked through on demand."""
    asked = f"look_{here.dataset.fingerprint}"
    if len(here.dataset) > N_AT_ONCE and not st.session_state.get(asked):
        st.markdown(
            _(
                "Every picture is opened and compared with every other one. With {n} pictures that takes a while."
            ).format(n=number(len(here.dataset)))
        )
        st.button(_("Look for what is suspicious"), on_click=st.session_state.update, args=({asked: True},))
        return
    found = _finished(here.dataset, here.spec)
    _findings(found)
    for title, table, part in (
        (_("Pairs that are alike"), found.pairs, _pairs),
        (_("Labels that look wrong"), found.labels, _labels),
        (_("Near to everything (hubs)"), found.hubs, _hubs),
        (_("Pictures that cannot be read"), found.unreadable, _unreadable),
        (_("Queries with nothing right"), found.without_relevant, _without_relevant),
        (_("Class sizes"), found.classes, _classes),
    ):
        if len(table):
            st.markdown(f"**{title}** · {number(len(table))}")
            part(here.dataset, found)
    st.code(command(here), language="bash", wrap_lines=True)


def command(here: Here) -> str:
    """Give the command that prints the same findings."""
    return settings.to_command(here.spec).replace(" evaluate ", " audit ", 1)


def counts(found: Inspection) -> str:
    """Count the findings by severity, the gravest first."""
    n = {severity: sum(one.severity == severity for one in found.findings) for severity in SEVERITIES}
    said = {
        "error": plural("{n} error", "{n} errors", n["error"]),
        "warning": plural("{n} warning", "{n} warnings", n["warning"]),
        "note": plural("{n} note", "{n} notes", n["note"]),
    }
    return " · ".join(said[severity] for severity in reversed(SEVERITIES))


def _finished(data: Dataset, spec: Spec) -> Inspection:
    """Wait for the look, with a bar and an estimate where it takes longer than a moment.

    Raises
    ------
    Exception
        What the look ran into.
    """
    look = cached.inspecting(data, spec)

    def work(_found: Inspection | None, tick: PhaseTick) -> Inspection:
        return diagnosis.inspect(data, spec, progress=tick)

    look.watch(work)
    if not look.wait(PATIENCE_SECONDS):
        bar = st.progress(0.0)
        while not look.wait(PATIENCE_SECONDS):
            look.watch(work)
            bar.progress(look.share, text=_progress(look))
        bar.empty()
    return look.result()


def _progress(look: Job[Inspection]) -> str:
    what = _("Comparing all with all") if look.step == "neighbours" else _("Looking at each picture")
    seconds = look.seconds_left
    if seconds is None:
        return what
    left = plural("about {n} second left", "about {n} seconds left", max(1, round(seconds)))
    return f"{what}: {number(look.done)} / {number(look.total)} · {left}"


def _findings(found: Inspection) -> None:
    st.markdown(counts(found))
    for severity, show_one in (("error", st.error), ("warning", st.warning)):
        for one in found.findings:
            if one.severity == severity:
                show_one(plain(told(one)), icon=SIGNS[severity])
    notes = [plain(told(one)) for one in found.findings if one.severity == "note"]
    if notes:
        quiet("\n".join(notes))


def _pairs(dataset: Dataset, found: Inspection) -> None:
    """Show each kind of pairs, two and two side by side; a picked pair opens large."""
    kinds = {"content": _("exactly the same"), "cosine": _("vectors alike"), "hash": _("look alike")}
    n_pair = found.count_pairs()
    there = [kind for kind in kinds if kind in n_pair]
    kind = st.segmented_control(
        _("How they are alike"),
        there,
        default=there[0],
        required=True,
        format_func=lambda kind: f"{kinds[kind]} ({number(n_pair[kind])})",
        key=f"pairs_{dataset.fingerprint[:8]}",
        label_visibility="collapsed",
    )
    chosen = found.pairs[found.pairs["kind"] == kind].reset_index(drop=True)
    if dataset.pictures is None:
        guarded_table.show(chosen[["first_id", "second_id", "score", "across"]])
        return

    def tiles_of(first: int, n: int) -> list[Tile]:
        rows = chosen.iloc[first // 2 : (first + n) // 2]
        return [tile for pair in rows.to_dict("records") for tile in _pair(dataset, pair)]

    _pages(f"twins_{kind}", 2 * len(chosen), N_PAIR_TILES, tiles_of, lambda at: _opened(dataset, chosen.iloc[at // 2]))


def _pages(
    key: str, n_tile: int, page_size: int, tiles_of: Callable[[int, int], list[Tile]], opened: Callable[[int], None]
) -> None:
    """Show tiles in pages; what is picked opens above them."""
    event = gallery.event(key)
    place = gallery.apply_event(Place(), event, n_query=1, n_tile=n_tile, page_size=page_size)
    paging = Paging(place, n_tile, page_size)
    if place.picked:
        opened(place.picked - 1)
    gallery.show(
        tiles_of(paging.first - 1, page_size),
        Grid(columns=8, pick=True, paired=True),
        key=key,
        paging=paging,
        on_event=gallery.nothing,
    )


def _pair(dataset: Dataset, pair: dict[Hashable, Any]) -> list[Tile]:
    how = f"{pair['score']:.4g} · {pair['across']}" if pair["across"] else f"{pair['score']:.4g}"
    return [_tile(dataset, int(pair[side]), how) for side in ("first", "second")]


def _opened(dataset: Dataset, pair: pd.Series) -> None:
    """Show a pair side by side and large, with what the table says of both."""
    rows = [int(pair["first"]), int(pair["second"])]
    both = [dataset.table.iloc[row] for row in rows]
    cells = [
        f"{column}: {a}" if a == b else f"{column}: {a} | {b}"
        for column, a, b in zip(dataset.table.columns, *both, strict=True)
        if a or b
    ]
    across = [_("across: {borders}").format(borders=pair["across"])] if pair["across"] else []
    said = [_("similarity {s}").format(s=f"{pair['score']:.4g}"), *across, *cells]
    with st.container(border=True):
        left, right = st.columns([5, 3], gap="medium")
        with left:
            large = [_tile(dataset, row, "", LARGE) for row in rows]
            gallery.show(large, Grid(_("Side by side"), columns=2), key="side_by_side")
        right.markdown("  \n".join(plain(line) for line in said))


def _labels(dataset: Dataset, found: Inspection) -> None:
    """Show each label that looks wrong, and beside it the neighbours that contradict it."""
    shown = found.labels.head(N_LABEL * 3)
    rows = zip(shown.to_dict("records"), found.beside[: len(shown)], strict=True)
    if dataset.pictures is None:
        guarded_table.show(found.labels)
        return
    value = {int(row): str(label) for row, label in zip(found.labels["row"], found.labels["label"], strict=True)}
    made = []
    for item, near in rows:
        says = _("says {label}; its neighbours say {other}").format(label=item["label"], other=item["neighbours"])
        beside = [_tile(dataset, int(row), str(item["neighbours"])) for row in near[:2]]
        row = int(item["row"])
        made.append(Tile(cached.thumbnail(dataset, row), says, value[row], str(item["neighbours"]), beside=beside))
    gallery.show(made, Grid(columns=3), key="labels")
    if len(found.labels) > len(shown):
        guarded_table.show(found.labels)


def _hubs(dataset: Dataset, found: Inspection) -> None:
    hubs = found.hubs
    if dataset.pictures is None:
        guarded_table.show(hubs)
        return
    near = _("near {n}")
    first = zip(hubs["row"].head(N_HUB), hubs["n"].head(N_HUB), strict=True)
    shown = [_tile(dataset, int(row), near.format(n=number(int(n)))) for row, n in first]
    gallery.show(shown, Grid(columns=N_HUB), key="hubs")


def _unreadable(_dataset: Dataset, found: Inspection) -> None:
    guarded_table.show(found.unreadable)


def _without_relevant(_dataset: Dataset, found: Inspection) -> None:
    guarded_table.show(found.without_relevant)


def _classes(_dataset: Dataset, found: Inspection) -> None:
    most = int(found.classes["n"].max())
    bar = st.column_config.ProgressColumn(_("pictures"), min_value=0, max_value=most, format="%d")
    guarded_table.show(found.classes, column_config={"n": bar}, height=240, width=520)


def _tile(dataset: Dataset, row: int, note: str, size: int = 128) -> Tile:
    name = tiles.short(str(dataset.ids[row]))
    return Tile(cached.thumbnail(dataset, row, size), f"{name}, {note}", name, note)
