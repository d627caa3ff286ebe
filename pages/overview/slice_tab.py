"""Slices of the queries by a column of the table: where it fails, and the page narrowed to one of them."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.shared import cached
from pages.shared.components import score_tables, value_table
from pages.shared.components.value_table import Row
from pages.shared.frame.shell import quiet
from pages.shared.words import _, number, plain
from pages.shared.words.labels import problem_text
from recall_core import diagnosis
from recall_core.errors import DataError
from recall_core.evaluation import Evaluation, spell_number
from recall_core.protocol import Filter, read_filter, write_filter

NAME = "slice"
"""The filter's name in the URL, here as on Failures; spelled ``COLUMN=VALUE,VALUE;COLUMN=VALUE``."""


TAB, PARTS = "tab", ("numbers", "slices", "curves")


def asked(evaluation: Evaluation) -> Filter:
    """Read from the URL to which queries the page is narrowed; what cannot be read is said, and is all of them."""
    spelled = st.query_params.get(NAME, "")
    try:
        conditions = read_filter(spelled)
        if conditions:
            cached.sliced(evaluation, conditions)
    except DataError as problem:
        quiet(f"⚠️ {plain(problem_text(problem))}")
        return ()
    return conditions


def link(conditions: Filter) -> dict[str, str]:
    """Spell the filter, and the tab that is open, for the URL; what is as always is left out."""
    tab = {TAB: st.query_params[TAB]} if st.query_params.get(TAB) in PARTS[1:] else {}
    return ({NAME: write_filter(conditions)} if conditions else {}) | tab


def say(whole: Evaluation, shown: Evaluation, conditions: Filter) -> None:
    """Say to which queries the page is narrowed, with the way back."""
    if not conditions:
        return
    words = "; ".join(f"{column}: {', '.join(values)}" for column, values in conditions)
    with st.container(horizontal=True, vertical_alignment="center"):
        n, m = (number(one.counts["n_query"] or 0) for one in (shown, whole))
        st.markdown(_("Only {n} of {m} queries: **{words}**").format(n=n, m=m, words=plain(words)))
        st.button(_("All queries again"), key="clear_slice", on_click=_write, args=(NAME, ""))
        filtered = {NAME: write_filter(conditions)}
        st.page_link("pages/failures/failures.py", label=_("Failures of this slice"), icon="➡️", query_params=filtered)


def tabs() -> Sequence[Any]:
    """Make the tabs of Overview; which one is open stands in the URL, the same in every language."""
    names = dict(zip(PARTS, (_("Numbers"), _("Slices"), _("More curves")), strict=True))
    asked = st.query_params.get(TAB, "")
    st.session_state["tab_shown"] = names.get(asked, names[PARTS[0]])

    def turn() -> None:
        part = {name: part for part, name in names.items()}[st.session_state["tab_shown"]]
        _write(TAB, part if part != PARTS[0] else "")

    made: Sequence[Any] = st.tabs(list(names.values()), key="tab_shown", on_change=turn)
    return made


def tab(evaluation: Evaluation, k: int) -> None:
    """Show the slices of the column that is asked for, worst first; a click narrows the page to one."""
    columns = diagnosis.sliceable(evaluation)
    if not columns:
        st.info(_("No column of the table tells the queries apart. Add one to the table: a camera, a place, a size."))
        return
    left, right = st.columns([1, 1], width=560)
    column = left.selectbox(_("Column"), columns, key="slice_by", persist_state="session")
    metrics = [
        f"recall@{k}",
        "map",
        "mrr",
        *(name for name in evaluation.scores if name not in (f"recall@{k}", "map", "mrr")),
    ]
    metric = right.selectbox(
        _("Score"), metrics, key="slice_metric", format_func=score_tables.metric_label, persist_state="session"
    )
    found = diagnosis.slices(evaluation, column, metric)
    stamp = f"{column} {metric} {len(found)}"

    def take() -> None:
        row = value_table.picked("slices", stamp, len(found))
        if row is not None:
            _write(NAME, found["filter"].iloc[row])

    value_table.show(
        _("Slices, the worst first"),
        [
            column,
            score_tables.metric_label(metric),
            _("interval"),
            _("share of all loss"),
            _("queries"),
            _("groups"),
            "",
        ],
        [_row(facts) for facts in found.to_dict("records")],
        key="slices",
        stamp=stamp,
        on_pick=take,
    )
    level = f"{diagnosis.LEVEL:.0%}"
    quiet(
        _(
            "The intervals hold all together at {level}: each is wider than it would be alone. “Few” marks slices of "
            "fewer than {n} independent groups, whose place is mostly chance. A click narrows the page to a slice."
        ).format(level=level, n=diagnosis.SMALL)
    )


def _row(facts: Mapping[Hashable, Any]) -> Row:
    low, high, loss = facts["low"], facts["high"], facts["loss"]
    ends = f"{spell_number(low)}–{spell_number(high)}" if low == low else ""
    groups = number(int(facts["n_group"]))
    cells = (
        str(facts["slice"]),
        score_tables.score(facts["value"]),
        ends,
        f"{loss:.0%}" if loss == loss else "",
        _("{n} of {m}").format(n=number(int(facts["n_counted"])), m=number(int(facts["n_query"]))),
        _("{n} (few)").format(n=groups) if facts["small"] else groups,
    )
    return Row(cells, facts["value"], low, high, bool(facts["small"]))


def _write(name: str, value: str) -> None:
    if value:
        st.query_params[name] = value
    else:
        st.query_params.pop(name, None)
