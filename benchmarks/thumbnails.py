"""Does memory stay flat while pages of thumbnails are turned? The server's resident memory after 10 and 50 pages.

    python -m benchmarks.thumbnails [--pages 50] [--side 480]

The script makes a folder of pictures, starts a server on loopback with it, and turns the pages of the start page in a
browser, at one visitor's pace: each page is painted before the next one is asked for. Afterwards it turns the same
pages back, which finds the latest thumbnails in the cache and makes the others anew.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from benchmarks.sessions import memory, server
from tests.browser import CHROMIUM, FLAGS, READY

PAGE_SIZE = 48


def make_pictures(folder: Path, n: int, side: int) -> None:
    """Write pictures with some structure, as photographs have, so that their thumbnails have a usual size."""
    folder.mkdir()
    random = np.random.default_rng(0)
    for i in range(n):
        small = Image.fromarray(random.integers(0, 256, (24, 24, 3), dtype=np.uint8))
        small.resize((side, side), Image.Resampling.BICUBIC).save(folder / f"{i:05d}.jpg", quality=85)
    rows = "".join(f"{i:05d}.jpg,{i // 2}\n" for i in range(n))
    (folder / "metadata.csv").write_text(f"path,group\n{rows}", encoding="utf-8")


def turn(page: Page, pid: int, button: str, pages: Sequence[int]) -> dict[int, float]:
    """Turn to these pages, one after the other; gives the memory after every tenth."""
    at = {}
    for n, number in enumerate(pages, 2):
        page.get_by_role("button", name=button).click()
        page.get_by_text(f"{(number - 1) * PAGE_SIZE + 1:05d}.jpg", exact=True).last.wait_for()
        page.wait_for_function(READY)
        if n % 10 == 0:
            at[n] = memory(pid)
    return at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--side", type=int, default=480, help="of the pictures, in pixels")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as root, sync_playwright() as driver:
        make_pictures(Path(root) / "many", given.pages * PAGE_SIZE, given.side)
        os.environ["RECALL_DATA_ROOT"] = root
        with server() as (port, pid):
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"http://localhost:{port}/?data=many")
            page.wait_for_function(READY)
            what = f"{given.pages} pages of {PAGE_SIZE} pictures of {given.side}×{given.side}"
            print(f"{what}; first page: {memory(pid):.0f} MB")
            onward = range(2, given.pages + 1)
            for button, pages in (("Next page", onward), ("Previous page", range(given.pages - 1, 0, -1))):
                at = turn(page, pid, button, pages)
                print(f"  {button.lower():<13} " + "   ".join(f"{n} pages {mb:.0f} MB" for n, mb in at.items()))
            browser.close()


if __name__ == "__main__":
    main()
