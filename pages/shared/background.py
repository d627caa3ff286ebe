"""Work in the background: once for everybody who watches, with its progress; what it raises is raised to each of them.

Nobody has to say that a page was left: a page that still shows a job watches it again and again, and what nobody
watched lately stops and goes on, from the last piece that was finished, when somebody watches again.
"""

import itertools
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Condition, Thread
from typing import Generic, TypeVar

import streamlit as st

from recall_core.arrays import PhaseTick

from . import words

PERIOD_SECONDS = 1.0
"""A page looks again so often."""

WATCHED_SECONDS = 4.0
"""Who looked so long ago still counts as watching, and is still told of a failure before it is tried again."""

Found = TypeVar("Found")
Work = Callable[[Found | None, PhaseTick], Found]
"""Makes a piece of what is asked for, or all of it: takes what was found so far, returns that and more."""

Start = Callable[[Callable[[], None]], object]


def at_once(turn: Callable[[], object]) -> None:
    """Start in a thread of its own, which does not keep the server from ending."""
    Thread(target=turn, name="background", daemon=True).start()


def line(name: str) -> Start:
    """Make a line: what is put in it is done one after the other, in a thread that lets the server end."""
    turns: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def serve() -> None:
        while True:
            turns.get()()

    Thread(target=serve, name=name, daemon=True).start()
    return turns.put


class Job(Generic[Found]):
    """Something that is computed once, however many watch it.

    Parameters
    ----------
    start : callable
        ``at_once``, or a ``line`` in which jobs take turns, a piece each.
    complete : callable, optional
        Whether what was found is all of it; by default one piece is.
    leave : bool
        A piece that was begun is finished though nobody watches any more; otherwise it ends where it next tells its
        progress, and is lost.

    Attributes
    ----------
    begun : bool
        Somebody has watched it.
    step, done, total : str and int
        What is done now, and how far it has come; empty and 0 before it has its turn.
    found : optional
        What was found so far.
    failure : Exception or None
        What ended it.
    """

    def __init__(
        self, start: Start = at_once, complete: Callable[[Found], bool] = lambda _found: True, *, leave: bool = False
    ) -> None:
        self.begun = False
        self.step, self.done, self.total = "", 0, 0
        self.found: Found | None = None
        self.failure: Exception | None = None
        self._start, self._complete, self._leave = start, complete, leave
        self._since = self._watched_until = self._told_until = 0.0
        self._running = False
        self._changed = Condition()

    @property
    def over(self) -> bool:
        """Is it complete, or has it failed?"""
        return self.failure is not None or (self.found is not None and self._complete(self.found))

    @property
    def share(self) -> float:
        """Which share of the present step is done?"""
        return min(self.done / max(self.total, 1), 1.0)

    @property
    def seconds_left(self) -> float | None:
        """Estimate what is left from what it has taken so far; None before there is anything to go by."""
        if not self.done:
            return None
        return (time.monotonic() - self._since) * max(self.total - self.done, 0) / self.done

    def watch(self, work: Work[Found]) -> None:
        """Say that somebody watches: it begins or goes on, where it is not over.

        Parameters
        ----------
        work : callable
            Held no longer than it takes.
        """
        now = time.monotonic()
        with self._changed:
            self._watched_until = now + WATCHED_SECONDS
            if self.failure is not None and now >= self._told_until:
                self.failure = None  # another time it may go well
            if self._running or self.over:
                return
            self.begun = self._running = True
        self._start(partial(self._turn, work))

    def wait(self, seconds: float, enough: Callable[[Found], bool] = lambda _found: False) -> bool:
        """Wait until it is over or enough was found, but not longer than this; returns whether it is so.

        Who waits watches, and has time to look again.
        """

        def reached() -> bool:
            return self.over or (self.found is not None and enough(self.found))

        with self._changed:
            self._watched_until = max(self._watched_until, time.monotonic() + seconds + PERIOD_SECONDS)
            return self._changed.wait_for(reached, seconds)

    def result(self) -> Found:
        """What was found, of a job that is over.

        Raises
        ------
        Exception
            What the work raised.
        """
        if self.failure is not None:
            raise self.failure
        if self.found is None:
            raise RuntimeError("a job that is over has found something, or it has failed")
        return self.found

    @property
    def _watched(self) -> bool:
        return time.monotonic() < self._watched_until

    def _turn(self, work: Work[Found]) -> None:
        """Do a piece, then stand in line again, so that others have their turn."""
        found, failure, left = self.found, None, not self._watched
        self.step, self.done, self._since = "", 0, time.monotonic()
        try:
            found = found if left else work(found, self._tell)
        except _Left:
            left = True
        except Exception as problem:
            failure = problem
        with self._changed:
            self.found, self.failure = found, failure
            self._told_until = time.monotonic() + WATCHED_SECONDS
            again = self._running = not (left or self.over) and self._watched
            self._changed.notify_all()
        if again:
            self._start(partial(self._turn, work))

    def _tell(self, step: str, done: int, total: int) -> None:
        if not (self._leave or self._watched):
            raise _Left
        if done < self.done:  # another count begins, and with it another estimate
            self._since = time.monotonic()
        self.step, self.done, self.total = step, done, total


def follow(job: Job[Found], work: Work[Found], show: Callable[[], None]) -> None:
    """Show a job, and again while it is under way; the whole page once more when it is over."""
    runs, language, over = itertools.count(), words.language(), job.over

    def again() -> None:
        words.speak(language)  # nobody else says it where the clock runs this alone
        if next(runs) and job.over:
            st.rerun()  # once: the whole page is drawn again, now without the clock
        job.watch(work)
        show()

    st.fragment(again, run_every=None if over else PERIOD_SECONDS)()


class _Left(Exception):
    """Nobody watches any more."""
