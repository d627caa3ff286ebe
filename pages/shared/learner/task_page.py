"""The exercises: which there are, where the visitor is, what is said to an answer.

Every cell is judged as soon as it is filled; a hint speaks of the first one that is filled and wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from pages.shared.frame import shell
from pages.shared.words import _, plain
from recall_core import course, evaluation
from recall_core.course import F2_KS, F2_LISTS, F2_RELEVANT, TASKS, Marked

from . import lab_data, progress_store, texts

Answers = dict[str, str]
Check = Callable[[Mapping[str, str]], Marked]
MARKS = {True: ":green[**✓**]", False: ":red[**✗**]", None: ":gray[○]"}


@dataclass(frozen=True)
class Judged:
    """What became of the answers so far.

    Parameters
    ----------
    marks : mapping of cell to bool or None
        None where a cell is empty.
    said : Marked
        Hint and counter-example for the first cell that is filled and wrong.
    complete : bool
        Is every cell filled?
    """

    marks: Mapping[str, bool | None]
    said: Marked
    complete: bool

    @property
    def correct(self) -> bool:
        """Is every cell filled, and right?"""
        return self.complete and all(self.marks.values())

    def mark(self, cell: str) -> str:
        """Give the sign that stands beside a cell."""
        return MARKS[self.marks[cell]]


def current() -> str:
    """Which task does the URL name? The first, where it names none."""
    asked = st.query_params.get("task", "")
    return asked if asked in TASKS else TASKS[0]


def go(task: str) -> None:
    """Go to a task; for callbacks."""
    st.query_params["task"] = task


def contents(task: str) -> None:
    """Show all tasks; those that were solved are marked."""
    st.session_state["task_chosen"] = task
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.segmented_control(
            _("Task"),
            TASKS,
            format_func=_name,
            key="task_chosen",
            label_visibility="collapsed",
            required=True,
            on_change=lambda: go(st.session_state["task_chosen"]),
        )
        progress_store.controls()


def judge(task: str, answers: Answers, right: Mapping[str, str], check: Check) -> Judged:
    """Judge what is filled in; note it where anything is.

    Parameters
    ----------
    answers : dict of cell to text
        Empty where nothing was filled in.
    right : mapping
        A right answer for each cell, which stands for the empty ones while the others are judged.
    check : callable
        From ``exercises``.
    """
    empty = {cell for cell, given in answers.items() if not given.strip()}
    said = check({**answers, **{cell: right[cell] for cell in empty}})
    marks = {cell: None if cell in empty else mark for cell, mark in said.marks.items()}
    judged = Judged(marks, said, not empty)
    if len(empty) < len(answers):
        progress_store.attempt(task, answers, correct=judged.correct)
    return judged


def verdict(judged: Judged) -> None:
    """Say the hint, how much is left to do, or that all is right."""
    if judged.said.hint:
        st.error("✗ " + hint(judged.said))
    elif judged.correct:
        st.success("✓ " + _("All right. Well done!"))
    elif any(judged.marks.values()):
        left = sum(mark is None for mark in judged.marks.values())
        st.info(_("So far all is right; {n} left.").format(n=left))


def hint(said: Marked) -> str:
    """Say a hint in the visitor's language."""
    parameters = dict(said.parameters)
    if said.hint == "not_admissible":
        parameters["problem"] = texts.fill(texts.phrases("hints")[parameters["problem"]], spell(parameters))
    return texts.fill(texts.phrases("hints")[said.hint], spell(parameters))


def spell(parameters: Mapping[str, Any]) -> Mapping[str, str]:
    """Spell what a hint speaks of; what somebody typed stays as it was typed."""
    spelled = {}
    for name, value in parameters.items():
        if name == "cell":
            spelled[name] = cell_words(str(value))
        elif isinstance(value, list | tuple):
            spelled[name] = ", ".join(_spell(str(one)) for one in value)
        elif isinstance(value, float):
            spelled[name] = f"{value:.4g}"
        else:
            spelled[name] = _spell(str(value))
    return spelled


def _spell(name: str) -> str:
    said = choice(name)
    return plain(name) if said == name else said


def choice(name: str, *, first: bool = False) -> str:
    """Say what can be chosen, with a capital where it comes first; what is no choice stays as it is."""
    said = texts.phrases("choices").get(name, name)
    return said[:1].upper() + said[1:] if first else said


def cell_words(cell: str) -> str:
    """Say which cell is meant."""
    where, _at, k = cell.partition("@")
    if where == "recall":
        return f"R@{k}"
    if where.startswith("hits:"):
        return f"q{where.removeprefix('hits:')}, k = {k}"
    return choice(cell)


def one_of(
    task: str, cell: str, label: str, options: Sequence[str], spelled: Callable[[str], str] | None = None
) -> str:
    """Ask for one of a few answers; empty where none is chosen yet."""
    known = st.session_state.get(progress_store.key(task, cell))
    if known is not None and known not in options:
        del st.session_state[progress_store.key(task, cell)]  # it came from a file
    chosen = st.radio(
        label,
        list(options),
        index=None,
        format_func=spelled or (lambda option: choice(option)),
        key=progress_store.key(task, cell),
        persist_state="session",
    )
    return chosen or ""


def typed(task: str, cell: str, label: str, **more: Any) -> str:
    """Ask for a text."""
    return str(
        st.text_input(label, key=progress_store.key(task, cell), max_chars=400, persist_state="session", **more) or ""
    )


def onward(task: str) -> None:
    """Lead to the tasks before and after."""
    at = TASKS.index(task)
    st.space("small")
    with st.container(horizontal=True, horizontal_alignment="right" if at == 0 else "distribute"):
        if at:
            st.button("← " + title(TASKS[at - 1]), key="task_back", on_click=go, args=(TASKS[at - 1],))
        if at + 1 < len(TASKS):
            st.button(title(TASKS[at + 1]) + " →", key="task_next", on_click=go, args=(TASKS[at + 1],))
        else:
            st.button(_("Back to the lesson"), key="to_lesson", on_click=shell.go, args=("lesson",))


def title(task: str) -> str:
    """Give a task's title."""
    return texts.read(f"task_{task}").title


def values(task: str) -> Mapping[str, str]:
    """Give the numbers of a task's text and solution, computed from the data."""
    return VALUES.get(task, dict)()


def _name(task: str) -> str:
    name = _("Opening question") if task == "opening" else task
    return f"{name} ✓" if progress_store.solved(task) else name


def _opening_values() -> Mapping[str, str]:
    n = course.OPENING_N
    (few_1, many_1), (few_3, many_3) = (course.extreme_ranks(k) for k in (1, 3))

    def share(ranks: Sequence[int], k: int) -> str:
        return f"{round(course.propose_ranks(ranks).recall[k] * n)}/{n}"

    return {
        "n": str(n),
        "mean": str(course.OPENING_MEAN),
        "low_1": share(few_1, 1),
        "high_1": share(many_1, 1),
        "low_3": share(few_3, 3),
        "high_3": share(many_3, 3),
        "few_1": spell_ranks(few_1),
        "many_1": spell_ranks(many_1),
        "many_3": spell_ranks(many_3),
    }


def spell_ranks(ranks: Sequence[int]) -> str:
    """Spell ranks shortly: ``26*1 4 3*30``."""
    counted = {rank: list(ranks).count(rank) for rank in sorted(set(ranks))}
    return " ".join(f"{n}*{rank}" if n > 1 else str(rank) for rank, n in counted.items())


def f2_query(q: int) -> str:
    """Write one query of task F2: its list, and what is right."""
    ranked, relevant = F2_LISTS[q - 1], sorted(F2_RELEVANT[q - 1])
    shown = ", ".join(map(str, relevant))
    return f"q{q}: &ensp; **{' '.join(map(str, ranked))}** &ensp; Rel = {{{shown}}}"


def f2_table(answers: Mapping[str, str]) -> str:
    """Write task F2 as a table with its answers."""
    lines = [["Q", *(f"k = {k}" for k in F2_KS)], ["---"] * (1 + len(F2_KS))]
    lines += [[f2_query(q), *(answers[f"hits:{q}@{k}"] for k in F2_KS)] for q in range(1, len(F2_LISTS) + 1)]
    lines.append(["**R@k**", *(answers[f"recall@{k}"] for k in F2_KS)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _f2_values() -> Mapping[str, str]:
    return {"table": f2_table(course.f2_solution())}


def _f4_values() -> Mapping[str, str]:
    facts = course.f4_facts(lab_data.halves())
    return {
        "n_lost": str(facts.n_lost),
        "n_query": str(facts.n_query),
        "recall_miss": evaluation.spell_number(facts.recall_miss),
        "recall_exclude": evaluation.spell_number(facts.recall_exclude),
    }


def _f5_values() -> Mapping[str, str]:
    columns = (
        f"*{choice(column)}*: {', '.join(map(choice, entries))}" for column, entries in course.F5_COLUMNS.items()
    )
    return {"order": " → ".join(map(choice, course.F5_PARTS)), "columns": "; ".join(columns)}


VALUES: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "opening": _opening_values,
    "F2": _f2_values,
    "F4": _f4_values,
    "F5": _f5_values,
}
