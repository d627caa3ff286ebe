"""How fast is the exact ranking, next to a bare matrix product and to the tools that people use?

    python -m benchmarks.ranking                       # every size, about an hour
    python -m benchmarks.ranking --sizes 5k 20k-self --rounds 3
    python -m benchmarks.ranking --peers ../peers/bin/python

Each measurement is a process of its own, and the methods take turns, so that a busy machine hurts all alike; the
figures are medians of the rounds. A ratio is to the bare float32 product of the same round; on a busy machine believe
the one of CPU times. Memory is the peak over the inputs, prepared copies and results included. Tools that are not
installed are named and skipped; ``--peers`` names another interpreter to look for them in. On Linux only, for the peak
of the memory.

All get the same clustered vectors. The others get unit rows; our time includes checking and preparing raw ones.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TOP = 100
EASY, HARD = 1.5, 2.3  # noise of a row around its class's centre; hard: relevant items stand all over the list


class Data(NamedTuple):
    """Raw vectors, unit vectors and labels; the same objects on both sides where the queries are the gallery."""

    raw_query: np.ndarray
    raw_gallery: np.ndarray
    query: np.ndarray
    gallery: np.ndarray
    query_label: np.ndarray
    gallery_label: np.ndarray


class Size(NamedTuple):
    """How many rows of how many dimensions, in classes of which size; ``self_search``: queries are the gallery."""

    title: str
    n: int
    n_dim: int
    per_class: int
    self_search: bool
    noise: float = EASY


class Method(NamedTuple):
    """What is measured, what it needs, and what it does; beyond ``largest`` rows it takes too much memory or hours."""

    title: str
    run: Callable[[Data], object]
    module: str
    work: str
    largest: int


def product(data: Data) -> None:
    """Ask BLAS for the bare float32 product, a block of rows at a time, into one buffer."""
    buffer = np.empty((2048, len(data.gallery)), np.float32)
    for start in range(0, len(data.query), 2048):
        rows = data.query[start : start + 2048]
        np.matmul(rows, data.gallery.T, out=buffer[: len(rows)])


def ours(top: int) -> Callable[[Data], object]:
    def run(data: Data) -> object:
        from recall_core.ranking import rank

        return rank(data.raw_query, data.raw_gallery, relevance(data), top=top)

    return run


def relevance(data: Data) -> Any:
    from recall_core.ranking import Relevance, Sets

    right = Sets.from_labels(data.query_label, data.gallery_label)
    n = len(data.gallery)
    junk = Sets.from_lists(np.arange(n)[:, None]) if data.query is data.gallery else Sets.empty(len(data.query))
    return Relevance(right, junk, n)


def stable_argsort(data: Data) -> np.ndarray:
    order = np.argsort(-(data.query @ data.gallery.T), axis=1, kind="stable")
    ranks = np.empty(order.shape, np.int32)
    np.put_along_axis(ranks, order, np.arange(order.shape[1], dtype=np.int32)[None], axis=1)
    return ranks


def argpartition(data: Data) -> list[np.ndarray]:
    found = []
    for start in range(0, len(data.query), 1024):
        scores = data.query[start : start + 1024] @ data.gallery.T
        best = np.argpartition(scores, -TOP, axis=1)[:, -TOP:]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        found.append(np.take_along_axis(best, order, axis=1))
    return found


def torch_topk(data: Data) -> list[Any]:
    import torch

    query, gallery = torch.from_numpy(data.query), torch.from_numpy(data.gallery)
    return [torch.topk(query[start : start + 1024] @ gallery.T, TOP, dim=1) for start in range(0, len(query), 1024)]


def faiss_flat(data: Data) -> Any:
    import faiss

    index = faiss.IndexFlatIP(data.gallery.shape[1])
    index.add(data.gallery)
    return index.search(data.query, TOP)


def sklearn_brute(data: Data) -> Any:
    from sklearn.neighbors import NearestNeighbors

    return (
        NearestNeighbors(n_neighbors=TOP, algorithm="brute", metric="cosine").fit(data.gallery).kneighbors(data.query)
    )


def metric_learning(data: Data) -> Any:
    import torch
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

    calculator = AccuracyCalculator(include=("mean_average_precision",), k=None, device=torch.device("cpu"))
    query, gallery = torch.from_numpy(data.query), torch.from_numpy(data.gallery)
    labels = (torch.from_numpy(data.query_label.astype(int)), torch.from_numpy(data.gallery_label.astype(int)))
    same = data.query is data.gallery
    return calculator.get_accuracy(query, labels[0], gallery, labels[1], ref_includes_query=same)


def torchmetrics_map(data: Data) -> Any:
    import torch
    from torchmetrics.retrieval import RetrievalMAP

    n_query, n_gallery = len(data.query), len(data.gallery)
    scores = torch.from_numpy(data.query) @ torch.from_numpy(data.gallery).T
    target = torch.from_numpy(data.query_label[:, None] == data.gallery_label)
    asked = torch.arange(n_query).repeat_interleave(n_gallery)
    return RetrievalMAP()(scores.reshape(-1), target.reshape(-1), asked)


def ranx_map(data: Data) -> Any:
    import ranx

    qrels, run = as_dicts(data)
    return ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), ["map", "recall@10"])


def pytrec_eval_map(data: Data) -> Any:
    import pytrec_eval

    qrels, run = as_dicts(data)
    return pytrec_eval.RelevanceEvaluator(qrels, {"map", "recall.10"}).evaluate(run)


def as_dicts(data: Data) -> tuple[dict, dict]:
    """What these two judge: the first 100 of each list, as dictionaries; making them is part of the time."""
    best = np.concatenate(argpartition(data))
    members: dict[str, dict[str, int]] = {}
    for item, label in enumerate(data.gallery_label):
        members.setdefault(label, {})[str(item)] = 1
    qrels = {str(q): members[label] for q, label in enumerate(data.query_label) if label in members}
    run = {str(q): {str(item): float(TOP - i) for i, item in enumerate(row)} for q, row in enumerate(best)}
    return qrels, {q: run[q] for q in qrels}


ALL, FIRST = "every rank, every tie", f"less: the first {TOP}, no ranks beyond, ties undefined"
SIZES = {
    "5k": Size("5k × 5k × 128", 5_000, 128, 10, False),
    "20k": Size("20k × 20k × 512", 20_000, 512, 10, False),
    "20k-self": Size("20k self × 512", 20_000, 512, 10, True),
    "20k-hard": Size("20k self × 512, hard", 20_000, 512, 10, True, HARD),
    "60k-self": Size("60k self × 512", 60_000, 512, 10, True),
    "many": Size("6k self × 512, 60 relevant", 6_000, 512, 61, True),
}
GROWTH = (10_000, 20_000, 40_000)
METHODS = {
    "product": Method("bare float32 product", product, "numpy", "less: ranks nothing", 60_000),
    "ours": Method("**ours: ranks and ties**", ours(0), "recall_core", ALL, 60_000),
    "ours-10": Method("**ours, and top 10**", ours(10), "recall_core", ALL, 60_000),
    "ours-100": Method("**ours, and top 100**", ours(100), "recall_core", ALL, 60_000),
    "argsort": Method(
        "full matrix, stable argsort", stable_argsort, "numpy", "every rank, ties by float32 chance", 20_000
    ),
    "argpartition": Method("blocked argpartition", argpartition, "numpy", FIRST, 60_000),
    "torch": Method("blocked torch.topk", torch_topk, "torch", FIRST, 60_000),
    "faiss": Method("faiss IndexFlatIP, as installed", faiss_flat, "faiss", FIRST, 60_000),
    "faiss-cpu-type": Method("faiss IndexFlatIP, CPU type given", faiss_flat, "faiss", FIRST, 60_000),
    "sklearn": Method("scikit-learn brute", sklearn_brute, "sklearn", FIRST, 20_000),
    "pml": Method("pytorch-metric-learning", metric_learning, "pytorch_metric_learning", "every rank, one AP", 6_000),
    "torchmetrics": Method("torchmetrics RetrievalMAP", torchmetrics_map, "torchmetrics", "every rank, one AP", 6_000),
    "ranx": Method("ranx", ranx_map, "ranx", f"less: judges the first {TOP}", 6_000),
    "pytrec_eval": Method("pytrec_eval", pytrec_eval_map, "pytrec_eval", f"less: judges the first {TOP}", 6_000),
}
TARGETS = {
    ("20k", "ours"): 1.25,
    ("20k", "ours-100"): 1.6,
    ("20k-self", "ours"): 0.80,
    ("60k-self", "ours"): 0.72,
    ("60k-self", "ours-100"): 0.86,
    ("many", "ours"): 2.7,
}


def write_data(folder: Path, size: Size) -> None:
    rng = np.random.default_rng(0)
    n = size.n - size.n % size.per_class
    n_rows = n if size.self_search else 2 * n
    label = rng.permutation(np.arange(n_rows) % (n // size.per_class))
    centres = rng.standard_normal((label.max() + 1, size.n_dim), dtype=np.float32)
    rows = centres[label] + np.float32(size.noise) * rng.standard_normal((n_rows, size.n_dim), dtype=np.float32)
    np.save(folder / "rows.npy", rows)
    np.save(folder / "labels.npy", label.astype(str))


def read_data(folder: Path, size: Size) -> Data:
    rows, label = np.load(folder / "rows.npy"), np.load(folder / "labels.npy")
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    if size.self_search:
        return Data(rows, rows, unit, unit, label, label)
    n = len(rows) // 2
    return Data(rows[:n], rows[n:], unit[:n], unit[n:], label[:n], label[n:])


def memory(field: str) -> int:
    """VmRSS or VmHWM in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def measure_one(method: Method, size: Size, folder: Path) -> dict[str, float]:
    """Run in a process of its own: once on a few rows to load and warm up, then once in earnest."""
    data = read_data(folder, size)
    few = 300
    small = [array[:few] for array in data]
    if size.self_search:
        small[1], small[3], small[5] = small[0], small[2], small[4]
    method.run(Data(*small))
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before, cpu, wall = memory("VmRSS"), time.process_time(), time.perf_counter()
    kept = method.run(data)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    del kept
    return {"wall": wall, "cpu": cpu, "peak": (memory("VmHWM") - before) / 2**20}


def in_process(python: str, name: str, size: Size, folder: Path) -> dict[str, float] | None:
    """Measure in a fresh process; None if it was killed or failed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    if name == "faiss-cpu-type":
        environment["OPENBLAS_CORETYPE"] = kernel().split()[0]
    environment["PYTHONPATH"] = str(ROOT)
    command = [python, __file__, "--one", name, *map(str, size), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"    {name} failed: {(done.stderr.strip().splitlines() or ['killed'])[-1]}", file=sys.stderr)
        return None
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def interpreter(method: Method, peers: str | None) -> str | None:
    """Which Python has the method's module: this one, else the peers'."""
    if importlib.util.find_spec(method.module):
        return sys.executable
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({method.module!r}) is None)"
    if peers and subprocess.run([peers, "-c", probe], check=False).returncode == 0:
        return peers
    return None


def kernel() -> str:
    """Which kernel numpy's OpenBLAS picks by itself, and its version."""
    program = (
        "import numpy, threadpoolctl;"
        "print(*next((b['architecture'], b['version']) for b in threadpoolctl.threadpool_info()"
        " if b['internal_api'] == 'openblas'))"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    ).stdout.strip()


def measure(size: Size, names: list[str], rounds: int, peers: str | None) -> dict[str, list[dict[str, float]]]:
    """Let the methods take turns; one that fails is not asked again, nor one that takes over 15 products."""
    results: dict[str, list[dict[str, float]]] = {}
    failed: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder), size)
        for turn in range(rounds):
            for name in names:
                python = interpreter(METHODS[name], peers)
                slow = name in results and results[name][0]["ratio"] > 15
                if python is None or name in failed or size.n > METHODS[name].largest or slow:
                    continue
                found = in_process(python, name, size, Path(folder))
                if found is None:
                    failed.add(name)
                    continue
                results.setdefault(name, []).append(found)
                found["ratio"] = found["wall"] / results["product"][-1]["wall"]
                found["cpu ratio"] = found["cpu"] / results["product"][-1]["cpu"]
                print(f"  {size.title}, round {turn + 1}, {name}: {found['wall']:.2f} s", file=sys.stderr)
    return results


def machine() -> str:
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "?",
    )
    return f"{model}, {len(os.sched_getaffinity(0))} cores, numpy {np.__version__}, OpenBLAS {kernel()}"


def table(measured: dict[str, dict[str, list[dict[str, float]]]], names: list[str], peers: str | None) -> str:
    """Markdown: a section a size, target beside measured."""
    lines = [
        f"Measured on {machine()}; ratio = wall time over that of the bare product in the same round, medians.",
        "",
    ]
    for key, results in measured.items():
        lines += [f"{SIZES[key].title}", ""]
        lines += [
            "| | ratio (target) | CPU ratio | wall s | peak MiB | rounds | does |",
            "|---|---|---|---|---|---|---|",
        ]
        for name in names:
            method = METHODS[name]
            if name in results:
                found = results[name]
                ratio, cpu, wall, peak = (median(f[k] for f in found) for k in ("ratio", "cpu ratio", "wall", "peak"))
                target = f" (≤ {TARGETS[key, name]:.2f})" if (key, name) in TARGETS else ""
                lines.append(
                    f"| {method.title} | {ratio:.2f}{target} | {cpu:.2f} | {wall:.2f} | {peak:.0f} | {len(found)} |"
                    f" {method.work} |"
                )
            elif interpreter(method, peers) is None:
                lines.append(f"| {method.title} | not installed | | | | | |")
            elif SIZES[key].n > method.largest:
                lines.append(f"| {method.title} | left out: memory or hours | | | | | |")
        lines.append("")
    return "\n".join(lines)


def growth(rounds: int) -> str:
    """How our time grows with n: the exponent of a fit through the medians, self search, 512 dimensions."""
    sizes = [Size(f"{n // 1000}k self", n, 512, 10, True) for n in GROWTH]
    medians = []
    for size in sizes:
        found = measure(size, ["product", "ours"], rounds, None)["ours"]
        medians.append(median(one["wall"] for one in found))
    exponent = np.polyfit(np.log(GROWTH), np.log(medians), 1)[0]
    shown = ", ".join(f"{n // 1000}k {wall:.2f} s" for n, wall in zip(GROWTH, medians, strict=True))
    return f"Growth of ours, self × 512: {shown}: time ∝ n^{exponent:.2f} (target ≤ 1.8)."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=list(SIZES))
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS), help="the product always runs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has the tools that this one lacks")
    parser.add_argument("--growth", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--one", nargs=8, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        name, title, n, n_dim, per_class, self_search, noise, folder = args.one
        size = Size(title, int(n), int(n_dim), int(per_class), self_search == "True", float(noise))
        print(json.dumps(measure_one(METHODS[name], size, Path(folder))))
        return
    names = ["product", *(name for name in METHODS if name in args.methods and name != "product")]
    measured = {key: measure(SIZES[key], names, args.rounds, args.peers) for key in args.sizes}
    print(table(measured, names, args.peers))
    if args.growth:
        print(growth(args.rounds))


if __name__ == "__main__":
    main()
