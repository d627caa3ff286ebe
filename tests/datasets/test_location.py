"""The stamp of a data set: another one whenever a file came, went or was written, and the same as long as none did."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from recall_core.datasets.location import stamp


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("mine/metadata.csv", "mine/train/a/0.png", "mine/.hidden/1.png", "theirs/metadata.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"content")
        os.utime(tmp_path / name, ns=(10**18, 10**18))
    return tmp_path / "mine"


def retime(file: Path) -> None:
    os.utime(file, ns=(10**18, 10**18 + 1))


def resize(file: Path) -> None:
    file.write_bytes(b"more content")
    os.utime(file, ns=(10**18, 10**18))


@pytest.mark.parametrize("name", ["metadata.csv", "train/a/0.png", ".hidden/1.png"])
@pytest.mark.parametrize("change", [retime, resize, Path.unlink], ids=lambda change: change.__name__)
def test_a_file_at_any_depth_that_is_written_or_goes_changes_the_stamp(
    folder: Path, name: str, change: Callable[[Path], None]
) -> None:
    before = stamp(folder)
    change(folder / name)
    assert stamp(folder) != before


def test_a_file_that_comes_or_gets_another_name_changes_the_stamp(folder: Path) -> None:
    found = [stamp(folder)]
    (folder / "train" / "a" / "1.png").write_bytes(b"")
    found.append(stamp(folder))
    (folder / "train" / "a" / "1.png").rename(folder / "train" / "a" / "2.png")
    found.append(stamp(folder))
    (folder / "train").rename(folder / "test")
    found.append(stamp(folder))
    assert len(set(found)) == len(found)


def test_the_stamp_stays_where_nothing_of_the_data_changed(folder: Path) -> None:
    before = stamp(folder)
    retime(folder.parent / "theirs" / "metadata.csv")
    (folder.parent / "more").mkdir()
    assert stamp(folder) == before


def test_a_table_is_stamped_with_the_images_beside_it(folder: Path) -> None:
    before = stamp(folder / "metadata.csv")
    assert before == stamp(folder)
    retime(folder / "train" / "a" / "0.png")
    assert stamp(folder / "metadata.csv") != before


def test_a_link_counts_as_the_file_that_it_leads_to(folder: Path) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "theirs" / "metadata.csv")
    before = stamp(folder)
    retime(folder.parent / "theirs" / "metadata.csv")
    assert stamp(folder) != before


def test_links_to_nothing_round_in_circles_and_data_that_are_not_there_can_be_stamped(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "circle").symlink_to(folder)
    (folder / "nothing").symlink_to(folder / "gone")
    before = stamp(folder)
    (folder / "gone").write_bytes(b"here")
    assert stamp(folder) != before
    monkeypatch.chdir(tmp_path)
    nowhere = stamp(Path("digits"))
    (tmp_path / "a file beside").write_bytes(b"")
    assert stamp(Path("digits")) == nowhere
