"""What the sidebar can offer for a data set, and how the choices become a spec, a link and a command. All pure."""

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pages.shared.words import _, number, plain
from recall_core import protocol, rights
from recall_core.datasets import COLUMN_NAMES, Dataset, whole
from recall_core.errors import DataError
from recall_core.evaluation import SPLIT_WORDS, Evaluation
from recall_core.images import CORRUPTIONS, ENCODERS, FITTED, parse_corruption
from recall_core.protocol import (
    CHOICES,
    DEFAULT_KS,
    FILES,
    POLICIES,
    Filter,
    Spec,
    read_choice,
    read_filter,
    write_filter,
)
from recall_core.ranking import SIMILARITIES

from . import own_data

ALL_ROWS = "*"
"""How the sidebar and the URL spell the empty filter: an empty value would mean "nothing chosen"."""

NONE = "-"
"""How they spell that a choice is not made: no vectors given, nothing left out, the pictures as they are."""

EMPTY = {"where": ALL_ROWS, "junk_same": NONE}
"""Field → how they spell its empty value."""

JUDGED = "(judged)"
"""How they spell that a file of judgements says what is right, not a column."""

UTF8 = "utf-8"
ENCODINGS = (UTF8, "cp1250", "cp1252", "latin-1", "iso-8859-2", "utf-16")
"""Encodings of tables that are offered; any other that Python knows can be typed."""


@dataclass(frozen=True)
class Harder:
    """A question that is harder than the one that was answered perfectly."""

    label: str
    changes: Mapping[str, str]


def offered(dataset: Dataset, folder: Path) -> dict[str, tuple[str, ...]]:
    """Which values can each field of the spec take on this data set? What the engine takes by itself comes first.

    Raises
    ------
    DataError
        No column can say what is right, or there is nothing to compare.
    """
    given = rights.given_vectors(folder)
    needed = None if dataset.pictures is not None or dataset.embeddings else next(iter(given.values()), None)
    default = protocol.resolve(dataset, Spec(embeddings=None if needed is None else str(needed)))
    labels = label_columns(dataset)
    able = [] if dataset.pictures is None else [*ENCODERS, *(FITTED if _has_training_rows(dataset) else ())]
    return {
        "embeddings": _first(
            vectors_name(folder, default.embeddings or NONE), [*dataset.embeddings, *given, *([NONE] if able else [])]
        ),
        "encoder": _first(NONE if default.scores or not able else next(iter(ENCODERS)), able),
        "split": _first(default.split or NONE, [name for name in protocol.SPLITS if _fits(dataset, name)]),
        "relevant": _first(default.relevant or JUDGED, labels),
        "similarity": tuple(SIMILARITIES),
        "no_relevant": POLICIES,
        "junk_same": _first(default.junk_same or NONE, [NONE, *labels]),
        "where": _first(_spell(default.where), [*_parts(dataset), ALL_ROWS]),
        "query_images": _first(NONE, _query_files(folder) if able else []),
        "corrupt": _first(NONE, [f"{kind}:0.5" for kind in CORRUPTIONS] if able else []),
    }


def make_spec(
    data: str,
    chosen: Mapping[str, str],
    offered: Mapping[str, Sequence[str]],
    *,
    columns: tuple[tuple[str, str], ...] = (),
    encoding: str = UTF8,
    ks: tuple[int, ...] = DEFAULT_KS,
    seed: int = 0,
) -> Spec:
    """Make the spec that the sidebar says.

    What stands at its default is left open: the engine fills it, with what this form of data prescribes, and the
    command need not spell it.

    Parameters
    ----------
    data : str
        What the engine loads.
    chosen : mapping
        A value of ``offered`` for each field.

    Raises
    ------
    DataError
        It would run code, or read a file outside the data set's folder.
    """
    changed = {field: value for field, value in chosen.items() if value != offered[field][0]}
    if "query_images" in changed:
        changed["query_images"] = str(Path(data, changed["query_images"]))
    open_choices = {
        choice.name: read_choice(choice, "" if changed[choice.name] == EMPTY.get(choice.name) else changed[choice.name])
        for choice in CHOICES
        if choice.name in changed and choice.name not in ("embeddings", "encoder")
    }
    spec = Spec(data, columns=columns, encoding=encoding, ks=ks, **open_choices)
    if chosen["embeddings"] in rights.given_vectors(data):
        spec = spec.replace(embeddings=vectors_file(Path(data), chosen["embeddings"]))
    elif chosen["embeddings"] != NONE:
        spec = spec.replace(embeddings=changed.get("embeddings"))
    elif "embeddings" in changed or "encoder" in changed:
        spec = spec.replace(encoder=chosen["encoder"])
    given = map(str, rights.given_vectors(data).values())
    rights.check_visitor(spec.to_json(), Path(data), [*offered["embeddings"], *given], files=FILES)
    return spec.replace(seed=seed) if spec.draws else spec


def vectors_file(folder: Path, name: str) -> str:
    """Spell vectors as a spec does: those that the person who started the program gave by their path."""
    return str(rights.given_vectors(folder).get(name, name))


def vectors_name(folder: Path, spelled: str) -> str:
    """Undo ``vectors_file``."""
    return next((name for name, file in rights.given_vectors(folder).items() if str(file) == spelled), spelled)


def asked() -> dict[str, str]:
    """Field of the spec that the sidebar asks for at once, where words are not few → what stands beside it as help."""
    return {
        "embeddings": _("Numbers that came with the data; “-” makes them from the pictures."),
        "encoder": _("What turns a picture into numbers."),
        "split": _("Who asks, and who answers."),
        "relevant": _("A picture is right if it has the same value in this column."),
    }


def asked_further() -> dict[str, str]:
    """The same of the fields that are folded away."""
    return {
        "where": "COLUMN=VALUE,VALUE;COLUMN=VALUE",
        "query_images": _("A file that replaces the pictures of the asking side."),
        "corrupt": _("How the pictures that ask are made worse, as KIND:SEVERITY from 0 to 1."),
        "junk_same": _("Right pictures with the same value here do not count."),
        "no_relevant": _("Such a query counts as missed, or is left out."),
        "similarity": _("How alike two pictures are, from their numbers."),
    }


def read_where(spelled: str) -> Filter:
    """Read a filter as the sidebar spells it.

    Raises
    ------
    DataError
        It is not of the form ``COLUMN=VALUE,VALUE;COLUMN=VALUE``.
    """
    return () if spelled == ALL_ROWS else read_filter(spelled)


TYPED: Mapping[str, Callable[[str], object]] = {"where": read_where, "corrupt": parse_corruption}
"""The fields whose values can be typed, and what reads them."""


def read_columns(spelled: str) -> tuple[tuple[str, str], ...]:
    """Read which column plays which role, as the URL spells it.

    Raises
    ------
    DataError
        It is not of the form ``ROLE=COLUMN;ROLE=COLUMN``, or there is no such role.

    Examples
    --------
    >>> read_columns("group=product;label=kind%20of%20it")
    (('group', 'product'), ('label', 'kind of it'))
    """
    found = tuple((role, values[0]) for role, values in read_filter(spelled))
    unknown = [role for role, _column in found if role not in COLUMN_NAMES]
    if unknown:
        raise DataError(f"there is no role {unknown[0]!r}; the roles are {', '.join(COLUMN_NAMES)}", field="columns")
    return found


def write_columns(columns: Mapping[str, str]) -> str:
    """Spell what ``read_columns`` reads."""
    return write_filter(tuple((role, (column,)) for role, column in columns.items()))


def read_encoding(name: str) -> str:
    """Check that Python knows an encoding.

    Raises
    ------
    DataError
        It does not.
    """
    try:
        codecs.lookup(name)
    except (LookupError, ValueError) as error:
        raise DataError(
            f"encoding {name!r} is not known; use a name such as {', '.join(ENCODINGS[:4])}", field="encoding"
        ) from error
    return name


def read_ks(spelled: str) -> tuple[int, ...]:
    """Read a list of k; anything but whole numbers from 1 to 1000 gives the default list.

    Examples
    --------
    >>> read_ks("5, 1"), read_ks("zero"), read_ks("0")
    ((1, 5), (1, 3, 5, 10), (1, 3, 5, 10))
    """
    ks = {whole(part, 1000) or 0 for part in spelled.replace(",", " ").split()}
    return tuple(sorted(ks)) if ks and 0 not in ks else DEFAULT_KS


def to_query(name: str, chosen: Mapping[str, str], **more: str) -> dict[str, str]:
    """Spell the choices for a link: every field as the sidebar spells it, defaults too."""
    return {"data": name} | dict(chosen) | more


def to_command(spec: Spec) -> str:
    """Spell the spec as a command, with its files as ``shown_path`` spells them."""
    named = {field: getattr(spec, field) for field in ("query_images", "embeddings")}
    files = {field: path and shown_path(Path(path)) for field, path in named.items()}
    return spec.replace(data=spec.data and shown_path(Path(spec.data)), **files).to_command()


def shown_path(path: Path) -> str:
    """Spell a path for a command that is run in the folder in which the app was started."""
    uploaded = own_data.shown(path)  # the visitor's machine has it under its own name, not in our folder
    if uploaded is not None:
        return uploaded
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def harder(dataset: Dataset, folder: Path, spec: Spec) -> list[Harder]:
    """Which harder questions does this data set offer, where a resolved spec found everything?"""
    options = offered(dataset, folder)
    label = dataset.columns.get("label")
    found = []
    if spec.query_images is None and len(options["query_images"]) > 1:
        found.append(Harder(_("Disturb the pictures that ask"), {"query_images": options["query_images"][1]}))
    if label and spec.relevant not in (label, None) and spec.relevant in options["junk_same"]:
        told = _("Ask for the same {column}, not the same {group}")
        told = told.format(column=plain(label), group=plain(spec.relevant))
        found.append(Harder(told, {"relevant": label, "junk_same": spec.relevant}))
    if "mean" in options["encoder"] and spec.encoder != "mean":
        found.append(Harder(_("See only how bright a picture is"), {"encoder": "mean"}))
    return found


def split_words(name: str | None) -> str:
    """Say in words who asks and who answers."""
    return _("chosen by hand") if name is None else _(SPLIT_WORDS[name])


def counts_line(name: str, evaluation: Evaluation) -> str:
    """Say in one line: data set, split, how many ask and how many answer."""
    asking = _("{n} queries, {m} pictures in the gallery").format(
        n=number(evaluation.counts["n_query"] or 0),
        m=" / ".join(dict.fromkeys(number(d.counts["n_gallery"] or 0) for d in evaluation.directions)),
    )
    return " · ".join([name, split_words(evaluation.spec.split), asking])


def _first(default: str, others: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([default, *others]))


def _fits(dataset: Dataset, split: str) -> bool:
    needs = {"by-role": {"side"}, "by-view": {"group", "view"}, "grouped": {"group"}}
    return needs.get(split, set()) <= set(dataset.columns)


def _has_training_rows(dataset: Dataset) -> bool:
    cells = dataset.role("split")
    return cells is not None and "train" in cells


def label_columns(dataset: Dataset) -> list[str]:
    """Columns in which at least two rows agree; ids and file names never do."""
    return [str(name) for name in dataset.table if dataset.table[name].duplicated().any()]


def _parts(dataset: Dataset) -> list[str]:
    """One filter for each value of the split column."""
    column = dataset.columns.get("split")
    return [] if column is None else [_spell(((column, (value,)),)) for value in sorted(set(dataset.table[column]))]


def _query_files(folder: Path) -> list[str]:
    """Arrays in the data set's folder that can stand for the query side's pictures."""
    arrays = [file for file in folder.glob("*.npy") if file.name != "images.npy"] if folder.is_dir() else []
    return sorted(file.name for file in arrays if rights.is_inside(file, folder))


def _spell(where: Filter | None) -> str:
    return write_filter(where or ()) or ALL_ROWS
