"""Names that are one name to whoever reads them are named before any number is believed."""

from pathlib import Path

import numpy as np
import pytest

from recall_core import cli, from_arrays
from recall_core.datasets.dataset import load
from recall_core.diagnosis.audit import inspect
from recall_core.errors import DataError
from recall_core.protocol.checks import look_alikes, same_files
from recall_core.protocol.findings import Finding
from tests.datasets.test_readers import pictures


def cells(*values: str) -> np.ndarray:
    return np.array(values, dtype=object)


@pytest.mark.parametrize(
    "other",
    [
        *("cat ", " cat", "cat\t", "cat\n", "cat\N{NO-BREAK SPACE}", "cat\N{ZERO WIDTH SPACE}", "c\N{SOFT HYPHEN}at"),
        *(
            "\N{BYTE ORDER MARK}cat",
            "cat\N{RIGHT-TO-LEFT MARK}",
            "cat\N{HANGUL FILLER}",
            "cat\N{VARIATION SELECTOR-16}",
        ),
        *("cat\x7f", "cat\N{IDEOGRAPHIC SPACE}", "\N{MONGOLIAN VOWEL SEPARATOR}cat", "cat\N{BRAILLE PATTERN BLANK}"),
    ],
)
def test_values_that_differ_in_what_nobody_sees_are_named(other: str) -> None:
    (found,) = look_alikes("label", cells("cat", other, "dog", "cat"))
    assert (found.kind, found.severity, found.count) == ("look_alikes", "warning", 2)
    assert found.message.startswith("2 of 3 values of label look like another one, and differ only in blanks")
    assert found.examples[0].isprintable()
    assert found.examples[0].isascii()


def test_what_differs_to_the_eye_is_left_alone() -> None:
    assert (
        look_alikes("label", cells("cat", "Cat", "c at", "càt", "Erdő", "red car", "redcar", "", "-", "0", "00")) == []
    )


def test_kinds_of_blanks_inside_and_empty_beside_blank_are_named() -> None:
    (found,) = look_alikes("label", cells("red car", "red\N{NO-BREAK SPACE}car", "red  car", "", " "))
    assert found.count == 5
    assert found.examples == (r"'red car' and 'red\xa0car' and 'red  car'", "'' and ' '")


def table(folder: Path, *lines: str) -> Path:
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def findings(folder: Path) -> dict[str, Finding]:
    return {finding.kind: finding for finding in inspect(load(folder)).findings}


def test_the_audit_names_such_labels_and_the_same_file_in_two_spellings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures(tmp_path, "a.png", "b.png", "data/c.png")
    lines = ("a.png,cat", "./a.png,cat ", "b.png,dog", "data/c.png,dog", "c.png,dog")
    table(tmp_path, "path,label", *lines)
    found = findings(tmp_path)
    assert found["look_alikes"].examples == ("'cat' and 'cat '",)
    assert found["same_files"].count == 4
    assert found["same_files"].message.startswith(
        "4 of 5 rows share their file with another row: 'a.png' and './a.png'; 'data/c.png' and 'c.png'; each finds"
    )
    assert cli.main(["audit", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "'cat' and 'cat '" in said
    assert "'a.png' and './a.png'" in said


def test_ids_and_files_without_pictures_are_looked_at_too(tmp_path: Path) -> None:
    np.save(tmp_path / "embeddings.npy", np.eye(3))
    table(tmp_path, "id,label", "a,x", "a\N{ZERO WIDTH SPACE},x", "b,x")
    assert findings(tmp_path)["look_alikes"].message.startswith("2 of 3 values of id look like another one")
    (one,) = same_files(cells("1", "2", "3"), cells("a", "./a", "b"), ["a", "a", "b"])
    assert one.examples == ("1", "2")


def test_clean_data_have_neither_finding(tmp_path: Path) -> None:
    pictures(tmp_path, "a.png", "b.png")
    table(tmp_path, "path,label", "a.png,x", "b.png,x")
    assert not {"look_alikes", "same_files"} & set(findings(tmp_path))
    assert not {"look_alikes", "same_files"} & {f.kind for f in inspect(from_arrays(np.eye(3), "aab")).findings}
    with pytest.raises(DataError, match="more than once"):
        load(table(tmp_path, "path,label", "a.png,x", "a.png,x"))
