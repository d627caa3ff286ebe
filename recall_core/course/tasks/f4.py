"""Task F4: a faulty split.

Hints: ``line_harmless`` (line), ``consequence_training``, ``consequence_order``, ``consequence_duplicates``,
``wrong_number`` (cell), ``repair_other_seed``, ``repair_stratify``, ``repair_drop_lost``, ``repair_whole_groups``
(n_lost, n_query); ``empty_cell`` (cell).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ... import protocol
from ...experiments import leakage
from ...experiments.leakage import Halves, needed
from ...protocol import Split
from .marking import Marked, Wrong, check_number, marked

# ---- F4: find the fault, say what it does, repair it -----------------------------------------------------------------

F4_LINES = (
    'test = metadata[metadata["split"] == "test"]',
    "shuffled = test.sample(frac=1, random_state=42)",
    "query, gallery = shuffled.iloc[:30], shuffled.iloc[30:]",
    'relevance = query["scene_id"].to_numpy()[:, None] == gallery["scene_id"].to_numpy()',
)
F4_FAULTY = (2, 3)
"""Lines, counted from 1, that are the fault: together they draw images where each scene must be parted by view. Either
is accepted."""
F4_CONSEQUENCES = ("lost_partners", "training", "order", "duplicates")
"""Queries lose their partner; the encoder has seen the test images; only the order changes; images stand on both sides.
The first is right."""
F4_REPAIRS = ("by_view", "other_seed", "stratify", "drop_lost", "whole_groups")
"""One view of each scene asks, the other answers; another seed; the same number of each class on both sides; leave the
lost queries out; whole scenes on one side. The first is right: only it keeps every partner and every query."""


@dataclass(frozen=True)
class Guarantee:
    """What a split keeps: the check that F4's repair must pass.

    Parameters
    ----------
    n_query, n_gallery : int
    n_lost : int
        Queries whose group has nothing in the gallery.
    same_groups : bool
        Are the same groups on both sides?
    one_sided : tuple of str
        Groups that are on one side only.
    """

    n_query: int
    n_gallery: int
    n_lost: int
    same_groups: bool
    one_sided: tuple[str, ...]

    def holds(self, n_item: int) -> bool:
        """Do the same groups stand on both sides, half of all items on each?"""
        return self.same_groups and self.n_query == self.n_gallery == n_item // 2


def guarantee(halves: Halves, repair: str) -> Guarantee:
    """What does this repair of the snippet keep? Computed on the data, like the fault itself (``"none"``).

    Raises
    ------
    ValueError
        There is no such repair.
    """
    group, split = needed(halves.dataset, "group"), _repaired(halves, repair)
    there = set(group[split.gallery])
    one_sided = protocol.lacking_a_side(group, split)
    n_lost = sum(name not in there for name in group[split.query])
    return Guarantee(len(split.query), len(split.gallery), n_lost, not one_sided, tuple(one_sided))


def _repaired(halves: Halves, repair: str) -> Split:
    dataset, rows = halves.dataset, halves.rows
    faulty = leakage.course_draw(halves).splits[0]
    if repair == "none":
        return faulty
    if repair == "by_view":
        return leakage.paired_draw(halves, 0).splits[0]
    if repair == "other_seed":
        return leakage.course_draw(halves, leakage.COURSE_STATE + 1).splits[0]
    if repair == "stratify":
        shuffled = pd.Series(rows).sample(frac=1, random_state=leakage.COURSE_STATE)
        label = pd.Series(needed(dataset, "label")[shuffled], index=shuffled.index)
        place, size = shuffled.groupby(label).cumcount(), shuffled.groupby(label).transform("size")
        asks = shuffled[place < size // 2].to_numpy()
    elif repair == "drop_lost":
        group = needed(dataset, "group")
        asks = faulty.query[np.isin(group[faulty.query].astype(str), group[faulty.gallery].astype(str))]
        return Split(asks, faulty.gallery, "query", "gallery", "lost queries left out")
    elif repair == "whole_groups":
        group = needed(dataset, "group")
        names = list(dict.fromkeys(group[rows]))
        asks = rows[np.isin(group[rows].astype(str), names[: len(names) // 2])]
    else:
        raise ValueError(f"repair must be none, {', '.join(F4_REPAIRS)}, got {repair!r}")
    return Split(np.sort(asks), np.setdiff1d(rows, asks), "query", "gallery", repair)


@dataclass(frozen=True)
class F4Facts:
    """What the snippet does to the data: how many queries lose their partner, and R@1 told both ways."""

    n_query: int
    n_lost: int
    recall_miss: float
    recall_exclude: float
    lost: tuple[int, ...]


def f4_facts(halves: Halves) -> F4Facts:
    """What does the snippet's draw do on these data? ``lost`` are rows of the table."""
    draw = leakage.course_draw(halves)
    k = min(draw.recall)
    return F4Facts(draw.n_query, draw.n_lost, draw.recall[k], draw.recall_evaluable[k], tuple(draw.lost.tolist()))


def check_f4(halves: Halves, answers: Mapping[str, str]) -> Marked:
    """Is the fault found, its consequence told, and mended?

    Cells: ``line`` (1 …), ``consequence`` (of ``CONSEQUENCES``), ``n_lost``, ``recall_miss``, ``recall_exclude``
    (numbers), ``repair`` (of ``REPAIRS``). The counter-example is a lost query and its partner, which asks as well.
    """
    facts = f4_facts(halves)
    line, consequence, repair = (answers.get(cell, "").strip() for cell in ("line", "consequence", "repair"))
    wrongs: dict[str, Wrong] = {"line": None, "consequence": None}
    if line not in map(str, F4_FAULTY):
        known = line in map(str, range(1, len(F4_LINES) + 1))
        wrongs["line"] = ("line_harmless", {"line": int(line)}) if known else ("empty_cell", {"cell": "line"})
    if consequence != F4_CONSEQUENCES[0]:
        known = consequence in F4_CONSEQUENCES
        wrongs["consequence"] = (f"consequence_{consequence}", {}) if known else ("empty_cell", {"cell": "consequence"})
    for cell in ("n_lost", "recall_miss", "recall_exclude"):
        wrongs[cell] = check_number(cell, answers.get(cell, ""), getattr(facts, cell))
    wrongs["repair"] = _wrong_repair(halves, repair)
    return marked(wrongs, _lost_pair(halves, facts))


def _wrong_repair(halves: Halves, repair: str) -> Wrong:
    if repair not in F4_REPAIRS:
        return "empty_cell", {"cell": "repair"}
    kept = guarantee(halves, repair)
    if repair == F4_REPAIRS[0]:
        return None
    return f"repair_{repair}", {"n_lost": kept.n_lost, "n_query": kept.n_query}


def _lost_pair(halves: Halves, facts: F4Facts) -> tuple[int, ...]:
    if not facts.lost:
        return ()
    group = needed(halves.dataset, "group")
    mates = halves.rows[group[halves.rows] == group[facts.lost[0]]]
    return tuple(mates.tolist())
