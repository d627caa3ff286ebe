"""``audit``, ``export`` and TREC files on the command line."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recall_core import from_arrays
from recall_core.cli import main
from recall_core.datasets.dataset import load
from recall_core.diagnosis.audit import inspect
from recall_core.protocol.spec import Spec
from tests.conftest import DATA
from tests.datasets.test_readers import pictures

LAB = str(DATA / "glyphlab")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_audit_prints_its_findings_and_writes_the_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "audit", LAB, "--csv", str(tmp_path / "pairs.csv"))
    assert out.startswith("[audit]\n  glyphlab: 360 items, fingerprint ")
    assert "180 values of scene_id" in out
    pairs = pd.read_csv(tmp_path / "pairs.csv")
    assert list(pairs.columns) == ["kind", "first", "second", "first_id", "second_id", "score", "across"]
    assert (pairs["first"] < pairs["second"]).all()


def test_audit_as_json_has_every_table(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(printed(capsys, "audit", LAB, "--json", "--threshold", "0.99"))
    assert (found["format"], found["n_item"]) == (1, 360)
    assert {"findings", "pairs", "hubs", "labels", "classes", "unreadable", "without_relevant"} <= set(found)
    assert all(pair["score"] >= 0.99 for pair in found["pairs"] if pair["kind"] == "cosine")


def test_a_choice_that_cannot_be_right_ends_with_2_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for option, value in (("--threshold", "2"), ("--distance", "99"), ("--relevant", "colour")):
        assert main(["audit", LAB, option, value]) == 2
        captured = capsys.readouterr()
        assert (captured.out, captured.err.count("\n")) == ("", 1)


def test_export_writes_what_load_reads_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pictures(tmp_path / "in", "a.png", "b.png")
    (tmp_path / "in" / "metadata.csv").write_bytes("path;wer\na.png;Erdő\nb.png;Erdő\n".encode("cp1250"))
    options = ("--encoding", "cp1250", "--column", "group=wer")
    assert printed(capsys, "export", str(tmp_path / "in"), str(tmp_path / "out"), *options) == ""
    again = load(tmp_path / "out")
    assert (again.name, again.role("group").tolist()) == ("in", ["Erdő", "Erdő"])
    assert main(["export", str(tmp_path / "in"), str(tmp_path / "out"), *options]) == 2


def test_an_evaluation_leaves_as_trec_files_and_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels, run = str(tmp_path / "qrels.txt"), str(tmp_path / "run.txt")
    here = printed(capsys, "evaluate", LAB, "--trec-qrels", qrels, "--trec-run", run, "--json")
    sides = ("--query", "view_id=0", "--gallery", "view_id=1")
    back = printed(capsys, "evaluate", LAB, *sides, "--relevant-pairs", qrels, "--scores", run, "--json")
    there = json.loads(here)["directions"]["view0->view1"]["scores"]
    assert {name: score["value"] for name, score in json.loads(back)["scores"].items()} == {
        name: score["value"] for name, score in there.items()
    }


def test_vectors_of_the_two_sides_or_of_a_part_of_the_rows_are_inspected_too(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(8, 5))
    vectors[6] = vectors[1]
    data = from_arrays(vectors[:4], list("abcd"), vectors[4:], list("abcd"))
    np.save(tmp_path / "q.npy", vectors[:4])
    np.save(tmp_path / "g.npy", vectors[4:])
    both = Spec(embeddings=str(tmp_path / "q.npy"), gallery_embeddings=str(tmp_path / "g.npy"))
    found = inspect(data, both).pairs
    assert found[["first", "second", "across"]].to_numpy().tolist() == [[1, 6, "labels; query and gallery"]] * 2
    part = Spec(embeddings=str(tmp_path / "g.npy"), where=(("role", ("gallery",)),), split="leave-one-out")
    assert inspect(data, part).pairs.empty


def test_roxfords_pictures_are_found_by_their_names(tmp_path: Path) -> None:
    pictures(tmp_path, "jpg/q.png", "jpg/a.png", "jpg/b.png")
    truth = {"qimlist": ["q"], "imlist": ["a", "b"], "gnd": [{"easy": [0], "hard": [], "junk": [1]}]}
    (tmp_path / "gnd_mine.json").write_text(json.dumps(truth), encoding="utf-8")
    data = load(tmp_path)
    assert data.pictures is not None
    assert (len(data.pictures), data.pictures.problems()) == (3, {})
    assert "boxes of the ground truth (bbx) are not cut out" in data.notes[0]
