"""Colours of the text in charts, by theme: each stands out from what is behind it by at least 4.5 : 1.

Streamlit's own grey of axes does not, and Plotly chooses the colour of text on a translucent cell as if that lay on
white.
"""

import plotly.graph_objects as go
import streamlit as st

BACKGROUNDS = {"light": "#ffffff", "dark": "#14181b"}
INKS = {"light": "#1d2327", "dark": "#e4e8ea"}


def theme() -> str:
    """Does this visitor see light or dark?"""
    return "dark" if st.context.theme.type == "dark" else "light"


def ink() -> str:
    """Give the colour of text on the page itself."""
    return INKS[theme()]


def on(fill: str, opacity: float = 1.0) -> str:
    """Give the colour of text on a fill that lies on the page: black or white, which stands out more."""
    seen = _blend(fill, BACKGROUNDS[theme()], opacity)
    return max("#000000", "#ffffff", key=lambda text: contrast(text, seen))


def readable(figure: go.Figure) -> go.Figure:
    """Write on a chart in the ink of the page wherever it has no colour of its own; returns the same figure."""
    text = ink()
    figure.update_layout(font_color=text, legend_font_color=text)
    figure.update_xaxes(tickfont_color=text, title_font_color=text)
    figure.update_yaxes(tickfont_color=text, title_font_color=text)
    figure.update_annotations(font_color=text, bgcolor=BACKGROUNDS[theme()])
    figure.update_traces(textfont_color=text, selector={"type": "heatmap"})
    figure.update_traces(outsidetextfont_color=text, selector={"type": "bar"})
    return figure


def contrast(one: str, other: str) -> float:
    """How much do two opaque colours stand out from each other, from 1 to 21 (WCAG 2)?"""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _blend(fill: str, behind: str, opacity: float) -> str:
    parts = zip(_parts(fill), _parts(behind), strict=True)
    return "#" + "".join(f"{round(opacity * over + (1 - opacity) * under):02x}" for over, under in parts)


def _parts(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _luminance(colour: str) -> float:
    parts = [part / 255 for part in _parts(colour)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
