"""A number over many seeds that grows in the background while somebody looks at it, once for everybody.

One worker for the whole server: sessions that look at the same thing wait for the same seeds, sessions that look at
different things take turns. Nobody has to say that a page was left: a page that still shows the number asks again and
again, and what nobody asked for lately stops growing and goes on where it stopped when it is asked for again.
"""

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Condition

import pandas as pd
import streamlit as st

from . import words

N_FIRST, N_ALL = 50, 200
WAIT_SECONDS = 4.0
PERIOD_SECONDS = 1.0
WANTED_SECONDS = 4.0
CHUNK_SECONDS = 0.25
LARGEST_CHUNK = 25

Compute = Callable[[range], pd.DataFrame]


class Seeds:
    """What a computation gave for seeds 0, 1, 2, …, as far as it has come.

    Parameters
    ----------
    n_all : int
        How many seeds make it complete.

    Attributes
    ----------
    n : int
        How many there are.
    failure : Exception or None
        What ended it before it was complete.
    """

    def __init__(self, n_all: int = N_ALL) -> None:
        self.n_all = n_all
        self.n = 0
        self._tables: list[pd.DataFrame] = []
        self.failure: Exception | None = None
        self._wanted_until = 0.0
        self._running = False
        self._chunk = 1
        self._grown = Condition()

    @property
    def done(self) -> bool:
        """Does it grow no more?"""
        return self.n >= self.n_all or self.failure is not None

    def table(self) -> pd.DataFrame:
        """Give the seeds that are there."""
        with self._grown:
            return pd.concat(self._tables, ignore_index=True) if self._tables else pd.DataFrame()

    def want(self, compute: Compute, worker: ThreadPoolExecutor) -> None:
        """Say that somebody is looking: it grows for some seconds more.

        Parameters
        ----------
        compute : callable
            A table for a range of seeds; held no longer than the work takes.
        worker : ThreadPoolExecutor
        """
        with self._grown:
            self._wanted_until = time.monotonic() + WANTED_SECONDS
            if self._running or self.done:
                return
            self._running = True
        self._submit(compute, worker)

    def wait(self, n: int, seconds: float) -> None:
        """Wait until there are ``n`` seeds, but not longer than this."""
        with self._grown:
            self._grown.wait_for(lambda: self.n >= n or self.done, seconds)

    def _submit(self, compute: Compute, worker: ThreadPoolExecutor) -> None:
        try:
            worker.submit(self._work, compute, worker)
        except RuntimeError:  # the server is shutting down
            with self._grown:
                self._running = False

    def _work(self, compute: Compute, worker: ThreadPoolExecutor) -> None:
        """Compute some seeds, then stand in line again, so that others have their turn."""
        begun = time.monotonic()
        asked = range(self.n, min(self.n + self._chunk, self.n_all))
        try:
            table, failure = compute(asked), None
        except Exception as problem:
            table, failure = None, problem  # raised again where a page can show it
        now = time.monotonic()
        with self._grown:
            if table is not None:
                self._tables.append(table)
                self.n = asked.stop
            self.failure = failure
            if now - begun < CHUNK_SECONDS:
                self._chunk = min(2 * self._chunk, LARGEST_CHUNK)
            again = self._running = not self.done and now < self._wanted_until
            self._grown.notify_all()
        if again:
            self._submit(compute, worker)


def begin(seeds: Seeds, compute: Compute) -> None:
    """Have a table of seeds computed, and wait for the first of them, though not long.

    Raises
    ------
    Exception
        What the computation raised.
    """
    seeds.want(compute, worker())
    seeds.wait(min(N_FIRST, seeds.n_all), WAIT_SECONDS)
    if seeds.failure is not None:
        raise seeds.failure


def follow(seeds: Seeds, compute: Compute, show: Callable[[pd.DataFrame], None]) -> None:
    """Show the table of seeds, and again while it grows; then leave it alone.

    Parameters
    ----------
    seeds : Seeds
        That have begun.
    compute : callable
        A table for a range of seeds.
    show : callable
        Shows the table; it runs again and again.
    """
    line, runs, language = worker(), itertools.count(), words.language()

    def again() -> None:
        words.speak(language)  # nobody else says it where the clock runs this alone
        if next(runs) and seeds.done:
            st.rerun()  # once: the whole page is drawn again, now without the clock
        seeds.want(compute, line)
        show(seeds.table())

    st.fragment(again, run_every=None if seeds.done else PERIOD_SECONDS)()


@st.cache_resource(show_spinner=False)
def worker() -> ThreadPoolExecutor:
    """Give the one worker that all sessions share."""
    return ThreadPoolExecutor(1, thread_name_prefix="seeds")
