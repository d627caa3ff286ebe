"""How much do Parquet and Feather files unpack to? Judged by the headers of their pages and messages alone.

What the footer of a Parquet file says of its sizes may be a lie, and pyarrow offers no limit. But it unpacks each page
into exactly as many bytes as the page's own header says, and refuses it otherwise; so does it with each buffer of a
Feather file. Those numbers are added up here, and no data are read.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..budget import CELL
from ..errors import DataError, needs

Fields = dict[int, Any]

WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": CELL}
"""Bytes a value takes, by Parquet's physical type; what texts hold besides is counted while they are read."""

MAX_CHUNKS = 2**18
"""Columns times row groups that a Parquet file may have: each is looked at by itself."""

DELTA_BYTE_ARRAY = 7
"""Parquet's number of the encoding in which a value repeats the start of the one before it."""


@dataclass(frozen=True)
class Unpacked:
    """What a file unpacks to.

    Parameters
    ----------
    names : tuple of str
        Its columns.
    n_row : int
    n_bytes : int
        At least.
    largest : int
        Bytes of the largest page that holds texts: no text is longer.
    repeated : tuple of str
        Columns with lists of texts, by their whole path.
    """

    names: tuple[str, ...]
    n_row: int
    n_bytes: int
    largest: int = 1
    repeated: tuple[str, ...] = ()


def parquet_sizes(path: Path) -> Unpacked:
    """Walk over the pages of a Parquet file; ``ValueError`` where they are none."""
    with needs("pyarrow", path.name, extra="app"):
        import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file, path.open("rb") as stream:
        about, schema = file.metadata, file.schema
        names = tuple(file.schema_arrow.names)
        n_chunk = about.num_row_groups * about.num_columns
        if n_chunk > MAX_CHUNKS:
            raise DataError(f"{path.name} has {n_chunk:,} columns times row groups; write it in larger row groups")
        if not about.num_row_groups:
            return Unpacked(names, about.num_rows, about.num_rows * CELL)
        total, largest = 0, 1
        repeated: dict[str, None] = {}
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for group in range(about.num_row_groups):
                for place in range(about.num_columns):
                    leaf, chunk = schema.column(place), about.row_group(group).column(place)
                    pages, biggest, n_value, encodings = _chunk(content, chunk)
                    is_text, is_list = chunk.physical_type == "BYTE_ARRAY", leaf.max_repetition_level > 0
                    width = (
                        leaf.length if chunk.physical_type == "FIXED_LEN_BYTE_ARRAY" else WIDTHS[chunk.physical_type]
                    )
                    if is_text:
                        largest = max(largest, biggest)
                    if is_text and is_list:
                        repeated[chunk.path_in_schema] = None
                        width = max(width, biggest if DELTA_BYTE_ARRAY in encodings else 0)
                    total += max(pages, n_value * (width if is_list else max(width, CELL)))
    return Unpacked(names, about.num_rows, max(total, about.num_rows * CELL), largest, tuple(repeated))


def feather_sizes(path: Path) -> Unpacked:
    """Walk over the messages of a Feather file; ``ValueError`` where they are none."""
    with needs("pyarrow", path.name, extra="app"):
        import pyarrow

    with pyarrow.memory_map(str(path)) as file:
        names, messages = _messages(file)
        n_row, total = 0, 0
        for kind, metadata, body in messages:
            rows, n_bytes = _batch(metadata, body)
            total += max(n_bytes, rows * CELL * (len(names) if kind == "record batch" else 1))
            n_row += rows if kind == "record batch" else 0
    return Unpacked(names, n_row, total)


def _chunk(content: mmap.mmap, chunk: Any) -> tuple[int, int, int, set[int]]:
    """Of one column in one row group: bytes of its pages, of the largest, values, and encodings."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset and chunk.dictionary_page_offset > 0:
        start = min(start, chunk.dictionary_page_offset)
    end = start + chunk.total_compressed_size
    if not 0 < start <= end <= len(content) or chunk.num_values < 0:
        raise ValueError("a column lies outside the file")
    total, largest, seen, encodings = 0, 0, 0, set()
    while start < end and seen < chunk.num_values:
        page, start = _thrift(content, start, end)
        unpacked, packed = page.get(2, -1), page.get(3, -1)
        if unpacked < 0 or packed < 0:
            raise ValueError("a page has no size")
        data = page.get(5) or page.get(8) or {}
        seen += max(data.get(1, 0), 0)
        encodings.add(data.get(2 if 5 in page else 4, 0))
        total, largest, start = total + unpacked, max(largest, unpacked), start + packed
    return total, largest, max(seen, chunk.num_values), encodings


def _thrift(content: mmap.mmap, at: int, end: int, depth: int = 0) -> tuple[Fields, int]:
    """Read a struct in Thrift's compact protocol: number of each field → its value, and where the struct ends."""
    fields: Fields = {}
    number = 0
    while at < end and depth < 8:
        head = content[at]
        at += 1
        if head == 0:
            return fields, at
        if head >> 4:
            number += head >> 4
        else:
            number, at = _zigzag(content, at, end)
        fields[number], at = _value(content, at, end, head & 15, depth)
    raise ValueError("a page's header has no end")


def _value(content: mmap.mmap, at: int, end: int, kind: int, depth: int) -> tuple[Any, int]:
    """Read a value of one of Thrift's compact types; texts, lists and maps, of no interest here, are passed over."""
    if kind in (1, 2):
        return kind == 1, at
    if kind == 3:
        return 0, at + 1
    if kind in (4, 5, 6):
        return _zigzag(content, at, end)
    if kind == 7:
        return 0, at + 8
    if kind == 8:
        length, at = _varint(content, at, end)
        return None, at + length
    if kind == 12:
        return _thrift(content, at, end, depth + 1)
    raise ValueError("a page's header holds what none holds")


def _zigzag(content: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    n, at = _varint(content, at, end)
    return (n >> 1) ^ -(n & 1), at


def _varint(content: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    n = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        n |= (content[at] & 127) << shift
        at += 1
        if content[at - 1] < 128:
            return n, at
    raise ValueError("a number in a page's header has no end")


def _messages(file: Any) -> tuple[tuple[str, ...], Iterator[tuple[str, memoryview, memoryview]]]:
    """Names of the columns, and the messages that hold data: kind, header, body."""
    with needs("pyarrow", "a Feather file", extra="app"):
        import pyarrow.ipc

    file.seek(8)  # behind the magic bytes lies a stream
    names = tuple(pyarrow.ipc.open_stream(file).schema.names)
    file.seek(8)
    reader = pyarrow.ipc.MessageReader.open_stream(file)
    held = ((one.type, memoryview(one.metadata), memoryview(one.body or b"")) for one in reader)
    return names, (one for one in held if one[0] != "schema")


def _batch(metadata: memoryview, body: memoryview) -> tuple[int, int]:
    """Rows of a message's record batch, and bytes that its buffers unpack to."""
    batch = _table(metadata, _offset(metadata, 0))
    kind = metadata[batch[1]] if 1 in batch else 0
    batch = _table(metadata, _offset(metadata, batch[2]))
    if kind == DICTIONARY_BATCH:
        batch = _table(metadata, _offset(metadata, batch[1]))
    (n_row,) = struct.unpack_from("<q", metadata, batch[0]) if 0 in batch else (0,)
    total = 0
    vector = _offset(metadata, batch[2]) if 2 in batch else None
    n_buffer = 0 if vector is None else struct.unpack_from("<I", metadata, vector)[0]
    for place in range(n_buffer):
        start, length = struct.unpack_from("<qq", metadata, (vector or 0) + 4 + 16 * place)
        if not 0 <= start <= start + length <= len(body) or n_row < 0:
            raise ValueError("a buffer lies outside the file")
        unpacked = struct.unpack_from("<q", body, start)[0] if 3 in batch and length >= 8 else -1
        total += length if unpacked < 0 else unpacked
    return n_row, total


DICTIONARY_BATCH = 2
"""Arrow's number of a message that holds a dictionary."""


def _offset(content: memoryview, at: int) -> int:
    """Where a flatbuffer's reference leads."""
    return at + int(struct.unpack_from("<I", content, at)[0])


def _table(content: memoryview, at: int) -> dict[int, int]:
    """Where a flatbuffer's table has its fields: number of the field → position."""
    sizes = at - int(struct.unpack_from("<i", content, at)[0])
    (length,) = struct.unpack_from("<H", content, sizes)
    places = struct.unpack_from(f"<{(length - 4) // 2}H", content, sizes + 4)
    return {number: at + place for number, place in enumerate(places) if place}
