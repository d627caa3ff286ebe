"""Data that somebody else made, and addresses that somebody else typed, run no code and open no file of others."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pages.shared.frame import settings
from recall_core import from_arrays
from recall_core.cli import main
from recall_core.datasets.dataset import Dataset, load
from recall_core.datasets.own_form import export
from recall_core.datasets.shards import read_shards, write_shards
from recall_core.datasets.uploads import load_upload
from recall_core.errors import DataError
from recall_core.evaluation import opening
from recall_core.evaluation.wiring import evaluate
from recall_core.protocol import side_vectors
from recall_core.protocol.spec import FILES, Spec
from recall_core.rights import PRESCRIBED, check_visitor
from tests.datasets.test_readers import pictures, png, text
from tests.datasets.test_uploads import zipped

PAYLOAD = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
def embed(images):
    return [[1.0]] * len(images)
"""


def own_form(folder: Path, defaults: object) -> Path:
    """A data set in our own form, with three pictures, that prescribes something."""
    table = pd.DataFrame({"label": ["a", "a", "b"], "colour": ["x", "y", "x"]}, dtype="str")
    source = pictures(folder.parent / "source", *(f"{i}.png" for i in range(3)))
    table["path"] = sorted(path.name for path in source.iterdir())
    table.to_csv(source / "metadata.csv", index=False)
    export(load(source), folder)
    about = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    text(folder, "dataset.json", json.dumps(about | {"defaults": defaults}))
    return folder


# ---- what data prescribe ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", [field.name for field in fields(Spec) if field.name not in PRESCRIBED] + ["odd"])
def test_what_data_may_not_prescribe_is_refused_by_name(tmp_path: Path, field: str) -> None:
    folder = own_form(tmp_path / "data", {field: "pictures/000000.png"})
    with pytest.raises(DataError, match=f"the data prescribe '{field}', which is the user's choice"):
        load(folder)
    table = pd.DataFrame({"label": ["a", "b"]}, dtype="str")
    with pytest.raises(DataError, match="which is the user's choice alone"):
        Dataset("made", table, {"label": "label"}, embeddings={"v": np.eye(2)}, defaults={field: "x"})


def test_code_in_the_data_never_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = own_form(tmp_path / "data", {"encoder": "payload:embed"})
    text(folder, "payload.py", PAYLOAD)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    assert main(["evaluate", "."]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    packed = zipped(*((path.relative_to(folder).as_posix(), path.read_bytes()) for path in folder.rglob("*.*")))
    with pytest.raises(DataError, match="prescribe 'encoder'"):
        load_upload([("data.zip", packed)], tmp_path / "upload")
    assert not (folder / "ran").exists()
    about = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    text(folder, "dataset.json", json.dumps(about | {"defaults": {}}))
    assert main(["evaluate", ".", "--encoder", "payload:embed"]) == 0
    assert (folder / "ran").exists()


@pytest.mark.parametrize("value", [5, None, ["label"], {"label": 1}])
def test_what_is_prescribed_is_text(tmp_path: Path, value: object) -> None:
    with pytest.raises(DataError, match=r"the data prescribe relevant as .*; it is a text"):
        load(own_form(tmp_path / "data", {"relevant": value}))


def test_two_rules_of_relevance_are_not_taken_for_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two rules of relevance; keep one"):
        load(own_form(tmp_path / "data", {"relevant": "label", "relevant_pairs": "metadata.csv"}))


@pytest.mark.parametrize("field", ["relevant_pairs", "scores"])
@pytest.mark.parametrize("value", ["/etc/passwd", "../secret.csv", "files/../../secret.csv", "link.csv"])
def test_files_that_data_prescribe_lie_in_the_data_set(tmp_path: Path, field: str, value: str) -> None:
    text(tmp_path, "secret.csv", "query_id,gallery_id\nsecret,words\n")
    folder = own_form(tmp_path / "data", {field: value})
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(DataError, match="leads out of the data set's folder") as refused:
        load(folder)
    assert "words" not in str(refused.value)


def test_each_field_that_data_may_prescribe_holds_and_yields_to_the_user(tmp_path: Path) -> None:
    gnd = {"qimlist": ["q"], "imlist": ["g", "h"], "gnd": [{"easy": [0], "hard": [1], "junk": []}]}
    (tmp_path / "files").mkdir()
    text(tmp_path / "files", "gnd.json", json.dumps(gnd))
    text(tmp_path / "files", "run.txt", "q Q0 h 1 2 t\nq Q0 g 2 1 t\n")
    table = pd.DataFrame({"id": ["q", "g", "h"], "role": ["query", "gallery", "gallery"], "label": list("aab")})
    defaults = {"relevant_pairs": "gnd.json", "protocol": "easy", "scores": "run.txt", "junk_same": "label"}
    given = {name: str(tmp_path / "files" / value) if "." in value else value for name, value in defaults.items()}
    columns = {"id": "id", "side": "role", "label": "label"}
    export(Dataset("d", table.astype("str"), columns, None, {"v": np.eye(3)}, (), given), tmp_path / "out")
    data = load(tmp_path / "out")
    spec = side_vectors.resolve(data, Spec())
    assert (spec.protocol, spec.junk_same, Path(spec.scores or "").name) == ("easy", "label", "run.txt")
    assert Path(spec.relevant_pairs or "") == tmp_path / "out" / "files" / "gnd.json"
    chosen = side_vectors.resolve(data, Spec(relevant="label", embeddings="v", junk_same=""))
    assert (chosen.relevant, chosen.relevant_pairs, chosen.protocol, chosen.scores) == ("label", None, None, None)
    assert evaluate(data, relevant="label", embeddings="v").counts["n_query"] == 1


# ---- links and paths out of the folder -------------------------------------------------------------------------------


def parquet(folder: Path) -> None:
    pd.DataFrame({"image": [{"bytes": png(0), "path": "x"}], "label": [0]}).to_parquet(folder / "t.parquet")


def with_vectors(folder: Path) -> None:
    pictures(folder, "a.png", "b.png")
    text(folder, "metadata.csv", "path,label\na.png,x\nb.png,x\n")
    np.save(folder / "embeddings_clip.npy", np.eye(2))
    text(folder, "embeddings_clip_ids.txt", "a.png\nb.png\n")


def fiftyone(folder: Path) -> None:
    pictures(folder, "a.png")
    text(folder, "samples.json", json.dumps({"samples": [{"filepath": "a.png"}]}))


def labels(folder: Path) -> None:
    pictures(folder, "data/a.png")
    text(folder, "labels.json", json.dumps({"labels": {"a": "x"}}))


def lab(folder: Path) -> None:
    np.save(folder / "images.npy", np.zeros((2, 4, 4), np.uint8))
    text(folder, "metadata.csv", "label\na\na\n")


def ground_truth(folder: Path) -> None:
    gnd = {"qimlist": ["q"], "imlist": ["g"], "gnd": [{"easy": [0], "hard": [], "junk": []}]}
    text(folder, "gnd_small.json", json.dumps(gnd))


def trec(folder: Path) -> None:
    text(folder, "qrels.txt", "q 0 a 1\n")
    text(folder, "run.txt", "q Q0 a 1 2 t\n")


def one_shot(folder: Path) -> None:
    pictures(folder, "run01/test/1.png", "run01/training/1.png")
    text(folder / "run01", "class_labels.txt", "run01/test/1.png run01/training/1.png\n")


def ours(folder: Path) -> None:
    source = folder.parent / "source"
    source.mkdir()
    lab(source)
    np.save(source / "embeddings_a.npy", np.eye(2))
    export(load(source), folder)


FORMS: list[tuple[Callable[[Path], None], str]] = [
    (lab, "images.npy"),
    (lab, "metadata.csv"),
    (with_vectors, "metadata.csv"),
    (with_vectors, "embeddings_clip.npy"),
    (with_vectors, "embeddings_clip_ids.txt"),
    (fiftyone, "samples.json"),
    (labels, "labels.json"),
    (ground_truth, "gnd_small.json"),
    (trec, "qrels.txt"),
    (trec, "run.txt"),
    (one_shot, "run01/class_labels.txt"),
    (parquet, "t.parquet"),
    (ours, "dataset.json"),
    (ours, "metadata.csv"),
    (ours, "images.npy"),
    (ours, "embeddings/0.npy"),
    (ours, "embeddings"),
]


@pytest.mark.parametrize(("form", "name"), FORMS, ids=lambda one: getattr(one, "__name__", one))
def test_tables_and_arrays_that_are_links_out_of_the_folder_are_refused(
    tmp_path: Path, form: Callable[[Path], None], name: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    form(folder)
    whole = load(folder).fingerprint
    (tmp_path / "elsewhere").mkdir()
    moved = (folder / name).rename(tmp_path / "elsewhere" / Path(name).name)
    (folder / name).symlink_to(moved)
    with pytest.raises(DataError, match="is a link that leads out of the folder; put the file itself there"):
        load(folder)
    (folder / name).unlink()
    inside = moved.rename(folder / f"really-{moved.name}")  # a name that no form reads
    (folder / name).symlink_to(inside)
    if inside.suffix not in (".csv", ".parquet"):
        assert load(folder).fingerprint == whole


@pytest.mark.parametrize("name", ["/secret", "../secret", "link"])
def test_ground_truth_names_no_picture_outside(tmp_path: Path, name: str) -> None:
    folder = pictures(tmp_path / "data", "g.png")
    pictures(tmp_path, "secret.png")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    asked = f"{tmp_path}{name}.png" if name.startswith("/") else f"{name}.png"
    gnd = {"qimlist": [asked], "imlist": ["g"], "gnd": [{"easy": [0], "hard": [], "junk": []}]}
    text(folder, "gnd.json", json.dumps(gnd))
    with pytest.raises(DataError, match="leads out of the data set's folder"):
        load(folder)


def test_one_run_alone_reads_its_own_folder_and_no_neighbour(tmp_path: Path) -> None:
    one_shot(tmp_path)
    pictures(tmp_path, "secret/x.png")
    assert len(load(tmp_path / "run01").pictures or ()) == 2
    assert load(tmp_path / "run01").image(0).shape == (8, 8)
    text(tmp_path / "run01", "class_labels.txt", "secret/x.png secret/x.png\n")
    with pytest.raises(DataError):
        load(tmp_path / "run01").image(0)


def test_an_id_finds_no_link(tmp_path: Path) -> None:
    folder = pictures(tmp_path / "data", "a.png")
    pictures(tmp_path, "secret.png")
    (folder / "b.png").symlink_to(tmp_path / "secret.png")
    text(folder, "metadata.csv", "id,label\na,x\nb.png,x\n")
    with pytest.raises(DataError, match=r"'b.png' is a link that leads out"):
        load(folder)


@pytest.mark.parametrize("name", ["part-00000.npy", "ids.txt"])
def test_a_shard_is_no_link_out_of_its_folder(tmp_path: Path, name: str) -> None:
    write_shards(tmp_path / "shards", np.eye(3, dtype=np.float32), ["a", "b", "c"])
    moved = (tmp_path / "shards" / name).rename(tmp_path / name)
    (tmp_path / "shards" / name).symlink_to(moved)
    with pytest.raises(DataError, match="is a link that leads out"):
        read_shards(tmp_path / "shards")


@pytest.mark.parametrize("name", ["report.json", "items.csv", "ranking.npz", "thumbnails", "thumbnails/0.png"])
def test_a_saved_run_is_no_link_out_of_its_folder(tmp_path: Path, name: str) -> None:
    data = from_arrays(np.eye(2), ["a", "a"], images=np.zeros((2, 4, 4), np.uint8))
    evaluate(data, ks=(1,)).save(tmp_path / "run")
    moved = (tmp_path / "run" / name).rename(tmp_path / Path(name).name)
    (tmp_path / "run" / name).symlink_to(moved)
    with pytest.raises(DataError, match="is a link that leads out"):
        opening.open_run(tmp_path / "run")


# ---- what a visitor chooses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", FILES)
@pytest.mark.parametrize("value", ["/etc/passwd", "{folder}/../secret.npy", "{folder}/link.npy", "secret.npy"])
def test_a_visitor_names_no_file_outside_the_data_set(tmp_path: Path, field: str, value: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    np.save(tmp_path / "secret.npy", np.eye(2))
    np.save(folder / "mine.npy", np.eye(2))
    (folder / "link.npy").symlink_to(tmp_path / "secret.npy")
    with pytest.raises(DataError, match=f"{field} names a file outside the data set's folder"):
        check_visitor({field: value.format(folder=folder)}, folder, ["given"], files=FILES)
    check_visitor({field: str(folder / "mine.npy"), "encoder": "raw"}, folder, ["given"], files=FILES)
    check_visitor({"embeddings": "given"}, folder, ["given"], files=FILES)


def test_every_field_of_a_spec_that_names_a_file_is_listed() -> None:
    doubtful = {field.name for field in fields(Spec) if field.name not in FILES}
    assert doubtful == {
        *("data", "columns", "encoding", "where", "query", "gallery", "split", "both", "train", "relevant", "protocol"),
        *("junk_same", "encoder", "corrupt", "similarity", "rerank", "no_relevant", "ks", "seed", "slice", "bad_rows"),
    }, "a new field: does it name a file? Then its kind is FILE"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("encoder", "os:getcwd"),
        ("query_images", "../secret.npy"),
        ("query_images", "/etc/passwd"),
        ("query_images", "link.npy"),
    ],
)
def test_what_the_sidebar_says_becomes_no_spec_that_runs_code_or_reads_elsewhere(
    tmp_path: Path, field: str, value: str
) -> None:
    folder = pictures(tmp_path / "data", "a/1.png", "a/2.png")
    np.save(tmp_path / "secret.npy", np.zeros((2, 8, 8)))
    (folder / "link.npy").symlink_to(tmp_path / "secret.npy")
    np.save(folder / "mine.npy", np.zeros((2, 8, 8)))
    offered = settings.offered(load(folder), folder)
    assert offered["query_images"] == ("-", "mine.npy")
    first = {name: options[0] for name, options in offered.items()}
    with pytest.raises(DataError, match=r"which runs from the command line alone|outside the data set's folder"):
        settings.make_spec(str(folder), first | {field: value}, offered)
    made = settings.make_spec(str(folder), first | {"query_images": "mine.npy"}, offered)
    assert made.query_images == str(folder / "mine.npy")
