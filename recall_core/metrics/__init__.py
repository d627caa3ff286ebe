"""``Ranking`` → ``Score`` → ``Interval``.

The files, in the order of the flow; each imports only those above it:

``ties``         best, worst and expected values where items tie
``score``        ``Score``: a numerator, a denominator, and the range under ties
``measures``     ranks → ``Score``: recall, average precision and the others, in one literal table
``conventions``  the conventions under which a ranking is scored, and the name of each number in other tools
``resampling``   sums by group, resampled: exactly, by an expansion, or drawn
``intervals``    ``Interval``: how sure a score is, with groups as the independent units
"""

from .conventions import CONVENTIONS, MAX_TERMS, Convention, Name, One, frac, plus
from .intervals import (
    Interval,
    band,
    bonferroni,
    bootstrap_interval,
    bootstrap_intervals,
    holm,
    interval,
    intervals_of,
    paired_difference,
    wilson_interval,
)
from .measures import (
    CURVES,
    METRICS,
    NoRelevant,
    all_scores,
    average_precision,
    checked_k,
    first_hit,
    item_recall,
    item_recall_macro,
    map_at_r,
    minp,
    ndcg,
    precision,
    r_precision,
    recall,
    recall_evaluable,
    reciprocal_rank,
)
from .resampling import N_RESAMPLE
from .score import Score, pool
from .ties import TieGroups

__all__ = [
    "CONVENTIONS",
    "CURVES",
    "MAX_TERMS",
    "METRICS",
    "N_RESAMPLE",
    "Convention",
    "Interval",
    "Name",
    "NoRelevant",
    "One",
    "Score",
    "TieGroups",
    "all_scores",
    "average_precision",
    "band",
    "bonferroni",
    "bootstrap_interval",
    "bootstrap_intervals",
    "checked_k",
    "first_hit",
    "frac",
    "holm",
    "interval",
    "intervals_of",
    "item_recall",
    "item_recall_macro",
    "map_at_r",
    "minp",
    "ndcg",
    "paired_difference",
    "plus",
    "pool",
    "precision",
    "r_precision",
    "recall",
    "recall_evaluable",
    "reciprocal_rank",
    "wilson_interval",
]
