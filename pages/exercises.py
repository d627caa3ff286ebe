"""Exercises: the lab's tasks, checked at once."""

import streamlit as st

from pages.shared import done, shell, task_forms, tasks
from pages.shared.words import _

here = shell.enter()
st.title(_("Exercises"), anchor=False)
task = tasks.current()
head = st.container()
task_forms.show(task)
with head:  # drawn last: it knows whether the task is solved now
    tasks.contents(task)
tasks.onward(task)
done.keep()
