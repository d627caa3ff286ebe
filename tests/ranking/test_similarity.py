"""Canonical similarities: exact, and a function of the two rows alone."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_core.errors import DataError
from recall_core.ranking.arithmetic import fold_sum, two_sum_fold
from recall_core.ranking.cosine import unit_parts
from recall_core.ranking.similarity import SIMILARITIES, bands, coarse_query, exact_block, exact_pairs, prepare


def vectors_of_every_kind(rng, n, n_dim):
    """Named data sets that have broken rankings before."""
    base = rng.standard_normal((n, n_dim))
    clustered = base[rng.integers(0, max(n // 4, 1), n)] + 0.05 * rng.standard_normal((n, n_dim))
    return {
        "random": base,
        "random32": base.astype(np.float32),
        "clustered": clustered,
        "duplicated": base[rng.integers(0, max(n // 3, 1), n)],
        "scaled": base[rng.integers(0, max(n // 3, 1), n)] * 2.0 ** rng.integers(-40, 40, (n, 1)),
        "quantised": np.rint(base * 2),
        "signs": np.sign(base),
        "multi-hot": (base > 0.7).astype(np.float64),
        "zero rows": base * (rng.random((n, 1)) > 0.3),
        "all equal": np.tile(base[:1], (n, 1)),
        "tiny": base * 1e-38,
        "huge": base.astype(np.float32) * np.float32(1e37),
        "huge mean": base + 1e4,
        "near paper-white": 1 - 1e-4 * np.abs(base),
        "one large element": base + 100 * np.eye(n, n_dim),
    }


KINDS = list(vectors_of_every_kind(np.random.default_rng(0), 3, 2))
any_kind = pytest.mark.parametrize("kind", KINDS)


def as_integers(part, bits):
    return [[int(Fraction(float(v)) * 2**bits) for v in row] for row in part]


def exact_cosine_by_integers(a, b, n_dim):
    """s* of two (high, low) rows by Python's integers; ``round`` goes to the even neighbour, as rint does."""
    (ah, al), (bh, bl) = ((as_integers([h], 26)[0], as_integers([low], 48)[0]) for h, low in (a, b))

    def dot(x, y):
        return sum(p * q for p, q in zip(x, y, strict=True))

    cross = float(Fraction(dot(ah, bl), 2**74)) + float(Fraction(dot(al, bh), 2**74))
    total = float(Fraction(dot(ah, bh), 2**52)) + cross
    grid = 40 if n_dim <= 3900 else 38
    return float(Fraction(round(Fraction(total) * 2**grid), 2**grid))


@any_kind
@pytest.mark.parametrize("n_dim", [1, 2, 7, 64, 257])
def test_cosine_equals_exact_integer_arithmetic(kind, n_dim):
    values = vectors_of_every_kind(np.random.default_rng(1), 6, n_dim)[kind]
    ready = prepare(values)
    high, low = ready.parts
    assert (np.asarray(as_integers(low, 48), dtype=float) == low.astype(float) * 2**48).all()
    expected = [
        [exact_cosine_by_integers((high[i], low[i]), (high[j], low[j]), n_dim) for j in range(6)] for i in range(6)
    ]
    assert exact_block(ready, ready).tolist() == expected
    i, j = np.indices((6, 6)).reshape(2, -1)
    assert exact_pairs(ready, ready, i, j).tolist() == np.ravel(expected).tolist()


@any_kind
@pytest.mark.parametrize("n_dim", [1, 3, 512, 3900, 3901, 16_000])
def test_cosine_is_close_to_the_true_one_and_one_with_itself(kind, n_dim):
    values = vectors_of_every_kind(np.random.default_rng(2), 5, n_dim)[kind]
    ready = prepare(values)
    x = values.astype(np.longdouble)
    x /= np.maximum(np.abs(x).max(1, keepdims=True), np.finfo(np.longdouble).tiny)
    norm = np.sqrt((x * x).sum(1))
    x /= np.where(norm > 0, norm, 1)[:, None]
    block = exact_block(ready, ready)
    assert np.abs(block - (x @ x.T)).max() <= (1.2e-12 if n_dim <= 3900 else 5e-12)
    assert (np.diag(block) == (norm > 0)).all()
    assert (block == block.T).all()


@any_kind
def test_parts_sum_exactly_in_any_order(kind):
    n_dim = 3900
    high, low = unit_parts(vectors_of_every_kind(np.random.default_rng(3), 3, n_dim)[kind])
    for a, b, bits in ((high, high, 52), (high, low, 74), (low, high, 74)):
        for i in range(3):
            terms = a[i].astype(float) * b[0]
            assert sum(abs(int(Fraction(t) * 2**bits)) for t in terms.tolist()) <= 2**53
            sums = {
                float(np.cumsum(order)[-1])
                for order in (terms, terms[::-1], np.sort(terms), terms[np.argsort(-abs(terms))])
            }
            assert sums == {math.fsum(terms)}


def test_exact_multiples_of_a_row_have_the_same_similarities():
    rng = np.random.default_rng(4)
    x, other = rng.integers(-9, 9, (20, 33)).astype(float), rng.standard_normal((7, 33))
    for factor in (3.0, 7.0, 0.5, 1e3):
        assert (exact_block(prepare(other), prepare(x)) == exact_block(prepare(other), prepare(x * factor))).all()


def test_a_small_turn_of_a_vector_is_seen():
    gallery = prepare(np.array([[1, 2e-4], [1, 1e-4]]))
    near, nearer = exact_block(prepare(np.array([[1.0, 0.0]])), gallery)[0]
    assert nearer > near


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32, np.uint8, bool])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_similarity_does_not_depend_on_dtype_or_memory_layout(dtype, similarity):
    values = np.random.default_rng(5).integers(0, 2, (9, 21)).astype(dtype)
    plain, wide = prepare(values, similarity), prepare(np.asfortranarray(values.astype(np.float64)), similarity)
    assert (exact_block(plain, plain) == exact_block(wide, wide)).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [1.0, -1.0])
def test_the_largest_numbers_do_not_overflow_the_cosine(dtype, size):
    values = np.full((2, 300), np.finfo(dtype).max * size, dtype)
    ready = prepare(values)
    assert (exact_block(ready, ready) == 1).all()


def test_smallest_numbers_do_not_vanish_from_the_cosine():
    values = np.array([[5e-324, 0.0], [5e-324, 5e-324]])
    ready = prepare(values)
    assert exact_block(ready, ready)[0, 0] == 1
    assert abs(exact_block(ready, ready)[0, 1] - 0.5**0.5) < 1e-12


@any_kind
@pytest.mark.parametrize("narrow", [True, False])
def test_dot_equals_the_correctly_rounded_sum(kind, narrow):
    rng = np.random.default_rng(6)
    values = vectors_of_every_kind(rng, 8, 65)[kind]
    values = values.astype(np.float32) if narrow else values.astype(float)
    ready = prepare(values, "dot")
    for i in range(8):
        exact = [
            float(sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(values[i], row, strict=True)))
            for row in values
        ]
        assert exact_block(ready.take([i]), ready)[0].tolist() == exact


@any_kind
def test_euclidean_is_the_negative_distance_to_forty_bits(kind):
    values = vectors_of_every_kind(np.random.default_rng(7), 6, 33)[kind].astype(float)
    ready = prepare(values, "euclidean")
    block = exact_block(ready, ready)
    for i in range(6):
        for j in range(6):
            squared = sum(
                (Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(values[i], values[j], strict=True)
            )
            assert abs(Fraction(float(block[i, j])) ** 2 - squared) <= squared / 2**39
    assert (block == block.T).all()
    assert (block <= 0).all()
    assert not np.signbit(np.diag(block)).any()


def test_equal_distances_stay_equal_after_the_root():
    ready = prepare(np.array([[0.0, 0.0], [3.0, 4.0], [-4.0, 3.0], [5.0, 0.0]]), "euclidean")
    assert exact_block(ready.take([0]), ready)[0].tolist() == [0, -5, -5, -5]


@settings(deadline=None)
@given(st.lists(st.integers(-(2**40), 2**40), max_size=40))
def test_sums_by_folding_are_exact_on_integers(values):
    row = np.array([values], dtype=float).reshape(1, -1)
    assert fold_sum(row).tolist() == two_sum_fold(row).tolist() == [sum(values)]


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_two_sum_fold_is_fsum_within_the_last_bit(values):
    row = np.array([values])
    expected = math.fsum(values)
    assert abs(two_sum_fold(row)[0] - expected) <= max(math.ulp(expected), 2.0**-90 * sum(map(abs, values)))


def test_folding_does_not_depend_on_the_memory_layout():
    values = np.random.default_rng(8).standard_normal((50, 1001))
    assert (fold_sum(values) == fold_sum(np.asfortranarray(values))).all()
    assert (fold_sum(values) == [fold_sum(row) for row in values[:, ::1]]).all()


@any_kind
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("n_dim", [1, 5, 64, 512])
def test_a_float32_product_lies_within_the_slack_whatever_its_order(kind, similarity, n_dim):
    rng = np.random.default_rng(9)
    values = vectors_of_every_kind(rng, 40, n_dim)[kind]
    query, gallery = prepare(values[:10], similarity), prepare(values[8:], similarity)
    exact = exact_block(query, gallery)
    matrix, slack = coarse_query(query, gallery)
    low, high = bands(exact, slack[:, None], gallery)
    terms = matrix[:, None] * gallery.coarse.matrix
    orders = (slice(None), slice(None, None, -1), np.argsort(rng.random(terms.shape[2])))
    products = [matrix @ gallery.coarse.matrix.T, *(np.cumsum(terms[..., order], axis=2)[..., -1] for order in orders)]
    rising = np.sort(terms, axis=2)  # all of one sign first: the largest partial sums
    products += [np.cumsum(rising, axis=2)[..., -1], np.cumsum(rising[..., ::-1], axis=2)[..., -1]]
    for product in products:
        assert product.dtype == np.float32
        assert (low <= product).all()
        assert (product <= high).all()


def test_a_query_far_beyond_the_gallery_has_a_hopeless_slack():
    for similarity in ("dot", "euclidean"):
        gallery = prepare(np.full((3, 2), 1e-140), similarity)
        _, slack = coarse_query(prepare(np.full((1, 2), 1e140), similarity), gallery)
        assert slack[0] > 2.0**60


def test_vectors_beyond_the_memory_are_refused_before_they_are_copied(monkeypatch):
    monkeypatch.setattr("recall_core.ranking.similarity.physical_memory", lambda: 1000.0)
    prepare(np.ones((5, 25)))
    with pytest.raises(DataError, match=r"gallery vectors \(6, 25\) need 0.0 GiB more .* fewer rows or dimensions"):
        prepare(np.ones((6, 25)), name="gallery vectors")


@pytest.mark.parametrize("similarity", ["dot", "euclidean"])
@pytest.mark.parametrize("largest", [1, 255, 2**24])
def test_products_of_whole_numbers_equal_the_pairs(similarity, largest):
    values = np.random.default_rng(10).integers(-largest, largest + 1, (20, 33)).astype(np.float64)
    for shift in (0.0, 0.5):
        ready = prepare(values + shift, similarity)
        i, j = np.indices((20, 20)).reshape(2, -1)
        assert exact_block(ready, ready).ravel().tolist() == exact_pairs(ready, ready, i, j).tolist()


def test_bad_vectors_are_named():
    good = np.ones((9, 2))
    holed, endless = good.copy(), good.copy()
    holed[[3, 5], 1] = np.nan
    endless[:8] = np.inf
    with pytest.raises(DataError, match=r"gallery vectors hold nan or infinity in rows 3, 5 \(counted from 0\)"):
        prepare(holed, name="gallery vectors")
    with pytest.raises(DataError, match="rows 0, 1, 2, 3, 4 and 3 more"):
        prepare(endless)
    with pytest.raises(DataError, match=r"shape \(2,\); expected \(n, n_dim\)"):
        prepare(good[0])
    with pytest.raises(DataError, match="16001 dimensions; at most 16000"):
        prepare(np.ones((1, 16_001)))
    with pytest.raises(DataError, match="must be real numbers"):
        prepare(np.array([["a"]]))
    with pytest.raises(DataError, match="'l1' is not known; choose from cosine, dot, euclidean"):
        prepare(good, "l1")
    with pytest.raises(DataError, match=r"values beyond 1e\+150 in row 8"):
        prepare(np.array([[1.0]] * 8 + [[1e160]]), "dot")


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (1, 1)])
def test_empty_sides_are_allowed(similarity, shape):
    ready = prepare(np.ones(shape), similarity)
    assert exact_block(ready, ready).shape == (shape[0], shape[0])
