"""What can be taken home from Overview: the report as one file, and the run, saved to be opened and compared."""

import re
from html import escape
from pathlib import Path

import streamlit as st

from pages.shared.frame import own_data, shell
from pages.shared.words import _, plain
from pages.shared.words.labels import problem_text
from recall_core import diagnosis
from recall_core.errors import DataError
from recall_core.evaluation import Evaluation

from . import triage

N_SLICED = 3
MOST_RUNS = 200
"""So many runs are kept at most: whoever sees the page can save, and the disk is not theirs."""


def buttons(here: shell.Here, evaluation: Evaluation) -> None:
    """Offer the report and the saving of the run."""
    with st.container(horizontal=True):
        st.download_button(
            _("Report as one HTML file"),
            lambda: report(here, evaluation),
            file_name=f"{here.dataset.name}_report.html",
            mime="text/html",
            key="html",
            on_click="ignore",
        )
        with st.popover(_("Save this run")):
            _save(here, evaluation)


def report(here: shell.Here, evaluation: Evaluation) -> str:
    """Spell the report, with tags; where the data lie on the server is nobody's business."""
    columns = diagnosis.sliceable(evaluation, 20)[:N_SLICED]
    page = diagnosis.html_page(evaluation, columns=columns, marks=triage.marks(here.dataset))
    return page.replace(escape(str(here.folder)), here.name) if here.folder.is_absolute() else page


def runs_folder() -> Path:
    """Where are saved runs kept?"""
    return diagnosis.state_folder() / "runs"


def _save(here: shell.Here, evaluation: Evaluation) -> None:
    if here.name in own_data.sets():
        st.markdown(_("A run of uploaded data is not kept: others could see it. The report as a file is yours."))
        return
    spec = evaluation.spec
    made = f"{here.name}-{spec.encoder or Path(spec.embeddings or 'scores').stem}"
    st.text_input(_("Name"), made, key="run_name", max_chars=80)
    st.button(_("Save"), key="save_run", on_click=_keep, args=(evaluation,))
    for key, show in (("run_problem", st.error), ("run_saved", st.success)):
        if key in st.session_state:
            show(plain(st.session_state.pop(key)))
    shell.quiet(_("Compare lists saved runs; they open without the data."))


def _keep(evaluation: Evaluation) -> None:
    name = re.sub(r"[^\w.-]+", "-", st.session_state["run_name"]).strip("-.")
    try:
        folder = runs_folder()
        if not name:
            raise DataError(_("a run needs a name"))
        if folder.is_dir() and len(list(folder.iterdir())) >= MOST_RUNS:
            raise DataError(_("{n} runs are kept, which is all there is room for; delete some").format(n=MOST_RUNS))
        evaluation.save(folder / name)
    except DataError as problem:
        kept = _("A run named {name} is kept already; choose another name.").format(name=name)
        told = problem_text(problem).replace(str(runs_folder()), "runs")
        st.session_state["run_problem"] = kept if problem.field == "force" else told
    else:
        st.session_state["run_saved"] = _("Saved as {name}.").format(name=name)
