"""One background job: many watch, one computes; what it raises is raised to each; it stops when nobody watches."""

import threading
from collections.abc import Callable
from threading import Barrier, Event, Thread

import pytest

from pages.shared import background
from pages.shared.background import Job
from recall_core.arrays import PhaseTick
from recall_core.errors import DataError


class Clock:
    """The time that a job sees; it stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(background, "time", made)
    return made


def later(clock: Clock) -> None:
    clock.now += background.WATCHED_SECONDS


class ByHand:
    """Starts what is put into it when the test says so."""

    def __init__(self) -> None:
        self.turns: list[Callable[[], None]] = []

    def __call__(self, turn: Callable[[], None]) -> None:
        self.turns.append(turn)

    def next(self) -> None:
        self.turns.pop(0)()


def test_many_watch_and_one_computes() -> None:
    calls, go, together, found = [], Event(), Barrier(30), []
    one: Job[str] = Job()

    def work(_found: str | None, _tick: PhaseTick) -> str:
        calls.append(1)
        go.wait(60)
        return "found"

    def visit() -> None:
        together.wait(60)
        one.watch(work)
        assert one.wait(60)
        found.append(one.result())

    visitors = [Thread(target=visit) for _ in range(30)]
    for visitor in visitors:
        visitor.start()
    go.set()
    for visitor in visitors:
        visitor.join(60)
    one.watch(work)
    assert (calls, found) == ([1], ["found"] * 30)


def test_progress_is_told_with_an_estimate(clock: Clock) -> None:
    start, told = ByHand(), []
    one: Job[str] = Job(start)

    def work(_found: str | None, tick: PhaseTick) -> str:
        for seconds, step, done, total in [(0, "look", 0, 10), (1, "look", 4, 10), (1, "compare", 1, 5)]:
            clock.now += seconds
            tick(step, done, total)
            told.append((one.step, one.share, one.seconds_left))
        clock.now += 1
        told.append((one.step, one.share, one.seconds_left))
        return "found"

    one.watch(work)
    assert (one.begun, one.step, one.share, one.seconds_left, one.over) == (True, "", 0, None, False)
    assert not one.wait(0)
    start.next()
    # 4 of 10 in a second; another count begins with another estimate.
    assert told == [("look", 0, None), ("look", 0.4, 1.5), ("compare", 0.2, 0), ("compare", 0.2, 4)]
    assert one.result() == "found"


def test_a_failure_is_raised_to_each_who_watches_and_again_when_it_fails_once_more(clock: Clock) -> None:
    start, tries = ByHand(), []
    one: Job[str] = Job(start)

    def work(_found: str | None, _tick: PhaseTick) -> str:
        tries.append(1)
        raise DataError(f"try {len(tries)} failed")

    for attempt in (1, 2):
        one.watch(work)
        start.next()
        for _visitor in range(3):
            one.watch(work)  # a page that still shows it looks again, and is told before anything is tried again
            assert one.over
            with pytest.raises(DataError, match=f"try {attempt} failed"):
                one.result()
        assert not start.turns
        later(clock)
    one.watch(lambda _found, _tick: "found")
    assert not one.over
    start.next()
    assert one.result() == "found"


def test_it_stops_between_pieces_when_nobody_watches_and_goes_on_where_it_stopped(clock: Clock) -> None:
    start = ByHand()
    one: Job[int] = Job(start, lambda found: found == 4)

    def work(found: int | None, _tick: PhaseTick) -> int:
        return (found or 0) + 1

    one.watch(work)
    start.next()
    start.next()
    later(clock)
    start.next()  # its turn comes, and it is passed over
    assert (one.found, one.over, start.turns) == (2, False, [])
    one.watch(work)
    start.next()
    assert one.wait(0, lambda found: found == 3)
    start.next()
    assert (one.found, one.over, start.turns) == (4, True, [])


def test_who_waits_watches(clock: Clock) -> None:
    start = ByHand()
    one: Job[str] = Job(start)
    one.watch(lambda _found, _tick: "found")
    later(clock)
    assert not one.wait(0)
    start.next()
    assert one.result() == "found"


def test_it_stops_within_a_piece_when_nobody_watches_unless_it_may_be_left(clock: Clock) -> None:
    def work(_found: str | None, tick: PhaseTick) -> str:
        tick("look", 1, 2)
        later(clock)
        tick("look", 2, 2)
        return "found"

    for leave in (False, True):
        start = ByHand()
        one: Job[str] = Job(start, leave=leave)
        one.watch(work)
        start.next()
        assert (one.over, one.failure, start.turns) == (leave, None, [])
        one.watch(work)
        assert len(start.turns) == (0 if leave else 1)


def test_what_stands_in_a_line_is_done_one_after_the_other() -> None:
    order, go, start = [], Event(), background.line("test")
    jobs: list[Job[int]] = [Job(start, lambda found: found == 2) for _ in range(2)]

    def work(name: str) -> background.Work[int]:
        def piece(found: int | None, _tick: PhaseTick) -> int:
            go.wait(60)
            order.append(name)
            return (found or 0) + 1

        return piece

    for name, one in zip("ab", jobs, strict=True):
        one.watch(work(name))
    go.set()
    assert all(one.wait(60) for one in jobs)
    assert order == ["a", "b", "a", "b"]


@pytest.mark.parametrize("start", [background.at_once, background.line("background")])
def test_a_server_that_ends_does_not_wait_for_it(start: background.Start) -> None:
    go: Event = Event()
    one: Job[bool] = Job(start)
    one.watch(lambda _found, _tick: go.wait(60))
    at_work = [thread for thread in threading.enumerate() if thread.name == "background"]
    go.set()
    assert at_work
    assert all(thread.daemon for thread in at_work)
    assert one.wait(60)
