"""The command line, as a user types it."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pages.shared import failure_list
from pages.shared.components import triage as engine_triage
from recall_core import cli, datasets
from recall_core.datasets.dataset import load
from recall_core.diagnosis import failure_list as engine_failure_list
from recall_core.diagnosis import triage
from recall_core.evaluation import report, spelling
from recall_core.evaluation.wiring import evaluate
from recall_core.protocol.spec import Spec
from tests.conftest import DATA, ROOT

LAB = str(DATA / "glyphlab")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_evaluate_prints_the_report_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "evaluate", LAB)
    assert (code, err) == (0, "")
    assert out == report.report_text(evaluate(load(LAB), Spec(data=LAB)))


def test_json_is_one_object_with_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "evaluate", LAB, "--json", "--encoder", "gradient", "--k", "1", "2")
    given = json.loads(out)
    assert given == json.loads(
        json.dumps(report.report_json(evaluate(load(LAB), Spec(LAB, encoder="gradient", ks=(1, 2)))))
    )


def test_the_printed_command_prints_the_same_report() -> None:
    spec = Spec(data="data/glyphlab", split="random", seed=3, relevant="orientation", junk_same="scene_id")
    command = spec.to_command().split()
    done = subprocess.run([sys.executable, *command[1:]], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == report.report_text(evaluate(load(ROOT / "data" / "glyphlab"), spec))


@pytest.mark.parametrize(
    "encoder", ["sys:exit", "os:_exit", "builtins:exit", "ends:embed", "fails:embed", "mute:embed"]
)
def test_code_that_ends_or_fails_is_one_line_and_exit_2(tmp_path: Path, encoder: str) -> None:
    (tmp_path / "ends.py").write_text("raise SystemExit('a\\nb')", encoding="utf-8")
    (tmp_path / "fails.py").write_text("def embed(images): raise ValueError('line\\n' * 1000)", encoding="utf-8")
    mute = "class Mute(Exception):\n    def __str__(self): raise self\ndef embed(images): raise Mute"
    (tmp_path / "mute.py").write_text(mute, encoding="utf-8")
    command = [sys.executable, "-m", "recall_core", "evaluate", LAB, "--encoder", encoder]
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("error: encoder ")
    assert len(done.stderr) < 600


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "error: 'nowhere' is neither a folder nor a built-in data set (digits, photo_patches)"),
        ([LAB, "--k", "0"], "error: k is 0; every k is a whole number of at least 1"),
        ([LAB, "--column", "scene=scene_id"], "no such role; the roles are id, path, group"),
        ([LAB, "--column", "group=nothing"], "there is no such column; there are index, scene_id"),
        ([LAB, "--where", "split"], "'split' is not of the form COLUMN=VALUE"),
        ([LAB, "--relevant", "colour"], "has no column 'colour'; there are: index"),
        ([LAB, "--encoder", "resnet"], "resnet"),
        ([LAB, "--encoder", "nowhere:encode"], "nowhere"),
        ([LAB, "--embeddings", "nowhere.npy"], "nowhere.npy cannot be read"),
        ([LAB, "--csv", "no/such/folder/out.csv"], "there is no folder no/such/folder"),
        ([LAB, "--query", "view_id=0"], "--query and --gallery go together"),
        ([LAB, "--csv", str(DATA)], "it is a folder; name a file"),
        ([LAB, "--save", str(DATA)], "holds other files; choose a new folder"),
        ([LAB, "--scores", "s.npy", "--save-embeddings", "e.npy"], "here vectors or scores are given"),
        ([LAB, "--split", "random", "--seed", "-1"], "the seed is -1"),
        ([LAB, "--executor", "threads", "--workers", "0"], "--workers are at least 1"),
    ],
)
def test_what_cannot_be_right_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, "evaluate", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("error: ")
    assert len(err.strip().splitlines()) == 1


def test_what_the_system_refuses_is_one_line_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, out, err = run(capsys, "glyphlab", str(tmp_path / "file"))
    assert (code, out, err) == (2, "", f"error: {tmp_path / 'file'}: File exists\n")
    assert run(capsys, "glyphlab", str(tmp_path / "lab"), "--seed", "-1")[0] == 2
    assert not (tmp_path / "lab").exists()


def test_a_message_is_one_line_even_about_a_name_of_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(run(capsys, "evaluate", LAB, "--embeddings", "no\nwhere.npy")[2].splitlines()) == 1


@pytest.mark.parametrize("wrong", [("--queries", "0"), ("--threads", "0"), ("--seed", "-1")])
def test_counts_of_ann_that_cannot_be_right_are_refused(
    capsys: pytest.CaptureFixture[str], wrong: tuple[str, str]
) -> None:
    code, out, err = run(capsys, "ann", "--synthetic", "50x4", *wrong)
    assert (code, out) == (2, "")
    assert err == "error: --queries and --threads are at least 1, --seed at least 0\n"


def test_an_interrupted_command_is_quiet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "load", interrupted)
    assert run(capsys, "evaluate", LAB) == (130, "", "")


def test_output_is_utf_8_whatever_the_terminal_says(tmp_path: Path) -> None:
    (tmp_path / "ő").mkdir()
    (tmp_path / "ő" / "metadata.csv").write_text("id,label\na,é\nb,é\n", encoding="utf-8")
    np.save(tmp_path / "ő" / "embeddings.npy", np.eye(2))
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "recall_core", "evaluate", "ő", "--json"],
        capture_output=True,
        cwd=tmp_path,
        env=ascii_only,
        check=True,
    )
    printed = json.loads(done.stdout.decode("utf-8"))
    assert printed["spec"]["data"] == printed["dataset"]["name"] == "ő"


def test_one_row_a_query_goes_to_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "evaluate", LAB, "--csv", str(tmp_path / "queries.csv"))
    assert len(pd.read_csv(tmp_path / "queries.csv")) == 60


def test_saved_vectors_give_the_same_scores(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    saved = str(tmp_path / "vectors.npy")
    _, first, _ = run(capsys, "evaluate", LAB, "--encoder", "gradient", "--save-embeddings", saved, "--json")
    assert np.load(saved).shape[0] == 360
    _, second, _ = run(capsys, "evaluate", LAB, "--embeddings", saved, "--json")
    assert json.loads(first)["scores"] == json.loads(second)["scores"]


def test_an_empty_where_takes_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "evaluate", LAB, "--where", "", "--json")
    assert json.loads(out)["counts"]["n_query"] == 360


def test_a_users_encoder_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "evaluate", LAB, "--encoder", "tests.cli.test_cli:corner", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["counts"]["n_dim"] == 4


def corner(pictures: list[np.ndarray]) -> np.ndarray:
    """The four middle pixels: an encoder as a user would write it."""
    return np.stack([picture[11:13, 11:13].reshape(-1) for picture in pictures])


def test_glyphlab_writes_exactly_the_labs_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "glyphlab", str(tmp_path / "lab"))
    assert (code, out) == (0, "")
    for file in ("images.npy", "metadata.csv", "corrupted_test.npy"):
        assert (tmp_path / "lab" / file).read_bytes() == (DATA / "glyphlab" / file).read_bytes()
    assert sorted(path.name for path in (tmp_path / "lab").iterdir()) == [
        "corrupted_test.npy",
        "images.npy",
        "metadata.csv",
    ]


def test_a_plain_numpy_script_for_the_lab_runs_on_the_files() -> None:
    images, table = np.load(DATA / "glyphlab" / "images.npy"), pd.read_csv(DATA / "glyphlab" / "metadata.csv")
    corrupted = np.load(DATA / "glyphlab" / "corrupted_test.npy")
    assert (images.shape, images.dtype, corrupted.shape) == ((360, 1, 24, 24), np.float32, (60, 1, 24, 24))
    test = table[table["split"] == "test"].reset_index(drop=True)
    query = test[test["view_id"] == 0].sort_values("scene_id")
    gallery = test[test["view_id"] == 1].sort_values("scene_id")
    assert query["scene_id"].tolist() == gallery["scene_id"].tolist()

    def unit(pictures: np.ndarray) -> np.ndarray:
        flat = pictures.reshape(len(pictures), -1)
        return flat / np.linalg.norm(flat, axis=1, keepdims=True)

    g = unit(images[gallery["index"]])
    clean = unit(images[query["index"]]) @ g.T
    assert (clean.argmax(1) == np.arange(30)).all()
    noisy = unit(corrupted[query.index]) @ g.T
    ranks = (noisy > np.diag(noisy)[:, None]).sum(1) + 1
    assert sorted(ranks.tolist()) == [1] * 29 + [2]


def test_help_describes_every_option() -> None:
    for command in ("evaluate", "glyphlab"):
        actions = cli.parser()._subparsers._group_actions[0].choices[command]._actions  # type: ignore[union-attr,index]
        assert all(action.help for action in actions)


@pytest.mark.parametrize("given", [["--help"], ["--version"], ["none"], ["paths", "--help"]])
def test_help_waits_for_no_package_that_it_does_not_need(given: list[str]) -> None:
    code = (
        "import sys, atexit; from recall_core.cli import main;"
        "atexit.register(lambda: print(*{'numpy', 'pandas'} & set(sys.modules), file=sys.stderr)); main(sys.argv[1:])"
    )
    done = subprocess.run([sys.executable, "-c", code, *given], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == (2 if given == ["none"] else 0)
    assert done.stderr.splitlines()[-1] == ""


def test_a_folder_may_be_called_like_a_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "glyphlab", "audit", "--seed", "1") == (0, "", "")
    assert (tmp_path / "audit" / "images.npy").is_file()


@pytest.mark.parametrize("tags", [("-a, b!",), ("!",), ("-a, b!", "hard view"), ("hard view", "!")])
def test_failures_keeps_the_tags_that_the_page_keeps(
    tags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path))
    evaluation = evaluate(load("photo_patches"))
    everything = engine_failure_list.failures(evaluation, 1)
    for item, tag in zip(everything["id"], ("-a, b!", "hard view"), strict=False):
        triage.set_tag("photo_patches", str(item), tag)
    found = engine_triage.keep(evaluation, everything, tags, None)
    assert 0 < len(found) < len(everything)
    chosen = failure_list.Chosen(tags=tags)
    words = shlex.split(failure_list.command("python -m recall_core evaluate photo_patches", 1, chosen))
    code, out, _ = run(capsys, *words[3:])
    assert (code, out) == (0, spelling.table_csv(engine_failure_list.failure_table(evaluation, found)))


def test_a_tag_that_no_item_has_is_refused_with_those_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path))
    assert "none is in use" in run(capsys, "failures", "photo_patches", "--tag", "odd")[2]
    triage.set_tag("photo_patches", "P059-0", "hard view")
    code, out, err = run(capsys, "failures", "photo_patches", "--tag", "odd")
    assert (code, out) == (2, "")
    assert "the tag 'odd'; those in use are hard view" in err


def test_a_tag_of_no_failure_prints_the_header_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path))
    triage.set_tag("glyphlab", "0", "odd")  # with raw pixels no query of the lab fails
    code, out, err = run(capsys, "failures", LAB, "--tag", "odd")
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert out == run(capsys, "failures", LAB)[1]
