"""Tags, notes and judgements: kept, undone, shared between processes, exported."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_core.datasets.dataset import Dataset, load
from recall_core.diagnosis import triage, triage_files
from recall_core.diagnosis.comparison import before_after
from recall_core.errors import DataError
from recall_core.evaluation.wiring import evaluate
from tests.conftest import ROOT, SHARED, needs_shared

WRITER = """
import sys
from pathlib import Path
from recall_core.diagnosis import triage
folder, name, n = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for i in range(n):
    triage.set_tag("data", f"{name}{i}", "ambiguous", session=name, folder=folder)
    print(i, flush=True)
"""

HALF_WAY = """
import sys
from pathlib import Path
from recall_core.diagnosis import triage
with triage.writing(Path(sys.argv[1])) as store:
    triage.add_mark(store, ("data", "half", "", "tag", "ambiguous"), "1", "", "")
    print("written", flush=True)
    sys.stdin.read()
"""


def tags(folder: Path, dataset: str = "data") -> dict[str, list[str]]:
    return triage.tags_of(triage.marks(dataset, folder=folder))


def start(code: str, *arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stdin=pipe, stderr=subprocess.DEVNULL, text=True, cwd=ROOT)


def test_a_tag_is_given_and_taken_away(tmp_path: Path) -> None:
    assert triage.set_tag("data", "0001", "ambiguous", folder=tmp_path)
    assert not triage.set_tag("data", "0001", "ambiguous", folder=tmp_path)
    assert triage.set_tag("data", "0001", "label problem", folder=tmp_path)
    assert tags(tmp_path) == {"0001": ["ambiguous", "label problem"]}
    assert triage.set_tag("data", "0001", "ambiguous", False, folder=tmp_path)
    assert tags(tmp_path) == {"0001": ["label problem"]}
    assert tags(tmp_path, "other data") == {}


def test_marks_say_when_by_whom_and_on_which_data(tmp_path: Path) -> None:
    triage.set_note("data", "a", " a note\nof two lines ", other="b", fingerprint="f00", session="me", folder=tmp_path)
    (found,) = triage.marks("data", folder=tmp_path).to_dict("records")
    assert found.pop("time").endswith("+00:00")
    assert found == {
        **{"item": "a", "other": "b", "kind": "note", "name": "", "value": "a note\nof two lines"},
        **{"fingerprint": "f00", "session": "me"},
    }
    triage.set_note("data", "a", "", other="b", folder=tmp_path)
    assert triage.marks("data", folder=tmp_path).empty


def test_undo_takes_back_step_by_step_what_this_session_did(tmp_path: Path) -> None:
    for session, item in (("me", "a"), ("you", "b"), ("me", "c")):
        triage.set_tag("data", item, "ambiguous", session=session, folder=tmp_path)
    triage.set_note("data", "a", "first", session="me", folder=tmp_path)
    triage.set_note("data", "a", "second", session="me", folder=tmp_path)
    taken = [triage.undo("data", session="me", folder=tmp_path) for _ in range(5)]
    assert [(one["item"], one["value"], one["before"]) if one else None for one in taken] == [
        ("a", "second", "first"),
        ("a", "first", ""),
        ("c", "1", ""),
        ("a", "1", ""),
        None,
    ]
    assert tags(tmp_path) == {"b": ["ambiguous"]}


def test_undo_leaves_what_somebody_else_has_changed_since(tmp_path: Path) -> None:
    triage.set_note("data", "a", "mine", session="me", folder=tmp_path)
    triage.set_note("data", "a", "yours", session="you", folder=tmp_path)
    assert triage.undo("data", session="me", folder=tmp_path) is None
    assert triage.marks("data", folder=tmp_path)["value"].tolist() == ["yours"]


steps = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y"]), st.booleans()) | st.just("undo"), max_size=12
)


@settings(max_examples=25, deadline=None)
@given(steps)
def test_any_series_of_steps_ends_where_a_plain_list_of_states_does(
    tmp_path_factory: pytest.TempPathFactory, taken: list
) -> None:
    folder = tmp_path_factory.mktemp("store")
    states: list[frozenset] = [frozenset()]
    for step in taken:
        if step == "undo":
            triage.undo("data", folder=folder)
            states = states[:-1] or [frozenset()]
        else:
            item, tag, on = step
            triage.set_tag("data", item, tag, on, folder=folder)
            after = states[-1] | {(item, tag)} if on else states[-1] - {(item, tag)}
            states += [after] if after != states[-1] else []
    assert {(item, tag) for item, some in tags(folder).items() for tag in some} == states[-1]


def test_a_killed_writer_loses_nothing_that_it_was_told_is_kept(tmp_path: Path) -> None:
    with start(WRITER, tmp_path, "w", 100_000) as writer:
        for _ in range(25):
            told = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        told += len(writer.stdout.read().split())
    kept = tags(tmp_path)
    assert {f"w{i}" for i in range(told + 1)} <= set(kept)
    with sqlite3.connect(tmp_path / triage.FILE) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()
    assert triage.set_tag("data", "later", "ambiguous", folder=tmp_path)


def test_a_writer_killed_in_the_middle_leaves_no_half_and_no_lock(tmp_path: Path) -> None:
    triage.set_tag("data", "before", "ambiguous", folder=tmp_path)
    with start(HALF_WAY, tmp_path) as writer:
        assert writer.stdout.readline() == "written\n"
        assert set(tags(tmp_path)) == {"before"}
        writer.send_signal(signal.SIGKILL)
    assert triage.set_tag("data", "after", "ambiguous", folder=tmp_path)
    assert set(tags(tmp_path)) == {"before", "after"}


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    with start(WRITER, tmp_path, "a", 20) as one, start(WRITER, tmp_path, "b", 20) as other:
        assert [writer.communicate()[0].split()[-1] for writer in (one, other)] == ["19", "19"]
    assert set(tags(tmp_path)) == {f"{name}{i}" for name in "ab" for i in range(20)}
    with sqlite3.connect(tmp_path / triage.FILE) as store:
        assert store.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_many_make_the_database_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as people:
        for attempt in range(25):
            folder, together = tmp_path / str(attempt), Barrier(8)

            def tag(name: int, folder: Path = folder, together: Barrier = together) -> bool:
                together.wait()
                return triage.set_tag("data", str(name), "ambiguous", folder=folder)

            assert all(people.map(tag, range(8)))
            assert len(tags(folder)) == 8


KEPT_OPEN = """
import sys
from pathlib import Path
from recall_core.diagnosis import triage
with triage._opened(Path(sys.argv[1])):
    triage.set_tag("data", "logged", "ambiguous", folder=Path(sys.argv[1]))
    print("kept", flush=True)
    sys.stdin.read()
"""

READER = """
import os, sys
from pathlib import Path
from recall_core.diagnosis import triage, write_patch
from recall_core.errors import DataError
folder = Path(sys.argv[1])
triage.marks("data", folder=folder / "nothing")
if os.geteuid() == 0:  # for whom no file is read-only
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(triage.tags_of(triage.marks("data", folder=folder)), triage.tag_list("data", folder=folder))
for write in (
    lambda: triage.set_tag("data", "b", "ambiguous", folder=folder),
    lambda: triage.edit_tag_list("data", [], folder=folder),
    lambda: write_patch("data", folder=folder),
):
    try:
        write()
    except DataError as problem:
        print(problem)
"""


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that others than its owner can come to, as those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
        folder.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="the rights of files are those of POSIX")
@pytest.mark.parametrize("logged", [False, True], ids=["whole", "with a log that a killed process left"])
def test_tags_in_a_folder_that_cannot_be_written_can_be_read(readable: Path, logged: bool) -> None:
    triage.set_tag("data", "a", "ambiguous", folder=readable)
    triage.judge("data", "a", "b", True, folder=readable)
    triage.edit_tag_list("data", ["mine"], folder=readable)
    if logged:
        with start(KEPT_OPEN, readable) as writer:
            assert writer.stdout.readline() == "kept\n"
            writer.send_signal(signal.SIGKILL)
        assert (readable / f"{triage.FILE}-wal").stat().st_size
    given = {"a": ["ambiguous"]} | ({"logged": ["ambiguous"]} if logged else {})
    expected = f"{given} ['mine']"
    before = {path.name: path.stat().st_mtime_ns for path in readable.iterdir()}
    for path in (*readable.iterdir(), readable):
        path.chmod(0o555 if path.is_dir() else 0o444)
    command = [sys.executable, "-B", "-c", READER, str(readable)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    shown, *refusals = done.stdout.splitlines()
    assert shown == expected
    assert len(refusals) == 3
    for refusal in refusals:
        assert "set RECALL_STATE_DIR to a" in refusal
    assert {path.name: path.stat().st_mtime_ns for path in readable.iterdir()} == before


def test_a_copy_is_taken_again_while_the_tags_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    triage.set_tag("data", "a", "ambiguous", folder=tmp_path)
    monkeypatch.setattr(triage, "_can_write", lambda _: False)
    assert tags(tmp_path) == {"a": ["ambiguous"]}
    moments = iter(range(1000))
    monkeypatch.setattr(triage, "_states", lambda _: [next(moments)])
    with pytest.raises(DataError, match="written all the time; try again"):
        tags(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(triage, "_can_write", lambda _: False)
    (tmp_path / triage.FILE).write_bytes(b"this is no database, and long enough to be looked at" * 40)
    with pytest.raises(DataError, match="cannot be read or written") as refused:
        tags(tmp_path)
    assert str(refused.value).startswith(str(tmp_path))


def test_many_write_the_same_patch_at_once_and_what_a_killed_one_left_goes(tmp_path: Path) -> None:
    triage.judge("data", "q", "g", True, folder=tmp_path)
    (tmp_path / "corrections").mkdir()
    left, new = (tmp_path / "corrections" / name for name in ("left.part", "new.part"))
    left.touch()
    new.touch()
    os.utime(left, (0, 0))
    together = Barrier(8)

    def write(_: int) -> Path | None:
        together.wait()
        return triage_files.write_patch("data", folder=tmp_path)

    with ThreadPoolExecutor(8) as people:
        (file,) = set(people.map(write, range(8)))
    assert sorted((tmp_path / "corrections").iterdir()) == sorted([file, new])


def test_looking_makes_no_file(tmp_path: Path) -> None:
    assert triage.marks("data", folder=tmp_path / "new").empty
    assert triage.tag_list("data", folder=tmp_path / "new") == list(triage.TAGS)
    assert not (tmp_path / "new").exists()


def test_the_list_of_tags_is_edited_and_given_tags_stay(tmp_path: Path) -> None:
    assert triage.tag_list("data", folder=tmp_path) == list(triage.TAGS)
    triage.set_tag("data", "a", "ambiguous", folder=tmp_path)
    triage.edit_tag_list("data", ["kész ", "blurred"], folder=tmp_path)
    assert triage.tag_list("data", folder=tmp_path) == ["kész", "blurred"]
    assert triage.tag_list("other", folder=tmp_path) == list(triage.TAGS)
    assert tags(tmp_path) == {"a": ["ambiguous"]}
    triage.edit_tag_list("data", [], folder=tmp_path)
    assert triage.tag_list("data", folder=tmp_path) == list(triage.TAGS)
    for names in (["x", "x "], ["x", " "]):
        with pytest.raises(DataError, match="a name of its own"):
            triage.edit_tag_list("data", names, folder=tmp_path)


def test_a_judgement_holds_for_the_pair_whichever_asks(tmp_path: Path) -> None:
    triage.judge("data", "q", "g", True, folder=tmp_path)
    triage.judge("data", "g", "q", False, folder=tmp_path)
    triage.set_note("data", "q", "seen", folder=tmp_path)
    assert triage.count_judged(triage.marks("data", folder=tmp_path)) == 1
    assert triage_files.triage_patch(triage.marks("data", folder=tmp_path)) == "query_id,gallery_id,grade\ng,q,0\n"
    triage.judge("data", "q", "g", None, folder=tmp_path)
    assert triage_files.write_patch("data", folder=tmp_path) is None
    with pytest.raises(DataError, match="against itself"):
        triage.judge("data", "q", "q", True, folder=tmp_path)


def test_judged_pairs_change_the_score(tmp_path: Path) -> None:
    data = Dataset.from_arrays(np.eye(4) + 0.1, ["a", "a", "b", ""])
    triage.judge("arrays", "2", "3", True, folder=tmp_path)
    patch = triage_files.write_patch("arrays", folder=tmp_path)
    before, after = evaluate(data, ks=(3,)), evaluate(data, ks=(3,), corrections=str(patch))
    assert (before.scores["recall@3"].value, after.scores["recall@3"].value) == (0.5, 1)
    assert before_after(before, after).set_index("metric").loc["recall@3", "n_changed"] == 2
    assert triage_files.write_patch("arrays", folder=tmp_path) == patch
    triage.judge("arrays", "0", "1", False, folder=tmp_path)
    assert triage_files.write_patch("arrays", folder=tmp_path) != patch


def test_csv_takes_everything_to_another_machine(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    triage.set_tag("data", "NA", 'odd, "tag"', folder=here)
    triage.set_note("data", "0001", "two\nlines; é", folder=here)
    triage.judge("data", "q", "g", False, folder=here)
    spelled = triage_files.triage_csv(triage.marks("data", folder=here))
    assert triage_files.read_triage_csv(spelled, "data", folder=there) == 3
    columns = ["item", "other", "kind", "name", "value"]
    mine, theirs = (triage.marks("data", folder=folder)[columns] for folder in (here, there))
    assert mine.to_numpy().tolist() == theirs.to_numpy().tolist()
    assert triage_files.read_triage_csv(spelled, "data", folder=there) == 0
    for text, message in (("", "cannot be read"), ("item,other\n", "columns kind, name, value are missing")):
        with pytest.raises(DataError, match=message):
            triage_files.read_triage_csv(text, "data", folder=there)
    with pytest.raises(DataError, match="'star' is no kind of mark"):
        triage_files.read_triage_csv("item,other,kind,name,value\na,,star,,1\n", "data", folder=there)


@needs_shared
def test_fiftyone_s_samples_hold_path_tags_and_note_and_read_back(tmp_path: Path) -> None:
    data = load(SHARED / "data" / "grocery")
    first, second = data.ids[0], data.ids[1]
    triage.set_tag(data.name, first, "ambiguous", folder=tmp_path)
    triage.set_tag(data.name, first, "ambiguous", other=second, folder=tmp_path)
    triage.set_note(data.name, first, "look", folder=tmp_path)
    triage.judge(data.name, first, second, True, folder=tmp_path)
    triage.set_tag(data.name, "gone from the data", "ambiguous", folder=tmp_path)
    spelled = json.loads(triage_files.triage_fiftyone(triage.marks(data.name, folder=tmp_path), data))
    path = data.role("path")[0]
    assert spelled == {
        "samples": [
            {
                **{"filepath": path, "item_id": first, "tags": ["ambiguous"], "note": "look"},
                **{"also_right": [second], "not_right": []},
            }
        ]
    }
    folder = tmp_path / "fiftyone"
    (folder / path).parent.mkdir(parents=True)
    (folder / path).write_bytes((SHARED / "data" / "grocery" / path).read_bytes())
    (folder / "samples.json").write_text(json.dumps(spelled), encoding="utf-8")
    assert load(folder).table["tags"].tolist() == ["ambiguous"]


def test_without_files_there_is_nothing_for_fiftyone(tmp_path: Path) -> None:
    data = Dataset.from_arrays(np.eye(2), ["a", "a"])
    with pytest.raises(DataError, match="export the tags as CSV"):
        triage_files.triage_fiftyone(triage.marks("arrays", folder=tmp_path), data)


def test_the_state_folder_is_the_user_s_or_as_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path / "state"))
    assert triage.state_folder() == tmp_path / "state"
    triage.set_tag("data", "a", "ambiguous")
    assert (tmp_path / "state" / triage.FILE).is_file()
    monkeypatch.delenv("RECALL_STATE_DIR")
    assert triage.state_folder().name == "recall-explorer"


def test_a_store_that_cannot_be_used_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(DataError, match="set RECALL_STATE_DIR"):
        triage.set_tag("data", "a", "x", folder=tmp_path / "file")
    (tmp_path / triage.FILE).write_bytes(b"this is no database, and long enough to be looked at" * 40)
    with pytest.raises(DataError, match="cannot be read or written"):
        triage.marks("data", folder=tmp_path)
    (tmp_path / "newer").mkdir()
    with sqlite3.connect(tmp_path / "newer" / triage.FILE) as store:
        store.execute("PRAGMA user_version = 9")
    store.close()
    with pytest.raises(DataError, match="version 9, this program reads 1"):
        triage.marks("data", folder=tmp_path / "newer")
    with pytest.raises(DataError, match="needs a name"):
        triage.set_tag("data", "a", " ", folder=tmp_path / "fine")


@pytest.mark.parametrize("name", ["", " ", "!", " ! "])
def test_what_cannot_name_a_tag_is_refused_wherever_tags_come_from(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"needs a name|cannot be a tag"):
        triage.set_tag("data", "a", name, folder=tmp_path)
    with pytest.raises(DataError, match=r"needs a name|cannot be a tag"):
        triage.edit_tag_list("data", ["good", name], folder=tmp_path)
    with pytest.raises(DataError, match=r"needs a name|cannot be a tag"):
        triage_files.read_triage_csv(f"item,other,kind,name,value\na,,tag,{name},1\n", "data", folder=tmp_path)
    assert triage.marks("data", folder=tmp_path).empty
