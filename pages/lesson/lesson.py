"""Lesson: the lab step by step; each step one idea, one picture, one thing to change, one question."""

import streamlit as st

from pages.lesson import walkthrough
from pages.shared.frame import shell
from pages.shared.learner import progress_store
from pages.shared.words import _

here = shell.here()
st.title(_("Lesson"), anchor=False)
step = walkthrough.current()
walkthrough.contents(step)
progress_store.read(step)
if step == walkthrough.END:
    walkthrough.end()
else:
    walkthrough.show(step)
progress_store.keep()
