"""Definitions: one ranking under every convention, and why somebody's number does not match."""

import streamlit as st

from pages.definitions import convention_table
from pages.shared import cached
from pages.shared.components import copying
from pages.shared.frame import settings, shell
from pages.shared.words import _, plain

here = shell.here()
st.title(_("Definitions"), anchor=False)
st.markdown(_("One ranking, many numbers: which convention gives which, and why does mine not match?"))

sources = {"typed": _("a typed list"), "all": _("all queries of {name}"), "one": _("one query of {name}")}
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    source = st.segmented_control(
        _("The ranking"),
        list(sources),
        default="typed",
        required=True,
        format_func=lambda name: sources[name].format(name=plain(here.name)),
        key="ranking_of",
        persist_state="session",
    )
    mine = st.text_input(
        _("Why doesn't my number match? I have …"), key="mine", bind="query-params", placeholder="0.583", max_chars=40
    )

rankings, key, command = [], "", ""
if source == "typed":
    text = st.text_input(
        _("Relevance in rank order, best first"),
        "10101",
        key="list",
        bind="query-params",
        max_chars=1000,
        help=convention_table.how_to_type(),
    )
    one = convention_table.typed(text)
    rankings, key = ([] if one is None else [one]), f"typed {text}"
else:
    evaluation = here.evaluation
    key, command = cached.evaluation_key(evaluation.dataset, evaluation.spec), settings.to_command(here.spec)
    st.markdown(f":small[:gray[{plain(settings.counts_line(here.name, evaluation))}]]")
    rankings = convention_table.of_evaluation(evaluation)
    if source == "one":
        with st.container(horizontal=True):
            direction = shell.ask_direction(evaluation)
            query = shell.ask_query(len(direction.split.query))
        rankings = [direction.ranking.select([query - 1])]
        key += f" {direction.name} {query}"

if rankings:
    found = convention_table.rows(key, rankings, here.k)
    lit = convention_table.explain(key, rankings, mine, found, here.k) if mine.strip() else {}
    convention_table.show(found, here.k, lit)
if command:
    copying.buttons(here.query, command)
