"""Fit a network within a given time, by choosing the number of epochs."""

import time
from typing import Any

import numpy as np
from sklearn.base import clone

from levelhead.estimators.networks._training import NetworkRegressor

_TRIAL_ROWS = 1000
_TRIAL_EPOCHS = (2, 12)
_MARGIN = 0.9  # of the time that is left; other programs run too


def fit_within(model: Any, X: Any, y: Any, seconds: float, **fit_parameters: Any) -> Any:
    """Fit a network, or a pipeline that ends in one, in about the given time.

    Short trials on a few rows measure the speed and compile what is not compiled yet. Then `max_iter` is set to the
    number of epochs that fit into the remaining time, at most to that of "auto". The learning rate schedule adapts to
    it. At least one epoch is done, even if that takes longer.

    Parameters
    ----------
    model : NetworkRegressor or Pipeline
        Estimator to fit; `max_iter` of the network is changed.
    X : array-like of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,)
        Labels.
    seconds : float
        Time budget in seconds, larger than 0.
    **fit_parameters : Any
        Further arguments of `fit`, as groups.

    Returns
    -------
    estimator
        The given model, fitted.

    Raises
    ------
    ValueError
        If `seconds` is not positive, or the model has no epochs (boosted trees).
    """
    if not seconds > 0:
        raise ValueError(f"the time budget is {seconds} seconds; give more than 0")
    began = time.perf_counter()
    steps = getattr(model, "steps", None)
    last = model[-1] if steps else model
    if not isinstance(last, NetworkRegressor):
        raise ValueError(
            f"a time budget sets the number of epochs of a network, and {type(last).__name__} has none; use "
            "GCPRegressor, or call fit without a budget"
        )
    ready = model[:-1].fit_transform(X, y) if steps and len(steps) > 1 else X
    prepared = time.perf_counter() - began
    overhead, pace = _pace(last, ready, np.asarray(y))
    left = _MARGIN * (seconds - (time.perf_counter() - began)) - prepared - overhead
    usual = clone(last).set_params(max_iter="auto")._epochs(len(y))
    last.set_params(max_iter=int(np.clip(left / pace, 1, usual)))
    return model.fit(X, y, **fit_parameters)


def _pace(regressor: Any, X: Any, y: Any) -> tuple[float, float]:
    """Measure the seconds that a fit takes besides its epochs, and the seconds of one epoch over all rows."""
    some = slice(0, _TRIAL_ROWS)
    few, many = _TRIAL_EPOCHS
    rows = X.iloc[some] if hasattr(X, "iloc") else X[some]

    def trial(epochs: int, **settings: Any) -> float:
        began = time.perf_counter()
        clone(regressor).set_params(max_iter=epochs, **settings).fit(rows, y[some])
        return time.perf_counter() - began

    plain = {"out_of_fold": False, "contamination": None, "batch_size": regressor._batch_size(len(y))}
    trial(1, **plain)  # compiles
    overhead = trial(1)  # nearly all of it is the estimate of wrong labels, which grows little with the rows
    slope = (trial(many, **plain) - trial(few, **plain)) / (many - few)
    members = regressor.n_members
    networks = (2 * max(members, 5) + members) / 3  # that train at once, on average over both phases
    scale = len(y) / min(len(y), _TRIAL_ROWS)
    return overhead, max(slope, 1e-6) * scale * networks / members
