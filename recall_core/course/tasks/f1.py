"""Task F1: a rule of relevance.

Hints: ``rule_label``, ``rule_view``, ``rule_identical`` (groups: names of the items in the counter-example),
``reason_same_kind``, ``reason_circular``; ``empty_cell`` (cell).
"""

from __future__ import annotations

from ... import protocol
from ...datasets import Dataset
from ...errors import DataError
from ...experiments.leakage import needed
from ...protocol import Spec, Split
from .marking import Marked, Wrong, marked

# ---- F1: what makes an item relevant? --------------------------------------------------------------------------------

F1_RULES = ("group", "label", "view", "identical")
"""Relevant is: the same scene; the same class; the same view; the same pixels. The first is right."""
F1_REASONS = ("same_thing", "same_kind", "similar_pixels", "high_score")
"""Because: both show the thing that is to be found again; both show a thing of one kind; their pixels are alike; the
encoder puts them close together. The first is right; the last two argue in a circle: relevance is there before them."""


def check_f1(dataset: Dataset, rule: str, reason: str) -> Marked:
    """Is this what makes an item relevant, and is this why? A wrong rule gets a counter-example from the data.

    Cells ``rule`` and ``reason``. Counter-examples are (query row, gallery row): for ``label`` and ``view`` two rows
    that the rule calls right though they show different scenes, for ``identical`` the two views of one scene, whose
    pixels differ though they must find each other.
    """
    wrongs: dict[str, Wrong] = {"rule": None, "reason": None}
    shown: tuple[int, ...] = ()
    if rule != F1_RULES[0]:
        if rule not in F1_RULES:
            wrongs["rule"] = ("empty_cell", {"cell": "rule"})
        else:
            shown = _f1_counter_example(dataset, rule)
            group = needed(dataset, "group")
            wrongs["rule"] = (f"rule_{rule}", {"groups": [group[row] for row in shown]})
    if reason != F1_REASONS[0]:
        circular = reason in F1_REASONS[2:]
        known = "reason_circular" if circular else "reason_same_kind"
        wrongs["reason"] = (known, {}) if reason in F1_REASONS else ("empty_cell", {"cell": "reason"})
    return marked(wrongs, shown)


def _f1_counter_example(dataset: Dataset, rule: str) -> tuple[int, ...]:
    split = _paired(dataset)
    group, query = needed(dataset, "group"), int(split.query[0])
    partner = int(split.gallery[group[split.gallery] == group[query]][0])
    if rule == "identical":
        return query, partner
    others, cells = (
        (split.gallery, needed(dataset, "label")) if rule == "label" else (split.query, needed(dataset, "view"))
    )
    alike = others[(cells[others] == cells[query]) & (group[others] != group[query])]
    if not len(alike):
        raise DataError(f"{dataset.name} has no two groups of one {rule} among the rows that take part")
    return query, int(alike[-1])


def _paired(dataset: Dataset) -> Split:
    """The lab's own split: one view asks, the other answers."""
    spec = protocol.fill_defaults(dataset, Spec(data=dataset.name, split="by-view"), fitted=False)
    return protocol.directions(dataset, spec)[0]
