"""Encoders against plain definitions, and what a user's own function may and may not return."""

import io
import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from recall_core.datasets import glyphlab
from recall_core.datasets.samples import digits
from recall_core.errors import DataError
from recall_core.images import encoders
from recall_core.images.encoders import ENCODERS, FITTED, encode, import_encoder
from recall_core.images.image_set import Pictures
from recall_core.images.thumbnails import png

RNG = np.random.default_rng(5)
GREY = RNG.random((7, 6, 5), np.float32)
COLOUR = RNG.random((7, 6, 5, 3), np.float32)


def cosine(query: np.ndarray, gallery: np.ndarray) -> np.ndarray:
    q, g = query.astype(np.float64), gallery.astype(np.float64)
    return (q / np.linalg.norm(q, axis=1, keepdims=True)) @ (g / np.linalg.norm(g, axis=1, keepdims=True)).T


@pytest.fixture(scope="module")
def lab():
    images, table, _ = glyphlab.generate_glyphlab()
    test = np.flatnonzero(table["split"] == "test")
    return Pictures.from_array(images).select(test), table["class_id"].to_numpy()[test][0::2]


@pytest.fixture(scope="module")
def scans():
    images, table = digits()
    return Pictures.from_array(images), table["label"].to_numpy()


# Every encoder


@pytest.mark.parametrize("name", list(ENCODERS))
@pytest.mark.parametrize("array", [GREY, COLOUR], ids=["grey", "colour"])
def test_each_encoder_gives_one_finite_row_a_picture_in_order_whatever_the_batch(name, array):
    pictures = Pictures.from_array(array)
    vectors = encode(pictures, name)
    assert vectors.shape[0] == 7
    assert vectors.dtype == np.float32
    assert np.isfinite(vectors).all()
    assert (encode(pictures, name, batch=2) == vectors).all()
    backwards = encode(pictures.select(np.arange(7)[::-1]), name)
    assert (backwards[::-1] == vectors).all()


@pytest.mark.parametrize("name", list(ENCODERS))
def test_files_of_different_sizes_can_be_encoded(name):
    files = Pictures.from_files([png(RNG.random(shape, np.float32)) for shape in ((1, 1), (9, 40), (80, 70, 3))])
    vectors = encode(files, name)
    assert len(vectors) == 3
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("name", list(ENCODERS))
def test_black_and_white_pictures_give_finite_vectors(name):
    flat = Pictures.from_array(np.stack([np.zeros((8, 8), np.uint8), np.full((8, 8), 255, np.uint8)]))
    assert np.isfinite(encode(flat, name)).all()


@pytest.mark.parametrize("name", [*ENCODERS, *FITTED])
def test_no_pictures_give_no_rows(name):
    train = Pictures.from_array(GREY)
    nothing = train.select([])
    assert len(encode(nothing, name, train=train, train_labels=[0, 1, 0, 1, 0, 1, 0])) == 0


def test_an_unknown_encoder_and_a_text_with_code_are_refused_with_the_choices():
    for name in ("pixels", "os:system"):
        with pytest.raises(DataError, match="choose one of raw, colour"):
            encode(Pictures.from_array(GREY), name)


# Raw pixels


def test_raw_pixels_of_small_equal_pictures_are_taken_as_they_are():
    vectors = encode(Pictures.from_array(GREY), "raw")
    for picture, vector in zip(GREY, vectors, strict=True):
        length = math.sqrt(sum(float(value) ** 2 for value in picture.ravel()))
        assert vector == pytest.approx([float(value) / length for value in picture.ravel()], rel=1e-6)


@pytest.mark.parametrize(
    ("shape", "n_dim"), [((64, 64), 4096), ((65, 64), 3072), ((36, 36, 3), 3888), ((37, 37, 3), 3072)]
)
def test_raw_pixels_of_more_than_4096_values_are_resized(shape, n_dim):
    assert encode(Pictures.from_array(np.ones((2, *shape), np.float32)), "raw").shape == (2, n_dim)


def test_raw_pixels_of_different_sizes_are_box_resized_rgb():
    small, large = RNG.random((5, 6), np.float32), RNG.random((64, 96, 3), np.float32)
    files = Pictures.from_files([png(small), png(large)])
    vectors = encode(files, "raw")
    blocks = files[1].reshape(32, 2, 32, 3, 3).mean((1, 3), dtype=np.float64)
    assert vectors[1] == pytest.approx(blocks.ravel() / np.linalg.norm(blocks), abs=1e-6)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)


def test_the_whole_set_decides_how_pixels_are_taken():
    files = Pictures.from_files([png(GREY[0]), png(GREY[1]), png(COLOUR[0])])
    assert encode(files.select([0, 1]), "raw").shape == (2, 30)
    assert encode(files.select([0, 1]), "raw", like=files).shape == (2, 3072)
    with pytest.raises(DataError, match=r"shape \(6, 5, 3\) meets pictures of shape \(6, 5\)"):
        encode(files, "raw", like=files.select([0, 1]))


def test_a_black_picture_is_a_zero_row():
    assert (encode(Pictures.from_array(np.zeros((1, 3, 3), np.uint8)), "raw") == 0).all()


def test_a_photograph_has_the_same_vector_however_its_camera_was_held():
    upright = (np.kron(RNG.random((5, 8, 3)), np.ones((16, 16, 1))) * 255).astype(np.uint8)
    turn_back = [None, *range(7)]  # Pillow's transpositions, in the order of the EXIF orientations 1 to 8 below
    files = []
    for orientation, method in zip((1, 2, 4, 6, 3, 8, 5, 7), turn_back, strict=True):
        exif = Image.Exif()
        exif[0x0112] = orientation
        image = Image.fromarray(upright)
        stored = image if method is None else image.transpose(Image.Transpose(method))
        content = io.BytesIO()
        stored.save(content, "JPEG", quality=95, exif=exif)
        files.append(content.getvalue())
    for name in ("raw", "colour", "gradient"):
        vectors = encode(Pictures.from_files(files), name)
        assert cosine(vectors, vectors).min() > 0.99


# Plain features


def test_colour_counts_pixels_in_bins_and_ignores_their_places():
    picture = np.array([[[0, 0, 0], [255, 0, 0]], [[255, 31, 0], [255, 32, 0]]], np.uint8)
    vectors = encode(Pictures.from_array(np.stack([picture, picture[::-1, ::-1]])), "colour")
    expected = np.zeros((8, 8, 8))
    expected[0, 0, 0], expected[7, 0, 0], expected[7, 1, 0] = 1, 2, 1
    assert vectors[0] == pytest.approx(expected.ravel() / math.sqrt(6))
    assert (vectors[0] == vectors[1]).all()


def test_gradient_sees_edges_and_not_the_light():
    ramp = np.tile(np.linspace(0.3, 0.6, 64, dtype=np.float32), (64, 1))
    texture = ramp + 0.1 * np.sin(np.arange(64) / 3)[:, None].astype(np.float32)
    vectors = encode(Pictures.from_array(np.stack([texture, texture * 0.5 + 0.2, texture.T])), "gradient")
    similarity = cosine(vectors, vectors)
    assert similarity[0, 1] > 0.99
    assert similarity[0, 2] < 0.9


def test_gradient_knows_the_direction_of_an_edge():
    down = np.zeros((32, 32), np.float32)
    down[:, 16:] = 1
    y, x = np.mgrid[:32, :32]
    slope = (x > y).astype(np.float32)
    vectors = encode(Pictures.from_array(np.stack([down, down.T, slope])), "gradient").reshape(3, -1, 9).sum(1)
    assert vectors.argmax(1)[0] == 0  # a vertical edge changes along x: angle 0
    assert vectors.argmax(1)[1] in (4, 5)  # 90° lies between the bins of 80° and 100°
    assert vectors.argmax(1)[2] in (6, 7)  # 135°


@settings(max_examples=25)
@given(st.integers(1, 70), st.integers(1, 70), st.booleans())
def test_gradient_has_the_same_length_for_any_size(height, width, is_grey):
    picture = np.random.default_rng(height * 71 + width).random((1, height, width, 3), np.float32)
    files = Pictures.from_files([png(picture[0, :, :, 0] if is_grey else picture[0])])
    vectors = encode(files, "gradient")
    assert vectors.shape == (1, encoders.GRADIENT_CELLS**2 * encoders.GRADIENT_ANGLES)
    assert np.isfinite(vectors).all()


# The lesson's encoders


@given(st.lists(st.integers(0, 255), min_size=3, max_size=3, unique=True))
def test_mean_orders_pairs_by_the_difference_of_their_means(levels):
    vectors = encode(Pictures.from_array(np.array(levels, np.uint8).reshape(3, 1, 1)), "mean").astype(np.float64)
    one, near, far = levels[0], *sorted(levels[1:], key=lambda level: abs(level - levels[0]))
    if abs(near - one) == abs(far - one):
        return
    place = dict(zip(levels, vectors, strict=True))
    assert cosine(place[one][None], place[near][None]) > cosine(place[one][None], place[far][None])
    assert np.linalg.norm(place[one] - place[near]) < np.linalg.norm(place[one] - place[far])


def test_orientation_is_the_variance_of_row_column_and_diagonal_means():
    picture = GREY[0].astype(np.float64)
    diagonals = [np.diagonal(picture, offset).mean() for offset in range(-5, 5)]
    expected = np.array([np.var(picture.mean(1)), np.var(picture.mean(0)), np.var(diagonals)])
    assert encode(Pictures.from_array(GREY), "orientation")[0] == pytest.approx(
        expected / np.linalg.norm(expected), rel=1e-4
    )


def test_constant_is_the_same_for_everything():
    assert encode(Pictures.from_array(GREY), "constant").tolist() == [[1.0]] * 7


@pytest.mark.parametrize(
    ("name", "scene", "class_"),
    [
        ("raw", (1, 1), (0.7, 0.95)),
        ("orientation", (0.2, 0.5), (1, 1)),
        ("mean", (0.1, 0.4), (0.35, 0.65)),
    ],
)
def test_on_the_lab_the_class_as_relevance_changes_which_encoder_wins(lab, name, scene, class_):
    pictures, classes = lab
    vectors = encode(pictures, name)
    similarity = cosine(vectors[0::2], vectors[1::2])
    assert scene[0] <= (similarity.argmax(1) == np.arange(30)).mean() <= scene[1]
    np.fill_diagonal(similarity, -np.inf)  # each query's own scene is junk
    assert class_[0] <= (classes[similarity.argmax(1)] == classes).mean() <= class_[1]


# Fitted encoders


def test_ridge_is_the_least_squares_map_with_a_penalty_in_either_form():
    labels = np.array(list("abcabca"))
    for array in (GREY, GREY[:, :2, :2]):  # fewer and more pictures than pixels
        pixels = array.reshape(7, -1).astype(np.float64)
        centred = pixels - pixels.mean(0)
        target = (labels[:, None] == np.array(list("abc"))) * 1.0
        primal = np.linalg.inv(centred.T @ centred + np.eye(pixels.shape[1])) @ centred.T @ (target - target.mean(0))
        pictures = Pictures.from_array(array)
        vectors = encode(pictures, "ridge", train=pictures, train_labels=labels, batch=3)
        assert vectors == pytest.approx(centred @ primal, abs=1e-6)


@pytest.mark.parametrize(("name", "at_least"), [("ridge", 0.9), ("lda", 0.85), ("pca", 0.9)])
def test_fitted_encoders_learn_from_the_training_pictures_alone(scans, name, at_least):
    pictures, labels = scans
    train, rest = np.arange(0, 600), np.arange(600, 900)
    vectors = encode(pictures.select(rest), name, train=pictures.select(train), train_labels=labels[train])
    assert vectors.dtype == np.float32
    similarity = cosine(vectors, vectors)
    np.fill_diagonal(similarity, -np.inf)
    assert (labels[rest][similarity.argmax(1)] == labels[rest]).mean() >= at_least
    fewer = encode(pictures.select(rest[:5]), name, train=pictures.select(train), train_labels=labels[train])
    assert fewer == pytest.approx(vectors[:5], abs=1e-5)


def test_pca_needs_no_labels(scans):
    pictures, _ = scans
    assert encode(pictures.select(range(9)), "pca", train=pictures.select(range(9, 40))).shape == (9, 31)


@pytest.mark.parametrize(
    ("name", "n_train", "labels", "message"),
    [
        ("ridge", None, None, "learns from training pictures, and has 0"),
        ("pca", 1, None, "learns from training pictures, and has 1"),
        ("ridge", 3, ["a", "a", "a"], "have only one"),
        ("lda", 3, None, "have only one"),
        ("lda", 3, ["a", "b", "c"], "at least two training pictures"),
    ],
)
def test_a_fitted_encoder_says_what_it_lacks(name, n_train, labels, message):
    pictures = Pictures.from_array(GREY)
    train = None if n_train is None else pictures.select(range(n_train))
    with pytest.raises(DataError, match=message):
        encode(pictures, name, train=train, train_labels=labels)


def test_labels_that_do_not_match_the_training_pictures_are_a_callers_mistake():
    pictures = Pictures.from_array(GREY)
    with pytest.raises(ValueError, match=r"one entry a training picture, \(7,\), got \(2,\)"):
        encode(pictures, "ridge", train=pictures, train_labels=["a", "b"])


def leave_one_out(vectors: np.ndarray, classes: np.ndarray) -> float:
    similarity = cosine(vectors, vectors)
    np.fill_diagonal(similarity, -np.inf)
    return float((classes[similarity.argmax(1)] == classes).mean())


def test_a_leaking_training_draw_inflates_ridge_on_the_textured_lab():
    images, table, _ = glyphlab.generate_glyphlab(variant="textured")
    pictures, classes, scene = Pictures.from_array(images), table["class_id"].to_numpy(), np.arange(360) // 2
    scores: dict[str, list[float]] = {"random": [], "grouped": []}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        draws = {
            "random": rng.permutation(360)[:240],
            "grouped": np.flatnonzero(np.isin(scene, rng.permutation(180)[:120])),
        }
        for arm, train in draws.items():
            rest = rng.permutation(np.setdiff1d(np.arange(360), train))
            shown = rest[np.sort(np.unique(scene[rest], return_index=True)[1])][:60]
            vectors = encode(pictures.select(shown), "ridge", train=pictures.select(train), train_labels=classes[train])
            scores[arm].append(leave_one_out(vectors, classes[shown]))
    assert 0.7 < np.mean(scores["random"]) < 0.87
    assert 0.27 < np.mean(scores["grouped"]) < 0.43


# A user's own function


def test_a_callable_gets_lists_of_pictures_and_keeps_its_float_type():
    seen: list[tuple[int, tuple[int, ...]]] = []

    def own(pictures):
        seen.append((len(pictures), pictures[0].shape))
        return np.stack(pictures).reshape(len(pictures), -1).astype(np.float64)

    vectors = encode(Pictures.from_array(COLOUR), own, batch=4)
    assert seen == [(4, (6, 5, 3)), (3, (6, 5, 3))]
    assert vectors.dtype == np.float64
    assert vectors == pytest.approx(COLOUR.reshape(7, -1))


def test_whole_numbers_from_a_callable_become_float64():
    vectors = encode(Pictures.from_array(GREY), lambda pictures: [[1, 2]] * len(pictures))
    assert vectors.dtype == np.float64
    assert vectors.tolist() == [[1, 2]] * 7


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda n: np.zeros(n), r"array of shape \(7,\); expected \(7, n_dim\)"),
        (lambda n: np.zeros((n - 1, 3)), r"array of shape \(6, 3\); expected \(7, n_dim\)"),
        (lambda n: np.zeros((n, 0)), r"array of shape \(7, 0\)"),
        (lambda n: None, "it gave object"),
        (lambda n: [["a"]] * n, "it gave <U1"),
        (lambda n: np.zeros((n, 2), complex), "it gave complex128"),
        (
            lambda n: np.array([[0.0]] * 3 + [[np.nan]] * (n - 3)),
            "nan or infinity in 4 of 7 rows, the first at place 3",
        ),
        (lambda n: [[1], [1, 2]], "it failed \\(ValueError"),
        (lambda n: 1 / 0, "it failed \\(ZeroDivisionError: division by zero\\)"),
    ],
)
def test_what_a_callable_may_not_return_is_told_with_what_it_was(returned, message):
    with pytest.raises(DataError, match=message):
        encode(Pictures.from_array(GREY), lambda pictures: returned(len(pictures)))


def test_batches_must_have_vectors_of_one_length():
    with pytest.raises(DataError, match=r"different lengths, \[3, 4\]"):
        encode(Pictures.from_array(GREY), lambda pictures: np.zeros((len(pictures), len(pictures))), batch=4)


def test_module_and_function_are_imported(tmp_path, monkeypatch):
    (tmp_path / "my_own_encoder.py").write_text(
        "import numpy as np\nDIM = 3\ndef embed(pictures):\n    return np.ones((len(pictures), DIM))\n"
    )
    (tmp_path / "my_broken_encoder.py").write_text("def embed(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert encode(Pictures.from_array(GREY), import_encoder("my_own_encoder:embed")).shape == (7, 3)
    for name, message in [
        ("my_own_encoder", "must be written module:function"),
        (":embed", "must be written module:function"),
        ("my_own_encoder:encode", "has nothing of that name"),
        ("my_own_encoder:DIM", "has no function there, but int"),
        ("my_broken_encoder:embed", "SyntaxError"),
        ("no_such_module_anywhere:embed", "ModuleNotFoundError"),
    ]:
        with pytest.raises(DataError, match=message):
            import_encoder(name)
