"""A number over many seeds that grows in the background while somebody looks at it, once for everybody.

One line for the whole server: sessions that look at the same thing wait for the same seeds, sessions that look at
different things take turns, some seeds each.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from recall_core.arrays import PhaseTick

from . import background
from .background import Job

N_FIRST, N_ALL = 50, 200
WAIT_SECONDS = 4.0
CHUNK_SECONDS = 0.25
LARGEST_CHUNK = 25

Compute = Callable[[range], pd.DataFrame]


@dataclass(frozen=True, eq=False)
class Grown:
    """What a computation gave for seeds 0 to ``n`` − 1, and how many it is asked for next."""

    tables: tuple[pd.DataFrame, ...] = ()
    n: int = 0
    chunk: int = 1


@dataclass(frozen=True, eq=False)
class Seeds:
    """A table over seeds, as far as it has come.

    Parameters
    ----------
    job : Job of Grown
        Shared by all who look at the same thing.
    compute : callable
        A table for a range of seeds.
    """

    job: Job[Grown]
    compute: Compute

    def table(self) -> pd.DataFrame:
        """Give the seeds that are there."""
        found = self.job.found
        return pd.DataFrame() if found is None else pd.concat(found.tables, ignore_index=True)


def job() -> Job[Grown]:
    """Make the job of a table that is complete with ``N_ALL`` seeds."""
    return Job(_line(), lambda grown: grown.n >= N_ALL)


def begin(seeds: Seeds) -> None:
    """Have a table of seeds computed, and wait for the first of them, though not long.

    Raises
    ------
    Exception
        What the computation raised.
    """
    seeds.job.watch(partial(more, seeds.compute))
    seeds.job.wait(WAIT_SECONDS, lambda grown: grown.n >= min(N_FIRST, N_ALL))
    if seeds.job.failure is not None:
        raise seeds.job.failure


def follow(seeds: Seeds, show: Callable[[pd.DataFrame], None]) -> None:
    """Show the table of seeds that have begun, and again while it grows; then leave it alone."""
    background.follow(seeds.job, partial(more, seeds.compute), lambda: show(seeds.table()))


def more(compute: Compute, grown: Grown | None, _tick: PhaseTick) -> Grown:
    """Compute some seeds more: twice as many as before while that is quick."""
    had, begun = grown or Grown(), time.monotonic()
    asked = range(had.n, min(had.n + had.chunk, N_ALL))
    table = compute(asked)
    quick = time.monotonic() - begun < CHUNK_SECONDS
    return Grown((*had.tables, table), asked.stop, min(2 * had.chunk, LARGEST_CHUNK) if quick else had.chunk)


@st.cache_resource(show_spinner=False)
def _line() -> background.Start:
    return background.line("seeds")
