"""The table of findings: each row is made somewhere, says all that it is given, and counts rightly."""

import ast
import re
import string
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from recall_core.protocol import PHRASES, SENTENCES, SEVERITIES, Listed, Phrase, Template, find, name_rows, spell_value
from recall_core.protocol.findings import listed
from tests.conftest import ROOT

TABLE = ROOT / "recall_core" / "protocol" / "findings.py"
TREES = [ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / "recall_core").rglob("*.py")) if path != TABLE]

SEVERAL = {"look_alikes", "other_data", "same_files"}
"""Kinds of which one alone is never told."""


def calls(name: str) -> Iterator[tuple[ast.Call, ast.AST]]:
    """Every call of a function of the protocol, and the function that it stands in."""
    for tree in TREES:
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        taken = {alias.name for node in imports for alias in node.names if node.module in ("findings", "protocol")}
        called = {f"protocol.{name}"} | ({name} & taken)
        for around in ast.walk(tree):
            if isinstance(around, ast.FunctionDef):
                for node in ast.walk(around):
                    if isinstance(node, ast.Call) and ast.unparse(node.func) in called:
                        yield node, around


def rows(table: Mapping[str, object], named: ast.expr, around: ast.AST) -> set[str]:
    """Rows that an argument names; of a variable, all that its function speaks of."""
    if isinstance(named, ast.Constant):
        return {str(named.value)}
    if isinstance(named, ast.JoinedStr):
        fixed = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else "[a-z]+" for part in named.values]
        return {row for row in table if re.fullmatch("".join(fixed), row)}
    texts = {node.value for node in ast.walk(around) if isinstance(node, ast.Constant)}
    return {row for row in table if row in texts}


def places(template: Template) -> set[str]:
    texts = filter(None, (template.one, template.many))
    return {name for text in texts for _text, name, _form, _how in string.Formatter().parse(text) if name}


FOUND = [(call, rows(SENTENCES, call.args[0], around)) for call, around in calls("find")]
TEMPLATES = {
    **{name: Template(one, many) for name, (_severity, one, many) in SENTENCES.items()},
    **{f"phrase {name}": template for name, template in PHRASES.items()},
}


def test_every_row_is_made_and_all_that_is_made_is_a_row() -> None:
    assert set().union(*(named for _call, named in FOUND)) == set(SENTENCES)
    assert all(named for _call, named in FOUND)


def test_nobody_makes_a_finding_past_the_table() -> None:
    """But a saved run, of which only the message is known."""
    made = {ast.unparse(call) for call, _around in calls("Finding")}
    assert made == {"Finding(kind, severity, count, with_settings(message), tuple(examples))"}


@pytest.mark.parametrize(("call", "named"), FOUND, ids=[" ".join(sorted(named)) for _call, named in FOUND])
def test_a_finding_is_given_what_its_sentence_says(call: ast.Call, named: set[str]) -> None:
    given = {word.arg for word in call.keywords if word.arg}
    for name in named:
        wanted = places(TEMPLATES[name])
        assert given <= wanted | {"n"}
        assert wanted - {"n"} <= given or any(word.arg is None for word in call.keywords)


def test_every_phrase_is_said() -> None:
    said = set().union(*(rows(PHRASES, call.args[0], around) for call, around in calls("Phrase")))
    reasons = {name.removeprefix("without_relevant_") for name in SENTENCES if name.startswith("without_relevant_")}
    in_the_table = {"more", "row", "row_because"}
    given_scores_sides = {"query ids", "gallery ids"}
    assert said | reasons | in_the_table | given_scores_sides == set(PHRASES)


@pytest.mark.parametrize("name", TEMPLATES)
def test_one_and_many_say_the_same_things(name: str) -> None:
    one, many = TEMPLATES[name]
    assert many is None or places(Template(one)) == places(Template(many))


@pytest.mark.parametrize("name", SENTENCES)
def test_one_is_told_as_one(name: str) -> None:
    severity, one, _many = SENTENCES[name]
    assert severity in SEVERITIES
    verbs = "are|count|differ|have|hold|lie|look|share|stand|take|were"
    plural = rf"\{{(n|number)\}} (data )?\w+s\b(?<!class)|\{{n\}} of \{{m\}} [\w {{}}]*?\b({verbs})\b"
    assert bool(re.search(plural, one)) == (name in SEVERAL), one


def test_a_sentence_is_filled_in_english() -> None:
    two = find("unused_ids", 2, ids=Phrase("query ids", {"file": "s.npz"}), m=5)
    one = find("unused_ids", 1, ids=Phrase("query ids", {"file": "s.npz"}), m=5)
    assert two.message == "s.npz: query ids: 2 of 5 are not asked for here, and were passed over"
    assert one.message == "s.npz: query ids: 1 of 5 is not asked for here, and was passed over"
    assert (two.kind, two.severity, two.count, two.examples) == ("unused_ids", "note", 2, ())
    assert find("matching:scores", file="{n}.npz").message.startswith("{n}.npz: scores were matched")
    assert find("matching:scores", file="s").kind == "matching"


def test_lists_are_cut_and_say_how_much_more_there_is() -> None:
    ids = np.array(list("abcdefg"), object)
    assert spell_value(name_rows(ids, np.array([0, 3]))) == "row 1 (id 'a'), row 4 (id 'd')"
    assert spell_value(name_rows(ids, np.arange(7))).endswith("row 5 (id 'e') and 2 more")
    assert spell_value(name_rows(ids, np.array([1]), ["cut short"])) == "row 2 (id 'b'): cut short"
    assert spell_value(listed("abcdefg", "; ")) == "a; b; c; d; e and 2 more"
    assert spell_value(Listed((1, 0.5, "x"))) == "1, 0.5, x"
