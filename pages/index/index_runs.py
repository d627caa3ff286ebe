"""Experiments on indexes that run in the background, once for everybody who asks; their results are kept.

One at a time on the whole server: two would slow each other, and times are what they measure.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock, Thread

import pandas as pd
import streamlit as st

from pages.shared import cached, words
from pages.shared.frame import settings
from pages.shared.frame.shell import Here
from pages.shared.learner import leakage_runs
from pages.shared.words import _, number, plain
from recall_core import program
from recall_core.arrays import PhaseTick
from recall_core.datasets import Dataset
from recall_core.evaluation import Evaluation
from recall_core.experiments import index
from recall_core.experiments.index import INDEXES, Experiment, Trial, outcomes
from recall_core.protocol import DEFAULT_KS, Spec

SIZES = ("1000", "10000", "100000")
N_DIM, N_QUERY = 64, 500
SLOW_NUMBERS = 1_000_000
SECONDS_A_NUMBER = 2.3e-6
"""Of processor time for each number in the gallery, all indexes together: measured at 100 000 × 64."""

WEIGHTS = {"exact": 1, "hnsw": 10, "ivf-flat": 2, "ivf-pq": 4, "flat": 1}
"""How long the steps take next to each other, measured at 100 000 × 64: for the estimate of what is left."""

WAIT_SECONDS, PERIOD_SECONDS, WANTED_SECONDS = 4.0, 1.0, 10.0

Compute = Callable[[PhaseTick], "Found"]


@dataclass(frozen=True, eq=False)
class Found:
    """What an experiment gave, and its two tables: the measured ones, and all that were tried."""

    whole: Experiment
    tested: pd.DataFrame
    tried: pd.DataFrame

    @classmethod
    def of(cls, whole: Experiment) -> "Found":
        """Make the tables, which take as long as a rerun of the page."""
        return cls(whole, index.trial_table(whole), index.trial_table(whole, "validation"))

    def right(self, query: int) -> set[int]:
        """Which items are right for one of the queries that tune?"""
        exact, at = self.whole.exact, self.whole.validation[query]
        return set(exact.position[exact.indptr[at] : exact.indptr[at + 1]].tolist())


@dataclass(frozen=True, eq=False)
class Asked:
    """What is measured.

    Parameters
    ----------
    key : str
        Names it, for caches.
    n_gallery, n_dim : int
    compute : callable
        Runs the experiment, and tells its progress.
    command : str
        Prints the same numbers.
    link : dict
        The page's own part of the address.
    evaluation : Evaluation, optional
        Of the visitor's data; None for made vectors, which have no pictures.
    """

    key: str
    n_gallery: int
    n_dim: int
    compute: Compute
    command: str
    link: dict[str, str]
    evaluation: Evaluation | None = None

    @property
    def seconds(self) -> float:
        """Estimate how long it takes on a machine that does nothing else."""
        return SECONDS_A_NUMBER * self.n_gallery * self.n_dim

    @property
    def slow(self) -> bool:
        """Is it begun only when somebody says so?"""
        return self.n_gallery * self.n_dim > SLOW_NUMBERS


class Run:
    """An experiment that is not begun, waits for its turn, is under way, or is over.

    Attributes
    ----------
    begun : bool
        Somebody has asked for it.
    step : str
        What is done now: a kind of index, or ``exact``; empty while it waits for its turn.
    found : Found or None
    failure : Exception or None
    over : Event
    """

    def __init__(self) -> None:
        self.begun = False
        self.step = ""
        self.found: Found | None = None
        self.failure: Exception | None = None
        self.over = Event()
        self._done = 0
        self._since = 0.0
        self._wanted_until = 0.0
        self._in_line = False
        self._lock = Lock()

    @property
    def share(self) -> float:
        """Which share of the work is done?"""
        return min(self._done / sum(WEIGHTS.values()), 1.0)

    @property
    def seconds_left(self) -> float | None:
        """Estimate what is left from what it has taken so far; None before there is anything to go by."""
        if not self._done:
            return None
        return (time.monotonic() - self._since) * (1 - self.share) / self.share

    def want(self, compute: Compute, turn: Lock) -> None:
        """Say that somebody waits for it: it gets in line for its turn, where it is not yet."""
        with self._lock:
            self.begun = True
            self._wanted_until = time.monotonic() + WANTED_SECONDS
            if self._in_line or self.over.is_set():
                return
            self._in_line = True
        # A daemon, unlike the threads of an executor: building an index must not keep the server from ending.
        Thread(target=self._take, args=(compute, turn), name="index", daemon=True).start()

    def _take(self, compute: Compute, turn: Lock) -> None:
        with turn:
            with self._lock:
                if time.monotonic() > self._wanted_until:  # whoever comes back asks again
                    self._in_line = False
                    return
            self._work(compute)

    def _work(self, compute: Compute) -> None:
        self._since = time.monotonic()
        try:
            self.found = compute(self._progress)
        except Exception as failure:
            self.failure = failure  # raised again where a page can show it
        self.over.set()

    def _progress(self, step: str, done: int, total: int) -> None:
        self._done += WEIGHTS.get(self.step, 0)
        self.step = step.split(" ")[0]


def ask(here: Here) -> Asked:
    """Ask on which vectors, and make ready what that means."""
    kinds = {"chosen": plain(here.name), "made": _("made vectors")}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        kind = leakage_runs.one_of("vectors", _("On which vectors"), kinds)
        if kind == "made":
            sizes = {size: f"{number(int(size))} × {N_DIM}" for size in SIZES}
            size = leakage_runs.one_of("size", _("How many, of how many dimensions"), sizes)
            return _made(int(size))
    return _chosen(here)


def run(asked: Asked) -> Run:
    """Give the run of an experiment; one that failed is there once more, and then anew."""
    found = _run(asked.key)
    if found.failure is not None:
        _run.clear(asked.key)
    return found


def follow(one: Run, asked: Asked) -> None:
    """Show how far it has come, and the whole page again when it is over."""
    language = words.language()

    def again() -> None:
        words.speak(language)  # nobody else says it where the clock runs this alone
        if one.over.is_set():
            st.rerun()
        one.want(asked.compute, turn())
        st.progress(one.share, text=_progress_words(one))

    st.fragment(again, run_every=PERIOD_SECONDS)()


def lost(found: Found, trial: Trial, k: int) -> pd.DataFrame:
    """Which queries that tune does only the index lose at k, in its own order? Columns ``query`` and ``outcome``."""
    whole = found.whole
    what = outcomes(trial.own, whole.exact.select(whole.validation), k)
    table = pd.DataFrame({"query": range(len(what)), "outcome": what})
    return table[table["outcome"].isin(["not_returned", "worse_rank"])].reset_index(drop=True)


@st.cache_resource(show_spinner=False)
def turn() -> Lock:
    """Give what one experiment at a time holds, whichever session asked for it."""
    return Lock()


def _chosen(here: Here) -> Asked:
    evaluation, spec = here.evaluation, here.spec.replace(ks=DEFAULT_KS)
    return Asked(
        cached.evaluation_key(here.dataset, spec),
        len(evaluation.directions[0].split.gallery),
        evaluation.counts["n_dim"] or 0,
        partial(_measure_chosen, here.dataset, spec),
        settings.to_command(spec).replace(" evaluate ", " ann ", 1),
        {"vectors": "chosen"},
        evaluation,
    )


def _made(size: int) -> Asked:
    command = program.command("ann", "--synthetic", f"{size}x{N_DIM}", "--queries", str(N_QUERY))
    link = {"vectors": "made", "size": str(size)}
    return Asked(f"made {size}", size, N_DIM, partial(_measure_made, size), command, link)


def _measure_chosen(dataset: Dataset, spec: Spec, progress: PhaseTick) -> Found:
    encoded, plan = cached.encoded(dataset, spec), index.Plan(seed=spec.seed or 0)
    return Found.of(index.experiment_of(dataset, spec, plan, encoded=encoded, progress=progress)[2])


def _measure_made(size: int, progress: PhaseTick) -> Found:
    return Found.of(index.run_experiment(index.synthetic(size, N_DIM, N_QUERY), progress=progress))


def _progress_words(one: Run) -> str:
    if not one.step:
        return _("Waiting for another experiment to end …")
    if one.step not in INDEXES:
        return _("Ranking exactly …")
    told = _("Measuring {index} …").format(index=one.step)
    left = one.seconds_left
    return told if left is None else told + " " + _("about {n} s left").format(n=number(max(round(left), 1)))


@st.cache_resource(max_entries=16, show_spinner=False)
def _run(key: str) -> Run:
    return Run()
