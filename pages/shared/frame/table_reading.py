"""Correct in place how a table is read: its encoding, and which column plays which role.

What is chosen here stands in the sidebar, in the URL and in the command, like every other choice.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from pages.shared import cached, keys
from pages.shared.words import _, number, plain
from pages.shared.words.labels import labels
from recall_core.datasets import Dataset, find_columns, header
from recall_core.errors import DataError

from . import settings

N_ROWS, N_COLUMNS = 3, 3

COLUMN_FIELDS = ("columns", "relevant")
"""The settings that another choice of columns puts right."""


def offer(problem: DataError, reread: Callable[[], None]) -> None:
    """Offer another choice of the setting that is wrong: an encoding, or columns."""
    name = st.session_state.get("data")
    if name not in cached.data_sets():
        return
    encoding = st.session_state.get("encoding", settings.UTF8)
    if problem.field == "encoding":
        others = [one for one in settings.ENCODINGS if one != encoding]
        st.selectbox(
            labels()["encoding"],
            others,
            index=None,
            key="corrected_encoding",
            placeholder=_("Choose the encoding that the file was saved in"),
            accept_new_options=True,
            on_change=_take_encoding,
            args=(reread,),
            width=420,
        )
    elif problem.field in COLUMN_FIELDS:
        columns = header(Path(cached.data_sets()[name]), encoding=encoding)
        if columns:
            st.markdown(_("Say which column is which:"))
            by_name = find_columns(pd.DataFrame(columns=columns))
            ask_roles(columns, by_name | _named(), by_name, reread, key="corrected")


def can_be_corrected(problem: DataError) -> bool:
    """Is a setting wrong that ``offer`` offers anew?"""
    return problem.field in ("encoding", *COLUMN_FIELDS)


def columns(dataset: Dataset, by_name: Mapping[str, str], reread: Callable[[], None], key: str) -> None:
    """Show which column plays which role, with an example, and let it be corrected.

    Parameters
    ----------
    by_name : mapping of role to column
        What the names alone would say.
    """
    examples = {role: _example(dataset, column) for role, column in dataset.columns.items()}
    ask_roles(list(map(str, dataset.table.columns)), dataset.columns, by_name, reread, key=key, examples=examples)


def ask_roles(
    columns: Sequence[str],
    current: Mapping[str, str],
    by_name: Mapping[str, str],
    reread: Callable[[], None],
    *,
    key: str,
    examples: Mapping[str, str] | None = None,
) -> None:
    """Ask for the column of each role."""
    places = [place for _row in range(N_ROWS) for place in st.columns(N_COLUMNS, gap="medium")]
    for place, (role, meaning) in zip(places, meanings().items(), strict=True):
        now = current.get(role, settings.NONE)
        options = [*([] if by_name.get(role) else [settings.NONE]), *columns]
        widget = keys.key(f"{key}_{role}", now)
        with place:
            st.selectbox(
                f"{meaning} · `{role}`",
                options,
                index=options.index(now) if now in options else None,
                key=widget,
                on_change=_take_column,
                args=(role, widget, by_name.get(role, ""), reread),
            )
            if examples is not None:
                st.markdown(f":small[:gray[{examples.get(role, '')}]]")


def meanings() -> dict[str, str]:
    """Say what each role means."""
    return {
        "id": _("name of the picture"),
        "path": _("file of the picture"),
        "group": _("pictures of the same thing"),
        "view": _("which of the pictures of a thing"),
        "split": _("part of the data: train, val, test"),
        "label": _("class"),
        "camera": _("camera"),
        "side": _("asks or answers"),
        "junk": _("takes no part: yes or no"),
    }


def _example(dataset: Dataset, column: str) -> str:
    cells = dataset.table[column]
    text = _("first: {value} · {n} different values")
    return text.format(value=plain(str(cells.iloc[0])) or "–", n=number(int(cells.nunique())))


def _take_encoding(reread: Callable[[], None]) -> None:
    if st.session_state["corrected_encoding"]:
        st.session_state["encoding"] = st.session_state["corrected_encoding"]
        reread()


def _take_column(role: str, widget: str, by_name: str, reread: Callable[[], None]) -> None:
    named, chosen = _named(), st.session_state[widget]
    named.pop(role, None)
    if chosen not in (settings.NONE, None, by_name):
        named[role] = chosen
    st.session_state["columns"] = settings.write_columns(named)
    reread()


def _named() -> dict[str, str]:
    try:
        return dict(settings.read_columns(st.session_state.get("columns", "")))
    except DataError:
        return {}
