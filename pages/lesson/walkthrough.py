"""The course of the lesson: its steps, where the visitor is, the question at the end of each, and the way onward.

The step stands in the URL alone, so that a link, Back and a reload need nothing of their own.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from pages.shared.frame import shell
from pages.shared.learner import progress_store, task_page, texts
from pages.shared.learner.texts import Text
from pages.shared.words import _
from recall_core import course

from . import measure_steps, teacher_sheet, trust_steps
from .measure_steps import Shown


@dataclass(frozen=True)
class Step:
    """One step: the name of its text, what draws it, and whether it belongs to the 45 minutes."""

    name: str
    show: Callable[[], Shown]
    short: bool = False


STEPS = (
    Step("relevance", measure_steps.relevance, True),
    Step("ranking", measure_steps.ranking, True),
    Step("recall", measure_steps.recall, True),
    Step("denominators", measure_steps.denominators, True),
    Step("precision", measure_steps.precision),
    Step("ties", measure_steps.ties),
    Step("pitfalls", trust_steps.pitfalls, True),
    Step("leakage", trust_steps.trained, True),
    Step("certainty", trust_steps.certainty),
    Step("directions", trust_steps.directions),
    Step("index", trust_steps.index),
)
END = len(STEPS) + 1
"""Number of the last page: sources and self-check."""


def current() -> int:
    """Which step does the URL name? The first, where it names none."""
    asked = st.query_params.get("step", "")
    known = asked.isascii() and asked.isdigit() and len(asked) < 3 and 1 <= int(asked) <= END
    return int(asked) if known else 1


def go(step: int) -> None:
    """Go to a step; for callbacks."""
    st.query_params["step"] = str(step)


def contents(step: int) -> None:
    """Show the numbers of all steps, and mark the way of 45 minutes."""
    st.session_state["step_chosen"] = step
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(
            _("Step"),
            range(1, END + 1),
            format_func=_number_of,
            key="step_chosen",
            label_visibility="collapsed",
            required=True,
            on_change=lambda: go(st.session_state["step_chosen"]),
        )
        with st.popover(_("All steps"), type="tertiary"), st.container(gap=None):
            for number in range(1, END + 1):
                st.button(_title_of(number), key=f"to_{number}", type="tertiary", on_click=go, args=(number,))
        shell.quiet(_("• the way of 45 minutes"))
        progress_store.controls()


def show(step: int) -> None:
    """Show one step: text at the left, control and picture at the right, the question below."""
    chosen, text = STEPS[step - 1], texts.read(STEPS[step - 1].name)
    heading = st.container()
    told, picture = st.columns([5, 8], gap="large")
    with picture:
        shown = chosen.show()
    heading.subheader(f"{step} · {text.title}", anchor=False)
    with told:
        st.markdown(text.filled("idea", shown.values))
        with st.container(border=True):
            st.markdown("**" + _("Try it") + "** — " + text.filled("try", shown.values))
        st.markdown(text.filled("remember", shown.values))
    if shown.commands:
        with picture.expander(_("The same numbers from the command line")):
            for command in shown.commands:
                st.code(command, language="bash", wrap_lines=True)
    check(chosen.name, text, shown)
    with st.container(horizontal=True, vertical_alignment="center"):
        shell.quiet(text.filled("course", shown.values))
        for task in re.findall(r"\bF[1-5]\b", text.sections["course"]):
            label = _("Exercise {name}").format(name=task)
            st.button(
                label, key=f"to_{task}", type="tertiary", on_click=shell.go, args=("exercises",), kwargs={"task": task}
            )
    onward(step)


def end() -> None:
    """Show the last page: what one should be able to say now, what was done, and where it comes from."""
    text = texts.read("end")
    st.subheader(text.title, anchor=False)
    asked, did = st.columns([5, 3], gap="large")
    with asked:
        st.markdown(text.sections["idea"])
        for key, question in texts.listed(text.sections["questions"]).items():
            with st.expander(question):
                st.markdown(text.sections[key])
        st.markdown("**" + _("Sources") + "**")
        st.markdown(text.sections["sources"])
        with st.expander(_("For teachers")):
            st.markdown(_("A sheet to print, with all tasks, their solutions and the common misreadings:"))
            st.download_button(_("Teacher's sheet"), teacher_sheet.sheet(), "teacher.html", "text/html", key="sheet")
    with did.container(border=True, gap=None):
        st.markdown("**" + _("What you have done") + "**")
        for number, step in enumerate(STEPS, 1):
            _line(progress_store.solved(f"check_{step.name}"), _title_of(number), f"end_{number}", go, number)
        for task in course.TASKS:
            _line(progress_store.solved(task), task_page.title(task), f"end_{task}", shell.go, "exercises", task=task)
    onward(END)


def _line(solved: bool, title: str, key: str, act: Callable[..., None], *args: object, **more: object) -> None:
    mark = ":green[**✓**]" if solved else ":gray[○]"
    st.button(f"{mark} {title}", key=key, type="tertiary", on_click=act, args=args, kwargs=more)


def check(name: str, text: Text, shown: Shown) -> None:
    """Ask the step's question; each answer is judged at once."""
    options = text.options
    with st.container(border=True):
        st.markdown("**" + _("Check yourself") + "**")
        task = f"check_{name}"
        progress_store.restore(task, ("choice",))
        picked = task_page.one_of(
            task,
            "choice",
            texts.fill(text.question, shown.values),
            [str(i) for i in range(len(options))],
            lambda i: texts.fill(options[int(i)].text, shown.values),
        )
        if picked:
            chosen = options[int(picked)]
            progress_store.attempt(task, {"choice": picked}, correct=chosen.right)
            said = texts.fill(chosen.answer, shown.values)
            (st.success if chosen.right else st.error)(("✓ " if chosen.right else "✗ ") + said)


def onward(step: int) -> None:
    """Lead to the steps before and after, and along the way of 45 minutes where that leaves some out."""
    st.space("small")
    short = next((n for n in range(step + 1, END) if STEPS[n - 1].short), END)
    with st.container(horizontal=True, horizontal_alignment="right" if step == 1 else "distribute"):
        if step > 1:
            st.button("← " + _title_of(step - 1), key="back", on_click=go, args=(step - 1,))
        with st.container(horizontal=True, width="content"):
            if step < END and STEPS[step - 1].short and short != step + 1:
                label = _("45 minutes: on to {title}").format(title=_title_of(short))
                st.button(label, key="short", on_click=go, args=(short,))
            if step < END:
                st.button(_title_of(step + 1) + " →", key="next", on_click=go, args=(step + 1,))


def _number_of(step: int) -> str:
    if step == END:
        return "★"
    return f"{step} •" if STEPS[step - 1].short else str(step)


def _title_of(step: int) -> str:
    if step == END:
        return texts.read("end").title
    return f"{step} · {texts.read(STEPS[step - 1].name).title}"
