"""The scale of the labels on which a model learns: as given, logarithm, a power, or chosen on held-out rows.

A choice compares, on held-out rows, how probable the labels are in the units of y (the derivative of the scale is part
of the density). Each density is mixed with a broad one that is the same for all scales. A label that is probably wrong
on any of the scales counts for none, except against a logarithm if it is not positive and plausible on the linear
scale. Labels with a misplaced decimal point would speak for a logarithm, which moves them near the others: if there are
any, the scales are fitted and compared again without them. So would many wrong labels on one side: the linear scale
stays unless another one is clearly better, both with and without the labels that are probably wrong on all scales.
A power must also make the residuals of the linear fit more probable: this compares densities of the same predictions,
whereas trees of a small table may fail on some folds of any scale.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, StrOptions

from levelhead.audits import LEAST_ROWS
from levelhead.estimators._out_of_fold import Splitting
from levelhead.estimators._preparation import Rows, arrange, target_scale
from levelhead.estimators._separating import calibrated_separation, is_noiseless, misplaced
from levelhead.estimators._types import FloatArray, Table
from levelhead.prediction import Prediction, TransformedPrediction
from levelhead.prediction.calibration import log_density
from levelhead.prediction.monotone import MonotoneTransform
from levelhead.prediction.transforms import LogTransform, Transform
from levelhead.prediction.yeo_johnson import YeoJohnsonTransform
from levelhead.theory.elementary import exp, log

TARGET_TRANSFORM = [
    StrOptions({"auto", "log", "yeo-johnson"}),
    Transform,
    HasMethods(["transform", "inverse_transform"]),
    None,
]
_TRIAL_ROWS = 1000  # used to compare scales; more would take longer and rarely change the choice
_MOST_NOT_POSITIVE = 0.05  # share of labels of at most 0 with which a logarithm still makes sense
_LEAST_RATIO = 1.5  # of the 95 % to the 5 % quantile of the labels: below, a log scale is nearly linear
_POWERS = np.arange(0, 2.01, 0.25)
_LINEAR_POWERS = (0.9, 1.1)
_DOUBT = 0.05  # share of the broad density that all scales have in common
_CLEARLY = 2.0  # standard errors by which another scale must be better than the linear one
# For the residuals of the linear fit and a power, which is the best of nine; set on simulated labels with and without
# skewness.
_MOST_CLEARLY = 4.0


class Choice(NamedTuple):
    """A scale, None for the units of y, and the reason in one sentence."""

    transform: Transform | None
    reason: str


class Scores(NamedTuple):
    """Log densities of held-out labels, and whether each is probably wrong."""

    value: FloatArray
    suspect: NDArray[np.bool_]


class ScaledLabels:
    """A model that may learn on another scale of the labels; a part of `AuditedRegressor`."""

    target_transform: Any
    target_transform_: Transform | None
    target_transform_reason_: str

    @abstractmethod
    def _unrounded(self, X: Table, y: FloatArray, rows: Rows) -> FloatArray:
        """Labels with the noise of their rounding, if they have no other; else the same labels."""

    @abstractmethod
    def _held_out(
        self, X: Table, y: FloatArray, rows: Rows, splitting: Splitting, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Out-of-fold means and variances of fold models, in the units of the given labels."""

    def _learn_label_scale(
        self, X: Table, y: FloatArray, rows: Rows, splitting: Splitting, seed: int
    ) -> None:
        found = choose([self], self.target_transform, X, y, rows, splitting, seed)
        self.target_transform_, self.target_transform_reason_ = found

    def _chosen_scale(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, cv: Any, also: Sequence["ScaledLabels"] = ()
    ) -> Choice:
        """The scale that `fit` would choose, for models that share one; on each, the best of the models counts."""
        pilots = [clone(model) for model in (self, *also)]
        checked = [pilot._checked(X, y, sample_weight, reset=True) for pilot in pilots]
        X, y, weight = checked[0]
        seed = int(check_random_state(pilots[0].random_state).randint(2**31 - 1))
        splitting = Splitting(groups, cv).checked(len(y))
        rows = arrange(X, y, weight, seed)
        labels = [pilot._unrounded(X, y, rows) for pilot in pilots]
        return choose(pilots, pilots[0].target_transform, X, labels[0], rows, splitting, seed)

    @property
    def _scale(self) -> Transform | None:
        """The fitted scale; models of version 0.1 have none."""
        return getattr(self, "target_transform_", None)

    def _on_scale(self, y: FloatArray) -> FloatArray:
        return y if self._scale is None else self._scale.labels(y)

    def _in_units(self, latent: Prediction) -> Prediction:
        return latent if self._scale is None else TransformedPrediction(latent, self._scale)


def choose(
    models: Sequence[ScaledLabels],
    how: Any,
    X: Table,
    y: FloatArray,
    rows: Rows,
    splitting: Splitting,
    seed: int,
) -> Choice:
    """The scale that the user wants, fitted to the labels."""
    if how is None:
        return Choice(None, "linear scale, the default")
    labels = y[rows.index]
    if isinstance(how, Transform):
        return Choice(how, f"{how.name} scale, as given")
    if how == "log":
        return Choice(_logarithm(labels), f"log scale, as given{_not_positive(labels)}")
    if not isinstance(how, str):
        fitted = clone(how).fit(labels[:, None])
        spread = float(target_scale(y, rows, "robust").spread)
        given = MonotoneTransform.of(fitted, labels, spread)
        return Choice(given, f"{given.name} scale, as given")
    if rows.n_groups < LEAST_ROWS or (labels == labels[0]).all():
        return Choice(None, f"linear scale, because a choice needs {LEAST_ROWS} different rows and labels")
    trial = _Trial(models, X, y, rows, splitting, seed, _trial_rows(rows))
    if how == "yeo-johnson":
        scale = trial.best_power()
        return Choice(scale, f"{scale.name} scale, the power by the likelihood of held-out labels")
    trial = trial.without(trial.misplaced())
    chosen = trial.choice()
    if chosen.transform is None:
        return chosen
    again = trial.without(trial.wrong_on_all_scales()).choice()
    return again if again.transform is None else chosen


def _trial_rows(rows: Rows) -> NDArray[np.int64]:
    """Rows on which scales are compared, chosen by their content."""
    visited = np.unique(rows.index)
    return np.sort(visited[np.argsort(rows.key[visited], kind="stable")[:_TRIAL_ROWS]])


def _logarithm(labels: FloatArray) -> LogTransform:
    bad = labels <= 0
    if bad.mean() > _MOST_NOT_POSITIVE:
        raise ValueError(
            f"target_transform is 'log', but {bad.sum()} of {bad.size} labels are not positive (for example "
            f"{labels[bad][0]:g}); a log scale needs positive labels: use 'yeo-johnson', or remove them"
        )
    return LogTransform.of(labels)


def _not_positive(labels: FloatArray) -> str:
    count = int((labels <= 0).sum())
    are = "label is" if count == 1 else "labels are"
    return (
        f"; {count} {are} not positive, which is impossible on a log scale; they are treated as much too small"
        if count
        else ""
    )


class _Trial:
    """Scales compared on some of the rows, with the same folds for all."""

    def __init__(
        self,
        models: Sequence[ScaledLabels],
        X: Table,
        y: FloatArray,
        rows: Rows,
        splitting: Splitting,
        seed: int,
        some: NDArray[np.int64],
    ) -> None:
        self.arguments = models, X, y, rows, splitting, seed
        self.models, self.seed, self.some = models, seed, some
        self.X, self.y, self.splitting = X[some], y[some], splitting.take(some)
        weight = np.bincount(rows.index, minlength=len(y)).astype(np.float64)
        weight = weight if rows.weight is None else weight * rows.weight
        self.weight = weight[some] / weight[some].sum()
        self.rows = arrange(self.X, self.y, None, seed)
        self.center, self.spread = (float(part) for part in target_scale(self.y, self.rows, "robust"))
        self.linear = self.held_out(None)

    def without(self, left_out: NDArray[np.bool_]) -> "_Trial":
        """The same comparison without some labels; this one if there are none, or if too few are left."""
        if not left_out.any() or np.count_nonzero(~left_out) < LEAST_ROWS:
            return self
        return _Trial(*self.arguments, self.some[~left_out])

    def held_out(self, scale: Transform | None) -> tuple[FloatArray, FloatArray]:
        """Means and variances by the model under which the held-out labels are most probable."""
        labels = self.y if scale is None else scale.labels(self.y)
        found = [
            model._held_out(self.X, labels, self.rows, self.splitting, self.seed) for model in self.models
        ]
        return (
            max(found, key=lambda predicted: self._worth(scale, *predicted)) if len(found) > 1 else found[0]
        )

    def _worth(self, scale: Transform | None, mean: FloatArray, variance: FloatArray) -> float:
        """Mean log density; no density is higher than that of labels that are predicted exactly."""
        value = self.scores(scale, mean, variance).value
        return np.inf if np.isneginf(value).any() else float((self.weight * value).sum())

    def scores(self, scale: Transform | None, mean: FloatArray, variance: FloatArray) -> Scores:
        """Logarithm of the density of each held-out label, per unit of y, mixed with the broad one."""
        labels = self.y if scale is None else scale.labels(self.y)
        if np.median(np.abs(labels - mean)) == 0:
            return Scores(np.full(len(labels), -np.inf), np.zeros(len(labels), dtype=bool))
        density = log_density(labels - mean, variance)
        if scale is not None:
            density = density + scale.log_derivative(self.y)
        far = (self.y - self.center) / self.spread
        broad = -log(np.pi * self.spread * (1 + far * far))
        top = np.maximum(density, broad)
        clean, wrong = (1 - _DOUBT) * exp(density - top), _DOUBT * exp(broad - top)
        return Scores(np.asarray(top + log(clean + wrong)), wrong > clean)

    def best_power(self) -> YeoJohnsonTransform:
        """The power under which held-out residuals of the linear fit are most probable."""
        best, highest = YeoJohnsonTransform(1.0, self.center, self.spread), -np.inf
        for power in _POWERS.tolist():
            scale = YeoJohnsonTransform(power, self.center, self.spread)
            score = float((self.weight * self.scores(scale, *self._moved(scale)).value).sum())
            if score > highest:
                best, highest = scale, score
        return best

    def candidates(self) -> list[Transform]:
        """A logarithm where it makes sense; a power for labels that it cannot hold, or with a long lower tail."""
        low, high = np.quantile(self.y, [0.05, 0.95])
        found: list[Transform] = []
        if (self.y <= 0).mean() <= _MOST_NOT_POSITIVE and (low <= 0 or high / low > _LEAST_RATIO):
            found.append(LogTransform.of(self.y))
        bent = self.best_power()
        least, most = _LINEAR_POWERS
        is_new = bent.power > most or (bent.power < least and not found)
        return [*found, bent] if is_new and self._suits_residuals(bent) else found

    def _suits_residuals(self, scale: Transform) -> bool:
        """Whether a scale makes residuals of the linear fit much more probable, without wrong labels."""
        fits = [(self.y, *self.linear), (scale.labels(self.y), *self._moved(scale))]
        if any(is_noiseless(labels, mean) for labels, mean, _ in fits):
            return False
        right = ~np.any([_probably_wrong(*fit) for fit in fits], axis=0)
        few = right.sum() < LEAST_ROWS / 2
        if few or any(is_noiseless(labels[right], mean[right]) for labels, mean, _ in fits):
            return False
        before, after = (log_density((y - mean)[right], variance[right]) for y, mean, variance in fits)
        gains = np.zeros(len(self.y))
        gains[right] = after + scale.log_derivative(self.y)[right] - before
        gain, error = self._gain(gains, right)
        return gain > _MOST_CLEARLY * error

    def _moved(self, scale: Transform) -> tuple[FloatArray, FloatArray]:
        """The predictions of the linear fit on another scale, to first order."""
        mean, variance = self.linear
        slope = exp(scale.log_derivative(mean))
        return scale.forward(mean), variance * slope * slope

    @cached_property
    def fits(self) -> list[tuple[Transform, tuple[FloatArray, FloatArray]]]:
        """The candidates with their held-out predictions."""
        return [(scale, self.held_out(scale)) for scale in self.candidates()]

    def misplaced(self) -> NDArray[np.bool_]:
        """Labels that look as if their decimal point was misplaced, on any of the scales."""
        found = [misplaced(self.y, *self.linear, None)] if self.fits else []
        found += [misplaced(self.y, *predicted, scale) for scale, predicted in self.fits]
        return np.any(found, axis=0) if found else np.zeros(len(self.y), dtype=bool)

    def wrong_on_all_scales(self) -> NDArray[np.bool_]:
        """Labels that are probably wrong whatever the scale.

        Where many of them lie on one side, they widen all predictions, and least so on a scale that brings them nearer.
        """
        fits = [(scale.labels(self.y), *predicted) for scale, predicted in self.fits]
        fits = [(self.y, *self.linear), *fits]
        if any(is_noiseless(labels, mean) for labels, mean, _ in fits):
            return np.zeros(len(self.y), dtype=bool)
        wrong: NDArray[np.bool_] = np.all([_probably_wrong(*fit) for fit in fits], axis=0)
        return wrong

    def choice(self) -> Choice:
        of_linear = self.scores(None, *self.linear)
        scores = [(scale, self.scores(scale, *predicted)) for scale, predicted in self.fits]
        suspect = np.any([of_linear.suspect, *(of.suspect for _, of in scores)], axis=0)
        counts = ~suspect | ((self.y <= 0) & ~of_linear.suspect)  # an income of 0 speaks against a logarithm
        gains = [(scale, self._gain(of.value - of_linear.value, counts)) for scale, of in scores]
        rows = f"{len(self.y):,} held-out rows"
        if not gains or not np.isfinite(of_linear.value).all():
            return Choice(
                None,
                f"linear scale, because the labels of {rows} are at least as symmetric as on any other scale",
            )
        better = [item for item in gains if item[1][0] > _CLEARLY * item[1][1]]
        scale, (gain, error) = max(better or gains, key=_preference)
        size = f"by {gain:.2f} ± {error:.2f} per label on {rows}"
        if not better:
            least = f"the log-likelihood changes {size}"
            return Choice(None, f"linear scale, because a {scale.name} scale is not clearly better: {least}")
        more = _not_positive(self.y) if isinstance(scale, LogTransform) else ""
        return Choice(scale, f"{scale.name} scale, because it raises the log-likelihood {size}{more}")

    def _gain(self, gain: FloatArray, counts: NDArray[np.bool_]) -> tuple[float, float]:
        """Mean gain of log-likelihood over the linear scale, and its standard error, from labels that count."""
        if not np.isfinite(gain).all() or not counts.any():
            return -np.inf, 0.0
        weight = self.weight * counts
        weight = weight / weight.sum()
        mean = float((weight * gain).sum())
        return mean, float(np.sqrt((weight**2 * (gain - mean) ** 2).sum()))


def _probably_wrong(y: FloatArray, mean: FloatArray, variance: FloatArray) -> NDArray[np.bool_]:
    calibration, separation = calibrated_separation(y, mean, variance)
    return separation.probability(y - mean, calibration(variance)) > 0.5


def _preference(candidate: tuple[Transform, tuple[float, float]]) -> float:
    """The gain; a logarithm, which everybody can read, is preferred to a power that is not clearly better."""
    scale, (gain, error) = candidate
    return gain if isinstance(scale, LogTransform) else gain - _CLEARLY * error
