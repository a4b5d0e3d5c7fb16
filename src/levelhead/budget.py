"""Fit a model within a given time."""

import time
from typing import Any

from levelhead.estimators.networks._training import NetworkRegressor
from levelhead.estimators.networks.pace import epochs_within


def fit_within(model: Any, X: Any, y: Any, seconds: float, **fit_parameters: Any) -> Any:
    """Fit an estimator, or a pipeline that ends in one, in about the given time.

    The estimator gets fewer epochs or trees; all rows are used and judged. For a network, short trials on a few rows
    measure the speed, and `max_iter` is set to the number of epochs that fit into the remaining time, at most to that
    of "auto"; at least one epoch is done, even if that takes longer. Trees and `AutoRegressor` get the time as their
    `time_limit`.

    Parameters
    ----------
    model : estimator or Pipeline
        Estimator to fit; `max_iter` of a network and `time_limit` of others are changed.
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
        If `seconds` is not positive, or the model takes no time limit.
    """
    if not seconds > 0:
        raise ValueError(f"the time budget is {seconds} seconds; give more than 0")
    began = time.perf_counter()
    steps = getattr(model, "steps", None)
    last = model[-1] if steps else model
    network = isinstance(last, NetworkRegressor)
    if not network and "time_limit" not in last.get_params(deep=False):
        raise ValueError(
            f"{type(last).__name__} has no time limit; use AutoRegressor, GCPRegressor or GCPBoostingRegressor, or "
            "call fit without a budget"
        )
    ready = model[:-1].fit_transform(X, y) if steps and len(steps) > 1 else X
    prepared = time.perf_counter() - began
    left = seconds - 2 * prepared  # the fit prepares the table once more
    if network:
        last.set_params(max_iter=epochs_within(last, ready, y, left))
    else:
        last.set_params(time_limit=max(left, 1e-3 * seconds))
    return model.fit(X, y, **fit_parameters)
