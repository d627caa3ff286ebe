"""What is wrong is told on a page by the labels of its widgets, never by flags, and the wrong setting is offered."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.words import speak
from pages.shared.words.engine_words import told
from pages.shared.words.labels import labels, problem_text
from recall_core import evaluate, from_arrays
from recall_core.datasets.dataset import load
from recall_core.datasets.own_form import export
from recall_core.errors import DataError, Spelling, keyword, setting
from recall_core.evaluation.opening import open_run
from recall_core.evaluation.report import report_json, report_text
from recall_core.protocol.spec import Spec
from tests.conftest import ROOT
from tests.pages.test_app import run, said, write_set

FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")

TABLES = {
    "encoded": "label\nForró\n".encode("cp1250"),
    "unlabelled": b"id,colour\na,x\nb,x\n",
    "bare": b"label\nx\nx\n",
    "twice": b"id,label\na,x\na,x\n",
    "short": b"label\nx\nx\ny\n",
    "broken": b"label\nx\nx\n",
    "asking": b"label,role\nx,asker\nx,gallery\n",
    "plain": b"label,colour\nx,a\nx,b\ny,a\ny,a\n",
}

# Where it is shown → the data set, the page, the rest of the address, and the field whose label is told.
SHOWN = {
    "encoding": ("encoded", "overview", {}, "encoding"),
    "nothing says what is relevant": ("unlabelled", "overview", {}, "relevant"),
    "no images": ("bare", "overview", {}, "columns"),
    "an id twice": ("twice", "overview", {}, "columns"),
    "vectors too few": ("short", "overview", {}, "ids"),
    "nan": ("broken", "overview", {}, "bad_rows"),
    "a side that is neither": ("asking", "overview", {}, "query"),
    "a column that is not there": ("plain", "overview", {"columns": "group=nope"}, "columns"),
    "rows that are not there": ("plain", "overview", {"where": "label=y;colour=b"}, "where"),
    "no group": ("plain", "leakage", {"on": "chosen", "part": "query-gallery"}, "columns"),
    "an index of other similarities": ("plain", "index", {"similarity": "dot"}, "similarity"),
    "queries that are not there": ("plain", "overview", {"slice": "label=y;colour=b"}, "slice"),
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data sets that cannot be right, and one that can."""
    for name, table in TABLES.items():
        write_set(tmp_path, name, "")
        (tmp_path / name / "metadata.csv").write_bytes(table)
        if name != "bare":
            n = 4 if name == "plain" else 2
            vectors = np.full((2, 2), np.nan) if name == "broken" else np.eye(n, dtype=np.float32)
            np.save(tmp_path / name / "embeddings.npy", vectors)
    monkeypatch.setenv("RECALL_DATA_ROOT", str(tmp_path))
    return tmp_path


def shown(app: AppTest) -> str:
    """What the page says in words: commands are shown as such, and have flags."""
    commands = {element.value for element in app.code}
    return "\n".join(line for line in said(app).splitlines() if line not in commands).replace("\\", "")


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("language", ["en", "hu"])
@pytest.mark.parametrize("case", SHOWN)
def test_a_page_calls_a_setting_by_its_label(case: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, page, more, field = SHOWN[case]
    fields: set[str] = set()
    usual = DataError.spelled

    def noted(problem: DataError, spelling: Spelling) -> str:
        if spelling is not keyword:  # a page tells it
            fields.add(problem.field)
        return usual(problem, spelling)

    monkeypatch.setattr(DataError, "spelled", noted)
    app = run(page, data=data, lang=language, **more)
    assert fields == {field}
    speak(language)
    label = labels()[field]
    speak("en")
    assert ("„{}”" if language == "hu" else "“{}”").format(label) in shown(app)
    assert FLAG.findall(shown(app)) == []


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("case", "offered"), [("encoding", "corrected_encoding"), ("nothing says what is relevant", "corrected_")]
)
def test_a_page_offers_the_setting_that_is_wrong(case: str, offered: str) -> None:
    data, page, _more, _field = SHOWN[case]
    assert [box.key for box in run(page, data=data).selectbox if offered in str(box.key)]


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("case", ["vectors too few", "nan", "a side that is neither"])
def test_a_page_offers_nothing_that_would_not_help(case: str) -> None:
    data, page, _more, _field = SHOWN[case]
    assert not [box.key for box in run(page, data=data).selectbox if "corrected_" in str(box.key)]


@pytest.mark.parametrize("field", Spec.__dataclass_fields__)
def test_every_field_of_the_spec_has_a_label(field: str) -> None:
    assert labels()[field]
    assert problem_text(DataError(setting(field))) == f"“{labels()[field]}”"


def test_a_value_stands_behind_the_label() -> None:
    assert problem_text(DataError(f"leave it out with {setting('bad_rows', 'drop')}")).endswith("infinity”: drop")
    assert problem_text(DataError(f"replace it with {setting('force', True)}")) == "replace it with “force”"
    assert problem_text(DataError(f"{setting('as_told')} is unknown")) == "“as told” is unknown"


def test_a_finding_spells_its_setting_as_each_reader_does(tmp_path: Path) -> None:
    evaluation = evaluate(from_arrays(np.eye(4), labels=list("aabb")), query=(), gallery=(), ks=(1,))
    (found,) = [one for one in evaluation.findings if one.kind == "own_picture"]
    command_line = "(remove them with --junk-same id)"
    assert found.message.endswith("(remove them with junk_same='id')")
    assert command_line in report_text(evaluation)
    assert command_line in str(report_json(evaluation)["findings"])
    evaluation.save(tmp_path / "run")
    assert command_line in (tmp_path / "run" / "report.json").read_text(encoding="utf-8")
    opened = open_run(tmp_path / "run")
    assert opened.findings == evaluation.findings
    (again,) = [one for one in opened.findings if one.kind == "own_picture"]
    assert told(again) == told(found)
    assert told(found).endswith("(remove them with “Leave out: same …”: id)")
    speak("hu")
    said_in_hungarian = told(found)
    speak("en")
    assert said_in_hungarian.endswith("(ezzel hagyható ki: „Kimarad, ha azonos: …”: id)")


def test_a_note_on_the_data_keeps_its_setting_through_our_own_form(tmp_path: Path) -> None:
    for one in ("run01", "run02"):
        (tmp_path / "omniglot" / one / "test").mkdir(parents=True)
        (tmp_path / "omniglot" / one / "training").mkdir()
        pairs = f"{one}/test/item01.png {one}/training/class01.png\n"
        (tmp_path / "omniglot" / one / "class_labels.txt").write_text(pairs, encoding="utf-8")
    data = load(tmp_path / "omniglot")
    export(data, tmp_path / "own")
    notes = json.loads((tmp_path / "own" / "dataset.json").read_text(encoding="utf-8"))["notes"]
    assert notes[-1].endswith("one run at a time: --where run=…")
    assert load(tmp_path / "own").notes == data.notes


def test_pages_show_an_error_by_their_labels_alone() -> None:
    """Who turns an error into text himself shows how a notebook spells it, or searches it."""
    found = []
    for path in sorted((ROOT / "pages").rglob("*.py")):
        for block in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(block, ast.ExceptHandler) and block.name and "DataError" in ast.unparse(block.type or block):
                for node in ast.walk(block):
                    texts = isinstance(node, ast.Call) and ast.unparse(node) == f"str({block.name})"
                    filled = isinstance(node, ast.FormattedValue) and ast.unparse(node.value) == block.name
                    if texts or filled:
                        found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []
