"""What the engine says has its words on the pages, and in English it is the engine's own."""

import ast
import re

import pytest

from pages.shared import words
from pages.shared.words import engine_words
from recall_core.evaluation import spelling
from recall_core.evaluation.wiring import evaluate
from recall_core.experiments.leakage.experiment import lab
from recall_core.protocol.findings import Finding
from recall_core.protocol.spec import Spec
from tests.conftest import ROOT

MODULES = ("audit", "evaluation", "inspection", "protocol", "sources")
"""Where findings come from that pages show."""

PREFIXES = ("without_relevant_", "duplicates_")


def kinds(module: str) -> set[str]:
    """Kinds of findings that a module makes; of a composed kind its fixed part."""
    tree = ast.parse((ROOT / f"recall_core/{module}.py").read_text("utf-8"))
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        if name in ("Finding", "note"):
            first = node.args[0]
            if isinstance(first, ast.Constant):
                found.add(str(first.value))
            elif isinstance(first, ast.JoinedStr):
                found.add(str(first.values[0].value))  # type: ignore[attr-defined]
    return found


@pytest.fixture
def hungarian() -> object:
    words.speak("hu")
    yield
    words.speak("en")


@pytest.mark.parametrize("module", MODULES)
def test_every_kind_of_finding_has_a_sentence(module: str) -> None:
    told = engine_words.sentences()
    for kind in kinds(module):
        assert any(name.startswith(kind) for name in told) if kind in PREFIXES else kind in told, kind


def test_in_english_a_finding_is_told_in_the_engines_words() -> None:
    finding = Finding("ties", "warning", 3, "3 of 60 queries: recall@1 depends on the order of tied items")
    assert engine_words.told(finding) == finding.message


def test_in_hungarian_a_finding_is_told_by_kind_count_and_examples(hungarian: object) -> None:
    assert engine_words.told(Finding("ties", "warning", 3, "…")).startswith("3 lekérdezés múlik")
    lone = Finding("without_relevant_unmatched", "warning", 2, "…", ("a", "b"))
    assert engine_words.told(lone) == "2 lekérdezéshez nincs helyes elem a galériában, például a; b"
    assert engine_words.told(Finding("reading", "note", 0, "CSV, utf-8")) == "Így olvastuk be az adatokat: CSV, utf-8"
    assert engine_words.told(Finding("of_tomorrow", "note", 0, "as it is")) == "as it is"


SPECS = [
    {},
    {"encoder": "mean", "no_relevant": "exclude", "seed": None},
    {"split": "random", "seed": 7},
    {"relevant": "orientation", "junk_same": "scene_id", "similarity": "dot"},
    {"query": (("view_id", ("0",)),), "gallery": (("view_id", ("1",)),)},
    {"where": (("split", ("test", "val")), ("view_id", ("0",))), "split": "leave-one-out"},
    {"corrupt": "noise:0.5"},
    {"encoder": "ridge"},
    {"encoder": "mean", "query_images": "data/glyphlab/corrupted_test.npy"},
]


@pytest.mark.parametrize("choices", SPECS)
def test_in_english_a_spec_is_described_as_in_the_report(choices: dict) -> None:
    spec = evaluate(lab(), Spec(data="glyphlab", **choices)).spec
    assert engine_words.describe(spec) == spelling.describe(spec)


@pytest.mark.parametrize(
    "choices",
    [
        {"scores": "s.npy", "relevant_pairs": "q.csv", "corrections": "c.csv", "protocol": "hard"},
        {
            "embeddings": "v.npy",
            "relevant": "x",
            "slice": (("a", ("1", "2")),),
            "train": "random",
        },
    ],
)
def test_so_is_one_that_names_files(choices: dict) -> None:
    spec = Spec(data="d", split="by-view", similarity="cosine", no_relevant="miss", **choices)
    assert engine_words.describe(spec) == spelling.describe(spec)


@pytest.mark.parametrize("choices", SPECS)
def test_in_hungarian_no_english_word_is_left(hungarian: object, choices: dict) -> None:
    said = engine_words.describe(evaluate(lab(), Spec(data="glyphlab", **choices)).spec)
    assert not re.search(r"\b(the|asks|right|query|drawn|left|counts)\b", said)
