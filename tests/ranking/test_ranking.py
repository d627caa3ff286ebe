"""Ranks, ties and top lists against a stable sort of exact similarities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_core.errors import DataError
from recall_core.ranking.certified import Sizes
from recall_core.ranking.exact_pass import _rank_tiles, rank, rank_scores
from recall_core.ranking.record import Ranking
from recall_core.ranking.relevance import Relevance, Sets
from recall_core.ranking.similarity import SIMILARITIES, exact_block, prepare
from recall_core.ranking.stretch import Part, merge
from tests.ranking.test_similarity import KINDS, vectors_of_every_kind


def sorted_rankings(scores, relevance, top):
    """The oracle: one stable sort a query; nan is not retrieved, junk is not there."""
    rows, tops = [], []
    for q, row in enumerate(np.asarray(scores, dtype=float)):
        junk = set(relevance.junk.of(q).tolist())
        order = [g for g in np.argsort(-row, kind="stable").tolist() if g not in junk and not np.isnan(row[g])]
        place, there = {g: i for i, g in enumerate(order)}, row[order]
        own = []
        for r in relevance.relevant.of(q).tolist():
            if r in place:
                above, tied = np.count_nonzero(there > row[r]), np.count_nonzero(there == row[r]) - 1
                own.append((0, place[r] + 1, r, above, tied, row[r]))
            elif r not in junk:
                own.append((1, 0, r, -1, -1, np.nan))
        rows.append((len(row) - len(junk), sorted(own, key=lambda pair: pair[:3])))
        shown = order[:top] + [-1] * (min(top, len(row)) - len(order[:top]))
        tops.append([(g, row[g] if g >= 0 else np.nan) for g in shown])
    return rows, tops


def assert_same_as_sorting(ranking, scores, relevance, top):
    rows, tops = sorted_rankings(scores, relevance, top)
    names = ("rank", "position", "above", "tied", "similarity")
    found = np.stack([getattr(ranking, name).astype(float) for name in names], axis=1)
    expected = [pair[1:] for _, own in rows for pair in own]
    np.testing.assert_array_equal(found, np.array(expected, dtype=float).reshape(-1, 5))
    assert ranking.n_relevant.tolist() == [len(own) for _, own in rows]
    assert ranking.n_gallery.tolist() == [n_kept for n_kept, _ in rows]
    shape = (relevance.n_query, min(top, relevance.n_gallery))
    np.testing.assert_array_equal(ranking.top_position, np.reshape([[g for g, _ in row] for row in tops], shape))
    np.testing.assert_array_equal(ranking.top_similarity, np.reshape([[s for _, s in row] for row in tops], shape))


def same(a: Ranking, b: Ranking) -> bool:
    return all(
        np.array_equal(getattr(a, name), getattr(b, name), equal_nan=name.endswith("similarity"))
        for name in Ranking.__dataclass_fields__
    )


def random_sets(rng, n_query, n_gallery, share):
    mask = rng.random((n_query, n_gallery)) < share
    return Sets.from_lists([np.flatnonzero(row) for row in mask])


shares = st.sampled_from([0.0, 0.1, 0.5, 1.0])
seeds = st.integers(0, 2**32 - 1)


@settings(deadline=None)
@given(
    seed=seeds,
    kind=st.sampled_from(KINDS),
    similarity=st.sampled_from(list(SIMILARITIES)),
    n_dim=st.sampled_from([1, 2, 5, 17]),
    own_gallery=st.booleans(),
    relevant=shares,
    junk=shares,
    top=st.sampled_from([0, 1, 3, 100]),
    memory=st.sampled_from([1, 2000, 2**28]),
)
def test_ranks_ties_and_top_equal_a_stable_sort_of_exact_similarities(
    seed, kind, similarity, n_dim, own_gallery, relevant, junk, top, memory
):
    rng = np.random.default_rng(seed)
    n_query, n_gallery = int(rng.integers(0, 12)), int(rng.integers(1, 25))
    values = vectors_of_every_kind(rng, n_query + n_gallery, n_dim)[kind]
    query, gallery = (values, values) if own_gallery else (values[:n_query], values[n_query:])
    relevance = Relevance(
        random_sets(rng, len(query), len(gallery), relevant),
        random_sets(rng, len(query), len(gallery), junk),
        len(gallery),
    )
    ranking = rank(query, gallery, relevance, top=top, similarity=similarity, memory=memory)
    scores = exact_block(prepare(query, similarity), prepare(gallery, similarity))
    assert_same_as_sorting(ranking, scores, relevance, top)


sizes = st.builds(
    Sizes,
    block=st.sampled_from([1, 3, 8, 64]),
    tile=st.sampled_from([1, 5, 8, 13, 64]),
    window=st.sampled_from([1, 3, 64]),
    sample=st.sampled_from([1, 4, 16, 512]),
    slots=st.sampled_from([0, 1, 3, 8]),
)


@settings(deadline=None)
@given(
    seed=seeds,
    kind=st.sampled_from(KINDS),
    similarity=st.sampled_from(list(SIMILARITIES)),
    n_dim=st.sampled_from([1, 2, 5, 33]),
    symmetric=st.booleans(),
    relevant=shares,
    junk=shares,
    top=st.sampled_from([0, 1, 3, 40]),
    sizes=sizes,
    workers=st.sampled_from([1, 2]),
)
def test_the_certified_pass_equals_a_stable_sort_of_exact_similarities(
    seed, kind, similarity, n_dim, symmetric, relevant, junk, top, sizes, workers
):
    rng = np.random.default_rng(seed)
    n_query, n_gallery = int(rng.integers(1, 30)), int(rng.integers(40, 90))
    values = vectors_of_every_kind(rng, n_query + n_gallery, n_dim)[kind]
    gallery = prepare(values if symmetric else values[n_query:], similarity)
    query = gallery if symmetric else prepare(values[:n_query], similarity)
    shape = len(query), len(gallery)
    relevance = Relevance(random_sets(rng, *shape, relevant), random_sets(rng, *shape, junk), len(gallery))
    found = _rank_tiles(query, gallery, relevance, top=top, sizes=sizes, workers=workers, symmetric=symmetric)
    assert_same_as_sorting(found, exact_block(query, gallery), relevance, top)


@settings(deadline=None)
@given(seed=seeds, missing=shares, relevant=shares, junk=shares, top=st.sampled_from([0, 1, 4, 100]))
def test_given_scores_equal_a_stable_sort(seed, missing, relevant, junk, top):
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(0, 8)), int(rng.integers(1, 20))
    scores = rng.integers(-3, 3, shape) / 2
    scores[rng.random(shape) < missing] = np.nan
    relevance = Relevance(random_sets(rng, *shape, relevant), random_sets(rng, *shape, junk), shape[1])
    for memory in (1, 2**28):
        assert_same_as_sorting(rank_scores(scores, relevance, top=top, memory=memory), scores, relevance, top)


def test_items_not_retrieved_come_last_and_are_told_apart_from_ranked_last():
    relevance = Relevance.of(Sets.from_lists([[0, 1, 2]]), 4)
    ranking = rank_scores([[np.nan, 0.5, np.nan, 0.9]], relevance, top=4)
    assert ranking.position.tolist() == [1, 0, 2]
    assert ranking.rank.tolist() == [2, 0, 0]
    assert ranking.above.tolist() == [1, -1, -1]
    assert ranking.tied.tolist() == [0, -1, -1]
    assert ranking.top_position.tolist() == [[3, 1, -1, -1]]
    assert ranking.n_listed(0) == 2
    assert ranking.n_gallery.tolist() == [4]


def test_ties_go_by_gallery_position_and_are_counted_without_the_item_itself():
    relevance = Relevance.of(Sets.from_lists([[2, 3]]), 5)
    ranking = rank(np.ones((1, 3)), np.ones((5, 3)), relevance, top=5)
    assert ranking.rank.tolist() == [3, 4]
    assert ranking.above.tolist() == [0, 0]
    assert ranking.tied.tolist() == [4, 4]
    assert ranking.top_position.tolist() == [[0, 1, 2, 3, 4]]


def test_junk_leaves_no_place_behind():
    relevance = Relevance(Sets.from_lists([[1, 3]]), Sets.from_lists([[0, 3]]), 4)
    ranking = rank([[1.0, 0.0]], [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.1]], relevance, top=4)
    assert ranking.position.tolist() == [1]
    assert ranking.rank.tolist() == [1]
    assert ranking.top_position.tolist() == [[1, 2, -1, -1]]
    assert ranking.n_gallery.tolist() == [2]


def test_a_zero_row_is_tied_with_everything_under_cosine():
    relevance = Relevance.of(Sets.from_lists([[1]]), 3)
    ranking = rank(np.zeros((1, 2)), np.eye(3, 2), relevance)
    assert (ranking.above.tolist(), ranking.tied.tolist()) == ([0], [2])
    assert ranking.similarity.tolist() == [0]


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_one_query_gets_the_same_list_as_the_full_pass(similarity):
    rng = np.random.default_rng(1)
    values = vectors_of_every_kind(rng, 60, 8)["duplicated"]
    junk = random_sets(rng, 60, 60, 0.1)
    ranking = rank(values, values, Relevance(Sets.empty(60), junk, 60), top=60, similarity=similarity)
    gallery = prepare(values, similarity)
    for q in range(60):
        for top in (0, 7, 60):
            alone = ranking_of_one(values[q], gallery, junk.of(q), top)
            assert alone.top_position[0].tolist() == ranking.top_position[q, :top].tolist()
            assert np.array_equal(alone.top_similarity[0], ranking.top_similarity[q, :top], equal_nan=True)


def ranking_of_one(query, gallery, junk, top):
    """The pass over one query, which has nothing relevant, against a prepared gallery."""
    relevance = Relevance(Sets.empty(1), Sets.from_lists([junk]), len(gallery))
    return rank(query[None], gallery, relevance, top=top, similarity=gallery.similarity)


@settings(deadline=None)
@given(seed=seeds, cut=st.integers(1, 18), top=st.sampled_from([0, 3, 30]))
def test_parts_of_a_gallery_merge_in_any_order(seed, cut, top):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (5, 19)).astype(float)
    relevance = Relevance.of(random_sets(rng, 5, 19, 0.3), 19)
    whole = rank_scores(scores, relevance, top=top)
    query, position = whole.query, whole.position
    own = scores[query, position]
    parts = []
    for stretch in (np.arange(cut), np.arange(cut, 19)):
        there = scores[query][:, stretch]
        tied = there == own[:, None]
        order = np.argsort(-scores[:, stretch], axis=1, kind="stable")[:, : min(top, 19)]
        parts.append(
            Part(
                (there > own[:, None]).sum(1),
                (tied & (stretch < position[:, None])).sum(1),
                (tied & (stretch != position[:, None])).sum(1),
                np.pad(stretch[order], ((0, 0), (0, min(top, 19) - order.shape[1])), constant_values=-1),
                np.pad(
                    np.take_along_axis(scores[:, stretch], order, 1),
                    ((0, 0), (0, min(top, 19) - order.shape[1])),
                    constant_values=np.nan,
                ),
            )
        )
    for both in (merge(parts), merge(parts[::-1])):
        assert both.above.tolist() == whole.above.tolist()
        assert both.tied.tolist() == whole.tied.tolist()
        assert (both.above + both.before + 1).tolist() == whole.rank.tolist()
        np.testing.assert_array_equal(both.top_position, whole.top_position)
        np.testing.assert_array_equal(both.top_similarity, whole.top_similarity)


def test_what_progress_raises_ends_the_pass():
    class Enough(Exception):
        pass

    seen = []

    def progress(done, total):
        seen.append((done, total))
        if done == 2:
            raise Enough

    values = np.eye(5)
    with pytest.raises(Enough):
        rank(values, values, Relevance.of(Sets.empty(5), 5), memory=1, progress=progress)
    assert seen == [(1, 5), (2, 5)]


def test_wrong_inputs_are_told_with_what_and_where():
    relevance = Relevance.of(Sets.empty(2), 3)
    with pytest.raises(DataError, match="there are 3 query vectors, the relevance speaks of 2"):
        rank(np.ones((3, 2)), np.ones((3, 2)), relevance)
    with pytest.raises(DataError, match="query vectors have 2 dimensions, gallery vectors 4"):
        rank(np.ones((2, 2)), np.ones((3, 4)), relevance)
    with pytest.raises(DataError, match=r"scores have shape \(3, 2\); expected \(2, 3\)"):
        rank_scores(np.ones((3, 2)), relevance)
    scores = np.ones((2, 3))
    scores[1, 2] = -np.inf
    for memory in (1, 2**28):
        with pytest.raises(DataError, match="score -inf in row 1, column 2"):
            rank_scores(scores, relevance, memory=memory)
    with pytest.raises(ValueError, match="prepared for cosine, not for dot"):
        rank(np.ones((2, 2)), prepare(np.ones((3, 2))), relevance, similarity="dot")
