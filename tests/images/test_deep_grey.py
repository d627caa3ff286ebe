"""Grey of more than 8 bits: one rule of range for thresholds, thumbnails, encoders and duplicates."""

import io
import struct
import zlib

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import recall_core as rc
from recall_core.datasets.dataset import Dataset
from recall_core.datasets.tables import find_columns
from recall_core.diagnosis.audit import inspect
from recall_core.images import looks as engine_looks
from recall_core.images.corruption import corrupt
from recall_core.images.decoding import DeepRange, decode
from recall_core.images.encoders import ENCODERS, FITTED, encode
from recall_core.images.image_set import Pictures
from recall_core.images.thumbnails import thumbnail
from recall_core.protocol.spec import Spec

N_GROUP, SIDE = 8, 12
FULL = {"8 bits": 255, "10 bits": 1023, "12 bits": 4095, "16 bits": 65535}


def scenes(full):
    """(16, 12, 12) whole numbers up to ``full``: of each group an image and its copy but for one pixel."""
    values = np.random.default_rng(3).integers(0, full // 8, (N_GROUP, SIDE, SIDE))
    values *= np.arange(1, N_GROUP + 1)[:, None, None]  # some are dark
    values[:, 0, 0] = np.linspace(1, full, N_GROUP).astype(int)
    twice = np.repeat(values, 2, axis=0)
    twice[1::4, 1, 1] = 0
    return twice


def file_of(values, kind="PNG"):
    content = io.BytesIO()
    Image.fromarray(values).save(content, kind)
    return content.getvalue()


FORMS = {
    "PNG": lambda values: Pictures.from_files([file_of(one.astype(np.uint16)) for one in values]),
    "TIFF": lambda values: Pictures.from_files([file_of(one.astype(np.uint16), "TIFF") for one in values]),
    "32 bits": lambda values: Pictures.from_files([file_of(one.astype(np.int32), "TIFF") for one in values]),
    "floats": lambda values: Pictures.from_files([file_of(one.astype(np.float32), "TIFF") for one in values]),
    "array": lambda values: Pictures.from_array(values.astype(np.uint16)),
    "big-endian array": lambda values: Pictures.from_array(values.astype(">u2")),
    "colour array": lambda values: Pictures.from_array(np.repeat(values[..., None], 3, axis=3).astype(np.uint16)),
}


def dataset_of(pictures):
    table = pd.DataFrame({"group": [f"g{row // 2}" for row in range(len(pictures))]}, dtype="str")
    return Dataset("deep", table, find_columns(table), pictures)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("depth", FULL)
def test_every_consumer_sees_deep_grey_in_the_range_that_its_bits_have(form, depth):
    values = scenes(FULL[depth])
    pictures = FORMS[form](values)
    expected = values / FULL[depth]
    for i, image in enumerate(expected):
        shown = pictures[i] if pictures[i].ndim == 2 else pictures[i][..., 0]
        assert shown == pytest.approx(image, abs=1e-6)
        assert (pictures.preview(i) == pictures[i]).all()
    bright = decode(thumbnail(pictures[15])[0])
    assert bright.max() > 0.9
    looks = engine_looks.look(pictures)
    assert not looks.flat.any()
    assert looks.has_hash[2:].all()
    found = inspect(dataset_of(pictures), Spec(encoder="raw"))
    assert "flat_pictures" not in {finding.kind for finding in found.findings}
    same = found.pairs[found.pairs["kind"] == "content"]
    assert same[["first", "second"]].to_numpy().tolist() == [[2, 3], [6, 7], [10, 11], [14, 15]]


@pytest.mark.parametrize("depth", FULL)
@pytest.mark.parametrize("name", [*ENCODERS, *FITTED])
def test_encoders_give_deep_grey_the_vectors_of_the_same_image_in_floats(depth, name):
    values = scenes(FULL[depth])
    choices = {"train_labels": np.arange(16) // 4} if name in FITTED else {}
    plain, deep = Pictures.from_array((values / FULL[depth]).astype(np.float32)), FORMS["PNG"](values)
    expected = encode(plain, name, train=plain if choices else None, **choices)
    found = encode(deep, name, train=deep if choices else None, **choices)
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_dark_image_stays_dark_beside_the_others_of_its_set():
    """An image by itself is divided by what holds its values; in a set, by what holds those of the set."""
    values = np.stack([np.full((4, 4), 200), np.full((4, 4), 4000)])
    values[:, 0] = 0
    for form in ("PNG", "TIFF", "32 bits", "array"):
        pictures = FORMS[form](values)
        for some in (pictures, pictures.select([0]), pictures.select([1, 0]).select([1])):
            assert some[0].max() == pytest.approx(200 / 4095)
        assert corrupt(pictures, "shift", 0.01).select([0])[0].max() == pytest.approx(200 / 4095, rel=0.1)
    assert decode(file_of(values[0].astype(np.uint16))).max() == pytest.approx(200 / 255)


def test_an_image_that_its_set_has_not_announced_is_scaled_not_clipped(monkeypatch):
    monkeypatch.setattr("recall_core.images.decoding.N_RANGE", 2)
    values = np.zeros((3, 4, 4), int)
    values[:, 0, 0] = 900, 3000, 1000
    pictures = FORMS["PNG"](values)
    assert [pictures[i].max() for i in range(3)] == pytest.approx([900 / 1023, 3000 / 4095, 1000 / 1023])


def test_the_range_of_a_set_passes_over_what_is_broken_or_of_another_kind():
    values = np.full((4, 4), 500, np.uint16)
    files = [
        b"broken",
        file_of(values),
        file_of(np.full((4, 4), 255, np.uint8)),
        file_of(np.float32(values) * 100, "TIFF"),
    ]
    files.append(file_of(-values.astype(np.int32), "TIFF"))
    deep = DeepRange(tuple(files))
    assert (deep.of_integers, deep.of_floats) == (500, 50_000)
    assert (DeepRange(()).of_integers, DeepRange(()).of_floats) == (0, 0)


CONSTANT = {
    "large float": np.full((6, 6), 1e6, np.float32),
    "negative float": np.full((6, 6), -3.5, np.float32),
    "float": np.full((6, 6), 0.25, np.float32),
    "large 32-bit": np.full((6, 6), 70_000, np.int32),
    "negative 32-bit": np.full((6, 6), -5, np.int32),
    "32-bit": np.full((6, 6), 7, np.int32),
}


@pytest.mark.parametrize("kind", CONSTANT)
def test_a_constant_image_is_an_even_grey_and_no_nan(kind):
    image = decode(file_of(CONSTANT[kind], "TIFF"))
    assert np.ptp(image) == 0
    assert 0 <= image.min() <= image.max() <= 1


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_set_with_constant_images_is_evaluated_whole(encoder):
    rng = np.random.default_rng(0)
    others = [rng.integers(0, 255, (6, 6)).astype(np.float32) for _ in range(4)]
    pictures = Pictures.from_files([file_of(one, "TIFF") for one in [*CONSTANT.values(), *others]])
    result = rc.evaluate(dataset_of(pictures), encoder=encoder, split="leave-one-out")
    assert result.counts["n_query"] == 10
    assert "unreadable_pictures" not in {finding.kind for finding in result.findings}
    flat = next(
        one for one in inspect(dataset_of(pictures), Spec(encoder=encoder)).findings if one.kind == "flat_pictures"
    )
    assert flat.count == len(CONSTANT)


def png_with_transparent(width, depth, colour, row, transparent):
    """A PNG of one row, as other programs write it: Pillow writes no transparent colour at some depths."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, 1, depth, colour, 0, 0, 0)
    parts = ((b"IHDR", header), (b"tRNS", transparent), (b"IDAT", zlib.compress(b"\0" + row)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


@pytest.mark.parametrize(
    ("width", "depth", "colour", "row", "transparent", "expected"),
    [
        (3, 16, 0, struct.pack(">3H", 0, 13107, 65535), [0], [1, 0.2, 1]),
        (3, 16, 0, struct.pack(">3H", 65535, 500, 1000), [65535], [1, 500 / 1023, 1000 / 1023]),
        (3, 16, 0, struct.pack(">3H", 7, 7, 7), [7], [1, 1, 1]),
        (2, 8, 0, bytes([5, 51]), [5], [1, 0.2]),
        (2, 4, 0, bytes([0x53]), [5], [1, 0.2]),
        (4, 2, 0, bytes([0b00011000]), [2], [0, 1 / 3, 1, 0]),
        (8, 1, 0, bytes([0b00011011]), [0], [1] * 8),
        (2, 8, 2, bytes([1, 2, 3, 0, 51, 0]), [1, 2, 3], [[1, 1, 1], [0, 0.2, 0]]),
        (
            2,
            16,
            2,
            struct.pack(">6H", 0x1234, 0x2345, 0x3456, 0, 13107, 0),
            [0x1234, 0x2345, 0x3456],
            [[1, 1, 1], [0, 0.2, 0]],
        ),
        (1, 16, 2, struct.pack(">3H", 0x3412, 0, 0), [0x1234, 0, 0], [[0x34 / 255, 0, 0]]),
    ],
)
def test_a_transparent_colour_shows_white_at_every_depth(width, depth, colour, row, transparent, expected):
    content = png_with_transparent(width, depth, colour, row, struct.pack(f">{len(transparent)}H", *transparent))
    assert decode(content)[0] == pytest.approx(np.array(expected), abs=1e-6)
    pictures = Pictures.from_files([content])
    assert pictures[0][0] == pytest.approx(np.array(expected), abs=1e-6)
