"""Small files take no gigabytes: what they unpack to is judged by their headers, and taken out of one budget."""

import io
import json
import os
import struct
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from PIL import Image

from recall_core import budget
from recall_core.datasets.dataset import load
from recall_core.datasets.embeddings import read_embeddings
from recall_core.datasets.score_files import read_scores
from recall_core.datasets.shards import read_shards, write_shards
from recall_core.datasets.uploads import load_upload, weight
from recall_core.errors import DataError
from recall_core.images.decoding import decode
from recall_core.images.image_set import Pictures
from tests.conftest import ROOT

MEBIBYTE = 2**20

MEASURED = """
import resource, sys
from pathlib import Path
import numpy, pandas, pyarrow.compute, pyarrow.feather, pyarrow.ipc, pyarrow.parquet
from recall_core import DataError, load
from recall_core.images.decoding import decode
from recall_core.datasets import read_scores
from recall_core.datasets.uploads import load_upload
from recall_core.datasets import read_embeddings

def upload(path):
    data = load_upload([(path.name, path.read_bytes())], path.parent / "up")
    return data.pictures.problems()

def peak():
    status = Path("/proc/self/status")  # the other count begins with what the process that started this one had
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(status.read_text().partition("VmHWM:")[2].split()[0])

before = peak()
try:
    found = {read}(Path(sys.argv[1]))
    print("read", str(found)[:500])
except DataError as problem:
    print("refused", problem)
print((peak() - before) // 1024)
"""


def measured(read: str, path: Path) -> tuple[str, int]:
    """Read a file in a process of its own: what it says, and by how many MiB its memory grew."""
    code = MEASURED.replace("{read}", read)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, timeout=600, cwd=ROOT
    )
    said, grown = done.stdout.strip().rsplit("\n", 1)
    return said, int(grown)


def blank(side: int, mode: str = "RGB", padding: int = 0) -> bytes:
    """A PNG of one colour; ``padding`` zeros behind it make the file large, and no larger once it is packed again."""
    stream = io.BytesIO()
    Image.new(mode, (side, side)).save(stream, "PNG")
    return stream.getvalue() + bytes(padding)


def zipped(path: Path, *entries: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return path


def many_rows(path: Path) -> Path:
    table = pa.table({"id": np.zeros(2**20, np.int64)})
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(4):
            writer.write_table(table, row_group_size=2**20)
    return path


def vectors() -> pa.Table:
    numbers = np.zeros(2**24, np.float32)
    return pa.table({"embedding": pa.FixedSizeListArray.from_arrays(numbers, 2**10)})


def vectors_by_dictionary(path: Path) -> Path:
    pq.write_table(vectors(), path, compression="zstd")
    return path


def vectors_by_pages(path: Path) -> Path:
    pq.write_table(vectors(), path, compression="zstd", use_dictionary=False)
    return path


def long_texts(path: Path) -> Path:
    texts = pa.DictionaryArray.from_arrays(np.zeros(2**16, np.int32), pa.array(["x" * 2**14]))
    pq.write_table(pa.table({"id": texts}), path, compression="zstd")
    return path


def repeated_texts(path: Path) -> Path:
    pq.write_table(pa.table({"id": pa.array([["x" * 2**10] * 2**18])}), path, compression="zstd")
    return path


def shared_starts(path: Path) -> Path:
    texts = pa.array(["x" * 2**14 + str(i % 7) for i in range(2**13)])
    encoding = {"use_dictionary": False, "column_encoding": {"id": "DELTA_BYTE_ARRAY"}}
    pq.write_table(pa.table({"id": texts}), path, compression="zstd", **encoding)
    return path


def nothing_at_all(path: Path) -> Path:
    pq.write_table(pa.table({"id": pa.nulls(2**22)}), path)
    return path


def feather_vectors(path: Path) -> Path:
    pyarrow.feather.write_feather(vectors(), path, compression="zstd")
    return path


def feather_texts(path: Path) -> Path:
    texts = pa.DictionaryArray.from_arrays(np.zeros(2**16, np.int8), pa.array(["x" * 2**14]))
    pyarrow.feather.write_feather(pa.table({"id": texts}), path, compression="zstd")
    return path


def feather_nothing(path: Path) -> Path:
    pyarrow.feather.write_feather(pa.table({"id": pa.nulls(2**23)}), path)
    return path


def archive_of_arrays(path: Path) -> Path:
    np.savez_compressed(path, embeddings=np.zeros((2**15, 2**10), np.float32))
    return path


def archive_of_ids(path: Path) -> Path:
    np.savez_compressed(path, embeddings=np.zeros((4, 2)), ids=np.array(["a", "b", "c", "d" * 2**23]))
    return path


def run_of_many(path: Path) -> Path:
    path.write_text("".join(f"q{i} Q0 d{i} 1 1 t\n" for i in range(2**14)), encoding="utf-8")
    return path


BOMBS: dict[str, tuple[str, str, Callable[[Path], Path]]] = {
    "rows of one number": ("rows.parquet", "load", many_rows),
    "vectors by a dictionary": ("v.parquet", "read_embeddings", vectors_by_dictionary),
    "vectors by compressed pages": ("v.parquet", "read_embeddings", vectors_by_pages),
    "one long text in many rows": ("t.parquet", "load", long_texts),
    "one text many times in a row": ("t.parquet", "load", repeated_texts),
    "texts that share their start": ("t.parquet", "load", shared_starts),
    "a column of nothing": ("t.parquet", "load", nothing_at_all),
    "compressed buffers": ("v.feather", "read_embeddings", feather_vectors),
    "one long text in many rows of Feather": ("t.feather", "load", feather_texts),
    "a column of nothing in Feather": ("t.feather", "load", feather_nothing),
    "zeros in an archive": ("v.npz", "read_embeddings", archive_of_arrays),
    "ids as wide as the widest": ("v.npz", "read_embeddings", archive_of_ids),
    "a run without a repetition": ("s.run", "read_scores", run_of_many),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_that_unpacks_to_much_is_refused_before_it_does(tmp_path: Path, bomb: str) -> None:
    name, read, make = BOMBS[bomb]
    path = make(tmp_path / name)
    assert path.stat().st_size < MEBIBYTE
    said, grown = measured(read, path)
    assert said.startswith(f"refused {name}")
    assert "where you trust it, start with RECALL_UNPACK_RATIO=" in said
    assert grown < 100


@pytest.mark.parametrize("padding", [0, 4 * MEBIBYTE])
def test_two_large_images_in_a_zip_of_some_kilobytes_take_no_gigabytes(tmp_path: Path, padding: int) -> None:
    image = blank(8000, padding=padding)
    path = zipped(tmp_path / "two.zip", ("a/1.png", image), ("b/2.png", image))
    assert path.stat().st_size < 2**14
    said, grown = measured("upload", path)
    assert "183.1 MiB or more, over 100 times as much" in said
    assert said.startswith("refused two.zip: 1.png" if padding else "read {0: ")
    assert grown < 100


def test_an_array_packed_twice_is_judged_by_the_archive(tmp_path: Path) -> None:
    inside = archive_of_arrays(tmp_path / "embeddings.npz").read_bytes()
    path = zipped(tmp_path / "x.zip", ("t.csv", b"id\na\n"), ("embeddings.npz", inside))
    with pytest.raises(DataError, match=r"x.zip: embeddings.npz: its .* unpack to 128.0 MiB or more"):
        load_upload([("x.zip", path.read_bytes())], tmp_path / "up")
    table = pa.table({"image": [blank(8000, "L", 4 * MEBIBYTE)] * 2, "label": ["a", "b"]})
    pq.write_table(table, tmp_path / "p.parquet", compression="zstd")
    with pytest.raises(DataError, match=r"p.parquet row 1: its .* unpack to 61.0 MiB or more"):
        load(tmp_path / "p.parquet")


def varint(n: int, width: int) -> bytes:
    """A whole number as Thrift's compact protocol writes it, in so many bytes."""
    parts = [(2 * n) >> (7 * i) & 127 for i in range(width)]
    return bytes([*(part | 128 for part in parts[:-1]), parts[-1]])


def test_what_the_footer_of_a_parquet_file_says_of_its_size_is_not_believed(tmp_path: Path) -> None:
    path = vectors_by_pages(tmp_path / "v.parquet")
    content = path.read_bytes()
    told = pq.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size
    path.write_bytes(content.replace(varint(told, 4), varint(1000, 4)))
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size == 1000
    with pytest.raises(DataError, match=r"v.parquet: its .* unpack to 64.* MiB or more"):
        read_embeddings(path)


def test_a_page_that_says_too_little_of_its_size_is_not_read(tmp_path: Path) -> None:
    numbers = pa.array(np.zeros(2**18, np.float64))
    path = tmp_path / "v.parquet"
    pq.write_table(pa.table({"e0": numbers}), path, compression="zstd", use_dictionary=False, data_page_size=2**24)
    content = path.read_bytes()
    size = 8 * 20_000 + 8  # of the first page: its numbers, and which of them are there
    assert varint(size, 3) in content[:16]
    path.write_bytes(content.replace(varint(size, 3), varint(1000, 3), 1))
    with pytest.raises(DataError, match=r"v.parquet is not a whole Parquet file"):
        read_embeddings(path)


def test_another_number_of_rows_is_refused_before_any_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("id\na\nb\n", encoding="utf-8")
    np.savez(tmp_path / "embeddings.npz", x=np.eye(3))
    numpy_format = "recall_core.datasets.containers.npy.read_array"
    monkeypatch.setattr(numpy_format, lambda *a, **k: pytest.fail("numbers were read"))
    with pytest.raises(DataError, match=r"embeddings.npz has 3 rows, the table has 2"):
        load(tmp_path)
    np.savez(tmp_path / "embeddings.npz", x=np.eye(3), ids=np.array(["a", "b"]))
    with pytest.raises(DataError, match=r"embeddings.npz: 2 ids but 3 vectors; they must agree"):
        load(tmp_path)
    np.savez(tmp_path / "s.npz", scores=np.eye(3), query_ids=np.array(["a", "b"]))
    with pytest.raises(DataError, match="query_ids and scores must agree"):
        read_scores(tmp_path / "s.npz")


def test_arrays_that_nobody_asks_for_are_not_read(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "v.npz", embeddings=np.eye(2), other=np.zeros((2**13, 2**10)))
    assert read_embeddings(tmp_path / "v.npz").values.tolist() == np.eye(2).tolist()
    np.savez_compressed(tmp_path / "s.npz", scores=np.eye(2), other=np.zeros((2**13, 2**10)))
    assert read_scores(tmp_path / "s.npz").values.tolist() == np.eye(2).tolist()


@pytest.mark.parametrize("key", ["rows", "n_dim"])
def test_a_manifest_of_shards_is_held_against_the_files_before_anything_is_made(tmp_path: Path, key: str) -> None:
    for kind in (".npy", ".parquet"):
        folder = tmp_path / kind
        write_shards(folder, np.eye(4), kind=kind)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        (manifest if key == "n_dim" else manifest["shards"][0])[key] = 2**20
        (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        with pytest.raises(DataError, match="holds other rows, dimensions or numbers than manifest"):
            read_shards(folder)


@pytest.mark.parametrize("kind", ["ico", "tiff"])
def test_an_image_that_is_larger_inside_than_it_says_is_judged_by_the_inside(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"x.{kind}"
    if kind == "ico":
        inside = blank(9000, "L")
        head = b"\0\0\1\0\1\0" + bytes([16, 16, 0, 0, 1, 0, 32, 0])
        path.write_bytes(head + len(inside).to_bytes(4, "little") + (22).to_bytes(4, "little") + inside)
    else:
        tags = {256: 64, 257: 64, 258: 8, 259: 5, 262: 1, 277: 1, 322: 2**14, 323: 2**14, 324: 8, 325: 8}
        fields = [struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items()]
        path.write_bytes(
            struct.pack("<2sHI", b"II", 42, 16) + bytes(8) + struct.pack("<H", len(tags)) + b"".join(fields)
        )
    with pytest.raises(DataError, match=r"9000 × 9000 pixels|16384 × 16384 pixels"):
        decode(path)


def test_what_its_owner_trusts_is_read_whatever_it_unpacks_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "v.npz", embeddings=np.zeros((2**12, 2**10)))
    with pytest.raises(DataError, match=r"v.npz: its .* unpack to 32.0 MiB or more") as refused:
        read_embeddings(tmp_path / "v.npz")
    monkeypatch.setenv("RECALL_UNPACK_RATIO", str(refused.value).rpartition("=")[2])
    assert read_embeddings(tmp_path / "v.npz").values.shape == (2**12, 2**10)
    (tmp_path / "x.png").write_bytes(blank(5000))
    monkeypatch.setenv("RECALL_UNPACK_RATIO", "2000")
    assert decode(tmp_path / "x.png").shape == (5000, 5000, 3)
    for wrong in ("no", "0", "-1", "1e3", "9" * 5000):
        monkeypatch.setenv("RECALL_UNPACK_RATIO", wrong)
        with pytest.raises(DataError, match="write a whole number above 0"):
            decode(tmp_path / "x.png")


def test_well_compressed_data_of_people_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    labels = [f"class {i}" for i in rng.integers(0, 50, n)]
    tags = pa.array([["indoor", "red"] if i % 2 else ["outdoor"] for i in range(n)])
    plain = {"id": [f"{i:06d}" for i in range(n)], "label": labels, "split": ["test"] * n, "tags": tags}
    numbers = pa.FixedSizeListArray.from_arrays(rng.normal(size=n * 8).astype(np.float32), 8)
    table = pa.table({**plain, "embedding": numbers})
    for kind in ("zstd", "gzip", "snappy", "brotli", "none"):
        pq.write_table(table, tmp_path / "t.parquet", compression=kind, row_group_size=7000)
        data = load(tmp_path / "t.parquet")
        assert data.values("label").tolist() == labels
        assert data.values("tags")[1] == "['indoor', 'red']"
        assert data.embeddings["embedding"].tolist() == table["embedding"].to_pylist()
    for kind in ("zstd", "lz4", "uncompressed"):
        pyarrow.feather.write_feather(table, tmp_path / "t.feather", compression=kind)
        assert load(tmp_path / "t.feather").values("label").tolist() == labels
    Image.effect_noise((4000, 4000), 40).convert("RGB").save(tmp_path / "photo.jpg", quality=30)
    assert decode(tmp_path / "photo.jpg").shape == (4000, 4000, 3)


def test_the_budget_is_never_overdrawn_and_the_last_to_wait_is_served() -> None:
    part, most, seen = budget.AT_ONCE // 3, budget.AT_ONCE, []
    barrier = threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        for n_bytes in (part, 1, most, part, 2 * most):
            with budget.hold(n_bytes):
                seen.append(budget.held())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 40
    assert max(seen) <= most
    assert budget.held() == 0


def test_who_needs_more_than_there_is_waits_until_alone_and_is_not_overtaken() -> None:
    order: list[str] = []
    inside, let_go = threading.Event(), threading.Event()

    def first() -> None:
        with budget.hold(10):
            inside.set()
            let_go.wait()
            order.append("first")

    def then(name: str, n_bytes: int) -> None:
        with budget.hold(n_bytes):
            order.append(name)

    threads = [threading.Thread(target=first)]
    threads[0].start()
    inside.wait()
    for name, n_bytes in (("large", 2 * budget.AT_ONCE), ("small", 10)):
        threads.append(threading.Thread(target=then, args=(name, n_bytes)))
        threads[-1].start()
        while budget.n_waiting() < len(threads) - 1:
            pass
    let_go.set()
    for thread in threads:
        thread.join()
    assert order == ["first", "large", "small"]


def test_a_thread_that_holds_some_is_not_stopped_by_itself_and_an_error_gives_back() -> None:
    with pytest.raises(ZeroDivisionError), budget.hold(budget.AT_ONCE), budget.hold(budget.AT_ONCE):
        1 / 0  # noqa: B018
    assert budget.held() == 0


def test_images_decoded_by_many_threads_share_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "AT_ONCE", 3 * 36 * 64 * 64)
    most = []
    real = Image.Image.load
    monkeypatch.setattr(Image.Image, "convert", lambda self, mode: (most.append(budget.held()), real(self), self)[2])
    for i in range(12):
        Image.new("RGB", (64, 64), (i, i, i)).save(tmp_path / f"{i}.png")
    pictures = Pictures.from_files([tmp_path / f"{i}.png" for i in range(12)])
    threads = [threading.Thread(target=pictures.__getitem__, args=(i,)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 12
    assert 36 * 64 * 64 <= max(most) <= budget.AT_ONCE


def test_an_upload_weighs_what_it_takes_in_memory(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "v.npz", embeddings=np.zeros((1000, 100), np.float32))
    assert weight(tmp_path) == 400_000
    os.remove(tmp_path / "v.npz")
    (tmp_path / "t.csv").write_text("id,label\n" + "a,b\n" * 1000, encoding="utf-8")
    assert weight(tmp_path) > 96 * 2000
    (tmp_path / "t.csv").unlink()
    (tmp_path / "run.txt").write_text("".join(f"q{i} Q0 d{i} 1 1 t\n" for i in range(1000)), encoding="utf-8")
    assert weight(tmp_path) == 8 * 1000 * 1000
    (tmp_path / "run.txt").unlink()
    pq.write_table(pa.table({"label": ["x" * 1000] * 1000}), tmp_path / "t.parquet")
    assert weight(tmp_path) == 1000 * 1096
