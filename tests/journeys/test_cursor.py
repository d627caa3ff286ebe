"""One cursor: arrows, J and K, a click, Back and the address move it; every key acts on the tile with the ring."""

from pathlib import Path

import pytest

from recall_core.datasets.dataset import load
from recall_core.diagnosis import triage
from recall_core.diagnosis.failure_list import failures
from recall_core.evaluation.wiring import evaluate
from tests.browser import Server, open_page, serve, settle, showing
from tests.journeys.test_triage import kept

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")

expect = playwright.expect
Page = playwright.Page
LIST = "/failures?data=photo_patches"
PLACES = """() => [...document.querySelectorAll('*')].map((node) => node.shadowRoot).filter(Boolean)
  .flatMap((root) => [...root.querySelectorAll('.grid .tile')]).map((tile) => {
    const { x, y, width, height } = tile.getBoundingClientRect();
    return [x, y + document.querySelector('[data-testid=stMain]').scrollTop, width, height].map(Math.round);
  })"""


@pytest.fixture(scope="module")
def wanted() -> list[str]:
    """Ids of the failing queries, in the order of their tiles."""
    return [str(name) for name in failures(evaluate(load("photo_patches")), 1)["id"]]


@pytest.fixture(scope="module")
def direct() -> list[str]:
    """How the address names them."""
    found = failures(evaluate(load("photo_patches")), 1)
    return [f"{name}:{query + 1}" for name, query in zip(found["direction"], found["query"], strict=True)]


def begin(page: Page, app: Server, address: str = LIST) -> None:
    open_page(page, app, address)
    expect(page.locator(".grid > .tile.current")).to_have_count(1)
    settle(page)


def ringed(page: Page, name: str) -> None:
    """Wait until the ring is on the tile of this query, and on no other."""
    expect(page.locator(".grid > .tile.current > .title")).to_have_text([name])


def tagged(page: Page, state: Path) -> dict[str, list[str]]:
    """Read from the database which query has which tags, when all key presses are carried out."""
    kept(page)
    return triage.tags_of(triage.marks("photo_patches", folder=state))


def test_a_digit_and_an_arrow_tag_one_tile_after_another(tmp_path: Path, page: Page, wanted: list[str]) -> None:
    with serve(tmp_path) as app:
        begin(page, app)
        for _press in range(25):  # past the end of the first page of 24
            page.keyboard.press("2", delay=0)
            page.keyboard.press("ArrowRight", delay=0)
        ringed(page, wanted[25])
        assert tagged(page, tmp_path / "state") == {name: ["near-duplicate"] for name in wanted[:25]}
        page.goto("about:blank")


def test_after_each_way_to_move_the_digit_tags_the_tile_with_the_ring(
    tmp_path: Path, page: Page, wanted: list[str], direct: list[str]
) -> None:
    with serve(tmp_path) as app:
        begin(page, app)
        row = page.locator(".grid").evaluate("(grid) => getComputedStyle(grid).gridTemplateColumns.split(' ').length")
        given: dict[str, list[str]] = {}

        def tag(at: int, key: str = "2", name: str = "near-duplicate") -> None:
            ringed(page, wanted[at])
            page.keyboard.press(key)
            given.setdefault(wanted[at], []).append(name)
            assert tagged(page, tmp_path / "state") == given
            ringed(page, wanted[at])

        tag(0)
        page.keyboard.press("j")
        page.keyboard.press("ArrowRight")
        tag(2)
        page.keyboard.press("ArrowDown")
        tag(2 + row)
        page.keyboard.press("ArrowUp")
        page.keyboard.press("k")
        page.keyboard.press("ArrowLeft")
        tag(0, "3", "label problem")
        page.keyboard.press("End")
        tag(23)
        page.keyboard.press("Home")
        page.locator(".triage .chip", has_text="ambiguous").click()
        given[wanted[0]].append("ambiguous")
        assert tagged(page, tmp_path / "state") == given
        page.keyboard.press("ArrowRight")
        tag(1)
        page.locator(".grid > .tile").nth(6).click()
        showing(page, 7)
        settle(page)
        page.keyboard.press("3")
        given[wanted[6]] = ["label problem"]
        assert tagged(page, tmp_path / "state") == given
        page.keyboard.press("j")
        page.keyboard.press("j")
        showing(page, 9)
        settle(page)
        page.get_by_role("link", name="Back to the failures").click()
        tag(8)
        expect(page.locator(".grid > .tile.current")).to_be_focused()
        page.keyboard.press("ArrowRight")
        tag(9)
        page.keyboard.press("Enter")
        showing(page, 10)
        settle(page)
        page.go_back()
        tag(9, "4", "ambiguous")
        page.get_by_role("button", name="Next page").click()
        tag(24)
        page.keyboard.press("ArrowRight")
        tag(25)
        page.keyboard.press("k")
        page.keyboard.press("k")
        tag(23, "4", "ambiguous")
        begin(page, app, f"{LIST}&failure={direct[30]}")
        tag(30)
        expect(page.locator(".grid > .tile.current")).to_be_in_viewport()
        page.keyboard.press("j")
        page.wait_for_url(lambda url: f"failure={direct[31]}" in url.replace("%3E", ">").replace("%3A", ":"))
        page.reload()
        settle(page)
        tag(31)
        page.get_by_role("radio", name="AP", exact=True).click()
        settle(page)
        first = str(failures(evaluate(load("photo_patches")), 1, sort="ap")["id"][0])
        ringed(page, first)
        page.goto("about:blank")


def test_moves_and_tags_leave_no_entry_in_the_history(app: Server, page: Page, direct: list[str]) -> None:
    begin(page, app)
    before = page.evaluate("history.length")
    for key in ("j", "ArrowRight", "5", "ArrowRight", "u", "ArrowLeft", "k"):
        page.keyboard.press(key)
        kept(page)
    page.wait_for_url(lambda url: f"failure={direct[1]}" in url.replace("%3E", ">").replace("%3A", ":"))
    assert page.evaluate("history.length") == before


@pytest.mark.parametrize("address", [LIST, f"{LIST}&tag=!", f"{LIST}&sort=ap&reason=deep"])
def test_nothing_moves_while_one_is_tagging(tmp_path: Path, page: Page, address: str) -> None:
    with serve(tmp_path) as app:
        begin(page, app, address)
        places = page.evaluate(PLACES)
        for keys in ("1", "234567", "j2j3", "n"):
            for key in keys:
                page.keyboard.press(key)
            kept(page)
            assert page.evaluate(PLACES) == places
        page.keyboard.type("a note that is much longer than its tile is wide, and than the line of the bar, " * 3)
        page.keyboard.press("Enter")
        for key in ("u", "1"):
            kept(page)
            assert page.evaluate(PLACES) == places
            page.keyboard.press(key)
        page.goto("about:blank")


def test_nothing_moves_while_one_is_judging_and_the_ring_is_what_is_judged(tmp_path: Path, page: Page) -> None:
    with serve(tmp_path) as app:
        open_page(page, app, "/query?data=photo_patches&q=9")
        tiles = page.locator(".gallery .grid button.tile")
        expect(tiles).to_have_count(48)
        settle(page)
        tiles.nth(2).click()
        expect(page.locator(".panel")).to_have_count(2)
        settle(page)
        places = page.evaluate(PLACES)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("t")
        kept(page)
        expect(page.locator(".grid > .tile.current")).to_have_count(1)
        expect(tiles.nth(3).locator(":scope > .marks")).to_have_text("in truth right")
        page.locator(".triage .chip", has_text="Undo").click()
        kept(page)
        page.keyboard.press("t")  # the focus is on the bar now; the ring is where it was
        kept(page)
        expect(tiles.nth(3).locator(":scope > .marks")).to_have_text("in truth right")
        found = triage.marks("photo_patches", folder=tmp_path / "state")
        direction = evaluate(load("photo_patches")).directions[0]
        data = load("photo_patches")
        assert list(found["other"]) == [str(data.ids[direction.split.gallery[direction.ranking.top_position[8, 3]]])]
        assert page.evaluate(PLACES) == places
        page.goto("about:blank")
