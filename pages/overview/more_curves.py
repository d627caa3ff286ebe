"""More curves: precision over recall, how alike right and other pairs are, and a map of the vectors."""

import pandas as pd
import streamlit as st

from pages.shared import cached, charts
from pages.shared.components import chart_downloads
from pages.shared.frame import shell
from pages.shared.frame.shell import quiet
from pages.shared.keys import key
from pages.shared.words import _, number, plain
from pages.shared.words.labels import problem_text
from recall_core import diagnosis
from recall_core.errors import DataError
from recall_core.evaluation import Evaluation
from recall_core.protocol import Filter, write_filter


def tab(here: shell.Here, evaluation: Evaluation, only: Filter) -> None:
    """Show the curves and the map, with pictures and numbers to take home; ``only`` is what the page is narrowed to."""
    left, right = st.columns(2, gap="large")
    with left:
        _precision(evaluation)
    with right:
        _similarities(here, evaluation)
    _map(here, evaluation, only)


def _precision(evaluation: Evaluation) -> None:
    st.markdown("**" + _("How clean are the lists, as more of the right ones are found?") + "**")
    found = cached.precision_recall(evaluation)
    title = _("Precision over recall")
    chart_downloads.draw(
        charts.precision_recall(found), config=chart_downloads.CONFIG, key="precision_curve", alt=title
    )
    chart_downloads.bar("precision_curve", title, found)


def _similarities(here: shell.Here, evaluation: Evaluation) -> None:
    st.markdown("**" + _("Do right pairs stand apart from other pairs?") + "**")
    try:
        found = cached.similarities(here.dataset, evaluation)
    except DataError as problem:
        st.info(plain(problem_text(problem)))
        return
    table, title = found.histogram(), _("Similarity of pairs")
    chart_downloads.draw(charts.similarities(table), config=chart_downloads.CONFIG, key="pair_similarities", alt=title)
    chart_downloads.bar("pair_similarities", title, table)
    if found.sampled:
        shown = _("A random sample: {a} of {b} right pairs, {c} of {d} other pairs.")
        n = (len(found.right), found.n_right, len(found.other), found.n_other)
        quiet(shown.format(**dict(zip("abcd", map(number, n), strict=True))))


def _map(here: shell.Here, evaluation: Evaluation, only: Filter) -> None:
    st.markdown("**" + _("How do the vectors lie? (the two principal components)") + "**")
    try:
        found = cached.pca_map(here.dataset, evaluation, here.k)
    except DataError as problem:
        st.info(plain(problem_text(problem)))
        return
    columns = ["fate", *diagnosis.sliceable(evaluation, MOST_COLOURS)]
    by = st.selectbox(
        _("Colour by"), columns, key="map_by", format_func=_colour_words, width=260, persist_state="session"
    )
    points = found.points
    colour = points["fate"] if by == "fate" else pd.Series(evaluation.dataset.values(by)[points["row"].to_numpy()])
    figure = charts.scatter(points, colour, found.explained, hits=by == "fate")
    chosen = chart_downloads.draw(
        figure,
        config={"displaylogo": False},
        key="vector_map",
        on_select="rerun",
        selection_mode=("box", "lasso"),
        alt=_("Map of the vectors"),
    )
    rows = [int(point["customdata"][0]) for point in chosen["selection"]["points"] if point.get("customdata")]
    chart_downloads.bar("vector_map", _("Map of the vectors"), points)
    if found.n_item > len(points):
        quiet(_("A random sample: {n} of {m} points.").format(n=number(len(points)), m=number(found.n_item)))
    _by_value(by, colour, found, only)
    if rows:
        _lead_to_failures(evaluation, rows)
    else:
        quiet(_("Or draw a box or a lasso around points to see their failures."))


def _by_value(by: str, colour: pd.Series, found: diagnosis.Map, only: Filter) -> None:
    """Choose points by what they are coloured by: the way to the failures that needs no pointing."""
    fates = {"hit": _("hit"), "miss": _("miss")}
    counts = found.count_values(colour)
    chosen = st.pills(
        _("Points of"),
        list(counts),
        key=key("map_values", by),
        selection_mode="multi",
        format_func=lambda value: f"{plain(fates[value] if by == 'fate' else value)} · {number(counts[value])}",
    )
    if not chosen:
        return
    n_miss, n_query = found.count_misses(colour, chosen)
    said = _("{n} of these {m} drawn queries fail.").format(n=number(n_miss), m=number(n_query))
    # All that miss is what Failures shows by itself; a value of a column is a filter, whatever the number of its rows.
    where: Filter = only if by == "fate" else (*only, (by, tuple(chosen)))
    with st.container(horizontal=True, vertical_alignment="center"):
        quiet(said)
        if n_miss:
            query = {"slice": write_filter(where)} if where else {}
            st.page_link("pages/failures/failures.py", label=_("Their failures"), icon="➡️", query_params=query)


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
    st.page_link("pages/failures/failures.py", label=label, icon="➡️", query_params={"slice": spelled})


MOST_NAMES = 200
MOST_COLOURS = 12


def _colour_words(by: str) -> str:
    return _("hit or miss") if by == "fate" else by
