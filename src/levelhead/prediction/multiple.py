"""Predictions of several targets: one `Prediction` for each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from levelhead._checks import FloatArray
from levelhead.prediction.display import make_frame
from levelhead.prediction.distribution import Interval
from levelhead.prediction.html import multi_prediction_html
from levelhead.prediction.prediction import Prediction


@dataclass(frozen=True, eq=False, repr=False)
class MultiPrediction:
    """The distributions of the clean labels of several targets, each on its own.

    Arrays have the shape (n_samples, n_targets). The targets are not assumed to be independent; only their marginal
    distributions are predicted.

    Parameters
    ----------
    predictions : tuple of Prediction
        One for each target.
    targets : tuple of str
        Names of the targets.

    Examples
    --------
    >>> low, high = Prediction([1.0, 2.0], [1.0, 1.0]), Prediction([5.0, 6.0], [4.0, 4.0])
    >>> both = MultiPrediction((low, high), ("low", "high"))
    >>> both.mean
    array([[1., 5.],
           [2., 6.]])
    >>> both["high"].std
    array([2., 2.])
    """

    predictions: tuple[Prediction, ...]
    targets: tuple[str, ...]

    @property
    def mean(self) -> FloatArray:
        """Means, shape (n_samples, n_targets)."""
        return np.stack([one.mean for one in self.predictions], axis=1)

    @property
    def var(self) -> FloatArray:
        """Variances, shape (n_samples, n_targets)."""
        return np.stack([one.var for one in self.predictions], axis=1)

    @property
    def std(self) -> FloatArray:
        """Standard deviations, shape (n_samples, n_targets)."""
        return np.stack([one.std for one in self.predictions], axis=1)

    def interval(self, coverage: float = 0.9) -> Interval:
        """Central intervals of every target.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability that the interval of a target holds its clean label.

        Returns
        -------
        Interval
            Lower and upper ends, shape (n_samples, n_targets).
        """
        ends = [one.interval(coverage) for one in self.predictions]
        return Interval(*(np.stack([end[k] for end in ends], axis=1) for k in (0, 1)))

    def ppf(self, q: float) -> FloatArray:
        """The q-quantile of every target.

        Parameters
        ----------
        q : float
            A probability strictly between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, n_targets)
            Quantiles.
        """
        return np.stack([one.ppf(q) for one in self.predictions], axis=1)

    def logpdf(self, y: ArrayLike) -> FloatArray:
        """Log densities of labels.

        Parameters
        ----------
        y : array-like of shape (n_samples, n_targets)
            Labels.

        Returns
        -------
        ndarray of shape (n_samples, n_targets)
            Log densities of each label.
        """
        labels = np.asarray(y, dtype=np.float64)
        if labels.shape != (len(self), len(self.targets)):
            raise ValueError(
                f"y has shape {labels.shape}; needed are labels of shape {(len(self), len(self.targets))}"
            )
        return np.stack([one.logpdf(labels[:, k]) for k, one in enumerate(self.predictions)], axis=1)

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a table with the mean and the standard deviation of every target.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default="pandas"
            The library whose data frame is returned.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Columns such as `price mean` and `price std`.
        """
        columns: dict[str, FloatArray] = {}
        for name, one in zip(self.targets, self.predictions, strict=True):
            columns |= {f"{name} mean": one.mean, f"{name} std": one.std}
        return make_frame(columns, backend)

    def __getitem__(self, target: int | str) -> Prediction:
        """The prediction of one target, by its number or name."""
        return self.predictions[place_of(target, self.targets)]

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self.predictions)

    def __len__(self) -> int:
        return len(self.predictions[0])

    def _repr_html_(self) -> str:
        return multi_prediction_html(self)

    def __repr__(self) -> str:
        names = ", ".join(self.targets)
        return f"MultiPrediction of {len(self):,} rows and {len(self.targets)} targets: {names}"


def place_of(target: int | str, targets: Sequence[str]) -> int:
    """Return the number of a target.

    Parameters
    ----------
    target : int or str
        Number or name.
    targets : sequence of str
        Names of all targets.

    Returns
    -------
    int
        The number.

    Raises
    ------
    KeyError
        If there is no target of this name.
    """
    if not isinstance(target, str):
        return int(target)
    if target not in targets:
        raise KeyError(f"there is no target {target!r}; choose one of {', '.join(targets)}")
    return list(targets).index(target)
