"""Reasons not to rely on the result of an audit, in words."""

import numpy as np

from levelhead._checks import FloatArray
from levelhead.audits._unrelated import MANY
from levelhead.audits.separation import ContaminationEstimate

_NO_SIGNAL = 0.97  # of the spread of the labels is left in the residuals


def doubts(
    labels: FloatArray, mean: FloatArray, separation: ContaminationEstimate, unrelated: float
) -> tuple[str, ...]:
    """Reasons not to rely on an audit; none if its result is reliable.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Labels without codes, on the scale on which they are judged.
    mean : ndarray of shape (n_samples,)
        Predicted means.
    separation : ContaminationEstimate
        The fit to their residuals.
    unrelated : float
        Share of labels that look like labels of other rows.

    Returns
    -------
    tuple of str
        Too many wrong labels, inputs that predict nothing, or residuals without a shape in which wrong labels can be
        distinguished.
    """
    return (*separation.warnings, *_without_signal(labels, mean), *_too_many(unrelated))


def _without_signal(y: FloatArray, mean: FloatArray) -> tuple[str, ...]:
    """A warning if the predictions are hardly better than one constant; a constant was meant to be one."""
    if np.ptp(mean) == 0:
        return ()
    left = float(np.median(np.abs(y - mean))) / max(float(np.median(np.abs(y - np.median(y)))), 1e-300)
    if left < _NO_SIGNAL:
        return ()
    return ("the inputs hardly predict the labels, so that only labels far from all others can be found",)


def _too_many(unrelated: float) -> tuple[str, ...]:
    if unrelated <= MANY:
        return ()
    return (
        f"about {unrelated:.0%} of the labels look like labels of other rows; with so many, the model follows wrong "
        "labels, and the probabilities mean nothing",
    )
