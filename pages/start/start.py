"""Start: three ways into the explorer, and the chosen data set's pictures, table, columns and findings."""

import streamlit as st

from pages.shared import cached, tiles
from pages.shared.components import gallery, guarded_table
from pages.shared.components.gallery import Grid, Paging
from pages.shared.frame import shell, table_reading
from pages.shared.keys import key
from pages.shared.words import _, plain, plural
from pages.shared.words.labels import in_words
from pages.start import data_findings, entry_cards, own_form_download

here = shell.here()
st.title("Recall Explorer", anchor=False)
purpose = _("Give one picture, and the computer looks for another one of the same thing.")
question = _("How often is it right, and what goes wrong where it is not?")
st.markdown(f"{purpose} {question}")
is_missing = shell.say_missing(here)

for column, card in zip(st.columns(3, gap="medium"), entry_cards.cards(), strict=True):
    with column.container(border=True, height="stretch"):
        entry_cards.show(card)

if is_missing:
    st.stop()
st.space("small")
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
    how_many = plural("{n} picture", "{n} pictures", len(here.dataset))
    st.subheader(f"{plain(here.name)} · {how_many}", anchor=False)
    own_form_download.button(here)
pictures, table, columns, suspicious = st.tabs(
    [_("Pictures"), _("Table"), _("Columns"), _("Findings")], key="parts", on_change="rerun"
)
with pictures:
    grid = key("all", here.name)
    place = gallery.current(1, gallery.event(grid), n_query=1, n_tile=len(here.dataset))
    paging = Paging(place, len(here.dataset))
    gallery.show(
        tiles.sample(here.dataset, paging.first, paging.page_size),
        Grid(empty=_("This data set has no pictures.")),
        key=grid,
        paging=paging,
        on_event=gallery.nothing,
    )
with table:
    guarded_table.show(here.dataset.table)
with columns:
    st.markdown(_("What the explorer takes each column for, by its name or as you say:"))
    by_name = cached.dataset(here.name, (), here.spec.encoding).columns
    table_reading.columns(here.dataset, by_name, shell.reread, key=key("role", here.name))
    for note in here.dataset.notes:
        shell.quiet(plain(in_words(note)))
if suspicious.open:
    with suspicious:
        data_findings.show(here)
