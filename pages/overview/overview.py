"""Overview: how often the right picture stands among the first k, how sure that is, and where it fails."""

import streamlit as st

from pages.overview import more_curves
from pages.overview.slice_tab import asked, link, say, tab, tabs
from pages.shared import cached, charts, tiles
from pages.shared.components import chart_downloads, copying, findings_banner, gallery, run_downloads, score_tables
from pages.shared.components.gallery import Grid
from pages.shared.frame import settings, shell
from pages.shared.words import _, engine_words, plain

N_WORST = 9

here = shell.here()
whole = here.evaluation
only = asked(whole)
evaluation = cached.sliced(whole, only) if only else whole
shell.header(_("Overview"), _("How often does a right picture stand among the first k?"), here, evaluation)
findings_banner.show(evaluation)
say(whole, evaluation, only)
score_tables.cards(evaluation)

worst = tiles.worst(whole, here.k, N_WORST, only)


def open_picked() -> None:
    """Open the query whose picture was picked."""
    picked = gallery.picked("worst", len(worst))
    if picked:
        shell.go("query", **worst[picked - 1].address)


number_tab, slice_tab, curve_tab = tabs()
if number_tab.open:
    with number_tab:
        verdict = score_tables.verdict(evaluation)
        if verdict == "empty":
            st.info(
                _(
                    "No query has anything right in the gallery, so nothing can be measured. Choose another column for "
                    "what is right, or another split."
                )
            )
        elif verdict == "partners":
            st.info(
                _(
                    "Every query that has a right picture finds it first. What is missing are partners, not skill: "
                    "this split tore them apart. Choose a split that keeps one of each on both sides."
                )
            )
        elif verdict == "saturated":
            st.info(
                _(
                    "Every query finds a right picture first. Either the question is easy, or the same picture is on "
                    "both sides. A perfect score tells encoders apart no more: ask something harder."
                )
            )
            with st.container(horizontal=True):
                for i, harder in enumerate(settings.harder(here.dataset, here.folder, evaluation.spec)):
                    st.button(harder.label, key=f"harder_{i}", on_click=shell.change, args=(harder.changes,))
        if worst:
            gallery.show(
                [failure.tile for failure in worst],
                Grid(_("Missed at k = {k}, the deepest first").format(k=here.k), columns=N_WORST, pick=True),
                key="worst",
                on_event=open_picked,
            )
            st.page_link(
                "pages/failures/failures.py",
                label=_("All failures, with their reasons"),
                icon="➡️",
                query_params=link(only),
            )
        elif verdict == "saturated":
            first = tiles.ranked(evaluation, evaluation.directions[0], 0, 1, N_WORST)
            gallery.show(first, Grid(_("The first query's list"), columns=N_WORST), key="first_list")

        recall, early, first_right = st.columns(3, gap="medium")
        with recall:
            score_tables.curve("recall", _("Found among the first k (R@k)"), evaluation, here.k, only)
        with early:
            score_tables.curve("map", _("How early they come (mAP@k)"), evaluation, here.k, only)
        with first_right:
            title = _("Rank of the first right picture")
            st.markdown(f"**{title}**")
            figure = charts.first_hits(evaluation.first_hits, here.k)
            chart_downloads.draw(figure, config=chart_downloads.CONFIG, key="first_hits", alt=title)
            chart_downloads.bar("first_hits", title, evaluation.first_hits)
        score_tables.misses(evaluation, only)

        with st.expander(_("All numbers")):
            score_tables.table(evaluation)
if slice_tab.open:
    with slice_tab:
        tab(whole, here.k)
if curve_tab.open:
    with curve_tab:
        more_curves.tab(here, evaluation, only)
st.subheader(_("How these numbers were made"), anchor=False)
how = engine_words.describe(evaluation.spec.replace(data=here.name))
st.markdown(plain(how.replace(str(here.folder), here.name)))
run_downloads.buttons(here, evaluation)
copying.buttons({**here.query, **link(only)}, settings.to_command(here.spec))
