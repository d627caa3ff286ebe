"""A table whose rows are buttons, with a value and its interval drawn in each row: slices, runs, queries won and lost.

A table of its own, because rows of ``st.dataframe`` are painted on a canvas: a screen reader and the Tab key do not
find them, and a selection is kept by position when the rows change.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

from .gallery import nothing

HERE = Path(__file__).parent

_component = st.components.v2.component(
    "recall_value_table",
    html="<div class='value-table'></div>",
    css=(HERE / "value_table.css").read_text(encoding="utf-8"),
    js=(HERE / "value_table.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True)
class Row:
    """One row: its words, and where a value with its interval is drawn; ``faint`` is not to be taken seriously."""

    cells: Sequence[str]
    value: float | None = None
    low: float | None = None
    high: float | None = None
    faint: bool = False


def show(
    name: str,
    head: Sequence[str],
    rows: Sequence[Row],
    *,
    key: str,
    stamp: str = "",
    domain: tuple[float, float] = (0.0, 1.0),
    on_pick: Callable[[], None] | None = None,
) -> None:
    """Show the table.

    Parameters
    ----------
    name : str
        What a screen reader calls it.
    head : sequence of str
        One more than cells where values are drawn.
    stamp : str
        Tells one list from another under the same key, so that a late click means the row that was seen.
    on_pick : callable, optional
        Called when a row is picked; then ask ``picked``.
    """
    drawn = bool(rows) and len(head) > len(rows[0].cells)
    _component(
        key=key,
        data={
            "name": name,
            "head": list(head),
            "rows": [
                asdict(row) | {"value": _defined(row.value), "low": _defined(row.low), "high": _defined(row.high)}
                for row in rows
            ],
            "drawn": drawn,
            "domain": list(domain),
            "stamp": stamp,
            "picks": on_pick is not None,
        },
        on_picked_change=on_pick or nothing,
    )


def picked(key: str, stamp: str, n_row: int) -> int | None:
    """Which row of this list was picked just now, 0-based? The report is not trusted."""
    state = st.session_state.get(key)
    given = state.get("picked") if state else None
    if not isinstance(given, dict) or given.get("stamp") != stamp:
        return None
    row = given.get("row")
    return row if isinstance(row, int) and not isinstance(row, bool) and 0 <= row < n_row else None


def _defined(value: float | None) -> float | None:
    return value if value is not None and value == value else None
