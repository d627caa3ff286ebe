"""What leaks, and what it does to the number.

The files, in the order of the flow; each imports only those above it:

``draws``       a random half against a split that keeps groups whole, over many seeds
``training``    a fitted encoder that has seen test images, or whole groups, over many seeds
``experiment``  the three experiments of the lesson
``report``      the experiments as text and JSON
"""

from .draws import (
    COURSE_STATE,
    Draw,
    Halves,
    all_draws,
    course_draw,
    frequencies,
    halves,
    needed,
    paired_draw,
    random_draw,
    shared_choices,
    spread,
)
from .experiment import LEAKAGE_PARTS, N_SEED, Experiments, chance, lab, run_part, same_picture
from .report import leakage_json, leakage_text
from .training import (
    CONTROL,
    LEARNED,
    Arm,
    Material,
    TrainingRun,
    gap,
    material,
    mean_by_draw,
    train_and_compare,
    trainings,
    winners,
)

__all__ = [
    "CONTROL",
    "COURSE_STATE",
    "LEAKAGE_PARTS",
    "LEARNED",
    "N_SEED",
    "Arm",
    "Draw",
    "Experiments",
    "Halves",
    "Material",
    "TrainingRun",
    "all_draws",
    "chance",
    "course_draw",
    "frequencies",
    "gap",
    "halves",
    "lab",
    "leakage_json",
    "leakage_text",
    "material",
    "mean_by_draw",
    "needed",
    "paired_draw",
    "random_draw",
    "run_part",
    "same_picture",
    "shared_choices",
    "spread",
    "train_and_compare",
    "trainings",
    "winners",
]
