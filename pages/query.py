"""Query: one query large, its ranked list as pictures, what it missed; step through all of them."""

import streamlit as st

from pages.shared import gallery, shell, tiles
from pages.shared.words import _, number

here = shell.enter()
evaluation = here.evaluation
shell.header(_("Query"), _("What stands first, and where is the right picture?"), here, evaluation)

with st.container(horizontal=True, vertical_alignment="center"):
    direction = shell.ask_direction(evaluation)
    n_query = int(direction.counts["n_query"] or 0)
    query = shell.ask_query(n_query)
    shell.quiet(_("of {n} queries · keys J and K step, arrows move in the grid").format(n=number(n_query)))


def follow() -> None:
    """Go to the query that the browser reports."""
    report = gallery.event("ranked")
    st.session_state["q"] = gallery.apply_event(gallery.Place(query), report, n_query=n_query, n_tile=0).query


n_ranked = tiles.n_ranked(direction, query - 1)
place = gallery.current(query, gallery.event("ranked"), n_query=n_query, n_tile=n_ranked)
first = (place.page - 1) * gallery.PAGE_SIZE + 1
panels = [tiles.asked(evaluation, direction, query - 1, here.k), tiles.missed(evaluation, direction, query - 1, here.k)]
if place.picked:
    panels.insert(1, tiles.picked(evaluation, direction, query - 1, place.picked))
gallery.show(
    tiles.ranked(evaluation, direction, query - 1, first, gallery.PAGE_SIZE),
    key="ranked",
    first=first,
    panels=[panel for panel in panels if panel],
    place=place,
    n_query=n_query,
    n_tile=n_ranked,
    heading=_("Ranked by similarity"),
    empty=_("Nothing was retrieved for this query."),
    pick=True,
    on_event=follow,
)
tiles.prefetch(evaluation, direction, query - 1)
