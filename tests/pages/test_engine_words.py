"""What the engine says has its words on the pages, and in English it is the engine's own."""

import json
import re

import numpy as np
import pytest

from pages.shared import words
from pages.shared.words import engine_words
from recall_core.evaluation import open_run, spelling
from recall_core.evaluation.spelling import finding_json
from recall_core.evaluation.wiring import evaluate
from recall_core.experiments.leakage.experiment import lab
from recall_core.protocol import AND, Listed, Phrase, find, name_rows
from recall_core.protocol.spec import Spec
from tests.conftest import ROOT


@pytest.fixture
def hungarian() -> object:
    words.speak("hu")
    yield
    words.speak("en")


def test_in_english_a_finding_is_told_in_the_engines_words() -> None:
    finding = find("ties", 3, m=60, metric="recall@1")
    assert engine_words.told(finding) == finding.message


def test_in_hungarian_a_finding_is_told_with_all_that_it_says(hungarian: object) -> None:
    assert engine_words.told(find("ties", 1234, m=6000, metric="recall@1")) == (
        "6\N{NARROW NO-BREAK SPACE}000 lekérdezésből 1\N{NARROW NO-BREAK SPACE}234 esetében recall@1 a holtversenyben "
        "állók sorrendjén múlik"
    )
    lone = find("without_relevant_unmatched", 1, ["a"], split="all->all", m=3, why=Phrase("unmatched", {"n": 1}))
    assert engine_words.told(lone) == (
        "all->all: 3 lekérdezésből 1 esetében nincs releváns elem a galériában: egyetlen galériaelem sem releváns hozzá"
    )
    pairs = Listed((Phrase("near_pair", {"first": "a", "second": "b", "score": 0.97}),), "; ")
    alike = find("duplicates_cosine", 1, number=1, threshold=0.95, pairs=pairs)
    assert engine_words.told(alike) == "1 vektorpár koszinusza legalább 0,95: a ≈ b (0,97)"
    sizes = Listed((Phrase("in_run", {"sizes": Listed((30, 20), AND), "run": "x"}),))
    assert "x: 30 és 20" in engine_words.told(find("other_gallery", 2, sizes=sizes))
    rows = name_rows(np.array(list("abcdefg"), object), np.arange(7))
    assert engine_words.told(find("zero_vectors", 7, m=9, rows=rows)).endswith("5. sor (id: 'e') és még 2")


def test_a_finding_of_a_saved_run_stays_as_it_was_saved(hungarian: object) -> None:
    run = open_run(ROOT / "tests" / "golden" / "run_0_1_0")
    saved = json.loads((ROOT / "tests" / "golden" / "run_0_1_0" / "report.json").read_text("utf-8"))["findings"]
    assert saved
    assert [finding_json(finding) for finding in run.findings] == saved
    assert [engine_words.told(finding) for finding in run.findings] == [finding["message"] for finding in saved]


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
