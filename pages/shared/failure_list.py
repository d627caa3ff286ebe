"""The list of failures that Failures shows and Query steps through: its filters in the URL, its tiles, its file.

The URL is the only place where the filters are kept: ``slice``, ``reason``, ``sort`` and ``page`` are read from it in
each run, and written by what the visitor does. A link, Back and a reload then need nothing of their own.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote

import pandas as pd
import streamlit as st

from pages.shared.components.gallery import Place, Tile
from pages.shared.frame.shell import quiet
from recall_core import datasets, diagnosis, protocol
from recall_core.diagnosis import MISS_REASONS, SORTS
from recall_core.errors import DataError
from recall_core.evaluation import Direction, Evaluation
from recall_core.protocol import Filter, option, read_filter, write_condition, write_filter

from . import cached, tiles
from .components import gallery, triage
from .frame import settings
from .words import _, number, plain, plural
from .words.labels import problem_text

PAGE_SIZE = 24
"""Tiles a page, each of three pictures."""

UNTAGGED = diagnosis.UNTAGGED
"""How the URL spells, among the tags, that none was given; in the name of a tag it would be escaped."""

NAME = "failure"
"""Name in the URL of Query for the failure that is shown, ``DIRECTION:NUMBER``; with it, Query steps through them."""


@dataclass(frozen=True)
class Chosen:
    """Which failures, in which order, from which page on: the page's own part of the URL."""

    slice: Filter = ()
    reasons: tuple[str, ...] = ()
    sort: str = SORTS[0]
    page: int = 1
    tags: tuple[str, ...] = ()


EVERYTHING = Chosen()


def chosen(evaluation: Evaluation) -> Chosen:
    """Read from the URL which failures are meant; what cannot be read there falls back to all of them, and is said."""
    asked = st.query_params
    reasons = tuple(reason for reason in MISS_REASONS if reason in asked.get("reason", "").split(","))
    if "near_duplicate" in reasons and cached.alike(evaluation) is None:
        reasons = tuple(reason for reason in reasons if reason != "near_duplicate")
    sort, page = asked.get("sort", ""), asked.get("page", "")
    return Chosen(
        _slice(evaluation, asked.get("slice", "")),
        reasons,
        sort if sort in SORTS else SORTS[0],
        int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 7 else 1,
        tuple(dict.fromkeys(filter(None, map(_read_tag, asked.get("tag", "").split(","))))),
    )


def link(chosen: Chosen) -> dict[str, str]:
    """Spell it for the URL; what is as always is left out."""
    spelled = {
        "slice": write_filter(chosen.slice),
        "reason": ",".join(chosen.reasons),
        "sort": chosen.sort if chosen.sort != SORTS[0] else "",
        "page": str(chosen.page) if chosen.page > 1 else "",
        "tag": ",".join(map(_spell_tag, chosen.tags)),
    }
    return {name: value for name, value in spelled.items() if value}


def command(evaluate: str, k: int, chosen: Chosen) -> str:
    """Spell the command that prints this list, given the one that evaluates."""
    words = shlex.split(evaluate)
    words[words.index("evaluate")] = "failures"
    words += ["--cut", str(k)]
    for column, values in chosen.slice:
        for value in values:
            words += option("--slice", write_condition(column, value))
    for reason in chosen.reasons:
        words += ["--reason", reason]
    for tag in chosen.tags:
        words += ["--untagged"] if tag == UNTAGGED else option("--tag", tag)
    return shlex.join([*words, *(["--sort", chosen.sort] if chosen.sort != SORTS[0] else [])])


def find(evaluation: Evaluation, k: int, chosen: Chosen, shown: tuple[str, int] | None = None) -> pd.DataFrame:
    """List the failures that are meant; none where no row of the table meets all conditions of the slice.

    A list of tags holds until the visitor asks for another: what is tagged meanwhile stays in it, and so does
    ``shown``, a direction and a query.
    """
    try:
        found = diagnosis.failures(
            evaluation,
            k,
            where=chosen.slice,
            reasons=chosen.reasons,
            sort=chosen.sort,
            alike=cached.alike(evaluation) if "near_duplicate" in chosen.reasons else None,
        )
    except DataError:  # each condition by itself was met, or ``chosen`` had not taken it
        return diagnosis.failures(evaluation, k).iloc[:0]
    if not chosen.tags:
        return found
    which = repr((k, replace(chosen, page=1)))
    return triage.hold(evaluation, found, chosen.tags, which, shown)


def place(evaluation: Evaluation, chosen: Chosen, found: pd.DataFrame, event: object) -> Place:
    """Where does the cursor stand? On the query that the URL names, else on the first of the page that it names."""
    asked = asked_for(evaluation)
    page = max(1, min(chosen.page, gallery.n_pages(len(found), PAGE_SIZE)))
    at = (diagnosis.position(found, *asked) if asked else 0) or (page - 1) * PAGE_SIZE + 1
    number = gallery.apply_event(Place(), event, n_query=1, n_tile=0).number
    return Place(at, _page(at), number=number)


def go(found: pd.DataFrame, at: int, chosen: Chosen) -> None:
    """Put the cursor on another place of the list; for callbacks."""
    _write({"page": "", **address(found, at, chosen)})


def addresses(found: pd.DataFrame, chosen: Chosen, page: int) -> list[dict[str, str]]:
    """Say for each tile of a page what the URL says while the cursor is on it."""
    shown = range((page - 1) * PAGE_SIZE, min(page * PAGE_SIZE, len(found)))
    return [address(found, at + 1, chosen) for at in shown]


def address(found: pd.DataFrame, at: int, chosen: Chosen) -> dict[str, str]:
    """Give the address of a place of the list, 1-based: on Query, and on Failures as well, where its tile stands.

    One address serves both because a door leaves an entry in the browser's history that still has the page that one
    leaves, but the address of the next already, and Back comes to stand there.
    """
    facts = found.iloc[at - 1]
    shown = {NAME: f"{facts['direction']}:{facts['query'] + 1}"}
    return shown | link(replace(chosen, page=_page(at)))


def _page(at: int) -> int:
    return (at - 1) // PAGE_SIZE + 1


def asked_for(evaluation: Evaluation) -> tuple[str, int] | None:
    """Which failure does the URL name: direction, and position in it (0-based)? None: none that there is."""
    name, _colon, n = st.query_params.get(NAME, "").rpartition(":")
    sizes = {direction.name: direction.ranking.n_query for direction in evaluation.directions}
    known = name in sizes and n.isascii() and n.isdigit() and len(n) < 10 and 1 <= int(n) <= sizes[name]
    return (name, int(n) - 1) if known else None


def filters_in_words(chosen: Chosen) -> list[str]:
    """Say the filters in words, one each."""
    reasons = [" / ".join(map(reason_words, chosen.reasons))] if chosen.reasons else []
    tags = [" / ".join(plain(tag_words(tag)) for tag in chosen.tags)] if chosen.tags else []
    return [*reasons, *(plain(f"{column}: {', '.join(values)}") for column, values in chosen.slice), *tags]


def leave(direction: str, query: int) -> None:
    """Step through all queries from here on, starting with this one; for callbacks."""
    st.session_state.update(direction=direction, q=query + 1)
    _write(dict.fromkeys((NAME, "slice", "reason", "sort", "page", "tag"), ""))


def tiles_of(evaluation: Evaluation, found: pd.DataFrame, page: int) -> list[Tile]:
    """Make the tiles of one page: each query with its best wrong and its best right answer."""
    shown = found.iloc[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    alike = cached.alike(evaluation)
    if alike is not None:
        shown = diagnosis.compare_misses(evaluation, shown, alike)
    directions = {direction.name: direction for direction in evaluation.directions}
    return [_tile(evaluation, directions[facts["direction"]], facts) for facts in shown.to_dict("records")]


def controls(evaluation: Evaluation, chosen: Chosen, everything: pd.DataFrame) -> None:
    """Ask for reasons, for values of a column, and for the order."""
    counts = diagnosis.count_reasons(everything)
    offered = [name for name in MISS_REASONS if name in counts or name in chosen.reasons]
    if "near_duplicate" not in offered and cached.alike(evaluation) is not None:
        offered.append("near_duplicate")
    _synced(
        "pills",
        "reason",
        list(chosen.reasons),
        label=_("Reason"),
        options=offered,
        on_change=_choose_reasons,
        format_func=lambda name: _counted(reason_words(name), counts.get(name)),
        selection_mode="multi",
    )
    columns = settings.label_columns(evaluation.dataset)
    # Also where nothing is tagged yet: the first tag must not move the tiles under the hand.
    tags = _tags(evaluation, chosen)
    _synced(
        "pills",
        "tag",
        list(chosen.tags),
        label=_("Tags"),
        options=tags,
        on_change=_choose_tags,
        format_func=lambda tag: plain(tag_words(tag)),
        selection_mode="multi",
    )
    which, values, order = st.columns([2, 4, 3], vertical_alignment="bottom")
    if columns:
        with which:
            first = chosen.slice[0][0] if chosen.slice else evaluation.dataset.columns.get("group", "")
            if st.session_state.get("slice_column") not in columns:
                st.session_state["slice_column"] = first if first in columns else columns[0]
            column = st.selectbox(_("Only where"), columns, key="slice_column")
        with values:
            there, taken = diagnosis.count_values(evaluation.dataset, everything, column), dict(chosen.slice)
            picked = list(taken.get(column, ()))
            # Not a multiselect: in the dark its chips are white on the primary colour, which cannot be read well.
            _synced(
                "selectbox",
                "slice_value",
                None,
                label=_("is"),
                options=[value for value in there if value not in picked],
                on_change=_add_value,
                format_func=lambda value: _counted(value, there[value]),
                args=(taken,),
                placeholder=_("any value"),
            )
    with order:
        _synced(
            "segmented_control",
            "sort",
            chosen.sort,
            label=_("Worst first, by"),
            options=SORTS,
            on_change=_choose_sort,
            format_func=sort_words,
            required=True,
        )
    if columns and picked:
        _synced(
            "pills",
            "slice_values",
            picked,
            label=plain(column),
            options=picked,
            on_change=_choose_values,
            format_func=lambda value: _counted(plain(value), there.get(value, 0)),
            args=(taken,),
            selection_mode="multi",
        )


def summary(evaluation: Evaluation, k: int, chosen: Chosen, found: pd.DataFrame, everything: pd.DataFrame) -> None:
    """Say how many are shown; where that is not all, offer all."""
    n_query = evaluation.scores[f"recall@{evaluation.spec.ks[0]}"].denominator
    n, m = number(len(found)), number(len(everything))
    missed = _("{m} of {all} queries miss at k = {k}").format(m=m, all=number(int(n_query)), k=k)
    filtered = bool(chosen.slice or chosen.reasons or chosen.tags)
    shown = _("{n} of these {m}").format(n=n, m=m)
    st.markdown(f"**{shown}** · {missed}" if filtered else f"**{missed}**")
    if filtered:
        quiet(" · ".join(filters_in_words(chosen)))
        st.button(
            _("Show all"), key="clear", on_click=_write, args=({"slice": "", "reason": "", "page": "", "tag": ""},)
        )
    if chosen.tags:  # also where none is left over: nothing moves while one is tagging
        left = triage.n_left(evaluation, found, chosen.tags)
        quiet(
            plural(
                "{n} was tagged otherwise meanwhile, and stays until the filter changes",
                "{n} were tagged otherwise meanwhile, and stay until the filter changes",
                left,
            )
        )
        st.button(_("Filter again"), key="filter_again", type="tertiary", on_click=_filter_again, disabled=not left)


def _filter_again() -> None:
    triage.release()
    _write({"page": ""})


def download(evaluation: Evaluation, found: pd.DataFrame, where: Filter) -> None:
    """Offer the list as it is filtered and sorted; the command line writes the same."""
    alike = cached.alike(evaluation)
    st.download_button(
        _("Download as CSV"),
        lambda: datasets.guarded_csv(diagnosis.failure_table(evaluation, found, alike, where=where)),
        file_name=f"{evaluation.dataset.name}_failures.csv",
        mime="text/csv",
        key="download",
        on_click="ignore",
        disabled=found.empty,
    )


def reason_words(reason: str) -> str:
    """Say a reason in two or three words."""
    return {
        "junk": _("all right ones left out"),
        "unlabelled": _("query has no label"),
        "unmatched": _("none in the gallery"),
        "not_retrieved": _("never retrieved"),
        "near_duplicate": _("wrong one is a twin"),
        "tie": _("tie"),
        "close": _("just behind"),
        "deep": _("deep"),
    }[reason]


def tag_words(tag: str) -> str:
    """Say a tag; it has its own name already, but for "none"."""
    return _("no tag") if tag == UNTAGGED else tag


def sort_words(sort: str) -> str:
    """Say an order in one word."""
    return {"rank": _("rank"), "ap": "AP", "margin": _("margin")}[sort]


def _tile(evaluation: Evaluation, direction: Direction, facts: Any) -> Tile:
    reasons, margin = facts["reasons"].split(), facts["margin"]
    wrong_row, right_rows = diagnosis.best(direction, facts["query"])
    wrong, right, nothing = Tile("", ""), Tile("", ""), _("nothing right")
    if wrong_row is not None:
        flag = _("twin") if "near_duplicate" in reasons else ""
        wrong = _answer(evaluation, wrong_row, False, facts["wrong_similarity"], "1", flag)
    if right_rows:
        rank, flag = facts["first_rank"], _("tie") if "tie" in reasons else ""
        right = _answer(evaluation, right_rows[0], True, facts["right_similarity"], number(rank) if rank else "–", flag)
    elif facts["n_relevant"] == 0:
        right = Tile("", "", f"{nothing}: {reason_words(reasons[0])}")
    about = _("margin {m}").format(m=signed(margin, 3)) if margin == margin else ""
    label = _("{id}, best wrong {wrong}, best right {right} at rank {rank}, {about}").format(
        id=facts["id"], wrong=wrong.title, right=right.title, rank=right.badge, about=about or right.note
    )
    source = cached.query_thumbnail(evaluation, facts["row"], 128)
    return Tile(source, label, tiles.short(str(facts["id"])), about, beside=(wrong, right))


def signed(value: float, digits: int) -> str:
    """Write a number with its sign; the minus is as wide as the plus, and what is not 0 is not rounded to it."""
    form = f"+.{digits}f" if value == 0 or abs(value) >= 0.1**digits else "+.1e"
    return f"{value:{form}}".replace("-", "−")


def _answer(evaluation: Evaluation, row: int, right: bool, similarity: float, rank: str, flag: str) -> Tile:
    shown = f"{similarity:.3f}" if similarity == similarity else _("not found")
    note = f"{shown} · {flag}" if flag else shown
    return Tile(cached.thumbnail(evaluation.dataset, row), "", tiles.name_of(evaluation, row), note, rank, right)


def _slice(evaluation: Evaluation, spelled: str) -> Filter:
    try:
        conditions = read_filter(spelled)
        for condition in conditions:
            protocol.select_rows(evaluation.dataset, (condition,))
    except DataError as problem:
        quiet(f"⚠️ {plain(problem_text(problem))}")
        return ()
    return conditions


def _synced(kind: str, key: str, value: Any, **control: Any) -> None:
    """Show a control that says what the URL says; the visitor's change goes through ``on_change`` into the URL."""
    st.session_state[f"{key}_shown"] = value
    getattr(st, kind)(key=f"{key}_shown", **control)


def _choose_reasons() -> None:
    _write({"reason": ",".join(st.session_state["reason_shown"]), "page": ""})


def _add_value(taken: Mapping[str, tuple[str, ...]]) -> None:
    """Filter by one more value of the column that is asked for."""
    more = st.session_state["slice_value_shown"]
    if more is not None:
        _filter(taken, (*taken.get(st.session_state["slice_column"], ()), more))


def _choose_values(taken: Mapping[str, tuple[str, ...]]) -> None:
    """Keep only the values that stay picked."""
    _filter(taken, tuple(st.session_state["slice_values_shown"]))


def _filter(taken: Mapping[str, tuple[str, ...]], picked: tuple[str, ...]) -> None:
    """Filter by these values of the column that is asked for; what other columns are filtered by stays."""
    all_of_them = {**taken, st.session_state["slice_column"]: picked}
    _write({"slice": write_filter(tuple((name, values) for name, values in all_of_them.items() if values)), "page": ""})


def _choose_tags() -> None:
    _write({"tag": ",".join(map(_spell_tag, st.session_state["tag_shown"])), "page": ""})


def _spell_tag(tag: str) -> str:
    return tag if tag == UNTAGGED else quote(tag, safe=" ")


def _read_tag(spelled: str) -> str:
    read = unquote(spelled)
    return spelled if spelled == UNTAGGED else "" if read == UNTAGGED else read


def _tags(evaluation: Evaluation, chosen: Chosen) -> list[str]:
    """Tags that can be given, those that somebody gave, and "none"."""
    used = {tag for tags in diagnosis.tags_of(triage.marks(evaluation.dataset)).values() for tag in tags}
    offered = diagnosis.tag_list(triage.store(evaluation.dataset))
    return list(dict.fromkeys([*offered, *sorted(used), UNTAGGED, *chosen.tags]))


def _choose_sort() -> None:
    sort = st.session_state["sort_shown"]
    _write({"sort": sort if sort != SORTS[0] else "", "page": ""})


def _write(changes: Mapping[str, str]) -> None:
    """Write into the URL; an empty value takes the name away, and so does any change that of a failure shown before."""
    for name, value in {NAME: "", **changes}.items():
        if value:
            st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]


def _counted(words: str, n: int | None) -> str:
    return words if n is None else f"{words} · {number(n)}"
