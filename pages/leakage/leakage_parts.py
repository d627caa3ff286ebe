"""The three parts of the page on leakage: numbers, distribution, pictures, formula.

What depends on many seeds is drawn again while the seeds come in; the rest stands still.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.shared import seeds, tiles
from pages.shared.components import chart_downloads, copying, gallery
from pages.shared.components.gallery import Grid, Tile
from pages.shared.frame import settings, shell
from pages.shared.learner import leakage_charts, leakage_runs
from pages.shared.learner.leakage_runs import Chosen
from pages.shared.words import _, language, number, plain, plural
from recall_core import evaluation
from recall_core.evaluation import Evaluation
from recall_core.experiments import leakage
from recall_core.experiments.leakage import Arm, Draw, spread
from recall_core.protocol import Spec

Place = st.delta_generator.DeltaGenerator

N_PAIRS = 12
N_ANSWERS = 1


@dataclass(frozen=True)
class Card:
    """A number on a card: what it is called, its column in the table of seeds, how it is written."""

    label: str
    column: str
    spell: Callable[[float], str] = evaluation.spell_number


def query_gallery(chosen: Chosen, link: Mapping[str, str]) -> None:
    """Show what a random half does to the number, and whom it costs the partner."""
    ready, many = leakage_runs.halves(chosen), leakage_runs.many_draws(chosen)
    last: list[pd.DataFrame] = []
    explained, numbers, pictures = st.container(), st.container(), st.container()
    seed, heading = _ask_seed(pictures)
    draw, paired = leakage_runs.draw(chosen, chosen.grouped, seed), str(ready.paired.split)
    if not chosen.grouped:
        how = _("A random half of {n} pictures asks, whichever they are; the other half answers.")
    elif paired == "by-view":
        how = _("Of {n} pictures one view of each {group} asks and the other answers, in both directions.")
    else:
        how = _("Of {n} pictures one of each {group} asks and the others answer.")
    _explain(explained, chosen, how.format(n=number(len(ready.rows)), group=chosen.group))
    missed, left_out = f"recall@{chosen.k}", f"recall_evaluable@{chosen.k}"
    cards = [
        Card(_("R@{k}, lost counts as missed").format(k=chosen.k), missed),
        Card(_("R@{k}, lost is left out").format(k=chosen.k), left_out),
        Card(_("Queries without partner, of {n}").format(n=number(draw.n_query)), "n_lost", "{:.2f}".format),
    ]
    rows = {missed: _("lost counts<br>as missed"), left_out: _("lost is<br>left out")}

    def show(table: pd.DataFrame) -> None:
        tables = {"random": table[table["split"] == "random"], "grouped": table[table["split"] == paired]}
        _cards(tables, chosen, cards)
        strips, often = st.columns([3, 2], gap="medium")
        axis = f"R@{chosen.k}"
        figure = _drawn(chosen, f"strips {len(table)}", lambda: leakage_charts.strips(tables, rows, chosen.draw, axis))
        _chart(strips, "strips", _("R@{k} in each draw").format(k=chosen.k), figure)
        height, lost = leakage_charts.height_of(rows), _("queries without partner")
        figure = _drawn(
            chosen,
            f"often {len(table)} {draw.n_lost}",
            lambda: leakage_charts.how_often(tables, "n_lost", chosen.draw, draw.n_lost, lost, height),
        )
        _chart(often, "often", _("How many lose their partner (hatched: the draw below)"), figure)

    with numbers:
        with st.spinner(_("Drawing …")):
            seeds.begin(many)
        seeds.follow(many, _growing(show, last))
    with pictures:
        _lost(chosen, draw, heading)
    with st.expander(_("Formula, with the shown draw's numbers")):
        k, n, n_left = chosen.k, draw.n_query, draw.n_query - draw.n_lost
        st.markdown(_("The same ranking, two stories: a query that has nothing right in the gallery can only miss."))
        left_out, missed = evaluation.spell_number(draw.recall_evaluable[k]), evaluation.spell_number(draw.recall[k])
        st.latex(
            rf"R@{k} = R@{k}^\ast \cdot \frac{{N_q - N_0}}{{N_q}} = {left_out} \cdot \frac{{{n_left}}}{{{n}}} = "
            rf"{missed}"
        )
        shell.quiet(_("R@{k}*: lost queries left out; N₀: queries without partner; this draw alone:").format(k=k))
        if draw.spec is not None:
            _command(ready.given.replace(split=draw.spec.split, seed=draw.spec.seed))
    seeds.follow(many, lambda _newer: _copy(chosen, last[0], link))


def same_picture(chosen: Chosen, link: Mapping[str, str]) -> None:
    """Show what a perfect score is worth if the same pictures ask and answer."""
    cases = leakage_runs.same_picture(chosen)
    kept = cases["kept"]
    how = _("The same {n} pictures ask and answer. Nothing is drawn in this part, so the toggle rests.")
    _explain(st.container(), chosen, how.format(n=number(kept.counts["n_query"] or 0)))
    words = _case_words()
    shown = [name for name in words if name in cases]
    for place, name in zip(st.columns(len(shown), gap="small"), shown, strict=True):
        with place.container(border=True, height="stretch"):
            _case(chosen, name, cases[name], *words[name])
    st.markdown(
        _(
            "**1.0 means nothing here.** Every picture is most like itself, so any encoder that tells pictures apart "
            "scores 1.0, however little it knows of what they show. The constant encoder shows where knowing nothing "
            "starts."
        )
    )
    with st.expander(_("Formula, with these numbers")):
        _same_picture_formula(chosen.k, cases)
        for name in shown:
            shell.quiet(words[name][0])
            _command(cases[name].given)
    copying.buttons(link, chosen.command(0))


def trained(chosen: Chosen, link: Mapping[str, str]) -> None:
    """Show what a training draw that parts groups does to the score of a fitted encoder."""
    ready, many = leakage_runs.material(chosen), leakage_runs.many_runs(chosen)
    last: list[pd.DataFrame] = []
    explained, numbers, pictures = st.container(), st.container(), st.container()
    seed, heading = _ask_seed(pictures)
    run = leakage_runs.run(chosen, seed)
    arm = run.grouped if chosen.grouped else run.random
    if chosen.grouped:
        how = _("Trained on two thirds of the {group}s, whole ones; tested on one picture each of the others.")
    else:
        how = _("Trained on two thirds of the pictures, whichever they are; tested on others, one of each {group}.")
    _explain(explained, chosen, how.format(group=chosen.group))
    known = _("{group} seen in training").format(group=chosen.group)
    cards = [
        Card(_("Learned: ridge"), leakage.LEARNED),
        Card(_("Control: nothing fitted"), leakage.CONTROL),
        Card(_("Shuffled labels"), "permuted"),
        Card(known, "share_known", "{:.0%}".format),
    ]
    rows = {
        leakage.LEARNED: _("learned"),
        leakage.CONTROL: _("control"),
        "permuted": _("shuffled<br>labels"),
        "nearest": _("nearest in<br>training"),
    }
    names = {leakage.LEARNED: _("learned"), leakage.CONTROL: _("control"), "tie": _("a tie")}

    def show(table: pd.DataFrame) -> None:
        tables = {name: table[table["draw"] == name] for name in ("random", "grouped")}
        _cards(tables, chosen, cards)
        strips, winner = st.columns([3, 2], gap="medium")
        figure = _drawn(chosen, f"strips {len(table)}", lambda: leakage_charts.strips(tables, rows, chosen.draw, "R@1"))
        _chart(strips, "strips", _("R@1 in each draw"), figure)
        figure = _drawn(
            chosen,
            f"winners {len(table)}",
            lambda: leakage_charts.winners(leakage.winners(table), names, chosen.draw, leakage_charts.height_of(rows)),
        )
        _chart(winner, "winners", _("Which encoder each draw would choose"), figure)
        _gap(table)

    with numbers:
        with st.spinner(_("Training …")):
            seeds.begin(many)
        seeds.follow(many, _growing(show, last))
    with pictures:
        _crossing(chosen, arm, heading)
    with st.expander(_("Formula, with these numbers")):
        st.latex(r"W = X^\top (X X^\top + \alpha I)^{-1} Y, \quad \alpha = 1, \qquad z = (x - \bar x)\, W")
        sizes = _(
            "X: {n} training pictures with {d} numbers each; Y: {c} classes, a column each; both centred. Tested: {m} "
            "pictures, each asks all the others, right is the same {label}. R@1 by chance: {chance}."
        )
        told = sizes.format(
            n=number(len(arm.train)),
            d=number(ready.features.shape[1]),
            c=number(len(set(ready.label))),
            m=number(len(arm.evaluated)),
            label=chosen.dataset.columns["label"],
            chance=evaluation.spell_number(arm.chance),
        )
        st.markdown(plain(told))
        st.markdown(
            _(
                "Shuffled labels: every group takes the label of another. What is still scored then was remembered, "
                "not learned. Nearest in training: the most similar training picture has the same label."
            )
        )
        if ready.n_left_out:
            lone = plural("{n} picture takes no part.", "{n} pictures take no part.", ready.n_left_out)
            shell.quiet(lone + " " + _("It has no label or cannot be read, or the data are too large."))
    seeds.follow(many, lambda _newer: _copy(chosen, last[0], link))


def _growing(show: Callable[[pd.DataFrame], None], last: list[pd.DataFrame]) -> Callable[[pd.DataFrame], None]:
    """Show what there is, and how much that is; keep it as the ``last`` one, for what is told of it elsewhere."""

    def shown(table: pd.DataFrame) -> None:
        last[:] = [table]
        if not len(table):
            st.info(_("The first draws are being computed; they appear here by themselves."))
            return
        show(table)
        n = table["seed"].nunique()
        come = _("{n} draws") if n >= seeds.N_ALL else _("{n} of {all} draws, more are coming")
        spread_of = _("The spread is over draws from these pictures; it says nothing of other pictures.")
        shell.quiet(come.format(n=n, all=seeds.N_ALL) + " · " + spread_of)

    return shown


def _explain(place: Place, chosen: Chosen, how: str) -> None:
    """Say in one line what the toggle's side means for this part, and on which data."""
    place.markdown(f"**{plain(chosen.dataset.name)}** · {plain(how)}")


def _cards(tables: Mapping[str, pd.DataFrame], chosen: Chosen, cards: Sequence[Card]) -> None:
    """Show means over the seeds, large under the shown draw and small under the other."""
    other = "random" if chosen.grouped else "grouped"
    words = {"random": _("random"), "grouped": _("grouped")}
    for place, card in zip(st.columns(len(cards)), cards, strict=True):
        here, there = (spread(tables[name][card.column]) for name in (chosen.draw, other))
        help = _("Mean over {n} draws; from {low} to {high}.").format(
            n=here.n, low=card.spell(here.minimum), high=card.spell(here.maximum)
        )
        place.metric(
            card.label,
            card.spell(here.mean),
            delta=f"{words[other]}: {card.spell(there.mean)}",
            delta_color="off",
            delta_arrow="off",
            help=help,
            border=True,
        )


def _drawn(chosen: Chosen, name: str, draw: Callable[[], go.Figure]) -> go.Figure:
    """Draw a chart once for everybody who reads the same language: it is half of what a rerun costs."""
    return _figure(f"{language()} {chosen.part} {chosen.draw} {chosen.k} {name} {chosen.key}", draw)


@st.cache_resource(max_entries=64, show_spinner=False)
def _figure(key: str, _draw: Callable[[], go.Figure]) -> go.Figure:
    return _draw()


def _chart(place: Place, key: str, title: str, figure: go.Figure) -> None:
    place.markdown(f"**{title}**")
    with place:
        chart_downloads.draw(figure, config={"displayModeBar": False}, key=key, alt=title)


def _gap(table: pd.DataFrame) -> None:
    gap = leakage.gap(table)
    told = _(
        "**{mean}** for the learned encoder where the draw is random (interval over draws, at 95 %: {low} to {high}); "
        "higher in {a} of {b} draws."
    )
    low, high = f"{gap.low:+.4f}", f"{gap.high:+.4f}"
    st.markdown(told.format(mean=f"{gap.mean:+.4f}", low=low, high=high, a=gap.n_positive, b=gap.n))


def _copy(chosen: Chosen, table: pd.DataFrame, link: Mapping[str, str]) -> None:
    if len(table):
        copying.buttons(link, chosen.command(int(table["seed"].nunique())))


def _command(spec: Spec) -> None:
    st.code(settings.to_command(spec), language="bash", wrap_lines=True)


def _ask_seed(place: Place) -> tuple[int, Place]:
    """Ask which draw is shown in pictures, bound to the URL as ``drawn``; gives it and the place for its heading."""
    with place.container(horizontal=True, vertical_alignment="center"):
        shell.quiet(_("Draw number"))
        seed = shell.ask_whole(_("Draw number"), 0, 9999, 0, key="drawn", width=130, label_visibility="collapsed")
        return seed, st.empty()


def _lost(chosen: Chosen, draw: Draw, heading: Place) -> None:
    """Show the queries of one draw that lost their partner; a picked one is opened."""
    if not draw.n_lost:
        heading.markdown(_("✓ No query has lost its partner."))
        return
    rows = draw.lost[: gallery.PAGE_SIZE].tolist()
    where = {int(row): i for i, row in enumerate(draw.splits[0].query)}

    def open_query() -> None:
        picked = gallery.picked("lost", len(rows))
        if picked:
            _open(chosen, draw, where[rows[picked - 1]])

    words = plural(
        "**{n} of {m} queries has nothing right to find**: its partners ask too",
        "**{n} of {m} queries have nothing right to find**: their partners ask too",
        draw.n_lost,
        m=number(draw.n_query),
    )
    heading.markdown(words)
    lost = [_tile(chosen, row, _("asks")) for row in rows]
    gallery.show(lost, Grid(columns=12, pick=True), key="lost", on_event=open_query)


def _open(chosen: Chosen, draw: Draw, query: int) -> None:
    """Open a query of the shown draw; for callbacks."""
    if draw.spec is None:
        return
    if st.session_state.get("data") != chosen.name:
        shell.choose(chosen.name)
    relevant = draw.spec.relevant
    shell.change({"split": str(draw.spec.split)} | ({} if relevant is None else {"relevant": relevant}))
    st.session_state["seed"] = draw.spec.seed
    shell.go("query", q=str(query + 1))


def _crossing(chosen: Chosen, arm: Arm, heading: Place) -> None:
    """Show which pictures of the same group stand on both sides of the shown training draw."""
    if not len(arm.crossing):
        words = _("✓ Nothing crosses the border: no {group} is on both sides.")
        heading.markdown(words.format(group=plain(chosen.group)))
        return
    words = plural(
        "**{n} pair crosses the border**: one was tested, its twin trained on",
        "**{n} pairs cross the border**: one was tested, its twin trained on",
        len(arm.crossing),
    )
    heading.markdown(words)
    notes = (_("tested"), _("trained on"))
    pairs = [
        _tile(chosen, row, note)
        for pair in arm.crossing[:N_PAIRS].tolist()
        for row, note in zip(pair, notes, strict=True)
    ]
    gallery.show(pairs, Grid(columns=12, paired=True), key="crossing")


def _tile(chosen: Chosen, row: int, note: str) -> Tile:
    name = str(chosen.dataset.table[chosen.group].iloc[row]) if chosen.group else str(chosen.dataset.ids[row])
    return Tile(chosen.picture(row), f"{name}, {note}", tiles.short(name), note)


def _case_words() -> dict[str, tuple[str, str]]:
    """Each case's title and explanation, in the order of the page."""
    return {
        "kept": (_("Each finds itself"), _("The first answer is the query itself.")),
        "constant": (_("Sees nothing"), _("All pictures get the same numbers, so every answer ties.")),
        "removed": (_("Itself removed"), _("By its id, not by its place in the list.")),
        "class": (_("Another of its class"), _("Itself removed; another with the same {column} is right.")),
        "apart": (_("Another view"), _("The honest question: other pictures of the same things.")),
    }


def _case(chosen: Chosen, name: str, one: Evaluation, title: str, text: str) -> None:
    estimate, direction = one.scores[f"recall@{chosen.k}"], one.directions[0]
    ratio = _("{a} of {b}").format(a=f"{estimate.numerator:g}", b=f"{estimate.denominator:g}")
    by_chance = _("by chance {chance}").format(chance=evaluation.spell_number(leakage.chance(one)))
    st.metric(
        title,
        evaluation.spell_number(estimate.value),
        delta=ratio,
        delta_color="off",
        delta_arrow="off",
        help=f"R@{chosen.k} · {by_chance}",
    )
    asked = Tile(chosen.picture(int(direction.split.query[0])), _("Query"), _("asks"))
    answers = tiles.ranked(one, direction, 0, 1, N_ANSWERS)
    gallery.show([asked, *answers], Grid(columns=1 + N_ANSWERS), key=f"case_{name}")
    st.markdown(text.format(column=plain(str(one.spec.relevant))))
    if one.counts["n_evaluable"] == 0:
        shell.quiet(_("Nobody has anything right left to find."))


def _same_picture_formula(k: int, cases: Mapping[str, Evaluation]) -> None:
    sides = {"kept": r"s(x, x) \ge s(x, y)", "constant": r"s(x, y) = \text{const}"}
    for name, premise in sides.items():
        if name in cases:
            score = cases[name].scores[f"recall@{k}"]
            ratio = rf"\frac{{{score.numerator:g}}}{{{score.denominator:g}}}"
            st.latex(rf"{premise} \;\Rightarrow\; R@{k} = {ratio} = {evaluation.spell_number(score.value)}")


PARTS = dict(zip(leakage_runs.PARTS, (query_gallery, same_picture, trained), strict=True))
"""Part → what shows it."""
