"""Task F3, writing ``recall_at_k``: what it is checked against, and how an answer is judged.

``answer_of``, ``verdict`` and ``misreading`` need no module of ours: their source also runs in other processes and in a
file that students download (``checks``).

Keys of hints, for a case that fails: ``wrong_value``; a known misreading, where it explains every value that was given:
``left_out`` (queries with nothing relevant were left out), ``item_level`` (items were counted, not queries),
``precision`` (hits over k), ``by_place`` (relevance was read by place, not by item); ``is_nan``, ``no_number``,
``raised``, ``not_raised``, ``wrong_error`` (an accident, such as an ``IndexError``, is no check of the input),
``changed_input``, ``memory``, ``no_answer``. Parameters: case (its name), inputs (rank_matrix, rel_matrix, k), expected
(None: must raise), value, kind (type of what was returned), error, message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import numpy as np

from ... import metrics
from ...plain import recall_at_k
from ...ranking import Relevance, Sets, rank_scores
from .f2 import F2_LISTS, F2_RELEVANT
from .marking import Marked, Wrong, marked


class Case(TypedDict):
    """One call of ``recall_at_k`` and what it must give; plain JSON, so that it can go to another process or a file.

    ``expected`` is None where it must raise. ``misreadings``: name → the value that a known misreading gives, where
    it is defined; the name up to its colon is a hint.
    """

    name: str
    rank_matrix: list[list[int]]
    rel_matrix: list[list[int]]
    k: int
    expected: float | None
    misreadings: dict[str, float]


class Answer(TypedDict):
    """What a call gave: a value, or the names of the error's classes with its message."""

    value: float | None
    kind: str
    error: list[str]
    message: str
    changed: bool


F3_STUB = '''import numpy as np


def recall_at_k(rank_matrix, rel_matrix, k):
    """rank_matrix, rel_matrix: (n_query, n_gallery); k: 1 ... n_gallery; returns a float."""
    ...
'''


def f3_cases(*, seed: int = 0, n_random: int = 20) -> list[Case]:
    """List what ``recall_at_k`` is checked against: task F2, edges, errors, and seeded random cases.

    Names: ``f2_k1`` … ``f2_k5``, ``empty_relevance``, ``perfect``, ``several_relevant``, ``by_item``,
    ``whole_gallery``, ``one_item``; ``k_zero``, ``k_negative``, ``k_beyond``, ``repeated_item``, ``item_out_of_range``,
    ``relevance_not_01``, ``shapes_differ`` must raise; ``random_0`` … are hidden.
    """
    f2_relevant = [[int(item in items) for item in range(5)] for items in F2_RELEVANT]
    f2_lists = [list(row) for row in F2_LISTS]
    cases = [_case(f"f2_k{k}", f2_lists, f2_relevant, k) for k in range(1, 6)]
    cases += [
        _case("empty_relevance", f2_lists, [[0] * 5] * 4, 2),
        _case("perfect", [[1, 0, 2], [2, 1, 0]], [[0, 1, 0], [0, 0, 1]], 1),
        _case("several_relevant", [[0, 1, 2, 3], [3, 2, 1, 0]], [[1, 1, 1, 0], [1, 0, 0, 0]], 2),
        _case("by_item", [[2, 1, 0]], [[1, 0, 0]], 1),
        _case("whole_gallery", [[1, 0], [0, 1]], [[1, 0], [0, 0]], 2),
        _case("one_item", [[0]], [[1]], 1),
    ]
    pair, right = [[1, 0], [0, 1]], [[1, 0], [0, 1]]
    for name, lists, relevant, k in (
        ("k_zero", pair, right, 0),
        ("k_negative", pair, right, -1),
        ("k_beyond", pair, right, 3),
        ("repeated_item", [[1, 1], [0, 1]], right, 1),
        ("item_out_of_range", [[1, 2], [0, 1]], right, 1),
        ("relevance_not_01", pair, [[2, 0], [0, 1]], 1),
        ("shapes_differ", pair, [[1, 0]], 1),
    ):
        cases.append(Case(name=name, rank_matrix=lists, rel_matrix=relevant, k=k, expected=None, misreadings={}))
    rng = np.random.default_rng(seed)
    for i in range(n_random):
        n_query, n_gallery = rng.integers(1, 6), rng.integers(1, 8)
        lists = [rng.permutation(n_gallery).tolist() for _ in range(n_query)]
        relevant = (rng.random((n_query, n_gallery)) < rng.choice([0.1, 0.3, 0.6])).astype(int).tolist()
        cases.append(_case(f"random_{i}", lists, relevant, int(rng.integers(1, n_gallery + 1))))
    return cases


def _case(name: str, lists: list[list[int]], relevant: list[list[int]], k: int) -> Case:
    """A case with its right value and those of the usual misreadings."""
    sets = Sets.from_lists([np.flatnonzero(row) for row in relevant])
    ranking = rank_scores(-np.argsort(lists, axis=1), Relevance.of(sets, len(lists[0])))
    macro, precise = metrics.item_recall_macro(ranking, k), metrics.precision(ranking, k)
    values = {
        "left_out": metrics.recall_evaluable(ranking, k).value,
        "item_level:micro": metrics.item_recall(ranking, k).value,
        "item_level:macro": macro.value,
        "item_level:all": float(macro.numerator.mean()),
        "precision:evaluable": precise.value,
        "precision:all": float(precise.numerator.mean() / k),
        "by_place": float(np.asarray(relevant)[:, :k].any(axis=1).mean()),
    }
    defined = {misread: value for misread, value in values.items() if not np.isnan(value)}
    expected = recall_at_k(lists, relevant, k)
    return Case(name=name, rank_matrix=lists, rel_matrix=relevant, k=k, expected=expected, misreadings=defined)


def answer_of(function: Callable[..., Any], case: Case) -> Answer:
    """Call a function with a case's inputs. Needs numpy alone: its source also runs in other processes."""
    ranks, relevant = np.array(case["rank_matrix"]), np.array(case["rel_matrix"])
    before = ranks.copy(), relevant.copy()
    answer: Answer = {"value": None, "kind": "", "error": [], "message": "", "changed": False}
    try:
        given = function(ranks, relevant, case["k"])
        answer["kind"] = type(given).__name__
        if isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool):
            answer["value"] = float(given)
    except Exception as error:
        answer["error"] = [kind.__name__ for kind in type(error).__mro__]
        try:
            answer["message"] = str(error)[:300]
        except Exception:
            answer["message"] = ""
    answer["changed"] = not (np.array_equal(ranks, before[0]) and np.array_equal(relevant, before[1]))
    return answer


def verdict(case: Case, answer: Answer) -> str:
    """What is wrong with an answer? A hint, or the empty string. Needs nothing: its source runs anywhere."""
    value, error = answer["value"], answer["error"]
    if "MemoryError" in error:
        return "memory"
    if case["expected"] is None:
        if not error:
            return "not_raised"
        return "" if {"ValueError", "TypeError", "AssertionError"} & set(error) else "wrong_error"
    if error:
        return "raised"
    if value is None:
        return "no_number"
    if value != value:
        return "is_nan"
    if abs(value - case["expected"]) > 1e-9:
        return "wrong_value"
    return "changed_input" if answer["changed"] else ""


def misreading(cases: Sequence[Case], answers: Sequence[Answer]) -> str:
    """Which known misreading explains every value that was given? Its hint, else ``wrong_value``.

    One case alone cannot tell: the same wrong value has several explanations. Needs nothing, as ``verdict``.
    """
    given = [(case["misreadings"], answer["value"]) for case, answer in zip(cases, answers) if case["misreadings"]]  # noqa: B905
    for name in given[0][0] if given else ():
        both = [(misreadings[name], value) for misreadings, value in given if name in misreadings and value is not None]
        if both and all(abs(misread - value) <= 1e-9 for misread, value in both):
            return name.split(":")[0]
    return "wrong_value"


def mark_f3(cases: Sequence[Case], answers: Sequence[Answer]) -> Marked:
    """Judge the answers, one a case in order; cases without an answer (the program was stopped) are ``no_answer``."""
    wrongs: dict[str, Wrong] = {}
    wrong_value = misreading(cases, answers)
    for i, case in enumerate(cases):
        answer = answers[i] if i < len(answers) else None
        hint = "no_answer" if answer is None else verdict(case, answer)
        hint = wrong_value if hint == "wrong_value" else hint
        wrongs[case["name"]] = None
        if hint:
            inputs = {"rank_matrix": case["rank_matrix"], "rel_matrix": case["rel_matrix"], "k": case["k"]}
            got = answer or Answer(value=None, kind="", error=[], message="", changed=False)
            wrongs[case["name"]] = (
                hint,
                {
                    "case": case["name"],
                    "inputs": inputs,
                    "expected": case["expected"],
                    "value": got["value"],
                    "kind": got["kind"],
                    "error": got["error"][0] if got["error"] else "",
                    "message": got["message"],
                },
            )
    return marked(wrongs)


def check_f3(function: Callable[..., Any], cases: Sequence[Case] | None = None) -> Marked:
    """Does a function give every case's answer? For code that may run in this process; others': ``run_code``."""
    asked = f3_cases() if cases is None else cases
    return mark_f3(asked, [answer_of(function, case) for case in asked])
