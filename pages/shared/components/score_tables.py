"""The numbers of an evaluation on a page: cards, findings, what a result means, the table of everything."""

import pandas as pd
import streamlit as st

from pages.shared import charts
from pages.shared.frame import shell
from pages.shared.frame.shell import quiet
from pages.shared.words import _, engine_words, number, plain, plural
from recall_core.evaluation import Estimate, Evaluation, base_name, spell_number
from recall_core.metrics import Interval
from recall_core.protocol import Filter, write_filter

from . import chart_downloads, guarded_table

APART = 0.02
"""Intervals whose ends differ by more than this are said to part."""


def cards(evaluation: Evaluation) -> None:
    """Show each R@k, then mAP@k, with interval and denominator."""
    ks = evaluation.spec.ks
    names = [*(f"recall@{k}" for k in ks[:4]), f"map@{5 if 5 in ks else ks[-1]}"]
    for place, name in zip(st.columns(len(names)), names, strict=True):
        with place.container(border=True, height="stretch"):
            _card(name, evaluation.scores[name])
    _denominators(evaluation)


def verdict(evaluation: Evaluation) -> str:
    """Say what kind of result this is.

    Returns
    -------
    str
        ``empty``: nothing can be found. ``partners``: all that can be found is found first, but some queries have
        nothing to find. ``saturated``: everything is found first. ``open``: neither.
    """
    if not evaluation.counts["n_evaluable"]:
        return "empty"
    table = evaluation.table
    if ((table["n_relevant"] > 0) & (table["first_rank"] != 1)).any():
        return "open"
    return "partners" if evaluation.counts["n_without_relevant"] else "saturated"


def table(evaluation: Evaluation) -> None:
    """Show every score: pooled and in each direction, with what it is made of."""
    views = {_("both directions"): evaluation.scores} if len(evaluation.directions) > 1 else {}
    views |= {direction.name: direction.scores for direction in evaluation.directions}
    rows = [_row(view, name, estimate) for view, scores in views.items() for name, estimate in scores.items()]
    guarded_table.show(pd.DataFrame(rows), height=380)


def curve(metric: str, title: str, evaluation: Evaluation, k: int, only: Filter) -> None:
    """Draw a score over k; a click on a point leads to the failures at its k."""
    key = f"{metric}_at_k"

    def follow() -> None:
        points = st.session_state[key]["selection"]["points"]
        given = points[0].get("customdata") if points else None
        if given:  # a second click on a point empties the selection, and changes nothing
            _open_failures(int(given[2]), evaluation, only)

    st.markdown(f"**{title}**")
    lines = evaluation.curves[evaluation.curves["metric"] == metric]
    figure = charts.curves(lines, metric, k, f"{metric_label(metric)}@k", evaluation.spec.ks)
    chart_downloads.draw(
        figure, config=chart_downloads.CONFIG, key=key, alt=title, on_select=follow, selection_mode="points"
    )
    chart_downloads.bar(key, title, lines)


def misses(evaluation: Evaluation, only: Filter) -> None:
    """Lead from each k to the queries that miss there: what a click on a curve does, for the keyboard too."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        quiet(_("Failures at k ="))
        for k in evaluation.spec.ks:
            missed = evaluation.scores[f"recall@{k}"]
            label = f"{k} · {_amount(missed.denominator - missed.numerator)}"
            st.button(label, key=f"misses_{k}", on_click=_open_failures, args=(k, evaluation, only))


def _open_failures(k: int, evaluation: Evaluation, only: Filter) -> None:
    ks = evaluation.spec.ks
    if k not in ks:
        shell.change({"ks": ",".join(map(str, sorted({*ks, k})))})
    shell.change({"k": str(k)})
    shell.go("failures", **({"slice": write_filter(only)} if only else {}))


def metric_label(name: str) -> str:
    """Write a metric's name as people say it: ``R@5`` for ``recall@5``."""
    base, at, k = name.partition("@")
    return {"recall": "R", "map": "mAP", "mrr": "MRR", "ndcg": "nDCG"}.get(base, base) + at + k


def score(value: float | None) -> str:
    """Write a score as the report does; an undefined one in the visitor's language."""
    return spell_number(value) if value is not None and value == value else _("undefined")


def _card(name: str, estimate: Estimate) -> None:
    n = number(int(estimate.denominator))
    st.metric(
        metric_label(name),
        score(estimate.value),
        delta=_ends(estimate.interval),
        delta_color="off",
        delta_arrow="off",
        help=_help(name, estimate),
    )
    if base_name(name) != "recall":
        quiet(_("mean over {n} queries").format(n=n))
        return
    # The joiners keep the two ends on one line of a narrow card.
    resampled = (
        _("all groups agree") if estimate.bootstrap is None else _ends(estimate.bootstrap).replace("–", "\u2060–\u2060")
    )
    hits = _("{a} of {b}").format(a=_amount(estimate.numerator), b=n)
    quiet(f"{hits}\n" + _("bootstrap: {ends}").format(ends=resampled))


def _help(name: str, estimate: Estimate) -> str:
    lines = [engine_words.level(base_name(name))]
    for interval in (estimate.interval, estimate.bootstrap):
        if interval is not None:
            lines.append(f"{_ends(interval)}: {interval.level:.0%} {engine_words.interval(interval)}")
    if estimate.score.n_tied:
        worst, _expected, best = estimate.score.bounds
        tied = _("{n} queries depend on the order of tied items: from {worst} to {best}")
        lines.append(tied.format(n=estimate.score.n_tied, worst=spell_number(worst), best=spell_number(best)))
    return "  \n".join(plain(line) for line in lines)


def _denominators(evaluation: Evaluation) -> None:
    """Say what was left out, and when the two intervals disagree."""
    counts, name = evaluation.counts, f"recall@{evaluation.spec.ks[0]}"
    lines = []
    if counts["n_without_relevant"]:
        lone = plural(
            "{n} query has no right picture", "{n} queries have no right picture", counts["n_without_relevant"]
        )
        counted = _("counted as missed") if evaluation.spec.no_relevant == "miss" else _("left out")
        other = evaluation.scores[f"recall_evaluable@{evaluation.spec.ks[0]}"]
        without = _("{name} of the other {n} alone: {value}").format(
            name=metric_label(name), n=number(int(other.denominator)), value=score(other.value)
        )
        lines.append(f"{lone} ({counted}). {without}.")
    if _apart(evaluation.scores[name]):
        lines.append(
            _(
                "The two intervals part: the bootstrap redraws the groups that were seen, so near 0 or 1 and with few "
                "groups it is too narrow; trust the first one."
            )
        )
    if lines:
        quiet("\n".join(lines))


def _apart(estimate: Estimate) -> bool:
    first, second = estimate.interval, estimate.bootstrap
    if first is None or second is None:
        return False
    return max(abs(first.low - second.low), abs(first.high - second.high)) > APART


def _row(view: str, name: str, estimate: Estimate) -> dict[str, object]:
    worst, _expected, best = estimate.score.bounds
    return {
        _("direction"): view,
        _("score"): name,
        _("value"): score(estimate.value),
        _("sum"): _amount(estimate.numerator),
        _("out of"): _amount(estimate.denominator),
        _("interval"): _ends(estimate.interval),
        _("bootstrap"): _ends(estimate.bootstrap),
        _("with ties worst – best"): f"{spell_number(worst)} – {spell_number(best)}" if estimate.score.n_tied else "",
        _("counts"): engine_words.level(base_name(name)),
    }


def _ends(interval: Interval | None) -> str:
    return "" if interval is None else f"{spell_number(interval.low)}–{spell_number(interval.high)}"


def _amount(value: float) -> str:
    return number(int(value)) if value == int(value) else f"{value:.2f}"
