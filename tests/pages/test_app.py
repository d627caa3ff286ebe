"""The pages, run without a browser: what each shows on good, empty, saturated and broken data."""

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import cached
from recall_core.images import thumbnails
from tests.conftest import ROOT, SHARED, needs_shared

PAGES = ("start", "overview", "failures", "query", "compare")


@pytest.fixture(autouse=True)
def no_warning_of_a_bare_thread(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, logger="streamlit")


def run(page: str, **query: str) -> AppTest:
    """Open a page with an address; nothing may show a traceback."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.switch_page(f"pages/{page}/{page}.py")
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    """Everything that the page says in words."""
    kinds = (app.title, app.subheader, app.markdown, app.caption, app.info, app.warning, app.error, app.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def cards(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def write_set(root: Path, name: str, table: str) -> None:
    (root / name).mkdir()
    (root / name / "metadata.csv").write_text(table, encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("data", ["photo_patches", "glyphlab", "digits"])
def test_every_page_stands_from_an_empty_session(page: str, data: str) -> None:
    app = run(page, data=data)
    assert not app.error
    assert app.selectbox(key="data").value == data


@pytest.mark.parametrize("number", ["inf", "1e999", "nan", "-1", "9" * 5000, "٣", ""])
def test_numbers_in_an_address_that_are_none_are_passed_over(number: str) -> None:
    app = run("query", data="digits", q=number, seed=number, ks=number, k=number)
    assert not app.error
    assert app.number_input(key="q").value == 1
    assert app.number_input(key="seed").value == 0
    app.number_input(key="q").set_value(2).run()
    assert not app.error
    assert app.number_input(key="q").value == 2


def test_the_doors_show_live_numbers() -> None:
    photographs, lab = (metric.value for metric in run("start").metric[:2])
    assert photographs.endswith(" of 480")
    assert photographs != "480 of 480"
    assert lab == "60 of 60"


def test_the_labs_numbers_stand_on_the_cards() -> None:
    shown = cards(run("overview", data="glyphlab"))
    assert shown == {"R@1": "1.0000", "R@3": "1.0000", "R@5": "1.0000", "R@10": "1.0000", "mAP@5": "1.0000"}


def test_a_card_says_interval_and_hits() -> None:
    app = run("overview", data="glyphlab")
    assert app.metric[0].delta == "0.8865–1.0000"
    assert "60 of 60" in said(app)


def test_a_saturated_result_says_what_that_means_and_offers_something_harder() -> None:
    app = run("overview", data="glyphlab")
    assert "Every query finds a right picture first" in app.info[0].value
    app.button(key="harder_0").click().run()
    assert cards(app)["R@1"] == "0.9667"
    assert not app.info


def test_all_found_among_the_first_ten_is_not_all_found_first() -> None:
    app = run("overview", data="glyphlab", ks="10", query_images="corrupted_test.npy")
    assert cards(app)["R@10"] == "1.0000"
    assert not app.info


def test_a_split_that_tears_partners_apart_is_told_from_a_weak_encoder() -> None:
    app = run("overview", data="glyphlab", split="random")
    assert "What is missing are partners, not skill" in app.info[0].value
    assert "nothing relevant in the gallery" in app.warning[0].value


def test_asking_for_the_class_leaves_the_own_scene_out() -> None:
    app = run("overview", data="glyphlab")
    app.button(key="harder_1").click().run()
    assert app.selectbox(key="relevant").value == "orientation"
    assert app.selectbox(key="junk_same").value == "scene_id"
    assert cards(app)["R@1"] != "1.0000"


def test_a_result_with_nothing_right_says_so(own_root: Path) -> None:
    (own_root / "lone").mkdir()
    images = cached.dataset("digits").pictures
    assert images is not None
    rows = ["path,group,role"]
    for i in range(4):
        name = f"{i}.png"
        (own_root / "lone" / name).write_bytes(png(images[i]))
        rows.append(f"{name},g{i},{'query' if i < 2 else 'gallery'}")
    (own_root / "lone" / "metadata.csv").write_text("\n".join(rows), encoding="utf-8")
    app = run("overview", data="lone")
    assert "No query has anything right in the gallery" in app.info[0].value
    assert cards(app)["mAP@5"] == "undefined"
    assert "2 queries have no right picture (counted as missed)" in said(app)
    assert "nothing in the gallery is right" not in said(run("query", data="lone"))


def test_choosing_another_set_puts_what_depends_on_it_back() -> None:
    app = run("overview", data="glyphlab", split="leave-one-out", encoder="mean")
    assert app.selectbox(key="split").value == "leave-one-out"
    app.selectbox(key="data").set_value("photo_patches").run()
    assert not app.error
    assert app.selectbox(key="split").value == "by-view"
    assert app.selectbox(key="encoder").value == "raw"
    assert app.selectbox(key="relevant").value == "group_id"


def test_a_query_beyond_the_new_set_is_moved_inside() -> None:
    app = run("query", data="photo_patches")
    app.number_input(key="q").set_value(200).run()
    app.selectbox(key="data").set_value("glyphlab").run()
    assert not app.exception
    assert not app.error
    assert app.number_input(key="q").value <= 30


@pytest.mark.parametrize("page", PAGES)
def test_malformed_choices_fall_back_to_the_defaults(page: str) -> None:
    bad = {
        "encoder": "os:system",
        "split": "x",
        "k": "9999",
        "ks": "a",
        "seed": "-1",
        "lang": "xx",
    }
    app = run(page, **bad)
    assert not app.error
    assert app.selectbox(key="data").value == "photo_patches"
    assert app.selectbox(key="encoder").value == "raw"


@pytest.mark.parametrize("page", ["overview", "failures", "query", "compare", "leakage", "definitions", "index"])
@pytest.mark.parametrize("language", ["en", "hu"])
def test_a_set_that_is_not_here_is_named_and_no_other_ones_number_is_shown(page: str, language: str) -> None:
    app = run(page, data="shop-0a1b2c", split="leave-one-out", lang=language)
    assert "shop-0a1b2c" in app.error[0].value.replace("\\", "")
    assert app.title[0].value
    assert not app.metric
    assert not app.code
    assert not cards(app)
    assert app.selectbox(key="data").value == "shop-0a1b2c"
    assert app.query_params["data"] == "shop-0a1b2c"
    app.run()
    assert not app.metric


def test_a_set_that_is_not_here_is_left_by_choosing_another_or_by_the_upload() -> None:
    app = run("overview", data="shop-0a1b2c")
    app.selectbox(key="data").set_value("glyphlab").run()
    assert cards(app)["R@1"] == "1.0000"
    assert "shop-0a1b2c" not in app.selectbox(key="data").options
    app = run("overview", data="shop-0a1b2c")
    app.button(key="to_upload").click().run()
    assert app.title[0].value == "Recall Explorer"
    assert "shop-0a1b2c" in app.error[0].value.replace("\\", "")
    assert [button for button in app.button if button.label == "Read these files"]
    assert "480 pictures" not in said(app)


def test_a_folder_that_goes_while_its_page_is_open_is_said_to_be_gone(own_root: Path) -> None:
    write_set(own_root, "mine", "id,label\n")
    (own_root / "mine" / "metadata.csv").write_text("id,label\na,x\nb,x\n", encoding="utf-8")
    (own_root / "mine" / "embeddings.csv").write_text("id,e0,e1\na,1,0\nb,1,0\n", encoding="utf-8")
    app = run("overview", data="mine")
    assert not app.error
    shutil.rmtree(own_root / "mine")
    app.run()
    assert "mine is not here" in app.error[0].value
    assert not app.metric


def test_the_lesson_does_not_need_the_set_of_the_address() -> None:
    app = run("lesson", data="shop-0a1b2c")
    assert not app.error
    assert app.subheader[0].value.startswith("1 · ")


def test_a_filter_that_cannot_be_read_is_named_and_the_default_holds() -> None:
    app = run("overview", data="glyphlab", where="foo")
    assert "is not of the form" in said(app)
    assert "60 queries" in said(app)


def test_a_broken_table_is_explained_in_place(own_root: Path) -> None:
    write_set(own_root, "broken", "path,group\na.png\n")
    app = run("overview", data="broken")
    assert "metadata.csv line 2" in app.error[0].value.replace("\\", "")
    assert app.title[0].value == "Overview"
    assert app.selectbox(key="data").value == "broken"


def test_a_missing_picture_is_explained_in_place(own_root: Path) -> None:
    write_set(own_root, "gone", "path,group\na.png,1\nb.png,1\n")
    assert "a.png" in run("overview", data="gone").error[0].value
    assert not run("start", data="gone").error


def test_our_own_failure_is_calm_and_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_args: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(cached, "evaluation", fail)
    app = run("overview", data="glyphlab")
    assert "Something went wrong inside the explorer" in app.error[0].value
    assert "ZeroDivisionError" in app.code[0].value
    assert "secret detail" not in said(app)
    assert "secret detail" in caplog.text


def test_a_folder_outside_the_data_root_is_never_offered(
    own_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    write_set(outside, "theirs", "path,group\n")
    (own_root / "link").symlink_to(outside / "theirs")
    assert "link" not in cached.data_sets()
    for name in ("link", str(outside / "theirs"), "../../etc"):
        assert "is not here" in run("overview", data=name).error[0].value


def test_without_own_data_the_door_says_how_to_bring_some(own_root: Path) -> None:
    assert "metadata.csv" in said(run("start"))


def test_the_command_names_the_set_as_the_readme_does() -> None:
    assert run("overview", data="glyphlab").code[0].value == "python -m recall_core evaluate data/glyphlab"
    changed = run("overview", data="glyphlab", encoder="mean").code[0].value
    assert changed == "python -m recall_core evaluate data/glyphlab --encoder mean"


@pytest.mark.parametrize("page", PAGES)
def test_every_page_speaks_hungarian(page: str) -> None:
    app = run(page, lang="hu", data="glyphlab")
    titles = {
        "start": "Recall Explorer",
        "overview": "Áttekintés",
        "failures": "Tévesztések",
        "query": "Lekérdezés",
        "compare": "Összehasonlítás",
    }
    assert app.title[0].value == titles[page]


@needs_shared
@pytest.mark.parametrize("page", PAGES)
def test_product_photographs_go_all_the_way(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECALL_DATA_ROOT", str(SHARED / "data"))
    app = run(page, data="grocery", encoder="colour")
    assert not app.error
    if page == "overview":
        assert "324 queries, 81 pictures in the gallery" in said(app)


def png(picture: object) -> bytes:
    return thumbnails.png(picture)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def fresh_caches() -> Iterator[None]:
    """Data sets of one test must not be met in the next by name."""
    yield
    cached._dataset.clear()
