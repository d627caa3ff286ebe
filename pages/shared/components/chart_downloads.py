"""Take a chart home: as PNG or SVG by buttons, which the keyboard reaches and the chart's own bar does not have."""

from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.shared import colours
from pages.shared.words import _
from recall_core import datasets

CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage"]]}
"""Plotly's bar is only there to be asked for the picture."""

HERE = Path(__file__).parent

_component = st.components.v2.component(
    "recall_chart_downloads",
    html="<div class='downloads'></div>",
    css=(HERE / "chart_downloads.css").read_text(encoding="utf-8"),
    js=(HERE / "chart_downloads.js").read_text(encoding="utf-8"),
)


def draw(figure: go.Figure, **options: Any) -> Any:
    """Show a chart whose text can be read in the visitor's theme; ``options`` are those of ``st.plotly_chart``."""
    return st.plotly_chart(colours.readable(figure), **options)


def bar(chart: str, title: str, table: pd.DataFrame) -> None:
    """Offer the chart of this key as PNG and SVG, and what it draws as CSV.

    Parameters
    ----------
    chart : str
        Key that it was drawn with, which is also the name of the files.
    title : str
        What a screen reader calls the chart.
    table : DataFrame
        What the chart draws.
    """
    words = [_("{chart}: save as {format}").format(chart=title, format=name) for name in ("PNG", "SVG")]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _component(key=f"picture_{chart}", data={"chart": chart, "file": chart, "words": words}, width="content")
        st.download_button(
            _("Numbers as CSV"),
            lambda: datasets.guarded_csv(table),  # made when it is asked for, not in each run
            file_name=f"{chart}.csv",
            mime="text/csv",
            key=f"csv_{chart}",
            on_click="ignore",
        )
