"""Buttons that copy: the link to what is on the screen, and the command that prints the same numbers."""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from pages.shared.frame import own_data
from pages.shared.words import _

HERE = Path(__file__).parent

_component = st.components.v2.component(
    "recall_copy",
    html="<div class='copies'></div>",
    css=(HERE / "copying.css").read_text(encoding="utf-8"),
    js=(HERE / "copying.js").read_text(encoding="utf-8"),
)


def buttons(query: Mapping[str, str], command: str) -> None:
    """Offer the link to this page with everything spelled out, and the command, which is shown too."""
    done = _("Copied")
    _component(
        key="copy",
        data=[
            {"label": _("Copy link"), "done": done, "text": None, "query": urlencode(query)},
            {"label": _("Copy command"), "done": done, "text": command, "query": None},
        ],
    )
    if query.get("data") in own_data.sets():
        needs = _(
            "The link needs this upload, which goes when you close or reload the page. Whoever opens it later uploads "
            "the same files on Start first: they get the same name again."
        )
        st.markdown(f":small[:gray[{needs}]]")
    st.code(command, language=None, wrap_lines=True)  # the colours of a language are too pale to be read well
