"""The lab's tasks as questions that can be checked at once: an answer in, marks and a hint out.

Every answer is text as a student types it, or the key of a choice; pages translate the keys below. Whatever a hint says
of the data is computed from the data set that is given.

Keys of hints (and their parameters); ``""`` where all is right:

Everywhere: ``empty_cell`` (cell), ``not_a_number`` (cell, typed), ``more_digits`` (cell, typed).
F1: ``rule_label``, ``rule_view``, ``rule_identical`` (groups: names of the items in the counter-example),
``reason_same_kind``, ``reason_circular``.
F2: ``not_a_set`` (cell, typed), ``not_in_top``, ``not_relevant``, ``missing_items`` (cell, query, k, items),
``left_out`` (cell, k: queries with nothing relevant were left out), ``item_micro``, ``item_macro`` (cell, k: items were
counted, not queries), ``wrong_number`` (cell).
F3, task of writing code: see ``coding``.
F4: ``line_harmless`` (line), ``consequence_training``, ``consequence_order``, ``consequence_duplicates``,
``wrong_number`` (cell), ``repair_other_seed``, ``repair_stratify``, ``repair_drop_lost``, ``repair_whole_groups``
(n_lost, n_query).
F5: ``not_all_parts`` (missing), ``too_early`` (part, before), ``wrong_column`` (entry, column).
Opening question: ``unique`` (one ranking is not all), ``not_admissible`` (which, problem, …), ``same_recall`` (both
rankings have the same R@1 and R@3). Problems of ranks: ``how_many`` (n, n_query), ``not_a_rank`` (place, typed),
``out_of_range`` (place, rank), ``mean`` (mean, wanted).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from . import draws, metrics, protocol, splits
from .dataset import Dataset
from .draws import Halves, needed
from .errors import DataError
from .ranking import Ranking, rank_scores
from .relevance import Relevance, Sets
from .spec import Spec
from .splits import Split
from .typed import read_number

TASKS = ("opening", "F1", "F2", "F3", "F4", "F5")


@dataclass(frozen=True)
class Marked:
    """What became of an answer.

    Parameters
    ----------
    marks : mapping of cell to bool
        Every cell that was asked for; an empty one is wrong.
    hint : str
        Key for the first cell that is wrong, in the order of ``marks``; empty if none is.
    parameters : mapping
        What the hint's words need: numbers, names, cells.
    counter_example : tuple of int
        Rows of the table that show the answer wrong; empty where data show nothing.
    """

    marks: Mapping[str, bool]
    hint: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    counter_example: tuple[int, ...] = ()

    @property
    def correct(self) -> bool:
        """Is every cell right?"""
        return all(self.marks.values())


Wrong = tuple[str, dict[str, Any]] | None
"""What is wrong with one cell: a hint and its parameters; None if nothing."""


def marked(wrongs: Mapping[str, Wrong], counter_example: tuple[int, ...] = ()) -> Marked:
    """Make marks and the first hint out of what is wrong with each cell."""
    hint, parameters = next((wrong for wrong in wrongs.values() if wrong), ("", {}))
    return Marked({cell: wrong is None for cell, wrong in wrongs.items()}, hint, parameters, counter_example)


def check_number(cell: str, typed: str, right: float) -> Wrong:
    """Is a typed number right, to two decimals or to as many as were typed? Comma or point, per cent, or a ratio."""
    if not typed.strip():
        return "empty_cell", {"cell": cell}
    number = read_number(typed)
    if number is None:
        return "not_a_number", {"cell": cell, "typed": typed}
    away = abs(number.value - right)
    if away <= 0.5 * 10.0 ** -max(number.digits, 2) + 1e-12:
        return None
    if number.digits == 1 and away <= 0.05 and not float(right).is_integer():
        return "more_digits", {"cell": cell, "typed": typed}
    return "wrong_number", {"cell": cell}


# ---- F1: what makes an item relevant? --------------------------------------------------------------------------------

RULES = ("group", "label", "view", "identical")
"""Relevant is: the same scene; the same class; the same view; the same pixels. The first is right."""
REASONS = ("same_thing", "same_kind", "similar_pixels", "high_score")
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
    if rule != RULES[0]:
        if rule not in RULES:
            wrongs["rule"] = ("empty_cell", {"cell": "rule"})
        else:
            shown = _f1_counter_example(dataset, rule)
            group = needed(dataset, "group")
            wrongs["rule"] = (f"rule_{rule}", {"groups": [group[row] for row in shown]})
    if reason != REASONS[0]:
        circular = reason in REASONS[2:]
        known = "reason_circular" if circular else "reason_same_kind"
        wrongs["reason"] = (known, {}) if reason in REASONS else ("empty_cell", {"cell": "reason"})
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
    spec = protocol.resolve(dataset, Spec(data=dataset.name, split="by-view"), fitted=False)
    return protocol.directions(dataset, spec)[0]


# ---- F2: fill in the table -------------------------------------------------------------------------------------------

F2_LISTS = ((2, 0, 1, 3, 4), (1, 4, 0, 2, 3), (3, 2, 0, 1, 4), (0, 1, 2, 3, 4))
F2_RELEVANT = (frozenset({1}), frozenset({0, 2}), frozenset({3}), frozenset[int]())
F2_KS = (1, 2, 3)


def f2_ranking() -> Ranking:
    """Rank the gallery as task F2 lists it."""
    n = len(F2_LISTS[0])
    return rank_scores(-np.argsort(F2_LISTS, axis=1), Relevance.of(Sets.from_lists(F2_RELEVANT), n), top=n)


def f2_hits(query: int, k: int) -> frozenset[int]:
    """Top_k ∩ Rel of a query, counted from 1."""
    return frozenset(F2_LISTS[query - 1][:k]) & F2_RELEVANT[query - 1]


def f2_solution() -> dict[str, str]:
    """Solve task F2: cell → answer, for the teacher's sheet. Cells ``hits:q@k`` (q from 1) and ``recall@k``."""
    solved = {
        f"hits:{q}@{k}": "{" + ", ".join(map(str, sorted(f2_hits(q, k)))) + "}"
        for q in range(1, len(F2_LISTS) + 1)
        for k in F2_KS
    }
    for k in F2_KS:
        score = metrics.recall(f2_ranking(), k)
        solved[f"recall@{k}"] = f"{score.numerator.sum():.0f}/{score.denominator.sum():.0f}"
    return solved


def check_f2(answers: Mapping[str, str]) -> Marked:
    """Is each cell of task F2 right? Cells as in ``f2_solution``; sets like ``{0, 2}``, ``0 2``, ``{}``, ``∅``."""
    wrongs: dict[str, Wrong] = {}
    for cell in f2_solution():
        typed = answers.get(cell, "")
        where, k = cell.split("@")
        if where == "recall":
            wrongs[cell] = _f2_recall(cell, int(k), typed)
        else:
            wrongs[cell] = _f2_hits(cell, int(where.split(":")[1]), int(k), typed)
    return marked(wrongs)


def read_set(text: str) -> frozenset[int] | None:
    """Which set of positions was typed? None where it is none.

    Examples
    --------
    >>> sorted(read_set("{0; 2}")), read_set("∅"), read_set("a")
    ([0, 2], frozenset(), None)
    """
    compact = text.strip().removeprefix("{").removesuffix("}").strip()
    if compact in ("", "∅", "-", "–"):
        return frozenset() if text.strip() else None
    parts = re.split(r"[\s,;]+", compact)
    return frozenset(map(int, parts)) if all(re.fullmatch("[0-9]{1,9}", part) for part in parts) else None


def _f2_hits(cell: str, query: int, k: int, typed: str) -> Wrong:
    if not typed.strip():
        return "empty_cell", {"cell": cell}
    given, right = read_set(typed), f2_hits(query, k)
    if given is None:
        return "not_a_set", {"cell": cell, "typed": typed}
    listed = frozenset(F2_LISTS[query - 1][:k])
    for hint, items in (
        ("not_in_top", given - listed),
        ("not_relevant", given - F2_RELEVANT[query - 1]),
        ("missing_items", right - given),
    ):
        if items:
            return hint, {"cell": cell, "query": query, "k": k, "items": sorted(items)}
    return None


def _f2_recall(cell: str, k: int, typed: str) -> Wrong:
    ranking = f2_ranking()
    wrong = check_number(cell, typed, metrics.recall(ranking, k).value)
    if wrong is None or wrong[0] != "wrong_number":
        return wrong
    for hint, misread in (
        ("left_out", metrics.recall_evaluable(ranking, k)),
        ("item_micro", metrics.item_recall(ranking, k)),
        ("item_macro", metrics.item_recall_macro(ranking, k)),
    ):
        if check_number(cell, typed, misread.value) is None:
            return hint, {"cell": cell, "k": k}
    return wrong


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
CONSEQUENCES = ("lost_partners", "training", "order", "duplicates")
"""Queries lose their partner; the encoder has seen the test images; only the order changes; images stand on both sides.
The first is right."""
REPAIRS = ("by_view", "other_seed", "stratify", "drop_lost", "whole_groups")
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
    one_sided = splits.lacking_a_side(group, split)
    n_lost = sum(name not in there for name in group[split.query])
    return Guarantee(len(split.query), len(split.gallery), n_lost, not one_sided, tuple(one_sided))


def _repaired(halves: Halves, repair: str) -> Split:
    dataset, rows = halves.dataset, halves.rows
    faulty = draws.course_draw(halves).splits[0]
    if repair == "none":
        return faulty
    if repair == "by_view":
        return draws.paired_draw(halves, 0).splits[0]
    if repair == "other_seed":
        return draws.course_draw(halves, draws.COURSE_STATE + 1).splits[0]
    if repair == "stratify":
        shuffled = pd.Series(rows).sample(frac=1, random_state=draws.COURSE_STATE)
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
        raise ValueError(f"repair must be none, {', '.join(REPAIRS)}, got {repair!r}")
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
    draw = draws.course_draw(halves)
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
    if consequence != CONSEQUENCES[0]:
        known = consequence in CONSEQUENCES
        wrongs["consequence"] = (f"consequence_{consequence}", {}) if known else ("empty_cell", {"cell": "consequence"})
    for cell in ("n_lost", "recall_miss", "recall_exclude"):
        wrongs[cell] = check_number(cell, answers.get(cell, ""), getattr(facts, cell))
    wrongs["repair"] = _wrong_repair(halves, repair)
    return marked(wrongs, _lost_pair(halves, facts))


def _wrong_repair(halves: Halves, repair: str) -> Wrong:
    if repair not in REPAIRS:
        return "empty_cell", {"cell": "repair"}
    kept = guarantee(halves, repair)
    if repair == REPAIRS[0]:
        return None
    return f"repair_{repair}", {"n_lost": kept.n_lost, "n_query": kept.n_query}


def _lost_pair(halves: Halves, facts: F4Facts) -> tuple[int, ...]:
    if not facts.lost:
        return ()
    group = needed(halves.dataset, "group")
    mates = halves.rows[group[halves.rows] == group[facts.lost[0]]]
    return tuple(mates.tolist())


# ---- F5: plan the experiment with an approximate index ---------------------------------------------------------------

PARTS = ("protocol", "exact", "build", "tune", "freeze", "measure", "report")
"""Fix encoder, split and relevance; rank exactly; build the index on the gallery; tune it on validation data; fix its
parameters; measure on the test queries; report both errors apart."""
BEFORE = (
    ("protocol", "exact"),
    ("protocol", "build"),
    ("exact", "measure"),
    ("build", "tune"),
    ("tune", "freeze"),
    ("freeze", "measure"),
    ("measure", "report"),
)
"""What must come before what; any order that keeps to it is right."""
COLUMNS = {
    "representation": ("exact_recall", "exact_map"),
    "index": ("overlap_with_exact", "recall_lost"),
    "together": ("index_recall",),
    "cost": ("query_time", "build_time", "memory"),
    "none": ("validation_overlap", "training_accuracy"),
}
"""Column → what it may contain. ``representation``: the encoder's error, by exact ranking; ``index``: what the index
misses of the exact list, and the R@k that this costs; ``together``: R@k of what the index returns; ``none``: what was
tuned on, or what the encoder was trained on, belongs in no column of the result."""
ENTRIES = tuple(sorted(entry for entries in COLUMNS.values() for entry in entries))


def check_f5_order(order: Sequence[str]) -> Marked:
    """Can the experiment be done in this order? One cell a part: wrong where something must come before it."""
    wrongs: dict[str, Wrong] = dict.fromkeys(PARTS)
    missing = [part for part in PARTS if part not in order]
    if missing:
        return marked({part: ("not_all_parts", {"missing": missing}) if part in missing else None for part in PARTS})
    for first, then in BEFORE:
        if order.index(first) > order.index(then) and wrongs[then] is None:
            wrongs[then] = ("too_early", {"part": then, "before": first})
    return marked(wrongs)


def check_f5_columns(answers: Mapping[str, str]) -> Marked:
    """May each entry stand in the column chosen for it? ``answers``: entry → column, cells are the ``ENTRIES``."""
    wrongs: dict[str, Wrong] = {}
    for entry in ENTRIES:
        column = answers.get(entry, "")
        if column not in COLUMNS:
            wrongs[entry] = ("empty_cell", {"cell": entry})
        else:
            wrongs[entry] = None if entry in COLUMNS[column] else ("wrong_column", {"entry": entry, "column": column})
    return marked(wrongs)


# ---- the opening question: mean rank 4, 30 queries, 30 gallery items: what is R@1, R@3? ------------------------------

OPENING_MEAN, OPENING_N = 4, 30


@dataclass(frozen=True)
class Ranks:
    """Ranks that somebody proposes, and what they make of R@k.

    Parameters
    ----------
    problem : str
        Why they are not admissible, empty if they are; with ``parameters``.
    recall : mapping of k to value
        R@1 and R@3; empty where not admissible.
    """

    problem: str
    parameters: Mapping[str, Any]
    recall: Mapping[int, float]


def propose_ranks(typed: Sequence[object] | str, *, n: int = OPENING_N, mean: int = OPENING_MEAN) -> Ranks:
    """Are these ranks of n queries among n items with this mean, and what are then R@1 and R@3?

    Parameters
    ----------
    typed : text or sequence
        Whole numbers, in text parted by spaces, commas or semicolons; ``26*1`` stands for 26 ones.
    """
    words = re.split(r"[\s,;]+", typed.strip()) if isinstance(typed, str) else list(map(str, typed))
    ranks: list[int] = []
    for place, word in enumerate(filter(None, words), 1):
        many = re.fullmatch(r"(?:([0-9]{1,3})[*×·])?([0-9]{1,9})", word)
        if not many:
            return Ranks("not_a_rank", {"place": place, "typed": word}, {})
        ranks += [int(many[2])] * int(many[1] or 1)
        if len(ranks) > 100 * n:
            break
    if len(ranks) != n:
        return Ranks("how_many", {"n": len(ranks), "n_query": n}, {})
    outside = next((place for place, rank in enumerate(ranks, 1) if not 1 <= rank <= n), None)
    if outside is not None:
        return Ranks("out_of_range", {"place": outside, "rank": ranks[outside - 1]}, {})
    if sum(ranks) != mean * n:
        return Ranks("mean", {"mean": sum(ranks) / n, "wanted": mean}, {})
    return Ranks("", {}, {k: sum(rank <= k for rank in ranks) / n for k in (1, 3)})


def extreme_ranks(k: int, *, n: int = OPENING_N, mean: int = OPENING_MEAN) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Which ranks of n queries among n items with this mean have the fewest, and which the most, within the first k?

    h hits are possible just if the sum lies between h·1 + (n − h)·(k + 1) and h·k + (n − h)·n; the misses then take the
    sum up from the last one on.
    """
    total = mean * n
    k = min(k, n)
    possible = [h for h in range(n + 1) if h + (n - h) * (k + 1) <= total <= h * k + (n - h) * n and (k < n or h == n)]
    if not possible:
        raise ValueError(f"{n} ranks of at most {n} cannot have the mean {mean}")
    return _with_hits(min(possible), k, n, total), _with_hits(max(possible), k, n, total)


def _with_hits(hits: int, k: int, n: int, total: int) -> tuple[int, ...]:
    """Ranks with so many hits and this sum, in ascending order."""
    ranks = [1] * hits + [k + 1] * (n - hits)
    left = total - sum(ranks)
    for i in reversed(range(n)):
        more = min(left, (k if i < hits else n) - ranks[i])
        ranks[i] += more
        left -= more
    return tuple(sorted(ranks))


def check_opening(answer: str, one: Sequence[object] | str, other: Sequence[object] | str) -> Marked:
    """Does the mean rank say what R@1 and R@3 are? Cells ``answer`` (``no_unique_answer``), ``one``, ``other``.

    The two rankings must have the mean and differ in R@1 or R@3: they are the proof.
    """
    wrongs: dict[str, Wrong] = {"answer": None if answer == "no_unique_answer" else ("unique", {})}
    if not answer:
        wrongs["answer"] = ("empty_cell", {"cell": "answer"})
    proposed = {"one": propose_ranks(one), "other": propose_ranks(other)}
    for which, ranks in proposed.items():
        problem = {"which": which, "problem": ranks.problem, **ranks.parameters}
        wrongs[which] = ("not_admissible", problem) if ranks.problem else None
    if not wrongs["one"] and not wrongs["other"] and proposed["one"].recall == proposed["other"].recall:
        wrongs["other"] = ("same_recall", {})
    return marked(wrongs)
