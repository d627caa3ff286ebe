"""From a spec to a protocol: which rows take part, who asks whom, and what counts as right.

Whatever the user left open is filled here, each default separately, and said.
"""

from __future__ import annotations

from ..arrays import IntArray
from ..datasets import COLUMN_NAMES, DEFAULT_PROTOCOL, MISSING, Dataset
from ..errors import DataError, setting
from ..rights import PRESCRIBED
from . import splits
from .choices import Filter
from .selection import select_rows
from .spec import DEFAULT_SEED, RANDOM_SPLITS, Spec


def fill_defaults(dataset: Dataset, spec: Spec, *, fitted: bool) -> Spec:
    """Fill every choice that was left open.

    Parameters
    ----------
    fitted : bool
        Does the encoder learn from training rows, so that it needs some?

    Raises
    ------
    DataError
        A choice names a column or value that is not there, or no rule of relevance can be found.
    """
    spec = as_the_data_prescribe(dataset, spec)
    where = spec.where
    if where is None:
        where = _test_rows(dataset) if spec.train not in RANDOM_SPLITS else ()
    filled = spec.replace(where=where, columns=tuple(dataset.columns.items()))
    rows = select_rows(dataset, where)
    if filled.query is None and filled.split is None:
        filled = filled.replace(split=_default_split(dataset, rows))
    if filled.protocol is not None and filled.relevant_pairs is None:
        raise DataError(
            f"{setting('protocol', filled.protocol)} belongs to ROxford's ground truth; "
            f"bring it with {setting('relevant_pairs')}"
        )
    if filled.split is not None and filled.split not in splits.SPLITS:
        raise DataError(f"{setting('split', filled.split)}: no such split; choose one of {', '.join(splits.SPLITS)}")
    if filled.relevant is None and filled.relevant_pairs is None:
        filled = filled.replace(relevant=_default_relevant(dataset))
    if fitted and filled.train is None:
        filled = filled.replace(train=_default_train(dataset))
    if filled.split == "by-view":
        filled = filled.replace(both=True)
    elif filled.split == "leave-one-out" and filled.both:
        raise DataError(f"leave-one-out is its own other direction; leave {setting('both')} out")
    seed = (DEFAULT_SEED if spec.seed is None else spec.seed) if filled.draws else None
    return filled.replace(seed=seed)


def as_the_data_prescribe(dataset: Dataset, spec: Spec) -> Spec:
    """Fill what this form of data brings with it, where the user chose neither that nor its rival.

    ``rights.PRESCRIBED`` lists what it may be.
    """
    taken = {
        name: dataset.defaults[name]
        for name in PRESCRIBED
        if name in dataset.defaults and all(getattr(spec, rival) is None for rival in (name, *RIVALS.get(name, ())))
    }
    spec = spec.replace(**taken)
    if spec.relevant_pairs is not None and spec.relevant_pairs.lower().endswith(".json") and spec.protocol is None:
        spec = spec.replace(protocol=DEFAULT_PROTOCOL)
    return spec


RIVALS = {
    "relevant": ("relevant_pairs",),
    "relevant_pairs": ("relevant",),
    "protocol": ("relevant", "relevant_pairs"),
    "scores": ("embeddings", "encoder", "query_images", "corrupt"),
}
"""A default of the data → the choices of the user that keep it out."""


def _test_rows(dataset: Dataset) -> Filter:
    cells = dataset.role("split")
    return ((dataset.columns["split"], ("test",)),) if cells is not None and (cells == "test").any() else ()


def _default_split(dataset: Dataset, rows: IntArray) -> str:
    if "side" in dataset.columns:
        return "by-role"
    view = dataset.role("view")
    views = set() if view is None else set(view[rows])
    if len(views) == 2 and MISSING not in views and "group" in dataset.columns:
        return "by-view"
    return "leave-one-out"


def _default_relevant(dataset: Dataset) -> str:
    for role in ("group", "label"):
        if role in dataset.columns:
            return dataset.columns[role]
    conventional = ", ".join(COLUMN_NAMES["group"] + COLUMN_NAMES["label"])
    raise DataError(
        f"what makes an item relevant? {dataset.name} has no column named {conventional}; "
        f"choose one with {setting('relevant', 'COLUMN')}: {', '.join(map(str, dataset.table.columns))}"
    )


def _default_train(dataset: Dataset) -> str:
    cells = dataset.role("split")
    if cells is not None and (cells == "train").any():
        return f"{dataset.columns['split']}=train"
    raise DataError(
        "this encoder learns from training rows, and the table has no rows with split=train; "
        f"choose {setting('train', 'grouped')}, {setting('train', 'random')} or {setting('train', 'COLUMN=VALUE')}"
    )


def compares_images(dataset: Dataset, spec: Spec) -> bool:
    """Do the similarities come from the data set's images, and not from vectors or scores that the user brings?"""
    return spec.scores is None and spec.embeddings is None and dataset.pictures is not None
