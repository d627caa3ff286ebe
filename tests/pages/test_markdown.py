"""Text of data and visitors, and notation, never pass through Markdown unescaped: on every page, in every element."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import words
from pages.shared.learner import task_page, texts
from recall_core.course.tasks.marking import Marked
from recall_core.datasets.dataset import Dataset, load
from recall_core.diagnosis import triage
from recall_core.evaluation import saving
from recall_core.evaluation.wiring import evaluate
from recall_core.protocol.choices import write_filter
from tests.datasets.test_readers import png
from tests.pages.test_app import run

pytestmark = pytest.mark.filterwarnings("ignore:.*ScriptRunContext")

NAME, COLUMN, VALUE, TAG, RUN = "set *1* $x$", "col *2* $x$", "value *3* {} $x$", "tag *4* $x$", "run *5* $x$"
RAW = re.compile(r"(?<!\\)\*[1-9]\*|(?<!\\)\$x")
AS_TEXT = {
    ("bidi_component", "json"),  # written with textContent
    ("button_group", "raw_values"),
    ("code", "code_text"),
    ("plotly_chart", "spec"),
    ("selectbox", "options"),
    ("selectbox", "raw_value"),
    ("text_area", "default"),
    ("text_area", "value"),
    ("text_input", "default"),
    ("text_input", "value"),
}
"""Which strings of which elements the browser shows as they are, or not at all."""


@pytest.fixture
def marked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """A set whose every name, column, value, tag and run is Markdown."""
    monkeypatch.setenv("RECALL_DATA_ROOT", str(tmp_path))
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path / "state"))
    folder = tmp_path / NAME
    folder.mkdir()
    rows = [f'path,group,"{COLUMN}",view']
    for i in range(24):
        (folder / f"id {i} *6* $x$.png").write_bytes(png(10 * i + 1))
        rows.append(f'"id {i} *6* $x$.png",g *7* {i // 2} $x$,{VALUE.format(i % 3)},{i % 2}')
    (folder / "metadata.csv").write_text("\n".join(rows), encoding="utf-8")
    data = load(folder)
    triage.set_tag(NAME, str(data.ids[0]), TAG)
    saving.save(evaluate(data), tmp_path / "state" / "runs" / RUN)
    return data


def strings(message: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Walk through what is sent to the browser: name of the field, text."""
    for field, value in message.ListFields():
        for one in value if field.is_repeated else [value]:
            if field.type == field.TYPE_MESSAGE and not field.message_type.GetOptions().map_entry:
                yield from strings(one, (*path, field.name))
            elif field.type == field.TYPE_STRING:
                yield ".".join((*path, field.name)), one


def nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in (getattr(node, "children", None) or {}).values():
        yield from nodes(child)


def unescaped(app: AppTest) -> list[tuple[str, str, str]]:
    return [
        (node.type, field, text)
        for node in nodes(app._tree)
        if getattr(node, "proto", None) is not None
        for field, text in strings(node.proto)
        if not field.endswith("id") and (node.type, field) not in AS_TEXT and RAW.search(text)
    ]


def addresses(data: Dataset) -> Iterator[tuple[str, dict[str, str]]]:
    sliced = write_filter(((COLUMN, (VALUE.format(1),)),))
    first = evaluate(data).directions[0].name
    yield "start", {}
    yield "overview", {"slice": sliced}
    yield "overview", {"tab": "slices", "relevant": COLUMN}
    yield "overview", {"tab": "curves", "where": f"{COLUMN}=nope *8* $x$"}
    yield "overview", {"columns": "group=nope *8* $x$"}
    yield "overview", {"encoding": "nope *8* $x$", "corrupt": "nope *8* $x$:1"}
    yield "failures", {"slice": sliced, "tag": quote(TAG, safe=" ")}
    yield "failures", {"slice": "nope *8* $x$=1"}
    yield "query", {"failure": f"{first}:1", "slice": sliced}
    yield "query", {"relevant": COLUMN}
    yield "compare", {}
    yield "compare", {"metric": "map"}
    yield "leakage", {"on": "chosen"}
    yield "index", {}
    yield "definitions", {"list": "1*8*1", "mine": "*8*"}


def test_no_text_of_the_data_is_markdown_on_any_page(marked_up: Dataset) -> None:
    found = {}
    for page, query in addresses(marked_up):
        app = run(page, data=NAME, **query)
        if "nope" not in str(query):  # a choice that is not offered cannot be made again without a browser
            for folded in ("corrections", "audit", "why"):
                app.session_state[folded] = True
            app.run()
            assert not app.exception
        found[page, str(query)] = unescaped(app)
    assert not {address: left for address, left in found.items() if left}


@pytest.mark.parametrize("typed", ["*1* $x$", "10*1 5*2", "[a](b)", ":red[x]"])
def test_what_is_typed_into_a_task_is_repeated_as_it_was_typed(typed: str) -> None:
    for key in ("not_a_rank", "not_a_number"):
        said = task_page.hint(Marked({}, key, {"place": 1, "cell": "low", "typed": typed}))
        assert words.plain(typed) in said


@pytest.mark.parametrize("language", words.LANGUAGES)
def test_notation_with_asterisks_is_code(language: str) -> None:
    for name in texts.names(language):
        text = re.sub(r"`[^`]*`", "", texts.source(language, name))
        assert not re.findall(r"\d\*\d", text), name


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("10*1 5*2 30", r"10\*1 5\*2 30"),
        ("a_b ~c~ $d$ :red[e]", r"a\_b \~c\~ \$d\$ \:red\[e\]"),
        ("&lt;b&gt;", r"\&lt;b\&gt;"),
        ("- a", r"\- a"),
        ("12. a", r"12\. a"),
        ("0.5 - 1", "0.5 - 1"),
        ("---", "\\-\N{WORD JOINER}-\N{WORD JOINER}-"),
        ("    code", "code"),
        (":material/home:", "\\:\N{WORD JOINER}material/home\\:"),
        ("a -> b", "a -\N{WORD JOINER}\\> b"),
        ("www.a.b", "www\N{WORD JOINER}.a.b"),
    ],
)
def test_each_kind_of_markup_is_escaped(text: str, escaped: str) -> None:
    assert words.plain(text).replace("\N{WORD JOINER}", "") == escaped.replace("\N{WORD JOINER}", "")
    assert ("\N{WORD JOINER}" in words.plain(text)) == ("\N{WORD JOINER}" in escaped)
