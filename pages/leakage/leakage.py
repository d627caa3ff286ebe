"""Leakage: what stands on both sides of a split, and what it does to the number."""

import streamlit as st

from pages.leakage import leakage_parts
from pages.shared.components import findings_banner
from pages.shared.frame import shell
from pages.shared.learner import leakage_runs
from pages.shared.words import _, plain
from pages.shared.words.labels import problem_text
from recall_core.errors import DataError

here = shell.here()
st.title(_("Leakage"), anchor=False)
st.markdown(_("If the draw tears apart what belongs together, what does that do to the number?"))
findings_banner.show(here.evaluation)
chosen = leakage_runs.choose(here)
try:
    leakage_parts.PARTS[chosen.part](chosen, {**here.query, **chosen.link})
except DataError as reason:
    st.warning(_("These data cannot show this part:") + " " + plain(problem_text(reason)))
    shell.quiet(_("Choose other columns above, other data, or another part."))
