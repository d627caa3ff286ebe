"""However the work is spread, the ranking is the same bit for bit."""

import json
import os
import signal
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_core import cli
from recall_core.datasets.dataset import load
from recall_core.datasets.shards import Shards, read_shards, write_shards
from recall_core.errors import DataError, MissingDependency
from recall_core.evaluation import report
from recall_core.evaluation.wiring import evaluate
from recall_core.ranking import distributed
from recall_core.ranking.distributed import Side, cut, open_ranker, rank_distributed
from recall_core.ranking.exact_pass import rank
from recall_core.ranking.record import Ranking
from recall_core.ranking.relevance import Relevance, Sets
from tests.conftest import DATA

LAB = str(DATA / "glyphlab")


class AtOnce(Executor):
    """An executor that runs each task where it is submitted."""

    def submit(self, function, /, *arguments, **named):  # type: ignore[no-untyped-def, override]
        future: Future = Future()
        future.set_result(function(*arguments, **named))
        return future


def same(a: Ranking, b: Ranking) -> bool:
    return all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=True) for n in Ranking.__dataclass_fields__)


def case(seed: int, n_query: int = 300, n_gallery: int = 2500, n_dim: int = 24):  # type: ignore[no-untyped-def]
    """Clusters with copies, zero rows and junk; about 4 relevant items a query, some far down."""
    rng = np.random.default_rng(seed)
    centre = rng.standard_normal((50, n_dim))
    query = (centre[rng.integers(0, 50, n_query)] + 0.8 * rng.standard_normal((n_query, n_dim))).astype(np.float32)
    gallery = (centre[rng.integers(0, 50, n_gallery)] + 0.8 * rng.standard_normal((n_gallery, n_dim))).astype("f4")
    gallery[n_gallery // 2 : n_gallery // 2 + 200] = gallery[:200]
    gallery[5], query[7] = 0, 0
    query[:50] = gallery[:50]
    some = [rng.choice(n_gallery, rng.integers(0, 8), replace=False) for _ in range(n_query)]
    junk = [rng.choice(n_gallery, rng.integers(0, 3), replace=False) for _ in range(n_query)]
    return query, gallery, Relevance(Sets.from_lists(some), Sets.from_lists(junk), n_gallery)


def stored(folder: Path, vectors: np.ndarray, kind: str = ".npy", rows: int = 700) -> Shards:
    write_shards(folder, vectors, rows=rows, kind=kind)
    values: object = read_shards(folder).values
    assert isinstance(values, Shards)
    return values


def side(source: object, n: int) -> Side:
    return Side(source, np.arange(n))


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("memory", [2**20, 2**23, 2**29])
def test_any_cut_gives_the_serial_ranking(similarity: str, memory: int) -> None:
    query, gallery, relevance = case(0)
    sides = side(query, len(query)), side(gallery, len(gallery))
    found = rank_distributed(*sides, relevance, AtOnce(), similarity=similarity, top=20, memory=memory)
    assert same(found, rank(query, gallery, relevance, similarity=similarity, top=20))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 3), st.integers(1, 12), st.integers(1, 30), st.integers(1, 8), st.integers(0, 12), st.integers(1, 4)
)
def test_small_and_odd_sizes_too(seed: int, n_query: int, n_gallery: int, n_dim: int, top: int, workers: int) -> None:
    rng = np.random.default_rng(seed)
    query, gallery = rng.integers(-2, 3, (n_query, n_dim)), rng.integers(-2, 3, (n_gallery, n_dim))
    some = [rng.choice(n_gallery, rng.integers(0, n_gallery + 1), replace=False) for _ in range(n_query)]
    junk = [rng.choice(n_gallery, rng.integers(0, n_gallery + 1), replace=False) for _ in range(n_query)]
    relevance = Relevance(Sets.from_lists(some), Sets.from_lists(junk), n_gallery)
    found = rank_distributed(
        side(query, n_query), side(gallery, n_gallery), relevance, AtOnce(), top=top, memory=20_000, workers=workers
    )
    assert same(found, rank(query, gallery, relevance, top=top))


@pytest.mark.parametrize("kind", [".npy", ".parquet"])
def test_threads_and_processes_over_shards_agree_with_serial(tmp_path: Path, kind: str) -> None:
    query, gallery, relevance = case(1)
    asks, answers = stored(tmp_path / "q", query, kind), stored(tmp_path / "g", gallery, kind)
    serial = rank(query, gallery, relevance, top=20)
    sides = side(asks, len(query)), side(answers, len(gallery))
    with ThreadPoolExecutor(3) as threads:
        assert same(rank_distributed(*sides, relevance, threads, top=20, memory=2**20, workers=3), serial)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        assert same(rank_distributed(*sides, relevance, processes, top=20, memory=2**20, workers=2), serial)


def test_a_dask_cluster_agrees_though_a_worker_is_killed(tmp_path: Path) -> None:
    dask = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    query, gallery, relevance = case(2)
    asks, answers = stored(tmp_path / "q", query), stored(tmp_path / "g", gallery)
    serial = rank(query, gallery, relevance, top=20)
    settings = {"distributed.scheduler.allowed-failures": 10, "distributed.worker.daemon": True}
    import dask as configuration

    with (
        configuration.config.set(settings),
        dask.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None, silence_logs=50
        ) as cluster,
    ):
        killed: list[int] = []

        def kill_one(done: int, total: int) -> None:
            if done == total // 2 and not killed:
                with dask.Client(cluster, set_as_default=False) as client:
                    pids = client.run(os.getpid)
                killed.append(next(iter(pids.values())))
                os.kill(killed[0], signal.SIGKILL)

        address = cluster.scheduler_address.removeprefix("tcp://")
        with distributed.open_executor(f"dask://{address}") as (executor, workers):
            assert workers == 2
            found = rank_distributed(
                side(asks, len(query)),
                side(answers, len(gallery)),
                relevance,
                executor,
                top=20,
                memory=2**19,
                workers=workers,
                progress=kill_one,
            )
    assert killed
    assert same(found, serial)


def test_a_lost_process_is_an_error_that_says_so() -> None:
    query, gallery, relevance = case(3)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pid = pool.submit(os.getpid).result()
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(DataError, match="ended without an answer"):
            rank_distributed(side(query, len(query)), side(gallery, len(gallery)), relevance, pool)


def test_progress_counts_every_task_once() -> None:
    query, gallery, relevance = case(4)
    seen: list[tuple[int, int]] = []
    rank_distributed(
        side(query, len(query)),
        side(gallery, len(gallery)),
        relevance,
        AtOnce(),
        memory=2**20,
        progress=lambda done, total: seen.append((done, total)),
    )
    total = seen[-1][1]
    assert seen == [(done, total) for done in range(1, total + 1)]
    assert total > 3


@given(st.integers(0, 10**6), st.integers(0, 10**7), st.integers(4, 50_000), st.integers(20, 34), st.integers(1, 64))
def test_a_cut_covers_everything_and_keeps_the_budget(
    n_query: int, n_gallery: int, row_bytes: int, bits: int, workers: int
) -> None:
    plan = cut(n_query, n_gallery, row_bytes, memory=2**bits, workers=workers)
    for n, parts in ((n_query, plan.queries), (n_gallery, plan.stretches)):
        edges = [0, *(at.stop for at in parts)]
        assert [at.start for at in parts] == edges[:-1]
        assert edges[-1] == n
    largest = max((at.stop - at.start for at in plan.stretches), default=0)
    assert largest * row_bytes <= 2**bits // 2 or largest == 1
    asked = max((at.stop - at.start for at in plan.queries), default=0)
    assert asked * row_bytes <= 2**bits // 4 or asked == 1


class Watched:
    """Vectors that tell how many rows were read at once."""

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors, self.shape, self.dtype, self.most = vectors, vectors.shape, vectors.dtype, 0

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        self.most = max(self.most, len(rows))
        return self.vectors[rows]


def test_no_task_reads_the_vectors_whole() -> None:
    query, gallery, relevance = case(5)
    asks, answers = Watched(query), Watched(gallery)
    rank_distributed(side(asks, len(query)), side(answers, len(gallery)), relevance, AtOnce(), memory=2**19)
    assert 0 < answers.most * 12 * 24 <= 2**19 // 2
    assert 0 < asks.most * 12 * 24 <= 2**19 // 4


@pytest.mark.parametrize("kind", [".npy", ".parquet"])
def test_shards_read_like_an_array(tmp_path: Path, kind: str) -> None:
    vectors = np.random.default_rng(0).standard_normal((25, 3)).astype(np.float32)
    write_shards(tmp_path / "v", vectors, [f"i{row}" for row in range(25)], rows=10, kind=kind)
    found = read_shards(tmp_path / "v")
    assert found.ids == [f"i{row}" for row in range(25)]
    assert (len(found.values), found.values.shape, found.values.dtype) == (25, (25, 3), np.float32)
    for rows in ([], [24, 0, 9, 10, 9], np.arange(25)[::-1]):
        assert np.array_equal(found.values[rows], vectors[np.asarray(rows, int)])
    assert np.array_equal(found.values[3:12], vectors[3:12])
    turned: object = found.values
    assert isinstance(turned, Shards)
    again = turned.arranged([3, -1, 20]).arranged([2, 1, -1])
    assert np.array_equal(again[:], np.stack([vectors[20], np.zeros(3), np.zeros(3)]).astype(np.float32))


def test_a_folder_without_shards_is_refused_with_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"a folder without manifest[.]json, so it holds no shards of vectors; name a file"
    ):
        read_shards(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "of a form that is not read here"),
        ({"shards": [{"file": "../x.npy", "rows": 1}]}, "is not a .npy or .parquet file in this folder"),
        ({"shards": [{"file": "x.npy", "rows": 1}]}, "x.npy is missing, though manifest.json names it"),
        ({"shards": None}, "lacks something"),
        ({"dtype": "object"}, "of a form that is not read here"),
        ({"shards": [{"file": "part-00000.npy", "rows": 9}]}, "holds other rows"),
        ({"n_dim": 7}, "holds other rows"),
    ],
)
def test_a_manifest_that_cannot_be_right_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    write_shards(tmp_path, np.eye(4))
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_shards(tmp_path).values[:]
    assert message in str(error.value)


def shard_folder(tmp_path: Path, kind: str = ".npy") -> str:
    """The lab's vectors as shards with ids, in another order than the table."""
    from recall_core.protocol.side_vectors import encode_dataset
    from recall_core.protocol.spec import Spec

    dataset = load(LAB)
    vectors = encode_dataset(dataset, Spec(data=LAB, encoder="gradient"))
    order = np.random.default_rng(0).permutation(len(dataset))
    write_shards(tmp_path / "shards", vectors[order], list(dataset.ids[order]), rows=100, kind=kind)
    return str(tmp_path / "shards")


@pytest.mark.parametrize("kind", [".npy", ".parquet"])
def test_shards_evaluate_as_the_vectors_themselves(tmp_path: Path, kind: str) -> None:
    whole = evaluate(load(LAB), encoder="gradient")
    folder = shard_folder(tmp_path, kind)
    for split in (None, "leave-one-out"):
        whole = evaluate(load(LAB), encoder="gradient", split=split)
        with open_ranker("threads", memory=2**18) as ranker:
            spread = evaluate(load(LAB), embeddings=folder, split=split, ranker=ranker)
        for one, other in zip(whole.directions, spread.directions, strict=True):
            assert same(one.ranking, other.ranking)
        assert same(
            evaluate(load(LAB), embeddings=folder, split=split).directions[0].ranking,
            one.ranking if split else whole.directions[0].ranking,
        )


def test_the_command_prints_the_same_from_processes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = shard_folder(tmp_path)
    assert cli.main(["evaluate", LAB, "--embeddings", folder, "--json"]) == 0
    serial = capsys.readouterr().out
    arguments = ["evaluate", LAB, "--embeddings", folder, "--executor", "processes", "--workers", "2", "--json"]
    assert cli.main([*arguments, "--save", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr()
    assert printed.out == serial
    assert "tasks" in printed.err
    from recall_core.evaluation.opening import open_run

    opened = report.report_json(open_run(tmp_path / "run"))
    assert opened["scores"] == json.loads(serial)["scores"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cluster", "choose threads, processes, dask://HOST:PORT"),
        ("dask://", "no such executor"),
        ("dask://x", "no such executor"),
    ],
)
def test_an_unknown_executor_is_refused(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["evaluate", LAB, "--executor", name]) == 2
    assert message in capsys.readouterr().err


def test_scores_need_no_executor(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert cli.main(["evaluate", LAB, "--scores", str(tmp_path / "s.npy"), "--executor", "threads"]) == 2
    assert "--executor ranks vectors" in capsys.readouterr().err


def test_without_dask_the_message_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingDependency, match=r'pip install "recall-explorer\[dask\]"'),
        distributed.open_executor("dask://x:1"),
    ):
        pass
