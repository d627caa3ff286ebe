"""The charts: curves over k, and where the first right picture stands. Colours follow the theme.

Direction and pooled are told apart by dash and symbol as well as by colour; hit and miss by pattern too.
"""

from collections.abc import Sequence
from itertools import pairwise

import pandas as pd
import plotly.graph_objects as go

from .words import _

POOLED = "both"
STYLES = (("#2b7fc2", "solid", "circle"), ("#d9772b", "dash", "square"), ("#7d8590", "dot", "diamond"))
HIT, MISS = "#1a9a78", "#d9772b"
HEIGHT = 270


def curves(frame: pd.DataFrame, metric: str, k: int, name: str, ks: Sequence[int]) -> go.Figure:
    """Draw one metric over k, a line for each direction and the pooled one, with bands.

    Parameters
    ----------
    frame : DataFrame
        ``Evaluation.curves``.
    metric : str
        ``recall`` or ``map``.
    k : int
        Marked by a line.
    name : str
        As the axis says it: ``R@k``.
    ks : sequence of int
        Where the lines have symbols.
    """
    figure = go.Figure()
    lines = frame[frame["metric"] == metric]
    for style, (direction, line) in zip(STYLES, lines.groupby("direction", sort=False), strict=False):
        _add_line(figure, str(direction), line, ks, *style)
    figure.update_layout(showlegend=len(figure.data) > 2)
    figure.add_vline(x=k, line={"color": "#7d8590", "width": 1, "dash": "dot"})
    last = int(lines["k"].max()) if len(lines) else 1
    ticks = [tick for tick in (1, 2, 3, 5, 10, 20, 50, 100) if tick <= last]
    figure.update_xaxes(title="k", type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks], zeroline=False)
    figure.update_yaxes(title=name, range=[-0.02, 1.04], zeroline=False)
    return _plain(figure)


def first_hits(frame: pd.DataFrame, k: int) -> go.Figure:
    """Draw at which rank the queries find their first right picture.

    Parameters
    ----------
    frame : DataFrame
        ``Evaluation.first_hits``.
    k : int
        Bars up to k are hits.
    """
    bins = bin_ranks(frame, k)
    figure = go.Figure(
        go.Bar(
            x=bins["label"],
            y=bins["n_query"],
            text=bins["n_query"].astype(str).tolist(),
            textposition="outside",
            cliponaxis=False,
            marker={
                "color": [HIT if hit else MISS for hit in bins["hit"]],
                "pattern": {"shape": ["" if hit else "/" for hit in bins["hit"]], "fillmode": "replace", "size": 5},
                "line": {"width": 0},
            },
            hovertemplate=_("rank %{x}: %{y} queries") + "<extra></extra>",
        )
    )
    figure.update_xaxes(title=_("rank"), type="category", tickangle=0, tickfont={"size": 10})
    figure.update_yaxes(title=_("queries"), rangemode="tozero")
    return _plain(figure)


def bin_ranks(frame: pd.DataFrame, k: int) -> pd.DataFrame:
    """Gather ranks into the bins 1, 2, 3, 4–5, 6–10, … > 50, with a border at k; the last is "none".

    Returns
    -------
    DataFrame
        Columns ``label``, ``n_query``, ``hit``; empty bins between filled ones are kept.
    """
    ranks = frame.groupby("rank")["n_query"].sum()
    deepest = int(ranks.index.max()) if len(ranks) else 0
    edges = sorted({0, 1, 2, 3, 5, 10, 20, 50, 10**9, k})
    rows = []
    for low, high in pairwise(edges):
        if low >= max(deepest, k):
            break
        label = f"> {low}" if high == edges[-1] else str(high) if high == low + 1 else f"{low + 1}–{high}"
        rows.append((label, int(ranks[(ranks.index > low) & (ranks.index <= high)].sum()), high <= k))
    if ranks.get(0, 0):
        rows.append((_("none"), int(ranks[0]), False))
    return pd.DataFrame(rows, columns=["label", "n_query", "hit"])


def _add_line(
    figure: go.Figure, name: str, line: pd.DataFrame, ks: Sequence[int], colour: str, dash: str, symbol: str
) -> None:
    shown = _("both") if name == POOLED else name.replace("->", " → ")
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    figure.add_scatter(
        x=[*line["k"], *line["k"][::-1]],
        y=[*line["high"], *line["low"][::-1]],
        fill="toself",
        fillcolor=f"rgba({red},{green},{blue},0.13)",
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        legendgroup=name,
        mode="lines",
    )
    figure.add_scatter(
        x=line["k"],
        y=line["value"],
        name=shown,
        legendgroup=name,
        mode="lines+markers",
        line={"color": colour, "dash": dash, "width": 2},
        marker={"symbol": symbol, "size": [8 if k in ks else 0 for k in line["k"]], "opacity": 1},
        customdata=line[["low", "high"]].to_numpy(),
        hovertemplate="k = %{x}: %{y:.4f} [%{customdata[0]:.4f}, %{customdata[1]:.4f}]",
    )


def _plain(figure: go.Figure) -> go.Figure:
    figure.update_layout(
        height=HEIGHT,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"x": 1, "xanchor": "right", "y": 0, "yanchor": "bottom", "title": None, "bgcolor": "rgba(0,0,0,0)"},
        hovermode="closest",
        bargap=0.25,
    )
    return figure
