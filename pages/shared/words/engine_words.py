"""What the engine says, in the visitor's language: findings, a spec in words, levels of metrics, intervals.

The engine speaks English, in full. In English its own sentences are shown; for other languages the catalogue translates
the engine's templates, and the same parameters fill them.
"""

from recall_core import evaluation
from recall_core.metrics import Interval
from recall_core.protocol import SENTENCES, Filter, Finding, Spec, Template, spell

from . import _, chosen, language, value


def told(finding: Finding) -> str:
    """Tell a finding by the engine's template, in the visitor's language; one of a saved run stays as it was saved."""
    if language() == "en" or not finding.sentence:
        return finding.message
    _severity, one, many = SENTENCES[finding.sentence]
    return spell(Template(one, many), finding.parameters, chosen, value)


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
