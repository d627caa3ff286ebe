"""JSON that somebody else wrote: parsed whole, and only as deep and as large as ours ever is, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import DataError
from .tables import read_text

MAX_DEPTH = 64
"""Levels of lists and objects inside each other; what is deeper breaks whoever walks through it."""

MAX_DIGITS = 18
"""Digits of a whole number: what fits into 64 bits, and so into every array."""


def read_json(path: Path, remedy: str = "write it again") -> Any:
    """What does the JSON file say?

    Raises
    ------
    DataError
        As ``parse_json``, or the file cannot be read.
    """
    return parse_json(read_text(path), path.name, remedy)


def parse_json(text: str, name: str, remedy: str = "write it again") -> Any:
    """What does the JSON text say? ``name`` is what messages call it, ``remedy`` what to do.

    Raises
    ------
    DataError
        It is no JSON, too deep, holds a whole number that no array holds, or a text that is not valid Unicode.

    Examples
    --------
    >>> parse_json('{"a": [1, 2]}', "a.json")
    {'a': [1, 2]}
    """
    try:
        content = json.loads(text, parse_int=_whole)
        json.dumps(content, ensure_ascii=False).encode()
    except RecursionError as error:
        raise _too_deep(name, remedy) from error
    except (ValueError, MemoryError) as error:
        raise DataError(f"{name} is not whole JSON ({error}); {remedy}") from error
    level = [content]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise _too_deep(name, remedy)
    return content


def texts_of(value: Any) -> list[str] | None:
    """Give a list of texts, where it is one."""
    return value if isinstance(value, list) and all(isinstance(one, str) for one in value) else None


def texts_by_name(value: Any) -> dict[str, str] | None:
    """Give an object whose values are texts, where it is one."""
    return value if isinstance(value, dict) and all(isinstance(one, str) for one in value.values()) else None


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} characters; at most {MAX_DIGITS} digits are read")
    return int(digits)


def _too_deep(name: str, remedy: str) -> DataError:
    return DataError(f"{name}: lists and objects lie more than {MAX_DEPTH} deep inside each other; {remedy}")
