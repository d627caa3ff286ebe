"""Embeddings and scores from files: the same numbers whatever the form, and nothing unpickled."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recall_core.datasets.containers import read_array
from recall_core.datasets.embeddings import Embeddings, match_rows, read_embeddings, read_ids, rows_by_id
from recall_core.datasets.score_files import read_scores
from recall_core.errors import DataError

VALUES = np.array([[1.5, -2.0, 3.25], [0.0, 0.5, -1.0]])
IDS = ["a", "á"]


def written(folder: Path, form: str) -> Path:
    path = folder / form
    frame = pd.DataFrame({"image_id": IDS, "embedding": list(VALUES)})
    wide = pd.DataFrame(VALUES, columns=["e0", "e1", "e2"]).assign(id=IDS)
    match form:
        case "big.npy":
            np.save(path, VALUES.astype(">f4"))
        case "fortran.npy":
            np.save(path, np.asfortranarray(VALUES))
        case "half.npy":
            np.save(path, VALUES.astype("f2"))
        case "extended.npy":
            np.save(path, VALUES.astype(np.longdouble))
        case "v.npz":
            np.savez(path, embeddings=VALUES, ids=np.array(IDS))
        case "bytes.npz":
            np.savez_compressed(path, x=VALUES.astype("<f4"), names=np.array([name.encode() for name in IDS]))
        case "list.parquet" | "only.parquet":
            (frame if form == "list.parquet" else frame.rename(columns={"embedding": "clip"})).to_parquet(path)
        case "list.feather":
            frame.to_feather(path)
        case "wide.parquet":
            wide[["e2", "id", "e0", "e1"]].to_parquet(path)
        case "cells.csv":
            frame.assign(embedding=[str(list(map(float, row))) for row in VALUES]).to_csv(path, index=False)
        case "numpy.csv":
            frame.assign(embedding=[str(row) for row in VALUES]).to_csv(path, index=False)
        case "wide.csv":
            wide.to_csv(path, index=False, sep=";", decimal=",")
    return path


FORMS = (
    *("big.npy", "fortran.npy", "half.npy", "extended.npy", "v.npz", "bytes.npz", "list.parquet", "only.parquet"),
    *("list.feather", "wide.parquet", "cells.csv", "numpy.csv", "wide.csv"),
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_numbers_and_ids(tmp_path: Path, form: str) -> None:
    given = read_embeddings(written(tmp_path, form))
    assert given.values.tolist() == VALUES.tolist()
    assert given.values.dtype.isnative
    assert given.ids == (None if form.endswith(".npy") else IDS)


def test_fixed_size_lists_and_many_chunks_are_lists_too(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    column = pa.chunked_array([pa.FixedSizeListArray.from_arrays(pa.array(row), 3) for row in VALUES])
    pq.write_table(pa.table({"embedding": column}), tmp_path / "v.parquet")
    assert read_embeddings(tmp_path / "v.parquet").values.tolist() == VALUES.tolist()


def test_dimensions_are_ordered_by_their_number_not_by_their_spelling(tmp_path: Path) -> None:
    names = [f"d{i}" for i in (10, 2, 1, 0, 3, 4, 5, 6, 7, 8, 9)]
    pd.DataFrame([[float(name[1:]) for name in names]], columns=names).to_csv(tmp_path / "v.csv", index=False)
    assert read_embeddings(tmp_path / "v.csv").values.tolist() == [[float(i) for i in range(11)]]


def test_python_objects_are_refused_and_nothing_is_run(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "ran",))

    np.save(tmp_path / "o.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "o.npz", embeddings=np.array([[Bomb()]], dtype=object))
    for name in ("o.npy", "o.npz"):
        with pytest.raises(DataError, match="Python objects, which are never unpickled"):
            read_embeddings(tmp_path / name)
    assert not (tmp_path / "ran").exists()


def test_a_header_that_claims_more_than_the_file_holds_is_refused_before_memory_is_asked_for(tmp_path: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000, 3), }"
    padded = header.ljust(117) + b"\n"
    (tmp_path / "v.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + b"\0" * 48)
    with pytest.raises(DataError, match=r"v.npy is not a whole .npy file"):
        read_array(tmp_path / "v.npy")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.npy", b"", "not a whole .npy file"),
        ("v.npz", b"PK", "not a whole .npz file"),
        ("v.parquet", b"PAR1", "not a whole Parquet file"),
        ("v.feather", b"ARROW1", "not a whole Feather file"),
        ("v.csv", b"id,embedding\na,[1 2]\nb,[1 ... 2]\n", r"row 2 \(id 'b'\): the vector is cut short"),
        ("v.csv", b"id,embedding\na,[1 x]\n", r"row 1 \(id 'a'\): the vector is '\[1 x\]'"),
        ("v.csv", b"id,embedding\na,[1 2]\nb,[1]\n", "row 2: 1 numbers where the first row has 2"),
        ("v.csv", b"id,e0,e1\na,1,\n", "row 1: e1 is empty; write a number"),
        ("v.csv", b"id,name\na,1\n", "no column of vectors; call it embedding"),
        ("v.txt.gz", b"", "embeddings are read from .npy"),
    ],
)
def test_a_file_that_cannot_be_right_is_refused_with_its_place(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_embeddings(tmp_path / name)


def test_vectors_of_different_length_or_missing_are_named_by_row(tmp_path: Path) -> None:
    pd.DataFrame({"embedding": [[1.0, 2.0], [1.0]]}).to_parquet(tmp_path / "v.parquet")
    with pytest.raises(DataError, match="column embedding row 2: 1 numbers where the first row has 2"):
        read_embeddings(tmp_path / "v.parquet")
    pd.DataFrame({"embedding": [[1.0, 2.0], None]}).to_parquet(tmp_path / "v.parquet")
    with pytest.raises(DataError, match="column embedding row 2: the vector is missing"):
        read_embeddings(tmp_path / "v.parquet")


def test_an_archive_must_say_which_array_is_which(tmp_path: Path) -> None:
    np.savez(tmp_path / "v.npz", a=VALUES, b=VALUES)
    with pytest.raises(DataError, match=r"holds a \(2, 3\), b \(2, 3\); call the vectors"):
        read_embeddings(tmp_path / "v.npz")
    np.savez(tmp_path / "v.npz", embeddings=VALUES, ids=np.array(["a"]))
    with pytest.raises(DataError, match="1 ids but 2 vectors"):
        read_embeddings(tmp_path / "v.npz")


def test_complex_numbers_and_text_are_not_vectors(tmp_path: Path) -> None:
    for array in (VALUES.astype(complex), np.array([["a"]])):
        np.save(tmp_path / "v.npy", array)
        with pytest.raises(DataError, match="not real numbers"):
            read_embeddings(tmp_path / "v.npy")


def test_ids_in_a_list_keep_their_spelling_and_blank_lines_at_the_end_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_bytes("0001\r\nNA\r\na\u0301\r\n\r\n".encode())
    assert read_ids(tmp_path / "ids.txt") == ["0001", "NA", "á"]


def test_rows_are_found_by_id_and_what_is_missing_or_repeated_is_named() -> None:
    assert rows_by_id(["b", "a"], ["a", "b", "c"], "f").tolist() == [1, 0]
    with pytest.raises(DataError, match="f has no row for 1 of 2 ids: 'x'"):
        rows_by_id(["a", "x"], ["a"], "f")
    with pytest.raises(DataError, match="f: 'a' stand more than once"):
        rows_by_id(["a"], ["a", "a"], "f")


def test_rows_are_matched_by_id_then_by_path_and_by_position_only_if_the_counts_agree() -> None:
    names = (["1", "2"], ["x.jpg", "y.jpg"])
    rows, by_id = match_rows(Embeddings(VALUES, ["y.jpg", "x.jpg"]), 2, names, "f")
    assert (rows.tolist(), by_id) == ([1, 0], True)
    rows, by_id = match_rows(Embeddings(VALUES), 2, names, "f")
    assert (rows.tolist(), by_id) == ([0, 1], False)
    with pytest.raises(DataError, match="f has 2 rows, the table has 3; make the counts agree"):
        match_rows(Embeddings(VALUES), 3, (["1", "2", "3"],), "f")


def test_scores_come_with_their_ids_from_an_archive_a_table_or_a_run(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", scores=VALUES, query_ids=np.array(IDS), gallery_ids=np.array([1, 2, 3]))
    (tmp_path / "s.csv").write_text("query;1;2;3\na;1,5;-2;3,25\ná;0;0,5;-1\n", encoding="utf-8")
    lines = [f"{q} Q0 {g} 0 {VALUES[i, j]} tag" for i, q in enumerate(IDS) for j, g in enumerate("123")]
    (tmp_path / "s.run").write_text("\n".join(lines), encoding="utf-8")
    for name in ("s.npz", "s.csv", "s.run"):
        given = read_scores(tmp_path / name)
        assert (given.values.tolist(), given.query_ids, given.gallery_ids) == (VALUES.tolist(), IDS, ["1", "2", "3"])


def test_what_a_run_or_a_table_leaves_out_was_not_retrieved(tmp_path: Path) -> None:
    (tmp_path / "s.run").write_text("q Q0 a 1 2.0 t\nr Q0 b 1 1 t\n", encoding="utf-8")
    (tmp_path / "s.csv").write_text("query,a,b\nq,2,\nr,,1\n", encoding="utf-8")
    for name in ("s.run", "s.csv"):
        np.testing.assert_array_equal(read_scores(tmp_path / name).values, [[2, np.nan], [np.nan, 1]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("q Q0 a 1\n", "s.run line 1: 4 words; a TREC run has query, Q0, item, rank, score and tag"),
        ("\nq Q0 a 1 high t\n", "s.run line 2: score is 'high'; write a number"),
        ("q Q0 a 1 nan t\n", "s.run line 1: score is 'nan'; leave out what was not retrieved"),
        ("q Q0 a 1 2 t\nq Q0 a 2 1 t\n", "line 2: query 'q' retrieves item 'a' a second time"),
        ("", "s.run is empty"),
    ],
)
def test_a_run_that_cannot_be_right_is_refused_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "s.run").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_scores(tmp_path / "s.run")


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "v.npz", embeddings=np.zeros((1000, 100)))
    monkeypatch.setattr("recall_core.datasets.containers.MAX_UNPACKED", 2**16)
    with pytest.raises(DataError, match=r"v.npz unpacks to 0.0 GiB, more than"):
        read_embeddings(tmp_path / "v.npz")
