"""A number is a spec: the choices that determine an evaluation, in four spellings.

The flags of the command line, the URL of a page, the JSON report and the cache key all say the same thing, so any view
can be sent to a colleague, rerun from a shell, and gives the same number.
"""

from __future__ import annotations

import json
import operator
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, Self
from urllib.parse import quote, unquote

from .. import program
from ..errors import DataError, setting
from ..images import DRAWN_CORRUPTIONS, parse_corruption
from ..program import flag

Filter = tuple[tuple[str, tuple[str, ...]], ...]
"""Conditions on the table, ``((column, (value, …)), …)``: the values of one column OR, columns AND."""

FILTERS = ("where", "query", "gallery", "slice")
"""The fields that are filters."""

FILES = ("relevant_pairs", "corrections", "embeddings", "gallery_embeddings", "ids", "scores", "query_images")
"""The fields that name files."""

POLICIES = ("miss", "exclude")
BAD_ROWS = ("stop", "drop")
RANDOM_SPLITS = ("random", "grouped")
DEFAULT_KS = (1, 3, 5, 10)
DEFAULT_SEED = 0
MAX_K = 2**31 - 1
MAX_SEED = 2**63 - 1
"""What arrays, generators and the JSON of a report hold."""


@dataclass(frozen=True)
class Spec:
    """The choices that determine an evaluation; ``None`` means "the default, to be found from the data".

    Parameters
    ----------
    data : str
        Folder, or name of a built-in set.
    columns : tuple of (role, column)
        Where the table's names are not the conventional ones.
    encoding : str
        Of the table; nothing is guessed.
    where : Filter, optional
        Rows taken part at all; the empty filter takes all.
    query, gallery : Filter, optional
        Both sides by value: these are the split.
    split : str, optional
        One of ``splits.SPLITS``.
    both : bool
        Evaluate the other direction too (by-view always has two).
    train : str, optional
        ``random``, ``grouped`` or ``COLUMN=VALUE``: what a fitted encoder sees.
    relevant : str, optional
        Column whose equal values are relevant to each other.
    relevant_pairs : str, optional
        File of judgements: query_id, gallery_id, grade; TREC qrels; ROxford's ground truth.
    protocol : str, optional
        ``easy``, ``medium`` or ``hard``, for ROxford's ground truth.
    corrections : str, optional
        File of judgements (query_id, gallery_id, grade) on top of the rule: above 0 makes a pair right, 0 makes it
        wrong, whichever of the two asks. In a table ids are guarded against spreadsheets; see ``sheets``.
    junk_same : str, optional
        Relevant items with the same value in this column are junk.
    embeddings, gallery_embeddings, ids, scores : str, optional
        Files of vectors, their ids, or a matrix of scores.
    encoder : str, optional
        Name of a built-in encoder, or ``module:function``.
    query_images : str, optional
        File of pictures that replace the query side's.
    corrupt : str, optional
        ``KIND:SEVERITY``: the query side's pictures are made worse, the gallery stays clean; see ``corruption``.
    similarity : str
        ``cosine``, ``dot`` or ``euclidean``.
    rerank : str, optional
        ``k-reciprocal`` or ``query-expansion``: the list is made anew from its neighbours; see ``rerank``.
    no_relevant : str
        ``miss``: a query with nothing relevant counts as missed; ``exclude``: it is left out.
    ks : tuple of int
    seed : int, optional
        Only where something is drawn.
    slice : Filter, optional
        Queries that are counted, chosen after ranking: they ask the same gallery as before.
    bad_rows : str
        ``stop`` or ``drop`` rows whose vectors hold nan or infinity.
    """

    data: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    encoding: str = "utf-8"
    where: Filter | None = None
    query: Filter | None = None
    gallery: Filter | None = None
    split: str | None = None
    both: bool = False
    train: str | None = None
    relevant: str | None = None
    relevant_pairs: str | None = None
    protocol: str | None = None
    corrections: str | None = None
    junk_same: str | None = None
    embeddings: str | None = None
    gallery_embeddings: str | None = None
    ids: str | None = None
    scores: str | None = None
    encoder: str | None = None
    query_images: str | None = None
    corrupt: str | None = None
    similarity: str = "cosine"
    rerank: str | None = None
    no_relevant: str = "miss"
    ks: tuple[int, ...] = DEFAULT_KS
    seed: int | None = None
    slice: Filter | None = None
    bad_rows: str = "stop"

    def __post_init__(self) -> None:
        for name, choices in (("no_relevant", POLICIES), ("bad_rows", BAD_ROWS)):
            if getattr(self, name) not in choices:
                raise DataError(f"{name} is {getattr(self, name)!r}; choose {' or '.join(choices)}", field=name)
        if not isinstance(self.encoder, str | None):
            raise DataError(
                f"the encoder is {self.encoder!r}, which no link and no command can name; put the function "
                f"into a module and give module:function",
                field="encoder",
            )
        for field in fields(self):
            object.__setattr__(self, field.name, _of_its_type(field.name, str(field.type), getattr(self, field.name)))
        for name in FILTERS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _filter(name, getattr(self, name)))
        ks = {_whole("ks", "k", k, 1, MAX_K, "every k is a whole number of at least 1") for k in self.ks}
        if not ks:
            raise DataError("no k is given; name at least one, for example 1 3 5 10", field="ks")
        object.__setattr__(self, "ks", tuple(sorted(ks)))
        if self.seed is not None:
            seed = _whole("seed", "the seed", self.seed, 0, MAX_SEED, "a seed is a whole number of at least 0")
            object.__setattr__(self, "seed", seed)
        if (self.query is None) != (self.gallery is None):
            raise DataError(
                f"{setting('query')} and {setting('gallery')} go together: "
                f"name both sides, or choose {setting('split')}",
                field="gallery" if self.gallery is None else "query",
            )
        if self.query is not None and self.split is not None:
            raise DataError(
                f"{setting('query')} and {setting('gallery')} are the split; "
                f"leave {setting('split')} out, or leave them out",
                field="split",
            )
        if self.relevant is not None and self.relevant_pairs is not None:
            raise DataError(
                f"{setting('relevant')} and {setting('relevant_pairs')} are two rules of relevance; choose one"
            )
        if self.gallery_embeddings is not None and self.embeddings is None:
            raise DataError(f"{setting('gallery_embeddings')} needs {setting('embeddings')} for the query side")
        if self.ids is not None and self.embeddings is None:
            raise DataError(f"{setting('ids')} names the rows of {setting('embeddings')}; bring these too")
        sources = [name for name in ("scores", "embeddings", "encoder") if getattr(self, name) is not None]
        if len(sources) > 1:
            raise DataError(f"{' and '.join(map(setting, sources))} exclude each other; choose one")
        if self.rerank is not None and self.scores is not None:
            raise DataError(f"{setting('rerank')} needs vectors, not given scores; leave one of the two out")
        if self.query_images is not None and (self.scores or self.embeddings):
            raise DataError(
                f"{setting('query_images')} are encoded, so they need an encoder, not given vectors or scores"
            )
        if self.corrupt is not None:
            if self.scores or self.embeddings:
                raise DataError(
                    f"{setting('corrupt')} changes pictures, so it needs an encoder, not given vectors or scores"
                )
            if self.query_images:
                raise DataError(
                    f"{setting('corrupt')} and {setting('query_images')} both replace the pictures that ask; choose one"
                )
            kind, severity = parse_corruption(self.corrupt)
            object.__setattr__(self, "corrupt", f"{kind}:{severity:g}")

    @property
    def draws(self) -> bool:
        """Is anything random, so that a seed is needed?"""
        corrupts = self.corrupt is not None and parse_corruption(self.corrupt)[0] in DRAWN_CORRUPTIONS
        return self.split in RANDOM_SPLITS or self.train in RANDOM_SPLITS or corrupts

    def to_json(self) -> dict[str, Any]:
        """Spell it as the ``spec`` of the JSON report: keys are flag names with underscores."""
        spelled = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in FILTERS:
            if spelled[name] is not None:
                spelled[name] = {column: list(values) for column, values in spelled[name]}
        return spelled | {"columns": dict(self.columns), "ks": list(self.ks)}

    @classmethod
    def from_json(cls, spelled: Mapping[str, Any]) -> Self:
        """Read what ``to_json`` wrote."""
        values = dict(spelled)
        unknown = set(values) - {field.name for field in fields(cls)}
        if unknown:
            raise DataError(f"the spec has unknown fields {', '.join(sorted(unknown))}")
        for name in FILTERS:
            if values.get(name) is not None:
                values[name] = make_filter((column, value) for column, some in values[name].items() for value in some)
        values["columns"] = tuple(dict(values.get("columns", {})).items())
        values["ks"] = tuple(values.get("ks", DEFAULT_KS))
        return cls(**values)

    def to_query(self) -> dict[str, str]:
        """Spell it for a URL: every field that is set, defaults too."""
        spelled = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in FILTERS:
                if value is not None:
                    spelled[field.name] = write_filter(value)
            elif field.name == "columns":
                if value:
                    spelled[field.name] = write_filter(tuple((role, (column,)) for role, column in value))
            elif field.name == "ks":
                spelled[field.name] = ",".join(map(str, value))
            elif value is not None:
                spelled[field.name] = str(int(value)) if isinstance(value, bool) else str(value)
        return spelled

    @classmethod
    def from_query(cls, spelled: Mapping[str, str]) -> Self:
        """Read what ``to_query`` wrote; other keys are not ours and are passed over.

        Raises
        ------
        DataError
            A value is not one of its field's.
        """
        values: dict[str, Any] = {f.name: spelled[f.name] for f in fields(cls) if f.name in spelled}
        for name in FILTERS:
            if name in values:
                values[name] = read_filter(values[name])
        if "columns" in values:
            values["columns"] = tuple((role, some[0]) for role, some in read_filter(values["columns"]))
        for name, read in (("ks", _whole_numbers), ("seed", int), ("both", _flag)):
            if name in values:
                try:
                    values[name] = read(values[name])
                except ValueError as error:
                    raise DataError(f"{name} is {values[name]!r}, which cannot be read", field=name) from error
        return cls(**values)

    def to_command(self) -> str:
        """Spell it as a command line that prints the same numbers."""
        data = f"./{self.data}" if self.data.startswith("-") else self.data
        words = [*program.words(), "evaluate", data]
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if field.name == "columns":
                for role, column in value:
                    words += [flag(field.name), f"{role}={column}"]
            elif field.name in FILTERS:
                if value == ():
                    words += [flag(field.name), ""]
                for column, some in value or ():
                    for one in some:
                        words += option(flag(field.name), write_condition(column, one))
            elif field.name == "ks":
                if value != field.default:
                    words += [flag(field.name), *map(str, value)]
            elif value is True:
                words.append(flag(field.name))
            elif value is not None and value != field.default:
                words += option(flag(field.name), str(value))
        return shlex.join(words)

    def key(self) -> str:
        """Spell it as one canonical string, for caches."""
        return json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False)

    def replace(self, **choices: Any) -> Spec:
        """Return the same spec with other choices."""
        return replace(self, **choices)


def make_filter(pairs: Iterable[tuple[str, str]]) -> Filter:
    """Gather (column, value) pairs: columns in the order of first mention, values without repeats.

    Examples
    --------
    >>> make_filter([("split", "test"), ("class", "a"), ("split", "val")])
    (('split', ('test', 'val')), ('class', ('a',)))
    """
    gathered: dict[str, dict[str, None]] = {}
    for column, value in pairs:
        gathered.setdefault(column, {})[value] = None
    return tuple((column, tuple(values)) for column, values in gathered.items())


def write_filter(conditions: Filter) -> str:
    """Spell a filter as ``COL=V,V;COL=V``, percent-encoded.

    Examples
    --------
    >>> write_filter((("class", ("a,b", "c")), ("split", ("test",))))
    'class=a%2Cb,c;split=test'
    """
    return ";".join(
        f"{quote(column, safe='')}={','.join(quote(value, safe='') for value in values)}"
        for column, values in conditions
    )


def read_filter(spelled: str) -> Filter:
    """Read what ``write_filter`` wrote.

    Raises
    ------
    DataError
        A part has no ``=``.
    """
    pairs = []
    for part in filter(None, spelled.split(";")):
        column, equals, values = part.partition("=")
        if not equals or not column:
            raise DataError(f"the filter {spelled!r} is not of the form COLUMN=VALUE,VALUE;COLUMN=VALUE")
        pairs += [(unquote(column), unquote(value)) for value in values.split(",")]
    return make_filter(pairs)


def write_condition(column: str, value: str) -> str:
    """Spell ``COL=VALUE`` for a command line: ``=`` in the column is ``%3D``, as in a URL; all else stays as it is.

    Examples
    --------
    >>> write_condition("a=b", "c=d"), write_condition("50% off", "x"), write_condition("%3D", "x")
    ('a%3Db=c=d', '50% off=x', '%253D=x')
    """
    return re.sub("%(?=3D|25)", "%25", column).replace("=", "%3D") + "=" + value


def read_condition(spelled: str) -> tuple[str, str]:
    """Read what ``write_condition`` wrote.

    Raises
    ------
    DataError
        There is no ``=``, or no column before it.
    """
    column, equals, value = spelled.partition("=")
    if not equals or not column:
        raise DataError(f"{spelled!r} is not of the form COLUMN=VALUE")
    return re.sub("%3D|%25", lambda found: unquote(found[0]), column), value


def _filter(name: str, given: Any) -> Filter:
    """Conditions as a notebook writes them, ``{"split": "test"}`` or pairs; each column with a value or several."""
    pairs = given.items() if isinstance(given, Mapping) else given
    try:
        flat = [(column, value) for column, some in pairs for value in ([some] if isinstance(some, str) else some)]
        if not all(isinstance(one, str) for pair in flat for one in pair):
            raise TypeError("columns and values are text")
        for pair in flat:
            _check_text(name, "=".join(pair))
        return make_filter(flat)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} is {given!r}; write columns and values, as in {{'split': ['test']}}", field=name
        ) from error


def _of_its_type(name: str, kind: str, value: Any) -> Any:
    """A field as its annotation has it; a path where text is expected is its text."""
    if kind.startswith("str"):
        value = str(value) if isinstance(value, PathLike) else value
        if not (isinstance(value, str) or (value is None and kind == "str | None")):
            raise DataError(f"{name} is {value!r}; it is a text", field=name)
        _check_text(name, value or "")
    elif kind == "bool" and not isinstance(value, bool):
        raise DataError(f"{name} is {value!r}; it is true or false", field=name)
    elif name == "columns" and not all(isinstance(one, str) for pair in value for one in pair):
        raise DataError(f"columns is {value!r}; roles and columns are texts", field=name)
    elif name == "columns":
        _check_text(name, "".join(one for pair in value for one in pair))
    return value


def _check_text(name: str, text: str) -> None:
    """Refuse halves of characters, which a command line makes of bytes in another encoding: no report can say them."""
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise DataError(f"{name} is {text!r}, which is not whole Unicode text; write or rename it in UTF-8", field=name)


def _whole(field: str, name: str, value: Any, least: int, most: int, rule: str) -> int:
    try:
        number = operator.index(value)
    except TypeError as error:
        raise DataError(f"{name} is {value!r}; {rule}", field=field) from error
    if number > most:
        raise DataError(f"{name} is more than {most}; {rule}, and of at most that", field=field)
    if isinstance(value, bool) or number < least:
        raise DataError(f"{name} is {value!r}; {rule}", field=field)
    return number


def option(name: str, value: str) -> list[str]:
    """Spell an option of the command line; a value that looks like a flag itself is tied to its own."""
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _whole_numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _flag(text: str) -> bool:
    if text.lower() not in ("0", "1", "true", "false"):
        raise ValueError(text)
    return text.lower() in ("1", "true")
