"""One picture decoded safely; ``Pictures``, many of them on demand; thumbnails.

A decoded picture is a float32 array in [0, 1], (H, W) for grey or (H, W, 3) for RGB. Nothing here knows data sets.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageFile, ImageOps, UnidentifiedImageError

from .. import budget
from ..errors import DataError

Picture = NDArray[np.float32]
Source = Path | bytes
Shape = tuple[int, ...]

MAX_PIXELS = 2**26
"""Larger pictures are refused before they are decoded: 67 million pixels are 805 MB as float32 RGB."""

COUNTS_FROM = 3 * 2**24
"""Bytes that any image may unpack to, 16 million pixels in colour; a larger one is judged by the size of its file.

A blank page of 8,000 × 8,000 pixels is a file of 60 kB, and a gigabyte once it is decoded.
"""

SMALL = 48
"""Pictures of at most this many pixels a side keep their pixels in a thumbnail: the page enlarges them crisply."""

# Formats that Pillow reads by itself. EPS (starts Ghostscript) and WMF (asks the system) are left out on purpose.
FORMATS = (
    *("AVIF", "BMP", "DIB", "GIF", "ICO", "JPEG", "JPEG2000", "PCX", "PNG", "PPM", "QOI"),
    *("SGI", "TGA", "TIFF", "WEBP"),
)

FULL_SCALES = (255, 1023, 4095, 65535)
"""What white may be in grey of more than 8 bits: a file does not say how many of its 16 or 32 bits are in use."""

N_RANGE = 64
"""So many files of a set, spread over it, say which full scale its deep grey has."""

HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")


def decode(
    source: Source, *, name: str | None = None, enough: int | None = None, deep: DeepRange | None = None
) -> Picture:
    """What does the picture in this file look like?

    Parameters
    ----------
    source : Path or bytes
        A file, or its content.
    name : str, optional
        What messages call the picture; by default the path, or the number of bytes.
    enough : int, optional
        A JPEG may be decoded at a half, a quarter or an eighth of its size, as long as it keeps this many pixels a
        side: much faster, for looking only. Other formats are decoded in full.
    deep : DeepRange, optional
        The range of the set that the image belongs to; by default it has one of its own.

    Returns
    -------
    (H, W) or (H, W, 3) float32 in [0, 1]
        Turned as its EXIF orientation says. Transparent parts show white. An animation shows its first frame.
        Grey of more than 8 bits is divided by the first of ``FULL_SCALES`` (of floats: 1, and these) that holds its
        values and those of its set, else it is stretched from its own least to its largest value (0 if these are
        equal): scaled, never clipped. CMYK (JPEG: by Adobe's inverted convention) and LAB become RGB; embedded colour
        profiles are not applied.

    Raises
    ------
    DataError
        The file is missing, empty, broken, truncated, in an unknown format, larger than ``MAX_PIXELS`` (refused from
        its header, before it is decoded), or in a format that needs an extra package. The message says which.
    """
    with _opened(source, name) as image:
        if enough is not None:
            image.draft(None, (enough, enough))
        with budget.hold(_peak(image)):
            _load(image)
            _turn_upright(image)
            picture = _as_array(image, deep)
    return np.ascontiguousarray(picture)


def header_shape(source: Source, *, name: str | None = None) -> Shape:
    """Which shape will the decoded picture have? Read from the header where the format allows it.

    Raises ``DataError`` where the header cannot be read; that it can be read does not promise that the rest can.
    """
    with _opened(source, name) as image:
        width, height = image.size
        # Pillow gives the size of a TIFF as it will be after it is turned.
        if _lies(image) and image.format != "TIFF":
            width, height = height, width
        return (height, width) if _is_grey(image) else (height, width, 3)


def check_inside(source: Source, size: int, *, name: str) -> None:
    """Judge an image that came out of a compressed file of ``size`` bytes by that file, where it is smaller.

    An image is measured by its own size; padding makes that large, and costs nothing where it is compressed again.
    ``DataError`` where it would unpack to too much; an image that cannot be read is no matter here.
    """
    if (len(source) if isinstance(source, bytes) else source.stat().st_size) <= size:
        return
    try:
        with _opened(source, name) as image:  # not ``header_shape``: Pillow decodes a PNG to look for its orientation
            n_bytes = image.width * image.height * (1 if _is_grey(image) else 3)
    except DataError:
        return
    budget.check(name, n_bytes, size, COUNTS_FROM)


@dataclass(frozen=True, eq=False)
class DeepRange:
    """What white is in the deep grey of one set of images: thresholds, thumbnails and encoders all see this range.

    Each image by itself would be scaled by another number, and a dark one would become as bright as the others.

    Parameters
    ----------
    source : array or tuple of Path or bytes
        As of ``Pictures``.
    """

    source: NDArray[Any] | tuple[Source, ...]

    @cached_property
    def of_integers(self) -> float:
        """The largest value that the full scale of integers must hold: of an array, or of ``N_RANGE`` files."""
        if isinstance(self.source, np.ndarray):
            return float(max((some.max() for some in chunks(self.source)), default=0))
        return self._largest("iu")

    @cached_property
    def of_floats(self) -> float:
        """The same for floating-point numbers in files."""
        return self._largest("f")

    def _largest(self, kinds: str) -> float:
        """Of the files of these number types whose values some full scale holds; 0 without any."""
        n = len(self.source)
        spread = np.unique(np.linspace(0, n - 1, min(n, N_RANGE), dtype=np.intp))
        ranges = [_deep_range(self.source[at], kinds) for at in spread]
        return max((high for low, high in ranges if 0 <= low and high <= FULL_SCALES[-1]), default=0.0)


def as_rgb(picture: Picture) -> Picture:
    """(H, W, 3): grey repeated three times, RGB as it is."""
    return np.repeat(picture[:, :, None], 3, axis=2) if picture.ndim == 2 else picture


def resize(picture: Picture, height: int, width: int) -> Picture:
    """Resize to ``height`` × ``width``: each new pixel is the mean of the area that it covers (a box filter)."""
    channels = [picture] if picture.ndim == 2 else list(np.moveaxis(picture, 2, 0))
    resized = [
        np.asarray(Image.fromarray(np.ascontiguousarray(one)).resize((width, height), Image.Resampling.BOX))
        for one in channels
    ]
    return resized[0] if picture.ndim == 2 else np.stack(resized, axis=2)


@contextmanager
def _opened(source: Source, name: str | None) -> Iterator[Image.Image]:
    """Open the file and check its size; whatever goes wrong inside comes out as a DataError with the file's name."""
    called = name or (f"a picture of {len(source)} bytes" if isinstance(source, bytes) else str(source))
    try:
        with warnings.catch_warnings():
            # Pillow warns of damaged EXIF and the like; the picture is still right. The filter names Pillow alone
            # because threads share filters: another thread may keep this one for a while.
            warnings.filterwarnings("ignore", module=r"PIL\.")
            with io.BytesIO(source) if isinstance(source, bytes) else _regular_file(source) as file:
                image = _identify(file, called)
                width, height = _extent(image)
                if width * height > MAX_PIXELS:
                    _refuse_bomb(called, f"{width} × {height} pixels")
                size = len(source) if isinstance(source, bytes) else os.fstat(file.fileno()).st_size
                deep = 4 if image.mode in ("I", "F") else 2 if image.mode.startswith("I") else 1
                budget.check(called, width * height * deep * (1 if _is_grey(image) else 3), size, COUNTS_FROM)
                yield image
    except DataError:
        raise
    except Image.DecompressionBombError as problem:
        _refuse_bomb(called, str(problem).removeprefix("Image size (").split(")")[0])
    except FileNotFoundError:
        raise DataError(
            f"{called}: there is no such file; check the path and the folder that it is relative to"
        ) from None
    except Exception as problem:  # Pillow's readers raise nearly every kind of exception on a malformed file
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise DataError(
            f"{called}: the picture cannot be read ({reason}); replace the file or drop its row"
        ) from problem


def _regular_file(path: Path) -> io.BufferedReader:
    """Open a file, but no folder, pipe or device, which could block or never end."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: this is not a file; a picture's path must name an image file")
    return path.open("rb")


def _identify(file: io.BufferedReader | io.BytesIO, called: str) -> Image.Image:
    """Open lazily: header only."""
    start = file.read(12)
    file.seek(0)
    if not start:
        raise DataError(f"{called}: the file is empty; replace it or drop its row")
    try:
        return Image.open(file, formats=FORMATS)
    except UnidentifiedImageError:
        if start[4:8] == b"ftyp" and start[8:12] in HEIF_BRANDS:
            return _open_heif(file, called)
        raise DataError(
            f"{called}: the format is not known, or the file is broken; expected one of {', '.join(FORMATS)}"
        ) from None


def _peak(image: Image.Image) -> int:
    """Bytes that decoding takes at its peak, copies included: 36 a pixel, 12 where it is grey of 8 bits."""
    return image.width * image.height * (12 if image.mode in ("1", "L") else 36)


def _extent(image: Image.Image) -> tuple[int, int]:
    """Width and height that are decoded: of the picture, or of a part that the file makes larger than the whole."""
    width, height = image.size
    if image.format == "ICO":
        inside = image.ico.getimage(image.size).size  # type: ignore[attr-defined]
        return max(width, inside[0]), max(height, inside[1])
    tags = getattr(image, "tag_v2", {}) if image.format == "TIFF" else {}
    tile = [tags.get(tag, 0) for tag in (TILE_WIDTH, TILE_LENGTH)]
    if all(isinstance(side, int) for side in tile):
        return max(width, tile[0]), max(height, tile[1])
    return width, height


TILE_WIDTH, TILE_LENGTH = 322, 323
"""Tags of a TIFF that say how large its tiles are; each is unpacked whole."""


def _open_heif(file: io.BufferedReader | io.BytesIO, called: str) -> Image.Image:
    """HEIC needs a package of its own."""
    try:
        import pillow_heif
    except ImportError:
        raise DataError(f"{called}: a HEIF/HEIC picture needs an extra package: pip install pillow-heif") from None
    file.seek(0)
    image: Image.Image = pillow_heif.HeifImageFile(file)
    return image


def _refuse_bomb(called: str, size: str) -> NoReturn:
    raise DataError(
        f"{called}: refused before decoding: {size}, more than the limit of {MAX_PIXELS:,}; store it smaller"
    )


def _is_grey(image: Image.Image) -> bool:
    return image.mode in ("1", "L", "LA", "La", "F") or image.mode.startswith("I")


def _as_array(image: Image.Image, deep: DeepRange | None) -> Picture:
    """Bring a loaded image of any mode to the one convention."""
    if _is_deep(image):
        return scale_deep(np.asarray(image), image.info.get("transparency"), deep)
    grey = _is_grey(image)
    if not image.has_transparency_data:
        return unit_floats(np.asarray(image.convert("L" if grey else "RGB")))
    white = Image.new("RGBA", image.size, "white")
    on_white = Image.alpha_composite(white, image.convert("LA" if grey else "RGBA").convert("RGBA"))
    return unit_floats(np.asarray(on_white.convert("L" if grey else "RGB")))


def _is_deep(image: Image.Image) -> bool:
    return image.mode.startswith(("I", "F"))


def _load(image: Image.Image) -> None:
    """Decode, with the transparent colour in the numbers that the pixels then have."""
    stored = image.tile[0].args if isinstance(image, ImageFile.ImageFile) and image.tile else None
    image.load()
    colour, widened = image.info.get("transparency"), WIDENED.get(stored) if isinstance(stored, str) else None
    if colour is not None and widened is not None:
        samples = [widened(sample) for sample in np.atleast_1d(colour).tolist()]
        image.info["transparency"] = tuple(samples) if image.mode == "RGB" else samples[0]


WIDENED: dict[str, Callable[[int], int]] = {
    "L;2": lambda sample: sample * 85,
    "L;4": lambda sample: sample * 17,
    "RGB;16B": lambda sample: sample >> 8,
}
"""How Pillow stores a PNG → what it makes of a sample, though not of the transparent colour, in 8 bits."""


def scale_deep(values: NDArray[Any], transparent: int | None, deep: DeepRange | None) -> Picture:
    """Scale grey of more than 8 bits into [0, 1] by the first full scale that holds it, else by its own range."""
    visible = _visible(values, transparent)
    low, high = _limits(visible)
    if not np.isfinite(low + high):
        raise ValueError("it has pixels that are nan or infinite")
    floats = values.dtype.kind == "f"
    largest = 0 if deep is None else deep.of_floats if floats else deep.of_integers
    full_scales = (1, *FULL_SCALES) if floats else FULL_SCALES
    full = next((scale for scale in full_scales if 0 <= low and max(high, largest) <= scale), None)
    wide = values.astype(np.float64)
    scaled = (wide - low) / ((high - low) or 1) if full is None else wide / full
    if transparent is not None:
        scaled[values == transparent] = 1
    return scaled.astype(np.float32)


def _deep_range(source: Source, kinds: str) -> tuple[float, float]:
    """Least and largest value of deep grey; nan where the file is no such grey, or cannot be read."""
    try:
        with _opened(source, None) as image:
            if not _is_deep(image):
                return np.nan, np.nan
            with budget.hold(_peak(image)):
                image.load()
                values = np.asarray(image)
                visible = _visible(values, image.info.get("transparency"))
                return _limits(visible) if values.dtype.kind in kinds else (np.nan, np.nan)
    except DataError:
        return np.nan, np.nan


def _visible(values: NDArray[Any], transparent: int | None) -> NDArray[Any]:
    return values if transparent is None else values[values != transparent]


def _limits(values: NDArray[Any]) -> tuple[float, float]:
    """Least and largest; 0 where there is nothing."""
    return (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)


def _lies(image: Image.Image) -> bool:
    """Does the EXIF orientation ask for a quarter turn, so that width and height change places?"""
    try:
        return image.getexif().get(ExifTags.Base.Orientation, 1) in (5, 6, 7, 8)
    except Exception:  # damaged EXIF raises nearly anything, and says nothing about the pixels
        return False


def _turn_upright(image: Image.Image) -> None:
    """Turn the pixels as EXIF asks; in place, so that they are not held twice, and what EXIF says else may be damaged.

    Pillow turns them in their own mode: no depth is lost.
    """
    try:
        ImageOps.exif_transpose(image, in_place=True)
    except MemoryError:
        raise
    except Exception:  # EXIF cannot be read, or not be written again; in the latter case the pixels are turned
        return


def unit_floats(values: NDArray[Any]) -> Picture:
    """8 bits divided by 255; bool and floats as they are."""
    floats: Picture = values.astype(np.float32)
    if values.dtype.kind == "u":
        floats /= np.float32(255)
    return floats


def chunks(pictures: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """A few at a time, so that a mapped file is not held as a whole."""
    for start in range(0, len(pictures), 1024):
        yield pictures[start : start + 1024]
