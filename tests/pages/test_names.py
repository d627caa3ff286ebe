"""Names out of the data, however odd, break no page: they stand in what is shown, never in the key of a widget."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import cached
from pages.shared.keys import key
from tests.conftest import ROOT
from tests.datasets.test_readers import pictures
from tests.pages.test_app import run

pytestmark = pytest.mark.filterwarnings("ignore:.*ScriptRunContext")

PAGES = sorted(file.parent.name for file in (ROOT / "pages").glob("*/__init__.py") if file.parent.name != "shared")
NAMES = (
    *(
        "a__b",
        "__",
        "$x$ `y` |z|",
        "<b>&amp;",
        ":red[x] **y**",
        "x.y",
        "x;y,z=w",
        "Erdő",
        "\N{RIGHT-TO-LEFT OVERRIDE}x",
    ),
    *("two\nlines", "tab\there", "%2F?data=x#y", "'\"", "x" * 200),
)


def folder_of(root: Path, name: str) -> None:
    """Eight pictures of four things, with the odd name as folder, column and value."""
    folder = pictures(root / name, *(f"{i}.png" for i in range(8)))
    quoted = '"' + name.replace('"', '""') + '"'
    rows = [f"{i}.png,{i // 2},{quoted if i % 4 < 2 else 'other'}" for i in range(8)]
    (folder / "metadata.csv").write_text("\n".join([f"path,group,{quoted}", *rows]), encoding="utf-8")


def keys_of(app: AppTest) -> str:
    """The keys of all widgets and components of a page."""
    return "\n".join(app.session_state.keys())


@pytest.mark.parametrize("page", PAGES)
def test_an_odd_name_breaks_no_page_and_is_in_no_key(own_root: Path, page: str) -> None:
    folder_of(own_root, "a__b")
    app = run(page, data="a__b")
    assert app.selectbox(key="data").value == "a__b"
    assert not app.error
    assert "a__b" not in keys_of(app)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_any_name_has_its_card_and_its_grid_on_start(own_root: Path, name: str) -> None:
    folder_of(own_root, name)
    (known,) = cached.own_data_sets()
    app = run("start", data=known)
    assert app.selectbox(key="data").value == known
    assert not app.error
    assert key("all", known) in keys_of(app)
    assert key("card", known) in keys_of(app)
    app.button(key=key("open", known)).click().run()
    assert not app.exception
    assert not app.error
    assert known not in keys_of(app)


def test_a_column_of_any_name_colours_the_map_and_plays_a_role(own_root: Path) -> None:
    folder_of(own_root, "a__b")
    app = run("overview", data="a__b", tab="curves")
    app.selectbox(key="map_by").set_value("a__b").run()
    assert not app.exception
    app.button_group(key=key("map_values", "a__b")).set_value(["a__b"]).run()
    assert not app.exception
    assert "map_values_a__b" not in keys_of(app)
    app = run("start", data="a__b", columns="label=a__b")
    assert not app.error
    assert "a__b" not in keys_of(app)


def test_a_key_tells_texts_apart_whatever_they_hold() -> None:
    given = [("a__b",), ("a", "b"), ("ab",), ("a\0b",), ("\ud800",), ()]
    made = [key("grid", *texts) for texts in given]
    assert len(set(made)) == len(given) - 1  # a zero byte ends a text, and no name holds one
    assert all(one.isascii() and "__" not in one for one in made)
