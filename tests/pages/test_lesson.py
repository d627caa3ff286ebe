"""The lesson and the exercises without a browser: live numbers, answers right and wrong, both languages alike."""

import json
import re
import shlex

import pytest
from streamlit.testing.v1 import AppTest

from pages.lesson import teacher_sheet, walkthrough
from pages.shared import seeds, words
from pages.shared.learner import leakage_runs, progress_store, task_page, texts
from recall_core import course, rights
from recall_core.cli import main
from recall_core.course import learner_progress
from recall_core.course.tasks import checks, codebox, f1, f2, f4, f5, marking
from tests.conftest import ROOT
from tests.pages.test_app import run, said

STEPS = range(1, walkthrough.END + 1)
LANGUAGES = words.LANGUAGES


@pytest.fixture(autouse=True)
def few_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """All seeds are there at the first run, so that nothing depends on how fast the machine is."""
    monkeypatch.setattr(seeds, "N_FIRST", 8)
    monkeypatch.setattr(seeds, "WAIT_SECONDS", 60.0)
    monkeypatch.setattr(seeds, "N_ALL", 8)
    leakage_runs._seeds.clear()


def step(number: int, lang: str = "en", **query: str) -> AppTest:
    return run("lesson", step=str(number), lang=lang, **query)


def task(name: str, lang: str = "en") -> AppTest:
    return run("exercises", task=name, lang=lang)


def errors(app: AppTest) -> str:
    return "\n".join(element.value for element in app.error)


def successes(app: AppTest) -> str:
    return "\n".join(element.value for element in app.success)


# Texts


@pytest.mark.parametrize("name", texts.names("en"))
@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_both_languages_have_the_same_sections_places_and_answers(language: str, name: str) -> None:
    english, other = texts.source("en", name), texts.source(language, name)
    shape = {
        text: re.findall(r"^(## \w+|- \w+:|- \[[ x]\]|\#(?= )|\$\$)", text, re.MULTILINE) for text in (english, other)
    }
    assert shape[english] == shape[other]
    assert texts.places(english) == texts.places(other)
    assert english != other


def test_both_languages_have_the_same_files() -> None:
    assert len({tuple(texts.names(language)) for language in LANGUAGES}) == 1


@pytest.mark.parametrize("name", [one.name for one in walkthrough.STEPS])
@pytest.mark.parametrize("language", LANGUAGES)
def test_each_step_has_its_parts_and_one_right_answer(language: str, name: str) -> None:
    words.speak(language)
    text = texts.read(name)
    words.speak("en")
    assert set(text.sections) == {"idea", "try", "remember", "check", "course"}
    assert [option.right for option in text.options].count(True) == 1
    assert len(text.options) == 3
    assert all(option.answer for option in text.options)
    assert text.question


def test_a_place_without_a_number_is_our_mistake() -> None:
    with pytest.raises(KeyError):
        texts.fill("{{nobody}}", {})


def test_every_hint_of_the_engine_has_its_words() -> None:
    listed = re.findall(r"``(\w+)``", (marking.__doc__ or "").partition("Everywhere")[2])
    hints, choices = (texts.phrases(name) for name in ("hints", "choices"))
    assert set(listed) - {"coding"} <= set(hints)
    offered = [*f1.F1_RULES, *f1.F1_REASONS, *f4.F4_CONSEQUENCES, *f4.F4_REPAIRS, *f5.F5_PARTS]
    assert set(offered) | set(f5.F5_COLUMNS) | set(f5.F5_ENTRIES) <= set(choices)
    assert set(checks.ENGLISH) == set(texts.phrases("checks"))


# Steps


@pytest.mark.parametrize("number", STEPS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_step_stands_in_every_language_with_all_numbers_filled_in(number: int, language: str) -> None:
    app = step(number, language)
    assert not app.error
    assert not app.warning
    assert "{{" not in said(app)
    title = "Lecke" if language == "hu" else "Lesson"
    assert app.title[0].value == title


@pytest.mark.parametrize("number", [number for number in STEPS if number != walkthrough.END])
def test_each_answer_of_a_step_is_judged_at_once(number: int) -> None:
    app = step(number)
    name = walkthrough.STEPS[number - 1].name
    for i, option in enumerate(texts.read(name).options):
        app.radio(key=f"check_{name}.choice").set_value(str(i)).run()
        assert bool(successes(app)) == option.right
        assert bool(errors(app)) != option.right


@pytest.mark.parametrize("asked", ["", "0", "99", "../1", "1e3", "²"])
def test_a_malformed_step_gives_the_first(asked: str) -> None:
    assert run("lesson", step=asked).subheader[0].value.startswith("1 ·")


def test_the_buttons_lead_through_all_steps_and_back() -> None:
    app = step(1)
    for number in STEPS[1:]:
        app.button(key="next").click().run()
        assert app.query_params["step"] == str(number)
    app.button(key="back").click().run()
    assert app.query_params["step"] == str(walkthrough.END - 1)


def test_the_short_way_leaves_out_what_is_not_on_it() -> None:
    app = step(4)
    app.button(key="short").click().run()
    assert app.query_params["step"] == "7"
    short = [number for number, one in enumerate(walkthrough.STEPS, 1) if one.short]
    assert short == [1, 2, 3, 4, 7, 8]


def test_another_rule_makes_another_relevance() -> None:
    app = step(1)
    assert "30 of 900 cells are right, 1 in each row" in said(app)
    app.segmented_control(key="rule").set_value("label").run()
    assert "300 of 900 cells are right, 10 in each row" in said(app)


def test_the_hand_example_has_the_courses_values_and_follows_what_is_typed() -> None:
    app = step(2)
    assert "**3, 3, 3**. " in said(app)
    assert "R@1 = 0.0000, R@2 = 0.0000, R@3 = 1.0000" in said(app)
    app.number_input(key="hand_g00").set_value(5.0).run()
    assert "**1, 3, 3**. " in said(app)
    app.button(key="hand_reset").click().run()
    assert "**3, 3, 3**. " in said(app)
    app.segmented_control(key="similarity_hand").set_value("cosine").run()
    assert not app.error


def test_recall_grows_with_k() -> None:
    app = step(3)
    values = []
    for k in (1, 2, 10, 30):
        app.slider(key="k_recall").set_value(k).run()
        values.append(float(re.findall(rf"R@{k} = (\d\.\d+)", said(app))[0]))
    assert values == sorted(values)
    assert values[-1] == 1


def test_the_courses_draw_is_told_both_ways_and_other_seeds_can_be_drawn() -> None:
    app = step(4)
    assert "10 of 30 queries" in said(app)
    assert "R@1 = **0.6667**" in said(app)
    assert "R@1 = **1.0000**" in said(app)
    app.toggle(key="other_seed").set_value(True).run()
    assert "--split random --seed 0" in app.code[0].value
    app.segmented_control(key="denominator").set_value("sizes").run()
    assert "(10, 5, 2)" in said(app)


def test_precision_may_fall_and_a_list_of_ones_own_is_read() -> None:
    app = step(5)
    assert "1.0000, then 0.5000, then 0.5556" in said(app)
    app.segmented_control(key="list").set_value("own").run()
    app.text_input(key="list_own").set_value("0011").run()
    assert "|Rel| = 2" in said(app)
    app.text_input(key="list_own").set_value("").run()
    assert "Write between 1 and 20 places" in errors(app)


def test_the_switches_turn_the_order_of_the_encoders_over() -> None:
    app = step(7)
    assert "all pixels 1.0000, direction of the line 0.3667" in said(app)
    app.toggle(key="own_removed").set_value(True).run()
    assert "nobody has anything right left" in app.warning[0].value
    app.toggle(key="class_right").set_value(True).run()
    assert "all pixels 0.8333, direction of the line 1.0000" in said(app)
    app.toggle(key="own_removed").set_value(False).run()
    app.toggle(key="class_right").set_value(False).run()
    app.toggle(key="same_view").set_value(True).run()
    assert "all pixels 1.0000, direction of the line 1.0000" in said(app)


def test_certainty_never_has_no_width() -> None:
    app = step(9)
    app.segmented_control(key="sure_of").set_value("clean").run()
    assert "1.0000 with [0.8865, 1.0000]" in said(app)


def results(command: str, capsys: pytest.CaptureFixture) -> dict:
    """What a command of the page prints, as JSON."""
    parts = shlex.split(command)
    assert parts[:3] == ["python", "-m", "recall_core"]
    assert main([*parts[3:], "--json"]) == 0
    found: dict = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("number", "key", "pattern"),
    [
        (3, "recall@3", r"\*\*R@3 = (\d\.\d+)\*\*"),
        (6, "recall@1", r"gives (\d\.\d+) in the stored order"),
        (7, "recall@1", r"As switched: all pixels (\d\.\d+)"),
        (9, "recall@1", r"^R@1 = (\d\.\d+) here"),
        (10, "recall@1", r"60, (\d\.\d+)\."),
    ],
)
def test_the_command_prints_the_steps_number(
    number: int, key: str, pattern: str, capsys: pytest.CaptureFixture
) -> None:
    app = step(number)
    shown = re.findall(pattern, said(app), re.MULTILINE)
    found = results(app.code[0].value, capsys)
    scores = found["directions"][next(iter(found["directions"]))]["scores"] if number == 3 else found["scores"]
    assert shown == [f"{scores[key]['value']:.4f}"]


def test_the_uneven_gallery_and_training_are_the_command_lines_too(capsys: pytest.CaptureFixture) -> None:
    app = step(4)
    app.segmented_control(key="denominator").set_value("sizes").run()
    scores = results(app.code[0].value, capsys)["scores"]
    at_k_1 = "0.7333, 0.1294 and 0.1433"
    assert at_k_1 in said(app)
    names = ("recall@1", "item_recall@1", "item_recall_macro@1")
    assert [f"{scores[name]['value']:.4f}" for name in names] == re.findall(r"\d\.\d+", at_k_1)
    app = step(8)
    gap = results(app.code[0].value, capsys)["parts"]["training"]["gap"]
    assert f"**{gap['mean']:+.4f}**" in said(app)


def test_the_encoders_error_stays_whatever_the_index_does(capsys: pytest.CaptureFixture) -> None:
    app = step(11)
    reference = r"the reference: R@10 = (\d\.\d+)"
    exact = re.findall(reference, said(app))
    app.select_slider(key="effort").set_value(64).run()
    assert re.findall(reference, said(app)) == exact == ["0.8900"]
    (measured,) = results(app.code[0].value, capsys)["test"]
    assert f"{measured['exact_recall@10']:.4f}" == exact[0]
    assert f"the index reaches {measured['recall@10']:.4f}" in said(app)


# Exercises


@pytest.mark.parametrize("name", marking.TASKS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_task_stands_in_every_language_and_says_nothing_before_it_is_asked(name: str, language: str) -> None:
    app = task(name, language)
    assert not app.error
    assert not app.success
    assert "{{" not in said(app)


def fill(app: AppTest, name: str, answers: dict[str, str]) -> AppTest:
    for cell, answer in answers.items():
        key = progress_store.key(name, cell)
        kinds = (app.text_input, app.radio, app.selectbox)
        widget = next(one for kind in kinds for one in kind if one.key == key)
        widget.set_value(answer)
    return app.run()


def test_f2_marks_each_cell_and_points_to_the_wrong_one() -> None:
    app = task("F2")
    fill(app, "F2", {"hits:1@1": "{}", "hits:2@1": "{1}"})
    assert "q2, k = 1: 1 is among the first 1, but it is not right for query 2" in errors(app)
    fill(app, "F2", {"hits:2@1": "{}"})
    assert not app.error
    assert "13 left" in app.info[0].value
    fill(app, "F2", {"recall@1": "0,33"})
    assert "left out" in errors(app)
    fill(app, "F2", f2.f2_solution())
    assert "All right" in successes(app)
    assert "F2 ✓" in app.segmented_control(key="task_chosen").options


def test_f2_takes_comma_point_and_ratio_and_speaks_hungarian() -> None:
    app = task("F2", "hu")
    fill(app, "F2", {**f2.f2_solution(), "recall@1": "0,25", "recall@2": "0.25", "recall@3": "75 %"})
    assert "Minden helyes" in successes(app)
    fill(app, "F2", {"hits:3@1": "x"})
    assert "nem elemek halmaza" in errors(app)


def test_f1_answers_a_wrong_rule_with_two_pictures() -> None:
    app = task("F1")
    for rule, words_said in (("label", "same class"), ("view", "same view"), ("identical", "views of one scene")):
        fill(app, "F1", {"rule": rule})
        assert words_said in errors(app)
    fill(app, "F1", {"rule": "group", "reason": "high_score"})
    assert "in a circle" in errors(app)
    fill(app, "F1", {"reason": "same_thing"})
    assert successes(app)


def test_f4_says_what_each_repair_keeps() -> None:
    app = task("F4")
    fill(app, "F4", {"line": "1"})
    assert "Line 1 does what it should" in errors(app)
    fill(app, "F4", {"line": "3", "consequence": "lost_partners", "n_lost": "10", "repair": "whole_groups"})
    assert "30 of 30 are lost" in errors(app)
    assert "✗ With this repair: 30 ask, 30 answer, 30 lost" in said(app)
    fill(app, "F4", {"repair": "by_view", "recall_miss": "2/3", "recall_exclude": "1"})
    assert "✓ With this repair: 30 ask, 30 answer, 0 lost; the same scenes on both sides." in said(app)
    assert successes(app)


def test_f5_wants_an_order_that_works_and_the_right_columns() -> None:
    app = task("F5")
    right = {entry: column for column, entries in f5.F5_COLUMNS.items() for entry in entries}
    wrong = ["tune", *(part for part in f5.F5_PARTS if part != "tune")]
    for picked in (wrong[:1], wrong):
        app.multiselect(key="F5.order").set_value(picked).run()
        assert "too early" in errors(app)
    app.multiselect(key="F5.order").set_value(list(f5.F5_PARTS[:3])).run()
    assert not app.error
    app.multiselect(key="F5.order").set_value(list(f5.F5_PARTS)).run()
    fill(app, "F5", {**right, "query_time": "index"})
    assert "does not belong" in errors(app)
    fill(app, "F5", {"query_time": "cost"})
    assert successes(app)


def test_the_opening_question_is_answered_by_two_rankings() -> None:
    app = task("opening")
    fill(app, "opening", {"answer": "all_four"})
    assert "two different rankings" in errors(app)
    fill(app, "opening", {"answer": "no_unique_answer", "one": "30*3"})
    assert "the mean is 3, not 4" in errors(app)
    fill(app, "opening", {"one": "30*4"})
    assert "R@1 = 0/30" in said(app)
    assert not app.error
    fill(app, "opening", {"other": "30*4"})
    assert "same R@1 and R@3" in errors(app)
    fill(app, "opening", {"other": "26*1 4 3*30"})
    assert successes(app)
    assert "from 0/30 to 26/30" in said(app)
    assert "from 0/30 to 28/30" in said(app)


def test_f3_offers_the_checks_as_a_file_where_no_code_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(rights.CODE_BOX, raising=False)
    app = task("F3", "hu")
    assert not app.text_area
    assert "RECALL_CODE_BOX=1" in app.info[0].value
    app.checkbox(key="F3_passed").check().run()
    assert "F3 ✓" in app.segmented_control(key="task_chosen").options


SOLVED = """
import numpy as np

def recall_at_k(rank_matrix, rel_matrix, k):
    n = rank_matrix.shape[1]
    if rank_matrix.shape != rel_matrix.shape or not 1 <= k <= n:
        raise ValueError("shapes, k")
    if (np.sort(rank_matrix, axis=1) != np.arange(n)).any() or not np.isin(rel_matrix, (0, 1)).all():
        raise ValueError("values")
    return float(np.take_along_axis(rel_matrix, rank_matrix, axis=1)[:, :k].any(axis=1).mean())
"""


def test_f3_runs_code_where_it_may_and_shows_the_input_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rights.CODE_BOX, "1")
    app = task("F3")
    app.text_area(key="F3.code").set_value(SOLVED.replace("[:, :k]", "[:, :1]")).run()
    app.button(key="run").click().run()
    assert "cases passed" in errors(app)
    assert "rank_matrix = " in app.code[-1].value
    app.text_area(key="F3.code").set_value("def recall_at_k(:").run()
    app.button(key="run").click().run()
    assert "not Python yet" in errors(app)
    app.text_area(key="F3.code").set_value(SOLVED).run()
    app.button(key="run").click().run()
    assert "cases passed" in successes(app)
    assert progress_store.key("F3", "code") in app.session_state


def test_f3_says_what_the_system_cannot_hold_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rights.CODE_BOX, "1")
    judged = marking.marked({"f2_k1": None})
    monkeypatch.setattr(course, "run_code", lambda _: codebox.Boxed(judged, "", "", "", ("children", "memory")))
    app = task("F3")
    app.button(key="run").click().run()
    shown = " ".join(one.value for one in app.caption)
    assert "no limit to the memory" in shown
    assert "lets go of runs on" in shown


# Progress


def progress_of(app: AppTest) -> learner_progress.Progress:
    found: learner_progress.Progress = app.session_state["progress"]
    return found


def test_answers_are_kept_and_come_back_with_a_file() -> None:
    app = fill(task("F2"), "F2", f2.f2_solution())
    text = learner_progress.save_progress(progress_of(app))
    fresh = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).switch_page("pages/exercises/exercises.py")
    fresh.query_params["task"] = "F2"
    fresh.session_state["progress"] = learner_progress.load_progress(text)
    fresh.run()
    assert fresh.text_input(key="F2.recall@1").value == "1/4"
    assert "All right" in successes(fresh)


def test_answers_that_are_not_offered_are_dropped() -> None:
    broken = learner_progress.with_attempt(
        learner_progress.nothing_done(), "F1", {"rule": "<b>", "reason": "view"}, correct=True
    )
    broken = learner_progress.with_attempt(broken, "check_relevance", {"choice": "77"}, correct=False)
    broken = learner_progress.with_attempt(broken, "F5", {"order": "x protocol", "memory": "nowhere"}, correct=False)
    for page, query in (("exercises", "F1"), ("exercises", "F5"), ("lesson", "")):
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).switch_page(f"pages/{page}/{page}.py")
        app.query_params["task"] = query
        app.session_state["progress"] = broken
        app.run()
        assert not app.exception
        assert not app.error


def test_beginning_anew_forgets_everything() -> None:
    app = fill(task("F1"), "F1", {"rule": "group", "reason": "same_thing"})
    assert progress_store.key("F1", "rule") in app.session_state
    app.button(key="anew").click().run()
    assert not progress_of(app)["tasks"]
    assert app.radio(key="F1.rule").value is None
    assert not app.success


def test_the_last_page_shows_what_was_done() -> None:
    app = step(1)
    app.radio(key="check_relevance.choice").set_value("2").run()
    app.query_params["step"] = str(walkthrough.END)
    app.run()
    assert app.button(key="end_1").label.startswith(":green")
    assert app.button(key="end_2").label.startswith(":gray")
    assert progress_of(app)["steps"] == [1, walkthrough.END]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_teachers_sheet_holds_every_task_with_its_solution(language: str) -> None:
    words.speak(language)
    sheet = teacher_sheet.sheet()
    titles = [task_page.title(name) for name in marking.TASKS]
    words.speak("en")
    assert all(f"<h2>{title}</h2>" in sheet for title in titles)
    assert f'<html lang="{language}">' in sheet
    assert "{{" not in sheet
    assert "<code>26*1 4 3*30</code>" in sheet
    assert "<td>1/4</td>" in sheet
    assert "0.6667" in sheet


def test_what_stands_in_code_is_no_emphasis() -> None:
    made = teacher_sheet.to_html("a `2*1 3*4` *b* <c>\n\n- **d**\n- e\n\n    x = 1\n    y = 2")
    assert made == (
        "<p>a <code>2*1 3*4</code> <em>b</em> &lt;c&gt;</p>\n<ul><li><b>d</b>\n</li><li>e</li></ul>\n"
        "<pre>x = 1\ny = 2</pre>"
    )


@pytest.mark.parametrize("asked", ["", "F9", "../F1"])
def test_a_malformed_task_gives_the_opening_question(asked: str) -> None:
    assert run("exercises", task=asked).subheader[0].value == task_page.title("opening")
