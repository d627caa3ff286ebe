"""Steps 1 to 6 of the lesson: each draws its control and its picture, and gives the numbers for its text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.shared import cached
from pages.shared.components import chart_downloads, gallery
from pages.shared.components.gallery import Grid, Tile
from pages.shared.learner import lab_data
from pages.shared.words import _, plural
from recall_core import diagnosis, metrics
from recall_core.course import HAND_GALLERY, HAND_QUERY, hand_example, levels, read_ranking, relevance_matrix
from recall_core.errors import DataError
from recall_core.evaluation import spell_number
from recall_core.experiments import leakage

from . import lesson_charts
from .lesson_charts import Bar


@dataclass(frozen=True)
class Shown:
    """What a step has shown: numbers for its text, and commands that print the same ones."""

    values: Mapping[str, str]
    commands: Sequence[str] = ()


def relevance() -> Shown:
    """Step 1: who is right for whom?"""
    rule = choose(
        "rule",
        _("A gallery picture is right if it shows …"),
        {"group": _("the same scene"), "label": _("the same class")},
    )
    dataset = lab_data.dataset()
    found = relevance_matrix(dataset, lab_data.spec(), relevant=rule)
    group, label = (leakage.needed(dataset, role) for role in ("group", "label"))
    scenes = [[str(group[row]) for row in side] for side in (found.split.query, found.split.gallery)]
    chart("matrix", _("Green: right for this query"), lesson_charts.relevance(found.cells, *scenes))
    own, answers = int(found.split.query[0]), found.split.gallery[found.cells[0] == 1].tolist()
    asked = Tile(cached.thumbnail(dataset, own), _("Query"), scenes[0][0], _("asks"))
    right = [Tile(cached.thumbnail(dataset, row), str(group[row]), str(group[row]), right=True) for row in answers]
    gallery.show(
        [asked, *right], Grid(_("The first query, and all that is right for it"), columns=11), key="right_ones"
    )
    n_query, n_gallery = found.cells.shape
    return Shown(
        {
            "n_query": str(n_query),
            "n_gallery": str(n_gallery),
            "n_cells": str(found.cells.size),
            "n_right": str(found.n_pair),
            "per_query": str(found.most_relevant),
            "n_class": str(len(set(label[found.split.query]))),
            "n_group": str(len(set(scenes[0]))),
        }
    )


def ranking() -> Shown:
    """Step 2: from vectors to ranks."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        words = {"dot": _("dot product"), "cosine": _("cosine"), "euclidean": _("Euclidean distance")}
        similarity = choose("similarity_hand", _("Similarity"), words)
        st.button("↺ " + _("The course's numbers"), key="hand_reset", on_click=_reset_hand)
    query, answers = _hand_vectors()
    example = hand_example(query, answers, similarity=similarity)
    matrix, told = st.columns([3, 2], gap="medium")
    with matrix:
        chart("scores", _("Similarities; framed: the right item of each query"), lesson_charts.similarities(example))
    with told:
        st.markdown("**" + _("What follows from the ranks") + "**")
        rows = {f"k = {k}": (example.recall[k], example.mean_average_precision[k]) for k in example.recall}
        table = pd.DataFrame(
            [(name, spell_number(recall), spell_number(precision)) for name, (recall, precision) in rows.items()],
            columns=["", "R@k", "mAP@k"],
        )
        st.dataframe(table, hide_index=True, width="stretch")
    ranks = ", ".join(map(str, example.ranks))
    reverse = hand_example(answers, query, similarity=similarity)
    return Shown(
        {
            "ranks": ranks,
            "reverse_ranks": ", ".join(map(str, reverse.ranks)),
            "similarity": f"{example.similarity[0, 1]:.4g}",
            "own": f"{example.similarity[0, 0]:.4g}",
            "rank_1": str(example.ranks[0]),
            "last_1": f"q1: {' > '.join(f'g{g + 1}' for g in example.order[0])}",
            **{f"recall_{k}": spell_number(example.recall[k]) for k in (1, 2, 3)},
            "map_5": spell_number(example.mean_average_precision[5]),
        }
    )


def recall() -> Shown:
    """Step 3: R@k, and why it never falls."""
    n = 30
    k = slide("k_recall", n, 3)
    evaluation = lab_data.evaluation(encoder="mean", ks=tuple(range(1, n + 1)))
    direction = evaluation.directions[0]
    curve = [direction.scores[f"recall@{cut}"] for cut in range(1, n + 1)]
    ranks = metrics.first_hit(direction.ranking).tolist()
    title = _("Above R@k; below each query at the rank of its right picture. Shaded: Top_k")
    chart("growing", title, lesson_charts.growing([one.value for one in curve], ranks, k))
    now, before = curve[k - 1], curve[max(k - 2, 0)]
    values = {
        "k": str(k),
        "n_query": f"{now.denominator:.0f}",
        "hits": f"{now.numerator:.0f}",
        "value": spell_number(now.value),
        "new": f"{now.numerator - before.numerator:.0f}" if k > 1 else f"{now.numerator:.0f}",
        "hits_1": f"{curve[0].numerator:.0f}",
        "value_1": spell_number(curve[0].value),
        "all_at": str(max(ranks)),
    }
    return Shown(values, [lab_data.command(lab_data.spec(encoder="mean", ks=(1, *([k] if k > 1 else []))))])


def denominators() -> Shown:
    """Step 4: the same ranking, divided by different numbers."""
    which = choose(
        "denominator",
        _("Example"),
        {"pairs": _("a split that tears partners apart"), "sizes": _("classes of different size")},
    )
    pairs, commands = _pairs(shown=which == "pairs")
    sizes, more = _sizes(shown=which == "sizes")
    return Shown(pairs | sizes, [*commands, *more] if which == "pairs" else [*more, *commands])


def _pairs(*, shown: bool) -> tuple[dict[str, str], list[str]]:
    ready = lab_data.halves()
    course = leakage.course_draw(ready)
    draw, commands = (
        course,
        [lab_data.command(lab_data.spec()).replace("evaluate data/glyphlab", "leakage --part query-gallery")],
    )
    if shown:
        own = st.toggle(_("Draw by another seed than the course's"), key="other_seed", persist_state="session")
        if own:
            seed = int(st.slider(_("Seed"), 0, 49, 0, key="seed_pairs", persist_state="session"))
            draw = leakage.random_draw(ready, seed)
            commands.insert(0, lab_data.command(ready.given.replace(split="random", seed=seed)))
    n, lost = draw.n_query, draw.n_lost
    missed, left_out = draw.recall[1], draw.recall_evaluable[1]
    hits = round(missed * n)
    if shown:
        words = {"hit": _("right at rank 1"), "miss": _("wrong at rank 1"), "lost": _("no partner in the gallery")}
        bars = [
            Bar(
                _("counts as<br>missed"),
                f"<b>{spell_number(missed)}</b><br>{hits} / {n}",
                {"hit": missed, "miss": (n - lost - hits) / n, "lost": lost / n},
            ),
            Bar(
                _("is<br>left out"),
                f"<b>{spell_number(left_out)}</b><br>{hits} / {n - lost}",
                {"hit": left_out, "miss": 1 - left_out},
            ),
        ]
        chart("shares", _("R@1, where a query without partner …"), lesson_charts.shares(bars, words))
        rows = draw.lost[:12].tolist()
        group = leakage.needed(lab_data.dataset(), "group")
        lone = [Tile(cached.thumbnail(lab_data.dataset(), row), str(group[row]), str(group[row])) for row in rows]
        heading = plural("{n} query has lost its partner", "{n} queries have lost their partner", lost)
        gallery.show(lone, Grid(heading, columns=12), key="lone")
    values = {
        "n_query": str(n),
        "n_lost": str(lost),
        "n_left": str(n - lost),
        "hits": str(hits),
        "missed": spell_number(missed),
        "left_out": spell_number(left_out),
        "course_lost": str(course.n_lost),
        "course_query": str(course.n_query),
        "course_missed": spell_number(course.recall[1]),
        "course_left_out": spell_number(course.recall_evaluable[1]),
    }
    return values, commands


def _sizes(*, shown: bool) -> tuple[dict[str, str], list[str]]:
    k = slide("k_sizes", 10, 1) if shown else 1
    evaluation = lab_data.uneven(tuple(range(1, 11)))
    found = levels(evaluation)
    one = found[k - 1]
    if shown:
        words = {"hit": _("found"), "miss": _("not found"), "lost": ""}
        bars = [
            Bar(name, f"<b>{spell_number(value)}</b><br>{ratio}", {"hit": value, "miss": 1 - value})
            for name, value, ratio in (
                (_("queries<br>that hit"), one.query, f"{one.hit_queries} / {one.n_query}"),
                (_("items,<br>all together"), one.micro, f"{one.hits} / {one.n_relevant}"),
                (_("items,<br>query by query"), one.macro, _("mean of {n} shares").format(n=one.n_evaluable)),
            )
        ]
        chart("levels", _("R@{k}, at three levels").format(k=k), lesson_charts.shares(bars, words))
    values = {
        "k": str(k),
        "sizes": ", ".join(
            sorted({str(n) for n in evaluation.directions[0].ranking.n_relevant}, key=int, reverse=True)
        ),
        "n_relevant": str(one.n_relevant),
        "query": spell_number(one.query),
        "hit_queries": str(one.hit_queries),
        "micro": spell_number(one.micro),
        "found": str(one.hits),
        "macro": spell_number(one.macro),
    }
    return values, [lab_data.command(evaluation.given)]


LISTS = {"second": "01000", "fifth": "00001", "falls": "101010", "perfect": "111000"}


def precision() -> Shown:
    """Step 5: how early do the right pictures come?"""
    words = LISTS | {"own": _("my own")}
    which = choose("list", _("The list: 1 is right, 0 is wrong, best place first"), words)
    text = LISTS.get(which, "")
    if which == "own":
        text = st.text_input(_("My own list"), "0110100", key="list_own", max_chars=20, persist_state="session")
    flags = [int(letter) for letter in text if letter in "01"]
    if not flags or len(flags) > 20:
        raise DataError(_("Write between 1 and 20 places, each 0 or 1."))
    n = len(flags)
    k = slide(f"k_precision_{n}", n, n) if n > 1 else 1
    ranked = read_ranking("".join(map(str, flags)))
    at_k = [metrics.average_precision(ranked, cut).value for cut in range(1, n + 1)]
    recalls = [metrics.recall(ranked, cut).value for cut in range(1, n + 1)]
    title = _("In each right place the precision so far; below, what AP@k and R@k make of it")
    chart("precision", title, lesson_charts.precision_steps(flags, at_k, recalls, k))
    rows = {row.key: row for row in diagnosis.definition_rows([ranked], k)}
    st.latex(rf"AP@{k} = {rows['map_min'].filled} = {spell_number(rows['map_min'].value)}")
    second, fifth = (metrics.average_precision(read_ranking(LISTS[name]), 5).value for name in ("second", "fifth"))
    fall = [metrics.average_precision(read_ranking(LISTS["falls"]), cut).value for cut in (1, 2, 3)]
    return Shown(
        {
            "k": str(k),
            "n_right": str(sum(flags)),
            "value": spell_number(at_k[k - 1]),
            "recall": spell_number(recalls[k - 1]),
            "second": spell_number(second),
            "fifth": spell_number(fifth),
            "recall_both": spell_number(metrics.recall(read_ranking(LISTS["fifth"]), 5).value),
            **{f"fall_{cut}": spell_number(value) for cut, value in enumerate(fall, 1)},
            "perfect": spell_number(metrics.average_precision(read_ranking(LISTS["perfect"]), 2).value),
        }
    )


def ties() -> Shown:
    """Step 6: what is a rank worth where all are equally similar?"""
    words = {name: encoder_words(name) for name in ("constant", "mean", "raw")}
    encoder = choose("tied_encoder", _("Encoder"), words)
    k = slide("k_ties", 30, 1)
    evaluation = lab_data.evaluation(encoder=encoder, ks=tuple(range(1, 31)))
    rows = []
    for cut in range(1, 31):
        score = evaluation.scores[f"recall@{cut}"].score
        worst, expected, best = score.bounds
        rows.append((cut, worst, expected, best, score.value))
    frame = pd.DataFrame(rows, columns=["k", "worst", "expected", "best", "value"])
    chart("ties", _("R@k in every order of the tied pictures"), lesson_charts.tie_band(frame, k))
    now = frame.iloc[k - 1]
    constant = lab_data.evaluation(encoder="constant").scores["recall@1"].score
    worst, expected, best = constant.bounds
    values = {"k": str(k), "n_tied": str(evaluation.scores[f"recall@{k}"].score.n_tied)}
    values |= {name: spell_number(float(now[name])) for name in ("worst", "expected", "best", "value")}
    values |= {
        "n_query": str(evaluation.counts["n_query"]),
        "n_gallery": str(evaluation.directions[0].counts["n_gallery"]),
        "constant_value": spell_number(constant.value),
        "constant_worst": spell_number(worst),
        "constant_expected": spell_number(expected),
        "constant_best": spell_number(best),
    }
    told = dict.fromkeys((encoder, "constant"))
    return Shown(values, [lab_data.command(lab_data.spec(encoder=name, ks=(1, k))) for name in told])


def choose(key: str, label: str, options: Mapping[str, str]) -> str:
    """Ask for one of a few; it is kept while the visitor looks at other steps and pages."""
    chosen: str = st.segmented_control(
        label,
        list(options),
        default=next(iter(options)),
        required=True,
        format_func=lambda option: options.get(option, option),
        key=key,
        persist_state="session",
    )
    return chosen


def slide(key: str, most: int, first: int) -> int:
    """Ask for k."""
    return int(st.slider("k", 1, most, first, key=key, persist_state="session"))


def chart(key: str, title: str, figure: go.Figure) -> None:
    """Show a picture of the lesson under its title."""
    st.markdown(f"**{title}**")
    chart_downloads.draw(figure, config={"displayModeBar": False}, key=f"lesson_{key}", alt=title)


def encoder_words(name: str) -> str:
    """Say what an encoder sees."""
    return {
        "raw": _("all pixels"),
        "orientation": _("direction of the line"),
        "mean": _("brightness"),
        "constant": _("nothing"),
    }[name]


def _hand_vectors() -> tuple[list[list[float]], list[list[float]]]:
    """Ask for the vectors of the hand example, two numbers each."""
    sides = []
    columns = st.columns(6, gap="small")
    for side, letter, given in ((0, "q", HAND_QUERY), (1, "g", HAND_GALLERY)):
        vectors = []
        for i, vector in enumerate(given):
            with columns[3 * side + i]:
                st.markdown(f"**{letter}{i + 1}**")
                vectors.append([_number(f"hand_{letter}{i}{axis}", value) for axis, value in enumerate(vector)])
        sides.append(vectors)
    return sides[0], sides[1]


def _number(key: str, value: float) -> float:
    return float(
        st.number_input(
            key.removeprefix("hand_"),
            -10.0,
            10.0,
            value,
            0.1,
            format="%.4g",
            key=key,
            label_visibility="collapsed",
            persist_state="session",
        )
    )


def _reset_hand() -> None:
    for letter, given in (("q", HAND_QUERY), ("g", HAND_GALLERY)):
        for i, vector in enumerate(given):
            for axis, value in enumerate(vector):
                st.session_state[f"hand_{letter}{i}{axis}"] = value
    st.session_state["similarity_hand"] = "dot"
