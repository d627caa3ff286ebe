"""Images small enough to show, and two images made comparable."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from .decoding import SMALL, Picture, Shape, as_rgb, resize


def fitted(picture: Picture, shape: Shape, size: int) -> Picture:
    """Bring a preview of a picture of this shape to at most ``size`` pixels a side; nothing is enlarged beyond it."""
    by = min(1.0, size / max(shape[:2]))
    height, width = (max(1, round(side * by)) for side in shape[:2])
    return picture if picture.shape[:2] == (height, width) else resize(picture, height, width)


def difference(one: Picture, other: Picture) -> tuple[Picture, float, float]:
    """How much do two pictures of one size differ, pixel by pixel?

    Returns
    -------
    shown : (H, W) float32
        The absolute difference, the mean over the channels, stretched so that its largest value is white; black where
        there is none at all.
    mean, most : float
        Its mean over all pixels and its largest value, not stretched: 0 is the same, 1 is black against white.

    Raises
    ------
    ValueError
        The pictures differ in height or width.
    """
    if one.shape[:2] != other.shape[:2]:
        raise ValueError(f"pictures of one size can be subtracted, these are {one.shape[:2]} and {other.shape[:2]}")
    apart: Picture = np.abs(as_rgb(one) - as_rgb(other)).mean(axis=2, dtype=np.float32)
    most = float(apart.max(initial=0))
    return apart / most if most else apart, float(apart.mean(dtype=np.float64)), most


def thumbnail(picture: Picture, size: int = 128) -> tuple[bytes, str]:
    """Give a small copy of a picture for a page: (content, MIME type).

    At most ``size`` pixels a side, never enlarged, WebP (lossy). Pictures of at most ``SMALL`` pixels a side are PNG,
    pixel for pixel, so ``image/png`` tells the page to enlarge them without smoothing.
    """
    image = _as_image(picture)
    if max(image.size) <= SMALL:
        return png(picture), "image/png"
    image.thumbnail((size, size), Image.Resampling.LANCZOS)
    content = io.BytesIO()
    image.save(content, "WEBP", quality=70, method=2)
    return content.getvalue(), "image/webp"


def thumbnail_uri(picture: Picture, size: int = 128) -> str:
    """Give the thumbnail as a ``data:`` address that an ``<img>`` shows without a request."""
    content, mime = thumbnail(picture, size)
    return f"data:{mime};base64,{base64.b64encode(content).decode('ascii')}"


def png(picture: Picture) -> bytes:
    """Give the picture as a PNG of 8 bits a channel."""
    content = io.BytesIO()
    _as_image(picture).save(content, "PNG")
    return content.getvalue()


def _as_image(picture: Picture) -> Image.Image:
    return Image.fromarray(np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8))
