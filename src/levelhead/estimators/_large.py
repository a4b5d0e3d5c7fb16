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
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_X_y

from levelhead._extras import available
from levelhead.audits import ContaminationEstimate
from levelhead.estimators import _preparation, _sampling
from levelhead.estimators._base import Unseen
from levelhead.estimators._clock import Clock
from levelhead.estimators._inputs import explained
from levelhead.estimators._out_of_fold import fit_parameters
from levelhead.estimators._sampling import Piece, Sample
from levelhead.estimators._types import FloatArray
from levelhead.estimators.trees.forest import Forest, lightgbm
from levelhead.estimators.trees.growing import label_trust, report_trees, stop_at_the_end
from levelhead.progress import reporter
from levelhead.tables.encoding import frames

if TYPE_CHECKING:
    from levelhead.estimators.trees.boosting import GCPBoostingRegressor

LARGE_ROWS = 100_000  # tables with as many rows or more are judged by models of a sample
SAMPLE_ROWS = 50_000
PIECE_ROWS = 50_000
JUDGE_MEMBERS = 2  # of each ensemble of networks; the trees are those of the fold models
DENSE_CELLS = 2**27  # of a sparse table that are held as an array at a time, up to 1 GB
_HELD_OUT = 0.05  # of all rows, and at most half of the sample
_JUDGE_TIME = 0.6  # share of a time limit for the judge
_BATCH, _BATCH_CELLS = 8192, 2**24  # most rows, and most cells, that LightGBM gets at a time


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


def applies(n_rows: int, groups: Any, cv: Any) -> bool:
    """Whether a fit judges labels by a sample: in large tables with LightGBM, unless the user gives the folds."""
    return n_rows >= LARGE_ROWS and groups is None and cv is None and available("lightgbm")


def fits_sparse(model: Any, X: Any, y: Any, sample_weight: Any, groups: Any, cv: Any) -> bool:
    """Fit an estimator to a sparse table that would be too large as an array; False for all other tables."""
    if (
        not frames.is_sparse(X)
        or not applies(LARGE_ROWS, groups, cv)
        or X.shape[0] * X.shape[1] <= DENSE_CELLS
    ):
        return False
    with explained(X, y):
        X, y = check_X_y(X, y, accept_sparse="csr", y_numeric=True, estimator=model)
    weight = (
        None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
    )
    fit(model, X, y, weight, int(check_random_state(model.random_state).randint(2**31 - 1)))
    return True


def fit(model: Any, X: Any, y: Any, sample_weight: Any, seed: int) -> None:
    """Fit an estimator to a large table in memory; the estimator gets the attributes of a fitted one."""
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    X = X if frames.library(X) or frames.is_sparse(X) else np.asarray(X)
    whole = Piece(X, np.asarray(y, dtype=np.float64), weight)
    n_sample, n_piece = (min(n, DENSE_CELLS // X.shape[1]) for n in (SAMPLE_ROWS, PIECE_ROWS))

    sample = _sampling.draw(_sampling.sliced(whole, n_piece), n_sample, seed)
    clock = Clock(getattr(model, "time_limit", None))
    judge = as_judge(model).set_params(random_state=seed)
    if clock.limited:
        judge.set_params(time_limit=_JUDGE_TIME * clock.left)
    fit_judge(judge, *sample.rows[:3])
    trees = trees_of(judge, sample.rows, seed)

    def source() -> Iterator[Learnt]:
        return (learnt(judge, trees, piece, seed) for piece in _sampling.sliced(whole, n_piece))

    fitted = refitted(judge, trees, source, sample, seed, clock)
    settings = model.get_params(deep=False)
    model.__dict__.update(vars(fitted) | settings)


def checked_sample(n_rows: int) -> int:
    """The number of rows of a sample, which must not be a large table itself."""
    if n_rows >= LARGE_ROWS:
        raise ValueError(f"sample_rows is {n_rows:,}; it must be below {LARGE_ROWS:,}")
    return n_rows


def as_judge(estimator: Any) -> Any:
    """An unfitted copy of an estimator, for the sample.

    An estimator of networks and trees gets few members: the judge predicts every row of the table, and most of the
    weight of the final model is that of its trees.
    """
    judge = clone(estimator)
    last = _last(judge)
    if hasattr(last, "_trees_of"):
        last.set_params(n_members=min(last.n_members, JUDGE_MEMBERS))
    return judge


def fit_judge(judge: Any, X: Any, y: FloatArray, sample_weight: Any = None) -> Any:
    """Fit a judge to the sample, and return it.

    The trees of an estimator of networks and trees are those of the fold models: they predict the other rows as well as
    trees of the whole sample, which would take as long again.
    """
    last = _last(judge)
    if hasattr(last, "_trees_of"):
        last._keeps_fold_models = True
    judge.fit(X, y, **fit_parameters(judge, sample_weight=sample_weight))
    for part in (last, *getattr(last, "estimators_", ())):
        vars(part).pop("_keeps_fold_models", None)
    return judge


def _last(model: Any) -> Any:
    """An estimator itself, or the last step of a pipeline."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


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
    """Labels on the scale of a judge, and predictions that have not seen them: out of fold for rows of the sample."""
    found: Unseen = judge._unseen(X, y)
    scale = getattr(judge, "target_transform_", None)
    return found if scale is None else found._replace(given=scale.labels(found.given))


def trust_in(found: Unseen, separation: ContaminationEstimate) -> FloatArray:
    """How much a label counts, from its residual and the odds that it is wrong."""
    z = found.given - found.mean
    std = np.sqrt(found.variance * separation.variance_ratio)
    return label_trust(separation.probability(z, found.variance), z / std)


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
    stream = _Stream(source, limit, max(1, min(_BATCH, _BATCH_CELLS // trees.mean_forests_[0].n_features)))
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
        callbacks=[
            lgb.early_stopping(growth.patience, verbose=False),
            stop_at_the_end(clock),
            report_trees("trees of all rows", reporter(trees)),
        ],
        keep_training_booster=True,
    )
    return Forest.of(booster, booster.best_iteration or growth.n_trees), scores


class _Stream:
    """Hands the rows of a table to LightGBM piece by piece, which keeps one byte for each cell."""

    def __init__(self, source: Source, limit: Any, batch: int) -> None:
        self._source, self._limit, self._batch = source, limit, batch
        self._labels: list[NDArray[np.float32]] = []
        self._weights: list[NDArray[np.float32]] = []

    def sequence(self, n: int) -> Any:
        """The rows, as LightGBM reads them: once, in their order."""
        batches = self._batches()

        class Rows(lightgbm().Sequence):  # type: ignore[misc]
            batch_size = self._batch

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
            if sum(map(len, held)) < self._batch:
                continue
            joined = np.concatenate(held)
            whole = len(joined) // self._batch * self._batch
            for start in range(0, whole, self._batch):
                yield np.ascontiguousarray(joined[start : start + self._batch])
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
