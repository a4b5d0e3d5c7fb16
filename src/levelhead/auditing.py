"""Finds wrong training labels.

An audit compares every label with the prediction of a model that has not seen it, in units of the local noise, and
separates wrong labels from clean ones (`levelhead.audits.separation`). The share of wrong labels is estimated; you
need not know it.

>>> import numpy as np
>>> from levelhead import audit
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(-1, 1, size=(300, 1))
>>> y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=300)
>>> y[:6] += 3
>>> result = audit(X, y, random_state=0)
>>> sorted(result.issues.tolist())
[0, 1, 2, 3, 4, 5]
"""

from dataclasses import replace
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.utils import _safe_indexing

from levelhead._extras import available
from levelhead.audits import Audit, MultiAudit
from levelhead.audits.dependence import find_dependence, shared_levels, time_order
from levelhead.audits.judged import JudgedScale
from levelhead.estimators._out_of_fold import fit_parameters, time_blocks
from levelhead.estimators.registry import make
from levelhead.estimators.several import MultiTargetRegressor, target_names
from levelhead.metrics.composition import inside, on_increasing_scale
from levelhead.prediction import Prediction, TransformedPrediction
from levelhead.tables.encoding import frames
from levelhead.tables.encoding.frames import missing_cells
from levelhead.tables.missing import label_codes

_ROWS_IN_GROUPS = 200, 20_000  # tables for which two further fits are worth while
_MOST_LOST = (
    4 / 3
)  # held-out error of blocks over that of random folds; chosen on air quality, whole and first 3,000 rows
_MOST_ROWS_COMPARED = 50_000  # of a table in which labels are compared with those of the nearest rows
_MOST_FINDINGS = 3  # about rows that may belong together, as remarks

__all__ = [
    "Audit",
    "audit",
    "groups_in_table",
    "judge",
    "level_columns",
    "missing_cells",
    "time_blocks",
    "without_codes",
]


def audit(
    X: Any,
    y: ArrayLike,
    estimator: Any = None,
    *,
    false_alarm_rate: float = 0.05,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    cv: Any = None,
    target_transform: Any = "auto",
    n_members: int = 5,
    random_state: int | None = None,
    n_jobs: int | None = -1,
) -> Any:
    """Find wrong labels in a table.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        Inputs: numbers, and in a frame also categories, dates and text. Cells may be missing.
    y : array-like of shape (n_samples,), or array-like or frame of shape (n_samples, n_targets)
        Labels to check. Several targets are judged one by one.
    estimator : estimator, pipeline or {"network", "trees", "auto"}, default=None
        A levelhead estimator, or a pipeline, search or `TransformedTargetRegressor` with one; it is cloned, not
        changed. A name chooses one with `n_members` members. By default "auto", as on the command line. For several
        targets, each has a model of its own; a `MultiTargetRegressor` fits them together.
    false_alarm_rate : float, default=0.05
        Largest expected share of clean labels among the flagged ones.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of at least 0 in the fit; every label is judged.
    groups : array-like of shape (n_samples,), default=None
        Rows with equal entries belong together, as visits of one patient: a label is then judged by models that have
        seen no row of its group. `time_blocks` makes groups of rows that follow each other. By default, blocks of time
        if the rows are ordered by a column of dates, or rows of one patient if columns show them, if that costs little
        accuracy (see `groups_in_table`); otherwise every row stands for itself.
    cv : int, splitter or iterable, default=None
        Folds, as in scikit-learn. By default, they depend on the content of the rows, or on `groups`.
    target_transform : {"auto", "log", "yeo-johnson"}, transformer or None, default="auto"
        Scale on which labels are judged. "auto" chooses on held-out rows. Used only if `estimator` is None or a name.
    n_members : int, default=5
        Size of the ensemble. Used only if `estimator` is None or a name.
    random_state : int, default=None
        Seed. Used only if `estimator` is None or a name.
    n_jobs : int or None, default=-1
        Number of threads; -1 means all cores. Used only if `estimator` is None or a name.

    Returns
    -------
    Audit, or MultiAudit for several targets
        The probability that each label is wrong, and the rows that are flagged.

    Raises
    ------
    TypeError
        If the estimator has no out-of-fold predictions to judge labels by.

    Examples
    --------
    >>> import numpy as np
    >>> from levelhead import audit
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> y = X[:, 0] + 0.05 * np.random.default_rng(0).normal(size=200)
    >>> y[7] = 5.0
    >>> audit(X, y, random_state=0).issues.tolist()
    [7]
    """
    settings: dict[str, Any] = {"n_members": n_members, "random_state": random_state, "n_jobs": n_jobs}
    shape = np.asarray(y).shape
    several = len(shape) == 2 and shape[1] > 1
    if several and isinstance(estimator, MultiTargetRegressor):
        return _audit_together(X, y, estimator, false_alarm_rate, sample_weight, groups, cv)
    if several:
        options = {"sample_weight": sample_weight, "groups": groups, "cv": cv, **settings}
        options |= {"false_alarm_rate": false_alarm_rate, "target_transform": target_transform}
        names, labels = target_names(y), np.asarray(y)
        return MultiAudit(tuple(audit(X, column, estimator, **options) for column in labels.T), tuple(names))
    if isinstance(estimator, MultiTargetRegressor):
        estimator = estimator.estimator
    if estimator is None or isinstance(estimator, str):
        kind: Any = estimator or "auto"
        model = make(kind, target_transform=target_transform, **settings)
    else:
        model = clone(estimator)
    about_groups: tuple[str, ...] = ()
    if groups is None and cv is None:
        groups, about_groups = groups_in_table(X, y, n_jobs)
    inputs, labels, given = without_codes(X, y, sample_weight=sample_weight, groups=groups, cv=cv)
    model.fit(inputs, labels, **fit_parameters(model, **given))
    check_rows = groups is None and cv is None
    result = judge(model, X, y, false_alarm_rate, check_rows=check_rows, groups=groups)
    return result.with_remarks(*about_groups)


def _audit_together(
    X: Any,
    y: ArrayLike,
    estimator: MultiTargetRegressor,
    false_alarm_rate: float,
    sample_weight: Any,
    groups: Any,
    cv: Any,
) -> MultiAudit:
    """Fit the models of several targets together, without codes for missing labels, and judge each label."""
    labels = np.asarray(y)
    measured = np.stack([np.where(_is_measurement(column), column, np.nan) for column in labels.T], axis=1)
    together = clone(estimator).fit(X, measured, sample_weight, groups=groups, cv=cv)
    check_rows = groups is None and cv is None
    audits = (
        judge(part, X, column, false_alarm_rate, check_rows=check_rows, groups=groups)
        for part, column in zip(together.estimators_, labels.T, strict=True)
    )
    return MultiAudit(tuple(audits), tuple(target_names(y)))


def groups_in_table(
    X: Any, y: ArrayLike, n_jobs: int | None = -1
) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    """Rows of a table that belong together: neighbours in time, or rows of one patient, house or mixture.

    A model that has seen the hours before and after learns a shift of some hours and misses it, so rows in the order of
    a column of dates are judged in blocks. In the same way, rows are judged in groups if a column determines another
    one with many levels: these are the rows of one patient. But where sensors or prices drift, or every patient is
    unlike all others, a model that has not seen the group errs, and clean labels look wrong. Trees are therefore fitted
    both ways, and groups are used only if their held-out error is little larger.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        The table.
    y : array-like of shape (n_samples,)
        Labels.
    n_jobs : int or None, default=-1
        Number of threads; -1 means all cores.

    Returns
    -------
    tuple of ndarray or None, and tuple of str
        Group of each row, or None; and a remark on what was chosen, if some rows belong together. Tables with more
        than 20,000 or fewer than 200 rows have no groups.
    """
    least, most = _ROWS_IN_GROUPS
    if not (frames.library(X) is not None and available("lightgbm") and least <= np.size(y) <= most):
        return None, ()
    columns = level_columns(X)
    if (ordered := time_order(columns)) is not None:
        name, times = ordered
        return _if_little_is_lost(
            X,
            y,
            time_blocks(times),
            n_jobs,
            why=f"The rows are ordered by {name!r}",
            unseen="neighbours in time",
            missed="Shifts of neighbouring rows may be missed; blocks of time",
            option=f"--time {quote(name)}",
        )
    if (shared := shared_levels(columns)) is not None:
        names, codes = shared
        return _if_little_is_lost(
            X,
            y,
            codes.astype(np.int64),
            n_jobs,
            why=f"Columns {', '.join(map(repr, names))} are equal in the same rows",
            unseen="these rows",
            missed=f"Errors that all rows of one {names[0]!r} share may be missed; this column",
            option=f"--group {quote(names[0])}",
        )
    return None, ()


def _if_little_is_lost(
    X: Any,
    y: ArrayLike,
    groups: NDArray[np.int64],
    n_jobs: int | None,
    *,
    why: str,
    unseen: str,
    missed: str,
    option: str,
) -> tuple[NDArray[np.int64] | None, tuple[str, ...]]:
    """The groups, if models that have not seen them are nearly as good, and a remark."""
    apart, together = (_held_out_error(X, y, each, n_jobs) for each in (None, groups))
    if together > _MOST_LOST * apart:
        return None, (
            f"{why}, but models that have not seen {unseen} err {together / apart:.1f} times as much, so rows were "
            f"divided at random. {missed} as groups=, or {option} on the command line, find them.",
        )
    return groups, (f"{why}, so labels were judged by models that have not seen {unseen}.",)


def _held_out_error(X: Any, y: ArrayLike, groups: Any, n_jobs: int | None) -> float:
    """Median absolute error of trees on rows that they have not seen; codes for missing labels are left out."""
    inputs, labels, given = without_codes(X, y, groups=groups)
    trees = make("trees", n_members=1, random_state=0, n_jobs=n_jobs, target_transform=None)
    fitted = trees.fit(inputs, labels, groups=given["groups"])
    return float(np.median(np.abs(np.asarray(labels, dtype=np.float64) - fitted.oof_prediction_.mean)))


def without_codes(X: Any, y: Any, **given: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Leave out the rows whose label is a code for a missing value, such as −200: no model should be trained on them.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        Inputs.
    y : array-like of shape (n_samples,)
        Labels.
    **given : object
        Other arguments of a fit. Those with one entry per row, `sample_weight` and `groups`, lose the same rows.

    Returns
    -------
    tuple
        Inputs, labels and the other arguments; as they were given if there are no codes.
    """
    measured = _is_measurement(y)
    if measured.all():
        return X, y, given
    rows = np.flatnonzero(measured)
    per_row = {name: given[name] for name in ("sample_weight", "groups") if given.get(name) is not None}
    kept = {name: _safe_indexing(values, rows) for name, values in per_row.items()}
    return _safe_indexing(X, rows), np.asarray(y)[rows], given | kept


def _is_measurement(y: ArrayLike) -> NDArray[np.bool_]:
    """Whether each label is a number that does not stand for a missing value."""
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "iuf":
        return np.ones(labels.shape[:1], dtype=bool)  # the estimator says what is wrong
    values = labels.astype(np.float64)
    return ~np.isin(values, label_codes(values))


def judge(
    model: Any,
    X: Any,
    y: ArrayLike,
    false_alarm_rate: float = 0.05,
    *,
    check_rows: bool = True,
    row_numbers: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Audit:
    """Audit the rows that a levelhead model was fitted to.

    Rows in which the pipeline or the estimator filled in missing cells are judged with a larger variance; see
    `Audit.allowing_for`.

    Parameters
    ----------
    model : estimator or pipeline
        A fitted levelhead estimator, or a fitted pipeline that ends in one.
    X : array-like or frame of shape (n_samples, n_features)
        The inputs that the model was fitted to, in the same order.
    y : array-like of shape (n_samples,)
        The labels that the model was fitted to.
    false_alarm_rate : float, default=0.05
        Largest expected share of clean labels among the flagged ones.
    check_rows : bool, default=True
        Whether to check that rows do not belong together: residuals of neighbouring rows, and of rows of one level of
        a column. What is found becomes a remark of the audit.
    row_numbers : array-like of int, of shape (n_samples,), default=None
        Numbers of the rows in remarks; by default they count from 0.
    groups : array-like of shape (n_samples,), default=None
        Rows that belong together, by which the model was fitted; see `Audit.by_groups`.

    Returns
    -------
    Audit
        The probability that each label is wrong, and the rows that are flagged.

    Raises
    ------
    TypeError
        If the model cannot audit.
    """
    last, ready = _innermost(model, X)
    result, last = _audited(last, ready, y, false_alarm_rate)
    # Gaps are filled by a step of a pipeline, or by the estimator.
    if ready is not X or getattr(last, "_fills_gaps", False):
        result = result.allowing_for(missing_cells(X))
    result = result.by_factors()
    if groups is not None:
        result = result.by_groups(groups)
    result = _with_local_agreement(result, last, ready, groups)
    if result.index is None and hasattr(X, "iloc"):
        result = replace(result, index=np.asarray(X.index))
    scale = [] if result.scale is None else [f"Labels were judged on a {_reason(last, result.scale)}."]
    found = find_dependence(_distinct_residuals(result), level_columns(X)) if check_rows else []
    texts = [finding.text(row_numbers) for finding in found[:_MOST_FINDINGS]]
    if len(found) > _MOST_FINDINGS:
        texts.append(f"{len(found) - _MOST_FINDINGS} weaker findings of this kind are left out.")
    return result.with_remarks(*_about_one_column(last), *scale, *texts)


def _distinct_residuals(result: Audit) -> NDArray[np.float64]:
    """Residuals, 0 for codes, which may lie in runs and say nothing about the model, and for copies.

    A copy of a row has the label and the prediction of an earlier one, so that its residual is equal anyway.
    """
    pairs = np.stack([result.given_label, result.judged.predicted], axis=1)
    counts = np.zeros(len(result), dtype=bool)
    counts[np.unique(pairs, axis=0, return_index=True)[1]] = True
    return np.where(counts & ~result.is_code, result.z, 0.0)


def _with_local_agreement(result: Audit, model: Any, X: Any, groups: ArrayLike | None) -> Audit:
    """The audit in which neighbours support labels, if the model knows how important its columns are."""
    importances = getattr(model, "feature_importances_", None)
    if importances is None or len(result) > _MOST_ROWS_COMPARED:
        return result
    columns = level_columns(X)
    return result if len(columns) != len(importances) else result.by_neighbours(columns, importances, groups)


def _reason(model: Any, scale: JudgedScale) -> str:
    """The scale and the reason for it, if the estimator has chosen it."""
    if getattr(model, "target_transform_", None) is None:
        return f"{scale.transform.name} scale"
    return str(model.target_transform_reason_)


def _innermost(model: Any, X: Any) -> tuple[Any, Any]:
    """The estimator inside searches and pipelines, and what it gets for X."""
    inner = inside(model, X)
    return (model, X) if inner is None else _innermost(*inner)


def _audited(model: Any, X: Any, y: ArrayLike, false_alarm_rate: float) -> tuple[Audit, Any]:
    """The audit of an estimator, and the estimator that made it."""
    if isinstance(model, TransformedTargetRegressor) and hasattr(model, "regressor_"):
        return _audited_on_scale(model, X, y, false_alarm_rate)
    if not hasattr(model, "audit"):
        raise TypeError(
            f"{type(model).__name__} cannot audit; use a levelhead estimator with out_of_fold=True"
        )
    return model.audit(X, y, false_alarm_rate), model


def _audited_on_scale(model: Any, X: Any, y: ArrayLike, false_alarm_rate: float) -> tuple[Audit, Any]:
    """The audit of the labels in the units of y, by an estimator of transformed labels."""
    labels = np.asarray(y, dtype=np.float64)
    last, ready = _innermost(model.regressor_, X)
    result, last = _audited(
        last, ready, model.transformer_.transform(labels[:, None]).ravel(), false_alarm_rate
    )
    judged = Prediction(result.judged.predicted, result.judged.std**2)
    latent = judged if result.scale is None else TransformedPrediction(judged, result.scale.transform)
    prediction, scale = on_increasing_scale(latent, model.transformer_)
    in_units = Audit.from_residuals(
        labels,
        prediction.mean,
        prediction.var,
        alpha=result.alpha,
        separation=result.separation,
        false_alarm_rate=false_alarm_rate,
        transform=scale,
    )
    return in_units, last


def _about_one_column(model: Any) -> list[str]:
    """Say which category alone is used, if labels repeat one value at each of its levels."""
    first = getattr(model, "estimators_", [model])[0]
    place = getattr(first, "_only_column", None)
    if place is None:
        return []
    name = first.columns_.columns[place].name
    return [
        f"Most labels repeat one value for each level of {name!r}, so labels are judged by that column alone."
    ]


def level_columns(X: Any) -> dict[str, NDArray[Any]]:
    """The columns of a table by which its rows may belong together.

    Parameters
    ----------
    X : array-like or frame
        The table, n_samples × n_features.

    Returns
    -------
    dict of str to ndarray
        Name and values of each column.
    """
    if frames.library(X) is not None:
        return {column.name: column.values for column in frames.cells(X)}
    cells = np.empty((0, 0)) if frames.is_sparse(X) else np.asarray(X)
    return {f"number {k}": column for k, column in enumerate(cells.T)}
