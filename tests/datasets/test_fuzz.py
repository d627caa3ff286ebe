"""Whatever comes, only ``DataError`` goes out: every reader meets noise, cuts, mutated bytes and mutated structure."""

import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recall_core import cli, from_arrays
from recall_core.datasets.dataset import Dataset, load
from recall_core.datasets.embeddings import read_embeddings, read_ids
from recall_core.datasets.judgements import read_judgements
from recall_core.datasets.score_files import read_scores
from recall_core.datasets.tables import read_table
from recall_core.datasets.uploads import load_upload
from recall_core.errors import SCREEN, DataError
from recall_core.evaluation.opening import open_run
from recall_core.evaluation.wiring import evaluate
from tests.datasets.test_bad_input import ids_of_no_text, npy
from tests.datasets.test_readers import png
from tests.structural import INPUTS, check


def saved(write: Callable[[io.BytesIO], object]) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def zipped(**files: bytes) -> bytes:
    def write(stream: io.BytesIO) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name.replace("__", "/").replace("_dot_", "."), content)

    return saved(write)


VECTORS = pd.DataFrame({"id": ["a", "b"], "embedding": [[0.5, 1.0], [1.0, 2.0]]})
PICTURES = pd.DataFrame({"image": [{"bytes": png(0), "path": "a.png"}] * 2, "label": [0, 1]})
TABLE = 'id;path;label;index\r\n0001;a.png;"x; y";0\r\nő;b.png;z;1\r\n'.encode()
SAMPLES = json.dumps(
    {"samples": [{"_id": {"$oid": "1"}, "filepath": "a.png", "v": [1.0], "x": {"label": "c"}}]}
).encode()
TRUTH = json.dumps({"qimlist": ["q"], "imlist": ["a"], "gnd": [{"easy": [0], "hard": [], "junk": []}]}).encode()
OWN = json.dumps(
    {
        **{"format": 1, "name": "n", "header": ["id", "path", "label", "index"], "columns": {"label": "label"}},
        **{"pictures": ["a.png", "b.png"], "embeddings": [], "notes": [], "defaults": {}},
    }
).encode()

FILES: dict[str, tuple[bytes, Callable[[Path], object]]] = {
    "t.csv": (TABLE, read_table),
    "ids.txt": ("a\r\nő\n".encode(), read_ids),
    "v.npy": (saved(lambda stream: np.save(stream, np.eye(3, dtype=">f4"))), read_embeddings),
    "v.npz": (saved(lambda stream: np.savez(stream, embeddings=np.eye(2), ids=np.array(["a", "b"]))), read_embeddings),
    "v.csv": (b'id,embedding\na,"[0.5, 1]"\nb,"[1 2]"\n', read_embeddings),
    "w.csv": (b"id;e0;e1\na;0,5;1\n", read_embeddings),
    "v.parquet": (saved(lambda stream: VECTORS.to_parquet(stream)), read_embeddings),
    "v.feather": (saved(lambda stream: VECTORS.to_feather(stream)), read_embeddings),
    "s.npz": (saved(lambda stream: np.savez(stream, scores=np.eye(2), query_ids=np.array(["a", "b"]))), read_scores),
    "s.csv": (b"query,a,b\nq,1,\n", read_scores),
    "s.run": (b"q Q0 a 1 0.5 t\nq Q0 b 2 0.25 t\n", read_scores),
    "j.qrels": (b"q 0 a 1\nq 0 b 0\n", read_judgements),
    "j.csv": (b'query_id,gallery_id,grade\nq,a,"0,5"\n', read_judgements),
    "gnd.json": (TRUTH, read_judgements),
}
"""A whole file of each kind, and its reader."""

FOLDERS: dict[str, tuple[str, bytes]] = {
    "table of files": ("metadata.csv", TABLE),
    "FiftyOne": ("samples.json", SAMPLES),
    "FiftyOne's labels": ("labels.json", b'{"classes": ["c"], "labels": {"a": 0, "b": "x"}}'),
    "ROxford": ("gnd_x.json", TRUTH),
    "TREC": ("qrels.txt", b"q 0 a 1\n"),
    "one shot": ("class_labels.txt", b"run01/test/a.png run01/training/b.png\n"),
    "Parquet": ("train-0.parquet", saved(lambda stream: PICTURES.to_parquet(stream))),
    "our own": ("dataset.json", OWN),
    "vectors beside": ("embeddings.npz", FILES["v.npz"][0]),
    "the lab": ("images.npy", saved(lambda stream: np.save(stream, np.zeros((2, 4, 4), np.uint8)))),
}
"""What makes a folder of each form, beside pictures and a table."""

noise = st.binary(max_size=400)
edits = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8)
tokens = st.sampled_from([*b'nan|1e999|-1|"|;|,|\n|\r|\t|\0|\xff|../|/|{|]|null| '.split(b"|")])


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """Cut short, with bytes changed, with tokens thrown in, or noise."""
    kind = draw(st.sampled_from(["cut", "edit", "token", "noise"]))
    if kind == "noise":
        return draw(noise)
    if kind == "cut":
        return whole[: draw(st.integers(0, len(whole)))]
    content = bytearray(whole)
    if kind == "edit":
        for place, value in draw(edits):
            content[int(place * len(content))] = value
        return bytes(content)
    for place in draw(st.lists(st.floats(0, 1), min_size=1, max_size=3)):
        at = int(place * len(content))
        content[at : at + draw(st.integers(0, 3))] = draw(tokens)
    return bytes(content)


def only_data_errors(read: Callable[[], object]) -> None:
    said = "a result"
    try:
        read()
    except DataError as problem:
        said = str(problem)
    assert 0 < len(said) <= SCREEN


quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", FILES)
def test_a_whole_file_is_read(tmp_path: Path, name: str) -> None:
    content, read = FILES[name]
    (tmp_path / name).write_bytes(content)
    read(tmp_path / name)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_raises_data_errors_only(name: str) -> None:
    whole, read = FILES[name]

    @quick
    @given(damaged(whole))
    @example(b"")
    @example(b"id,emb")
    def check(content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / name).write_bytes(content)
            only_data_errors(lambda: read(Path(folder) / name))

    check()


@pytest.mark.parametrize("form", FOLDERS)
def test_a_damaged_folder_raises_data_errors_only_down_to_the_number(form: str) -> None:
    name, whole = FOLDERS[form]

    @settings(quick, max_examples=40)
    @given(damaged(whole))
    def check(content: bytes) -> None:
        folder = Path(tempfile.mkdtemp())
        try:
            if form in ("our own", "vectors beside", "the lab"):
                (folder / "metadata.csv").write_bytes(TABLE)
            for picture in ("a.png", "b.png"):
                (folder / picture).write_bytes(png(0))
            (folder / name).write_bytes(content)
            only_data_errors(lambda: evaluate(load(folder)))
        finally:
            shutil.rmtree(folder)

    check()


@quick
@given(damaged(zipped(c__a_dot_png=png(0), d__b_dot_png=png(1), t_dot_csv=TABLE)))
def test_a_damaged_archive_raises_data_errors_only(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        only_data_errors(lambda: load_upload([("u.zip", content)], Path(folder) / "mine"))
        assert [path.name for path in Path(folder).iterdir()] == ["mine"]


@quick
@given(st.text(max_size=20), st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=2), st.text(max_size=8))
def test_any_choice_of_names_and_encodings_raises_data_errors_only(
    data: str, columns: dict[str, str], encoding: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "metadata.csv").write_bytes(TABLE)
        only_data_errors(lambda: load(folder, columns=columns, encoding=encoding))
        only_data_errors(lambda: load(Path(folder) / f"no {data}"))


N_EACH = {
    **{"data": 200, "progress": 1000, "shards": 200, "arrow": 300, "npy": 200, "npz": 400, "archive": 200, "run": 80},
    **{"address": 400, "tags": 60, "table": 100},
}
"""Inputs of each kind; fewer of those that take longer. Their numbers are their seeds: each run tries the same."""


@pytest.mark.parametrize("kind", INPUTS)
def test_a_whole_input_of_another_structure_gives_a_result_or_a_short_data_error(kind: str) -> None:
    for number in range(N_EACH[kind]):
        try:
            check(kind, number)
        except Exception as error:
            error.add_note(f"it comes back with tests.structural.check({kind!r}, {number})")
            raise


def test_a_long_message_keeps_its_beginning_and_its_end() -> None:
    said = str(DataError("a.csv: " + "x" * 10**6 + "\ud800; write it again"))
    assert len(said) == SCREEN
    assert said.startswith("a.csv: xxx")
    assert said.endswith("\\ud800; write it again")


WHOLE = from_arrays(np.eye(4), ["a", "a", "b", "b"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.npy", npy("(True, 3)")),
        ("v.npy", npy("(0, 99999999999999999999)")),
        ("v.npy", npy("(3.0, 1)")),
        ("v.npz", ids_of_no_text()),
        ("v.npz", zipped(embeddings_dot_npy=npy("(True, 3)"))),
    ],
)
def test_a_header_that_no_array_has_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError):
        read_embeddings(tmp_path / name)


def arrow_columns() -> dict[str, pa.Table]:
    bits = pa.py_buffer(b"\xff" * 7 + b"\x7f" + b"\xff" * 7 + b"\x7f")

    def of(kind: pa.DataType) -> pa.Array:
        return pa.Array.from_buffers(kind, 2, [None, bits])

    halves = pa.array(np.ones(4, np.float16))
    vectors = pa.FixedSizeListArray.from_arrays(halves, 2)
    gaps = pa.FixedSizeListArray.from_arrays(pa.array([np.float16(1), None] * 2, pa.float16()), 2)
    return {
        "dates that Python lacks": pa.table({"id": of(pa.date64()), "embedding": vectors}),
        "times that Python lacks": pa.table({"id": of(pa.timestamp("us")), "embedding": vectors}),
        "times of no zone": pa.table({"id": of(pa.timestamp("s", "Nowhere/Land")), "embedding": vectors}),
        "durations": pa.table({"id": of(pa.duration("s")), "embedding": vectors}),
        "bytes": pa.table({"id": pa.array([b"\xff", b"a"]), "embedding": vectors}),
        "a repeated column": pa.Table.from_arrays([halves[:2], halves[2:], vectors], ["id", "id", "embedding"]),
        "gaps among half floats": pa.table({"id": ["a", "b"], "embedding": gaps}),
    }


@pytest.mark.parametrize("what", list(arrow_columns()))
@pytest.mark.parametrize("write", [feather.write_feather, parquet.write_table], ids=["feather", "parquet"])
def test_columns_of_any_type_give_a_result_or_a_data_error(tmp_path: Path, what: str, write: Callable) -> None:
    file = tmp_path / ("v.feather" if write is feather.write_feather else "v.parquet")
    try:
        write(arrow_columns()[what], file)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pytest.skip("this form cannot hold it")
    only_data_errors(lambda: read_embeddings(file))
    only_data_errors(lambda: evaluate(load(file)))


def test_vectors_of_half_floats_are_read(tmp_path: Path) -> None:
    feather.write_feather(pa.table({"embedding": arrow_columns()["bytes"]["embedding"]}), tmp_path / "v.feather")
    assert read_embeddings(tmp_path / "v.feather").values.tolist() == [[1, 1], [1, 1]]


def test_a_parquet_of_vectors_may_name_files(tmp_path: Path) -> None:
    pd.DataFrame({"file_name": ["a", "b"], "label": ["x", "x"], "v": [[1.0], [2.0]]}).to_parquet(tmp_path / "t.parquet")
    assert load(tmp_path / "t.parquet").values("file_name").tolist() == ["a", "b"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_to_an_archive_of_any_method_is_a_data_error(tmp_path: Path, method: int) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("a/a.png", bytes(range(256)) * 8)
    for at in (50, 60, 100):
        content = bytearray(stream.getvalue())
        content[at] ^= 0xFF
        with pytest.raises(DataError, match="pack it again as a plain zip"):
            load_upload([("u.zip", bytes(content))], tmp_path / str(at))


@pytest.mark.parametrize("at", [0, 108, 132, 138, 222, 255, 402, -1])
def test_one_damaged_byte_of_a_saved_run_never_shows_a_traceback(tmp_path: Path, at: int) -> None:
    evaluate(WHOLE, ks=(1,)).save(tmp_path / "run")
    content = bytearray((tmp_path / "run" / "ranking.npz").read_bytes())
    content[at] ^= 0xFF
    (tmp_path / "run" / "ranking.npz").write_bytes(content)
    only_data_errors(lambda: open_run(tmp_path / "run"))


@pytest.mark.parametrize("put", ["[" * 100_000, '{"format": ' + "[" * 100_000 + "]" * 100_000 + "}", "9" * 5000])
def test_json_that_python_does_not_hold_is_no_saved_run(tmp_path: Path, put: str) -> None:
    evaluate(WHOLE, ks=(1,)).save(tmp_path / "run")
    (tmp_path / "run" / "report.json").write_text(put, encoding="utf-8")
    with pytest.raises(DataError, match="is not a saved run"):
        open_run(tmp_path / "run")


@pytest.mark.parametrize("digits", ["9" * 5000, "-" + "9" * 30])
def test_a_number_of_too_many_digits_is_a_data_error_in_every_file(tmp_path: Path, digits: str) -> None:
    truth = '{"qimlist": ["q"], "imlist": ["a"], "gnd": [{"easy": [0]}]}'
    (tmp_path / "gnd.json").write_text(truth.replace("0", digits), encoding="utf-8")
    with pytest.raises(DataError, match="whole number of"):
        read_judgements(tmp_path / "gnd.json")
    np.save(tmp_path / "images.npy", np.zeros((1, 4, 4), np.uint8))
    (tmp_path / "metadata.csv").write_text(f"index,label,view\n{digits},a,{digits}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"but images\.npy has rows 0 to 0"):
        load(tmp_path)
    table = pd.DataFrame({"label": ["a"] * 3, "view": [digits.strip("-"), "1", "02"]}, dtype="str")
    with pytest.raises(DataError, match="exactly two views"):
        evaluate(Dataset("d", table, {"view": "view", "group": "label"}, embeddings={"v": np.eye(3)}), split="by-view")


@pytest.mark.parametrize(
    "choice", [{"ks": (10**30,)}, {"seed": 10**30}, {"relevant": "\udcff"}, {"where": {"a": [5]}}, {"split": 5}]
)
def test_choices_that_no_array_holds_are_refused(choice: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        evaluate(WHOLE, **choice)


def test_an_encoding_that_spells_halves_of_characters_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"id,label\n1,+2AA-\n")
    with pytest.raises(DataError, match=r"not text in utf-7|not utf-7"):
        read_table(tmp_path / "t.csv", encoding="utf-7")


@pytest.mark.parametrize("size", ["²x3", "9" * 5000 + "x3", "1x1", "10x", "x", "10x10x10"])
def test_sizes_that_are_no_numbers_end_in_a_line(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ann", "--synthetic", size]) == 2
    assert "is not of the form ITEMSxDIMENSIONS" in capsys.readouterr().err


@pytest.mark.parametrize("read", [load, lambda name: evaluate(WHOLE, embeddings=name)], ids=["data", "vectors"])
def test_a_name_that_no_file_can_have_is_a_data_error(read: Callable[[str], object]) -> None:
    with pytest.raises(DataError):
        read("x" * 3000)


@pytest.mark.parametrize("name", ["above", "tied"])
def test_more_ties_than_a_gallery_has_items_are_no_saved_run(tmp_path: Path, name: str) -> None:
    evaluate(WHOLE, ks=(1,)).save(tmp_path / "run")
    with np.load(tmp_path / "run" / "ranking.npz") as stored:
        arrays = {key: stored[key] for key in stored.files}
    arrays[f"0/ranking/{name}"][0] = 2**62  # the expected rank is a sum over as many places
    np.savez(tmp_path / "run" / "ranking.npz", **arrays)
    with pytest.raises(DataError, match="do not fit each other"):
        open_run(tmp_path / "run")
