"""The texts of the lesson and the exercises: Markdown files, one set a language, with places for live numbers.

A file is ``# title`` and ``## key`` sections; the keys are the same in every language. ``{{name}}`` is filled with what
the page has computed. In the section ``check`` the options of a question follow it as a task list, each with its
answer indented below::

    ## check
    How many pictures ask?
    - [ ] 60
      That is both directions together.
    - [x] 30
      Yes, one view of each scene.

A file of phrases has lines ``- key: text`` instead, for hints and choices.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pages.shared import words

FOLDER = Path(__file__).parent / "markdown"
PLACE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Option:
    """One answer to choose, what is said to it, and whether it is right."""

    text: str
    answer: str
    right: bool


@dataclass(frozen=True)
class Text:
    """One file."""

    title: str
    sections: Mapping[str, str]

    def filled(self, section: str, values: Mapping[str, str]) -> str:
        """Give a section with its places filled in."""
        return fill(self.sections[section], values)

    @property
    def question(self) -> str:
        """The question of the section ``check``."""
        return self.sections["check"].partition("\n- [")[0].strip()

    @property
    def options(self) -> list[Option]:
        """Its answers."""
        parts = re.split(r"^- \[([ x])\] ", self.sections["check"], flags=re.MULTILINE)[1:]
        found = []
        for mark, body in zip(parts[::2], parts[1::2], strict=True):
            text, _line, answer = body.strip().partition("\n")
            found.append(Option(text.strip(), " ".join(answer.split()), mark == "x"))
        return found


def fill(text: str, values: Mapping[str, str]) -> str:
    """Fill the places of a text; one without a value is our mistake."""
    return PLACE.sub(lambda place: values[place[1]], text)


def places(text: str) -> list[str]:
    """Which places does a text have, in order?"""
    return sorted(set(PLACE.findall(text)))


def read(name: str) -> Text:
    """Read a file in the visitor's language."""
    return _read(words.language(), name)


def phrases(name: str) -> Mapping[str, str]:
    """Read a file of phrases in the visitor's language: key → text."""
    return _phrases(words.language(), name)


def names(language: str) -> Sequence[str]:
    """Which files are there in a language?"""
    return sorted(path.stem for path in (FOLDER / language).glob("*.md"))


@cache
def _read(language: str, name: str) -> Text:
    head, *sections = re.split(r"^## ", source(language, name), flags=re.MULTILINE)
    parted = (section.partition("\n") for section in sections)
    return Text(head.strip().removeprefix("# "), {key.strip(): body.strip() for key, _line, body in parted})


@cache
def _phrases(language: str, name: str) -> Mapping[str, str]:
    return listed(source(language, name))


def listed(text: str) -> Mapping[str, str]:
    """Read lines ``- key: text``, which may run on over several lines."""
    parts = re.split(r"^- (\w+): ", text, flags=re.MULTILINE)[1:]
    return {key: " ".join(text.split()) for key, text in zip(parts[::2], parts[1::2], strict=True)}


def source(language: str, name: str) -> str:
    """Read a file as it stands."""
    return (FOLDER / language / f"{name}.md").read_text(encoding="utf-8")
