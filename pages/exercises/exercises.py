"""Exercises: the lab's tasks, checked at once."""

import streamlit as st

from pages.exercises import task_forms
from pages.shared.frame import shell
from pages.shared.learner import progress_store, task_page
from pages.shared.words import _

here = shell.here()
st.title(_("Exercises"), anchor=False)
task = task_page.current()
head = st.container()
task_forms.show(task)
with head:  # drawn last: it knows whether the task is solved now
    task_page.contents(task)
task_page.onward(task)
progress_store.keep()
