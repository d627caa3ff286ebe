"""Duplicates as pairs, never as clusters; hubs; labels and numberings that the neighbours contradict."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from recall_core import from_arrays
from recall_core.datasets import digests
from recall_core.datasets import digests as engine_digests
from recall_core.datasets.dataset import Dataset, load
from recall_core.datasets.digests import Pairs
from recall_core.datasets.tables import find_columns
from recall_core.diagnosis import duplicates
from recall_core.diagnosis.audit import inspect
from recall_core.errors import DataError
from recall_core.evaluation.wiring import evaluate
from recall_core.images import looks
from recall_core.images import looks as engine_looks
from recall_core.images.image_set import Pictures
from recall_core.protocol.spec import Spec


def near(vectors: np.ndarray, threshold: float = 0.95, depth: int = 32, **choices: object) -> Pairs:
    position, similarity = duplicates.neighbours(vectors, depth=depth)
    return duplicates.near_pairs(vectors, position, similarity, threshold=threshold, **choices)  # type: ignore[arg-type]


def listed(pairs: Pairs) -> list[tuple[int, int]]:
    return sorted(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))


def at_angles(*cosines_to_first: float) -> np.ndarray:
    angles = np.arccos(cosines_to_first)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_that_a_is_like_b_and_b_like_c_says_nothing_of_a_and_c() -> None:
    step = np.arccos(0.97)
    vectors = np.stack([np.cos(step * np.arange(3)), np.sin(step * np.arange(3))], axis=1)
    pairs = near(vectors)
    assert listed(pairs) == [(0, 1), (1, 2)]
    assert pairs.score.tolist() == pytest.approx([0.97, 0.97])


@given(
    hnp.arrays(np.int8, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(-2, 2)),
    st.sampled_from([0.5, 0.8, 1.0]),
    st.integers(1, 4),
)
def test_near_pairs_are_those_of_all_against_all_whatever_the_depth(
    grid: np.ndarray, cosine: float, depth: int
) -> None:
    vectors = grid.astype(float)
    norm = np.linalg.norm(vectors, axis=1)
    unit = vectors / np.where(norm > 0, norm, 1)[:, None]
    exact = np.round(unit @ unit.T, 9)
    expected = [(a, b) for a in range(len(grid)) for b in range(a + 1, len(grid)) if exact[a, b] >= cosine]
    assert listed(near(vectors, cosine, depth)) == expected


def test_zero_vectors_and_skipped_rows_are_nobodys_duplicates() -> None:
    vectors = np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [2, 0]])
    assert listed(near(vectors)) == [(2, 3), (2, 4), (3, 4)]
    assert listed(near(vectors, skip=np.array([False, False, True, False, False]))) == [(3, 4)]


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5, float("nan")])
def test_a_threshold_that_is_no_cosine_above_0_is_refused(threshold: float) -> None:
    with pytest.raises(DataError, match="threshold="):
        near(np.eye(2), threshold)


def test_equal_content_makes_every_pair_and_nothing_equals_nothing() -> None:
    pairs = digests.same_content([b"a", None, b"b", b"a", None, b"a"])
    assert (listed(pairs), pairs.score.tolist()) == ([(0, 3), (0, 5), (3, 5)], [1, 1, 1])
    assert listed(digests.same_content([b"a"] * 300))[:2] == [(0, 1), (0, 2)]
    assert len(digests.same_content([b"a"] * 300)) == 299


def test_rows_of_equal_numbers_have_equal_digests_whatever_their_type() -> None:
    digests = engine_digests.row_digests(np.array([[0.0, 1], [-0.0, 1], [0, 0], [np.nan, 1]], dtype=np.float16))
    assert digests[0] == digests[1] == engine_digests.row_digests(np.array([[0, 1]]))[0]
    assert digests[2:] == [None, None]


def photograph(seed: int, size: int = 96) -> np.ndarray:
    """A picture whose frequencies fall off as in photographs."""
    rng = np.random.default_rng(seed)
    down, right = np.meshgrid(np.fft.fftfreq(size), np.fft.fftfreq(size), indexing="ij")
    fall = 1 / np.maximum(np.hypot(down, right), 1 / size)
    picture = np.fft.ifft2(np.fft.fft2(rng.normal(size=(size, size))) * fall).real
    picture = (picture - picture.min()) / np.ptp(picture)
    return (picture * 255).astype(np.uint8)


def test_a_perceptual_hash_survives_size_and_light_and_tells_pictures_apart() -> None:
    one = photograph(1)
    smaller = np.asarray(Image.fromarray(one).resize((48, 48), Image.Resampling.BILINEAR))
    pictures = [one, smaller, (one * 0.7 + 40).astype(np.uint8), photograph(2)]
    code = [int(looks.perceptual_hash((picture / 255).astype(np.float32))[0]) for picture in pictures]
    assert [(code[0] ^ other).bit_count() <= duplicates.NEAR_DISTANCE for other in code[1:]] == [True, True, False]


def test_flat_pictures_are_not_duplicates_of_each_other_and_are_reported() -> None:
    flat = [np.full((96, 96, 3), shade, np.uint8) for shade in ((0, 0, 0), (0, 0, 0), (255, 255, 255), (90, 140, 10))]
    coloured = np.repeat(photograph(3)[:, :, None], 3, axis=2)
    images = np.stack([*flat, coloured, coloured])
    data = from_arrays(np.eye(6), list("abcdef"), images=images)
    data = Dataset("flat", data.table, data.columns, data.pictures)
    found = inspect(data, Spec(encoder="raw"))
    assert set(map(tuple, found.pairs[["first", "second"]].to_numpy().tolist())) == {(4, 5)}
    assert found.count_pairs() == {"content": 1, "cosine": 1, "hash": 1}
    assert next(f for f in found.findings if f.kind == "flat_pictures").count == 4
    looks = engine_looks.look(Pictures.from_array(images))
    assert looks.flat.tolist() == [True] * 4 + [False] * 2


def test_hash_pairs_are_those_of_all_against_all() -> None:
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2**63, 40, dtype=np.uint64)
    code = np.concatenate([base, base ^ np.uint64(0b101), base ^ np.uint64(0b11111)])
    looks = engine_looks.Looks([None] * 120, code, np.ones(120, bool), np.zeros(120, bool), {})
    expected = sorted(
        (a, b) for a in range(120) for b in range(a + 1, 120) if (int(code[a]) ^ int(code[b])).bit_count() <= 3
    )
    pairs = duplicates.hash_pairs(looks, distance=3)
    assert listed(pairs) == expected
    assert pairs.score.max() == 1 - 2 / 64
    with pytest.raises(DataError, match="hashes have 64 bits"):
        duplicates.hash_pairs(looks, distance=40)


def test_a_hub_stands_in_many_lists() -> None:
    rng = np.random.default_rng(1)
    vectors = np.concatenate([np.eye(120), np.ones((1, 120))]) + rng.normal(0, 1e-3, (121, 120))
    position, _ = duplicates.neighbours(vectors)
    counts = duplicates.hub_counts(position)
    assert (counts[120], duplicates.hubs(position).tolist()) == (120, [120])


def test_a_label_is_contradicted_only_where_the_neighbours_agree_on_another() -> None:
    vectors = at_angles(1, 0.9999, 0.9998, 0.9997, 0.9996, 0.9995, 0.9994)
    position, similarity = duplicates.neighbours(vectors)
    row, other, score = duplicates.contradicted(position, similarity, np.array(list("xaaaaaa"), object))
    assert (row.tolist(), other) == ([0], ["a"])
    assert 0.999 < score[0] < 1
    for labels in ("xabababx", "xaaabbb", "aaaaaaa"):
        assert not len(duplicates.contradicted(position, similarity, np.array(list(labels[:7]), object))[0])


def test_classes_numbered_otherwise_on_the_two_sides_are_told_apart_from_mistakes() -> None:
    own = [str(i) for i in range(6) for _ in range(3)]
    shifted = [str((int(name) + 1) % 6) for name in own]
    gallery = [str(i) for i in range(6)]
    assert duplicates.other_numbering(own, gallery, shifted)["0"] == "1"
    assert duplicates.other_numbering(own, gallery, own) == {}
    assert duplicates.other_numbering(own, gallery, ["3"] * 18) == {}
    assert duplicates.other_numbering([f"c{name}" for name in own], gallery, shifted) == {}


def test_duplicates_across_borders_are_named_and_stand_before_the_score() -> None:
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(8, 16))
    vectors[5] = vectors[0]
    table = pd.DataFrame(
        {
            "id": list("abcdefgh"),
            "group": ["A", "A", "B", "B", "C", "C", "D", "D"],
            "split": ["test"] * 4 + ["train"] * 4,
        },
        dtype="str",
    )
    data = Dataset("twins", table, find_columns(table), None, {"given": vectors})
    found = inspect(data)
    assert found.pairs.loc[0, ["first_id", "second_id", "across"]].tolist() == ["a", "f", "groups; train and test"]
    message = next(f.message for f in found.findings if f.kind == "duplicates_content")
    assert (
        message == "1 pair of items is exactly the same, of which 1 across groups, 1 across train and test: a = f (1)"
    )
    everything = evaluate(data, where=())
    first = everything.findings[0]
    assert (first.kind, "a = f" in first.message) == ("equal_across_groups", True)


def test_groups_in_two_parts_and_queries_without_relevant_are_listed_with_the_rule() -> None:
    table = pd.DataFrame(
        {"group": ["A", "A", "B", "C", ""], "split": ["test", "train", "test", "test", "test"]}, dtype="str"
    )
    data = Dataset("x", table, find_columns(table), None, {"given": np.eye(5)})
    found = inspect(data)
    assert next(f for f in found.findings if f.kind == "groups_across").examples == ("A",)
    assert found.without_relevant["id"].tolist() == ["0", "2", "3", "4"]
    assert found.without_relevant["reason"].iloc[3] == "their own label is missing"
    assert found.classes.to_dict("list") == {"value": ["A", "B", "C"], "n": [2, 1, 1]}


def test_numbering_is_found_from_vectors() -> None:
    rng = np.random.default_rng(4)
    centres = rng.normal(size=(6, 16))
    query = np.repeat(centres, 3, axis=0) + rng.normal(0, 0.01, (18, 16))
    labels = [str(i) for i in range(6) for _ in range(3)]
    other = [str((i + 2) % 6) for i in range(6)]
    found = inspect(from_arrays(query, labels, centres, other))
    assert next(f for f in found.findings if f.kind == "numbering").examples[0] == "query 0 → gallery 2"
    assert not [
        f for f in inspect(from_arrays(query, labels, centres, list("012345"))).findings if f.kind == "numbering"
    ]


def test_data_without_a_rule_of_relevance_are_inspected_all_the_same() -> None:
    data = Dataset("x", pd.DataFrame({"shape": ["o", "o"]}, dtype="str"), {}, None, {"given": np.ones((2, 3))})
    found = inspect(data)
    assert [f.kind for f in found.findings] == ["not_evaluable", "duplicates_content", "duplicates_cosine"]
    with pytest.raises(DataError, match="no column 'size'"):
        inspect(data, relevant("size"))


def relevant(column: str) -> Spec:
    return Spec(relevant=column)


def test_a_look_reports_progress_and_problems(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "b.png").write_bytes(b"")
    Image.fromarray(photograph(1)).save(tmp_path / "a.png")
    (tmp_path / "metadata.csv").write_text("path,label\na.png,x\nb.png,x\n", encoding="utf-8")
    seen: list[tuple[str, int, int]] = []
    found = inspect(load(tmp_path), progress=lambda *step: seen.append(step))
    assert ("neighbours", 1, 1) in seen
    assert found.unreadable["row"].tolist() == [1]
    assert "the file is empty" in found.unreadable["reason"][0]


def test_the_neighbours_that_contradict_a_label_are_named_nearest_first() -> None:
    angles = np.radians([0, 1, 2, 3, 4, 5, 80, 81, 82, 83, 84, 85])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    labels = ["b", *"aaaaa", *"cccccc"]
    found = inspect(Dataset.from_arrays(vectors, labels))
    assert found.labels["row"].tolist() == [0]
    assert found.beside.tolist() == [[1, 2, 3, 4, 5]]
