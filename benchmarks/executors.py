"""What do map and merge over processes cost, next to the single pass?

    python -m benchmarks.executors                          # 20k × 100k × 512, two processes
    python -m benchmarks.executors --queries 5000 --gallery 25000 --rounds 5

Each round runs the single pass (two threads) and the same over processes, in turn, with the vectors in ``.npy`` shards;
the figure is the median of the rounds' ratios. Reading and preparing the vectors counts on both sides; starting the
processes does not, since a run starts them once. CPU time is that of all processes together.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np

from recall_core.datasets import read_shards, write_shards
from recall_core.ranking import MEMORY, Ranking, Relevance, Sets, Side, rank, rank_distributed

TOP = 50


def clustered(n: int, n_dim: int, centre: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    vectors = 1.5 * rng.standard_normal((n, n_dim), np.float32)
    vectors += centre[np.arange(n) % len(centre)]
    return vectors


def cpu_seconds() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def worker_cpu(_: int) -> tuple[int, float]:
    time.sleep(0.05)  # so that every process answers
    return os.getpid(), sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def pool_cpu(pool: ProcessPoolExecutor, workers: int) -> float:
    """CPU time of the pool's processes so far."""
    found: dict[int, float] = {}
    while len(found) < workers:
        found |= dict(pool.map(worker_cpu, range(4 * workers)))
    return sum(found.values())


def timed(work: Callable[[], Ranking], cpu: Callable[[], float]) -> tuple[Ranking, float, float]:
    before, start = cpu(), time.perf_counter()
    result = work()
    spent = time.perf_counter() - start
    return result, spent, cpu() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    option = parser.add_argument
    option("--queries", type=int, default=20_000)
    option("--gallery", type=int, default=100_000)
    option("--dimensions", type=int, default=512)
    option("--workers", type=int, default=2)
    option("--rounds", type=int, default=3)
    option("--memory", type=int, default=MEMORY // 2**20, help="MiB of a task")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    centre = rng.standard_normal((given.gallery // 5, given.dimensions), np.float32)
    groups = np.arange(given.queries) % len(centre)
    order = np.argsort(np.arange(given.gallery) % len(centre), kind="stable")
    indptr = np.arange(0, given.gallery + 1, 5)
    relevance = Relevance.of(Sets(groups, indptr, order[: indptr[-1]]), given.gallery)
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool,
    ):
        sides = []
        for name, n in (("query", given.queries), ("gallery", given.gallery)):
            write_shards(Path(folder) / name, clustered(n, given.dimensions, centre, rng), rows=25_000)
            sides.append(Side(read_shards(Path(folder) / name).values, np.arange(n)))
        query, gallery = sides
        pool_cpu(pool, given.workers)  # all are up, and have imported what they need

        def single() -> Ranking:
            asked, answers = query.source[query.rows], gallery.source[gallery.rows]
            return rank(asked, answers, relevance, top=TOP, workers=given.workers)

        def spread() -> Ranking:
            memory = given.memory * 2**20
            return rank_distributed(*sides, relevance, pool, top=TOP, memory=memory, workers=given.workers)

        ratios, cpu_ratios = [], []
        for number in range(given.rounds):
            one, wall, cpu = timed(single, cpu_seconds)
            other, spread_wall, spread_cpu = timed(spread, lambda: cpu_seconds() + pool_cpu(pool, given.workers))
            same = all(
                np.array_equal(getattr(one, n), getattr(other, n), equal_nan=True) for n in Ranking.__dataclass_fields__
            )
            ratios.append(spread_wall / wall)
            cpu_ratios.append(spread_cpu / cpu)
            print(
                f"round {number + 1}: single {wall:.1f} s (CPU {cpu:.1f}), {given.workers} processes"
                f" {spread_wall:.1f} s (CPU {spread_cpu:.1f}), same result: {same}",
                flush=True,
            )
    print(
        f"map and merge over {given.workers} processes, {given.queries} × {given.gallery} × {given.dimensions}:"
        f" {median(ratios) - 1:+.0%} by the clock, {median(cpu_ratios) - 1:+.0%} of processor time"
        f" (median of {given.rounds}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors)"
    )


if __name__ == "__main__":
    main()
