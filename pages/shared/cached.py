"""One cached wrapper for each call of the engine, and the list of data sets that there are.

Caches are shared by all visitors and bounded. Their keys are strings (a fingerprint, a spec); data are never hashed
by the cache, which would only sample them.
"""

import os
import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import streamlit as st

from recall_core import failures, images, sources
from recall_core.dataset import Dataset, load
from recall_core.errors import DataError
from recall_core.evaluation import Evaluation, evaluate
from recall_core.images import Pictures
from recall_core.places import PICTURE_SUFFIXES
from recall_core.samples import SAMPLES
from recall_core.spec import Spec
from recall_core.vectors import Array

ROOT = Path(__file__).parents[2]
LAB = "glyphlab"
PHOTOS = "photo_patches"


def data_root() -> Path:
    """Where do the visitor's data sets lie? ``RECALL_DATA_ROOT``, else ``data`` beside the app."""
    return Path(os.environ.get("RECALL_DATA_ROOT") or ROOT / "data").expanduser().resolve()


def data_sets() -> dict[str, str]:
    """Which data sets are there: name → what the engine loads. Built-in ones first, then folders.

    A name comes from this list or it is nothing: the URL never names a path.
    """
    root = data_root()
    folders = sorted(root.iterdir()) if root.is_dir() else []
    own = {f.name: str(f) for f in folders if _is_offered(f, root)}
    return {PHOTOS: PHOTOS, LAB: str(ROOT / "data" / LAB)} | {name: name for name in SAMPLES} | own


def _is_offered(folder: Path, root: Path) -> bool:
    return folder.is_dir() and not folder.name.startswith(".") and folder.resolve().is_relative_to(root)


def own_data_sets() -> list[str]:
    """Names of the data sets that the visitor brought: neither built in nor the lab's."""
    return [name for name in data_sets() if name not in SAMPLES and not name.startswith(LAB)]


def dataset(name: str) -> Dataset:
    """Load a data set by its name in ``data_sets``; it is read anew when a table, an array or the folder changes."""
    path = data_sets()[name]
    return _dataset(f"{path} {_folder_stamp(Path(path))}", path)


@st.cache_resource(max_entries=8, show_spinner=False)
def _dataset(key: str, _path: str) -> Dataset:
    return load(_path)


def evaluation(data: Dataset, spec: Spec) -> Evaluation:
    """Evaluate, or take the evaluation that anybody asked for before."""
    stamp = _stamp(Path(spec.query_images)) if spec.query_images else ""
    return _evaluation(f"{data.fingerprint} {spec.key()} {stamp}", data, spec)


@st.cache_resource(max_entries=16, show_spinner=False)
def _evaluation(key: str, _data: Dataset, _spec: Spec) -> Evaluation:
    return evaluate(_data, _spec, encoded=encoded(_data, _spec))


def encoded(data: Dataset, spec: Spec) -> Array | None:
    """Encode a data set once for all the specs that use the same vectors."""
    resolved = sources.resolve(data, spec)
    if resolved.encoder is None:
        return None
    key = resolved.key() if sources.is_fitted(resolved.encoder) else resolved.encoder
    return _vectors(f"{data.fingerprint} {key}", data, resolved)


@st.cache_resource(max_entries=8, show_spinner=False)
def _vectors(key: str, _data: Dataset, _spec: Spec) -> Array:
    return sources.encode_dataset(_data, _spec)


def thumbnail(data: Dataset, row: int, size: int = 128) -> str:
    """Give one picture as a ``data:`` address; empty where there is no picture, or it cannot be read."""
    return "" if data.pictures is None else _thumbnails(data.fingerprint, data.pictures)(row, size)


def query_thumbnail(evaluation: Evaluation, row: int, size: int) -> str:
    """Give a query's picture, the replaced one where the spec replaces the query side's."""
    data, spec = evaluation.dataset, evaluation.spec
    if spec.query_images is None and spec.corrupt is None:
        return thumbnail(data, row, size)
    stamp = _stamp(Path(spec.query_images)) if spec.query_images else ""
    return _query_thumbnails(f"{data.fingerprint} {spec.key()} {stamp}", data, spec)(row, size)


@st.cache_resource(max_entries=8, show_spinner=False)
def _query_thumbnails(key: str, _data: Dataset, _spec: Spec) -> Callable[[int, int], str]:
    pictures, rows = sources.query_pictures(_data, _spec)
    make, places = _maker(pictures), {int(row): place for place, row in enumerate(rows)}
    return lambda row, size: make(places[row], size)


@st.cache_resource(max_entries=8, show_spinner=False)
def _thumbnails(key: str, _pictures: Pictures) -> Callable[[int, int], str]:
    return _maker(_pictures)


def _maker(pictures: Pictures) -> Callable[[int, int], str]:
    # A cache of its own for each set of pictures: it is asked 48 times a page, and from the thread that prefetches.
    @lru_cache(maxsize=4096)
    def make(position: int, size: int) -> str:
        try:
            return images.thumbnail_uri(pictures.preview(position, size), size)
        except DataError:
            return ""

    return make


def alike(evaluation: Evaluation) -> failures.Alike | None:
    """Give what tells whether two rows are nearly the same picture; what it has seen is remembered for everybody."""
    return _alike(f"{evaluation.dataset.fingerprint} {evaluation.spec.embeddings}", evaluation)


@st.cache_resource(max_entries=8, show_spinner=False)
def _alike(key: str, _evaluation: Evaluation) -> failures.Alike | None:
    return failures.comparer(_evaluation)


def warm(data: Dataset, wanted: Iterable[tuple[int, int]]) -> None:
    """Make thumbnails, (row, size) each, in the background."""
    if data.pictures is not None:
        make = _thumbnails(data.fingerprint, data.pictures)
        threading.Thread(target=lambda: [make(row, size) for row, size in wanted], daemon=True).start()


def _stamp(file: Path) -> str:
    """Tell versions of a file apart by time and size."""
    return f"{file.stat().st_mtime_ns}:{file.stat().st_size}" if file.exists() else "-"


def _folder_stamp(folder: Path) -> str:
    """Tell states of a folder apart without asking every picture."""
    if not folder.is_dir():
        return "-"
    beside = sorted(file for file in folder.iterdir() if file.suffix.lower() not in PICTURE_SUFFIXES)
    return " ".join([_stamp(folder), *(f"{file.name}:{_stamp(file)}" for file in beside)])
