"""Fits in two steps, so that several models can judge the labels together before their members are finished.

A generator of type `Steps` fits a model. It stops once, when every label has an out-of-fold prediction, and takes the
probabilities that labels are wrong, or None if the model shall use its own. It does not stop if no label was held out.
Networks also stop for every `Training`, and take the trained networks: those of several targets are trained together.
"""

from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from levelhead import engine
from levelhead.estimators._out_of_fold import Folds
from levelhead.estimators._preparation import Prepared
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


class Training(NamedTuple):
    """Networks to train, which a fit waits for.

    Attributes
    ----------
    model : NetworkRegressor
        The model that is fitted.
    data : Prepared
        Inputs and labels in the engine's units.
    seed : int
        Seed of the networks.
    folds : Folds or None
        Network k leaves out fold k, if there are folds.
    start : sequence of Network or None
        Networks to start from; None for new ones.
    epochs : int or None, default=None
        Number of epochs; None for that of the model.
    """

    model: Any
    data: Prepared
    seed: int
    folds: Folds | None
    start: Sequence[engine.Network | None]
    epochs: int | None = None

    def run(self) -> list[engine.Network]:
        """Train the networks."""
        trained: list[engine.Network] = self.model._train(*self[1:])
        return trained


Steps = Generator[FirstStep | Training, Any, None]


def first(steps: Steps) -> FirstStep | None:
    """Run the first step; None if the fit has no second one."""
    return _until_stop(steps, None)


def finish(steps: Steps, wrong: FloatArray | None = None) -> None:
    """Run the second step with these probabilities that labels are wrong, after `first` has run the first one."""
    _until_stop(steps, wrong)


def _until_stop(steps: Steps, answer: Any) -> FirstStep | None:
    """Answer, and train all networks up to the next stop; None at the end."""
    wanted = send(steps, answer)
    while isinstance(wanted, Training):
        wanted = send(steps, wanted.run())
    return wanted


def send(steps: Steps, answer: Any) -> FirstStep | Training | None:
    """Answer what a fit waits for; return what it wants next, None at the end."""
    with suppress(StopIteration):
        return steps.send(answer)
    return None
