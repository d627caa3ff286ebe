"""More curves: precision over recall, how alike right and other pairs are, and a map of the vectors."""

import pandas as pd
import streamlit as st

from recall_core import report, slices
from recall_core.errors import DataError
from recall_core.evaluation import Evaluation
from recall_core.spec import write_filter

from . import cached, charts, shell
from .shell import quiet
from .words import _, number, plain

CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}
"""Plotly's bar stays: it saves the chart as a picture."""


def tab(here: shell.Here, evaluation: Evaluation) -> None:
    """Show the curves, with their numbers as a file."""
    left, right = st.columns(2, gap="large")
    with left:
        _precision(evaluation)
    with right:
        _similarities(here, evaluation)
    _map(here, evaluation)


def _precision(evaluation: Evaluation) -> None:
    st.markdown("**" + _("How clean are the lists, as more of the right ones are found?") + "**")
    found = cached.precision_recall(evaluation)
    title = _("Precision over recall")
    st.plotly_chart(
        charts.precision_recall(found), config=_config("precision_recall"), key="precision_curve", alt=title
    )
    _file("precision_recall", found)


def _similarities(here: shell.Here, evaluation: Evaluation) -> None:
    st.markdown("**" + _("Do right pairs stand apart from other pairs?") + "**")
    try:
        found = cached.similarities(here.dataset, evaluation)
    except DataError as problem:
        st.info(plain(str(problem)))
        return
    table = found.histogram()
    st.plotly_chart(
        charts.similarities(table), config=_config("similarity"), key="pair_similarities", alt=_("Similarity of pairs")
    )
    _file("similarity", table)
    if found.sampled:
        shown = _("A random sample: {a} of {b} right pairs, {c} of {d} other pairs.")
        n = (len(found.right), found.n_right, len(found.other), found.n_other)
        quiet(shown.format(**dict(zip("abcd", map(number, n), strict=True))))


def _map(here: shell.Here, evaluation: Evaluation) -> None:
    st.markdown("**" + _("How do the vectors lie? (the two principal components)") + "**")
    try:
        found = cached.pca_map(here.dataset, evaluation, here.k)
    except DataError as problem:
        st.info(plain(str(problem)))
        return
    columns = ["fate", *slices.sliceable(evaluation, MOST_COLOURS)]
    by = st.selectbox(
        _("Colour by"), columns, key="map_by", format_func=_colour_words, width=260, persist_state="session"
    )
    points = found.points
    colour = points["fate"] if by == "fate" else pd.Series(evaluation.dataset.values(by)[points["row"].to_numpy()])
    figure = charts.scatter(points, colour, found.explained, hits=by == "fate")
    chosen = st.plotly_chart(
        figure,
        config={"displaylogo": False, "toImageButtonOptions": {"filename": "map"}},
        key="vector_map",
        on_select="rerun",
        selection_mode=("box", "lasso"),
        alt=_("Map of the vectors"),
    )
    rows = [int(point["customdata"][0]) for point in chosen["selection"]["points"] if point.get("customdata")]
    with st.container(horizontal=True, vertical_alignment="center"):
        _file("map", points)
        if found.n_item > len(points):
            quiet(_("A random sample: {n} of {m} points.").format(n=number(len(points)), m=number(found.n_item)))
        if not rows:
            quiet(_("Draw a box or a lasso around points to see their failures."))
        else:
            _lead_to_failures(evaluation, rows)


def _lead_to_failures(evaluation: Evaluation, rows: list[int]) -> None:
    """Offer the failures among the points that were drawn around, by the column that names each query."""
    ids = evaluation.dataset.columns.get("id")
    column = ids or next(iter(evaluation.dataset.table.columns))
    names = list(dict.fromkeys(str(value) for value in evaluation.dataset.values(column)[rows]))
    if len(names) > MOST_NAMES:
        quiet(
            _("{n} points are too many for an address; draw around at most {m}.").format(
                n=number(len(names)), m=MOST_NAMES
            )
        )
        return
    spelled = write_filter(((column, tuple(names)),))
    label = _("Failures among these {n}").format(n=number(len(names)))
    st.page_link("pages/failures.py", label=label, icon="➡️", query_params={"slice": spelled})


MOST_NAMES = 200
MOST_COLOURS = 12


def _colour_words(by: str) -> str:
    return _("hit or miss") if by == "fate" else by


def _config(name: str) -> dict[str, object]:
    return CONFIG | {"toImageButtonOptions": {"filename": name, "format": "svg"}}


def _file(name: str, table: pd.DataFrame) -> None:
    st.download_button(
        _("Numbers as CSV"),
        report.table_csv(table),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=f"csv_{name}",
        on_click="ignore",
    )
