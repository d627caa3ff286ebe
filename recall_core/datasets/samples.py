"""Data sets that are built in without files: scanned digits, and patches of two photographs.

Both come from what scikit-learn bundles, so nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from ..errors import needs

Bytes = NDArray[np.uint8]

PHOTO_CREDITS = {
    "china": "china.jpg: danielbuechele, https://www.flickr.com/photos/danielbuechele/6061409035/, CC BY 2.0",
    "flower": "flower.jpg: vultilion, https://www.flickr.com/photos/vultilion/6056698931/, CC BY 2.0",
}
"""Who took the photographs; shown wherever patches of them are shown.

As scikit-learn's notes on its bundled images give address and licence. The notes name danielbuechele for both, but
their links for flower.jpg lead to vultilion, who is named here.
"""

N_PLACES = 240
SIDE = 64
WINDOW = 40
SPACING = 28

# How much two views of a place may differ, each drawn evenly from −x to x: pixels of the photograph, log of the scale,
# degrees, log of the brightness, log of each colour's brightness, grey levels; and the noise's sd in grey levels.
MOVE, ZOOM, TURN, LIGHT, TINT, HAZE, NOISE = 2.5, 0.1, 6.0, 0.3, 0.06, 12.0, 6.0


def digits() -> tuple[Bytes, pd.DataFrame]:
    """Give scikit-learn's 1797 handwritten digits.

    Returns
    -------
    images : (1797, 8, 8) uint8
        The original's 17 grey levels, 0 to 16, spread over 0 to 255.
    table : DataFrame of str
        id (``d0000`` …), label (``0`` … ``9``).
    """
    with needs("scikit-learn", "the built-in data set digits", extra="app"):
        from sklearn.datasets import load_digits

    bundled = load_digits()
    images = np.rint(bundled.images * (255 / 16)).astype(np.uint8)
    ids = [f"d{number:04d}" for number in range(len(images))]
    return images, pd.DataFrame({"id": ids, "label": bundled.target}).astype(str)


def photo_patches() -> tuple[Bytes, pd.DataFrame]:
    """Cut 240 places, two views each, from scikit-learn's two photographs, a pagoda and a dahlia.

    The places are those with most detail (no sky, no blurred background); their centres keep 28 pixels apart while a
    view shows about 40, so neighbours overlap and roofs and petals resemble each other, as in real collections. The
    two views differ in position, scale, rotation, light, tint and noise. How much was tuned, so that a first
    screen shows real failures: raw pixels find the other view of about two places in three, gradients of nine in ten.
    The numbers say nothing about other photographs. ``PHOTO_CREDITS`` names the photographers.

    Returns
    -------
    images : (480, 64, 64, 3) uint8
    table : DataFrame of str
        id (``P000-0`` …), group_id (the place), view_id (``0``, ``1``), photo (a key of ``PHOTO_CREDITS``), x and y
        (the place's centre in the photograph, pixels).
    """
    with needs("scikit-learn", "the built-in data set photo_patches", extra="app"):
        from sklearn.datasets import load_sample_image

    photos = {name: Image.fromarray(load_sample_image(f"{name}.jpg")) for name in PHOTO_CREDITS}
    images, rows = [], []
    for place, (photo, x, y) in enumerate(_places(photos)):
        for view in range(2):
            images.append(_view(photos[photo], x, y, np.random.default_rng([place, view])))
            rows.append((f"P{place:03d}-{view}", f"P{place:03d}", view, photo, x, y))
    return np.stack(images), pd.DataFrame(rows, columns=["id", "group_id", "view_id", "photo", "x", "y"]).astype(str)


SAMPLES: dict[str, Callable[[], tuple[Bytes, pd.DataFrame]]] = {"digits": digits, "photo_patches": photo_patches}


def _places(photos: dict[str, Image.Image]) -> list[tuple[str, int, int]]:
    """Take the place with most detail, rule out its surroundings, and so on; (photo, x, y) in reading order."""
    names = list(photos)
    detail = np.stack([_detail(photos[name]) for name in names])
    y, x = np.mgrid[-SPACING : SPACING + 1, -SPACING : SPACING + 1]
    near = x**2 + y**2 < SPACING**2
    taken = []
    for _ in range(N_PLACES):
        photo, row, column = np.unravel_index(detail.argmax(), detail.shape)
        detail[photo, row - SPACING : row + SPACING + 1, column - SPACING : column + SPACING + 1][near] = -1
        taken.append((names[photo], int(row), int(column)))
    return [(name, column, row) for name, row, column in sorted(taken)]


def _detail(photo: Image.Image) -> NDArray[np.float32]:
    """(H, W) mean strength of edges in a window around each pixel; −1 where a turned window would leave the photo."""
    down, right = np.gradient(np.asarray(photo.convert("L"), dtype=np.float32))
    edges = Image.fromarray(np.minimum(np.hypot(down, right) * 4, 255).astype(np.uint8))
    detail = np.asarray(edges.filter(ImageFilter.BoxBlur(WINDOW // 2)), dtype=np.float32).copy()
    margin = int(WINDOW * 0.75 + MOVE)
    inside = np.zeros(detail.shape, bool)
    inside[margin:-margin, margin:-margin] = True
    detail[~inside] = -1
    return detail


def _view(photo: Image.Image, x: float, y: float, rng: np.random.Generator) -> Bytes:
    """(SIDE, SIDE, 3) one look at a place."""
    x, y = x + rng.uniform(-MOVE, MOVE), y + rng.uniform(-MOVE, MOVE)
    step = WINDOW / SIDE * np.exp(rng.uniform(-ZOOM, ZOOM))
    turn = np.deg2rad(rng.uniform(-TURN, TURN))
    a, b, half = step * np.cos(turn), step * np.sin(turn), SIDE / 2
    matrix = (a, -b, x - (a - b) * half, b, a, y - (a + b) * half)
    window = photo.transform((SIDE, SIDE), Image.Transform.AFFINE, matrix, Image.Resampling.BICUBIC)
    light = np.exp(rng.uniform(-LIGHT, LIGHT) + rng.uniform(-TINT, TINT, 3))
    levels = np.asarray(window) * light + rng.uniform(-HAZE, HAZE)
    noisy = levels + rng.normal(0, NOISE, levels.shape)
    return np.rint(np.clip(noisy, 0, 255)).astype(np.uint8)
