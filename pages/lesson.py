"""Lesson: the lab step by step; each step one idea, one picture, one thing to change, one question."""

import streamlit as st

from pages.shared import done, lesson_page, shell
from pages.shared.words import _

here = shell.enter()
st.title(_("Lesson"), anchor=False)
step = lesson_page.current()
lesson_page.contents(step)
done.read(step)
if step == lesson_page.END:
    lesson_page.end()
else:
    lesson_page.show(step)
done.keep()
