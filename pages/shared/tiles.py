"""Rows of an evaluation as tiles: what is said about a picture, and whether it is right."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pages.shared.components.gallery import PAGE_SIZE, Panel, Tile
from recall_core.datasets import Dataset
from recall_core.diagnosis import failures
from recall_core.evaluation import Direction, Evaluation
from recall_core.protocol import Filter, write_filter

from . import cached
from .words import _, number, plural

QUERY_SIZE = 320


def ranked(evaluation: Evaluation, direction: Direction, query: int, first: int, n: int) -> list[Tile]:
    """Make the tiles of one query's list, from position ``first`` (1-based)."""
    right = set(direction.relevance.relevant.of(query).tolist())
    listed = range(first - 1, min(first - 1 + n, direction.ranking.n_listed(query)))
    return [_answer(evaluation, direction, query, at, right) for at in listed]


def missed(evaluation: Evaluation, direction: Direction, query: int, k: int, n: int = 6) -> Panel | None:
    """Make the panel of right pictures after the first k, with their ranks; None where there are none.

    Those that the list beside it does not reach come first.
    """
    ranking = direction.ranking
    pairs = range(int(ranking.indptr[query]), int(ranking.indptr[query + 1]))
    beyond = [pair for pair in pairs if not 1 <= ranking.rank[pair] <= k]
    if not beyond:
        return None
    unseen_first = sorted(beyond, key=lambda pair: 1 <= ranking.rank[pair] <= ranking.depth)
    tiles = []
    for pair in unseen_first[:n]:
        row, rank = int(direction.split.gallery[ranking.position[pair]]), int(ranking.rank[pair])
        place = _("rank {n}").format(n=number(rank)) if rank else _("not found")
        label = f"{place}, {name_of(evaluation, row)}"
        tiles.append(Tile(cached.thumbnail(evaluation.dataset, row), label, place, right=True))
    heading = plural(
        "{n} right picture is not among the first {k}",
        "{n} right pictures are not among the first {k}",
        len(beyond),
        k=k,
    )
    return Panel(heading, tiles)


def asked(evaluation: Evaluation, direction: Direction, query: int, k: int) -> Panel:
    """Make the panel of the query itself, with what became of it."""
    row = int(direction.split.query[query])
    facts = facts_of(evaluation, direction, query)
    tile = Tile(
        cached.query_thumbnail(evaluation, row, QUERY_SIZE), _("Query {id}").format(id=facts["id"]), str(facts["id"])
    )
    return Panel(_("The query"), [tile], _fate(facts, evaluation, row, k), large=True)


def facts_of(evaluation: Evaluation, direction: Direction, query: int) -> Any:
    """Give what is known of one query: its row of ``evaluation.table``."""
    return evaluation.table.iloc[_table_row(evaluation, direction, query)]


def picked(evaluation: Evaluation, direction: Direction, query: int, rank: int) -> Panel:
    """Make the panel of a tile that the visitor picked, large, with its row of the table."""
    position = int(direction.ranking.top_position[query, rank - 1])
    row = int(direction.split.gallery[position])
    score = float(direction.ranking.top_similarity[query, rank - 1])
    is_right = position in direction.relevance.relevant.of(query)
    cells = [f"{column}: {value}" for column, value in evaluation.dataset.table.iloc[row].items() if value]
    tile = Tile(
        cached.thumbnail(evaluation.dataset, row, QUERY_SIZE),
        name_of(evaluation, row),
        short(str(evaluation.dataset.ids[row])),
        badge=str(rank),
        right=is_right,
    )
    return Panel(
        _("Rank {n}").format(n=rank), [tile], [_("similarity {s}").format(s=f"{score:.4f}"), *cells], large=True
    )


@dataclass(frozen=True)
class Failure:
    """A query that misses: where it is found, and its tile."""

    address: Mapping[str, str]
    tile: Tile


def worst(evaluation: Evaluation, k: int, n: int, where: Filter = ()) -> list[Failure]:
    """Show the first ``n`` queries that miss at k, the worst first; with ``where``, of those queries."""
    found, link = failures(evaluation, k, where=where), {"slice": write_filter(where)} if where else {}
    return [_failure(evaluation, facts, link) for facts in found.head(n).to_dict("records")]


def _failure(evaluation: Evaluation, facts: Mapping[Any, Any], link: Mapping[str, str]) -> Failure:
    if not facts["n_relevant"]:
        place = _("has no right one")
    elif facts["first_rank"]:
        place = _("found at rank {n}").format(n=number(facts["first_rank"]))
    else:
        place = _("never found")
    name = str(facts["id"])
    tile = Tile(cached.query_thumbnail(evaluation, facts["row"], 128), f"{name}, {place}", place, short(name))
    return Failure({"failure": f"{facts['direction']}:{facts['query'] + 1}", **link}, tile)


def sample(dataset: Dataset, first: int, n: int) -> list[Tile]:
    """Make plain tiles of the data set's rows, from position ``first`` (1-based)."""
    rows = range(first - 1, min(first - 1 + n, len(dataset)))
    return [Tile(cached.thumbnail(dataset, row), str(dataset.ids[row]), short(str(dataset.ids[row]))) for row in rows]


def short(name: str) -> str:
    """Leave the folders out of an id that is a path."""
    return name.rpartition("/")[2] or name


def name_of(evaluation: Evaluation, row: int) -> str:
    """Name a row by what decides whether it is right; under pairs of judgements, by its id."""
    column = evaluation.spec.relevant
    return str(evaluation.dataset.ids[row] if column is None else evaluation.dataset.table[column].iloc[row])


def _answer(evaluation: Evaluation, direction: Direction, query: int, at: int, right: set[int]) -> Tile:
    position = int(direction.ranking.top_position[query, at])
    row = int(direction.split.gallery[position])
    score = f"{direction.ranking.top_similarity[query, at]:.3f}"
    verdict = _("right") if position in right else _("wrong")
    name = name_of(evaluation, row)
    label = _("Rank {rank}, {verdict}, similarity {score}, {name}").format(
        rank=at + 1, verdict=verdict, score=score, name=name
    )
    return Tile(cached.thumbnail(evaluation.dataset, row), label, name, score, str(at + 1), position in right)


def _table_row(evaluation: Evaluation, direction: Direction, query: int) -> int:
    before = 0
    for other in evaluation.directions:
        if other is direction:
            break
        before += len(other.split.query)
    return before + query


def _fate(facts: Any, evaluation: Evaluation, row: int, k: int) -> list[str]:
    """Say what became of a query; the first line is the verdict."""
    column, among = evaluation.spec.relevant, _("among {n}").format(n=number(facts["n_gallery"]))
    named = [] if column is None else [f"{column}: {name_of(evaluation, row)}"]
    if facts["n_relevant"] == 0:
        return [_("✗ nothing in the gallery is right"), *named]
    rank, how_many = facts["first_rank"], plural("{n} right picture", "{n} right pictures", facts["n_relevant"])
    verdict = _("{mark} first right picture at rank {n}").format(mark="✓" if rank <= k else "✗", n=number(rank))
    return [
        verdict if rank else _("✗ no right picture was found"),
        f"{how_many} {among} · AP {facts['map']:.3f}",
        *named,
    ]


def prefetch(evaluation: Evaluation, neighbours: Iterable[tuple[str, int]]) -> None:
    """Make the thumbnails of neighbours, (direction, query), in the background: the next step finds them ready."""
    rows = []
    for name, query in neighbours:
        direction = evaluation.direction(name)
        split, top = direction.split, direction.ranking.top_position[query, :PAGE_SIZE]
        rows += [(int(split.query[query]), QUERY_SIZE), *((int(split.gallery[i]), 128) for i in top if i >= 0)]
    cached.warm(evaluation.dataset, rows)
