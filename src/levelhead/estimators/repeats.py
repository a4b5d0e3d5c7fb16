"""Rows with the same inputs: what the labels of training rows say about new rows with exactly these inputs.

A batch is measured twice, a wine is listed twice, a patient comes back with the same values: labels of rows with equal
inputs may differ from the prediction in the same direction. Folds keep such rows together, so that their out-of-fold
residuals show it. `learn` estimates the correlation ρ of the standardized residuals of rows with equal inputs, with
labels that are probably wrong counted less. If k labels with the mean residual r are known, the residual of a new row
with the same inputs has the mean kρ/(1 + (k − 1)ρ)·r, and its variance is smaller by the factor
1 − kρ²/(1 + (k − 1)ρ), as in a model with one random effect for each combination of inputs. All this refers to
out-of-fold predictions, because the members of the final model have seen the labels.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> effect = rng.normal(size=500).repeat(2)
>>> y = np.sqrt(0.8) * effect + np.sqrt(0.2) * rng.normal(size=1000)
>>> twice = np.arange(500, dtype=np.uint64).repeat(2)
>>> found = learn(twice, Labels(y, np.zeros(1000), np.ones(1000), np.ones(1000)))
>>> bool(abs(found.correlation - 0.8) < 0.1)
True
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.estimators._types import FloatArray
from levelhead.prediction.conformal import ShapedPrediction

Keys = NDArray[np.uint64]

# Not tuned, but set after white wine had shown the need for this rule; _SURE after it was seen there with 20 % of the
# labels replaced. So white wine does not judge them.
_LEAST_CORRELATION = 0.5  # below, the final model predicts better than fold models that know equal inputs
_LEAST_GROUPS = 10  # inputs that occur more than once, with labels that count
_LEAST_COUNT = 0.5  # labels that are probably clean, for inputs that are remembered
_SURE = 0.9  # probability that a label is clean, from which it counts in the correlation
_CLEARLY = 2.0  # standard errors of the correlation above 0
_FARTHEST = 5.0  # standardized residuals are clipped here
_MOST_INPUTS = 100_000  # different ones; with more, a model file would grow with the table


class Labels(NamedTuple):
    """Labels, out-of-fold means and variances, and the probability that each label is clean."""

    y: FloatArray
    mean: FloatArray
    variance: FloatArray
    clean: FloatArray


@dataclass(frozen=True, eq=False)
class Repeats:
    """Predictions for inputs of training rows that use the labels of these rows.

    Parameters
    ----------
    key : ndarray of uint64, of shape (n_inputs,)
        Hash of each combination of inputs, strictly increasing.
    mean : ndarray of shape (n_inputs,)
        Mean of a further clean label with these inputs.
    variance : ndarray of shape (n_inputs,)
        Its variance.
    correlation : float
        Correlation of the residuals of two clean labels with equal inputs.
    """

    key: Keys
    mean: FloatArray
    variance: FloatArray
    correlation: float

    def update(self, prediction: ShapedPrediction, key: Keys) -> ShapedPrediction:
        """Predictions of rows, some of which have the inputs of training rows.

        Parameters
        ----------
        prediction : ShapedPrediction
            The prediction by the final model.
        key : ndarray of uint64, of shape (n_samples,)
            Hash of the inputs of each row.

        Returns
        -------
        ShapedPrediction
            The same for rows with new inputs.
        """
        place = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        known = self.key[place] == key
        sigma, smaller = prediction.member_sigma, np.where(known, self.variance[place] / prediction.var, 1.0)
        return ShapedPrediction(
            np.where(known, self.mean[place], prediction.member_mean),
            np.where(known, self.variance[place], prediction.member_var),
            alpha=prediction.member_alpha,
            sigma=None if sigma is None else sigma * smaller,
            shape=prediction.shape,
        )


def learn(key: Keys, labels: Labels) -> Repeats | None:
    """Estimate how much the labels of rows with equal inputs have in common.

    Parameters
    ----------
    key : ndarray of uint64, of shape (n_samples,)
        Hash of the inputs of each row.
    labels : Labels
        The labels with their out-of-fold predictions.

    Returns
    -------
    Repeats or None
        None if fewer than 10 inputs occur more than once, if their residuals are not clearly correlated, by at least
        0.5, or if there are more than 100,000 different inputs.
    """
    inputs, first, group = np.unique(key, return_index=True, return_inverse=True)
    std = np.sqrt(labels.variance)
    r = np.clip((labels.y - labels.mean) / std, -_FARTHEST, _FARTHEST)
    correlation = _correlation(r, np.where(labels.clean > _SURE, labels.clean, 0.0), group)
    if correlation < _LEAST_CORRELATION or len(inputs) > _MOST_INPUTS:
        return None
    count, total = (np.bincount(group, labels.clean * part) for part in (np.ones(len(r)), r))
    weight = correlation * count / (1 + np.maximum(count - 1, 0) * correlation)
    shift = weight * total / np.maximum(count, _LEAST_COUNT)
    kept = count >= _LEAST_COUNT
    mean, variance = (
        labels.mean[first] + shift * std[first],
        labels.variance[first] * (1 - correlation * weight),
    )
    return Repeats(inputs[kept], mean[kept], variance[kept], correlation)


def _correlation(r: FloatArray, clean: FloatArray, group: NDArray[np.intp]) -> float:
    """Correlation within groups, less its standard error; 0 if it is not clear."""
    count, total, squares = (np.bincount(group, clean * part) for part in (np.ones(len(r)), r, r * r))
    pairs = count**2 - np.bincount(group, clean**2)
    several = pairs > _LEAST_COUNT
    if several.sum() < _LEAST_GROUPS:
        return 0.0
    product = (total**2 - np.bincount(group, (clean * r) ** 2))[several] / pairs[several]
    square = squares[several] / count[several]
    weight = pairs[several] / count[several]  # labels beyond the first of each group
    scale = float(np.sum(weight * square))
    if scale == 0:
        return 0.0
    correlation = float(np.sum(weight * product)) / scale
    error = float(np.sqrt(np.sum((weight * (product - correlation * square)) ** 2))) / scale
    most = 1 - 1 / (1 + float(several.sum()))
    return min(correlation - error, most) if correlation > _CLEARLY * error else 0.0
