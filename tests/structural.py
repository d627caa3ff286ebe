"""Inputs that are whole, and not what they should be: JSON, Arrow types, array headers, archives, runs, addresses.

``python -m tests.structural 100000`` tries so many, a share of each kind, and names each that did not end in a result
or in a ``DataError`` of at most a screen. Any of them comes back by its kind and number: ``check("npy", 17)``.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pages.shared.frame import settings
from recall_core import from_arrays
from recall_core.course import learner_progress, typed_input
from recall_core.datasets.containers import read_array
from recall_core.datasets.dataset import Dataset, load
from recall_core.datasets.embeddings import read_embeddings
from recall_core.datasets.judgements import read_judgements
from recall_core.datasets.score_files import read_scores
from recall_core.datasets.shards import read_shards, write_shards
from recall_core.datasets.tables import read_table
from recall_core.datasets.uploads import load_upload
from recall_core.diagnosis import report as diagnosis_report
from recall_core.diagnosis import triage, triage_files
from recall_core.diagnosis.comparison import compare
from recall_core.errors import SCREEN, DataError
from recall_core.evaluation import opening, report
from recall_core.evaluation.wiring import evaluate
from recall_core.experiments.index.kinds import configurations
from recall_core.images import corruption
from recall_core.protocol.choices import read_condition, read_filter
from recall_core.protocol.spec import Spec
from tests.datasets.test_readers import png

TABLE = "id,path,label,index\n0001,a.png,x,0\n0002,b.png,x,1\n"

SPELLED = {
    "@deep@": "[" * 100_000 + "]" * 100_000,
    "@deeper objects@": '{"a":' * 70 + "1" + "}" * 70,
    "@digits@": "9" * 5000,
    "@minus digits@": "-" + "9" * 25,
    "@huge@": "1e999",
    "@half@": "\\ud800",
}
"""What JSON can spell and Python's writer cannot: put in for these texts after writing."""

ODD = (
    *(None, True, False, 0, 1, -1, 2, 1.5, -0.0, 2**31, 10**17, float("inf"), float("nan")),
    *(
        "",
        " ",
        "x",
        "..",
        "../a.png",
        "/etc/passwd",
        "\0",
        "x" * 3000,
        "id",
        "label",
        "a.png",
        "=1",
        "0",
        "é",
        "e\u0301",
    ),
    *([], {}, [[]], [None], [1, "a"], ["a", "a"], {"a": 1}, {"": []}, [[1.0], [2.0]], [{"label": {"x": []}}]),
    *(*SPELLED, "half @half@"),
)


def mutated(value: Any, draw: random.Random) -> Any:
    """Change one or more places of a JSON value."""
    changed = json.loads(json.dumps(value))
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        places = list(_places(changed))
        if not places or draw.random() < 0.01:
            changed = _odd(draw)
            continue
        inside, key = draw.choice(places)
        kind = draw.random()
        if kind < 0.6:
            inside[key] = _odd(draw)
        elif kind < 0.75:
            del inside[key]
        elif kind < 0.85:
            inside[key] = [inside[key]] if draw.random() < 0.5 else {"a": inside[key]}
        else:
            other, elsewhere = draw.choice(places)
            inside[key] = json.loads(json.dumps(other[elsewhere]))
        if isinstance(inside, dict) and draw.random() < 0.1:
            inside[draw.choice(("", "extra", "half @half@", "x" * 3000))] = _odd(draw)
    return changed


def _odd(draw: random.Random) -> Any:
    return copy.deepcopy(draw.choice(ODD))


def spelled(value: Any) -> str:
    """Write it, with what Python's writer cannot."""
    text = json.dumps(value, ensure_ascii=False)
    for name, put in SPELLED.items():
        whole = name != "@half@"
        text = text.replace(f'"{name}"' if whole else name, put)
    return text


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found += [(value, key), *_places(value[key])]
    return found


OWN = {
    **{"format": 1, "name": "n", "header": ["id", "path", "label", "index"], "columns": {"id": "id", "label": "label"}},
    **{"pictures": ["a.png", "b.png"], "embeddings": ["v"], "notes": ["read"], "guarded": True},
    "defaults": {"relevant": "label", "junk_same": "index"},
}
SAMPLES = {
    "samples": [
        {"_id": {"$oid": str(i)}, "filepath": name, "tags": ["test"], "v": [1.0, i], "x": {"label": "c"}, "s": "t"}
        for i, name in enumerate(("a.png", "b.png"))
    ]
}
LABELS = {"classes": ["c", "d"], "labels": {"a": 0, "b": {"label": "x"}}}
TRUTH = {"qimlist": ["a"], "imlist": ["b"], "gnd": [{"easy": [0], "hard": [], "junk": [], "bbx": [1.0]}]}
DONE = {"version": 1, "tasks": {"F2": {"solved": True, "attempts": 3, "answers": {"recall@1": "1/4"}}}, "steps": [1, 2]}
FEATURES = {"info": {"features": {"label": {"names": ["c", "d"], "_type": "ClassLabel"}}}}


def json_of_data(draw: random.Random, folder: Path) -> None:
    """``dataset.json``, FiftyOne's two forms, ROxford's ground truth."""
    forms = (("dataset.json", OWN), ("samples.json", SAMPLES), ("labels.json", LABELS), ("gnd_x.json", TRUTH))
    name, whole = draw.choice(forms)
    for picture in ("a.png", "b.png"):
        (folder / picture).write_bytes(_png())
    if name == "dataset.json":
        (folder / "metadata.csv").write_text(TABLE, encoding="utf-8")
        (folder / "embeddings").mkdir()
        np.save(folder / "embeddings" / "0.npy", np.eye(2))
    (folder / name).write_text(spelled(mutated(whole, draw)), encoding="utf-8")
    if name == "gnd_x.json" and draw.random() < 0.5:
        read_judgements(folder / name)
    evaluate(load(folder), ks=(1,))


def json_of_progress(draw: random.Random, folder: Path) -> None:
    """What a browser, or a file that a visitor brings, says was done."""
    found = learner_progress.load_progress(spelled(mutated(DONE, draw)))
    merged = learner_progress.merge_progress(found, learner_progress.load_progress(json.dumps(DONE)))
    learner_progress.save_progress(learner_progress.with_attempt(merged, "F2", {"a": "b"}, correct=True)).encode()


def json_of_shards(draw: random.Random, folder: Path) -> None:
    """A manifest of vectors in many files."""
    write_shards(folder / "s", np.eye(4, dtype=np.float32), ["a", "b", "c", "d"], rows=2)
    manifest = json.loads((folder / "s" / "manifest.json").read_text(encoding="utf-8"))
    (folder / "s" / "manifest.json").write_text(spelled(mutated(manifest, draw)), encoding="utf-8")
    stored: Any = read_shards(folder / "s").values
    stored[[0, 1]]
    stored[:3]


def arrow(draw: random.Random, folder: Path) -> None:
    """Parquet and Feather with every type, any bits in it, any names of columns."""
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    n = draw.choice((0, 1, 2, 2, 3))
    columns = [_column(draw, n) for _ in range(draw.choice((1, 2, 2, 3, 4)))]
    usual = ("id", "embedding", "image", "label", "path", "file_name", "e0", "e1", "split", "name", "role", "x", "")
    names = [draw.choice(usual) for _ in columns]
    if draw.random() < 0.5:
        columns.append(pa.array([[float(i), 1.0] for i in range(n)], pa.list_(pa.float32())))
        names.append("embedding")
    table = pa.Table.from_arrays(columns, names=names)
    if draw.random() < 0.3:
        table = table.replace_schema_metadata({"huggingface": spelled(mutated(FEATURES, draw)).encode()})
    file = folder / draw.choice(("train-0.parquet", "embeddings.feather", "embeddings.parquet"))
    write = parquet.write_table if file.suffix == ".parquet" else feather.write_feather
    with suppress(Exception):  # what cannot be written, nobody brings
        write(table, file)
    if not file.is_file():
        return
    for read in (read_embeddings, lambda path: evaluate(load(path), ks=(1,))):
        with suppress(DataError):
            read(file)
    if draw.random() < 0.5:
        (folder / "metadata.csv").write_text(TABLE, encoding="utf-8")
    load(folder)


def _column(draw: random.Random, n: int) -> Any:
    import pyarrow as pa

    zones = ("UTC", "Europe/Budapest", "Nowhere/Land", "+01:30")
    units = ("s", "ms", "us", "ns")
    wide = [
        *(pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
        *(pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
        *(pa.duration(draw.choice(units)), pa.timestamp(draw.choice(units))),
        *(pa.timestamp(draw.choice(units), draw.choice(zones)), pa.decimal128(30, 3), pa.month_day_nano_interval()),
        *(pa.binary(4), pa.bool_()),
    ]
    kind = draw.choice(wide)
    plain = _bits(draw, kind, n)
    made = draw.random()
    if made < 0.45:
        return plain
    if made < 0.55:
        texts = [draw.choice((None, "a", "é", "x" * 50, "", "a.png")) for _ in range(n)]
        return pa.array(texts, draw.choice((pa.string(), pa.large_string())))
    if made < 0.65:
        content = [draw.choice((None, b"", b"\xff\xfe", b"\0", _png())) for _ in range(n)]
        return pa.array(content, draw.choice((pa.binary(), pa.large_binary())))
    if made < 0.75:
        cells = [
            draw.choice((None, {"bytes": _png(), "path": "a.png"}, {"bytes": None, "path": None})) for _ in range(n)
        ]
        return pa.array(cells, pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
    if made < 0.8:
        return pa.array([None] * n, draw.choice((pa.null(), pa.map_(pa.string(), pa.int32()))))
    if made < 0.85 and n:
        return pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), plain)
    size = draw.choice((1, 2, 2, 3))
    flat = _bits(draw, kind, n * size)
    if made < 0.92:
        return pa.FixedSizeListArray.from_arrays(flat, size)
    offsets = [min(i * size + draw.choice((0, 0, 0, 1)), n * size) for i in range(n)] + [n * size]
    return pa.ListArray.from_arrays(pa.array(sorted(offsets), pa.int32()), flat)


def _bits(draw: random.Random, kind: Any, n: int) -> Any:
    """Any bits, sometimes with gaps, as values of a type of fixed width."""
    import pyarrow as pa

    size = max(kind.bit_width // 8, 1) * max(n, 1)
    content = draw.choice((draw.randbytes(size), bytes(size), b"\xff" * size, b"\1" + bytes(size - 1)))
    gaps = pa.py_buffer(draw.randbytes(max(n // 8 + 1, 1))) if draw.random() < 0.3 else None
    return pa.Array.from_buffers(kind, n, [gaps, pa.py_buffer(content)])


SHAPES = (
    *("(True, 3)", "(3, True)", "(2, 2)", "(4,)", "()", "(-1, 2)", "(0, 2)", "(0, 9223372036854775808)", "(2, 0)"),
    *("(1180591620717411303424,)", "(2.0, 2)", "'ab'", "[2, 2]", "(None, 2)", "None", "2", "(2, 2, 1)", "{2, 2}"),
    *("(2, (2,))", "(1, 1, 1, 1)", "(" + "1, " * 70 + ")", "(99999999999, 2)", "(" + "9" * 5000 + ",)", "(2, 2", "1j"),
)
KINDS = (
    *("'<f4'", "'<f8'", "'>f8'", "'<f2'", "'<f16'", "'|O'", "'<U3'", "'>U2'", "'|S3'", "'|S0'", "'|V0'", "'|V3'"),
    *("'<M8[ns]'", "'<m8[D]'", "'<M8[99999999999Y]'", "'<c8'", "'|b1'", "'|u1'", "'<i8'", "[('a', '<f4')]", "[]"),
    *("[('a', '<f4'), ('a', '<f4')]", "('<f4', (3,))", "5", "None", "'zzz'", "''", "[('a', '|O')]", "'<U0'", "True"),
)


def npy(draw: random.Random, folder: Path) -> None:
    """Headers of arrays: any shape, any type, keys too many and too few."""
    file = folder / draw.choice(("vectors.npy", "scores.npy", "images.npy"))
    file.write_bytes(array_file(draw))
    readers: list[Callable[[], Any]] = [
        lambda: read_array(file),
        lambda: read_array(file, mapped=True),
        lambda: evaluate(from_arrays(np.eye(2), ["a", "a"]), embeddings=str(file), ks=(1,)),
        lambda: read_scores(file),
        lambda: evaluate(from_arrays(np.eye(2), ["a", "a"]), scores=str(file), ks=(1,)),
    ]
    for read in draw.sample(readers, 2):
        with suppress(DataError):
            read()
    (folder / "metadata.csv").write_text(TABLE, encoding="utf-8")
    evaluate(load(folder), ks=(1,))


def array_file(draw: random.Random) -> bytes:
    shape = draw.choice(SHAPES) if draw.random() < 0.6 else draw.choice(("(2, 2)", "(2,)", "(2, 4, 4)"))
    kind = draw.choice(KINDS) if draw.random() < 0.7 else "'<f4'"
    order = draw.choice(("False", "False", "True", "1", "None", "'F'"))
    header = f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}"
    if draw.random() < 0.05:
        header = draw.choice((header[:-2], header + "x", header.replace("'shape'", "'form'"), "[]", "9" * 9000, "\0"))
    version = draw.choice((b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\7\1"))
    encoded = header.encode("latin-1") + b"\n"
    length = len(encoded).to_bytes(2 if version == b"\1\0" else 4, "little")
    data = draw.choice((bytes(32), draw.randbytes(64), b"\0\0\x11\0" * 16, b"\0\xd8\0\0" * 16, b"a\0\0\0" * 16, b""))
    return b"\x93NUMPY" + version + length + encoded + data


def npz(draw: random.Random, folder: Path) -> None:
    """Several such arrays in one file, some of them as they should be."""
    file = folder / "vectors.npz"
    names = ("embeddings", "ids", "scores", "query_ids", "gallery_ids", "x", "é", "", "a/b")
    with zipfile.ZipFile(file, "w") as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that stands twice is meant
        for name in draw.sample(names, draw.choice((1, 2, 2, 3))):
            whole = io.BytesIO()
            np.save(whole, draw.choice((np.eye(2), np.array(["a", "b"]), np.array(b"a"), np.array([[1]] * 2, np.int8))))
            made.writestr(draw.choice((f"{name}.npy", f"{name}x")), draw.choice((array_file(draw), whole.getvalue())))
    damage(file, draw)
    for read in (read_embeddings, read_scores):
        with suppress(DataError):
            read(file)


METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


def archive(draw: random.Random, folder: Path) -> None:
    """Zips in every method, with damage in the data or in the fields of their headers."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        for name, content in (("c/a.png", _png()), ("d/b.png", _png()), ("t.csv", TABLE.encode())):
            packed.writestr(name, content, draw.choice(METHODS))
    content = bytearray(made.getvalue())
    for _ in range(draw.choice((0, 1, 1, 2))):
        at = content.find(draw.choice((b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06")), draw.randrange(len(content)))
        if at >= 0:  # version, flags, method, time, checksum, sizes, lengths
            content[min(at + draw.randrange(4, 46), len(content) - 1)] = draw.choice((0, 1, 8, 9, 12, 14, 93, 95, 255))
    for _ in range(draw.choice((0, 1, 1, 3))):
        content[draw.randrange(len(content))] = draw.randrange(256)
    load_upload([("u.zip", bytes(content))], folder / "mine")


def damage(file: Path, draw: random.Random) -> None:
    """Change a byte of a file, sometimes."""
    content = bytearray(file.read_bytes())
    if content and draw.random() < 0.3:
        content[draw.randrange(len(content))] = draw.randrange(256)
        file.write_bytes(content)


def saved_run(draw: random.Random, folder: Path) -> None:
    """A saved run with its report, its arrays or its table changed, or one byte of any file."""
    run = folder / "run"
    shutil.copytree(_run(), run)
    part = draw.choice(("report.json", "report.json", "ranking.npz", "ranking.npz", "items.csv", "byte"))
    if part == "report.json":
        whole = json.loads((run / part).read_text(encoding="utf-8"))
        keys = draw.choice((["spec"], ["given"], ["sides"], ["findings"], ["counts"], ["dataset"], list(whole)))
        changed = mutated({key: whole[key] for key in keys}, draw)
        (run / part).write_text(spelled(whole | changed if isinstance(changed, dict) else changed), encoding="utf-8")
    elif part == "ranking.npz":
        with np.load(run / part) as stored:
            arrays = {name: stored[name] for name in stored.files}
        for name in draw.sample(sorted(arrays), draw.choice((1, 1, 2))):
            arrays[name] = _changed(arrays[name], draw)
        np.savez(run / part, **{name: array for name, array in arrays.items() if draw.random() < 0.99})
    elif part == "items.csv":
        rows = [["label"], ["a"], ["a"], ["b"], ["b"]]
        rows[draw.randrange(5)] = draw.choice(([], [""], ["x", "y"], ["label"], ["\0"], ["x" * 3000]))
        with (run / part).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(rows)
    else:
        file = draw.choice(sorted(path for path in run.rglob("*") if path.is_file()))
        content = bytearray(file.read_bytes())
        content[draw.randrange(len(content))] = draw.randrange(256)
        file.write_bytes(content)
    opened = opening.open_run(run)
    report.report_text(opened)
    json.dumps(report.report_json(opened))
    report.report_csv(opened)
    compared = compare({"one": opened, "two": opening.open_run(_run())}, common=True)
    diagnosis_report.comparison_text(compared, ["map"])


def _changed(array: np.ndarray, draw: random.Random) -> np.ndarray:
    kind = draw.choice(("type", "shape", "value", "value", "value", "length"))
    if kind == "type":
        with np.errstate(invalid="ignore"):
            return array.astype(draw.choice(("f4", "i1", "u8", "U5", "c16", "?", "f8", "M8[s]")))
    if kind == "shape":
        return draw.choice((array[None], array.reshape(-1, 1), array.ravel()[:1].reshape(()) if array.size else array))
    if kind == "length":
        return draw.choice((array[:-1], np.concatenate([array, array]), array[:0]))
    changed = array.copy()
    if changed.size:
        changed.ravel()[draw.randrange(changed.size)] = draw.choice((-1, 0, 1, 2, 7, 2**31, -(2**63), 2**62))
    return changed


WORDS = (
    *("", " ", "0", "1", "-1", "+1", "01", "1_0", "1.5", "inf", "-inf", "nan", "1e999", "9" * 5000, "٣", "²", "0x10"),
    *("true", "None", "a", "a=b", "label=a", "label=a,b;label=c", "=", ";", ",", "%", "%ff", "%3D=%3D", "x" * 3000),
    *("view0->view1:1", "noise:0.5", "noise:inf", "blur:nan", "noise:", "utf-8", "utf-9", "\0", "../x", "label=0..inf"),
    *("10101", "(01)1", "1+" + "9" * 9, "id=label", "role=role", "cosine", "random", "miss", "\ud800", "label=\ud800"),
)


def address(draw: random.Random, folder: Path) -> None:
    """What an address can say: every field of a spec, filters, lists of k, columns, encodings, rankings."""
    usual = Spec(data="x", relevant="label", ks=(1,)).to_query()
    fields = [name for name in Spec.__dataclass_fields__ if name not in ("data", "encoder")]
    asked = usual | {draw.choice(fields): draw.choice(WORDS) for _ in range(draw.choice((1, 1, 2)))}
    word = draw.choice(WORDS)
    readers: list[Callable[[], Any]] = [
        *(lambda: read_filter(word), lambda: read_condition(word), lambda: settings.read_columns(word)),
        *(lambda: settings.read_encoding(word), lambda: settings.read_ks(word), lambda: settings.read_where(word)),
        *(
            lambda: corruption.parse_corruption(word),
            lambda: typed_input.read_ranking(word),
            lambda: typed_input.read_figure(word),
        ),
        lambda: typed_input.read_ranking("101", draw.choice((0, 2, 10**9, 10**30))),
        lambda: configurations(100, 8, [f"ivf-flat:nlist={word}"]),
    ]
    with suppress(DataError):
        draw.choice(readers)()
    spec = Spec.from_query(asked)
    assert Spec.from_query(spec.to_query()) == spec
    spec.to_command()
    spec.key()
    evaluate(_four(), spec)


def tags(draw: random.Random, folder: Path) -> None:
    """A table of tags, and the database that keeps them."""
    words = (
        "",
        "a",
        "tag",
        "note",
        "relevant",
        "item",
        "kind",
        "1",
        "=1",
        "'=1",
        "!",
        "x" * 3000,
        "é",
        "\r",
        "\n",
        '"',
    )
    if draw.random() < 0.5:
        rows = [
            ["item", "other", "kind", "name", "value"],
            ["a", "", "tag", "hard", "1"],
            ["a", "b", "relevant", "", "1"],
        ]
        for _ in range(draw.choice((1, 2, 3))):
            row = draw.choice(rows)
            row[draw.randrange(len(row))] = draw.choice(words)
            if draw.random() < 0.2:
                row.append(draw.choice(words))
            elif draw.random() < 0.2:
                row.pop()
            rows = [row for row in rows if row] or [["item"]]
        stream = io.StringIO()
        csv.writer(stream).writerows(rows)
        triage_files.read_triage_csv(stream.getvalue(), "d", folder=folder)
    else:
        triage.set_tag("d", "a", "hard", folder=folder)
        with sqlite3.connect(folder / triage.FILE) as store:
            column = draw.choice(("item", "other", "kind", "name", "value", "undoes", "session"))
            value = draw.choice((b"\xff", 5, 1.5, "", "x" * 3000, "\ud800".encode("utf-8", "surrogatepass")))
            store.execute(f"UPDATE change SET {column} = ?", (value,))
            if draw.random() < 0.3:
                store.execute(draw.choice(("DROP TABLE change", "PRAGMA user_version = 7", "DROP TABLE tag_list")))
        store.close()
    found = triage.marks("d", folder=folder)
    triage_files.triage_csv(found)
    triage_files.triage_patch(found)
    triage.tags_of(found)
    triage.tag_list("d", folder=folder)


def table(draw: random.Random, folder: Path) -> None:
    """A text table whose cells are numbers that no array holds, and whose encoding spells what is no text."""
    rows = [
        ["id", "path", "label", "index", "role"],
        ["1", "a.png", "x", "0", "query"],
        ["2", "b.png", "x", "1", "gallery"],
    ]
    for _ in range(draw.choice((1, 2, 3))):
        row = draw.choice(rows)
        row[draw.randrange(len(row))] = draw.choice([word for word in WORDS if word.isprintable() and word.isascii()])
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    (folder / "metadata.csv").write_text(stream.getvalue(), encoding="utf-8")
    encoding = draw.choice(("utf-8", "utf-8", "utf-8", "utf-7", "unicode_escape", "hex", "idna", "punycode", "utf-16"))
    with suppress(DataError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own, of an escape that is none
        read_table(folder / "metadata.csv", encoding=encoding)
    np.save(folder / "images.npy", np.zeros((2, 4, 4), np.uint8))
    evaluate(load(folder), ks=(1,), split=draw.choice(("by-role", "leave-one-out")))


INPUTS: dict[str, Callable[[random.Random, Path], None]] = {
    "data": json_of_data,
    "progress": json_of_progress,
    "shards": json_of_shards,
    "arrow": arrow,
    "npy": npy,
    "npz": npz,
    "archive": archive,
    "run": saved_run,
    "address": address,
    "tags": tags,
    "table": table,
}
"""Kind of input → make one, and do with it all that the program does."""


def check(kind: str, number: int) -> None:
    """Try one input: anything but a result or a short ``DataError`` comes out."""
    with tempfile.TemporaryDirectory() as place:
        try:
            INPUTS[kind](random.Random(f"{kind} {number}"), Path(place))
        except DataError as problem:
            message = str(problem)
            assert 0 < len(message) <= SCREEN, message
            message.encode()


@cache
def _png() -> bytes:
    return png(0)


@cache
def _four() -> Dataset:
    return from_arrays(np.eye(4), ["a", "a", "b", "b"])


@cache
def _run() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="structural-"))
    images = np.arange(4 * 16, dtype=np.uint8).reshape(4, 4, 4)
    evaluate(from_arrays(np.eye(4), ["a", "a", "b", "b"], images=images), ks=(1,)).save(folder / "run")
    return folder / "run"


def main() -> int:
    """Try as many inputs as the command says; returns how many went wrong."""
    n, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    warnings.simplefilter("error")
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    failed, start = 0, time.monotonic()
    for i in range(n):
        kind = list(INPUTS)[i % len(INPUTS)]
        try:
            with redirect_stdout(io.StringIO()):
                check(kind, first + i // len(INPUTS))
        except Exception:
            failed += 1
            print(f"{kind} {first + i // len(INPUTS)}:", traceback.format_exc(limit=-4), flush=True)
    shutil.rmtree(_run().parent)
    print(f"{n} inputs of {len(INPUTS)} kinds in {time.monotonic() - start:.0f} s, {failed} went wrong")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
