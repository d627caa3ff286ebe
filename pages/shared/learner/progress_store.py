"""What a learner has done: kept in the session and in the browser, to be downloaded and loaded again.

The browser keeps it in its own store, so that a reload loses nothing. The server trusts nothing that comes from there:
it is read as a file would be, and put together with what the session has.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import streamlit as st

from pages.shared.words import _, plain
from pages.shared.words.labels import problem_text
from recall_core import course
from recall_core.course import Progress
from recall_core.errors import DataError

HERE = Path(__file__).parent

_store = st.components.v2.component(
    "recall_progress",
    html="<span class='kept' hidden></span>",
    js=(HERE / "progress_store.js").read_text(encoding="utf-8"),
)


def now() -> Progress:
    """Give what was done so far."""
    found: Progress = st.session_state.setdefault("progress", course.nothing_done())
    return found


def solved(task: str) -> bool:
    """Was this task ever right?"""
    return task in now()["tasks"] and now()["tasks"][task]["solved"]


def attempt(task: str, answers: Mapping[str, str], *, correct: bool) -> None:
    """Add a checked answer, unless it is the last one again."""
    known = now()["tasks"].get(task)
    if known is None or known["answers"] != dict(answers):
        st.session_state["progress"] = course.with_attempt(now(), task, answers, correct=correct)


def read(step: int) -> None:
    """Add a step of the lesson that is being read."""
    st.session_state["progress"] = course.with_step(now(), step)


def key(task: str, cell: str) -> str:
    """Name the widget of a cell."""
    return f"{task}.{cell}"


def restore(task: str, cells: Iterable[str]) -> None:
    """Give the cells of a task, before they are shown, the answers that are known, where they have none yet."""
    known = now()["tasks"].get(task)
    for cell in cells if known else ():
        if known and key(task, cell) not in st.session_state and known["answers"].get(cell):
            st.session_state[key(task, cell)] = known["answers"][cell]


def keep() -> None:
    """Keep it in the browser; what the browser kept before is taken over."""
    _store(key="kept", data={"text": course.save_progress(now())}, on_stored_change=_take_over)


def controls() -> None:
    """Let the learner take the progress away, bring it back, or begin anew."""
    with st.popover(_("My progress"), type="tertiary"):
        st.markdown(_("It is kept in this browser. For another machine, take it with you:"))
        st.download_button(
            _("Download"), course.save_progress(now()), "recall-progress.json", "application/json", key="take"
        )
        given = st.file_uploader(_("Load it again"), ["json"], key="bring", max_upload_size=1)
        if given is not None and st.session_state.get("brought") != given.file_id:
            st.session_state["brought"] = given.file_id
            try:
                _merge(given.getvalue().decode("utf-8", errors="replace"))
            except DataError as problem:
                st.error(plain(problem_text(problem)))
            else:
                st.rerun()
        st.button(_("Begin anew"), key="anew", on_click=_forget)


def _take_over() -> None:
    state = st.session_state.get("kept")
    text = state.get("stored") if state else None
    if isinstance(text, str):
        try:
            _merge(text)
        except DataError:
            return  # nothing of ours: it is written over


def _merge(text: str) -> None:
    merged = course.merge_progress(now(), course.load_progress(text))
    _empty(merged)
    st.session_state["progress"] = merged


def _forget() -> None:
    _empty(now())
    st.session_state["progress"] = course.nothing_done()


def _empty(known: Progress) -> None:
    """Empty the cells of all tasks; ``restore`` fills them with what is known then."""
    for task, done in known["tasks"].items():
        for cell in done["answers"]:
            st.session_state.pop(key(task, cell), None)
