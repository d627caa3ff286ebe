"""The certified pass: a float32 product settles nearly every comparison, exact similarities the rest.

A block of queries meets the gallery tile by tile. Each step is certified by the *slack*: an item whose float32 product
lies further than that from a relevant item's exact similarity is surely above or below it; only items inside this band
are compared exactly. So the counts equal those of exact similarities, whatever the BLAS, the threads or the tile sizes.

1. ``open_block``: a sample of the gallery gives each query a threshold that a few more than ``top`` items pass. A
   relevant item is *shallow* if everything that could rival it passes, else *deep*.
2. ``scan``: on each tile while it is hot in cache, count what is above each deep item, settle what is in its band,
   keep what passes the threshold: the *survivors*.
3. ``close_block``: sort the survivors once; shallow counts and the top are read off.
4. Queries that a float32 product cannot serve (floods of ties, an outlier that makes the slack huge) are ranked from
   exact similarities, by the plain rule: ``stretch.rank_row``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import OpenBLASController, threadpool_limits

from ..arrays import BoolArray, Float32Array, FloatArray, IntArray
from .arithmetic import Run, row_slices
from .similarity import Vectors, bands, coarse_query, exact_block, exact_pairs
from .stretch import Asked, Part, ranges, rank_row, top_of_row

Counts = NDArray[np.int32]
Keys = NDArray[np.uint64]
Best = tuple[IntArray, IntArray, IntArray, FloatArray]  # query, place in its list, gallery row, similarity


@dataclass(frozen=True)
class Sizes:
    """How the work is cut; the result does not depend on it.

    Parameters
    ----------
    block, tile : int
        Queries and gallery items of one product. A tile of at most 2040 items is counted in one reduction, eight
        columns a word and at most 255 words.
    window : int
        Rows of a tile compared at a time, at most 255, so that they and their mask stay in the second-level cache.
    sample : int
        Gallery items that the threshold is drawn from.
    slots : int
        Up to so many deep items, a query compares the tile with each; beyond, its row of the tile is sorted.
    """

    block: int = 1024
    tile: int = 1984
    window: int = 128
    sample: int = 512
    slots: int = 8


@dataclass(eq=False)
class Block:
    """A block of queries on its way through a stretch of the gallery.

    The queries stand in an order of their own, so that those with as many deep items are neighbours; ``order[place]``
    is the query. Queries with more deep items than ``Sizes.slots`` stand behind the others. Pairs stay in the caller's
    order.

    Parameters
    ----------
    slack, threshold : (n_query,), by place
    unfiltered : (n_query,) bool, by place
        Queries that the product cannot serve; nothing passes their threshold.
    place : (n_pair,) intp
        Where the query of each pair stands.
    high, low : (n_pair,) float32
        The band around the relevant item: a product above ``high`` is surely above it, one below ``low`` surely below.
    deep : (n_pair,) bool
    slots : list of (n_place,) intp
        Slot ``j`` holds the ``j``-th deep pair of each query that has one; these are the first places.
    many : list of (place, pairs)
        The deep pairs of the queries that have too many for slots.
    own_at : (n_pair,) intp
        Column of the relevant item in the pass, −1 if it is not in the stretch.
    junk_at : (n_junk,) intp
        Columns of the junk, ascending; ``junk_place`` says whose.
    """

    asked: Asked
    query: Vectors
    start: int
    order: IntArray
    slack: FloatArray
    threshold: Float32Array
    unfiltered: BoolArray
    place: IntArray
    high: Float32Array
    low: Float32Array
    deep: BoolArray
    slots: list[IntArray]
    many: list[tuple[int, IntArray]]
    part: Part
    own_at: IntArray = field(init=False)
    junk_at: IntArray = field(init=False)
    junk_place: IntArray = field(init=False)
    survivors: list[tuple[Counts, Counts, Float32Array]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)


def part_of(
    query: Vectors,
    gallery: Vectors,
    asked: Asked,
    *,
    start: int,
    top: int,
    sizes: Sizes,
    tick: Callable[[], object] = int,
) -> Part:
    """What a stretch of the gallery, from position ``start`` on, adds to the ranking of a block of queries.

    A function of its arguments alone, so any executor may run it; ``merge`` puts stretches together. ``tick`` is called
    after each tile; what it raises ends the pass.
    """
    block = open_block(query, gallery, asked, start=start, top=top, sizes=sizes)
    queries, rows = asking(block, gallery), np.arange(len(gallery))
    buffer = np.empty((len(query), min(sizes.tile, len(gallery))), np.float32)
    for at in row_slices(len(gallery), sizes.tile):
        tile = buffer[:, : at.stop - at.start]
        np.matmul(queries, gallery.coarse.matrix[at].T, out=tile)
        scan(block, gallery, tile, at, rows, window=sizes.window)
        tick()
    return close_block(block, gallery, top=top)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread in each of our own; the limit holds for the process, so the last to leave takes it back."""
    global _limit, _n_inside
    with _limit_lock:
        _n_inside += 1
        if _limit is None:
            # Else threadpoolctl obeys, silently, only the thread that was the first to set a limit in this process.
            OpenBLASController.clear_controlling_thread(force=True)
            _limit = threadpool_limits(1, user_api="blas")
    try:
        yield
    finally:
        with _limit_lock:
            _n_inside -= 1
            if _n_inside == 0 and _limit is not None:
                OpenBLASController.clear_controlling_thread(force=True)
                _limit.restore_original_limits()
                _limit = None


_limit: threadpool_limits | None = None
_n_inside = 0
_limit_lock = Lock()


def parts_of_self(
    vectors: Vectors,
    asked: Sequence[Asked],
    *,
    top: int,
    sizes: Sizes,
    run: Run = map,
    tick: Callable[[], object] = int,
) -> Iterator[Part]:
    """The part of each block where the queries are the gallery: half the products, each serving its rows and columns.

    The blocks ask from row 0 on, in order. ``run`` maps a function over block numbers and yields the results in order,
    at the same time if it likes; a block is closed once it and those before it have met all that come after.
    """
    starts = np.cumsum([0, *(one.n_query for one in asked)])

    def opened(b: int) -> Block:
        query = vectors.take(slice(starts[b], starts[b + 1]))
        return open_block(query, vectors, asked[b], start=0, top=top, sizes=sizes)

    blocks = dict(enumerate(run(opened, range(len(asked)))))
    rows = np.concatenate([starts[b] + block.order for b, block in blocks.items()])
    matrix = vectors.coarse.matrix[rows]
    column_of = np.empty_like(rows)
    column_of[rows] = np.arange(len(rows))
    for block in blocks.values():
        locate(block, column_of)

    def meet_later_blocks(b: int) -> int:
        queries = asking(blocks[b], vectors)
        buffer = np.empty((len(queries), sizes.block), np.float32)
        for other in range(b, len(asked)):
            at = slice(starts[other], starts[other + 1])
            tile = buffer[:, : at.stop - at.start]
            np.matmul(queries, matrix[at].T, out=tile)
            scan(blocks[b], vectors, tile, at, rows, window=sizes.window)
            if other != b:
                mine = slice(starts[b], starts[b + 1])
                scan(blocks[other], vectors, tile, mine, rows, window=sizes.window, by_column=True)
            tick()
        return b

    for b in run(meet_later_blocks, range(len(asked))):
        yield close_block(blocks.pop(b), vectors, top=top)  # no later block asks for it


def open_block(query: Vectors, gallery: Vectors, asked: Asked, *, start: int, top: int, sizes: Sizes) -> Block:
    """Thresholds from a sample of the gallery, the bands of the relevant items, and the order of the queries."""
    coarse, slack = coarse_query(query, gallery)
    owner = asked.query
    low, high = bands(asked.own, slack[owner], gallery)
    unfiltered = ~(slack < _HOPELESS)
    sample = _finite(coarse, slack) @ gallery.coarse.matrix[_sample_rows(len(gallery), sizes.sample)].T
    n_relevant = len(owner) // max(asked.n_query, 1)
    threshold = _thresholds(sample, len(gallery), max(top, min(n_relevant, len(gallery) // 32)))
    # Whatever could rival a shallow item has a product ≥ low > threshold, so it survives.
    deep = ~(low > threshold[owner])
    unfiltered |= _flooded(sample, owner, high, low, deep)
    threshold[unfiltered] = np.inf
    deep &= ~unfiltered[owner]

    n_deep = np.bincount(owner[deep], minlength=asked.n_query)
    order = np.lexsort((-n_deep, n_deep > sizes.slots))
    place_of = np.empty_like(order)
    place_of[order] = np.arange(len(order))
    pairs = np.flatnonzero(deep)
    pairs = pairs[np.argsort(place_of[owner[pairs]], kind="stable")]
    deep_of = np.split(pairs, np.cumsum(n_deep[order])[:-1])
    n_few = int((n_deep <= sizes.slots).sum())
    n_in_slot = [int((n_deep[order[:n_few]] > slot).sum()) for slot in range(sizes.slots)]
    block = Block(
        asked=asked,
        query=query,
        start=start,
        order=order,
        slack=slack[order],
        threshold=threshold[order],
        unfiltered=unfiltered[order],
        place=place_of[owner],
        high=high,
        low=low,
        deep=deep,
        slots=[np.array([pair[slot] for pair in deep_of[:n]], np.intp) for slot, n in enumerate(n_in_slot) if n],
        many=[(place, deep_of[place]) for place in range(n_few, len(order))],
        part=Part.empty(len(owner), asked.n_query, 0),
    )
    locate(block, np.arange(len(gallery)))
    return block


def asking(block: Block, gallery: Vectors) -> Float32Array:
    """The block's side of the float32 product, by place."""
    return _finite(*coarse_query(block.query, gallery))[block.order]


def locate(block: Block, column_of: IntArray) -> None:
    """Tell the block in which column of the pass each row of the gallery comes."""
    asked, n = block.asked, len(column_of)
    own = asked.position - block.start
    block.own_at = np.where((own >= 0) & (own < n), column_of[np.clip(own, 0, n - 1)], -1)
    junk = asked.junk_position - block.start
    here = (junk >= 0) & (junk < n)
    place_of = np.empty_like(block.order)
    place_of[block.order] = np.arange(len(block.order))
    columns, places = column_of[junk[here]], place_of[asked.junk_query[here]]
    order = np.argsort(columns, kind="stable")
    block.junk_at, block.junk_place = columns[order], places[order]


def scan(
    block: Block,
    gallery: Vectors,
    tile: Float32Array,
    at: slice,
    rows: IntArray,
    *,
    window: int,
    by_column: bool = False,
) -> None:
    """Let one tile of the float32 product serve the queries of a block.

    Parameters
    ----------
    tile : (n_query, n_item) float32
        Or (n_item, n_query) if ``by_column``.
    at : slice
        Which columns of the pass the tile holds.
    rows : (n_gallery,) intp
        Gallery row of each column of the pass.
    """
    values = tile.T if by_column else tile  # (n_query, n_item), a view
    first, last = np.searchsorted(block.junk_at, [at.start, at.stop])
    junk = block.junk_place[first:last], block.junk_at[first:last] - at.start
    hidden = values[junk]
    values[junk] = -np.inf  # below every band and every threshold: not there
    above, reach = np.zeros((2, len(block.own_at)), np.int32)
    survivors = _compare(block, tile, above, reach, window, by_column)
    _sort_and_search(block, values, above, reach, window)
    inside = reach - above - (block.deep & (block.own_at >= at.start) & (block.own_at < at.stop))
    pair, column = _in_band(block, values, np.flatnonzero(inside))
    values[junk] = hidden
    place, item = survivors
    with block.lock:
        block.part.above[:] += above
        block.survivors.append((place.astype(np.int32), rows[at.start + item].astype(np.int32), values[place, item]))
    settle(block, gallery, pair, rows[at.start + column])


def settle(block: Block, gallery: Vectors, pair: IntArray, row: IntArray) -> None:
    """Compare exactly the gallery items that stand inside a relevant item's band."""
    asked = block.asked
    other = asked.position[pair] != row + block.start
    pair, row = pair[other], row[other]
    found = exact_pairs(block.query, gallery, block.order[block.place[pair]], row)
    tied = found == asked.own[pair]
    earlier = tied & (row + block.start < asked.position[pair])
    with block.lock:
        for counts, which in (
            (block.part.above, found > asked.own[pair]),
            (block.part.before, earlier),
            (block.part.tied, tied),
        ):
            np.add.at(counts, pair[which], 1)


def close_block(block: Block, gallery: Vectors, *, top: int) -> Part:
    """Shallow counts and the top from the survivors, and exact rows for the queries that cannot be served so."""
    place, row, value = (np.concatenate(column) for column in zip(*block.survivors, strict=True))
    block.survivors.clear()
    block.part = block.part.with_top(block.asked.n_query, top)
    key = _descending_key(place, value)
    order = np.argsort(key)
    row, value, key = row[order].astype(np.intp), value[order], key[order]
    starts = np.searchsorted(key, np.arange(len(block.order) + 1, dtype=np.uint64) << np.uint64(32))
    _count_shallow(block, gallery, key, starts, row)
    served = ~block.unfiltered
    if top:
        served &= _top_of_survivors(block, gallery, key, starts, row, value, top)
        _top_of_others(block, gallery, served, top)
    _rank_exactly(block, gallery, block.order[~served], top)
    return block.part


def _count_shallow(block: Block, gallery: Vectors, key: Keys, starts: IntArray, row: IntArray) -> None:
    """Count the shallow items: those before the band are above, those inside it are settled."""
    pair = np.flatnonzero(~block.deep & ~block.unfiltered[block.place])
    pair = pair[np.argsort(block.place[pair])]  # neighbours are sought together
    place = block.place[pair]
    first = np.searchsorted(key, _descending_key(place, block.high[pair]), side="left")
    last = np.searchsorted(key, _descending_key(place, block.low[pair]), side="right")
    block.part.above[pair] += first - starts[place]
    rivals = np.where(last - first > (block.own_at[pair] >= 0), last - first, 0)  # more than the item itself
    settle(block, gallery, np.repeat(pair, rivals), row[ranges(first, rivals)])


def _top_of_survivors(
    block: Block, gallery: Vectors, key: Keys, starts: IntArray, row: IntArray, value: Float32Array, top: int
) -> BoolArray:
    """The top of the queries that kept enough survivors; (n_query,) which ones, by place."""
    kth = starts[:-1] + top - 1
    kth = np.where(kth < starts[1:], kth, len(value))
    floor = _floor(np.append(value, np.float32(-np.inf))[kth], block.slack)
    served: BoolArray = floor > block.threshold
    last = np.searchsorted(key, _descending_key(np.arange(len(floor)), floor), side="right")
    counts = np.where(served, last - starts[:-1], 0)
    query = np.repeat(block.order, counts)
    _keep_top(block, _best(block.query, gallery, query, row[ranges(starts[:-1], counts)], top))
    return served


def _top_of_others(block: Block, gallery: Vectors, served: BoolArray, top: int) -> None:
    """Serve, from whole rows, the queries that kept too few survivors, where that is possible."""
    places = np.flatnonzero(~served & ~block.unfiltered & (top < len(gallery)))
    for at in row_slices(len(places), 32):
        query = block.order[places[at]]
        junk = [_junk_rows(block, q, len(gallery)) for q in query]
        served[places[at]], best = top_of_rows(block.query.take(query), gallery, junk, top)
        _keep_top(block, (query[best[0]], *best[1:]))


def _keep_top(block: Block, best: Best) -> None:
    query, place, row, similarity = best
    block.part.top_position[query, place] = row + block.start
    block.part.top_similarity[query, place] = similarity


_HOPELESS = 2.0**60  # a slack that no product of the gallery's scale, at most about 1, can outgrow


def _finite(coarse: Float32Array, slack: FloatArray) -> Float32Array:
    """Zeros for queries so far out that their float32 rows may hold infinities; they are ranked exactly."""
    hopeless = ~(slack < _HOPELESS)
    return np.where(hopeless[:, None], np.float32(0), coarse) if hopeless.any() else coarse


def _sample_rows(n_gallery: int, size: int) -> IntArray:
    """Random rows, the same at each call; the result does not depend on them, the time does."""
    return np.random.default_rng(0).choice(n_gallery, min(size, n_gallery), replace=False)


def _thresholds(sample: Float32Array, n_gallery: int, depth: int) -> Float32Array:
    """(n_query,) a value that, but for one query in a thousand, more than ``depth`` products pass, yet few.

    The number of gallery items above the ``j``-th of ``m`` sampled values is about Gamma(j)·n/m; so ``j`` is the number
    of sampled values expected above the ``depth``-th, and three standard deviations more.
    """
    expected = depth * sample.shape[1] / n_gallery
    j = int(np.ceil(expected + 3 * expected**0.5 + 2))
    if j > sample.shape[1]:
        return np.full(len(sample), -np.inf, np.float32)
    threshold: Float32Array = np.partition(sample, -j, axis=1)[:, -j]
    return threshold


def _flooded(
    sample: Float32Array, owner: IntArray, high: Float32Array, low: Float32Array, deep: BoolArray
) -> BoolArray:
    """(n_query,) whether more than 2 % of the sample lies in the band of a deep item: exact rows are cheaper then."""
    flooded = np.zeros(len(sample), bool)
    for at in row_slices(int(deep.sum()), 1024):
        pair = np.flatnonzero(deep)[at]
        values = sample[owner[pair]]
        inside = (values >= low[pair][:, None]) & (values <= high[pair][:, None])
        flooded[owner[pair[inside.sum(axis=1) > 0.02 * sample.shape[1] + 1]]] = True
    return flooded


def _compare(
    block: Block, tile: Float32Array, above: Counts, reach: Counts, height: int, by_column: bool
) -> tuple[IntArray, IntArray]:
    """Count each slot's products above the band and not below it; return the (place, column) of the survivors.

    A window and its mask stay in the second-level cache, so all but the first reading of the tile is from there.
    """
    n_row, n_column = tile.shape
    n_query = n_column if by_column else n_row
    mask = np.zeros((height, -(-n_column // 8) * 8), bool)
    edges = [(block.high[pairs][:, None], block.low[pairs][:, None]) for pairs in block.slots]
    counts = [np.zeros((2, len(pairs)), np.int32) for pairs in block.slots]
    found: list[IntArray] = []
    for rows in row_slices(n_row, height):
        n = rows.stop - rows.start
        start, stop = (0, n_query) if by_column else (rows.start, rows.stop)
        window = tile[rows].T if by_column else tile[rows]
        seen = mask[:n, :n_column].T if by_column else mask[:n, :n_column]
        for (high, low), count in zip(edges, counts, strict=True):
            queries = slice(start, min(stop, len(high)))
            n_here = queries.stop - start
            if n_here <= 0:
                break
            np.greater(window[:n_here], high[queries], out=seen[:n_here])
            count[0, queries] += _count(mask, n, n_here, by_column)
            np.greater_equal(window[:n_here], low[queries], out=seen[:n_here])
            count[1, queries] += _count(mask, n, n_here, by_column)
        np.greater(window, block.threshold[start:stop, None], out=seen)
        found.append(np.flatnonzero(mask[:n]) + rows.start * mask.shape[1])
    for pairs, count in zip(block.slots, counts, strict=True):
        above[pairs], reach[pairs] = count
    row, column = np.divmod(np.concatenate(found), mask.shape[1])
    return (column, row) if by_column else (row, column)


def _count(mask: BoolArray, n_row: int, n_query: int, by_column: bool) -> IntArray:
    """(n_query,) how much of the mask is set for each query.

    Its bytes are added up, eight at a time along a row, or row by row where queries are columns: several times faster
    than ``sum``. No byte overflows: at most 255 words a row, at most 255 rows.
    """
    if by_column:
        down: IntArray = np.add.reduce(mask[:n_row, :n_query].view(np.uint8), axis=0, dtype=np.uint8)
        return down
    words = np.add.reduce(mask[:n_query].view(np.uint64), axis=1)
    along: IntArray = words.view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.int32)
    return along


def _sort_and_search(block: Block, values: Float32Array, above: Counts, reach: Counts, height: int) -> None:
    """The same counts for queries with many deep items: one sort of their row of the tile serves all of them."""
    for at in row_slices(len(block.many), height):
        first, last = block.many[at.start][0], block.many[at.stop - 1][0] + 1
        ascending = np.sort(np.ascontiguousarray(values[first:last]), axis=1)
        for row, (_, pair) in zip(ascending, block.many[at], strict=True):
            above[pair] = len(row) - np.searchsorted(row, block.high[pair], side="right")
            reach[pair] = len(row) - np.searchsorted(row, block.low[pair], side="left")


def _in_band(block: Block, values: Float32Array, pairs: IntArray) -> tuple[IntArray, IntArray]:
    """(pair, column) of the products inside the bands of these pairs."""
    found = [(np.zeros(0, np.intp), np.zeros(0, np.intp))]
    for at in row_slices(len(pairs), 64):
        pair = pairs[at]
        rows = values[block.place[pair]]
        inside = (rows >= block.low[pair][:, None]) & (rows <= block.high[pair][:, None])
        which, column = np.divmod(np.flatnonzero(inside), values.shape[1])
        found.append((pair[which], column))
    pair, column = (np.concatenate(part) for part in zip(*found, strict=True))
    return pair, column


def _descending_key(place: IntArray, value: Float32Array) -> Keys:
    """Keys that sort by place, then by descending value: the bits of a float32 rise with it once the sign is mended."""
    bits = (value + np.float32(0)).view(np.uint32)  # −0 becomes 0
    rising = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return (place.astype(np.uint64) << np.uint64(32)) | ~rising


def _floor(kth: Float32Array, slack: FloatArray) -> Float32Array:
    """Below this, nothing can be among the first k.

    The k items up to the k-th product are at least as similar as it less the slack; an item that rivals them has a
    product at most another slack lower.
    """
    return np.nextafter((kth - 2 * slack).astype(np.float32), np.float32(-np.inf))


def _best(query: Vectors, gallery: Vectors, which: IntArray, row: IntArray, depth: int) -> Best:
    """Order candidates exactly, grouped by query, and keep the first: (query, place in its list, row, similarity)."""
    similarity = exact_pairs(query, gallery, which, row)
    order = np.lexsort((row, -similarity, which))
    which, row, similarity = which[order], row[order], similarity[order]
    place = np.arange(len(which)) - np.searchsorted(which, which)
    kept = place < depth
    return which[kept], place[kept], row[kept], similarity[kept]


def top_of_rows(query: Vectors, gallery: Vectors, junk: Sequence[IntArray], depth: int) -> tuple[BoolArray, Best]:
    """The top of a few queries, 0 < depth < n_gallery, from whole rows of the product, with no threshold.

    Returns
    -------
    served : (n_query,) bool
        False where too many items rival each other; exact rows are cheaper then.
    query, place in the list, row, similarity : of the items at the top of the others
    """
    n_gallery = len(gallery)
    coarse, slack = coarse_query(query, gallery)
    served = slack < _HOPELESS
    values = _finite(coarse, slack) @ gallery.coarse.matrix.T
    for row, left_out in zip(values, junk, strict=True):
        row[left_out] = -np.inf
    kth = np.partition(values, n_gallery - depth, axis=1)[:, n_gallery - depth]
    near = (values >= _floor(kth, slack)[:, None]) & (values > -np.inf)
    served &= near.sum(axis=1) <= 4 * depth + n_gallery // 32
    near[~served] = False
    which, row = np.divmod(np.flatnonzero(near), n_gallery)
    return served, _best(query, gallery, which, row, depth)


def _rank_exactly(block: Block, gallery: Vectors, queries: IntArray, top: int) -> None:
    """Rank these queries from exact similarities, a few rows at a time."""
    asked, part = block.asked, block.part
    for at in row_slices(len(queries), max(1, 2**22 // max(1, len(gallery)))):
        for q, row in zip(queries[at], exact_block(block.query.take(queries[at]), gallery), strict=True):
            row[_junk_rows(block, q, len(gallery))] = np.nan
            pairs = slice(asked.indptr[q], asked.indptr[q + 1])
            counts = rank_row(row, asked.own[pairs], asked.position[pairs] - block.start)
            part.above[pairs], part.before[pairs], part.tied[pairs] = counts
            first, similarity = top_of_row(row, top)
            part.top_position[q] = -1
            part.top_position[q, : len(first)] = first + block.start
            part.top_similarity[q] = np.nan
            part.top_similarity[q, : len(first)] = similarity


def _junk_rows(block: Block, query: int, n_gallery: int) -> IntArray:
    """Rows of the stretch that are junk for a query."""
    junk = block.asked.junk_of(query) - block.start
    rows: IntArray = junk[(junk >= 0) & (junk < n_gallery)]
    return rows
