"""Files that were written after they were shown: the page that is loaded again shows the number that holds now."""

import logging
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import cached
from recall_core.datasets import location
from tests.datasets.test_readers import png
from tests.pages.test_app import cards, run

GREYS = {"a0.png": 0, "a1.png": 5, "b0.png": 150, "b1.png": 155}
SWAPPED = {"a0.png": 0, "a1.png": 155, "b0.png": 150, "b1.png": 5}
TABLE = "path,group\n" + "".join(f"{name},{name[0]}\n" for name in GREYS)
PARTED = TABLE.replace("a1.png,a", "a1.png,b").replace("b1.png,b", "b1.png,a")
later = count(1)


@pytest.fixture(autouse=True)
def fresh(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.ERROR, logger="streamlit")
    yield
    cached._dataset.clear()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(tmp_path))
    return tmp_path


def write(file: Path, content: bytes) -> None:
    """Write a file in place, at a time that no other one has."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    now = file.stat().st_mtime_ns + next(later) * 10**9
    os.utime(file, ns=(now, now))


def write_set(folder: Path, greys: dict[str, int], table: str = TABLE) -> Path:
    write(folder / "metadata.csv", table.encode())
    for name, grey in greys.items():
        write(folder / name, png(grey))
    return folder


def shown() -> str:
    """R@1 on a page that is loaded anew."""
    app = run("overview", data="mine", similarity="euclidean")
    assert not app.error
    return cards(app)["R@1"]


def test_an_image_that_was_overwritten_in_place_counts_as_it_is_now(root: Path) -> None:
    folder = write_set(root / "mine", GREYS)
    assert shown() == "1.0000"
    for name, grey in SWAPPED.items():
        write(folder / name, png(grey))
    assert shown() == "0.0000"


def test_an_image_below_a_sub_folder_counts_too(root: Path) -> None:
    for name, grey in GREYS.items():
        write(root / "mine" / "train" / name[0] / name, png(grey))
    assert shown() == "1.0000"
    for name, grey in SWAPPED.items():
        write(root / "mine" / "train" / name[0] / name, png(grey))
    assert shown() == "0.0000"


def test_a_table_in_an_inner_folder_that_was_edited_is_read_again(root: Path) -> None:
    folder = write_set(root / "mine" / "as_unpacked" / "inner", GREYS)
    assert shown() == "1.0000"
    write(folder / "metadata.csv", PARTED.encode())
    assert shown() == "0.0000"


def test_a_broken_image_that_was_mended_gives_the_number_when_the_page_is_loaded_again(root: Path) -> None:
    folder = write_set(root / "mine", GREYS)
    write(folder / "a0.png", b"")
    app = run("overview", data="mine", similarity="euclidean")
    assert "1 of 4 pictures cannot be read" in app.warning[0].value
    assert cards(app)["R@1"] == "0.6667"
    write(folder / "a0.png", png(GREYS["a0.png"]))
    assert shown() == "1.0000"


def test_judgements_beside_the_data_that_were_edited_count_as_they_are_now(root: Path) -> None:
    write(root / "judged" / "qrels.txt", b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d2 1\nq2 0 d1 0\n")
    write(root / "judged" / "run.txt", b"q1 Q0 d1 1 0.9 x\nq1 Q0 d2 2 0.8 x\nq2 Q0 d2 1 0.9 x\nq2 Q0 d1 2 0.8 x\n")
    assert cards(run("overview", data="judged"))["R@1"] == "1.0000"
    write(root / "judged" / "qrels.txt", b"q1 0 d1 0\nq1 0 d2 1\nq2 0 d2 1\nq2 0 d1 0\n")
    assert cards(run("overview", data="judged"))["R@1"] == "0.5000"


def asked_of_the_disk(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What the disk is asked about from now on."""
    asked: list[Path] = []

    def stamp(place: Path) -> int:
        asked.append(place)
        return location.stamp(place)

    monkeypatch.setattr(cached, "stamp", stamp)
    return asked


def rerun(app: AppTest) -> None:
    app.segmented_control(key="k").set_value("5").run()
    app.segmented_control(key="k").set_value("1").run()
    assert not app.exception


def test_the_disk_is_asked_once_in_a_while_and_by_every_page_load_but_not_by_every_click(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_set(root / "mine", GREYS)
    asked = asked_of_the_disk(monkeypatch)
    monkeypatch.setattr(cached, "STAMP_SECONDS", 1e6)
    app = run("overview", data="mine")
    assert asked == [root / "mine"]
    rerun(app)
    assert asked == [root / "mine"]
    run("overview", data="mine")
    assert asked == [root / "mine"] * 2


def test_one_session_sees_after_a_while_what_was_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_set(root / "mine", GREYS)
    app = run("overview", data="mine", similarity="euclidean")
    write_set(folder, SWAPPED)
    app.session_state["stamps"].clear()  # as if the while were over
    rerun(app)
    assert cards(app)["R@1"] == "0.0000"
