"""Which data sets and runs lie at a place, and who may open a path by typing it."""

import os
from pathlib import Path

import pytest

from recall_core import rights
from recall_core.datasets import roots
from recall_core.datasets.dataset import load
from recall_core.errors import DataError
from recall_core.evaluation.wiring import evaluate
from tests.conftest import DATA
from tests.datasets.test_readers import png
from tests.pages.test_app import write_set

LAB = DATA / "glyphlab"
HERE = {"Origin": "http://localhost:8501", "Host": "localhost:8501"}


def put(folder: Path, *names: str) -> None:
    for i, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(png(i))


@pytest.fixture(scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved run, with another beside it."""
    folder = tmp_path_factory.mktemp("kept") / "raw"
    found = evaluate(load(LAB), ks=(1,))
    found.save(folder)
    found.save(folder.parent / "other")
    return folder


def test_folders_of_a_folder_are_its_data_sets(tmp_path: Path) -> None:
    write_set(tmp_path, "b", "path,group\n")
    write_set(tmp_path, "a", "path,group\n")
    write_set(tmp_path, ".hidden", "path,group\n")
    assert roots.data_sets(tmp_path) == {"a": tmp_path / "a", "b": tmp_path / "b"}


def test_links_that_lead_out_of_the_folder_are_passed_over(tmp_path: Path) -> None:
    write_set(tmp_path, "elsewhere", "path,group\n")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path / "elsewhere")
    assert roots.data_sets(tmp_path / "root") == {}


def test_a_folder_with_a_table_is_one_data_set(tmp_path: Path) -> None:
    write_set(tmp_path, "shop", "path,group\na.png,1\n")
    put(tmp_path / "shop", "images/a.png", "images/b.png")
    assert roots.data_sets(tmp_path / "shop") == {"shop": tmp_path / "shop"}
    assert roots.data_sets(LAB) == {"glyphlab": LAB}


def test_a_table_is_one_data_set(tmp_path: Path) -> None:
    (tmp_path / "cups.csv").write_text("path,group\n", encoding="utf-8")
    assert roots.data_sets(tmp_path / "cups.csv") == {"cups": tmp_path / "cups.csv"}


@pytest.mark.parametrize(
    "files",
    [
        ("cat/1.png", "dog/1.png"),
        ("query/1.png", "gallery/1.png"),
        ("train/cat/1.png", "test/cat/1.png"),
        ("1.png", "2.png"),
    ],
)
def test_images_in_folders_are_one_data_set(tmp_path: Path, files: tuple[str, ...]) -> None:
    put(tmp_path / "zoo", *files)
    assert list(roots.data_sets(tmp_path / "zoo")) == ["zoo"]


def test_parquet_in_a_folder_below_is_one_data_set(tmp_path: Path) -> None:
    (tmp_path / "hub" / "data").mkdir(parents=True)
    (tmp_path / "hub" / "data" / "train-0.parquet").write_bytes(b"")
    assert list(roots.data_sets(tmp_path / "hub")) == ["hub"]


def test_folders_of_images_with_tables_of_their_own_are_data_sets(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_set(tmp_path, name, "path,group\n1.png,1\n")
        put(tmp_path / name, "1.png")
    assert list(roots.data_sets(tmp_path)) == ["a", "b"]


def test_an_image_somewhere_does_not_make_a_home_folder_a_data_set(tmp_path: Path) -> None:
    put(tmp_path, "Pictures/me.png", "me.png")
    (tmp_path / "Documents").mkdir()
    assert list(roots.data_sets(tmp_path)) == ["Documents", "Pictures"]


def test_a_run_is_no_data_set_and_its_neighbours_are_found_with_it(a_run: Path, tmp_path: Path) -> None:
    assert roots.data_sets(a_run) == roots.data_sets(a_run.parent) == {}
    assert roots.runs(a_run) == roots.runs(a_run.parent) == [a_run.parent / "other", a_run]
    (tmp_path / "runs").symlink_to(a_run.parent)
    assert roots.runs(tmp_path) == [], "a link that leads out of the data"


@pytest.mark.parametrize("typed", ["", "  ", '""', "a\0b"])
def test_no_path_is_said(typed: str) -> None:
    with pytest.raises(DataError, match="no path"):
        roots.find(typed)


def test_a_typed_path_that_leads_nowhere_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing of this name"):
        roots.find(str(tmp_path / "gone"))
    with pytest.raises(DataError, match="no data set found"):
        roots.find(str(tmp_path))
    (tmp_path / "cat.jpg").write_bytes(png(0))
    with pytest.raises(DataError, match=r"cat\.jpg: a data set is read from"):
        roots.find(str(tmp_path / "cat.jpg"))


def test_a_typed_path_may_be_quoted_as_it_is_copied(tmp_path: Path) -> None:
    write_set(tmp_path, "my shop", "path,group\n")
    assert roots.find(f' "{tmp_path / "my shop"}" ') == tmp_path / "my shop"


def test_only_the_person_at_this_machine_types_paths() -> None:
    assert rights.may_type_paths("localhost", HERE)
    assert rights.may_type_paths("127.0.0.1", {"Origin": "http://127.0.0.1:8501"})
    assert rights.may_type_paths("localhost", {"Origin": "http://[::1]:8501"})


@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("0.0.0.0", HERE),
        ("", HERE),
        ("192.168.1.5", HERE),
        ("localhost", {}),
        ("localhost", {"Origin": "https://recall.example.org", "Host": "localhost:8501"}),
        ("localhost", {"Origin": "http://localhost.example.org"}),
        ("localhost", {"Origin": "http://[::1"}),
        ("localhost", {**HERE, "X-Forwarded-For": "192.168.1.7"}),
        ("localhost", {**HERE, "forwarded": "for=192.168.1.7"}),
    ],
)
def test_visitors_from_elsewhere_type_no_paths(address: str, headers: dict[str, str]) -> None:
    assert not rights.may_type_paths(address, headers)


def test_the_starter_can_forbid_typed_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_TYPED_PATHS", "0")
    assert not rights.may_type_paths("localhost", HERE)


def test_given_vectors_belong_to_the_data_set_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(LAB))
    files = [f"{tmp_path}/{name}" for name in ("a.npy", "x/b.npy", "y/b.npy")]
    monkeypatch.setenv("RECALL_EMBEDDINGS", os.pathsep.join(files))
    named = rights.given_vectors(LAB)
    assert list(named) == ["a.npy", *files[1:]]
    assert named["a.npy"] == tmp_path / "a.npy"
    assert rights.given_vectors(DATA / "glyphlab_textured") == rights.given_vectors("photo_patches") == {}
