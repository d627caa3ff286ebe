"""Pictures → vectors: raw pixels, two plain features, and the lesson's encoders, two of which are meant to fail.

An encoder is any callable from a batch, a list of float32 pictures (H, W) or (H, W, 3) in [0, 1], to an
(n, n_dim) array. Only the fitted ones see labels, and those of the training pictures only.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, about, needs, setting
from . import steady
from .decoding import Picture, as_rgb, resize
from .image_set import Pictures

Vectors = NDArray[np.floating]
Encoder = Callable[[list[Picture]], Any]

RAW_VALUES = 4096
RAW_SIDE = 32
COLOUR_BINS = 8
GRADIENT_SIDE = 64
GRADIENT_CELLS = 4
GRADIENT_ANGLES = 9
RIDGE_ALPHA = 1.0
PCA_DIMENSIONS = 32
WORDS = 200
"""Characters that are shown of what a user's code says when it fails."""


def encode(
    pictures: Pictures,
    encoder: str | Encoder,
    *,
    train: Pictures | None = None,
    train_labels: ArrayLike | None = None,
    like: Pictures | None = None,
    batch: int = 256,
) -> Vectors:
    """Which vector stands for each picture?

    Parameters
    ----------
    pictures : Pictures
    encoder : str or callable
        A key of ``ENCODERS`` or ``FITTED``, or a callable from a list of pictures to (n, n_dim) numbers. A text is
        never imported here (see ``import_encoder``), so a page may pass on what a visitor chose.
    train : Pictures, optional
        What a fitted encoder learns from.
    train_labels : (n_train,) array, optional
        Classes of the training pictures, for ``ridge`` and ``lda``.
    like : Pictures, optional
        The whole set that these pictures belong to, or will be compared with (a corrupted copy with the clean set):
        it alone decides whether pixels are taken as they are or resized (see ``raw``). By default ``pictures``.
    batch : int
        How many pictures are decoded at once, at the most.

    Returns
    -------
    (n_picture, n_dim) float32; a callable's own float type is kept, integers become float64

    Raises
    ------
    DataError
        Unknown name; nothing to learn from; a callable that fails or does not give finite numbers, one row a picture.
    """
    if callable(encoder):
        return _encode_by_callable(pictures, encoder, batch)
    if encoder in ENCODERS and encoder != "raw":
        return _stacked((ENCODERS[encoder](some) for some in pictures.batches(batch)), len(pictures))
    if encoder not in (*ENCODERS, *FITTED):
        raise DataError(
            f"there is no encoder {encoder!r}; choose one of {', '.join([*ENCODERS, *FITTED])}, or module:function",
            field="encoder",
        )
    sized = _sizing(pictures if like is None else like)
    if encoder == "raw":
        return _stacked((raw([sized(picture) for picture in some]) for some in pictures.batches(batch)), len(pictures))
    project = FITTED[encoder](*_training_data(encoder, train, train_labels, sized))
    parts = (project(_flat([sized(picture) for picture in some])) for some in pictures.batches(batch))
    return _stacked(parts, len(pictures))


def pixels(pictures: Pictures, *, like: Pictures | None = None, batch: int = 256) -> Vectors:
    """Which numbers does a fitted encoder learn from? (n_picture, n_dim) pixels, sized as by ``encode``, not scaled."""
    sized = _sizing(pictures if like is None else like)
    return _stacked((_flat([sized(picture) for picture in some]) for some in pictures.batches(batch)), len(pictures))


@about("encoder")
def import_encoder(name: str) -> Encoder:
    """Import a user's encoder, ``module:function``. Never call it with a visitor's text.

    It runs the module's code. ``DataError`` where there is no such module or function, or where importing it fails.
    """
    module_name, colon, function_name = name.partition(":")
    if not (module_name and colon and function_name):
        raise DataError(f"encoder {name!r} must be written module:function, for example my_model:embed")
    try:
        module = importlib.import_module(module_name)
        function = getattr(module, function_name, None)
    except (Exception, SystemExit) as problem:  # the user's module may fail in any way, and may try to end the program
        raise DataError(
            f"encoder {name!r}: importing {module_name} failed ({_failure(problem)}); "
            "start where the module can be imported, or set PYTHONPATH"
        ) from problem
    if not callable(function):
        found = "nothing of that name" if function is None else f"no function there, but {type(function).__name__}"
        raise DataError(f"encoder {name!r}: {module_name} has {found}; name a function of the module")
    return function  # type: ignore[no-any-return]


def raw(pictures: Sequence[Picture]) -> Vectors:
    """Pixels, one after the other, of length 1: two pictures are near if they agree pixel by pixel.

    ``encode`` takes pictures as they are where all have one shape of at most ``RAW_VALUES`` values, and otherwise
    makes all of them RGB of 32×32 (box filter). A black picture is a zero row.
    """
    return _unit(_flat(pictures))


def colour(pictures: Sequence[Picture]) -> Vectors:
    """Which colours, and how much of each: a histogram of 8×8×8 RGB bins, of length 1. Blind to where they are."""
    return _unit(np.stack([_colour_histogram(picture) for picture in pictures]))


def gradient(pictures: Sequence[Picture]) -> Vectors:
    """Where edges run, and in which direction: histograms of oriented gradients over a grid of 4×4 cells.

    Pictures with more than 64 pixels a side are first reduced to 64 (box filter). Each gradient votes with its
    strength for the two nearest of 9 undirected angles, in the cell that it lies in; each cell is divided by the
    strength around it, so that light and contrast cancel (after Dalal and Triggs, CVPR 2005).
    """
    return _unit(np.stack([_oriented_gradients(picture) for picture in pictures]))


def mean(pictures: Sequence[Picture]) -> Vectors:
    """How bright the picture is, and nothing else.

    A single number would have cosine 1 to every other, so the mean m becomes the point at angle m·π/2 of the unit
    circle: cosine, dot product and Euclidean distance all order pairs by how much their means differ.
    """
    angle = np.array([picture.mean(dtype=np.float64) for picture in pictures]) * (np.pi / 2)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)


def orientation(pictures: Sequence[Picture]) -> Vectors:
    """Whether lines run across, down or diagonally, and nothing else: variances of row, column and diagonal means."""
    return _unit(np.array([_line_variances(_grey(picture)) for picture in pictures]))


def constant(pictures: Sequence[Picture]) -> Vectors:
    """The same vector for everything: shows which scores can be had without looking."""
    return np.ones((len(pictures), 1), np.float32)


ENCODERS: dict[str, Callable[[list[Picture]], Vectors]] = {
    "raw": raw,
    "colour": colour,
    "gradient": gradient,
    "mean": mean,
    "orientation": orientation,
    "constant": constant,
}


Projection = Callable[[Vectors], Vectors]


def fit_ridge(pixels: Vectors, labels: NDArray[Any]) -> Projection:
    """Learn ridge regression (α = 1) from centred pixels to centred one-hot classes; the embedding is its output."""
    classes, codes = np.unique(labels, return_inverse=True)
    return fit_targets(pixels, np.eye(len(classes))[codes])


def fit_targets(pixels: Vectors, targets: NDArray[np.float64]) -> Projection:
    """Learn ridge regression (α = 1) from centred pixels to centred targets, (n, n_target); each column by itself.

    The same to the last bit on every processor, and with it whatever is reported of it.
    """
    centre = pixels.mean(0, dtype=np.float64)
    centred, target = pixels - centre, targets - targets.mean(0)
    n, n_dim = centred.shape
    if n <= n_dim:  # the dual form solves the smaller system; both give the same map
        inner = steady.product(centred, centred.T) + RIDGE_ALPHA * np.eye(n)
        weights = steady.product(centred.T, steady.solve(inner, target))
    else:
        inner = steady.product(centred.T, centred) + RIDGE_ALPHA * np.eye(n_dim)
        weights = steady.solve(inner, steady.product(centred.T, target))
    return lambda some: steady.product(some - centre, weights)


def fit_pca(pixels: Vectors, labels: NDArray[Any]) -> Projection:
    """Learn the up to 32 directions in which the training pictures differ most; labels are not looked at."""
    with needs("scikit-learn", "the encoder pca", extra="app"):
        from sklearn.decomposition import PCA

    wide = pixels.astype(np.float64)
    projection: Projection = PCA(min(PCA_DIMENSIONS, *wide.shape), svd_solver="full").fit(wide).transform
    return projection


def fit_lda(pixels: Vectors, labels: NDArray[Any]) -> Projection:
    """Learn the directions that part the classes best: Fisher's linear discriminant, at most classes − 1 of them."""
    with needs("scikit-learn", "the encoder lda", extra="app"):
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    projection: Projection = LinearDiscriminantAnalysis().fit(pixels.astype(np.float64), labels).transform
    return projection


FITTED: dict[str, Callable[[Vectors, NDArray[Any]], Projection]] = {
    "ridge": fit_ridge,
    "pca": fit_pca,
    "lda": fit_lda,
}


def _training_data(
    encoder: str, train: Pictures | None, train_labels: ArrayLike | None, sized: Callable[[Picture], Picture]
) -> tuple[Vectors, NDArray[Any]]:
    if train is None or len(train) < 2:
        n = 0 if train is None else len(train)
        raise DataError(
            f"encoder {encoder} learns from training pictures, and has {n}; mark at least two rows as split=train, "
            f"name them with {setting('train')}, or choose an encoder that is not fitted"
        )
    labels = np.zeros(len(train)) if train_labels is None else np.asarray(train_labels)
    if labels.shape != (len(train),):
        raise ValueError(f"train_labels must have one entry a training picture, ({len(train)},), got {labels.shape}")
    n_class = len(np.unique(labels))
    if encoder != "pca" and not 2 <= n_class:
        raise DataError(f"encoder {encoder} learns to tell classes apart, and the training pictures have only one")
    if encoder == "lda" and n_class == len(train):
        raise DataError(
            "encoder lda needs a class with at least two training pictures; here each has a class of its own"
        )
    return _flat([sized(picture) for picture in train]), labels


def _sizing(pictures: Pictures) -> Callable[[Picture], Picture]:
    """As they are, if all have one small shape; otherwise RGB of 32×32."""
    # One picture is looked at first: the headers of a thousand photographs need not be read to see that they are large.
    small = len(pictures) > 0 and np.prod(pictures.shape(0)) <= RAW_VALUES
    shape = pictures.same_shape if small else None

    def sized(picture: Picture) -> Picture:
        if shape is None:
            return resize(as_rgb(picture), RAW_SIDE, RAW_SIDE)
        if picture.shape != shape:
            raise DataError(
                f"a picture of shape {picture.shape} meets pictures of shape {shape}, whose pixels are compared one by "
                "one; bring it in the same size, or choose another encoder"
            )
        return picture

    return sized


def _encode_by_callable(pictures: Pictures, encoder: Encoder, batch: int) -> Vectors:
    """Ask a user's function for each batch, and check what it gives."""
    name = getattr(encoder, "__name__", type(encoder).__name__)
    parts: list[Vectors] = []
    done = 0
    for some in pictures.batches(batch):
        where = f"encoder {name}, pictures {done} to {done + len(some) - 1}"
        try:
            given = np.asarray(encoder(some))
        except (Exception, SystemExit) as problem:  # the user's function may fail in any way
            raise DataError(
                f"{where}: it failed ({_failure(problem)}); it is given a list of float32 pictures "
                "(H, W) or (H, W, 3) in [0, 1], and must give an array (n, n_dim)"
            ) from problem
        parts.append(_checked(given, len(some), where))
        done += len(some)
    if len({part.shape[1] for part in parts}) > 1:
        sizes = sorted({part.shape[1] for part in parts})
        raise DataError(f"encoder {name}: vectors of different lengths, {sizes}; every batch must have the same n_dim")
    return np.concatenate(parts) if parts else np.zeros((0, 0), np.float32)


def _failure(problem: BaseException) -> str:
    """Say in one line, not too long, how a user's code failed."""
    try:
        said = " ".join(str(problem).split())
    except Exception:
        said = ""
    return f"{type(problem).__name__}: {said[:WORDS] + ' …' * (len(said) > WORDS)}"


def _checked(given: NDArray[Any], n: int, where: str) -> Vectors:
    if given.dtype.kind not in "fiub":
        raise DataError(
            f"{where}: it gave {given.dtype} of shape {given.shape}; expected numbers of shape ({n}, n_dim)"
        )
    if given.ndim != 2 or len(given) != n or given.shape[1] == 0:
        raise DataError(f"{where}: it gave an array of shape {given.shape}; expected ({n}, n_dim), one row a picture")
    vectors = given if given.dtype.kind == "f" else given.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(vectors).all(1))
    if len(bad):
        raise DataError(f"{where}: nan or infinity in {len(bad)} of {n} rows, the first at place {bad[0]} of the batch")
    return vectors


def _stacked(parts: Iterable[Vectors], n: int) -> Vectors:
    """(n, n_dim) from batches, which are never all held twice."""
    vectors: Vectors = np.zeros((n, 0), np.float32)
    done = 0
    for part in parts:
        if done == 0:
            vectors = np.empty((n, part.shape[1]), np.float32)
        vectors[done : done + len(part)] = part
        done += len(part)
    return vectors


def _flat(pictures: Sequence[Picture]) -> Vectors:
    return np.stack(pictures).reshape(len(pictures), -1)


def _unit(vectors: NDArray[Any]) -> Vectors:
    """Rows of length 1; zero rows stay zero."""
    length = np.sqrt(np.square(vectors, dtype=np.float64).sum(1, keepdims=True))
    return (vectors / np.where(length > 0, length, 1)).astype(np.float32)


def _grey(picture: Picture) -> Picture:
    grey: Picture = picture if picture.ndim == 2 else picture.mean(2)
    return grey


def _colour_histogram(picture: Picture) -> NDArray[np.float64]:
    bins = np.minimum((as_rgb(picture) * COLOUR_BINS).astype(np.intp), COLOUR_BINS - 1)
    code = np.ravel_multi_index(tuple(np.moveaxis(bins, 2, 0)), (COLOUR_BINS,) * 3)
    share: NDArray[np.float64] = np.bincount(code.ravel(), minlength=COLOUR_BINS**3) / code.size
    return share


def _oriented_gradients(picture: Picture) -> NDArray[np.float64]:
    """(GRADIENT_CELLS² · GRADIENT_ANGLES,) each cell's angles, relative to the strength around the cell."""
    height, width = (min(side, GRADIENT_SIDE) for side in picture.shape[:2])
    grey = np.pad(resize(_grey(picture), height, width), 1, mode="edge").astype(np.float64)
    down, right = grey[2:, 1:-1] - grey[:-2, 1:-1], grey[1:-1, 2:] - grey[1:-1, :-2]
    strength = np.hypot(down, right)
    angle = np.arctan2(down, right) / np.pi % 1 * GRADIENT_ANGLES
    lower = np.floor(angle).astype(np.intp)
    cell = (
        (np.arange(height) * GRADIENT_CELLS // height)[:, None] * GRADIENT_CELLS
        + (np.arange(width) * GRADIENT_CELLS // width)[None, :]
    ) * GRADIENT_ANGLES
    cells = np.zeros(GRADIENT_CELLS**2 * GRADIENT_ANGLES)
    for bin_, share in ((lower, 1 - (angle - lower)), (lower + 1, angle - lower)):
        votes = (cell + bin_ % GRADIENT_ANGLES).ravel()
        cells += np.bincount(votes, (strength * share).ravel(), minlength=len(cells))
    grid = cells.reshape(GRADIENT_CELLS, GRADIENT_CELLS, GRADIENT_ANGLES)
    power = np.pad(np.square(grid).sum(2), 1)
    around = sum(power[i : i + GRADIENT_CELLS, j : j + GRADIENT_CELLS] for i in range(3) for j in range(3))
    return (grid / np.sqrt(around + 1e-4)[:, :, None]).ravel()


def _line_variances(grey: Picture) -> tuple[float, float, float]:
    height, width = grey.shape
    diagonal = (np.arange(width)[None, :] - np.arange(height)[:, None] + height - 1).ravel()
    along = np.bincount(diagonal, grey.ravel()) / np.bincount(diagonal)
    return float(grey.mean(1).var()), float(grey.mean(0).var()), float(along.var())
