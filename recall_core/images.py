"""One picture decoded safely; ``Pictures``, many of them on demand; thumbnails.

A decoded picture is a float32 array in [0, 1], (H, W) for grey or (H, W, 3) for RGB. Nothing here knows data sets.
"""

from __future__ import annotations

import base64
import io
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageFile, UnidentifiedImageError

from . import budget
from .errors import DataError

Picture = NDArray[np.float32]
Source = Path | bytes
Shape = tuple[int, ...]

MAX_PIXELS = 2**26
"""Larger pictures are refused before they are decoded: 67 million pixels are 805 MB as float32 RGB."""

COUNTS_FROM = 3 * 2**24
"""Bytes that any image may unpack to, 16 million pixels in colour; a larger one is judged by the size of its file.

A blank page of 8,000 × 8,000 pixels is a file of 60 kB, and a gigabyte once it is decoded.
"""

BATCH_VALUES = 2**25
"""A batch of large pictures is cut short here: 134 MB, and one picture more."""

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
            picture = _oriented(_as_array(image, deep), _orientation(image))
    return np.ascontiguousarray(picture)


def header_shape(source: Source, *, name: str | None = None) -> Shape:
    """Which shape will the decoded picture have? Read from the header where the format allows it.

    Raises ``DataError`` where the header cannot be read; that it can be read does not promise that the rest can.
    """
    with _opened(source, name) as image:
        width, height = image.size
        # Pillow gives the size of a TIFF as it will be after it is turned.
        if _orientation(image) >= 5 and image.format != "TIFF":
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
            return float(max((some.max() for some in _chunks(self.source)), default=0))
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


@dataclass(frozen=True, eq=False)
class Pictures:
    """Many pictures, decoded only when they are asked for.

    Made by ``from_array`` or ``from_files``; ``len``, ``pictures[i]`` and iteration work as for a list.

    Parameters
    ----------
    source : array or tuple of Path or bytes
        (n, H, W) or (n, H, W, 3) array of uint8, uint16, bool or floats in [0, 1] (never copied as a whole), or files.
    positions : (n_picture,) intp
        Which entries of ``source`` these pictures are, in this order.
    deep : DeepRange, optional
        Of the whole source, which all selections share.
    """

    source: NDArray[Any] | tuple[Source, ...]
    positions: NDArray[np.intp]
    deep: DeepRange | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.deep is None:
            object.__setattr__(self, "deep", DeepRange(self.source))
        positions = np.ascontiguousarray(self.positions, dtype=np.intp).view()
        positions.flags.writeable = False
        object.__setattr__(self, "positions", positions)
        if len(positions) and not (0 <= positions.min() and positions.max() < len(self.source)):
            raise ValueError(f"positions must lie in 0 … {len(self.source) - 1}")

    @classmethod
    def from_array(cls, array: ArrayLike) -> Pictures:
        """Take pictures from an array, which may be memory-mapped.

        Parameters
        ----------
        array : (n, H, W), (n, 1, H, W), (n, 3, H, W), (n, H, W, 1) or (n, H, W, 3)
            uint8 is divided by 255, uint16 by the first of ``FULL_SCALES`` that holds the whole array, bool is 0 and
            1, floats must lie in [0, 1].

        Raises
        ------
        DataError
            Another shape or number type; a shape that can be read in two ways; a value outside [0, 1], nan, infinity.
        """
        pictures = _channels_last(np.asanyarray(array))
        if pictures.dtype.kind == "f":
            _check_unit_range(pictures)
        elif pictures.dtype.kind != "b" and pictures.dtype.newbyteorder("=") not in (np.uint8, np.uint16):
            raise DataError(
                f"pictures have the number type {pictures.dtype}; expected uint8, uint16, bool, or floats in [0, 1]"
            )
        return cls(pictures, np.arange(len(pictures)))

    @classmethod
    def from_files(cls, sources: Sequence[Source | str]) -> Pictures:
        """Take pictures from files (paths) or from their contents (bytes); nothing is opened yet."""
        files = tuple(Path(source) if isinstance(source, str) else source for source in sources)
        return cls(files, np.arange(len(files)))

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, i: int) -> Picture:
        at = int(self.positions[i])
        if isinstance(self.source, np.ndarray):
            values = self.source[at]
            deep = values.dtype.kind == "u" and values.dtype.itemsize > 1
            return _scale_deep(values, None, self.deep) if deep else _unit_floats(values)
        return decode(self.source[at], name=self._name(at), deep=self.deep)

    def __iter__(self) -> Iterator[Picture]:
        for i in range(len(self)):
            yield self[i]

    def select(self, positions: ArrayLike) -> Pictures:
        """Keep these pictures (positions or a mask), in the order given; nothing is copied or opened."""
        at = np.asarray(positions)
        return Pictures(self.source, self.positions[at if at.size else at.astype(np.intp)], deep=self.deep)

    def batches(self, size: int) -> Iterator[list[Picture]]:
        """Go through the pictures in lists of ``size``.

        The last may be shorter, and any where the pictures are large: a list ends once it holds ``BATCH_VALUES``.
        """
        batch: list[Picture] = []
        held = 0
        for picture in self:
            batch.append(picture)
            held += picture.size
            if len(batch) == size or held >= BATCH_VALUES:
                yield batch
                batch, held = [], 0
        if batch:
            yield batch

    @cached_property
    def same_shape(self) -> Shape | None:
        """The shape that all pictures have in common; None if they differ, or if there are none.

        Files are asked for their headers, one after the other, until two shapes differ. ``DataError`` where a header
        cannot be read.
        """
        if len(self) == 0:
            return None
        if isinstance(self.source, np.ndarray):
            return tuple(self.source.shape[1:])
        common = self.shape(0)
        return common if all(self.shape(i) == common for i in range(1, len(self))) else None

    def shape(self, i: int) -> Shape:
        """Shape of picture ``i``: from its header, for a file."""
        at = int(self.positions[i])
        if isinstance(self.source, np.ndarray):
            return tuple(self.source.shape[1:])
        return header_shape(self.source[at], name=self._name(at))

    def preview(self, i: int, size: int = 128) -> Picture:
        """Picture ``i`` for a thumbnail of ``size``: decoded no finer than needed, which saves time on photographs."""
        at = int(self.positions[i])
        if isinstance(self.source, np.ndarray):
            return self[i]
        return decode(self.source[at], name=self._name(at), enough=2 * max(size, SMALL), deep=self.deep)

    def _name(self, at: int) -> str | None:
        """Call a file by its path, which is the default, and bytes by their place in the source."""
        return f"picture {at}" if isinstance(self.source[at], bytes) else None

    def problems(self) -> dict[int, str]:
        """Which pictures cannot be opened, and why: position → message. Each file is decoded once."""
        found: dict[int, str] = {}
        if isinstance(self.source, np.ndarray):
            return found
        for i in range(len(self)):
            try:
                self[i]
            except DataError as problem:
                found[i] = str(problem)
        return found


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
        return _scale_deep(np.asarray(image), image.info.get("transparency"), deep)
    grey = _is_grey(image)
    if not image.has_transparency_data:
        return _unit_floats(np.asarray(image.convert("L" if grey else "RGB")))
    white = Image.new("RGBA", image.size, "white")
    on_white = Image.alpha_composite(white, image.convert("LA" if grey else "RGBA").convert("RGBA"))
    return _unit_floats(np.asarray(on_white.convert("L" if grey else "RGB")))


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


def _scale_deep(values: NDArray[Any], transparent: int | None, deep: DeepRange | None) -> Picture:
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


def _orientation(image: Image.Image) -> int:
    """EXIF orientation, 1 to 8; 1 where there is none, or where it cannot be read."""
    try:
        given = image.getexif().get(0x0112, 1)
    except Exception:  # damaged EXIF raises nearly anything, and says nothing about the pixels
        return 1
    return given if given in TURNS else 1


def _oriented(picture: Picture, orientation: int) -> Picture:
    return TURNS[orientation](picture)


TURNS: dict[int, Callable[[Picture], Picture]] = {
    1: lambda picture: picture,
    2: lambda picture: picture[:, ::-1],
    3: lambda picture: picture[::-1, ::-1],
    4: lambda picture: picture[::-1],
    5: lambda picture: picture.swapaxes(0, 1),
    6: lambda picture: np.rot90(picture, -1),
    7: lambda picture: picture[::-1, ::-1].swapaxes(0, 1),
    8: lambda picture: np.rot90(picture),
}
"""What each EXIF orientation asks for, so that the picture stands upright."""


def _unit_floats(values: NDArray[Any]) -> Picture:
    """8 bits divided by 255; bool and floats as they are."""
    floats: Picture = values.astype(np.float32)
    if values.dtype.kind == "u":
        floats /= np.float32(255)
    return floats


def _as_image(picture: Picture) -> Image.Image:
    return Image.fromarray(np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8))


def _channels_last(array: NDArray[Any]) -> NDArray[Any]:
    """View an array of pictures as (n, H, W) or (n, H, W, 3)."""
    expected = "expected (n, H, W), (n, 1, H, W), (n, 3, H, W), (n, H, W, 1) or (n, H, W, 3)"
    if array.ndim not in (3, 4) or 0 in array.shape[1:]:
        raise DataError(f"pictures have the shape {array.shape}; {expected}")
    if array.ndim == 3:
        return array
    first, last = array.shape[1] in (1, 3), array.shape[3] in (1, 3)
    if first and last and array.shape[1:] != (1, 1, 1):
        raise DataError(f"pictures of shape {array.shape} can be read in two ways; give (n, H, W) or (n, H, W, 3)")
    if not first and not last:
        raise DataError(f"pictures have the shape {array.shape}; {expected}")
    channels_last = array if last else np.moveaxis(array, 1, 3)
    return channels_last[..., 0] if channels_last.shape[3] == 1 else channels_last


def _chunks(pictures: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """A few at a time, so that a mapped file is not held as a whole."""
    for start in range(0, len(pictures), 1024):
        yield pictures[start : start + 1024]


def _check_unit_range(pictures: NDArray[Any]) -> None:
    """Refuse floats outside [0, 1]."""
    low, high = np.inf, -np.inf
    for some in _chunks(pictures):
        low, high = np.minimum(low, some.min()), np.maximum(high, some.max())
    if len(pictures) and not (low >= 0 and high <= 1):
        seen = "nan" if np.isnan(low + high) else f"{low:g} to {high:g}"
        raise DataError(
            f"pictures of floating-point numbers must lie in [0, 1], these hold {seen}; "
            "divide by the full scale, or store them as uint8"
        )
