"""One look at every image: digests, perceptual hashes, images of one colour."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .decoding import Picture, as_rgb, resize
from .image_set import Pictures, reason

FLAT = 2 / 255


@dataclass(frozen=True, eq=False)
class Looks:
    """What a look at every picture has shown.

    Parameters
    ----------
    digest : list of bytes or None
        SHA-256 of shape and pixels as decoded; None where the picture cannot be read.
    hash : (n,) uint64
        Perceptual hash: the signs of the 63 lowest frequencies of the grey picture, against their median.
    has_hash : (n,) bool
        False where the picture cannot be read, or is too even for a hash to mean anything.
    flat : (n,) bool
        One colour all over.
    problems : dict of position to message
    """

    digest: list[bytes | None]
    hash: NDArray[np.uint64]
    has_hash: NDArray[np.bool_]
    flat: NDArray[np.bool_]
    problems: dict[int, str]


def look(pictures: Pictures, progress: Callable[[int, int], object] | None = None) -> Looks:
    """What does a look at every picture show? Each is decoded once; ``progress`` is called with (done, in all)."""
    n = len(pictures)
    digest: list[bytes | None] = [None] * n
    code, has_hash, flat = np.zeros(n, np.uint64), np.zeros(n, bool), np.zeros(n, bool)
    problems: dict[int, str] = {}
    for i in range(n):
        try:
            picture = pictures[i]
        except DataError as problem:
            problems[i] = reason(pictures, i, str(problem))
            continue
        rgb = np.ascontiguousarray(as_rgb(picture))
        digest[i] = hashlib.sha256(repr(rgb.shape).encode() + rgb.tobytes()).digest()
        flat[i] = bool(np.ptp(rgb, axis=(0, 1)).max() <= FLAT)
        code[i], has_hash[i] = perceptual_hash(picture)
        if progress is not None and (i % 64 == 63 or i == n - 1):
            progress(i + 1, n)
    return Looks(digest, code, has_hash, flat, problems)


def perceptual_hash(picture: Picture) -> tuple[np.uint64, bool]:
    """Which low frequencies does the picture have more of than the median?

    Returns
    -------
    hash : uint64
        Of the 8×8 lowest frequencies of the 32×32 grey picture (discrete cosine transform), without the mean.
    means_something : bool
        False for an even picture, whose frequencies are noise.
    """
    from scipy.fft import dctn

    small = resize(as_rgb(picture).mean(axis=2, dtype=np.float32), 32, 32)
    low = dctn(small.astype(np.float64), norm="ortho")[:8, :8].ravel()[1:]
    bits = low > np.median(low)
    code = np.uint64(int("".join("01"[int(bit)] for bit in bits), 2))
    return code, bool(np.abs(low).max() > 32 * FLAT)
