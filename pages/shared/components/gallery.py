"""Pictures on a page: one component that shows a large picture, ranked tiles, and steps through the queries.

One component with its pictures as ``data:`` addresses, not a widget a tile: all 48 are painted in one go, tiles are
updated in place (so the keyboard focus stays), and an unrelated rerun sends nothing again.

The browser reports absolute positions, never "one further": twenty fast key presses then arrive at the right query
even where reruns are skipped. Every report carries a running number; what the server sends back for an older one is
not shown.

There is one cursor, a place in the whole list: arrows, J and K, a click and the address move it, the focus goes with
it, and every other key acts on what is under it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared.words import _

PAGE_SIZE = 48
HERE = Path(__file__).parent

_component = st.components.v2.component(
    "recall_gallery",
    html="<div class='gallery'></div>",
    css=(HERE / "gallery.css").read_text(encoding="utf-8"),
    js="".join((HERE / name).read_text(encoding="utf-8") for name in ("triage.js", "gallery.js")),
)


@dataclass(frozen=True)
class Tile:
    """One picture with what is said about it.

    Parameters
    ----------
    src : str
        ``data:`` address; a PNG is enlarged without smoothing. Empty where there is no picture.
    label : str
        What a screen reader says.
    title, note : str
        First and second line under the picture.
    badge : str
        Upper left corner: the rank.
    right : bool, optional
        ✓ and a solid border, ✗ and a dashed border, or neither.
    beside : sequence of Tile
        More pictures in the same tile, each with its own words: a query's answers.
    """

    src: str
    label: str
    title: str = ""
    note: str = ""
    badge: str = ""
    right: bool | None = None
    beside: Sequence["Tile"] = ()


@dataclass(frozen=True)
class Panel:
    """A titled group of tiles at the side: the query, what was missed, what was picked."""

    heading: str
    tiles: Sequence[Tile]
    lines: Sequence[str] = ()
    large: bool = False


@dataclass(frozen=True)
class Place:
    """Where the visitor is in a list of queries, all 1-based; ``picked`` 0 is no tile."""

    query: int = 1
    page: int = 1
    picked: int = 0
    number: int = field(default=0, compare=False)


def apply_event(place: Place, event: object, *, n_query: int, n_tile: int, page_size: int = PAGE_SIZE) -> Place:
    """Where is the visitor after what the browser reported?

    The report is not trusted: what is no whole number changes nothing, what is out of range is moved into it. Another
    query starts at its first page with nothing picked.
    """
    if not isinstance(event, Mapping):
        return place
    number = _whole(event.get("number"), place.number)
    query = _inside(_whole(event.get("query"), place.query), 1, n_query)
    if query != place.query:
        return Place(query, number=number)
    page = _inside(_whole(event.get("page"), place.page), 1, n_pages(n_tile, page_size))
    picked = _inside(_whole(event.get("picked"), place.picked), 0, n_tile)
    return Place(query, page, picked, number)


def current(query: int, event: object, *, n_query: int, n_tile: int) -> Place:
    """Where is the visitor, if the URL says which query? Page and picked tile hold only for the query reported with."""
    place = apply_event(Place(query), event, n_query=n_query, n_tile=n_tile)
    return place if place.query == query else Place(query, number=place.number)


def n_pages(n_tile: int, page_size: int = PAGE_SIZE) -> int:
    """How many pages of tiles are there? At least one."""
    return max(1, -(-n_tile // page_size))


@dataclass(frozen=True)
class Grid:
    """How tiles are laid out, and what stands above them.

    Parameters
    ----------
    heading : str
    columns : int
        Tiles a row; 0 fits as many as there is room for.
    pick : bool
        Tiles are buttons.
    paired : bool
        Every two tiles belong together and stand closer; ``columns`` is even then.
    empty : str
        What stands where there are no tiles.
    """

    heading: str = ""
    columns: int = 0
    pick: bool = False
    paired: bool = False
    empty: str = ""


@dataclass(frozen=True)
class Paging:
    """The whole list of which a page of tiles is shown, and the queries that the visitor steps through.

    Parameters
    ----------
    place : Place
        Where the visitor is.
    n_tile : int
        Length of the whole list.
    page_size : int
    n_query : int
        J and K and two buttons step through so many queries; 0 is no steps.
    addresses : sequence of mapping
        One a tile, where the tiles are the queries: what the URL says while the cursor is there. ``place.query`` is
        then the place of the cursor among ``n_tile``, and J and K move it.
    position : str
        How the place among the queries is said, with ``{i}`` and ``{n}``, where "query" does not say it.
    """

    place: Place
    n_tile: int
    page_size: int = PAGE_SIZE
    n_query: int = 0
    addresses: Sequence[Mapping[str, str]] = ()
    position: str = ""

    @property
    def first(self) -> int:
        """Position of the page's first tile in the whole list, 1-based."""
        return (self.place.page - 1) * self.page_size + 1


def show(
    tiles: Sequence[Tile],
    grid: Grid = Grid(),
    *,
    key: str,
    paging: Paging | None = None,
    panels: Sequence[Panel] = (),
    triage: Mapping[str, Any] | None = None,
    on_event: Callable[[], None] | None = None,
) -> None:
    """Show tiles, and beside them the panels.

    Parameters
    ----------
    tiles : sequence of Tile
        One page of them.
    grid : Grid
    key : str
        Stable: the same grid in every run.
    paging : Paging, optional
        Where the tiles are a page of a longer list, or the queries can be stepped through.
    panels : sequence of Panel
    triage : mapping, optional
        From ``triage.board``: keys tag, note and judge.
    on_event : callable, optional
        Called when the visitor steps, turns a page or picks a tile; then read ``event(key)``.
    """
    whole = paging.n_tile if paging and paging.n_tile else len(tiles)
    page_size = paging.page_size if paging else PAGE_SIZE
    _component(
        key=key,
        data={
            "tiles": [asdict(tile) for tile in tiles],
            "first": paging.first if paging else 1,
            "columns": grid.columns,
            "panels": [asdict(panel) for panel in panels],
            "place": asdict(paging.place) if paging else None,
            "addresses": [dict(address) for address in paging.addresses] if paging else [],
            "n_query": paging.n_query if paging else 0,
            "n_page": n_pages(whole, page_size),
            "heading": grid.heading,
            "empty": grid.empty,
            "active": grid.pick,
            "paired": grid.paired,
            "n_tile": whole,
            "page_size": page_size,
            "triage": triage,
            "words": _words() | ({"position": paging.position} if paging and paging.position else {}),
        },
        on_event_change=on_event or nothing,
    )


def event(key: str) -> Any:
    """Give the last report from the browser, as it came; None if there is none."""
    state = st.session_state.get(key)
    return state.get("event") if state else None


def opened(event: object) -> bool:
    """Was the tile under the cursor opened?"""
    return isinstance(event, Mapping) and event.get("open") is True


def picked(key: str, n_tile: int) -> int:
    """Which tile was picked, 1-based? 0 is none of them."""
    return apply_event(Place(), event(key), n_query=1, n_tile=n_tile).picked


def _words() -> dict[str, str]:
    return {
        "previous": _("Previous query (K)"),
        "next": _("Next query (J)"),
        "position": _("Query {i} of {n}"),
        "previous_page": _("Previous page"),
        "next_page": _("Next page"),
        "page": _("Page {i} of {n}"),
        "grid": _("Pictures"),
    }


def nothing() -> None:
    """Do nothing when the visitor moves; for a page that only reads ``event`` when it runs again."""


def _whole(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def _inside(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))
