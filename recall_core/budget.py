"""How much may a file unpack to, and how much may all that is unpacked at the same time take?

A few kilobytes can unpack to gigabytes. So every compressed form (zip, ``.npz``, Parquet, Feather, a picture) is judged
by its header before its data are read: it may unpack to ``COUNTS_FROM`` bytes whatever its size, and beyond that to
``RATIO`` times its own size. Whoever unpacks takes the bytes out of one budget of the process, and waits while others
have them.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from .errors import DataError

RATIO = 100
"""Times its own size that a file may unpack to; ``RECALL_UNPACK_RATIO`` in the environment says otherwise."""

COUNTS_FROM = 2**24
"""Bytes that any file may unpack to."""

AT_ONCE = 2**30
"""Bytes that the process unpacks at the same time. What needs more alone waits until it is alone."""

CELL = 16
"""Bytes that any cell of a table counts, whatever its type, and though its column may be stored in none at all."""


def ratio() -> int:
    """How many times its own size may a file unpack to?"""
    given = os.environ.get("RECALL_UNPACK_RATIO", "")
    if not given:
        return RATIO
    if not (given.isascii() and given.isdigit() and 0 < len(given) < 10 and int(given) > 0):
        raise DataError(f"RECALL_UNPACK_RATIO is {given[:40]!r}; write a whole number above 0, such as {RATIO}")
    return int(given)


def allowed(size: int, counts_from: int | None = None) -> int:
    """How many bytes may a file of ``size`` bytes unpack to?"""
    return max(COUNTS_FROM if counts_from is None else counts_from, ratio() * size)


def check(name: str, unpacked: int, size: int, counts_from: int | None = None) -> None:
    """Refuse a file that would unpack to too much; ``name`` is what the message calls it.

    Raises
    ------
    DataError
        ``unpacked`` is more than ``allowed(size)``.
    """
    if unpacked > allowed(size, counts_from):
        refuse(name, unpacked, size)


def refuse(name: str, unpacked: int, size: int) -> NoReturn:
    """Say that a file would unpack to too much, and what to do about it."""
    raise DataError(
        f"{name}: its {_spelled(size)} unpack to {_spelled(unpacked)} or more, over {ratio()} times as much; store it "
        f"with less compression, or, where you trust it, start with RECALL_UNPACK_RATIO={-(-unpacked // max(size, 1))}"
    )


@contextmanager
def hold(n_bytes: int) -> Iterator[None]:
    """Take bytes out of the process's budget while something is unpacked; wait, in turn, while there are too few.

    A thread that holds some already is not made to wait for more, so that no two threads wait for each other.
    """
    weight = min(max(n_bytes, 0), AT_ONCE)
    with _changed:
        if not getattr(_mine, "held", 0):
            _wait_for(weight)
        _count.held += weight
    _mine.held = getattr(_mine, "held", 0) + 1
    try:
        yield
    finally:
        _mine.held -= 1
        with _changed:
            _count.held -= weight
            _changed.notify_all()


def held() -> int:
    """How many bytes of the budget are taken now?"""
    return _count.held


def n_waiting() -> int:
    """How many threads wait for bytes of it now?"""
    return len(_queue)


class _Count:
    held = 0


_changed = threading.Condition()
_count = _Count()
_queue: deque[object] = deque()
_mine = threading.local()


def _wait_for(weight: int) -> None:
    """Wait in turn: a large piece is not overtaken for ever by small ones."""
    ticket = object()
    _queue.append(ticket)
    try:
        _changed.wait_for(lambda: _queue[0] is ticket and _count.held + weight <= AT_ONCE)
    finally:
        _queue.remove(ticket)
        _changed.notify_all()


def _spelled(n: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if n >= unit:
            return f"{n / unit:,.1f} {name}"
    return f"{n} bytes"
