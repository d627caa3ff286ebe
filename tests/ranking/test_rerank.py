"""Re-rankers follow their papers, see no labels, and are compared like any other run."""

import json

import numpy as np
import pytest

from recall_core import cli, from_arrays
from recall_core.errors import DataError
from recall_core.evaluation.wiring import evaluate
from recall_core.protocol.spec import Spec
from recall_core.ranking.exact_pass import rank
from recall_core.ranking.record import Ranking
from recall_core.ranking.relevance import Relevance, Sets
from recall_core.ranking.rerank import RERANKERS, k_reciprocal, query_expansion, reciprocal_scores
from recall_core.ranking.similarity import exact_block, prepare
from tests.conftest import DATA

LAB = str(DATA / "glyphlab")


def same(a: Ranking, b: Ranking) -> bool:
    return all(np.array_equal(getattr(a, n), getattr(b, n), equal_nan=True) for n in Ranking.__dataclass_fields__)


def case(seed: int, n_query: int = 12, n_gallery: int = 40):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    centre = rng.standard_normal((6, 8))
    query, gallery = (centre[np.arange(n) % 6] + 0.9 * rng.standard_normal((n, 8)) for n in (n_query, n_gallery))
    sets = Sets.from_labels([str(i % 6) for i in range(n_query)], [str(i % 6) for i in range(n_gallery)])
    return query, gallery, Relevance.of(sets, n_gallery)


def as_published(distance, n_query, k1, k2, weight):  # type: ignore[no-untyped-def]
    """The authors' program, term by term, on distances of queries and gallery together."""
    original = distance / distance.max(axis=1, keepdims=True)
    n = len(original)
    v = np.zeros((n, n))
    order = np.argsort(original, axis=1, kind="stable")
    for i in range(n):
        forward = order[i, : k1 + 1]
        backward = order[forward, : k1 + 1]
        reciprocal = forward[np.where(backward == i)[0]]
        expanded = reciprocal
        for candidate in reciprocal:
            half = round(k1 / 2)
            its = order[candidate, : half + 1]
            its = its[np.where(order[its, : half + 1] == candidate)[0]]
            if len(np.intersect1d(its, reciprocal)) > 2 / 3 * len(its):
                expanded = np.append(expanded, its)
        expanded = np.unique(expanded)
        w = np.exp(-original[i, expanded])
        v[i, expanded] = w / w.sum()
    if k2 != 1:
        v = np.stack([v[order[i, :k2]].mean(axis=0) for i in range(n)])
    jaccard = np.zeros((n_query, n))
    for i in range(n_query):
        smallest = np.minimum(v[i], v).sum(axis=1)
        jaccard[i] = 1 - smallest / (2 - smallest)
    return (jaccard * (1 - weight) + original[:n_query] * weight)[:, n_query:]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("k1", "k2"), [(20, 6), (5, 1), (3, 2)])
def test_k_reciprocal_is_the_published_distance(seed: int, k1: int, k2: int) -> None:
    query, gallery, _ = case(seed)
    every = prepare(np.concatenate([query, gallery]))
    cosine = exact_block(every, every)
    expected = as_published(1 - cosine, len(query), k1, k2, 0.3)
    mine = reciprocal_scores(cosine, len(query), len(query), Sets.empty(len(query)), k1=k1, k2=k2, weight=0.3)
    assert np.abs(mine + expected).max() < 1e-8


def test_with_all_the_weight_on_the_original_distance_nothing_moves() -> None:
    query, gallery, relevance = case(0)
    moved = k_reciprocal(query, gallery, relevance, weight=1.0)
    plain = rank(query, gallery, relevance)
    assert np.array_equal(moved.rank, plain.rank)
    assert np.array_equal(moved.top_position, plain.top_position)


def test_expanding_by_nothing_changes_nothing() -> None:
    query, gallery, relevance = case(1)
    assert np.array_equal(query_expansion(query, gallery, relevance, n=0).rank, rank(query, gallery, relevance).rank)


def test_an_expanded_query_is_the_mean_with_its_first_items() -> None:
    query, gallery, relevance = case(2)
    q, g = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (query, gallery))
    first = np.argsort(-(q @ g.T), axis=1)[:, :3]
    expected = rank(q + g[first].sum(axis=1), gallery, relevance)
    found = query_expansion(query, gallery, relevance, n=3)
    assert np.array_equal(found.rank, expected.rank)
    assert np.allclose(found.similarity, expected.similarity)


def test_a_query_that_cancels_stays_as_it_was() -> None:
    relevance = Relevance.of(Sets.from_lists([[0]]), 2)
    found = query_expansion([[1.0, 0]], [[-1.0, 0], [-1.0, 0]], relevance, n=1)
    assert found.similarity.tolist() == [-1.0]


@pytest.mark.parametrize("name", RERANKERS)
def test_junk_never_helps(name: str) -> None:
    """An item that is junk to everybody may lie anywhere: nothing else moves."""
    query, gallery, relevance = case(3)
    junk = Sets.from_lists([[0]] * len(query))
    found = []
    for place in (query[0], -query[0]):
        moved = gallery.copy()
        moved[0] = place
        found.append(RERANKERS["query-expansion"](query, moved, Relevance(relevance.relevant, junk, 40)))
    assert same(*found)
    ranked = RERANKERS[name](query, gallery, Relevance(relevance.relevant, junk, 40))
    assert 0 not in ranked.top_position
    assert (ranked.n_gallery == 39).all()


@pytest.mark.parametrize("name", RERANKERS)
def test_leave_one_out_never_counts_the_query_itself(name: str) -> None:
    rng = np.random.default_rng(5)
    labels = [str(i % 5) for i in range(30)]
    vectors = rng.standard_normal((5, 6))[np.arange(30) % 5] + 0.5 * rng.standard_normal((30, 6))
    found = evaluate(from_arrays(vectors, labels), rerank=name)
    (direction,) = found.directions
    assert not (direction.ranking.top_position == np.arange(30)[:, None]).any()
    assert found.spec.rerank == name
    assert found.counts["n_junk"] == 30


@pytest.mark.parametrize("name", RERANKERS)
def test_the_command_compares_a_re_ranker_like_any_run(name: str, capsys: pytest.CaptureFixture[str], tmp_path) -> None:  # type: ignore[no-untyped-def]
    for folder, more in (("plain", []), ("moved", ["--rerank", name])):
        arguments = ["evaluate", LAB, "--encoder", "gradient", "--save", str(tmp_path / folder), "--json"]
        assert cli.main([*arguments, *more]) == 0
        spec = json.loads(capsys.readouterr().out)["spec"]
    assert spec["rerank"] == name
    assert cli.main(["compare", str(tmp_path / "plain"), str(tmp_path / "moved")]) == 0
    assert "[paired tests]" in capsys.readouterr().out


def test_the_spec_spells_it_in_all_ways() -> None:
    spec = Spec(data="x", rerank="k-reciprocal")
    assert Spec.from_query(spec.to_query()) == Spec.from_json(spec.to_json()) == spec
    assert "--rerank k-reciprocal" in spec.to_command()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rerank", "k-reciprocal", "--similarity", "dot"], "re-ranking is by cosine, not by dot"),
        (["--rerank", "k-reciprocal", "--scores", "s.npy"], "--rerank needs vectors, not given scores"),
        (["--rerank", "k-reciprocal", "--executor", "threads"], "--rerank ranks in this process"),
    ],
)
def test_what_cannot_be_re_ranked_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["evaluate", LAB, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_an_unknown_re_ranker_is_refused() -> None:
    with pytest.raises(DataError, match="re-ranker 'magic' is not known; choose from k-reciprocal, query-expansion"):
        evaluate(from_arrays(np.eye(4), list("abab")), rerank="magic")
