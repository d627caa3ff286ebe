"""The lab's data: the form that the course fixes, the right answers, and the same bytes from the same seed."""

import numpy as np
import pandas as pd
import pytest

from recall_core.datasets import glyphlab
from recall_core.errors import DataError
from tests.conftest import DATA

FOLDERS = {"standard": DATA / "glyphlab", "textured": DATA / "glyphlab_textured"}
FILES = ("images.npy", "metadata.csv", "corrupted_test.npy")


@pytest.fixture(scope="module", params=list(glyphlab.GLYPHLAB_VARIANTS))
def variant(request):
    return request.param


@pytest.fixture(scope="module")
def lab(variant):
    return glyphlab.generate_glyphlab(variant=variant)


def test_shipped_files_are_what_the_generator_writes(variant, tmp_path):
    glyphlab.write_glyphlab(tmp_path / "new" / "folder", variant=variant)
    assert {file.name for file in (tmp_path / "new" / "folder").iterdir()} == set(FILES)
    for name in FILES:
        assert (tmp_path / "new" / "folder" / name).read_bytes() == (FOLDERS[variant] / name).read_bytes()


def test_files_open_as_the_course_text_says(variant):
    images, corrupted = (np.load(FOLDERS[variant] / name) for name in ("images.npy", "corrupted_test.npy"))
    assert images.shape == (360, 1, 24, 24)
    assert corrupted.shape == (60, 1, 24, 24)
    for array in (images, corrupted):
        assert array.dtype == np.float32
        assert 0 <= array.min() < array.max() <= 1
        assert (np.rint(array * 255) / np.float32(255) == array).all()
    table = pd.read_csv(FOLDERS[variant] / "metadata.csv")
    assert list(table.columns[:4]) == ["index", "scene_id", "view_id", "split"]
    assert (table["index"] == np.arange(360)).all()
    assert b"\r" not in (FOLDERS[variant] / "metadata.csv").read_bytes()


def test_each_scene_has_two_views_in_one_part_of_the_split(lab):
    _, table, _ = lab
    assert all(isinstance(cell, str) for cell in table.to_numpy().ravel())
    assert table["scene_id"].is_monotonic_increasing
    assert table["scene_id"].iloc[6] == "G0-0003"
    views = table.groupby("scene_id")
    assert (views["view_id"].agg("".join) == "01").all()
    described = ["split", "orientation", "class_id", "offset_px", "thickness_px"]
    assert len(table.drop_duplicates(["scene_id", *described])) == 180
    scenes = table[table["view_id"] == "0"]
    counts = pd.crosstab(scenes["orientation"], scenes["split"])
    assert counts[["train", "val", "test"]].to_numpy().tolist() == [[40, 10, 10]] * 3


def test_no_two_scenes_of_a_class_are_the_same_picture(lab):
    _, table, _ = lab
    scenes = table[table["view_id"] == "0"]
    assert not scenes.duplicated(["class_id", "offset_px", "thickness_px"]).any()


def test_both_variants_show_the_same_lines_in_the_same_split():
    tables = [glyphlab.generate_glyphlab(variant=variant)[1] for variant in glyphlab.GLYPHLAB_VARIANTS]
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.parametrize(("orientation", "still_axis"), [("vertical", 0), ("horizontal", 1)])
def test_lines_run_as_their_orientation_says(orientation, still_axis):
    images, table, _ = glyphlab.generate_glyphlab()
    for row in np.flatnonzero(table["orientation"] == orientation)[::20]:
        profile = images[row, 0].mean(still_axis)
        centre = 11.5 + float(table["offset_px"][row])
        assert abs(int(profile.argmax()) - centre) <= 1.5
        assert images[row, 0].mean(1 - still_axis).std() < 0.05


def test_diagonal_lines_keep_their_distance_to_the_main_diagonal():
    images, table, _ = glyphlab.generate_glyphlab()
    y, x = np.mgrid[:24, :24]
    for row in np.flatnonzero(table["orientation"] == "diagonal")[::20]:
        on_line = np.abs((x - y) / np.sqrt(2) - float(table["offset_px"][row])) < 0.5
        assert images[row, 0][on_line].mean() > images[row, 0][~on_line].mean() + 0.4


def test_views_of_a_scene_differ_in_their_noise_only():
    images, _, _ = glyphlab.generate_glyphlab()
    differences = (images[0::2] - images[1::2])[np.minimum(images[0::2], images[1::2]) > 0]
    assert abs(float(differences.mean())) < 0.001
    assert float(differences.std()) == pytest.approx(0.05 * np.sqrt(2), rel=0.05)


def test_texture_belongs_to_the_scene():
    images, _, _ = glyphlab.generate_glyphlab(variant="textured")
    flat = images.reshape(360, -1)
    same = [np.corrcoef(flat[i], flat[i + 1])[0, 1] for i in range(0, 120, 2)]
    other = [np.corrcoef(flat[i], flat[i + 2])[0, 1] for i in range(0, 118, 2)]
    assert min(same) > 0.8
    assert max(other) < 0.6


def test_corrupted_pictures_are_the_test_pictures_in_order_with_a_patch_and_noise():
    images, table, corrupted = glyphlab.generate_glyphlab()
    clean = images[(table["split"] == "test").to_numpy()]
    similarity = np.corrcoef(corrupted.reshape(60, -1), clean.reshape(60, -1))[:60, 60:]
    assert (np.diag(similarity) > similarity.mean(1) + 0.1).all()
    assert 0.15 < float((corrupted - clean).std()) < 0.3


def ranks_of_partners(query: np.ndarray, gallery: np.ndarray) -> np.ndarray:
    """From the definition: 1 + how many have a larger cosine."""
    q, g = (array.reshape(len(array), -1).astype(np.float64) for array in (query, gallery))
    ranks = []
    for i in range(len(q)):
        cosine = [q[i] @ g[j] / np.sqrt((q[i] @ q[i]) * (g[j] @ g[j])) for j in range(len(g))]
        ranks.append(1 + sum(score > cosine[i] for score in cosine))
    return np.array(ranks)


def test_raw_pixels_give_the_courses_numbers():
    images, corrupted = (np.load(FOLDERS["standard"] / name) for name in ("images.npy", "corrupted_test.npy"))
    table = pd.read_csv(FOLDERS["standard"] / "metadata.csv", dtype=str)
    clean = images[(table["split"] == "test").to_numpy()]
    assert (ranks_of_partners(clean[0::2], clean[1::2]) == 1).all()
    assert (ranks_of_partners(clean[1::2], clean[0::2]) == 1).all()
    ranks = ranks_of_partners(corrupted[0::2], clean[1::2])
    assert np.sort(ranks).tolist() == [1] * 29 + [2]
    assert (ranks == 1).mean() == pytest.approx(0.9667, abs=5e-5)
    assert (1 / ranks).mean() == pytest.approx(0.9833, abs=5e-5)


def test_the_default_seed_is_the_smallest_with_the_right_answers():
    assert glyphlab.find_seed() == glyphlab.GLYPHLAB_SEED


def test_other_seeds_and_unknown_variants():
    assert (glyphlab.generate_glyphlab(seed=1)[0] != glyphlab.generate_glyphlab(seed=2)[0]).any()
    with pytest.raises(DataError, match="no variant 'shiny'; choose one of standard, textured"):
        glyphlab.generate_glyphlab(variant="shiny")


def test_writing_never_replaces_a_file(tmp_path):
    (tmp_path / "metadata.csv").write_text("mine")
    with pytest.raises(DataError, match=r"metadata\.csv is there already"):
        glyphlab.write_glyphlab(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["metadata.csv"]
    assert (tmp_path / "metadata.csv").read_text() == "mine"
