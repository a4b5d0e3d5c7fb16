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

from numpy.typing import ArrayLike
from sklearn.base import clone

from levelhead.audits import Audit
from levelhead.estimators.registry import make
from levelhead.tables.frames import missing_cells

__all__ = ["Audit", "audit", "judge", "missing_cells"]


def audit(
    X: Any,
    y: ArrayLike,
    estimator: Any = None,
    *,
    false_alarm_rate: float = 0.05,
    n_members: int = 5,
    random_state: int | None = None,
) -> Audit:
    """Find wrong labels in a table.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        Inputs: numbers, and in a frame also categories, dates and text. Cells may be missing.
    y : array-like of shape (n_samples,)
        Labels to check.
    estimator : estimator, pipeline or {"network", "trees", "auto"}, default=None
        A levelhead estimator, or a pipeline that ends in one; it is cloned, not changed. A name chooses one with
        `n_members` members. By default "network", a `GCPRegressor`.
    false_alarm_rate : float, default=0.05
        Largest expected share of clean labels among the flagged ones.
    n_members : int, default=5
        Size of the ensemble. Used only if `estimator` is None or a name.
    random_state : int, default=None
        Seed. Used only if `estimator` is None or a name.

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
        model = make(estimator or "network", n_members=n_members, random_state=random_state)  # type: ignore[arg-type]
    else:
        model = clone(estimator)
    return judge(model.fit(X, y), X, y, false_alarm_rate)


def judge(model: Any, X: Any, y: ArrayLike, false_alarm_rate: float = 0.05) -> Audit:
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
    ready = X if last is model else model[:-1].transform(X)
    result: Audit = last.audit(ready, y, false_alarm_rate)
    filled = last is not model or getattr(
        last, "_fills_gaps", False
    )  # by a step of the pipeline, or by the estimator
    return result.allowing_for(missing_cells(X)) if filled else result
