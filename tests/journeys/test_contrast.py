"""Every text of every chart stands out from what is behind it, in the light and in the dark."""

import io
import re
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from pages.shared import colours
from pages.shared.charts import HIT, MISS, STYLES
from tests.browser import ROOT, Server, open_page, settle, visit

playwright = pytest.importorskip("playwright.sync_api", reason="pip install -r tests/requirements.txt")
pytestmark = pytest.mark.filterwarnings("ignore:.*ScriptRunContext")

Page = playwright.Page
LEAST = 4.5
SHARE = 0.9
"""Of the pixels behind a text; a line that crosses it may take the rest."""

TEXTS = """(plot) => {
  const frame = plot.getBoundingClientRect();
  const opacity = (node) => node === plot ? 1 : Number(getComputedStyle(node).opacity) * opacity(node.parentNode);
  return [...plot.querySelectorAll('svg text')].map((text) => {
    const box = text.getBoundingClientRect(), look = getComputedStyle(text);
    return {
      said: text.textContent, fill: look.fill, opacity: opacity(text) * Number(look.fillOpacity),
      shown: look.visibility !== 'hidden' && look.display !== 'none',
      box: [box.left - frame.left, box.top - frame.top, box.right - frame.left, box.bottom - frame.top],
    };
  }).filter(({ said, shown, box }) => said.trim() && shown && box[2] > box[0] && box[3] > box[1]);
}"""
HIDE = "[data-testid=stPlotlyChart] text { visibility: hidden !important; } .modebar { display: none !important; }"

CHARTED = (
    *(
        "/overview?data=photo_patches",
        "/overview?data=photo_patches&tab=curves",
        "/compare?data=photo_patches",
        "/index",
    ),
    *(f"/lesson?step={step}" for step in (1, 2, 3, 4, 5, 6, 7, 8, 9, 11)),
    *("/leakage", "/leakage?part=training"),
)
"""Addresses with charts."""

ALL_DRAWS = re.compile(r"^[0-9]+ draws")
"""What Leakage says when its charts grow no more."""


def luminance(colours: np.ndarray) -> np.ndarray:
    parts = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return parts @ np.array([0.2126, 0.7152, 0.0722])


def faint(page: Page) -> Iterator[str]:
    """Name the texts of the charts on a page that cannot be read well."""
    for plot in page.locator("[data-testid=stPlotlyChart]").all():
        plot.scroll_into_view_if_needed()
        texts = plot.evaluate(TEXTS)
        style = page.add_style_tag(content=HIDE)
        seen = np.asarray(Image.open(io.BytesIO(plot.screenshot())).convert("RGB")) / 255
        style.evaluate("(node) => node.remove()")
        for text in texts:
            left, top, right, bottom = (max(0, round(edge)) for edge in text["box"])
            behind = seen[top:bottom, left:right].reshape(-1, 3)
            if not len(behind):
                continue
            fill = np.array([float(part) for part in text["fill"][4:-1].split(",")][:3]) / 255
            ink = luminance(fill * text["opacity"] + behind * (1 - text["opacity"]))
            other = luminance(behind)
            contrasts = (np.maximum(ink, other) + 0.05) / (np.minimum(ink, other) + 0.05)
            got = float(np.quantile(contrasts, 1 - SHARE))
            if got < LEAST:
                yield f"{text['said']}: {got:.2f}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_of_every_chart_can_be_read(app: Server, profiles: dict[str, object], scheme: str) -> None:
    for page in visit(profiles[scheme]):  # type: ignore[arg-type]
        found = []
        for address in CHARTED:
            open_page(page, app, address)
            page.locator("[data-testid=stPlotlyChart] svg.main-svg").first.wait_for()
            if address.startswith("/leakage"):
                page.get_by_text(ALL_DRAWS).first.wait_for()
            settle(page)
            found += [f"{address}: {text}" for text in faint(page)]
        assert not found


@pytest.mark.parametrize("fill", [*(style[0] for style in STYLES), HIT, MISS])
@pytest.mark.parametrize("opacity", [1.0, 0.35])
def test_the_ink_on_a_fill_can_be_read(fill: str, opacity: float) -> None:
    seen = colours._blend(fill, colours.BACKGROUNDS[colours.theme()], opacity)
    assert colours.contrast(colours.on(fill, opacity), seen) >= LEAST


def test_all_charts_are_drawn_with_ink_that_can_be_read() -> None:
    others = [path for path in (ROOT / "pages").rglob("*.py") if "plotly_chart(" in path.read_text("utf-8")]
    assert [path.name for path in others] == ["chart_downloads.py"]
