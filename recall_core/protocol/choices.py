"""How a choice is checked, and how each kind of value is spelled: in a link, in JSON and on a command line."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from os import PathLike
from typing import Any
from urllib.parse import quote, unquote

from ..errors import DataError, about, setting
from ..images import parse_corruption

Filter = tuple[tuple[str, tuple[str, ...]], ...]
"""Conditions on the table, ``((column, (value, …)), …)``: the values of one column OR, columns AND."""

MAX_K = 2**31 - 1
MAX_SEED = 2**63 - 1
"""What arrays, generators and the JSON of a report hold."""


def option(flag: str, value: Any) -> list[str]:
    """Spell an option of the command line; a value that looks like a flag itself is tied to its own."""
    return [f"{flag}={value}"] if str(value).startswith("-") else [flag, str(value)]


def _itself(value: Any) -> Any:
    return value


@dataclass(frozen=True, eq=False)
class Kind:
    """What values of one kind have in common; ``None`` is checked and never spelled.

    Parameters
    ----------
    check : callable
        Called with the choice and a value as a notebook or JSON has it; returns the value as a spec keeps it.
    to_json : callable
    write, read : callable
        For a link; what is written as None is left out of it.
    to_words : callable
        Called with the flag and the value; returns words of a command line.
    parse : callable
        Reads what the command line's parser found.
    argument : mapping
        What the command line's parser needs to know, beside the choice's own row.
    """

    check: Callable[[Choice, Any], Any]
    to_json: Callable[[Any], Any] = _itself
    write: Callable[[Any], str | None] = str
    read: Callable[[str], Any] = _itself
    to_words: Callable[[str, Any], list[str]] = option
    parse: Callable[[Any], Any] = _itself
    argument: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """One row of the table: everything that is known of a choice but its type, which stands beside the row.

    Parameters
    ----------
    name : str
    default : object
    kind : Kind
        How it is checked, read and written.
    help : str
        Its sentence on the command line and in the documents.
    metavar : str
        What stands for the value there; empty where the parser finds a word.
    flag : str
        Empty for the one that stands without a flag.
    among : tuple of str
        The values that there are, where they are a few names.
    says : (part, template)
        Its sentence in a report, and the part of the description that it belongs to; templates name fields.
    """

    name: str
    default: Any
    kind: Kind
    help: str
    metavar: str
    flag: str
    among: tuple[str, ...]
    says: tuple[str, str]


def row(
    kind: Kind,
    help: str,
    metavar: str = "",
    *,
    among: Iterable[str] = (),
    says: tuple[str, str] = ("", ""),
) -> dict[str, Any]:
    """What a row says beside name, type and default."""
    return {"kind": kind, "help": help, "metavar": metavar, "among": tuple(among), "says": says}


def write_json(choice: Choice, value: Any) -> Any:
    """Spell a value for JSON."""
    return None if value is None else choice.kind.to_json(value)


def write_choice(choice: Choice, value: Any) -> str | None:
    """Spell a value for a link; None where it is left out."""
    return None if value is None else choice.kind.write(value)


def read_choice(choice: Choice, spelled: str) -> Any:
    """Read what ``write_choice`` wrote.

    Raises
    ------
    DataError
        It cannot be read.
    """
    try:
        with about(choice.name):
            return choice.kind.read(spelled)
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{choice.name} is {spelled!r}, which cannot be read", field=choice.name) from error


def check_names(given: Iterable[str], choices: Iterable[str]) -> None:
    """Refuse names of choices that there are not.

    Raises
    ------
    DataError
        It names the one that was probably meant, or all.
    """
    known = list(choices)
    for name in given:
        if name not in known:
            near = get_close_matches(str(name), known, n=1)
            rest = f"did you mean {near[0]!r}?" if near else f"the choices are {', '.join(known)}"
            raise DataError(f"there is no choice {str(name)!r}; {rest}")


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


def _check_unicode(name: str, text: str) -> None:
    """Refuse halves of characters, which a command line makes of bytes in another encoding: no report can say them."""
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        raise DataError(f"{name} is {text!r}, which is not whole Unicode text; write or rename it in UTF-8", field=name)


def _text(choice: Choice, value: Any) -> str:
    """A text; a path where text is expected is its text."""
    value = str(value) if isinstance(value, PathLike) else value
    if not isinstance(value, str):
        raise DataError(f"{choice.name} is {value!r}; it is a text", field=choice.name)
    _check_unicode(choice.name, value)
    return value


def _text_or_none(choice: Choice, value: Any) -> str | None:
    return None if value is None else _text(choice, value)


def _one_of(choice: Choice, value: Any) -> str:
    if value not in choice.among:
        raise DataError(f"{choice.name} is {value!r}; choose {' or '.join(choice.among)}", field=choice.name)
    return str(value)


def _encoder(choice: Choice, value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise DataError(
            f"the encoder is {value!r}, which no link and no command can name; put the function "
            f"into a module and give module:function",
            field=choice.name,
        )
    return _text_or_none(choice, value)


def _corruption(choice: Choice, value: Any) -> str | None:
    spelled = _text_or_none(choice, value)
    if spelled is None:
        return None
    kind, severity = parse_corruption(spelled)
    return f"{kind}:{severity:g}"


def _yes_or_no(choice: Choice, value: Any) -> bool:
    if not isinstance(value, bool):
        raise DataError(f"{choice.name} is {value!r}; it is true or false", field=choice.name)
    return value


def _read_yes_or_no(text: str) -> bool:
    if text.lower() not in ("0", "1", "true", "false"):
        raise ValueError(text)
    return text.lower() in ("1", "true")


def _filter(choice: Choice, given: Any) -> Filter | None:
    """Conditions as a notebook writes them, ``{"split": "test"}`` or pairs; each column with a value or several."""
    if given is None:
        return None
    pairs = given.items() if isinstance(given, Mapping) else given
    try:
        flat = [(column, value) for column, some in pairs for value in ([some] if isinstance(some, str) else some)]
        if not all(isinstance(one, str) for pair in flat for one in pair):
            raise TypeError("columns and values are text")
        for pair in flat:
            _check_unicode(choice.name, "=".join(pair))
        return make_filter(flat)
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{choice.name} is {given!r}; write columns and values, as in {{'split': ['test']}}", field=choice.name
        ) from error


def _filter_to_words(flag: str, conditions: Filter) -> list[str]:
    if not conditions:
        return [flag, ""]
    return [
        word for column, some in conditions for value in some for word in option(flag, write_condition(column, value))
    ]


def _parse_filter(given: list[str] | None) -> Filter | None:
    """Repeated COL=VALUE options as a filter; one empty option takes every row."""
    return None if given is None else make_filter(read_condition(one) for one in given if one)


def _columns(choice: Choice, given: Any) -> tuple[tuple[str, str], ...]:
    """Roles and their columns, as pairs or as a mapping."""
    try:
        pairs = [(role, column) for role, column in (given.items() if isinstance(given, Mapping) else given)]
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{choice.name} is {given!r}; write roles and columns, as in {{'group': 'scene'}}", field=choice.name
        ) from error
    if not all(isinstance(one, str) for pair in pairs for one in pair):
        raise DataError(f"{choice.name} is {given!r}; roles and columns are texts", field=choice.name)
    _check_unicode(choice.name, "".join(one for pair in pairs for one in pair))
    return tuple(pairs)


def _parse_columns(given: Iterable[str] | None) -> tuple[tuple[str, str], ...]:
    """Repeated ROLE=COLUMN options."""
    pairs = [one.partition("=") for one in given or ()]
    for role, equals, column in pairs:
        if not equals or not role:
            raise DataError(f"{role + equals + column!r} is not of the form {setting('columns', 'ROLE=COLUMN')}")
    return tuple((role, column) for role, _, column in pairs)


def _ks(choice: Choice, given: Any) -> tuple[int, ...]:
    if not isinstance(given, Iterable):
        raise DataError(f"{choice.name} is {given!r}; give whole numbers, as in (1, 5)", field=choice.name)
    ks = {_whole(choice.name, "k", k, 1, MAX_K, "every k is a whole number of at least 1") for k in given}
    if not ks:
        raise DataError("no k is given; name at least one, for example 1 3 5 10", field=choice.name)
    return tuple(sorted(ks))


def _seed(_choice: Choice, value: Any) -> int | None:
    return (
        None
        if value is None
        else _whole("seed", "the seed", value, 0, MAX_SEED, "a seed is a whole number of at least 0")
    )


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


TEXT = Kind(_text)
TEXT_OR_NONE = Kind(_text_or_none)
FILE = Kind(_text_or_none)
ONE_OF = Kind(_one_of)
ENCODER = Kind(_encoder)
CORRUPTION = Kind(_corruption)
YES_OR_NO = Kind(
    _yes_or_no,
    write=lambda value: str(int(value)),
    read=_read_yes_or_no,
    to_words=lambda flag, _value: [flag],
    argument={"action": "store_true"},
)
FILTER = Kind(
    _filter,
    to_json=lambda conditions: {column: list(values) for column, values in conditions},
    write=write_filter,
    read=read_filter,
    to_words=_filter_to_words,
    parse=_parse_filter,
    argument={"action": "append"},
)
COLUMNS = Kind(
    _columns,
    to_json=dict,
    write=lambda columns: write_filter(tuple((role, (column,)) for role, column in columns)) or None,
    read=lambda text: tuple((role, values[0]) for role, values in read_filter(text)),
    to_words=lambda flag, columns: [word for role, column in columns for word in (flag, f"{role}={column}")],
    parse=_parse_columns,
    argument={"action": "append"},
)
KS = Kind(
    _ks,
    to_json=list,
    write=lambda ks: ",".join(map(str, ks)),
    read=lambda text: tuple(int(part) for part in text.split(",")),
    to_words=lambda flag, ks: [flag, *map(str, ks)],
    argument={"type": int, "nargs": "+"},
)
SEED = Kind(_seed, read=int, argument={"type": int})
