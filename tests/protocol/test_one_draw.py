"""One draw, made once from the rows whether they can be used or not: nothing that was fitted to is evaluated."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import recall_core as rc
from recall_core import images
from recall_core.datasets.dataset import Dataset
from recall_core.datasets.tables import find_columns
from recall_core.errors import DataError
from recall_core.experiments.leakage import draws, training
from recall_core.images.encoders import FITTED
from recall_core.images.image_set import Pictures
from recall_core.images.thumbnails import png
from recall_core.protocol import side_vectors, sides, splits
from recall_core.protocol.spec import Spec

BROKEN = b"no image"
MODES = ("random", "grouped", "part=train")


def noise(bad=(), *, n_group=12, seed=0):
    """Images of noise, two a group, and labels that have nothing to do with them; those of ``bad`` cannot be read."""
    rng = np.random.default_rng(seed)
    n = 2 * n_group
    files = [png(image) for image in rng.random((n, 8, 8), dtype=np.float32)]
    files = [BROKEN if row in set(bad) else file for row, file in enumerate(files)]
    table = pd.DataFrame(
        {
            "group": [f"g{row // 2:02d}" for row in range(n)],
            "label": rng.permutation(np.arange(n) % 4).astype(str),
            "view": [str(row % 2) for row in range(n)],
            "part": ["train" if row % 6 < 4 else "test" for row in range(n)],
        },
        dtype="str",
    )
    return Dataset("noise", table, find_columns(table), Pictures.from_files(files))


def spied(dataset, **choices):
    """The evaluation, and the rows that an encoder was fitted to."""
    fitted = set()
    encode = images.encode

    def watched(pictures, encoder, **options):
        made = encode(pictures, encoder, **options)
        if options.get("train") is not None:
            fitted.update(options["train"].positions.tolist())
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "encode", watched)
        return rc.evaluate(dataset, **choices), fitted


def taking_part(evaluation):
    return {row for one in evaluation.directions for side in (one.split.query, one.split.gallery) for row in side}


def choices_of(mode, encoder, split, seed):
    where = (("part", ("test",)),) if mode == "part=train" else ()
    return {
        "encoder": encoder,
        "train": mode,
        "split": split,
        "seed": seed,
        "relevant": "label",
        "where": where,
        "ks": (1,),
    }


@settings(max_examples=60, deadline=None)
@given(
    bad=st.sets(st.integers(0, 23), max_size=12),
    seed=st.integers(0, 40),
    mode=st.sampled_from(MODES),
    encoder=st.sampled_from([*FITTED, "raw", "mean"]),
    split=st.sampled_from(splits.SPLITS[1:]),
)
@example(bad={1}, seed=0, mode="random", encoder="ridge", split="leave-one-out")
@example(bad={0, 1}, seed=3, mode="grouped", encoder="ridge", split="leave-one-out")
def test_nothing_that_an_encoder_was_fitted_to_is_evaluated(bad, seed, mode, encoder, split):
    dataset, choices = noise(bad), choices_of(mode, encoder, split, seed)
    refused = ""
    try:
        evaluation, fitted = spied(dataset, **choices)
    except DataError as error:
        refused = str(error)
    if refused:  # too few are left: the message says which images, never that vectors hold nan
        assert (
            "cannot be read" in refused or "no group has two" in refused or "class" in refused or "two views" in refused
        ), refused
        return
    evaluated, train = taking_part(evaluation), set(evaluation.directions[0].split.train.tolist())
    assert not fitted & evaluated
    assert not train & evaluated
    assert not evaluated & bad
    if encoder in FITTED:
        assert fitted == train
        assert not train & bad
    if mode == "grouped":
        group = dataset.role("group")
        assert not set(group[sorted(train)]) & set(group[sorted(evaluated)])


@pytest.mark.parametrize("mode", ["random", "grouped"])
@pytest.mark.parametrize("split", splits.SPLITS[1:])
@pytest.mark.parametrize("seed", range(3))
def test_what_cannot_be_read_is_taken_out_of_the_draw_and_changes_nothing_else_in_it(mode, split, seed):
    choices = choices_of(mode, "ridge", split, seed)
    whole = rc.evaluate(noise(n_group=30), **choices).directions[0].split
    bad = np.array([*whole.query[:1], *whole.gallery[1:2], *whole.train[:2]])
    found = rc.evaluate(noise(bad, n_group=30), **choices).directions[0].split
    for side in ("query", "gallery", "train"):
        expected = [row for row in getattr(whole, side).tolist() if row not in bad]
        assert getattr(found, side).tolist() == expected


def test_noise_stays_at_chance_when_an_image_drawn_for_evaluation_is_broken():
    """R@1 rose by .3 in the mean: half of the evaluated images had been fitted to."""
    for seed in range(6):
        choices = choices_of("random", "ridge", "leave-one-out", seed)
        whole = rc.evaluate(noise(n_group=60, seed=seed), **choices)
        bad = whole.directions[0].split.query[:1]
        broken = rc.evaluate(noise(bad, n_group=60, seed=seed), **choices)
        assert abs(broken.scores["recall@1"].value - whole.scores["recall@1"].value) < 0.06


def test_a_training_image_that_cannot_be_read_is_named_and_not_counted_as_fitted_to():
    choices = choices_of("random", "ridge", "leave-one-out", 1)
    whole = rc.evaluate(noise(), **choices).directions[0].split
    bad = whole.train[[0, 3]]
    result = rc.evaluate(noise(bad), **choices)
    assert set(result.directions[0].split.train) == set(whole.train) - set(bad)
    found = {finding.kind: finding for finding in result.findings}
    assert "unreadable_pictures" not in found
    told = found["unreadable_training"]
    assert (told.severity, told.count, told.examples) == ("warning", 2, tuple(map(str, bad)))
    assert told.message.startswith("2 of 16 training images cannot be read, so nothing was learned from them: row ")
    assert f"row {bad[0] + 1} (id '{bad[0]}')" in told.message


def test_too_few_readable_training_images_are_an_error_that_names_them():
    bad = [row for row in range(24) if row % 6 < 4][1:]
    with pytest.raises(DataError, match=r"ridge has 1 images to learn from: 15 of 16 training images cannot be read"):
        rc.evaluate(noise(bad), **choices_of("part=train", "ridge", "leave-one-out", None))


@pytest.mark.parametrize("encoder", ["raw", "ridge"])
def test_a_side_that_is_unreadable_as_a_whole_is_an_error_that_names_its_images(encoder):
    first_view = [row for row in range(24) if row % 2 == 0 and row % 6 >= 4]
    with pytest.raises(DataError, match=r"none of the 4 query rows is left: 4 of 8 pictures cannot be read.*row 5"):
        rc.evaluate(noise(first_view), **choices_of("part=train", encoder, "by-view", None))


@pytest.mark.parametrize("encoder", ["raw", "gradient", "mean"])
def test_the_experiments_draw_as_evaluate_draws(encoder):
    """Seed by seed the same rows, but for those that cannot be read."""
    bad = [3, 8, 9]
    whole, broken = (draws.halves(noise(some), Spec(encoder=encoder, relevant="label")) for some in ((), bad))
    for seed in range(3):
        for draw in (draws.random_draw, draws.paired_draw, draws.course_draw):
            for one, other in zip(draw(whole, seed).splits, draw(broken, seed).splits, strict=True):
                assert [row for row in one.query if row not in bad] == other.query.tolist()
                assert [row for row in one.gallery if row not in bad] == other.gallery.tolist()
        spec = side_vectors.resolve(noise(), Spec(encoder="ridge", train="random", seed=seed, split="leave-one-out"))
        drawn = set(sides.directions(noise(), spec)[0].train)
        arm = training.train_and_compare(training.material(noise(bad), Spec(encoder=encoder)), seed).random
        assert set(arm.train) == drawn - set(bad)


def test_vectors_with_nan_are_dropped_from_the_training_experiment_where_that_is_asked_for():
    vectors = np.random.default_rng(0).normal(size=(24, 5))
    vectors[7] = np.nan
    plain = noise()
    dataset = Dataset("noise", plain.table, plain.columns, embeddings={"given": vectors})
    with pytest.raises(DataError, match="row 8"):
        training.material(dataset)
    ready = training.material(dataset, Spec(bad_rows="drop"))
    assert (len(ready.rows), ready.n_left_out) == (23, 1)
    assert 7 not in ready.rows
