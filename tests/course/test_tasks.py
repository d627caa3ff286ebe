"""The lab's tasks: right answers are right, each wrong one gets its own hint, and the figures come from the data."""

import re
from itertools import combinations_with_replacement, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recall_core.course.learner_progress import (
    load_progress,
    merge_progress,
    nothing_done,
    save_progress,
    with_attempt,
    with_step,
)
from recall_core.course.tasks import f1, f2, f3, f4, f5, marking, opening
from recall_core.course.tasks.f1 import F1_REASONS, F1_RULES, check_f1
from recall_core.course.tasks.f2 import check_f2, f2_solution, read_set
from recall_core.course.tasks.f3 import F3_STUB, check_f3, f3_cases
from recall_core.course.tasks.f4 import F4_CONSEQUENCES, F4_LINES, F4_REPAIRS, check_f4, f4_facts, guarantee
from recall_core.course.tasks.f5 import F5_BEFORE, F5_COLUMNS, F5_ENTRIES, F5_PARTS, check_f5_columns, check_f5_order
from recall_core.course.tasks.marking import check_number
from recall_core.course.tasks.opening import check_opening, extreme_ranks, propose_ranks
from recall_core.errors import DataError
from recall_core.experiments.leakage import draws, experiment
from recall_core.plain import recall_at_k


@pytest.fixture(scope="module")
def lab():
    return experiment.lab()


@pytest.fixture(scope="module")
def halves(lab):
    return draws.halves(lab)


# ---- numbers and sets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["0.667", "0,667", ".67", "66,7 %", "2/3", " 0.66667 ", "0,6667"])
def test_a_number_may_be_typed_in_many_ways(typed):
    assert check_number("x", typed, 2 / 3) is None


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("", "empty_cell"),
        ("two thirds", "not_a_number"),
        ("0.7", "more_digits"),
        ("0.66", "wrong_number"),
        ("0.6", "wrong_number"),
        ("0.665", "wrong_number"),
    ],
)
def test_a_number_that_is_not_right_is_told_why(typed, hint):
    assert check_number("x", typed, 2 / 3)[0] == hint


@pytest.mark.parametrize("typed", ["10", "10,0", "10.00"])
def test_counts_are_exact(typed):
    assert check_number("x", typed, 10) is None
    assert check_number("x", typed, 11)[0] == "wrong_number"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("{0, 2}", {0, 2}),
        ("2 0", {0, 2}),
        ("0;2", {0, 2}),
        ("{}", set()),
        ("∅", set()),
        ("-", set()),
        ("", None),
        ("x", None),
    ],
)
def test_sets_are_read(text, items):
    assert read_set(text) == items


# ---- F1 -------------------------------------------------------------------------------------------------------------


def test_f1_right(lab):
    assert check_f1(lab, F1_RULES[0], F1_REASONS[0]).correct


def test_f1_by_class_shows_two_scenes_of_one_class(lab):
    found = check_f1(lab, "label", F1_REASONS[0])
    query, other = found.counter_example
    group, label, view = (lab.role(role) for role in ("group", "label", "view"))
    assert (found.correct, found.hint, found.marks) == (False, "rule_label", {"rule": False, "reason": True})
    assert label[query] == label[other]
    assert group[query] != group[other]
    assert view[query] != view[other]
    assert found.parameters == {"groups": [group[query], group[other]]}
    assert set(lab.values("split")[[query, other]]) == {"test"}


def test_f1_by_view_shows_two_scenes_and_identical_shows_two_views(lab):
    group, view = lab.role("group"), lab.role("view")
    one, other = check_f1(lab, "view", F1_REASONS[0]).counter_example
    assert (view[one] == view[other], group[one] == group[other]) == (True, False)
    one, other = check_f1(lab, "identical", F1_REASONS[0]).counter_example
    assert (view[one] == view[other], group[one] == group[other]) == (False, True)
    assert not np.array_equal(lab.image(one), lab.image(other))


def test_f1_every_wrong_choice_has_its_hint(lab):
    for rule in F1_RULES[1:]:
        assert check_f1(lab, rule, F1_REASONS[0]).hint == f"rule_{rule}"
    hints = [check_f1(lab, F1_RULES[0], reason).hint for reason in F1_REASONS]
    assert hints == ["", "reason_same_kind", "reason_circular", "reason_circular"]
    assert check_f1(lab, "", "").marks == {"rule": False, "reason": False}
    assert check_f1(lab, "", "").hint == "empty_cell"


# ---- F2 -------------------------------------------------------------------------------------------------------------


def test_f2_right_answers_are_the_lab_s():
    solved = f2_solution()
    assert [solved[f"recall@{k}"] for k in (1, 2, 3)] == ["1/4", "1/4", "3/4"]
    assert [solved[f"hits:{q}@3"] for q in (1, 2, 3, 4)] == ["{1}", "{0}", "{3}", "{}"]
    assert check_f2(solved).correct
    assert len(check_f2(solved).marks) == 15


@pytest.mark.parametrize(
    ("cell", "typed", "hint", "parameters"),
    [
        ("hits:1@1", "", "empty_cell", {}),
        ("hits:1@1", "yes", "not_a_set", {"typed": "yes"}),
        ("hits:1@1", "{1}", "not_in_top", {"items": [1], "query": 1, "k": 1}),
        ("hits:1@2", "{2, 0}", "not_relevant", {"items": [0, 2]}),
        ("hits:2@3", "{}", "missing_items", {"items": [0]}),
        ("recall@1", "1/3", "left_out", {"k": 1}),
        ("recall@3", "1", "left_out", {"k": 3}),
        ("recall@3", "0,83", "item_macro", {"k": 3}),
        ("recall@2", "0.5", "wrong_number", {}),
        ("recall@2", "x", "not_a_number", {}),
    ],
)
def test_f2_one_wrong_cell_is_found_with_its_hint(cell, typed, hint, parameters):
    found = check_f2(f2_solution() | {cell: typed})
    assert [name for name, right in found.marks.items() if not right] == [cell]
    assert found.hint == hint
    assert {"cell": cell, **parameters}.items() <= found.parameters.items()


def test_f2_the_first_wrong_cell_speaks():
    found = check_f2({})
    assert (found.hint, found.parameters) == ("empty_cell", {"cell": "hits:1@1"})
    assert not any(found.marks.values())


# ---- F3 -------------------------------------------------------------------------------------------------------------


def naive(rank_matrix, rel_matrix, k, *, check=True, value=None):
    """A student's solution, with faults on demand."""
    ranks, relevant = np.asarray(rank_matrix), np.asarray(rel_matrix)
    if check:
        if ranks.shape != relevant.shape or not 1 <= k <= ranks.shape[1]:
            raise ValueError("k or shape")
        if (np.sort(ranks, axis=1) != np.arange(ranks.shape[1])).any() or not np.isin(relevant, (0, 1)).all():
            raise ValueError("rows")
    if value is not None:
        return value(ranks, relevant, k)
    top = np.take_along_axis(relevant, ranks[:, :k], axis=1)
    return top.any(axis=1).mean()


def hits(ranks, relevant, k):
    return np.take_along_axis(relevant, ranks[:, :k], axis=1)


WRONG = {
    "left_out": lambda r, rel, k: hits(r, rel, k).any(1)[rel.any(1)].mean() if rel.any() else 0.0,
    "item_level": lambda r, rel, k: hits(r, rel, k).sum() / max(rel.sum(), 1),
    "precision": lambda r, rel, k: hits(r, rel, k)[rel.any(1)].mean() if rel.any() else 0.0,
    "by_place": lambda r, rel, k: rel[:, :k].any(1).mean(),
    "wrong_value": lambda r, rel, k: hits(r, rel, k).any(1).mean() + 0.001,
    "is_nan": lambda r, rel, k: float("nan"),
    "no_number": lambda r, rel, k: "0.25",
    "raised": lambda r, rel, k: 1 / 0,
}


def test_f3_right_solutions_pass():
    for solution in (recall_at_k, naive):
        assert check_f3(solution).correct


@pytest.mark.parametrize("hint", WRONG)
def test_f3_each_wrong_reading_is_recognised_with_its_input(hint):
    found = check_f3(lambda r, rel, k: naive(r, rel, k, value=WRONG[hint]))
    assert found.hint == hint
    case = next(case for case in f3_cases() if not found.marks[case["name"]])
    assert found.parameters["case"] == case["name"]
    assert found.parameters["inputs"] == {name: case[name] for name in ("rank_matrix", "rel_matrix", "k")}
    assert found.parameters["expected"] == case["expected"]


def test_f3_without_checks_of_the_input_fails_where_it_must_raise():
    found = check_f3(lambda r, rel, k: naive(r, rel, k, check=False))
    assert found.hint == "not_raised"
    failed = {name for name, right in found.marks.items() if not right}
    assert failed <= {case["name"] for case in f3_cases() if case["expected"] is None}
    assert {"k_zero", "k_negative", "k_beyond", "repeated_item", "relevance_not_01"} <= failed


def test_f3_an_accidental_error_is_no_check():
    def accidental(r, rel, k):
        if r.shape != rel.shape or not 1 <= k <= r.shape[1] or r.max() >= r.shape[1]:
            raise IndexError
        return naive(r, rel, k)

    assert check_f3(accidental).hint == "wrong_error"


def test_f3_an_input_that_was_changed_is_found():
    def sorting(r, rel, k):
        value = naive(r, rel, k)
        r.sort(axis=1)
        return value

    assert check_f3(sorting).hint == "changed_input"


def test_f3_a_solution_that_knows_the_shown_cases_fails_the_hidden_ones():
    shown = {str((c["rank_matrix"], c["rel_matrix"], c["k"])): c["expected"] for c in f3_cases(n_random=0)}

    def knows(r, rel, k):
        value = shown.get(str((r.tolist(), rel.tolist(), k)), 0.5)
        if value is None:
            raise ValueError
        return value

    found = check_f3(knows)
    assert {name.split("_")[0] for name, right in found.marks.items() if not right} == {"random"}


def test_f3_cases_are_named_once_seeded_and_explained():
    names = [case["name"] for case in f3_cases()]
    assert len(set(names)) == len(names)
    assert f3_cases(seed=3) == f3_cases(seed=3) != f3_cases(seed=4)
    text = f3.f3_cases.__doc__
    for name in names:
        assert f"``{name}``" in text or name.startswith(("f2_", "random_"))
    assert check_f3(recall_at_k, f3_cases(seed=5, n_random=60)).correct


def test_f3_stub_compiles_and_is_not_the_solution():
    names: dict = {}
    exec(F3_STUB, names)
    assert check_f3(names["recall_at_k"]).hint == "no_number"


# ---- F4 -------------------------------------------------------------------------------------------------------------

F4_RIGHT = {
    "line": "3",
    "consequence": "lost_partners",
    "n_lost": "10",
    "recall_miss": "0,667",
    "recall_exclude": "1.000",
    "repair": "by_view",
}


def test_f4_figures_come_from_the_data(halves):
    facts = f4_facts(halves)
    assert (facts.n_query, facts.n_lost, len(facts.lost)) == (30, 10, 10)
    assert (facts.recall_miss, facts.recall_exclude) == pytest.approx((0.667, 1), abs=5e-4)


def test_f4_the_snippet_is_the_draw(lab, halves):
    names = {"metadata": lab.table}
    exec("\n".join(F4_LINES), names)
    without = ~names["relevance"].any(axis=1)
    rows = names["query"].index[without]
    assert sorted(rows) == sorted(f4_facts(halves).lost)


def test_f4_right(halves):
    found = check_f4(halves, F4_RIGHT)
    assert found.correct
    assert check_f4(halves, F4_RIGHT | {"line": "2"}).correct


def test_f4_shows_a_lost_query_and_its_partner_that_asks_as_well(lab, halves):
    one, other = check_f4(halves, F4_RIGHT).counter_example
    asks = set(draws.course_draw(halves).splits[0].query)
    assert lab.role("group")[one] == lab.role("group")[other]
    assert {one, other} <= asks


@pytest.mark.parametrize(
    ("cell", "typed", "hint"),
    [
        ("line", "1", "line_harmless"),
        ("line", "4", "line_harmless"),
        ("line", "", "empty_cell"),
        *(("consequence", key, f"consequence_{key}") for key in F4_CONSEQUENCES[1:]),
        ("n_lost", "9", "wrong_number"),
        ("recall_miss", "1", "wrong_number"),
        ("recall_exclude", "0.667", "wrong_number"),
        *(("repair", key, f"repair_{key}") for key in F4_REPAIRS[1:]),
    ],
)
def test_f4_each_wrong_cell_has_its_hint(halves, cell, typed, hint):
    found = check_f4(halves, F4_RIGHT | {cell: typed})
    assert (found.hint, found.marks[cell]) == (hint, False)
    assert sum(found.marks.values()) == len(found.marks) - 1


def test_f4_only_the_right_repair_keeps_the_same_scenes_30_and_30(halves):
    kept = {repair: guarantee(halves, repair) for repair in ("none", *F4_REPAIRS)}
    assert [repair for repair, one in kept.items() if one.holds(60)] == ["by_view"]
    assert (kept["by_view"].n_query, kept["by_view"].n_gallery, kept["by_view"].one_sided) == (30, 30, ())
    assert kept["none"].n_lost == 10
    assert kept["whole_groups"].n_lost == 30
    assert (kept["drop_lost"].n_lost, kept["drop_lost"].n_query) == (0, 20)
    assert kept["stratify"].n_lost > 0
    with pytest.raises(ValueError, match="repair must be"):
        guarantee(halves, "hope")


def test_f4_stratified_draw_has_the_same_classes_on_both_sides(lab, halves):
    split = f4._repaired(halves, "stratify")
    for side in (split.query, split.gallery):
        assert np.unique(lab.role("label")[side].astype(str), return_counts=True)[1].tolist() == [10, 10, 10]


# ---- F5 -------------------------------------------------------------------------------------------------------------


def test_f5_any_order_that_keeps_what_must_come_first_is_right():
    allowed = [
        order
        for order in permutations(F5_PARTS)
        if all(order.index(first) < order.index(then) for first, then in F5_BEFORE)
    ]
    right = [order for order in permutations(F5_PARTS) if check_f5_order(order).correct]
    assert right == allowed
    assert F5_PARTS in right
    assert len(right) > 1


def test_f5_tells_what_comes_too_early():
    order = ["protocol", "exact", "build", "measure", "tune", "freeze", "report"]
    found = check_f5_order(order)
    assert (found.hint, found.parameters) == ("too_early", {"part": "measure", "before": "freeze"})
    assert [part for part, right in found.marks.items() if not right] == ["measure"]
    assert check_f5_order(["protocol"]).hint == "not_all_parts"


def test_f5_columns():
    right = {entry: column for column, entries in F5_COLUMNS.items() for entry in entries}
    assert set(right) == set(F5_ENTRIES)
    assert check_f5_columns(right).correct
    found = check_f5_columns(right | {"overlap_with_exact": "representation"})
    assert found.hint == "wrong_column"
    assert found.parameters == {"entry": "overlap_with_exact", "column": "representation"}
    assert check_f5_columns({}).hint == "empty_cell"


# ---- the opening question -------------------------------------------------------------------------------------------


def test_extremes_of_the_opening_question():
    found = {k: [sum(rank <= k for rank in ranks) for ranks in extreme_ranks(k)] for k in (1, 3)}
    assert found == {1: [0, 26], 3: [0, 28]}
    for k in (1, 3):
        for ranks in extreme_ranks(k):
            assert propose_ranks(ranks).problem == ""


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_extremes_are_those_of_all_ranks(n, mean, k):
    every = [ranks for ranks in combinations_with_replacement(range(1, n + 1), n) if sum(ranks) == mean * n]
    if not every:
        with pytest.raises(ValueError, match="cannot have the mean"):
            extreme_ranks(k, n=n, mean=mean)
        return
    counts = [sum(rank <= k for rank in ranks) for ranks in every]
    fewest, most = extreme_ranks(k, n=n, mean=mean)
    assert fewest in every
    assert most in every
    assert (sum(rank <= k for rank in fewest), sum(rank <= k for rank in most)) == (min(counts), max(counts))


@pytest.mark.parametrize(
    ("typed", "problem", "parameters"),
    [
        ("4 4 4", "how_many", {"n": 3, "n_query": 30}),
        ("30*4 x", "not_a_rank", {"place": 2, "typed": "x"}),
        ("29*4 0", "out_of_range", {"place": 30, "rank": 0}),
        ("29*4, 31", "out_of_range", {"place": 30, "rank": 31}),
        ("29*4; 5", "mean", {"mean": 121 / 30, "wanted": 4}),
        ("", "how_many", {"n": 0, "n_query": 30}),
        ("999*4 " * 9, "how_many", None),
    ],
)
def test_ranks_that_are_not_admissible_are_told_why(typed, problem, parameters):
    found = propose_ranks(typed)
    assert found.problem == problem
    assert found.recall == {}
    assert parameters is None or found.parameters == parameters


def test_admissible_ranks_give_r_at_1_and_3():
    assert propose_ranks("26*1 4 3*30").recall == {1: 26 / 30, 3: 26 / 30}
    assert propose_ranks([4] * 30).recall == {1: 0, 3: 0}


def test_the_opening_question_needs_two_rankings_that_differ():
    assert check_opening("no_unique_answer", "30*4", "26*1 4 3*30").correct
    assert check_opening("unique", "30*4", "26*1 4 3*30").hint == "unique"
    assert check_opening("", "30*4", "26*1 4 3*30").hint == "empty_cell"
    assert check_opening("no_unique_answer", "30*4", "30*4").hint == "same_recall"
    found = check_opening("no_unique_answer", "30*4", "30*5")
    assert (found.hint, found.parameters["which"], found.parameters["problem"]) == ("not_admissible", "other", "mean")


def test_every_hint_is_explained_in_its_module():
    for module in (marking, opening, f1, f2, f3, f4, f5):
        text = module.__doc__
        code = Path(module.__file__).read_text(encoding="utf-8").replace(text, "")
        for hint in re.findall(r'\("([a-z_]+)", \{|return "([a-z_]+)", \{|Ranks\("([a-z_]+)"', code):
            assert f"``{next(filter(None, hint))}``" in text, hint


# ---- progress -------------------------------------------------------------------------------------------------------

tasks = st.sampled_from(marking.TASKS)
attempts = st.lists(
    st.tuples(tasks, st.dictionaries(st.sampled_from("ab"), st.text(max_size=3)), st.booleans()), max_size=6
)


def made(tries, steps=()):
    progress = nothing_done()
    for task, answers, correct in tries:
        progress = with_attempt(progress, task, answers, correct=correct)
    for step in steps:
        progress = with_step(progress, step)
    return progress


@given(attempts, st.lists(st.integers(1, 11)))
@settings(max_examples=60, deadline=None)
def test_progress_survives_saving(tries, steps):
    progress = made(tries, steps)
    assert load_progress(save_progress(progress)) == progress


@given(attempts, attempts, attempts)
@example([("opening", {}, True)], [("opening", {"a": ""}, True)], [("opening", {}, False)] * 2)
@settings(max_examples=60, deadline=None)
def test_merging_does_not_depend_on_the_order_and_repeats_change_nothing(a, b, c):
    one, two, three = made(a, [1]), made(b, [2]), made(c)
    assert merge_progress(one, two) == merge_progress(two, one)
    assert merge_progress(merge_progress(one, two), three) == merge_progress(one, merge_progress(two, three))
    assert merge_progress(one, one) == one
    assert merge_progress(one, nothing_done()) == one


def test_a_solved_task_stays_solved_with_its_right_answers():
    progress = made([("F2", {"a": "1"}, True), ("F2", {"a": "2"}, False)])
    assert progress["tasks"]["F2"] == {"solved": True, "attempts": 2, "answers": {"a": "1"}}
    later = made([("F2", {"a": "9"}, False)] * 5)
    assert merge_progress(progress, later)["tasks"]["F2"] == {"solved": True, "attempts": 5, "answers": {"a": "1"}}


def test_attempts_leave_what_was_given_alone():
    before = nothing_done()
    with_attempt(before, "F1", {"rule": "x"}, correct=False)
    with_step(before, 3)
    assert before == nothing_done()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no version"),
        ('{"version": 2, "tasks": {}, "steps": []}', "version 2"),
        ('{"version": 1}', "damaged"),
        ('{"version": 1, "tasks": {"F1": {"solved": 1, "attempts": 0, "answers": {}}}, "steps": []}', "task F1"),
        ('{"version": 1, "tasks": {"F1": {"solved": true, "attempts": -1, "answers": {}}}, "steps": []}', "task F1"),
        (
            '{"version": 1, "tasks": {"F1": {"solved": true, "attempts": 0, "answers": {"a": 1}}}, "steps": []}',
            "task F1",
        ),
        ('{"version": 1, "tasks": {}, "steps": ["1"]}', "damaged"),
        (" " * 300_000, "at most"),
    ],
)
def test_a_file_that_is_no_progress_is_refused(text, message):
    with pytest.raises(DataError, match=message):
        load_progress(text)
