"""Constraints on parameters, for the `_parameter_constraints` of the estimators."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints


class Whole(Interval):  # type: ignore[misc]
    """Integers of at least `least`, of Python or numpy; True and False are not integers here."""

    def __init__(self, least: int) -> None:
        super().__init__(Integral, least, None, closed="left")

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the value is allowed."""
        return not isinstance(val, bool) and bool(super().is_satisfied_by(val))


class LayerSizes(Whole):
    """An integer of at least 1, or a sequence of them."""

    def __init__(self) -> None:
        super().__init__(1)

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether the value is allowed."""
        sizes = np.atleast_1d(np.asarray(val, dtype=object)).tolist()
        return all(super(LayerSizes, self).is_satisfied_by(size) for size in sizes)

    def __str__(self) -> str:
        return "an int of at least 1 or a sequence of them, as in (64, 64)"


POSITIVE = Interval(Real, 0, None, closed="neither")
SHARE = Interval(Real, 0, 1, closed="neither")
CONTAMINATION = [Interval(Real, 0, 1, closed="left"), StrOptions({"auto"}), None]
_MANY_ROWS = (
    2000  # fewer are predicted in less time than it takes to ask for the number of cores and start threads
)
N_JOBS = [Whole(1), Interval(Integral, None, -1, closed="right"), None]


def n_threads(estimator: Any, n_rows: int = _MANY_ROWS) -> int:
    """Number of threads for the `n_jobs` of an estimator, which may have changed since `fit`; one for few rows."""
    given = estimator.n_jobs
    if type(given) is not int or given == 0:  # every other int is allowed
        validate_parameter_constraints({"n_jobs": N_JOBS}, {"n_jobs": given}, type(estimator).__name__)
    return 1 if n_rows < _MANY_ROWS else int(effective_n_jobs(estimator.n_jobs))
