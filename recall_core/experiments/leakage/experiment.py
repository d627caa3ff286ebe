"""What leaks, and what it does to the number: the lesson's three experiments, on the lab or on any data.

*Query/gallery* (``draws``): a random half asks the other half, so that queries lose their partner. *The same picture on
both sides*: a perfect score that means nothing. *Training* (``training``): an encoder fitted to images drawn at random
or to whole groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from ... import datasets, protocol
from ...arrays import Array
from ...datasets import Dataset, find_columns
from ...errors import DataError
from ...evaluation import Evaluation, evaluate
from ...images import Pictures
from ...protocol import Filter, Spec, make_filter
from .draws import Halves, all_draws, halves, resolve_draws, shared_choices, taking_part
from .training import Material, material, trainings

LEAKAGE_PARTS = ("query-gallery", "same-picture", "training")
N_SEED = 50


def lab(variant: str = "standard", columns: Mapping[str, str] | None = None) -> Dataset:
    """Give the lab's data without a file; the same fingerprint as the folder's.

    Parameters
    ----------
    variant : str
        A key of ``glyphlab.VARIANTS``. Only ``textured`` can show what a leaking training draw does.
    columns : mapping of role to column name, optional
    """
    images, table, _ = datasets.generate_glyphlab(variant=variant)
    name = "glyphlab" if variant == "standard" else f"glyphlab_{variant}"
    return Dataset(name, table, find_columns(table, columns), Pictures.from_array(images))


SAME_PICTURE = {
    "kept": "the same pictures ask and answer, and each finds itself",
    "removed": "the same, but nobody may find itself (removed by id)",
    "constant": "the same, with an encoder that gives every picture the same vector",
    "class": "nobody may find itself, and another picture of the same class is right",
    "apart": "another view of the same things answers: the honest question",
}
"""Case → words."""


def same_picture_specs(dataset: Dataset, spec: Spec | None = None) -> dict[str, Spec]:
    """Spell the cases of ``SAME_PICTURE`` as specs, those that the data can show.

    Both sides are the rows of the first view, or, for data without views, all rows. ``constant`` needs pictures,
    ``class`` a label column that is not the rule of relevance already, ``apart`` two views.
    """
    given = shared_choices(dataset, spec)
    resolved = resolve_draws(dataset, given.replace(split="leave-one-out"))
    one, other = _views(dataset, resolved)
    both = given.replace(query=one, gallery=one)
    cases = {"kept": both, "removed": both.replace(junk_same="id")}
    if dataset.pictures is not None:
        bare = {"encoder": "constant", "embeddings": None, "gallery_embeddings": None, "ids": None}
        cases["constant"] = both.replace(**bare)
    label = dataset.columns.get("label")
    if label is not None and label != resolved.relevant:
        cases["class"] = both.replace(relevant=label, relevant_pairs=None, junk_same="id")
    if one != other:
        cases["apart"] = given.replace(query=one, gallery=other)
    return cases


def same_picture(dataset: Dataset, spec: Spec | None = None, *, encoded: Array | None = None) -> dict[str, Evaluation]:
    """What is a perfect score worth if the same pictures ask and answer?

    Parameters
    ----------
    dataset : Dataset
    spec : Spec, optional
        Where, relevance, encoder or vectors, similarity and ks are taken from it.
    encoded : (n_item, n_dim) array, optional
        What ``sources.encode_dataset`` returned for this spec.

    Returns
    -------
    dict of case to Evaluation
        Keys of ``SAME_PICTURE``, in its order; each ``evaluation.given`` has the command that gives the same numbers.
    """
    cases = same_picture_specs(dataset, spec)
    return {
        name: evaluate(dataset, case, encoded=None if name == "constant" else encoded) for name, case in cases.items()
    }


def chance(evaluation: Evaluation) -> float:
    """How often would a random order put something relevant first?

    The mean over all queries of the share of relevant items in the query's gallery; 0 for a query without any.
    """
    shares = [d.ranking.n_relevant / np.maximum(d.ranking.n_gallery, 1) for d in evaluation.directions]
    return float(np.concatenate(shares).mean())


def _views(dataset: Dataset, resolved: Spec) -> tuple[Filter, Filter]:
    """The rows of the first and of the second view; every row twice where there are no two views."""
    view = dataset.role("view")
    rows = taking_part(dataset, resolved)
    names = [] if view is None else protocol.view_names(view[rows])
    if len(names) < 2:
        return (), ()
    column = dataset.columns["view"]
    return make_filter([(column, names[0])]), make_filter([(column, names[1])])


@dataclass(frozen=True, eq=False)
class Experiments:
    """What the three parts gave; a part that was not asked for, or that the data cannot show, is None.

    Parameters
    ----------
    query_gallery : (Halves, DataFrame of ``draws``), optional
    same_picture : dict of case to Evaluation, optional
    training : (Material, DataFrame of ``trainings``), optional
    skipped : mapping of part to DataError
        Why the data cannot show it.
    """

    query_gallery: tuple[Halves, pd.DataFrame] | None = None
    same_picture: Mapping[str, Evaluation] | None = None
    training: tuple[Material, pd.DataFrame] | None = None
    skipped: Mapping[str, DataError] = field(default_factory=dict)


def run_part(found: Experiments, part: str, dataset: Dataset, spec: Spec, seeds: Sequence[int]) -> Experiments:
    """Add one of ``PARTS``; where the data cannot show it, the reason."""
    try:
        if part == "query-gallery":
            made = halves(dataset, spec)
            return replace(found, query_gallery=(made, all_draws(made, seeds)))
        if part == "same-picture":
            return replace(found, same_picture=same_picture(dataset, spec))
        ready = material(dataset, spec)
        return replace(found, training=(ready, trainings(ready, seeds)))
    except DataError as reason:
        return replace(found, skipped={**found.skipped, part: reason})
