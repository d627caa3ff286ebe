"""How long do scores, curves and intervals take, next to one sort of the same ranks?

    python -m benchmarks.metrics [--quick]

Everything is measured in one run, interleaved; medians. A ratio travels between machines, a time does not.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from recall_core import metrics
from recall_core.metrics import Score
from recall_core.ranking import Ranking

KS = (1, 3, 5, 10)
DEPTH = 50


def made_ranking(n_query: int, n_relevant: int, n_gallery: int, *, tied: bool, seed: int) -> Ranking:
    """A ranking without vectors: random places; where tied, similarities of 2 bits tie items in runs of 16."""
    rng = np.random.default_rng(seed)
    rank = np.sort(rng.integers(1, n_gallery // n_relevant, (n_query, n_relevant)).cumsum(axis=1), axis=1)
    above, ties = rank - 1, np.zeros_like(rank)
    if tied:
        above, ties = above // 16 * 16, np.full_like(rank, 15)
    n_pair = rank.size
    return Ranking(
        np.arange(n_query + 1) * n_relevant,
        np.zeros(n_pair, np.intp),
        above.ravel(),
        ties.ravel(),
        rank.ravel(),
        np.zeros(n_pair),
        np.full(n_query, n_gallery + 16),
        np.zeros((n_query, 0), np.intp),
        np.zeros((n_query, 0)),
    )


def interleaved(tasks: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each task, all of them once a round."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def shown(title: str, times: dict[str, float]) -> None:
    """Print each task beside the first, which is the measure."""
    measure = next(iter(times.values()))
    print(title)
    for name, seconds in times.items():
        print(f"  {name:<44} {seconds * 1000:9.1f} ms   {seconds / measure:8.2f} ×")
    print()


def of_scores(n_query: int, n_relevant: int, *, tied: bool, rounds: int) -> None:
    ranking = made_ranking(n_query, n_relevant, 60_000, tied=tied, seed=0)
    shuffled = np.random.default_rng(1).permutation(ranking.rank)
    tasks: dict[str, Callable[[], object]] = {
        "one sort of the ranks": lambda: np.sort(shuffled),
        f"all metrics at k = {', '.join(map(str, KS))}": lambda: metrics.all_scores(ranking, KS),
        "R@10 alone": lambda: metrics.recall(ranking, 10),
        "mAP alone": lambda: metrics.average_precision(ranking),
    }
    tasks |= {
        f"curve of {name}, k = 1 … {DEPTH}": lambda curve=curve: curve(ranking, DEPTH)
        for name, curve in metrics.CURVES.items()
    }
    ties = "ties in runs of 16" if tied else "no ties"
    shown(f"{n_query} queries, {n_relevant} relevant each, {ties}", interleaved(tasks, rounds))


def of_intervals(n_group: int, *, n_score: int, rounds: int) -> None:
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(n_group), 2)
    values = rng.random((n_score, 2 * n_group))
    ones = np.ones(2 * n_group)
    scores = [Score("map", row, ones, row, row) for row in values]
    hit = (values > 0.3).astype(float)
    hits = [Score("recall@1", row, ones, row, row) for row in hit]
    curve = rng.random((2 * n_group, DEPTH))

    def indexed() -> None:
        """What one writes first: gather the sums of the drawn groups, one score."""
        per_group = values[0].reshape(n_group, 2).sum(axis=1)
        draw = np.random.default_rng(3)
        for _ in range(metrics.N_RESAMPLE):
            per_group[draw.integers(n_group, size=n_group)].mean()

    tasks: dict[str, Callable[[], object]] = {
        "one mean, gathered resample by resample": indexed,
        f"BCa intervals of {n_score} means": lambda: metrics.intervals_of(scores, groups),
        f"band of a curve, k = 1 … {DEPTH}": lambda: metrics.band("map", curve, ones, groups),
        f"Wilson intervals of {n_score} R@k": lambda: metrics.intervals_of(hits, groups),
        f"percentile intervals of {n_score} R@k (exact)": lambda: metrics.bootstrap_intervals(hits, groups),
        "paired difference and sign-flip test": lambda: metrics.paired_difference(scores[0], scores[1], groups),
    }
    title = f"{n_group} groups of 2 queries, {metrics.N_RESAMPLE} resamples"
    shown(title, interleaved(tasks, rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, once")
    quick = parser.parse_args().quick
    size, rounds = (10, 1) if quick else (1, 5)
    for n_relevant, tied in ((1, False), (1, True), (20, False), (20, True)):
        of_scores(60_000 // size, n_relevant, tied=tied, rounds=rounds)
    for n_group in (5_000, 30_000):
        of_intervals(n_group // size, n_score=8, rounds=rounds)


if __name__ == "__main__":
    main()
