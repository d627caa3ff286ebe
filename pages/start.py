"""Start: three doors into the explorer, and the chosen data set's pictures, table and columns."""

import streamlit as st

from pages.shared import doors, gallery, shell, tiles
from pages.shared.words import _, plain, plural

here = shell.enter()
st.title("Recall Explorer", anchor=False)
purpose = _("Give one picture, and the computer looks for another one of the same thing.")
question = _("How often is it right, and what goes wrong where it is not?")
st.markdown(f"{purpose} {question}")

for column, door in zip(st.columns(3, gap="medium"), doors.doors(), strict=True):
    with column.container(border=True, height="stretch"):
        doors.show(door)

st.space("small")
st.subheader(f"{here.name} · " + plural("{n} picture", "{n} pictures", len(here.dataset)), anchor=False)
pictures, table, columns = st.tabs([_("Pictures"), _("Table"), _("Columns")])
with pictures:
    grid = f"all_{here.name}"
    place = gallery.current(1, gallery.event(grid), n_query=1, n_tile=len(here.dataset))
    first = (place.page - 1) * gallery.PAGE_SIZE + 1
    gallery.show(
        tiles.sample(here.dataset, first, gallery.PAGE_SIZE),
        key=grid,
        first=first,
        place=place,
        n_tile=len(here.dataset),
        empty=_("This data set has no pictures."),
        on_event=gallery.nothing,
    )
with table:
    st.dataframe(here.dataset.table, hide_index=True)
with columns:
    st.markdown(_("What the explorer takes each column for, by its name:"))
    st.dataframe(doors.roles(here.dataset), hide_index=True, width="content")
    for note in here.dataset.notes:
        shell.quiet(plain(note))
