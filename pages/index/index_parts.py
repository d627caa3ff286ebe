"""The parts of the page on indexes: the chosen configuration, the chart with its slider, the table, what got lost."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import cached, keys, tiles
from pages.shared.components import chart_downloads, gallery
from pages.shared.components.gallery import Grid, Tile
from pages.shared.components.score_tables import score
from pages.shared.frame import shell
from pages.shared.learner import leakage_runs
from pages.shared.words import _, engine_words, number, plain, plural
from recall_core.errors import MissingDependency
from recall_core.experiments.index import INDEXES, Trial, import_faiss
from recall_core.ranking import Ranking

from . import index_charts, index_runs
from .index_runs import Asked, Found

MEBIBYTE = 2**20
MEASURES = {"R@10": ("recall@10", 10), "overlap@10": ("overlap", 10), "R@1": ("recall@1", 1)}
"""What stands upward in the chart: its column, and at which k queries are lost."""

COSTS = [
    *("own_recall@1", "not_returned@10", "worse_rank@1"),
    *("queries_per_second", "milliseconds", "build_seconds", "memory_bytes", "index_bytes"),
]
"""Columns that stand in the second table: what an index does to the order, and what it costs."""


def measured(asked: Asked) -> Found | None:
    """Give the results; where there are none yet, begin or offer to, and show how far it has come.

    Raises
    ------
    Exception
        What the experiment raised.
    """
    if not _can_measure():
        return None
    one = index_runs.job(asked)
    if asked.slow and not one.begun:
        told = _("This takes about {n} seconds on a machine that does nothing else; you can leave the page meanwhile.")
        shell.quiet(told.format(n=number(round(asked.seconds))))
        label = _("Measure {n} × {m} vectors").format(n=number(asked.n_gallery), m=number(asked.n_dim))
        st.button(label, key="measure", on_click=one.watch, args=(index_runs.work(asked),))
        return None
    one.watch(index_runs.work(asked))
    if not asked.slow:
        with st.spinner(_("Measuring …")):
            one.wait(index_runs.WAIT_SECONDS)
    if not one.over:
        index_runs.follow(one, asked)
        return None
    return one.result()


def chosen(found: Found) -> None:
    """Show the chosen configuration on the queries that were kept for it: representation and index error apart."""
    whole = found.whole
    if whole.chosen is None:
        return
    row, k = found.tested.iloc[whole.chosen], whole.k
    told = _("Chosen on {a} queries by R@{k}, then measured once on {b} queries of other groups: **{name}**")
    st.markdown(told.format(a=number(len(whole.validation)), b=number(len(whole.test)), k=k, name=plain(row["name"])))
    exact, index, error, shared = st.columns(4)
    exact.metric(
        _("Exact R@{k}: the vectors").format(k=k),
        score(row[f"exact_recall@{k}"]),
        help=_("Every query compared with everything: what is missing here, no index can find."),
        border=True,
        height="stretch",
    )
    index.metric(_("Index R@{k}").format(k=k), score(row[f"recall@{k}"]), border=True, height="stretch")
    error.metric(
        _("Index error: the difference"),
        f"{row[f'difference@{k}']:+.4f}",
        delta=_interval(row, k) or None,
        delta_color="off",
        delta_arrow="off",
        help=_(
            "Of the same queries, paired; interval over groups (95 %), none where the two differ in no group."
            " Above 0 it is luck: the index left out wrong items that stood before a right one."
        ),
        border=True,
        height="stretch",
    )
    shared.metric(
        f"overlap@{k}",
        score(row["overlap"]),
        help=_("Which share of the exact first {k} the index returns, right or wrong.").format(k=k),
        border=True,
        height="stretch",
    )


def explore(found: Found) -> tuple[Trial, int, dict[str, str]]:
    """Show every configuration in a chart, and mark the one that the slider names; give it, and where to cut."""
    chart, side = st.columns([13, 7], gap="large")
    with side:
        measure = leakage_runs.one_of("measure", _("What stands upward"), {name: name for name in MEASURES})
        kinds = list(dict.fromkeys(found.tried["index"]))
        kind = leakage_runs.one_of("index", _("Which index"), {name: name for name in kinds})
        trial = _slide(found, kind)
    column, k = MEASURES[measure]
    row = found.tried[found.tried["name"] == trial.name].iloc[0]
    level = 1.0 if column == "overlap" else row[f"exact_{column}"]
    with chart:
        title = _("{measure} against time, on the {n} queries that tune").format(
            measure=measure, n=number(len(found.whole.validation))
        )
        st.markdown(f"**{title}**")
        figure = index_charts.scatter(found.tried, column, measure, level, trial.name)
        chart_downloads.draw(figure, config={"displayModeBar": False}, key="scatter", alt=title)
    with side:
        _facts(row, k)
    search = {} if trial.configuration is None else {INDEXES[kind].search: str(trial.configuration.search)}
    return trial, k, {"measure": measure, "index": kind} | {name: value for name, value in search.items() if name}


def table(found: Found) -> None:
    """Show the measured configurations, representation, index error and cost in columns of their own."""
    title = _("The best of each index, on the {n} queries that took no part in choosing")
    st.markdown(f"**{title.format(n=number(len(found.whole.test)))}**")
    shown, costs = _shown(found.tested), ["name", *COSTS]
    st.dataframe(shown.drop(columns=COSTS), hide_index=True, key="errors", column_config=_columns())
    st.dataframe(shown[costs], hide_index=True, key="costs", column_config=_columns())
    shell.quiet(
        _(
            "Times and memory differ from run to run, and other work on this machine slows them; everything else is "
            "the same each time."
        )
    )


def lost(found: Found, asked: Asked, trial: Trial, k: int) -> None:
    """Show the queries that only the index loses, and of one the two lists side by side."""
    st.subheader(_("Lost by the index alone"), anchor=False)
    missed = index_runs.lost(found, trial, k)
    told = plural(
        "{n} query has a right answer among the exact first {k}, but not among the first {k} of {name}.",
        "{n} queries have a right answer among the exact first {k}, but not among the first {k} of {name}.",
        len(missed),
        k=k,
        name=plain(trial.name),
    )
    seen = _("These are queries that tune: the measured ones stay unseen.")
    st.markdown(f"{told} :small[:gray[{seen}]]")
    if not len(missed):
        return
    key = keys.key("lost", asked.key, trial.name, str(k))
    shown = missed.head(gallery.PAGE_SIZE)
    at = gallery.picked(key, len(shown)) or 1
    outcome = {"not_returned": _("not returned"), "worse_rank": _("worse rank")}
    asking = [
        _query_tile(found, asked, int(q), outcome[o]) for q, o in zip(shown["query"], shown["outcome"], strict=True)
    ]
    gallery.show(asking, Grid(columns=12, pick=True), key=key)
    query = int(shown["query"].iloc[at - 1])
    named = _query_tile(found, asked, query, "").title
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**" + _("The lists of {query}").format(query=plain(named)) + "**", width="content")
        if asked.evaluation is not None:
            to = {"q": str(int(found.whole.validation[query]) + 1)}
            st.button(_("Open this query"), key="open", type="tertiary", on_click=shell.go, args=("query",), kwargs=to)
    exact = found.whole.exact.select(found.whole.validation)
    lists = {_("Exact"): exact, _("{name}, in its own order").format(name=trial.name): trial.own}
    for i, (place, (heading, ranking)) in enumerate(zip(st.columns(2, gap="large"), lists.items(), strict=True)):
        with place:
            gallery.show(_answers(found, asked, ranking, query), Grid(heading, columns=5), key=f"{key}_list_{i}")


def limits(found: Found) -> None:
    """Say for what the numbers hold, how they are read, and what must be known before they are believed."""
    whole = found.whole
    st.subheader(_("What this says, and what not"), anchor=False)
    holds = _(
        "This holds for these indexes, these vectors and this size ({n} of {m} dimensions). Another encoder, more "
        "items or harder queries need their own measurement."
    )
    lines = [
        holds.format(n=number(whole.n_gallery), m=number(whole.n_dim)),
        _(
            "An index never changes what is right: of the {n} items that it returns, those nearest by exact similarity"
            " count. In its own order a lossy index may put a right one further down, and that is told apart."
        ).format(n=whole.depth),
        _("Indexes are built and asked on one thread. Exactly, all together, a query takes {t} ms.").format(
            t=f"{1000 * whole.exact_cost.seconds:.3g}"
        ),
        *_not_worth_it(found),
        *(engine_words.told(finding) for finding in whole.findings),
    ]
    st.markdown("\n".join(f"- {plain(line)}" for line in lines))


def _not_worth_it(found: Found) -> list[str]:
    """Say where comparing everything is no slower than the chosen index."""
    spent = found.tested.set_index("index")["milliseconds"]
    took = found.tested[found.tested["chosen"]]["milliseconds"]
    if "flat" not in spent or not (took >= spent["flat"]).any():
        return []
    words = _(
        "Here comparing everything takes {t} ms a query on one thread, no longer than the chosen index: an index does "
        "not pay at this size."
    )
    return [words.format(t=f"{spent['flat']:.3g}")]


def all_tried(found: Found) -> None:
    """Show every configuration, folded away."""
    with st.expander(_("All configurations, on the queries that tune")):
        st.dataframe(_shown(found.tried), hide_index=True, key="tried", column_config=_columns())


def _can_measure() -> bool:
    """Is faiss there? Where not, say how it is installed."""
    try:
        import_faiss()
    except MissingDependency as missing:
        st.error(plain(str(missing)))
        st.code(missing.command, language="bash")
        return False
    return True


def _slide(found: Found, kind: str) -> Trial:
    """Ask how long the index looks; of several that look as long, the first."""
    trials = {
        trial.configuration.search: trial
        for trial in reversed(found.whole.trials)
        if trial.configuration and trial.index == kind
    }
    searches = sorted(search for search in trials if search is not None)
    if not searches:
        shell.quiet(_("It compares everything: there is nothing to choose."))
        return trials[None]
    name, best = INDEXES[kind].search, _best(found, kind)
    if st.session_state.get(name) not in (None, *searches):
        del st.session_state[name]  # other data have other values
    label = _("How long it looks: {name}").format(name=name)
    return trials[st.select_slider(label, searches, best or searches[0], key=name, bind="query-params")]


def _best(found: Found, kind: str) -> int | None:
    """How long does the best configuration of a kind look?"""
    return next(
        (one.configuration.search for one in found.whole.tested if one.configuration and one.index == kind), None
    )


def _facts(row: pd.Series, k: int) -> None:
    """Say what the marked configuration scores and costs, and how many queries it loses."""
    st.markdown(f"**{plain(row['name'])}**")
    left, right = st.columns(2)
    for at in (10, 1):
        difference = _("exact {value}").format(value=score(row[f"exact_recall@{at}"]))
        left.metric(f"R@{at}", score(row[f"recall@{at}"]), delta=difference, delta_color="off", delta_arrow="off")
    right.metric("overlap@10", score(row["overlap"]))
    lost = row[f"not_returned@{k}"] + row[f"worse_rank@{k}"]
    won = _("{n} won by luck").format(n=number(row[f"index_only@{k}"]))
    right.metric(
        _("Lost at {k}").format(k=k),
        number(lost),
        delta=won,
        delta_color="off",
        delta_arrow="off",
        help=_(
            "Lost: the exact list has a right answer among the first {k}, the index's own list has none."
            " Won by luck: the other way round, since wrong items were left out."
        ).format(k=k),
    )
    spent = _("{t} ms a query, {n} queries a second").format(
        t=f"{row['milliseconds']:.3g}", n=number(round(row["queries_per_second"]))
    )
    shell.quiet(spent + "\n" + _("Pareto front: nothing else is both quicker and better."))


def _shown(rows: pd.DataFrame) -> pd.DataFrame:
    """Make the table as it is read: representation, index, the error between them, then costs."""
    shown = pd.DataFrame({"name": [_mark(*one) for one in zip(rows["name"], rows["chosen"], strict=True)]})
    for k in (1, 10):
        shown[f"exact_recall@{k}"] = rows[f"exact_recall@{k}"]
        shown[f"recall@{k}"] = rows[f"recall@{k}"]
        shown[f"error@{k}"] = [f"{row[f'difference@{k}']:+.4f} {_interval(row, k)}" for _i, row in rows.iterrows()]
    shown["overlap"] = rows["overlap"]
    for name in COSTS:
        shown[name] = rows[name] / MEBIBYTE if name.endswith("_bytes") else rows[name]
    return shown


def _columns() -> dict[str, Any]:
    number_column = st.column_config.NumberColumn
    own = _("The index's own first answer is right.")
    missing = _("A right item is among the exact first 10, and the index returned none.")
    worse = _("The index returned a right item, but not as the first, where the exact list has one.")
    grown = _("By how much the process grew while the index was built; memory that is used again does not show.")
    return {
        "name": st.column_config.TextColumn(_("index"), pinned=True),
        **{f"exact_recall@{k}": number_column(_("exact R@{k}").format(k=k), format="%.4f") for k in (1, 10)},
        **{f"recall@{k}": number_column(_("index R@{k}").format(k=k), format="%.4f") for k in (1, 10)},
        **{f"error@{k}": st.column_config.TextColumn(_("index error@{k}").format(k=k)) for k in (1, 10)},
        "overlap": number_column("overlap@10", format="%.4f"),
        "own_recall@1": number_column(_("own R@1"), format="%.4f", help=own),
        "not_returned@10": number_column(_("not returned"), help=missing),
        "worse_rank@1": number_column(_("worse rank"), help=worse),
        "queries_per_second": number_column(_("queries/s"), format="%.0f"),
        "milliseconds": number_column(_("ms/query"), format="%.3f"),
        "build_seconds": number_column(_("build, s"), format="%.1f"),
        "memory_bytes": number_column(_("memory, MiB"), format="%.1f", help=grown),
        "index_bytes": number_column(_("index, MiB"), format="%.1f", help=_("As a file, its vectors included.")),
    }


def _mark(name: str, chosen: bool) -> str:
    return f"★ {name}" if chosen else name


def _interval(row: pd.Series, k: int) -> str:
    low, high = row[f"low@{k}"], row[f"high@{k}"]
    return "" if pd.isna(low) else f"[{low:+.4f}, {high:+.4f}]"


def _query_tile(found: Found, asked: Asked, query: int, note: str) -> Tile:
    """Show one of the queries that tune."""
    position = int(found.whole.validation[query])
    if asked.evaluation is None:
        name = _("query {n}").format(n=position + 1)
        return Tile("", f"{name}, {note}", name, note)
    row = int(asked.evaluation.directions[0].split.query[position])
    name = str(asked.evaluation.dataset.ids[row])
    return Tile(cached.query_thumbnail(asked.evaluation, row, 128), f"{name}, {note}", tiles.short(name), note)


def _answers(found: Found, asked: Asked, ranking: Ranking, query: int) -> list[Tile]:
    """Show the first answers to one of the queries that tune."""
    right = found.right(query)
    listed = zip(ranking.top_position[query].tolist(), ranking.top_similarity[query].tolist(), strict=True)
    return [
        _answer(asked, at, i + 1, s, at in right) for i, (at, s) in enumerate(listed) if at >= 0 and i < found.whole.k
    ]


def _answer(asked: Asked, position: int, rank: int, similarity: float, right: bool) -> Tile:
    if asked.evaluation is None:
        name, picture = _("item {n}").format(n=number(position + 1)), ""
    else:
        row = int(asked.evaluation.directions[0].split.gallery[position])
        name, picture = tiles.name_of(asked.evaluation, row), cached.thumbnail(asked.evaluation.dataset, row)
    label = _("Rank {rank}, {verdict}, similarity {score}, {name}").format(
        rank=rank, verdict=_("right") if right else _("wrong"), score=f"{similarity:.3f}", name=name
    )
    return Tile(picture, label, name, f"{similarity:.3f}", str(rank), right)
