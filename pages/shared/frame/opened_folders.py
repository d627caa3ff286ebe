"""Folders of this machine that a visitor opened by typing a path: further data roots, theirs alone, in their session.

The path is typed into the page, never taken from its address: a link that somebody sends opens nothing.
"""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from recall_core import datasets, rights
from recall_core.errors import DataError

MOST = 8
"""Of one visitor; a further one takes the place of the oldest."""

KEY = "opened"


def allowed() -> bool:
    """May this visitor open folders? Only one whose browser runs on the machine of the server, which nobody else hears.

    Both are asked: a proxy on the same machine lets others in, and then the browser's own account of where it is
    (``Origin``) tells so.
    """
    return rights.may_type_paths(str(st.get_option("server.address")), st.context.headers)


def folders() -> list[Path]:
    """Which places did this visitor open? The newest last."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return []  # a thread of ours, which serves nobody in particular
    return list(st.session_state.get(KEY, []))


def data_sets(taken: Mapping[str, str]) -> dict[str, str]:
    """Which data sets lie there: name → path? A name that is taken gets a number."""
    found: dict[str, str] = {}
    for root in folders():
        for name, path in datasets.data_sets(root).items():
            if str(path) not in (*taken.values(), *found.values()):
                found[_free(name, {**taken, **found})] = str(path)
    return found


def add(typed: str) -> Path:
    """Open a place: its data sets and saved runs are this visitor's from now on.

    Raises
    ------
    DataError
        Visitors may not, or nothing that can be read is there.
    """
    if not allowed():
        raise DataError("folders are opened on the machine of the server alone; upload the files instead")
    root = datasets.find(typed)
    opened = [other for other in folders() if other != root]
    st.session_state[KEY] = [*opened, root][-MOST:]
    return root


def _free(name: str, taken: Mapping[str, str]) -> str:
    names = [name, *(f"{name} ({n})" for n in range(2, len(taken) + 3))]
    return next(one for one in names if one not in taken)
