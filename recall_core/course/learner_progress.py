"""What a learner has done: a plain dict that survives a reload, goes to a file, and comes back.

``{"version": 1, "tasks": {"F2": {"solved": true, "attempts": 3, "answers": {"recall@1": "1/4"}}}, "steps": [1, 2]}``
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypedDict

from ..datasets import parse_json
from ..errors import DataError

PROGRESS_VERSION = 1
MAX_BYTES = 2**18


class Task(TypedDict):
    """One task: solved once and for all, how often it was checked, and the answers: the right ones, else the last."""

    solved: bool
    attempts: int
    answers: dict[str, str]


class Progress(TypedDict):
    """All tasks by name, and the numbers of the lesson's steps that were read."""

    version: int
    tasks: dict[str, Task]
    steps: list[int]


def nothing_done() -> Progress:
    """Start from nothing."""
    return {"version": PROGRESS_VERSION, "tasks": {}, "steps": []}


def with_attempt(progress: Progress, task: str, answers: Mapping[str, str], *, correct: bool) -> Progress:
    """Add a checked answer; what was given stays as it is. Answers that were right are kept, whatever comes after."""
    before = progress["tasks"].get(task, Task(solved=False, attempts=0, answers={}))
    kept = before["answers"] if before["solved"] and not correct else dict(answers)
    now = Task(solved=before["solved"] or correct, attempts=before["attempts"] + 1, answers=kept)
    return {**progress, "tasks": {**progress["tasks"], task: now}}


def with_step(progress: Progress, step: int) -> Progress:
    """Add a step of the lesson that was read."""
    return {**progress, "steps": sorted({*progress["steps"], step})}


def save_progress(progress: Progress) -> str:
    """Write as JSON; the same progress gives the same text."""
    return json.dumps(progress, ensure_ascii=False, sort_keys=True, indent=1)


def load_progress(text: str) -> Progress:
    """Read what ``save`` wrote.

    Raises
    ------
    DataError
        It is no such file, of another version, or damaged; the message says where.
    """
    if len(text) > MAX_BYTES:
        raise DataError(f"a file of progress has at most {MAX_BYTES} characters, this one has {len(text)}")
    try:
        given = parse_json(text, "the text")
    except DataError:
        raise DataError(
            "this is no file of progress: it is not JSON of ours; choose the one that was downloaded here"
        ) from None
    if not isinstance(given, dict) or "version" not in given:
        raise DataError("this is no file of progress: it has no version; choose the one that was downloaded here")
    if given["version"] != PROGRESS_VERSION:
        raise DataError(
            f"this file of progress has version {given['version']!r}; this program reads {PROGRESS_VERSION}"
        )
    tasks, steps = given.get("tasks"), given.get("steps")
    if not isinstance(tasks, dict) or not isinstance(steps, list) or not all(map(_is_count, steps)):
        raise DataError("this file of progress is damaged: tasks must be an object, steps a list of numbers")
    return {
        "version": PROGRESS_VERSION,
        "tasks": {str(name): _checked_task(name, task) for name, task in tasks.items()},
        "steps": sorted(set(steps)),
    }


def merge_progress(one: Progress, other: Progress) -> Progress:
    """Put two together, in any order with the same result: a solved task stays solved, with the answers that solved it.

    Attempts are not added up, since both may have the same ones.
    """
    names = sorted({*one["tasks"], *other["tasks"]})
    return {
        "version": PROGRESS_VERSION,
        "tasks": {name: _merged([p["tasks"][name] for p in (one, other) if name in p["tasks"]]) for name in names},
        "steps": sorted({*one["steps"], *other["steps"]}),
    }


def _merged(tasks: list[Task]) -> Task:
    best = max(tasks, key=_worth)
    return Task(solved=best["solved"], attempts=max(task["attempts"] for task in tasks), answers=best["answers"])


def _worth(task: Task) -> tuple[bool, int, str]:
    # Attempts are merged apart from a solution, so they must not choose among solutions: the order would matter.
    return task["solved"], 0 if task["solved"] else task["attempts"], json.dumps(task["answers"], sort_keys=True)


def _checked_task(name: str, task: object) -> Task:
    if isinstance(task, dict) and {"solved", "attempts", "answers"} <= set(task):
        answers = task["answers"]
        texts = isinstance(answers, dict) and all(isinstance(cell, str) for cell in answers.values())
        if isinstance(task["solved"], bool) and _is_count(task["attempts"]) and texts:
            return Task(solved=task["solved"], attempts=task["attempts"], answers=dict(answers))
    raise DataError(f"this file of progress is damaged at task {name}")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
