"""The steps of the certified pass, each by its own rule, and the pass as a whole on data that take every path."""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from threading import Barrier, Thread

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_core.ranking import certified
from recall_core.ranking.certified import Sizes, one_blas_thread, part_of, top_of_rows
from recall_core.ranking.exact_pass import _rank_tiles, own_similarities, rank
from recall_core.ranking.relevance import Relevance, Sets
from recall_core.ranking.similarity import SIMILARITIES, exact_block, exact_pairs, prepare
from recall_core.ranking.stretch import Asked, merge
from tests.conftest import ROOT
from tests.ranking.test_ranking import assert_same_as_sorting, random_sets, ranking_of_one, same
from tests.ranking.test_similarity import KINDS, vectors_of_every_kind

SMALL = Sizes(block=64, tile=56, window=16, sample=64, slots=3)


def labelled(rng, n, n_class, n_dim, noise):
    """Integer vectors around class centres, the same bits on every machine, and who is right for whom; self is junk."""
    label = rng.integers(0, n_class, n)
    values = rng.integers(-8, 9, (n_class, n_dim))[label] + rng.integers(-noise, noise + 1, (n, n_dim))
    names = label.astype(str)
    relevance = Relevance(Sets.from_labels(names, names), Sets.from_lists(np.arange(n)[:, None]), n)
    return values.astype(np.float32), relevance


def digest(ranking):
    parts = (getattr(ranking, name) for name in ranking.__dataclass_fields__)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def result_for_every_kernel():
    """One hash over random-looking, tied and near-tied data; run in other processes too."""
    rng = np.random.default_rng(11)
    total = hashlib.sha256()
    values, relevance = labelled(rng, 400, 40, 96, 5)
    near = values + np.float32(2**-12) * rng.integers(-1, 2, values.shape).astype(np.float32)
    for vectors in (values, near, np.sign(values[:, :12])):
        for similarity in SIMILARITIES:
            total.update(digest(_rank(vectors, relevance, similarity, 2)).encode())
    return total.hexdigest()


def kernel():
    """Which kernel numpy's OpenBLAS runs."""
    return next(
        b["architecture"]
        for b in threadpoolctl.threadpool_info()
        if b["internal_api"] == "openblas" and "numpy" in b["filepath"]
    )


def _rank(values, relevance, similarity, workers, sizes=SMALL, symmetric=True):
    ready = prepare(values, similarity)
    return _rank_tiles(ready, ready, relevance, top=10, sizes=sizes, workers=workers, symmetric=symmetric)


NEEDS = {"Haswell": {"X86_V3", "AVX2"}, "SkylakeX": {"X86_V4", "AVX512_SKX"}, "Nehalem": {"X86_V2", "SSE42"}}
"""Kernel → names, new and old, under which numpy lists the instructions that it needs."""


def instructions():
    """Which sets of instructions has this processor, as numpy names them?"""
    found = np.show_config(mode="dicts")["SIMD Extensions"]
    return {*found.get("baseline", ()), *found.get("found", ())}


@pytest.mark.parametrize("core", NEEDS)
def test_the_result_is_the_same_with_another_blas_kernel(core):
    """Asserts the kernel: a wish that OpenBLAS does not follow would prove nothing."""
    there = "from tests.ranking.test_certified import kernel, result_for_every_kernel as result"
    program = f"{there}; print(kernel(), result())"
    environment = {**os.environ, "OPENBLAS_CORETYPE": core}
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    active, found = done.stdout.split()
    if NEEDS[core].isdisjoint(instructions()):
        pytest.skip(f"this processor cannot run the kernel {core}: it has none of {', '.join(sorted(NEEDS[core]))}")
    assert active.lower() == core.lower()
    assert found == result_for_every_kernel()


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_the_result_does_not_depend_on_threads_tiles_or_the_order_of_queries(similarity):
    rng = np.random.default_rng(12)
    values, relevance = labelled(rng, 300, 30, 64, 5)
    expected = _rank(values, relevance, similarity, 1)
    for workers in (1, 2):
        for sizes in (SMALL, Sizes(block=300), Sizes(block=37, tile=41, window=255, sample=8, slots=0)):
            for symmetric in (True, False):
                assert same(expected, _rank(values, relevance, similarity, workers, sizes, symmetric))
    order = rng.permutation(300)
    asked = Relevance(relevance.relevant.select(order), relevance.junk.select(order), 300)
    ready = prepare(values, similarity)
    turned = _rank_tiles(ready.take(order), ready, asked, top=10, sizes=SMALL, workers=2, symmetric=False)
    assert (turned.top_position == expected.top_position[order]).all()
    for i, q in enumerate(order):
        mine, its = (slice(*r.indptr[j : j + 2]) for r, j in ((turned, i), (expected, q)))
        assert turned.rank[mine].tolist() == expected.rank[its].tolist()
        assert turned.tied[mine].tolist() == expected.tied[its].tolist()


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("kind", KINDS)
def test_rank_takes_the_same_decisions_on_larger_data_of_every_kind(kind, similarity):
    rng = np.random.default_rng(13)
    values = vectors_of_every_kind(rng, 260, 24)[kind]
    query, gallery = values[:60], values[60:]
    relevance = Relevance(random_sets(rng, 60, 200, 0.05), random_sets(rng, 60, 200, 0.02), 200)
    scores = exact_block(prepare(query, similarity), prepare(gallery, similarity))
    for found in (
        rank(query, gallery, relevance, top=10, similarity=similarity),
        _rank_tiles(
            prepare(query, similarity),
            prepare(gallery, similarity),
            relevance,
            top=10,
            sizes=SMALL,
            workers=2,
            symmetric=False,
        ),
    ):
        assert_same_as_sorting(found, scores, relevance, 10)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("n_near", [15, 40])
def test_near_ties_at_the_end_of_the_top_are_ordered_exactly(similarity, n_near):
    """Items nearer to each other than float32 can tell, ten of which are shown; 40 reach below the threshold."""
    rng = np.random.default_rng(20)
    values = rng.standard_normal((1000, 64))
    query = rng.standard_normal((20, 64))
    for q in range(20):
        values[50 * q : 50 * q + n_near] = query[q] + 1e-4 * rng.standard_normal((n_near, 64))
    relevance = Relevance(random_sets(rng, 20, 1000, 0.01), random_sets(rng, 20, 1000, 0.01), 1000)
    asking, gallery = prepare(query, similarity), prepare(values, similarity)
    scores = exact_block(asking, gallery)
    sizes = Sizes(block=8, tile=56, window=16, sample=1000, slots=3)
    found = _rank_tiles(asking, gallery, relevance, top=10, sizes=sizes, workers=2, symmetric=False)
    assert_same_as_sorting(found, scores, relevance, 10)
    for q in range(20):
        expected = np.argsort(-scores[q], kind="stable")[:10]
        served, (_, _, position, _) = top_of_rows(asking.take([q]), gallery, [np.empty(0, np.intp)], 10)
        assert not served[0] or position.tolist() == expected.tolist()
        assert ranking_of_one(query[q], gallery, [], 10).top_position[0].tolist() == expected.tolist()


def test_an_outlier_and_a_far_query_are_ranked_rightly():
    rng = np.random.default_rng(14)
    values = rng.standard_normal((120, 8))
    values[3] *= 1e9
    values[50:60] *= 1e-9
    relevance = Relevance.of(random_sets(rng, 120, 120, 0.1), 120)
    for similarity in ("dot", "euclidean"):
        ready = prepare(values, similarity)
        for symmetric in (True, False):
            found = _rank(values, relevance, similarity, 2, symmetric=symmetric)
            assert_same_as_sorting(found, exact_block(ready, ready), relevance, 10)
    gallery, far = prepare(values * 1e-140, "euclidean"), prepare(values[:5] * 1e140, "euclidean")
    relevance = Relevance.of(random_sets(rng, 5, 120, 0.1), 120)
    found = _rank_tiles(far, gallery, relevance, top=3, sizes=SMALL, workers=1, symmetric=False)
    assert_same_as_sorting(found, exact_block(far, gallery), relevance, 3)


def parts_by_stretch(query, gallery, relevance, bounds, top, run=map):
    indptr, position = relevance.pairs()
    own = own_similarities(query, gallery, relevance)
    asked = Asked(indptr, position, own, *relevance.junk.pairs())
    one = partial(part_of_stretch, query, asked, top)
    return list(run(one, [gallery.take(slice(a, b)) for a, b in pairwise(bounds)], bounds))


def part_of_stretch(query, asked, top, stretch, start):
    return part_of(query, stretch, asked, start=start, top=top, sizes=SMALL)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_stretches_of_the_gallery_merge_to_the_whole_in_any_executor(similarity):
    rng = np.random.default_rng(15)
    values, relevance = labelled(rng, 200, 20, 32, 6)
    ready = prepare(values, similarity)
    whole = _rank(values, relevance, similarity, 1)
    bounds = [0, 30, 31, 110, 200]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for run in (map, pool.map):
            merged = merge(parts_by_stretch(ready, ready, relevance, bounds, 10, run))
            order = np.lexsort((merged.above + merged.before, np.repeat(np.arange(200), relevance.n_relevant())))
            assert (merged.above + merged.before + 1)[order].tolist() == whole.rank.tolist()
            assert merged.tied[order].tolist() == whole.tied.tolist()
            assert (merged.top_position == whole.top_position).all()
            assert (merged.top_similarity == whole.top_similarity).all()


@settings(deadline=None)
@given(n_row=st.integers(1, 255), n_column=st.integers(1, 2040), share=st.sampled_from([0.0, 0.5, 1.0]))
def test_a_mask_is_counted_without_overflow(n_row, n_column, share):
    mask = np.zeros((255, -(-n_column // 8) * 8), bool)
    mask[:n_row, :n_column] = np.random.default_rng(0).random((n_row, n_column)) < share
    assert certified._count(mask, n_row, n_row, False).tolist() == mask[:n_row].sum(axis=1).tolist()
    assert certified._count(mask, n_row, n_column, True).tolist() == mask[:n_row, :n_column].sum(axis=0).tolist()


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.floats(width=32, allow_nan=False)), min_size=1))
def test_keys_sort_by_place_and_then_by_descending_value(pairs):
    place, value = np.array([p for p, _ in pairs]), np.array([v for _, v in pairs], np.float32)
    key = certified._descending_key(place, value)
    assert [(p, -v) for p, v in (pairs[i] for i in np.argsort(key))] == sorted((p, -v) for p, v in pairs)
    equal = (place[:, None] == place) & (value[:, None] == value)
    assert ((key[:, None] == key) == equal).all()


def test_few_queries_keep_too_few_survivors_and_none_too_many():
    rng = np.random.default_rng(16)
    values = rng.standard_normal((2000, 20_000), dtype=np.float32)
    for depth in (1, 10, 100):
        sample = values[:, certified._sample_rows(20_000, 512)]
        passed = (values > certified._thresholds(sample, 20_000, depth)[:, None]).sum(axis=1)
        assert (passed < depth).mean() <= 0.002
        assert passed.mean() <= 40 * (3 + depth / 10)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_similarities_of_shared_sets_equal_those_of_pairs(similarity):
    rng = np.random.default_rng(17)
    values, relevance = labelled(rng, 300, 12, 16, 4)
    ready = prepare(values, similarity)
    query = np.repeat(np.arange(300), relevance.n_relevant())
    own = own_similarities(ready, ready, relevance)
    assert own.tolist() == exact_pairs(ready, ready, query, relevance.pairs()[1]).tolist()
    runs = np.repeat(np.arange(3), 100)
    rows = rng.integers(0, 300, 300)
    assert exact_pairs(ready, ready, runs, rows).tolist() == exact_block(ready, ready)[runs, rows].tolist()


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("kind", KINDS)
def test_one_query_gets_the_list_of_exact_similarities(kind, similarity):
    rng = np.random.default_rng(18)
    values = vectors_of_every_kind(rng, 150, 12)[kind]
    gallery = prepare(values, similarity)
    junk = np.flatnonzero(rng.random(150) < 0.1)
    for q in range(5):
        scores = exact_block(gallery.take([q]), gallery)[0]
        scores[junk] = -np.inf
        expected = np.argsort(-scores, kind="stable")[: 150 - len(junk)]
        for top in (1, 10, 150):
            found = ranking_of_one(values[q], gallery, junk, top)
            there = found.top_position[0] >= 0
            assert found.top_position[0, there].tolist() == expected[:top].tolist()
            assert found.top_similarity[0, there].tolist() == scores[expected[:top]].tolist()
            if top < 150 // 4:
                served, (_, _, position, similar) = top_of_rows(gallery.take([q]), gallery, [junk], top)
                assert not served[0] or position.tolist() == expected[:top].tolist()
                assert not served[0] or similar.tolist() == scores[expected[:top]].tolist()


def blas_threads():
    """Threads of numpy's own BLAS; another library may bring one whose number differs from thread to thread."""
    found = [b for b in threadpoolctl.threadpool_info() if b["user_api"] == "blas" and "numpy" in b["filepath"]]
    return {b["num_threads"] for b in found}


def test_blas_gets_its_threads_back_when_the_last_pass_ends():
    before, met = blas_threads(), Barrier(2, timeout=60)

    def inside():
        with one_blas_thread():
            met.wait()
            assert blas_threads() == {1}
        met.wait()

    other = Thread(target=inside)
    with one_blas_thread():
        other.start()
        met.wait()
        met.wait()
        assert blas_threads() == {1}
    other.join()
    assert blas_threads() == before


def test_every_thread_can_limit_blas_not_only_the_first_that_did():
    def inside(found):
        with one_blas_thread():
            found.append(blas_threads())
        found.append(blas_threads())

    before, here, there = blas_threads(), [], []
    inside(here)
    other = Thread(target=inside, args=(there,))
    other.start()
    other.join()
    assert here == there == [{1}, before]


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_cancelled_pass_stops_at_the_next_tile(symmetric, monkeypatch):
    class Enough(Exception):
        pass

    def progress(done, total):
        assert (done, total) == (1, 50)
        raise Enough

    rng = np.random.default_rng(19)
    values, relevance = labelled(rng, 200, 20, 8, 4)
    ready = prepare(values)
    sizes = Sizes(block=4, tile=16, sample=16)
    scanned = []
    scan = certified.scan
    monkeypatch.setattr(certified, "scan", lambda *args, **kwargs: (scanned.append(1), scan(*args, **kwargs)))
    with pytest.raises(Enough), one_blas_thread():
        _rank_tiles(ready, ready, relevance, top=2, sizes=sizes, workers=1, symmetric=symmetric, progress=progress)
    whole = 50 * 51 // 2 * 2 - 50 if symmetric else 50 * 13
    assert len(scanned) < whole
