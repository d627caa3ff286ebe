"""Keep the garbage collector quick: Streamlit has it look at everything that lives, after every run of a script."""

import gc

import streamlit as st


@st.cache_resource(show_spinner=False)
def set_apart(page: str) -> None:
    """After a page's first run on this server, take what lives by then out of the collector's sight.

    These are modules and classes, which stay: plotly and pandas alone are some hundred thousand objects. Looking at
    them took most of the processor time of a rerun, and all other sessions wait meanwhile.
    """
    gc.collect()
    gc.freeze()
