"""What a visitor uploads is unpacked with care; what is exported reads back the same."""

import io
import stat
import unicodedata
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recall_core import budget, from_arrays
from recall_core.datasets import uploads
from recall_core.datasets.dataset import Dataset, load
from recall_core.datasets.own_form import export, export_zip
from recall_core.datasets.readers import header
from recall_core.datasets.uploads import load_upload, receive, unpack
from recall_core.errors import DataError
from recall_core.evaluation.wiring import evaluate
from tests.conftest import DATA, SHARED, needs_shared
from tests.datasets.test_readers import first, market, pictures, png


def zipped(*entries: tuple[str | zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return stream.getvalue()


def link(name: str, target: str) -> tuple[zipfile.ZipInfo, bytes]:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry, target.encode()


def test_a_zip_of_folders_is_a_data_set_named_after_it(tmp_path: Path) -> None:
    content = zipped(("shop/cat/1.png", png(0)), ("shop/dog/2.png", png(1)), ("__MACOSX/shop/._1.png", b"x"))
    data = load_upload([("My shop.zip", content)], tmp_path / "mine")
    assert (data.name, data.role("label").tolist()) == ("My shop", ["cat", "dog"])
    bare = io.BytesIO(zipped(("cat/1.png", png(0)), ("dog/2.png", png(1))))
    assert load_upload([("x.zip", bare)], tmp_path / "x").fingerprint == data.fingerprint


def test_a_table_with_its_vectors_and_their_ids(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([[0.0, 1], [1, 0]]))
    files = [("list.csv", b"id,label\na,x\nb,x\n"), ("clip.npy", stream.getvalue())]
    data = load_upload(files, tmp_path / "one")
    assert (data.name, list(data.embeddings)) == ("list", ["embeddings_clip"])
    data = load_upload([*files, ("clip_ids.txt", b"b\na\n")], tmp_path / "two")
    assert data.embeddings["embeddings_clip"].tolist() == [[1, 0], [0, 1]]


def test_a_table_with_an_array_of_pictures(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.zeros((2, 4, 4), np.uint8))
    data = load_upload([("pixels.npy", stream.getvalue()), ("t.csv", b"index,label\n1,x\n0,x\n")], tmp_path / "up")
    assert data.pictures is not None
    assert len(data.pictures) == 2


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (("/etc/x.png", b""), "'/etc/x.png' has an absolute path"),
        (("C:\\x.png", b""), "'C:/x.png' has an absolute path"),
        (("\\\\host\\x.png", b""), "'//host/x.png' has an absolute path"),
        (("../x.png", b""), "'../x.png' climbs out of the archive"),
        (("a/..\\..\\x.png", b""), "climbs out of the archive"),
        (link("x.png", "/etc/passwd"), "'x.png' is a link"),
        (("a\nb.png", b""), "has no usable name"),
    ],
)
def test_an_entry_that_leads_elsewhere_refuses_the_archive_and_leaves_nothing(
    tmp_path: Path, entry: tuple, message: str
) -> None:
    with pytest.raises(DataError, match=message.replace("\\", "\\\\")):
        load_upload([("evil.zip", zipped(("ok/1.png", png(0)), entry))], tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["mine"]


def test_a_bomb_is_stopped_while_it_unpacks_whatever_its_list_claims(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(budget, "COUNTS_FROM", 2**16)
    with pytest.raises(DataError, match=r"bomb.zip unpacks to too much"):
        unpack(io.BytesIO(zipped(("zeros.bmp", bytes(2**22)))), tmp_path, name="bomb.zip")
    assert sum(path.stat().st_size for path in tmp_path.rglob("*")) <= 2**20
    monkeypatch.setattr(uploads, "MAX_BYTES", 1000)
    with pytest.raises(DataError, match="unpacks to too much"):
        unpack(io.BytesIO(zipped(*((f"{i}.png", png(i)) for i in range(50)))), tmp_path / "b", name="b.zip")


def test_too_many_entries_the_same_entry_twice_and_a_password_are_refused(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = zipped(("a.png", png(0)), ("a.png", png(1)))
    with pytest.raises(DataError, match=r"'a.png' stands in it twice"):
        unpack(io.BytesIO(twice), tmp_path / "twice")
    locked = bytearray(zipped(("a.png", png(0))))
    locked[6] |= 1
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(DataError, match="is encrypted"):
        unpack(io.BytesIO(bytes(locked)), tmp_path / "locked")
    monkeypatch.setattr(uploads, "MAX_ENTRIES", 3)
    with pytest.raises(DataError, match="holds 4 files, more than 3"):
        unpack(io.BytesIO(zipped(*((f"{i}.png", b"") for i in range(4)))), tmp_path / "many")


def test_archives_inside_an_archive_are_not_opened_and_it_is_said(tmp_path: Path) -> None:
    content = zipped(("c/a.png", png(0)), ("d/b.png", png(1)), ("inner.zip", zipped(("e/x.png", png(2)))))
    data = load_upload([("outer.zip", content)], tmp_path / "up")
    assert len(data) == 2
    assert data.notes[0] == "1 archives inside outer.zip were not opened, among them inner.zip"


def test_names_from_windows_and_old_tools_are_understood(tmp_path: Path) -> None:
    content = zipped(("katze\\1.png", png(0)), ("k\\ő.png", png(1)))
    assert load_upload([("w.zip", content)], tmp_path / "w").ids.tolist() == ["k/ő.png", "katze/1.png"]
    name = unicodedata.normalize("NFC", "ő")
    old = bytearray(zipped((f"k/{name}.png", png(0)), ("l/b.png", png(1))))
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):
        old[old.index(mark) + (7 if mark[2] == 3 else 9)] &= 0xF7
    assert load_upload([("o.zip", bytes(old))], tmp_path / "o").ids.tolist() == ["k/ő.png", "l/b.png"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([("x.exe", b"")], r"x.exe: this kind of file cannot be uploaded; choose one of .zip, .csv"),
        ([("x.zip", b"not a zip")], "x.zip cannot be unpacked"),
        ([("x.zip", zipped(("readme.md", b"x")))], "no data set found here"),
        ([("t.csv", b"id\na\n"), ("t.csv", b"id\na\n")], "t.csv was uploaded twice"),
        ([(".hidden.csv", b"")], "is not a usable file name"),
        ([("t.csv", b"")], r"t.csv is empty"),
    ],
)
def test_uploads_that_cannot_be_right_are_refused_and_leave_nothing(tmp_path: Path, files: list, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_upload(files, tmp_path / "mine")
    assert not list((tmp_path / "mine").iterdir())


def test_an_upload_needs_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(ValueError, match="needs a folder of its own"):
        load_upload([("t.csv", b"id\na\n")], tmp_path)


def awkward(tmp_path: Path) -> Dataset:
    table = pd.DataFrame(
        {" a b": ["", " x", "1,5"], "label": ['"', "two\nlines", ""], "é": ["0001", "NA", "1e5"]}, dtype="str"
    )
    vectors = {"a/b": np.eye(3, dtype=">f4"), "é": np.arange(6, dtype=np.int16).reshape(3, 2)}
    return Dataset("Näme", table, {"label": "é"}, None, vectors, ("a note",), {"junk_same": "label"})


def one_column(tmp_path: Path) -> Dataset:
    return from_arrays(np.eye(3), ["", "a", None])


def files(tmp_path: Path) -> Dataset:
    folder = pictures(tmp_path / "files", "q/a.png", "q/b.jpg")
    (folder / "metadata.csv").write_text("path;wer\nq/a.png;x\ngone.png;y\nq/b.jpg;z\n", encoding="utf-8")
    return load(folder, columns={"label": "wer"})


def parquet(tmp_path: Path) -> Dataset:
    frame = pd.DataFrame({"image": [{"bytes": png(0), "path": "x"}, {"bytes": png(1), "path": "x"}], "label": [0, 1]})
    frame.to_parquet(tmp_path / "t.parquet")
    return load(tmp_path / "t.parquet")


def runs(tmp_path: Path) -> Dataset:
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nr 0 b 1\n", encoding="utf-8")
    (tmp_path / "run.txt").write_text("q Q0 b 1 2 t\nq Q0 a 2 1 t\n", encoding="utf-8")
    return load(tmp_path)


SETS = {
    "the lab": lambda tmp_path: load(DATA / "glyphlab"),
    "digits": lambda tmp_path: load("digits"),
    "awkward cells": awkward,
    "one column with missing cells": one_column,
    "picture files, one of them missing": files,
    "pictures in a parquet file": parquet,
    "re-identification": lambda tmp_path: load(market(tmp_path / "market")),
    "qrels and run": runs,
}


@pytest.mark.parametrize("name", SETS)
def test_what_is_exported_reads_back_identically_from_folder_and_archive(tmp_path: Path, name: str) -> None:
    (tmp_path / "source").mkdir()
    data = SETS[name](tmp_path / "source")
    export(data, tmp_path / "out")
    for again in (load(tmp_path / "out"), load_upload([("out.zip", export_zip(data))], tmp_path / "up")):
        assert (again.name, again.fingerprint) == (data.name, data.fingerprint)
        pd.testing.assert_frame_equal(again.table, data.table)
        assert (again.columns, again.notes) == (data.columns, data.notes)
        assert set(again.defaults) == set(data.defaults)
        assert [*again.embeddings] == [*data.embeddings]
        for key, vectors in data.embeddings.items():
            assert again.embeddings[key].tolist() == np.asarray(vectors).tolist()
        assert (again.pictures is None) == (data.pictures is None)


def test_an_exported_set_gives_the_same_numbers(tmp_path: Path) -> None:
    data = runs(tmp_path)
    export(data, tmp_path / "out")
    assert evaluate(load(tmp_path / "out")).table.equals(evaluate(data).table)


def test_export_writes_into_an_empty_folder_only(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")
    with pytest.raises(DataError, match="is not empty; export into a new folder"):
        export(one_column(tmp_path), tmp_path)
    with pytest.raises(DataError, match="cannot be written"):
        export(one_column(tmp_path), tmp_path / "x" / "y")


@needs_shared
@pytest.mark.parametrize("name", ["images_background_small1", "one_shot_runs"])
def test_omniglots_archives_load_as_they_are(tmp_path: Path, name: str) -> None:
    with (SHARED / "data/omniglot" / f"{name}.zip").open("rb") as stream:
        data = load_upload([(f"{name}.zip", stream)], tmp_path / "up")
    assert len(data) == {"images_background_small1": 2720, "one_shot_runs": 800}[name]


@needs_shared
def test_the_grocery_set_loads_as_an_upload(tmp_path: Path) -> None:
    stream = io.BytesIO()
    folder = SHARED / "data/grocery"
    with zipfile.ZipFile(stream, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, Path("grocery") / path.relative_to(folder))
    data = load_upload([("grocery.zip", stream)], tmp_path / "up")
    assert data.fingerprint == load(folder).fingerprint


@needs_shared
def test_every_odd_picture_loads_or_is_reported(tmp_path: Path) -> None:
    with (SHARED / "cases/odd_images.zip").open("rb") as stream:
        table = (SHARED / "cases/odd_images.csv").read_bytes()
        data = load_upload([("odd_images.csv", table), ("odd_images.zip", stream)], tmp_path / "up")
    assert data.pictures is not None
    problems = data.pictures.problems()
    loads = data.values("pillow_13_load")
    assert len(data) == 54
    for row, name in enumerate(data.ids):
        if loads[row] == "ok" or loads[row].startswith("UserWarning"):
            assert row not in problems, name
        else:
            assert name in problems[row]


def test_what_was_received_can_be_read_again_another_way(tmp_path: Path) -> None:
    table = "kep;fajta\na.png;Erdő\nb.png;Erdő\n".encode("cp1250")
    folder, notes = receive([("a.png", png(0)), ("b.png", png(1)), ("képek.csv", table)], tmp_path / "up")
    assert (folder.name, notes) == ("képek", ())
    with pytest.raises(DataError, match="encoding='cp1250'"):
        load(folder)
    assert header(folder) == []
    assert header(folder, encoding="cp1250") == ["kep", "fajta"]
    assert "names none of the 2 pictures" in load(folder, encoding="cp1250").notes[0]
    data = load(folder, encoding="cp1250", columns={"path": "kep", "label": "fajta"})
    assert data.role("label").tolist() == ["Erdő", "Erdő"]  # type: ignore[union-attr]
    assert data.image(1)[0, 1] == first(2)
