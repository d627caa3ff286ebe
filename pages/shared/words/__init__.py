"""The words on the pages, in each visitor's language: English in the source, the others from gettext catalogues.

A catalogue is ``locale/<language>/LC_MESSAGES/pages.po``; the compiled ``pages.mo`` stands beside it, because a fresh
machine has no compiler for it. CONTRIBUTING.md tells how to renew both.
"""

import gettext
import html
import re
from contextvars import ContextVar
from functools import cache
from pathlib import Path

LANGUAGES = ("en", "hu")
LOCALE = Path(__file__).parent / "locale"

_language: ContextVar[str] = ContextVar("language", default="en")


def speak(language: str) -> None:
    """From here on, in this run of the script, ``_`` speaks this language."""
    _language.set(language if language in LANGUAGES else "en")


def language() -> str:
    """Which language does this run of the script speak?"""
    return _language.get()


def _(text: str) -> str:
    """Translate one message; without a translation it stays English."""
    return _catalogue(_language.get()).gettext(text)


def plural(one: str, many: str, n: int, **more: object) -> str:
    """Translate a message that counts: ``plural("{n} query", "{n} queries", n)``, with ``n`` filled in."""
    return _catalogue(_language.get()).ngettext(one, many, int(n)).format(n=number(n), **more)


def chosen(one: str, many: str | None, n: int) -> str:
    """Translate a template that is filled in elsewhere, in the form that goes with ``n``."""
    catalogue = _catalogue(_language.get())
    return catalogue.gettext(one) if many is None else catalogue.ngettext(one, many, int(n))


def value(number_or_share: int | float) -> str:
    """Write a number that stands in a sentence, with the decimal mark of the language."""
    if isinstance(number_or_share, float):
        spelled = f"{number_or_share:g}"
        return spelled.replace(".", ",") if _language.get() == "hu" else spelled
    return number(number_or_share)


def number(n: int) -> str:
    """Write a whole number with its thousands apart, as it is read in every language: 12 345."""
    return f"{n:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


MARKUP = re.compile(r"[\\`*_\[\]#$<>~|:&]")
INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
OPENING = re.compile(r"^(?:\d+(?=[.)](?:\s|$))|(?=[-+](?:\s|$))|(?=(?:-+|=+)\s*$))", re.MULTILINE)
"""Where a list, a line or a heading would open."""

# "://", "www." and addresses of mail become links; "--", "->", ">=" and the like between spaces become signs.
LIVE = re.compile(
    r"(?<=:)(?=material/|streamlit\\:|//)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@[-\w]+\.)"
    r"|(?<=-)(?=-(?:\s|$)|\\>(?:\s|$))|(?<=[<>~])(?=[-=](?:\s|$|\\>))"
)


def plain(text: str) -> str:
    """Keep text that comes from data, from visitors or from the engine from being read as Markdown.

    What is looked for in the text only after its escapes are gone (icons, arrows, addresses) is parted by a joiner that
    takes no room.
    """
    escaped = MARKUP.sub(r"\\\g<0>", INDENT.sub("", text))
    return LIVE.sub("\N{WORD JOINER}", OPENING.sub(r"\g<0>\\", escaped))


def drawn(text: str) -> str:
    """Keep text that comes from data or visitors from being read as the markup of a chart."""
    return html.escape(text, quote=False)


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("pages", LOCALE, [language], fallback=True)
