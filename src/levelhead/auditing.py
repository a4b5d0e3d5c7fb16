"""Says which training labels are wrong.

An audit compares every label with what a network that had not seen it predicts, in units of the local noise,
and separates wrong labels from clean ones (`theory.separation`). It asks nobody how many are wrong.

>>> import numpy as np
>>> from levelhead import audit
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(-1, 1, size=(300, 1))
>>> y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=300)
>>> y[:6] += 3
>>> result = audit(X, y, random_state=0)
>>> result.issues.tolist()
[0, 1, 2, 3, 4, 5]
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from levelhead.audits import Audit
from levelhead.estimators.registry import make

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
    X, y : the table; numbers only (`levelhead.tabular_pipeline` takes categories, dates and gaps).
    estimator : one of our estimators, perhaps at the end of a pipeline, which is cloned, never changed; or "network",
        "trees" or "auto" for one with `n_members`. By default a `GCPRegressor`.
    false_alarm_rate : share of clean labels that is accepted among those called wrong.
    """
    if estimator is None or isinstance(estimator, str):
        model = make(estimator or "network", n_members=n_members, random_state=random_state)  # type: ignore[arg-type]
    else:
        model = clone(estimator)
    return judge(model.fit(X, y), X, y, false_alarm_rate)


def judge(model: Any, X: Any, y: ArrayLike, false_alarm_rate: float = 0.05) -> Audit:
    """The audit of a model of ours, perhaps at the end of a pipeline, of the rows that it was fitted to.

    Missing cells that the pipeline fills in are allowed for (`Audit.allowing_for`).
    """
    last = model[-1] if hasattr(model, "steps") else model
    if not hasattr(last, "audit"):
        raise TypeError(
            f"{type(last).__name__} cannot audit; use a levelhead estimator with out_of_fold=True"
        )
    if last is model:
        result: Audit = model.audit(X, y, false_alarm_rate)
        return result
    ready: Audit = last.audit(model[:-1].transform(X), y, false_alarm_rate)
    return ready.allowing_for(missing_cells(X))


def missing_cells(X: Any) -> NDArray[np.bool_]:
    """Where an array, a pandas or a polars frame has no value; rows × columns."""
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
