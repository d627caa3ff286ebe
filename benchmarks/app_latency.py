"""How quick is the app on 5,000 queries and 50,000 gallery pictures, and does its memory grow with the steps?

    python -m benchmarks.app_latency [--queries N] [--gallery N] [--steps N]

Makes the data in a temporary folder, starts the app on it and drives a real browser, warm; prints the median of each
action beside its target. A step is timed from the key press to two frames after its 48 pictures are painted. What else
runs on the machine slows everything: a figure is worth something on a machine that does nothing else.
"""

import argparse
import csv
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tests.browser import CHROMIUM, FLAGS, Server, open_page, serve, settle

SIDE = 32
N_TIMED = 15
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def main() -> None:
    """Measure and print."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--gallery", type=int, default=50_000)
    parser.add_argument("--steps", type=int, default=500, help="memory is taken after 50 and after so many")
    given = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        root = Path(name)
        write_set(root / "data" / "made", given.queries, given.gallery)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        page.set_default_timeout(600_000)
        started = time.perf_counter()
        with serve(root, RECALL_DATA_ROOT=str(root / "data")) as app:
            tell("server until it listens", [time.perf_counter() - started], 1.0)
            tell("first evaluation, cold", [timed(lambda: open_page(page, app, "/query?data=made"))], None)
            measure(page, app, given.steps)
            browser.close()


def write_set(folder: Path, n_query: int, n_gallery: int) -> None:
    """Make noisy copies of random patterns, one query and equally many gallery pictures each."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 256, (n_query, SIDE, SIDE))
    group = np.concatenate([np.arange(n_query), np.arange(n_gallery) % n_query])
    pictures = np.empty((len(group), SIDE, SIDE), np.uint8)
    for rows in np.array_split(np.arange(len(group)), 50):
        noise = rng.normal(0, 300, (len(rows), SIDE, SIDE))
        pictures[rows] = np.clip(patterns[group[rows]] + noise, 0, 255)
    np.save(folder / "images.npy", pictures)
    with (folder / "metadata.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["index", "group", "role", "camera"])
        for i, one in enumerate(group):
            table.writerow([i, f"g{one}", "query" if i < n_query else "gallery", f"c{i % 7}"])


def measure(page: object, app: Server, n_step: int) -> None:
    """Time the actions, warm."""
    for title, address, target in (
        ("Query", "/query?data=made", None),
        ("Failures", "/failures?data=made", None),
        ("Overview, 3 Plotly charts", "/overview?data=made", 3.0),
        ("Slices", "/overview?data=made&tab=slices", None),
    ):
        open_page(page, app, address)
        firsts, wholes = zip(*(opened(page, app, address) for _ in range(5)), strict=True)
        tell(f"{title}, opened again: first content", firsts, 0.4)
        tell(f"{title}, opened again: everything painted", wholes, target)
    open_page(page, app, "/query?data=made")
    place = Walk(page)
    for _warming in range(5):
        place.step()
    tell("next query, 48 tiles painted", [timed(place.step) for _ in range(N_TIMED)], 0.25)
    tell("tag with a key until it is stored", [timed(place.tag) for _ in range(N_TIMED)], 0.25)
    memory = {}
    while place.at < n_step:
        place.step()
        if place.at in (50, n_step):
            memory[place.at] = resident()
    if 50 in memory and n_step in memory:
        growth = memory[n_step] / memory[50] - 1
        print(
            f"server memory after 50 steps {memory[50]:.0f} MB, after {n_step} {memory[n_step]:.0f} MB: {growth:+.1%}, "
            "target within 10 %"
        )


def opened(page: object, app: Server, address: str) -> tuple[float, float]:
    """Seconds until an address shows its title, and until everything is painted."""
    started = time.perf_counter()
    page.goto(app.url + address)
    page.locator("h1").first.wait_for()
    first = time.perf_counter() - started
    settle(page)
    return first, time.perf_counter() - started


class Walk:
    """Steps through the queries of a page."""

    def __init__(self, page: object) -> None:
        self.page, self.at = page, 1
        self.page.locator(".gallery[data-query='1']").wait_for()
        settle(self.page)

    def step(self) -> None:
        """Go to the next query, and wait until it is painted."""
        self.at += 1
        self.page.keyboard.press("j")
        self.page.locator(f".gallery[data-query='{self.at}']").wait_for()
        self.page.evaluate(PAINTED)

    def tag(self) -> None:
        """Tag the query, and wait until the server has it."""
        self.page.keyboard.press("1")
        self.page.locator(".gallery[data-pending='0']").wait_for()


def timed(act: Callable[[], object]) -> float:
    """Seconds that something takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def tell(title: str, seconds: Sequence[float], target: float | None) -> None:
    """Print a median beside its target."""
    median = statistics.median(seconds)
    aim = "" if target is None else f"target {target * 1000:.0f} ms" + ("" if median <= target else "  MISSED")
    print(f"{title:45s} {median * 1000:8.0f} ms  (n = {len(seconds)})  {aim}", flush=True)


def resident() -> float:
    """MB that the server holds: the one child of this process that runs Streamlit."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = dict(
                    line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line
                )
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if int(status["PPid"]) == os.getpid() and b"streamlit" in command:
                return int(status["VmRSS"].split()[0]) / 1024
    return float("nan")


if __name__ == "__main__":
    main()
