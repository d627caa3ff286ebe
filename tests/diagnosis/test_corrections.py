"""Corrections: judged pairs on top of the rule of relevance."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from recall_core.datasets.dataset import Dataset, load
from recall_core.errors import DataError
from recall_core.evaluation.record import Evaluation
from recall_core.evaluation.wiring import evaluate
from recall_core.protocol.spec import Spec
from recall_core.ranking.relevance import Sets
from tests.conftest import DATA

HEADER = "query_id,gallery_id,grade\n"


def written(folder: Path, lines: str) -> str:
    (folder / "patch.csv").write_text(HEADER + lines, encoding="utf-8")
    return str(folder / "patch.csv")


def right(result: Evaluation, direction: int = 0) -> list[list[str]]:
    """Each query's right answers, by id."""
    one, ids = result.directions[direction], result.dataset.ids
    indptr, position = one.relevance.pairs()
    return [ids[one.split.gallery[position[a:b]]].tolist() for a, b in pairwise(indptr)]


@pytest.fixture
def data() -> Dataset:
    return Dataset.from_arrays(np.eye(5) + 0.1, ["a", "a", "a", "b", ""])


def test_a_grade_above_0_makes_a_pair_right_and_0_makes_it_wrong(data: Dataset, tmp_path: Path) -> None:
    assert right(evaluate(data)) == [["1", "2"], ["0", "2"], ["0", "1"], [], []]
    result = evaluate(data, corrections=written(tmp_path, "0,1,0\n3,4,1\n"))
    assert right(result) == [["2"], ["2"], ["0", "1"], ["4"], ["3"]]
    assert result.counts["n_without_relevant"] == 0


def test_what_is_corrected_holds_whichever_asks(tmp_path: Path) -> None:
    data = load(DATA / "glyphlab")
    base = evaluate(data, Spec(encoder="colour"))
    asks, answers = (
        base.dataset.ids[base.directions[0].split.query[0]],
        base.dataset.ids[base.directions[0].split.gallery[5]],
    )
    for pair in (f"{asks},{answers},1\n", f"{answers},{asks},1\n"):
        result = evaluate(data, Spec(encoder="colour", corrections=written(tmp_path, pair)))
        assert right(result, 0)[0] == [*right(base, 0)[0], answers]
        assert sorted(right(result, 1)[5]) == sorted([*right(base, 1)[5], asks])
        note = next(finding for finding in result.findings if finding.kind == "corrections")
        assert note.message == "view0->view1: 1 pair is judged by patch.csv instead of the rule"


def test_a_correction_never_makes_a_query_its_own_answer(data: Dataset, tmp_path: Path) -> None:
    assert right(evaluate(data, corrections=written(tmp_path, "4,4,1\n")))[4] == []


def test_corrections_come_on_top_of_judgements(data: Dataset, tmp_path: Path) -> None:
    (tmp_path / "judged.csv").write_text(HEADER + "0,3,1\n1,3,1\n", encoding="utf-8")
    result = evaluate(
        data, relevant_pairs=str(tmp_path / "judged.csv"), corrections=written(tmp_path, "0,3,0\n0,4,1\n")
    )
    assert right(result)[:2] == [["4"], ["3"]]


def test_pairs_of_items_that_take_no_part_are_passed_over(tmp_path: Path) -> None:
    data = load(DATA / "glyphlab")
    train = data.ids[np.flatnonzero(data.values("split") == "train")[:2]]
    result = evaluate(data, Spec(encoder="colour", corrections=written(tmp_path, f"{train[0]},{train[1]},1\n")))
    assert right(result) == right(evaluate(data, Spec(encoder="colour")))


def test_an_unknown_item_and_a_contradiction_are_named(data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"patch\.csv line 2: arrays has no item '9'"):
        evaluate(data, corrections=written(tmp_path, "9,1,1\n"))
    with pytest.raises(DataError, match="are right in one order and wrong in the other"):
        evaluate(data, corrections=written(tmp_path, "0,1,1\n1,0,0\n"))


def test_an_empty_file_of_corrections_changes_nothing(data: Dataset, tmp_path: Path) -> None:
    assert right(evaluate(data, corrections=written(tmp_path, ""))) == right(evaluate(data))


def test_queries_that_are_not_corrected_go_on_sharing_their_sets() -> None:
    from recall_core.protocol.rules import _corrected

    shared = Sets.from_labels(["a"] * 50, ["a"] * 50)
    found = _corrected(shared, np.array([7, 7]), np.array([3, 4]), np.array([False, False]))
    assert found.n_set == shared.n_set + 1
    assert found.of(7).tolist() == sorted(set(range(50)) - {3, 4})
    assert (found.index[np.arange(50) != 7] == shared.index[0]).all()
