"""Compare: several evaluations of the same queries: which is better, could it be chance, and on which queries."""

import streamlit as st

from pages.compare import run_table
from pages.shared.components import copying, findings_banner
from pages.shared.frame import shell
from pages.shared.words import _, plain
from pages.shared.words.labels import labels, problem_text
from recall_core import diagnosis
from recall_core.errors import DataError

here = shell.here()
shell.header(
    _("Compare"), _("Is one better than another, or is it chance? And on which queries?"), here, here.evaluation
)
there = run_table.offered(here)
names = run_table.ask(here, there)
if len(names) == 1:
    run_table.alone(here, names[0], there)
if len(names) < 2:
    st.info(
        _(
            "Choose at least two. Runs are saved on Overview, or by the command evaluate with --save; those in a "
            "folder named runs beside the data are listed too."
        )
    )
    st.stop()
common = st.toggle(labels()["common"], key="common", bind="query-params")
evaluations = run_table.evaluations(here, names, there)
try:
    compared = diagnosis.compare(evaluations, common=common)
except DataError as problem:
    st.error(plain(problem_text(problem)))
    st.stop()

findings_banner.findings(evaluations[names[0]].dataset, compared.findings)
k = run_table.common_k(compared, here.k)
with st.container(horizontal=True, vertical_alignment="bottom"):
    metric = run_table.ask_metric(compared, k)
    pair = [names[0], names[1]]
    if len(names) > 2:
        pair[0] = st.selectbox(_("First"), names, 0, key="first_run", width=240)
        pair[1] = st.selectbox(_("Second"), [name for name in names if name != pair[0]], key="second_run", width=240)
both = list(dict.fromkeys([metric, *run_table.usual(k)]))
run_table.runs_table(compared, both)
run_table.trend(compared, metric)
st.subheader(_("Could it be chance?"), anchor=False)
run_table.tests_table(compared, both)
run_table.exports(compared, both)
st.subheader(_("From {first} to {second}").format(first=plain(pair[0]), second=plain(pair[1])), anchor=False)
run_table.moves(compared, run_table.Chosen(tuple(names), metric, names.index(pair[0]), names.index(pair[1])))
link = {**here.query, run_table.RUNS: ",".join(names), **({"common": "true"} if common else {})}
copying.buttons(link, run_table.commands(here, names, there, both, common))
