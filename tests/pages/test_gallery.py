"""What the browser reports is checked, never trusted; where the visitor is follows from it alone."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.shared.components import gallery
from pages.shared.components.gallery import PAGE_SIZE, Place, apply_event, current, n_pages
from tests.conftest import ROOT

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
reports = anything | st.fixed_dictionaries(
    {}, optional={"query": anything, "page": anything, "picked": anything, "number": anything}
)


@given(report=reports, n_query=st.integers(1, 50), n_tile=st.integers(0, 200))
def test_whatever_is_reported_the_visitor_stays_inside(report: object, n_query: int, n_tile: int) -> None:
    place = apply_event(Place(), report, n_query=n_query, n_tile=n_tile)
    assert 1 <= place.query <= n_query
    assert 1 <= place.page <= n_pages(n_tile)
    assert 0 <= place.picked <= n_tile


@given(query=st.integers(1, 9), page=st.integers(1, 3), picked=st.integers(0, 100))
def test_a_report_is_absolute_so_hearing_it_twice_changes_nothing(query: int, page: int, picked: int) -> None:
    report = {"query": query, "page": page, "picked": picked, "number": 1}
    once = apply_event(Place(), report, n_query=9, n_tile=100)
    assert apply_event(once, report, n_query=9, n_tile=100).query == once.query == query


def test_another_query_starts_at_its_first_page_with_nothing_picked() -> None:
    before = Place(1, 2, 50, 3)
    after = apply_event(before, {"query": 2, "page": 2, "picked": 50, "number": 4}, n_query=5, n_tile=100)
    assert (after, after.number) == (Place(2), 4)


def test_page_and_picked_tile_hold_only_for_the_query_that_they_were_reported_with() -> None:
    report = {"query": 3, "page": 2, "picked": 50, "number": 7}
    assert current(3, report, n_query=5, n_tile=100) == Place(3, 2, 50)
    other = current(4, report, n_query=5, n_tile=100)
    assert (other, other.number) == (Place(4), 7)


@pytest.mark.parametrize(("n_tile", "pages"), [(0, 1), (1, 1), (PAGE_SIZE, 1), (PAGE_SIZE + 1, 2)])
def test_a_page_holds_48_tiles(n_tile: int, pages: int) -> None:
    assert n_pages(n_tile) == pages


def test_nothing_from_the_data_is_ever_parsed_as_html() -> None:
    scripts = {path.name: path.read_text("utf-8") for path in (ROOT / "pages").rglob("*.js")}
    assert {"gallery.js", "value_table.js"} <= set(scripts)
    ways = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write")
    assert not [(name, way) for name, script in scripts.items() for way in ways if way in script]


SCRIPTS = sorted(
    folder / f"{folder.name}.py" for folder in (ROOT / "pages").iterdir() if (folder / f"{folder.name}.py").is_file()
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_page_enters_the_frame_before_it_does_anything(path: Path) -> None:
    kinds = (ast.Import, ast.ImportFrom)
    body = [node for node in ast.parse(path.read_text("utf-8")).body if not isinstance(node, kinds)]
    first = next(node for node in body[1:] if not isinstance(getattr(node, "value", None), ast.Constant))
    assert ast.unparse(first) == "here = shell.here()"


def test_the_grid_tells_its_own_colours_from_the_theme() -> None:
    assert "#" not in (gallery.HERE / "gallery.css").read_text("utf-8")
