"""Whatever bytes come, only ``DataError`` goes out: every reader meets noise, cuts and mutations."""

import io
import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recall_core import evaluate, load
from recall_core.errors import DataError
from recall_core.interchange import read_judgements
from recall_core.scores import read_scores
from recall_core.tables import read_table
from recall_core.uploads import load_upload
from recall_core.vectors import read_embeddings, read_ids
from tests.test_readers import png


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
    with suppress(DataError):
        read()


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
