"""Experiments on indexes that run in the background, once for everybody who asks; their results are kept.

One at a time on the whole server: two would slow each other, and times are what they measure.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from pages.shared import background, cached
from pages.shared.background import Job, Work
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

WAIT_SECONDS = 4.0

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


def job(asked: Asked) -> Job[Found]:
    """Give the experiment, which all share who ask for it."""
    return _job(asked.key)


def work(asked: Asked) -> Work[Found]:
    """Run it, and tell its progress by what the steps take next to each other."""

    def measure(_found: Found | None, tick: PhaseTick) -> Found:
        steps: list[str] = []

        def weighed(step: str, _done: int, _total: int) -> None:
            tick(step.split(" ")[0], sum(WEIGHTS.get(one, 0) for one in steps), sum(WEIGHTS.values()))
            steps.append(step.split(" ")[0])

        return asked.compute(weighed)

    return measure


def follow(one: Job[Found], asked: Asked) -> None:
    """Show how far it has come, and the whole page again when it is over."""
    background.follow(one, work(asked), lambda: st.rerun() if one.over else _show_progress(one))


def lost(found: Found, trial: Trial, k: int) -> pd.DataFrame:
    """Which queries that tune does only the index lose at k, in its own order? Columns ``query`` and ``outcome``."""
    whole = found.whole
    what = outcomes(trial.own, whole.exact.select(whole.validation), k)
    table = pd.DataFrame({"query": range(len(what)), "outcome": what})
    return table[table["outcome"].isin(["not_returned", "worse_rank"])].reset_index(drop=True)


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


def _show_progress(one: Job[Found]) -> None:
    st.progress(one.share, text=_progress_words(one))


def _progress_words(one: Job[Found]) -> str:
    if not one.step:
        return _("Waiting for another experiment to end …")
    if one.step not in INDEXES:
        return _("Ranking exactly …")
    told = _("Measuring {index} …").format(index=one.step)
    left = one.seconds_left
    return told if left is None else told + " " + _("about {n} s left").format(n=number(max(round(left), 1)))


@st.cache_resource(max_entries=16, show_spinner=False)
def _job(key: str) -> Job[Found]:
    return Job(_line(), leave=True)


@st.cache_resource(show_spinner=False)
def _line() -> background.Start:
    return background.line("index")
