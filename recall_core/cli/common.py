"""What commands share: reading, checking, printing and telling of progress."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError

if TYPE_CHECKING:
    from ..datasets import Dataset
    from ..protocol import Spec


def load_data(spec: Spec) -> Dataset:
    """The data set of a spec, with its table read as the spec says."""
    from ..datasets import load

    return load(spec.data, columns=dict(spec.columns), encoding=spec.encoding)


def writable(name: str) -> Path:
    """The path of a result, which can be written there."""
    path = Path(name)
    if not path.absolute().parent.is_dir():
        raise DataError(f"{name} cannot be written: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise DataError(f"{name} cannot be written: it is a folder; name a file")
    return path


def print_json(whole: object) -> None:
    """Print one JSON object."""
    print(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False))


def teller() -> Callable[[str, int, int], None]:
    """Tell on standard error what is done now, and about how long the rest takes; at most once a second."""
    start = told = time.monotonic()
    former = 0

    def tell(words: str, done: int, total: int) -> None:
        nonlocal start, told, former
        now = time.monotonic()
        if done < former:  # another pass
            start = now
        if done in (0, total) or done < former or now - told > 1:
            rest = f", about {(now - start) / done * (total - done):.0f} s left" if 0 < done < total else ""
            print(f"{done}/{total} {words}{rest}", file=sys.stderr, flush=True)
            told = now
        former = done

    return tell
