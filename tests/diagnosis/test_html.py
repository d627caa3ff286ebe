"""The HTML report: it holds everything, asks for nothing, and no text of the data can break out of its place."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from recall_core import cli
from recall_core.datasets.dataset import Dataset, load
from recall_core.diagnosis import html, triage
from recall_core.diagnosis.failure_list import failures
from recall_core.evaluation import spelling
from recall_core.evaluation.record import Evaluation
from recall_core.evaluation.wiring import evaluate
from recall_core.images.image_set import Pictures
from recall_core.protocol.spec import Spec
from tests.conftest import DATA

if TYPE_CHECKING:
    from playwright.sync_api import Browser


EVIL = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"
VOID = {"meta", "img", "br", "path", "polygon", "polyline"}


class Reader(HTMLParser):
    """Collects tags, attributes and text, and checks that every tag is closed in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def photos() -> Evaluation:
    return evaluate(load("photo_patches"), Spec(data="photo_patches"))


@pytest.fixture(scope="module")
def written(photos: Evaluation) -> str:
    return html.html_page(photos, columns=["photo"])


def evil() -> Evaluation:
    """Every text that the data can bring is an attack."""
    n = 6
    table = pd.DataFrame(
        {
            "id": [f"{EVIL}{i}" for i in range(n)],
            EVIL: [EVIL, EVIL, f"{EVIL}x", f"{EVIL}x", "", ""],
            "kind": [EVIL, "a"] * 3,
        },
        dtype="str",
    )
    pictures = Pictures.from_array(np.random.default_rng(0).random((n, 8, 8)).astype(np.float32))
    data = Dataset(
        EVIL, table, {"id": "id", "label": EVIL}, pictures, {"given": np.random.default_rng(1).random((n, 2))}
    )
    return evaluate(data, Spec(data=EVIL, embeddings="given", ks=(1,)))


def test_the_numbers_are_those_of_the_evaluation(photos: Evaluation, written: str) -> None:
    text = " ".join(read(written).texts)
    for name, estimate in photos.scores.items():
        assert (
            f"{name} {spelling.spell_number(estimate.value)} {estimate.interval.low:.4f} – {estimate.interval.high:.4f}"
            in text
        )
    assert "480 queries" in text
    assert photos.given.to_command() in text
    assert photos.dataset.fingerprint in text


def test_the_worst_queries_are_shown_with_their_pictures(photos: Evaluation, written: str) -> None:
    found = failures(photos, 1)
    reader = read(written)
    assert f"{len(found)} queries miss; the 24 worst are shown." in " ".join(reader.texts)
    assert reader.tags.count("article") == html.N_WORST
    pictures = [value for name, value in reader.attributes if name == "src"]
    assert all(value.startswith("data:image/") for value in pictures)
    # Each query, the top of its list, and the best right answer, which stands further down in the worst ones.
    assert len(pictures) == html.N_WORST * (1 + html.N_TOP + 1)
    assert read(html.html_page(photos, n_worst=3)).tags.count("article") == 3


def test_nothing_is_fetched_and_nothing_runs(written: str) -> None:
    reader = read(written)
    assert "script" not in reader.tags
    assert "link" not in reader.tags
    assert not [value for name, value in reader.attributes if re.match(r"\s*(https?:|//|javascript:)", value)]
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert not re.search(r"@import|url\(", html.STYLE)
    assert ("content", "default-src 'none'; img-src data:; style-src 'unsafe-inline'") in reader.attributes


def test_no_text_of_the_data_becomes_markup() -> None:
    marks = pd.DataFrame(
        [{"item": f"{EVIL}0", "other": EVIL, "kind": kind, "name": EVIL, "value": EVIL} for kind in ("tag", "note")]
        + [{"item": f"{EVIL}0", "other": "", "kind": "tag", "name": EVIL, "value": "1"}]
    )
    text = html.html_page(evil(), columns=["kind", EVIL], marks=marks)
    reader = read(text)
    assert "script" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert all(value.startswith("data:") for name, value in reader.attributes if name == "src")
    assert EVIL in "".join(reader.texts)


def test_tags_stand_beside_their_query_and_in_a_table(photos: Evaluation, tmp_path: Path) -> None:
    first = failures(photos, 1)["id"][0]
    triage.set_tag("photo_patches", first, "label problem", folder=tmp_path)
    triage.set_note("photo_patches", first, "only sky", folder=tmp_path)
    triage.judge("photo_patches", first, "P000-0", True, folder=tmp_path)
    text = html.html_page(photos, marks=triage.marks("photo_patches", folder=tmp_path), n_worst=1)
    assert "<span class=tag>label problem</span>" in text
    words = " ".join(read(text).texts)
    for told in ("tag label problem", "note only sky", f"{first} P000-0 is in truth right"):
        assert told in words


def test_a_perfect_run_without_pictures_says_so() -> None:
    text = html.html_page(evaluate(Dataset.from_arrays(np.eye(2)[[0, 0, 1, 1]], list("aabb")), ks=(1, 3)))
    words = " ".join(read(text).texts)
    assert "None: every query that counts finds a right item at once." in words
    assert "no group column: each item is taken as independent" in words


def test_queries_without_anything_right_and_without_pictures_are_shown() -> None:
    text = html.html_page(evaluate(Dataset.from_arrays(np.eye(4) + 0.1, ["a", "a", "b", ""]), ks=(1,)))
    words = " ".join(read(text).texts)
    assert "nothing in the gallery is right" in words
    assert "no picture" in words


def test_queries_are_shown_with_the_pictures_they_ask_with() -> None:
    data = load(DATA / "glyphlab")
    spec = Spec(query_images=str(DATA / "glyphlab" / "corrupted_test.npy"))
    asked, clean = (html._asked(evaluate(data, one)) for one in (spec, Spec()))
    row = int(evaluate(data, spec).directions[0].split.query[0])
    assert asked(row) != clean(row)


def test_the_command_writes_the_same_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], written: str) -> None:
    out = tmp_path / "report.html"
    assert cli.main(["evaluate", "photo_patches", "--slices", "photo", "--html", str(out)]) == 0
    capsys.readouterr()
    assert out.read_text(encoding="utf-8") == written


def test_tags_come_into_the_file_only_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECALL_STATE_DIR", str(tmp_path))
    triage.set_note("glyphlab", "0", "a note of mine")
    for flags, there in (([], False), (["--tags"], True)):
        cli.main(["evaluate", str(DATA / "glyphlab"), "--html", str(tmp_path / "report.html"), *flags])
        assert ("a note of mine" in (tmp_path / "report.html").read_text(encoding="utf-8")) == there
    capsys.readouterr()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_without_network_shows_it(chromium: "Browser", written: str, tmp_path: Path, scheme: str) -> None:
    (tmp_path / "report.html").write_text(written, encoding="utf-8")
    context = chromium.new_context(offline=True, color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto((tmp_path / "report.html").as_uri())
    assert said == []
    assert page.evaluate("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 26)"
    assert dark == (scheme == "dark")
    context.close()
