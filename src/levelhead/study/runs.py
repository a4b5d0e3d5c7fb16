"""One run: load, split, contaminate, fit, measure (the protocol of Table 1, Section 5.3 of the paper)."""

import hashlib
import platform
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import levelhead
from levelhead import datasets, metrics
from levelhead._checks import FloatArray
from levelhead.metrics.composition import NoDistributionError
from levelhead.prediction import Prediction
from levelhead.study.specs import Spec
from levelhead.theory.student import student_variance

COVERAGE = 0.9  # of the intervals whose observed coverage is reported


class Measures(NamedTuple):
    """Measures of one prediction on the test rows; those of the variance are None for methods that predict none.

    Attributes
    ----------
    rmse : float
        Root mean squared error of the mean.
    auc : float or None
        Area under the curve RMSE(n).
    nll : float or None
        Mean negative log-likelihood.
    crps : float or None
        Continuous ranked probability score.
    coverage : float or None
        Share of labels in the 90 % intervals.
    robust_r2 : float
        Robust coefficient of determination.
    mean_alpha : float or None
        Mean of α for GCP models, otherwise None.
    curve : tuple of float
        RMSE(n) without the n most uncertain rows, n = 0, 1, …; empty without a variance.
    """

    rmse: float
    auc: float | None
    nll: float | None
    crps: float | None
    coverage: float | None
    robust_r2: float
    mean_alpha: float | None
    curve: tuple[float, ...]


class SplitRows(NamedTuple):
    """The rows of a run.

    Attributes
    ----------
    X, y : ndarray
        Training rows, some with wrong labels.
    X_test, y_test : ndarray
        Rows to compute the measures on.
    """

    X: FloatArray
    y: FloatArray
    X_test: FloatArray
    y_test: FloatArray


@dataclass(frozen=True)
class Result:
    """Result of a run. Everything except the seconds is determined by the spec.

    Attributes
    ----------
    measures : mapping of str to Measures
        Measures by the name of the method; two entries if the spec has a `student` name.
    fit_seconds : float
        Duration of the fit.
    cpu_seconds : float or None, default=None
        Processor time of this process during the fit; other programs do not change it, other runs in threads do.
    """

    measures: Mapping[str, Measures]
    fit_seconds: float
    cpu_seconds: float | None = None


@dataclass(frozen=True)
class Outcome:
    """A run as it is stored: its result or the traceback of its failure, and where it ran.

    Attributes
    ----------
    digest : str
        Digest of the spec.
    result : Result or None
        The result, None if the run failed.
    error : str or None
        The traceback if the run failed.
    seconds : float
        Duration of the run.
    host : str
        Name of the computer.
    versions : mapping of str to str
        Versions of the libraries, the code and the processor.
    """

    digest: str
    result: Result | None
    error: str | None
    seconds: float
    host: str
    versions: Mapping[str, str]


def run(spec: Spec) -> Result:
    """Fit an estimator and compute its measures, on one thread.

    Except for the seconds, the result depends only on the spec, on any x86-64 processor.

    Parameters
    ----------
    spec : Spec
        Description of the run.

    Returns
    -------
    Result
        Measures and duration of the fit.
    """
    spec.check()
    with _one_thread(), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Found unknown categories", UserWarning
        )  # of rare levels, in every split
        rows = split_rows(spec)
        model = seeded(spec)
        began, cpu_began = time.perf_counter(), time.process_time()
        model.fit(rows.X, rows.y)
        seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
        return Result(_measures(spec, model, rows), seconds, cpu_seconds)


def attempt(spec: Spec) -> Outcome:
    """Run a spec and catch its failure.

    Parameters
    ----------
    spec : Spec
        Description of the run.

    Returns
    -------
    Outcome
        The result, or the traceback.
    """
    began = time.perf_counter()
    result, error = None, None
    try:
        result = run(spec)
    except Exception:
        error = traceback.format_exc()
    seconds = time.perf_counter() - began
    return Outcome(spec.digest, result, error, seconds, platform.node(), versions())


def split_rows(spec: Spec) -> SplitRows:
    """Split the table of a spec and contaminate the training labels; the same for all methods."""
    table = _public(spec.dataset) if isinstance(spec.dataset, str) else spec.dataset
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=spec.test_size, random_state=spec.seed
    )
    contaminated = spec.kind(
        X, y, contamination=spec.contamination, random_state=spec.stream("contamination")
    )
    if not spec.validation_size:
        return SplitRows(X, contaminated.y, X_test, y_test)
    X, X_held, y, y_held = train_test_split(
        X, contaminated.y, test_size=spec.validation_size, random_state=spec.seed
    )
    return SplitRows(X, y, X_held, y_held)


def seeded(spec: Spec) -> Any:
    """Return an unfitted copy of the estimator with the random seeds of the run, on one thread."""
    model = clone(spec.estimator)
    names = sorted(model.get_params(deep=True))
    chosen: dict[str, int] = {name: spec.stream(name) for name in names if _is(name, "random_state")}
    chosen |= {name: 1 for name in names if _is(name, "n_jobs")}
    return model.set_params(**chosen)


def _measures(spec: Spec, model: Any, rows: SplitRows) -> dict[str, Measures]:
    try:
        prediction = metrics.predict_dist(model, rows.X_test)
    except NoDistributionError:
        return {spec.method: measure_mean(rows.y_test, np.ravel(model.predict(rows.X_test)))}
    readings = _readings(spec, prediction)
    return {name: measure(rows.y_test, reading) for name, reading in readings.items()}


def measure_mean(y: FloatArray, mean: FloatArray) -> Measures:
    """Compute the measures of a prediction without a variance."""
    rmse, robust_r2 = metrics.rmse(y, mean), metrics.robust_r2(y, mean)
    return Measures(rmse, None, None, None, None, robust_r2, None, ())


def measure(y: FloatArray, prediction: Prediction) -> Measures:
    """Compute all measures of a prediction with a variance."""
    members = prediction.member_mean, prediction.member_var
    interval = prediction.interval(COVERAGE)
    curve = metrics.retention_curve(y, prediction.mean, prediction.var)
    return Measures(
        rmse=metrics.rmse(y, prediction.mean),
        auc=metrics.retention_auc(y, prediction.mean, prediction.var),
        nll=metrics.nll(y, *members),
        crps=metrics.crps(y, *members),
        coverage=metrics.coverage(y, interval.lower, interval.upper),
        robust_r2=metrics.robust_r2(y, prediction.mean),
        mean_alpha=None if prediction.member_alpha is None else float(prediction.alpha.mean()),
        curve=tuple(np.asarray(curve, dtype=np.float32).tolist()),
    )


@cache
def versions() -> dict[str, str]:
    """Everything besides the spec that could change the results: versions, the code itself, the processor."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in ("levelhead", "numpy", "scipy", "numba", "scikit-learn", "lightgbm"):
        with suppress(PackageNotFoundError):  # trees need LightGBM, networks do not
            found[name] = version(name)
    processor = llvmlite.binding.get_host_cpu_name()
    return found | {"code": _code(), "engine": _code("engine"), "processor": processor}


def _code(part: str = "") -> str:
    """A digest of the source files of this package or a part of it: runs of one version may use different code."""
    home = Path(levelhead.__file__).parent
    digest = hashlib.sha256()
    for source in sorted((home / part).rglob("*.py")):
        digest.update(source.relative_to(home).as_posix().encode() + source.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _public(name: str) -> datasets.Dataset:
    return datasets.load(name)


def _readings(spec: Spec, prediction: Prediction) -> dict[str, Prediction]:
    readings = {spec.method: prediction}
    if spec.student is not None:
        if prediction.member_alpha is None or prediction.member_sigma is None:
            raise ValueError(f"{spec.method} fits no Student's t: only GCP models have a Student variance")
        alpha, sigma = prediction.member_alpha, prediction.member_sigma
        spread: NDArray[np.float64] = student_variance(alpha, sigma, finite=True)  # eq. (9)
        readings[spec.student] = Prediction(prediction.member_mean, spread, alpha=alpha, sigma=sigma)
    return readings


def _is(parameter: str, name: str) -> bool:
    return parameter == name or parameter.endswith(f"__{name}")


_limit_lock = threading.Lock()
_limit_users = 0
_limit: Any = None


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread, because several threads round sums differently."""
    global _limit_users, _limit
    with _limit_lock:
        if _limit_users == 0:
            _limit = threadpool_limits(limits=1)
        _limit_users += 1
    try:
        yield
    finally:
        with _limit_lock:
            _limit_users -= 1
            if _limit_users == 0:
                _limit.restore_original_limits()
