"""The same encoder, fitted to images drawn at random or to whole groups: what does the leak do to its score?

Raw pixels cannot show it, since nothing is fitted; so ridge regression is fitted, and raw pixels are the control. One
seed at a time, as in ``draws``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd

from ... import images, protocol
from ...arrays import Array, FloatArray, IntArray, Text
from ...datasets import MISSING, Dataset, bad_rows
from ...errors import DataError
from ...protocol import Spec, units
from ...ranking import Sets, one_blas_thread
from .draws import Compared, needed, resolve_draws, shared_choices, some_group_has_two, taking_part

TRAINING_ROWS = 3000
EVALUATED_SHARE = 1 / 6
LEARNED, CONTROL = "ridge", "raw"


@dataclass(frozen=True, eq=False)
class Material:
    """What a training experiment works on, made once by ``material``.

    Parameters
    ----------
    rows : (n,) intp
        Rows of the table that take part, ascending: those with a label, of large data whole groups.
    drawn_from : (n_drawn,) intp
        These, and rows that cannot be used: they are drawn as any other and then taken out, so that a draw does not
        depend on what can be read.
    drawn_group : (n_drawn,) text
    features : (n, n_dim) array
        What is fitted to: pixels, or the given vectors divided by their sd.
    label, group : (n,) text
    unit : (n,) intp
        Number of the row's group; a row without a group is its own.
    compared : Compared
        The features, by cosine: the control.
    source : str
        What the features are, in words.
    n_left_out : int
        Rows that take no part: without a label, not usable, or because the data are large.
    """

    rows: IntArray
    drawn_from: IntArray
    drawn_group: Text
    features: Array
    label: Text
    group: Text
    unit: IntArray
    compared: Compared
    source: str
    n_left_out: int


@dataclass(frozen=True, eq=False)
class Arm:
    """One training draw and what it makes of each encoder.

    Parameters
    ----------
    draw : str
        ``random`` or ``grouped``.
    train, evaluated : (n,) intp
        Rows of the table. Of those not trained on, one image a group is evaluated.
    crossing : (n_pair, 2) intp
        Rows (evaluated, trained on) of the same group: what crosses the border.
    share_known : float
        Share of evaluated images whose group was trained on.
    scores : mapping
        Leave-one-out R@1 among the evaluated images, same label is right; an image alone in its class counts as
        missed. ``ridge`` is fitted to the training images, ``raw`` is the control that nothing is fitted to,
        ``permuted`` is ridge on labels permuted over the groups, so that there is nothing to learn. ``nearest``: the
        share whose nearest *training* image, by the control, has the same label.
    chance : float
        Of leave-one-out R@1, by the sizes of the evaluated classes.
    """

    draw: str
    train: IntArray
    evaluated: IntArray
    crossing: IntArray
    share_known: float
    scores: Mapping[str, float]
    chance: float

    @property
    def winner(self) -> str:
        """Which encoder this split would choose: ``ridge``, ``raw`` or ``tie``."""
        learned, control = self.scores[LEARNED], self.scores[CONTROL]
        return "tie" if learned == control else LEARNED if learned > control else CONTROL


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """Both arms of one seed."""

    seed: int
    random: Arm
    grouped: Arm

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """Random, grouped."""
        return self.random, self.grouped


SCORES = MappingProxyType(
    {
        "ridge": "ridge regression from features to classes, fitted to the training images",
        "raw": "the features as they are: nothing is fitted, so nothing can leak",
        "permuted": "ridge regression with the labels permuted over the groups: there is nothing to learn",
        "nearest": "the nearest training image has the same class: near-duplicates in the gallery",
    }
)
"""What each number of an arm is: encoder, or ``nearest`` → words."""


def material(dataset: Dataset, spec: Spec | None = None) -> Material:
    """Make the data ready for a training experiment: any label, any group, pixels or vectors.

    Parameters
    ----------
    dataset : Dataset
        Its label and group columns (``load(…, columns={"label": …})`` names others).
    spec : Spec, optional
        Where (default: all rows) and encoder or vectors (default: pixels) are taken from it.

    Raises
    ------
    DataError
        The data cannot show it: no such columns, only one class, no group with two images, too few groups; an
        encoder that is fitted itself.
    """
    given = shared_choices(dataset, spec)
    group, label = needed(dataset, "group"), needed(dataset, "label")
    selected = taking_part(dataset, given)
    rows = _some_groups(units(group), selected[label[selected] != MISSING])
    columns = {role: dataset.columns[role] for role in ("group", "label")}
    if len(set(label[rows])) < 2:
        raise DataError(f"training needs two classes, and {columns['label']} has {len(set(label[rows]))}")
    if not some_group_has_two(group[rows]):
        raise DataError(f"no {columns['group']} has two images, so none can be on both sides of a training draw")
    n_group = len(set(units(group)[rows]))
    if n_group < 6:
        raise DataError(f"{columns['group']} has {n_group} groups; a training draw by group needs at least 6")
    given = given.replace(relevant=given.relevant or columns["label"], where=given.where or (), split="leave-one-out")
    resolved = resolve_draws(dataset, given)
    drawn_from = rows
    try:
        features, source = _features(dataset, resolved, rows)
    except DataError:
        rows = np.delete(rows, _unusable(dataset, resolved, rows))
        if len(rows) in (0, len(drawn_from)):
            raise
        features, source = _features(dataset, resolved, rows)
    return Material(
        rows,
        drawn_from,
        group[drawn_from],
        features,
        label[rows],
        group[rows],
        units(group)[rows],
        Compared.of(features),
        source,
        n_left_out=len(selected) - len(rows),
    )


def train_and_compare(material: Material, seed: int) -> TrainingRun:
    """What does a training draw that parts groups do to the score of a fitted encoder?

    Both arms train on two thirds: of the images, or of the groups (the draws of ``train="random"`` and
    ``train="grouped"``). From the images not trained on, in a random order, each arm evaluates the first of each group
    until there are a sixth as many as all images (60 of the lab's 360), or as many as both arms have. Evaluation is
    leave-one-out among these, so no near-duplicate is in the gallery.

    Raises
    ------
    DataError
        A draw leaves one class to learn from, or fewer than two images to evaluate.
    """
    everything = np.arange(len(material.drawn_from))
    drawn = {
        "random": protocol.draw_random_train(everything, seed=seed),
        "grouped": protocol.draw_grouped_train(material.drawn_group, everything, seed=seed),
    }
    drawn = {name: (_usable(material, train), _usable(material, rest)) for name, (train, rest) in drawn.items()}
    orders = {name: _first_of_each(material.unit, rest, seed) for name, (_, rest) in drawn.items()}
    n_evaluated = min(round(EVALUATED_SHARE * len(material.rows)), *map(len, orders.values()))
    if n_evaluated < 2:
        raise DataError(f"seed {seed}: the training draw leaves {n_evaluated} images to evaluate; it needs more groups")
    permuted = _permuted(material, seed)
    with one_blas_thread():  # the systems are small: a second thread costs ten times what it gains
        random, grouped = (
            _arm(material, name, drawn[name][0], order[:n_evaluated], permuted) for name, order in orders.items()
        )
    return TrainingRun(seed, random, grouped)


def trainings(material: Material, seeds: Iterable[int]) -> pd.DataFrame:
    """Both arms over many seeds.

    Returns
    -------
    DataFrame
        One row for each seed and arm: ``seed``, ``draw``, ``n_train``, ``n_evaluated``, ``n_crossing``,
        ``share_known``, ``chance``, the keys of ``SCORES``, ``winner``.
    """
    with one_blas_thread():
        return pd.DataFrame([row for seed in seeds for row in training_rows(train_and_compare(material, seed))])


def training_rows(run: TrainingRun) -> list[dict[str, object]]:
    """Spell one run as two rows of ``trainings``."""
    return [
        {
            "seed": run.seed,
            "draw": arm.draw,
            "n_train": len(arm.train),
            "n_evaluated": len(arm.evaluated),
            "n_crossing": len(arm.crossing),
            "share_known": arm.share_known,
            "chance": arm.chance,
            **arm.scores,
            "winner": arm.winner,
        }
        for arm in run.arms
    ]


def winners(table: pd.DataFrame) -> pd.DataFrame:
    """In how many runs does each draw choose each encoder?

    Returns
    -------
    DataFrame
        Index ``random``, ``grouped``; columns ``ridge``, ``raw``, ``tie``: counts.
    """
    counted = pd.crosstab(table["draw"], table["winner"])
    return counted.reindex(index=["random", "grouped"], columns=[LEARNED, CONTROL, "tie"], fill_value=0)


def _usable(material: Material, drawn: IntArray) -> IntArray:
    """Positions among ``rows`` of what was drawn from ``drawn_from``, without what cannot be used."""
    rows = material.drawn_from[drawn]
    return np.searchsorted(material.rows, rows[np.isin(rows, material.rows)])


def _arm(material: Material, draw: str, train: IntArray, evaluated: IntArray, permuted: Text) -> Arm:
    label, compared = material.label[evaluated], material.compared
    learned, from_nothing = _ridge(material.features, train, evaluated, (material.label, permuted))
    scores = {
        LEARNED: _leave_one_out(_compare(learned), label),
        CONTROL: _leave_one_out(compared.block(evaluated, evaluated), label),
        "permuted": _leave_one_out(_compare(from_nothing), permuted[evaluated]),
        "nearest": _right_first(compared.block(evaluated, train), label, material.label[train]),
    }
    mates = Sets.from_labels([str(u) for u in material.unit[evaluated]], [str(u) for u in material.unit[train]])
    indptr, mate = mates.pairs()
    own = np.repeat(evaluated, np.diff(indptr))
    return Arm(
        draw,
        material.rows[train],
        material.rows[evaluated],
        np.stack([material.rows[own], material.rows[train[mate]]], axis=1),
        float((mates.counts() > 0).mean()),
        MappingProxyType(scores),
        _chance(label),
    )


def _ridge(features: Array, train: IntArray, evaluated: IntArray, labels: Sequence[Text]) -> list[Array]:
    """Vectors of the evaluated images by ridge regression to each of the labels; one fit serves all of them."""
    targets = []
    for label in labels:
        classes, code = np.unique(label[train].astype(str), return_inverse=True)
        if len(classes) < 2:
            raise DataError(f"the training draw holds only the class {classes[0]!r}; it needs larger or more classes")
        targets.append(np.eye(len(classes))[code])
    vectors = images.fit_targets(features[train], np.concatenate(targets, axis=1))(features[evaluated])
    return np.split(vectors, np.cumsum([target.shape[1] for target in targets])[:-1], axis=1)


def _compare(vectors: Array) -> FloatArray:
    return Compared.of(vectors).block(np.arange(len(vectors)), np.arange(len(vectors)))


def _leave_one_out(similarity: FloatArray, label: Text) -> float:
    """R@1 where every image asks all others."""
    np.fill_diagonal(similarity, -np.inf)
    return _right_first(similarity, label, label)


def _right_first(similarity: FloatArray, asks: Text, answers: Text) -> float:
    """R@1 without the other ranks: the most similar answer, the first of equals, has the same label.

    A row of nan, of a vector that has no cosine, finds nothing.
    """
    found = ~np.isnan(similarity).any(axis=1)
    return float((found & (asks == answers[similarity.argmax(axis=1)])).mean())


def _chance(label: Text) -> float:
    sizes = np.unique(label.astype(str), return_counts=True)[1]
    return float((sizes * (sizes - 1)).sum() / (len(label) * (len(label) - 1)))


def _first_of_each(unit: IntArray, rest: IntArray, seed: int) -> IntArray:
    """The first image of each group, in a random order of the images."""
    order = np.random.default_rng([seed, 1]).permutation(rest)
    return order[np.sort(np.unique(unit[order], return_index=True)[1])]


def _permuted(material: Material, seed: int) -> Text:
    """Each group takes the label of another: that of its first image."""
    _, first, code = np.unique(material.unit, return_index=True, return_inverse=True)
    shuffled: Text = np.random.default_rng([seed, 2]).permutation(material.label[first])[code]
    return shuffled


def _some_groups(unit: IntArray, rows: IntArray) -> IntArray:
    """All rows, or of large data whole groups, drawn once and for all, of about ``TRAINING_ROWS`` images."""
    if len(rows) <= TRAINING_ROWS:
        return rows
    names, sizes = np.unique(unit[rows], return_counts=True)
    order = np.random.default_rng(0).permutation(len(names))
    chosen = names[order[np.cumsum(sizes[order]) <= TRAINING_ROWS]]
    return rows[np.isin(unit[rows], chosen)]


def _unusable(dataset: Dataset, spec: Spec, rows: IntArray) -> list[int]:
    """Which of these rows have an image that cannot be read, or a vector with nan that is to be dropped?"""
    if spec.encoder is not None and dataset.pictures is not None:
        return list(dataset.pictures.select(rows).problems())
    if spec.bad_rows != "drop":
        return []
    return np.flatnonzero(np.isin(rows, bad_rows(_given(dataset, spec, rows)))).tolist()


def _given(dataset: Dataset, spec: Spec, rows: IntArray) -> Array:
    given: Array = protocol.vectors_of_sides(dataset, spec, [protocol.leave_one_out(rows)], None)[0]
    return given


def _features(dataset: Dataset, spec: Spec, rows: IntArray) -> tuple[Array, str]:
    """What ridge regression is fitted to, (n, n_dim), and what it is in words."""
    if spec.encoder == "raw" and dataset.pictures is not None:
        return images.pixels(dataset.pictures.select(rows)), "pixels"
    if spec.encoder is not None and dataset.pictures is not None:
        chosen = images.import_encoder(spec.encoder) if ":" in spec.encoder else spec.encoder
        vectors = images.encode(dataset.pictures.select(rows), chosen)
    else:
        given = _given(dataset, spec, rows)
        protocol.stop_at_bad_rows(dataset, protocol.leave_one_out(rows), given, given)
        vectors = given[rows]
    # One number for all of them, so that cosines stay, and α = 1 means the same whatever the vectors' scale.
    spread = float(np.sqrt(np.square(vectors - vectors.mean(0, dtype=np.float64)).mean()))
    if not spread:
        raise DataError("all vectors are the same, so there is nothing to learn from")
    words = f"vectors of the encoder {spec.encoder}" if spec.encoder else f"the vectors {spec.embeddings}"
    return vectors / spread, words


@dataclass(frozen=True)
class Gap:
    """How much higher the random draw scores than the grouped one, seed by seed.

    Parameters
    ----------
    mean, low, high : float
        Mean difference over the seeds with a Student interval of 95 %: what more seeds on these images would give.
        nan bounds with fewer than two seeds.
    n_positive, n : int
        Seeds in which the random draw scores higher, of how many.
    """

    mean: float
    low: float
    high: float
    n_positive: int
    n: int


def mean_by_draw(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """What do the scores average over the seeds? One row a column, one column a draw; ``table`` is ``trainings``'."""
    return pd.DataFrame(
        {draw: table.loc[table["draw"] == draw, list(columns)].mean() for draw in ("random", "grouped")}
    )


def gap(table: pd.DataFrame, score: str = LEARNED) -> Gap:
    """How much does the leak add to a score? ``table`` is that of ``trainings``."""
    from scipy.stats import t

    by_draw = table.pivot_table(index="seed", columns="draw", values=score)
    difference = (by_draw["random"] - by_draw["grouped"]).to_numpy()
    n, mean = len(difference), float(difference.mean())
    half = float(t.ppf(0.975, n - 1) * difference.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return Gap(mean, mean - half, mean + half, int((difference > 0).sum()), n)
