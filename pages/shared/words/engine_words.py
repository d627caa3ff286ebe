"""What the engine says, in the visitor's language: findings, a spec in words, levels of metrics, intervals.

The engine speaks English, in full. In English its own sentences are shown; for other languages the catalogue translates
the engine's templates, and the same parameters fill them.
"""

from recall_core import evaluation
from recall_core.metrics import Interval
from recall_core.protocol import SENTENCES, Finding, Spec, Template, spell

from . import _, chosen, language, value
from .labels import in_words


def told(finding: Finding) -> str:
    """Tell a finding by the engine's template, in the visitor's language; one of a saved run stays as it was saved."""
    if language() == "en" or not finding.sentence:
        return in_words(finding.text)
    _severity, one, many = SENTENCES[finding.sentence]
    return in_words(spell(Template(one, many), finding.parameters, chosen, value))


def describe(spec: Spec) -> str:
    """A resolved spec in one or two sentences."""
    return evaluation.describe(spec, _)


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
