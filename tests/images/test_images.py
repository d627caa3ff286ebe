"""Pictures of every kind that people have: each loads as it looks, or is refused with its name and the reason."""

import csv
import io
import struct
import sys
import warnings
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from recall_core.errors import DataError
from recall_core.images import decoding, image_set
from recall_core.images.decoding import as_rgb, decode, header_shape, resize
from recall_core.images.image_set import Pictures
from recall_core.images.thumbnails import png, thumbnail, thumbnail_uri
from tests.conftest import SHARED, needs_shared

ARROW = np.zeros((6, 9, 3), np.uint8)
ARROW[1, 2:8] = (255, 0, 0)
ARROW[2:5, 7] = (0, 0, 255)
ARROW[5, 0] = (0, 255, 0)


def encoded(image: Image.Image | np.ndarray, kind: str = "PNG", **options: object) -> bytes:
    """The file's content, as a camera or another program would write it."""
    content = io.BytesIO()
    (Image.fromarray(image) if isinstance(image, np.ndarray) else image).save(content, kind, **options)
    return content.getvalue()


def stored_turned(upright: np.ndarray, orientation: int) -> tuple[np.ndarray, Image.Exif]:
    """Pixels as a camera stores them, and the tag that says how to turn them back."""
    transpose = {
        1: lambda a: a,
        2: lambda a: a[:, ::-1],
        3: lambda a: a[::-1, ::-1],
        4: lambda a: a[::-1],
        5: lambda a: a.swapaxes(0, 1),
        6: lambda a: np.rot90(a, 1),
        7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
        8: lambda a: np.rot90(a, -1),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    return np.ascontiguousarray(transpose(upright)), exif


def odd_images() -> list[tuple[str, bytes]]:
    archive = SHARED / "cases" / "odd_images.zip"
    if not archive.exists():
        return []
    with zipfile.ZipFile(archive) as opened:
        return [(entry.filename, opened.read(entry)) for entry in opened.infolist()]


# One picture


def test_a_grey_picture_is_two_dimensional_and_a_colour_one_has_three_channels():
    grey = decode(encoded(np.full((4, 5), 51, np.uint8)))
    assert grey.dtype == np.float32
    assert grey.shape == (4, 5)
    assert (grey == np.float32(0.2)).all()
    colour = decode(encoded(ARROW))
    assert colour.shape == (6, 9, 3)
    assert (colour == ARROW / np.float32(255)).all()


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied_and_known_from_the_header(kind, orientation):
    stored, exif = stored_turned(ARROW, orientation)
    content = encoded(stored, kind, exif=exif, **({"lossless": True} if kind == "WEBP" else {}))
    assert (decode(content) == ARROW / np.float32(255)).all()
    assert header_shape(content) == ARROW.shape


@pytest.mark.parametrize("orientation", range(1, 9))
def test_jpegs_of_every_orientation_look_equal(orientation):
    upright = np.kron(ARROW, np.ones((16, 16, 1), np.uint8))
    stored, exif = stored_turned(upright, orientation)
    plain = decode(encoded(upright, "JPEG", quality=95))
    turned = decode(encoded(stored, "JPEG", quality=95, exif=exif))
    assert turned.shape == plain.shape
    assert np.abs(turned - plain).mean() < 0.01


DEEP = {
    "16 bits": (np.arange(54, dtype=np.uint16).reshape(6, 9) * 1213, ("PNG", "TIFF")),
    "32 bits": (np.arange(54, dtype=np.int32).reshape(6, 9) * 1_000_003, ("TIFF",)),
    "floats": ((np.arange(54, dtype=np.float32).reshape(6, 9) / 53) ** 3, ("TIFF",)),
    "8 bits": (np.arange(54, dtype=np.uint8).reshape(6, 9), ("PNG", "TIFF")),
    "transparent": (np.dstack([ARROW, np.arange(54, dtype=np.uint8).reshape(6, 9) * 4]), ("PNG", "TIFF")),
}


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("values", DEEP)
def test_a_turned_picture_keeps_its_depth(values, orientation):
    upright, kinds = DEEP[values]
    stored, exif = stored_turned(upright, orientation)
    for kind in kinds:
        found = decode(encoded(stored, kind, exif=exif))
        assert np.array_equal(found, decode(encoded(upright, kind)))
        assert len(np.unique(found)) > 50


def test_an_orientation_counts_where_the_rest_of_exif_cannot_be_written_again(monkeypatch):
    stored, exif = stored_turned(ARROW, 6)
    content = encoded(stored, exif=exif)

    def fail(self, offset=8):
        raise ValueError("damaged")

    monkeypatch.setattr(Image.Exif, "tobytes", fail)
    assert (decode(content) == ARROW / np.float32(255)).all()


def test_an_impossible_exif_orientation_is_ignored():
    exif = Image.Exif()
    exif[0x0112] = 77
    assert (decode(encoded(ARROW, exif=exif)) == ARROW / np.float32(255)).all()


def test_sixteen_bit_grey_is_scaled_not_clipped():
    values = np.array([[0, 1, 255, 256], [4096, 30000, 65534, 65535]], np.uint16)
    for kind in ("PNG", "TIFF", "PPM"):
        assert decode(encoded(values, kind)) == pytest.approx(values / 65535, abs=1e-7)


def test_sixteen_bit_colour_is_scaled_not_clipped():
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    values = np.array([[[256, 32768, 65535]]], ">u2")
    header = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    content += chunk(b"IDAT", zlib.compress(b"\0" + values.tobytes())) + chunk(b"IEND", b"")
    assert decode(content) == pytest.approx(values / 65535, abs=1 / 255)


def test_big_endian_sixteen_bit_tiff_gives_the_same_picture():
    values = np.array([[0, 258], [513, 65535]], np.uint16)
    image = Image.frombytes("I;16B", (2, 2), values.astype(">u2").tobytes())
    assert decode(encoded(image, "TIFF")) == pytest.approx(values / 65535, abs=1e-7)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([[0, 65535]], np.int32), [[0, 1]]),
        (np.array([[-100, 100]], np.int32), [[0, 1]]),
        (np.array([[0, 100_000]], np.int32), [[0, 1]]),
        (np.array([[0, 13107]], np.int32), [[0, 0.2]]),
        (np.array([[0.25, 1]], np.float32), [[0.25, 1]]),
        (np.array([[51, 255]], np.float32), [[0.2, 1]]),
        (np.array([[13107, 65535]], np.float32), [[0.2, 1]]),
        (np.array([[-1, 0, 1]], np.float32), [[0, 0.5, 1]]),
    ],
)
def test_deep_grey_is_divided_by_its_full_scale_or_else_stretched(values, expected):
    assert decode(encoded(values, "TIFF")) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_picture_with_pixels_that_are_no_numbers_is_refused(bad):
    with pytest.raises(DataError, match="nan or infinite"):
        decode(encoded(np.array([[0, bad]], np.float32), "TIFF"))


def test_transparent_parts_show_white():
    rgba = np.dstack([ARROW, np.array([[0] * 9] * 3 + [[255] * 9] * 3, np.uint8)])
    picture = decode(encoded(rgba))
    assert (picture[:3] == 1).all()
    assert (picture[3:] == ARROW[3:] / np.float32(255)).all()
    grey_alpha = Image.fromarray(np.array([[0, 0]], np.uint8)).convert("LA")
    grey_alpha.putalpha(Image.fromarray(np.array([[0, 51]], np.uint8)))
    assert decode(encoded(grey_alpha)) == pytest.approx(np.array([[1, 0.8]]))


def test_a_palette_is_looked_up():
    palette = Image.fromarray(ARROW).convert("P", palette=Image.Palette.ADAPTIVE, colors=8)
    for kind in ("PNG", "GIF"):
        assert (decode(encoded(palette, kind)) == ARROW / np.float32(255)).all()


def test_a_transparent_palette_entry_shows_white():
    palette = Image.new("P", (2, 1))
    palette.putpalette([10, 20, 30, 255, 0, 0])
    palette.putdata([0, 1])
    assert decode(encoded(palette, transparency=0)) == pytest.approx(np.array([[[1, 1, 1], [1, 0, 0]]]))


def test_one_bit_pictures_are_black_and_white():
    image = Image.fromarray(np.array([[0, 255], [255, 0]], np.uint8)).convert("1")
    for kind in ("PNG", "TIFF", "PPM"):
        assert decode(encoded(image, kind)).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_cmyk_looks_like_its_rgb_twin(kind):
    upright = np.kron(ARROW, np.ones((16, 16, 1), np.uint8))
    twin = decode(encoded(Image.fromarray(upright).convert("CMYK"), kind))
    assert np.abs(twin - upright / 255).mean() < 0.02


def test_an_animation_shows_its_first_frame():
    frames = [Image.fromarray(np.full((4, 4, 3), shade, np.uint8)) for shade in (0, 255)]
    for kind in ("GIF", "PNG", "WEBP", "TIFF"):
        content = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
        assert (decode(content) == 0).all()


def test_a_bomb_is_refused_from_its_header(monkeypatch):
    monkeypatch.setattr(decoding, "MAX_PIXELS", 100)
    assert decode(encoded(np.zeros((10, 10), np.uint8))).shape == (10, 10)
    content = encoded(np.zeros((10, 11), np.uint8))
    header_only = content[: content.index(b"IDAT") + 4]
    with pytest.raises(DataError, match=r"refused before decoding: 11 × 10 pixels, more than the limit of 100"):
        decode(header_only)


def test_the_limit_also_holds_where_pillow_itself_refuses():
    header = b"P5 30000 30000 255\n"
    with pytest.raises(DataError, match=r"big\.pgm: refused before decoding: 900000000 pixels"):
        decode(header, name="big.pgm")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"hello", "the format is not known"),
        (encoded(ARROW)[:60], "cannot be read"),
        (encoded(np.zeros((64, 64), np.uint8), "JPEG")[:-40], "truncated"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "the format is not known"),
    ],
)
def test_an_unreadable_file_is_named_with_its_reason(tmp_path, content, reason):
    path = tmp_path / "árvíz 'x'.png"
    path.write_bytes(content)
    with pytest.raises(DataError, match=reason) as caught:
        decode(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_a_folder_and_an_impossible_name_are_named(tmp_path):
    with pytest.raises(DataError, match=r"gone\.png: there is no such file"):
        decode(tmp_path / "gone.png")
    with pytest.raises(DataError, match="not a file"):
        decode(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        decode(Path("a\0b.png"))


def test_heic_says_which_package_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    content = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(64)
    with pytest.raises(DataError, match="pip install pillow-heif"):
        decode(content, name="phone.heic")


def test_damaged_exif_does_not_hide_the_picture_and_warns_nobody():
    content = encoded(ARROW, "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\x05\0\x12\x01")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decode(content).shape == ARROW.shape


@needs_shared
@pytest.mark.parametrize(("name", "content"), odd_images())
def test_each_odd_image_loads_or_is_refused_as_pillow_says(name, content):
    with (SHARED / "cases" / "odd_images.csv").open(encoding="utf-8", newline="") as table:
        said = {row["file"]: row for row in csv.DictReader(table)}[name]["pillow_13_load"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if said == "ok" or "Corrupt EXIF" in said:  # the pixels of the second kind are whole
            picture = decode(content, name=name)
            assert picture.dtype == np.float32
            assert 0 <= picture.min() <= picture.max() <= 1
            assert header_shape(content, name=name) == picture.shape
            assert thumbnail(picture)[1] in ("image/png", "image/webp")
        else:
            with pytest.raises(DataError) as caught:
                decode(content, name=name)
            assert name in str(caught.value)


@needs_shared
def test_the_twins_among_the_odd_images_look_alike():
    odd = dict(odd_images())

    def difference(a: str, b: str) -> float:
        return float(np.abs(decode(odd[a]) - decode(odd[b])).mean())

    assert difference("pil_sample_cmyk.jpg", "pil_sample_rgb.jpg") < 0.03
    assert difference("pil123p.png", "pil123rgba.png") < 0.01
    assert difference("hopper.Lab.tif", "syn_UPPER.PNG") < 0.02
    for orientation in (2, 3, 4, 5, 7):
        assert difference(f"hopper_orientation_{orientation}.jpg", "syn_UPPER.PNG") < 0.03


@settings(max_examples=60)
@given(st.data())
def test_damaged_files_raise_only_data_errors(data):
    samples = [
        encoded(ARROW, kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "AVIF", "JPEG2000", "ICO")
    ]
    content = bytearray(data.draw(st.sampled_from(samples)))
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    with suppress(DataError):
        picture = decode(cut)
        assert 0 <= picture.min() <= picture.max() <= 1


@given(st.binary(max_size=64))
def test_random_bytes_raise_only_data_errors(content):
    with suppress(DataError):
        decode(content)


# Many pictures


@pytest.mark.parametrize("shape", [(2, 4, 5), (2, 1, 4, 5), (2, 4, 5, 1)])
def test_grey_arrays_of_any_form_give_the_same_pictures(shape):
    values = np.arange(40, dtype=np.uint8).reshape(2, 4, 5)
    pictures = Pictures.from_array(values.reshape(shape))
    assert len(pictures) == 2
    assert pictures.same_shape == (4, 5)
    assert (pictures[1] == values[1] / np.float32(255)).all()


def test_colour_arrays_of_both_forms_give_the_same_pictures():
    values = np.arange(120, dtype=np.uint8).reshape(2, 4, 5, 3)
    for array in (values, np.moveaxis(values, 3, 1)):
        pictures = Pictures.from_array(array)
        assert pictures.same_shape == (4, 5, 3)
        assert (pictures[1] == values[1] / np.float32(255)).all()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([0, 51, 255], np.uint8), [0, 0.2, 1]),
        (np.array([0, 13107, 65535], np.uint16), [0, 0.2, 1]),
        (np.array([0, 13107, 65535], ">u2"), [0, 0.2, 1]),
        (np.array([False, False, True]), [0, 0, 1]),
        (np.array([0, 0.2, 1], np.float32), [0, 0.2, 1]),
        (np.array([0, 0.2, 1], ">f8"), [0, 0.2, 1]),
    ],
)
def test_each_number_type_is_scaled_to_zero_to_one(values, expected):
    picture = Pictures.from_array(values.reshape(1, 1, 3))[0]
    assert picture.dtype == np.float32
    assert picture.dtype.isnative
    assert picture[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 3)), r"shape \(3, 3\); expected \(n, H, W\)"),
        (np.zeros((2, 4, 5, 2)), r"shape \(2, 4, 5, 2\)"),
        (np.zeros((2, 0, 5)), r"shape \(2, 0, 5\)"),
        (np.zeros((2, 3, 8, 1)), "two ways"),
        (np.zeros((2, 4, 5), np.int64), "number type int64"),
        (np.zeros((2, 4, 5), object), "number type object"),
        (np.full((2, 4, 5), 255.0), "hold 255 to 255"),
        (np.array([[[-0.5, 1.5]]]), "hold -0.5 to 1.5"),
        (np.array([[[0.5, np.nan]]]), "hold nan"),
        (np.array([[[0.5, np.inf]]]), "hold 0.5 to inf"),
    ],
)
def test_an_array_that_cannot_be_pictures_is_refused_with_what_was_seen(array, message):
    with pytest.raises(DataError, match=message):
        Pictures.from_array(array)


def test_a_mapped_array_is_read_a_picture_at_a_time(tmp_path):
    np.save(tmp_path / "images.npy", np.random.default_rng(0).random((5, 1, 4, 4), np.float32))
    mapped = np.load(tmp_path / "images.npy", mmap_mode="r")
    pictures = Pictures.from_array(mapped).select([3, 1])
    assert isinstance(pictures.source, np.ndarray)
    assert np.shares_memory(pictures.source, mapped)
    assert (pictures[0] == mapped[3, 0]).all()


def test_a_picture_from_an_array_is_a_copy_of_its_own():
    array = np.zeros((1, 2, 2), np.float32)
    Pictures.from_array(array)[0][:] = 1
    assert (array == 0).all()


def test_files_open_on_demand_and_selections_nest(tmp_path):
    for i in range(4):
        (tmp_path / f"{i}.png").write_bytes(encoded(np.full((2, 3), 51 * i, np.uint8)))
    pictures = Pictures.from_files([tmp_path / f"{i}.png" for i in range(4)] + [str(tmp_path / "gone.png")])
    some = pictures.select([4, 3, 1]).select([False, True, True])
    assert [picture[0, 0] for picture in some] == pytest.approx([0.6, 0.2])
    assert some.same_shape == (2, 3)
    assert len(pictures.select([])) == 0
    with pytest.raises(DataError, match=r"gone\.png"):
        pictures[4]


def test_same_shape_is_that_of_the_turned_pictures(tmp_path):
    contents = []
    for orientation in range(1, 9):
        stored, exif = stored_turned(ARROW, orientation)
        contents.append(encoded(stored, "JPEG", exif=exif))
    assert Pictures.from_files(contents).same_shape == ARROW.shape
    grey = encoded(ARROW[:, :, 0])
    assert Pictures.from_files([contents[0], grey]).same_shape is None
    assert Pictures.from_files([]).same_shape is None


def test_batches_go_through_all_pictures_in_order():
    pictures = Pictures.from_array(np.arange(7, dtype=np.uint8).reshape(7, 1, 1))
    sizes = [len(batch) for batch in pictures.batches(3)]
    assert sizes == [3, 3, 1]
    flat = [float(picture[0, 0] * 255) for batch in pictures.batches(3) for picture in batch]
    assert flat == pytest.approx(range(7))


def test_a_batch_of_large_pictures_is_cut_short(monkeypatch):
    monkeypatch.setattr(image_set, "BATCH_VALUES", 50)
    pictures = Pictures.from_array(np.zeros((7, 4, 5), np.uint8))
    assert [len(batch) for batch in pictures.batches(256)] == [3, 3, 1]
    assert [len(batch) for batch in pictures.batches(2)] == [2, 2, 2, 1]


def test_problems_name_the_pictures_that_cannot_be_opened():
    pictures = Pictures.from_files([encoded(ARROW), b"", encoded(ARROW)[:60]])
    problems = pictures.problems()
    assert list(problems) == [1, 2]
    assert "picture 1: the file is empty" in problems[1]


def test_a_preview_of_a_large_jpeg_is_decoded_no_finer_than_needed():
    y, x = np.mgrid[:600, :900]
    exif = Image.Exif()
    exif[0x0112] = 6
    wave = (127 + 100 * np.sin(x / 60) * np.cos(y / 60)).astype(np.uint8)
    pictures = Pictures.from_files([encoded(wave, "JPEG", quality=95, exif=exif), encoded(wave)])
    assert pictures[0].shape == (900, 600)
    assert pictures.preview(0, 100).shape == (450, 300)
    assert pictures.preview(1, 100).shape == (600, 900)
    small, full = (decode(thumbnail(picture, 100)[0]) for picture in (pictures.preview(0, 100), pictures[0]))
    assert small.shape == full.shape
    assert np.abs(small - full).mean() < 0.02
    array = Pictures.from_array(ARROW[None])
    assert (array.preview(0) == array[0]).all()


# Thumbnails and sizes


def test_small_pictures_keep_their_pixels_in_a_thumbnail():
    picture = np.random.default_rng(0).integers(0, 256, (24, 24)) / np.float32(255)
    content, mime = thumbnail(picture.astype(np.float32))
    assert mime == "image/png"
    assert decode(content) == pytest.approx(picture)


def test_photographs_become_small_webp_and_are_never_enlarged():
    content, mime = thumbnail(np.zeros((300, 600, 3), np.float32), size=96)
    assert mime == "image/webp"
    assert decode(content).shape == (48, 96, 3)
    assert decode(thumbnail(np.zeros((50, 60), np.float32))[0]).shape[:2] == (50, 60)
    assert decode(thumbnail(np.zeros((1, 5000), np.float32))[0]).shape[:2] == (1, 128)
    assert thumbnail_uri(np.zeros((2, 2), np.float32)).startswith("data:image/png;base64,")


def test_png_is_a_round_trip_of_eight_bit_pictures():
    assert (decode(png(decode(encoded(ARROW)))) == ARROW / np.float32(255)).all()


def test_resizing_takes_the_mean_of_the_area():
    picture = np.arange(16, dtype=np.float32).reshape(4, 4) / 16
    assert resize(picture, 2, 2) == pytest.approx(picture.reshape(2, 2, 2, 2).mean((1, 3)))
    colour = as_rgb(picture)
    assert colour.shape == (4, 4, 3)
    assert resize(colour, 2, 1) == pytest.approx(as_rgb(picture.reshape(2, 2, 4).mean((1, 2))[:, None]))


def test_chunked_text_bombs_are_refused():
    info = PngImagePlugin.PngInfo()
    info.add_text("note", "x" * 2_000_000, zip=True)
    with pytest.raises(DataError, match="cannot be read"):
        decode(encoded(ARROW, pnginfo=info))
