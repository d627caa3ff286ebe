"""The lab's data as the lesson and the exercises use them, whatever the sidebar says; each call is cached."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from pages.shared import cached
from pages.shared.frame import settings
from pages.shared.seeds import Seeds
from recall_core import course, program
from recall_core.datasets import Dataset
from recall_core.evaluation import Evaluation
from recall_core.experiments import leakage
from recall_core.experiments.index import INDEXES, configurations, run_experiment, synthetic, trial_table
from recall_core.experiments.leakage import Halves
from recall_core.protocol import Spec

from . import leakage_runs
from .leakage_runs import Chosen

ENCODERS = ("raw", "orientation", "mean", "constant")
"""What the lesson compares: all pixels, the direction of the line, the brightness, nothing at all."""

KS = (1, 2, 3, 5, 10)


def dataset() -> Dataset:
    """Load the lab's data."""
    return cached.dataset(cached.LAB)


def spec(**changes: Any) -> Spec:
    """Spell a choice on the lab's data; everything else stays at its default."""
    return Spec(cached.data_sets()[cached.LAB]).replace(**changes)


def evaluation(**changes: Any) -> Evaluation:
    """Evaluate a choice on the lab's data."""
    return cached.evaluation(dataset(), spec(**changes))


def uneven(ks: Sequence[int] = KS) -> Evaluation:
    """Evaluate the lab's example in which classes have galleries of different sizes."""
    given = course.uneven_gallery(dataset()).replace(data=cached.data_sets()[cached.LAB], ks=tuple(ks))
    return cached.evaluation(dataset(), given)


def corrupted() -> str:
    """Name the file with the corrupted test pictures."""
    return str(cached.ROOT / "data" / cached.LAB / "corrupted_test.npy")


def command(given: Spec) -> str:
    """Spell the command that prints the same numbers."""
    return settings.to_command(given)


def halves() -> Halves:
    """Make the lab's data ready for drawing halves."""
    return _halves(dataset().fingerprint)


def training(*, grouped: bool) -> Chosen:
    """Choose what the page on leakage shows of training, so that both share the seeds that were computed."""
    textured = _textured(dataset().fingerprint)
    return Chosen("training", grouped, 1, cached.LAB, textured, textured, spec(), {})


def many_runs(chosen: Chosen) -> Seeds:
    """Train with many seeds: those that are there, and how to make more."""
    return leakage_runs.many_runs(chosen)


INDEX_SIZE, INDEX_DIM, INDEX_QUERIES, INDEX = 10_000, 32, 200, "ivf-flat"
"""The lab's gallery is too small for an index to matter: step 11 takes clustered vectors from a seed instead."""


def index_trials() -> pd.DataFrame:
    """Measure an approximate index with each search effort: rows of ``ann.table``, of queries that tune nothing."""
    return _index_trials("")


def index_command(effort: int) -> str:
    """Spell the command that prints the same numbers: with one effort there is nothing to choose."""
    index = f"{INDEX}:{INDEXES[INDEX].search}={effort}"
    made = ("--synthetic", f"{INDEX_SIZE}x{INDEX_DIM}", "--queries", str(INDEX_QUERIES), "--index", index)
    return program.command("ann", *made)


@st.cache_resource(max_entries=1, show_spinner=False)
def _index_trials(key: str) -> pd.DataFrame:
    made = synthetic(INDEX_SIZE, INDEX_DIM, INDEX_QUERIES)
    found = []
    for one in configurations(INDEX_SIZE, INDEX_DIM, [INDEX]):
        whole = run_experiment(made, tried=[one])
        found.append(trial_table(whole).assign(n_query=len(whole.test), effort=one.search))
    return pd.concat(found, ignore_index=True)


@st.cache_resource(max_entries=2, show_spinner=False)
def _halves(key: str) -> Halves:
    return leakage.halves(dataset(), spec())


@st.cache_resource(max_entries=1, show_spinner=False)
def _textured(key: str) -> Dataset:
    return leakage.lab("textured")
