"""Everything suspicious about a data set, as findings and as tables for a page; on the command line, ``audit``."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .. import datasets, images, protocol
from ..arrays import Array, IntArray, PhaseTick
from ..datasets import MISSING, Dataset, Pairs, bad_rows, some, zero_rows
from ..errors import DataError
from ..images import Looks, Pictures
from ..protocol import N_EXAMPLES, Finding, Spec, Split
from . import duplicates
from .duplicates import NEAR_COSINE, NEAR_DISTANCE

PAIR_COLUMNS = ("kind", "first", "second", "first_id", "second_id", "score", "across")


@dataclass(frozen=True, eq=False)
class Inspection:
    """What is suspicious about a data set.

    Parameters
    ----------
    findings : tuple of Finding
        One sentence each, with count and denominator.
    pairs : pandas.DataFrame
        ``kind`` (content, cosine, hash), ``first`` and ``second`` (rows of the table), ``first_id``, ``second_id``,
        ``score`` (1: the same), ``across`` (the borders that the pair crosses, in words; empty: none). Each pair stands
        once a kind, most alike first; nothing is said of clusters.
    hubs : pandas.DataFrame
        ``row``, ``id``, ``n`` (in how many items' first 10 places it stands).
    labels : pandas.DataFrame
        Labels that look wrong: ``row``, ``id``, ``label``, ``neighbours`` (what these agree on), ``score``.
    classes : pandas.DataFrame
        ``value``, ``n``: sizes of the classes that decide relevance.
    unreadable : pandas.DataFrame
        ``row``, ``id``, ``reason``: pictures that cannot be read.
    without_relevant : pandas.DataFrame
        ``row``, ``id``, ``direction``, ``reason``: queries with nothing relevant, and the rule that is to blame.
    beside : (n_label, n_near) intp
        For each row of ``labels`` the rows of the neighbours that contradict it, the nearest first.
    """

    findings: tuple[Finding, ...]
    pairs: pd.DataFrame
    hubs: pd.DataFrame
    labels: pd.DataFrame
    classes: pd.DataFrame
    unreadable: pd.DataFrame
    without_relevant: pd.DataFrame
    beside: IntArray

    def count_pairs(self) -> dict[str, int]:
        """How many pairs are there of each kind? Kinds without any are left out."""
        return {str(kind): int((self.pairs["kind"] == kind).sum()) for kind in self.pairs["kind"].unique()}


def inspect(
    dataset: Dataset,
    spec: Spec | None = None,
    *,
    threshold: float = NEAR_COSINE,
    distance: int = NEAR_DISTANCE,
    encoded: Array | None = None,
    progress: PhaseTick | None = None,
) -> Inspection:
    """What is suspicious about these data, before any number is believed?

    Parameters
    ----------
    spec : Spec, optional
        Decides rows, sides, relevance and vectors; what is open is filled as for ``evaluate``.
    threshold : float
        Cosine from which vectors are near-duplicates.
    distance : int
        Perceptual hashes (64 bits) that differ in at most so many bits are near-duplicates.
    encoded : (n_item, n_dim) array, optional
        What ``encode_dataset`` returned.
    progress : callable, optional
        Called with (step, done, in all).

    Returns
    -------
    Inspection
        Over all rows of the table, whatever the spec's ``where``: duplicates across train and test are looked for.

    Raises
    ------
    DataError
        A choice cannot be right. Data without any rule of relevance are inspected without it.
    """
    given = spec or Spec(data=dataset.name)
    resolved, findings = _resolved(dataset, given)
    looks = None if dataset.pictures is None else images.look(dataset.pictures, _step(progress, "pictures"))
    splits = () if resolved is None else protocol.directions(dataset, resolved)
    vectors = item_vectors(dataset, given, resolved, splits, encoded)
    usable = np.zeros(0, np.intp) if vectors is None else np.setdiff1d(np.arange(len(dataset)), bad_rows(vectors))
    tables, near, similarity = _compare(
        looks, vectors, usable, threshold=threshold, distance=distance, progress=_step(progress, "neighbours")
    )
    borders = _Borders(dataset, splits)
    findings += _naming_findings(dataset, resolved or given)
    findings += _picture_findings(dataset, looks)
    if vectors is not None:
        findings += _vector_findings(dataset, vectors)
    pairs_table = _pair_table(dataset, tables, borders)
    findings += _pair_findings(pairs_table, tables, threshold, distance)
    findings += borders.group_findings()
    without = _without_relevant(dataset, resolved, splits, findings)
    hub_table, label_table, beside = _neighbour_tables(dataset, resolved, usable, near, similarity)
    findings += _neighbour_findings(hub_table, label_table, len(usable))
    if vectors is not None and resolved is not None:
        findings += _numbering(dataset, resolved, splits, vectors)
    classes = _classes(dataset, resolved)
    findings += _class_findings(classes, resolved)
    unreadable = _unreadable_table(dataset, looks)
    return Inspection(tuple(findings), pairs_table, hub_table, label_table, classes, unreadable, without, beside)


def _compare(
    looks: Looks | None,
    vectors: Array | None,
    usable: IntArray,
    *,
    threshold: float,
    distance: int,
    progress: Callable[[int, int], object] | None,
) -> tuple[dict[str, Pairs], IntArray, NDArray[np.float64]]:
    """Pairs by kind, and each usable row's neighbours among the usable rows."""
    duplicates.check_threshold(threshold)
    tables: dict[str, Pairs] = {}
    if looks is not None:
        even = zip(looks.flat, looks.digest, strict=True)
        tables["content"] = datasets.same_content([None if flat else digest for flat, digest in even])
        tables["hash"] = duplicates.hash_pairs(looks, distance=distance)
    if vectors is None:
        return tables, np.zeros((0, 0), np.intp), np.zeros((0, 0))
    if looks is None:
        tables["content"] = datasets.same_content(datasets.row_digests(vectors))
    skip = None if looks is None else looks.flat[usable]
    near, similarity = duplicates.neighbours(vectors[usable], progress=progress)
    pairs = duplicates.near_pairs(vectors[usable], near, similarity, threshold=threshold, skip=skip)
    tables["cosine"] = Pairs(usable[pairs.first], usable[pairs.second], pairs.score, pairs.cut)
    return tables, near, similarity


@dataclass(frozen=True, eq=False)
class _Borders:
    """Borders that a duplicate should not cross: groups, sides, parts of the data."""

    dataset: Dataset
    splits: tuple[Split, ...]

    def across(self, first: IntArray, second: IntArray) -> list[str]:
        """For each pair of rows, in words, which borders it crosses."""
        words: list[list[str]] = [[] for _ in first]
        for role, name in (("group", "groups"), ("label", "labels"), ("split", "")):
            cells = self.dataset.role(role)
            if cells is None:
                continue
            for i, (a, b) in enumerate(zip(cells[first], cells[second], strict=True)):
                if a != b and MISSING not in (a, b):
                    words[i].append(name or " and ".join(sorted((a, b), reverse=True)))
        for i, crosses in enumerate(self._sides(first, second)):
            if crosses:
                words[i].append("query and gallery")
        return ["; ".join(some_words) for some_words in words]

    def _sides(self, first: IntArray, second: IntArray) -> NDArray[np.bool_]:
        crosses = np.zeros(len(first), bool)
        for split in self.splits:
            if split.query is not split.gallery and not np.array_equal(split.query, split.gallery):
                asks, answers = (np.isin(np.arange(len(self.dataset)), side) for side in (split.query, split.gallery))
                crosses |= (asks[first] & answers[second]) | (answers[first] & asks[second])
        return crosses

    def group_findings(self) -> list[Finding]:
        """Which groups lie in more than one part of the data, such as train and test?"""
        group, part = self.dataset.role("group"), self.dataset.role("split")
        if group is None or part is None:
            return []
        parts: dict[str, set[str]] = {}
        for name, value in zip(group, part, strict=True):
            if MISSING not in (name, value):
                parts.setdefault(name, set()).add(value)
        crossing = sorted(name for name, values in parts.items() if len(values) > 1)
        if not crossing:
            return []
        column = self.dataset.columns["split"]
        message = f"{len(crossing)} of {len(parts)} groups lie in more than one {column}: {some(crossing)}"
        return [Finding("groups_across", "warning", len(crossing), message, tuple(crossing[:N_EXAMPLES]))]


def _resolved(dataset: Dataset, spec: Spec) -> tuple[Spec | None, list[Finding]]:
    """The resolved spec; None, and a note, where the data have no rule of relevance yet."""
    notes = [protocol.note("reading", text) for text in dataset.notes]
    try:
        return protocol.resolve(dataset, spec), notes
    except DataError as error:
        if spec.relevant is not None or spec.relevant_pairs is not None or spec.split is not None or spec.where:
            raise
        return None, [*notes, protocol.note("not_evaluable", f"these data cannot be evaluated yet: {error}")]


def item_vectors(
    dataset: Dataset, given: Spec, resolved: Spec | None, splits: tuple[Split, ...], encoded: Array | None
) -> Array | None:
    """Give the vectors by which items are compared, (n_item, n_dim): nan where there is none; None without any."""
    spec = resolved or given
    if encoded is not None:
        return encoded
    if spec.embeddings in dataset.embeddings:
        return dataset.embeddings[spec.embeddings or ""]
    if spec.embeddings is None and (spec.scores is not None or dataset.pictures is None):
        return next(iter(dataset.embeddings.values()), None)
    everything = spec.replace(where=(), query_images=None, corrupt=None)
    if spec.embeddings is None:
        return (protocol.encode_unfitted if resolved is None else protocol.encode_dataset)(dataset, everything)
    if spec.gallery_embeddings is None:
        try:
            return protocol.table_vectors(dataset, everything)
        except DataError:
            if not splits:
                raise
    asked, answers, _ = protocol.vectors_of_sides(dataset, spec, splits, None)
    vectors = np.full(asked.shape, np.nan)
    vectors[splits[0].query], vectors[splits[0].gallery] = asked[splits[0].query], answers[splits[0].gallery]
    return vectors


def _naming_findings(dataset: Dataset, spec: Spec) -> list[Finding]:
    """Names that are one name to whoever reads them: values that look the same, one file spelled in two ways."""
    columns = dict.fromkeys([*dataset.columns.values(), spec.relevant, spec.junk_same])
    found = [
        finding
        for column in columns
        if column is not None and column in dataset.table
        for finding in protocol.look_alikes(column, dataset.values(column))
    ]
    cells = dataset.role("path")
    if cells is None:
        return found
    files = [os.path.normpath(_file(dataset.pictures, row, cell)) for row, cell in enumerate(cells)]
    return found + protocol.same_files(dataset.ids, cells, files)


def _file(pictures: Pictures | None, row: int, cell: str) -> str:
    """The file behind a row, where a reader has found it already, else as the table spells it."""
    if pictures is not None and isinstance(pictures.source, tuple):
        source = pictures.source[pictures.positions[row]]
        if isinstance(source, Path):
            return str(source)
    return cell.replace("\\", "/")


def _picture_findings(dataset: Dataset, looks: Looks | None) -> list[Finding]:
    if looks is None:
        return []
    found = []
    if looks.problems:
        shown = "; ".join(f"row {row + 1}: {why}" for row, why in list(looks.problems.items())[:N_EXAMPLES])
        message = f"{len(looks.problems)} of {len(dataset)} pictures cannot be read: {shown}"
        ids = tuple(str(dataset.ids[row]) for row in list(looks.problems)[:N_EXAMPLES])
        found.append(Finding("unreadable_pictures", "warning", len(looks.problems), message, ids))
    flat = np.flatnonzero(looks.flat)
    if len(flat):
        ids = tuple(map(str, dataset.ids[flat[:N_EXAMPLES]]))
        message = f"{len(flat)} of {len(dataset)} pictures are one colour all over, so nothing can be found by them"
        found.append(Finding("flat_pictures", "warning", len(flat), f"{message}: {some(dataset.ids[flat])}", ids))
    return found


def _vector_findings(dataset: Dataset, vectors: Array) -> list[Finding]:
    zero = zero_rows(vectors)
    if not len(zero):
        return []
    message = (
        f"{len(zero)} of {len(vectors)} vectors are zero: their cosine to everything is 0: {some(dataset.ids[zero])}"
    )
    return [Finding("zero_vectors", "warning", len(zero), message, tuple(map(str, dataset.ids[zero[:N_EXAMPLES]])))]


def _pair_table(dataset: Dataset, tables: dict[str, Pairs], borders: _Borders) -> pd.DataFrame:
    parts = []
    for kind in ("content", "cosine", "hash"):
        pairs = tables.get(kind)
        if pairs is not None and len(pairs):
            ids = (dataset.ids[pairs.first], dataset.ids[pairs.second])
            across = borders.across(pairs.first, pairs.second)
            columns = (np.full(len(pairs), kind, object), pairs.first, pairs.second, *ids, pairs.score, across)
            parts.append(pd.DataFrame(dict(zip(PAIR_COLUMNS, columns, strict=True))))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(PAIR_COLUMNS))


PAIR_WORDS = {
    "content": "pairs of items are exactly the same",
    "cosine": "pairs of vectors have a cosine of at least {threshold:g}",
    "hash": "pairs of pictures have perceptual hashes that differ in at most {distance} of 64 bits",
}
"""Kind of pair → what it says."""


def _pair_findings(table: pd.DataFrame, tables: dict[str, Pairs], threshold: float, distance: int) -> list[Finding]:
    found = []
    for kind, words in PAIR_WORDS.items():
        pairs = table[table["kind"] == kind]
        if not len(pairs):
            continue
        crossing = pairs[pairs["across"] != ""]
        more = "at least " if tables[kind].cut else ""
        message = f"{more}{len(pairs)} {words.format(threshold=threshold, distance=distance)}"
        if len(crossing):
            counts = crossing["across"].str.split("; ").explode().value_counts()
            message += ", of which " + ", ".join(f"{n} across {border}" for border, n in counts.items())
        first = (crossing if len(crossing) else pairs).head(N_EXAMPLES)
        shown = tuple(
            f"{a} {'=' if kind == 'content' else '≈'} {b} ({score:.4g})"
            for a, b, score in zip(first["first_id"], first["second_id"], first["score"], strict=True)
        )
        severity = "warning" if len(crossing) else "note"
        found.append(Finding(f"duplicates_{kind}", severity, len(pairs), f"{message}: {'; '.join(shown)}", shown))
    return found


def _without_relevant(
    dataset: Dataset, spec: Spec | None, splits: tuple[Split, ...], findings: list[Finding]
) -> pd.DataFrame:
    """Queries with nothing relevant, and why; what the protocol finds besides is added to the findings."""
    rows: list[tuple[int, str, str, str]] = []
    for i, split in enumerate(splits):
        if spec is None:
            break
        relevance = protocol.relate(dataset, spec, split, reverse=i == 1)
        value = None if spec.relevant is None else dataset.values(spec.relevant)
        reasons = protocol.reasons_without_relevant(split, relevance, value)
        for q in np.flatnonzero(reasons != ""):
            rows.append(
                (
                    int(split.query[q]),
                    str(dataset.ids[split.query[q]]),
                    split.name,
                    protocol.NO_RELEVANT_REASONS[reasons[q]],
                )
            )
        findings += protocol.queries_without_relevant(dataset.ids, split, relevance, value)
        findings += protocol.own_picture_kept(dataset.ids, split, relevance)
    return pd.DataFrame(rows, columns=["row", "id", "direction", "reason"])


def _neighbour_tables(
    dataset: Dataset, spec: Spec | None, usable: IntArray, near: IntArray, similarity: NDArray[np.float64]
) -> tuple[pd.DataFrame, pd.DataFrame, IntArray]:
    counts, found = duplicates.hub_counts(near), duplicates.hubs(near) if len(usable) else np.zeros(0, np.intp)
    rows = usable[found]
    hub_table = pd.DataFrame({"row": rows, "id": dataset.ids[rows], "n": counts[found]})
    value = deciding_values(dataset, spec)
    columns = ["row", "id", "label", "neighbours", "score"]
    if value is None or not len(usable):
        return hub_table, pd.DataFrame(columns=columns), np.zeros((0, 0), np.intp)
    wrong, other, score = duplicates.contradicted(near, similarity, value[usable])
    rows = usable[wrong]
    cells = (rows, dataset.ids[rows], value[rows], other, score)
    beside = usable[near[wrong, : duplicates.N_LABEL]]
    return hub_table, pd.DataFrame(dict(zip(columns, cells, strict=True))), beside


def _neighbour_findings(hub_table: pd.DataFrame, label_table: pd.DataFrame, n: int) -> list[Finding]:
    found = []
    if len(hub_table):
        message = (
            f"{len(hub_table)} of {n} items are hubs: each stands among the nearest {duplicates.N_HUB} of at least "
            f"{duplicates.HUB_TIMES} times its fair share of items: {some(hub_table['id'])}"
        )
        found.append(Finding("hubs", "note", len(hub_table), message, tuple(hub_table["id"].head(N_EXAMPLES))))
    if len(label_table):
        message = (
            f"{len(label_table)} of {n} labels look wrong: the nearest {duplicates.N_LABEL} neighbours agree on "
            f"another: {some(label_table['id'])}"
        )
        found.append(Finding("labels", "warning", len(label_table), message, tuple(label_table["id"].head(N_EXAMPLES))))
    return found


def _numbering(dataset: Dataset, spec: Spec, splits: tuple[Split, ...], vectors: Array) -> list[Finding]:
    """Numeric classes on both sides that mean different things."""
    value = deciding_values(dataset, spec)
    split = splits[0]
    if value is None or np.array_equal(split.query, split.gallery):
        return []
    bad = np.union1d(bad_rows(vectors), zero_rows(vectors))
    query, gallery = np.setdiff1d(split.query, bad), np.setdiff1d(split.gallery, bad)
    if not len(query) or not len(gallery):
        return []
    nearest = duplicates.nearest(vectors[query], vectors[gallery])
    other = duplicates.other_numbering(list(value[query]), list(value[gallery]), list(value[gallery[nearest]]))
    if not other:
        return []
    shown = tuple(f"query {own} → gallery {found}" for own, found in list(other.items())[:N_EXAMPLES])
    message = (
        f"{len(other)} classes are numbered otherwise among the queries than in the gallery, it seems: "
        f"{'; '.join(shown)}; give both sides the same names"
    )
    return [Finding("numbering", "error", len(other), message, shown)]


def _classes(dataset: Dataset, spec: Spec | None) -> pd.DataFrame:
    value = deciding_values(dataset, spec)
    cells = [] if value is None else [cell for cell in value if cell != MISSING]
    counts = pd.Series(cells, dtype="str").value_counts().rename_axis("value").reset_index(name="n")
    return counts.sort_values(["n", "value"], ascending=[False, True], ignore_index=True)


def _class_findings(classes: pd.DataFrame, spec: Spec | None) -> list[Finding]:
    if not len(classes):
        return []
    sizes, alone = classes["n"], int((classes["n"] == 1).sum())
    name = (spec.relevant if spec is not None else None) or "class"
    message = (
        f"{len(classes)} values of {name}, with {sizes.min()} to {sizes.max()} items, {sizes.median():g} in the middle"
    )
    return [protocol.note("class_sizes", f"{message}; {alone} with a single item", len(classes))]


def _unreadable_table(dataset: Dataset, looks: Looks | None) -> pd.DataFrame:
    problems = {} if looks is None else looks.problems
    rows = [(row, str(dataset.ids[row]), why) for row, why in problems.items()]
    return pd.DataFrame(rows, columns=["row", "id", "reason"])


def deciding_values(dataset: Dataset, spec: Spec | None) -> NDArray[np.object_] | None:
    """Give the cells that decide relevance, else the group, else the label."""
    if spec is not None and spec.relevant is not None:
        return dataset.values(spec.relevant)
    group = dataset.role("group")
    return dataset.role("label") if group is None else group


def _step(progress: PhaseTick | None, name: str) -> Callable[[int, int], object] | None:
    return None if progress is None else lambda done, total: progress(name, done, total)
