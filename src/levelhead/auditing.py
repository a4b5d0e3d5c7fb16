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

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from levelhead.audits import Audit
from levelhead.audits.dependence import find_dependence
from levelhead.estimators._out_of_fold import fit_parameters, time_blocks
from levelhead.estimators.registry import make

__all__ = ["Audit", "audit", "judge", "level_columns", "missing_cells", "time_blocks"]


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
) -> Audit:
    """Find wrong labels in a table.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Inputs, numbers only. For categories, dates and missing values, pass a `levelhead.tabular_pipeline` as
        `estimator`.
    y : array-like of shape (n_samples,)
        Labels to check.
    estimator : estimator, pipeline or {"network", "trees", "auto"}, default=None
        A levelhead estimator, or a pipeline that ends in one; it is cloned, not changed. A name chooses one with
        `n_members` members. By default "auto", as on the command line.
    false_alarm_rate : float, default=0.05
        Largest expected share of clean labels among the flagged ones.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of at least 0 in the fit; every label is judged.
    groups : array-like of shape (n_samples,), default=None
        Rows with equal entries belong together, as visits of one patient: a label is then judged by models that have
        seen no row of its group. `time_blocks` makes groups of rows that follow each other.
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
    Audit
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
    if estimator is None or isinstance(estimator, str):
        kind: Any = estimator or "auto"
        model = make(kind, n_members, random_state, n_jobs, target_transform)
    else:
        model = clone(estimator)
    given = fit_parameters(model, sample_weight=sample_weight, groups=groups, cv=cv)
    independent = groups is None and cv is None
    return judge(model.fit(X, y, **given), X, y, false_alarm_rate, check_rows=independent)


def judge(
    model: Any, X: Any, y: ArrayLike, false_alarm_rate: float = 0.05, *, check_rows: bool = True
) -> Audit:
    """Audit the rows that a levelhead model was fitted to.

    Rows in which the pipeline filled in missing cells are judged with a larger variance; see `Audit.allowing_for`.

    Parameters
    ----------
    model : estimator or pipeline
        A fitted levelhead estimator, or a fitted pipeline that ends in one.
    X : array-like of shape (n_samples, n_features)
        The inputs that the model was fitted to, in the same order.
    y : array-like of shape (n_samples,)
        The labels that the model was fitted to.
    false_alarm_rate : float, default=0.05
        Largest expected share of clean labels among the flagged ones.
    check_rows : bool, default=True
        Whether to check that rows do not belong together: residuals of neighbouring rows, and of rows of one level of
        a column. What is found becomes a remark of the audit.

    Returns
    -------
    Audit
        The probability that each label is wrong, and the rows that are flagged.

    Raises
    ------
    TypeError
        If the model cannot audit.
    """
    last = model[-1] if hasattr(model, "steps") else model
    if not hasattr(last, "audit"):
        raise TypeError(
            f"{type(last).__name__} cannot audit; use a levelhead estimator with out_of_fold=True"
        )
    if last is model:
        result: Audit = model.audit(X, y, false_alarm_rate)
    else:
        ready: Audit = last.audit(model[:-1].transform(X), y, false_alarm_rate)
        result = ready.allowing_for(missing_cells(X))
    scale = [] if result.scale is None else [f"Labels were judged on a {last.target_transform_reason_}."]
    found = find_dependence(result.z, level_columns(X)) if check_rows else []
    return result.with_remarks(*scale, *(finding.text() for finding in found))


def level_columns(X: Any) -> dict[str, NDArray[Any]]:
    """The columns of a table by which its rows may belong together: all but those with fractions.

    Parameters
    ----------
    X : array-like, pandas or polars frame
        The table, n_samples × n_features.

    Returns
    -------
    dict of str to ndarray
        Name and values of each column.
    """
    if hasattr(X, "columns"):
        return {str(name): np.asarray(X[name]) for name in X.columns}
    cells = np.empty((0, 0)) if hasattr(X, "tocsr") else np.asarray(X)
    return {f"number {k}": column for k, column in enumerate(cells.T)}


def missing_cells(X: Any) -> NDArray[np.bool_]:
    """Find the cells of a table that hold no value.

    Parameters
    ----------
    X : array-like, sparse matrix, pandas or polars frame
        The table, n_samples × n_features.

    Returns
    -------
    ndarray of bool, of shape (n_samples, n_features)
        True where a cell is missing. A sparse matrix has no missing cells; the result has no columns then.
    """
    if hasattr(X, "isna"):
        return np.asarray(X.isna(), dtype=bool)
    if hasattr(X, "get_columns"):  # polars, to which NaN is a number
        return np.column_stack([_missing_in(column) for column in X.get_columns()])
    if hasattr(X, "tocsr"):  # sparse: what is not stored is zero, not missing
        return np.zeros((X.shape[0], 0), dtype=bool)
    cells = np.asarray(X)
    absent: NDArray[np.bool_] = cells != cells  # only what is not a number differs from itself
    return absent | (cells == None) if cells.dtype == object else absent  # noqa: E711, cell by cell


def _missing_in(column: Any) -> NDArray[np.bool_]:
    absent = column.is_null().to_numpy()
    if column.dtype.is_float():
        absent |= column.is_nan().fill_null(False).to_numpy()
    return np.asarray(absent, dtype=bool)
