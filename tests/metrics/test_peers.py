"""Values of other tools for the same rankings, under the differences in definition that their files note."""

import json
from functools import cache

import numpy as np
import pytest

from recall_core.metrics import measures
from recall_core.metrics.measures import average_precision, item_recall_macro, precision, recall, reciprocal_rank
from recall_core.ranking.exact_pass import rank_scores
from recall_core.ranking.record import Ranking
from recall_core.ranking.relevance import Relevance, Sets
from tests.conftest import SHARED, needs_shared

pytestmark = needs_shared
PEERS = SHARED / "cases" / "peers"


@cache
def peer(name):
    return json.loads((PEERS / f"{name}.json").read_text())


# ---- trec_eval ------------------------------------------------------------------------------------------------------


def trec_ranking(topics) -> Ranking:
    """A run lists the first 500 only: relevant items beyond it were not retrieved. Ranks as listed, ties broken."""
    rows, relevant = [], []
    names = sorted({name for topic in topics for name in (*topic["ranking"], *topic["relevant"])})
    position = {name: i for i, name in enumerate(names)}
    for topic in topics:
        row = np.full(len(names), np.nan)
        row[[position[name] for name in topic["ranking"]]] = -np.arange(len(topic["ranking"]))
        rows.append(row)
        relevant.append([position[name] for name in topic["relevant"]])
    return rank_scores(np.array(rows), Relevance.of(Sets.from_lists(relevant), len(names)))


def trec_values(ranking: Ranking) -> dict[str, np.ndarray]:
    """Ours, per topic, under trec_eval's names; its map_cut_k divides by |Rel|, ours by min(|Rel|, k)."""
    ours = {
        "map": average_precision(ranking),
        "Rprec": measures.r_precision(ranking),
        "recip_rank": reciprocal_rank(ranking),
    }
    ours |= {f"success_{k}": recall(ranking, k) for k in (1, 5, 10)}
    cuts = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    ours |= {f"P_{k}": precision(ranking, k) for k in cuts}
    ours |= {f"recall_{k}": item_recall_macro(ranking, k) for k in cuts}
    values = {name: score.per_query() for name, score in ours.items()}
    n = ranking.n_relevant
    for k in cuts:
        values[f"map_cut_{k}"] = average_precision(ranking, k).per_query() * np.minimum(n, k) / n
    return values


@pytest.mark.parametrize("which", ["full", "truncated_missing_topics_counted"])
def test_trec_eval_agrees_topic_by_topic_and_on_average(which):
    case = next(case for case in peer("trec_eval")["sets"] if case["id"] == which)
    values = trec_values(trec_ranking(case["topics"]))
    assert set(values) == set(case["expected_all"]) - {"num_q", "num_rel", "num_rel_ret", "num_ret"}
    for name, ours in values.items():
        assert ours.mean() == pytest.approx(case["expected_all"][name], abs=5.1e-5), name
        for value, topic in zip(ours, case["topics"], strict=True):
            if topic["expected"]:
                assert value == pytest.approx(topic["expected"][name], abs=5.1e-5), (name, topic["topic"])


# ---- revisitop ------------------------------------------------------------------------------------------------------

# What is right and what is junk in each protocol of ROxford.
PROTOCOLS = {"E": (["easy"], ["junk", "hard"]), "M": (["easy", "hard"], ["junk"]), "H": (["hard"], ["junk", "easy"])}


@cache
def roxford(protocol) -> Ranking:
    scores = np.load(PEERS / "revisitop_scores_roxford5k.npz")["scores"]
    judged = json.loads((PEERS / "gnd_roxford5k.json").read_text())["gnd"]
    right, junk = (
        Sets.from_lists([[item for kind in kinds for item in one[kind]] for one in judged])
        for kinds in PROTOCOLS[protocol]
    )
    return rank_scores(scores, Relevance.of(right, scores.shape[1], junk))


def test_the_small_revisitop_case_with_junk_removed():
    tiny = peer("revisitop")["tiny"]
    scores = np.empty(8)
    scores[tiny["ranking_of_one_query"]] = -np.arange(8)
    one = rank_scores(scores[None], Relevance.of(Sets.from_lists([tiny["ok"]]), 8, Sets.from_lists([tiny["junk"]])))
    assert one.rank.tolist() == [2, 5]
    ours = {
        "n_rel": one.n_relevant[0],
        "first": measures.first_hit(one)[0],
        "AP": average_precision(one).value,
        "RR": reciprocal_rank(one).value,
        "Rprec": measures.r_precision(one).value,
    }
    for k in (1, 2, 5):
        ours |= {
            f"hit@{k}": recall(one, k).value,
            f"nhit@{k}": measures.item_recall(one, k).numerator.sum(),
            f"P@{k}": precision(one, k).value,
            f"AP@{k}": average_precision(one, k).value,
            f"APtrec@{k}": average_precision(one, k).value * min(2, k) / 2,
        }
    assert ours == pytest.approx(tiny["ours"])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_revisitop_protocols_with_junk_removed(protocol):
    ranking = roxford(protocol)
    expected = peer("revisitop")["sets"][0]["expected"][protocol]
    ours = {
        "n_query": ranking.n_query,
        "n_answerable": int((ranking.n_relevant > 0).sum()),
        "n_no_relevant": int((ranking.n_relevant == 0).sum()),
        "mAP": average_precision(ranking).value,
        "MRR": reciprocal_rank(ranking).value,
    }
    for k in (1, 5, 10):
        ours |= {
            f"R@{k}_all": recall(ranking, k).value,
            f"R@{k}_answerable": measures.recall_evaluable(ranking, k).value,
            f"Ritem@{k}": measures.item_recall(ranking, k).value,
            f"mAP@{k}": average_precision(ranking, k).value,
        }
    assert ours == pytest.approx(expected["ours_junk_removed"], abs=1e-12)
    assert expected["n_empty"] == ours["n_no_relevant"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_trapezoid_ap_is_never_larger_than_the_step_sum(protocol):
    steps = average_precision(roxford(protocol)).per_query()
    theirs = peer("revisitop")["sets"][0]["expected"][protocol]["per_query_trapezoid_ap"]
    for step, trapezoid in zip(steps, theirs, strict=True):
        assert (trapezoid is None) == np.isnan(step)
        assert trapezoid is None or step >= trapezoid - 1e-12


# ---- scikit-learn ---------------------------------------------------------------------------------------------------


def judged_row(target, scores) -> Ranking:
    return rank_scores(
        np.array([scores], np.float64), Relevance.of(Sets.from_lists([np.flatnonzero(target)]), len(target))
    )


@pytest.mark.parametrize("change", [lambda s: s, lambda s: s * 100, lambda s: s * 1e-6, lambda s: s - 10])
def test_average_precision_without_ties_is_sklearn_s_and_knows_no_scale(change):
    for case in peer("sklearn_ranking")["no_ties"]:
        scores = change(np.array(case["scores"]))
        assert average_precision(judged_row(case["target"], scores)).value == pytest.approx(case["AP"]), case


def test_average_precision_with_ties_lies_in_the_published_range():
    for case in peer("sklearn_ranking")["ties"]:
        score = average_precision(judged_row(case["target"], case["scores"]))
        assert score.value == pytest.approx(case["index"]), case
        worst, expected, best = score.bounds
        assert (worst, best) == pytest.approx((case["pessimistic"], case["optimistic"])), case
        assert worst <= expected <= best
        # sklearn gives all tied relevant items the last place of their group, precision included.
        assert worst - 1e-12 <= case["sklearn_LRAP"] <= best + 1e-12


def test_constant_scores_are_flagged_and_their_mean_is_near_the_published_one():
    target = np.zeros(100, int)
    target[::4] = 1
    score = average_precision(judged_row(target, np.ones(100)))
    assert score.n_tied == 1
    assert score.bounds[1] == pytest.approx(0.28, abs=0.01)
