"""Tables whose own bar saves them as CSV and copies their cells: texts are guarded there as in every download."""

from typing import Any

import pandas as pd
import streamlit as st

from recall_core import datasets


def show(table: pd.DataFrame, **how: Any) -> None:
    """Show a table without its index; ``how`` is what ``st.dataframe`` takes."""
    st.dataframe(datasets.guarded(table), hide_index=True, **how)
