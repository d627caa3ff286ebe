"""Renew and compile the catalogues of the words on the pages: ``python -m tests.catalogue``.

Puts in what the pages and the engine's tables say now, without a translation where it is new; takes out what nobody
says any more; names what waits for a translation; then checks and compiles.
"""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from pages.shared import words
from recall_core.evaluation import spelling
from recall_core.protocol import AND, CHOICES, PHRASES, SENTENCES
from tests.conftest import ROOT

KEYWORDS = {"_": None, "plural": (1, 2)}
TRANSLATED = [language for language in words.LANGUAGES if language != "en"]
WIDTH = 120

Id = str | tuple[str, str]
"""A message, or its singular and plural."""


def singular(message: Id) -> str:
    return message if isinstance(message, str) else message[0]


def written() -> list[Id]:
    """Collect the messages in the source of the pages, and those of the engine that the pages show."""
    extracted = [
        *extract_from_dir(ROOT / "pages", keywords=KEYWORDS),
        *extract_from_dir(ROOT / "recall_core" / "evaluation", keywords={"say": None}),
    ]
    found: list[Id] = [message for _file, _line, message, *_rest in extracted]
    tables = (spelling.SPLIT_WORDS, spelling.LEVELS, spelling.NO_RELEVANT_WORDS)
    found += [text for table in tables for text in table.values()]
    for template in (*SENTENCES.values(), *PHRASES.values()):
        found.append(template.one if template.many is None else (template.one, template.many))
    found += [choice.says[1] for choice in CHOICES if choice.says[1]]
    return [*found, AND]


def file_of(language: str, kind: str) -> Path:
    return words.LOCALE / language / "LC_MESSAGES" / f"pages.{kind}"


def catalogue(language: str) -> Catalog:
    return read_po(io.BytesIO(file_of(language, "po").read_bytes()), locale=language)


def renewed(old: Catalog, messages: list[Id]) -> Catalog:
    """The catalogue with these messages: known ones where they are, each new one where the alphabet would put it."""
    said = {singular(message): message for message in messages}
    known = {singular(message.id): message for message in old if message.id}
    order = [name for name in known if name in said]
    for name in sorted(said.keys() - known.keys()):
        order.insert(next((at for at, other in enumerate(order) if other > name), len(order)), name)
    new = Catalog(locale=old.locale, header_comment=old.header_comment, fuzzy=False)
    new.mime_headers = old.mime_headers
    for name in order:
        message = known.get(name)
        # A message that became plural, or is plural no longer, waits for a new translation.
        kept = message.string if message is not None and message.id == said[name] else None
        new.add(said[name], kept, user_comments=message.user_comments if message else ())
    return new


def untranslated(renewed: Catalog) -> Iterator[str]:
    for message in renewed:
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        if message.id and not all(strings):
            yield singular(message.id)


def complaints(renewed: Catalog) -> Iterator[str]:
    """What the compiler would complain of."""
    for message, errors in renewed.check():
        yield from (f"{singular(message.id)!r}: {error}" for error in errors)


def main() -> int:
    """Renew and compile each catalogue; 1 where a translation is missing or wrong."""
    told = []
    for language in TRANSLATED:
        whole = renewed(catalogue(language), written())
        with file_of(language, "po").open("wb") as stream:
            write_po(stream, whole, width=WIDTH, no_location=True)
        with file_of(language, "mo").open("wb") as stream:
            write_mo(stream, whole)
        told += [f"{language}: waits for a translation: {text!r}" for text in untranslated(whole)]
        told += [f"{language}: {complaint}" for complaint in complaints(whole)]
    print(*told, sep="\n", end="\n" if told else "", file=sys.stderr)
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
