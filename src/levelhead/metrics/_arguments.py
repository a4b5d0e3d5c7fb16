"""Checks of the arguments that measures share."""

from numpy.typing import ArrayLike

from levelhead import _checks
from levelhead._checks import FloatArray
from levelhead.prediction import Prediction
from levelhead.prediction.mixture import Mixture


def errors(y: ArrayLike, mean: ArrayLike, sample_weight: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Check labels and means; return residuals and weights."""
    labels, centre = _checks.vector("y", y), _checks.vector("mean", mean)
    one_per_row("mean", centre, labels.size)
    return labels - centre, _checks.weights(sample_weight, labels.size)


def distribution(
    y: ArrayLike, mean: ArrayLike | Prediction, var: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[FloatArray, Mixture, FloatArray]:
    """Check labels and a predicted distribution; return labels, mixture and weights."""
    labels = _checks.vector("y", y)
    if isinstance(mean, Prediction):
        if var is not None:
            raise ValueError("var is given with a Prediction, which has its own variances; leave it out")
        _checks.same_length(labels.size, mean=mean.latent.member_mean)
        return labels, mean.mixture, _checks.weights(sample_weight, labels.size)
    if var is None:
        raise ValueError("var is missing; give the predicted variances, or a Prediction in place of mean")
    mixture = Prediction(mean, var).mixture
    _checks.same_length(labels.size, mean=mixture.location)
    return labels, mixture, _checks.weights(sample_weight, labels.size)


def one_per_row(name: str, array: FloatArray, n: int) -> None:
    """Refuse an array that does not have one number per row."""
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape} but y has {n} rows; give one number per row")
