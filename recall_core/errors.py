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


class DataError(ValueError):
    """The user's file or choice is wrong.

    The command line prints the message and exits with 2; a page shows it in place.
    """


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
