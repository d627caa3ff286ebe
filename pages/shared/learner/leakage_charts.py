"""The charts of the page on leakage: a number's distribution over seeds, how often, and which encoder is chosen.

The two draws are told apart by colour, by symbol and by the side of their row; the one that the toggle names is filled,
the other hollow: its lines keep their full colour, since a paler one could not be seen on a dark page.
"""

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from pages.shared import colours
from pages.shared.charts import STYLES
from pages.shared.words import _
from recall_core.experiments import leakage

HOLLOW = "rgba(0,0,0,0)"
POINTS = {"random": (STYLES[0][0], "circle"), "grouped": (STYLES[1][0], "diamond")}
ROW_HEIGHT, FRAME_HEIGHT = 62, 66


def strips(tables: Mapping[str, pd.DataFrame], rows: Mapping[str, str], shown: str, axis: str) -> go.Figure:
    """Draw each seed's values, with the middle half and the mean: a row a number, a strip a draw.

    Parameters
    ----------
    tables : mapping of draw to DataFrame
        One row a seed; draws are keys of ``POINTS``.
    rows : mapping of column to words
    shown : str
        The draw that stands out.
    axis : str
        Title of the axis, which runs from 0 to 1.
    """
    figure = go.Figure()
    for draw, table in tables.items():
        colour, symbol = POINTS[draw]
        long = table.melt("seed", list(rows), "row", "value").dropna(subset="value")
        figure.add_trace(
            go.Box(
                x=long["value"],
                y=long["row"].map(rows),
                name=_draw_words(draw),
                legendgroup=draw,
                offsetgroup=draw,
                orientation="h",
                boxpoints="all",
                jitter=0.7,
                pointpos=0,
                boxmean=True,
                line={"color": colour, "width": 1.5},
                fillcolor=_washed(colour) if draw == shown else HOLLOW,
                marker={
                    "symbol": symbol if draw == shown else f"{symbol}-open",
                    "size": 5,
                    "color": colour,
                    "opacity": 0.6,
                },
                customdata=long["seed"],
                hovertemplate=_("seed %{customdata}: %{x:.4f}") + "<extra></extra>",
                hoveron="points",
            )
        )
    figure.update_layout(boxmode="group", boxgap=0.3, boxgroupgap=0.2)
    figure.update_xaxes(title=axis, range=[-0.03, 1.03], zeroline=False)
    figure.update_yaxes(autorange="reversed", title=None)
    return _plain(figure, FRAME_HEIGHT + ROW_HEIGHT * len(rows))


def how_often(
    tables: Mapping[str, pd.DataFrame], column: str, shown: str, marked: float, axis: str, height: float
) -> go.Figure:
    """Draw how many seeds gave each value, with the value of the draw shown in pictures hatched.

    Parameters
    ----------
    tables : mapping of draw to DataFrame
        One row a seed.
    column : str
    shown : str
        The draw that stands out.
    marked : float
        The value to mark.
    axis : str
    height : float
    """
    figure = go.Figure()
    for draw, table in tables.items():
        counts = leakage.frequencies(table[column])
        hatched = ["/" if draw == shown and value == marked else "" for value in counts.index]
        figure.add_trace(
            go.Bar(
                x=counts.index.to_numpy(),
                y=counts.astype(float),
                name=_draw_words(draw),
                marker={
                    "color": POINTS[draw][0] if draw == shown else HOLLOW,
                    "line": {"color": POINTS[draw][0], "width": 1.5},
                    "pattern": {"shape": hatched, "fillmode": "overlay", "size": 5},
                },
                hovertemplate=_("%{x}: in %{y} draws") + "<extra></extra>",
            )
        )
    figure.update_layout(barmode="overlay", showlegend=False)
    figure.update_xaxes(title=axis, zeroline=False, tickformat="d", rangemode="tozero")
    figure.update_yaxes(title=_("draws"), rangemode="tozero")
    return _plain(figure, height)


def winners(counts: pd.DataFrame, words: Mapping[str, str], shown: str, height: float) -> go.Figure:
    """Draw in how many runs each draw chooses which encoder, as one bar a draw.

    Parameters
    ----------
    counts : DataFrame
        ``training.winners``.
    words : mapping of column to words
    shown : str
        The draw whose name stands out; its share is read like the other's.
    height : float
    """
    figure = go.Figure()
    drawn = counts.index.to_series()  # plotly's types know no list of text
    names = drawn.map(lambda draw: f"<b>{_draw_words(draw)}</b>" if draw == shown else _draw_words(draw))
    looks = zip(words.items(), (STYLES[0][0], STYLES[1][0], STYLES[2][0]), ("", "/", "."), strict=True)
    for (column, name), colour, pattern in looks:
        values = counts[column]
        figure.add_trace(
            go.Bar(
                x=values,
                y=names,
                orientation="h",
                name=name,
                text=[str(value) if value else "" for value in values],
                textposition="inside",
                insidetextanchor="middle",
                insidetextfont={"size": 13, "weight": 600, "color": colours.on(colour)},
                textangle=0,
                marker={
                    "color": colour,
                    "pattern": {"shape": pattern, "size": 5, "solidity": 0.2, "fillmode": "overlay"},
                },
                hovertemplate="%{y}: %{x}<extra>" + name + "</extra>",
            )
        )
    figure.update_layout(barmode="stack")
    figure.update_xaxes(title=_("draws"))
    figure.update_yaxes(autorange="reversed", title=None)
    return _plain(figure, height)


def _washed(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.4)"


def _draw_words(draw: str) -> str:
    return {"random": _("random"), "grouped": _("grouped")}[draw]


def height_of(rows: Sequence[str] | Mapping[str, str]) -> int:
    """How high is a chart of strips with these rows?"""
    return FRAME_HEIGHT + ROW_HEIGHT * len(rows)


def _plain(figure: go.Figure, height: float) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"traceorder": "normal", "orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "title": None},
        hovermode="closest",
        bargap=0.25,
    )
    return figure
