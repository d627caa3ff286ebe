"""One ranking under every convention: published values, other tools' own output, and what must hold of each row."""

import json
import math
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_core.course.typed_input import Unreadable, read_figure, read_ranking
from recall_core.diagnosis import definitions
from recall_core.diagnosis.definitions import definition_rows, matching, matching_at, most_k
from recall_core.metrics import conventions, measures
from recall_core.metrics.conventions import CONVENTIONS
from recall_core.ranking.exact_pass import rank_scores
from recall_core.ranking.record import Ranking
from recall_core.ranking.relevance import Relevance, Sets
from tests.conftest import ROOT, SHARED, needs_shared
from tests.metrics.test_metrics import F2

SEED = 20_260_101


def by_key(rankings, k) -> dict[str, definitions.Row]:
    return {row.key: row for row in definition_rows(rankings, k)}


def values(text: str, k: int, n_relevant: int | None = None) -> dict[str, float]:
    return {key: row.value for key, row in by_key([read_ranking(text, n_relevant)], k).items()}


# ---- published values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("recall_miss", [1 / 4, 1 / 4, 3 / 4, 3 / 4, 3 / 4]),
        ("recall_exclude", [1 / 3, 1 / 3, 1, 1, 1]),
        ("item_recall", [1 / 4, 1 / 4, 3 / 4, 1, 1]),
        ("item_recall_macro", [1 / 3, 1 / 3, 5 / 6, 1, 1]),
        ("map_min", [1 / 3, 1 / 3, 1 / 2, 7 / 12, 7 / 12]),
        ("map", [7 / 12] * 5),
        ("mrr", [5 / 9] * 5),
        ("r_precision", [1 / 3] * 5),
        ("minp", [11 / 18] * 5),
    ],
)
def test_the_lab_s_task_f2(key, expected):
    assert [by_key([F2], k)[key].value for k in range(1, 6)] == pytest.approx(expected)


def test_f2_counts_the_query_without_relevant_items_where_the_policy_says_so():
    found = by_key([F2], 3)
    assert found["ndcg_at_k"].value == pytest.approx(0.602191, abs=5e-7)
    assert (found["recall_miss"].n_counted, found["recall_miss"].n_left_out) == (4, 0)
    assert {(row.n_counted, row.n_left_out) for key, row in found.items() if key != "recall_miss"} == {(3, 1)}


@pytest.mark.parametrize(
    ("text", "whole", "at_2", "at_3"),
    [("101010", 34 / 45, 1 / 2, 5 / 9), ("01101", 53 / 90, 1 / 4, 7 / 18), ("00011", 13 / 40, 0, 0)],
)
def test_ap_of_typed_lists(text, whole, at_2, at_3):
    assert values(text, 2)["map"] == pytest.approx(whole)
    assert [values(text, k)["map_min"] for k in (2, 3)] == pytest.approx([at_2, at_3])


def test_one_list_has_three_aps_at_k_by_its_denominator():
    found = values("01101", 2)
    assert [found[key] for key in ("map_min", "map_relevant", "map_hits")] == pytest.approx([1 / 4, 1 / 6, 1 / 2])


def test_trapezoid_ap_of_the_published_list():
    found = values("101", 3)
    assert (found["map"], found["map_trapezoid"]) == pytest.approx((0.8333, 0.7917), abs=5e-5)


def test_a_perfect_list_is_1_under_every_convention_but_those_that_divide_by_more_than_fits():
    below = {key for key, value in values("11100", 2).items() if value < 1}
    assert below == {"item_recall", "item_recall_macro", "map_relevant"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "0(101)0",
            {"map": (5 / 12, 1 / 2, 7 / 12), "recall_miss@1": (0, 0, 0), "recall_miss@2": (0, 2 / 3, 1)},
        ),
        ("(001)0", {"map": (1 / 3, 11 / 18, 1), "recall_miss@1": (0, 1 / 3, 1), "recall_miss@2": (0, 2 / 3, 1)}),
    ],
)
def test_ties_have_their_published_range(text, expected):
    for name, bounds in expected.items():
        key, _, k = name.partition("@")
        row = by_key([read_ranking(text)], int(k or 1))[key]
        assert (row.worst, row.expected, row.best) == pytest.approx(bounds), name


@needs_shared
def test_revisitop_s_own_ap_and_precision():
    tiny = json.loads((SHARED / "cases" / "peers" / "revisitop.json").read_text())["tiny"]
    found = [values("010010", k) for k in (1, 5)]
    assert found[0]["map_trapezoid"] == pytest.approx(tiny["revisitop_ap_trapezoid"])
    assert [one["precision_to_last"] for one in found] == pytest.approx(tiny["revisitop_p"])


@needs_shared
@pytest.mark.parametrize("protocol", ["E", "M", "H"])
def test_revisitop_s_map_on_its_whole_ground_truth(protocol):
    from tests.metrics.test_peers import peer, roxford

    expected = peer("revisitop")["sets"][0]["expected"][protocol]
    found = {k: by_key([roxford(protocol)], k) for k in (1, 5, 10)}
    assert found[1]["map_trapezoid"].value == pytest.approx(expected["revisitop_mAP_trapezoid"], abs=1e-12)
    at_k = [found[k]["precision_to_last"].value for k in (1, 5, 10)]
    assert at_k == pytest.approx(expected["revisitop_mP@1,5,10"], abs=1e-12)


@needs_shared
def test_trec_eval_s_map_cut_divides_by_all_relevant_items():
    from tests.metrics.test_peers import peer, trec_ranking

    case = peer("trec_eval")["sets"][0]
    ranking = trec_ranking(case["topics"])
    for k in (5, 100):
        ours = conventions.average_precision_by_relevant(ranking, k).value
        assert ours == pytest.approx(case["expected_all"][f"map_cut_{k}"], abs=5.1e-5)


# ---- other tools' own output on random rankings ---------------------------------------------------------------------


def random_lists(n: int = 40, seed: int = SEED) -> list[tuple[str, int]]:
    """Relevance in rank order without ties, at least one relevant item, and |Rel| with items that are not retrieved."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(n):
        flags = rng.integers(0, 2, rng.integers(1, 13))
        flags[rng.integers(len(flags))] = 1
        lists.append(("".join(map(str, flags)), int(flags.sum() + rng.integers(0, 3))))
    return lists


def as_qrels_and_run(lists) -> tuple[dict, dict]:
    """The same lists as judgements and scores, by invented ids."""
    qrels, run = {}, {}
    for q, (flags, n_relevant) in enumerate(lists):
        relevant = [f"d{i}" for i, flag in enumerate(flags) if flag == "1"]
        missing = [f"m{i}" for i in range(n_relevant - len(relevant))]
        qrels[f"q{q:03d}"] = dict.fromkeys([*relevant, *missing], 1)
        run[f"q{q:03d}"] = {f"d{i}": float(len(flags) - i) for i in range(len(flags))}
    return qrels, run


TREC_NAMES = {
    "recall_miss": "success_{k}",
    "item_recall_macro": "recall_{k}",
    "capped_recall": "relative_P_{k}",
    "precision": "P_{k}",
    "r_precision": "Rprec",
    "map_relevant": "map_cut_{k}",
    "map": "map",
    "mrr": "recip_rank",
    "ndcg_at_k": "ndcg_cut_{k}",
    "ndcg": "ndcg",
}


def test_the_names_compared_are_those_that_the_page_shows():
    shown = {
        key: name.name
        for key, convention in CONVENTIONS.items()
        for name in convention.names
        if name.tool == "trec_eval"
    }
    assert shown == TREC_NAMES


def test_trec_eval_gives_our_rows():
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    lists = random_lists()
    qrels, run = as_qrels_and_run(lists)
    cuts = ",".join(map(str, (1, 2, 3, 5, 8, 20)))
    asked = {f"{name[:-4]}.{cuts}" if name.endswith("_{k}") else name for name in TREC_NAMES.values()}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    for q, (flags, n_relevant) in enumerate(lists):
        for k in (1, 2, 3, 5, 8, 20):
            ours = values(flags, k, n_relevant)
            for key, name in TREC_NAMES.items():
                expected = theirs[f"q{q:03d}"][name.format(k=k)]
                assert ours[key] == pytest.approx(expected, abs=1e-9), (flags, n_relevant, key, k)


def test_trec_eval_counts_a_query_judged_irrelevant_as_0_and_leaves_out_one_without_judgement():
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    theirs = pytrec_eval.RelevanceEvaluator({"q": {"a": 0}}, {"map"}).evaluate({"q": {"a": 1.0}, "p": {"a": 1.0}})
    assert theirs == {"q": {"map": 0.0}}


RANX = ROOT / "tests" / "golden" / "ranx.json"
RANX_NAMES = {
    "recall_miss": "hit_rate@{k}",
    "item_recall_macro": "recall@{k}",
    "precision": "precision@{k}",
    "r_precision": "r-precision",
    "map_relevant": "map@{k}",
    "map": "map",
    "mrr_at_k": "mrr@{k}",
    "mrr": "mrr",
    "ndcg_at_k": "ndcg@{k}",
    "ndcg": "ndcg",
}
RANX_CODE = """
import json, sys
from ranx import Qrels, Run, evaluate
qrels, run, names = json.load(sys.stdin)
found = evaluate(Qrels(qrels), Run(run), names, return_mean=False)
json.dump({name: list(map(float, per_query)) for name, per_query in found.items()}, sys.stdout)
"""


def ranx_output(lists) -> dict[str, list[float]]:
    """What ranx says, in a process of its own and without compiling: seconds instead of a minute."""
    names = [name.format(k=k) for k in (1, 2, 3, 5, 8, 20) for name in RANX_NAMES.values()]
    asked = json.dumps([*as_qrels_and_run(lists), list(dict.fromkeys(names))])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RANX_CODE], input=asked, capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(done.stdout)


def assert_ranx_gives_our_rows(lists, theirs) -> None:
    for q, (flags, n_relevant) in enumerate(lists):
        for k in (1, 2, 3, 5, 8, 20):
            ours = values(flags, k, n_relevant)
            for key, name in RANX_NAMES.items():
                assert ours[key] == pytest.approx(theirs[name.format(k=k)][q], abs=1e-9), (flags, n_relevant, key, k)


def test_ranx_s_recorded_output_is_our_rows():
    recorded = json.loads(RANX.read_text())
    assert recorded["lists"] == [list(one) for one in random_lists()]
    assert_ranx_gives_our_rows(recorded["lists"], recorded["output"])


@pytest.mark.skipif(find_spec("ranx") is None, reason="ranx is not installed; its recorded output is compared instead")
def test_ranx_gives_our_rows():
    lists = random_lists(seed=SEED + 1)
    assert_ranx_gives_our_rows(lists, ranx_output(lists))


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 3)), min_size=2, max_size=8).filter(lambda x: any(f for f, _ in x))
)
@settings(deadline=None)
def test_scikit_learn_gives_our_map_and_our_expected_ndcg(items):
    from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

    flags, scores = [flag for flag, _ in items], [score for _, score in items]
    ranking = rank_scores([scores], Relevance.of(Sets.from_lists([np.flatnonzero(flags)]), len(flags)))
    for k in (1, 3):
        row = by_key([ranking], k)["ndcg_at_k"]
        assert row.expected == pytest.approx(ndcg_score([flags], [scores], k=k))
    if len(set(scores)) == len(scores):
        theirs = label_ranking_average_precision_score([flags], [scores])
        assert by_key([ranking], 1)["map"].value == pytest.approx(theirs)


# ---- what must hold of every row ------------------------------------------------------------------------------------

tied_lists = st.lists(
    st.one_of(st.sampled_from("01"), st.text("01", min_size=2, max_size=3).map("({})".format)), min_size=1, max_size=4
).map("".join)
lists = st.tuples(tied_lists, st.integers(0, 2)).map(lambda pair: f"{pair[0]}+{pair[1]}")


def without_ties(text: str) -> set[str]:
    """Every order of the tied items, each distinct arrangement once, from the typed text itself."""
    parts = re.findall(r"\(\d+\)|\d", text.partition("+")[0])
    found = {""}
    for part in parts:
        orders = {"".join(order) for order in permutations(part.strip("()"))}
        found = {before + order for before in found for order in orders}
    return {f"{order}+{text.partition('+')[2]}" for order in found}


@given(lists, st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_extremes_and_mean_are_those_of_all_orders_of_the_ties(text, k):
    every = [values(order, k) for order in without_ties(text)]
    for key, row in by_key([read_ranking(text)], k).items():
        ones = [one[key] for one in every]
        expected = (min(ones), sum(ones) / len(ones), max(ones))
        assert (row.worst, row.expected, row.best) == pytest.approx(expected, nan_ok=True), key


def evaluated(latex: str) -> float:
    """Work a filled formula out, as a reader would."""
    text = latex.replace(r"\left", "").replace(r"\right", "").replace(r"\infty", "math.inf")
    text = re.sub(r"\\log_2 (\d+)", r"math.log2(\1)", text).replace(r"\min", "min")
    while r"\frac" in text:
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
    return eval(re.sub(r"\)\(", ")*(", re.sub(r"\[", "(", text).replace("]", ")")), {"math": math, "min": min})


@given(st.lists(lists, min_size=1, max_size=3), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_the_numbers_filled_in_give_the_value(texts, k):
    for row in definition_rows([read_ranking("/".join(texts))], k):
        if row.n_counted:
            assert evaluated(row.filled) == pytest.approx(row.value, abs=2e-4), row
        else:
            assert row.filled == r"\frac{0}{0}"
            assert math.isnan(row.value)


@given(st.lists(lists, min_size=1, max_size=3), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_values_that_metrics_has_are_the_metrics_own(texts, k):
    ranking = read_ranking("/".join(texts))
    ours = by_key([ranking], k)
    same = {
        "recall_miss": measures.recall(ranking, k),
        "recall_exclude": measures.recall_evaluable(ranking, k),
        "item_recall": measures.item_recall(ranking, k),
        "map_min": measures.average_precision(ranking, k),
        "ndcg": measures.ndcg(ranking),
        "map_at_r": measures.map_at_r(ranking),
    }
    for key, score in same.items():
        assert ours[key].value == pytest.approx(score.value, abs=0, nan_ok=True)


def test_both_directions_are_pooled():
    one, other = read_ranking("01/1"), read_ranking("001")
    together = by_key([one, other], 1)
    assert together["recall_miss"].value == pytest.approx(1 / 3)
    assert together["mrr"].value == pytest.approx((1 / 2 + 1 + 1 / 3) / 3)
    assert together["recall_miss"].n_counted == 3


def test_many_queries_show_the_sums_alone():
    row = by_key([read_ranking("/".join(["1"] * 29 + ["01"]))], 1)["recall_miss"]
    assert row.filled == r"\frac{29}{30}"


def test_a_constant_encoder_has_a_range_and_a_mean():
    n = 30
    ranking = rank_scores(np.zeros((n, n)), Relevance.of(Sets.from_lists([[q] for q in range(n)]), n))
    row = by_key([ranking], 1)["recall_miss"]
    assert (row.value, row.worst, row.best) == (1 / 30, 0, 1)
    assert row.expected == pytest.approx(1 / 30)
    assert row.tied


def test_too_many_orders_leave_the_mean_open_only_where_no_closed_form_is_known():
    ranking = read_ranking("(" + "01" * 20 + ")")
    found = by_key([ranking], 5)
    assert found["ndcg_at_k"].expected is None
    assert found["map_hits"].worst < found["map_hits"].value < found["map_hits"].best
    assert found["map"].expected is not None


def test_no_row_lacks_a_known_tool_but_this_program_s_own():
    assert [key for key, convention in CONVENTIONS.items() if not convention.names] == ["map_min"]
    assert set(conventions.TOOLS) == {
        *("trec_eval", "ir_measures", "ranx", "torchmetrics", "pytorch-metric-learning", "OML", "torchreid"),
        *("fast-reid", "revisitop", "faiss", "ann-benchmarks", "scikit-learn"),
    }


def test_keys_levels_and_notes_are_explained_in_the_module():
    text = conventions.__doc__
    notes = {note for convention in CONVENTIONS.values() for name in convention.names for note in name.notes}
    levels = {convention.level for convention in CONVENTIONS.values()}
    for key in {*CONVENTIONS, *notes, *levels}:
        assert f"``{key}``" in text, key


def test_names_carry_the_cut():
    names = {(name.tool, name.name) for row in definition_rows([read_ranking("1")], 7) for name in row.names}
    assert ("trec_eval", "map_cut_7") in names
    assert not any("{" in name or name == "precision_at_1" for _, name in names)
    assert any(name.name == "precision_at_1" for row in definition_rows([read_ranking("1")], 1) for name in row.names)


@pytest.mark.parametrize("k", [0, 1.5, True])
def test_a_bad_k_is_refused(k):
    with pytest.raises(ValueError, match="k must"):
        definition_rows([read_ranking("1")], k)


# ---- typed rankings -------------------------------------------------------------------------------------------------


def test_typed_lists_with_ties_missing_items_and_several_queries():
    ranking = read_ranking("0(10)1 / 1+2 / 00")
    assert ranking.n_relevant.tolist() == [2, 3, 0]
    assert ranking.rank.tolist() == [2, 4, 1, 0, 0]
    assert ranking.above.tolist() == [1, 3, 0, -1, -1]
    assert ranking.tied.tolist() == [1, 0, 0, -1, -1]
    assert ranking.n_gallery.tolist() == [4, 3, 2]
    assert read_ranking("1, 0 1", 3).n_relevant.tolist() == [3]


@pytest.mark.parametrize(
    ("text", "n_relevant", "key", "parameters"),
    [
        ("", None, "nothing", {}),
        ("10/", None, "nothing", {}),
        ("10x1", None, "character", {"character": "x", "place": 3}),
        ("1+x", None, "character", {"character": "x", "place": 3}),
        ("((1)", None, "nested", {"place": 2}),
        ("0(1", None, "unclosed", {"place": 2}),
        ("01)", None, "unopened", {"place": 3}),
        ("111", 2, "too_few_relevant", {"n_relevant": 2, "shown": 3}),
        ("1/0", 2, "several_lists", {}),
        ("1+999999999", None, "too_many", {"n": 1_000_000_000, "most": 1000}),
        ("1", 10**9, "too_many", {"n": 10**9, "most": 1000}),
        ("1", -1, "too_few_relevant", {"n_relevant": -1, "shown": 1}),
        ("1+٣", None, "character", {"character": "٣", "place": 3}),
    ],
)
def test_what_is_no_ranking_is_refused_with_a_key(text, n_relevant, key, parameters):
    with pytest.raises(Unreadable) as caught:
        read_ranking(text, n_relevant)
    assert (caught.value.key, caught.value.parameters) == (key, parameters)
    assert f"``{key}``" in Unreadable.__doc__


def test_one_query_of_a_ranking_is_that_query():
    whole = read_ranking("01/(011)+1/00")
    for q in range(3):
        one = whole.select([q])
        assert isinstance(one, Ranking)
        for name, score in measures.all_scores(one, [1, 3]).items():
            assert score.value == pytest.approx(
                measures.all_scores(whole.__class__(**vars(whole)), [1, 3])[name].select([q]).value, nan_ok=True
            )


# ---- why does my number not match? ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "digits"),
    [
        ("0.583", 0.583, 3),
        ("0,583", 0.583, 3),
        (" ,58 ", 0.58, 2),
        ("58,3%", 0.583, 3),
        ("58.3 %", 0.583, 3),
        ("58,3", 0.583, 3),
        ("58", 0.58, 2),
        ("1", 1, 2),
        ("0", 0, 2),
        ("100 %", 1, 2),
        ("0.5", 0.5, 1),
        ("0.50", 0.5, 2),
        ("1.0", 1, 1),
        ("7/12", 7 / 12, 9),
    ],
)
def test_figures_are_read_with_comma_or_point_as_fraction_or_per_cent(text, value, digits):
    figure = read_figure(text)
    assert (figure.value, figure.digits) == (pytest.approx(value), digits)


@pytest.mark.parametrize("text", ["", "x", "1/0", "-1", "1.2.3", "nan", "1,000.5", "%", "9" * 5000, "٣"])
def test_what_is_no_figure_is_none(text):
    assert read_figure(text) is None


def test_the_rows_that_give_the_figure_light_up():
    found = definition_rows([F2], 3)
    assert {match.row.key for match in matching(found, 0.75, 2)} == {"recall_miss", "item_recall"}
    assert {match.row.key for match in matching(found, 0.583, 3)} == {"map"}
    assert matching(found, 0.123, 3) == []


def test_a_half_may_be_rounded_either_way():
    found = definition_rows([read_ranking("0001")], 8)
    for figure in (0.12, 0.13):
        assert "precision" in {match.row.key for match in matching(found, figure, 2)}


def test_a_figure_may_be_the_extreme_under_ties():
    found = {match.row.key: match.which for match in matching(definition_rows([read_ranking("(001)0")], 1), 11 / 18, 9)}
    assert found["map"] == "expected"


@given(lists.filter(lambda text: "1" in text.partition("+")[0]), st.integers(1, 6), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_every_defined_row_matches_its_own_rounded_value(text, k, digits):
    for row in definition_rows([read_ranking(text)], k):
        assert [match.row for match in matching([row], round(row.value, digits), digits)] == [row]


@given(st.lists(lists, min_size=1, max_size=2), st.integers(0, 12), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_looking_at_many_k_finds_what_the_rows_of_each_k_give(texts, twelfths, digits):
    ranking, value = read_ranking("/".join(texts)), round(twelfths / 12, digits)
    found = matching_at([ranking], range(1, 9), value, digits)
    for k in range(1, 9):
        expected = matching([row for row in definition_rows([ranking], k) if row.k is not None], value, digits)
        assert found.get(k, []) == expected


def test_every_k_of_a_short_list_is_looked_at_and_fewer_where_there_is_too_much_to_count():
    assert most_k([read_ranking("01")]) == 20
    assert most_k([read_ranking("0" * 299 + "1")]) == 300
    assert most_k([read_ranking("01" * 100 + "(01)" * 14)]) == 20
