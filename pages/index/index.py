"""Index: how much of the error is the index's, and how much the vectors' own."""

import streamlit as st

from pages.index import index_parts, index_runs
from pages.shared.components import copying
from pages.shared.frame import shell
from pages.shared.words import _

here = shell.here()
st.title(_("Index"), anchor=False)
st.markdown(
    _(
        "An index finds quickly, but leaves things out. How much of the error is the index's, and how much the "
        "vectors' own?"
    )
)
asked = index_runs.ask(here)
found = index_parts.measured(asked)
link = {**here.query, **asked.link}
if found is not None:
    index_parts.chosen(found)
    trial, k, marked = index_parts.explore(found)
    link |= marked
    index_parts.table(found)
    index_parts.lost(found, asked, trial, k)
    index_parts.limits(found)
    index_parts.all_tried(found)
copying.buttons(link, asked.command)
