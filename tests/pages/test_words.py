"""Every word on the pages is translated, and the compiled catalogues are those of the readable ones."""

import ast
import io
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import read_mo, write_mo

from pages.shared import words
from recall_core.protocol import PHRASES, SENTENCES
from tests.catalogue import (
    KEYWORDS,
    TRANSLATED,
    catalogue,
    complaints,
    file_of,
    renewed,
    singular,
    untranslated,
    written,
)
from tests.conftest import ROOT


def messages(catalogue: Catalog) -> dict[str, Message]:
    return {
        message.id if isinstance(message.id, str) else message.id[0]: message for message in catalogue if message.id
    }


def fields(text: str) -> set[str]:
    return {name for _text, name, _form, _conversion in string.Formatter().parse(text.replace("%{", "{")) if name}


def texts(message: Message) -> Iterator[str]:
    yield from [message.string] if isinstance(message.string, str) else message.string


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_message_is_translated_and_none_is_left_over(language: str) -> None:
    translated = {name for name, message in messages(catalogue(language)).items() if all(texts(message))}
    assert translated == {singular(message) for message in written()}


@pytest.mark.parametrize("path", sorted((ROOT / "pages").rglob("*.py")), ids=lambda path: path.stem)
def test_no_message_hides_inside_an_f_string(path: Path) -> None:
    """The extraction does not look there."""
    strings = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.JoinedStr)]
    calls = [node for string in strings for node in ast.walk(string) if isinstance(node, ast.Call)]
    assert not [node for node in calls if isinstance(node.func, ast.Name) and node.func.id in KEYWORDS]


@pytest.mark.parametrize("language", TRANSLATED)
def test_what_the_engine_says_of_many_is_translated_as_that(language: str) -> None:
    known = {message.id for message in catalogue(language)}
    for template in (*SENTENCES.values(), *PHRASES.values()):
        assert (template.one if template.many is None else (template.one, template.many)) in known


def test_in_hungarian_no_ending_is_glued_to_what_fills_a_sentence_of_the_engine() -> None:
    """Which ending it is depends on the value."""
    known = messages(catalogue("hu"))
    said = [text for template in (*SENTENCES.values(), *PHRASES.values()) for text in texts(known[template.one])]
    assert said
    assert not [text for text in said if re.search(r"\}-?\w|a\(z\)", text)]


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_keep_the_places_that_are_filled_in(language: str) -> None:
    for name, message in messages(catalogue(language)).items():
        for text in texts(message):
            assert fields(text) == fields(name), f"{name!r} became {text!r}"


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_catalogue_compiles_without_a_complaint(language: str) -> None:
    """A % before a letter looks like Python's old format to the compiler: write it elsewhere in the sentence."""
    assert list(complaints(catalogue(language))) == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_renewing_a_current_catalogue_changes_nothing(language: str) -> None:
    now = catalogue(language)
    again = renewed(now, written())
    assert [(message.id, message.string, message.user_comments) for message in again if message.id] == [
        (message.id, message.string, message.user_comments) for message in now if message.id
    ]


def test_renewing_keeps_translations_puts_in_what_is_new_and_takes_out_what_nobody_says() -> None:
    old = Catalog(locale="hu")
    for name, translation in {"b": "B", "gone": "G", "z": "Z", "one": "E"}.items():
        old.add(name, translation)
    new = renewed(old, ["z", "m", "b", ("one", "many")])
    assert [(message.id, message.string) for message in new if message.id] == [
        ("b", "B"),
        ("m", None),
        ("z", "Z"),
        (("one", "many"), ("", "")),
    ]
    assert list(untranslated(new)) == ["m", "one"]


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_compiled_catalogue_is_current(language: str) -> None:
    fresh = io.BytesIO()
    write_mo(fresh, catalogue(language))
    fresh.seek(0)
    compiled = read_mo(io.BytesIO(file_of(language, "mo").read_bytes()))
    expected = {name: message.string for name, message in messages(read_mo(fresh)).items()}
    assert {name: message.string for name, message in messages(compiled).items()} == expected


def test_words_are_spoken_in_the_chosen_language_and_fall_back_to_english() -> None:
    words.speak("hu")
    assert words._("Overview") == "Áttekintés"
    assert words.plural("{n} picture", "{n} pictures", 1234) == "1\N{NARROW NO-BREAK SPACE}234 kép"
    assert words._("nobody translated this") == "nobody translated this"
    words.speak("xx")
    assert words._("Overview") == "Overview"
    assert words.plural("{n} picture", "{n} pictures", 1) == "1 picture"
    words.speak("en")


def test_text_from_data_is_not_read_as_markdown() -> None:
    assert words.plain("a_b *c* [d](e) $f$ <g>") == r"a\_b \*c\* \[d\](e) \$f\$ \<g\>"
