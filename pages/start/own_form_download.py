"""Save the chosen data set in our own folder form: what is read back is identical."""

import streamlit as st

from pages.shared.frame.shell import Here, quiet
from pages.shared.words import _
from recall_core import program
from recall_core.datasets import export_zip

N_ITEMS = 20_000
"""A zip is made in memory; more pictures than these go by the command."""


def button(here: Here) -> None:
    """Offer the data set as a zip, which is only made when the button is clicked."""
    if len(here.dataset) > N_ITEMS:
        quiet(_("To save it: {command}").format(command=f"`{program.command('export', 'DATA', 'FOLDER')}`"))
        return
    st.download_button(
        _("Export"),
        lambda: export_zip(here.dataset),
        f"{here.name}.zip",
        "application/zip",
        key="export",
        help=_("Everything in one zip: table, pictures, vectors. Upload it again, and it is the same data set."),
        on_click="ignore",
    )
