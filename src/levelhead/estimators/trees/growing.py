"""How boosted trees learn m, ln s and α of Student's t from labels some of which are wrong.

Trees fit whatever they are shown, so nothing here is learnt from residuals of labels that a tree has seen. Several
machines grow in step, each without one fold of the rows; together they give every row a residual z by a machine
that has not seen its label. LightGBM grows them as the classes of one booster, in which the labels of its fold have
no weight for a machine: no more than one call a round, whatever their number. From these residuals come

- the trust w = 1/(1 + z²/(2αs²)) in each label, the Student weight (2α+1)/(2αs² + z²) up to a factor that does not
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

from levelhead.estimators.trees.forest import Forest, lightgbm
from levelhead.theory import student
from levelhead.theory.elementary import exp, log

FloatArray = NDArray[np.float64]
Gradients = Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # of predictions: first and second

_ALPHAS = (0.1, 50.0)
_WARM_UP = 20  # steps of m before α moves: until then, residuals are signal rather than noise
_FIRST_RATE = 3.0  # of the machines that only serve to judge labels, relative to the members'
_SCALE_RATE = 0.15
_STEPS = 3  # of the trees for m to one of those for ln s
_SCALE_LEAVES = (4, 31)  # fewest and most
_ROWS_PER_SCALE_LEAF = 250
_ROWS_OF_CATEGORY = 10
_LONGEST = np.array([0.3, 0.1, 0.2])  # step of offset, slope and ln α
_LARGEST_SLOPE = 1.2
_OFFSETS = (-14.0, 14.0)  # of ln s: labels that are met exactly must not make the likelihood unbounded
_GAIN = 1e-4  # a smaller gain of −ln t is none


@dataclass(frozen=True)
class Growth:
    """Settings of the trees of m; a leaf needs so many fully trusted rows, or more that are trusted less.

    A leaf of the scale needs `rows_in_scale_leaf`, trusted or not.
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
            # LightGBM's defaults (100, 10, 10) would see no category in a table of some hundred rows.
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
            # LightGBM guesses the rows of a leaf from its weights and miscounts those without any; weights are sure.
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
    """What the machines that each left out a fold have found: for every row, without its label."""

    mean: FloatArray
    trees: FloatArray
    shape: Shape
    scale_forests: list[Forest]
    n_passes: int
    scores: list[float]


def residual_ratios(z: FloatArray, log_s: FloatArray, alpha: float) -> student.Ratios:
    """What the loss needs of residuals z at scales s; `near` is the Student weight, 1 for a residual of 0."""
    return student.ratios(z * exp(-log_s), alpha)


def fisher_step(shape: Shape, z: FloatArray, trees: FloatArray, weight: FloatArray, *, warm: bool) -> Shape:
    """One step of Fisher scoring for offset, slope and, if `warm`, ln α, cut at a safe length.

    The slope turns around the mean of the trees, so that cutting its step does not throw the offset off.
    """
    alpha = shape.alpha
    at = residual_ratios(z, shape.log_scale(trees), alpha)
    mean = lambda values: float(np.average(values, weights=weight))
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
    """The solution of two equations, by Cramer's rule: LAPACK rounds as the processor likes."""
    (a, b), (c, d) = matrix
    determinant = a * d - b * c
    return (d * vector[0] - b * vector[1]) / determinant, (a * vector[1] - c * vector[0]) / determinant


def grow(
    X: FloatArray, y: FloatArray, weight: FloatArray, fold: NDArray[np.int64], growth: Growth, seed: int
) -> Grown:
    """Machines that each leave out a fold, in step, until their unseen labels are met no better.

    `y` is scaled to location 0 and spread 1; `fold` counts from 0.
    """
    mean_trees = _mean_trees(X, y, fold, growth, seed, _FIRST_RATE)
    scale_trees = _Trees(growth.scale_parameters(seed, len(y)), mean_trees.booster.train_set, fold)
    n_passes = max(1, round(growth.n_trees / _FIRST_RATE / _STEPS))
    mean, trees, shape = np.zeros(len(y)), np.zeros(len(y)), Shape(0.0, 1.0, 0.0)
    even = weight / weight.mean()  # a leaf of the scale needs so much of it as it needs rows
    scores: list[float] = []
    best = Grown(mean, trees, shape, [], 0, scores)
    for k in range(n_passes):
        for _ in range(_STEPS):
            w = weight * residual_ratios(y - mean, shape.log_scale(trees), shape.alpha).near
            mean = mean_trees.step(_weighted_squares(y, w / w.mean()))
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
    return best._replace(scale_forests=Forest.each(scale_trees.booster, best.n_passes))


def finish(
    X: FloatArray, y: FloatArray, weight: FloatArray, growth: Growth, n_passes: int, seed: int
) -> Forest:
    """A member: trees for m from all rows, each label with its final weight."""
    lgb = lightgbm()
    parameters = growth.parameters(seed, objective="l2", boost_from_average=False)
    table = lgb.Dataset(
        X, y, weight=weight / weight.mean(), params=parameters, categorical_feature=list(growth.categorical)
    )
    n_trees = min(growth.n_trees, round(_FIRST_RATE * _STEPS * n_passes))
    # A booster that is kept as it is spares writing and reading all trees once more.
    return Forest.of(lgb.train(parameters, table, n_trees, keep_training_booster=True), n_trees)


class _Trees:
    """Machines in one booster, which share the bins: to each, the labels of its own fold weigh nothing.

    They are told the gradients, rows × machines, and tell what each row gets from the machine that leaves it out.
    """

    def __init__(self, parameters: dict[str, Any], table: Any, fold: NDArray[np.int64]) -> None:
        n_machines = int(fold.max()) + 1
        self.booster = lightgbm().Booster(parameters | {"num_class": n_machines}, table)
        self._seen = np.asfortranarray(fold[:, None] != np.arange(n_machines))  # in LightGBM's order
        self._own = np.arange(len(fold)), fold

    def step(self, gradients: Gradients) -> FloatArray:
        self.grow(gradients)
        return self.unseen()

    def grow(self, gradients: Gradients) -> None:
        self.booster.update(fobj=lambda at, _: [self._seen * part for part in gradients(at)])

    def unseen(self) -> FloatArray:
        self.booster.eval_train(feval=self._notice)
        return self._told

    def _notice(self, at: FloatArray, _: Any) -> tuple[str, float, bool]:
        self._told: FloatArray = at[self._own]
        return "unseen", 0.0, False


def _mean_trees(
    X: FloatArray, y: FloatArray, fold: NDArray[np.int64], growth: Growth, seed: int, rate: float
) -> _Trees:
    """Machines for m that have yet to grow, at `rate` times the members' step, with bins of all rows."""
    parameters = growth.parameters(seed, learning_rate=min(1.0, rate * growth.rate))
    categorical = list(growth.categorical)
    table = lightgbm().Dataset(X, y, params=parameters, categorical_feature=categorical, free_raw_data=False)
    return _Trees(parameters, table, fold)


def _weighted_squares(y: FloatArray, w: FloatArray) -> Gradients:
    return lambda at: (w[:, None] * (at - y[:, None]), w[:, None])


def _natural(z: FloatArray, w: FloatArray, shape: Shape) -> Gradients:
    w, z, alpha = w[:, None], z[:, None], shape.alpha

    def gradients(trees: FloatArray) -> tuple[FloatArray, FloatArray]:
        at = residual_ratios(z, shape.log_scale(trees), alpha)
        return w * student.by_log_scale(at, alpha) / student.of_log_scale(alpha), w

    return gradients
