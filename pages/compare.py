"""Compare: several evaluations of the same queries: which is better, could it be chance, and on which queries."""

import streamlit as st

from pages.shared import banner, comparing, copying, shell
from pages.shared.words import _, plain
from recall_core import comparison
from recall_core.errors import DataError

here = shell.enter()
shell.header(
    _("Compare"), _("Is one better than another, or is it chance? And on which queries?"), here, here.evaluation
)
there = comparing.offered(here)
names = comparing.ask(here, there)
if len(names) == 1:
    comparing.alone(here, names[0], there)
if len(names) < 2:
    st.info(_("Choose at least two. Runs are saved on Overview, or by the command evaluate with --save; those in a folder named runs beside the data are listed too."))  # fmt: skip  # noqa: E501
    st.stop()
common = st.toggle(_("Compare the queries that all have, where they differ"), key="common", bind="query-params")
evaluations = comparing.evaluations(here, names, there)
try:
    compared = comparison.compare(evaluations, common=common)
except DataError as problem:
    st.error(plain(str(problem)))
    st.stop()

banner.findings(evaluations[names[0]].dataset, compared.findings)
k = comparing.common_k(compared, here.k)
with st.container(horizontal=True, vertical_alignment="bottom"):
    metric = comparing.ask_metric(compared, k)
    pair = [names[0], names[1]]
    if len(names) > 2:
        pair[0] = st.selectbox(_("First"), names, 0, key="first_run", width=240)
        pair[1] = st.selectbox(_("Second"), [name for name in names if name != pair[0]], key="second_run", width=240)
both = list(dict.fromkeys([metric, *comparing.usual(k)]))
comparing.runs_table(compared, both)
comparing.trend(compared, metric)
st.subheader(_("Could it be chance?"), anchor=False)
comparing.tests_table(compared, both)
comparing.exports(compared, both)
st.subheader(_("From {first} to {second}").format(first=plain(pair[0]), second=plain(pair[1])), anchor=False)
comparing.moves(compared, comparing.Chosen(tuple(names), metric, names.index(pair[0]), names.index(pair[1])))
link = {**here.query, comparing.RUNS: ",".join(names), **({"common": "true"} if common else {})}
copying.buttons(link, comparing.commands(here, names, there, both, common))
