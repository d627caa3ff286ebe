"""Start without a browser: one visitor's uploads, columns and encodings corrected in place, findings."""

import io
import json
import os
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import cached
from pages.shared.frame import own_data
from pages.start import data_findings
from recall_core import cli
from recall_core.datasets.dataset import load
from recall_core.datasets.own_form import export_zip
from recall_core.diagnosis.audit import inspect
from recall_core.errors import DataError
from recall_core.protocol.spec import Spec
from tests.conftest import DATA, ROOT
from tests.datasets.test_readers import pictures, png
from tests.pages.test_app import cards, run, said, write_set

pytestmark = pytest.mark.filterwarnings("ignore:.*ScriptRunContext")

NOT_UTF8 = "path;fajta\na.png;Erdő\nb.png;Erdő\n".encode("cp1250")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the app writes goes into a folder of this test's alone."""
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state" / "uploads"


def shop(*classes: str) -> bytes:
    """A zip of classes, each with two pictures."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for i, name in enumerate(classes or ("cat", "dog")):
            for side in range(2):
                entry = zipfile.ZipInfo(f"{name}/{side}.png")  # of a fixed date, so that equal content is equal
                archive.writestr(entry, png(2 * i + side))
    return stream.getvalue()


def vectors(rows: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(rows, dtype=np.float32))
    return stream.getvalue()


def upload(app: AppTest, *files: tuple[str, bytes]) -> None:
    app.file_uploader(key="files").set_value([(name, content, "") for name, content in files])
    next(button for button in app.button if button.label == "Read these files").click()
    app.run()
    assert not app.exception


def uploaded(app: AppTest) -> list[str]:
    return [name for name in app.selectbox(key="data").options if name not in cached.data_sets()]


def visit(app: AppTest, page: str) -> None:
    app.switch_page(f"pages/{page}/{page}.py")
    app.run()
    assert not app.exception


def role(app: AppTest, name: str) -> str:
    """The key of the widget that asks for a role's column."""
    return next(str(box.key) for box in app.selectbox if f"_{name}_" in str(box.key))


def test_a_zip_becomes_the_chosen_data_set_on_every_page() -> None:
    app = run("start")
    upload(app, ("My shop.zip", shop()))
    assert not app.error
    (name,) = uploaded(app)
    assert name.startswith("My shop-")
    for page in ("start", "overview", "failures", "query"):
        visit(app, page)
        assert not app.error
        assert app.selectbox(key="data").value == name


def test_a_table_with_its_vectors_is_uploaded_together() -> None:
    app = run("start")
    upload(app, ("list.csv", b"id,label\na,x\nb,x\nc,y\nd,y\n"), ("clip.npy", vectors(np.eye(4))))
    assert not app.error
    assert app.selectbox(key="data").value.startswith("list-")
    visit(app, "overview")
    assert app.session_state["embeddings"] == "embeddings_clip"
    assert "4 queries" in said(app)


def test_a_table_with_its_pictures_is_uploaded_together() -> None:
    app = run("start")
    upload(app, ("a.png", png(0)), ("b.png", png(1)), ("list.csv", b"path,group\na.png,1\nb.png,1\n"))
    assert not app.error
    assert app.selectbox(key="data").value.startswith("list-")


def test_an_upload_is_not_visible_to_another_visitor() -> None:
    mine, other = run("start"), run("start")
    upload(mine, ("shop.zip", shop()))
    (name,) = uploaded(mine)
    other.run()
    assert uploaded(other) == []
    stranger = run("overview", data=name)
    assert f"{name} is not here" in stranger.error[0].value.replace("\\", "")
    assert not stranger.metric


def test_the_link_to_an_upload_says_what_it_needs_and_works_for_who_uploads_the_same() -> None:
    mine, content = run("start"), shop()
    upload(mine, ("shop.zip", content))
    (name,) = uploaded(mine)
    visit(mine, "overview")
    assert "The link needs this upload" in said(mine)
    assert "The link needs this upload" not in said(run("overview", data="glyphlab"))
    other = run("overview", data=name)
    other.button(key="to_upload").click().run()
    upload(other, ("shop.zip", content))
    assert other.selectbox(key="data").value == name
    visit(other, "overview")
    assert cards(other) == cards(mine)


def test_equal_content_has_the_same_name_and_other_content_another() -> None:
    first, second, third = run("start"), run("start"), run("start")
    upload(first, ("shop.zip", shop()))
    upload(second, ("shop.zip", shop()))
    upload(third, ("shop.zip", shop("cat", "cow")))
    assert uploaded(first) == uploaded(second) != uploaded(third)


def test_who_has_gone_takes_nobody_elses_equal_pictures_along(state: Path) -> None:
    first, second = run("start"), run("start")
    upload(first, ("shop.zip", shop()))
    upload(second, ("shop.zip", shop()))
    shelf = first.session_state["uploads"]
    own_data._left(shelf)
    shelf.clear_unless_back()
    assert len(list(state.iterdir())) == 1
    visit(second, "query")
    assert not second.error


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.zip", b"not a zip", "cannot be unpacked"),
        ("x.csv", b"", "x.csv is empty"),
        ("empty.zip", b"PK\x05\x06" + bytes(18), "no data set found here"),
    ],
)
def test_a_refused_upload_is_explained_in_place_and_leaves_nothing(
    state: Path, name: str, content: bytes, message: str
) -> None:
    app = run("start")
    upload(app, (name, content))
    assert message in app.error[0].value.replace("\\", "")
    assert app.title[0].value == "Recall Explorer"
    assert uploaded(app) == []
    assert not [file for file in state.rglob("*") if file.is_file()]
    app.run()
    assert not app.error


def test_without_files_the_button_says_what_is_missing() -> None:
    app = run("start")
    upload(app)
    assert app.error[0].value == "Choose files first."


def test_the_encoding_is_offered_where_the_message_names_it() -> None:
    app = run("start")
    upload(app, ("a.png", png(0)), ("b.png", png(1)), ("trees.csv", NOT_UTF8))
    assert app.error[0].value.replace("\\", "").endswith("for example “Encoding of the table”: cp1250")
    app.selectbox(key="corrected_encoding").set_value("cp1250").run()
    assert app.selectbox(key="encoding").value == "cp1250"
    (box,) = [box for box in app.selectbox if "_group_" in str(box.key)]
    box.set_value("fajta").run()
    assert not app.error
    assert app.text_input(key="columns").value == "group=fajta"
    visit(app, "overview")
    assert app.code[0].value == "python -m recall_core evaluate trees --column group=fajta --encoding cp1250"


def test_the_columns_are_offered_where_nothing_says_what_is_right() -> None:
    app = run("start")
    upload(app, ("a.png", png(0)), ("b.png", png(1)), ("list.csv", b"path,colour\na.png,x\nb.png,x\n"))
    assert "what makes an item relevant" in app.error[0].value
    app.selectbox(key=role(app, "label")).set_value("colour").run()
    assert not app.error
    assert app.selectbox(key="relevant").value == "colour"


def test_a_column_named_on_the_start_page_reaches_sidebar_link_and_command() -> None:
    app = run("start", data="glyphlab")
    app.selectbox(key=role(app, "group")).set_value("orientation").run()
    assert app.text_input(key="columns").value == "group=orientation"
    assert app.selectbox(key="relevant").value == "orientation"
    visit(app, "overview")
    assert app.code[0].value == "python -m recall_core evaluate data/glyphlab --column group=orientation"
    app.selectbox(key="data").set_value("digits").run()
    assert app.text_input(key="columns").value == ""


def test_columns_come_from_the_address_and_what_is_malformed_is_said() -> None:
    app = run("overview", data="glyphlab", columns="group=orientation")
    assert app.selectbox(key="relevant").value == "orientation"
    for malformed in ("nonsense", "colour=x"):
        app = run("overview", data="glyphlab", columns=malformed, encoding="no-such")
        assert not app.error
        assert "⚠️" in said(app)
    assert "there is no such column" in run("overview", data="glyphlab", columns="group=gone").error[0].value


def test_a_further_upload_takes_the_place_of_the_oldest(state: Path) -> None:
    app = run("start")
    for i in range(own_data.MAX_SETS + 1):
        upload(app, (f"s{i}.zip", shop()))
    assert [name[:2] for name in uploaded(app)] == [f"s{i}" for i in range(1, own_data.MAX_SETS + 1)]
    assert len([folder for visitor in state.iterdir() for folder in visitor.iterdir()]) == own_data.MAX_SETS


@pytest.mark.parametrize(("limit", "kind"), [("MAX_VISITOR_BYTES", "disk"), ("MAX_VISITOR_HELD", "memory")])
def test_where_a_visitors_uploads_are_too_much_together_the_oldest_go(
    state: Path, monkeypatch: pytest.MonkeyPatch, limit: str, kind: str
) -> None:
    app = run("start")
    upload(app, ("s0.zip", shop()))
    (name,) = uploaded(app)
    first = app.session_state["uploads"].uploads[name]
    monkeypatch.setattr(own_data, limit, 2 * (first.n_bytes if kind == "disk" else first.held))
    upload(app, ("s1.zip", shop()))
    assert [name[:2] for name in uploaded(app)] == ["s0", "s1"]
    upload(app, ("s2.zip", shop()))
    assert [name[:2] for name in uploaded(app)] == ["s1", "s2"]
    assert len([folder for visitor in state.iterdir() for folder in visitor.iterdir()]) == 2


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("MAX_VISITOR_BYTES", "big.zip unpacks to too much"),
        ("MAX_VISITOR_HELD", "big takes 0.0 GiB of memory once it is read, a visitor may have"),
        ("MAX_BYTES", "big.zip unpacks to too much"),
    ],
)
def test_an_upload_that_is_too_much_by_itself_is_refused_and_the_others_stay(
    state: Path, monkeypatch: pytest.MonkeyPatch, limit: str, message: str
) -> None:
    app = run("start")
    upload(app, ("s.zip", shop()))
    held = app.session_state["uploads"].uploads[uploaded(app)[0]]
    there = {"MAX_VISITOR_HELD": held.held, "MAX_BYTES": own_data._size(state) + held.n_bytes}.get(limit, held.n_bytes)
    monkeypatch.setattr(own_data, limit, there)
    upload(app, ("big.zip", shop("cat", "dog", "cow", "hen")))
    assert message in app.error[0].value.replace("\\", "")
    assert [name[:2] for name in uploaded(app)] == ["s-"]
    assert len([folder for visitor in state.iterdir() for folder in visitor.iterdir()]) == 1


def test_a_full_server_takes_no_further_upload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_data, "MAX_BYTES", -1)
    app = run("start")
    upload(app, ("shop.zip", shop()))
    assert "try again later" in app.error[0].value


def test_the_files_go_when_the_visitor_has_left_unless_they_come_back(state: Path) -> None:
    app = run("start")
    upload(app, ("shop.zip", shop()))
    shelf = app.session_state["uploads"]
    own_data._left(shelf)
    app.run()
    shelf.clear_unless_back()
    assert shelf.folder.is_dir()
    own_data._left(shelf)
    shelf.clear_unless_back()
    assert not shelf.folder.exists()
    name = app.selectbox(key="data").value
    app.run()
    assert any(name in error.value and "not here" in error.value for error in [*app.error, *app.warning])


def test_what_a_killed_server_left_behind_goes_with_the_next_upload(state: Path) -> None:
    (state / "old").mkdir(parents=True)
    (state / "young").mkdir()
    os.utime(state / "old", (0, 0))
    upload(run("start"), ("shop.zip", shop()))
    assert not (state / "old").exists()
    assert (state / "young").exists()


def test_nobody_else_may_look_into_the_folder_of_uploads(state: Path) -> None:
    app = run("start")
    upload(app, ("shop.zip", shop()))
    assert app.session_state["uploads"].folder.stat().st_mode & 0o077 == 0


def test_an_exported_set_is_the_same_after_its_upload(tmp_path: Path) -> None:
    content = export_zip(load(DATA / "glyphlab"))
    app = run("start")
    upload(app, ("glyphlab-0123ab.zip", content))
    (name,) = uploaded(app)
    assert name.startswith("glyphlab-")
    assert not name.startswith("glyphlab-0123ab")
    folder = app.session_state["uploads"].uploads[name].folder
    assert load(folder).fingerprint == load(DATA / "glyphlab").fingerprint


def test_the_findings_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.query_params["data"] = "glyphlab"
    app.session_state["parts"] = "Findings"
    app.run()
    assert not app.exception
    assert cli.main(["audit", str(DATA / "glyphlab"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    shown = said(app).replace("\\", "")
    for finding in found["findings"]:
        assert finding["message"] in shown
    n = {level: sum(one["severity"] == level for one in found["findings"]) for level in ("error", "warning", "note")}
    assert f"{n['error']} errors · {n['warning']} warning" in shown
    assert app.code[-1].value == "python -m recall_core audit data/glyphlab"


def test_a_large_set_is_looked_through_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_findings, "N_AT_ONCE", 10)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.query_params["data"] = "glyphlab"
    app.session_state["parts"] = "Findings"
    app.run()
    assert "180 values" not in said(app)
    next(button for button in app.button if button.label == "Look for what is suspicious").click()
    app.run()
    assert "180 values of scene" in said(app)


def test_findings_are_counted_by_severity(tmp_path: Path) -> None:
    pictures(tmp_path, "a.png", "b.png")
    (tmp_path / "c.png").write_bytes(b"broken")
    (tmp_path / "metadata.csv").write_text("path,group\na.png,1\nb.png,1\nc.png,1\n", encoding="utf-8")
    found = inspect(load(tmp_path), Spec(str(tmp_path)))
    grave = sum(one.severity == "warning" for one in found.findings)
    assert f"{grave} warning" in data_findings.counts(found)
    assert list(found.unreadable["id"]) == ["c.png"]


def test_a_look_that_fails_is_told_to_all_who_ask_for_it() -> None:
    data = load(DATA / "glyphlab")
    bad = Spec("x", relevant="no such column")
    assert cached.inspecting(data, bad) is cached.inspecting(data, bad)
    for _visitor in range(2):
        with pytest.raises(DataError, match="no such column"):
            data_findings._finished(data, bad)


def test_names_from_the_data_are_no_markdown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    write_set(tmp_path / "data", "**bold** $x$ :red[x]", "path,group\na.png,1\nb.png,1\n")
    app = run("start", data="**bold** $x$ :red[x]")
    for element in (*app.subheader, *app.metric):
        assert "**bold**" not in str(element.value)
    assert not [metric.label for metric in app.metric if "**bold**" in metric.label]


def test_the_server_listens_on_this_machine_only_and_keeps_its_protections() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["server"]["address"] == "localhost"
    assert config["server"]["maxUploadSize"] <= 50
    assert config["server"].get("enableXsrfProtection", True)
    assert config["server"].get("enableCORS", True)


def test_an_upload_that_cannot_be_stored_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(own_data.tempfile, "mkdtemp", refuse)
    with pytest.raises(DataError, match=r"cannot be written \(Permission denied\); set RECALL_STATE_DIR"):
        own_data.add([("t.csv", io.BytesIO(b"id,label\na,x\n"))])
