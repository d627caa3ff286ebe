"""Corrupted query pictures: what each kind does, that a severity is comparable, and that it is a choice like others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recall_core as rc
from recall_core.images.corruption import CORRUPTIONS, DRAWN_CORRUPTIONS, corrupt, parse_corruption
from recall_core.images.image_set import Pictures
from recall_core.images.thumbnails import png
from recall_core.protocol import side_vectors
from recall_core.protocol.spec import Spec
from tests.conftest import DATA

shapes = st.sampled_from([(24, 24), (9, 14), (17, 8, 3), (70, 130, 3), (1, 1)])
kinds = st.sampled_from(list(CORRUPTIONS))


def random_pictures(n, shape):
    return Pictures.from_array(np.random.default_rng(7).random((n, *shape), dtype=np.float32))


@pytest.fixture(scope="module")
def lab():
    return rc.load(DATA / "glyphlab")


@given(kinds, shapes, st.integers(0, 99))
def test_severity_0_changes_nothing(kind, shape, seed):
    pictures = random_pictures(2, shape)
    unchanged = corrupt(pictures, kind, 0, seed=seed)
    assert all((unchanged[i] == pictures[i]).all() for i in range(2))


@given(kinds, shapes, st.floats(0, 1), st.integers(0, 99))
def test_shape_type_and_range_stay(kind, shape, severity, seed):
    picture = corrupt(random_pictures(2, shape), kind, severity, seed=seed)[1]
    assert picture.shape == shape
    assert picture.dtype == np.float32
    assert picture.min() >= 0
    assert picture.max() <= 1


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_what_a_picture_gets_depends_on_its_place_alone_not_on_who_else_was_selected(kind):
    whole = corrupt(random_pictures(6, (24, 24)), kind, 0.5, seed=1)
    some = whole.select([4, 2])
    early = corrupt(random_pictures(6, (24, 24)).select([4, 2]), kind, 0.5, seed=1)
    for i, at in enumerate((4, 2)):
        np.testing.assert_array_equal(some[i], whole[at])
        np.testing.assert_array_equal(early[i], whole[at])
    np.testing.assert_array_equal(list(some)[1], whole[2])


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_the_seed_decides_what_is_drawn_and_nothing_else(kind):
    pictures = random_pictures(2, (24, 24))
    once, again, other = (corrupt(pictures, kind, 0.5, seed=seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(once, again)
    assert (once != other).any() == (kind in DRAWN_CORRUPTIONS)


@pytest.mark.parametrize("kind", ["noise", "blur"])
def test_more_severity_is_more_of_the_same(kind):
    picture = np.full((24, 24), 0.5, np.float32)
    picture[:, 12:] = 0.6
    pictures = Pictures.from_array(picture[None])
    change = [np.abs(corrupt(pictures, kind, s, seed=0)[0] - picture).mean() for s in (0.1, 0.3, 0.6)]
    assert change == sorted(change)
    if kind == "noise":
        a, b = (corrupt(pictures, kind, s, seed=0)[0] - picture for s in (0.1, 0.2))
        np.testing.assert_allclose(b, 2 * a, atol=1e-6)


def test_a_patch_is_a_grey_square_of_the_severitys_share():
    white = Pictures.from_array(np.ones((1, 24, 30), np.float32))
    covered = corrupt(white, "patch", 1 / 3, seed=0)[0]
    rows, columns = np.nonzero(covered == 0.5)
    assert len(rows) == 64
    assert np.ptp(rows) == np.ptp(columns) == 7
    assert (corrupt(white, "patch", 1, seed=0)[0] == 0.5).sum() == 24 * 24


def test_noise_has_half_the_severity_as_its_sd():
    grey = Pictures.from_array(np.full((1, 60, 60), 0.5, np.float32))
    assert corrupt(grey, "noise", 0.2, seed=0)[0].std() == pytest.approx(0.1, rel=0.05)


def test_noise_on_a_large_picture_survives_reducing_it():
    grey = Pictures.from_array(np.full((1, 640, 640), 0.5, np.float32))
    noisy = corrupt(grey, "noise", 0.2, seed=0)[0]
    assert noisy.reshape(64, 10, 64, 10).mean((1, 3)).std() == pytest.approx(0.1, rel=0.05)


def test_blur_keeps_flat_pictures_and_mean_brightness_about_and_spreads_a_point_by_its_sd():
    flat = Pictures.from_array(np.full((1, 24, 24), 0.3, np.float32))
    np.testing.assert_allclose(corrupt(flat, "blur", 1, seed=0)[0], 0.3, atol=1e-6)
    point = np.zeros((1, 65, 65), np.float32)
    point[0, 32, 32] = 1
    spread = corrupt(Pictures.from_array(point), "blur", 0.4, seed=0)[0]
    assert np.average((np.arange(65) - 32) ** 2, weights=spread.sum(1)) == pytest.approx((0.4 * 65 / 8) ** 2, rel=0.05)


def test_a_wide_blur_is_the_same_for_the_same_picture_in_a_larger_size():
    small = np.random.default_rng(0).random((1, 32, 32), dtype=np.float32)
    large = small.repeat(16, 1).repeat(16, 2)
    blurred, wide = (corrupt(Pictures.from_array(some), "blur", 1, seed=0)[0] for some in (small, large))
    np.testing.assert_allclose(wide.reshape(32, 16, 32, 16).mean((1, 3)), blurred, atol=0.02)


def test_a_shift_moves_every_pixel_alike_and_draws_the_border_out():
    ramp = np.linspace(0, 1, 40, dtype=np.float32)
    picture = np.add.outer(ramp, ramp) / 2
    moved = corrupt(Pictures.from_array(picture[None]), "shift", 0.5, seed=3)[0]
    inner = (moved - picture)[12:-12, 12:-12]
    assert np.ptp(inner) < 1e-6
    assert set(np.unique(moved)) <= set(np.unique(picture))


def test_files_of_different_sizes_are_corrupted_one_by_one():
    files = Pictures.from_files([png(np.zeros((8, 9), np.float32)), png(np.ones((30, 20), np.float32))])
    noisy = corrupt(files, "patch", 0.5, seed=0)
    assert [picture.shape for picture in noisy] == [(8, 9), (30, 20)]
    assert noisy.shape(1) == (30, 20)


@pytest.mark.parametrize(
    "spelled", ["noise", "noise:", "noise:x", ":0.4", "fog:0.4", "noise:1.5", "noise:nan", "blur:-1"]
)
def test_what_is_no_corruption_is_refused_with_the_choices(spelled):
    with pytest.raises(rc.DataError, match=r"patch, noise, blur, shift|severity of"):
        parse_corruption(spelled)


def test_a_spec_spells_it_in_one_way_and_has_a_seed_only_where_something_is_drawn():
    assert Spec(corrupt="noise:.40").corrupt == "noise:0.4"
    assert Spec(corrupt="noise:0.4").draws
    assert not Spec(corrupt="blur:0.4").draws
    assert "--corrupt noise:0.4" in Spec(data="d", corrupt="noise:0.4").to_command()
    assert Spec.from_query(Spec(data="d", corrupt="shift:1").to_query()).corrupt == "shift:1"


@pytest.mark.parametrize("other", [{"scores": "s.npy"}, {"embeddings": "e.npy"}, {"query_images": "q.npy"}])
def test_a_spec_refuses_it_where_no_clean_picture_is_encoded(other):
    with pytest.raises(rc.DataError, match="corrupt="):
        Spec(corrupt="noise:0.4", **other)


def test_severity_0_gives_the_clean_number(lab):
    clean, same = rc.evaluate(lab), rc.evaluate(lab, corrupt="noise:0")
    assert {name: score.value for name, score in same.scores.items()} == {
        name: score.value for name, score in clean.scores.items()
    }
    assert same.spec.seed == 0


def test_the_asking_side_is_corrupted_in_both_directions_and_the_gallery_is_clean(lab):
    evaluation = rc.evaluate(lab, corrupt="noise:0.5", seed=4)
    clean = rc.evaluate(lab)
    pictures, rows = side_vectors.query_pictures(lab, evaluation.spec)
    for direction in evaluation.directions:
        asked = np.stack([pictures[list(rows).index(row)].ravel() for row in direction.split.query]).astype(float)
        answers = np.stack([lab.image(row).ravel() for row in direction.split.gallery]).astype(float)
        cosine = (asked / np.linalg.norm(asked, axis=1)[:, None]) @ (
            answers / np.linalg.norm(answers, axis=1)[:, None]
        ).T
        np.testing.assert_allclose(direction.ranking.similarity, np.diag(cosine), atol=1e-6)
        assert (direction.ranking.similarity < clean.direction(direction.name).ranking.similarity).all()


def test_the_score_falls_as_the_severity_rises(lab):
    values = [rc.evaluate(lab, corrupt=f"noise:{s}", seed=0).scores["recall@1"].value for s in (0, 0.6, 1)]
    assert values[0] == 1
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.9


def test_given_vectors_do_not_stand_in_the_way_where_there_are_pictures():
    images = np.random.default_rng(0).random((4, 5, 5), dtype=np.float32)
    data = rc.from_arrays(np.eye(4), ["a", "a", "b", "b"], images=images)
    assert rc.evaluate(data, ks=(1,), corrupt="blur:0.5").spec.encoder == "raw"


def test_without_pictures_it_is_refused():
    data = rc.from_arrays(np.eye(4), ["a", "a", "b", "b"])
    with pytest.raises(rc.DataError, match="no pictures"):
        rc.evaluate(data, ks=(1,), corrupt="blur:0.5", encoder="raw")
    with pytest.raises(rc.DataError, match="needs an encoder"):
        rc.evaluate(data, ks=(1,), corrupt="blur:0.5")
