"""A table of text from a file: delimiter, encoding and header found, every cell kept as written.

Ids, groups and labels are names, not numbers: ``0001`` stays ``0001``, ``NA`` is a value, and an empty cell is missing.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import DataError, setting

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SUFFIXES = (".csv", ".tsv", ".tab", ".txt")
MISSING = ""

COLUMN_NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "image_id", "item_id", "sample_id", "uid"),
    "path": ("path", "filepath", "file_path", "image_path", "filename", "file_name", "file"),
    "group": (
        *("scene_id", "group_id", "group", "identity", "pid", "person_id"),
        *("product_id", "product", "instance_id", "landmark_id", "place_id"),
    ),
    "view": ("view_id", "view"),
    "split": ("split", "subset", "partition"),
    "label": (
        "label",
        "class",
        "class_name",
        "orientation",
        "class_id",
        "category",
        "ground_truth.label",
        "ground_truth",
    ),
    "camera": ("camera_id", "camera", "camid", "cam"),
    "side": ("role", "side", "is_query", "evaluation_status"),
    "junk": ("junk", "is_junk"),
}
"""Role → conventional names of the column that plays it; the first that is there is taken."""


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
    return parse_table(read_text(path, encoding), path.name)


def parse_table(text: str, name: str, *, keep_blank: bool = False) -> pd.DataFrame:
    """Read a table out of text, as ``read_table`` does out of a file; ``name`` is what messages call it.

    Rows without a filled cell at the end, as spreadsheets leave them, are passed over unless ``keep_blank``.
    """
    text, delimiter = _declared(text)
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    if not first:
        raise DataError(f"{name} is empty; it needs a header line and a row for each picture")
    delimiter = delimiter or _delimiter(first)
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    header: list[str] = []
    rows: list[list[str]] = []
    try:
        for cells in reader:
            if not cells:
                continue
            if not header:
                header = [normal(cell.strip()) for cell in cells]
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"{name} line {reader.line_num}: {len(cells)} cells where the header has {len(header)}, "
                    f"separated by {DELIMITERS[delimiter]}; quote cells that contain the separator, or complete the row"
                )
            rows.append([normal(cell) for cell in cells])
    except csv.Error as error:
        raise DataError(f"{name} line {reader.line_num}: {error}; is this a text table with closed quotes?") from error
    while rows and not keep_blank and not any(cell.strip() for cell in rows[-1]):
        rows.pop()
    if header[0] == "" and len(header) > 1:
        header[0] = "column 1"  # the nameless row numbers that pandas writes
    _check_header(name, header)
    return pd.DataFrame(rows, columns=header, dtype="str")


def find_columns(table: pd.DataFrame, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Which column plays which role?

    Raises
    ------
    DataError
        A role is not known, or a column that the user named is not in the table.
    """
    found = {}
    lower = {str(name).lower(): str(name) for name in reversed(table.columns)}
    for role, names in COLUMN_NAMES.items():
        match = next((lower[name] for name in names if name in lower), None)
        if match is not None:
            found[role] = match
    for role, column in (given or {}).items():
        if role not in COLUMN_NAMES:
            raise DataError(f"{setting('columns', f'{role}=…')}: no such role; the roles are {', '.join(COLUMN_NAMES)}")
        if column not in table:
            raise DataError(
                f"{setting('columns', f'{role}={column}')}: there is no such column; "
                f"there are {', '.join(table.columns)}"
            )
        found[role] = column
    return found


def item_ids(table: pd.DataFrame, columns: Mapping[str, str]) -> list[str]:
    """What each row is called: the id column, else the path, else the lab's index, else the row number."""
    for name in (columns.get("id"), columns.get("path"), "index"):
        if name is not None and name in table:
            return list(table[name])
    return [str(row) for row in range(len(table))]


def parse_number(cell: str) -> float:
    """Read a number as people write it, with a decimal point or a decimal comma; ``ValueError`` for anything else.

    Examples
    --------
    >>> parse_number("1.5"), parse_number("1,5"), parse_number("-2e3")
    (1.5, 1.5, -2000.0)
    """
    plain = cell.strip()
    if plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    if "_" in plain:
        raise ValueError(cell)
    return float(plain)


def whole(text: str, most: int) -> int | None:
    """Which whole number from 0 to ``most`` do the digits spell? None for anything else, however long it is.

    Examples
    --------
    >>> whole("007", 9), whole("10", 9), whole("-1", 9), whole("9" * 5000, 9)
    (7, None, None, None)
    """
    digits = text.lstrip("0") or text[:1]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= len(str(most))):
        return None
    return int(digits) if int(digits) <= most else None


def numbers_of(cells: Sequence[str] | NDArray[np.object_]) -> NDArray[np.float64] | None:
    """(n,) a column's cells as numbers, nan where missing; None unless every other cell is a finite number."""
    try:
        numbers = np.array([np.nan if cell == MISSING else parse_number(cell) for cell in cells], dtype=np.float64)
    except ValueError:
        return None
    filled = np.array([cell != MISSING for cell in cells], dtype=bool)
    return numbers if filled.any() and np.isfinite(numbers[filled]).all() else None


def normal(cell: str) -> str:
    """Text in Unicode normal form C: a name is one name, whichever way its accents are stored."""
    return cell if cell.isascii() else unicodedata.normalize("NFC", cell)


def exact_csv(table: pd.DataFrame) -> str:
    """Spell a table as CSV, exactly; what is undefined is empty."""
    cells = (cell for name in text_columns(table) for cell in table[name].tolist() if isinstance(cell, str))
    # Python's writer leaves both without quotes: at a carriage return readers end the row, a blank in front they drop.
    needed = any("\r" in cell or cell[:1].isspace() for cell in cells)
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if needed else csv.QUOTE_MINIMAL
    return str(table.to_csv(index=False, lineterminator="\n", quoting=quoting))


def text_columns(table: pd.DataFrame) -> list[str]:
    """Names of the columns that may hold text."""
    return [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name].dtype)]


def name_of(value: Any) -> str:
    """A value out of a notebook as a cell; none, nan and pandas' NA are missing.

    A column of whole numbers with a gap reads as floats: 3.0 on one side is 3 on the other.

    Examples
    --------
    >>> [name_of(value) for value in ("0001", 3, 3.0, 2.5, None, float("nan"))]
    ['0001', '3', '3', '2.5', '', '']
    """
    if value is None or value is pd.NA or value != value:
        return MISSING
    whole = isinstance(value, float | np.floating) and value.is_integer()
    return normal(str(int(value) if whole else value))


def some(items: Iterable[object], n: int = 5) -> str:
    """Spell the first few items for a message, and how many more there are."""
    every = list(items)
    shown = ", ".join(repr(str(item)) for item in every[:n])
    return shown + (f" and {len(every) - n} more" if len(every) > n else "")


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Read a whole text file, without its byte-order mark; ``DataError`` names line and byte of what is not text."""
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # a zero byte in the name is a ValueError
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{path.name} cannot be read: {why}; check that the file exists") from error
    try:
        text = data.decode(_codec(data, encoding))
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        line = data[:start].count(b"\n") + 1
        raise DataError(
            f"{path.name} line {line}: byte 0x{data[start : start + 1].hex()} is not {encoding}; "
            f"save the file as UTF-8, or name its encoding, for example {setting('encoding', 'cp1250')}"
        ) from error
    except (LookupError, ValueError) as error:
        raise DataError(
            f"encoding {encoding!r} is not known; use a name such as utf-8, cp1250 or latin-1", field="encoding"
        ) from error
    if re.search("[\ud800-\udfff]", text):  # some encodings spell halves of characters
        raise DataError(
            f"{path.name} is not text in {encoding}: it holds halves of characters; save it as UTF-8", field="encoding"
        )
    if "\0" in text:
        raise DataError(f"{path.name} contains zero bytes, so it is not a text table in {encoding}")
    return text


def split_lines(path: Path) -> list[tuple[int, list[str]]]:
    """Numbered lines of words apart by blanks, as TREC's files have them; blank lines are passed over."""
    lines = enumerate(read_text(path).split("\n"), 1)
    return [(line, [normal(word) for word in text.split()]) for line, text in lines if text.strip()]


def _codec(data: bytes, encoding: str) -> str:
    """UTF-8 with or without its mark; UTF-16 where its mark says so (Excel's "Unicode text"); else as named."""
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        return encoding
    return "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _declared(text: str) -> tuple[str, str]:
    """Take off Excel's first line ``sep=;``, which names the separator."""
    line = re.match(r'"?sep=(.)"?\r?\n', text)
    return (text[line.end() :], line[1]) if line and line[1] in DELIMITERS else (text, "")


def _delimiter(header: str) -> str:
    """The separator that the header line uses most, outside quotes; a single column needs none."""
    unquoted = "".join(header.split('"')[::2])
    counts = Counter({mark: unquoted.count(mark) for mark in DELIMITERS})
    return counts.most_common(1)[0][0]


def _check_header(name: str, header: list[str]) -> None:
    repeated = [cell for cell, n in Counter(header).items() if n > 1 and cell]
    if repeated:
        raise DataError(f"{name}: the header names {', '.join(map(repr, repeated))} more than once; rename one")
    if "" in header:
        raise DataError(f"{name}: header cell {header.index('') + 1} is empty; every column needs a name")
