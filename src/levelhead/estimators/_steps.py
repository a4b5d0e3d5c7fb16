"""Fits in two steps, so that several models can judge the labels together before their members are finished.

A generator of type `Steps` fits a model. It stops once, when every label has an out-of-fold prediction, and takes the
probabilities that labels are wrong, or None if the model shall use its own. It does not stop if no label was held out.
"""

from collections.abc import Generator
from contextlib import suppress
from typing import NamedTuple

from levelhead.estimators._types import FloatArray


class FirstStep(NamedTuple):
    """Labels and their out-of-fold predictions on the scale on which the model learns.

    Attributes
    ----------
    y, mean, variance : ndarray of shape (n_samples,)
        Labels, predicted means and calibrated variances; NaN for rows of weight 0 that no fold model predicts.
    quality : ndarray of shape (n_samples,)
        Probability that each label is right, by this model.
    """

    y: FloatArray
    mean: FloatArray
    variance: FloatArray
    quality: FloatArray


Steps = Generator[FirstStep, FloatArray | None, None]


def finish(steps: Steps, wrong: FloatArray | None = None) -> None:
    """Run the second step with these probabilities that labels are wrong, after `first` has run the first one."""
    with suppress(StopIteration):
        steps.send(wrong)


def first(steps: Steps) -> FirstStep | None:
    """Run the first step; None if the fit has no second one."""
    return next(steps, None)
