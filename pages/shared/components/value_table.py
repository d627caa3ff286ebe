"""A table whose rows are buttons, with a value and its interval drawn in each row: slices, runs, queries won and lost.

A table of its own, because rows of ``st.dataframe`` are painted on a canvas: a screen reader and the Tab key do not
find them, and a selection is kept by position when the rows change.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from .gallery import nothing

_component = st.components.v2.component(
    "recall_listing",
    html="<div class='listing'></div>",
    css="""
.listing { color: var(--st-text-color); font-family: var(--st-font); font-size: 0.87rem; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--st-gray-color); white-space: nowrap; }
th, td { padding: 0.35rem 0.9rem 0.35rem 0; border-bottom: 1px solid var(--st-border-color); }
td:not(:first-child) { white-space: nowrap; }
td.drawn, th.drawn { width: 26%; min-width: 8rem; }
.faint { color: var(--st-gray-color); }
button {
  font: inherit; color: inherit; text-align: left; padding: 0.1rem 0.3rem; margin-left: -0.3rem; cursor: pointer;
  background: none; border: 0; border-radius: var(--st-base-radius); overflow-wrap: anywhere;
  text-decoration: underline; text-decoration-color: var(--st-border-color); text-underline-offset: 0.2em;
}
button:hover { color: var(--st-primary-color); text-decoration-color: currentcolor; }
button:focus-visible { outline: 3px solid var(--st-primary-color); outline-offset: 1px; }
.track { position: relative; display: block; height: 1.1rem; background: var(--st-secondary-background-color); }
.zero { position: absolute; top: 0; bottom: 0; border-left: 1px solid var(--st-gray-color); }
.ends {
  position: absolute; top: 0.3rem; height: 0.5rem; border-radius: 0.25rem;
  background: color-mix(in srgb, var(--st-primary-color) 35%, transparent);
}
.dot {
  position: absolute; top: 0.2rem; width: 0.7rem; height: 0.7rem; margin-left: -0.35rem; border-radius: 50%;
  background: var(--st-primary-color);
}
""",
    js="""
const make = (name, className, parent) => {
  const node = document.createElement(name);
  node.className = className;
  parent.append(node);
  return node;
};

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".listing");
  const focused = [...root.querySelectorAll("button")].findIndex((button) => button.matches(":focus"));
  root.replaceChildren();
  const table = make("table", "", root);
  table.ariaLabel = data.name;
  const head = make("tr", "", make("thead", "", table));
  const body = make("tbody", "", table);
  const [low, high] = data.domain;
  const at = (value) => `${(100 * (Math.max(low, Math.min(high, value)) - low)) / (high - low)}%`;
  data.head.forEach((name, i) => {
    const cell = make("th", i === data.head.length - 1 && data.drawn ? "drawn" : "", head);
    cell.scope = "col";
    cell.textContent = name;
  });
  data.rows.forEach((row, i) => {
    const line = make("tr", row.faint ? "faint" : "", body);
    row.cells.forEach((text, j) => {
      const cell = make("td", "", line);
      if (j || !data.picks) cell.textContent = text;
      else {
        const button = make("button", "", cell);
        button.type = "button";
        button.textContent = text;
        button.onclick = () => setTriggerValue("picked", { row: i, stamp: data.stamp });
      }
    });
    if (!data.drawn) return;
    const track = make("span", "track", make("td", "drawn", line));
    track.ariaHidden = "true";
    if (low < 0) make("span", "zero", track).style.left = at(0);
    if (row.low !== null) {
      const ends = make("span", "ends", track);
      ends.style.left = at(row.low);
      ends.style.right = `calc(100% - ${at(row.high)})`;
    }
    if (row.value !== null) make("span", "dot", track).style.left = at(row.value);
  });
  if (root.scrollWidth > root.clientWidth) root.tabIndex = 0; // so that arrows scroll it
  else root.removeAttribute("tabindex");
  if (focused >= 0) root.querySelectorAll("button")[focused]?.focus();
}
""",
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
