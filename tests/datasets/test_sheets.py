"""What the app gives to a spreadsheet is no formula there, and comes back exactly."""

import ast
import csv
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_core.datasets import sheets, tables
from recall_core.datasets.dataset import Dataset, load
from recall_core.datasets.own_form import export, export_zip
from recall_core.datasets.tables import normal
from recall_core.datasets.uploads import load_upload
from recall_core.diagnosis import triage, triage_files
from recall_core.evaluation import report
from recall_core.evaluation.wiring import evaluate
from tests.conftest import ROOT

FORMULAS = ["=1+1", "+1", "-1", "@x", "\tx", "\r=1", "\n=1", "'=1", "''-1", "a;=1", "a\n@b", "'", "it's", "", "x=1"]

OWN_WORDS = {"guarded_table", "index_parts", "measure_steps"}
"""Where a table holds the program's own words alone, among them differences with their sign; and the guard itself."""

words = st.text(st.sampled_from("'=+-@;\t\r\n,\"a é"), max_size=6)
names = words.map(lambda word: normal(word.strip())).filter(bool)


def risky(cell: str) -> bool:
    """Does a spreadsheet of any country take a part of the cell for a formula?"""
    return any(
        part[:1] in tuple("=+-@\t\r\n") for part in cell.replace("\t", ";").replace("\n", ";").split(";") if part
    )


@given(words)
def test_a_guarded_text_is_no_formula_and_comes_back(text: str) -> None:
    assert not risky(sheets.guard(text))
    assert sheets.unguard(sheets.guard(text)) == text


@given(st.lists(words, min_size=1, max_size=4))
def test_what_needs_no_guard_stays_as_it_is(cells: list[str]) -> None:
    for cell in cells:
        plain = cell.replace("'", "")
        if not risky(plain) and not set(plain) & set("\r\n\t"):
            assert sheets.guard(plain) == plain


def test_texts_and_names_are_guarded_and_numbers_are_not() -> None:
    table = pd.DataFrame({"=id": ["-1", "a"], "margin": [-0.5, np.nan], "n": [-3, 4], "right": [True, False]})
    assert sheets.guarded_csv(table) == "'=id,margin,n,right\n'-1,-0.5,-3,True\na,,4,False\n"
    mixed = pd.DataFrame({"value": pd.Series([-1, "=1", None], dtype=object)})
    assert sheets.guarded_csv(mixed) == 'value\n-1\n\'=1\n""\n'


@given(st.lists(words, min_size=1, max_size=5))
def test_a_table_comes_back_cell_by_cell(cells: list[str]) -> None:
    written = sheets.guarded_csv(pd.DataFrame({"id": range(len(cells)), "note": cells}))
    rows = list(csv.reader(io.StringIO(written, newline="")))[1:]
    assert [sheets.unguard(row[1]) for row in rows] == cells


@given(st.lists(words, min_size=1, max_size=5))
def test_the_command_lines_csv_is_exact(cells: list[str]) -> None:
    written = tables.exact_csv(pd.DataFrame({"id": range(len(cells)), "note": cells}))
    assert [row[1] for row in csv.reader(io.StringIO(written, newline=""))][1:] == cells


@pytest.mark.parametrize("label", FORMULAS)
def test_the_command_line_writes_labels_as_they_are(label: str) -> None:
    evaluation = evaluate(Dataset.from_arrays(np.eye(3), [label, label, "z"]), ks=(1,))
    written = list(csv.DictReader(io.StringIO(report.report_csv(evaluation), newline="")))
    assert normal(label) in written[0].values() or not label


@settings(max_examples=20)
@given(st.lists(st.tuples(names, names, words), min_size=1, max_size=4))
def test_tags_notes_and_judgements_come_back_exactly(tmp_path_factory: pytest.TempPathFactory, given_: list) -> None:
    here, there = tmp_path_factory.mktemp("here"), tmp_path_factory.mktemp("there")
    for item, tag, note in given_:
        if tag != triage.UNTAGGED:
            triage.set_tag("data", item, tag, folder=here)
        triage.set_note("data", item, normal(note), folder=here)
        if item != tag:
            triage.judge("data", item, tag, True, folder=here)
    spelled = triage_files.triage_csv(triage.marks("data", folder=here))
    if len(spelled.splitlines()) > 1:
        triage_files.read_triage_csv(spelled, "data", folder=there)
    columns = ["item", "other", "kind", "name", "value"]
    mine, theirs = (triage.marks("data", folder=folder)[columns] for folder in (here, there))
    assert mine.to_numpy().tolist() == theirs.to_numpy().tolist()
    for row in csv.reader(io.StringIO(spelled, newline="")):
        assert not any(map(risky, row))


def test_a_file_saved_again_by_a_spreadsheet_is_read(tmp_path: Path) -> None:
    text = "\ufeffitem;other;kind;name;value\r\n'=a;;note;;'=1+1\r\n"
    assert triage_files.read_triage_csv(text, "data", folder=tmp_path) == 1
    assert triage.marks("data", folder=tmp_path)[["item", "value"]].to_numpy().tolist() == [["=a", "=1+1"]]


def test_corrections_of_items_that_look_like_formulas_are_read(tmp_path: Path) -> None:
    ids = ["=a", "'=a", "-1", "b"]
    table = pd.DataFrame({"id": ids, "label": ["x", "x", "y", "y"]}, dtype="str")
    data = Dataset("data", table, {"id": "id", "label": "label"}, embeddings={"v": np.eye(4)})
    triage.judge("data", "=a", "-1", True, folder=tmp_path)
    triage.judge("data", "'=a", "b", True, folder=tmp_path)
    patch = triage_files.write_patch("data", folder=tmp_path)
    assert patch is not None
    assert patch.read_text(encoding="utf-8") == "query_id,gallery_id,grade\n'=a,'-1,1\n''=a,b,1\n"
    changed = evaluate(data, embeddings="v", relevant="label", corrections=str(patch), ks=(1,))
    relevant = changed.directions[0].relevance
    assert [np.split(relevant.pairs()[1], relevant.pairs()[0][1:-1])[row].tolist() for row in range(4)] == [
        *([1, 2], [0, 3], [0, 3], [1, 2])
    ]


def test_an_exported_zip_is_guarded_and_reads_back_the_same(tmp_path: Path) -> None:
    table = pd.DataFrame({"=id": FORMULAS, "label": FORMULAS[::-1]}, dtype="str").map(normal)
    data = Dataset("data", table, {"label": "label"}, embeddings={"v": np.eye(len(table))})
    back = load_upload([("data.zip", export_zip(data))], tmp_path / "mine")
    assert back.fingerprint == data.fingerprint
    (written,) = (tmp_path / "mine").rglob("metadata.csv")
    with written.open(encoding="utf-8", newline="") as stream:
        assert not any(risky(cell) for row in csv.reader(stream) for cell in row)
    export(data, tmp_path / "folder")  # what the command writes
    with (tmp_path / "folder" / "metadata.csv").open(encoding="utf-8", newline="") as stream:
        assert [row[0] for row in csv.reader(stream)][1:] == FORMULAS
    assert load(tmp_path / "folder").fingerprint == data.fingerprint


@pytest.mark.parametrize("path", sorted((ROOT / "pages").rglob("*.py")), ids=lambda path: path.stem)
def test_no_page_writes_a_table_that_is_not_guarded(path: Path) -> None:
    """Each table leaves through ``sheets``, and what a browser can save of a table on a page is guarded, too."""
    unguarded = {"table_csv", "ann_csv", "exact_csv", "report_csv", "to_csv"} | (
        set() if path.stem in OWN_WORDS else {"dataframe", "data_editor"}
    )
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            assert node.attr not in unguarded
