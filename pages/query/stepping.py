"""Which query the page Query shows, and which ones J and K step through: all of a direction, or the failures."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from pages.shared import failure_list
from pages.shared.failure_list import Chosen
from pages.shared.frame import shell
from pages.shared.words import _, number
from recall_core import diagnosis
from recall_core.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class Steps:
    """A list of queries, the one that is shown, and its place in the list.

    Parameters
    ----------
    direction, query : str, int
        What is shown: name of the direction, position in it (0-based).
    queries : DataFrame
        Columns ``direction`` and ``query``, in the order of the steps.
    at : int
        Place of what is shown, 1-based; 0 where it is not in the list.
    chosen : Chosen, optional
        Which failures these are; None where these are all queries of the direction.
    """

    direction: str
    query: int
    queries: pd.DataFrame
    at: int
    chosen: Chosen | None = None

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def key(self) -> str:
        """Tell the grids of the two lists apart: what the browser reports is a place in one of them."""
        return "ranked" if self.chosen is None else "ranked_failure"

    @property
    def position(self) -> str:
        """Say how the place is told, with ``{i}`` and ``{n}``; empty: as usual."""
        return "" if self.chosen is None else _("{i} of {n} failures")

    def go(self, to: int) -> None:
        """Show another place of the list; for callbacks."""
        if self.chosen is None:
            st.session_state["q"] = to
        elif to != self.at:
            st.query_params.update(failure_list.address(self.queries, to, self.chosen))

    def neighbours(self) -> list[tuple[str, int]]:
        """Give (direction, query) of the steps onward and back."""
        near = self.queries.iloc[[at for at in (self.at, self.at - 2) if 0 <= at < len(self)]]
        return list(zip(near["direction"].astype(str), near["query"].astype(int), strict=True))


def choose(evaluation: Evaluation, k: int) -> Steps:
    """Take what the URL names: a failure within the list as it is filtered, else ask for direction and query."""
    asked = failure_list.asked_for(evaluation)
    if asked is None:
        direction = shell.ask_direction(evaluation)
        query = shell.ask_query(int(direction.counts["n_query"] or 0))
        table = evaluation.table
        shell.quiet(
            _("of {n} queries · keys J and K step, arrows move in the grid").format(
                n=number(len(direction.split.query))
            )
        )
        return Steps(direction.name, query - 1, table[table["direction"] == direction.name], query)
    chosen = failure_list.chosen(evaluation)
    found = failure_list.find(evaluation, k, chosen, asked)
    steps = Steps(*asked, found, diagnosis.position(found, *asked), chosen)
    _lead_back(steps, chosen, k)
    st.button(_("Step through all queries"), key="all", type="tertiary", on_click=failure_list.leave, args=asked)
    return steps


def _lead_back(steps: Steps, chosen: Chosen, k: int) -> None:
    """Say what the steps go through, and lead back to it, at the same page."""
    back = failure_list.address(steps.queries, max(steps.at, 1), chosen) if len(steps) else failure_list.link(chosen)
    st.page_link("pages/failures/failures.py", label=_("Back to the failures"), icon="↩️", query_params=back)
    said = [_("failures at k = {k}").format(k=k), *failure_list.filters_in_words(chosen)]
    if not steps.at:
        said.append(_("this query is not among them"))
    shell.quiet(" · ".join([*said, _("keys J and K step, arrows move in the grid")]))
