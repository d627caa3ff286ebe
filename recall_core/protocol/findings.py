"""A finding is a kind and its parameters; what it says stands once, in ``SENTENCES``.

English fills the template of the table; the app translates the same template and fills in the same parameters. A
finding does not stop a run; it stands beside the number, with a count and a few examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ..arrays import IntArray, Text
from ..datasets import MATCHED
from ..errors import keyword, spelled
from ..program import with_flags

SEVERITIES = ("note", "warning", "error")
N_EXAMPLES = 5


class Template(NamedTuple):
    """A sentence, or a part of one, with places to be filled in.

    Parameters
    ----------
    one : str
        Where ``n`` is 1; without ``many``, always.
    many : str
        Where ``n`` is anything else.
    """

    one: str
    many: str | None = None


class Sentence(NamedTuple):
    """A row of the table: how grave a finding is, and what it says. ``n`` is its count unless told otherwise."""

    severity: str
    one: str
    many: str | None = None


NOTHING_RELEVANT = Sentence(
    "warning",
    "{split}: {n} of {m} queries has nothing relevant in the gallery: {why}",
    "{split}: {n} of {m} queries have nothing relevant in the gallery: {why}",
)

SENTENCES = {
    "bad_rows": Sentence(
        "warning",
        "{n} of {m} rows was dropped, its vector holds nan or infinity: {rows}",
        "{n} of {m} rows were dropped, their vectors hold nan or infinity: {rows}",
    ),
    "budget": Sentence("warning", "no configuration keeps the budget, so none was measured"),
    "class_sizes": Sentence(
        "note",
        "{n} value of {column}, with {least} to {most} items, {median} in the middle; {alone} with a single item",
        "{n} values of {column}, with {least} to {most} items, {median} in the middle; {alone} with a single item",
    ),
    "copies": Sentence(
        "warning",
        "{n} of {m} gallery items is exactly the same as an earlier one: which of the copies an index returns is "
        "chance, so overlap with the exact list is too low",
        "{n} of {m} gallery items are exactly the same as an earlier one: which of the copies an index returns is "
        "chance, so overlap with the exact list is too low",
    ),
    "corrections": Sentence(
        "note",
        "{split}: {n} pair is judged by {file} instead of the rule",
        "{split}: {n} pairs are judged by {file} instead of the rule",
    ),
    "direction": Sentence("note", "one direction of {m}: {split}"),
    "duplicates_content": Sentence(
        "note",
        "{number} pair of items is exactly the same: {pairs}",
        "{number} pairs of items are exactly the same: {pairs}",
    ),
    "duplicates_content:across": Sentence(
        "warning",
        "{number} pair of items is exactly the same, of which {borders}: {pairs}",
        "{number} pairs of items are exactly the same, of which {borders}: {pairs}",
    ),
    "duplicates_cosine": Sentence(
        "note",
        "{number} pair of vectors has a cosine of at least {threshold}: {pairs}",
        "{number} pairs of vectors have a cosine of at least {threshold}: {pairs}",
    ),
    "duplicates_cosine:across": Sentence(
        "warning",
        "{number} pair of vectors has a cosine of at least {threshold}, of which {borders}: {pairs}",
        "{number} pairs of vectors have a cosine of at least {threshold}, of which {borders}: {pairs}",
    ),
    "duplicates_hash": Sentence(
        "note",
        "{number} pair of pictures has perceptual hashes that differ in at most {distance} of 64 bits: {pairs}",
        "{number} pairs of pictures have perceptual hashes that differ in at most {distance} of 64 bits: {pairs}",
    ),
    "duplicates_hash:across": Sentence(
        "warning",
        "{number} pair of pictures has perceptual hashes that differ in at most {distance} of 64 bits, of which "
        "{borders}: {pairs}",
        "{number} pairs of pictures have perceptual hashes that differ in at most {distance} of 64 bits, of which "
        "{borders}: {pairs}",
    ),
    "equal_across_groups": Sentence(
        "warning",
        "{n} pair of items has the same vector under another {column}: {pairs}; the encoder does not tell them apart",
        "{n} pairs of items have the same vector under another {column}: {pairs}; the encoder does not tell them apart",
    ),
    "equal_across_groups:relevant": Sentence(
        "warning",
        "{n} pair of items has the same vector under another {column}: {pairs}; finding the other counts as an error",
        "{n} pairs of items have the same vector under another {column}: {pairs}; finding the other counts as an error",
    ),
    "equal_vectors": Sentence(
        "note",
        "{split}: {n} of {m} queries has exactly the vector of a relevant gallery item; the encoder does not tell the "
        "two apart, or they are copies of one image",
        "{split}: {n} of {m} queries have exactly the vector of a relevant gallery item; the encoder does not tell the "
        "two apart, or they are copies of one image",
    ),
    "few_groups": Sentence(
        "note",
        "the test queries are {n} independent group: small differences cannot be seen",
        "the test queries are {n} independent groups: small differences cannot be seen",
    ),
    "flat_pictures": Sentence(
        "warning",
        "{n} of {m} pictures is one colour all over, so nothing can be found by it: {ids}",
        "{n} of {m} pictures are one colour all over, so nothing can be found by them: {ids}",
    ),
    "groups_across": Sentence(
        "warning",
        "{n} of {m} groups lies in more than one {column}: {groups}",
        "{n} of {m} groups lie in more than one {column}: {groups}",
    ),
    "hubs": Sentence(
        "note",
        "{n} of {m} items is a hub: it stands among the nearest {near} of at least {times} times its fair share of "
        "items: {ids}",
        "{n} of {m} items are hubs: each stands among the nearest {near} of at least {times} times its fair share of "
        "items: {ids}",
    ),
    "junk_rows": Sentence(
        "note",
        "{n} row is junk, as column {column} says, and takes no part",
        "{n} rows are junk, as column {column} says, and take no part",
    ),
    "junk_rows:person": Sentence(
        "note",
        "{n} row is junk, as person −1 of names such as 0002_c1s1_000451_03, and takes no part",
        "{n} rows are junk, as person −1 of names such as 0002_c1s1_000451_03, and take no part",
    ),
    "k_beyond_gallery": Sentence("note", "k = {ks} reaches beyond a gallery of {m}: the whole gallery counts"),
    "labels": Sentence(
        "warning",
        "{n} of {m} labels looks wrong: the nearest {near} neighbours agree on another: {ids}",
        "{n} of {m} labels look wrong: the nearest {near} neighbours agree on another: {ids}",
    ),
    "lacking_a_side": Sentence(
        "warning",
        "{n} group is on one side of {split} only: {groups}",
        "{n} groups are on one side of {split} only: {groups}",
    ),
    "look_alikes": Sentence(
        "warning",
        "{n} of {m} values of {column} look like another one, and differ only in blanks or in characters that cannot "
        "be seen: {values}; write them alike, or they count as different",
    ),
    "matching:by_id": Sentence("note", "{how}"),
    "matching:by_position": Sentence("warning", "{how}"),
    "matching:scores": Sentence("warning", "{file}: scores were matched by position, in table order"),
    "no_group": Sentence("note", "no group column: each item is taken as independent in the intervals"),
    "not_common": Sentence(
        "warning",
        "{n} query is common to all and compared; left out: {counts}",
        "{n} queries are common to all and compared; left out: {counts}",
    ),
    "not_evaluable": Sentence("note", "these data cannot be evaluated yet: {error}"),
    "numbering": Sentence(
        "error",
        "{n} class is numbered otherwise among the queries than in the gallery, it seems: {classes}; give both sides "
        "the same names",
        "{n} classes are numbered otherwise among the queries than in the gallery, it seems: {classes}; give both "
        "sides the same names",
    ),
    "other_data": Sentence("note", "the runs are of {n} data sets: {names}"),
    "other_gallery": Sentence(
        "warning", "the galleries are not the same (items: {sizes}): another gallery is another task"
    ),
    "own_picture": Sentence(
        "error",
        "{split}: {n} of {m} queries stands in its own gallery and finds itself; a perfect score then means nothing "
        "(remove it with {junk_same})",
        "{split}: {n} of {m} queries stand in their own gallery and find themselves; a perfect score then means "
        "nothing (remove them with {junk_same})",
    ),
    "reading": Sentence("note", "{text}"),
    "right_copies": Sentence(
        "warning",
        "{split}: {n} of {m} queries has an exact copy in the gallery, as another row, that counts as right: it finds "
        "it whatever the encoder, and the score is inflated",
        "{split}: {n} of {m} queries have an exact copy in the gallery, as another row, that counts as right: they "
        "find it whatever the encoder, and the score is inflated",
    ),
    "same_across_groups": Sentence(
        "warning",
        "{n} pair of items is exactly the same under another {column}: {pairs}; no split by group keeps the two apart",
        "{n} pairs of items are exactly the same under another {column}: {pairs}; no split by group keeps them apart",
    ),
    "same_across_groups:relevant": Sentence(
        "warning",
        "{n} pair of items is exactly the same under another {column}: {pairs}; finding the other counts as an error",
        "{n} pairs of items are exactly the same under another {column}: {pairs}; finding the other counts as an error",
    ),
    "same_files": Sentence(
        "warning",
        "{n} of {m} rows share their file with another row: {files}; each finds its own picture under another name; "
        "keep one row a file",
    ),
    "same_view": Sentence(
        "warning",
        "{split}: {n} query and all {m} gallery items are view {view}; the score does not say whether another view of "
        "the same thing is found",
        "{split}: all {n} queries and all {m} gallery items are view {view}; the score does not say whether another "
        "view of the same thing is found",
    ),
    "short_lists": Sentence(
        "warning",
        "{n} of {m} queries in {split}: {file} lists fewer than k = {k} items for it (the shortest list has "
        "{shortest}); what is not listed counts as not retrieved",
        "{n} of {m} queries in {split}: {file} lists fewer than k = {k} items for them (the shortest list has "
        "{shortest}); what is not listed counts as not retrieved",
    ),
    "slice": Sentence(
        "note",
        "{n} of {m} queries is counted: the one with {conditions}",
        "{n} of {m} queries are counted: those with {conditions}",
    ),
    "tie_at_cut": Sentence("warning", "{n} of {m} queries: the exact list is cut at {depth} between items that tie"),
    "ties": Sentence("warning", "{n} of {m} queries: {metric} depends on the order of tied items"),
    "train_leak": Sentence(
        "error",
        "{n} of {m} evaluated groups was also trained on: the score is inflated",
        "{n} of {m} evaluated groups were also trained on: the score is inflated",
    ),
    "train_rows": Sentence(
        "error",
        "{n} of {m} evaluated images was trained on",
        "{n} of {m} evaluated images were trained on",
    ),
    "unknown_ids": Sentence(
        "warning",
        "{ids}: {n} of {m} is no item of {data}: {shown}; what it was given is not used, so check for a typing error "
        "or padding",
        "{ids}: {n} of {m} are no item of {data}, such as {shown}; what they were given is not used, so check for "
        "typing errors or padding",
    ),
    "unreadable_pictures": Sentence(
        "warning",
        "{n} of {m} pictures cannot be read and takes no part: {rows}",
        "{n} of {m} pictures cannot be read and take no part: {rows}",
    ),
    "unreadable_pictures:in_all": Sentence("warning", "{n} of {m} pictures cannot be read: {rows}"),
    "unreadable_training": Sentence(
        "warning",
        "{n} of {m} training images cannot be read, so nothing was learned from it: {rows}",
        "{n} of {m} training images cannot be read, so nothing was learned from them: {rows}",
    ),
    "unused_ids": Sentence(
        "note",
        "{ids}: {n} of {m} is not asked for here, and was passed over",
        "{ids}: {n} of {m} are not asked for here, and were passed over",
    ),
    "without_relevant_junk": NOTHING_RELEVANT,
    "without_relevant_unlabelled": NOTHING_RELEVANT,
    "without_relevant_unmatched": NOTHING_RELEVANT,
    "without_result": Sentence(
        "warning",
        "{n} query without result, of {m} in {split}: {file} retrieves nothing for it, and it counts as missed",
        "{n} queries without result, of {m} in {split}: {file} retrieves nothing for them, and they count as missed",
    ),
    "without_result:zero": Sentence(
        "warning",
        "{split}: {n} of {m} queries is a zero vector, which has no cosine: nothing is retrieved for it, and it counts "
        "as missed: {rows}",
        "{split}: {n} of {m} queries are zero vectors, which have no cosine: nothing is retrieved for them, and they "
        "count as missed: {rows}",
    ),
    "zero_vectors": Sentence(
        "warning",
        "{n} of {m} vectors is zero: its cosine to everything is 0: {rows}",
        "{n} of {m} vectors are zero: their cosine to everything is 0: {rows}",
    ),
}
"""Kind of finding → severity and sentence; where a kind has several sentences, ``kind:which``."""

PHRASES = {
    **{name: Template(text) for name, text in MATCHED.items()},
    "across": Template("{n} across {border}"),
    "at_least": Template("at least {n}"),
    "class": Template("class"),
    "equal_pair": Template("{first} = {second} ({score})"),
    "gallery embeddings": Template("gallery embeddings"),
    "gallery ids": Template("{file}: gallery ids"),
    "groups": Template("groups"),
    "in_run": Template("{sizes} in {run}"),
    "junk": Template(
        "all its relevant items are junk (the query itself, or the same-value rule)",
        "all their relevant items are junk (the query itself, or the same-value rule)",
    ),
    "labels": Template("labels"),
    "more": Template("{items} and {n} more"),
    "near_pair": Template("{first} ≈ {second} ({score})"),
    "no vector": Template("no vector"),
    "numbered": Template("query {query} → gallery {gallery}"),
    "of_run": Template("{n} of {run}"),
    "query embeddings": Template("query embeddings"),
    "query and gallery": Template("query and gallery"),
    "query ids": Template("{file}: query ids"),
    "row": Template("row {row} (id {id})"),
    "row_because": Template("row {row} (id {id}): {why}"),
    "unlabelled": Template("its own label is missing", "their own label is missing"),
    "unmatched": Template("no gallery item is relevant to it", "no gallery item is relevant to them"),
}
"""Parts of sentences that a language says in its own way."""

AND = " and "

NO_RELEVANT_REASONS = {
    reason: PHRASES[reason].many or PHRASES[reason].one for reason in ("junk", "unlabelled", "unmatched")
}
"""Why queries have nothing relevant: reason → words."""


@dataclass(frozen=True)
class Phrase:
    """A part of a sentence: its row of ``PHRASES``, and what fills its places."""

    name: str
    parameters: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Listed:
    """A list inside a sentence, and how many more there are than it shows."""

    items: tuple[Value, ...]
    separator: str = ", "
    n_more: int = 0


Value: TypeAlias = "str | int | float | Phrase | Listed"
"""What fills a place of a template."""


@dataclass(frozen=True)
class Finding:
    """One thing to know before the number is believed; ``find`` makes it.

    Parameters
    ----------
    kind : str
        For machines: ``without_relevant_unmatched``, ``train_leak`` and so on.
    severity : str
        ``note`` (good to know), ``warning`` (the number may mislead), ``error`` (the number means something else).
    count : int
        How many items, queries or groups are concerned.
    text : str
        One sentence in English, with the count and its denominator; each setting in it as ``errors.setting`` names it.
    examples : tuple of str
        The first few ids.
    sentence : str
        Row of ``SENTENCES``; empty for a finding of a saved run, of which only the message is known.
    parameters : mapping
        What fills the sentence.
    """

    kind: str
    severity: str
    count: int
    text: str
    examples: tuple[str, ...] = ()
    sentence: str = field(default="", compare=False)
    parameters: Mapping[str, Value] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(f"severity is {self.severity!r}; choose one of {SEVERITIES}")

    @property
    def message(self) -> str:
        """The sentence as a notebook reads it."""
        return spelled(self.text, keyword)

    @property
    def reported(self) -> str:
        """The sentence as reports and saved runs have it, beside the command that gives the same numbers."""
        return with_flags(self.text)


def find(sentence: str, count: int = 0, examples: Iterable[object] = (), /, **parameters: Value) -> Finding:
    """Make a finding.

    Parameters
    ----------
    sentence : str
        Row of ``SENTENCES``: the kind, or ``kind:which``.
    count : int
        How many are concerned; fills ``{n}``.
    examples : iterable
        Ids; the first few are kept.
    **parameters
        What else the sentence says; ``n``, where what it counts is not what is concerned.
    """
    said = SENTENCES[sentence]
    values: dict[str, Value] = {"n": count, **parameters}
    text = spell(Template(said.one, said.many), values)
    kind = sentence.partition(":")[0]
    return Finding(kind, said.severity, count, text, first_of(examples), sentence, values)


def first_of(items: Iterable[object]) -> tuple[str, ...]:
    """The first few of many, as text."""
    return tuple(str(item) for item in list(items)[:N_EXAMPLES])


def listed(items: Iterable[Value], separator: str = ", ") -> Listed:
    """The first few of many, and how many more there are."""
    every = tuple(items)
    return Listed(every[:N_EXAMPLES], separator, max(len(every) - N_EXAMPLES, 0))


def quoted(items: Iterable[object]) -> Listed:
    """The first few ids in quotes, and how many more there are."""
    return listed(repr(str(item)) for item in items)


def name_rows(ids: Text, rows: IntArray, why: Sequence[Value] | None = None) -> Listed:
    """The first few rows of the table, each with its id and, where ``why`` is given, the reason."""
    named: list[Value] = []
    for i, row in enumerate(rows[:N_EXAMPLES]):
        said: dict[str, Value] = {"row": int(row) + 1, "id": repr(ids[row])}
        named.append(Phrase("row", said) if why is None else Phrase("row_because", {**said, "why": why[i]}))
    return Listed(tuple(named), ", " if why is None else "; ", max(len(rows) - N_EXAMPLES, 0))


Translate: TypeAlias = Callable[[str, str | None, int], str]
"""From one, many and n to the template of a language."""

Number: TypeAlias = Callable[[int | float], str]


def in_english(one: str, many: str | None, n: int) -> str:
    """The template itself."""
    return one if many is None or n == 1 else many


def plain_number(value: int | float) -> str:
    """A number as the reports spell it in a sentence."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def spell(
    template: Template,
    parameters: Mapping[str, Value],
    translate: Translate = in_english,
    number: Number = plain_number,
) -> str:
    """Fill a template: in English, or as ``translate`` and ``number`` say."""
    n = parameters.get("n", 0)
    chosen = translate(template.one, template.many, n if isinstance(n, int) else 0)
    return chosen.format(**{name: spell_value(value, translate, number) for name, value in parameters.items()})


def spell_value(value: Value, translate: Translate = in_english, number: Number = plain_number) -> str:
    """What fills a place, as text."""
    if isinstance(value, Phrase):
        return spell(PHRASES[value.name], value.parameters, translate, number)
    if isinstance(value, Listed):
        separator = translate(value.separator, None, 0)
        shown = separator.join(spell_value(item, translate, number) for item in value.items)
        more: dict[str, Value] = {"items": shown, "n": value.n_more}
        return spell(PHRASES["more"], more, translate, number) if value.n_more else shown
    return value if isinstance(value, str) else number(value)
