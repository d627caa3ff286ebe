"""The chart of the page on indexes: what each configuration finds against how long it takes."""

import pandas as pd
import plotly.graph_objects as go

from pages.shared.words import _, drawn
from recall_core.experiments import index

KINDS = {
    "hnsw": ("#2b7fc2", "circle"),
    "ivf-flat": ("#d9772b", "square"),
    "ivf-pq": ("#1a9a78", "diamond"),
    "flat": ("#7d8590", "x"),
}
TICKS = [step * 10.0**power for power in range(-4, 4) for step in (1, 2, 5)]
EXACT, MARK, HEIGHT = "#7d8590", "#c2408a", 400


def scatter(tried: pd.DataFrame, column: str, axis: str, level: float, marked: str) -> go.Figure:
    """Draw every configuration, the front of those that none beats, the exact level, and a ring around one.

    Parameters
    ----------
    tried : DataFrame
        ``ann.table`` of the queries that tune.
    column : str
        What stands upward.
    axis : str
        Its name.
    level : float
        What the exact ranking has there.
    marked : str
        Name of the configuration in the ring.
    """
    figure = go.Figure()
    front = index.pareto_front(tried, column)
    figure.add_scatter(
        x=front["milliseconds"],
        y=front[column],
        name=_("Pareto front"),
        mode="lines",
        line={"color": EXACT, "width": 1.5, "dash": "dot", "shape": "hv"},
        hoverinfo="skip",
    )
    for kind, (colour, symbol) in KINDS.items():
        points = tried[tried["index"] == kind]
        figure.add_scatter(
            x=points["milliseconds"],
            y=points[column],
            name=kind,
            mode="lines+markers",
            line={"color": colour, "width": 1},
            marker={"color": colour, "symbol": symbol, "size": 9, "opacity": 1},
            customdata=points[["name"]].map(drawn).to_numpy(),
            hovertemplate="%{customdata[0]}<br>" + axis + " %{y:.4f}, %{x:.3g} ms<extra></extra>",
        )
    _ring(figure, tried[tried["chosen"]], column, _("chosen"), {"symbol": "star", "size": 17, "color": MARK})
    ring = {"symbol": "circle-open", "size": 20, "color": MARK, "line": {"width": 3}}
    _ring(figure, tried[tried["name"] == marked], column, _("marked"), ring)
    words = _("exact: {value}").format(value=f"{level:.4f}")
    figure.add_hline(
        y=level,
        line={"color": EXACT, "width": 1.5, "dash": "dash"},
        annotation={"text": words, "xanchor": "left", "x": 0, "font": {"size": 12}},
    )
    figure.update_xaxes(
        title=_("milliseconds a query, the less the better"), type="log", tickvals=TICKS, zeroline=False
    )
    figure.update_yaxes(title=axis, zeroline=False)
    figure.update_layout(
        height=HEIGHT,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "title": None},
        hovermode="closest",
    )
    return figure


def _ring(figure: go.Figure, points: pd.DataFrame, column: str, name: str, marker: dict[str, object]) -> None:
    figure.add_scatter(
        x=points["milliseconds"],
        y=points[column],
        name=name,
        mode="markers",
        marker=marker | {"opacity": 1},
        hoverinfo="skip",
    )
