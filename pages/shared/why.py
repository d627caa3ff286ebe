"""Why a query's AP is what it is: the formula with its own numbers, the margin, the ties, what it missed."""

from typing import Any

import pandas as pd
import streamlit as st

from recall_core import failures, report
from recall_core.evaluation import Direction, Evaluation

from . import failure_list, tiles
from .words import _, number

N_TERMS = 10


def folded(evaluation: Evaluation, direction: Direction, query: int, k: int) -> None:
    """Explain one query, for those who unfold it."""
    facts = tiles.facts_of(evaluation, direction, query)
    value = report.number(facts["map"])
    unfolded = st.expander(_("Why does this query have AP = {ap}?").format(ap=value), key="why", on_change="rerun")
    if not unfolded.open:
        return
    with unfolded:
        if facts["n_relevant"] == 0:
            st.markdown(_("Nothing is right for it ({reason}), so AP is not defined.").format(reason=failure_list.reason_words(facts["reason"])))  # fmt: skip  # noqa: E501
            return
        st.latex(precision_formula(direction, query, value))
        formula, words = st.columns(2, gap="large")
        with formula:
            st.markdown(_("Each right picture adds (how many right ones so far) / (its rank); the mean is over all right ones, found or not."))  # fmt: skip  # noqa: E501
        with words:
            st.markdown("\n".join(f"- {line}" for line in _lines(facts, direction, query)))
        st.dataframe(
            right_ones(evaluation, direction, query, k),
            hide_index=True,
            height="content" if facts["n_relevant"] <= N_TERMS else 380,
        )


def precision_formula(direction: Direction, query: int, value: str) -> str:
    """Write AP's formula with this query's numbers.

    Returns
    -------
    str
        LaTeX, made of numbers only.
    """
    terms = failures.precision_terms(direction, query)
    shown = [rf"\frac{{{i}}}{{{rank}}}" for i, rank in terms[:N_TERMS]] or ["0"]
    if len(terms) > N_TERMS:
        shown.append(r"\dots")
    share, inner = rf"\frac{{1}}{{{direction.ranking.n_relevant[query]}}}", " + ".join(shown)
    return rf"\mathrm{{AP}} = {share}\left({inner}\right) = {value}"


def right_ones(evaluation: Evaluation, direction: Direction, query: int, k: int) -> pd.DataFrame:
    """List all right pictures of a query with rank, similarity and ties; the best first."""
    found = failures.right_answers(evaluation, direction, query, k)
    return found.rename(
        columns={
            "id": _("right picture"),
            "rank": _("rank"),
            "similarity": _("similarity"),
            "tied": _("tied with"),
            "hit": _("among the first {k}").format(k=k),
        }
    )


def _lines(facts: Any, direction: Direction, query: int) -> list[str]:
    lines = []
    if facts["margin"] == facts["margin"]:
        right, wrong = f"{facts['right_similarity']:.4f}", f"{facts['wrong_similarity']:.4f}"
        lines.append(_("Margin {m}: the best right picture has similarity {right}, the best wrong one {wrong}.").format(m=failure_list.signed(facts["margin"], 4), right=right, wrong=wrong))  # fmt: skip  # noqa: E501
    low, high = failures.range_under_ties(direction, query)
    if low == high:
        lines.append(_("No tie matters here: the order of equally similar pictures does not change AP."))
    else:
        lines.append(_("Ties matter: AP lies between {low} and {high}, as equally similar pictures are ordered; here the gallery's order decides.").format(low=report.number(low), high=report.number(high)))  # fmt: skip  # noqa: E501
    if facts["n_tied"]:
        lines.append(_("{n} other pictures are exactly as similar as the best right one.").format(n=number(facts["n_tied"])))  # fmt: skip  # noqa: E501
    return lines
