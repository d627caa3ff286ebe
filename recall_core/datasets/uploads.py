"""What a visitor uploads: stored in a folder that is theirs, archives unpacked with care, then read like any folder."""

from __future__ import annotations

import io
import math
import re
import shutil
import stat
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO

from .. import budget
from ..errors import DataError
from ..images import check_inside
from .arrow import arrow_weight
from .containers import npz_headers, read_array
from .dataset import Dataset, load
from .location import PICTURE_SUFFIXES
from .tables import SUFFIXES

MAX_ENTRIES = 100_000
MAX_BYTES = 4 * 2**30
CHUNK = 2**20

ARCHIVES = (".zip",)
NESTED = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
VECTORS = (".npy", ".npz", ".parquet", ".feather")
DATA = (*ARCHIVES, *SUFFIXES, *VECTORS, ".json")
UPLOADABLE = (*DATA, *sorted(PICTURE_SUFFIXES))
"""What the Start page may offer to upload."""

Upload = tuple[str, bytes | IO[bytes]]


def load_upload(
    files: Sequence[Upload], into: Path, *, columns: Mapping[str, str] | None = None, encoding: str = "utf-8"
) -> Dataset:
    """Store what was uploaded, and read it.

    Parameters
    ----------
    files : sequence of (name, content)
        A zip; or a table with its vectors (``.npy``, ``.npz``, Parquet, Feather), its pictures and, if there,
        ``ids.txt``. Content is bytes or a binary file.
    into : Path
        A folder of this visitor's alone; made if need be, must be empty. On an error it is emptied again.
    columns, encoding
        As for ``load``.

    Raises
    ------
    DataError
        The upload is refused (see ``unpack``), or what it holds cannot be read.
    """
    folder, notes = receive(files, into)
    try:
        found = load(folder, columns=columns, encoding=encoding)
    except BaseException:
        shutil.rmtree(folder)
        raise
    return replace(found, notes=(*notes, *found.notes))


def receive(files: Sequence[Upload], into: Path, *, most: int | None = None) -> tuple[Path, tuple[str, ...]]:
    """Store what was uploaded, as ``load_upload`` does, but read it later: ``load(folder)``, perhaps more than once.

    Parameters
    ----------
    most : int
        Bytes that it may take on the disk, all files together; ``MAX_BYTES`` by default.

    Returns
    -------
    folder : Path
        Inside ``into``, named after the archive or the table: what messages call the data set.
    notes : tuple of str
        What was left out, for the visitor.
    """
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise ValueError(f"{into} is not empty; each upload needs a folder of its own")
    names = [_plain_name(name) for name, _ in files]
    leading = next((name for name in names if Path(name).suffix.lower() in (*ARCHIVES, *SUFFIXES)), names[0])
    folder = into / Path(leading).stem
    folder.mkdir()
    try:
        notes, left = [], MAX_BYTES if most is None else most
        for name, content in files:
            more, n_bytes = store(name, content, folder, left)
            notes += more
            left -= n_bytes
        if any(path.suffix.lower() in SUFFIXES for path in folder.iterdir()):
            _name_arrays(folder)
    except BaseException:
        shutil.rmtree(folder)
        raise
    return folder, tuple(notes)


def store(name: str, content: bytes | IO[bytes], into: Path, most: int | None = None) -> tuple[list[str], int]:
    """Write one uploaded file into a folder, or unpack it there; returns notes for the visitor, and bytes written."""
    most = MAX_BYTES if most is None else most
    plain = _plain_name(name)
    suffix = Path(plain).suffix.lower()
    if suffix not in UPLOADABLE:
        raise DataError(f"{plain}: this kind of file cannot be uploaded; choose one of {', '.join(DATA)}, or a picture")
    stream = io.BytesIO(content) if isinstance(content, bytes) else content
    if suffix in ARCHIVES:
        return unpack(stream, into, name=plain, most=most)
    if (into / plain).exists():
        raise DataError(f"{plain} was uploaded twice; keep one")
    with (into / plain).open("wb") as target:
        return [], _copy(stream, target, most, plain, most)


def unpack(
    stream: IO[bytes], into: Path, *, name: str = "archive.zip", most: int | None = None
) -> tuple[list[str], int]:
    """Unpack a zip into a folder, entry by entry; returns notes for the visitor, and bytes written.

    Entries, bytes and the ratio of compression are counted while they stream, whatever the archive's own list claims.
    Archives inside the archive are left out, and said.

    Raises
    ------
    DataError
        Not a zip, encrypted, too many entries, too large, a ratio of a bomb; or an entry that is a link, has an
        absolute path or a drive letter, climbs out with ``..``, or stands twice. Nothing is written outside ``into``.
    """
    notes, n_bytes, most = [], 0, MAX_BYTES if most is None else most
    try:
        with zipfile.ZipFile(stream) as archive:
            entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
            if len(entries) > MAX_ENTRIES:
                raise DataError(
                    f"{name} holds {len(entries):,} files, more than {MAX_ENTRIES:,}; upload a part of them"
                )
            size = stream.seek(0, io.SEEK_END)
            allowed = min(most, budget.allowed(size))
            targets = [(entry, _target(entry, name)) for entry in entries]
            nested = [path for _, path in targets if path.suffix.lower() in NESTED]
            if nested:
                notes.append(f"{len(nested)} archives inside {name} were not opened, among them {nested[0]}")
            written: set[PurePosixPath] = set()
            for entry, path in targets:
                if path.suffix.lower() in NESTED or path.parts[0] == "__MACOSX" or path.name.startswith("."):
                    continue
                if path in written:
                    raise DataError(f"{name}: {str(path)!r} stands in it twice; pack it again")
                written.add(path)
                n_bytes += _unpack_entry(archive, entry, into / path, (allowed - n_bytes, most), name)
                _check_inside(into / path, size, f"{name}: {path.name}")
    except DataError:
        raise
    except OSError as error:
        if error.errno is None:  # bzip2 says so of damaged data
            raise DataError(f"{name} cannot be unpacked ({error}); pack it again as a plain zip") from error
        raise DataError(f"{name} cannot be unpacked ({error.strerror}); rename the file that it names") from error
    except Exception as error:  # each method of compression raises its own kinds on a damaged entry
        raise DataError(f"{name} cannot be unpacked ({error}); pack it again as a plain zip") from error
    return notes, n_bytes


COMPRESSED = (".npz", ".parquet", ".feather")


def weight(folder: Path) -> int:
    """How many bytes may reading the data set in this folder take in memory, whatever its files look like on the disk?

    Arrays count with what they unpack to, cells of tables with ``CELL`` bytes each and their text, images with the
    vector of one. ``DataError`` where a file is not whole, or unpacks to too much.
    """
    return sum(_weight(file) for file in sorted(folder.rglob("*")) if file.is_file())


def _check_inside(file: Path, size: int, name: str) -> None:
    """Judge a compressed file that came out of a smaller archive by the archive: what is packed twice unpacks twice."""
    if file.suffix.lower() in PICTURE_SUFFIXES:
        check_inside(file, size, name=name)
    elif file.suffix.lower() in COMPRESSED and file.stat().st_size > size:
        budget.check(name, _weight(file), size)


def _weight(file: Path) -> int:
    suffix, size = file.suffix.lower(), file.stat().st_size
    if suffix in PICTURE_SUFFIXES:
        return VECTOR
    if suffix == ".npz":
        return sum(math.prod(shape) * kind.itemsize for shape, kind in npz_headers(file).values())
    if suffix in (".parquet", ".feather"):
        return arrow_weight(file, CELL)
    if suffix in (*SUFFIXES, ".json"):
        text = file.read_bytes()
        marks = sum(text.count(mark) for mark in b"\n,;\t|[{:")
        return max(size + CELL * marks, _run_weight(file, text))
    return size if suffix == ".npy" else 0


def _run_weight(file: Path, text: bytes) -> int:
    """Of a TREC run: the matrix of its queries and items."""
    if not file.name.lower().startswith("run"):
        return 0
    lines = [words for line in text.split(b"\n") if len(words := line.split()) > 2]
    return 8 * len({words[0] for words in lines}) * len({words[2] for words in lines})


CELL = 96
"""Bytes that a cell takes as a text of Python's, in a list and in a table."""

VECTOR = 2**14
"""Bytes of the longest vector that an image is made into (``encoders.RAW_VALUES``)."""


def _target(entry: zipfile.ZipInfo, name: str) -> PurePosixPath:
    """Where an entry may go: below the folder, and nowhere else."""
    told = entry.orig_filename
    if not entry.flag_bits & 0x800:  # an old tool's name: bytes of UTF-8 that were taken for code page 437
        with suppress(UnicodeError):
            told = told.encode("cp437").decode("utf-8")
    told = told.replace("\\", "/")
    path = PurePosixPath(told)
    wrong = (
        "has an absolute path"
        if path.is_absolute() or re.match(r"[A-Za-z]:", told)
        else "climbs out of the archive"
        if ".." in path.parts
        else "is a link"
        if stat.S_ISLNK(entry.external_attr >> 16)
        else "is encrypted"
        if entry.flag_bits & 0x1
        else "has no usable name"
        if not path.parts or "\0" in told or not told.isprintable()
        else ""
    )
    if wrong:
        raise DataError(f"{name}: the entry {told!r} {wrong}, so the archive is refused; pack plain files and folders")
    return path


def _unpack_entry(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, allowed: tuple[int, int], name: str
) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as source, target.open("xb") as written:
        return _copy(source, written, allowed[0], name, allowed[1])


def _copy(source: IO[bytes], target: IO[bytes], allowed: int, name: str, most: int) -> int:
    """Copy piece by piece, and stop as soon as it is too much."""
    total = 0
    while piece := source.read(CHUNK):
        total += len(piece)
        if total > allowed:
            raise DataError(
                f"{name} unpacks to too much: at most {most / 2**30:.3g} GiB, and {budget.ratio()} times its own size; "
                "upload a smaller part"
            )
        target.write(piece)
    return total


def _name_arrays(into: Path) -> None:
    """Name loose arrays so that they are read with the table beside them: pictures by their shape, else vectors."""
    for path in sorted(into.iterdir()):
        if path.suffix.lower() not in VECTORS or path.name == "images.npy":
            continue
        deep = path.suffix.lower() == ".npy" and read_array(path, mapped=True).ndim > 2
        if not path.stem.lower().startswith("embedding"):
            path.rename(into / ("images.npy" if deep else f"embeddings_{path.name}"))
    for path in sorted(into.glob("*ids.txt")):
        path.rename(into / "ids.txt")


def _plain_name(name: str) -> str:
    plain = PurePosixPath(name.replace("\\", "/")).name
    if not plain or plain.startswith(".") or not plain.isprintable():
        raise DataError(f"{name!r} is not a usable file name; rename the file")
    return plain
