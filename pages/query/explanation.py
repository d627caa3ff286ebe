"""Why a query's AP is what it is: the formula with its own numbers, the margin, the ties, what it missed."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import cached, failure_list, tiles
from pages.shared.components import guarded_table
from pages.shared.words import _, number, plain
from recall_core import diagnosis
from recall_core.diagnosis import HUB_TIMES, N_LABEL
from recall_core.evaluation import Direction, Evaluation, spell_number

from . import side_by_side

N_TERMS = 10


def folded(evaluation: Evaluation, direction: Direction, query: int, k: int, picked: int = 0) -> None:
    """Explain one query, for those who unfold it; ``picked`` is the rank of a tile to look at, 0: none."""
    # No number in the label: with another label it would be another expander, folded again at each step.
    unfolded = st.expander(_("Why does this query have this AP?"), key="why", on_change="rerun")
    if not unfolded.open:
        return
    facts = tiles.facts_of(evaluation, direction, query)
    value = spell_number(facts["map"])
    with unfolded:
        wrong, right, rank = _compared(direction, query, picked)
        if facts["n_relevant"] == 0:
            st.markdown(
                _("Nothing is right for it ({reason}), so AP is not defined.").format(
                    reason=failure_list.reason_words(facts["reason"])
                )
            )
        else:
            st.latex(precision_formula(direction, query, value))
        ap, answer = st.columns(2, gap="large")
        with ap:
            if facts["n_relevant"]:
                st.markdown(
                    _(
                        "Each right picture adds (how many right ones so far) / (its rank); the mean is over all right "
                        "ones, found or not."
                    )
                )
            lines = _lines(facts, direction, query) if facts["n_relevant"] else []
            st.markdown(
                bullets(
                    [
                        *lines,
                        _("The query. {what}").format(what=label_line(evaluation, int(direction.split.query[query]))),
                    ]
                )
            )
        with answer:
            if wrong is None:
                st.markdown(_("No wrong picture stands in the part of the list that is kept."))
            else:
                heading = (
                    _("The picked wrong picture, rank {n}") if picked == rank else _("The best wrong picture, rank {n}")
                )
                st.markdown(f"**{heading.format(n=number(rank))}: {plain(str(evaluation.dataset.ids[wrong]))}**")
                st.markdown(bullets(wrong_lines(evaluation, direction, query, wrong)))
        side_by_side.closely(evaluation, direction, query, wrong, right)
        if facts["n_relevant"]:
            guarded_table.show(
                right_ones(evaluation, direction, query, k),
                height="content" if facts["n_relevant"] <= N_TERMS else 380,
            )


def _compared(direction: Direction, query: int, picked: int) -> tuple[int | None, int | None, int]:
    """Choose a wrong row, a right row, and the wrong one's rank: the picked one instead of the best of its kind."""
    wrong, rights = diagnosis.best(direction, query)
    right = rights[0] if rights else None
    gallery, top = direction.split.gallery, direction.ranking.top_position[query]
    rows = [int(gallery[position]) for position in top if position >= 0]
    if picked:
        row, position = rows[picked - 1], int(top[picked - 1])
        if position in direction.relevance.relevant.of(query):
            right = row
        else:
            wrong = row
    return wrong, right, rows.index(wrong) + 1 if wrong is not None else 0


def bullets(lines: list[str]) -> str:
    """Write a list of sentences as Markdown."""
    return "\n".join(f"- {line}" for line in lines)


def wrong_lines(evaluation: Evaluation, direction: Direction, query: int, wrong: int) -> list[str]:
    """Say of a wrong answer whether it is a twin of a right one, on how many queries it intrudes, what its label is."""
    return [
        twin_line(evaluation, direction, query, wrong),
        *_hub_lines(evaluation, direction, wrong),
        label_line(evaluation, wrong),
    ]


def twin_line(evaluation: Evaluation, direction: Direction, query: int, wrong: int) -> str:
    """Say whether a wrong answer is nearly the same picture as one of the right ones."""
    alike, (_best, right) = cached.alike(evaluation), diagnosis.best(direction, query)
    if alike is None:
        return _(
            "Whether it is nearly the same picture as a right one cannot be told: there are neither pictures nor "
            "vectors."
        )
    twin = next((one for one in right if alike(wrong, one)), None)
    if evaluation.dataset.pictures is None:
        if twin is not None:
            return _("**Nearly the same vector** as the relevant {id}.").format(
                id=plain(str(evaluation.dataset.ids[twin]))
            )
        return (
            _("Not nearly the vector of a relevant item (compared: the best {n}).").format(n=len(right))
            if right
            else _("There is no relevant item to compare it with.")
        )
    if twin is not None:
        return _("**Nearly the same picture** as the right one {id}.").format(
            id=plain(str(evaluation.dataset.ids[twin]))
        )
    return (
        _("Not nearly the same picture as a right one (compared: the best {n}).").format(n=len(right))
        if right
        else _("There is no right picture that it could be a twin of.")
    )


def _hub_lines(evaluation: Evaluation, direction: Direction, wrong: int) -> list[str]:
    position = int((direction.split.gallery == wrong).argmax())
    found = cached.intrusions(evaluation, direction)
    n, exposed = int(found.count[position]), int(found.exposed[position])
    share = f"{found.share(position):.1%}"
    line = _(
        "Wrongly among the first {first} of {n} of {m} queries ({share}); usual here is {mean} on average, {median} in "
        "the middle."
    ).format(
        first=diagnosis.FIRST,
        n=number(n),
        m=number(exposed),
        share=share,
        mean=f"{found.mean:.1f}",
        median=f"{found.median:g}",
    )
    if found.is_hub(position):
        return [line, _("**It is a hub**: it intrudes at least {n} times as often as is usual.").format(n=HUB_TIMES)]
    return [
        line,
        _("It is no hub: {n} of {m} pictures intrude more often.").format(
            n=number(found.n_above(position)), m=number(len(found.count))
        ),
    ]


def label_line(evaluation: Evaluation, row: int) -> str:
    """Say whether an item's label can be believed, by the rule of the audit."""
    there = cached.neighbourhood(evaluation)
    if there is None:
        return _("Whether its label is suspicious cannot be told: there are no vectors, or no labels.")
    label, ids = there.label(row, cached.alike(evaluation)), evaluation.dataset.ids
    own = plain(label.own)
    if not label.own:
        return _("It has no label.")
    if label.conflicting:
        other = label.conflicting[0]
        if evaluation.dataset.pictures is None:
            return _(
                "**Its label is suspicious**: it is {own}, but {id}, with nearly the same vector, is {other}."
            ).format(own=own, id=plain(str(ids[other])), other=plain(str(there.value[other])))
        return _("**Its label is suspicious**: it is {own}, but nearly the same picture {id} is {other}.").format(
            own=own, id=plain(str(ids[other])), other=plain(str(there.value[other]))
        )
    if label.agreed:
        return _("**Its label is suspicious**: it is {own}, but its nearest neighbours agree on {other}.").format(
            own=own, other=plain(label.agreed)
        )
    if not label.enough:
        return _("Its label {own} cannot be judged: it has fewer than {n} neighbours.").format(own=own, n=N_LABEL)
    return _("Its label {own} is not suspicious: its {n} nearest neighbours agree on no other.").format(
        own=own, n=N_LABEL
    )


def precision_formula(direction: Direction, query: int, value: str) -> str:
    """Write AP's formula with this query's numbers.

    Returns
    -------
    str
        LaTeX, made of numbers only.
    """
    terms = diagnosis.precision_terms(direction, query)
    shown = [rf"\frac{{{i}}}{{{rank}}}" for i, rank in terms[:N_TERMS]] or ["0"]
    if len(terms) > N_TERMS:
        shown.append(r"\dots")
    share, inner = rf"\frac{{1}}{{{direction.ranking.n_relevant[query]}}}", " + ".join(shown)
    return rf"\mathrm{{AP}} = {share}\left({inner}\right) = {value}"


def right_ones(evaluation: Evaluation, direction: Direction, query: int, k: int) -> pd.DataFrame:
    """List all right pictures of a query with rank, similarity and ties; the best first."""
    found = diagnosis.right_answers(evaluation, direction, query, k)
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
        lines.append(
            _("Margin {m}: the best right picture has similarity {right}, the best wrong one {wrong}.").format(
                m=failure_list.signed(facts["margin"], 4), right=right, wrong=wrong
            )
        )
    low, high = diagnosis.range_under_ties(direction, query)
    if low == high:
        lines.append(_("No tie matters here: the order of equally similar pictures does not change AP."))
    else:
        lines.append(
            _(
                "Ties matter: AP lies between {low} and {high}, as equally similar pictures are ordered; here the "
                "gallery's order decides."
            ).format(low=spell_number(low), high=spell_number(high))
        )
    if facts["n_tied"]:
        lines.append(
            _("{n} other pictures are exactly as similar as the best right one.").format(n=number(facts["n_tied"]))
        )
    return lines
