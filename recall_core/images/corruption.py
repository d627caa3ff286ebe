"""Pictures made worse on purpose: how much can the asking side lose before its partner is lost?

A corruption is a kind and a severity, spelled ``noise:0.4``. All sizes are shares of the picture's shorter side, so a
severity means much the same for 24 pixels and for 4000, and none of it is averaged away when a picture is reduced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from .decoding import Picture, resize
from .image_set import Pictures

GREY = 0.5
NOISE_SD = 0.5
NOISE_CELLS = 64
BLUR_SHARE = 1 / 8
BLUR_PIXELS = 8
SHIFT_SHARE = 1 / 4


@dataclass(frozen=True, eq=False)
class CorruptedPictures(Pictures):
    """Pictures that are corrupted when they are asked for; made by ``corrupt``."""

    kind: str
    severity: float
    seed: int

    def __getitem__(self, i: int) -> Picture:
        rng = np.random.default_rng([self.seed, int(self.positions[i])])
        return CORRUPTIONS[self.kind](super().__getitem__(i), self.severity, rng)

    def preview(self, i: int, size: int = 128) -> Picture:
        """Picture ``i`` as it asks: corrupted as a whole, since grains and edges would differ in a reduced one."""
        return self[i]

    def select(self, positions: ArrayLike) -> CorruptedPictures:
        """Keep these pictures, in the order given; each keeps its own corruption."""
        return replace(self, positions=super().select(positions).positions)


def corrupt(pictures: Pictures, kind: str, severity: float, *, seed: int = 0) -> Pictures:
    """How would these pictures look if they were worse?

    Parameters
    ----------
    pictures : Pictures
        Still decoded only when they are asked for; shapes stay as they are.
    kind : str
        A key of ``CORRUPTIONS``: ``patch``, ``noise``, ``blur``, ``shift``.
    severity : float
        From 0, which gives the pictures back unchanged, to 1.
    seed : int
        What is drawn (a patch's place, a shift's direction, the noise) depends on the seed and on the picture's place
        in its source alone: not on the severity, so that a higher one is more of the same, nor on which other
        pictures were selected.

    Returns
    -------
    Pictures
        float32 in [0, 1].

    Raises
    ------
    DataError
        Unknown kind, or a severity outside [0, 1].
    """
    _check(kind, severity)
    if not severity:
        return pictures
    return CorruptedPictures(pictures.source, pictures.positions, kind, severity, seed, deep=pictures.deep)


def patch(picture: Picture, severity: float, rng: np.random.Generator) -> Picture:
    """Cover a square with mid-grey, at a random place; its side is the severity's share of the shorter side."""
    side = round(severity * min(picture.shape[:2]))
    top, left = (int(place * (length - side + 1)) for place, length in zip(rng.random(2), picture.shape, strict=False))
    covered = picture.copy()
    covered[top : top + side, left : left + side] = GREY
    return covered


def noise(picture: Picture, severity: float, rng: np.random.Generator) -> Picture:
    """Add normal noise of sd ``severity / 2``, cut off at black and white.

    A grain is a pixel, or, in pictures of more than 64 a side, a cell of a grid of about 64, so that the noise is
    still there after the picture was reduced.
    """
    height, width = picture.shape[:2]
    step = -(-max(height, width) // NOISE_CELLS)
    grains = rng.standard_normal((-(-height // step), -(-width // step), *picture.shape[2:])).astype(np.float32)
    grains = grains.repeat(step, 0)[:height].repeat(step, 1)[:, :width]
    return np.clip(picture + np.float32(severity * NOISE_SD) * grains, 0, 1)


def blur(picture: Picture, severity: float, rng: np.random.Generator) -> Picture:
    """Blur by a Gaussian whose sd is up to an eighth of the shorter side. Draws nothing."""
    from scipy.ndimage import gaussian_filter

    height, width = picture.shape[:2]
    sd = severity * min(height, width) * BLUR_SHARE
    step = max(1, int(sd / BLUR_PIXELS))  # a wide blur of a large picture is done on a reduced one
    small = resize(picture, -(-height // step), -(-width // step)) if step > 1 else picture
    blurred = gaussian_filter(small, sd / step, mode="nearest", axes=(0, 1))
    return resize(blurred, height, width) if step > 1 else blurred


def shift(picture: Picture, severity: float, rng: np.random.Generator) -> Picture:
    """Move the picture in a random direction, by up to a quarter of the shorter side; the border is drawn out."""
    height, width = picture.shape[:2]
    angle, length = rng.random() * 2 * np.pi, severity * min(height, width) * SHIFT_SHARE
    down, right = round(length * np.sin(angle)), round(length * np.cos(angle))
    rows, columns = np.clip(np.arange(height) - down, 0, height - 1), np.clip(np.arange(width) - right, 0, width - 1)
    moved: Picture = picture[np.ix_(rows, columns)]
    return moved


CORRUPTIONS: dict[str, Callable[[Picture, float, np.random.Generator], NDArray[np.float32]]] = {
    "patch": patch,
    "noise": noise,
    "blur": blur,
    "shift": shift,
}
"""Kind → (picture, severity, generator) → picture."""

DRAWN_CORRUPTIONS = ("patch", "noise", "shift")
"""Kinds in which something is random, so that a seed is needed."""


def parse_corruption(spelled: str) -> tuple[str, float]:
    """Read ``KIND:SEVERITY``.

    Raises
    ------
    DataError
        It is not of that form, the kind is unknown, or the severity is not a number in [0, 1].

    Examples
    --------
    >>> parse_corruption("noise:0.4")
    ('noise', 0.4)
    """
    kind, _, number = spelled.partition(":")
    try:
        severity = float(number)
    except ValueError:
        raise DataError(
            f"the corruption {spelled!r} is not of the form KIND:SEVERITY, for example noise:0.4; "
            f"kinds are {', '.join(CORRUPTIONS)}, severities run from 0 to 1"
        ) from None
    _check(kind, severity)
    return kind, severity


def _check(kind: str, severity: float) -> None:
    if kind not in CORRUPTIONS:
        raise DataError(f"there is no corruption {kind!r}; choose one of {', '.join(CORRUPTIONS)}")
    if not 0 <= severity <= 1:
        raise DataError(f"the severity of {kind} is {severity:g}; it runs from 0 (unchanged) to 1")
