"""The exceptions that a caller may want to tell apart.

``ValueError``
└── ``DataError``          the user's file or choice is wrong; the message says what, where, and what to do
``ImportError``
└── ``MissingDependency``  an optional package is not installed; the message carries the pip command

A plain ``ValueError`` or ``TypeError`` means that a caller broke a function's contract.
Anything else is our bug.
"""

from collections.abc import Iterator
from contextlib import contextmanager

SCREEN = 2000
"""Characters of the longest message: what is wrong may be a megabyte, and is not to be read whole."""


class DataError(ValueError):
    """The user's file or choice is wrong.

    The command line prints the message and exits with 2; a page shows it in place. It fits on a screen and can be
    written as UTF-8, whatever is quoted in it: a longer one loses its middle, since where stands at its beginning, and
    what to do at its end.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(_fitting(message.encode(errors="backslashreplace").decode()))


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
