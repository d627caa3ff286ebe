"""The documents' table of bad-input messages says what the program really says.

``python -m tests.datasets.test_bad_input`` writes the table anew.
"""

import io
import json
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather

from recall_core import from_arrays
from recall_core.datasets.dataset import Dataset, load
from recall_core.datasets.embeddings import read_embeddings
from recall_core.datasets.own_form import export
from recall_core.datasets.score_files import read_scores
from recall_core.datasets.uploads import load_upload
from recall_core.errors import DataError
from recall_core.evaluation.opening import open_run
from recall_core.evaluation.wiring import evaluate
from recall_core.images.decoding import decode
from recall_core.program import flag
from tests.conftest import ROOT
from tests.datasets.test_readers import png

DOCUMENT = ROOT / "docs" / "bad-input.md"

INTRODUCTION = """# When the data cannot be right

What cannot be right is refused with a message that says what is wrong, where, and what to do; on the command line the
exit code is 2. What is merely suspicious never stops a run: it stands among the findings, beside the number. The
messages below are those of small examples, word for word; a test holds this page to the program. A message has at most
2,000 characters: of a longer one the middle is left out. Other tests try inputs that are mutated byte by byte and in
their structure (JSON, Arrow types, headers of arrays, methods of archives, saved runs, addresses); each ends in a
result or in such a message. `python -m tests.structural 100000` tries as many as it is told to.
"""

ENDING = """
A picture that is broken, empty, missing, too large or of an unknown format stops nothing: its row takes no part, and a
finding names row, id and reason. Rows are counted from 1 without the header, lines from 1 with it.
"""

Case = Callable[[Path], object]


def table(content: str | bytes, name: str = "metadata.csv", **choices: object) -> Case:
    def read(folder: Path) -> object:
        (folder / "a.png").write_bytes(png(0))
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return evaluate(load(folder), **choices)  # type: ignore[arg-type]

    return read


def vectors(values: object, name: str = "vectors.npy") -> Case:
    def read(folder: Path) -> object:
        path = folder / name
        if isinstance(values, bytes):
            path.write_bytes(values)
        else:
            np.save(path, np.asarray(values), allow_pickle=True)
        if path.suffix == ".npy" and not isinstance(values, bytes) and np.asarray(values).dtype != object:
            return evaluate(three(), embeddings=str(path))
        return read_embeddings(path)

    return read


def judged(content: str, name: str, choice: str = "relevant_pairs", **choices: object) -> Case:
    def read(folder: Path) -> object:
        (folder / name).write_text(content, encoding="utf-8")
        return evaluate(three(), **{choice: str(folder / name)}, **choices)  # type: ignore[arg-type]

    return read


def uploaded(*entries: tuple[str, bytes]) -> Case:
    def read(folder: Path) -> object:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in entries:
                archive.writestr(name, content)
        return load_upload([("photos.zip", stream.getvalue())], folder / "mine")

    return read


def ours(defaults: dict[str, str]) -> Case:
    """Our own folder form, and what it prescribes."""

    def read(folder: Path) -> object:
        export(three(), folder)
        about = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
        (folder / "dataset.json").write_text(json.dumps(about | {"defaults": defaults}), encoding="utf-8")
        return load(folder)

    return read


def written(name: str, content: bytes) -> Case:
    def read(folder: Path) -> object:
        (folder / name).write_bytes(content)
        return load(folder)

    return read


def linked(folder: Path) -> object:
    """A table that lies elsewhere."""
    (folder.parent / "other.csv").write_text("path,label\na.png,x\n", encoding="utf-8")
    (folder / "metadata.csv").symlink_to(folder.parent / "other.csv")
    return load(folder)


def arrow(names: list[str], column: pa.Array) -> Case:
    def read(folder: Path) -> object:
        feather.write_feather(pa.Table.from_arrays([column] * len(names), names=names), folder / "vectors.feather")
        return read_embeddings(folder / "vectors.feather")

    return read


def damaged_run(folder: Path) -> object:
    evaluate(three(), ks=(1,)).save(folder / "run")
    arrays = folder / "run" / "ranking.npz"
    content = bytearray(arrays.read_bytes())
    content[80] ^= 0xFF  # inside the first array
    arrays.write_bytes(content)
    return open_run(folder / "run")


def damaged_zip(folder: Path) -> object:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.csv", "path,label\n" * 100)
    content = bytearray(stream.getvalue())
    content[60] ^= 0xFF
    return load_upload([("photos.zip", bytes(content))], folder / "mine")


def npy(shape: str) -> bytes:
    """An array whose header says this shape."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(48)


def ids_of_no_text() -> bytes:
    """Two vectors, one of which has an id beyond the last character of Unicode."""
    ids, stream = np.array(["a", "b"]), io.BytesIO()
    ids.view(np.uint32)[0] = 0x110000
    np.savez(stream, embeddings=np.eye(2), ids=ids)
    return stream.getvalue()


def blank(folder: Path) -> object:
    """The head of a PNG of 9,000 × 7,000 pixels; what follows it is never reached."""
    head = b"IHDR" + struct.pack(">IIBBBBB", 9000, 7000, 8, 2, 0, 0, 0)
    chunks = [(head, zlib.crc32(head)), (b"IDAT", zlib.crc32(b"IDAT"))]
    content = b"".join(struct.pack(">I", len(data) - 4) + data + struct.pack(">I", check) for data, check in chunks)
    return decode(b"\x89PNG\r\n\x1a\n" + content, name="blank.png")


def three() -> Dataset:
    return from_arrays(np.eye(3), ["a", "a", "b"])


def swapped(folder: Path) -> object:
    (folder / "pairs.csv").write_text("query_id,gallery_id\n1,0\n", encoding="utf-8")
    data = from_arrays(np.eye(1), ["a"], np.eye(1), ["a"])
    return evaluate(data, relevant_pairs=str(folder / "pairs.csv"))


SECTIONS: dict[str, dict[str, Case]] = {
    "Tables": {
        "another encoding than UTF-8": table("path,label\na.png,Erdő\n".encode("cp1250")),
        "an encoding that is none": lambda folder: (
            (folder / "metadata.csv").write_text("path\na.png\n", encoding="utf-8"),
            load(folder, encoding="utf-9"),
        ),
        "an empty file": table(""),
        "a header without rows": table("path,label\n"),
        "a row that is too short": table("path,label\na.png,x\na.png\n"),
        "a quote that is never closed": table('path,label\na.png,"x\n'),
        "two columns of one name": table("path,label,label\na.png,x,y\n"),
        "a column without a name": table("path,,label\na.png,x,y\n"),
        "no column of pictures": table("picture,label\na.png,x\n"),
        "an empty path": table("path,label\na.png,x\n,y\n"),
        "a path out of the folder": table("path,label\n../a.png,x\n"),
        "the same id twice": table("id,path\n0001,a.png\n0001,a.png\n"),
        "nothing that says what is relevant": table("path,colour\na.png,red\n"),
        "a value that no row has": table("path,label\na.png,x\n", where=(("label", ("y",)),)),
        "a side that is neither": table("path,label,role\na.png,x,asker\n"),
        "several tables": lambda folder: (
            (folder / "b.csv").write_text("path\na.png\n", encoding="utf-8"),
            table("path\n", "a.csv")(folder),
        ),
        "nothing readable": load,
    },
    "Vectors": {
        "not a whole file": vectors(b"\x93NUMPY\x01\x00"),
        "Python objects": vectors(np.array([{}], dtype=object)),
        "text": vectors(b"id,embedding\na,[1 ... 2]\n", "vectors.csv"),
        "vectors of different lengths": vectors(b"id,embedding\na,[1 2]\nb,[1]\n", "vectors.csv"),
        "no column of vectors": vectors(b"id,name\na,b\n", "vectors.csv"),
        "a kind of file that holds none": vectors(b"", "vectors.pkl"),
        "fewer vectors than rows": vectors(np.eye(2)),
        "nan or infinity": vectors([[1, 0], [np.nan, 1], [0, 1]]),
        "overflow of half precision": vectors(np.array([[1, 0], [np.inf, 1], [0, 1]], np.float16)),
        "an id that the vectors lack": lambda folder: (
            np.savez(folder / "vectors.npz", embeddings=np.eye(3), ids=np.array(["0", "1", "7"])),
            evaluate(three(), embeddings=str(folder / "vectors.npz")),
        ),
    },
    "Judgements and scores": {
        "another header": judged("query,item\n0,1\n", "pairs.csv"),
        "an id that nobody has": judged("0 0 9 1\n", "qrels.txt"),
        "a grade that is no number": judged("query_id,gallery_id,grade\n0,1,good\n", "pairs.csv"),
        "the columns swapped": swapped,
        "a line of a run that is too short": judged("0 Q0 1 1\n", "run.txt", "scores", relevant="label"),
        "an item twice in one list": judged("0 Q0 1 1 9 t\n0 Q0 1 2 8 t\n", "run.txt", "scores", relevant="label"),
        "scores of another shape": lambda folder: (
            np.save(folder / "scores.npy", np.eye(2)),
            evaluate(three(), scores=str(folder / "scores.npy")),
        ),
        "scores for other items": judged("q Q0 d 1 1 t\n", "run.txt", "scores", relevant="label"),
        "a run that is empty": lambda folder: ((folder / "run.txt").touch(), read_scores(folder / "run.txt")),
        "ground truth that is not": judged("{}", "gnd.json"),
    },
    "What unpacks to too much": {
        "an image much larger than its file": blank,
        "a run that is much larger as a matrix": lambda folder: (
            (folder / "run.txt").write_text("".join(f"{i} Q0 {i} 1 1 t\n" for i in range(8192)), encoding="utf-8"),
            read_scores(folder / "run.txt"),
        ),
    },
    "What data choose": {
        "code": ours({"encoder": "module:function"}),
        "two rules of what is relevant": ours({"relevant": "label", "relevant_pairs": "metadata.csv"}),
        "a file out of the folder": ours({"relevant_pairs": "../other.csv"}),
        "a table or an array that is a link out of the folder": linked,
    },
    "What other programs and former runs left": {
        "JSON that is cut short": written("samples.json", b'{"samples": ['),
        "JSON 100,000 levels deep": written("samples.json", b"[" * 100_000),
        "a number of 5,000 digits": judged("9" * 5000, "gnd.json"),
        "a value of another type in dataset.json": written("dataset.json", b'{"format": 1, "name": 5}'),
        "a column that stands twice": arrow(["id", "id"], pa.array(["a"])),
        "dates that no calendar of Python holds": arrow(["id", "e0"], pa.array([2**40], pa.timestamp("s"))),
        "a shape of other things than numbers": vectors(npy("(True, 3)")),
        "characters that Unicode does not have": vectors(ids_of_no_text(), "vectors.npz"),
        "one damaged byte in a saved run": damaged_run,
        "a k that no array holds": lambda folder: evaluate(three(), ks=(10**30,)),
    },
    "Uploads": {
        "an entry that climbs out": uploaded(("../../x.png", b"")),
        "an absolute path": uploaded(("C:\\x.png", b"")),
        "a bomb": uploaded(("zeros.bmp", bytes(2**25))),
        "a damaged zip": damaged_zip,
        "not a zip": lambda folder: load_upload([("photos.zip", b"photos")], folder / "mine"),
        "another kind of file": lambda folder: load_upload([("model.pkl", b"")], folder / "mine"),
        "an archive without data": uploaded(("readme.md", b"hello")),
    },
}
"""Section → what is wrong → how to make it happen."""


def message(case: Case) -> str:
    """What the program says, without the folder that the example lay in."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "photos"
        folder.mkdir()
        try:
            case(folder)
        except DataError as error:
            return re.sub(rf"{re.escape(place)}/(photos/)?", "", error.spelled(flag))
    raise AssertionError("nothing was refused")


def document() -> str:
    lines = [INTRODUCTION]
    for section, cases in SECTIONS.items():
        lines += [f"## {section}\n", "| what is wrong | the message |", "|---|---|"]
        lines += [f"| {what} | `{message(case).replace('|', chr(92) + '|')}` |" for what, case in cases.items()]
        lines.append("")
    return "\n".join(lines) + ENDING


def test_the_documents_table_of_messages_is_what_the_program_says() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run python -m tests.datasets.test_bad_input"


def test_every_message_says_where_and_what_to_do() -> None:
    for cases in SECTIONS.values():
        for what, case in cases.items():
            assert re.search(r"[;:] ", message(case)), what


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
