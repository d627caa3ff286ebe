"""Which queries J and K step through on the page Query: all of one direction, or the list of failures."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from recall_core import failures
from recall_core.evaluation import Direction, Evaluation

from . import failure_list, shell
from .failure_list import Chosen
from .words import _, number


@dataclass(frozen=True, eq=False)
class Walk:
    """A list of queries, and where the visitor is in it.

    Parameters
    ----------
    name : str
        ``all``, or how the URL spells the list.
    queries : DataFrame
        Columns ``direction`` and ``query`` (0-based in the direction), in the order of the steps.
    at : int
        1-based; 0 where the query shown is none of them.
    position : str
        How the place is said, with ``{i}`` and ``{n}``.
    chosen : Chosen, optional
        Which failures these are.
    """

    name: str
    queries: pd.DataFrame
    at: int
    position: str = ""
    chosen: Chosen | None = None

    def __len__(self) -> int:
        return len(self.queries)

    def address(self, to: int) -> Mapping[str, str | int]:
        """Say what the widgets of Query hold at a place of the list."""
        facts = self.queries.iloc[to - 1]
        return {"direction": str(facts["direction"]), "q": int(facts["query"]) + 1}

    def neighbours(self) -> list[tuple[str, int]]:
        """Give (direction, query) of the steps onward and back."""
        near = [at for at in (self.at, self.at - 2) if 0 <= at < len(self)]
        return [(str(self.queries["direction"].iloc[at]), int(self.queries["query"].iloc[at])) for at in near]


def choose(evaluation: Evaluation, k: int, direction: Direction, query: int) -> Walk:
    """Take the list that the URL names: the failures as they are filtered, else all queries of the direction.

    Parameters
    ----------
    query : int
        The one that is shown, 1-based in the direction.
    """
    if failure_list.is_asked_for():
        chosen = failure_list.chosen(evaluation)
        found = failure_list.find(evaluation, k, chosen)
        at = failures.position(found, direction.name, query - 1)
        return Walk(failure_list.NAME, found, at, _("{i} of {n} failures"), chosen)
    table = evaluation.table
    return Walk("all", table[table["direction"] == direction.name], query)


def bar(walk: Walk) -> None:
    """Say what the steps go through, and lead back to it."""
    if walk.chosen is None:
        shell.quiet(_("of {n} queries · keys J and K step, arrows move in the grid").format(n=number(len(walk))))
        return
    if walk.at:
        shell.quiet(_("{i} of {n} failures · keys J and K step").format(i=number(walk.at), n=number(len(walk))))
    elif len(walk):
        shell.quiet(_("Not in the list of {n} failures; J goes to the first").format(n=number(len(walk))))
    else:
        shell.quiet(_("No failure is like that any more"))
    st.button(
        _("Back to the failures"),
        key="back",
        on_click=shell.go,
        args=("failures",),
        kwargs=failure_list.way_back(walk.chosen, walk.at),
    )
    st.button(_("Step through all queries"), key="all", on_click=failure_list.leave)
