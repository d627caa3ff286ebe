"""Judgements and ranked lists in other tools' forms: pairs, TREC qrels and run, ROxford's ground truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, setting
from .documents import read_json
from .sheets import unguard
from .tables import MISSING, SUFFIXES, normal, parse_number, read_table, read_text, some, split_lines

PROTOCOLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "easy": (("easy",), ("junk", "hard")),
    "medium": (("easy", "hard"), ("junk",)),
    "hard": (("hard",), ("junk", "easy")),
}
"""ROxford's protocols: name → which of its lists are relevant, and which are junk (Radenović et al., CVPR 2018)."""

DEFAULT_PROTOCOL = "medium"


@dataclass(frozen=True, eq=False)
class Judgements:
    """What somebody judged about pairs of a query and a gallery item.

    Parameters
    ----------
    query, gallery : list of n_pair text
        Ids.
    grade : (n_pair,) float64
        Above 0 is relevant.
    junk : (n_pair,) bool
        Neither right nor wrong: leaves the query's gallery.
    place : list of n_pair text
        Where the pair stands in the file, for messages.
    """

    query: list[str]
    gallery: list[str]
    grade: NDArray[np.float64]
    junk: NDArray[np.bool_]
    place: list[str]

    def turned(self) -> Judgements:
        """The same pairs with the other item asking."""
        return Judgements(self.gallery, self.query, self.grade, self.junk, self.place)


def read_judgements(path: Path, protocol: str | None = None, *, guarded: bool = False) -> Judgements:
    """Which pairs were judged, and how?

    Parameters
    ----------
    path : Path
        A table with the columns query_id, gallery_id and, if there, grade; a TREC qrels (query, 0, item, grade, apart
        by blanks) or pairs without grade (query, item); ROxford's ground truth as JSON.
    protocol : str, optional
        A key of ``PROTOCOLS``, for ROxford alone; medium by default.
    guarded : bool
        Do the ids of a table stand as ``sheets.guard`` writes them?

    Raises
    ------
    DataError
        Another form, or a grade that is not a number; the line is named.
    """
    if path.suffix.lower() == ".json":
        return _revisited_judgements(path, protocol)
    if protocol is not None:
        raise DataError(
            f"{setting('protocol', protocol)} belongs to ROxford's ground truth (.json), and {path.name} is not one"
        )
    first = next(iter(read_text(path).splitlines()), "")
    if path.suffix.lower() in (".csv", ".tsv") or (path.suffix.lower() in SUFFIXES and "query_id" in first):
        return _table_judgements(path, guarded)
    return _qrels_judgements(path)


def read_ground_truth(path: Path) -> tuple[list[str], list[str], list[dict[str, list[int]]]]:
    """Read ROxford's ground truth: names of the queries, names of the pictures, and each query's lists of positions.

    Raises
    ------
    DataError
        Not JSON, or without ``qimlist``, ``imlist`` and ``gnd`` of the right kinds.
    """
    content = read_json(path)
    if not isinstance(content, dict) or not {"qimlist", "imlist", "gnd"} <= set(content):
        raise DataError(f"{path.name} is not ROxford's ground truth; it needs qimlist, imlist and gnd")
    queries, items, lists = content["qimlist"], content["imlist"], content["gnd"]
    for name, names in (("qimlist", queries), ("imlist", items)):
        if not (isinstance(names, list) and all(isinstance(one, str) for one in names)):
            raise DataError(f"{path.name}: {name} must be a list of names")
    if not isinstance(lists, list) or len(lists) != len(queries):
        raise DataError(f"{path.name}: gnd must be a list with an entry for each of the {len(queries)} queries")
    for place, entry in enumerate(lists):
        for name in ("easy", "hard", "junk"):
            positions = entry.get(name, []) if isinstance(entry, dict) else None
            if not (isinstance(positions, list) and all(_is_position(p, len(items)) for p in positions)):
                raise DataError(
                    f"{path.name}: gnd entry {place + 1}: {name} must be a list of positions in imlist, "
                    f"0 to {len(items) - 1}"
                )
    return [normal(one) for one in queries], [normal(one) for one in items], lists


def qrels_text(judged: Iterable[tuple[str, str, int]]) -> str:
    """Spell judgements (query, item, grade) as TREC qrels, one a line."""
    return "".join(f"{_word(query)} 0 {_word(item)} {grade}\n" for query, item, grade in judged)


def run_text(
    query_ids: Sequence[str], gallery_ids: Sequence[str], position: ArrayLike, similarity: ArrayLike, tag: str
) -> str:
    """Spell ranked lists as a TREC run, ``query Q0 item rank score tag``.

    Parameters
    ----------
    position, similarity : (n_query, depth)
        As in ``Ranking.top_position`` and ``top_similarity``; −1 and nan where a list is shorter.

    Notes
    -----
    Scores are written in full, so that the lists read back in the same order, ties by gallery position. trec_eval
    orders tied items by their names, descending: its values may differ wherever items tie.
    """
    lines = []
    for query, items, scores in zip(query_ids, np.asarray(position), np.asarray(similarity), strict=True):
        for rank, (item, score) in enumerate(zip(items, scores, strict=True), 1):
            if item >= 0:
                lines.append(f"{_word(query)} Q0 {_word(gallery_ids[item])} {rank} {float(score)!r} {_word(tag)}\n")
    return "".join(lines)


def _table_judgements(path: Path, guarded: bool) -> Judgements:
    table = read_table(path)
    for column in ("query_id", "gallery_id"):
        if column not in table:
            raise DataError(f"{path.name} has no column {column}; judgements are query_id, gallery_id and grade")
    places = [f"{path.name} line {line}" for line in range(2, len(table) + 2)]
    cells = table["grade"] if "grade" in table else ["1"] * len(table)
    query, gallery = (
        list(map(unguard, table[name]) if guarded else table[name]) for name in ("query_id", "gallery_id")
    )
    return _judgements(query, gallery, cells, places)


def _qrels_judgements(path: Path) -> Judgements:
    lines = split_lines(path)
    width = len(lines[0][1]) if lines else 0
    if width not in (2, 4):
        raise DataError(
            f"{path.name} line {lines[0][0] if lines else 1}: {width} words; judgements are a table with query_id, "
            "gallery_id and grade, or TREC qrels: query, 0, item and grade, apart by blanks"
        )
    for line, words in lines:
        if len(words) != width:
            raise DataError(f"{path.name} line {line}: {len(words)} words where the first line has {width}")
    item, grade = (1, None) if width == 2 else (2, 3)
    cells = ["1" if grade is None else words[grade] for _, words in lines]
    places = [f"{path.name} line {line}" for line, _ in lines]
    return _judgements([words[0] for _, words in lines], [words[item] for _, words in lines], cells, places)


def _judgements(query: list[str], gallery: list[str], cells: Iterable[str], places: list[str]) -> Judgements:
    """Check ids and grades; the same pair judged twice must be judged alike."""
    grades = np.array([_grade(cell, place) for cell, place in zip(cells, places, strict=True)], dtype=np.float64)
    seen: dict[tuple[str, str], float] = {}
    for q, g, grade, place in zip(query, gallery, grades, places, strict=True):
        if MISSING in (q, g):
            raise DataError(f"{place}: an id is empty; name the query and the gallery item, or drop the line")
        if seen.setdefault((q, g), grade) != grade:
            raise DataError(f"{place}: the pair {q!r}, {g!r} is judged {grade:g}, before {seen[q, g]:g}; keep one")
    return Judgements(query, gallery, grades, np.zeros(len(query), bool), places)


def _grade(cell: str, place: str) -> float:
    try:
        grade = parse_number(cell)
    except ValueError:
        grade = np.nan
    if not np.isfinite(grade):
        shown = "empty" if cell == MISSING else repr(cell)
        raise DataError(f"{place}: grade is {shown}; write a number, above 0 for relevant")
    return grade


def _revisited_judgements(path: Path, protocol: str | None) -> Judgements:
    name = protocol or DEFAULT_PROTOCOL
    if name not in PROTOCOLS:
        raise DataError(f"{setting('protocol', name)}: no such protocol; choose one of {', '.join(PROTOCOLS)}")
    queries, items, lists = read_ground_truth(path)
    query: list[str] = []
    gallery: list[str] = []
    junk: list[bool] = []
    for asked, entry in zip(queries, lists, strict=True):
        for is_junk, kinds in enumerate(PROTOCOLS[name]):
            positions = [p for kind in kinds for p in entry.get(kind, [])]
            query += [asked] * len(positions)
            gallery += [items[p] for p in positions]
            junk += [bool(is_junk)] * len(positions)
    left_out = np.array(junk, dtype=bool)
    return Judgements(query, gallery, np.where(left_out, 0.0, 1.0), left_out, [path.name] * len(query))


def _is_position(value: object, n: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < n


def _word(name: str) -> str:
    if not name or len(name.split()) != 1 or name.split()[0] != name:
        raise DataError(f"{some([name])} cannot stand in a TREC file, whose words are apart by blanks; rename the item")
    return name
