"""Specs: frozen descriptions of runs that determine their results.

>>> from levelhead import GCPRegressor
>>> spec = Spec("boston", contamination=0.05, method="mine", seed=1, estimator=GCPRegressor(max_iter=10))
>>> spec == Spec("boston", contamination=0.05, method="mine", seed=1, estimator=GCPRegressor(max_iter=11))
False

Two specs are equal if their digests are. A digest covers everything that determines the results: the numbers of the
table, the contamination, the protocol and every parameter of the estimator. `n_jobs`, `verbose` and `random_state` are
not part of it, because they do not change the results or are set by the run.
"""

import dataclasses
import hashlib
import inspect
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from levelhead import _checks
from levelhead._checks import FloatArray
from levelhead._deprecated import percentage, percentages
from levelhead.contamination import Contamination, Replaced
from levelhead.datasets import TABLES, fingerprint
from levelhead.tables.encoding import frames

PROTOCOL = (
    1  # raise it when `run` changes what it computes: stored results are then no longer taken for new ones
)
_SET_BY_THE_RUN = ("random_state", "n_jobs", "verbose")


@dataclass(frozen=True, eq=False)
class Data:
    """Your own table, for use in a study.

    Parameters
    ----------
    name : str
        Name that the tables of the study show; it must not be the name of a public data set.
    X : array-like or pandas.DataFrame of shape (n_samples, n_features)
        Inputs: finite numbers, or a frame with numbers, categories and dates, whose cells may be missing. A frame of
        finite numbers is the same as its array.
    y : array-like of shape (n_samples,)
        Labels.
    """

    name: str
    X: Any
    y: FloatArray

    def __init__(self, name: str, X: Any, y: ArrayLike) -> None:
        raw = frames.library(X) == "pandas" and not _is_plain(X)
        inputs = X if raw else _checks.finite("X", _checks.real("X", X))
        labels = _checks.vector("y", y)
        if inputs.ndim != 2 or len(inputs) != labels.size:
            raise ValueError(
                f"X has shape {inputs.shape} but y has {labels.size} rows; give one row per label"
            )
        if name in TABLES:
            raise ValueError(f"{name!r} is one of the public data sets; choose another name for this table")
        object.__setattr__(self, "name", name)
        for key, values in (("X", inputs), ("y", labels)):
            kept = values.copy()
            if isinstance(kept, np.ndarray):
                kept.flags.writeable = False
            object.__setattr__(self, key, kept)

    @cached_property
    def sha256(self) -> str:
        """Checksum of inputs and labels; that of a frame covers the names of its columns."""
        if isinstance(self.X, np.ndarray):
            return fingerprint(np.column_stack([self.X, self.y]))
        columns = [_column_content(column) for column in frames.cells(self.X)]
        return _sha256([columns, fingerprint(self.y)])


@dataclass(frozen=True, eq=False)
class Spec:
    """Description of one run: the data, the wrong labels, the split and the estimator.

    Parameters
    ----------
    dataset : str or Data
        Name of a public data set, or your own table.
    contamination : float
        Share of training labels that are wrong, from 0 to below 1; the paper's λ is this share in percent. It is
        rounded to twelve decimals.
    method : str
        Name of the estimator in tables.
    seed : int
        Seed of the split into training and test rows.
    estimator : estimator
        A scikit-learn regressor. It is copied. With `predict_dist(X)` or `predict(X, return_std=True)` it gets all
        measures, otherwise only those of the mean.
    kind : Contamination, default=Replaced()
        Kind of wrong labels; by default that of the paper.
    student : str or None, default=None
        If given, the Student variance (9) of the same GCP fit is reported as well, under this name.
    test_size : float, default=0.05
        Share of the rows used for the test. Their labels stay clean.
    validation_size : float, default=0.0
        If not 0, this share of the training rows, including wrong labels, is used for the test instead, and the test
        rows are not used at all. This is for the choice of hyperparameters.
    version : str or None, default=None
        Version of the estimator's code, if it is not ours: another version is another spec.

    Raises
    ------
    ValueError
        If a value is out of range or the data set is unknown.
    TypeError
        If a parameter of the estimator cannot be described by its content.
    """

    dataset: str | Data
    contamination: float
    method: str
    seed: int
    estimator: Any
    kind: Contamination = field(default_factory=Replaced)
    student: str | None = None
    test_size: float = 0.05
    validation_size: float = 0.0
    version: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.dataset, str) and self.dataset not in TABLES:
            raise ValueError(
                f"there is no data set {self.dataset!r}; choose one of {', '.join(TABLES)}, or give Data(name, X, y)"
            )
        if not 0 <= self.contamination < 1:
            raise ValueError(
                f"contamination is {self.contamination}; give a fraction from 0 to below 1, such as 0.05 for 5 %"
            )
        object.__setattr__(self, "contamination", round(float(self.contamination), 12))
        _checks.share("test_size", self.test_size)
        if self.validation_size:
            _checks.share("validation_size", self.validation_size)
        object.__setattr__(self, "estimator", clone(self.estimator))
        _ = self.digest  # what cannot be described is refused here, and later changes can be noticed

    def check(self) -> None:
        """Check that the estimator was not changed after the spec was created.

        Raises
        ------
        ValueError
            If it was changed.
        """
        if describe(self.estimator) != self.content["estimator"]:
            raise ValueError(
                f"the estimator of this spec was changed after the spec was created ({self}); create a new spec instead"
            )

    @property
    def dataset_name(self) -> str:
        """Name of the table."""
        return self.dataset if isinstance(self.dataset, str) else self.dataset.name

    @cached_property
    def content(self) -> dict[str, Any]:
        """Everything that determines the results, as plain data."""
        public = isinstance(self.dataset, str)
        return {
            "protocol": PROTOCOL,
            "dataset": self.dataset_name,
            "sha256": TABLES[self.dataset].sha256 if isinstance(self.dataset, str) else self.dataset.sha256,
            "public": public,
            # The names and the unit of version 0.1, so that stored runs are found.
            "share": describe(percent(self.contamination)),
            "contamination": describe(self.kind),
            "method": self.method,
            "student": self.student,
            "seed": int(self.seed),
            "test_size": float(self.test_size),
            "validation_size": float(self.validation_size),
            "estimator": describe(self.estimator),
            **({} if self.version is None else {"version": self.version}),
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of `content`; specs are equal if their digests are."""
        return _sha256(self.content)

    def stream(self, purpose: str) -> int:
        """Compute the seed of one of the random streams of the run.

        All methods get the same wrong labels, so that they can be compared pairwise. The parameters of the estimator do
        not change the seed, so that they are compared with common random numbers.

        Parameters
        ----------
        purpose : str
            "contamination", or the name of a parameter of the estimator such as "random_state".

        Returns
        -------
        int
            Seed.
        """
        shared = [self.dataset_name, percent(self.contamination), describe(self.kind), int(self.seed)]
        name = shared if purpose == "contamination" else [*shared, self.method]
        text = _canonical([purpose, name])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __str__(self) -> str:
        return f"{self.dataset_name}, {shown_percent(self.contamination)}, {self.method}, split {self.seed}"

    @property
    def share(self) -> float:
        """Old name of `contamination`, in percent."""
        return percentage(self)


Spec.__init__ = percentages("share")(Spec.__init__)  # type: ignore[method-assign]


def percent(contamination: float) -> float:
    """Return a contamination in percent, without the last digits that the multiplication adds."""
    return round(100 * float(contamination), 10)


def shown_percent(contamination: float) -> str:
    """Return a contamination as tables and messages show it: the paper's λ, in percent."""
    return f"λ = {percent(contamination):g} %"


def describe(value: Any) -> Any:
    """Describe a value by plain data that determine it; raises TypeError for values that cannot be described."""
    if isinstance(value, np.generic):
        return describe(value.item())
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 2 and 2.0 are one number
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            return [describe(item) for item in value.tolist()]
        return {"array": list(value.shape), "sha256": fingerprint(value.astype(np.float64))}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if isinstance(value, dict):
        return {str(key): describe(item) for key, item in value.items()}
    return _describe_object(value)


def _describe_object(value: Any) -> Any:
    if isinstance(value, np.ufunc):
        return f"numpy.{value.__name__}"
    if inspect.isclass(value) or inspect.isroutine(value):
        name = f"{value.__module__}.{value.__qualname__}"
        if "<" in name:
            raise TypeError(
                f"{name} cannot be identified by its name; define it at the top level of a module"
            )
        return name
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "get_params"):
        given = value.get_params(deep=False)
        return {"class": kind, **{k: describe(v) for k, v in given.items() if k not in _SET_BY_THE_RUN}}
    if dataclasses.is_dataclass(value):
        return {
            "class": kind,
            **{f.name: describe(getattr(value, f.name)) for f in dataclasses.fields(value)},
        }
    raise TypeError(
        f"a {kind} cannot be part of a spec; use numbers, text, arrays, scikit-learn estimators, "
        "frozen dataclasses or functions of a module"
    )


def _is_plain(frame: Any) -> bool:
    """Whether a frame holds finite numbers only."""
    return frames.is_numeric(frame) and bool(np.isfinite(frame.to_numpy(dtype=np.float64)).all())


def _column_content(column: frames.Cells) -> list[Any]:
    values = column.values
    if values.dtype == object:
        cells = [None if cell is None else str(cell) for cell in values]
        return [column.name, column.category, _sha256(cells)]
    numbers = values.astype(np.int64) if values.dtype.kind == "M" else values
    return [column.name, values.dtype.kind, column.zone, fingerprint(numbers.astype(np.float64))]


def _sha256(content: Any) -> str:
    return hashlib.sha256(_canonical(content).encode()).hexdigest()


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
