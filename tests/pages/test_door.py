"""The app without a browser, opened on one's data: a root that is a data set, given vectors, folders that are typed."""

import os
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import cached
from pages.shared.frame import opened_folders
from recall_core.datasets.dataset import load
from recall_core.evaluation.wiring import evaluate
from tests.conftest import DATA
from tests.datasets.test_readers import png
from tests.pages.test_app import run, said

pytestmark = pytest.mark.filterwarnings("ignore:.*ScriptRunContext")

N_ITEM = 8


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A data set with a table: four products, two images each."""
    folder = tmp_path / "mine" / "shop"
    folder.mkdir(parents=True)
    for i in range(N_ITEM):
        (folder / f"{i}.png").write_bytes(png(i))
    rows = "".join(f"{i}.png,{i // 2}\n" for i in range(N_ITEM))
    (folder / "metadata.csv").write_text("path,product\n" + rows, encoding="utf-8")
    return folder


@pytest.fixture
def at_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A visitor whose browser runs on the machine of the server."""
    monkeypatch.setattr(opened_folders, "allowed", lambda: True)


def vectors(folder: Path) -> list[Path]:
    """Two files of vectors: the first finds everything, the second nothing."""
    files = [folder / "good.npy", folder / "bad.npy"]
    np.save(files[0], np.repeat(np.eye(N_ITEM // 2), 2, axis=0))
    np.save(files[1], np.tile(np.eye(N_ITEM // 2), (2, 1)))
    return files


def open_folder(app: AppTest, typed: object) -> None:
    app.text_input(key="folder_path").set_value(str(typed))
    next(button for button in app.button if button.label == "Open").click()
    app.run()
    assert not app.exception


@pytest.mark.parametrize("named", ["shop", "shop/metadata.csv"])
def test_a_root_may_be_a_data_set_or_a_table(shop: Path, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(shop.parent / named))
    name = Path(named).stem
    app = run("overview", data=name)
    assert not app.error
    assert app.selectbox(key="data").value == name
    assert "8 queries" in said(app)
    assert cached.own_data_sets() == [name]


def test_given_vectors_are_offered_under_their_names(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = vectors(tmp_path)
    monkeypatch.setenv("RECALL_DATA_ROOT", str(shop))
    monkeypatch.setenv("RECALL_EMBEDDINGS", os.pathsep.join(map(str, files)))
    monkeypatch.chdir(tmp_path)
    app = run("overview", data="shop", embeddings="good.npy")
    assert not app.error
    assert app.selectbox(key="embeddings").options == ["-", "good.npy", "bad.npy"]
    assert app.metric[0].value == "1.0000"
    assert app.code[0].value == "python -m recall_core evaluate mine/shop --embeddings good.npy"
    for page in ("failures", "query"):
        assert not run(page, data="shop", embeddings="bad.npy").error


def test_given_vectors_are_compared(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(shop))
    monkeypatch.setenv("RECALL_EMBEDDINGS", os.pathsep.join(map(str, vectors(tmp_path))))
    app = run("compare", data="shop", runs="vectors:good.npy,vectors:bad.npy")
    assert not app.error
    assert "From vectors:good.npy to vectors:bad.npy" in said(app).replace("\\", "")


def test_a_table_alone_takes_its_vectors_from_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "list.csv").write_text(
        "id,label\n" + "".join(f"{i},{i // 2}\n" for i in range(N_ITEM)), encoding="utf-8"
    )
    monkeypatch.setenv("RECALL_DATA_ROOT", str(tmp_path / "list.csv"))
    monkeypatch.setenv("RECALL_EMBEDDINGS", os.pathsep.join(map(str, vectors(tmp_path))))
    app = run("overview", data="list")
    assert not app.error
    assert app.metric[0].value == "1.0000"


def test_vectors_that_are_written_anew_give_new_numbers(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = vectors(tmp_path)
    monkeypatch.setenv("RECALL_DATA_ROOT", str(shop))
    monkeypatch.setenv("RECALL_EMBEDDINGS", str(good))
    assert run("overview", data="shop", embeddings="good.npy").metric[0].value == "1.0000"
    np.save(good, np.load(bad).astype(np.float32))
    assert run("overview", data="shop", embeddings="good.npy").metric[0].value == "0.0000"


def test_vectors_that_were_not_given_are_nobodys_choice(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(shop))
    app = run("overview", data="shop", embeddings=str(vectors(tmp_path)[0]))
    assert "embeddings" not in app.session_state, "there is nothing to choose"
    assert "good.npy" not in app.code[0].value


@pytest.mark.usefixtures("at_this_machine")
def test_a_typed_folder_is_this_visitors_data_set(shop: Path) -> None:
    app, other = run("start"), run("start")
    open_folder(app, shop)
    assert not app.error
    assert app.selectbox(key="data").value == "shop"
    assert str(shop) in said(app)
    app.switch_page("pages/overview/overview.py").run()
    assert "8 queries" in said(app)
    other.run()
    assert "shop" not in other.selectbox(key="data").options
    stranger = run("overview", data="shop")
    assert stranger.error
    assert "8 queries" not in said(stranger), "a link opens nothing"


@pytest.mark.usefixtures("at_this_machine")
def test_a_typed_folder_of_data_sets_brings_all_of_them(shop: Path) -> None:
    shop.rename(shop.parent / "digits")
    (shop.parent / "zoo").mkdir()
    app = run("start")
    open_folder(app, shop.parent)
    assert app.selectbox(key="data").value == "digits (2)", "the built-in set keeps its name"
    assert {"digits", "digits (2)", "zoo"} <= set(app.selectbox(key="data").options)


@pytest.mark.usefixtures("at_this_machine")
def test_a_typed_run_is_shown_on_compare(tmp_path: Path) -> None:
    evaluate(load(DATA / "glyphlab"), ks=(1,)).save(tmp_path / "kept" / "mine")
    app = run("start")
    open_folder(app, tmp_path / "kept" / "mine")
    assert not app.error
    assert app.title[0].value == "Compare"
    assert app.session_state["runs_shown"] == ["saved:mine"]
    assert "glyphlab · " in said(app), "the run's data, not what stands at the left"
    assert "Choose at least two" in app.info[0].value


@pytest.mark.usefixtures("at_this_machine")
def test_a_path_that_leads_nowhere_is_said_in_place(tmp_path: Path) -> None:
    app = run("start")
    open_folder(app, tmp_path / "gone")
    assert "nothing of this name on this machine" in app.error[0].value
    assert "opened" not in app.session_state


def test_a_visitor_from_elsewhere_is_not_asked_for_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    app = run("start")
    assert not [box for box in app.text_input if box.key == "folder_path"]


@pytest.mark.parametrize("named", ["/etc", "../shop", "file:///etc"])
def test_no_address_opens_a_path(shop: Path, named: str) -> None:
    app = run("overview", data=named, folder_path=str(shop), opened=str(shop))
    assert app.error
    assert not app.metric


def test_without_own_data_the_door_names_the_command() -> None:
    assert "`python -m recall_core app FOLDER`" in said(run("start"))
