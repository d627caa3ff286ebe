"""Index error apart from representation error: approximate indexes of faiss as rankers, next to the exact ranking.

Three parts are kept apart. *Representation*: what the exact ranking of the vectors scores. *Index*: what is lost, or
won by luck, since an approximate index leaves items out. *Order*: what a lossy index puts in a worse place although it
returns it. An index never changes what is relevant, what is junk, or what ties: similarities of the items that it
returns are computed anew, exactly, and sorted by the one rule.

Configurations are tuned on validation queries, drawn by group; only the chosen ones meet the test queries, once.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ... import metrics, protocol
from ...arrays import IntArray, PhaseTick
from ...datasets import Dataset, row_digests
from ...errors import DataError, setting
from ...evaluation import split_units
from ...metrics import NoRelevant, Score, paired_difference
from ...protocol import Finding, Spec, find
from ...ranking import Ranking, Relevance, Sets, Vectors, prepare, rank, rank_lists, rank_scores, without_answers
from .kinds import Configuration, answer, build, configurations, import_faiss, written_size
from .overlap import outcomes, overlap

KS = (1, 10)
SHARE = 0.5


@dataclass(frozen=True)
class Cost:
    """What an answer costs; nan where nothing was measured.

    Parameters
    ----------
    seconds, cpu_seconds : float
        For each query, in a batch, on one thread; by the clock, and of the processor, which a
        busy machine leaves alone.
    build_seconds, build_cpu_seconds : float
        On ``threads`` threads.
    index_bytes : float
        Size of the index as written to a file, its copy of the vectors included.
    memory_bytes : float
        By how much the process grew while the index was built, as the system counts it; freed memory that is used
        again does not show.
    """

    seconds: float = float("nan")
    cpu_seconds: float = float("nan")
    build_seconds: float = float("nan")
    build_cpu_seconds: float = float("nan")
    index_bytes: float = float("nan")
    memory_bytes: float = float("nan")


@dataclass(frozen=True, eq=False)
class Trial:
    """What one ranker answered to some queries.

    Parameters
    ----------
    name : str
        The configuration's label, or the name of the user's run.
    configuration : Configuration or None
        None for a run of the user's.
    ranking : Ranking
        The returned items by exact similarity; what was not returned has rank 0.
    own : Ranking
        The same items in the index's own order.
    cost : Cost
    """

    name: str
    configuration: Configuration | None
    ranking: Ranking
    own: Ranking
    cost: Cost = Cost()

    @property
    def index(self) -> str:
        """The index's name in ``INDEXES``, or ``run``."""
        return "run" if self.configuration is None else self.configuration.index


@dataclass(frozen=True, eq=False)
class Experiment:
    """Approximate indexes next to the exact ranking: tuned on some queries, measured on others.

    Parameters
    ----------
    exact : Ranking
        Of all queries; ``depth`` items of each list are kept, and one more.
    validation, test : (n,) intp
        Positions of the queries that tune, and of those that are measured. No group is in both.
    groups : (n_query,) intp
        The independent unit of each query.
    trials : tuple of Trial
        Every configuration, on the validation queries.
    tested : tuple of Trial
        The best of each index, and the user's runs, on the test queries.
    chosen : int or None
        Which of ``tested`` was chosen, by validation alone; None where nothing was tuned, or nothing keeps the budget.
    ks : tuple of int
        Cuts; the last decides.
    depth : int
        So many items each index is asked for.
    exact_cost : Cost
        Of the exact pass, on all processors.
    n_gallery, n_dim, n_copy : int
        Size of the gallery; ``n_copy`` of its items are exactly the same as an earlier one.
    threads, seed : int
    no_relevant : str
        Policy of R@k.
    findings : tuple of Finding
    """

    exact: Ranking
    validation: IntArray
    test: IntArray
    groups: IntArray
    trials: tuple[Trial, ...]
    tested: tuple[Trial, ...]
    chosen: int | None
    ks: tuple[int, ...]
    depth: int
    exact_cost: Cost
    n_gallery: int
    n_dim: int
    n_copy: int
    threads: int
    seed: int
    no_relevant: NoRelevant
    findings: tuple[Finding, ...] = ()

    @property
    def k(self) -> int:
        """The cut that decides."""
        return self.ks[-1]


class Problem(NamedTuple):
    """What an index is measured on.

    Parameters
    ----------
    query, gallery : (n_query, n_dim) and (n_gallery, n_dim) arrays, or prepared
        Compared by their cosine.
    relevance : Relevance
    groups : (n_query,) labels
        The independent unit of each query; a group tunes or is measured, never both.
    """

    query: Any
    gallery: Any
    relevance: Relevance
    groups: ArrayLike


@dataclass(frozen=True)
class Plan:
    """How an index is tuned, chosen and measured.

    Parameters
    ----------
    ks : sequence of int
        Cuts. The largest decides, and is how many items an index is asked for.
    latency : float, optional
        Seconds a query; only configurations that kept it on the validation queries can be chosen.
    memory : float, optional
        Bytes of the index, likewise.
    share : float
        Of the groups that tune.
    seed : int
        Of the draw of groups, and of the indexes.
    threads : int
        With which indexes are built. More than one is faster, but then HNSW differs a little from run to run.
    """

    ks: Sequence[int] = KS
    latency: float | None = None
    memory: float | None = None
    share: float = SHARE
    seed: int = 0
    threads: int = 1


def run_experiment(
    problem: Problem,
    plan: Plan = Plan(),
    *,
    tried: Sequence[Configuration] | None = None,
    runs: Mapping[str, Ranking] | None = None,
    no_relevant: NoRelevant = "miss",
    progress: PhaseTick | None = None,
) -> Experiment:
    """How much of the error is the representation's, and how much the index's?

    Parameters
    ----------
    problem : Problem
    plan : Plan
    tried : sequence of Configuration, optional
        ``configurations(n_gallery, n_dim)`` by default; none where only runs are compared, and then all queries are
        measured.
    runs : mapping of name to Ranking, optional
        What other systems answered to all queries; see ``ranking.rank_scores``.
    no_relevant : {"miss", "exclude"}
        As in ``metrics.recall``.
    progress : callable, optional

    Returns
    -------
    Experiment
        For each index the configuration with the highest R@k on the validation queries within the budget (of equal
        ones the earlier in ``tried``), measured on the test queries.

    Raises
    ------
    DataError
        Vectors that cannot be compared, or fewer than two groups.
    MissingDependency
        faiss is not installed.
    """
    ks = tuple(sorted({metrics.checked_k(k) for k in plan.ks}))
    q, g = _prepared(problem.query, "query vectors"), _prepared(problem.gallery, "gallery vectors")
    relevance, code = problem.relevance, np.unique(np.asarray(problem.groups), return_inverse=True)[1]
    depth = min(ks[-1], len(g))
    tried = configurations(len(g), g.n_dim) if tried is None else tuple(tried)
    validation, test = draw_validation(code, share=plan.share, seed=plan.seed) if tried else _nobody(len(q))
    tell = _Teller(progress, 1 + len({(one.index, one.build) for one in tried}))
    tell("exact ranking")
    start, cpu = time.perf_counter(), time.process_time()
    exact = without_answers(rank(q, g, relevance, top=depth + 1), q.without_direction())
    spent = (time.perf_counter() - start) / max(len(q), 1), (time.process_time() - cpu) / max(len(q), 1)
    rule = Rule(ks[-1], no_relevant, plan.latency, plan.memory)
    asked = Questions(q.take(validation), g, relevance.select(validation), depth)
    trials, best = _tune(asked, tried, rule, plan, tell)
    asked = Questions(q.take(test), g, relevance.select(test), depth)
    tested = [_answered(*built, asked) for _, built in best]
    tested += [_of_run(name, one.select(test)) for name, one in (runs or {}).items()]
    whole = Experiment(
        exact=exact,
        validation=validation,
        test=test,
        groups=code,
        trials=tuple(trials),
        tested=tuple(tested),
        chosen=_choose([trials[i] for i, _ in best], rule),
        ks=ks,
        depth=depth,
        exact_cost=Cost(*spent),
        n_gallery=len(g),
        n_dim=g.n_dim,
        n_copy=_n_copies(g),
        threads=plan.threads,
        seed=plan.seed,
        no_relevant=no_relevant,
    )
    tell("done")
    return replace(whole, findings=tuple(_findings(whole)))


def experiment_of(
    dataset: Dataset,
    spec: Spec,
    plan: Plan = Plan(),
    *,
    index: Sequence[str] | None = None,
    runs: Sequence[str] = (),
    encoded: NDArray[Any] | None = None,
    progress: PhaseTick | None = None,
) -> tuple[Spec, str, Experiment]:
    """Run the experiment on a data set: its first direction, by the spec's vectors and relevance.

    Parameters
    ----------
    dataset : Dataset
    spec : Spec
    plan : Plan
    index : sequence of str, optional
        As ``configurations`` takes them; all by default, none where only runs are given.
    runs : sequence of str
        Files of scores or TREC runs, as ``Spec.scores`` takes them: answers of other systems to the same queries.
    encoded : (n_item, n_dim) array, optional
        As ``evaluate`` takes it.
    progress : callable, optional

    Returns
    -------
    spec : Spec
        Resolved.
    direction : str
    experiment : Experiment
    """
    kept_out = {
        "scores": spec.scores,
        "rerank": spec.rerank,
        "similarity": spec.similarity != "cosine",
        "slice": spec.slice,
    }
    if any(kept_out.values()):
        raise DataError(
            f"an index is compared with the cosines of vectors, on all queries; leave {setting('scores')}, "
            f"{setting('rerank')}, {setting('similarity')} and {setting('slice')} out",
            field=next(name for name, given in kept_out.items() if given),
        )
    spec = protocol.resolve(dataset, spec)
    splits = protocol.directions(dataset, spec)
    asked, answers, found = protocol.vectors_of_sides(dataset, spec, splits, encoded)
    kept, more = protocol.leave_out_bad_rows(dataset, spec, splits, asked, answers)
    split, found = kept[0], [*found, *more]
    relevance = protocol.relate(dataset, spec, split)
    others = {}
    for name in runs:
        matrix, more = protocol.score_matrix(dataset, Path(name), split, plan.ks)
        others[name] = rank_scores(matrix, relevance, top=max(plan.ks))
        found += more
    if len(kept) > 1:
        found.append(find("direction", m=len(kept), split=split.name))
    gallery = answers[split.gallery]
    tried = () if runs and not index else configurations(len(gallery), gallery.shape[1], index or ())
    units = split_units(dataset, split)
    policy: Any = spec.no_relevant
    problem = Problem(asked[split.query], gallery, relevance, units)
    whole = run_experiment(problem, plan, tried=tried, runs=others, no_relevant=policy, progress=progress)
    return spec, split.name, replace(whole, findings=(*found, *whole.findings))


def draw_validation(groups: ArrayLike, *, share: float = SHARE, seed: int = 0) -> tuple[IntArray, IntArray]:
    """Which queries tune, and which are measured? Whole groups are drawn, at least one for each side.

    Returns
    -------
    validation, test : (n,) intp
        Positions, ascending.
    """
    names, code = np.unique(np.asarray(groups), return_inverse=True)
    if len(names) < 2:
        raise DataError(
            f"{len(code)} queries in {len(names)} group; an index is tuned on some groups and measured on others, so"
            " at least two are needed"
        )
    n = min(max(round(share * len(names)), 1), len(names) - 1)
    drawn = np.isin(code, np.random.default_rng(seed).permutation(len(names))[:n])
    return np.flatnonzero(drawn), np.flatnonzero(~drawn)


def pareto(cost: ArrayLike, value: ArrayLike) -> NDArray[np.bool_]:
    """Which points are on the front: none is both at most as dear and better, or cheaper and as good?

    Examples
    --------
    >>> pareto([1, 2, 3, 3], [0.5, 0.9, 0.8, 0.95]).tolist()
    [True, True, False, True]
    """
    c, v = np.asarray(cost, np.float64), np.asarray(value, np.float64)
    beaten = (c[None] <= c[:, None]) & (v[None] >= v[:, None]) & ((c[None] < c[:, None]) | (v[None] > v[:, None]))
    front: NDArray[np.bool_] = ~beaten.any(axis=1) & ~np.isnan(c) & ~np.isnan(v)
    return front


def pareto_front(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Which rows of ``trial_table`` does no other beat in ``column`` and milliseconds? The fastest first."""
    return table[pareto(table["milliseconds"], table[column])].sort_values("milliseconds")


def trial_table(whole: Experiment, part: str = "test") -> pd.DataFrame:
    """What did each ranker score, and what does it cost?

    Parameters
    ----------
    part : {"test", "validation"}
        The chosen configurations on the test queries, with intervals; or every configuration on the validation queries.

    Columns
    -------
    name, index, chosen; for each k ``exact_recall@k`` (representation), ``recall@k`` (the index's items by exact
    similarity), ``difference@k`` (of the two: index error) with ``low@k`` and ``high@k`` (nan where the two differ in
    no group, and on the validation queries), ``own_recall@k`` (in the index's own order), ``not_returned@k``,
    ``worse_rank@k`` and ``index_only@k`` (queries, see ``outcomes``); ``overlap`` (with the exact list at the last
    k); queries_per_second, milliseconds, cpu_milliseconds (a query), build_seconds, build_cpu_seconds, index_bytes,
    memory_bytes; ``pareto`` (on the front of the last R@k against time, among these rows).
    """
    at, trials = (whole.test, whole.tested) if part == "test" else (whole.validation, whole.trials)
    exact, groups = whole.exact.select(at), whole.groups[at]
    rows = []
    for place, trial in enumerate(trials):
        row: dict[str, Any] = {
            "name": trial.name,
            "index": trial.index,
            "chosen": _is_chosen(whole, trial, place, part),
        }
        for k in whole.ks:
            row |= _errors(trial, exact, groups, k, whole.no_relevant, intervals=part == "test")
        shares = overlap(trial.ranking, exact, whole.k)
        row["overlap"] = float(np.nanmean(shares)) if not np.isnan(shares).all() else float("nan")
        rows.append(row | _costs(trial.cost))
    made = pd.DataFrame(rows)
    if len(made):
        made["pareto"] = pareto(made["milliseconds"], made[f"recall@{whole.k}"])
    return made


def synthetic(n_gallery: int, n_dim: int, n_query: int, *, seed: int = 0, per_group: int = 10) -> Problem:
    """Vectors in many small clusters: each group has a centre, ``per_group`` gallery items around it, and two queries.

    Nothing leaves float32, so a million vectors need no more memory than themselves.
    """
    n_group = max(n_gallery // per_group, 1)
    n_asking = min(max(n_query // 2, 1), n_group)
    rng = np.random.default_rng(seed)
    centre = rng.standard_normal((n_group, n_dim), np.float32)
    group = np.arange(n_gallery) % n_group
    gallery = rng.standard_normal((n_gallery, n_dim), np.float32)
    gallery *= np.float32(NOISE)
    for start in range(0, n_gallery, n_group):
        gallery[start : start + n_group] += centre[: min(n_group, n_gallery - start)]
    asks = np.sort(rng.choice(n_group, n_asking, replace=False))
    asking = asks[np.arange(n_query) % n_asking]
    query = centre[asking] + np.float32(NOISE) * rng.standard_normal((n_query, n_dim), np.float32)
    order = np.argsort(group, kind="stable")
    indptr = np.searchsorted(group[order], np.arange(n_group + 1))
    return Problem(query, gallery, Relevance.of(Sets(asking, indptr, order), n_gallery), asking)


NOISE = 1.0


class Questions(NamedTuple):
    """Queries, the gallery that they ask, what is right, and how many items they want."""

    query: Vectors
    gallery: Vectors
    relevance: Relevance
    depth: int


class Rule(NamedTuple):
    """How a configuration is chosen: the highest R@k within a budget of seconds a query and bytes of the index."""

    k: int
    no_relevant: NoRelevant
    latency: float | None
    memory: float | None


Built = tuple[Configuration, Any, Cost]
"""A configuration, its faiss index, and what that cost to build."""


def _tune(
    asked: Questions, tried: Sequence[Configuration], rule: Rule, plan: Plan, tell: _Teller
) -> tuple[list[Trial], list[tuple[int, Built]]]:
    """Try every configuration on the validation queries, which are all that is seen here.

    Returns the trials, and for each index the number of its best trial with what was built. No other index is kept.
    """
    trials: list[Trial] = []
    best: dict[str, tuple[int, Built]] = {}
    for (name, _), same in itertools.groupby(tried, key=lambda one: (one.index, one.build)):
        built: dict[int, Built] = {}
        index, cost = None, Cost()
        for one in same:
            if index is None:
                tell(one.label)
                index, cost = _timed_build(one, asked.gallery, plan)
            built[len(trials)] = one, index, cost
            trials.append(_answered(one, index, cost, asked))
        rivals = [*([best[name][0]] if name in best else []), *built]
        place = _choose([trials[i] for i in rivals], rule)
        if place is not None and rivals[place] in built:
            best[name] = rivals[place], built[rivals[place]]
    return trials, list(best.values())


def _choose(trials: Sequence[Trial], rule: Rule) -> int | None:
    """Which trial is the best by the rule? Of equal ones the first; None where none keeps the budget."""
    kept = [
        i
        for i, one in enumerate(trials)
        if (rule.latency is None or one.cost.seconds <= rule.latency)
        and (rule.memory is None or one.cost.index_bytes <= rule.memory)
    ]
    hits = {i: metrics.recall(trials[i].ranking, rule.k, no_relevant=rule.no_relevant).numerator.sum() for i in kept}
    return max(kept, key=lambda i: (hits[i], -i), default=None)


def _timed_build(configuration: Configuration, gallery: Vectors, plan: Plan) -> tuple[Any, Cost]:
    faiss = import_faiss()
    resident = faiss.get_mem_usage_kb()
    start, cpu = time.perf_counter(), time.process_time()
    index = build(configuration, gallery, threads=plan.threads, seed=plan.seed)
    spent, used = time.perf_counter() - start, time.process_time() - cpu
    grown = 1024.0 * max(faiss.get_mem_usage_kb() - resident, 0)
    cost = Cost(build_seconds=spent, build_cpu_seconds=used, index_bytes=written_size(index), memory_bytes=grown)
    return index, cost


def _answered(configuration: Configuration, index: Any, cost: Cost, asked: Questions) -> Trial:
    """Ask an index, the time of the quickest of a few rounds; junk must not push anything else out of its lists."""
    query, gallery, relevance, depth = asked
    wanted = min(depth + int(relevance.junk.counts().max(initial=0)), len(gallery))
    answer(index, configuration, query.take(slice(0, 1)), wanted)  # the first call sets tables up
    spent: list[tuple[float, float]] = []
    began = time.perf_counter()
    while not spent or (len(spent) < 5 and time.perf_counter() - began < 0.2):
        start, cpu = time.perf_counter(), time.process_time()
        position = answer(index, configuration, query, wanted)
        spent.append((time.perf_counter() - start, time.process_time() - cpu))
    seconds, cpu_seconds = (min(times) / max(len(query), 1) for times in zip(*spent, strict=True))
    ranking, own = (
        without_answers(
            rank_lists(position, query, gallery, relevance, top=depth, own_order=own_order), query.without_direction()
        )
        for own_order in (False, True)
    )
    measured = replace(cost, seconds=seconds, cpu_seconds=cpu_seconds)
    return Trial(configuration.label, configuration, ranking, own, measured)


def _of_run(name: str, ranking: Ranking) -> Trial:
    return Trial(name, None, ranking, ranking)


def _errors(
    trial: Trial, exact: Ranking, groups: IntArray, k: int, no_relevant: NoRelevant, *, intervals: bool
) -> dict[str, Any]:
    def recall(ranking: Ranking) -> Score:
        return metrics.recall(ranking, k, no_relevant=no_relevant)

    right, mine = recall(exact), recall(trial.ranking)
    found = paired_difference(mine, right, groups).interval if intervals else None
    counted = pd.Series(outcomes(trial.own, exact, k)).value_counts()
    return {
        f"exact_recall@{k}": right.value,
        f"recall@{k}": mine.value,
        f"difference@{k}": mine.value - right.value,
        f"low@{k}": float("nan") if found is None else found.low,
        f"high@{k}": float("nan") if found is None else found.high,
        f"own_recall@{k}": recall(trial.own).value,
        **{f"{name}@{k}": int(counted.get(name, 0)) for name in ("not_returned", "worse_rank", "index_only")},
    }


def _costs(cost: Cost) -> dict[str, float]:
    return {
        "queries_per_second": 1 / cost.seconds if cost.seconds > 0 else float("nan"),
        "milliseconds": 1000 * cost.seconds,
        "cpu_milliseconds": 1000 * cost.cpu_seconds,
        "build_seconds": cost.build_seconds,
        "build_cpu_seconds": cost.build_cpu_seconds,
        "index_bytes": cost.index_bytes,
        "memory_bytes": cost.memory_bytes,
    }


def _is_chosen(whole: Experiment, trial: Trial, place: int, part: str) -> bool:
    if whole.chosen is None:
        return False
    return place == whole.chosen if part == "test" else trial.configuration == whole.tested[whole.chosen].configuration


def _findings(whole: Experiment) -> Iterator[Finding]:
    """What must be known before the numbers are believed."""
    if whole.n_copy:
        yield find("copies", whole.n_copy, m=whole.n_gallery)
    top = whole.exact.top_similarity
    if top.shape[1] > whole.depth:
        n = int((top[:, whole.depth - 1] == top[:, whole.depth]).sum())
        if n:
            yield find("tie_at_cut", n, m=len(top), depth=whole.depth)
    tuned = len(whole.trials) > 0
    if tuned and whole.chosen is None:
        yield find("budget")
    n_group = len(np.unique(whole.groups[whole.test]))
    if n_group < 30:
        yield find("few_groups", n=n_group)


def _n_copies(gallery: Vectors) -> int:
    digests = [one for one in row_digests(gallery.parts[0]) if one is not None]
    return len(digests) - len(set(digests))


def _prepared(vectors: ArrayLike | Vectors, name: str) -> Vectors:
    prepared = vectors if isinstance(vectors, Vectors) else prepare(vectors, "cosine", name=name)
    if prepared.similarity != "cosine":
        raise ValueError(f"the {name} were prepared for {prepared.similarity}, not for cosine")
    return prepared


def _nobody(n: int) -> tuple[IntArray, IntArray]:
    """Nothing is tuned: every query is measured."""
    return np.zeros(0, np.intp), np.arange(n)


class _Teller:
    """Counts the steps for a progress bar."""

    def __init__(self, progress: PhaseTick | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def __call__(self, words: str) -> None:
        if self.progress is not None:
            self.progress(words, self.done, self.total)
        self.done += 1
