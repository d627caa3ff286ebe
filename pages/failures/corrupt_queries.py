"""Make the pictures that ask worse, step by step, or ask another harder question."""

import streamlit as st

from pages.shared import cached
from pages.shared.frame import settings, shell
from pages.shared.frame.shell import Here
from pages.shared.keys import key
from pages.shared.words import _, number, plain
from recall_core import images
from recall_core.evaluation import Evaluation


def ask(here: Here, evaluation: Evaluation, *, nothing_fails: bool) -> None:
    """Where nothing fails, say so and offer what would be harder; where the slider is in use, keep it in its place.

    It stands at the same place of the page in both cases, so it keeps the focus and the keys that it has not told yet
    when the first failure comes in.
    """
    said, place, others = st.container(), st.container(), st.container()
    if nothing_fails:
        with said:
            _nothing_fails(here, evaluation)
    if in_use(here) or (nothing_fails and evaluation.counts["n_evaluable"] and _can_be_disturbed(here)):
        with place.container(border=True):
            slider(here)
    if nothing_fails and evaluation.counts["n_evaluable"]:
        with others:
            _other_questions(here, evaluation)


def in_use(here: Here) -> bool:
    """Are the pictures that ask made worse by the slider now?"""
    return here.spec.corrupt is not None and _can_be_disturbed(here)


def _nothing_fails(here: Here, evaluation: Evaluation) -> None:
    if not evaluation.counts["n_evaluable"]:
        st.info(
            _(
                "No query has anything right in the gallery, so nothing can be measured. Choose another column for "
                "what is right, or another split."
            )
        )
        return
    recall = evaluation.scores[f"recall@{here.k}"]
    st.success(
        _("No failure at k = {k}: each of the {n} queries finds a right picture.").format(
            k=here.k, n=number(int(recall.denominator))
        )
    )
    st.subheader(_("What would be harder?"), anchor=False)


def _other_questions(here: Here, evaluation: Evaluation) -> None:
    with st.container(horizontal=True):
        for i, question in enumerate(settings.harder(here.dataset, here.folder, evaluation.spec)):
            st.button(question.label, key=f"harder_{i}", on_click=shell.change, args=(question.changes,))
        for name in cached.data_sets():
            if name != here.name:
                label = _("Open {name}").format(name=plain(name))
                st.button(label, key=key("other", name), on_click=shell.choose, args=(name,))


def within_reach(here: Here) -> None:
    """Keep the slider within reach, out of the way."""
    if _can_be_disturbed(here):
        with st.popover(_("Make the pictures that ask worse"), key="disturb"):
            slider(here)


def slider(here: Here) -> None:
    """Ask how the pictures that ask are made worse, and how much; 0 leaves them as they are."""
    kind, severity = images.parse_corruption(here.spec.corrupt) if here.spec.corrupt else ("", 0.0)
    if kind:
        st.session_state["disturb_kind"] = kind
    st.session_state["disturb_severity"] = severity
    st.segmented_control(
        _("Make the pictures that ask worse"),
        list(images.CORRUPTIONS),
        default=None if "disturb_kind" in st.session_state else "noise",
        format_func=kind_words,
        key="disturb_kind",
        required=True,
        on_change=_disturb,
    )
    st.slider(
        _("How much: 0 is not at all"), 0.0, 1.0, step=0.05, format="%.2f", key="disturb_severity", on_change=_disturb
    )


def kind_words(kind: str) -> str:
    """Say a kind of disturbance in a word or two."""
    return {"patch": _("cover a part"), "noise": _("noise"), "blur": _("blur"), "shift": _("shift")}[kind]


def _can_be_disturbed(here: Here) -> bool:
    return here.dataset.pictures is not None and not here.spec.embeddings and not here.spec.scores


def _disturb() -> None:
    kind, severity = st.session_state["disturb_kind"], st.session_state["disturb_severity"]
    spelled = f"{kind}:{severity:g}" if severity else settings.NONE
    shell.change({"corrupt": spelled, "query_images": settings.NONE})
