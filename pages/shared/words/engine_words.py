"""What the engine says, in the visitor's language: findings, a spec in words, levels of metrics, intervals.

The engine speaks English, in full. In English its own sentences are shown. For other languages a finding is told by
its kind, its count and its examples; what the engine says beyond that stays in the report and on the command line.
"""

from collections.abc import Mapping

from recall_core import evaluation
from recall_core.metrics import Interval
from recall_core.protocol import Filter, Finding, Spec

from . import _, language, number


def told(finding: Finding) -> str:
    """Tell a finding; one of a kind without a sentence stays English."""
    if language() == "en" or finding.kind not in sentences():
        return finding.message
    sentence = sentences()[finding.kind].format(n=number(finding.count))
    if finding.kind in FREE:
        return f"{sentence} {finding.message}"
    if not finding.examples:
        return f"{sentence}."
    return _("{sentence}, for example {items}").format(sentence=sentence, items="; ".join(finding.examples))


FREE = ("reading", "not_evaluable", "matching", "slice", "numbering")
"""Kinds whose message says more than a count: it stands behind the sentence, as the engine has it."""


def sentences() -> Mapping[str, str]:
    """Give the sentence of each kind of finding, with a place for its count."""
    copies = _("{n} pairs of items are exactly the same")
    across = _("under another name: finding the copy counts as an error, or no split keeps them apart")
    return {
        "bad_rows": _("{n} rows were dropped, their vectors hold nan or infinity"),
        "class_sizes": _("There are {n} classes"),
        "corrections": _("{n} pairs are judged by a file instead of the rule"),
        "duplicates_content": copies,
        "duplicates_cosine": _("{n} pairs of items have nearly the same vectors"),
        "duplicates_hash": _("{n} pairs of pictures look alike"),
        "equal_across_groups": _("{n} pairs of items in different groups have the same vector"),
        "equal_vectors": _("{n} queries have exactly the vector of a relevant gallery item"),
        "flat_pictures": _("{n} pictures are of one colour"),
        "groups_across": _("{n} groups stand in more than one part of the data"),
        "hubs": _("{n} gallery items come up in strikingly many lists"),
        "junk_rows": _("{n} rows are junk and take no part"),
        "k_beyond_gallery": _("{n} values of k reach beyond the gallery: there the whole gallery counts"),
        "labels": _("{n} items may have a wrong label"),
        "lacking_a_side": _("{n} groups are on one side only"),
        "look_alikes": _("{n} values look like another one, and differ only in what cannot be seen"),
        "matching": _("How vectors or scores were matched to the rows:"),
        "no_group": _("No column says the group: each item is taken as independent in the intervals"),
        "not_evaluable": _("These data cannot be evaluated yet:"),
        "numbering": _("The numbering does not fit the rows:"),
        "own_picture": _(
            "{n} queries stand in their own gallery and find themselves; a perfect score then means nothing"
        ),
        "reading": _("How the data were read:"),
        "right_copies": _("{n} queries have an exact copy in the gallery that counts as right: the score is inflated"),
        "same_across_groups": f"{copies} {across}",
        "same_files": _("{n} rows share their file with another row, and each finds its own picture"),
        "same_view": _("All {n} queries and their gallery show one view; whether another view is found is not said"),
        "short_lists": _("{n} queries have a list that ends before the largest k"),
        "slice": _("Only a part of the queries is counted:"),
        "ties": _("{n} queries depend on the order of tied items"),
        "train_leak": _("{n} evaluated groups were also trained on: the score is inflated"),
        "train_rows": _("{n} evaluated pictures were trained on"),
        "unreadable_pictures": _("{n} pictures cannot be read and take no part"),
        "unreadable_training": _("{n} training images cannot be read, so nothing was learned from them"),
        "unknown_ids": _("{n} ids of the file are no item of the data set"),
        "unused_ids": _("{n} ids of the file are not asked for here, and were passed over"),
        "without_relevant_junk": _(
            "{n} queries have nothing right in the gallery: all that would be right is left out"
        ),
        "without_relevant_unlabelled": _("{n} queries have nothing right in the gallery: their own label is missing"),
        "without_relevant_unmatched": _("{n} queries have nothing right in the gallery"),
        "without_result": _("{n} queries got no result and count as missed"),
        "zero_vectors": _("{n} vectors are zero: their cosine to everything is 0"),
    }


def describe(spec: Spec) -> str:
    """Say a resolved spec in one or two sentences, as ``report.describe`` does in English."""
    data = spec.data or _("the data")
    if spec.where:
        data = _("{data} where {conditions}").format(data=data, conditions=_conditions(spec.where))
    if spec.query is not None and spec.gallery is not None:
        sides = (_conditions(side) or _("every row") for side in (spec.query, spec.gallery))
        asks = _("{query} asks, {gallery} answers").format(**dict(zip(("query", "gallery"), sides, strict=True)))
    else:
        asks = _(evaluation.SPLIT_WORDS[spec.split]) if spec.split in evaluation.SPLIT_WORDS else _("split by default")
    if spec.relevant:
        right = _("same {column} is right").format(column=spec.relevant)
    else:
        right = _("{file} says what is right").format(file=spec.relevant_pairs)
    if spec.corrections:
        right += " " + _("(but for the pairs in {file})").format(file=spec.corrections)
    if spec.protocol:
        right += " " + _("(protocol {name})").format(name=spec.protocol)
    if spec.junk_same:
        right += " " + _("(same {column} as well: left out)").format(column=spec.junk_same)
    parts = [asks, right, _source(spec)]
    if spec.slice:
        parts.append(_("only queries with {conditions} count").format(conditions=_conditions(spec.slice)))
    ends = [_(evaluation.NO_RELEVANT_WORDS[spec.no_relevant])]
    if spec.train:
        ends.append(_("Trained on {rows}.").format(rows=spec.train))
    if spec.seed is not None:
        ends.append(_("Drawn with seed {seed}.").format(seed=spec.seed))
    return f"{data}: {'; '.join(parts)}. {' '.join(ends)}"


def level(base: str) -> str:
    """Say what a metric counts."""
    return _(evaluation.LEVELS[base])


def interval(one: Interval) -> str:
    """Say how an interval was made; the engine's reason stands behind it in English."""
    methods = {
        "wilson-cluster": _("Wilson, by groups"),
        "bootstrap-percentile": _("bootstrap by groups, percentile"),
        "bootstrap-bca": _("bootstrap by groups, BCa"),
    }
    if language() == "en" or one.method not in methods:
        return f"{one.method}; {one.reason}"
    return methods[one.method]


def _source(spec: Spec) -> str:
    if spec.scores:
        made = _("scores from {file}").format(file=spec.scores)
    elif spec.embeddings:
        made = _("{similarity} similarity of vectors from {file}").format(
            similarity=spec.similarity, file=spec.embeddings
        )
    else:
        made = _("{similarity} similarity of the encoder {name}").format(similarity=spec.similarity, name=spec.encoder)
    if spec.query_images:
        made += ", " + _("query pictures replaced by {file}").format(file=spec.query_images)
    if spec.corrupt:
        made += ", " + _("query pictures made worse by {kind}").format(kind=spec.corrupt)
    return made


def _conditions(conditions: Filter) -> str:
    both = " " + _("and") + " "
    return both.join(f"{column}={'|'.join(values)}" for column, values in conditions)
