"""Ranked lists and vectors that somebody else made: what they name that is not here, where they end, what is equal."""

import json
from pathlib import Path

import numpy as np
import pytest

import recall_core as rc
from recall_core.cli import main

TABLE = "id,group,role\nq1,a,query\nq2,b,query\ng1,a,gallery\ng2,b,gallery\ng3,c,gallery\ng4,c,gallery\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "metadata.csv").write_text(TABLE, encoding="utf-8")
    return tmp_path


def found(folder: Path, run: str, *options: str, capsys: pytest.CaptureFixture[str]) -> dict[str, dict]:
    """Findings by kind, as ``evaluate --json`` prints them."""
    (folder / "run.txt").write_text(run, encoding="utf-8")
    assert main(["evaluate", str(folder), "--scores", str(folder / "run.txt"), "--json", *options]) == 0
    return {finding["kind"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}


def lines(**lists: str) -> str:
    return "".join(
        f"{query} Q0 {item} {rank} {10 - rank} t\n"
        for query, items in lists.items()
        for rank, item in enumerate(items.split(), 1)
    )


def test_an_id_that_exists_nowhere_is_a_warning_with_the_id(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = found(folder, lines(q1="g1 g2 G3 -1", q2="g2 g1 g4", q9="g1"), "--k", "1", "2", capsys=capsys)
    assert findings["unknown_ids"]["severity"] == "warning"
    kinds = [f for f in findings if f in ("unknown_ids", "unused_ids")]
    assert kinds == ["unknown_ids"]
    assert "'-1'" in findings["unknown_ids"]["message"]


def test_an_unknown_query_is_named_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = found(folder, lines(q1="g1 g2 g3 g4", q2="g2 g1 g3 g4", q9="g1"), capsys=capsys)
    assert findings["unknown_ids"]["examples"] == ["q9"]


def test_an_item_of_the_other_side_is_only_not_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings = found(folder, lines(q1="g1 g2 g3 g4 q2", q2="g2 g1 g3 g4"), capsys=capsys)
    assert "unknown_ids" not in findings
    assert findings["unused_ids"]["count"] == 1


def test_lists_that_end_before_k_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = lines(q1="g1 g2", q2="g2 g1 g3")
    findings = found(folder, run, "--k", "1", "3", capsys=capsys)
    assert findings["short_lists"]["examples"] == ["q1"]
    assert findings["short_lists"]["count"] == 1
    assert "short_lists" not in found(folder, run, "--k", "1", "2", capsys=capsys)


def test_a_list_as_long_as_the_gallery_is_not_short(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = lines(q1="g1 g2 g3 g4", q2="g2 g1 g3 g4")
    assert "short_lists" not in found(folder, run, "--k", "1", "10", capsys=capsys)


def test_equal_vectors_are_not_called_the_same_image() -> None:
    codes = np.array([[1, -1], [1, -1], [-1, 1], [-1, 1], [1, 1], [1, 1]], np.float32)
    data = rc.from_arrays(codes, labels=["a", "a", "b", "b", "a", "b"])
    findings = {finding.kind: finding for finding in rc.evaluate(data, ks=(1,)).findings}
    assert "right_copies" not in findings
    assert "same_across_groups" not in findings
    assert findings["equal_vectors"].severity == "note"
    assert "inflated" not in findings["equal_vectors"].message
    assert "has the same vector under another label" in findings["equal_across_groups"].message
    assert not [finding for finding in findings.values() if "picture" in finding.message]
