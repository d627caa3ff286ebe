"""One cached wrapper for each call of the engine, and the list of data sets that there are.

Caches are shared by all visitors and bounded. ``BY_CONTENT`` and ``BY_PLACE`` spell the key of each argument (by a
fingerprint, a spec, stamps of files); data are never hashed by the cache, which would only sample them.
"""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from recall_core import datasets, diagnosis, images, protocol, rights
from recall_core.arrays import Array
from recall_core.datasets import SAMPLES, Dataset, load, stamp
from recall_core.diagnosis import Inspection
from recall_core.errors import DataError
from recall_core.evaluation import Direction, Evaluation, evaluate, open_run, select_queries
from recall_core.images import Pictures
from recall_core.protocol import FILES, Filter, Spec, write_filter

from .background import Job, at_once
from .frame import opened_folders, own_data

HashFuncs = dict[str | type[Any], Callable[[Any], Any]]

ROOT = Path(__file__).parents[2]
LAB = "glyphlab"
PHOTOS = "photo_patches"

STAMP_SECONDS = 2.0
"""A session asks the disk at most so often whether the files of a data set were written."""


def data_root() -> Path:
    """Where do the visitor's data sets lie? ``RECALL_DATA_ROOT``, else ``data`` beside the app."""
    return rights.data_root(ROOT / "data")


def data_sets() -> dict[str, str]:
    """Which data sets are there: name → what the engine loads.

    Built-in ones first, then those of the data root, which may be a data set itself, and last what this visitor opened
    or uploaded. A name comes from this list or it is nothing: the URL never names a path.
    """
    uploaded = {name: str(upload.folder) for name, upload in own_data.sets().items()}
    return _offered_to_all() | opened_data_sets() | uploaded


def _offered_to_all() -> dict[str, str]:
    built_in = {PHOTOS: PHOTOS, LAB: str(ROOT / "data" / LAB)} | {name: name for name in SAMPLES}
    return built_in | {name: str(path) for name, path in datasets.data_sets(data_root()).items()}


def opened_data_sets() -> dict[str, str]:
    """Which data sets did this visitor open by typing a path? Name → path; a name that is taken gets a number."""
    return opened_folders.data_sets(_offered_to_all())


def own_data_sets() -> list[str]:
    """Names of the data sets that the visitor brought, the newest last: neither built in nor bundled."""
    bundled = ROOT / "data"
    return [
        name
        for name, path in data_sets().items()
        if path not in SAMPLES and not (Path(path).parent == bundled and name.startswith(LAB))
    ]


def evaluation_key(data: Dataset, spec: Spec) -> str:
    """Name what depends on a data set, a spec and the files that it names: where one was written, it is another."""
    named = (getattr(spec, field) or data.defaults.get(field) for field in FILES)
    return " ".join([data.fingerprint, spec.key(), *(_stamp(Path(file)) for file in named if file)])


def pictures_key(data: Dataset) -> str:
    """Tell data sets apart, and equal ones by where their pictures lie: those of an upload go with its visitor."""
    if data.pictures is None or not isinstance(data.pictures.source, list | tuple):
        return data.fingerprint
    first = next((source for source in data.pictures.source if isinstance(source, Path)), "")
    return f"{data.fingerprint} {first}"


def _stamp(file: Path) -> str:
    """Tell versions of a file apart by time and size."""
    return f"{file.stat().st_mtime_ns}:{file.stat().st_size}" if file.exists() else "-"


def _folder_stamp(folder: str) -> int:
    """Tell states of a folder apart: looked at anew by each session, and at most every ``STAMP_SECONDS`` in one.

    A slow disk is asked even less often, so that no visitor waits for it at every click.
    """
    if get_script_run_ctx(suppress_warning=True) is None:
        return stamp(Path(folder))  # a thread of ours, which serves nobody in particular
    taken: dict[str, tuple[float, int]] = st.session_state.setdefault("stamps", {})
    begun = time.monotonic()
    due, found = taken.get(folder, (begun, 0))
    if begun >= due:
        found, over = stamp(Path(folder)), time.monotonic()
        taken[folder] = (over + max(STAMP_SECONDS, 10 * (over - begun)), found)
    return found


def digest(*parts: object) -> str:
    """Spell a key, all of one length: the keys of two arguments that follow each other cannot run together."""
    return sha256(json.dumps(parts).encode()).hexdigest()


def _data_digest(data: Dataset) -> str:
    return digest(data.fingerprint, [_stamp(Path(data.defaults[name])) for name in FILES if data.defaults.get(name)])


def _spec_digest(spec: Spec) -> str:
    return digest(spec.key(), [_stamp(Path(getattr(spec, name))) for name in FILES if getattr(spec, name)])


def _evaluation_digest(evaluation: Evaluation) -> str:
    return digest(evaluation_key(evaluation.dataset, evaluation.spec))


def _folder_digest(folder: Path) -> str:
    return digest(str(folder), _folder_stamp(str(folder)))


def _filter_digest(conditions: Filter) -> str:
    return digest(write_filter(conditions))


def _alike_digest(evaluation: Evaluation) -> str:
    return digest(pictures_key(evaluation.dataset), evaluation.spec.embeddings)


def _place_digest(data: Dataset) -> str:
    return digest(pictures_key(data))


def _direction_digest(direction: Direction) -> str:
    return digest(direction.name)


BY_CONTENT: HashFuncs = {
    Dataset: _data_digest,
    Spec: _spec_digest,
    Evaluation: _evaluation_digest,
    Direction: _direction_digest,
}
"""What names an argument in a key: what it holds, and the stamps of the files that it names."""

BY_PLACE: HashFuncs = BY_CONTENT | {
    Dataset: lambda data: digest(pictures_key(data), _data_digest(data)),
    Evaluation: lambda found: digest(pictures_key(found.dataset), _evaluation_digest(found)),
}
"""The same, and where the pictures lie: those of an upload go with its visitor."""


def dataset(name: str, columns: tuple[tuple[str, str], ...] = (), encoding: str = "utf-8") -> Dataset:
    """Load a data set by its name in ``data_sets``; it is read anew when any file of it was written."""
    path = data_sets()[name]
    key = json.dumps([path, _folder_stamp(path), columns, encoding])
    return _dataset(key, path, dict(columns), encoding, (name, own_data.sets().get(name)))


@st.cache_resource(max_entries=8, show_spinner=False)
def _dataset(
    key: str, _path: str, _columns: dict[str, str], _encoding: str, _brought: tuple[str, own_data.Upload | None]
) -> Dataset:
    found = load(_path, columns=_columns, encoding=_encoding)
    name, upload = _brought
    return found if upload is None else replace(found, name=name, notes=(*upload.notes, *found.notes))


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=BY_CONTENT)
def evaluation(data: Dataset, spec: Spec) -> Evaluation:
    """Evaluate, or take the evaluation that anybody asked for before."""
    return evaluate(data, spec, encoded=encoded(data, spec))


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs={type(Path()): _folder_digest})
def run(folder: Path) -> Evaluation:
    """Open a saved run, or take it as anybody opened it before."""
    return open_run(folder)


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=BY_CONTENT | {tuple: _filter_digest})
def sliced(evaluation: Evaluation, conditions: Filter) -> Evaluation:
    """Narrow an evaluation to some of its queries, or take it as anybody narrowed it before."""
    return select_queries(evaluation, conditions)


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=BY_CONTENT)
def precision_recall(evaluation: Evaluation) -> pd.DataFrame:
    """Draw the curve once for everybody."""
    return diagnosis.precision_recall(evaluation)


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=BY_CONTENT)
def similarities(_data: Dataset, evaluation: Evaluation) -> diagnosis.Similarities:
    """Draw the pairs once for everybody, from the visitor's own copy of the data."""
    return diagnosis.similarities(evaluation, encoded=_whole_encoded(_data, evaluation.spec))


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=BY_CONTENT)
def pca_map(_data: Dataset, evaluation: Evaluation, k: int) -> diagnosis.Map:
    """Draw the map once for everybody, from the visitor's own copy of the data."""
    return diagnosis.pca_map(evaluation, k, encoded=_whole_encoded(_data, evaluation.spec), n=N_POINT)


N_POINT = 2000
"""Plotly draws so many points at once without delay."""


def _whole_encoded(data: Dataset, spec: Spec) -> Array | None:
    """Encode what an evaluation was made of, whatever it is narrowed to."""
    return encoded(data, spec.replace(slice=None))


def encoded(data: Dataset, spec: Spec) -> Array | None:
    """Encode a data set once for all the specs that use the same vectors."""
    resolved = protocol.resolve(data, spec)
    if resolved.encoder is None:
        return None
    key = resolved.key() if protocol.is_fitted(resolved.encoder) else resolved.encoder
    return _vectors(f"{data.fingerprint} {key}", data, resolved)


@st.cache_resource(max_entries=8, show_spinner=False)
def _vectors(key: str, _data: Dataset, _spec: Spec) -> Array:
    return protocol.encode_dataset(_data, _spec)


def thumbnail(data: Dataset, row: int, size: int = 128) -> str:
    """Give one picture as a ``data:`` address; empty where there is no picture, or it cannot be read."""
    return _thumbnails(data)(row, size)


def query_thumbnail(evaluation: Evaluation, row: int, size: int) -> str:
    """Give a query's picture, the replaced one where the spec replaces the query side's."""
    data, spec = evaluation.dataset, evaluation.spec
    if spec.query_images is None and spec.corrupt is None:
        return thumbnail(data, row, size)
    return _query_thumbnails(data, spec)(row, size)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=BY_CONTENT)
def _query_thumbnails(data: Dataset, spec: Spec) -> Callable[[int, int], str]:
    pictures, rows = protocol.query_pictures(data, spec)
    make, places = _maker(pictures), {int(row): place for place, row in enumerate(rows)}
    return lambda row, size: make(places[row], size)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs={Dataset: _place_digest})
def _thumbnails(data: Dataset) -> Callable[[int, int], str]:
    return (lambda _row, _size: "") if data.pictures is None else _maker(data.pictures)


def _maker(pictures: Pictures) -> Callable[[int, int], str]:
    # A cache of its own for each set of pictures: it is asked 48 times a page, and from the thread that prefetches.
    @lru_cache(maxsize=4096)
    def make(position: int, size: int) -> str:
        try:
            return images.thumbnail_uri(pictures.preview(position, size), size)
        except DataError:
            return ""

    return make


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs={Evaluation: _alike_digest})
def alike(evaluation: Evaluation) -> diagnosis.Alike | None:
    """Give what tells whether two rows are nearly the same picture; what it has seen is remembered for everybody."""
    return diagnosis.comparer(evaluation)


def warm(data: Dataset, wanted: Iterable[tuple[int, int]]) -> None:
    """Make thumbnails, (row, size) each, in the background."""
    if data.pictures is not None:
        make = _thumbnails(data)
        at_once(lambda: [make(row, size) for row, size in wanted])


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=BY_PLACE)
def inspecting(data: Dataset, spec: Spec) -> Job[Inspection]:
    """The look for what is suspicious, which all share who ask for it."""
    return Job()


@st.cache_resource(max_entries=16, show_spinner=False, hash_funcs=BY_CONTENT)
def intrusions(evaluation: Evaluation, direction: Direction) -> diagnosis.Intrusions:
    """Count once for everybody on how many queries each gallery item intrudes."""
    return diagnosis.intrusions(direction)


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=BY_CONTENT)
def neighbourhood(evaluation: Evaluation) -> diagnosis.Neighbourhood | None:
    """Make the items ready once for everybody who asks for the neighbours of one; None without vectors."""
    data, spec = evaluation.dataset, evaluation.spec
    return diagnosis.neighbourhood(evaluation, None if spec.scores else _whole_encoded(data, spec))


@dataclass(frozen=True)
class Apart:
    """How two pictures differ: a picture of it (empty: they cannot be subtracted), its mean, its largest value."""

    src: str
    sizes: tuple[str, str]
    mean: float = 0.0
    most: float = 0.0


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs=BY_PLACE)
def apart(evaluation: Evaluation, one: tuple[int, bool], other: tuple[int, bool]) -> Apart:
    """Subtract two pictures, each a row and whether it asks, or take what anybody had subtracted before."""
    chosen = [_picture_of(evaluation, *which) for which in (one, other)]
    shapes = [pictures.shape(at)[:2] for pictures, at in chosen]
    first, second = (f"{width} × {height}" for height, width in shapes)
    if shapes[0] != shapes[1]:
        return Apart("", (first, second))
    shown, mean, most = images.difference(
        *(images.fitted(pictures.preview(at, 320), shapes[0], 320) for pictures, at in chosen)
    )
    return Apart(images.thumbnail_uri(shown, 320), (first, second), mean, most)


def _picture_of(evaluation: Evaluation, row: int, asks: bool) -> tuple[Pictures, int]:
    data, spec = evaluation.dataset, evaluation.spec
    if asks and (spec.query_images is not None or spec.corrupt is not None):
        pictures, rows = _asking(data, spec)
        return pictures, rows[row]
    if data.pictures is None:
        raise DataError(f"{data.name} has no pictures")
    return data.pictures, row


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=BY_CONTENT)
def _asking(data: Dataset, spec: Spec) -> tuple[Pictures, dict[int, int]]:
    pictures, rows = protocol.query_pictures(data, spec)
    return pictures, {int(row): place for place, row in enumerate(rows)}
