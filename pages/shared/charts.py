"""The charts: curves over k, and where the first right picture stands. Colours follow the theme.

Direction and pooled are told apart by dash and symbol as well as by colour; hit and miss by pattern too.
"""

from collections.abc import Mapping, Sequence
from math import log10

import pandas as pd
import plotly.graph_objects as go

from recall_core import diagnosis

from .words import _, drawn

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
    for style, (direction, line) in zip(STYLES, _by_direction(lines), strict=False):
        _add_line(figure, direction, line, ks, *style)
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
    bins = diagnosis.bin_ranks(frame, k).replace({"label": {"none": _("none")}})
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
    figure.update_xaxes(title=_("rank"), type="category", tickfont={"size": 10})
    figure.update_yaxes(title=_("queries"), rangemode="tozero")
    return _plain(figure)


def precision_recall(frame: pd.DataFrame) -> go.Figure:
    """Draw precision over recall, a line for each direction and the pooled one, with bands.

    Parameters
    ----------
    frame : DataFrame
        From ``curves.precision_recall``.
    """
    figure = go.Figure()
    lines = frame.rename(columns={"recall": "k", "precision": "value"})
    for style, (direction, line) in zip(STYLES, _by_direction(lines), strict=False):
        _add_line(figure, direction, line, (), *style, hover=_("recall %{x:.2f}: precision %{y:.4f}"))
    figure.update_layout(showlegend=len(figure.data) > 2)
    figure.update_xaxes(title=_("recall"), range=[-0.02, 1.02], zeroline=False)
    figure.update_yaxes(title=_("precision"), range=[-0.02, 1.04], zeroline=False)
    return _plain(figure)


def similarities(frame: pd.DataFrame) -> go.Figure:
    """Draw how alike right pairs are, and other pairs: shares of their own kind, as steps.

    Parameters
    ----------
    frame : DataFrame
        ``Similarities.histogram``.
    """
    figure = go.Figure()
    middle, names = (frame["low"] + frame["high"]) / 2, (_("right pairs"), _("other pairs"))
    for column, name, colour, dash in zip(("right", "other"), names, (HIT, MISS), ("solid", "dash"), strict=True):
        figure.add_scatter(
            x=middle,
            y=frame[column],
            name=name,
            mode="lines",
            line={"color": colour, "dash": dash, "shape": "hvh", "width": 2},
            fill="tozeroy",
            fillcolor=_faded(colour),
            hovertemplate="%{x:.3f}: %{y:.1%}",
        )
    figure.update_xaxes(title=_("similarity"), zeroline=False)
    figure.update_yaxes(title=_("share of the pairs"), tickformat=".0%", rangemode="tozero")
    figure = _plain(figure)
    figure.update_layout(legend={"x": 0, "xanchor": "left", "y": 1, "yanchor": "top"})
    return figure


def scatter(points: pd.DataFrame, colour: pd.Series, explained: tuple[float, float], *, hits: bool) -> go.Figure:
    """Draw a map: a point an item, its symbol and colour by what it is.

    Parameters
    ----------
    points : DataFrame
        ``Map.points``.
    colour : Series
        What each point is coloured by.
    explained : tuple of float
        Share of the variance along each axis.
    hits : bool
        The colours say hit or miss.
    """
    figure = go.Figure()
    fates = {
        "hit": (_("hit"), HIT, "circle"),
        "miss": (_("miss"), MISS, "x"),
        "": (_("gallery"), "#7d8590", "circle-open"),
    }
    values = colour.to_numpy()
    for i, value in enumerate(sorted(set(values))):
        part = points[values == value]
        looks = fates[str(value)] if hits else (drawn(str(value)), PALETTE[i % len(PALETTE)], SYMBOLS[i % len(SYMBOLS)])
        name, tint, symbol = looks
        figure.add_scattergl(
            x=part["x"],
            y=part["y"],
            name=name,
            mode="markers",
            marker={"color": tint, "symbol": symbol, "size": 7, "opacity": 0.8},
            customdata=part[["row", "id"]].assign(id=part["id"].astype(str).map(drawn)).to_numpy(),
            hovertemplate="%{customdata[1]}",
        )
    shares = [f"{share:.0%}" for share in explained]
    figure.update_xaxes(title=_("first component, {share} of the variance").format(share=shares[0]), zeroline=False)
    figure.update_yaxes(title=_("second component, {share}").format(share=shares[1]), zeroline=False)
    figure = _plain(figure)
    figure.update_layout(
        height=2 * HEIGHT, dragmode="select", legend={"x": 1.01, "xanchor": "left", "y": 1, "yanchor": "top"}
    )
    return figure


def trend(frame: pd.DataFrame, name: str) -> go.Figure:
    """Draw a score over epochs, with its intervals.

    Parameters
    ----------
    frame : DataFrame
        ``comparison.run_table`` of one metric with a column ``epoch``, ascending.
    name : str
        As the axis says it.
    """
    figure = go.Figure(
        go.Scatter(
            x=frame["epoch"],
            y=frame["value"],
            mode="lines+markers",
            line={"color": STYLES[0][0], "width": 2},
            marker={"size": 8},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": frame["high"] - frame["value"],
                "arrayminus": frame["value"] - frame["low"],
                "thickness": 1.5,
            },
            text=list(frame["run"].map(drawn)),
            hovertemplate="%{text}: %{y:.4f}<extra></extra>",
        )
    )
    # A tick for each epoch while there is room, then whole steps: there is no epoch 2.5.
    span = int(frame["epoch"].max() - frame["epoch"].min())
    whole = {"tickvals": list(frame["epoch"])} if len(frame) <= 12 else {"dtick": -(-span // 10), "tick0": 0}
    figure.update_xaxes(title=_("epoch"), zeroline=False, **whole)
    figure.update_yaxes(title=name, zeroline=False)
    return _plain(figure)


def rank_moves(frame: pd.DataFrame, names: tuple[str, str], words: Mapping[str, str]) -> go.Figure:
    """Draw the rank of the first right item in one run against that in another; larger where more queries stand.

    Parameters
    ----------
    frame : DataFrame
        ``comparison.query_moves``; queries that found nothing in one of the two are left out.
    names : tuple of str
        Of the two runs.
    words : mapping
        What each outcome is called.
    """
    counted = diagnosis.count_moves(frame)
    counted = counted.assign(
        address=counted["direction"] + ":" + (counted["query"] + 1).astype(str),
        example=counted["id"].astype(str).map(drawn),
    )
    figure = go.Figure()
    looks = {
        "lost": (MISS, "x"),
        "won": (HIT, "circle"),
        "tied": ("#7d8590", "circle-open"),
        "left out": ("#b8679a", "square"),
    }
    for outcome, (colour, symbol) in looks.items():
        part = counted[counted["outcome"] == outcome]
        if len(part):
            figure.add_scatter(
                x=part["first_rank"],
                y=part["second_rank"],
                name=words[outcome],
                mode="markers",
                marker={
                    "color": colour,
                    "symbol": symbol,
                    "size": (part["n"].clip(upper=100) ** 0.5 * 4 + 4),
                    "opacity": 0.75,
                },
                customdata=part[["n", "example", "address"]].to_numpy(),
                hovertemplate=_("rank %{x} → %{y}: %{customdata[0]} queries, such as %{customdata[1]}"),
            )
    # One scale for both, in powers of ten: it begins at rank 1, and above the diagonal the second run is worse.
    deepest = max(10, *counted[["first_rank", "second_rank"]].max().fillna(1))
    both = [-0.1, log10(deepest) + 0.1]
    figure.update_xaxes(title=_("rank in {name}").format(name=drawn(names[0])), type="log", dtick=1, zeroline=False)
    figure.update_yaxes(title=_("rank in {name}").format(name=drawn(names[1])), type="log", dtick=1, zeroline=False)
    figure.update_layout(xaxis_range=both, yaxis_range=both)
    return figure


PALETTE = ("#2b7fc2", "#d9772b", "#1a9a78", "#b8679a", "#7d8590", "#a58a12")
SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star")
"""Two values have the same colour, or the same symbol, but hardly ever both."""


def _faded(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.13)"


def _by_direction(lines: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(str(name), lines[lines["direction"] == name]) for name in lines["direction"].unique()]


def _add_line(
    figure: go.Figure,
    name: str,
    line: pd.DataFrame,
    ks: Sequence[int],
    colour: str,
    dash: str,
    symbol: str,
    *,
    hover: str = "k = %{x}: %{y:.4f}",
) -> None:
    shown = _("both") if name == POOLED else drawn(name.replace("->", " → "))
    figure.add_scatter(
        x=[*line["k"], *line["k"][::-1]],
        y=[*line["high"], *line["low"][::-1]],
        fill="toself",
        fillcolor=_faded(colour),
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
        # Not numbers: a click on a point would report what is sent as numbers as a dict.
        customdata=line[["low", "high", "k"]].to_numpy(object),
        hovertemplate=hover + " [%{customdata[0]:.4f}, %{customdata[1]:.4f}]",
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
