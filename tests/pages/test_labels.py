"""What is wrong is told on a page by the labels of its widgets, never by flags, and the wrong setting is offered."""

import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.words import speak
from pages.shared.words.labels import labels, problem_text
from recall_core.errors import DataError, setting
from recall_core.protocol.spec import Spec
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
    "a side that is neither": ("asking", "overview", {}, "gallery"),
    "a column that is not there": ("plain", "overview", {"columns": "group=nope"}, "columns"),
    "rows that are not there": ("plain", "overview", {"where": "label=y;colour=b"}, "where"),
    "no group": ("plain", "leakage", {"on": "chosen", "part": "query-gallery"}, "columns"),
    "an index of other similarities": ("plain", "index", {"similarity": "dot"}, "similarity"),
    "queries that are not there": ("plain", "overview", {"slice": "label=y;colour=b"}, "where"),
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
def test_a_page_calls_a_setting_by_its_label(case: str, language: str) -> None:
    data, page, more, field = SHOWN[case]
    app = run(page, data=data, lang=language, **more)
    speak(language)
    label = labels()[field]
    speak("en")
    assert ("„{}”" if language == "hu" else "“{}”").format(label) in shown(app)
    assert FLAG.findall(shown(app)) == []


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(
    ("case", "offered"), [("encoding", "mend_encoding"), ("nothing says what is relevant", "mend_")]
)
def test_a_page_offers_the_setting_that_is_wrong(case: str, offered: str) -> None:
    data, page, _more, _field = SHOWN[case]
    assert [box.key for box in run(page, data=data).selectbox if offered in str(box.key)]


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("case", ["vectors too few", "nan", "a side that is neither"])
def test_a_page_offers_nothing_that_would_not_help(case: str) -> None:
    data, page, _more, _field = SHOWN[case]
    assert not [box.key for box in run(page, data=data).selectbox if "mend_" in str(box.key)]


@pytest.mark.parametrize("field", Spec.__dataclass_fields__)
def test_every_field_of_the_spec_has_a_label(field: str) -> None:
    assert labels()[field]
    assert problem_text(DataError(setting(field))) == f"“{labels()[field]}”"


def test_a_value_stands_behind_the_label() -> None:
    assert problem_text(DataError(f"leave it out with {setting('bad_rows', 'drop')}")).endswith("infinity”: drop")
    assert problem_text(DataError(f"replace it with {setting('force', True)}")) == "replace it with “force”"
    assert problem_text(DataError(f"{setting('as_told')} is unknown")) == "“as told” is unknown"
