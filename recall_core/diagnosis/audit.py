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
from ..datasets import MISSING, Dataset, Pairs, bad_rows, zero_rows
from ..errors import DataError
from ..images import Looks, Pictures
from ..protocol import (
    AND,
    N_EXAMPLES,
    Finding,
    Listed,
    Phrase,
    Spec,
    Split,
    Value,
    find,
    name_rows,
    quoted,
    spell_value,
)
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
        return [find("groups_across", len(crossing), crossing, m=len(parts), column=column, groups=quoted(crossing))]


def _resolved(dataset: Dataset, spec: Spec) -> tuple[Spec | None, list[Finding]]:
    """The resolved spec; None, and a note, where the data have no rule of relevance yet."""
    notes = [find("reading", text=text) for text in dataset.notes]
    try:
        return protocol.resolve(dataset, spec), notes
    except DataError as error:
        if spec.relevant is not None or spec.relevant_pairs is not None or spec.split is not None or spec.where:
            raise
        return None, [*notes, find("not_evaluable", error=error.message)]


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
        rows = np.array(list(looks.problems))
        shown = name_rows(dataset.ids, rows, list(looks.problems.values()))
        found.append(find("unreadable_pictures:in_all", len(rows), dataset.ids[rows], m=len(dataset), rows=shown))
    flat = np.flatnonzero(looks.flat)
    if len(flat):
        ids = dataset.ids[flat]
        found.append(find("flat_pictures", len(flat), ids, m=len(dataset), ids=quoted(ids)))
    return found


def _vector_findings(dataset: Dataset, vectors: Array) -> list[Finding]:
    zero = zero_rows(vectors)
    if not len(zero):
        return []
    ids = dataset.ids[zero]
    return [find("zero_vectors", len(zero), ids, m=len(vectors), rows=name_rows(dataset.ids, zero))]


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


def _pair_findings(table: pd.DataFrame, tables: dict[str, Pairs], threshold: float, distance: int) -> list[Finding]:
    found = []
    limits: dict[str, dict[str, Value]] = {"cosine": {"threshold": threshold}, "hash": {"distance": distance}}
    for kind in ("content", "cosine", "hash"):
        pairs = table[table["kind"] == kind]
        if not len(pairs):
            continue
        crossing = pairs[pairs["across"] != ""]
        first = (crossing if len(crossing) else pairs).head(N_EXAMPLES)
        pair = "equal_pair" if kind == "content" else "near_pair"
        shown = [
            Phrase(pair, {"first": one, "second": other, "score": float(f"{score:.4g}")})
            for one, other, score in zip(first["first_id"], first["second_id"], first["score"], strict=True)
        ]
        n = len(pairs)
        said: dict[str, Value] = {
            "number": Phrase("at_least", {"n": n}) if tables[kind].cut else n,
            "pairs": Listed(tuple(shown), "; "),
            **limits.get(kind, {}),
        }
        examples = map(spell_value, shown)
        if len(crossing):
            found.append(find(f"duplicates_{kind}:across", n, examples, borders=_borders(crossing), **said))
        else:
            found.append(find(f"duplicates_{kind}", n, examples, **said))
    return found


def _borders(crossing: pd.DataFrame) -> Listed:
    """How many pairs cross each border, the most crossed first."""
    counts = crossing["across"].str.split("; ").explode().value_counts()
    known = {name: Phrase(name) for name in ("groups", "labels", "query and gallery")}
    both = {str(name): Listed(tuple(str(name).split(AND)), AND) for name in counts.index}
    crossed = {name: known.get(name, sides) for name, sides in both.items()}
    return Listed(tuple(Phrase("across", {"n": int(n), "border": crossed[str(name)]}) for name, n in counts.items()))


def _without_relevant(
    dataset: Dataset, spec: Spec | None, splits: tuple[Split, ...], findings: list[Finding]
) -> pd.DataFrame:
    """Queries with nothing relevant, and why; what the protocol finds besides is added to the findings."""
    rows: list[tuple[int, str, str, str]] = []
    for i, split in enumerate(splits):
        if spec is None:
            break
        relevance = protocol.relate(dataset, spec, split, reverse=i == 1)
        value = None if spec.relevant is None else dataset.values(spec.relevant, field="relevant")
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
        ids, near, times = hub_table["id"], duplicates.N_HUB, duplicates.HUB_TIMES
        found.append(find("hubs", len(ids), ids, m=n, near=near, times=times, ids=quoted(ids)))
    if len(label_table):
        ids = label_table["id"]
        found.append(find("labels", len(ids), ids, m=n, near=duplicates.N_LABEL, ids=quoted(ids)))
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
    both = list(other.items())[:N_EXAMPLES]
    shown = tuple(Phrase("numbered", {"query": own, "gallery": found}) for own, found in both)
    return [find("numbering", len(other), map(spell_value, shown), classes=Listed(shown, "; "))]


def _classes(dataset: Dataset, spec: Spec | None) -> pd.DataFrame:
    value = deciding_values(dataset, spec)
    cells = [] if value is None else [cell for cell in value if cell != MISSING]
    counts = pd.Series(cells, dtype="str").value_counts().rename_axis("value").reset_index(name="n")
    return counts.sort_values(["n", "value"], ascending=[False, True], ignore_index=True)


def _class_findings(classes: pd.DataFrame, spec: Spec | None) -> list[Finding]:
    if not len(classes):
        return []
    sizes, alone = classes["n"], int((classes["n"] == 1).sum())
    return [
        find(
            "class_sizes",
            len(classes),
            column=(spec.relevant if spec is not None else None) or Phrase("class"),
            least=int(sizes.min()),
            most=int(sizes.max()),
            median=float(sizes.median()),
            alone=alone,
        )
    ]


def _unreadable_table(dataset: Dataset, looks: Looks | None) -> pd.DataFrame:
    problems = {} if looks is None else looks.problems
    rows = [(row, str(dataset.ids[row]), why) for row, why in problems.items()]
    return pd.DataFrame(rows, columns=["row", "id", "reason"])


def deciding_values(dataset: Dataset, spec: Spec | None) -> NDArray[np.object_] | None:
    """Give the cells that decide relevance, else the group, else the label."""
    if spec is not None and spec.relevant is not None:
        return dataset.values(spec.relevant, field="relevant")
    group = dataset.role("group")
    return dataset.role("label") if group is None else group


def _step(progress: PhaseTick | None, name: str) -> Callable[[int, int], object] | None:
    return None if progress is None else lambda done, total: progress(name, done, total)
