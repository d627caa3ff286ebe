"""What was tagged and judged, on a page: taken home as files, the list of tags edited, and the score corrected."""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import cached
from pages.shared.components import score_tables, triage
from pages.shared.failure_list import signed
from pages.shared.frame import settings, shell
from pages.shared.words import _, plain, plural
from pages.shared.words.labels import problem_text
from recall_core import diagnosis, evaluation
from recall_core.errors import DataError

HEIGHT = 240


def folded(here: shell.Here) -> None:
    """Show it to those who unfold it."""
    found = triage.marks(here.dataset)
    judged = diagnosis.count_judged(found)
    tagged = plural("{n} tag or note", "{n} tags and notes", len(found) - judged)
    pairs = plural("{n} judged pair", "{n} judged pairs", judged)
    title = " · ".join([_("Tags and corrections"), tagged, pairs])
    unfolded = st.expander(title, key="corrections", on_change="rerun")
    if not unfolded.open:
        return
    with unfolded:
        _files(here, found)
        left, right = st.columns(2, gap="large")
        with left:
            _tag_list(here)
        with right:
            _corrected(here, judged)


def _files(here: shell.Here, found: pd.DataFrame) -> None:
    """Offer the marks as files."""
    if found.empty:
        shell.quiet(
            _("Nothing is tagged yet: step with J and K, tag with 1 to 9, write with N; the key ? shows all keys.")
        )
        return
    name = here.dataset.name
    with st.container(horizontal=True):
        _file(_("All marks as CSV"), "csv", diagnosis.triage_csv(found), f"{name}_marks.csv", "text/csv")
        _file(
            _("Judged pairs as a patch of the judgements"),
            "patch",
            diagnosis.triage_patch(found),
            f"{name}_patch.csv",
            "text/csv",
        )
        if here.dataset.role("path") is not None:
            fiftyone = diagnosis.triage_fiftyone(found, here.dataset)
            _file(_("Tags for FiftyOne"), "fiftyone", fiftyone, "samples.json", "application/json")


def _file(label: str, key: str, content: str, name: str, mime: str) -> None:
    st.download_button(label, content, file_name=name, mime=mime, key=f"marks_{key}", on_click="ignore")


def _tag_list(here: shell.Here) -> None:
    """Let the visitor edit which tags the keys give."""
    where = triage.store(here.dataset)
    st.session_state["tag_names"] = "\n".join(diagnosis.tag_list(where))
    st.text_area(
        _("Tags, one a line; the first nine have the keys 1 to 9"),
        key="tag_names",
        height=HEIGHT,
        on_change=_edit,
        args=(where,),
    )
    if "tag_problem" in st.session_state:
        st.error(plain(st.session_state.pop("tag_problem")))


def _edit(where: str) -> None:
    names = [line.strip() for line in st.session_state["tag_names"].splitlines() if line.strip()]
    try:
        diagnosis.edit_tag_list(where, names)
    except DataError as problem:
        st.session_state["tag_problem"] = problem_text(problem)


def _corrected(here: shell.Here, judged: int) -> None:
    """Evaluate again with the judged pairs, and show both."""
    st.markdown("**" + _("What would the score be with my corrections?") + "**")
    shell.quiet(_("Focus a picture on Query and press T where it is in truth right, or wrong."))
    if not judged:
        return
    st.button(_("Re-evaluate with my corrections"), key="correct", on_click=_want_corrected)
    if not st.session_state.get("corrected"):
        return
    patch = diagnosis.write_patch(triage.store(here.dataset))
    before = here.evaluation
    spec = here.spec.replace(corrections=str(patch))
    after = cached.evaluation(here.dataset, spec)
    found = diagnosis.before_after(before, after, [f"recall@{here.k}", "map"])
    st.table(_table(found), hide_index=True)
    shell.quiet(_("Another rule of what is right is another question, so no test is made between the two."))
    st.code(settings.to_command(spec), language=None, wrap_lines=True)


def _want_corrected() -> None:
    st.session_state["corrected"] = True


def _table(found: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for row in found.to_dict("records"):
        rows.append(
            {
                _("score"): score_tables.metric_label(row["metric"]),
                _("before"): _with_ends(row, "before"),
                _("after"): _with_ends(row, "after"),
                _("change"): signed(row["change"], 4) if row["change"] == row["change"] else "",
                _("queries changed"): row["n_changed"],
            }
        )
    return pd.DataFrame(rows)


def _with_ends(row: Mapping[Hashable, Any], which: str) -> str:
    low, high = row[f"{which}_low"], row[f"{which}_high"]
    ends = f" [{evaluation.spell_number(low)}, {evaluation.spell_number(high)}]" if low == low else ""
    return evaluation.spell_number(row[which]) + ends
