"""A number is a spec: the choices that determine an evaluation, in four spellings.

The flags of the command line, the URL of a page, the JSON report and the cache key all say the same thing, so any view
can be sent to a colleague, rerun from a shell, and gives the same number. ``Spec`` is the table: one row a choice, and
everything that speaks of choices loops over its rows.
"""

from __future__ import annotations

import functools
import inspect
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeVar

from .. import program
from ..datasets import COLUMN_NAMES, PROTOCOLS
from ..errors import DataError, about, keyword, setting, spelled
from ..images import CORRUPTIONS, DRAWN_CORRUPTIONS, ENCODERS, FITTED, parse_corruption
from ..ranking import RERANKERS, SIMILARITIES
from .choices import (
    COLUMNS,
    CORRUPTION,
    ENCODER,
    FILE,
    FILTER,
    KS,
    ONE_OF,
    SEED,
    TEXT,
    TEXT_OR_NONE,
    YES_OR_NO,
    Choice,
    Filter,
    check_names,
    read_choice,
    row,
    write_choice,
    write_json,
)
from .splits import SPLITS

POLICIES = ("miss", "exclude")
BAD_ROWS = ("stop", "drop")
RANDOM_SPLITS = ("random", "grouped")
DEFAULT_KS = (1, 3, 5, 10)
DEFAULT_SEED = 0

Made = TypeVar("Made")


def naming_the_near(cls: type[Made]) -> type[Made]:
    """Let a class say which choice was probably meant, where a keyword is none."""
    init = cls.__init__
    names = tuple(inspect.signature(init).parameters)[1:]

    @functools.wraps(init)
    def checked(self: Made, *values: Any, **choices: Any) -> None:
        check_names(choices, names)
        init(self, *values, **choices)

    setattr(cls, "__init__", checked)  # noqa: B010  # a type checker takes a plain assignment for a mistake
    return cls


@naming_the_near
@dataclass(frozen=True)
class Spec:
    """The choices that determine an evaluation; ``None`` means "the default, to be found from the data"."""

    data: str = field(
        default="",
        metadata=row(TEXT, "a folder, or a built-in data set: digits, photo_patches", "DATA"),
    )
    columns: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=row(COLUMNS, f"which column is which: {', '.join(COLUMN_NAMES)}", "ROLE=COLUMN"),
    )
    encoding: str = field(default="utf-8", metadata=row(TEXT, "of the table; utf-8 unless you name another"))
    where: Filter | None = field(
        default=None,
        metadata=row(FILTER, "rows that take part; in COL, %3D is = (default: split=test if there)", "COL=VALUE"),
    )
    """Empty: all rows."""
    split: str | None = field(
        default=None,
        metadata=row(
            TEXT_OR_NONE, "who asks and who answers (default: by-role, by-view or leave-one-out)", among=SPLITS
        ),
    )
    query: Filter | None = field(
        default=None,
        metadata=row(FILTER, f"rows that ask; with {setting('gallery')}, instead of {setting('split')}", "COL=VALUE"),
    )
    gallery: Filter | None = field(default=None, metadata=row(FILTER, "rows that answer", "COL=VALUE"))
    both: bool = field(default=False, metadata=row(YES_OR_NO, "evaluate the other direction too"))
    """By-view always has two."""
    train: str | None = field(
        default=None,
        metadata=row(
            TEXT_OR_NONE,
            "what a fitted encoder sees (default: split=train)",
            "random|grouped|COL=VALUE",
            says=("end", "Trained on {train}."),
        ),
    )
    relevant: str | None = field(
        default=None,
        metadata=row(
            TEXT_OR_NONE,
            "equal values are relevant to each other (default: group, else label)",
            "COLUMN",
            says=("right", "same {relevant} is right"),
        ),
    )
    relevant_pairs: str | None = field(
        default=None,
        metadata=row(
            FILE,
            "judgements instead: a table, TREC qrels, ROxford's .json",
            "FILE",
            says=("right", "{relevant_pairs} says what is right"),
        ),
    )
    """A table has the columns query_id, gallery_id, grade."""
    protocol: str | None = field(
        default=None,
        metadata=row(
            TEXT_OR_NONE,
            f"of ROxford's ground truth: {', '.join(PROTOCOLS)} (default: medium)",
            "NAME",
            says=("right", "(protocol {protocol})"),
        ),
    )
    corrections: str | None = field(
        default=None,
        metadata=row(
            FILE,
            "judged pairs on top of the rule: above 0 is right, 0 wrong",
            "FILE",
            says=("right", "(but for the pairs in {corrections})"),
        ),
    )
    """Whichever of the two asks. In a table ids are guarded against spreadsheets."""
    junk_same: str | None = field(
        default=None,
        metadata=row(
            TEXT_OR_NONE,
            "relevant items with the same value here are left out",
            "COLUMN",
            says=("right", "(same {junk_same} as well: left out)"),
        ),
    )
    embeddings: str | None = field(
        default=None,
        metadata=row(
            FILE,
            "vectors (.npy, .npz, .parquet, .feather, .csv), by id or by row",
            "FILE",
            says=("vectors", "{similarity} similarity of vectors from {embeddings}"),
        ),
    )
    gallery_embeddings: str | None = field(
        default=None, metadata=row(FILE, "the gallery's vectors, where the sides are stored apart", "FILE")
    )
    ids: str | None = field(default=None, metadata=row(FILE, "the ids of the vectors' rows, one a line", "FILE"))
    scores: str | None = field(
        default=None,
        metadata=row(
            FILE,
            "scores as .npy, .npz or .csv, or a TREC run; nan means not retrieved",
            "FILE",
            says=("vectors", "scores from {scores}"),
        ),
    )
    encoder: str | None = field(
        default=None,
        metadata=row(
            ENCODER,
            f"{', '.join([*ENCODERS, *FITTED])}, or module:function (default: raw)",
            "NAME",
            says=("vectors", "{similarity} similarity of the encoder {encoder}"),
        ),
    )
    query_images: str | None = field(
        default=None,
        metadata=row(
            FILE,
            "pictures that replace the query side's, as .npy",
            "FILE",
            says=("vectors", "query pictures replaced by {query_images}"),
        ),
    )
    corrupt: str | None = field(
        default=None,
        metadata=row(
            CORRUPTION,
            f"make the query side's pictures worse: {', '.join(CORRUPTIONS)}, 0 to 1",
            "KIND:SEVERITY",
            says=("vectors", "query pictures made worse by {corrupt}"),
        ),
    )
    """The gallery stays clean."""
    similarity: str = field(
        default="cosine", metadata=row(TEXT, "of two vectors (default: cosine)", among=SIMILARITIES)
    )
    rerank: str | None = field(
        default=None,
        metadata=row(
            TEXT_OR_NONE,
            "make each list anew from its neighbours (default: no)",
            among=RERANKERS,
            says=("vectors", "re-ranked by {rerank}"),
        ),
    )
    no_relevant: str = field(
        default="miss", metadata=row(ONE_OF, "a query with nothing relevant (default: miss)", among=POLICIES)
    )
    """``miss``: it counts as missed; ``exclude``: it is left out."""
    ks: tuple[int, ...] = field(default=DEFAULT_KS, metadata=row(KS, "cuts (default: 1 3 5 10)", "K"))
    seed: int | None = field(
        default=None,
        metadata=row(SEED, "of a random split or draw (default: 0)", "N", says=("end", "Drawn with seed {seed}.")),
    )
    """Only where something is drawn."""
    slice: Filter | None = field(
        default=None,
        metadata=row(
            FILTER,
            "queries that count, chosen after ranking; LOW..HIGH",
            "COL=VALUE",
            says=("counted", "only queries with {slice} count"),
        ),
    )
    """They ask the same gallery as before."""
    bad_rows: str = field(
        default="stop", metadata=row(ONE_OF, "rows with nan or infinity (default: stop)", among=BAD_ROWS)
    )

    def __post_init__(self) -> None:
        for choice in CHOICES:
            with about(choice.name):
                object.__setattr__(self, choice.name, choice.kind.check(choice, getattr(self, choice.name)))
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

    @property
    def draws(self) -> bool:
        """Is anything random, so that a seed is needed?"""
        corrupts = self.corrupt is not None and parse_corruption(self.corrupt)[0] in DRAWN_CORRUPTIONS
        return self.split in RANDOM_SPLITS or self.train in RANDOM_SPLITS or corrupts

    def to_json(self) -> dict[str, Any]:
        """Spell it as the ``spec`` of the JSON report: keys are flag names with underscores."""
        return {choice.name: write_json(choice, getattr(self, choice.name)) for choice in CHOICES}

    @classmethod
    def from_json(cls, spelled: Mapping[str, Any]) -> Self:
        """Read what ``to_json`` wrote."""
        return cls(**spelled)

    def to_query(self) -> dict[str, str]:
        """Spell it for a URL: every field that is set, defaults too."""
        spelled = {choice.name: write_choice(choice, getattr(self, choice.name)) for choice in CHOICES}
        return {name: text for name, text in spelled.items() if text is not None}

    @classmethod
    def from_query(cls, spelled: Mapping[str, str]) -> Self:
        """Read what ``to_query`` wrote; other keys are not ours and are passed over.

        Raises
        ------
        DataError
            A value is not one of its field's.
        """
        return cls(
            **{choice.name: read_choice(choice, spelled[choice.name]) for choice in CHOICES if choice.name in spelled}
        )

    def to_command(self) -> str:
        """Spell it as a command line that prints the same numbers."""
        data = f"./{self.data}" if self.data.startswith("-") else self.data
        words = [*program.words(), "evaluate", data]
        for choice in CHOICES[1:]:
            value = getattr(self, choice.name)
            if value != choice.default:
                words += choice.kind.to_words(choice.flag, value)
        return shlex.join(words)

    def key(self) -> str:
        """Spell it as one canonical string, for caches."""
        return json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False)

    def replace(self, **choices: Any) -> Spec:
        """Return the same spec with other choices."""
        return replace(self, **choices)


def choices_of(spec: type[Spec]) -> tuple[Choice, ...]:
    """The rows of the table, with the names and defaults that stand beside them."""
    return tuple(
        Choice(one.name, one.default, flag="" if one.name == "data" else program.flag(one.name), **one.metadata)
        for one in fields(spec)
    )


CHOICES = choices_of(Spec)
"""The table's rows, in the order of the help, of a link and of a command."""

FILTERS = tuple(choice.name for choice in CHOICES if choice.kind is FILTER)
"""The choices that are conditions on the table."""

FILES = tuple(choice.name for choice in CHOICES if choice.kind is FILE)
"""The choices that name files."""

Spec.__doc__ = f"{Spec.__doc__}\n\n    Parameters\n    ----------\n" + "".join(
    spelled(f"    {one.name} : {one.type}\n        {choice.help[:1].upper()}{choice.help[1:]}.\n", keyword)
    for one, choice in zip(fields(Spec), CHOICES, strict=True)
)
