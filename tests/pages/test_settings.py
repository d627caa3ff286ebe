"""The sidebar's choices, the spec, the link and the command say the same thing."""

from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pandas as pd
import pytest

from pages.shared.frame import settings
from pages.shared.words.labels import labels
from recall_core.datasets.dataset import Dataset, load
from recall_core.errors import DataError
from recall_core.protocol import side_vectors
from recall_core.protocol.spec import CHOICES, DEFAULT_KS, Spec
from tests.conftest import DATA, ROOT

LAB = DATA / "glyphlab"


@pytest.fixture(scope="module")
def lab() -> Dataset:
    return load(LAB)


def test_the_default_of_each_choice_is_the_engines_own(lab: Dataset) -> None:
    first = {name: options[0] for name, options in settings.offered(lab, LAB).items()}
    assert first == {
        "embeddings": "-",
        "encoder": "raw",
        "split": "by-view",
        "relevant": "scene_id",
        "similarity": "cosine",
        "no_relevant": "miss",
        "junk_same": "-",
        "where": "split=test",
        "query_images": "-",
        "corrupt": "-",
    }


def test_only_splits_that_the_columns_allow_are_offered(lab: Dataset) -> None:
    assert settings.offered(lab, LAB)["split"] == ("by-view", "grouped", "random", "leave-one-out")
    digits = load("digits")
    assert settings.offered(digits, Path("digits"))["split"] == ("leave-one-out", "random")


def test_encoders_that_learn_are_offered_where_there_are_training_rows(lab: Dataset) -> None:
    assert "ridge" in settings.offered(lab, LAB)["encoder"]
    assert "ridge" not in settings.offered(load("digits"), Path("digits"))["encoder"]


def test_a_set_that_cannot_say_what_is_right_is_refused() -> None:
    table = pd.DataFrame({"path": ["a.png"], "colour": ["red"]}, dtype="str")
    with pytest.raises(DataError, match="what makes an item relevant"):
        settings.offered(Dataset("bare", table, {"path": "path"}, embeddings={"v": np.eye(1)}), Path())


def spec_of(dataset: Dataset, folder: Path, *, seed: int = 0, **changes: str) -> Spec:
    offered = settings.offered(dataset, folder)
    first = {name: options[0] for name, options in offered.items()}
    return settings.make_spec("lab", first | changes, offered, seed=seed)


def test_what_stands_at_its_default_is_left_open_for_the_engine(lab: Dataset) -> None:
    assert spec_of(lab, LAB) == Spec("lab")


def test_each_change_reaches_the_spec(lab: Dataset) -> None:
    spec = spec_of(
        lab,
        LAB,
        encoder="mean",
        split="leave-one-out",
        relevant="orientation",
        similarity="dot",
        no_relevant="exclude",
        junk_same="scene_id",
        where="split=val",
    )
    assert spec == Spec(
        "lab",
        encoder="mean",
        split="leave-one-out",
        relevant="orientation",
        similarity="dot",
        no_relevant="exclude",
        junk_same="scene_id",
        where=(("split", ("val",)),),
    )
    assert spec_of(lab, LAB, query_images="corrupted_test.npy").query_images == str(Path("lab", "corrupted_test.npy"))


def test_vectors_that_came_with_the_data_are_taken_until_an_encoder_is_chosen() -> None:
    images = np.zeros((4, 2, 2), np.float32)
    data = Dataset.from_arrays(np.eye(4), list("aabb"), images=images)
    assert settings.offered(data, Path())["embeddings"] == ("given", "-")
    assert spec_of(data, Path()) == Spec("lab")
    assert spec_of(data, Path(), embeddings="-").encoder == "raw"
    assert spec_of(data, Path(), embeddings="-", encoder="mean").encoder == "mean"
    assert spec_of(data, Path(), encoder="mean").encoder is None


def test_without_pictures_there_is_no_encoder_to_choose() -> None:
    data = Dataset.from_arrays(np.eye(4), list("aabb"))
    assert settings.offered(data, Path())["encoder"] == ("-",)
    assert settings.offered(data, Path())["embeddings"] == ("given",)


def test_judgements_that_the_data_prescribe_hold_until_a_column_is_chosen() -> None:
    table = pd.DataFrame({"id": list("abcd"), "label": list("xxyy")}, dtype="str")
    data = Dataset(
        "judged", table, {"id": "id", "label": "label"}, None, {"v": np.eye(4)}, (), {"relevant_pairs": "qrels.txt"}
    )
    assert settings.offered(data, Path())["relevant"] == ("(judged)", "label")
    assert spec_of(data, Path()).relevant is None
    assert spec_of(data, Path(), relevant="label").relevant == "label"


def test_a_column_with_a_dash_keeps_it_where_its_values_are_left_out() -> None:
    table = pd.DataFrame({"id": list("abcd"), "label": list("xxyy"), "my-cam": list("1122")}, dtype="str")
    data = Dataset("dashed", table, {"id": "id", "label": "label"}, None, {"v": np.eye(4)})
    assert spec_of(data, Path(), junk_same="my-cam").junk_same == "my-cam"


def test_what_the_sidebar_asks_and_calls_by_a_label_is_a_choice_of_the_table(lab: Dataset) -> None:
    names = {choice.name for choice in CHOICES}
    assert names <= set(labels())
    assert not settings.asked().keys() & settings.asked_further().keys()
    assert {*settings.asked(), *settings.asked_further()} == set(settings.offered(lab, LAB)) <= names
    assert set(settings.TYPED) <= names


def test_the_seed_is_left_out_where_nothing_is_drawn(lab: Dataset) -> None:
    assert spec_of(lab, LAB, seed=3).seed is None
    assert spec_of(lab, LAB, split="random", seed=3).seed == 3


def test_all_rows_and_one_part_are_spelled_apart() -> None:
    assert settings.read_where("*") == ()
    assert settings.read_where("split=val,test") == (("split", ("val", "test")),)


@pytest.mark.parametrize("spelled", ["", "0", "1,x", "-1", "1001", "²", "1.5"])
def test_a_malformed_list_of_k_gives_the_default(spelled: str) -> None:
    assert settings.read_ks(spelled) == DEFAULT_KS


def test_a_link_spells_every_choice_and_survives_the_way(lab: Dataset) -> None:
    chosen = {name: options[0] for name, options in settings.offered(lab, LAB).items()}
    query = settings.to_query("glyphlab", chosen, k="5", lang="hu")
    assert set(query) == {"data", "k", "lang", *chosen}
    assert dict(parse_qsl(urlencode(query))) == query


def test_the_command_names_files_from_the_folder_in_which_the_app_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    spec = Spec(str(LAB), query_images=str(LAB / "corrupted_test.npy"))
    command = settings.to_command(spec)
    assert command.startswith("python -m recall_core evaluate data/glyphlab")
    assert "--query-images data/glyphlab/corrupted_test.npy" in command
    assert "/elsewhere/mine" in settings.to_command(Spec("/elsewhere/mine"))
    monkeypatch.chdir("/")
    assert str(LAB.relative_to("/")) in settings.to_command(spec), "a path from elsewhere would lead nowhere"


def test_harder_questions_are_offered_while_they_are_harder(lab: Dataset) -> None:
    spec = side_vectors.resolve(lab, Spec())
    assert [set(harder.changes) for harder in settings.harder(lab, LAB, spec)] == [
        {"query_images"},
        {"relevant", "junk_same"},
        {"encoder"},
    ]
    asked = spec.replace(query_images="x", relevant="orientation", encoder="mean")
    assert settings.harder(lab, LAB, asked) == []


def test_columns_are_spelled_as_the_spec_spells_them(lab: Dataset) -> None:
    columns = settings.read_columns("group=orientation;label=a%3Bb")
    assert columns == (("group", "orientation"), ("label", "a;b"))
    assert settings.write_columns(dict(columns)) == Spec("lab", columns=columns).to_query()["columns"]
    with pytest.raises(DataError, match="no role 'colour'"):
        settings.read_columns("colour=x")


def test_an_encoding_that_python_does_not_know_is_refused() -> None:
    assert settings.read_encoding("cp1250") == "cp1250"
    with pytest.raises(DataError, match="encoding 'utf-9' is not known"):
        settings.read_encoding("utf-9")
