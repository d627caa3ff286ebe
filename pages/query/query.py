"""Query: one query large, its ranked list as pictures, what it missed and why; step through all, or the failures."""

import streamlit as st

from pages.query import explanation, stepping
from pages.shared import tiles
from pages.shared.components import findings_banner, gallery, triage
from pages.shared.components.gallery import Grid, Paging
from pages.shared.frame import shell
from pages.shared.words import _

here = shell.here()
evaluation = here.evaluation
shell.header(_("Query"), _("What stands first, and where is the right picture?"), here, evaluation)
findings_banner.show(evaluation)

with st.container(horizontal=True, vertical_alignment="center"):
    steps = stepping.choose(evaluation, here.k)
direction, query = evaluation.direction(steps.direction), steps.query


def follow() -> None:
    """Go to the query that the browser reports."""
    steps.go(triage.follow(evaluation, steps.queries, steps.at, gallery.event(steps.key)))


triage.apply(evaluation, gallery.event(steps.key))  # a run that was cut short may have left some
n_ranked = direction.ranking.n_listed(query)
place = gallery.current(steps.at, gallery.event(steps.key), n_query=len(steps), n_tile=n_ranked)
explanation.folded(evaluation, direction, query, here.k, place.picked)
paging = Paging(place, n_ranked, n_query=len(steps), position=steps.position)
panels = [tiles.asked(evaluation, direction, query, here.k), tiles.missed(evaluation, direction, query, here.k)]
if place.picked:
    panels.insert(1, tiles.picked(evaluation, direction, query, place.picked))
gallery.show(
    tiles.ranked(evaluation, direction, query, paging.first, paging.page_size),
    Grid(_("Ranked by similarity"), pick=True, empty=_("Nothing was retrieved for this query.")),
    key=steps.key,
    paging=paging,
    panels=[panel for panel in panels if panel],
    triage=triage.board(evaluation, steps.queries, steps.at, one=(direction.name, query), first=paging.first),
    on_event=follow,
)
tiles.prefetch(evaluation, steps.neighbours())
