"""Task F5: a report, its order and its columns.

Hints: ``not_all_parts`` (missing), ``too_early`` (part, before), ``wrong_column`` (entry, column); ``empty_cell``
(cell).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .marking import Marked, Wrong, marked

# ---- F5: plan the experiment with an approximate index ---------------------------------------------------------------

F5_PARTS = ("protocol", "exact", "build", "tune", "freeze", "measure", "report")
"""Fix encoder, split and relevance; rank exactly; build the index on the gallery; tune it on validation data; fix its
parameters; measure on the test queries; report both errors apart."""
F5_BEFORE = (
    ("protocol", "exact"),
    ("protocol", "build"),
    ("exact", "measure"),
    ("build", "tune"),
    ("tune", "freeze"),
    ("freeze", "measure"),
    ("measure", "report"),
)
"""What must come before what; any order that keeps to it is right."""
F5_COLUMNS = {
    "representation": ("exact_recall", "exact_map"),
    "index": ("overlap_with_exact", "recall_lost"),
    "together": ("index_recall",),
    "cost": ("query_time", "build_time", "memory"),
    "none": ("validation_overlap", "training_accuracy"),
}
"""Column → what it may contain. ``representation``: the encoder's error, by exact ranking; ``index``: what the index
misses of the exact list, and the R@k that this costs; ``together``: R@k of what the index returns; ``none``: what was
tuned on, or what the encoder was trained on, belongs in no column of the result."""
F5_ENTRIES = tuple(sorted(entry for entries in F5_COLUMNS.values() for entry in entries))


def check_f5_order(order: Sequence[str]) -> Marked:
    """Can the experiment be done in this order? One cell a part: wrong where something must come before it."""
    wrongs: dict[str, Wrong] = dict.fromkeys(F5_PARTS)
    missing = [part for part in F5_PARTS if part not in order]
    if missing:
        return marked({part: ("not_all_parts", {"missing": missing}) if part in missing else None for part in F5_PARTS})
    for first, then in F5_BEFORE:
        if order.index(first) > order.index(then) and wrongs[then] is None:
            wrongs[then] = ("too_early", {"part": then, "before": first})
    return marked(wrongs)


def check_f5_columns(answers: Mapping[str, str]) -> Marked:
    """May each entry stand in the column chosen for it? ``answers``: entry → column, cells are the ``ENTRIES``."""
    wrongs: dict[str, Wrong] = {}
    for entry in F5_ENTRIES:
        column = answers.get(entry, "")
        if column not in F5_COLUMNS:
            wrongs[entry] = ("empty_cell", {"cell": entry})
        else:
            wrongs[entry] = (
                None if entry in F5_COLUMNS[column] else ("wrong_column", {"entry": entry, "column": column})
            )
    return marked(wrongs)
