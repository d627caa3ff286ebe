"""The exceptions that a caller may want to tell apart.

``ValueError``
└── ``DataError``          the user's file or choice is wrong; the message says what, where, and what to do
``ImportError``
└── ``MissingDependency``  an optional package is not installed; the message carries the pip command

A plain ``ValueError`` or ``TypeError`` means that a caller broke a function's contract.
Anything else is our bug.
"""


class DataError(ValueError):
    """The user's file or choice is wrong.

    The command line prints the message and exits with 2; a page shows it in place.
    """


class MissingDependency(ImportError):
    """An optional package is needed for this choice; the message carries the exact pip command."""
