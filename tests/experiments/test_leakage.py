"""What leaks: the lesson's figures, that they are the engine's own numbers, and what other data give."""

import json

import numpy as np
import pandas as pd
import pytest

import recall_core as rc
from recall_core.cli import main
from recall_core.datasets import glyphlab
from recall_core.datasets.dataset import Dataset
from recall_core.datasets.tables import find_columns
from recall_core.errors import DataError
from recall_core.experiments.leakage import draws, experiment, training
from recall_core.images import encoders
from recall_core.images.image_set import Pictures
from recall_core.images.thumbnails import png
from recall_core.metrics import measures
from recall_core.protocol import selection
from recall_core.protocol.spec import Spec
from recall_core.ranking import exact_pass
from recall_core.ranking.relevance import Relevance, Sets
from tests.conftest import DATA, needs_shared


@pytest.fixture(scope="module")
def lab():
    return experiment.lab()


@pytest.fixture(scope="module")
def halves(lab):
    return draws.halves(lab)


@pytest.fixture(scope="module")
def random_halves(halves):
    return draws.all_draws(halves, range(50))


@pytest.fixture(scope="module")
def textured():
    return training.material(experiment.lab("textured"))


@pytest.fixture(scope="module")
def runs(textured):
    return training.trainings(textured, range(50))


def made(groups, labels, *, n_dim=6, seed=0, **columns):
    """A data set of vectors: items of a group lie close together, groups anywhere."""
    rng = np.random.default_rng(seed)
    centres = {name: rng.normal(size=n_dim) for name in dict.fromkeys(groups)}
    vectors = np.array([centres[name] for name in groups]) + rng.normal(size=(len(groups), n_dim)) * 0.2
    table = pd.DataFrame({"group": groups, "label": labels, **columns}, dtype="str")
    return Dataset("made", table, find_columns(table), embeddings={"given": vectors})


def alternating(n_group=12, size=3):
    groups = [f"g{i:02d}" for i in range(n_group) for _ in range(size)]
    return groups, [f"c{int(name[1:]) % 2}" for name in groups]


def run(capsys, *arguments):
    code = main([*map(str, arguments)])
    return code, *capsys.readouterr()


def in_json(capsys, *arguments):
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def recall(capsys, *arguments, k=1):
    report = in_json(capsys, "evaluate", *arguments)
    return {name: part["scores"][f"recall@{k}"]["value"] for name, part in report["directions"].items()}


# The lab without files


@pytest.mark.parametrize(("variant", "folder"), [("standard", "glyphlab"), ("textured", "glyphlab_textured")])
def test_the_lab_without_files_is_the_lab_in_the_folder(variant, folder):
    made_now, loaded = experiment.lab(variant), rc.load(DATA / folder)
    assert made_now.fingerprint == loaded.fingerprint
    assert made_now.name == loaded.name


# Query and gallery


def test_a_random_half_loses_half_of_the_partners_and_tells_two_stories(random_halves):
    random = random_halves[random_halves["split"] == "random"]
    assert 14.0 < random["n_lost"].mean() < 15.5
    assert (random["n_lost"] % 2 == 0).all()
    assert (random["n_lost"] > 0).all()
    assert 0.48 < random["recall@1"].mean() < 0.54
    assert (random["recall_evaluable@1"] == 1).all()
    np.testing.assert_allclose(random["recall@1"], 1 - random["n_lost"] / random["n_query"])


def test_the_split_by_view_loses_nobody(random_halves):
    paired = random_halves[random_halves["split"] == "by-view"]
    assert len(paired) == 50
    assert (paired["n_lost"] == 0).all()
    assert (paired["n_query"] == 60).all()
    assert (paired["recall@1"] == 1).all()


def test_the_courses_draw_loses_10_of_30(halves):
    draw = draws.course_draw(halves)
    assert (draw.n_lost, draw.n_query) == (10, 30)
    assert draw.recall[1] == pytest.approx(2 / 3)
    assert draw.recall_evaluable[1] == 1


def test_the_courses_draw_is_that_of_pandas(lab, halves):
    test = lab.table[lab.table["split"] == "test"]
    shuffled = test.sample(frac=1, random_state=42)
    lost = ~shuffled["scene_id"].iloc[:30].isin(shuffled["scene_id"].iloc[30:])
    assert sorted(shuffled.index[:30][lost]) == sorted(draws.course_draw(halves).lost)


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize("choices", [{}, {"encoder": "mean"}, {"relevant": "orientation", "junk_same": "scene_id"}])
def test_a_draw_gives_the_numbers_of_evaluate(lab, choices, seed):
    prepared = draws.halves(lab, Spec(data="x", ks=(1, 5), **choices))
    for draw in (draws.random_draw(prepared, seed), draws.paired_draw(prepared, seed)):
        evaluation = rc.evaluate(lab, draw.spec)
        assert draw.n_lost == evaluation.counts["n_without_relevant"]
        assert draw.n_query == evaluation.counts["n_query"]
        assert sorted(draw.lost) == sorted(evaluation.table["row"][evaluation.table["n_relevant"] == 0])
        for k in (1, 5):
            assert draw.recall[k] == evaluation.scores[f"recall@{k}"].value
            np.testing.assert_equal(draw.recall_evaluable[k], evaluation.scores[f"recall_evaluable@{k}"].value)


def test_the_command_line_gives_the_same_as_a_draw(capsys, halves):
    draw = draws.random_draw(halves, 5)
    report = in_json(capsys, "evaluate", DATA / "glyphlab", "--split", "random", "--seed", 5)
    assert report["scores"]["recall@1"]["value"] == draw.recall[1]
    assert report["counts"]["n_without_relevant"] == draw.n_lost


def test_data_without_views_are_compared_with_the_grouped_split_drawn_anew_for_each_seed():
    data = made(*alternating())
    prepared = draws.halves(data)
    table = draws.all_draws(prepared, range(8))
    grouped = table[table["split"] == "grouped"]
    assert (grouped["n_lost"] == 0).all()
    assert (table[table["split"] == "random"]["n_lost"] > 0).any()
    assert len(set(grouped["recall@1"])) > 1
    for seed in (0, 3):
        evaluation = rc.evaluate(data, split="grouped", seed=seed, embeddings="given")
        assert draws.paired_draw(prepared, seed).recall[1] == evaluation.scores["recall@1"].value


def test_large_data_are_ranked_draw_by_draw_with_the_same_numbers(monkeypatch, lab, halves):
    monkeypatch.setattr(draws, "MATRIX_ROWS", 10)
    large = draws.halves(lab)
    assert large.compared.similarity is None
    assert draws.random_draw(large, 3).recall == draws.random_draw(halves, 3).recall


def test_rows_without_a_usable_vector_take_no_part_in_any_draw():
    data = made(*alternating())
    data.embeddings["given"][4] = np.nan
    with pytest.raises(DataError, match="row 5"):
        draws.halves(data)
    prepared = draws.halves(data, Spec(bad_rows="drop"))
    evaluation = rc.evaluate(data, split="random", seed=2, bad_rows="drop")
    assert draws.random_draw(prepared, 2).recall[1] == evaluation.scores["recall@1"].value
    assert 4 not in draws.course_draw(prepared).splits[0].query


@pytest.mark.parametrize("experiment", ["draws", "training"])
def test_the_first_seeds_of_many_are_the_few_seeds(experiment, halves, textured):
    if experiment == "draws":
        many, few = draws.all_draws(halves, range(6)), draws.all_draws(halves, range(3))
    else:
        many, few = training.trainings(textured, range(6)), training.trainings(textured, range(3))
    pd.testing.assert_frame_equal(many[many["seed"] < 3].reset_index(drop=True), few)


@pytest.mark.parametrize(
    ("data", "choices", "message"),
    [
        (made(["a", "b", "c", "d"], ["x", "x", "y", "y"]), {}, "no group has two items"),
        (rc.from_arrays(np.eye(4), ["a", "a", "b", "b"]), {}, "columns={'group': 'COLUMN'}"),
        (made(*alternating()), {"encoder": "ridge"}, "fits its own"),
        (made(*alternating()), {"scores": "s.npy"}, "not a matrix of scores"),
    ],
)
def test_what_a_random_half_cannot_show_is_said(data, choices, message):
    with pytest.raises(DataError, match=message):
        draws.halves(data, Spec(**choices))


# The same picture on both sides


def test_the_same_picture_on_both_sides_means_nothing(lab):
    found = experiment.same_picture(lab)
    assert list(found) == list(experiment.SAME_PICTURE)
    kept = found["kept"]
    assert kept.scores["recall@1"].value == 1
    assert (kept.table["right_similarity"] == 1).all()
    assert found["removed"].scores["recall@1"].value == 0
    assert np.isnan(found["removed"].scores["recall_evaluable@1"].value)
    assert found["constant"].scores["recall@1"].value == pytest.approx(1 / 30)
    assert found["constant"].scores["recall@1"].score.n_tied == 30
    assert found["apart"].scores["recall@1"].value == 1
    assert experiment.chance(kept) == pytest.approx(1 / 30)
    assert experiment.chance(found["removed"]) == 0
    assert experiment.chance(found["class"]) == pytest.approx(9 / 29)
    assert 0.7 < found["class"].scores["recall@1"].value < 1


@pytest.mark.parametrize("case", experiment.SAME_PICTURE)
def test_each_case_is_a_command(capsys, lab, case):
    spec = experiment.same_picture_specs(lab, Spec(data=str(DATA / "glyphlab")))[case]
    report = in_json(capsys, *spec.to_command().split()[3:])
    assert report["scores"]["recall@1"]["value"] == rc.evaluate(lab, spec).scores["recall@1"].value


def test_data_without_views_have_the_same_rows_on_both_sides():
    specs = experiment.same_picture_specs(made(*alternating()))
    assert list(specs) == ["kept", "removed", "class"]  # no pictures to encode constantly, no other view
    found = experiment.same_picture(made(*alternating()))
    assert found["kept"].counts["n_query"] == found["kept"].counts["n_gallery"] == 36
    assert found["kept"].scores["recall@1"].value == 1
    assert found["removed"].counts["n_junk"] == 36


# Class relevance with the own scene as junk


def test_class_relevance_changes_which_encoder_wins(capsys):
    own = ["--relevant", "orientation", "--junk-same", "scene_id"]
    scene = {e: recall(capsys, DATA / "glyphlab", "--encoder", e) for e in ("raw", "orientation", "mean")}
    kind = {e: recall(capsys, DATA / "glyphlab", "--encoder", e, *own) for e in ("raw", "orientation", "mean")}
    for direction in ("view0->view1", "view1->view0"):
        assert scene["raw"][direction] == 1
        assert 0.75 <= kind["raw"][direction] <= 0.93
        assert 0.2 <= scene["orientation"][direction] <= 0.45
        assert kind["orientation"][direction] == 1
        assert scene["mean"][direction] <= 0.35
        assert 0.4 <= kind["mean"][direction] <= 0.65
    assert recall(capsys, DATA / "glyphlab", "--relevant", "orientation")["view0->view1"] == 1


def test_raw_pixels_find_the_class_of_about_87_in_100_over_other_data():
    values = []
    for seed in range(20):
        images, table, _ = glyphlab.generate_glyphlab(seed=seed)
        test = (table["split"] == "test").to_numpy()
        pixels = images[test].reshape(60, -1).astype(float)
        pixels /= np.linalg.norm(pixels, axis=1)[:, None]
        similarity = pixels[0::2] @ pixels[1::2].T
        np.fill_diagonal(similarity, -1)
        label = table["orientation"][test].to_numpy()[0::2]
        values.append((label == label[similarity.argmax(1)]).mean())
    assert np.mean(values) == pytest.approx(0.867, abs=0.03)


def varied(data):
    """Queries: view 0 of the test scenes; gallery: view 1 of all 10 vertical, 5 horizontal and 2 diagonal ones."""
    test = selection.select_rows(data, (("split", ("test",)),))
    side = np.full(len(data), "train", dtype=object)
    for kind, n in (("vertical", 10), ("horizontal", 5), ("diagonal", 2)):
        rows = test[data.values("orientation")[test] == kind]
        side[rows[0::2]] = "query"
        side[rows[1::2][:n]] = "gallery"
    varied = Dataset("varied", data.table.assign(role=side), {**data.columns, "side": "role"}, data.pictures)
    scores = rc.evaluate(varied, split="by-role", relevant="orientation", ks=(1, 10)).scores
    return {name: scores[name] for name in ("recall@1", "item_recall@1", "item_recall_macro@1", "item_recall@10")}


def test_where_the_number_of_relevant_items_varies_query_level_and_item_level_part(lab):
    scores = varied(lab)
    assert (scores["recall@1"].numerator, scores["recall@1"].denominator) == (22, 30)
    assert (scores["item_recall@1"].numerator, scores["item_recall@1"].denominator) == (22, 170)
    assert scores["item_recall_macro@1"].value == pytest.approx(0.1433, abs=1e-4)


def test_the_reference_values_of_query_level_and_item_level_lie_among_those_of_other_data():
    found = []
    for seed in range(8):
        images, table, _ = glyphlab.generate_glyphlab(seed=seed)
        scores = varied(Dataset("other", table, find_columns(table), Pictures.from_array(images)))
        found.append({name: score.value for name, score in scores.items()})
    table = pd.DataFrame(found)
    reference = {"recall@1": 0.7333, "item_recall@1": 0.1294, "item_recall_macro@1": 0.1733, "item_recall@10": 0.5529}
    for name, value in reference.items():
        assert table[name].min() - 1e-4 <= value <= table[name].max() + 1e-4


# Training


def test_a_leaking_training_draw_inflates_a_fitted_encoder_and_picks_the_wrong_winner(runs):
    mean = runs.groupby("draw")[list(training.SCORES)].mean()
    assert 0.72 < mean.loc["random", "ridge"] < 0.83
    assert 0.30 < mean.loc["grouped", "ridge"] < 0.40
    assert 0.36 < mean.loc["random", "raw"] < 0.48
    assert 0.36 < mean.loc["grouped", "raw"] < 0.48
    assert 0.70 < mean.loc["random", "permuted"] < 0.79
    assert 0.29 < mean.loc["grouped", "permuted"] < 0.38
    assert 0.80 < mean.loc["random", "nearest"] < 0.90
    assert 0.38 < mean.loc["grouped", "nearest"] < 0.56
    gap = training.gap(runs)
    assert 0.38 < gap.low < gap.mean < gap.high < 0.48
    assert (gap.n_positive, gap.n) == (50, 50)
    assert abs(training.gap(runs, "raw").mean) < 0.05
    chosen = training.winners(runs)
    assert chosen.loc["random", "ridge"] == 50
    assert 0.6 * 50 < chosen.loc["grouped", "raw"] < 0.95 * 50


def test_what_the_runs_have_in_common(runs):
    assert (runs["n_train"] == 240).all()
    assert (runs["n_evaluated"] == 60).all()
    assert runs["chance"].between(0.32, 0.38).all()
    random, grouped = (runs[runs["draw"] == draw] for draw in ("random", "grouped"))
    assert 0.70 < random["share_known"].mean() < 0.76
    assert (random["n_crossing"] == (random["share_known"] * 60).round()).all()
    assert (grouped[["share_known", "n_crossing"]] == 0).all().all()


def test_the_figures_hold_over_other_data_too():
    tables = []
    for seed in range(10):
        images, table, _ = glyphlab.generate_glyphlab(seed=seed, variant="textured")
        data = Dataset("other", table, find_columns(table), Pictures.from_array(images))
        tables.append(training.trainings(training.material(data), range(5)))
    mean = pd.concat(tables).groupby("draw")[["ridge", "raw", "permuted"]].mean()
    expected = {"random": (0.792, 0.443, 0.740), "grouped": (0.355, 0.440, 0.336)}
    for draw, values in expected.items():
        np.testing.assert_allclose(mean.loc[draw], values, atol=0.03)
    gaps = [training.gap(table).mean for table in tables]
    assert np.mean(gaps) == pytest.approx(0.437, abs=0.03)


def test_the_standard_pictures_hardly_show_it():
    runs = training.trainings(training.material(experiment.lab()), range(10))
    assert training.gap(runs).mean < 0.15


def test_the_draws_are_those_of_a_spec(textured):
    data = experiment.lab("textured")
    run = training.train_and_compare(textured, 3)
    for arm in run.arms:
        evaluation = rc.evaluate(
            data, train=arm.draw, split="leave-one-out", relevant="orientation", encoder="raw", seed=3, ks=(1,)
        )
        split = evaluation.directions[0].split
        np.testing.assert_array_equal(np.sort(arm.train), np.sort(split.train))
        assert set(arm.evaluated) <= set(split.query)


def test_each_group_is_evaluated_once_and_never_by_an_image_trained_on(textured):
    group = experiment.lab("textured").role("group")
    for arm in training.train_and_compare(textured, 11).arms:
        assert len(set(group[arm.evaluated])) == len(arm.evaluated)
        assert not set(arm.evaluated) & set(arm.train)
        for evaluated, trained in arm.crossing:
            assert group[evaluated] == group[trained]
            assert evaluated in arm.evaluated
            assert trained in arm.train
        assert len(set(arm.crossing[:, 0])) / len(arm.evaluated) == arm.share_known


def test_scores_are_those_of_the_engine_and_of_the_encoder():
    data = experiment.lab("textured")
    arm = training.train_and_compare(training.material(data), 4).random
    label = data.role("label")
    own = np.arange(len(arm.evaluated))
    same = Sets.from_labels(list(label[arm.evaluated]), list(label[arm.evaluated]))
    relevance = Relevance(same, Sets(own, np.arange(len(own) + 1), own), len(own))
    for encoder in ("raw", "ridge"):
        vectors = encoders.encode(
            data.pictures.select(arm.evaluated),
            encoder,
            train=data.pictures.select(arm.train),
            train_labels=list(label[arm.train]),
        )
        ranked = exact_pass.rank(vectors, vectors, relevance, top=0)
        assert arm.scores[encoder] == measures.recall(ranked, 1).value


@pytest.mark.parametrize(("draw", "leaks"), [("random", True), ("grouped", False)])
def test_the_command_line_names_the_leak(capsys, draw, leaks):
    common = ["--split", "leave-one-out", "--relevant", "orientation", "--junk-same", "scene_id", "--encoder", "ridge"]
    report = in_json(capsys, "evaluate", DATA / "glyphlab_textured", *common, "--train", draw)
    assert ("train_leak" in [finding["kind"] for finding in report["findings"]]) == leaks
    value = report["scores"]["recall@1"]["value"]
    assert (value > 0.5) == leaks
    assert report["spec"]["seed"] == 0


def test_any_label_and_group_column_and_given_vectors_will_do():
    groups, labels = alternating(24, 4)
    data = made(groups, labels, n_dim=60, place=groups, kind=labels)
    runs = training.trainings(training.material(data), range(12))
    assert (runs["n_evaluated"] == 8).all()  # a third of 24 groups are left in the grouped arm
    assert training.gap(runs, "permuted").mean > 0.2
    other = Dataset("made", data.table, {"group": "place", "label": "kind"}, embeddings=data.embeddings)
    pd.testing.assert_frame_equal(training.trainings(training.material(other), range(12)), runs)


def test_the_scale_of_given_vectors_does_not_matter():
    data = made(*alternating(24, 3), n_dim=40)
    larger = Dataset("made", data.table, data.columns, embeddings={"given": data.embeddings["given"] * 1024})
    pd.testing.assert_frame_equal(
        training.trainings(training.material(data), range(5)), training.trainings(training.material(larger), range(5))
    )


def test_rows_without_a_label_take_no_part_and_rows_without_a_group_stand_alone():
    groups, labels = alternating(20, 2)
    groups[0] = groups[5] = ""
    labels[3] = ""
    ready = training.material(made(groups, labels, n_dim=20))
    assert ready.n_left_out == 1
    assert 3 not in ready.rows
    run = training.train_and_compare(ready, 0)
    assert not {0, 5} & set(run.random.crossing.ravel())


@pytest.mark.parametrize("encoder", ["raw", "gradient"])
def test_a_picture_that_cannot_be_read_takes_no_part(encoder):
    groups, labels = alternating(12, 2)
    files = [png(np.random.default_rng(i).random((9, 9), dtype=np.float32)) for i in range(24)]
    files[5] = b"no picture"
    table = pd.DataFrame({"group": groups, "label": labels})
    data = Dataset("broken", table, find_columns(table), Pictures.from_files(files))
    ready = training.material(data, Spec(encoder=encoder))
    assert (len(ready.rows), ready.n_left_out) == (23, 1)
    assert 5 not in ready.rows
    assert 5 not in draws.halves(data, Spec(encoder=encoder)).rows


def test_vectors_by_the_selected_rows_serve_training_too(tmp_path):
    groups, labels = alternating(14, 2)
    part = ["out"] * 4 + ["in"] * 24
    data = made(groups, labels, part=part)
    np.save(tmp_path / "some.npy", data.embeddings["given"][4:])
    spec = Spec(where=(("part", ("in",)),), embeddings=str(tmp_path / "some.npy"))
    whole = training.material(data, Spec(where=spec.where))
    np.testing.assert_array_equal(training.material(data, spec).features, whole.features)


def test_of_large_data_whole_groups_are_taken(monkeypatch):
    monkeypatch.setattr(training, "TRAINING_ROWS", 30)
    ready = training.material(made(*alternating(20, 3)))
    assert 24 < len(ready.rows) <= 30
    assert set(np.unique(ready.unit, return_counts=True)[1]) == {3}
    assert ready.n_left_out == 60 - len(ready.rows)


@pytest.mark.parametrize(
    ("groups", "labels", "message"),
    [
        ([f"g{i}" for i in range(12)], ["a", "b"] * 6, "no group has two images"),
        (alternating()[0], ["a"] * 36, "two classes"),
        (alternating(4)[0], alternating(4)[1], "4 groups"),
    ],
)
def test_what_training_cannot_show_is_said(groups, labels, message):
    with pytest.raises(DataError, match=message):
        training.material(made(groups, labels))


def test_a_draw_that_leaves_one_class_is_said():
    groups = [f"g{i:02d}" for i in range(12) for _ in range(2)]
    data = made(groups, ["rare" if name == "g00" else "often" for name in groups])
    ready = training.material(data)
    with pytest.raises(DataError, match="only the class"):
        training.trainings(ready, range(20))


def test_the_winner_of_equal_scores_is_a_tie():
    none = np.zeros(0, np.intp)
    arm = training.Arm("random", none, none, none.reshape(0, 2), 0.0, {"ridge": 0.5, "raw": 0.5}, 0.3)
    assert arm.winner == "tie"


# Over seeds


def test_a_spread_leaves_undefined_values_out_and_counts_the_others():
    found = draws.spread([3, np.nan, 1, 2])
    assert (found.n, found.mean, found.minimum, found.median, found.maximum) == (3, 2, 1, 2, 3)
    assert draws.spread([np.nan]).n == 0
    assert np.isnan(draws.spread([]).mean)


def test_the_gap_is_paired_by_seed_with_students_interval():
    table = pd.DataFrame(
        {"seed": [0, 0, 1, 1, 2, 2], "draw": ["random", "grouped"] * 3, "ridge": [0.9, 0.5, 0.6, 0.7, 0.8, 0.5]}
    )
    found = training.gap(table)
    assert (found.n_positive, found.n) == (2, 3)
    assert found.mean == pytest.approx(0.2)
    assert found.high - found.mean == pytest.approx(4.302653 * np.std([0.4, -0.1, 0.3], ddof=1) / np.sqrt(3), rel=1e-6)
    assert np.isnan(training.gap(table[:2]).low)


def test_scores_are_averaged_by_draw():
    table = pd.DataFrame(
        {"draw": ["random", "grouped"] * 2, "ridge": [0.9, 0.5, 0.6, 0.7], "share_known": [1.0, 0.0, 0.5, 0.0]}
    )
    found = training.mean_by_draw(table, ["ridge", "share_known"])
    assert found["random"].to_dict() == pytest.approx({"ridge": 0.75, "share_known": 0.75})
    assert found["grouped"].to_dict() == pytest.approx({"ridge": 0.6, "share_known": 0.0})


def test_seeds_are_counted_by_value():
    assert draws.frequencies(pd.Series([3, 1, 3, 2, 3])).to_dict() == {1: 1, 2: 1, 3: 3}


# The command line


def test_the_command_prints_all_parts_of_the_lab(capsys):
    code, out, err = run(capsys, "leakage", "--seeds", 3)
    assert (code, err) == (0, "")
    for part in experiment.LEAKAGE_PARTS:
        assert f"[{part}]" in out
    assert "10 of 30 have lost theirs" in out
    assert "R@1 0.0333 (1/30)" in out
    assert "higher in 3 of 3" in out


def test_its_json_holds_every_seeds_values(capsys, halves, textured):
    report = in_json(capsys, "leakage", "--seeds", 4, "--seed", 2)
    assert report["format"] == 1
    assert list(report["parts"]) == list(experiment.LEAKAGE_PARTS)
    assert report["skipped"] == {}
    random = report["parts"]["query-gallery"]["splits"]["random"]
    assert random["seed"] == [2, 3, 4, 5]
    assert random["n_lost"] == [draws.random_draw(halves, seed).n_lost for seed in range(2, 6)]
    assert report["parts"]["query-gallery"]["shown"]["n_lost"] == random["n_lost"][0]
    ridge = report["parts"]["training"]["draws"]["random"]["ridge"]
    assert ridge == [training.train_and_compare(textured, seed).random.scores["ridge"] for seed in range(2, 6)]
    assert report["parts"]["same-picture"]["removed"]["scores"]["recall_evaluable@1"]["value"] is None


def test_the_folder_gives_what_the_lab_without_files_gives(capsys):
    part = ["--part", "query-gallery", "--seeds", 2]
    folder = in_json(capsys, "leakage", DATA / "glyphlab", *part)["parts"]["query-gallery"]
    assert folder["splits"] == in_json(capsys, "leakage", *part)["parts"]["query-gallery"]["splits"]


def test_a_part_that_the_data_cannot_show_is_left_out_with_the_reason(capsys, tmp_path):
    table = pd.DataFrame({"label": list("aabbccdd")})
    table.to_csv(tmp_path / "metadata.csv", index=False)
    np.save(tmp_path / "images.npy", np.random.default_rng(0).integers(0, 255, (8, 5, 5), dtype=np.uint8))
    report = in_json(capsys, "leakage", tmp_path, "--seeds", 1)
    assert list(report["parts"]) == ["same-picture"]
    assert set(report["skipped"]) == {"query-gallery", "training"}
    assert "name yours with --column group=COLUMN: label" in report["skipped"]["training"]
    assert report["skipped"]["training"] in run(capsys, "leakage", tmp_path, "--seeds", 1)[1]
    code, out, err = run(capsys, "leakage", tmp_path, "--part", "training")
    assert (code, out) == (2, "")
    assert "--column group=COLUMN" in err
    assert run(capsys, "leakage", "--seeds", 0)[0] == 2


def test_rows_without_a_usable_vector_are_left_out_on_demand(capsys, tmp_path):
    pd.DataFrame({"id": range(9), "group": list("aaabbccdd")}).to_csv(tmp_path / "metadata.csv", index=False)
    vectors = np.random.default_rng(0).normal(size=(9, 3))
    vectors[0] = np.nan
    np.save(tmp_path / "embeddings.npy", vectors)
    assert "or leave them out with --bad-rows drop" in run(capsys, "leakage", tmp_path)[2]
    report = in_json(capsys, "leakage", tmp_path, "--seeds", 2, "--bad-rows", "drop")
    assert report["parts"]["same-picture"]["kept"]["counts"]["n_query"] == 8


@needs_shared
def test_real_photographs_with_products_and_categories(capsys):
    from tests.conftest import SHARED

    arguments = ["--seeds", 3, "--encoder", "colour", "--part", "query-gallery", "--part", "training"]
    report = in_json(capsys, "leakage", SHARED / "data" / "grocery", *arguments)
    assert report["skipped"] == {}
    assert report["parts"]["query-gallery"]["splits"]["grouped"]["n_lost"] == [0, 0, 0]
    assert min(report["parts"]["query-gallery"]["splits"]["random"]["n_lost"]) > 0
    assert report["parts"]["training"]["n_item"] == 405


# Findings


def kinds(evaluation):
    return {finding.kind: finding for finding in evaluation.findings}


def test_the_same_view_on_both_sides_is_found(lab):
    same = kinds(rc.evaluate(lab, query=(("view_id", ("0",)),), gallery=(("view_id", ("0",)),)))["same_view"]
    assert same.count == 30
    assert "view '0'" in same.message
    assert "same_view" not in kinds(rc.evaluate(lab))
    assert "same_view" not in kinds(rc.evaluate(made(*alternating(), view=["0"] * 36), split="leave-one-out"))


def copied(rows):
    images = np.random.default_rng(0).integers(0, 255, (8, 6, 6), dtype=np.uint8)
    for target, source in rows.items():
        images[target] = images[source]
    table = pd.DataFrame({"group": list("aabbccdd"), "label": list("xxxxyyyy"), "role": ["query", "gallery"] * 4})
    return Dataset("copied", table, find_columns(table), Pictures.from_array(images))


def test_an_exact_copy_that_counts_as_right_is_found_in_the_gallery():
    found = kinds(rc.evaluate(copied({1: 0, 3: 2}), ks=(1,)))
    assert found["right_copies"].count == 2
    assert "2 of 4 queries" in found["right_copies"].message
    assert found["right_copies"].examples == ("0", "2")
    assert "same_across_groups" not in found
    assert "right_copies" not in kinds(rc.evaluate(copied({}), ks=(1,)))


def test_a_copy_in_another_group_is_found_whatever_the_rule_of_relevance():
    data = copied({3: 0})
    assert "counts as an error" in kinds(rc.evaluate(data, ks=(1,)))["same_across_groups"].message
    by_label = kinds(rc.evaluate(data, ks=(1,), relevant="label"))
    assert "no split by group keeps the two apart" in by_label["same_across_groups"].message
    assert by_label["right_copies"].count == 1


def test_a_query_is_no_copy_of_itself_and_junk_is_no_copy():
    data = copied({1: 0})
    alone = rc.evaluate(data, ks=(1,), query=(), gallery=())
    assert kinds(alone)["right_copies"].count == 2
    junk = rc.evaluate(data, ks=(1,), query=(), gallery=(), relevant="label", junk_same="group")
    assert "right_copies" not in kinds(junk)


def test_replaced_queries_are_no_copies():
    assert "right_copies" not in kinds(rc.evaluate(copied({1: 0}), ks=(1,), corrupt="blur:0.5"))


def test_equal_vectors_are_told_where_there_are_no_pictures():
    data = rc.from_arrays([[1, 0], [0, 1]], ["a", "b"], [[1, 0], [0.5, 1]], ["a", "b"])
    assert kinds(rc.evaluate(data, ks=(1,)))["equal_vectors"].count == 1
