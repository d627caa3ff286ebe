"""What is suspicious about the data or the split, at the head of every page that shows a number from them."""

from collections.abc import Sequence

import streamlit as st

from pages.shared import cached, tiles
from pages.shared.frame.shell import quiet
from pages.shared.words import _, plain, plural
from pages.shared.words.engine_words import told
from recall_core.datasets import Dataset
from recall_core.evaluation import Evaluation
from recall_core.protocol import Finding

from . import gallery
from .gallery import Grid, Tile

SIGNS = {"error": "⛔", "warning": "⚠️", "note": "ℹ️"}
N_TILES = 8


def show(evaluation: Evaluation) -> None:
    """Show what makes the number doubtful; examples with their pictures, and mere notes, unfold."""
    findings(evaluation.dataset, evaluation.findings)


def findings(dataset: Dataset, found: Sequence[Finding]) -> None:
    """Show findings of any origin about a data set: those of an evaluation, of a training draw."""
    grave = [one for severity in ("error", "warning") for one in found if one.severity == severity]
    notes = [one for one in found if one.severity == "note"]
    for one in grave:
        show_one = st.error if one.severity == "error" else st.warning
        show_one(plain(told(one)), icon=SIGNS[one.severity])
    with_examples = [one for one in grave if one.examples]
    if not with_examples and not notes:
        return
    parts = []
    if with_examples:
        parts.append(_("Examples of what is suspicious"))
    if notes:
        parts.append(plural("{n} note on the data", "{n} notes on the data", len(notes)))
    unfolded = st.expander(" · ".join(parts), key="audit", on_change="rerun")
    if not unfolded.open:
        return  # pictures are made only for those who look
    with unfolded:
        for i, one in enumerate(with_examples):
            _examples(dataset, one, f"audit_{i}")
        for one in notes:
            quiet(plain(told(one)))


def _examples(dataset: Dataset, finding: Finding, key: str) -> None:
    st.markdown(f"**{plain(told(finding))}**")
    shown = [tile for example in finding.examples for tile in _pictures(dataset, finding, example)][:N_TILES]
    if shown and dataset.pictures is not None:
        gallery.show(shown, Grid(columns=N_TILES), key=key)
    else:
        quiet(plain(", ".join(finding.examples)))


def _pictures(dataset: Dataset, finding: Finding, example: str) -> list[Tile]:
    """Make the pictures of one example: of an item, of a pair of items, or of the first items of a group."""
    if finding.kind == "train_rows":
        return [_tile(dataset, int(example))]
    rows = {str(name): row for row, name in enumerate(dataset.ids)}
    ids = [example] if example in rows else example.split(" = ")
    if all(name in rows for name in ids):
        return [_tile(dataset, rows[name]) for name in ids]
    group = dataset.role("group")
    own = [] if group is None else [row for row, name in enumerate(group) if name == example]
    return [_tile(dataset, row, example) for row in own[:2]]


def _tile(dataset: Dataset, row: int, group: str = "") -> Tile:
    name = tiles.short(str(dataset.ids[row]))
    return Tile(cached.thumbnail(dataset, row), f"{group} {name}".strip(), group or name, name if group else "")
