"""Steps 7 to 11 of the lesson: when may a number be believed?"""

import pandas as pd
import streamlit as st

from pages.shared import charts, seeds
from pages.shared.learner import lab_data, leakage_charts
from pages.shared.words import _, number
from recall_core import course
from recall_core.evaluation import Evaluation, spell_number
from recall_core.experiments import leakage
from recall_core.protocol import make_filter

from . import lesson_charts
from .measure_steps import Shown, chart, choose, encoder_words, slide


def pitfalls() -> Shown:
    """Step 7: which encoder wins, if the protocol is not honest?"""
    with st.container(horizontal=True, gap="medium"):
        same = st.toggle(_("The same view on both sides"), key="same_view", persist_state="session")
        removed = st.toggle(_("The own scene taken out"), key="own_removed", persist_state="session")
        label = st.toggle(_("Right is: the same class"), key="class_right", persist_state="session")
    shown = {name: _protocol(name, same=same, removed=removed, label=label) for name in lab_data.ENCODERS}
    honest = {name: _protocol(name) for name in lab_data.ENCODERS}
    scores = {encoder_words(name): one.scores["recall@1"].value for name, one in shown.items()}
    by_honest = {encoder_words(name): one.scores["recall@1"].value for name, one in honest.items()}
    by_chance = leakage.chance(shown["raw"])
    chart("contest", _("R@1 of four encoders, by what each sees"), lesson_charts.contest(scores, by_honest, by_chance))
    n_evaluable = shown["raw"].counts["n_evaluable"]
    if not n_evaluable:
        st.warning(_("With the own scene taken out nobody has anything right left to find."))
    kept = {name: _protocol(name, same=True) for name in ("raw", "mean", "constant")}
    classes = {name: _protocol(name, removed=True, label=True) for name in ("raw", "orientation")}
    values = {
        "chance": spell_number(by_chance),
        "n_query": str(shown["raw"].counts["n_query"]),
        "raw": _value(shown["raw"]),
        "orientation": _value(shown["orientation"]),
        "honest_raw": _value(honest["raw"]),
        "honest_orientation": _value(honest["orientation"]),
        "kept_raw": _value(kept["raw"]),
        "kept_mean": _value(kept["mean"]),
        "kept_constant": _value(kept["constant"]),
        "class_raw": _value(classes["raw"]),
        "class_orientation": _value(classes["orientation"]),
    }
    told = [*shown.values(), *honest.values(), *kept.values(), *classes.values()]
    return Shown(values, list(dict.fromkeys(lab_data.command(one.given) for one in told)))


def _protocol(encoder: str, *, same: bool = False, removed: bool = False, label: bool = False) -> Evaluation:
    columns = lab_data.dataset().columns
    view = columns["view"]
    return lab_data.evaluation(
        encoder=encoder,
        query=make_filter([(view, "0")]),
        gallery=make_filter([(view, "0" if same else "1")]),
        relevant=columns["label" if label else "group"],
        junk_same=columns["group"] if removed else None,
    )


def _value(evaluation: Evaluation) -> str:
    return spell_number(evaluation.scores["recall@1"].value)


def trained() -> Shown:
    """Step 8: what does a leaking training draw do to the score of a fitted encoder?"""
    draw = choose(
        "training_draw",
        _("Training pictures are drawn"),
        {"random": _("picture by picture"), "grouped": _("in whole scenes")},
    )
    chosen = lab_data.training(grouped=draw == "grouped")
    many = lab_data.many_runs(chosen)
    rows = {
        leakage.LEARNED: _("learned"),
        leakage.CONTROL: _("control"),
        "permuted": _("shuffled<br>labels"),
    }

    def show(table: pd.DataFrame) -> None:
        if len(table):
            tables = {name: table[table["draw"] == name] for name in ("random", "grouped")}
            chart("training", _("R@1 in each draw"), leakage_charts.strips(tables, rows, draw, "R@1"))

    with st.spinner(_("Training …")):
        seeds.begin(many)
    seeds.follow(many, show)
    table = many.table()
    means = leakage.mean_by_draw(table, [*rows, "share_known"])
    gap, chose = leakage.gap(table), leakage.winners(table)
    n = int(table["seed"].nunique())
    values = {
        "n_seed": str(n),
        "random_learned": spell_number(means["random"][leakage.LEARNED]),
        "grouped_learned": spell_number(means["grouped"][leakage.LEARNED]),
        "random_control": spell_number(means["random"][leakage.CONTROL]),
        "grouped_control": spell_number(means["grouped"][leakage.CONTROL]),
        "random_permuted": spell_number(means["random"]["permuted"]),
        "grouped_permuted": spell_number(means["grouped"]["permuted"]),
        "gap": f"{gap.mean:+.4f}",
        "gap_low": f"{gap.low:+.4f}",
        "gap_high": f"{gap.high:+.4f}",
        "random_prefers": str(chose[leakage.LEARNED]["random"]),
        "grouped_prefers": str(chose[leakage.CONTROL]["grouped"]),
        "random_known": f"{means['random']['share_known']:.0%}",
        "grouped_known": f"{means['grouped']['share_known']:.0%}",
    }
    return Shown(values, [chosen.command(n)])


CLEAN, CORRUPTED, BRIGHTNESS = "clean", "corrupted", "brightness"


def certainty() -> Shown:
    """Step 9: how sure is a number from thirty scenes?"""
    cases = {BRIGHTNESS: _("brightness"), CORRUPTED: _("all pixels, spoilt queries"), CLEAN: _("all pixels, clean")}
    which = choose("sure_of", _("Whose R@1?"), cases)
    spelled = {
        CLEAN: {"encoder": "raw"},
        CORRUPTED: {"encoder": "raw", "query_images": lab_data.corrupted()},
        BRIGHTNESS: {"encoder": "mean"},
    }
    evaluation = lab_data.evaluation(**spelled[which])
    found = course.resampled(evaluation, 1)
    named = {
        _("scenes<br>drawn anew"): found.by_group,
        _("queries<br>drawn anew"): found.by_query,
        _("formula<br>(Wilson, by scene)"): found.wilson,
    }
    empty = _("no width: every resample gives the same value")
    title = _("R@1 = {value}, with three intervals of 95 %").format(value=spell_number(found.value))
    chart("intervals", title, lesson_charts.intervals(found.value, named, empty))
    whole = lab_data.evaluation(**spelled[CLEAN])
    clean = course.resampled(whole, 1)
    bright = course.resampled(lab_data.evaluation(**spelled[BRIGHTNESS]), 1)
    assert clean.wilson is not None
    values = {
        "value": spell_number(found.value),
        "n_group": str(found.n_group),
        "n_query": str(found.n_query),
        "clean_value": spell_number(clean.value),
        "clean_low": spell_number(clean.wilson.low),
        "clean_high": spell_number(clean.wilson.high),
        "narrower": f"{1 - bright.width_ratio:.0%}",
    }
    return Shown(values, list(dict.fromkeys(lab_data.command(one.given) for one in (evaluation, whole))))


def directions() -> Shown:
    """Step 10: who asks matters."""
    encoder = choose(
        "both_encoder", _("Encoder"), {name: encoder_words(name) for name in ("mean", "orientation", "raw")}
    )
    k = slide("k_both", 10, 1)
    evaluation = lab_data.evaluation(encoder=encoder, ks=tuple(range(1, 11)))
    figure = charts.curves(evaluation.curves, "recall", k, "R@k", lab_data.KS)
    figure.update_layout(height=400)
    chart("directions", _("R@k in each direction, and of both together"), figure)
    one, other = (direction.scores[f"recall@{k}"] for direction in evaluation.directions)
    both = evaluation.scores[f"recall@{k}"]
    values = {"k": str(k)}
    for name, estimate in (("one", one), ("other", other), ("both", both)):
        values[name] = spell_number(estimate.value)
        values[f"{name}_hits"] = f"{estimate.numerator:.0f}"
        values[f"{name}_n"] = f"{estimate.denominator:.0f}"
    hand, back = course.hand_example(), course.hand_example(course.HAND_GALLERY, course.HAND_QUERY)
    values |= {"hand": ", ".join(map(str, hand.ranks)), "hand_back": ", ".join(map(str, back.ranks))}
    return Shown(values, [lab_data.command(lab_data.spec(encoder=encoder, ks=(k,)))])


def index() -> Shown:
    """Step 11: what may an index be blamed for?"""
    frame = lab_data.index_trials()
    efforts = frame["effort"].tolist()
    label = _("Lists that the index looks into (nprobe)")
    effort = st.select_slider(label, efforts, efforts[1], key="effort", persist_state="session")
    title = _("R@10 by exact search and by the index: who loses what?")
    chart("index", title, lesson_charts.two_errors(frame, effort))
    now = frame[frame["effort"] == effort].iloc[0]
    values = {
        "effort": str(effort),
        "n_gallery": number(lab_data.INDEX_SIZE),
        "n_query": str(now["n_query"]),
        "exact": spell_number(now["exact_recall@10"]),
        "approximate": spell_number(now["recall@10"]),
        "overlap": f"{now['overlap']:.0%}",
        "first": str(efforts[0]),
        "last": str(efforts[-1]),
    }
    return Shown(values, [lab_data.index_command(effort)])
