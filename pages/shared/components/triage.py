"""Tags, notes and judgements by keyboard: what the browser is told of them, and what its key presses do.

The browser keeps every key press in a list until the server says that it is done, and reports the whole list each
time. A press says what shall be so ("tag 3 on query 17: on"), never "the other way round", so hearing it twice changes
nothing, and none is lost where runs of the script are skipped.
"""

import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import cached
from pages.shared.frame import own_data
from pages.shared.words import _
from pages.shared.words.labels import problem_text
from recall_core import diagnosis
from recall_core.datasets import Dataset
from recall_core.errors import DataError
from recall_core.evaluation import Evaluation

from .gallery import PAGE_SIZE, Place, apply_event

REACH = 120
"""The browser knows the items of so many places of the list before and after the one that is shown."""

N_KEY = 9
MOST = 2000
"""Longer lists of key presses are not believed."""

MOST_LETTERS = 4000


@dataclass
class Log:
    """What one visitor has done: ``done`` is the number of the last key press that was carried out."""

    session: str = field(default_factory=lambda: uuid.uuid4().hex)
    done: int = 0
    said: str = ""


def store(dataset: Dataset) -> str:
    """Under which name are the tags of a data set kept? Those of an upload are seen by who has the same data only."""
    return f"{dataset.name} {dataset.fingerprint[:16]}" if dataset.name in own_data.sets() else dataset.name


def marks(dataset: Dataset) -> pd.DataFrame:
    """Give all tags, notes and judgements as they stand now."""
    return diagnosis.marks(store(dataset))


def board(
    evaluation: Evaluation, queries: pd.DataFrame, at: int, *, one: tuple[str, int] | None = None, first: int = 1
) -> dict[str, Any]:
    """Tell the browser what it needs to tag without asking.

    Parameters
    ----------
    queries : DataFrame
        The list: columns ``direction`` and ``query``.
    at : int
        Place in it, 1-based; 0: nowhere.
    one : (direction, query), optional
        The query whose list is shown; its pictures can be judged.
    first : int
        Which place of its list is shown first, 1-based.
    """
    found, begin = marks(evaluation.dataset), max(0, at - 1 - REACH)
    here = [] if one is None else _items(evaluation, pd.DataFrame([one], columns=["direction", "query"]))
    near = _items(evaluation, queries.iloc[begin : at + REACH])
    items = list(dict.fromkeys([*near, *here]))
    ids = [str(name) for name in evaluation.table["id"].iloc[items]]
    offered = diagnosis.tag_list(store(evaluation.dataset))
    return {
        "list": _stamp(evaluation),
        "first": begin + 1,
        "items": near,
        "shown": here[0] if here else None,
        "tagged": _by_item(items, ids, diagnosis.tags_of(found)),
        "notes": _by_item(items, ids, _notes(found)),
        "judged": _judged(evaluation, here[0], first, found) if here else {},
        "tags": offered,
        "done": log().done,
        "said": log().said,
        "keys": _keys(offered, judges=one is not None),
        "words": _words(),
    }


def apply(evaluation: Evaluation, event: object) -> None:
    """Carry out the key presses that have not been carried out yet."""
    mine, where = log(), store(evaluation.dataset)
    for number, action in _actions(evaluation, event):
        if number > mine.done:
            try:
                mine.said = _do(evaluation, where, action, mine.session)
            except DataError as problem:
                mine.said = f"⚠️ {problem_text(problem)}"
            mine.done = number


def follow(evaluation: Evaluation, queries: pd.DataFrame, at: int, event: object) -> int:
    """Carry out the key presses of a report; returns the place of the list, 1-based, that the browser stands at."""
    apply(evaluation, event)
    to = apply_event(Place(at), event, n_query=len(queries), n_tile=0).query
    return place_of(evaluation, queries, event, to)


def log() -> Log:
    """Give this visitor's log."""
    if "triage_log" not in st.session_state:
        st.session_state["triage_log"] = Log()
    mine: Log = st.session_state["triage_log"]
    return mine


def keep(
    evaluation: Evaluation, found: pd.DataFrame, tags: Collection[str], shown: tuple[str, int] | None
) -> pd.DataFrame:
    """Keep the queries that have one of the tags (``!``: none at all), and the one that is shown."""
    given = diagnosis.tags_of(marks(evaluation.dataset))
    kept = [
        (name, query) == shown or diagnosis.meets(given, str(item), tags)
        for name, query, item in zip(found["direction"], found["query"], found["id"], strict=True)
    ]
    return found[pd.Series(kept, index=found.index, dtype=bool)].reset_index(drop=True)


def hold(
    evaluation: Evaluation, found: pd.DataFrame, tags: Collection[str], which: str, shown: tuple[str, int] | None
) -> pd.DataFrame:
    """Keep what ``keep`` kept when the visitor asked for ``which`` list, whatever has been tagged since.

    A list that closes up under the keys would let them hit the neighbour, and a page of it skip as many as it lost.
    """
    which = f"{_stamp(evaluation)} {which}"
    asked, members = st.session_state.get("held", ("", frozenset()))
    if asked != which:
        kept = keep(evaluation, found, tags, shown)
        members = frozenset(_items(evaluation, kept))
    elif shown is not None:
        members |= set(_items(evaluation, pd.DataFrame([shown], columns=["direction", "query"])))
    st.session_state["held"] = (which, members)
    kept_now = [item in members for item in _items(evaluation, found)]
    return found[pd.Series(kept_now, index=found.index, dtype=bool)].reset_index(drop=True)


def n_left(evaluation: Evaluation, found: pd.DataFrame, tags: Collection[str]) -> int:
    """How many queries of the list no longer have a tag that is asked for?"""
    given = diagnosis.tags_of(marks(evaluation.dataset))
    return sum(not diagnosis.meets(given, str(item), tags) for item in found["id"]) if tags else 0


def release() -> None:
    """Let the list be made anew from the tags as they are; for callbacks."""
    st.session_state.pop("held", None)


def place_of(evaluation: Evaluation, queries: pd.DataFrame, event: object, otherwise: int) -> int:
    """At which place of the list, 1-based, is the query that the browser steps to?

    It names the query itself, because the list may have become another since the browser was told of it.
    """
    item = event.get("item") if isinstance(event, Mapping) and event.get("list") == _stamp(evaluation) else None
    items = _items(evaluation, queries) if _is_whole(item, 0, len(evaluation.table) - 1) else []
    return items.index(item) + 1 if item in items else otherwise


def _do(evaluation: Evaluation, where: str, action: Mapping[str, Any], session: str) -> str:
    """Carry out one key press; returns what is said of it."""
    about: dict[str, Any] = {"fingerprint": evaluation.dataset.fingerprint, "session": session}
    if action["do"] == "undo":
        taken = diagnosis.undo(where, session=session)
        if taken is None:
            return _("There is nothing to take back.")
        return _("Taken back: {what}").format(what=f"{_said(taken)} ({taken['item']})")
    item = str(evaluation.table["id"].iloc[action["item"]])
    if action["do"] == "tag":
        diagnosis.set_tag(where, item, action["name"], action["on"], **about)
    elif action["do"] == "note":
        diagnosis.set_note(where, item, action["text"], **about)
    elif action["other"] != item:
        diagnosis.judge(where, item, action["other"], action["relevant"], **about)
    return ""


def _said(taken: Mapping[str, str]) -> str:
    if taken["kind"] == "tag":
        return taken["name"]
    return _("note") if taken["kind"] == "note" else _("judgement of {id}").format(id=taken["other"])


def _actions(evaluation: Evaluation, event: object) -> Iterator[tuple[int, dict[str, Any]]]:
    """Take from a report what can be carried out; nothing in it is trusted, and what belongs to another list is not."""
    if not isinstance(event, Mapping) or event.get("list") != _stamp(evaluation):
        return
    actions, offered = event.get("actions"), diagnosis.tag_list(store(evaluation.dataset))
    for given in actions[:MOST] if isinstance(actions, list) else []:
        if isinstance(given, Mapping) and _is_whole(given.get("number"), 1, 2**53):
            action = _checked(evaluation, given, offered)
            if action is not None:
                yield given["number"], action


def _checked(evaluation: Evaluation, given: Mapping[str, Any], offered: list[str]) -> dict[str, Any] | None:
    do, item = given.get("do"), given.get("item")
    if do == "undo":
        return {"do": do}
    if not _is_whole(item, 0, len(evaluation.table) - 1):
        return None
    if do == "tag" and _is_whole(given.get("tag"), 0, len(offered) - 1) and isinstance(given.get("on"), bool):
        return {"do": do, "item": item, "name": offered[given["tag"]], "on": given["on"]}
    if do == "note" and isinstance(given.get("text"), str):
        return {"do": do, "item": item, "text": given["text"][:MOST_LETTERS]}
    if do == "judge" and (given.get("relevant") is None or isinstance(given["relevant"], bool)):
        other = _other(evaluation, int(str(item)), given.get("place"))
        return None if other is None else {"do": do, "item": item, "other": other, "relevant": given.get("relevant")}
    return None


def _other(evaluation: Evaluation, item: int, place: object) -> str | None:
    """Give the id of the picture at a place of the item's list, 1-based."""
    facts = evaluation.table.iloc[item]
    direction = evaluation.direction(facts["direction"])
    top = direction.ranking.top_position[int(facts["query"])]
    if not isinstance(place, int) or not _is_whole(place, 1, len(top)) or top[place - 1] < 0:
        return None
    return str(evaluation.dataset.ids[direction.split.gallery[top[place - 1]]])


def _judged(evaluation: Evaluation, item: int, first: int, found: pd.DataFrame) -> dict[str, bool]:
    """Say of the places that are shown, 1-based, which are judged, and how."""
    own_id = str(evaluation.table["id"].iloc[item])
    said: dict[str | None, bool] = {}
    for row in found[found["kind"] == "relevant"].to_dict("records"):
        if own_id in (row["item"], row["other"]):
            said[row["other"] if row["item"] == own_id else row["item"]] = row["value"] == "1"
    if not said:
        return {}
    others = {place: _other(evaluation, item, place) for place in range(first, first + PAGE_SIZE)}
    return {str(place): said[other] for place, other in others.items() if other in said}


def _items(evaluation: Evaluation, queries: pd.DataFrame) -> list[int]:
    """Give the places of these queries in ``evaluation.table``."""
    starts, before = {}, 0
    for direction in evaluation.directions:
        starts[direction.name] = before
        before += len(direction.split.query)
    return [
        starts[name] + int(query)
        for name, query in zip(queries["direction"].astype(str), queries["query"], strict=True)
    ]


def _by_item(items: list[int], ids: list[str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {str(item): values[name] for item, name in zip(items, ids, strict=True) if values.get(name)}


def _notes(found: pd.DataFrame) -> dict[str, str]:
    own_notes = found[(found["kind"] == "note") & (found["other"] == "")]
    return dict(zip(own_notes["item"], own_notes["value"], strict=True))


def _is_whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _stamp(evaluation: Evaluation) -> str:
    """Tell apart what the numbers of items mean."""
    return sha256(cached.evaluation_key(evaluation.dataset, evaluation.spec).encode()).hexdigest()[:12]


def _keys(offered: list[str], *, judges: bool) -> list[tuple[str, str]]:
    """Make the sheet of keys: key → what it does."""
    rows = [("J", _("next query")), ("K", _("previous query"))]
    rows += [(str(i + 1), name) for i, name in enumerate(offered[:N_KEY])]
    rows += [("N", _("write a note; Enter keeps it, Escape does not"))]
    if judges:
        rows += [("T", _("the picture in focus is in truth right, or wrong; again: leave it to the rule"))]
    rows += [("U", _("take the last change back")), ("← ↑ → ↓", _("move among the pictures"))]
    return [*rows, ("Enter", _("pick the picture") if judges else _("open the query")), ("?", _("this sheet"))]


def _words() -> dict[str, str]:
    return {
        "tags": _("Tags"),
        "note": _("Note"),
        "undo": _("Undo"),
        "keys": _("Keys"),
        "save": _("Keep"),
        "cancel": _("Cancel"),
        "close": _("Close"),
        "right": _("in truth right"),
        "wrong": _("in truth wrong"),
        "focus": _("Choose a picture first: arrows or a click, then T."),
        "wait": _("One moment …"),
    }
