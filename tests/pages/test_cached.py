"""The caches' keys: the same for equal content, another where a value or a file that is named was changed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pages.shared import cached
from recall_core.datasets.dataset import Dataset
from recall_core.evaluation.record import Evaluation
from recall_core.protocol.spec import Spec


@pytest.fixture
def made() -> Dataset:
    return Dataset.from_arrays([[1, 0], [1, 0.1], [0, 1], [0.1, 1]], labels=list("aabb"))


def test_equal_data_and_choices_are_evaluated_once_for_everybody(made: Dataset) -> None:
    first = cached.evaluation(made, Spec(ks=(1,)))
    again = Dataset.from_arrays([[1, 0], [1, 0.1], [0, 1], [0.1, 1]], labels=list("aabb"))
    assert cached.evaluation(again, Spec(ks=(1,))) is first
    assert cached.evaluation(made, Spec(ks=(2,))) is not first
    other = Dataset.from_arrays([[1, 0], [1, 0.1], [0, 1], [0.1, 1]], labels=list("abab"))
    assert cached.evaluation(other, Spec(ks=(1,))) is not first


def test_a_changed_number_deep_in_large_data_is_another_key() -> None:
    vectors = np.random.default_rng(0).standard_normal((6_000, 100)).astype(np.float32)  # the cache would sample them
    labels = np.arange(6_000) // 2
    keys = {cached._data_digest(Dataset.from_arrays(vectors, labels=labels))}
    for row in range(5):
        vectors[1000 * row, row] += 1
        keys.add(cached._data_digest(Dataset.from_arrays(vectors, labels=labels)))
    assert len(keys) == 6


@pytest.mark.parametrize("named_by", ["the choice", "the data"])
def test_a_file_that_was_written_makes_another_evaluation(made: Dataset, tmp_path: Path, named_by: str) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("query_id,gallery_id\n0,1\n1,0\n2,3\n3,2\n", encoding="utf-8")
    given = {"relevant_pairs": str(file)}
    data = replace(made, defaults=given if named_by == "the data" else {})
    spec = Spec(ks=(1,)).replace(**given) if named_by == "the choice" else Spec(ks=(1,))
    first = cached.evaluation(data, spec)
    assert cached.evaluation(data, spec) is first
    file.write_text("query_id,gallery_id\n0,2\n1,0\n2,3\n3,2\n", encoding="utf-8")
    again = cached.evaluation(data, spec)
    assert (first.scores["recall@1"].value, again.scores["recall@1"].value) == (1.0, 0.75)


def test_conditions_that_read_alike_are_told_apart(made: Dataset) -> None:
    whole = cached.evaluation(made, Spec(ks=(1,)))
    one, other = (("id", ("0", "1")),), (("id", ("0,1",)),)
    assert cached._filter_digest(one) != cached._filter_digest(other)
    assert len(cached.sliced(whole, one).table) == 2
    assert cached.sliced(whole, one) is cached.sliced(whole, one)


def test_every_key_has_one_length(made: Dataset) -> None:
    found: Evaluation = cached.evaluation(made, Spec(ks=(1,)))
    arguments = (made, found.spec, found, found.directions[0])
    spelled = [table[type(one)](one) for table in (cached.BY_CONTENT, cached.BY_PLACE) for one in arguments]
    assert {len(key) for key in spelled} == {64}
