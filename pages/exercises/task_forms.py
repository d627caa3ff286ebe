"""The form of each exercise: what is asked, how it is judged, what the judgement shows."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.shared import cached
from pages.shared.components import gallery
from pages.shared.components.gallery import Grid, Tile
from pages.shared.learner import lab_data, progress_store, task_page, texts
from pages.shared.learner.task_page import Judged
from pages.shared.words import _, plain, plural
from recall_core import course
from recall_core.course import (
    F1_REASONS,
    F1_RULES,
    F2_KS,
    F2_LISTS,
    F4_CONSEQUENCES,
    F4_LINES,
    F4_REPAIRS,
    F5_ENTRIES,
    F5_PARTS,
)

OPENING_ANSWERS = ("all_four", "a_quarter", "no_unique_answer")
F2_WIDTHS = (5, 3, 3, 3)
PART_ORDER = ("tune", "report", "exact", "freeze", "protocol", "measure", "build")
"""How the parts of F5 are offered: not in the order that is asked for."""


def show(task: str) -> None:
    """Show a task: what is asked, its form, and what is said to the answer."""
    text = texts.read(f"task_{task}")
    st.subheader(text.title, anchor=False)
    st.markdown(text.filled("task", task_page.values(task)))
    FORMS[task]()
    if progress_store.solved(task):
        with st.expander(_("Solution")):
            st.markdown(text.filled("solution", task_page.values(task)))


def opening() -> None:
    cells = ("answer", "one", "other")
    progress_store.restore("opening", cells)
    asked, built = st.columns([2, 3], gap="large")
    with asked:
        answers = {"answer": task_page.one_of("opening", "answer", _("What are R@1 and R@3?"), OPENING_ANSWERS)}
    with built:
        for cell in cells[1:]:
            answers[cell] = task_page.typed(
                "opening", cell, task_page.choice(cell, first=True), placeholder="10*1 5*2 30 …"
            )
            if answers[cell].strip():
                _say_ranks(answers[cell])
    right = _right_opening(answers)
    judged = task_page.judge(
        "opening", answers, right, lambda a: course.check_opening(a["answer"], a["one"], a["other"])
    )
    task_page.verdict(judged)


def _say_ranks(typed: str) -> None:
    proposed = course.propose_ranks(typed)
    n = course.OPENING_N
    if not proposed.problem:
        shares = " · ".join(f"R@{k} = {round(value * n)}/{n} = {value:.4f}" for k, value in proposed.recall.items())
        st.markdown(f":green[✓] {shares}")


def _right_opening(answers: Mapping[str, str]) -> Mapping[str, str]:
    """Right answers that differ from what is filled in already, so that a missing second ranking is no fault yet."""
    few, many = map(task_page.spell_ranks, course.extreme_ranks(1))
    shown = answers["one"] or answers["other"]
    same = course.propose_ranks(shown).recall == course.propose_ranks(few).recall
    return {"answer": "no_unique_answer", "one": many if same else few, "other": many if same or not shown else few}


def f1() -> None:
    progress_store.restore("F1", ("rule", "reason"))
    left, right = st.columns(2, gap="large")
    with left:
        rule = task_page.one_of("F1", "rule", _("A gallery picture is right if it shows …"), F1_RULES)
    with right:
        reason = task_page.one_of("F1", "reason", _("because …"), sorted(F1_REASONS))
    dataset = lab_data.dataset()
    judged = task_page.judge(
        "F1",
        {"rule": rule, "reason": reason},
        {"rule": F1_RULES[0], "reason": F1_REASONS[0]},
        lambda a: course.check_f1(dataset, a["rule"], a["reason"]),
    )
    task_page.verdict(judged)
    _counter_example(judged)


def _counter_example(judged: Judged, heading: str = "") -> None:
    rows = judged.said.counter_example
    if rows:
        group = lab_data.dataset().role("group")
        names = [str(group[row]) if group is not None else "" for row in rows]
        shown = [
            Tile(cached.thumbnail(lab_data.dataset(), row), name, name) for row, name in zip(rows, names, strict=True)
        ]
        gallery.show(shown, Grid(heading or _("Counter-example from the data"), columns=10), key="counter")


def f2() -> None:
    cells = list(course.f2_solution())
    progress_store.restore("F2", cells)
    answers: dict[str, str] = {}
    places = {}
    head = st.columns(F2_WIDTHS, gap="medium")
    for place, k in zip(head[1:], F2_KS, strict=True):
        place.markdown(rf"$\mathrm{{Top}}_{k} \cap \mathrm{{Rel}}$")
    for q in (*range(1, len(F2_LISTS) + 1), 0):
        row = st.columns(F2_WIDTHS, gap="medium", vertical_alignment="center")
        row[0].markdown(task_page.f2_query(q) if q else "**R@k**")
        for place, k in zip(row[1:], F2_KS, strict=True):
            cell = f"hits:{q}@{k}" if q else f"recall@{k}"
            with place.container(horizontal=True, vertical_alignment="center", gap="small"):
                answers[cell] = task_page.typed("F2", cell, task_page.cell_words(cell), label_visibility="collapsed")
                places[cell] = st.empty()
    judged = task_page.judge("F2", answers, course.f2_solution(), course.check_f2)
    for cell, place in places.items():
        place.markdown(judged.mark(cell))
    task_page.verdict(judged)


def f3() -> None:
    if not course.code_allowed():
        st.info(
            _(
                "Code does not run on this server. Download the same checks and run them on your own machine: `python "
                "test_recall.py recall.py`. For a box to write in here, start the program on your own machine with "
                "RECALL_CODE_BOX=1."
            )
        )
        words = texts.phrases("checks")
        checks, stub = course.checks_file(words), course.F3_STUB
        with st.container(horizontal=True):
            st.download_button(_("Download the checks"), checks, "test_recall.py", "text/x-python", key="checks")
            st.download_button(_("Download an empty answer"), stub, "recall.py", "text/x-python", key="stub")
        st.code(course.F3_STUB, language="python")
        passed = st.checkbox(_("All cases passed on my machine"), key="F3_passed", value=progress_store.solved("F3"))
        if passed:
            progress_store.attempt("F3", {"passed": "yes"}, correct=True)
        return
    known = progress_store.now()["tasks"].get("F3")
    first = known["answers"].get("code", course.F3_STUB) if known else course.F3_STUB
    st.session_state.setdefault("F3.code", first)
    source = str(st.text_area("recall.py", key="F3.code", height=260, max_chars=20_000, persist_state="session"))
    if st.button(_("Run the checks"), key="run"):
        with st.spinner(_("Running …")):
            st.session_state["boxed"] = course.run_code(source)
        boxed = st.session_state["boxed"]
        progress_store.attempt("F3", {"code": source}, correct=boxed.marked.correct and not boxed.stopped)
    boxed = st.session_state.get("boxed")
    if boxed is not None:
        _say_boxed(boxed)
    st.caption(_("The box protects from accidents, not from attackers."))


def _say_boxed(boxed: course.Boxed) -> None:
    marks = boxed.marked.marks
    if boxed.stopped:
        told = texts.phrases("hints")[boxed.stopped]
        st.error(texts.fill(told, {"message": plain(boxed.message)}))
    elif boxed.marked.correct:
        st.success(plural("{n} case passed.", "All {n} cases passed.", len(marks)))
    else:
        n_passed = sum(marks.values())
        st.error(_("{a} of {b} cases passed.").format(a=n_passed, b=len(marks)) + " " + task_page.hint(boxed.marked))
    parameters = boxed.marked.parameters
    if not boxed.marked.correct and "inputs" in parameters and not boxed.stopped:
        inputs = "\n".join(f"{name} = {value}" for name, value in parameters["inputs"].items())
        expected = "ValueError" if parameters["expected"] is None else parameters["expected"]
        got = parameters["error"] or parameters["value"]
        st.code(f"# {parameters['case']}\n{inputs}\n# {_expected()}: {expected}\n# {_got()}: {got}", language="python")
    if boxed.printed:
        st.code(boxed.printed, language=None)
    if "memory" in boxed.without:
        st.caption(_("This system sets no limit to the memory that the code takes."))
    if "children" in boxed.without:
        st.caption(_("On this system a program that the code starts and lets go of runs on."))


def _expected() -> str:
    return texts.phrases("checks")["expected"]


def _got() -> str:
    return texts.phrases("checks")["got"]


def f4() -> None:
    cells = ("line", "consequence", "n_lost", "recall_miss", "recall_exclude", "repair")
    progress_store.restore("F4", cells)
    halves = lab_data.halves()
    st.code("\n".join(F4_LINES), language="python", line_numbers=True)
    left, right = st.columns(2, gap="large")
    answers = {}
    with left:
        lines = [str(i) for i in range(1, len(F4_LINES) + 1)]
        answers["line"] = task_page.one_of("F4", "line", _("Which line is at fault?"), lines)
        answers["consequence"] = task_page.one_of(
            "F4", "consequence", _("What is the consequence?"), sorted(F4_CONSEQUENCES)
        )
    with right:
        places = {}
        for cell in cells[2:5]:
            with st.container(horizontal=True, vertical_alignment="bottom"):
                answers[cell] = task_page.typed("F4", cell, task_page.choice(cell, first=True))
                places[cell] = st.empty()
        answers["repair"] = task_page.one_of("F4", "repair", _("How is it repaired?"), sorted(F4_REPAIRS))
    facts = course.f4_facts(halves)
    solution = {
        "line": "2",
        "consequence": F4_CONSEQUENCES[0],
        "n_lost": str(facts.n_lost),
        "recall_miss": f"{facts.recall_miss:.4f}",
        "recall_exclude": f"{facts.recall_exclude:.4f}",
        "repair": F4_REPAIRS[0],
    }
    judged = task_page.judge("F4", answers, solution, lambda a: course.check_f4(halves, a))
    for cell, place in places.items():
        place.markdown(judged.mark(cell))
    task_page.verdict(judged)
    if answers["repair"]:
        _guarantee(answers["repair"])
    if answers["consequence"] == F4_CONSEQUENCES[0]:
        _counter_example(judged, _("A lost query and its partner, which asks as well"))


def _guarantee(repair: str) -> None:
    halves = lab_data.halves()
    kept = course.guarantee(halves, repair)
    holds = kept.holds(len(halves.rows))
    same = (
        _("the same scenes on both sides")
        if kept.same_groups
        else plural("{n} scene on one side only", "{n} scenes on one side only", len(kept.one_sided))
    )
    told = _("With this repair: {a} ask, {b} answer, {lost} lost; {same}.")
    words = told.format(a=kept.n_query, b=kept.n_gallery, lost=kept.n_lost, same=same)
    st.markdown(("✓ " if holds else "✗ ") + words)


def f5() -> None:
    progress_store.restore("F5", F5_ENTRIES)
    known = progress_store.now()["tasks"].get("F5")
    if known and "F5.order" not in st.session_state and known["answers"].get("order"):
        st.session_state["F5.order"] = [part for part in known["answers"]["order"].split() if part in F5_PARTS]
    picked_in, listed = st.columns(2, gap="large")
    order: Sequence[str] = picked_in.multiselect(
        _("Pick the parts in the order in which they are done"),
        PART_ORDER,
        format_func=task_page.choice,
        key="F5.order",
        placeholder=_("first, second, …"),
        persist_state="session",
    )
    if order:
        listed.markdown("\n".join(f"{i}. {task_page.choice(part)}" for i, part in enumerate(order, 1)))
    st.markdown("**" + _("Which column may it stand in?") + "**")
    answers, places = {}, {}
    columns = st.columns(2, gap="large")
    options = list(course.F5_COLUMNS)
    for entry in F5_ENTRIES:
        if st.session_state.get(progress_store.key("F5", entry)) not in (None, *options):
            del st.session_state[progress_store.key("F5", entry)]  # it came from a file
    for i, entry in enumerate(F5_ENTRIES):
        with columns[i % 2].container(horizontal=True, vertical_alignment="bottom"):
            picked = st.selectbox(
                task_page.choice(entry, first=True),
                options,
                index=None,
                format_func=task_page.choice,
                key=progress_store.key("F5", entry),
                placeholder=_("choose"),
                persist_state="session",
            )
            answers[entry] = picked or ""
            places[entry] = st.empty()
    right = {entry: column for column, entries in course.F5_COLUMNS.items() for entry in entries}
    judged = task_page.judge(
        "F5",
        {"order": _order_so_far(order), **answers},
        {"order": " ".join(F5_PARTS), **right},
        lambda a: _check_f5(a["order"].split(), a),
    )
    for entry, place in places.items():
        place.markdown(judged.mark(entry))
    task_page.verdict(judged)


def _order_so_far(order: Sequence[str]) -> str:
    """Judge an unfinished order as if the rest followed; as long as that works it is open, not wrong."""
    whole = [*order, *(part for part in F5_PARTS if part not in order)]
    open_still = len(order) < len(F5_PARTS) and course.check_f5_order(whole).correct
    return "" if open_still else " ".join(whole)


def _check_f5(order: Sequence[str], answers: Mapping[str, str]) -> course.Marked:
    """Judge order and columns as one task; the order is one cell."""
    by_part = course.check_f5_order(order)
    columns = course.check_f5_columns(answers)
    first = columns if by_part.correct else by_part
    return course.Marked({"order": by_part.correct, **columns.marks}, first.hint, first.parameters)


FORMS: Mapping[str, Callable[[], None]] = {
    "opening": opening,
    "F1": f1,
    "F2": f2,
    "F3": f3,
    "F4": f4,
    "F5": f5,
}
"""Task → its form."""
