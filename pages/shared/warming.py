"""The pages visited once before a class comes: what all of them see is computed, and waits in the caches."""

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st
from streamlit import logger
from streamlit.testing.v1 import AppTest

from . import cached

DATA = (cached.PHOTOS, cached.LAB)
PAGES = ("start", "overview", "failures", "query", "compare", "lesson", "exercises", "leakage", "definitions")
"""Index is left out: its experiments run in the background, each for a visitor who waits for it."""

SECONDS = 300


def visit(app: Path, data: Sequence[str], tell: Callable[[str, int, int], None]) -> None:
    """Open every page on every bundled data set, and on those that are named; a page says itself what fails."""
    st.get_option("logger.level")  # the first question reads the settings, which sets the level
    logger.set_log_level("ERROR")  # no warnings of pages without a server; when one starts, the settings hold again
    visits = [(name, page) for name in dict.fromkeys([*DATA, *data]) for page in PAGES]
    for done, (name, page) in enumerate(visits):
        tell("pages made ready", done, len(visits))
        visitor = AppTest.from_file(app, default_timeout=SECONDS)
        visitor.switch_page(f"pages/{page}/{page}.py")
        visitor.query_params["data"] = name
        visitor.run()
    tell("pages made ready", len(visits), len(visits))
