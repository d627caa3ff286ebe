"""The record, its fingerprint, and the lab's form of data."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recall_core.datasets.dataset import Dataset, load
from recall_core.errors import DataError
from recall_core.images.image_set import Pictures, array_digest

IMAGES = np.arange(4 * 3 * 2, dtype=np.uint8).reshape(4, 3, 2) * 10
TABLE = "index,scene_id,view_id\n2,b,0\n0,a,0\n3,b,1\n1,a,1\n"


def lab(folder: Path, table: str = TABLE, images: np.ndarray = IMAGES) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "metadata.csv").write_text(table, encoding="utf-8")
    np.save(folder / "images.npy", images)
    return folder


def test_the_column_index_says_which_picture_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    data = load(lab(tmp_path / "lab"))
    assert (data.name, len(data), data.ids.tolist()) == ("lab", 4, ["2", "0", "3", "1"])
    for row, at in enumerate((2, 0, 3, 1)):
        assert data.image(row).tolist() == (IMAGES[at] / np.float32(255)).tolist()


def test_without_an_index_pictures_follow_the_rows_only_if_the_counts_agree_and_it_is_said(tmp_path: Path) -> None:
    data = load(lab(tmp_path / "lab", "scene_id\na\nb\nc\nd\n"))
    assert data.image(1).tolist() == (IMAGES[1] / np.float32(255)).tolist()
    assert "matched to rows by position" in data.notes[0]
    with pytest.raises(DataError, match=r"metadata.csv has 3 rows, images.npy has 4 pictures; make the counts agree"):
        load(lab(tmp_path / "lab", "scene_id\na\nb\nc\n"))


@pytest.mark.parametrize("cell", ["4", "-1", "x", "", "1.0", "²"])
def test_an_index_that_is_no_row_of_the_array_is_named(tmp_path: Path, cell: str) -> None:
    with pytest.raises(DataError, match=f"metadata.csv row 2: index is '{cell}', but images.npy has rows 0 to 3"):
        load(lab(tmp_path / "lab", f"index,scene_id\n0,a\n{cell},b\n"))


def test_ids_that_stand_twice_are_listed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1 ids stand more than once, among them 'x'; an id names one picture"):
        load(lab(tmp_path / "lab", "index,id\n0,x\n1,y\n2,x\n"))


def test_records_whose_parts_do_not_agree_are_refused() -> None:
    table = pd.DataFrame({"label": ["a", "b"]}, dtype="str")
    with pytest.raises(DataError, match="2 rows in the table but 4 pictures"):
        Dataset("x", table, {}, Pictures.from_array(IMAGES))
    with pytest.raises(DataError, match="2 rows in the table but 3 in embedding 'e'"):
        Dataset("x", table, {}, None, {"e": np.eye(3)})


def test_a_column_that_is_not_there_is_named_with_those_that_there_are() -> None:
    data = Dataset("x", pd.DataFrame({"label": ["a"]}, dtype="str"), {"label": "label"})
    with pytest.raises(DataError, match="x has no column 'group'; there are: label"):
        data.values("group")
    assert (data.values("id").tolist(), data.role("group")) == (["0"], None)
    with pytest.raises(DataError, match="x has no pictures"):
        data.image(0)


def test_the_fingerprint_does_not_see_byte_order_memory_order_or_the_folders_name(tmp_path: Path) -> None:
    wide = IMAGES.astype(np.uint16)
    plain = load(lab(tmp_path / "a", images=wide)).fingerprint
    assert load(lab(tmp_path / "b", images=wide.astype(">u2"))).fingerprint == plain
    assert load(lab(tmp_path / "c", images=np.asfortranarray(wide))).fingerprint == plain


def test_the_fingerprint_changes_with_one_cell_one_pixel_one_column_or_its_role(tmp_path: Path) -> None:
    pixel = IMAGES.copy()
    pixel[3, 2, 1] += 1
    seen = [
        load(lab(tmp_path / "lab")).fingerprint,
        load(lab(tmp_path / "lab", TABLE.replace("b,0", "c,0"))).fingerprint,
        load(lab(tmp_path / "lab", images=pixel)).fingerprint,
        load(lab(tmp_path / "lab", TABLE.replace("view_id", "visit"))).fingerprint,
        load(lab(tmp_path / "lab"), columns={"label": "scene_id"}).fingerprint,
    ]
    assert len(set(seen)) == len(seen)


def test_the_fingerprint_of_files_sees_their_content_and_a_moved_folder_keeps_it(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "metadata.csv").write_text("path,label\nx.png,1\ngone.png,2\n", encoding="utf-8")
    (folder / "x.png").write_bytes(b"one")
    before = load(folder).fingerprint
    shutil.copytree(folder, tmp_path / "b")
    assert load(tmp_path / "b").fingerprint == before
    (tmp_path / "b" / "x.png").write_bytes(b"two")
    assert load(tmp_path / "b").fingerprint != before


def test_cells_cannot_be_shifted_without_changing_the_fingerprint() -> None:
    def of(cells: dict[str, list[str]]) -> str:
        return Dataset("x", pd.DataFrame(cells, dtype="str"), {}).fingerprint

    assert len({of({"a": ["1", "2"]}), of({"a": ["1\0002", ""]}), of({"a": ['1","2', ""]}), of({"a": ["", "12"]})}) == 4


def test_equal_arrays_have_equal_digests_and_other_types_and_shapes_others() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert array_digest(array) == array_digest(array.astype(">f4")) == array_digest(np.asfortranarray(array))
    assert len({array_digest(array), array_digest(array.T), array_digest(array.astype(float))}) == 3


def test_arrays_and_labels_make_a_data_set() -> None:
    data = Dataset.from_arrays(np.eye(2), [1, None], np.eye(2), ["1", float("nan")], groups=["g", "h", "g", "h"])
    assert data.values("label").tolist() == ["1", "", "1", ""]
    assert data.role("side").tolist() == ["query", "query", "gallery", "gallery"]
    assert data.embeddings["given"].shape == (4, 2)
    assert len(Dataset.from_arrays(np.eye(4), list("aabb"), images=IMAGES).pictures) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(2), ["a"]), "2 embeddings but 1 labels"),
        ((np.eye(2), ["a", "b"], np.eye(2), ["a"]), "2 gallery embeddings but 1 gallery labels"),
        ((np.eye(2), ["a", "b"], np.eye(3), list("abc")), r"query is \(2, 2\), gallery is \(3, 3\)"),
        ((np.ones(2), ["a", "b"]), r"the query vectors have shape \(2,\)"),
        ((np.ones((2, 0)), ["a", "b"]), r"the query vectors have shape \(2, 0\)"),
        ((np.float64(1), ["a"]), r"the query vectors have shape \(\)"),
        (([[1, 2], [1]], ["a", "b"]), "the query vectors are not one array"),
        ((np.eye(2) * 1j, ["a", "b"]), "holds complex128, not real numbers"),
        ((np.eye(2), ["a", "b"], np.array([["x", "y"]]), ["a"]), "the gallery side holds <U1"),
    ],
)
def test_arrays_that_do_not_agree_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset.from_arrays(*arguments)


def test_each_item_has_its_group() -> None:
    for groups in (["g"], ["g", "g", "h"]):
        with pytest.raises(DataError, match=f"2 items but {len(groups)} groups"):
            Dataset.from_arrays(np.eye(2), ["a", "b"], groups=groups)


def test_labels_of_arrays_are_names_however_numbers_are_typed() -> None:
    data = Dataset.from_arrays(np.eye(3), [3, 4, 0], np.eye(3), pd.array([3, 4, None], dtype="Int64"))
    assert data.values("label").tolist() == ["3", "4", "0", "3", "4", ""]
    assert Dataset.from_arrays(np.eye(2), [3.0, 2.5]).values("label").tolist() == ["3", "2.5"]


def test_what_is_no_data_set_is_refused_with_the_forms_that_are_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'nowhere' is neither a folder nor a built-in data set \(digits"):
        load("nowhere")
    with pytest.raises(DataError, match="no data set found here; it may hold what export wrote"):
        load(tmp_path)
    (tmp_path / "a.zip").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"a.zip: a data set is read from a folder, or from a table"):
        load(tmp_path / "a.zip")
    (tmp_path / "t.csv").write_text("path,label\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"t.csv has no rows"):
        load(tmp_path / "t.csv")


def test_a_folder_that_may_not_be_read_is_a_data_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> list[Path]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        load(tmp_path)
