"""The approximate indexes of faiss: their numbers, how they are built, and what they answer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import IntArray
from ...errors import DataError, needs, setting
from ...ranking import Vectors


@dataclass(frozen=True)
class Configuration:
    """An index with all its numbers.

    Parameters
    ----------
    index : str
        A name in ``INDEXES``.
    build : tuple of (name, value)
        What must be known to build it.
    search : int or None
        efSearch or nprobe: how long it looks; None where there is nothing to choose.
    """

    index: str
    build: tuple[tuple[str, int], ...] = ()
    search: int | None = None

    @property
    def parameters(self) -> dict[str, int]:
        """All its numbers, by name."""
        searched = {} if self.search is None else {INDEXES[self.index].search: self.search}
        return dict(self.build) | searched

    @property
    def label(self) -> str:
        """In one line: ``hnsw M=16 efConstruction=40 efSearch=64``."""
        return " ".join([self.index, *(f"{name}={value}" for name, value in self.parameters.items())])


class Kind(NamedTuple):
    """An index: how it is built from unit vectors, its numbers with their usual values, and the one for searching.

    ``usual`` takes the number of items and of dimensions, and gives the values that are tried, the cheapest first.
    """

    build: Callable[..., Any]
    usual: Callable[[int, int], dict[str, tuple[int, ...]]]
    search: str
    parameters: Callable[[Any, int], Any]


def configurations(n_gallery: int, n_dim: int, chosen: Sequence[str] = ()) -> tuple[Configuration, ...]:
    """Which configurations are tried?

    Parameters
    ----------
    n_gallery, n_dim : int
        Size of the data, for the usual values.
    chosen : sequence of str
        ``NAME`` or ``NAME:PARAMETER=VALUE/VALUE,…``; what is not named has its usual values. All of ``INDEXES`` by
        default.

    Returns
    -------
    tuple of Configuration
        In the order of the names, the cheapest search first; all searches of one build stand together.

    Raises
    ------
    DataError
        No such index or number, or a value that cannot be.

    Examples
    --------
    >>> [one.label for one in configurations(1000, 8, ["hnsw:M=8,efConstruction=20,efSearch=16/32"])]
    ['hnsw M=8 efConstruction=20 efSearch=16', 'hnsw M=8 efConstruction=20 efSearch=32']
    """
    if n_gallery < 2:
        raise DataError(f"a gallery of {n_gallery} leaves nothing to search; an index needs at least 2 items")
    found: dict[Configuration, None] = {}
    for given in chosen or INDEXES:
        name, _, rest = given.partition(":")
        if name not in INDEXES:
            raise DataError(f"index {name!r} is not known; choose from {', '.join(INDEXES)}")
        kind = INDEXES[name]
        values = kind.usual(n_gallery, n_dim) | _read_values(given, rest, kind.usual(n_gallery, n_dim))
        _check_values(given, values, n_gallery, n_dim)
        built = {key: some for key, some in values.items() if key != kind.search}
        for numbers in itertools.product(*built.values()):
            for search in values.get(kind.search, (None,)):
                found[Configuration(name, tuple(zip(built, numbers, strict=True)), search)] = None
    return tuple(found)


def build(configuration: Configuration, gallery: Vectors, *, threads: int = 1, seed: int = 0) -> Any:
    """Build the faiss index of a configuration over prepared unit vectors."""
    faiss = import_faiss()
    kind, vectors = INDEXES[configuration.index], np.ascontiguousarray(gallery.parts[0])
    with _faiss_threads(threads):
        return kind.build(faiss, vectors, seed, **dict(configuration.build))


def answer(index: Any, configuration: Configuration, query: Vectors, depth: int) -> IntArray:
    """(n_query, depth) gallery positions in the index's own order; −1 where it returns fewer."""
    faiss = import_faiss()
    parameters = None
    if configuration.search is not None:
        parameters = INDEXES[configuration.index].parameters(faiss, configuration.search)
    vectors = np.ascontiguousarray(query.parts[0])
    with _faiss_threads(1):
        return np.asarray(index.search(vectors, depth, params=parameters)[1], np.intp)


def _read_values(given: str, rest: str, usual: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    values: dict[str, tuple[int, ...]] = {}
    for part in filter(None, rest.split(",")):
        name, _, some = part.partition("=")
        if name not in usual:
            raise DataError(
                f"{setting('index', given)}: {name!r} is none of its numbers: {', '.join(usual) or 'it has none'}"
            )
        try:
            values[name] = tuple(int(value) for value in some.split("/"))
        except ValueError:
            raise DataError(f"{setting('index', given)}: {name} is {some!r}; write whole numbers, apart by /") from None
    return values


def _check_values(given: str, values: Mapping[str, tuple[int, ...]], n_gallery: int, n_dim: int) -> None:
    for name, some in values.items():
        for value in some:
            least = 2 if name == "M" else 1
            if value < least:
                raise DataError(f"{setting('index', given)}: {name} is {value}; it is at least {least}")
            if name == "nlist" and value > n_gallery:
                raise DataError(f"{setting('index', given)}: {value} lists for {n_gallery} items; take fewer lists")
            if name == "m" and n_dim % value:
                whole = ", ".join(str(m) for m in range(1, n_dim + 1) if n_dim % m == 0)
                raise DataError(
                    f"{setting('index', given)}: {n_dim} dimensions cannot be cut into m={value}; take one of {whole}"
                )


def import_faiss() -> Any:
    """Import faiss, which is slow, where it is used."""
    with needs("faiss", "an approximate index", extra="index"):
        import faiss
    return faiss


@contextmanager
def _faiss_threads(n: int) -> Iterator[None]:
    faiss = import_faiss()
    former = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(former)


def written_size(index: Any) -> float:
    """Bytes of the index as a file, counted as they are written."""
    faiss, total = import_faiss(), 0

    def count(piece: bytes) -> int:
        nonlocal total
        total += len(piece)
        return len(piece)

    writer = faiss.PyCallbackIOWriter(count)
    faiss.write_index(index, faiss.BufferedIOWriter(writer))
    return float(total)


def _flat(faiss: Any, vectors: NDArray[np.float32], seed: int) -> Any:
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


def _hnsw(faiss: Any, vectors: NDArray[np.float32], seed: int, *, M: int, efConstruction: int) -> Any:
    index = faiss.IndexHNSWFlat(vectors.shape[1], M, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.rng = faiss.RandomGenerator(seed + 12345)
    index.hnsw.efConstruction = efConstruction
    index.add(vectors)
    return index


def _ivf_flat(faiss: Any, vectors: NDArray[np.float32], seed: int, *, nlist: int) -> Any:
    coarse = faiss.IndexFlatIP(vectors.shape[1])
    return _trained(
        faiss, faiss.IndexIVFFlat(coarse, vectors.shape[1], nlist, faiss.METRIC_INNER_PRODUCT), vectors, seed
    )


def _ivf_pq(faiss: Any, vectors: NDArray[np.float32], seed: int, *, nlist: int, m: int) -> Any:
    n, n_dim = vectors.shape
    bits = min(8, max(int(np.log2(n)), 1))  # a codebook needs as many vectors as it has codes
    index = faiss.IndexIVFPQ(faiss.IndexFlatIP(n_dim), n_dim, nlist, m, bits, faiss.METRIC_INNER_PRODUCT)
    index.pq.cp.seed, index.pq.cp.min_points_per_centroid = seed + 1234, 1
    index.pq.cp.max_points_per_centroid, index.pq.cp.niter = TRAINING, 10
    return _trained(faiss, index, vectors, seed)


def _trained(faiss: Any, index: Any, vectors: NDArray[np.float32], seed: int) -> Any:
    index.cp.seed, index.cp.niter = seed + 1234, 10
    index.cp.min_points_per_centroid, index.cp.max_points_per_centroid = 1, TRAINING  # no warning on small data
    index.train(vectors)
    index.add(vectors)
    return index


TRAINING = 64
"""Vectors for each centroid that k-means learns from: more take minutes at a million items, and change little."""


def _usual_hnsw(n_gallery: int, n_dim: int) -> dict[str, tuple[int, ...]]:
    return {"M": (16,), "efConstruction": (40,), "efSearch": (16, 32, 64, 128, 256)}


def _usual_ivf(n_gallery: int, n_dim: int) -> dict[str, tuple[int, ...]]:
    """About 4·√n lists, a power of two, and at least 4 items in each."""
    lists = min(2 ** round(np.log2(4 * max(n_gallery, 1) ** 0.5)), max(n_gallery // 4, 1))
    return {"nlist": (lists,), "nprobe": tuple(probes for probes in (1, 2, 4, 8, 16, 32, 64) if probes <= lists)}


def _usual_pq(n_gallery: int, n_dim: int) -> dict[str, tuple[int, ...]]:
    pieces = max(m for m in range(1, max(min(n_dim // 4, 64), 1) + 1) if n_dim % m == 0)
    usual = _usual_ivf(n_gallery, n_dim)
    return {"nlist": usual["nlist"], "m": (pieces,), "nprobe": usual["nprobe"]}


def _ef_search(faiss: Any, value: int) -> Any:
    return faiss.SearchParametersHNSW(efSearch=value)


def _nprobe(faiss: Any, value: int) -> Any:
    return faiss.SearchParametersIVF(nprobe=value)


INDEXES = {
    "hnsw": Kind(_hnsw, _usual_hnsw, "efSearch", _ef_search),
    "ivf-flat": Kind(_ivf_flat, _usual_ivf, "nprobe", _nprobe),
    "ivf-pq": Kind(_ivf_pq, _usual_pq, "nprobe", _nprobe),
    "flat": Kind(_flat, lambda n_gallery, n_dim: {}, "", lambda faiss, value: None),
}
"""Name → how it is built and searched. ``flat`` compares everything: a control, and at small sizes the best choice."""
