"""How many epochs of a network fit into a given time."""

import time
from typing import Any

import numpy as np
from sklearn.base import clone

_TRIAL_ROWS = 1000
_TRIAL_EPOCHS = (2, 12)
_MARGIN = 0.9  # of the time that is left; other programs run too


def epochs_within(model: Any, X: Any, y: Any, seconds: float) -> int:
    """Find the number of epochs that a network can do in the given time, at most that of "auto".

    Short trials on a few rows measure the speed and compile what is not compiled yet.

    Parameters
    ----------
    model : NetworkRegressor
        The network.
    X : array or frame of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,)
        Labels.
    seconds : float
        Time for the trials and the fit.

    Returns
    -------
    int
        Number of epochs, at least 1.
    """
    began = time.perf_counter()
    overhead, each = pace(model, X, np.asarray(y))
    left = _MARGIN * (seconds - (time.perf_counter() - began)) - overhead
    usual = clone(model).set_params(max_iter="auto")._epochs(len(y))
    return int(np.clip(left / each, 1, usual))


def pace(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Measure the seconds that a fit takes besides its epochs, and the seconds of one epoch over all rows.

    Parameters
    ----------
    model : NetworkRegressor
        The network.
    X : array or frame of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Labels.

    Returns
    -------
    tuple of two floats
        Seconds.
    """
    some = slice(0, _TRIAL_ROWS)
    few, many = _TRIAL_EPOCHS
    rows = X.iloc[some] if hasattr(X, "iloc") else X[some]

    def trial(epochs: int, **settings: Any) -> float:
        began = time.perf_counter()
        clone(model).set_params(max_iter=epochs, **settings).fit(rows, y[some])
        return time.perf_counter() - began

    plain = {"out_of_fold": False, "contamination": None, "batch_size": model._batch_size(len(y))}
    trial(1, **plain)  # compiles
    overhead = trial(1)  # nearly all of it is the estimate of wrong labels, which grows little with the rows
    slope = (trial(many, **plain) - trial(few, **plain)) / (many - few)
    members = model.n_members
    networks = (2 * max(members, 5) + members) / 3  # that train at once, on average over both phases
    scale = len(y) / min(len(y), _TRIAL_ROWS)
    return overhead, max(slope, 1e-6) * scale * networks / members
