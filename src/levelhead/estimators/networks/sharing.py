"""Networks of several targets that share their hidden layers.

Every target has an ordinary model with its own scale, calibration, share of wrong labels and weights of labels. Their
fits run step by step at the same time. When all of them want networks, one network for all targets is trained in place
of one for each: the loss of a row is the sum over its targets. Each model gets a copy of the hidden layers with its own
outputs, so that a fitted model of a target is like any other.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from levelhead import engine
from levelhead.audits import LEAST_ROWS
from levelhead.estimators import _preparation, _steps
from levelhead.estimators._out_of_fold import Folds, Splitting
from levelhead.estimators._preparation import Prepared, Rows
from levelhead.estimators._steps import Training
from levelhead.estimators._types import FloatArray, Table
from levelhead.estimators.networks._training import LEAST_FOLDS, NetworkRegressor, Together


def fit(
    estimator: Any, X: Any, Y: FloatArray, sample_weight: FloatArray | None, groups: Any, cv: Any
) -> list[NetworkRegressor]:
    """Fit a model to each target, whose networks share their hidden layers.

    Parameters
    ----------
    estimator : estimator
        The estimator of each target; it is cloned, not changed.
    X : array or frame of shape (n_samples, n_features)
        Inputs.
    Y : ndarray of shape (n_samples, n_targets)
        Labels.
    sample_weight : ndarray of shape (n_samples,) or (n_samples, n_targets), or None
        Weights of rows, or of labels.
    groups : array-like of shape (n_samples,), or None
        Rows with equal entries fall into one fold.
    cv : int, splitter, iterable or None
        Folds. By default, they depend on the inputs, so that rows with equal inputs fall into one, or on `groups`.

    Returns
    -------
    list of NetworkRegressor
        The fitted models, one for each target.

    Raises
    ------
    ValueError
        If the estimator is not a network with hidden layers for all outputs, if too few rows have a label of a target,
        or if inputs depend on the labels of a target.
    """
    _check_estimator(estimator)
    models = [clone(estimator) for _ in Y.T]
    seed, values = models[0]._new_seed(), models[0]._checked_inputs(X, reset=True)
    table = models[0]._shared(X, values)
    all_rows, own_rows = _arranged(values, Y, sample_weight, seed)
    all_rows = all_rows.joined(Splitting(groups, None).checked(len(Y)).groups)
    _check_rows(all_rows, own_rows)
    if groups is None and cv is None:
        cv = _folds_by_inputs(values, all_rows, max(estimator.n_members, LEAST_FOLDS))
    fits = [
        model._fit_steps(table, y, None, groups, cv, Together(seed, rows, all_rows))
        for model, y, rows in zip(models, Y.T, own_rows, strict=True)
    ]
    wanted = [_steps.send(one, None) for one in fits]
    _check_inputs(models)
    while any(one is not None for one in wanted):
        requests = [one for one in wanted if isinstance(one, Training)]
        answers: Sequence[Any] = _train(requests, all_rows) if requests else [None] * len(fits)
        wanted = [_steps.send(one, answer) for one, answer in zip(fits, answers, strict=True)]
    for model, y in zip(models, Y.T, strict=True):  # an audit of one target knows its labels alone
        model._row_keys = _preparation.row_keys(values, y, seed)
    return models


def _check_estimator(estimator: Any) -> None:
    name = type(estimator).__name__
    if not isinstance(estimator, NetworkRegressor):
        raise ValueError(f"shared_trunk=True needs a network such as GCPRegressor; {name} is not one")
    if not estimator.shared_trunk or not np.size(estimator.hidden_layer_sizes):
        raise ValueError(
            f"shared_trunk=True needs hidden layers that all outputs share; set shared_trunk=True and "
            f"hidden_layer_sizes of the {name}, too"
        )


def _check_rows(all_rows: Rows, own_rows: Sequence[Rows]) -> None:
    fewest = min(len(np.unique(rows.group[rows.index])) for rows in own_rows)
    if fewest < LEAST_ROWS <= all_rows.n_groups:
        raise ValueError(
            f"a target has labels in {fewest} different rows, and shared_trunk=True needs {LEAST_ROWS}; leave this "
            "target out, or use shared_trunk=False"
        )


def _check_inputs(models: Sequence[NetworkRegressor]) -> None:
    if any(model.encoding_ is not None and model.encoding_.uses_labels for model in models):
        raise ValueError(
            "with shared_trunk=True all targets have the same inputs, but a category with many levels, or one that "
            "explains most of the labels, is encoded by the labels of each target; encode it as numbers, or use "
            "shared_trunk=False"
        )


def _arranged(
    X: Table, Y: FloatArray, sample_weight: FloatArray | None, seed: int
) -> tuple[Rows, list[Rows]]:
    """The rows with a label of any target, in canonical order, and those of each target."""
    if sample_weight is None or sample_weight.ndim == 1:
        rows = _preparation.arrange(X, Y, sample_weight, seed)
        return rows, [rows] * Y.shape[1]
    counts = sample_weight > 0
    rows = _preparation.arrange(X, Y, np.asarray(counts.any(axis=1), dtype=np.float64), seed)
    return rows, [
        replace(rows, index=rows.index[known[rows.index]]).weighted(weight / weight.max())
        for known, weight in zip(counts.T, sample_weight.T, strict=True)
    ]


def _folds_by_inputs(X: Table, rows: Rows, n_folds: int) -> Folds:
    """Folds of rows with equal inputs: no model is trained on a copy of a row that it predicts, for any target."""
    visited = np.bincount(rows.index, minlength=len(X)).astype(np.float64)
    by_inputs = _preparation.arrange(X, np.empty((len(X), 0)), visited, 0)
    of_row = by_inputs.group % n_folds
    return Folds(of_row, of_row[:, None] != np.arange(n_folds))


def _train(wanted: Sequence[Training], all_rows: Rows) -> list[list[engine.Network]]:
    """Train networks of all targets in place of those of each; return those of each."""
    first, shape = wanted[0], (len(all_rows.group), len(wanted))
    y, weight = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    for k, (of, rows) in enumerate((one.data, one.data.rows) for one in wanted):
        y[rows.index, k] = of.y[rows.index]
        weight[rows.index, k] = 1 if rows.weight is None else rows.weight[rows.index]
    data = Prepared(first.data.X, y, replace(all_rows, weight=weight))
    start = [
        None if parts[0] is None else engine.join(parts)
        for parts in zip(*(one.start for one in wanted), strict=True)
    ]
    networks = Training(first.model, data, first.seed, first.folds, start, first.epochs).run()
    of_networks = [engine.split(network, len(wanted)) for network in networks]
    return [list(parts) for parts in zip(*of_networks, strict=True)]
