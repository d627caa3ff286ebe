"""What Compare compares: runs by name, from the current data set or saved, and how they are shown."""

import re
import shlex
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import cached, charts, tiles
from pages.shared.components import chart_downloads, gallery, run_downloads, score_tables, value_table
from pages.shared.components.gallery import Grid, Tile
from pages.shared.components.value_table import Row
from pages.shared.failure_list import signed
from pages.shared.frame import opened_folders, settings, shell
from pages.shared.frame.shell import quiet
from pages.shared.words import _, number, plain
from recall_core import datasets, diagnosis, program
from recall_core.diagnosis import Comparison
from recall_core.evaluation import Evaluation, spell_number
from recall_core.protocol import Spec

VECTORS, SAVED = "vectors:", "saved:"
"""How a run's name begins that is made of given vectors, or was saved; any other name is an encoder's."""

MOST_RUNS, N_LISTED, N_TILES, SHORT = 12, 60, 12, 28
RUNS = "runs"
"""The runs that are compared, in the URL."""

NAME = "on"
"""The query that is looked at, in the URL: ``DIRECTION:NUMBER`` in the first of the two runs."""


@dataclass(frozen=True)
class Chosen:
    """Which runs, by name, the score that decides, and which two are looked at closely."""

    names: tuple[str, ...]
    metric: str
    first: int
    second: int


def offered(here: shell.Here) -> dict[str, Path | None]:
    """Name what can be compared: encoders and vectors of the data set, and saved runs with their folders."""
    fields = settings.offered(here.dataset, here.folder)
    names = [name for name in fields["encoder"] if name != settings.NONE]
    names += [VECTORS + name for name in fields["embeddings"] if name != settings.NONE]
    return dict.fromkeys(names) | {SAVED + folder.name: folder for folder in _saved()}


def current(here: shell.Here) -> str:
    """Under which of these names stands what the sidebar says?"""
    spec = here.evaluation.spec
    return VECTORS + settings.vectors_name(here.folder, spec.embeddings) if spec.embeddings else str(spec.encoder)


def ask(here: shell.Here, there: Mapping[str, Path | None]) -> list[str]:
    """Ask which runs; the URL is the only place where they are kept, separated by commas."""
    mine = current(here)
    start = list(dict.fromkeys([*([mine] if mine in there else []), *there]))[:2]
    asked = [name for name in st.query_params.get(RUNS, "").split(",") if name in there]
    st.session_state["runs_shown"] = (asked or start)[:MOST_RUNS]
    # Not a multiselect: in the dark its chips are white on the primary colour, which cannot be read well.
    chosen: list[str] = st.pills(
        _("Runs: encoders and vectors of this data set, with the other choices at the left; and saved runs"),
        list(there),
        key="runs_shown",
        selection_mode="multi",
        format_func=plain,
        on_change=_choose,
    )
    if len(chosen) > MOST_RUNS:
        quiet(
            _("The first {n} of these {m} are compared: more are too many for one table.").format(
                n=MOST_RUNS, m=len(chosen)
            )
        )
    return in_order(chosen[:MOST_RUNS])


def in_order(names: Sequence[str]) -> list[str]:
    """Put epochs in the order of their numbers; other runs stay as they were chosen."""
    at = epochs(names)
    return [name for _epoch, name in sorted(zip(at, names, strict=True))] if at else list(names)


def _choose() -> None:
    st.query_params[RUNS] = ",".join(st.session_state["runs_shown"])


def spec_of(here: shell.Here, name: str) -> Spec:
    """Give the spec of the sidebar with another encoder, or other vectors."""
    if name.startswith(VECTORS):
        return here.spec.replace(
            embeddings=settings.vectors_file(here.folder, name.removeprefix(VECTORS)), encoder=None
        )
    return here.spec.replace(encoder=name, embeddings=None)


def evaluations(here: shell.Here, names: Sequence[str], there: Mapping[str, Path | None]) -> dict[str, Evaluation]:
    """Evaluate what is named, or open it."""
    found = {}
    with st.spinner(_("Comparing the pictures …")):
        for name in names:
            folder = there[name]
            found[name] = cached.evaluation(here.dataset, spec_of(here, name)) if folder is None else cached.run(folder)
    return found


def common_k(compared: Comparison, k: int) -> int | None:
    """Give the chosen k where all runs have it, else the first k that all have, and say so; None where none is."""
    shared = set.intersection(*(set(one.spec.ks) for one in compared.evaluations))
    if k in shared:
        return k
    instead = min(shared, default=None)
    if instead is None:
        quiet(_("The runs have no k in common, so no score that cuts the list is compared."))
    else:
        quiet(_("Not all runs were saved with k = {k}; k = {instead} is shown instead.").format(k=k, instead=instead))
    return instead


def usual(k: int | None) -> list[str]:
    """Name the scores that are always shown: R@k, where there is a k, and mAP."""
    return ["map"] if k is None else [f"recall@{k}", "map"]


def ask_metric(compared: Comparison, k: int | None) -> str:
    """Ask for the score that decides; with another k it stays the same score, at that k."""
    first, *others = compared.evaluations
    shared = [name for name in first.scores if all(name in one.scores for one in others)]
    shared = [name for name in shared if "@" not in name or name.endswith(f"@{k}")]
    by_kind = {name.replace(f"@{k}", "@k"): name for name in [*usual(k), *shared]}

    def label(kind: str) -> str:
        return score_tables.metric_label(by_kind.get(kind, kind))

    chosen: str = st.selectbox(
        _("Score"),
        list(by_kind),
        key="metric",
        format_func=label,
        width=200,
        persist_state="session",
    )
    return by_kind[chosen]


def alone(here: shell.Here, name: str, there: Mapping[str, Path | None]) -> None:
    """Show what one run scores, and on which data, until another is chosen."""
    evaluation = evaluations(here, [name], there)[name]
    quiet(plain(settings.counts_line(evaluation.dataset.name, evaluation)))
    runs_table(diagnosis.single(name, evaluation), diagnosis.default_metrics([evaluation]))


def commands(
    here: shell.Here, names: Sequence[str], there: Mapping[str, Path | None], metrics: Sequence[str], common: bool
) -> str:
    """Spell the commands that print the same; a saved run is named where it lies."""
    lines, folders = [], []
    for name in names:
        saved = there[name]
        folder = "runs/" + re.sub(r"\W+", "-", name) if saved is None else settings.shown_path(saved)
        folders.append(folder)
        if saved is None:
            lines.append(settings.to_command(spec_of(here, name)) + f" --save {shlex.quote(folder)}")
    words = ["compare", *folders, *(["--common"] if common else []), "--metric", *metrics]
    return "\n".join([*lines, program.command(*words)])


def epochs(names: Sequence[str]) -> list[int]:
    """Which epochs are these runs of? Names that differ in the number at their end alone; else none."""
    found = [re.fullmatch(r"(.*?)(\d+)", name) for name in names]
    if len(names) < 3 or not all(found) or len({match.group(1) for match in found if match}) > 1:
        return []
    return [int(match.group(2)) for match in found if match]


def runs_table(compared: Comparison, metrics: Sequence[str]) -> None:
    """Show what each run scores, with the interval of the first metric drawn."""
    found = diagnosis.run_table(compared, metrics)
    rows = []
    for name in compared.names:
        own = [found[(found["run"] == name) & (found["metric"] == metric)].iloc[0] for metric in metrics]
        cells = (name, *(_with_ends(facts["value"], facts["low"], facts["high"]) for facts in own))
        counts = _("{n} of {m}").format(n=number(int(own[0]["n_counted"])), m=number(int(own[0]["n_query"])))
        rows.append(Row((*cells, counts), own[0]["value"], own[0]["low"], own[0]["high"]))
    heads = [_("run"), *map(score_tables.metric_label, metrics), _("queries"), score_tables.metric_label(metrics[0])]
    value_table.show(_("Runs"), heads, rows, key="runs_table")


def tests_table(compared: Comparison, metrics: Sequence[str]) -> None:
    """Show the paired differences, with their tests."""
    found = diagnosis.paired_tests(compared, metrics)
    widest = max([0.01, *found[["low", "high", "difference"]].abs().max().dropna()])
    rows = []
    for facts in found.to_dict("records"):
        difference = _signed_with_ends(facts["difference"], facts["low"], facts["high"])
        outcome = " / ".join(number(int(facts[name])) for name in ("won", "lost", "tied"))
        groups = _("{n} of {m}").format(n=number(facts["n_changed"]), m=number(facts["n_group"]))
        label = " − ".join(str(facts[side]).removeprefix(SAVED) for side in ("second", "first"))
        if len(label) <= SHORT:
            label = label.replace(" ", "\u00a0")  # two short names stay on one line
        tests = (_p(facts["p"]), _p(facts["p_holm"]))
        cells = (label, score_tables.metric_label(str(facts["metric"])), difference, *tests, outcome, groups)
        rows.append(Row(cells, facts["difference"], facts["low"], facts["high"]))
    heads = [
        _("pair"),
        _("score"),
        _("difference"),
        "p",
        _("p corrected"),
        _("won / lost / tied"),
        _("groups that differ"),
        "",
    ]
    value_table.show(_("Differences"), heads, rows, key="tests_table", domain=(-widest, widest))
    quiet(
        _(
            "Differences are paired by query; intervals and sign-flip tests take whole groups. “p corrected” is "
            "Holm's, for all rows of this table: below 0.05 the difference is more than chance."
        )
    )


def exports(compared: Comparison, metrics: Sequence[str]) -> None:
    """Offer the table of runs as files."""
    table, latex = diagnosis.run_table(compared, metrics), diagnosis.comparison_latex(compared, metrics)
    with st.container(horizontal=True):
        st.download_button(
            _("Table as CSV"),
            datasets.guarded_csv(table),
            file_name="runs.csv",
            mime="text/csv",
            key="runs_csv",
            on_click="ignore",
        )
        st.download_button(
            _("Table as LaTeX"), latex, file_name="runs.tex", mime="text/plain", key="runs_tex", on_click="ignore"
        )


def trend(compared: Comparison, metric: str) -> None:
    """Draw the score over the epochs, where the runs are epochs."""
    at = epochs(compared.names)
    if at:
        st.markdown("**" + _("Score over epochs") + "**")
        found = diagnosis.run_table(compared, [metric]).assign(epoch=at)
        figure = charts.trend(found, score_tables.metric_label(metric))
        chart_downloads.draw(figure, config=chart_downloads.CONFIG, key="trend", alt=_("Score over epochs"))
        chart_downloads.bar("trend", _("Score over epochs"), found)
    elif len(compared.names) > 2:
        quiet(
            _(
                "Epochs of one training are drawn as a line when the names of the runs differ only in the number at "
                "their end: epoch1, epoch2, …"
            )
        )


def moves(compared: Comparison, chosen: Chosen) -> None:
    """Show for two runs which queries are won and lost, and both galleries of one query."""
    found = diagnosis.query_moves(compared, chosen.metric, chosen.first, chosen.second)
    left, right = st.columns([1, 1], gap="large")
    with left:
        counts = diagnosis.count_outcomes(found)
        shown = [outcome for outcome in diagnosis.OUTCOMES if counts[outcome]]
        words = outcome_words()
        outcome = st.segmented_control(
            _("Queries"),
            shown,
            default=shown[0],
            required=True,
            key="outcome",
            format_func=lambda name: f"{words[name]} · {number(counts[name])}",
        )
        _moved(found[found["outcome"] == outcome].reset_index(drop=True), f"{chosen} {outcome}")
    with right:
        names = (compared.names[chosen.first], compared.names[chosen.second])
        figure = charts.rank_moves(found, names, words)
        chart_downloads.draw(
            figure,
            config=chart_downloads.CONFIG,
            key="rank_moves",
            on_select=_look_at_point,
            selection_mode="points",
            alt=_("Rank of the first right picture in both"),
        )
        chart_downloads.bar("rank_moves", _("Rank of the first right picture in both"), found)
        unfound = diagnosis.count_unfound(found)
        if unfound:
            quiet(_("{n} queries that found nothing in one of the two are not drawn.").format(n=number(unfound)))
    _galleries(compared, chosen, found)


def _look_at_point() -> None:
    """Look at the query of the point that was clicked; an empty selection changes nothing."""
    points = st.session_state["rank_moves"]["selection"]["points"]
    given = points[0].get("customdata") if points else None
    if given:
        st.query_params[NAME] = str(given[2])


def outcome_words() -> dict[str, str]:
    """Say what became of a query."""
    return dict(zip(diagnosis.OUTCOMES, (_("lost"), _("won"), _("tied"), _("left out")), strict=True))


def _moved(found: pd.DataFrame, stamp: str) -> None:
    """List queries; the one that is picked is looked at below."""
    shown = found.head(N_LISTED)

    def look() -> None:
        row = value_table.picked("moved", stamp, len(shown))
        if row is not None:
            st.query_params[NAME] = _address(shown.iloc[row])

    rows = [
        Row(
            (
                str(facts["id"]),
                f"{spell_number(facts['first_value'])} → {spell_number(facts['second_value'])}",
                f"{_rank(facts['first_rank'])} → {_rank(facts['second_rank'])}",
            )
        )
        for facts in shown.to_dict("records")
    ]
    with st.container(height=330, border=False):
        value_table.show(
            _("Queries"), [_("query"), _("score"), _("first right rank")], rows, key="moved", stamp=stamp, on_pick=look
        )
    if len(found) > N_LISTED:
        quiet(_("The first {n} of {m} are listed.").format(n=N_LISTED, m=number(len(found))))


def _galleries(compared: Comparison, chosen: Chosen, found: pd.DataFrame) -> None:
    """Show the query that is looked at, and its list in both runs."""
    asked = st.query_params.get(NAME, "")
    at = next((facts for facts in found.to_dict("records") if _address(facts) == asked), found.iloc[0])
    name = str(at["id"])
    st.markdown("**" + _("Query {id} in both").format(id=plain(name)) + "**")
    sides = ((chosen.first, "direction", "query"), (chosen.second, "second_direction", "second_query"))
    for place, (run, direction_name, query) in zip(st.columns(2, gap="large"), sides, strict=True):
        evaluation = compared.evaluations[run]
        direction = evaluation.direction(str(at[direction_name]))
        saved = compared.names[run].startswith(SAVED)
        shown = [_query_tile(evaluation, int(direction.split.query[at[query]]), name, saved)]
        shown += tiles.ranked(evaluation, direction, int(at[query]), 1, N_TILES - 1)
        with place:
            gallery.show(shown, Grid(compared.names[run], columns=6), key=f"side_{run == chosen.second}")


def _query_tile(evaluation: Evaluation, row: int, name: str, saved: bool) -> Tile:
    # A saved run holds the pictures as they are in the data; the files that its spec names are not opened for it.
    source = cached.thumbnail(evaluation.dataset, row) if saved else cached.query_thumbnail(evaluation, row, 128)
    return Tile(source, _("Query {id}").format(id=name), tiles.short(name), _("asks"))


def _address(facts: Mapping[Hashable, Any] | pd.Series) -> str:
    return f"{facts['direction']}:{int(str(facts['query'])) + 1}"


def _rank(rank: int) -> str:
    return number(int(rank)) if rank else _("none")


def _with_ends(value: float, low: float, high: float) -> str:
    ends = f" [{spell_number(low)}, {spell_number(high)}]" if low == low else ""
    return score_tables.score(value) + ends


def _signed_with_ends(value: float, low: float, high: float) -> str:
    if value != value:
        return _("undefined")
    return signed(value, 4) + (f" [{signed(low, 4)}, {signed(high, 4)}]" if low == low else "")


def _p(value: float) -> str:
    return "" if value != value else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _saved() -> list[Path]:
    """Folders of saved runs: those kept by this app, and those beside the data."""
    places = (run_downloads.runs_folder(), cached.data_root(), *opened_folders.folders())
    return [folder for place in places for folder in datasets.runs(place)]
