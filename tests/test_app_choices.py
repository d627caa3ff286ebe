"""The sidebar's choices, the spec, the link and the command say the same thing."""

from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pandas as pd
import pytest

from pages.shared import charts, choices, doors
from recall_core.dataset import Dataset, load
from recall_core.errors import DataError
from recall_core.spec import DEFAULT_KS, Spec
from tests.conftest import DATA, ROOT

LAB = DATA / "glyphlab"


@pytest.fixture(scope="module")
def lab() -> Dataset:
    return load(LAB)


def test_the_default_of_each_choice_is_the_engines_own(lab: Dataset) -> None:
    first = {name: options[0] for name, options in choices.offered(lab, LAB).items()}
    assert first == {
        "encoder": "raw",
        "split": "by-view",
        "relevant": "scene_id",
        "similarity": "cosine",
        "no_relevant": "miss",
        "junk_same": "-",
        "where": "split=test",
        "query_images": "-",
    }


def test_only_splits_that_the_columns_allow_are_offered(lab: Dataset) -> None:
    assert choices.offered(lab, LAB)["split"] == ("by-view", "grouped", "random", "leave-one-out")
    digits = load("digits")
    assert choices.offered(digits, Path("digits"))["split"] == ("leave-one-out", "random")


def test_encoders_that_learn_are_offered_where_there_are_training_rows(lab: Dataset) -> None:
    assert "ridge" in choices.offered(lab, LAB)["encoder"]
    assert "ridge" not in choices.offered(load("digits"), Path("digits"))["encoder"]


def test_a_set_that_cannot_say_what_is_right_is_refused() -> None:
    table = pd.DataFrame({"path": ["a.png"], "colour": ["red"]}, dtype="str")
    with pytest.raises(DataError, match="what makes an item relevant"):
        choices.offered(Dataset("bare", table, {"path": "path"}), Path())


def test_the_seed_is_left_out_where_nothing_is_drawn(lab: Dataset) -> None:
    chosen = {name: options[0] for name, options in choices.offered(lab, LAB).items()}
    assert choices.make_spec("lab", chosen, seed=3).seed is None
    assert choices.make_spec("lab", chosen | {"split": "random"}, seed=3).seed == 3


def test_all_rows_and_one_part_are_spelled_apart() -> None:
    assert choices.read_where("*") == ()
    assert choices.read_where("split=val,test") == (("split", ("val", "test")),)


@pytest.mark.parametrize("spelled", ["", "0", "1,x", "-1", "1001", "²", "1.5"])
def test_a_malformed_list_of_k_gives_the_default(spelled: str) -> None:
    assert choices.read_ks(spelled) == DEFAULT_KS


def test_a_link_spells_every_choice_and_survives_the_way(lab: Dataset) -> None:
    chosen = {name: options[0] for name, options in choices.offered(lab, LAB).items()}
    query = choices.to_query("glyphlab", chosen, k="5", lang="hu")
    assert set(query) == {"data", "k", "lang", *chosen}
    assert dict(parse_qsl(urlencode(query))) == query


def test_the_command_names_files_from_the_folder_of_the_app() -> None:
    spec = Spec(str(LAB), query_images=str(LAB / "corrupted_test.npy"))
    command = choices.to_command(spec, ROOT)
    assert command.startswith("python -m recall_core evaluate data/glyphlab")
    assert "--query-images data/glyphlab/corrupted_test.npy" in command
    assert "/elsewhere/mine" in choices.to_command(Spec("/elsewhere/mine"), ROOT)


def test_harder_questions_are_offered_while_they_are_harder(lab: Dataset) -> None:
    spec = choices.defaults(lab, LAB, str(LAB))
    assert [set(harder.changes) for harder in choices.harder(lab, LAB, spec)] == [
        {"query_images"},
        {"relevant", "junk_same"},
        {"encoder"},
    ]
    asked = spec.replace(query_images="x", relevant="orientation", encoder="mean")
    assert choices.harder(lab, LAB, asked) == []


def test_ranks_are_binned_with_a_border_at_k_and_lost_queries_last() -> None:
    frame = pd.DataFrame({"direction": "a", "rank": [0, 1, 2, 4, 5, 8, 60], "n_query": [7, 10, 1, 2, 3, 4, 5]})
    bins = charts.bin_ranks(frame, 4)
    assert list(bins["label"]) == ["1", "2", "3", "4", "5", "6–10", "11–20", "21–50", "> 50", "none"]
    assert list(bins["n_query"]) == [10, 1, 0, 2, 3, 4, 0, 0, 5, 7]
    assert list(bins["hit"]) == [True] * 4 + [False] * 6


def test_each_role_of_a_column_is_said_with_an_example(lab: Dataset) -> None:
    roles = doors.roles(lab)
    assert "scene_id" in list(roles.iloc[:, 1])
    assert roles.shape[1] == 4
