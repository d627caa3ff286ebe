"""The error of an approximate index, apart from that of the representation.

The files, in the order of the flow; each imports only those above it:

``kinds``       the approximate indexes of faiss: parameters, how each is built, what it returns
``overlap``     how far an approximate list agrees with the exact one
``experiment``  index error, apart from representation error
``report``      the experiment as text, JSON and CSV
"""

from .experiment import (
    KS,
    SHARE,
    Experiment,
    Plan,
    Problem,
    Trial,
    experiment_of,
    pareto_front,
    run_experiment,
    synthetic,
    trial_table,
)
from .kinds import INDEXES, configurations, import_faiss
from .overlap import outcomes
from .report import ann_csv, ann_json, ann_text

__all__ = [
    "INDEXES",
    "KS",
    "SHARE",
    "Experiment",
    "Plan",
    "Problem",
    "Trial",
    "ann_csv",
    "ann_json",
    "ann_text",
    "configurations",
    "experiment_of",
    "import_faiss",
    "outcomes",
    "pareto_front",
    "run_experiment",
    "synthetic",
    "trial_table",
]
