"""What the sidebar can offer for a data set, and how the choices become a spec, a link and a command. All pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from recall_core import protocol, report, splits
from recall_core.dataset import Dataset
from recall_core.encoders import ENCODERS, FITTED
from recall_core.evaluation import Evaluation
from recall_core.similarity import SIMILARITIES
from recall_core.spec import DEFAULT_KS, POLICIES, Filter, Spec, read_filter, write_filter

from .words import _, number

ALL_ROWS = "*"
"""How the sidebar and the URL spell the empty filter: an empty value would mean "nothing chosen"."""

CLEAN = "-"
"""How they spell that the query side's pictures are not replaced."""

NO_JUNK = "-"
"""How they spell that no column makes relevant pictures junk."""


@dataclass(frozen=True)
class Harder:
    """A question that is harder than the one that was answered perfectly."""

    label: str
    changes: Mapping[str, str]


def offered(dataset: Dataset, folder: Path) -> dict[str, tuple[str, ...]]:
    """Which values can each field of the spec take on this data set? The default comes first.

    Raises
    ------
    DataError
        No column can say what is right.
    """
    default = protocol.resolve(dataset, Spec(), fitted=False)
    labels = _label_columns(dataset)
    return {
        "encoder": (*ENCODERS, *(FITTED if _has_training_rows(dataset) else ())),
        "split": _first(default.split, [name for name in splits.SPLITS if _fits(dataset, name)]),
        "relevant": _first(default.relevant, labels),
        "similarity": tuple(SIMILARITIES),
        "no_relevant": POLICIES,
        "junk_same": (NO_JUNK, *labels),
        "where": _first(_spell(default.where), [*_parts(dataset), ALL_ROWS]),
        "query_images": (CLEAN, *_query_files(folder)),
    }


def make_spec(data: str, chosen: Mapping[str, str], *, ks: tuple[int, ...] = DEFAULT_KS, seed: int = 0) -> Spec:
    """Make the spec that the sidebar says; the seed is left out where nothing is drawn.

    Parameters
    ----------
    data : str
        What the engine loads.
    chosen : mapping
        A value of ``offered`` for each field.
    """
    file, junk = chosen["query_images"], chosen["junk_same"]
    spec = Spec(
        data,
        ks=ks,
        encoder=chosen["encoder"],
        split=chosen["split"],
        relevant=chosen["relevant"],
        similarity=chosen["similarity"],
        no_relevant=chosen["no_relevant"],
        where=read_where(chosen["where"]),
        query_images=None if file == CLEAN else str(Path(data, file)),
        junk_same=None if junk == NO_JUNK else junk,
    )
    return spec.replace(seed=seed) if spec.draws else spec


def defaults(dataset: Dataset, folder: Path, data: str) -> Spec:
    """Make the spec of a data set that nobody has changed yet."""
    spec = make_spec(data, {name: options[0] for name, options in offered(dataset, folder).items()})
    return spec.replace(where=None)


def read_where(spelled: str) -> Filter:
    """Read a filter as the sidebar spells it.

    Raises
    ------
    DataError
        It is not of the form ``COLUMN=VALUE,VALUE;COLUMN=VALUE``.
    """
    return () if spelled == ALL_ROWS else read_filter(spelled)


def read_ks(spelled: str) -> tuple[int, ...]:
    """Read a list of k; anything but whole numbers from 1 to 1000 gives the default list.

    Examples
    --------
    >>> read_ks("5, 1"), read_ks("zero"), read_ks("0")
    ((1, 5), (1, 3, 5, 10), (1, 3, 5, 10))
    """
    parts = spelled.replace(",", " ").split()
    if not parts or not all(part.isascii() and part.isdigit() and 1 <= int(part) <= 1000 for part in parts):
        return DEFAULT_KS
    return tuple(sorted({int(part) for part in parts}))


def to_query(name: str, chosen: Mapping[str, str], **more: str) -> dict[str, str]:
    """Spell the choices for a link: every field as the sidebar spells it, defaults too."""
    return {"data": name} | dict(chosen) | more


def to_command(spec: Spec, root: Path) -> str:
    """Spell the spec as a command; what lies under the folder of the app is named from there."""

    def shown(path: str | None) -> str | None:
        return str(Path(path).relative_to(root)) if path and Path(path).is_relative_to(root) else path

    return spec.replace(data=shown(spec.data) or "", query_images=shown(spec.query_images)).to_command()


def harder(dataset: Dataset, folder: Path, spec: Spec) -> list[Harder]:
    """Which harder questions does this data set offer, where everything was found?"""
    options = offered(dataset, folder)
    label = dataset.columns.get("label")
    found = []
    if spec.query_images is None and len(options["query_images"]) > 1:
        found.append(Harder(_("Disturb the pictures that ask"), {"query_images": options["query_images"][1]}))
    if label and spec.relevant != label and spec.relevant in options["junk_same"]:
        own = {"relevant": label, "junk_same": spec.relevant}
        found.append(Harder(_("Ask for the same {column}, not the same {group}").format(column=label, group=spec.relevant), own))  # fmt: skip  # noqa: E501
    if spec.encoder != "mean":
        found.append(Harder(_("See only how bright a picture is"), {"encoder": "mean"}))
    return found


def split_words(name: str | None) -> str:
    """Say in words who asks and who answers."""
    return _("chosen by hand") if name is None else _(report.SPLIT_WORDS[name])


def counts_line(name: str, evaluation: Evaluation) -> str:
    """Say in one line: data set, split, how many ask and how many answer."""
    asking = _("{n} queries, {m} pictures in the gallery").format(
        n=number(evaluation.counts["n_query"] or 0),
        m=" / ".join(dict.fromkeys(number(d.counts["n_gallery"] or 0) for d in evaluation.directions)),
    )
    return " · ".join([name, split_words(evaluation.spec.split), asking])


def _first(default: str | None, others: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*([default] if default is not None else []), *others]))


def _fits(dataset: Dataset, split: str) -> bool:
    needs = {"by-role": {"side"}, "by-view": {"group", "view"}, "grouped": {"group"}}
    return needs.get(split, set()) <= set(dataset.columns)


def _has_training_rows(dataset: Dataset) -> bool:
    cells = dataset.role("split")
    return cells is not None and "train" in cells


def _label_columns(dataset: Dataset) -> list[str]:
    """Columns in which at least two rows agree; ids and file names never do."""
    return [str(name) for name in dataset.table if dataset.table[name].duplicated().any()]


def _parts(dataset: Dataset) -> list[str]:
    """One filter for each value of the split column."""
    column = dataset.columns.get("split")
    return [] if column is None else [_spell(((column, (value,)),)) for value in sorted(set(dataset.table[column]))]


def _query_files(folder: Path) -> list[str]:
    """Arrays in the data set's folder that can stand for the query side's pictures."""
    return sorted(file.name for file in folder.glob("*.npy") if file.name != "images.npy") if folder.is_dir() else []


def _spell(where: Filter | None) -> str:
    return write_filter(where or ()) or ALL_ROWS
