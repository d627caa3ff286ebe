"""The built-in sets: the form that every data set has, and failures that are real but not hopeless."""

import numpy as np
import pandas as pd
import pytest

from recall_core.datasets.samples import N_PLACES, PHOTO_CREDITS, SAMPLES, digits, photo_patches
from recall_core.images.encoders import encode
from recall_core.images.image_set import Pictures


@pytest.fixture(scope="module")
def patches():
    return photo_patches()


@pytest.mark.parametrize("name", list(SAMPLES))
def test_each_set_has_one_row_of_text_for_each_picture(name):
    images, table = SAMPLES[name]()
    assert images.dtype == np.uint8
    assert len(images) == len(table)
    assert all(isinstance(cell, str) and cell for cell in table.to_numpy().ravel())
    assert table["id"].is_unique
    assert len(Pictures.from_array(images)) == len(table)


def test_digits_are_the_bundled_scans():
    images, table = digits()
    assert images.shape == (1797, 8, 8)
    assert (images.min(), images.max()) == (0, 255)
    assert len(np.unique(images)) == 17
    assert table["label"].iloc[:10].tolist() == list("0123456789")
    assert table["id"].iloc[[0, -1]].tolist() == ["d0000", "d1796"]


def test_patches_show_each_place_twice(patches):
    images, table = patches
    assert images.shape == (2 * N_PLACES, 64, 64, 3)
    assert (table.groupby("group_id")["view_id"].agg("".join) == "01").all()
    assert table["group_id"].nunique() == N_PLACES
    assert set(table["photo"]) == set(PHOTO_CREDITS)
    assert not (images[0::2] == images[1::2]).all((1, 2, 3)).any()


def test_places_of_a_photograph_keep_their_distance(patches):
    _, table = patches
    places = table[table["view_id"] == "0"]
    for _, here in places.groupby("photo"):
        at = here[["x", "y"]].astype(float).to_numpy()
        distance = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1))
        assert distance[~np.eye(len(at), dtype=bool)].min() >= 28


def test_no_patch_is_without_texture(patches):
    assert patches[0].reshape(2 * N_PLACES, -1).std(1).min() > 12


def test_patches_are_the_same_each_time(patches):
    images, table = photo_patches()
    assert (images == patches[0]).all()
    pd.testing.assert_frame_equal(table, patches[1])


@pytest.mark.parametrize(
    ("encoder", "low", "high"), [("raw", 0.5, 0.8), ("gradient", 0.88, 0.98), ("colour", 0.2, 0.5)]
)
def test_raw_pixels_fail_visibly_on_patches_and_gradients_do_better(patches, encoder, low, high):
    vectors = encode(Pictures.from_array(patches[0]), encoder).astype(np.float64)
    for query, gallery in ((vectors[0::2], vectors[1::2]), (vectors[1::2], vectors[0::2])):
        found = (query @ gallery.T).argmax(1) == np.arange(N_PLACES)
        assert low <= found.mean() <= high
