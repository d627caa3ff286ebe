"""A table of text from a file: delimiter, encoding and header found, every cell kept as written.

Ids, groups and labels are names, not numbers: ``0001`` stays ``0001``, ``NA`` is a value, and an empty cell is missing.
"""

from __future__ import annotations

import csv
import unicodedata
from collections import Counter
from pathlib import Path

import pandas as pd

from .errors import DataError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
MISSING = ""


def read_table(path: Path, *, encoding: str = "utf-8") -> pd.DataFrame:
    """What does the table say, cell by cell?

    Parameters
    ----------
    path : Path
        CSV, semicolon- or tab-separated text with a header line; a byte-order mark and any line ends are accepted.
    encoding : str
        UTF-8 unless the user names another; nothing is guessed.

    Returns
    -------
    pandas.DataFrame
        One row a line, one column a header cell, all cells text in Unicode normal form C; ``""`` is missing.

    Raises
    ------
    DataError
        The file is not text in that encoding, is empty, repeats a header name, or a row has too few or too many cells.
    """
    text = _read_text(path, encoding)
    lines = text.splitlines()
    if not lines or not lines[0].strip():
        raise DataError(f"{path.name} is empty; it needs a header line and a row for each picture")
    delimiter = _delimiter(lines[0])
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, skipinitialspace=True, strict=True)
    rows: list[list[str]] = []
    try:
        header = [unicodedata.normalize("NFC", name.strip()) for name in next(reader)]
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"{path.name} line {reader.line_num}: {len(cells)} cells where the header has {len(header)}, "
                    f"separated by {DELIMITERS[delimiter]}; quote cells that contain the separator, or complete the row"
                )
            rows.append([unicodedata.normalize("NFC", cell) for cell in cells])
    except csv.Error as error:
        raise DataError(
            f"{path.name} line {reader.line_num}: {error}; is this a text table with closed quotes?"
        ) from error
    _check_header(path, header)
    return pd.DataFrame(rows, columns=header, dtype="str")


def _read_text(path: Path, encoding: str) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path.name} cannot be read: {error.strerror}; check that the file exists") from error
    try:
        text = data.decode("utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding)
    except LookupError as error:
        raise DataError(f"encoding {encoding!r} is not known; use a name such as utf-8, cp1250 or latin-1") from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path.name} line {line}: byte 0x{data[error.start]:02x} is not {encoding}; save the file as UTF-8, "
            "or name its encoding, for example --encoding cp1250"
        ) from error
    if "\0" in text:
        raise DataError(f"{path.name} contains zero bytes, so it is not a text table in {encoding}")
    return text


def _delimiter(header: str) -> str:
    """The separator that the header line uses most, outside quotes; a single column needs none."""
    unquoted = "".join(header.split('"')[::2])
    counts = Counter({mark: unquoted.count(mark) for mark in DELIMITERS})
    return counts.most_common(1)[0][0]


def _check_header(path: Path, header: list[str]) -> None:
    repeated = [name for name, n in Counter(header).items() if n > 1 and name]
    if repeated:
        raise DataError(f"{path.name}: the header names {', '.join(map(repr, repeated))} more than once; rename one")
    if "" in header:
        raise DataError(f"{path.name}: header cell {header.index('') + 1} is empty; every column needs a name")
