"""The same report, to the last bit, whatever BLAS kernel the processor makes OpenBLAS choose."""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recall_core as rc
from recall_core.datasets.dataset import Dataset
from recall_core.datasets.tables import find_columns
from recall_core.images import encoders, steady
from recall_core.images.image_set import Pictures
from recall_core.metrics import intervals, resampling
from recall_core.metrics.score import Score
from tests.conftest import ROOT
from tests.ranking.test_certified import NEEDS, instructions


def elsewhere(core, program, *arguments):
    """What a program prints under another kernel; skipped where this processor cannot run it."""
    if NEEDS[core].isdisjoint(instructions()):
        pytest.skip(f"this processor cannot run the kernel {core}: it has none of {', '.join(sorted(NEEDS[core]))}")
    program = f"from tests.ranking.test_certified import kernel; print(kernel()); {program}"
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
        for one in intervals.intervals_of(scores, groups):
            found += [one.low, one.high]
        found += [resampling.sign_flip(rng.normal(size=n_group) / 3, seed)]
    return " ".join(float(value).hex() for value in found)


@pytest.mark.parametrize("core", NEEDS)
def test_intervals_do_not_depend_on_the_blas_kernel(core):
    found = elsewhere(
        core, "from tests.images.test_kernels import intervals_for_every_kernel as result; print(result())"
    )
    assert found == intervals_for_every_kernel()


def fits_for_every_kernel():
    """Ridge regression with fewer rows than dimensions, and with more."""
    found = []
    for n, n_dim in ((90, 300), (300, 90)):
        rng = np.random.default_rng(n)
        pixels, labels = rng.random((n, n_dim), np.float32), rng.integers(0, 9, n)
        found.append(hashlib.sha256(encoders.fit_ridge(pixels, labels)(pixels).tobytes()).hexdigest())
    return " ".join(found)


def saved_for_every_kernel():
    """What a saved run of ``ridge`` holds: its report, its queries and every rank and similarity."""
    rng = np.random.default_rng(5)
    scene = np.repeat(rng.random((60, 12, 12), np.float32), 2, axis=0)
    images = np.clip(scene + rng.normal(size=scene.shape).astype(np.float32) * 0.4, 0, 1).astype(np.float32)
    row = np.arange(len(images))
    table = pd.DataFrame({"group": row // 2, "view": row % 2, "label": row // 2 % 7}).astype("str")
    data = Dataset("kernels", table, find_columns(table), Pictures.from_array(images))
    result = rc.evaluate(data, encoder="ridge", train="grouped", relevant="label", split="leave-one-out", seed=1)
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "run")
        files = [Path(folder) / "run" / name for name in ("report.json", "queries.csv", "ranking.npz")]
        arrays = np.load(files[2])
        held = [*(file.read_bytes() for file in files[:2]), *(arrays[name].tobytes() for name in sorted(arrays.files))]
        arrays.close()
    return " ".join(hashlib.sha256(one).hexdigest() for one in held)


@pytest.mark.parametrize("core", NEEDS)
@pytest.mark.parametrize("what", ["fits", "saved"])
def test_ridge_and_what_is_saved_of_it_do_not_depend_on_the_blas_kernel(core, what):
    name = f"{what}_for_every_kernel"
    found = elsewhere(core, f"from tests.images.test_kernels import {name} as result; print(result())")
    assert found == globals()[name]()


@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 3), (120, 200), (48, 5), (97, 0)])
def test_steady_products_and_solutions_are_those_of_linear_algebra(n, m):
    rng = np.random.default_rng(n)
    left, right = rng.normal(size=(n, m)), rng.normal(size=(m, 4)) * 1e6
    assert steady.product(left, right) == pytest.approx(left @ right, rel=1e-9, abs=1e-4)
    matrix, wanted = left @ left.T + np.eye(n), rng.normal(size=(n, 3))
    assert steady.solve(matrix, wanted) == pytest.approx(np.linalg.solve(matrix, wanted), abs=1e-9)
