"""The exceptions that a caller may want to tell apart.

``ValueError``
└── ``DataError``          the user's file or choice is wrong; the message says what, where, and what to do
``ImportError``
└── ``MissingDependency``  an optional package is not installed; the message carries the pip command

A plain ``ValueError`` or ``TypeError`` means that a caller broke a function's contract.
Anything else is our bug.

The engine knows no flags and no widgets: a message names a field, ``setting("query")``, and each face spells it in its
own way: the command line ``--query``, a page the label of its widget, a notebook ``query=``.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SCREEN = 2000
"""Characters of the longest message: what is wrong may be a megabyte, and is not to be read whole."""


Spelling = Callable[[str, str], str]
"""How a face spells a field and its value, which may be empty: ``query``, ``side=a`` → ``--query side=a``."""

_FIELD = re.compile("\ufdd0([a-z_]+)(?:=([^\ufdd0\ufdd1]*))?\ufdd1")
"""A field in a message, between two of the characters that Unicode keeps for use inside a program."""

_BY_COLUMN = ("columns", "where", "query", "gallery", "slice")
"""The fields that a notebook writes as a mapping."""


def setting(field: str, value: object = None) -> str:
    """A field in a message, with the value that it has or should have; ``spelled`` spells it."""
    text = "" if value is None else "=" + re.sub("[\ufdd0\ufdd1]", "", str(value))
    return f"\ufdd0{field}{text}\ufdd1"


def spelled(text: str, spelling: Spelling) -> str:
    """The text with each field as one face spells it."""
    return _FIELD.sub(lambda found: spelling(found[1], found[2] or ""), text)


def keyword(field: str, value: str) -> str:
    """A field as a notebook writes it.

    Examples
    --------
    >>> keyword("query", ""), keyword("encoder", "raw"), keyword("where", "split=test"), keyword("force", "True")
    ('query=', "encoder='raw'", "where={'split': 'test'}", 'force=True')
    """
    if field in _BY_COLUMN and "=" in value:
        column, _, cell = value.partition("=")
        return f"{field}={{{column!r}: {cell!r}}}"
    bare = value in ("", "True") or value.replace(".", "", 1).removeprefix("-").isdecimal()
    return f"{field}={value if bare else repr(value)}"


class DataError(ValueError):
    """The user's file or choice is wrong.

    The command line prints the message and exits with 2; a page shows it in place. It fits on a screen and can be
    written as UTF-8, whatever is quoted in it: a longer one loses its middle, since where stands at its beginning, and
    what to do at its end.

    Parameters
    ----------
    message : str
        May hold fields, as ``setting`` makes them; ``str(error)`` spells them as a notebook does.
    field : str, optional
        Which choice to change: a field of the spec, or an option of one command. By default the first one that the
        message names; empty where no choice is wrong.
    """

    def __init__(self, message: str = "", *, field: str = "") -> None:
        self.message = message.encode(errors="backslashreplace").decode()
        first = _FIELD.search(message)
        self.field = field or (first[1] if first else "")
        super().__init__(self.spelled(keyword))

    def spelled(self, spelling: Spelling) -> str:
        """The message with each field as one face spells it."""
        return _fitting(spelled(self.message, spelling))


@contextmanager
def about(field: str) -> Iterator[None]:
    """Let a ``DataError`` out of the ``with`` that names no field be about this one."""
    try:
        yield
    except DataError as error:
        error.field = error.field or field
        raise


class MissingDependency(ImportError):
    """An optional package is needed for this choice; the message ends with the ``command`` that installs it."""

    def __init__(self, reason: str, *, extra: str) -> None:
        # Double quotes: zsh expands bare brackets, and cmd.exe knows no single quotes.
        self.command = f'pip install "recall-explorer[{extra}]"'
        super().__init__(f"{reason}; install it: {self.command}")


@contextmanager
def needs(package: str, what: str, *, extra: str) -> Iterator[None]:
    """Turn a failed import inside the ``with`` into a ``MissingDependency`` that says how to install the package.

    Parameters
    ----------
    package : str
        As its own documentation calls it: scikit-learn, not sklearn.
    what : str
        What needs it: the subject of the sentence, in the singular.
    extra : str
        The extra of this package that brings it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingDependency(f"{what} needs {package}", extra=extra) from error
    except ImportError as error:  # it is there, and broken: a library of the system may be missing
        raise MissingDependency(f"{what} needs {package}, which cannot be imported ({error})", extra=extra) from error


def _fitting(message: str) -> str:
    gap, half = f" … {len(message)} characters … ", SCREEN // 2
    return message if len(message) <= SCREEN else message[: half - len(gap)] + gap + message[-half:]
