"""The lab's pictures and table, from a seed: 180 scenes of one line each, two views a scene.

The course's own arrays are not public. These have the same shapes, columns and right answers, and the ranges stated
below; the corruption's strength was chosen so that about one query in thirty fails, and the seed so that exactly one
does (``find_seed``).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import DataError

SIZE = 24
CENTRE = 11.5
SCENES_PER_CLASS = 60
TEST_PER_CLASS = 10
ORIENTATIONS = ("vertical", "horizontal", "diagonal")
OFFSETS = np.arange(-6.5, 7, 0.5)
THICKNESSES = (1, 2, 3)
NOISE = 0.05
PATCH = 8
CORRUPTION_NOISE = 0.25
MARGIN = 1e-3

GLYPHLAB_SEED = 3
"""What ``find_seed`` finds: the smallest seed whose data have the lab's right answers, none of them by a hair."""

GLYPHLAB_VARIANTS = {
    "standard": (0.2, 0.6, 0.0),
    "textured": (0.425, 0.15, 0.15),
}
"""Background, contrast of the line, and sd of a texture that belongs to the scene and is the same in both views.

The texture is what a learned encoder can memorise, so only ``textured`` can show what a leaking training draw does.
"""

FloatImages = NDArray[np.float32]


def generate_glyphlab(
    *, seed: int = GLYPHLAB_SEED, variant: str = "standard"
) -> tuple[FloatImages, pd.DataFrame, FloatImages]:
    """Draw the lab's data.

    Parameters
    ----------
    seed : int
        Both variants of one seed show the same lines in the same split.
    variant : str
        A key of ``VARIANTS``.

    Returns
    -------
    images : (360, 1, 24, 24) float32 in [0, 1]
        Multiples of 1/255. The two views of a scene differ in their noise only.
    table : DataFrame of str, one row an image
        index, scene_id, view_id, split (40, 10 and 10 scenes a class are train, val and test), orientation, class_id,
        offset_px, thickness_px; in order of class, scene and view.
    corrupted : (60, 1, 24, 24) float32 in [0, 1]
        The test images in the order of their rows, each with a grey patch of 8×8 pixels and strong noise.
    """
    if variant not in GLYPHLAB_VARIANTS:
        raise DataError(f"GlyphLab has no variant {variant!r}; choose one of {', '.join(GLYPHLAB_VARIANTS)}")
    background, contrast, texture = GLYPHLAB_VARIANTS[variant]
    scenes = _draw_scenes(np.random.default_rng([seed, 0]))
    lines = np.stack(
        [_line(*scene) for scene in scenes[["orientation", "offset", "thickness"]].itertuples(index=False)]
    )
    own = np.random.default_rng([seed, 1]).normal(0, 1, lines.shape) * texture
    views = np.repeat(background + contrast * lines + own, 2, axis=0)
    images = _quantised(views + np.random.default_rng([seed, 2]).normal(0, NOISE, views.shape))
    table = _table(scenes)
    test = images[(table["split"] == "test").to_numpy()]
    return images, table, _corrupted(test, np.random.default_rng([seed, 3]))


def write_glyphlab(folder: Path, *, seed: int = GLYPHLAB_SEED, variant: str = "standard") -> None:
    """Write the lab's files, ``images.npy``, ``metadata.csv`` and ``corrupted_test.npy``, into a folder.

    The same seed and variant give the same bytes. ``DataError`` where one of the files is there already.
    """
    if seed < 0:
        raise DataError(f"the seed is {seed}; a seed is a whole number of at least 0")
    images, table, corrupted = generate_glyphlab(seed=seed, variant=variant)
    folder = Path(folder)
    for name in ("images.npy", "metadata.csv", "corrupted_test.npy"):
        if (folder / name).exists():
            raise DataError(f"{folder / name} is there already; choose another folder, or remove it first")
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "images.npy", images)
    np.save(folder / "corrupted_test.npy", corrupted)
    (folder / "metadata.csv").write_bytes(table.to_csv(index=False, lineterminator="\n").encode("utf-8"))


def find_seed(start: int = 0) -> int:
    """Which is the smallest seed, from ``start`` on, whose standard data have the lab's right answers?

    See ``has_right_answers``. This is how ``DEFAULT_SEED`` was found.
    """
    seed = start
    while not has_right_answers(seed):
        seed += 1
    return seed


def has_right_answers(seed: int) -> bool:
    """Do this seed's standard data give the course's numbers, each decided by at least ``MARGIN``?

    Raw pixels, cosine. Clean: every query finds its partner at rank 1, in both directions. Corrupted view 0 against
    clean view 1: 29 of 30 queries at rank 1 and one at rank 2. No right score may lie within ``MARGIN`` of a competing
    one, so that no rank hangs on rounding.
    """
    images, table, corrupted = generate_glyphlab(seed=seed)
    clean = _unit_rows(images[(table["split"] == "test").to_numpy()])
    damaged = _unit_rows(corrupted)
    forward, margin = _ranks_of_diagonal(clean[0::2] @ clean[1::2].T)
    backward, margin_back = _ranks_of_diagonal(clean[1::2] @ clean[0::2].T)
    robust, margin_robust = _ranks_of_diagonal(damaged[0::2] @ clean[1::2].T)
    right = forward.max() == backward.max() == 1 and np.sort(robust)[-2:].tolist() == [1, 2]
    return bool(right and min(margin, margin_back, margin_robust) >= MARGIN)


def _draw_scenes(rng: np.random.Generator) -> pd.DataFrame:
    """No two scenes of a class share offset and thickness, so no two are the same picture."""
    lines = [(offset, thickness) for offset in OFFSETS for thickness in THICKNESSES]
    parts = np.repeat(["train", "val", "test"], [SCENES_PER_CLASS - 2 * TEST_PER_CLASS, TEST_PER_CLASS, TEST_PER_CLASS])
    return pd.DataFrame(
        [
            (kind, orientation, number, *lines[line], part)
            for kind, orientation in enumerate(ORIENTATIONS)
            for number, (line, part) in enumerate(
                zip(rng.choice(len(lines), SCENES_PER_CLASS, replace=False), rng.permutation(parts), strict=True)
            )
        ],
        columns=["class", "orientation", "number", "offset", "thickness", "split"],
    )


def _line(orientation: str, offset: float, thickness: int) -> NDArray[np.float64]:
    """(24, 24) coverage of each pixel by the line, 0 to 1."""
    y, x = np.mgrid[:SIZE, :SIZE]
    distance = {
        "vertical": x - (CENTRE + offset),
        "horizontal": y - (CENTRE + offset),
        "diagonal": (x - y) / np.sqrt(2) - offset,
    }[orientation]
    coverage: NDArray[np.float64] = np.clip(thickness / 2 + 0.5 - np.abs(distance), 0, 1)
    return coverage


def _quantised(values: NDArray[np.float64]) -> FloatImages:
    """(n, 24, 24) → (n, 1, 24, 24) of 8-bit grey levels."""
    levels = np.rint(np.clip(values, 0, 1) * 255).astype(np.float32)
    images: FloatImages = (levels / np.float32(255))[:, None]
    return images


def _corrupted(images: FloatImages, rng: np.random.Generator) -> FloatImages:
    damaged = images[:, 0].astype(np.float64)
    for picture, (top, left) in zip(damaged, rng.integers(0, SIZE - PATCH + 1, (len(damaged), 2)), strict=True):
        picture[top : top + PATCH, left : left + PATCH] = 0.5
    return _quantised(damaged + rng.normal(0, CORRUPTION_NOISE, damaged.shape))


def _table(scenes: pd.DataFrame) -> pd.DataFrame:
    rows = scenes.loc[np.repeat(scenes.index, 2)]
    return pd.DataFrame(
        {
            "index": range(len(rows)),
            "scene_id": [f"G{kind}-{number:04d}" for kind, number in zip(rows["class"], rows["number"], strict=True)],
            "view_id": np.tile([0, 1], len(scenes)),
            "split": rows["split"].to_numpy(),
            "orientation": rows["orientation"].to_numpy(),
            "class_id": rows["class"].to_numpy(),
            "offset_px": rows["offset"].to_numpy(),
            "thickness_px": rows["thickness"].to_numpy(),
        }
    ).astype(str)


def _unit_rows(images: FloatImages) -> NDArray[np.float64]:
    flat = images.reshape(len(images), -1).astype(np.float64)
    unit: NDArray[np.float64] = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    return unit


def _ranks_of_diagonal(similarity: NDArray[np.float64]) -> tuple[NDArray[np.intp], float]:
    """Rank of each query's partner, and the least distance between its score and another's."""
    distance = similarity - np.diag(similarity)[:, None]
    ranks: NDArray[np.intp] = 1 + (distance > 0).sum(1)
    np.fill_diagonal(distance, np.inf)
    return ranks, float(np.abs(distance).min())
