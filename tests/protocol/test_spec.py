"""One spec, four spellings."""

import inspect
import json
import re
import shlex
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_core import evaluate, from_arrays, program, protocol
from recall_core.cli import parser
from recall_core.cli.spec_options import spec_of
from recall_core.errors import DataError, spelled
from recall_core.evaluation import spelling
from recall_core.protocol import spec as spec_module
from recall_core.protocol.choices import TEXT_OR_NONE, Filter, make_filter, read_filter, row, write_filter
from recall_core.protocol.spec import CHOICES, Spec, choices_of, naming_the_near
from tests.conftest import ROOT

words = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=6
)
columns = words | st.text("=%325D", min_size=1, max_size=6)
filters = st.lists(st.tuples(columns, words), max_size=4).map(make_filter)
optional = st.none() | words


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    sides = draw(st.none() | st.tuples(filters, filters))
    source = draw(st.sampled_from(["encoder", "embeddings", "scores"]))
    return Spec(
        data=draw(words.filter(lambda word: not word.startswith("-"))),
        columns=draw(st.sampled_from([(), (("id", "a"),), (("group", "x y"), ("label", "b;c"))])),
        where=draw(st.none() | filters),
        query=sides and sides[0],
        gallery=sides and sides[1],
        split=None if sides else draw(st.none() | st.sampled_from(["random", "by-view"])),
        both=draw(st.booleans()),
        relevant=draw(optional),
        junk_same=draw(optional),
        corrections=draw(optional),
        slice=draw(st.none() | filters),
        **{source: draw(optional)},
        similarity=draw(st.sampled_from(["cosine", "dot"])),
        no_relevant=draw(st.sampled_from(["miss", "exclude"])),
        ks=tuple(draw(st.lists(st.integers(1, 99), min_size=1, max_size=3))),
        seed=draw(st.none() | st.integers(0, 2**31)),
    )


@given(specs())
def test_url_json_and_key_read_back_what_they_wrote(spec: Spec) -> None:
    assert Spec.from_query(spec.to_query()) == spec
    assert Spec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert json.loads(spec.key()) == json.loads(json.dumps(spec.to_json()))


@given(specs())
def test_the_command_gives_the_same_spec(spec: Spec) -> None:
    command = shlex.split(spec.to_command())
    assert command[:3] == ["python", "-m", "recall_core"]
    assert spec_of(parser().parse_args(command[3:])) == spec


@given(filters)
def test_a_filter_reads_back_whatever_its_letters(conditions: Filter) -> None:
    assert read_filter(write_filter(conditions)) == conditions


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"ks": (0,)}, "k is 0; every k is a whole number of at least 1"),
        ({"ks": (-1,)}, "k is -1"),
        ({"ks": (1.5,)}, "k is 1.5"),
        ({"ks": (True,)}, "k is True"),
        ({"ks": ("5",)}, "k is '5'"),
        ({"ks": ()}, "no k is given"),
        ({"query": ()}, "query= and gallery= go together"),
        ({"query": (), "gallery": (), "split": "random"}, "leave split= out"),
        ({"relevant": "a", "relevant_pairs": "b"}, "two rules of relevance"),
        ({"gallery_embeddings": "g.npy"}, "needs embeddings="),
        ({"ids": "ids.txt"}, "names the rows of embeddings="),
        ({"seed": -1}, "the seed is -1; a seed is a whole number of at least 0"),
        ({"seed": "3"}, "the seed is '3'"),
        ({"where": "split=test"}, "write columns and values, as in {'split': \\['test'\\]}"),
        ({"embeddings": "e.npy", "encoder": "raw"}, "exclude each other"),
        ({"scores": "s.npy", "query_images": "q.npy"}, "they need an encoder"),
        ({"no_relevant": "maybe"}, "choose miss or exclude"),
    ],
)
def test_choices_that_contradict_each_other_are_refused(choices: dict, message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        Spec(data="x", **choices)
    assert raised.value.field in {*choices, "gallery"}  # of query and gallery, the one that is missing


@pytest.mark.parametrize(
    "spelled", [{"ks": "1,x"}, {"seed": "one"}, {"both": "maybe"}, {"where": "novalue"}, {"ks": "0"}]
)
def test_a_url_that_cannot_be_read_is_a_data_error(spelled: dict[str, str]) -> None:
    with pytest.raises(DataError) as raised:
        Spec.from_query(spelled)
    assert [raised.value.field] == list(spelled)


NO_FILE = "there_is_none.npy"


@pytest.mark.parametrize(
    ("field", "choices"),
    [
        ("relevant", {"relevant": "nope"}),
        ("junk_same", {"junk_same": "nope"}),
        ("where", {"where": {"nope": "a"}}),
        ("where", {"where": {"label": "nope"}}),
        ("where", {"where": {"label": "a", "id": "3"}}),
        ("slice", {"slice": {"nope": "a"}}),
        ("slice", {"slice": {"label": "nope"}}),
        ("slice", {"slice": {"label": "a", "id": "3"}}),
        ("train", {"train": "nope=a", "encoder": "pca"}),
        ("train", {"train": "label=nope", "encoder": "pca"}),
        ("query", {"query": {"nope": "a"}, "gallery": {}}),
        ("query", {"query": {"label": "nope"}, "gallery": {}}),
        ("query", {"query": {"label": "a", "id": "3"}, "gallery": {}}),
        ("gallery", {"query": {}, "gallery": {"label": "nope"}}),
        ("gallery", {"query": {}, "gallery": {"label": "a", "id": "3"}}),
        ("similarity", {"similarity": "cosin"}),
        ("rerank", {"rerank": "nope"}),
        ("corrupt", {"corrupt": "blur"}),
        ("corrupt", {"corrupt": "blurr:0.4"}),
        ("corrupt", {"corrupt": "blur:4"}),
        ("encoder", {"encoder": "nope"}),
        ("split", {"split": "nope"}),
        *((name, {name: NO_FILE}) for name in ("embeddings", "scores", "corrections", "relevant_pairs")),
        ("query_images", {"query_images": NO_FILE, "encoder": "raw"}),
    ],
)
def test_a_wrong_choice_is_the_field_of_its_error(field: str, choices: dict) -> None:
    data = from_arrays(np.eye(4), labels=list("aabb"), images=np.zeros((4, 8, 8)))
    with pytest.raises(DataError) as raised:
        evaluate(data, **choices)
    assert raised.value.field == field
    assert f"widen {field}=" in str(raised.value) or "widen" not in str(raised.value)


@pytest.mark.parametrize("wrong", ["ids", "gallery_embeddings"])
def test_of_several_files_the_one_that_is_not_there_is_the_field(wrong: str, tmp_path: Path) -> None:
    np.save(tmp_path / "vectors.npy", np.eye(4))
    data = from_arrays(np.eye(4), labels=list("aabb"))
    with pytest.raises(DataError) as raised:
        evaluate(data, embeddings=str(tmp_path / "vectors.npy"), **{wrong: str(tmp_path / NO_FILE)})
    assert raised.value.field == wrong


def test_ks_are_sorted_and_count_once() -> None:
    assert Spec(ks=(5, 1, 5)).ks == (1, 5)


def test_numbers_out_of_arrays_are_the_numbers_themselves() -> None:
    spec = Spec(ks=np.array([3, 1]), seed=np.int64(7))  # type: ignore[arg-type]
    assert json.dumps([spec.ks, spec.seed]) == "[[1, 3], 7]"


@pytest.mark.parametrize(
    "given", [{"split": "test", "view": ["0", "1"]}, (("split", "test"), ("view", ("0", "1"))), (("view", "01"),)]
)
def test_a_filter_takes_a_value_or_several_and_never_its_letters(given: object) -> None:
    where = Spec(where=given).where  # type: ignore[arg-type]
    assert where in ((("split", ("test",)), ("view", ("0", "1"))), (("view", ("01",)),))


def test_a_data_folder_that_looks_like_a_flag_is_spelled_as_a_path() -> None:
    assert shlex.split(Spec(data="-d").to_command())[4] == "./-d"


def test_an_encoder_that_no_link_can_name_is_refused() -> None:
    with pytest.raises(DataError, match="give module:function"):
        Spec(data="x", encoder=len)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [field.name for field in fields(Spec)])
def test_a_misspelt_choice_names_the_near_one(name: str) -> None:
    spelled = name[:-1] if len(name) > 3 else name + "s"
    for make in (lambda given: Spec(**given), lambda given: Spec().replace(**given), Spec.from_json):
        with pytest.raises(DataError, match=f"there is no choice '{spelled}'; did you mean '{name}'"):
            make({spelled: None})


def test_a_misspelt_choice_of_an_evaluation_names_the_near_one() -> None:
    data = from_arrays(np.eye(2), ["a", "a"])
    with pytest.raises(DataError, match="there is no choice 'relevent'; did you mean 'relevant'"):
        evaluate(data, relevent="label")
    with pytest.raises(DataError, match="there is no choice 'zzz'; the choices are data, columns, encoding, "):
        evaluate(data, zzz=1)


def test_everything_that_speaks_of_choices_has_exactly_the_rows_of_the_table() -> None:
    names = [choice.name for choice in CHOICES]
    assert names == [field.name for field in fields(Spec)] == list(Spec().to_json())
    assert list(inspect.signature(Spec).parameters) == names
    full = {
        "where": {"a": "1"},
        "query": {"a": "1"},
        "gallery": {"a": "2"},
        "slice": {"a": "1"},
        "columns": {"id": "a"},
    }
    assert set(Spec(**full).to_query()) == {*full, *(choice.name for choice in CHOICES if choice.default is not None)}
    assert re.findall(r"^    (\w+) : ", str(Spec.__doc__), re.M) == names
    assert "with gallery=, instead of split=" in str(Spec.__doc__)
    commands = parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    own = {"--help", "-h", *(f"--{name}" for name in ("csv", "distance", "json", "threshold"))}
    flags = [flag for action in commands["audit"]._actions for flag in action.option_strings if flag not in own]
    assert flags == [choice.flag for choice in CHOICES if choice.flag]
    reference = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    section = reference.split("## ")[1]
    told = re.findall(r"^\| `(\S+?)(?: .*?)?` \| (.*?) \|$", section, re.M)
    assert [flag for flag, _ in told] == [choice.flag or choice.metavar for choice in CHOICES]
    for choice, (_, sentence) in zip(CHOICES, told, strict=True):
        help = spelled(choice.help, program.flag)
        assert sentence.removesuffix(" Can be repeated.") == f"{help[0].upper()}{help[1:]}."


def test_one_row_more_is_one_choice_more_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row alone, with nothing else changed, is read, written and described."""

    @naming_the_near
    @dataclass(frozen=True)
    class More(Spec):
        colour: str | None = field(
            default=None, metadata=row(TEXT_OR_NONE, "of what is shown", "NAME", says=("end", "In {colour}."))
        )

    rows = choices_of(More)
    assert [choice.name for choice in rows] == [*(choice.name for choice in CHOICES), "colour"]
    for module in (spec_module, protocol, spelling):
        monkeypatch.setattr(module, "CHOICES", rows)
    monkeypatch.setattr(protocol, "Spec", More)
    spec = More(data="d", split="random", relevant="x", encoder="raw", colour="red")
    assert More.from_query(spec.to_query()) == More.from_json(spec.to_json()) == spec
    assert spec.to_query()["colour"] == spec.to_json()["colour"] == "red"
    assert spec_of(parser().parse_args(shlex.split(spec.to_command())[3:])) == spec
    assert spelling.describe(spec).endswith(" In red.")
    with pytest.raises(DataError, match="did you mean 'colour'"):
        More(color="red")  # type: ignore[call-arg]
