"""Compare, and the tabs of Overview, without a browser: runs, refusals, slices, files, and what is kept."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from pages.compare import run_table
from pages.overview import slice_tab
from pages.shared import cached, charts, words
from pages.shared.components import run_downloads, value_table
from pages.shared.keys import key
from recall_core import cli
from recall_core.datasets.dataset import load
from recall_core.diagnosis import chart_data, comparison
from recall_core.diagnosis import slicing as engine_slicing
from recall_core.evaluation.record import Evaluation
from recall_core.evaluation.wiring import evaluate
from recall_core.images import encoders
from recall_core.protocol import side_vectors
from tests.pages.test_app import cards, run, said

pytestmark = pytest.mark.filterwarnings("ignore:.*ScriptRunContext")


@pytest.fixture(scope="module")
def photos() -> Evaluation:
    return evaluate(load("photo_patches"))


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def test_two_encoders_are_compared_from_the_address() -> None:
    app = run("compare", data="photo_patches", runs="raw,gradient")
    assert not app.error
    assert app.button_group(key="runs_shown").value == ["raw", "gradient"]
    assert "python -m recall_core compare runs/raw runs/gradient" in app.code[0].value
    assert "From raw to gradient" in said(app)


def test_one_run_alone_is_no_comparison() -> None:
    assert "at least two" in run("compare", data="photo_patches", runs="raw").info[0].value


def test_names_that_are_not_there_fall_back() -> None:
    app = run("compare", data="photo_patches", runs="../../etc,os:system")
    assert not app.error
    assert app.button_group(key="runs_shown").value == ["raw", "colour"]


def test_other_queries_are_refused_with_the_reason_or_cut_to_the_common_ones(state: Path) -> None:
    some = (("photo", ("china",)),)
    evaluate(load("photo_patches"), where=some).save(state / "runs" / "part")
    app = run("compare", data="photo_patches", runs="raw,saved:part")
    assert "lacks" in app.error[0].value
    app.toggle(key="common").set_value(True).run()
    assert not app.error
    assert "common to all and compared" in app.warning[0].value


def test_a_saved_run_of_another_set_is_refused_with_the_reason(state: Path) -> None:
    evaluate(load("data/glyphlab")).save(state / "runs" / "lab")
    assert run("compare", data="photo_patches", runs="raw,saved:lab").error


def test_a_saved_run_opens_no_file_that_its_spec_names(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = state / "runs" / "theirs"
    evaluate(load("photo_patches")).save(folder)
    saved = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    for name in ("spec", "given"):
        saved[name] |= {"query_images": str(tmp_path / "secret.npy"), "encoder": "secret:encoder"}
    (folder / "report.json").write_text(json.dumps(saved), encoding="utf-8")
    opened: list[object] = []
    monkeypatch.setattr(side_vectors, "query_pictures", lambda _data, spec: opened.append(spec.query_images))
    monkeypatch.setattr(encoders, "import_encoder", opened.append)
    app = run("compare", data="photo_patches", runs="saved:theirs,raw")
    assert not app.error
    assert "Query " in said(app)
    assert opened == []


def test_a_run_behind_a_link_out_of_the_data_root_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(tmp_path / "root"))
    (tmp_path / "root").mkdir()
    evaluate(load("photo_patches")).save(tmp_path / "theirs")
    evaluate(load("photo_patches")).save(tmp_path / "root" / "ours")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "theirs")
    assert [folder.name for folder in run_table._saved()] == ["ours"]


def test_runs_that_differ_in_the_last_number_are_epochs() -> None:
    assert run_table.epochs(["saved:net-1", "saved:net-2", "saved:net-10"]) == [1, 2, 10]
    assert run_table.epochs(["saved:net-1", "saved:net-2"]) == []
    assert run_table.epochs(["a1", "a2", "b3"]) == []
    assert run_table.epochs(["raw", "mean", "a1"]) == []


def test_rank_moves_are_drawn_for_every_query_that_was_found(photos: Evaluation) -> None:
    compared = comparison.compare({"raw": photos, "colour": evaluate(load("photo_patches"), encoder="colour")})
    found = comparison.query_moves(compared, "recall@1")
    figure = charts.rank_moves(found, ("raw", "colour"), run_table.outcome_words())
    assert sum(point[0] for trace in figure.data for point in trace.customdata) == len(found)


def test_a_run_is_saved_once_and_then_offered() -> None:
    app = run("overview", data="glyphlab")
    app.text_input(key="run_name").set_value("my run / 1").run()
    app.button(key="save_run").click().run()
    assert (run_downloads.runs_folder() / "my-run-1" / "report.json").is_file()
    app.text_input(key="run_name").set_value("my run / 1").run()
    app.button(key="save_run").click().run()
    assert app.error[0].value.startswith("A run named ")
    assert app.error[0].value.endswith(" is kept already; choose another name.")
    assert words.plain("saved:my-run-1") in run("compare", data="glyphlab").button_group(key="runs_shown").options


@pytest.mark.parametrize("name", ["..", "///", "."])
def test_a_run_never_leaves_its_folder(name: str) -> None:
    app = run("overview", data="glyphlab")
    app.text_input(key="run_name").set_value(name).run()
    app.button(key="save_run").click().run()
    assert "a run needs a name" in app.error[0].value


def test_the_report_holds_no_place_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []
    real = run_downloads.report
    monkeypatch.setattr(run_downloads, "report", lambda *given: pages.append(real(*given)) or pages[-1])
    app = run("overview", data="glyphlab")
    folder = cached.data_sets()["glyphlab"]
    here_like = SimpleNamespace(dataset=cached.dataset("glyphlab"), folder=Path(folder), name="glyphlab")
    page = real(here_like, evaluate(load(folder)))
    assert "<!DOCTYPE html>" in page
    assert str(cached.ROOT) not in page
    assert not app.error


def test_overview_is_narrowed_by_the_filter_of_the_address(photos: Evaluation) -> None:
    whole, china = (
        cards(run("overview", data="photo_patches")),
        run("overview", data="photo_patches", slice="photo=china"),
    )
    found = engine_slicing.slices(photos, "photo", "recall@1").set_index("slice")
    assert float(cards(china)["R@1"]) == pytest.approx(found["value"]["china"], abs=1e-4)
    assert cards(china)["R@1"] != whole["R@1"]
    assert "Only 320 of 480 queries" in said(china)
    china.button(key="clear_slice").click().run()
    assert cards(china) == whole


@pytest.mark.parametrize("spelled", ["photo", "photo=nowhere", "no_such=1"])
def test_a_filter_that_cannot_be_read_is_said_and_all_are_shown(spelled: str) -> None:
    app = run("overview", data="photo_patches", slice=spelled)
    assert "⚠️" in said(app)
    assert "480 queries" in said(app)


@pytest.mark.parametrize("tab", ["slices", "curves", "nowhere"])
def test_each_tab_opens_from_the_address(tab: str) -> None:
    app = run("overview", data="photo_patches", tab=tab)
    assert not app.error
    assert ("Colour by" in [box.label for box in app.selectbox]) == (tab == "curves")
    assert ("Column" in [box.label for box in app.selectbox]) == (tab == "slices")


def test_points_of_the_map_know_their_row(photos: Evaluation) -> None:
    found = chart_data.pca_map(photos, 1)
    figure = charts.scatter(found.points, found.points["fate"], found.explained, hits=True)
    rows = sorted(int(point[0]) for trace in figure.data for point in trace.customdata)
    assert rows == sorted(found.points["row"])
    assert {trace.marker.symbol for trace in figure.data} == {"circle", "x"}


def test_slices_take_only_a_row_of_the_list_that_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, expected in [
        ({"row": 1, "stamp": "a"}, 1),
        ({"row": 1, "stamp": "b"}, None),
        ({"row": 9, "stamp": "a"}, None),
        ({"row": True, "stamp": "a"}, None),
        ("x", None),
    ]:
        monkeypatch.setattr(value_table.st, "session_state", {"slices": {"picked": given}})
        assert value_table.picked("slices", "a", 3) == expected


def test_small_slices_are_marked(photos: Evaluation) -> None:
    facts = engine_slicing.slices(photos, "photo", "recall@1").iloc[0].to_dict()
    assert "few" not in slice_tab._row(facts).cells[-1]
    assert "few" in slice_tab._row({**facts, "small": True}).cells[-1]
    assert isinstance(pd.DataFrame([facts]), pd.DataFrame)


def test_epochs_stand_in_the_order_of_their_numbers() -> None:
    assert run_table.in_order(["saved:e10", "saved:e02", "saved:e1"]) == ["saved:e1", "saved:e02", "saved:e10"]
    assert run_table.in_order(["raw", "mean", "colour"]) == ["raw", "mean", "colour"]


def test_epochs_are_told_at_whole_numbers() -> None:
    frame = pd.DataFrame({"run": ["e1", "e2", "e10"], "epoch": [1, 2, 10], "value": 0.5, "low": 0.4, "high": 0.6})
    assert list(charts.trend(frame, "R@1").layout.xaxis.tickvals) == [1, 2, 10]
    many = pd.concat([frame.iloc[:1]] * 30, ignore_index=True).assign(epoch=range(1, 31))
    assert charts.trend(many, "R@1").layout.xaxis.dtick == 3


def test_runs_that_are_no_epochs_are_told_how_to_be_named() -> None:
    app = run("compare", data="glyphlab", runs="raw,mean,orientation")
    assert "differ only in the number at their end" in said(app)


def test_the_command_gives_the_numbers_of_the_page(
    state: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = []
    for name in ("raw", "mean"):
        folders.append(str(state / "runs" / name))
        evaluate(load("data/glyphlab"), encoder=name).save(folders[-1])
    assert cli.main(["compare", *folders, "--json"]) == 0
    printed = capsys.readouterr().out
    shown: list[value_table.Row] = []
    monkeypatch.setattr(value_table, "show", lambda _name, _head, rows, **_more: shown.extend(rows))
    assert not run("compare", data="glyphlab", runs="saved:raw,saved:mean").error
    values = [row.value for row in shown if row.value is not None]
    assert len(values) == 4  # two runs, two differences
    numbers = re.findall(r"-?\d+\.\d+(?:e-\d+)?", printed)
    assert all(any(abs(value - float(other)) < 1e-9 for other in numbers) for value in values)


def test_each_k_leads_to_its_failures() -> None:
    app = run("overview", data="photo_patches", slice="photo=china")
    app.button(key="misses_5").click().run()
    assert app.session_state["k"] == "5"
    assert app.title[0].value == "Failures"


def test_values_of_the_map_lead_to_their_failures() -> None:
    app = run("overview", data="photo_patches", tab="curves")
    app.button_group(key=key("map_values", "fate")).set_value(["miss"]).run()
    assert "152 of these 152 drawn queries fail" in said(app)


def test_compare_shows_the_chosen_k_and_keeps_the_score_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[list[str]] = []
    real = value_table.show
    monkeypatch.setattr(
        value_table, "show", lambda name, head, rows, **more: heads.append(head) or real(name, head, rows, **more)
    )
    app = run("compare", data="photo_patches", runs="raw,gradient", k="5")
    assert heads[0][1:3] == ["R@5", "mAP"]
    assert app.code[0].value.endswith("--metric recall@5 map")
    app.selectbox(key="metric").set_value("map@k").run()
    app.segmented_control(key="k").set_value("10").run()
    assert app.selectbox(key="metric").value == "map@k"
    assert heads[-1][0] == "query"
    assert [head[1:4] for head in heads if head[0] == "run"][-1] == ["mAP@10", "R@10", "mAP"]
    assert not [option for option in app.selectbox(key="metric").options if option.endswith("@1")]


def test_a_saved_run_without_the_chosen_k_is_shown_at_another_and_that_is_said(state: Path) -> None:
    evaluate(load("photo_patches"), encoder="gradient", ks=(3, 7)).save(state / "runs" / "other")
    app = run("compare", data="photo_patches", runs="raw,saved:other", k="5")
    assert "k = 5; k = 3 is shown instead" in said(app)
    assert app.code[0].value.endswith("--metric recall@3 map")
    evaluate(load("photo_patches"), encoder="gradient", ks=(7,)).save(state / "runs" / "none")
    app = run("compare", data="photo_patches", runs="raw,saved:none")
    assert "no k in common" in said(app)
    assert app.code[0].value.endswith("--metric map")


def test_a_saved_run_is_named_where_it_lies(state: Path) -> None:
    evaluate(load("photo_patches"), encoder="gradient").save(state / "runs" / "mine")
    lines = run("compare", data="photo_patches", runs="raw,saved:mine").code[0].value.splitlines()
    assert lines[0].endswith("--save runs/raw")
    assert lines[1] == f"python -m recall_core compare runs/raw {state / 'runs' / 'mine'} --metric recall@1 map"
