"""The page on leakage, without a browser: its numbers are the engine's and the command line's, and they grow."""

import json
import shlex
from collections.abc import Callable
from functools import partial
from threading import Event

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import cached, seeds
from pages.shared.background import Job
from pages.shared.learner import leakage_charts, leakage_runs
from pages.shared.seeds import Seeds
from recall_core.cli import main
from recall_core.errors import DataError
from recall_core.experiments import leakage
from recall_core.experiments.leakage import draws, experiment, training
from tests.conftest import SHARED, needs_shared
from tests.pages.test_app import cards, run, said

QUERIES, SAME, TRAINING = experiment.LEAKAGE_PARTS


@pytest.fixture(autouse=True)
def few_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """All seeds are there at the first run, so that nothing depends on how fast the machine is."""
    monkeypatch.setattr(seeds, "N_FIRST", 8)
    monkeypatch.setattr(seeds, "WAIT_SECONDS", 60.0)
    monkeypatch.setattr(seeds, "N_ALL", 8)
    leakage_runs._seeds.clear()


def printed(app: AppTest, capsys: pytest.CaptureFixture) -> dict:
    """What the page's command prints, as JSON."""
    command = shlex.split(app.code[-1].value)
    assert command[:4] == ["python", "-m", "recall_core", "leakage"]
    assert main([*command[3:], "--json"]) == 0
    return json.loads(capsys.readouterr().out)["parts"]


@pytest.mark.parametrize("part", [QUERIES, TRAINING])
def test_the_command_has_the_seeds_of_the_cards_however_many_come_meanwhile(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    class Growing(Seeds):
        def table(self) -> pd.DataFrame:
            seen.append(len(seen) + 2)
            whole = super().table()
            return whole[whole["seed"] < seen[-1]]

    monkeypatch.setattr(leakage_runs, "Seeds", Growing)
    app = run("leakage", data="glyphlab", part=part)
    assert "2 of 8 draws" in said(app)
    assert app.code[-1].value.endswith("--seeds 2")


def mean(values: list[float]) -> str:
    return f"{draws.spread(values).mean:.4f}"


@pytest.mark.parametrize(("draw", "split"), [("random", "random"), ("grouped", "by-view")])
def test_the_toggle_shows_the_draws_that_the_command_prints(
    draw: str, split: str, capsys: pytest.CaptureFixture
) -> None:
    app = run("leakage", draw=draw)
    found = printed(app, capsys)["query-gallery"]["splits"][split]
    assert cards(app)["R@1, lost counts as missed"] == mean(found["recall@1"])
    assert cards(app)["R@1, lost is left out"] == mean(found["recall_evaluable@1"])
    n_lost = sum(found["n_lost"]) / 8
    assert cards(app)[f"Queries without partner, of {found['n_query'][0]}"] == f"{n_lost:.2f}"


def test_moving_the_toggle_moves_the_number_and_keeps_the_other_in_sight() -> None:
    app = run("leakage")
    at_random = app.metric[0].value
    app.segmented_control(key="draw").set_value("grouped").run()
    assert app.metric[0].value == "1.0000" != at_random
    assert app.metric[0].delta == f"random: {at_random}"


def test_the_training_part_shows_what_the_command_prints(capsys: pytest.CaptureFixture) -> None:
    app = run("leakage", part=TRAINING)
    assert "glyphlab\\_textured" in said(app)
    found = printed(app, capsys)["training"]
    for draw in ("random", "grouped"):
        app.segmented_control(key="draw").set_value(draw).run()
        shown = cards(app)
        assert shown["Learned: ridge"] == mean(found["draws"][draw]["ridge"])
        assert shown["Control: nothing fitted"] == mean(found["draws"][draw]["raw"])
        assert shown["Shuffled labels"] == mean(found["draws"][draw]["permuted"])
    assert f"**{found['gap']['mean']:+.4f}**" in said(app)
    assert f"higher in {found['gap']['n_positive']} of 8" in said(app)


def test_the_same_picture_twice_shows_what_the_command_prints(capsys: pytest.CaptureFixture) -> None:
    app = run("leakage", part=SAME)
    found = printed(app, capsys)["same-picture"]
    titles = ["Each finds itself", "Sees nothing", "Itself removed", "Another of its class", "Another view"]
    order = ["kept", "constant", "removed", "class", "apart"]
    assert cards(app) == {
        title: f"{found[case]['scores']['recall@1']['value']:.4f}" for title, case in zip(titles, order, strict=True)
    }
    assert app.segmented_control(key="draw").disabled


def test_the_sidebars_k_cuts_here_too(capsys: pytest.CaptureFixture) -> None:
    app = run("leakage", k="5", data="photo_patches", on="chosen")
    found = printed(app, capsys)["query-gallery"]["splits"]["random"]
    assert cards(app)["R@5, lost counts as missed"] == mean(found["recall@5"])


def test_the_draw_in_pictures_is_named_by_the_address_from_the_first_run_on() -> None:
    lost = draws.random_draw(draws.halves(experiment.lab()), 5).n_lost
    assert f"**{lost} of 30 queries have nothing right" in said(run("leakage", drawn="5"))
    assert "--split random --seed 5" in said(run("leakage", drawn="5"))
    pairs = len(training.train_and_compare(training.material(experiment.lab("textured")), 3).random.crossing)
    assert f"**{pairs} pairs cross the border**" in said(run("leakage", drawn="3", part=TRAINING))


def test_nothing_crosses_where_whole_groups_are_drawn() -> None:
    assert "No query has lost its partner" in said(run("leakage", draw="grouped"))
    assert "no scene\\_id is on both sides" in said(run("leakage", draw="grouped", part=TRAINING))


def test_the_lab_follows_the_sidebar_where_it_is_the_data_set_there(capsys: pytest.CaptureFixture) -> None:
    app = run("leakage", data="glyphlab", encoder="mean", draw="grouped")
    assert not [control for control in app.segmented_control if control.key == "on"]
    found = printed(app, capsys)["query-gallery"]["splits"]["by-view"]
    assert cards(app)["R@1, lost counts as missed"] == mean(found["recall@1"]) != "1.0000"


def test_own_data_take_any_column_for_group_and_label(capsys: pytest.CaptureFixture) -> None:
    app = run("leakage", data="photo_patches", on="chosen", part=TRAINING, label_column="photo")
    assert "--column label=photo" in app.code[-1].value
    found = printed(app, capsys)["training"]["draws"]["random"]
    assert cards(app)["Learned: ridge"] == mean(found["ridge"])


@pytest.mark.parametrize("part", [QUERIES, TRAINING])
def test_what_the_data_cannot_show_is_said_in_place_with_the_reason(part: str) -> None:
    app = run("leakage", data="digits", on="chosen", part=part)
    assert "These data cannot show this part" in app.warning[0].value
    assert "says the group" in app.warning[0].value
    assert not app.error


def test_a_fitted_encoder_is_refused_in_place() -> None:
    app = run("leakage", data="glyphlab", encoder="ridge")
    assert "fits its own" in app.warning[0].value


def test_a_malformed_address_gives_the_lab() -> None:
    app = run("leakage", draw="../x", part="7", on="/etc", drawn="-4", group_column="x")
    assert not app.error
    assert not app.warning
    assert "**glyphlab**" in said(app)
    assert app.number_input(key="drawn").value == 0


def test_the_page_speaks_hungarian() -> None:
    app = run("leakage", lang="hu")
    assert app.title[0].value == "Szivárgás"
    assert "véletlen" in app.metric[0].delta or "csoportos" in app.metric[0].delta


def test_an_address_says_the_same_in_every_language() -> None:
    app = run("leakage", lang="hu", part="training", draw="grouped")
    assert not app.warning
    assert app.segmented_control(key="part").value == "training"
    assert app.segmented_control(key="draw").value == "grouped"


@needs_shared
@pytest.mark.parametrize("part", [QUERIES, SAME, TRAINING])
def test_product_photographs_show_every_part(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(SHARED / "data"))
    app = run("leakage", data="grocery", on="chosen", part=part, encoder="colour")
    assert not app.error
    assert not app.warning
    assert len(app.metric) in (3, 4)


# Seeds that grow


def counted(asked: range) -> pd.DataFrame:
    return pd.DataFrame({"seed": list(asked)})


def grown(compute: seeds.Compute) -> tuple[Seeds, Callable[[], None]]:
    """Seeds of a job of their own, and what a page does that shows them."""
    many = Seeds(seeds.job(), compute)
    return many, lambda: many.job.watch(partial(seeds.more, compute))


def test_seeds_grow_in_order_to_the_last_one_and_then_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "N_ALL", 60)
    asked: list[range] = []
    many, watch = grown(lambda more: asked.append(more) or counted(more))
    watch()
    assert many.job.wait(60)
    assert many.table()["seed"].tolist() == list(range(60))
    n_call = len(asked)
    watch()
    assert many.job.over
    assert len(asked) == n_call
    assert max(map(len, asked)) <= seeds.LARGEST_CHUNK


def test_different_things_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "N_ALL", 60)
    order, go, waits = [], Event(), Job(seeds._line())

    def noted(name: str, asked: range) -> pd.DataFrame:
        order.append(name)
        return counted(asked)

    waits.watch(lambda _found, _tick: go.wait(60))
    first, watch_first = grown(partial(noted, "a"))
    second, watch_second = grown(partial(noted, "b"))
    watch_first()
    watch_second()
    go.set()
    assert first.job.wait(60)
    assert second.job.wait(60)
    assert order[:4] == ["a", "b", "a", "b"]


def test_what_the_computation_raises_reaches_the_page() -> None:
    def fails(asked: range) -> pd.DataFrame:
        raise DataError("seed 3: only the class 'a'")

    many, _watch = grown(fails)
    with pytest.raises(DataError, match="only the class"):
        seeds.begin(many)
    assert not len(many.table())


def test_a_failing_draw_is_said_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_given: object) -> pd.DataFrame:
        raise DataError("seed 3: the training draw holds only the class 'a'")

    monkeypatch.setattr(leakage, "trainings", fails)
    app = run("leakage", part=TRAINING)
    assert "only the class" in app.warning[0].value


# Charts


def test_a_strip_holds_each_seeds_value_and_the_shown_draw_stands_out() -> None:
    table = pd.DataFrame({"seed": [0, 1], "a": [0.1, 0.2], "b": [0.3, float("nan")]})
    figure = leakage_charts.strips({"random": table, "grouped": table}, {"a": "A", "b": "B"}, "grouped", "R@1")
    assert [trace.fillcolor == leakage_charts.HOLLOW for trace in figure.data] == [True, False]
    assert list(figure.data[0].x) == [0.1, 0.2, 0.3]
    assert list(figure.data[0].y) == ["A", "A", "B"]


def test_the_shown_draw_is_hatched_among_the_counts() -> None:
    table = pd.DataFrame({"n_lost": [10, 12, 12]})
    figure = leakage_charts.how_often({"random": table}, "n_lost", "random", 12, "lost", 200)
    assert list(figure.data[0].x) == [10, 12]
    assert list(figure.data[0].y) == [1, 2]
    assert list(figure.data[0].marker.pattern.shape) == ["", "/"]


def test_all_draws_stand_in_the_bars_of_the_chosen_encoders() -> None:
    counts = pd.DataFrame({"ridge": [3, 1], "raw": [0, 2], "tie": [0, 0]}, index=["random", "grouped"])
    figure = leakage_charts.winners(counts, {"ridge": "learned", "raw": "control", "tie": "tie"}, "random", 200)
    assert sum(sum(trace.x) for trace in figure.data) == 6


@pytest.fixture(autouse=True)
def fresh_data_sets() -> None:
    cached._dataset.clear()
