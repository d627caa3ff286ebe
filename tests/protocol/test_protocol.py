"""A spec's defaults, who asks whom, and what is right."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recall_core.datasets.dataset import Dataset
from recall_core.datasets.tables import find_columns
from recall_core.errors import DataError
from recall_core.protocol import defaults, rules, selection, sides
from recall_core.protocol import sides as engine_sides
from recall_core.protocol.spec import Spec


def dataset(**columns: list[str]) -> Dataset:
    table = pd.DataFrame(columns, dtype="str")
    return Dataset("tiny", table, find_columns(table), embeddings={"given": np.eye(len(table))})


LAB = {
    "scene_id": ["b", "a", "a", "b", "c", "c"],
    "view_id": ["0", "0", "1", "1", "0", "1"],
    "split": ["test"] * 4 + ["train"] * 2,
    "label": ["x", "y", "y", "x", "x", "x"],
}


def resolved(data: Dataset, **choices: object) -> Spec:
    return defaults.fill_defaults(data, Spec(**choices), fitted=False)  # type: ignore[arg-type]


def test_each_default_is_filled_on_its_own() -> None:
    spec = resolved(dataset(**LAB))
    assert (spec.where, spec.split, spec.both) == ((("split", ("test",)),), "by-view", True)
    assert (spec.relevant, spec.seed, spec.train) == ("scene_id", None, None)
    assert resolved(dataset(**LAB), where=()).where == ()
    assert resolved(dataset(**LAB), relevant="label").split == "by-view"


def test_a_blank_is_no_second_view() -> None:
    blank = LAB | {"view_id": ["0", "0", "", "", "0", ""]}
    assert resolved(dataset(**blank)).split == "leave-one-out"


def test_a_protocol_without_judgements_is_refused() -> None:
    with pytest.raises(DataError, match="protocol='hard' belongs to ROxford's ground truth"):
        resolved(dataset(**LAB), protocol="hard")


def test_rows_that_are_all_junk_leave_nothing_to_evaluate() -> None:
    data = dataset(label=["x", "x"], junk=["yes", "yes"])
    with pytest.raises(DataError, match="leave-one-out leaves no query rows"):
        sides.directions(data, resolved(data))


def judged(data: Dataset, folder: Path, pairs: str, **choices: object) -> list[list[list[int]]]:
    """Rows that are right for each query, direction by direction."""
    (folder / "pairs.csv").write_text("query_id,gallery_id,grade\n" + pairs, encoding="utf-8")
    spec = resolved(data, relevant_pairs=str(folder / "pairs.csv"), where=(), **choices)
    sides = engine_sides.directions(data, spec)
    found = [rules.relate(data, spec, split, reverse=i == 1) for i, split in enumerate(sides)]
    return [
        [sorted(split.gallery[one.relevant.of(q)].tolist()) for q in range(len(split.query))]
        for split, one in zip(sides, found, strict=True)
    ]


def test_judgements_of_both_directions_are_each_read_as_written_and_else_turned(tmp_path: Path) -> None:
    data = dataset(**{name: LAB[name] for name in ("scene_id", "view_id")}, id=list("012345"))
    assert judged(data, tmp_path, "1,2,1\n0,3,1\n") == [[[2], [3], []], [[1], [0], []]]
    assert judged(data, tmp_path, "1,2,1\n0,3,1\n2,0,1\n") == [[[2], [3], []], [[0], [], []]]
    with pytest.raises(DataError, match="none of its 1 pairs has its query among the queries"):
        judged(data, tmp_path, "2,1,1\n")


def test_a_role_column_comes_before_views_and_leave_one_out_comes_last() -> None:
    assert resolved(dataset(**LAB, role=["query", "gallery"] * 3)).split == "by-role"
    assert resolved(dataset(label=["x", "x"])).split == "leave-one-out"
    assert resolved(dataset(label=["x", "x"])).relevant == "label"


def test_without_a_rule_of_relevance_the_columns_are_listed() -> None:
    with pytest.raises(DataError, match=r"choose one with relevant='COLUMN': shape, size"):
        resolved(dataset(shape=["o", "o"], size=["1", "2"]))


def test_a_seed_is_kept_only_where_something_is_drawn() -> None:
    assert resolved(dataset(**LAB), seed=7).seed is None
    assert resolved(dataset(**LAB), split="random").seed == 0
    assert resolved(dataset(**LAB), split="random", seed=7).seed == 7


def test_leave_one_out_has_no_other_direction() -> None:
    with pytest.raises(DataError, match="leave both= out"):
        resolved(dataset(**LAB), split="leave-one-out", both=True)


def test_a_value_that_no_row_has_is_named_with_those_that_there_are() -> None:
    with pytest.raises(DataError, match="no row has split=dev; its values are 'test', 'train'"):
        selection.select_rows(dataset(**LAB), (("split", ("dev",)),))
    with pytest.raises(DataError, match="no column 'fold'; there are: scene_id"):
        selection.select_rows(dataset(**LAB), (("fold", ("1",)),))


def test_values_of_one_column_or_and_columns_and() -> None:
    conditions = (("scene_id", ("a", "b")), ("view_id", ("0",)))
    assert selection.select_rows(dataset(**LAB), conditions).tolist() == [0, 1]


def test_both_directions_are_the_same_rows_turned_round() -> None:
    data = dataset(**LAB)
    there, back = sides.directions(data, resolved(data))
    assert (there.query.tolist(), there.gallery.tolist()) == ([1, 0], [2, 3])
    assert (back.name, back.query.tolist()) == ("view1->view0", [2, 3])
    assert rules.relate(data, resolved(data), there).relevant.of(0).tolist() == [0]


def test_a_row_never_answers_itself_in_leave_one_out() -> None:
    data = dataset(label=["x", "x", "y"])
    spec = resolved(data)
    relevance = rules.relate(data, spec, sides.directions(data, spec)[0])
    assert relevance.n_relevant().tolist() == [1, 1, 0]
    assert [relevance.junk.of(q).tolist() for q in range(3)] == [[0], [1], [2]]


def test_junk_same_removes_relevant_items_with_the_same_value_only() -> None:
    data = dataset(**LAB)
    spec = resolved(data, where=(), split="leave-one-out", relevant="label", junk_same="scene_id")
    relevance = rules.relate(data, spec, sides.directions(data, spec)[0])
    assert [relevance.junk.of(q).tolist() for q in range(6)] == [[0, 3], [1, 2], [1, 2], [0, 3], [4, 5], [4, 5]]
    indptr, positions = relevance.pairs()
    assert positions[indptr[0] : indptr[1]].tolist() == [4, 5]


def test_pairs_of_judgements_are_read_both_ways_and_grade_zero_is_not_relevant(tmp_path: Path) -> None:
    data = dataset(id=["q1", "q2", "g1", "g2"], role=["query", "query", "gallery", "gallery"], label=["x"] * 4)
    file = tmp_path / "pairs.csv"
    file.write_text("query_id,gallery_id,grade\nq1,g2,1\nq2,g1,0\nq2,g2,2\n", encoding="utf-8")
    spec = resolved(data, relevant_pairs=str(file), both=True)
    there, back = sides.directions(data, spec)
    assert [rules.relate(data, spec, there).relevant.of(q).tolist() for q in (0, 1)] == [[1], [1]]
    assert [rules.relate(data, spec, back, reverse=True).relevant.of(q).tolist() for q in (0, 1)] == [[], [0, 1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("query_id,gallery\nq,g\n", "has no column gallery_id"),
        ("query_id,gallery_id\nq1,nobody\n", "line 2: tiny has no item 'nobody'"),
        ("query_id,gallery_id,grade\nq1,g1,\n", "line 2: grade is empty"),
        ("query_id,gallery_id,grade\nq1,g1,high\n", "line 2: grade is 'high'"),
    ],
)
def test_judgements_that_cannot_be_right_are_refused(tmp_path: Path, content: str, message: str) -> None:
    data = dataset(id=["q1", "g1"], role=["query", "gallery"], label=["x", "x"])
    file = tmp_path / "pairs.csv"
    file.write_text(content, encoding="utf-8")
    spec = resolved(data, relevant_pairs=str(file))
    with pytest.raises(DataError, match=message):
        rules.relate(data, spec, sides.directions(data, spec)[0])


def test_a_training_draw_leaves_the_rest_for_evaluation() -> None:
    data = dataset(**LAB)
    spec = defaults.fill_defaults(data, Spec(train="grouped", split="leave-one-out"), fitted=True)
    assert spec.where == ()
    split = sides.directions(data, spec)[0]
    scenes = data.values("scene_id")
    assert not set(scenes[split.train]) & set(scenes[split.query])
    assert len(split.train) == 4


def test_an_encoder_that_learns_takes_the_rows_marked_train_or_says_what_is_missing() -> None:
    assert defaults.fill_defaults(dataset(**LAB), Spec(), fitted=True).train == "split=train"
    with pytest.raises(DataError, match="no rows with split=train; choose train='grouped'"):
        defaults.fill_defaults(dataset(label=["x", "x"]), Spec(), fitted=True)


def test_a_missing_column_for_a_split_names_the_conventional_ones() -> None:
    data = dataset(label=["x", "x"])
    with pytest.raises(DataError, match=r"needs a column that says the group; tiny has none named scene_id"):
        sides.directions(data, resolved(data, split="grouped"))
