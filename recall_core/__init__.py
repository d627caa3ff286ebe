"""Recall Explorer's engine: from images and labels to a retrieval number that can be trusted.

The packages, in the order in which data flow; imports run the same way. Each package's docstring lists its files.

``errors``       ``DataError`` and ``MissingDependency``
``version``      the version of this release
``program``      how this program and its flags are called in printed commands and messages
``rights``       what data may choose, what a visitor may name, and what only the person who started the program may
``budget``       how much a file may unpack to, and how much all files together may
``arrays``       names of array types and of progress callbacks
``images``       bytes → an image → a vector
``datasets``     a folder, a table or an upload → ``Dataset``
``ranking``      vectors or scores + ``Relevance`` → ``Ranking``, exactly
``metrics``      ``Ranking`` → ``Score`` → ``Interval``
``plain``        the course's plain functions on matrices and arrays
``protocol``     ``Spec``: who is compared with whom, and what is relevant
``evaluation``   ``Dataset`` + ``Spec`` → ``Evaluation``, its report, saved and opened
``diagnosis``    why does it miss, which run is better, what is suspicious
``experiments``  what leaks, and what an index costs: on the lab's data or the user's
``course``       what the lesson computes, and its tasks
``cli``          one file a command: arguments → a call → what is printed

Examples
--------
>>> import recall_core as rc
>>> data = rc.from_arrays([[1, 0], [1, 0.1], [0, 1], [0.1, 1]], labels=["a", "a", "b", "b"])
>>> rc.evaluate(data, ks=(1,)).scores["recall@1"].value
1.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .version import VERSION as __version__

if TYPE_CHECKING:
    from . import metrics, plain
    from .datasets import Dataset, load
    from .diagnosis import compare
    from .errors import DataError, MissingDependency
    from .evaluation import Evaluation, evaluate, open_run
    from .protocol import Spec
    from .ranking import Relevance, rank

    from_arrays = Dataset.from_arrays

_HOMES = {
    "DataError": "errors",
    "Dataset": "datasets",
    "Evaluation": "evaluation",
    "MissingDependency": "errors",
    "Relevance": "ranking",
    "Spec": "protocol",
    "compare": "diagnosis",
    "evaluate": "evaluation",
    "load": "datasets",
    "open_run": "evaluation",
    "rank": "ranking",
}
_MODULES = ("metrics", "plain")

__all__ = [
    "DataError",
    "Dataset",
    "Evaluation",
    "MissingDependency",
    "Relevance",
    "Spec",
    "__version__",
    "compare",
    "evaluate",
    "from_arrays",
    "load",
    "metrics",
    "open_run",
    "plain",
    "rank",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for, so that the command line starts quickly."""
    if name == "from_arrays":
        return __getattr__("Dataset").from_arrays
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
