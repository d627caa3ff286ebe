"""What a learner has done: kept in the session and in the browser, to be downloaded and loaded again."""

from collections.abc import Mapping

import streamlit as st

from recall_core import progress
from recall_core.progress import Progress


def now() -> Progress:
    """Give what was done so far."""
    found: Progress = st.session_state.setdefault("progress", progress.nothing_done())
    return found


def attempt(task: str, answers: Mapping[str, str], *, correct: bool) -> None:
    """Add a checked answer."""
    st.session_state["progress"] = progress.with_attempt(now(), task, answers, correct=correct)


def read(step: int) -> None:
    """Add a step of the lesson that is being read."""
    st.session_state["progress"] = progress.with_step(now(), step)


def keep() -> None:
    """Keep it in the browser."""
