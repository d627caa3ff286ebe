"""The pictures of the lesson. What is told by colour is told by pattern, symbol or words too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pages.shared import colours
from pages.shared.charts import HIT, MISS, STYLES
from pages.shared.words import _
from recall_core.course import HandExample
from recall_core.metrics import Interval

NOTHING = "rgba(125,133,144,0.13)"
GREY = "#7d8590"
BLUE = STYLES[0][0]


@dataclass(frozen=True)
class Bar:
    """A share told as a bar: its name, its value in words, and its parts ``hit``, ``miss``, ``lost`` as shares of 1."""

    name: str
    told: str
    parts: Mapping[str, float]


def relevance(cells: Any, query: Sequence[str], gallery: Sequence[str]) -> go.Figure:
    """Draw who is right for whom: a row a query, a column a gallery picture."""
    pairs: Any = [[[q, g] for g in gallery] for q in query]
    figure = go.Figure(
        go.Heatmap(
            z=cells,
            zmin=0,
            zmax=1,
            colorscale=[(0.0, NOTHING), (1.0, HIT)],
            showscale=False,
            xgap=1,
            ygap=1,
            customdata=pairs,
            hovertemplate=_("query %{customdata[0]}, gallery %{customdata[1]}") + "<extra></extra>",
        )
    )
    figure.update_xaxes(
        title=_("gallery: {n} pictures").format(n=len(gallery)),
        showticklabels=False,
        showgrid=False,
        constrain="domain",
        constraintoward="left",
    )
    figure.update_yaxes(
        title=_("queries: {n} pictures").format(n=len(query)),
        showticklabels=False,
        showgrid=False,
        autorange="reversed",
        scaleanchor="x",
    )
    return _plain(figure, 430)


def similarities(example: HandExample) -> go.Figure:
    """Draw the score matrix of the hand example; the own item of each query is framed."""
    values = example.similarity
    n = len(values)
    names_q: Any = [f"q{i + 1}" for i in range(n)]
    names_g: Any = [f"g{i + 1}" for i in range(n)]
    place = [[int((example.order[q] == g).argmax()) + 1 for g in range(n)] for q in range(n)]
    text: Any = [[f"<b>{values[q][g]:.4g}</b><br>{_place(place[q][g])}" for g in range(n)] for q in range(n)]
    figure = go.Figure(
        go.Heatmap(
            z=values,
            x=names_g,
            y=names_q,
            text=text,
            texttemplate="%{text}",
            textfont={"size": 14},
            colorscale=[(0.0, "rgba(43,127,194,0.05)"), (1.0, "rgba(43,127,194,0.45)")],
            showscale=False,
            xgap=3,
            ygap=3,
            hoverinfo="skip",
        )
    )
    for i in range(n):
        figure.add_shape(
            type="rect", x0=i - 0.47, x1=i + 0.47, y0=i - 0.47, y1=i + 0.47, line={"color": HIT, "width": 4}
        )
    figure.update_xaxes(side="top", title=None, tickfont={"size": 14}, showgrid=False)
    figure.update_yaxes(autorange="reversed", title=None, tickfont={"size": 14}, showgrid=False)
    return _plain(figure, 300)


def growing(curve: Sequence[float], first_ranks: Sequence[int], k: int) -> go.Figure:
    """Draw R@k up to k, and below why it cannot fall: the first hits that Top_k has already taken in."""
    n = len(curve)
    ranks = sorted(first_ranks)
    figure = make_subplots(2, 1, shared_xaxes=True, row_heights=[0.42, 0.58], vertical_spacing=0.04)
    every = list(range(1, n + 1))
    figure.add_scatter(
        x=every, y=list(curve), mode="lines", line={"color": GREY, "width": 1, "dash": "dot"}, row=1, col=1
    )
    figure.add_scatter(
        x=every[:k],
        y=list(curve[:k]),
        mode="lines+markers",
        line={"color": BLUE, "width": 3},
        marker={"size": 7},
        row=1,
        col=1,
    )
    inside = [rank <= k for rank in ranks]
    figure.add_scatter(
        x=ranks,
        y=list(range(1, len(ranks) + 1)),
        mode="markers",
        marker={
            "size": 9,
            "color": [HIT if hit else MISS for hit in inside],
            "symbol": ["circle" if hit else "x" for hit in inside],
        },
        row=2,
        col=1,
    )
    figure.add_vrect(x0=0.5, x1=k + 0.5, fillcolor=HIT, opacity=0.14, line_width=0, row=2, col=1)
    figure.update_traces(hovertemplate="%{x}: %{y:.4g}<extra></extra>", showlegend=False)
    figure.update_xaxes(range=[0.3, n + 0.7], zeroline=False, tickvals=[1, 5, 10, 15, 20, 25, 30])
    figure.update_xaxes(title=_("rank"), row=2, col=1)
    figure.update_yaxes(title="R@k", range=[-0.05, 1.08], zeroline=False, row=1, col=1)
    figure.update_yaxes(
        title=_("queries"), autorange="reversed", tickvals=[1, 10, 20, 30], zeroline=False, row=2, col=1
    )
    return _plain(figure, 470)


def shares(bars: Sequence[Bar], words: Mapping[str, str]) -> go.Figure:
    """Draw shares of 1 as bars, each with its ratio beside it."""
    looks = {"hit": (HIT, ""), "miss": (MISS, "x"), "lost": (GREY, "/")}
    names: Any = [bar.name for bar in bars]
    figure = go.Figure()
    for part, (colour, pattern) in looks.items():
        values = [bar.parts.get(part, 0.0) for bar in bars]
        if any(values):
            figure.add_bar(
                x=values,
                y=names,
                orientation="h",
                name=words[part],
                marker={
                    "color": colour,
                    "pattern": {"shape": pattern, "size": 6, "solidity": 0.25, "fillmode": "overlay"},
                },
                hovertemplate="%{x:.4f}<extra>" + words[part] + "</extra>",
            )
    for bar in bars:
        figure.add_annotation(
            x=1.02, y=bar.name, text=bar.told, showarrow=False, xanchor="left", font={"size": 14}, align="left"
        )
    figure.update_layout(barmode="stack")
    figure.update_xaxes(range=[0, 1.42], tickvals=[0, 0.25, 0.5, 0.75, 1], zeroline=False)
    figure.update_yaxes(autorange="reversed", title=None, tickfont={"size": 13})
    return _plain(figure, 90 + 72 * len(bars), legend=True)


def precision_steps(flags: Sequence[int], at_k: Sequence[float], recall: Sequence[float], k: int) -> go.Figure:
    """Draw a list of right and wrong places with the precision at each hit, and AP@k beside R@k below."""
    n = len(flags)
    every = list(range(1, n + 1))
    hits = [sum(flags[:i]) for i in every]
    faded = [1 if place <= k else 0.35 for place in every]
    inks = [colours.on(HIT, seen) if flag else colours.ink() for flag, seen in zip(flags, faded, strict=True)]
    figure = make_subplots(2, 1, shared_xaxes=True, row_heights=[0.3, 0.7], vertical_spacing=0.05)
    figure.add_scatter(
        x=every,
        y=[0] * n,
        mode="markers+text",
        marker={
            "symbol": "square",
            "size": 34,
            "color": [HIT if flag else "rgba(0,0,0,0)" for flag in flags],
            "line": {"color": [HIT if flag else MISS for flag in flags], "width": 2},
            "opacity": faded,
        },
        text=[f"{h}/{i}" if flag else "✗" for i, h, flag in zip(every, hits, flags, strict=True)],
        textfont={"size": 13, "color": inks},
        showlegend=False,
        hoverinfo="skip",
        row=1,
        col=1,
    )
    for name, values, (colour, dash, symbol) in zip(("AP@k", "R@k"), (at_k, recall), STYLES, strict=False):
        figure.add_scatter(
            x=every,
            y=list(values),
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2.5},
            marker={"symbol": symbol, "size": 9},
            hovertemplate="k = %{x}: %{y:.4f}",
            row=2,
            col=1,
        )
    figure.add_vline(x=k, line={"color": GREY, "width": 1, "dash": "dot"})
    figure.update_xaxes(range=[0.4, n + 0.6], dtick=1, zeroline=False, showgrid=False)
    figure.update_xaxes(title=_("rank, k"), row=2, col=1)
    figure.update_yaxes(visible=False, range=[-1, 1], row=1, col=1)
    figure.update_yaxes(range=[-0.05, 1.1], zeroline=False, row=2, col=1)
    return _plain(figure, 400, legend=True)


def tie_band(frame: pd.DataFrame, k: int) -> go.Figure:
    """Draw R@k with ties in every order. Columns ``k``, ``worst``, ``expected``, ``best``, ``value`` (as stored)."""
    figure = go.Figure()
    figure.add_scatter(
        x=[*frame["k"], *frame["k"][::-1]],
        y=[*frame["best"], *frame["worst"][::-1]],
        fill="toself",
        fillcolor="rgba(43,127,194,0.15)",
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        name=_("from worst to best"),
    )
    looks = {
        "best": (_("best order"), "#1a9a78", "dash"),
        "expected": (_("random order (expected)"), "#2b7fc2", "solid"),
        "value": (_("stored order"), "#d9772b", "dot"),
        "worst": (_("worst order"), "#7d8590", "dash"),
    }
    for column, (name, colour, dash) in looks.items():
        figure.add_scatter(
            x=frame["k"], y=frame[column], name=name, mode="lines", line={"color": colour, "dash": dash, "width": 2.5}
        )
    figure.add_vline(x=k, line={"color": GREY, "width": 1, "dash": "dot"})
    figure.update_traces(hovertemplate="k = %{x}: %{y:.4f}")
    figure.update_xaxes(title="k", zeroline=False)
    figure.update_yaxes(title="R@k", range=[-0.05, 1.1], zeroline=False)
    return _plain(figure, 400, legend=True)


def contest(now: Mapping[str, float], honest: Mapping[str, float], chance: float) -> go.Figure:
    """Draw R@1 of each encoder under the chosen protocol, the honest one's as a mark, and what chance gives."""
    names: Any = list(now)
    most = max((value for value in now.values() if value == value), default=0.0)
    figure = go.Figure()
    figure.add_bar(
        x=list(now.values()),
        y=names,
        orientation="h",
        text=[f"{value:.4f}" if value == value else "–" for value in now.values()],
        textposition="auto",
        textangle=0,
        textfont={"size": 14},
        insidetextfont={"color": [colours.on(HIT if value == most else BLUE) for value in now.values()]},
        marker={
            "color": [HIT if value == most else BLUE for value in now.values()],
            "pattern": {
                "shape": ["/" if value == most else "" for value in now.values()],
                "size": 6,
                "solidity": 0.2,
                "fillmode": "overlay",
            },
        },
        name=_("as switched"),
        hovertemplate="%{x:.4f}<extra></extra>",
    )
    figure.add_scatter(
        x=[honest[name] for name in names],
        y=names,
        mode="markers",
        marker={"symbol": "line-ns", "size": 34, "line": {"width": 3, "color": MISS}},
        name=_("honest protocol"),
        hovertemplate="%{x:.4f}<extra></extra>",
    )
    figure.add_vline(x=chance, line={"color": GREY, "width": 1.5, "dash": "dot"}, annotation_text=_("chance"))
    figure.update_xaxes(title="R@1", range=[0, 1.03], zeroline=False)
    figure.update_yaxes(autorange="reversed", title=None, tickfont={"size": 13})
    return _plain(figure, 330, legend=True)


def intervals(value: float, found: Mapping[str, Interval | None], empty: str) -> go.Figure:
    """Draw intervals of one value under each other; where there is none, it says so."""
    figure = go.Figure()
    looks = zip(found.items(), (BLUE, MISS, HIT), ("solid", "dash", "solid"), strict=True)
    for (name, one), colour, dash in looks:
        names: Any = [name, name]
        ends = [value, value] if one is None else [one.low, one.high]
        figure.add_scatter(
            x=ends,
            y=names,
            mode="lines+markers",
            line={"color": colour, "width": 5, "dash": dash},
            marker={"symbol": "line-ns", "size": 20, "line": {"width": 3, "color": colour}},
            hovertemplate="%{x:.4f}<extra></extra>",
        )
        told = empty if one is None else f"{one.low:.4f} – {one.high:.4f}"
        left = max(ends) > 0.75
        figure.add_annotation(
            x=min(ends) - 0.02 if left else max(ends) + 0.02,
            y=name,
            text=told,
            showarrow=False,
            xanchor="right" if left else "left",
            font={"size": 13},
        )
    figure.add_vline(x=value, line={"color": GREY, "width": 1.5, "dash": "dot"})
    figure.update_layout(showlegend=False)
    figure.update_xaxes(title="R@k", range=[-0.02, 1.03], zeroline=False)
    figure.update_yaxes(autorange="reversed", title=None, showgrid=False, tickfont={"size": 13})
    return _plain(figure, 330)


def two_errors(frame: pd.DataFrame, effort: int) -> go.Figure:
    """Draw what exact search misses and what the index misses besides, against how long the index looks.

    Columns ``effort``, ``exact_recall@10``, ``recall@10``, ``overlap``.
    """
    x: Any = frame["effort"].tolist()
    exact, found = frame["exact_recall@10"], frame["recall@10"]
    figure = go.Figure()
    bands = (
        (_("error of the encoder"), exact, [1.0] * len(x), "rgba(125,133,144,0.22)"),
        (_("error of the index"), found, exact, "rgba(217,119,43,0.28)"),
    )
    for name, low, high, colour in bands:
        figure.add_scatter(
            x=[*x, *x[::-1]],
            y=[*high, *list(low)[::-1]],
            fill="toself",
            fillcolor=colour,
            line={"width": 0},
            mode="lines",
            hoverinfo="skip",
            name=name,
        )
    lines = (
        (_("R@10, exact"), exact, GREY, "dash", "square"),
        (_("R@10, index"), found, BLUE, "solid", "circle"),
        (_("share of the exact list"), frame["overlap"], HIT, "dot", "diamond"),
    )
    for name, values, colour, dash, symbol in lines:
        figure.add_scatter(
            x=x,
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2.5},
            marker={"symbol": symbol, "size": 8},
            hovertemplate="nprobe = %{x}: %{y:.4f}",
        )
    figure.add_vline(x=effort, line={"color": GREY, "width": 1, "dash": "dot"})
    figure.update_xaxes(title="nprobe", type="log", tickvals=x, ticktext=[str(one) for one in x], zeroline=False)
    figure.update_yaxes(range=[-0.02, 1.04], zeroline=False)
    return _plain(figure, 420, legend=True)


def _place(rank: int) -> str:
    return _("rank {n}").format(n=rank)


def _plain(figure: go.Figure, height: int, *, legend: bool = False) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=legend,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "title": None, "traceorder": "normal"},
        hovermode="closest",
        bargap=0.35,
    )
    return figure
