"""Labels as they are written: their resolution, and values with two digits exchanged."""

import itertools

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray

_MOST_DECIMALS = 9
_MOST_ZEROS = 6
FINEST = 1e-9  # the resolution of labels that are not written in steps
_NEARLY_ALL = 0.99  # share of the labels that a resolution must hold for


def resolution(labels: FloatArray) -> float:
    """Find the step in which labels are written, a power of ten.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Labels.

    Returns
    -------
    float
        The largest power of ten of which nearly all labels are multiples; `FINEST` if there is none.
    """
    for decimals in range(-_MOST_ZEROS, _MOST_DECIMALS + 1):
        step = float(f"1e{-decimals}")
        if len(labels) and on_grid(labels, step).mean() >= _NEARLY_ALL:
            return step
    return FINEST


def on_grid(values: FloatArray, step: float) -> NDArray[np.bool_]:
    """Find the values that are multiples of a power of ten, up to rounding.

    Parameters
    ----------
    values : ndarray
        Values.
    step : float
        A power of ten.

    Returns
    -------
    ndarray of bool
        True for multiples of `step`.
    """
    steps = values / step
    return np.abs(steps - np.round(steps)) <= 1e-9 * np.maximum(np.abs(steps), 1.0)


def transpositions(label: float, step: float) -> FloatArray:
    """List the values from which a label arises by an exchange of two neighbouring digits.

    Parameters
    ----------
    label : float
        The label.
    step : float
        Resolution of the labels; trailing zeros up to there are digits too.

    Returns
    -------
    ndarray
        The values, without the label itself.
    """
    decimals = max(0, round(-np.log10(step)))
    own = np.format_float_positional(abs(label), precision=_MOST_DECIMALS, trim="-")
    text = own if len(own.partition(".")[2]) >= decimals else f"{abs(label):.{decimals}f}"
    places = [place for place, letter in enumerate(text) if letter.isdigit()]
    sign = -1.0 if label < 0 else 1.0
    found = set()
    for first, second in itertools.pairwise(places):
        letters = list(text)
        letters[first], letters[second] = letters[second], letters[first]
        if letters[0] != "0" or text[0] == "0":  # nobody writes a leading zero
            found.add(sign * float("".join(letters)))
    return np.array(sorted(found - {label}), dtype=np.float64)
