"""Which items have the same content?"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from .embeddings import bad_rows, zero_rows

MAX_PAIRS = 100_000
MAX_COPIES = 200

Digests = Sequence[bytes | None]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of rows, and how alike they are.

    Parameters
    ----------
    first, second : (n_pair,) intp
        Rows, the first before the second.
    score : (n_pair,) float64
        1 is the same.
    cut : bool
        Are there more pairs than ``MAX_PAIRS``, so that the rest is not listed?
    """

    first: IntArray
    second: IntArray
    score: FloatArray
    cut: bool = False

    def __len__(self) -> int:
        return len(self.first)


def same_content(digests: Digests) -> Pairs:
    """Which items have equal digests? None equals nothing.

    Of more than ``MAX_COPIES`` equal items, each is paired with the first alone.
    """
    rows: dict[bytes, list[int]] = {}
    for row, digest in enumerate(digests):
        if digest is not None:
            rows.setdefault(digest, []).append(row)
    pairs: list[tuple[int, int]] = []
    for same in rows.values():
        if len(same) > MAX_COPIES:
            pairs += [(same[0], other) for other in same[1:]]
        else:
            pairs += [(a, b) for i, a in enumerate(same) for b in same[i + 1 :]]
    table = np.array(pairs[:MAX_PAIRS], dtype=np.intp).reshape(-1, 2)
    return Pairs(table[:, 0], table[:, 1], np.ones(len(table)), len(pairs) > MAX_PAIRS)


def row_digests(vectors: NDArray[np.generic]) -> list[bytes | None]:
    """(n,) digests of the rows, for ``same_content``; a row of zeros, or with nan, equals nothing."""
    plain = np.ascontiguousarray(vectors, dtype=np.float64) + 0.0  # no negative zero
    left_out = {*bad_rows(plain).tolist(), *zero_rows(plain).tolist()}
    return [None if i in left_out else hashlib.sha256(row.tobytes()).digest() for i, row in enumerate(plain)]
