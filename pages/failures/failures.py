"""Failures: the queries that miss at k, the worst first, as tiles; each opens Query within the same list."""

import streamlit as st

from pages.failures import corrections, corrupt_queries
from pages.shared import failure_list
from pages.shared.components import copying, findings_banner, gallery, triage
from pages.shared.components.gallery import Grid, Paging
from pages.shared.frame import settings, shell
from pages.shared.words import _

here = shell.here()
evaluation = here.evaluation
shell.header(_("Failures"), _("Which queries miss, and why?"), here, evaluation)
findings_banner.show(evaluation)

chosen = failure_list.chosen(evaluation)
triage.apply(evaluation, gallery.event("failures"))  # a run that was cut short may have left some
everything = failure_list.find(evaluation, here.k, failure_list.EVERYTHING)
found = failure_list.find(evaluation, here.k, chosen)


def follow() -> None:
    """Keep in the URL where the cursor is, or open the query under it."""
    event = gallery.event("failures")
    to = triage.follow(evaluation, found, 1, event)
    if gallery.opened(event) and len(found):
        shell.go("query", **failure_list.address(found, to, chosen))
    elif len(found):
        failure_list.go(found, to, chosen)


if everything.empty or corrupt_queries.in_use(here):
    corrupt_queries.ask(here, evaluation, nothing_fails=everything.empty)
if not everything.empty:
    failure_list.controls(evaluation, chosen, everything)
    with st.container(horizontal=True, vertical_alignment="center"):
        failure_list.summary(evaluation, here.k, chosen, found, everything)
        failure_list.download(evaluation, found, chosen.slice)
        if not corrupt_queries.in_use(here):
            corrupt_queries.within_reach(here)
    place = failure_list.place(evaluation, chosen, found, gallery.event("failures"))
    addresses = failure_list.addresses(found, chosen, place.page)
    paging = Paging(place, len(found), failure_list.PAGE_SIZE, addresses=addresses)
    gallery.show(
        failure_list.tiles_of(evaluation, found, place.page),
        Grid(
            _("In each tile: the query, its best wrong answer, its best right answer with its rank"),
            pick=True,
            empty=_("No failure is like that. Take a filter away."),
        ),
        key="failures",
        paging=paging,
        triage=triage.board(evaluation, found, paging.first),
        on_event=follow,
    )
corrections.folded(here)
copying.buttons(
    {**here.query, **failure_list.link(chosen)},
    failure_list.command(settings.to_command(here.spec), here.k, chosen),
)
