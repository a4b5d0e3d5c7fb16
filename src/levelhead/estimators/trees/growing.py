"""How boosted trees learn m, ln s and α of Student's t from labels some of which are wrong.

Trees can fit any label that they are trained on, so only residuals of held-out labels are used here. Several fold
models are trained together, each without one fold of the rows; they give every row an out-of-fold residual z.
LightGBM trains them as the classes of one booster, in which the labels of a model's own fold have weight 0: this
takes one call per round for any number of folds. From these residuals come

- the weight w = 1/(1 + z²/(2αs²)) of each label, the Student weight (2α+1)/(2αs² + z²) up to a factor that does not
  depend on z: the next trees for m are a weighted least-squares fit, a Newton step that is bounded for any residual;
- the trees for ln s, by natural-gradient steps in large leaves, which cannot isolate single labels;
- offset and slope of ln s, and one α for all rows, by Fisher scoring (`theory.student`);
- when to stop: at the smallest −ln t.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.estimators._clock import Clock
from levelhead.estimators._out_of_fold import Folds
from levelhead.estimators.trees.forest import Forest, lightgbm
from levelhead.progress import Report, silent
from levelhead.theory import student
from levelhead.theory.elementary import exp, log

FloatArray = NDArray[np.float64]
Gradients = Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # of predictions: first and second

_ALPHAS = (0.1, 50.0)
_WARM_UP = 20  # steps of m before α changes: until then, residuals are signal rather than noise
# Learning rate of the fold models, which only judge labels, relative to the members'; and that for many rows, which
# halves their time. What both cost and change in large tables is in docs/howto/large.md.
_FIRST_RATE, _FIRST_RATE_OF_MANY, _MANY_ROWS = 3.0, 6.0, 20_000
_SCALE_RATE = 0.15
_STEPS = 3  # of the trees for m to one of those for ln s
_SCALE_LEAVES = (4, 31)  # fewest and most
_ROWS_PER_SCALE_LEAF = 250
_ROWS_OF_CATEGORY = 10
_LONGEST = np.array([0.3, 0.1, 0.2])  # step of offset, slope and ln α
_LARGEST_SLOPE = 1.2
_OFFSETS = (-14.0, 14.0)  # of ln s: labels that are predicted exactly must not make the likelihood unbounded
_LEAST_ALPHA = 20.0  # in the weights of labels: wrong ones are known by then, clean ones keep most weight
_GAIN = 1e-4  # a smaller decrease of −ln t is not an improvement


@dataclass(frozen=True)
class Growth:
    """Settings of the trees of m; `rows_in_leaf` counts rows by the weights of their labels.

    `rows_in_scale_leaf`, for the trees of ln s, does not depend on these weights.
    """

    rate: float
    n_trees: int
    leaves: int
    rows_in_leaf: int
    rows_in_scale_leaf: int
    feature_share: float
    row_share: float
    patience: int
    n_threads: int
    categorical: Sequence[int]
    monotone: Sequence[int] = ()  # the sign of each feature's effect on m; 0 for any

    @property
    def constraints(self) -> dict[str, Any]:
        """LightGBM's names for the constraints on m."""
        return {"monotone_constraints": list(self.monotone)} if any(self.monotone) else {}

    def parameters(self, seed: int, **settings: Any) -> dict[str, Any]:
        """LightGBM's names for them; the same seed gives the same trees, whatever the number of threads."""
        return {
            "objective": "none",
            "metric": "None",
            "verbosity": -1,
            "seed": seed,
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": self.n_threads,
            "feature_pre_filter": False,
            "min_data_in_bin": 1,
            "num_leaves": self.leaves,
            "learning_rate": self.rate,
            "min_data_in_leaf": self.rows_in_leaf,
            "min_sum_hessian_in_leaf": float(self.rows_in_leaf),
            "feature_fraction_bynode": self.feature_share,
            "bagging_fraction": self.row_share,
            "bagging_freq": int(self.row_share < 1),
            # LightGBM's defaults (100, 10, 10) would ignore all categories in a table of a few hundred rows.
            "min_data_per_group": _ROWS_OF_CATEGORY,
            "cat_smooth": 2.0,
            "cat_l2": 1.0,
        } | settings

    def scale_parameters(self, seed: int, n: int) -> dict[str, Any]:
        """The same for the trees of ln s."""
        return self.parameters(
            seed,
            num_leaves=int(np.clip(n // _ROWS_PER_SCALE_LEAF, *_SCALE_LEAVES)),
            learning_rate=_SCALE_RATE,
            # LightGBM estimates the rows of a leaf from their weights and miscounts rows of weight 0; sums of weights
            # are exact.
            min_data_in_leaf=1,
            min_sum_hessian_in_leaf=float(self.rows_in_scale_leaf),
            feature_fraction_bynode=1.0,
            bagging_fraction=1.0,
            bagging_freq=0,
        )


class Shape(NamedTuple):
    """What all rows share: ln s = offset + slope · (the scale trees), and α."""

    offset: float
    slope: float
    log_alpha: float

    @property
    def alpha(self) -> float:
        """α."""
        return float(exp(self.log_alpha))

    def log_scale(self, trees: FloatArray) -> FloatArray:
        """Ln s of rows for which the scale trees give these numbers."""
        return self.offset + self.slope * trees


class Grown(NamedTuple):
    """What the fold models predict for every row that they did not train on."""

    mean: FloatArray
    trees: FloatArray
    shape: Shape
    scale_forests: list[Forest]
    mean_forests: list[Forest]  # of the fold models, if they are kept
    n_passes: int
    scores: list[float]


def residual_ratios(z: FloatArray, log_s: FloatArray, alpha: float) -> student.Ratios:
    """Terms of the loss for residuals z at scales s; `near` is the Student weight, 1 for a residual of 0."""
    return student.ratios(z * exp(-log_s), alpha)


def label_trust(wrong: FloatArray, u: FloatArray, alpha: float = _LEAST_ALPHA) -> FloatArray:
    """How much labels count, from the probability that they are wrong and residuals u in units of the scale.

    Trees fit single labels, so the probability that a label is right is squared, and outliers get less weight in any
    case.
    """
    near = student.ratios(u, max(alpha, _LEAST_ALPHA), logarithm=False).near
    trust: FloatArray = (1 - wrong) ** 2 * near
    return trust


def _first_rate(n: int) -> float:
    return _FIRST_RATE if n < _MANY_ROWS else _FIRST_RATE_OF_MANY


def fisher_step(shape: Shape, z: FloatArray, trees: FloatArray, weight: FloatArray, *, warm: bool) -> Shape:
    """One step of Fisher scoring for offset, slope and, if `warm`, ln α, clipped to a safe length.

    The slope is taken around the mean of the trees, so that clipping its step does not change the offset.
    """
    alpha = shape.alpha
    at = residual_ratios(z, shape.log_scale(trees), alpha)

    def mean(values: FloatArray) -> float:
        return float(np.average(values, weights=weight))

    center = mean(trees)
    around = trees - center
    of_scale = student.by_log_scale(at, alpha)
    gradient = np.array([mean(of_scale), mean(student.by_log_alpha(at, alpha))])
    information = student.student_information(alpha, 1.0)[1:, 1:]
    level, tail = _solve(information, gradient) if warm else (gradient[0] / information[0, 0], 0.0)
    turn = mean(of_scale * around) / (information[0, 0] * mean(around * around) + 1e-9)
    level, turn, tail = np.clip([level, turn, tail], -_LONGEST, _LONGEST).tolist()
    slope = float(np.clip(shape.slope - turn, 0, _LARGEST_SLOPE))
    offset = shape.offset - level - (slope - shape.slope) * center
    return Shape(
        float(np.clip(offset, *_OFFSETS)),
        slope,
        float(np.clip(shape.log_alpha - tail, *log(_ALPHAS))),
    )


def _solve(matrix: FloatArray, vector: FloatArray) -> tuple[float, float]:
    """The solution of two equations, by Cramer's rule: LAPACK rounds differently on different processors."""
    (a, b), (c, d) = matrix
    determinant = a * d - b * c
    return (d * vector[0] - b * vector[1]) / determinant, (a * vector[1] - c * vector[0]) / determinant


def grow(
    X: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    folds: Folds,
    growth: Growth,
    seed: int,
    by_fold: FloatArray | None = None,
    clock: Clock | None = None,
    report: Report = silent,
    *,
    keep: bool = False,
) -> Grown:
    """Train fold models together until the score on their held-out labels stops improving, or the time is over.

    `y` is scaled to location 0 and spread 1. `by_fold`, of shape (rows, folds), has the labels that each fold model
    learns from, if they differ. `keep` is whether to return the trees for m of the fold models.
    """
    clock = clock or Clock()
    targets = y[:, None] if by_fold is None else by_fold
    rate = _first_rate(len(y))
    mean_trees = _mean_trees(X, y, folds, growth, seed, rate)
    scale_trees = _Trees(growth.scale_parameters(seed, len(y)), mean_trees.booster.train_set, folds)
    n_passes = max(1, round(growth.n_trees / rate / _STEPS))
    mean, trees, shape = np.zeros(len(y)), np.zeros(len(y)), Shape(0.0, 1.0, 0.0)
    even = weight / weight.mean()  # mean 1, so that a sum of weights counts like a number of rows
    scores: list[float] = []
    best = Grown(mean, trees, shape, [], [], 0, scores)
    for k in range(n_passes):
        per_scale = exp(-shape.log_scale(trees))
        for _ in range(_STEPS):
            w = weight * student.ratios((y - mean) * per_scale, shape.alpha, logarithm=False).near
            mean = mean_trees.step(_weighted_squares(targets, w / w.mean()))
        z = y - mean
        trees = scale_trees.step(_natural(z, even, shape))
        shape = fisher_step(shape, z, trees, weight, warm=k * _STEPS >= _WARM_UP)
        log_s = shape.log_scale(trees)
        at = residual_ratios(z, log_s, shape.alpha)
        loss = student.negative_log(at, shape.alpha, shape.alpha) + log_s  # at scale s, σ = αs²
        scores.append(float(np.average(loss, weights=weight)))
        if k == 0 or scores[-1] < scores[best.n_passes - 1] - _GAIN:
            best = best._replace(mean=mean, trees=trees, shape=shape, n_passes=k + 1)
        elif (k + 1 - best.n_passes) * _STEPS >= growth.patience:
            break
        report("fold models of trees", (k + 1) / n_passes)
        if clock.over:
            break
    return best._replace(
        scale_forests=Forest.each(scale_trees.booster, best.n_passes),
        mean_forests=Forest.each(mean_trees.booster, _STEPS * best.n_passes) if keep else [],
    )


def finish(
    X: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    growth: Growth,
    n_passes: int,
    seed: int,
    callbacks: Sequence[Callable[[Any], None]] = (),
) -> Forest:
    """A member: trees for m from all rows, each label with its final weight."""
    lgb = lightgbm()
    parameters = growth.parameters(seed, objective="l2", boost_from_average=False, **growth.constraints)
    table = lgb.Dataset(
        X, y, weight=weight / weight.mean(), params=parameters, categorical_feature=list(growth.categorical)
    )
    n_trees = min(growth.n_trees, round(_first_rate(len(y)) * _STEPS * n_passes))
    # Without this, LightGBM would write and read all trees once more.
    booster = lgb.train(parameters, table, n_trees, callbacks=list(callbacks), keep_training_booster=True)
    return Forest.of(booster, booster.current_iteration())


def stop_at_the_end(clock: Clock) -> Callable[[Any], None]:
    """A callback of LightGBM that ends the training when the time is over."""

    def stop(environment: Any) -> None:
        if clock.over:
            raise lightgbm().callback.EarlyStopException(environment.iteration, [])

    return stop


def report_trees(name: str, report: Report) -> Callable[[Any], None]:
    """A callback of LightGBM that reports how many of the trees are grown."""
    return lambda at: report(name, (at.iteration + 1) / at.end_iteration)


class _Trees:
    """Fold models in one booster, which share the bins; for each, the labels that it leaves out have weight 0.

    A step takes the gradients, shape (rows, folds), and returns the out-of-fold prediction of every row.
    """

    def __init__(self, parameters: dict[str, Any], table: Any, folds: Folds) -> None:
        self.booster = lightgbm().Booster(parameters | {"num_class": folds.n}, table)
        self._seen = np.asfortranarray(folds.seen)  # in LightGBM's order
        self._own = np.arange(len(folds.of_row)), folds.of_row

    def step(self, gradients: Gradients) -> FloatArray:
        self.booster.update(fobj=lambda at, _: [self._seen * part for part in gradients(at)])
        self.booster.eval_train(feval=self._store)
        return self._held_out

    def _store(self, at: FloatArray, _: Any) -> tuple[str, float, bool]:
        self._held_out: FloatArray = at[self._own]
        return "unused", 0.0, False


def _mean_trees(X: FloatArray, y: FloatArray, folds: Folds, growth: Growth, seed: int, rate: float) -> _Trees:
    """Untrained fold models for m, with `rate` times the members' learning rate and bins of all rows."""
    rate = min(1.0, rate * growth.rate)
    parameters = growth.parameters(seed, learning_rate=rate, **growth.constraints)
    categorical = list(growth.categorical)
    table = lightgbm().Dataset(X, y, params=parameters, categorical_feature=categorical, free_raw_data=False)
    return _Trees(parameters, table, folds)


def _weighted_squares(targets: FloatArray, w: FloatArray) -> Gradients:
    return lambda at: (w[:, None] * (at - targets), w[:, None])


def _natural(z: FloatArray, w: FloatArray, shape: Shape) -> Gradients:
    w, z, alpha = w[:, None], z[:, None], shape.alpha

    def gradients(trees: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = student.ratios(z * exp(-shape.log_scale(trees)), alpha, logarithm=False)
        return w * student.by_log_scale(at, alpha) / student.of_log_scale(alpha), w

    return gradients
