"""Journeys through the lesson, the exercises and the definitions in a real browser, in both languages."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pages.lesson import walkthrough
from pages.shared import words
from pages.shared.learner import progress_store, task_page, texts
from recall_core.course.tasks import f2, f5
from tests.browser import Server, open_page, settle

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page

both_languages = pytest.mark.parametrize("language", words.LANGUAGES)


@pytest.fixture(autouse=True)
def english_again() -> object:
    yield
    words.speak("en")


@pytest.fixture(autouse=True)
def nothing_done(app: Server, page: Page) -> None:
    """Each journey starts with an empty store of the browser."""
    page.goto(app.url + "/_stcore/health")
    page.evaluate("localStorage.clear()")


def choose(page: Page, text: str, within: str = "stRadio") -> None:
    page.get_by_test_id(within).get_by_text(text, exact=True).click()
    settle(page)


def write(page: Page, label: str, text: str) -> None:
    field = page.get_by_role("textbox", name=label, exact=True)
    field.fill(text)
    field.press("Enter")
    settle(page)


def said_wrong(page: Page, hint: str) -> None:
    """Wait for a hint that begins as this one does, up to its first number."""
    begins = re.split(r"\{\{|\*|`", texts.phrases("hints")[hint].partition("}}")[2] or texts.phrases("hints")[hint])
    expect(page.get_by_test_id("stAlertContentError")).to_contain_text(max(begins, key=len).strip(" :"))


def all_right(page: Page) -> None:
    expect(page.get_by_test_id("stAlertContentSuccess")).to_contain_text(words._("All right. Well done!"))
    settle(page)


@both_languages
def test_a_student_walks_the_whole_lesson(app: Server, page: Page, language: str) -> None:
    words.speak(language)
    open_page(page, app, f"/lesson?lang={language}")
    for number, step in enumerate(walkthrough.STEPS, 1):
        text = texts.read(step.name)
        expect(page.get_by_role("heading", name=f"{number} · {text.title}")).to_be_visible()
        expect(page.locator(".js-plotly-plot").first).to_be_visible()
        settle(page)
        expect(page.get_by_test_id("stException")).to_have_count(0)
        page.locator(".st-key-next button").click()
    expect(page.get_by_role("heading", name=texts.read("end").title)).to_be_visible()
    settle(page)
    assert f"step={walkthrough.END}" in page.url
    page.go_back()
    last = texts.read(walkthrough.STEPS[-1].name)
    expect(page.get_by_role("heading", name=last.title)).to_be_visible()


@both_languages
def test_a_deep_link_opens_its_step_on_a_fresh_server(fresh_app: Server, page: Page, language: str) -> None:
    words.speak(language)
    open_page(page, fresh_app, f"/lesson?step=3&lang={language}")
    expect(page.get_by_role("heading", name=f"3 · {texts.read('recall').title}")).to_be_visible()
    page.reload()
    settle(page)
    expect(page.get_by_role("heading", name=f"3 · {texts.read('recall').title}")).to_be_visible()


@both_languages
def test_a_wrong_and_a_right_answer_to_a_step(app: Server, page: Page, language: str) -> None:
    words.speak(language)
    open_page(page, app, f"/lesson?step=2&lang={language}")
    options = texts.read("ranking").options
    for option in options:
        choose(page, option.text)
        kind = "Success" if option.right else "Error"
        expect(page.get_by_test_id(f"stAlertContent{kind}")).to_contain_text(option.answer[:25])


@both_languages
def test_the_opening_question(app: Server, page: Page, language: str) -> None:
    words.speak(language)
    open_page(page, app, f"/exercises?task=opening&lang={language}")
    choose(page, task_page.choice("a_quarter"))
    said_wrong(page, "unique")
    choose(page, task_page.choice("no_unique_answer"))
    one, other = (task_page.choice(name, first=True) for name in ("one", "other"))
    write(page, one, "30*4")
    write(page, other, "30*4")
    said_wrong(page, "same_recall")
    write(page, other, "26*1 4 3*30")
    all_right(page)


@both_languages
def test_f1_by_choosing(app: Server, page: Page, language: str) -> None:
    words.speak(language)
    open_page(page, app, f"/exercises?task=F1&lang={language}")
    choose(page, task_page.choice("label"))
    expect(page.get_by_test_id("stAlertContentError")).to_be_visible()
    expect(page.locator(".gallery img")).to_have_count(2)
    choose(page, task_page.choice("group"))
    choose(page, task_page.choice("same_thing"))
    all_right(page)


@both_languages
def test_f2_cell_by_cell(app: Server, page: Page, language: str) -> None:
    words.speak(language)
    open_page(page, app, f"/exercises?task=F2&lang={language}")
    write(page, "q1, k = 1", "2")
    expect(page.get_by_test_id("stAlertContentError")).to_contain_text("q1, k = 1")
    for cell, answer in f2.f2_solution().items():
        write(page, task_page.cell_words(cell), answer)
    all_right(page)


@both_languages
def test_f3_as_a_file_to_run_at_home(app: Server, page: Page, language: str, tmp_path: Path) -> None:
    words.speak(language)
    open_page(page, app, f"/exercises?task=F3&lang={language}")
    with page.expect_download() as download:
        page.get_by_role("button", name=words._("Download the checks")).click()
    checks = tmp_path / "test_recall.py"
    download.value.save_as(checks)
    (tmp_path / "recall.py").write_text("def recall_at_k(ranks, relevant, k):\n    return 1.0\n", "utf-8")
    ran = subprocess.run([sys.executable, checks.name], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert texts.phrases("checks")["failed"] in ran.stdout


@both_languages
def test_f4_fault_consequence_and_repair(app: Server, page: Page, language: str) -> None:
    words.speak(language)
    open_page(page, app, f"/exercises?task=F4&lang={language}")
    choose(page, task_page.choice("other_seed"))
    expect(page.get_by_test_id("stAlertContentError")).to_be_visible()
    choose(page, task_page.choice("by_view"))
    choose(page, "2")
    choose(page, task_page.choice("lost_partners"))
    for cell, answer in {"n_lost": "10", "recall_miss": "0,67", "recall_exclude": "1.0"}.items():
        write(page, task_page.choice(cell, first=True), answer)
    all_right(page)


@both_languages
def test_f5_order_and_columns(app: Server, page: Page, language: str) -> None:
    words.speak(language)
    open_page(page, app, f"/exercises?task=F5&lang={language}")

    def pick(label: str, option: str) -> None:
        box = page.get_by_role("combobox", name=label)
        box.fill(option)
        expect(page.get_by_role("option", name=option, exact=True)).to_have_count(1)
        box.press("Enter")
        settle(page)

    for part in f5.F5_PARTS:
        pick(words._("Pick the parts in the order in which they are done"), task_page.choice(part))
    page.keyboard.press("Escape")
    right = {entry: column for column, entries in f5.F5_COLUMNS.items() for entry in entries}
    pick(task_page.choice("memory", first=True), task_page.choice("index"))
    expect(page.get_by_test_id("stAlertContentError")).to_be_visible()
    for entry, column in right.items():
        pick(task_page.choice(entry, first=True), task_page.choice(column))
    all_right(page)


def test_what_was_done_survives_a_reload_and_goes_to_a_file_and_back(app: Server, page: Page, tmp_path: Path) -> None:
    open_page(page, app, "/exercises?task=F1")
    choose(page, task_page.choice("group"))
    choose(page, task_page.choice("same_thing"))
    all_right(page)
    page.reload()
    all_right(page)
    expect(page.get_by_text("F1 ✓")).to_be_visible()
    page.get_by_role("button", name="My progress").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download", exact=True).click()
    file = tmp_path / "recall-progress.json"
    download.value.save_as(file)
    page.get_by_role("button", name="Begin anew").click()
    expect(page.get_by_text("F1 ✓")).to_have_count(0)
    settle(page)
    page.reload()
    settle(page)
    expect(page.get_by_test_id("stAlertContentSuccess")).to_have_count(0)
    page.get_by_role("button", name="My progress").click()
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)
    expect(page.get_by_text("F1 ✓")).to_be_visible()
    assert progress_store.key("F1", "rule") == "F1.rule"


@both_languages
def test_a_figure_lights_the_rows_that_give_it(app: Server, page: Page, language: str) -> None:
    words.speak(language)
    open_page(page, app, f"/definitions?k=3&lang={language}")
    expect(page.get_by_text("▶")).to_have_count(0)
    write(page, words._("Why doesn't my number match? I have …"), "0,5556")
    expect(page.get_by_text("▶")).to_have_count(3)
    assert "mine=" in page.url
