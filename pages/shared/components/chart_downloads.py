"""Take a chart home: as PNG or SVG by buttons, which the keyboard reaches and the chart's own bar does not have."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.shared import colours
from pages.shared.words import _
from recall_core import datasets

CONFIG = {"displaylogo": False, "modeBarButtons": [["toImage"]]}
"""Plotly's bar is only there to be asked for the picture."""

_component = st.components.v2.component(
    "recall_picturing",
    html="<div class='picturing'></div>",
    css="""
.picturing { display: flex; gap: 0.5rem; }
button {
  font: inherit; font-size: 0.875rem; color: var(--st-text-color);
  background: var(--st-background-color); cursor: pointer;
  border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius);
  min-height: 2.5rem; padding: 0.25rem 0.75rem;
}
button:hover { color: var(--st-primary-color); border-color: var(--st-primary-color); }
button:focus-visible { outline: 3px solid var(--st-primary-color); outline-offset: 1px; }
""",
    js="""
export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".picturing");
  if (root.dataset.chart === data.chart && root.dataset.words === data.words.join()) return;
  root.dataset.chart = data.chart;
  root.dataset.words = data.words.join();
  root.replaceChildren();
  ["png", "svg"].forEach((format, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = format.toUpperCase();
    button.ariaLabel = data.words[i];
    button.onclick = () => {
      const plot = document.querySelector(`.st-key-${CSS.escape(data.chart)} .js-plotly-plot`);
      const own = plot?.querySelector(".modebar-btn[data-title^='Download plot']");
      if (!own) return;
      // The chart's own button reads the format when it is clicked, so one chart can give both.
      Object.assign(plot._context.toImageButtonOptions, { format, filename: data.file, scale: 2 });
      own.click();
    };
    root.append(button);
  });
}
""",
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
