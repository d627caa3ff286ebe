"""Exercises: the lab's tasks, checked at once."""

import streamlit as st

from pages.shared import done, shell, task_forms, tasks
from pages.shared.words import _

here = shell.enter()
st.title(_("Exercises"), anchor=False)
task = tasks.current()
tasks.contents(task)
task_forms.show(task)
tasks.onward(task)
done.keep()
