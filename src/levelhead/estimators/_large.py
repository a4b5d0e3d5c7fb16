"""Large tables: judge labels by models of a sample, and fit the final trees to all rows.

1. The rows with the smallest hashes are the sample (`_sampling`). A copy of the estimator, the judge, is fitted to
   it as to any table of that size.
2. The judge predicts every row: those of the sample by fold models that have not seen them, all others by its members,
   which have not seen them either. The residuals give every label its weight.
3. Trees are fitted to all rows by weighted least squares. The first rows of the sample are held out: they decide on the
   number of trees, the calibration of the variance and the weights of trees and networks.

Tables of any size go through these steps piece by piece; `levelhead.large` reads them from files.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from levelhead._extras import available
from levelhead.audits import ContaminationEstimate
from levelhead.estimators import _preparation, _sampling
from levelhead.estimators._base import Unseen
from levelhead.estimators._clock import Clock
from levelhead.estimators._sampling import Piece, Sample
from levelhead.estimators._types import FloatArray
from levelhead.estimators.trees.forest import Forest, lightgbm
from levelhead.estimators.trees.growing import stop_at_the_end
from levelhead.tables.encoding import frames

if TYPE_CHECKING:
    from levelhead.estimators.trees.boosting import GCPBoostingRegressor

LARGE_ROWS = 250_000  # tables with more rows are judged by models of a sample
SAMPLE_ROWS = 100_000
PIECE_ROWS = 50_000
_HELD_OUT = 0.05  # of all rows, and at most half of the sample
_TAIL = 20.0  # α of the Student weight that a label keeps at least, as in the trees of smaller tables
_JUDGE_TIME = 0.6  # share of a time limit for the judge
_BATCH = 8192  # rows that LightGBM gets at a time


class Learnt(NamedTuple):
    """Rows as the final trees learn them.

    Attributes
    ----------
    inputs : ndarray of shape (n_samples, n_inputs)
        Inputs of the trees.
    labels : ndarray of shape (n_samples,)
        Labels in the units of the trees.
    weight : ndarray of shape (n_samples,)
        Weight of each label.
    key : ndarray of uint64
        Hash of each row.
    """

    inputs: NDArray[Any]
    labels: FloatArray
    weight: FloatArray
    key: _sampling.Hashes


Source = Callable[[], Iterable[Learnt]]  # goes through the table anew at each call


def applies(X: Any, n_rows: int, groups: Any, cv: Any) -> bool:
    """Whether a fit judges labels by a sample: in large tables with LightGBM, unless the user gives the folds."""
    return (
        n_rows > LARGE_ROWS
        and groups is None
        and cv is None
        and available("lightgbm")
        and not hasattr(X, "tocsr")
    )


def fit(model: Any, X: Any, y: Any, sample_weight: Any, seed: int) -> None:
    """Fit an estimator to a large table in memory; the estimator gets the attributes of a fitted one."""
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    table = frames.collected(X) if frames.library(X) else np.asarray(X)
    whole = Piece(table, np.asarray(y, dtype=np.float64), weight)

    sample = _sampling.draw(_sampling.sliced(whole, PIECE_ROWS), SAMPLE_ROWS, seed)
    clock = Clock(getattr(model, "time_limit", None))
    judge = clone(model).set_params(random_state=seed)
    if clock.limited:
        judge.set_params(time_limit=_JUDGE_TIME * clock.left)
    judge.fit(sample.rows.X, sample.rows.y, sample.rows.weight)
    trees = trees_of(judge, sample.rows, seed)

    def source() -> Iterator[Learnt]:
        return (learnt(judge, trees, piece, seed) for piece in _sampling.sliced(whole, PIECE_ROWS))

    fitted = refitted(judge, trees, source, sample, seed, clock)
    settings = model.get_params(deep=False)
    model.__dict__.update(vars(fitted) | settings)


def trees_of(judge: Any, rows: Piece, seed: int) -> Any:
    """The trees of a judge; None if it is one of networks alone."""
    if hasattr(judge, "estimators_"):
        return judge._trees_of(*rows[:3], seed) if available("lightgbm") else None
    return judge if hasattr(judge, "mean_forests_") else None


def learnt(judge: Any, trees: "GCPBoostingRegressor", piece: Piece, seed: int) -> Learnt:
    """A piece as the final trees learn it, its labels weighted by the judge."""
    weight = trust_in(unseen(judge, piece.X, piece.y), judge.separation_)
    weight = weight if piece.weight is None else weight * piece.weight
    return Learnt(*trees._learnt_rows(piece.X, piece.y), weight, piece.keys(seed))


def refitted(
    judge: Any,
    trees: "GCPBoostingRegressor | None",
    source: Source,
    sample: Sample,
    seed: int,
    clock: Clock | None = None,
) -> Any:
    """A copy of the judge whose trees are fitted to all rows; `judge_` holds the judge itself.

    Networks stay those of the sample. An estimator without trees stays that of the sample, and so does one of a table
    that is not larger than the sample.
    """
    n = n_held_out(sample)
    if trees is None or sample.n_rows == len(sample.key) or n == 0:
        return copy.copy(judge)
    forest, scores = _fitted_forest(judge, trees, source, sample, n, seed, clock or Clock())
    return with_forest(judge, trees, forest, scores, sample.rows.take(np.arange(n)))


def with_forest(
    judge: Any, trees: "GCPBoostingRegressor", forest: Forest, scores: list[float], held_out: Piece
) -> Any:
    """A copy of the judge with trees of all rows, calibrated and combined on rows that these have not seen."""
    model = copy.copy(judge)
    model.judge_ = judge
    final = _with_members(trees, forest, scores, held_out)
    if judge is trees:
        model.__dict__.update(vars(final))
        return model
    others = [_only(part, held_out) for part in judge.estimators_ if part is not trees]
    model.estimators_ = [final, *others]
    model.reason_ = "" if others else judge.reason_
    model._combine(held_out.X, held_out.y, held_out.weight)
    return model


def n_held_out(sample: Sample) -> int:
    """Number of rows of the sample on which the final trees are calibrated; copies of a row stay together."""
    wanted = min(round(_HELD_OUT * sample.n_rows), len(sample.key) // 2)
    return int(np.searchsorted(sample.key, sample.key[wanted], side="left"))


def first_key(trees: "GCPBoostingRegressor", sample: Sample, n: int) -> Any:
    """The smallest hash of a row that the final trees learn from, if `n` rows are held out.

    Statistics of categories were learnt from the labels of the sample, so that its rows would seem too easy: trees with
    such statistics learn from the other rows alone.
    """
    return sample.key[-1 if trees._learnt_encoding is not None else n]


def unseen(judge: Any, X: Any, y: FloatArray) -> Unseen:
    """Predictions of labels by models that have not seen them: out of fold for rows of the sample."""
    if not hasattr(judge, "estimators_"):
        found = judge._unseen(X, y)
        return Unseen(judge._on_scale(found.given), *found[1:])
    parts = [part._unseen(X, y) for part in judge.estimators_]
    ratios = [part.separation_.variance_ratio for part in judge.estimators_]
    joint = judge._pooling.pooled(
        np.array([part.mean for part in parts]),
        np.array([part.variance * ratio for part, ratio in zip(parts, ratios, strict=True)]),
    )
    alpha = np.min([part.alpha for part in parts], axis=0)
    labels = judge.estimators_[0]._on_scale(parts[0].given)
    return Unseen(labels, joint.mean, joint.variance, alpha)


def trust_in(found: Unseen, separation: ContaminationEstimate) -> FloatArray:
    """How much a label counts: the squared probability that it is right, and less in the tails in any case."""
    z = found.given - found.mean
    right = 1 - separation.probability(z, found.variance)
    with np.errstate(over="ignore"):
        squares = z * z / (found.variance * separation.variance_ratio)
    trust: FloatArray = right * right / (1 + squares / (2 * _TAIL))
    return trust


# ---------------------------------------------------------------------- trees of all rows


def _fitted_forest(
    judge: Any,
    trees: "GCPBoostingRegressor",
    source: Source,
    sample: Sample,
    n: int,
    seed: int,
    clock: Clock,
) -> tuple[Forest, list[float]]:
    """Trees of all rows but the held-out ones, and the error on these after each tree."""
    lgb = lightgbm()
    limit = first_key(trees, sample, n)
    n_learnt = sample.n_rows - int(np.searchsorted(sample.key, limit, side="left"))
    growth = trees._growth(sample.n_rows)
    parameters = growth.parameters(seed, objective="l2", boost_from_average=False)
    held_out = learnt(judge, trees, sample.rows.take(np.arange(n)), seed)
    reference = lgb.Dataset(
        trees._learnt_rows(sample.rows.X, sample.rows.y)[0],
        np.zeros(len(sample.key)),
        params=parameters,
        categorical_feature=list(growth.categorical),
    ).construct()
    stream = _Stream(source, limit)
    empty = np.zeros(n_learnt)
    table = lgb.Dataset(stream.sequence(n_learnt), empty, reference=reference, params=parameters)
    table.construct()
    stream.finish(table)
    scores: list[float] = []

    def error(predicted: FloatArray, _: Any) -> tuple[str, float, bool]:
        scores.append(float(np.average((held_out.labels - predicted) ** 2, weights=held_out.weight)))
        return "squared error", scores[-1], False

    booster = lgb.train(
        parameters | {"first_metric_only": True},
        table,
        growth.n_trees,
        valid_sets=[table.create_valid(held_out.inputs, held_out.labels)],
        feval=error,
        callbacks=[lgb.early_stopping(growth.patience, verbose=False), stop_at_the_end(clock)],
        keep_training_booster=True,
    )
    return Forest.of(booster, booster.best_iteration or growth.n_trees), scores


class _Stream:
    """Hands the rows of a table to LightGBM piece by piece, which keeps one byte for each cell."""

    def __init__(self, source: Source, limit: Any) -> None:
        self._source, self._limit = source, limit
        self._labels: list[NDArray[np.float32]] = []
        self._weights: list[NDArray[np.float32]] = []

    def sequence(self, n: int) -> Any:
        """The rows, as LightGBM reads them: once, in their order."""
        batches = self._batches()

        class Rows(lightgbm().Sequence):  # type: ignore[misc]
            batch_size = _BATCH

            def __len__(self) -> int:
                return n

            def __getitem__(self, rows: Any) -> NDArray[np.float64]:
                return next(batches)

        return Rows()

    def _batches(self) -> Iterator[NDArray[np.float64]]:
        """Inputs in batches of equal size, wherever the pieces end."""
        held: list[NDArray[np.float64]] = []
        for inputs in self._inputs():
            held.append(inputs)
            if sum(map(len, held)) < _BATCH:
                continue
            joined = np.concatenate(held)
            whole = len(joined) // _BATCH * _BATCH
            for start in range(0, whole, _BATCH):
                yield np.ascontiguousarray(joined[start : start + _BATCH])
            held = [joined[whole:]]
        yield np.concatenate(held)

    def _inputs(self) -> Iterator[NDArray[np.float64]]:
        for piece in self._source():
            rows = np.flatnonzero(piece.key >= self._limit)
            self._labels.append(piece.labels[rows].astype(np.float32))
            self._weights.append(piece.weight[rows].astype(np.float32))
            yield piece.inputs[rows].astype(np.float64, copy=False)

    def finish(self, table: Any) -> None:
        """Set labels and weights, whose mean is 1."""
        weight = np.concatenate(self._weights)
        table.set_label(np.concatenate(self._labels))
        table.set_weight(weight / weight.mean(dtype=np.float64))


def _with_members(
    trees: "GCPBoostingRegressor", forest: Forest, scores: list[float], held_out: Piece
) -> "GCPBoostingRegressor":
    """The same model with other trees for m, calibrated on rows that these have not seen."""
    final = copy.copy(trees)
    final.mean_forests_, final.n_iter_, final.loss_curve_ = [forest], forest.n_trees, scores
    X = final._checked_inputs(held_out.X, reset=False)
    inputs, labels = final._learnt_rows(held_out.X, held_out.y)
    mean, scale = final._sums(inputs)
    decoded = final._decoded(mean, final.shape_.log_scale(scale))
    final.disagreement_ = 0.0  # one member
    if final.separation_ is not None:
        final._separate(labels, mean[0], decoded.variance[0])
    final.oof_prediction_ = final._predicted(decoded, final._location(X))
    final._row_keys = _preparation.row_keys(X, held_out.y, final._stream)
    return final


def _only(model: Any, rows: Piece) -> Any:
    """A model of the sample with out-of-fold predictions of some of its rows only."""
    short = copy.copy(model)
    place, _ = model._find_training_rows(model._checked_inputs(rows.X, reset=False), rows.y)
    short.oof_prediction_, short._row_keys = model.oof_prediction_[place], model._row_keys[place]
    return short
