"""Several models of one table as one: weights, spread and shape, all learnt from held-out labels.

Every model predicts its training labels out of fold. From these predictions follow

- the weight of each model, by stacking: the weighted mean with the smallest squared error, shrunk to equal weights;
- the variance: the weighted geometric mean of the models' own, and more where they disagree, calibrated;
- the share of wrong labels, and the shape of the residuals of clean ones (`levelhead.prediction.conformal`).

A label counts as far as it is probably right, so that wrong labels decide none of this. A model with a wide spread
doubts no label; so a label that is far from what every model predicts counts little, whatever they think of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.audits.separation import ContaminationEstimate
from levelhead.estimators._separating import calibrated_separation, is_noiseless
from levelhead.estimators._types import FloatArray
from levelhead.prediction import Prediction
from levelhead.prediction.calibration import IDENTITY, MEDIAN_CHI2, Calibration
from levelhead.prediction.conformal import NORMAL_SHAPE, ResidualShape, ShapedPrediction, learn_shape
from levelhead.theory.elementary import exp, log

# Tuned on kc_house, diamonds, energy and concrete: clean, 20 % replaced and 10 % swapped labels, 200 to 2,000 rows.
_ROWS_OF_PRIOR = (
    50.0  # the weights are shrunk to equal ones as if so many more rows had shown them to be equal
)
_DISAGREEMENT = 2.0  # variance that a squared difference between the models adds
_LOG_RATIO = float(log(4.0))  # of a model's variance to the median of all models, by which it counts at most
_LEAST_WEIGHT = 0.05  # a model with a smaller weight is left out
_MARGIN = 0.2  # of the range of trusted labels, by which predictions may leave it
# Of the variance of trusted labels, for labels on another scale: a wider prediction says no more than "unknown", and in
# the units of y its mean would be that of a tail that no label has. By judgement, not tuned.
_WIDEST = 2.0
_FAR = 4.0  # standard deviations of a label from the nearest prediction, at which it counts a quarter
_MOST_CHANCE = 0.5  # of a model's squared error that may count as chance
_SWEEPS = 200  # of the search for weights; it converges in some tens
_LEAST_NOISE = 0.5  # share of the variance that is noise, not disagreement of members


class Pooled(NamedTuple):
    """Means and variances of a weighted set of models."""

    mean: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class Combination:
    """How the predictions of several models become one.

    Parameters
    ----------
    weights : ndarray of shape (n_models,)
        Weights of the models; their sum is 1.
    calibration : Calibration
        Map from the pooled to the calibrated variance.
    shape : ResidualShape
        Shape of the residuals of clean labels.
    lowest : float
        Smallest plausible prediction.
    highest : float
        Largest plausible prediction.
    widest : float
        Largest calibrated variance.
    """

    weights: FloatArray
    calibration: Calibration = IDENTITY
    shape: ResidualShape = NORMAL_SHAPE
    lowest: float = -np.inf
    highest: float = np.inf
    widest: float = np.inf

    def pooled(self, means: FloatArray, variances: FloatArray) -> Pooled:
        """Mean and calibrated variance, from those of the models; shape (n_models, n_samples)."""
        mean = _weighted(self.weights, means)
        each = log(variances + _DISAGREEMENT * (means - mean) ** 2)
        middle = np.median(each, axis=0)  # a spread that is far too wide or too narrow must not decide
        variance = exp(_weighted(self.weights, np.clip(each, middle - _LOG_RATIO, middle + _LOG_RATIO)))
        variance = np.minimum(self.calibration(variance), self.widest)
        return Pooled(np.clip(mean, self.lowest, self.highest), variance)

    def predict(
        self, predictions: Sequence[Prediction], kept: Sequence[float], ratio: float
    ) -> ShapedPrediction:
        """One prediction from those of the models.

        Member k of the result is the weighted mean of the members k of the models, so that disagreement of the members
        is that within the models; the members of smaller models repeat. `kept` is the share of its variance that each
        model predicts, the rest being disagreement of its members; `ratio` is the variance of clean labels over the
        calibrated one.
        """
        means = np.array([one.mean for one in predictions])
        variances = np.array(
            [one.aleatoric_var / share for one, share in zip(predictions, kept, strict=True)]
        )
        variance = self.pooled(means, variances).variance * ratio
        members = np.array(_repeated([one.member_mean for one in predictions]))
        member = _weighted(self.weights, members - members.mean(axis=1, keepdims=True) + means[:, None])
        member = np.clip(member, self.lowest, self.highest)
        noise = np.maximum(variance - member.var(axis=0), _LEAST_NOISE * variance)
        alpha, sigma = self._student(predictions)
        return ShapedPrediction(
            member, np.broadcast_to(noise, member.shape), alpha=alpha, sigma=sigma, shape=self.shape
        )

    def _student(self, predictions: Sequence[Prediction]) -> tuple[FloatArray, FloatArray]:
        """α by its harmonic mean, and σ by the squared scale σ/α."""
        alphas = np.array(_repeated([one.member_alpha for one in predictions]))
        sigmas = np.array(_repeated([one.member_sigma for one in predictions]))
        alpha = 1 / _weighted(self.weights, 1 / alphas)
        return alpha, alpha * _weighted(self.weights, sigmas / alphas)


class HeldOut(NamedTuple):
    """Labels with the models' predictions of them, which have not seen them.

    Attributes
    ----------
    y : ndarray of shape (n_samples,)
        Labels.
    means, variances : ndarray of shape (n_models, n_samples)
        Predictions.
    qualities : ndarray of shape (n_models, n_samples)
        Probability that a label is right, by each model.
    weight : ndarray of shape (n_samples,)
        Sample weights, above 0 and 1 on average.
    chance : ndarray of shape (n_models,)
        Part of each model's squared error that its final ensemble averages out.
    """

    y: FloatArray
    means: FloatArray
    variances: FloatArray
    qualities: FloatArray
    weight: FloatArray
    chance: FloatArray

    @property
    def quality(self) -> FloatArray:
        """Probability that each label is right, by the model that doubts it least."""
        most: FloatArray = self.qualities.max(axis=0)
        return most

    @property
    def trust(self) -> FloatArray:
        """How much each label counts: by its quality, and less if it is far from the predictions of all models."""
        distance = np.min((self.y - self.means) ** 2, axis=0) / np.median(self.variances, axis=0)
        usual = float(np.median(distance[_right(self.quality)])) / MEDIAN_CHI2
        near = 1 / (1 + distance / (_FAR**2 * usual)) if usual > 0 else np.ones_like(distance)
        trust: FloatArray = self.quality * self.weight * near**2
        return trust

    def only(self, models: Sequence[int]) -> "HeldOut":
        """The same with some of the models."""
        chosen = list(models)
        return self._replace(
            means=self.means[chosen],
            variances=self.variances[chosen],
            qualities=self.qualities[chosen],
            chance=self.chance[chosen],
        )

    def error(self, weights: FloatArray) -> float:
        """Root mean squared error of the weighted mean on trusted labels."""
        squares = (self.y - _weighted(weights, self.means)) ** 2
        return float(np.sqrt(np.average(squares, weights=self.trust)))


def stacking_weights(held_out: HeldOut) -> FloatArray:
    """Weights ≥ 0 with the sum 1 and the smallest squared error on trusted labels, shrunk towards equal weights."""
    z = held_out.y - held_out.means
    trust = held_out.trust
    w = trust / trust.sum()
    products = np.array([[float(np.sum(w * a * b)) for b in z] for a in z])
    squares = products.diagonal().copy()
    shared = np.max(np.where(np.eye(len(z), dtype=bool), -np.inf, products), axis=1, initial=0.0)
    # Errors that models share are no chance, and a model whose members explode must not be excused.
    chance = np.minimum(held_out.chance, _MOST_CHANCE * squares)
    corrected = squares - np.clip(squares - shared, 0, chance)
    np.fill_diagonal(products, corrected)
    n = trust.sum() ** 2 / np.sum(trust**2)
    return _shrunk(products, _ROWS_OF_PRIOR / n * float(corrected.min()))


def _shrunk(products: FloatArray, penalty: float) -> FloatArray:
    """The minimum of aᵀPa + penalty·|a − 1/K|² on the simplex, by exact moves of weight between two models."""
    k = len(products)
    matrix = products + penalty * np.eye(k)
    a = np.full(k, 1 / k)
    for _ in range(_SWEEPS):
        for i in range(k):
            for j in range(i):
                slope = float(np.sum((matrix[i] - matrix[j]) * a))  # the penalty's linear terms cancel
                bend = matrix[i, i] + matrix[j, j] - 2 * matrix[i, j]
                move = float(np.clip(-slope / bend, -a[i], a[j])) if bend > 0 else 0.0
                a[i] += move
                a[j] -= move
    return a


def chosen_models(weights: FloatArray) -> list[int]:
    """The models whose weights are not negligible."""
    return [int(k) for k in np.flatnonzero(weights >= _LEAST_WEIGHT)]


def learn(
    held_out: HeldOut, *, transformed: bool = False
) -> tuple[Combination, ContaminationEstimate | None]:
    """Learn weights, calibration, share of wrong labels and shape.

    There is no estimate of the share if all labels are equal, or more than half of them are predicted exactly. If the
    labels are `transformed`, variances are limited too.
    """
    weights = stacking_weights(held_out)
    lowest, highest = _plausible(held_out)
    raw = Combination(weights, lowest=lowest, highest=highest)
    mean, variance = raw.pooled(held_out.means, held_out.variances)
    z = held_out.y - mean
    if is_noiseless(held_out.y, mean):
        return raw, None
    calibration, separation = calibrated_separation(held_out.y, mean, variance)
    most = _WIDEST * float(held_out.y[_right(held_out.quality)].var())
    widest = most / separation.variance_ratio if transformed else np.inf
    calibrated = np.minimum(calibration(variance), widest)
    clean = (1 - separation.probability(z, calibrated)) * held_out.weight
    residual = z / np.sqrt(calibrated * separation.variance_ratio)
    shape = learn_shape(residual, clean)
    return replace(raw, calibration=calibration, shape=shape, widest=widest), separation


def probably_wrong(held_out: HeldOut) -> FloatArray | None:
    """Probability that each label is wrong, by the models that matter together; None if it cannot be estimated."""
    held_out = held_out.only(chosen_models(stacking_weights(held_out)))
    learnt, separation = learn(held_out)
    if separation is None:
        return None
    mean, variance = learnt.pooled(held_out.means, held_out.variances)
    return separation.probability(held_out.y - mean, variance)


def _repeated(members: Sequence[Any]) -> list[FloatArray]:
    """The members of each model, repeated up to the largest number of members."""
    most = max(map(len, members))
    return [part if len(part) == most else part[np.arange(most) % len(part)] for part in members]


def _plausible(held_out: HeldOut) -> tuple[float, float]:
    """Limits of predictions: the range of the trusted labels, and a margin."""
    labels = held_out.y[_right(held_out.quality)]
    margin = _MARGIN * float(np.ptp(labels))
    return float(labels.min()) - margin, float(labels.max()) + margin


def _weighted(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Weighted sum along the first axis, in a fixed order."""
    total: FloatArray = sum(
        (weight * value for weight, value in zip(weights, values, strict=True)),
        start=np.zeros_like(values[0]),
    )
    return total


def _right(quality: FloatArray) -> NDArray[np.bool_]:
    """Which labels are rather right than wrong; all, if none is."""
    right = quality > 0.5
    return right if right.any() else np.ones_like(right)
