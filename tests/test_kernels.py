"""The same report, to the last bit, whatever BLAS kernel the processor makes OpenBLAS choose."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recall_core import uncertainty
from recall_core.metrics import Score
from tests.test_ranking_tiles import NEEDS, instructions

ROOT = Path(__file__).parents[1]


def elsewhere(core, program, *arguments):
    """What a program prints under another kernel; skipped where this processor cannot run it."""
    if NEEDS[core].isdisjoint(instructions()):
        pytest.skip(f"this processor cannot run the kernel {core}: it has none of {', '.join(sorted(NEEDS[core]))}")
    program = f"from tests.test_ranking_tiles import kernel; print(kernel()); {program}"
    environment = {**os.environ, "OPENBLAS_CORETYPE": core}
    run = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(run, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    active, found = done.stdout.split("\n", 1)
    assert active.lower() == core.lower()
    return found.strip()


def intervals_for_every_kernel():
    """Intervals and p-values of fractional scores, as average precision has them."""
    found = []
    for seed, n_group in enumerate((12, 19, 60, 240, 999)):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(n_group), 3)
        value = 1 / rng.integers(1, 30, len(groups))
        one_each = np.ones(len(groups))
        scores = [Score("map", each, one_each, each, each) for each in (value, value * 0.7)]
        for one in uncertainty.intervals(scores, groups):
            found += [one.low, one.high]
        found += [uncertainty._sign_flip(rng.normal(size=n_group) / 3, seed)]
    return " ".join(float(value).hex() for value in found)


@pytest.mark.parametrize("core", NEEDS)
def test_intervals_do_not_depend_on_the_blas_kernel(core):
    found = elsewhere(core, "from tests.test_kernels import intervals_for_every_kernel as result; print(result())")
    assert found == intervals_for_every_kernel()
