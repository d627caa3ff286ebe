"""Every form of data, in its natural shape."""

import io
import json
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from recall_core.datasets.dataset import load
from recall_core.datasets.readers import READERS
from recall_core.diagnosis.audit import inspect
from recall_core.errors import DataError
from recall_core.evaluation.wiring import evaluate
from tests.conftest import ROOT, SHARED, needs_shared


def png(shade: int) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8) + np.uint8(shade)).save(stream, "PNG")
    return stream.getvalue()


def pictures(folder: Path, *names: str) -> Path:
    for i, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(png(i))
    return folder


def first(row: int) -> float:
    return float(np.float32(row) / np.float32(255))


def text(folder: Path, name: str, content: str) -> None:
    (folder / name).write_text(content, encoding="utf-8")


def test_a_table_of_any_name_with_a_column_of_pictures(tmp_path: Path) -> None:
    pictures(tmp_path, "img/0001.png", "img/04.png")
    text(tmp_path, "my list.csv", "image_id; file ;group\r\n0001; img\\0001.png;NA\r\n4;img/04.png;1e5\r\n")
    data = load(tmp_path)
    assert (data.ids.tolist(), data.role("group").tolist()) == (["0001", "4"], ["NA", "1e5"])
    assert [data.image(row)[0, 0] for row in (0, 1)] == [first(0), first(1)]
    assert load(tmp_path / "my list.csv").fingerprint == data.fingerprint


def test_of_several_tables_one_must_be_named(tmp_path: Path) -> None:
    pictures(tmp_path, "a.png")
    for name in ("x.csv", "y.tsv"):
        text(tmp_path, name, "path\na.png\n")
    with pytest.raises(DataError, match=r"holds the tables x.csv, y.tsv; name one of them"):
        load(tmp_path)
    assert len(load(tmp_path / "y.tsv")) == 1
    text(tmp_path, "metadata.csv", "path\na.png\n")
    assert len(load(tmp_path)) == 1


def test_a_file_is_found_in_the_other_unicode_form(tmp_path: Path) -> None:
    pictures(tmp_path, unicodedata.normalize("NFD", "árvíztűrő.png"))
    text(tmp_path, "metadata.csv", "path,label\nárvíztűrő.png,a\n")
    assert load(tmp_path).image(0)[0, 0] == first(0)


@pytest.mark.parametrize("cell", ["../x.png", "/etc/passwd", "a/../../x.png", "link/x.png"])
def test_a_path_that_leads_out_of_the_folder_is_refused(tmp_path: Path, cell: str) -> None:
    folder = tmp_path / "data"
    pictures(tmp_path, "x.png", "data/y.png")
    (folder / "link").symlink_to(tmp_path)
    text(folder, "metadata.csv", f"path,label\ny.png,a\n{cell},b\n")
    with pytest.raises(DataError, match=r"metadata.csv row 2: .* leads out of the data set's folder"):
        load(folder)


def test_an_empty_path_is_an_error_with_its_row_and_a_table_without_paths_lists_their_names(tmp_path: Path) -> None:
    text(tmp_path, "metadata.csv", "path,label\na.png,a\n,b\n")
    with pytest.raises(DataError, match=r"metadata.csv row 2: the path is empty"):
        load(tmp_path)
    text(tmp_path, "metadata.csv", "name,label\na.png,a\n")
    with pytest.raises(DataError, match=r"neither pictures nor vectors; .* picture files: path, filepath"):
        evaluate(load(tmp_path))
    np.save(tmp_path / "v.npy", np.eye(2)[:1])
    assert evaluate(load(tmp_path), embeddings=str(tmp_path / "v.npy")).counts["n_dim"] == 2
    assert load(tmp_path, columns={"path": "name"}).ids.tolist() == ["a.png"]


def test_pictures_that_are_called_as_the_ids_are_found_and_it_is_said(tmp_path: Path) -> None:
    pictures(tmp_path, "images/x/0001.png", "images/4.png")
    text(tmp_path, "train.csv", "image_id,label\n0001,a\n4.png,a\n5,b\n")
    data = load(tmp_path)
    assert data.notes == ("the table has no column path: 2 of 3 pictures were found by their ids",)
    assert data.pictures is not None
    assert list(data.pictures.problems()) == [2]
    pictures(tmp_path, "images/y/0001.png")
    with pytest.raises(DataError, match=r"row 1: id '0001' could be images/x/0001.png and images/y/0001.png"):
        load(tmp_path)
    text(tmp_path, "train.csv", "image_id,label\nq,a\n")
    assert load(tmp_path).pictures is None
    assert "the table names none of the 3 pictures in the folder" in load(tmp_path).notes[0]


def test_a_folder_a_class(tmp_path: Path) -> None:
    pictures(tmp_path, "cat/1.png", "cat/2.jpg", "dog/1.PNG", ".hidden/3.png", "__MACOSX/cat/._1.png")
    data = load(tmp_path)
    assert data.ids.tolist() == ["cat/1.png", "cat/2.jpg", "dog/1.PNG"]
    assert data.role("label").tolist() == ["cat", "cat", "dog"]


def test_nested_classes_keep_their_whole_name_and_their_first_part(tmp_path: Path) -> None:
    data = load(pictures(tmp_path, "top/Latin/c1/1.png", "top/Greek/c1/1.png"))
    assert data.role("label").tolist() == ["Greek/c1", "Latin/c1"]
    assert data.values("folder").tolist() == ["Greek", "Latin"]
    assert "classes are nested" in data.notes[0]


def test_folders_of_query_and_gallery_train_and_test(tmp_path: Path) -> None:
    data = load(pictures(tmp_path, "query/cat/1.png", "gallery/cat/2.png", "gallery/dog/3.png", "train/cat/4.png"))
    assert dict(zip(data.ids, data.role("side"), strict=True)) == {
        "gallery/cat/2.png": "gallery",
        "gallery/dog/3.png": "gallery",
        "query/cat/1.png": "query",
        "train/cat/4.png": "",
    }
    assert data.role("split").tolist() == ["test", "test", "test", "train"]
    assert evaluate(data).counts["n_gallery"] == 2


def test_one_name_in_two_unicode_forms_is_one_item(tmp_path: Path) -> None:
    both = [f"c/{unicodedata.normalize(form, 'ő.png')}" for form in ("NFC", "NFD")]
    data = load(pictures(tmp_path, *both, "c/b.png"))
    assert data.ids.tolist() == ["c/b.png", "c/ő.png"]
    assert "1 files have the name of another one in the other Unicode form" in data.notes[0]


def market(folder: Path) -> Path:
    return pictures(
        folder,
        *("query/0002_c1s1_000451_03.png", "query/0007_c2s1_000001_00.png"),
        *("bounding_box_test/0002_c1s1_000776_01.png", "bounding_box_test/0002_c3s1_000551_01.png"),
        *("bounding_box_test/0007_c3s1_000551_01.png", "bounding_box_test/-1_c1s1_000401_03.png"),
        "bounding_box_train/0009_c1s1_000001_00.png",
    )


def test_reidentification_names_bring_person_camera_junk_and_the_same_camera_rule(tmp_path: Path) -> None:
    data = load(market(tmp_path))
    assert data.defaults == {"junk_same": "camera"}
    result = evaluate(data)
    assert result.spec.junk_same == "camera"
    assert (result.counts["n_query"], result.counts["n_gallery"], result.counts["n_junk"]) == (2, 3, 1)
    assert result.table["n_relevant"].tolist() == [1, 1]
    assert any("1 row is junk, as column junk says" in finding.message for finding in result.findings)
    assert evaluate(data, junk_same="").counts["n_junk"] == 0


def test_a_single_other_name_keeps_names_from_being_read_and_is_said(tmp_path: Path) -> None:
    pictures(market(tmp_path), "query/photo.png")
    data = load(tmp_path)
    assert "camera" not in data.columns
    assert "'query/photo.png' does not" in data.notes[0]


@pytest.mark.parametrize("names", [["b", "a"], ["y.png", "x.png"]])
def test_vectors_beside_a_table_are_joined_by_id_or_path(tmp_path: Path, names: list[str]) -> None:
    pictures(tmp_path, "x.png", "y.png")
    text(tmp_path, "metadata.csv", "id,path,label\na,x.png,1\nb,y.png,1\n")
    np.savez(tmp_path / "embeddings_clip.npz", embeddings=np.array([[0, 1], [1, 0]]), ids=np.array(names))
    data = load(tmp_path)
    assert data.embeddings["embeddings_clip"].tolist() == [[1, 0], [0, 1]]
    assert data.notes == ("embeddings_clip.npz: 2 rows matched by id",)


def test_vectors_without_ids_are_joined_by_a_list_of_ids_or_by_position_and_it_is_said(tmp_path: Path) -> None:
    text(tmp_path, "metadata.csv", "id,label\na,1\nb,1\n")
    np.save(tmp_path / "embeddings.npy", np.array([[0, 1], [1, 0]]))
    data = load(tmp_path)
    assert (data.pictures, data.embeddings["embeddings"].tolist()) == (None, [[0, 1], [1, 0]])
    assert "by position" in data.notes[0]
    text(tmp_path, "ids.txt", "b\na\n")
    assert load(tmp_path).embeddings["embeddings"].tolist() == [[1, 0], [0, 1]]
    text(tmp_path, "ids.txt", "b\n")
    with pytest.raises(DataError, match=r"ids.txt has 1 ids, embeddings.npy 2 rows"):
        load(tmp_path)


def test_hugging_faces_parquet_with_pictures_class_names_and_the_split_in_the_files_name(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    features = {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}}}
    for shard, (split, labels) in enumerate((("train", [0]), ("test", [1, 0]))):
        cells = [{"bytes": png(10 * shard + i), "path": f"{split}{i}.png"} for i in range(len(labels))]
        table = pa.table({"image": cells, "label": labels, "vector": [[1.0, float(i)] for i in labels]})
        table = table.replace_schema_metadata({"huggingface": json.dumps(features)})
        (tmp_path / "data").mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / "data" / f"{split}-00000-of-00001.parquet")
    text(tmp_path, "README.md", "a card")
    data = load(tmp_path)
    assert data.role("label").tolist() == ["dog", "cat", "cat"]
    assert data.role("split").tolist() == ["test", "test", "train"]
    assert data.ids.tolist() == ["test0.png", "test1.png", "train0.png"]
    assert [data.image(row)[0, 0] for row in range(3)] == [first(10), first(11), first(0)]
    assert data.embeddings["vector"].tolist() == [[1, 1], [1, 0], [1, 0]]


def test_parquet_cells_stay_as_written(tmp_path: Path) -> None:
    pictures(tmp_path, "a.png", "b.png")
    frame = pd.DataFrame({"path": ["a.png", "b.png"], "group": ["0001", None], "is_query": [True, False], "n": [1, 2]})
    frame.to_parquet(tmp_path / "t.parquet")
    data = load(tmp_path / "t.parquet")
    assert data.table.to_dict("list") == {
        "path": ["a.png", "b.png"],
        "group": ["0001", ""],
        "is_query": ["true", "false"],
        "n": ["1", "2"],
    }


def test_fiftyones_samples(tmp_path: Path) -> None:
    pictures(tmp_path, "data/a.png", "data/b.png")
    samples = [
        {
            "_id": {"$oid": f"6{i}"},
            "filepath": path,
            "tags": ["test"],
            "metadata": None,
            "ground_truth": {"_cls": "Classification", "label": label},
            "clip": [float(i), 1.0],
            "_media_type": "image",
        }
        for i, (path, label) in enumerate((("data/a.png", "cat"), ("/home/me/somewhere/b.png", "dog")))
    ]
    text(tmp_path, "samples.json", json.dumps({"samples": samples}))
    text(tmp_path, "metadata.json", "{}")
    data = load(tmp_path)
    assert (data.ids.tolist(), data.role("label").tolist()) == (["60", "61"], ["cat", "dog"])
    assert (data.role("split").tolist(), data.image(1)[0, 0]) == (["test", "test"], first(1))
    assert data.embeddings["clip"].tolist() == [[0, 1], [1, 1]]


def test_fiftyones_labels_and_table(tmp_path: Path) -> None:
    pictures(tmp_path / "json", "data/a.png", "data/b.png")
    text(tmp_path / "json", "labels.json", json.dumps({"classes": ["cat", "dog"], "labels": {"a": 1, "b": 0}}))
    data = load(tmp_path / "json")
    assert (data.ids.tolist(), data.role("label").tolist()) == (["data/a.png", "data/b.png"], ["dog", "cat"])
    pictures(tmp_path / "csv", "data/a.png", "data/b.png")
    text(tmp_path / "csv", "labels.csv", "filepath,ground_truth.label\na.png,cat\nb.png,dog\n")
    data = load(tmp_path / "csv")
    assert (data.role("label").tolist(), data.image(1)[0, 0]) == (["cat", "dog"], first(1))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("samples.json", "{", "samples.json is not whole JSON"),
        ("samples.json", "[1]", "samples.json has no list samples"),
        ("samples.json", '{"samples": [{"tags": []}]}', "its samples name no picture"),
        ("samples.json", '{"samples": [{"filepath": "\\ud800"}]}', "samples.json is not whole JSON"),
        ("labels.json", '{"labels": {"a": 5}, "classes": ["x"]}', "'a' is of class 5, but there are 1 classes"),
        ("labels.json", '{"labels": []}', "labels.json has no labels"),
        ("gnd.json", "{}", "gnd.json is not ROxford's ground truth"),
        ("dataset.json", '{"format": 9}', "dataset.json is not of format 1"),
        ("dataset.json", '{"format": 1, "name": 3}', "dataset.json: name is 3"),
        ("qrels.txt", "q 0 d 1\nq 0\n", "qrels.txt line 2: 2 words; qrels have 4"),
        ("qrels.txt", "1 0 1 1\n", "1 names are both a topic and a document, among them '1'"),
        ("class_labels.txt", "a b c\n", "class_labels.txt line 1: 3 words"),
        ("x.parquet", "PAR1", "x.parquet is not a whole Parquet file"),
    ],
)
def test_a_form_that_cannot_be_right_is_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    text(tmp_path, name, content)
    with pytest.raises(DataError, match=message):
        load(tmp_path)


def test_broken_missing_and_empty_pictures_leave_their_rows_out_and_are_counted(tmp_path: Path) -> None:
    pictures(tmp_path, "a.png", "b.png", "c.png")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "cut.png").write_bytes(png(0)[:50])
    names = ["a.png", "gone.png", "b.png", "empty.png", "cut.png", "c.png"]
    text(tmp_path, "metadata.csv", "path,label\n" + "".join(f"{name},x\n" for name in names))
    for encoder in ("raw", "colour"):
        result = evaluate(load(tmp_path), encoder=encoder)
        assert result.counts["n_query"] == 3
        found = next(finding for finding in result.findings if finding.kind == "unreadable_pictures")
        assert (found.count, found.examples) == (3, ("gone.png", "empty.png", "cut.png"))
        assert "3 of 6 pictures cannot be read and take no part: row 2 (id 'gone.png')" in found.message
        assert "there is no such file" in found.message
        assert "the file is empty" in found.message


def test_a_fitted_encoder_learns_from_the_readable_pictures(tmp_path: Path) -> None:
    pictures(tmp_path, *(f"{i}.png" for i in range(6)))
    (tmp_path / "1.png").write_bytes(b"no picture")
    rows = [f"{i}.png,{'ab'[i % 2]},{'train' if i < 4 else 'test'}\n" for i in range(6)]
    text(tmp_path, "metadata.csv", "path,label,split\n" + "".join(rows))
    assert evaluate(load(tmp_path), encoder="pca").counts["n_query"] == 2


def test_where_no_picture_can_be_read_the_first_reason_is_given(tmp_path: Path) -> None:
    text(tmp_path, "metadata.csv", "path,label\na.png,x\nb.png,x\n")
    with pytest.raises(DataError, match=r"none of the 2 pictures can be read; the first: .*a.png: there is no"):
        evaluate(load(tmp_path))


def test_zero_vectors_are_named_and_nan_is_named_or_dropped(tmp_path: Path) -> None:
    text(tmp_path, "metadata.csv", "id,label\na,1\nb,1\nc,1\n")
    np.save(tmp_path / "embeddings.npy", np.array([[0, 0], [1, 0], [1, 1]], dtype=np.float16))
    result = evaluate(load(tmp_path))
    assert any(
        "1 of 3 vectors is zero: its cosine to everything is 0: row 1 (id 'a')" in f.message for f in result.findings
    )
    np.save(tmp_path / "embeddings.npy", np.array([[1, 2], [np.inf, 0], [1, 1]], dtype=np.float16))
    with pytest.raises(DataError, match=r"float16 ends at 65504, so they may have overflowed\): row 2 \(id 'b'\)"):
        evaluate(load(tmp_path))
    assert evaluate(load(tmp_path), bad_rows="drop").counts["n_query"] == 2


@needs_shared
def test_the_one_shot_runs_pair_each_test_item_with_its_training_item(tmp_path: Path) -> None:
    import zipfile

    zipfile.ZipFile(SHARED / "data/omniglot/one_shot_runs.zip").extractall(tmp_path)
    data = load(tmp_path)
    assert (len(data), data.columns["label"]) == (800, "label")
    alone = load(tmp_path / "run02")
    result = evaluate(alone, encoder="raw")
    assert (result.counts["n_query"], result.counts["n_gallery"], result.counts["n_evaluable"]) == (20, 20, 20)
    together = evaluate(data, encoder="raw", where=(("run", ("run02",)),))
    assert together.scores["recall@1"].value == result.scores["recall@1"].value


@needs_shared
def test_the_background_set_has_a_class_for_each_character_of_each_alphabet(tmp_path: Path) -> None:
    import zipfile

    zipfile.ZipFile(SHARED / "data/omniglot/images_background_small1.zip").extractall(tmp_path)
    data = load(tmp_path)
    assert (len(data), len(set(data.role("label"))), len(set(data.values("folder")))) == (2720, 136, 5)


@needs_shared
def test_the_grocery_set_loads_by_its_table() -> None:
    data = load(SHARED / "data/grocery")
    assert (len(data), data.columns["group"], data.columns["side"]) == (405, "product", "role")


def test_a_folder_of_pictures_alone_is_inspected_though_nothing_is_relevant_yet(tmp_path: Path) -> None:
    pictures(tmp_path, "a.png", "b.png", "d.png")
    (tmp_path / "d.png").write_bytes((tmp_path / "a.png").read_bytes())
    (tmp_path / "e.png").write_bytes(b"")
    found = inspect(load(tmp_path))
    assert {"not_evaluable", "unreadable_pictures", "duplicates_content"} <= {f.kind for f in found.findings}
    assert found.pairs[found.pairs["kind"] == "cosine"]["score"].max() == 1


def test_every_form_is_in_the_documents() -> None:
    page = (ROOT / "docs" / "your-data.md").read_text(encoding="utf-8")
    assert [form for form in READERS if f"| {form} |" not in page] == []
