"""The page on indexes, without a browser: its numbers are the command line's, measured once and kept."""

import json
import re
import shlex
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from pages.index import index_charts, index_parts, index_runs
from pages.index.index_runs import Found
from pages.shared import cached
from pages.shared.background import Job
from recall_core import arrays
from recall_core.cli import main
from recall_core.errors import MissingDependency
from recall_core.experiments.index import experiment
from recall_core.experiments.index.kinds import configurations
from recall_core.protocol.spec import Spec
from tests.pages.test_app import cards, run, said

SAME_EACH_TIME = ["exact_recall@1", "recall@1", "exact_recall@10", "recall@10", "overlap"]
KEPT_ORDER = ["own_recall@1", "not_returned@10", "worse_rank@1"]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are there at the first run, so that nothing depends on how fast the machine is."""
    monkeypatch.setattr(index_runs, "WAIT_SECONDS", 120.0)


@pytest.fixture
def anew() -> Iterator[None]:
    """Nothing has been measured yet."""
    index_runs._job.clear()
    yield
    index_runs._job.clear()


@pytest.fixture(scope="module")
def small() -> Found:
    """An experiment on few made vectors with an index that looks into one list only, and so loses some."""
    tried = configurations(400, 8, ["ivf-flat:nlist=40,nprobe=1/40", "flat"])
    return Found.of(experiment.run_experiment(experiment.synthetic(400, 8, 80), tried=tried))


def printed(app: AppTest, capsys: pytest.CaptureFixture) -> dict:
    """What the page's command prints, as JSON."""
    command = shlex.split(app.code[-1].value)
    assert command[:4] == ["python", "-m", "recall_core", "ann"]
    assert main([*command[3:], "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "address",
    [
        {"data": "photo_patches"},
        {"data": "glyphlab", "encoder": "mean", "no_relevant": "exclude"},
        {"data": "glyphlab", "split": "random", "seed": "7"},
        {"vectors": "made", "size": "1000"},
    ],
    ids=lambda address: "-".join(address.values()),
)
def test_the_page_shows_what_the_command_prints(address: dict, capsys: pytest.CaptureFixture) -> None:
    app = run("index", **address)
    errors, costs, tried = (table.value for table in app.dataframe)
    found = printed(app, capsys)
    for name in SAME_EACH_TIME:
        assert errors[name].tolist() == [row[name] for row in found["test"]], name
        assert tried[name].tolist() == [row[name] for row in found["validation"]], name
    for name in KEPT_ORDER:
        assert costs[name].tolist() == [row[name] for row in found["test"]], name
    assert costs["index_bytes"].tolist() == [row["index_bytes"] / 2**20 for row in found["test"]]
    for row, told in zip(found["test"], errors["error@10"], strict=True):
        low = row["low@10"]
        ends = "" if low is None else f"[{low:+.4f}, {row['high@10']:+.4f}]"
        assert told.split(" ", 1) == [f"{row['difference@10']:+.4f}", ends]
    best = next(row for row in found["test"] if row["chosen"])
    assert f"**{best['name']}**" in said(app)
    assert cards(app)["Exact R@10: the vectors"] == f"{best['exact_recall@10']:.4f}"
    assert cards(app)["Index R@10"] == f"{best['recall@10']:.4f}"
    assert cards(app)["Index error: the difference"] == f"{best['difference@10']:+.4f}"


def test_the_slider_walks_along_what_was_measured_and_measures_nothing(
    anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = run("index", vectors="made", size="1000", index="ivf-flat")
    monkeypatch.setattr(experiment, "run_experiment", lambda *_given, **_more: pytest.fail("measured again"))
    tried = app.dataframe[2].value
    for nprobe in app.select_slider(key="nprobe").options:
        app.select_slider(key="nprobe").set_value(int(nprobe)).run()
        row = tried[tried["name"].str.contains(rf"ivf-flat.*nprobe={nprobe}$")].iloc[0]
        assert cards(app)["R@10"] == f"{row['recall@10']:.4f}"
        assert f"**{row['name'].strip('★ ')}**" in said(app)


def test_an_address_marks_a_configuration_from_the_first_run_on() -> None:
    app = run("index", data="photo_patches", index="ivf-pq", nprobe="4", measure="R@1")
    assert app.select_slider(key="nprobe").value == 4
    assert "R@1 against time" in said(app)
    assert "nprobe=4" in said(app)


def test_a_lost_query_opens_on_its_own_page() -> None:
    app = run("index", data="photo_patches", index="ivf-pq", nprobe="2")
    named = re.search(r"The lists of (\S+?)\*\*", said(app))
    assert named
    app.button(key="open").click().run()
    assert app.title[0].value == "Query"
    evaluation = cached.evaluation(cached.dataset("photo_patches"), Spec("photo_patches"))
    row = evaluation.directions[0].split.query[app.number_input(key="q").value - 1]
    assert str(evaluation.dataset.ids[row]) == named[1]


def test_a_malformed_address_gives_the_defaults() -> None:
    app = run("index", data="photo_patches", vectors="../x", size="1e9", index="annoy", efSearch="7", measure="R@99")
    assert not app.error
    assert app.segmented_control(key="vectors").value == "chosen"
    assert app.segmented_control(key="index").value == "hnsw"
    assert app.select_slider(key="efSearch").value in (16, 32, 64, 128, 256)


def test_an_index_that_compares_everything_has_no_slider_and_loses_nothing() -> None:
    app = run("index", data="photo_patches", index="flat")
    assert not app.select_slider
    assert "there is nothing to choose" in said(app)
    assert cards(app)["Lost at 10"] == "0"


def test_values_of_other_data_do_not_stay_on_the_slider() -> None:
    app = run("index", vectors="made", size="10000", index="ivf-flat", nprobe="64")
    assert app.select_slider(key="nprobe").value == 64
    app.segmented_control(key="vectors").set_value("chosen").run()
    app.selectbox(key="data").set_value("glyphlab").run()
    assert not app.exception
    assert not app.error
    assert app.select_slider(key="nprobe").value <= 8


def test_what_takes_long_begins_when_somebody_says_so(anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_runs, "SLOW_NUMBERS", 0)
    app = run("index", vectors="made", size="1000")
    assert not app.metric
    assert "ann --synthetic 1000x64" in app.code[-1].value
    app.button(key="measure").click().run()
    assert index_runs._job("made 1000").wait(120)
    app.run()
    assert cards(app)["Exact R@10: the vectors"]
    another = run("index", vectors="made", size="1000")
    assert cards(another) == cards(app)


def test_without_faiss_the_page_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingDependency("an approximate index needs faiss", extra="index")

    monkeypatch.setattr(index_parts, "import_faiss", missing)
    app = run("index", data="glyphlab")
    assert "an approximate index needs faiss" in app.error[0].value
    assert app.code[0].value == 'pip install "recall-explorer[index]"'
    assert not app.metric


def test_what_cannot_be_compared_is_said_in_place_and_tried_anew() -> None:
    for _again in range(2):
        app = run("index", data="glyphlab", similarity="dot")
        assert "cosines of vectors" in app.error[0].value
    app.selectbox(key="similarity").set_value("cosine").run()
    assert not app.error
    assert cards(app)["Exact R@10: the vectors"] == "1.0000"


def test_the_page_speaks_hungarian() -> None:
    app = run("index", data="photo_patches", lang="hu")
    assert "Mennyi hiba az indexé" in said(app)
    assert cards(app)["Az index hibája: a különbség"]
    assert "2 irány közül egyet mértünk" in said(app)


# What the parts are made of


def test_queries_that_only_the_index_loses_are_those_that_the_table_counts(small: Found) -> None:
    for trial, (_place, row) in zip(small.whole.trials, small.tried.iterrows(), strict=True):
        for k in (1, 10):
            counted = index_runs.lost(small, trial, k)["outcome"].value_counts()
            assert counted.get("not_returned", 0) == row[f"not_returned@{k}"]
            assert counted.get("worse_rank", 0) == row[f"worse_rank@{k}"]
    assert len(index_runs.lost(small, small.whole.trials[0], 10))


def test_a_lost_query_has_a_right_answer_in_the_exact_list_alone(small: Found) -> None:
    trial = small.whole.trials[0]
    exact = small.whole.exact.select(small.whole.validation)
    for query in index_runs.lost(small, trial, 10)["query"]:
        right = small.right(query)
        assert right & set(exact.top_position[query, :10].tolist())
        assert not right & set(trial.own.top_position[query, :10].tolist())


def test_the_chart_has_a_point_for_each_configuration_and_a_ring_around_one(small: Found) -> None:
    marked = small.tried.iloc[0]
    figure = index_charts.scatter(small.tried, "recall@10", "R@10", 0.9, marked["name"])
    points = {trace.name: trace for trace in figure.data}
    kinds = [points[kind] for kind in index_charts.KINDS]
    assert sum(len(trace.x) for trace in kinds) == len(small.tried)
    assert (points["marked"].x[0], points["marked"].y[0]) == (marked["milliseconds"], marked["recall@10"])
    assert figure.layout.shapes[0].y0 == 0.9
    front = points["Pareto front"]
    assert list(front.y) == sorted(front.y)


def test_it_is_said_where_comparing_everything_is_no_slower_than_the_chosen_index(small: Found) -> None:
    table = small.tested.assign(milliseconds=1.0)
    assert "does not pay" in index_parts._not_worth_it(replace(small, tested=table))[0]
    table.loc[table["index"] == "flat", "milliseconds"] = 2.0
    table["chosen"] = table["index"] != "flat"
    assert not index_parts._not_worth_it(replace(small, tested=table))


# Experiments in the background


def asked(compute: index_runs.Compute) -> index_runs.Asked:
    return index_runs.Asked("test", 100, 8, compute, "", {})


def test_one_experiment_at_a_time() -> None:
    first, second = Job(index_runs._line(), leave=True), Job(index_runs._line(), leave=True)
    begun, go_on = threading.Event(), threading.Event()

    def compute(_progress: arrays.PhaseTick) -> str:
        begun.set()
        go_on.wait(60)
        return "measured"

    first.watch(index_runs.work(asked(compute)))
    assert begun.wait(60)
    second.watch(index_runs.work(asked(lambda _progress: first.over)))
    go_on.set()
    assert second.wait(60)
    assert second.found is True


def test_progress_grows_step_by_step_to_the_whole() -> None:
    one, shares = Job(leave=True), []

    def compute(progress: arrays.PhaseTick) -> Found:
        def tell(step: str, done: int, total: int) -> None:
            progress(step, done, total)
            shares.append((one.share, one.seconds_left is None))

        return Found.of(experiment.run_experiment(experiment.synthetic(100, 8, 20), progress=tell))

    one.watch(index_runs.work(asked(compute)))
    assert one.wait(60)
    assert one.failure is None
    assert shares == sorted(shares, key=lambda told: told[0])
    assert shares[0] == (0.0, True)
    assert shares[-1] == (1.0, False)
