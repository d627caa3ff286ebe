"""Who may choose what: what data may prescribe, what a visitor of a page may name, and what the starter alone may.

Code that runs, and files outside a data set's folder, come from the person who started the program: from its arguments
(the command line, a call in a notebook) and its environment. Data that somebody else made, and addresses that somebody
else typed, name neither; whatever they name is checked here and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from .errors import DataError

DATA_ROOT, EMBEDDINGS = "RECALL_DATA_ROOT", "RECALL_EMBEDDINGS"
CODE_BOX, TYPED_PATHS = "RECALL_CODE_BOX", "RECALL_TYPED_PATHS"
"""What the starter says in the environment: where the data sets lie (or the one that there is), and files of further
vectors for that one; that learners' code may run, that no path may be typed."""

LOCAL = frozenset(("localhost", "127.0.0.1", "::1"))
"""How this machine calls itself."""

PRESCRIBED = ("relevant", "relevant_pairs", "junk_same", "protocol", "scores")
"""Fields of a spec that data may prescribe where the user leaves the choice open. A form that needs another adds it."""

PRESCRIBED_FILES = ("relevant_pairs", "scores")
"""Those that name files: always files of the data set."""


def data_root(usual: Path) -> Path:
    """Where do the data sets lie that a page offers? As the starter says in ``RECALL_DATA_ROOT``, else the usual."""
    return Path(os.environ.get(DATA_ROOT) or usual).expanduser().resolve()


def code_runs() -> bool:
    """May code that a visitor typed run here? Only where the starter set ``RECALL_CODE_BOX`` to 1."""
    return os.environ.get(CODE_BOX) == "1"


def may_type_paths(address: str, headers: Mapping[str, str]) -> bool:
    """May a visitor open any folder of this machine by typing its path? Only the person who sits at it.

    Parameters
    ----------
    address : str
        Where the server listens: on this machine alone, or nobody may.
    headers : mapping
        Of the visitor's connection. A proxy on this machine lets others in; then the browser's own account of where it
        went (``Origin``) is another name, and most proxies say themselves that they are one.
    """
    if os.environ.get(TYPED_PATHS) == "0" or address not in LOCAL:
        return False
    names = {name.lower() for name in headers}
    if any(name == "forwarded" or name.startswith("x-forwarded") for name in names):
        return False
    try:
        return urlsplit(headers.get("Origin", "")).hostname in LOCAL
    except ValueError:
        return False


def given_vectors(data: str | Path) -> dict[str, Path]:
    """Which further vectors did the person who started the program give for this data set: name → file?

    They are those of ``RECALL_EMBEDDINGS``, for the data set that ``RECALL_DATA_ROOT`` itself is.
    """
    files = [Path(name) for name in os.environ.get(EMBEDDINGS, "").split(os.pathsep) if name]
    root = os.environ.get(DATA_ROOT)
    if not files or not root or not Path(data).exists() or not Path(data).samefile(Path(root).expanduser()):
        return {}
    return vector_names(files)


def vector_names(files: Sequence[Path]) -> dict[str, Path]:
    """Name each file of vectors by its file name, or by its path where two share one."""
    names = [file.name for file in files]
    return {name if names.count(name) == 1 else str(file): file for name, file in zip(names, files, strict=True)}


def is_inside(path: Path, folder: Path) -> bool:
    """Does the path lie in the folder, once every link is followed?"""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return False


def below(folder: Path, path: Path) -> Path:
    """Give back a file or folder of a data set.

    Raises
    ------
    DataError
        It is, or lies behind, a link that leads out of the folder.
    """
    if is_inside(path, folder):
        return path
    try:
        name = path.relative_to(folder).as_posix()
    except ValueError:
        name = path.name
    raise DataError(f"{folder.name}: {name!r} is a link that leads out of the folder; put the file itself there")


def check_prescribed(defaults: Mapping[str, object], name: str) -> None:
    """Refuse what data cannot prescribe.

    Raises
    ------
    DataError
        A field is none of ``PRESCRIBED`` or not text, or there are two rules of relevance.
    """
    unknown = [repr(field[:40]) for field in defaults if field not in PRESCRIBED]
    if unknown:
        raise DataError(
            f"{name}: the data prescribe {', '.join(unknown[:5])}, which is the user's choice alone; leave it out "
            f"(data may prescribe {', '.join(PRESCRIBED)})"
        )
    for field, value in defaults.items():
        if not isinstance(value, str):
            raise DataError(f"{name}: the data prescribe {field} as {str(value)[:40]!r}; it is a text")
    if {"relevant", "relevant_pairs"} <= set(defaults):
        raise DataError(f"{name}: the data prescribe relevant and relevant_pairs, two rules of relevance; keep one")


def check_visitor(
    choices: Mapping[str, object], folder: Path, vectors: Collection[str], *, files: Collection[str]
) -> None:
    """Refuse what a visitor of a page cannot choose: code, and files outside the data set.

    Parameters
    ----------
    choices : mapping
        A spec, spelled as ``Spec.to_json`` does.
    folder : Path
        Of the data set.
    vectors : collection of str
        Names of the vectors that came with the data set.
    files : collection of str
        The choices that name files.

    Raises
    ------
    DataError
        The encoder is code, or a file lies elsewhere.
    """
    encoder = choices.get("encoder")
    if encoder is not None and ":" in str(encoder):
        raise DataError(f"the encoder {encoder!r} is code, which runs from the command line alone; choose another")
    for field in files:
        named = choices.get(field)
        if named is None or (field == "embeddings" and named in vectors):
            continue
        if not is_inside(Path(str(named)), folder):
            raise DataError(f"{field} names a file outside the data set's folder, which the command line alone may do")
