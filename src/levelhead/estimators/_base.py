"""What every fitted model can do: predictions, intervals, scores, audits; and the checks of its input.

`FittedRegressor` needs `predict_dist` and `separation_` alone. `AuditedRegressor` adds what networks and trees share:
out-of-fold predictions of the training rows, calibration, and the audit based on them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from levelhead import metrics
from levelhead.audits import LEAST_ROWS, Audit, ContaminationEstimate, Contributions
from levelhead.estimators import _preparation
from levelhead.estimators._contributions import sampled
from levelhead.estimators._label_scale import ScaledLabels
from levelhead.estimators._preparation import Scale
from levelhead.estimators._separating import calibrated_separation, label_quality
from levelhead.estimators._tables import CheckedTable, Location, TableReader
from levelhead.estimators._types import Contamination, FloatArray, Table, Weights
from levelhead.prediction import Interval, Prediction
from levelhead.prediction.calibration import IDENTITY, Calibration
from levelhead.tables.encoding import frames

# Members and intermediate results of more rows, or cells, are never held at a time.
_ROWS_AT_A_TIME, _CELLS_AT_A_TIME = 50_000, 2**25


class Decoded(NamedTuple):
    """Parameters of the predicted distributions, in scaled units; shape (members, rows)."""

    mean: FloatArray
    variance: FloatArray
    alpha: FloatArray | None = None
    sigma: FloatArray | None = None

    def map(self, f: Callable[[FloatArray], FloatArray]) -> "Decoded":
        """Apply a function to every array that is not None."""
        return Decoded(f(self.mean), f(self.variance), *(None if p is None else f(p) for p in self[2:]))


class Unseen(NamedTuple):
    """Labels with predictions of models that have not seen them; one entry per row.

    `mean` and `variance` are on the scale on which labels are judged, and the variance as `separation_` takes it.
    """

    given: FloatArray
    mean: FloatArray
    variance: FloatArray
    alpha: FloatArray

    @classmethod
    def joined(cls, parts: Iterable["Unseen"]) -> "Unseen":
        """Several parts of a table as one."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


def slices(shape: tuple[int, int]) -> Iterator[slice]:
    """Parts of a table that are predicted at a time."""
    n_rows, n_columns = shape
    step = max(1, min(_ROWS_AT_A_TIME, _CELLS_AT_A_TIME // n_columns))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def unseen(model: Any, X: Any, y: ArrayLike) -> Unseen:
    """Labels of a table, and predictions by which they are judged; a sparse table is dense in parts only."""
    if not frames.is_sparse(X) or _is_small(X):
        return cast(Unseen, model._unseen(X, y))
    rows, labels = X.tocsr(), column_or_1d(y)
    check_consistent_length(rows, labels)
    return Unseen.joined(model._unseen(rows[part], labels[part]) for part in slices(X.shape))


def _is_small(X: Any) -> bool:
    """Whether a table is predicted at a time."""
    shape: Any = getattr(X, "shape", ())
    return len(shape) != 2 or (shape[0] <= _ROWS_AT_A_TIME and shape[0] * shape[1] <= _CELLS_AT_A_TIME)


class FittedRegressor(RegressorMixin, ABC):  # type: ignore[misc]
    """Methods that need only `predict_dist` and `separation_`."""

    _fitted_attribute: str  # exists once the model is fitted
    separation_: ContaminationEstimate | None

    def _check_is_fitted(self) -> None:
        """Refuse a model that is not fitted; scikit-learn's check takes longer than the prediction of a row."""
        if not hasattr(self, self._fitted_attribute):
            check_is_fitted(self, self._fitted_attribute)

    @property
    def contamination_(self) -> float:
        """Share of wrong labels among the training labels: given, estimated, or NaN if neither."""
        self._check_is_fitted()
        return float("nan") if self.separation_ is None else self.separation_.contamination

    @abstractmethod
    def predict_dist(self, X: Any) -> Prediction:
        """Predict the distribution of the clean label of every row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        Prediction
            Means, variances, quantiles and densities, one for each row.
        """

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> FloatArray: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...

    @overload
    def predict(self, X: Any, return_std: bool) -> FloatArray | tuple[FloatArray, FloatArray]: ...

    def predict(self, X: Any, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predict the means of the clean labels.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Whether to return standard deviations too.

        Returns
        -------
        ndarray of shape (n_samples,), or a tuple of two
            Means; with `return_std=True`, means and standard deviations.
        """
        parts = [(part.mean, part.std) if return_std else (part.mean,) for part in self._predictions(X)]
        mean, *std = map(np.concatenate, zip(*parts, strict=True))
        return (mean, std[0]) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Interval:
        """Predict central intervals.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        coverage : float, default=0.9
            Probability that the interval holds the clean label.

        Returns
        -------
        Interval
            Lower and upper ends, one pair for each row.
        """
        parts = [part.interval(coverage) for part in self._predictions(X)]
        return Interval(*map(np.concatenate, zip(*parts, strict=True)))

    def predict_quantiles(self, X: Any, alpha: ArrayLike) -> FloatArray:
        """Predict quantiles of the clean label.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        alpha : float or array-like of shape (n_levels,)
            Level or levels of the quantiles, from 0 to 1.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_levels, n_samples)
            Quantiles; one row for each level if there are several.
        """
        return np.concatenate([part.ppf(alpha) for part in self._predictions(X)], axis=-1)

    def _predictions(self, X: Any) -> Iterator[Prediction]:
        """Predictions for all rows, some rows at a time if there are many."""
        table: Any = None
        if not _is_small(X):
            table = X.tocsr() if frames.is_sparse(X) else self._sliceable(X)
        if table is None:
            yield self.predict_dist(X)
        else:
            yield from (self.predict_dist(table[rows]) for rows in slices(X.shape))

    def _sliceable(self, X: Any) -> CheckedTable | None:
        """A checked table, of which `predict_dist` takes any rows; None if the estimator reads no tables itself."""
        return None

    def log_prob(self, X: Any, y: ArrayLike) -> FloatArray:
        """Log density of each label under the predicted distribution of clean labels.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log densities.
        """
        return self.predict_dist(X).logpdf(y)

    def score(self, X: Any, y: ArrayLike, sample_weight: Weights = None) -> float:
        """Robust R² of the predictions, `levelhead.metrics.robust_r2`.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of at least 0.

        Returns
        -------
        float
            1 for perfect predictions, 0 for the constant median. Wrong labels hardly change it.
        """
        return metrics.robust_r2(y, self.predict(X), sample_weight=sample_weight)


class AuditedRegressor(FittedRegressor, TableReader, ScaledLabels):
    """A model with out-of-fold predictions of its training rows, by which their labels are judged."""

    target_scale_: Scale
    calibration_: Calibration
    disagreement_: float
    oof_prediction_: Prediction
    contamination: Contamination
    _stream: int
    _row_keys: NDArray[np.uint64]

    @abstractmethod
    def _predict_table(self, X: Table) -> Prediction:
        """Predict the rows of a checked table."""

    def predict_dist(self, X: Any) -> Prediction:
        """Predict the distribution of the clean label of every row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        Prediction
            Means, variances, quantiles and densities, one for each row.
        """
        self._check_is_fitted()
        return self._predict_table(self._checked_inputs(X, reset=False))

    def _sliceable(self, X: Any) -> CheckedTable:
        check_is_fitted(self, self._fitted_attribute)
        return self._shared(X, self._checked_inputs(X, reset=False))

    @abstractmethod
    def _decode(self, outputs: FloatArray) -> Decoded:
        """Distributions from raw outputs of shape (members, rows, outputs)."""

    def audit(self, X: Any, y: ArrayLike, false_alarm_rate: float = 0.05) -> Audit:
        """Judge which labels are wrong.

        Rows that the model was fitted to are judged by their out-of-fold predictions (`oof_prediction_`), all others by
        predictions of the model.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels.
        false_alarm_rate : float, default=0.05
            Expected share of false alarms among flagged labels.

        Returns
        -------
        Audit
            A verdict on each label.

        Raises
        ------
        ValueError
            If the model has no out-of-fold predictions.
        """
        judge = getattr(self, "judge_", None)
        if judge is not None:  # the trees of a large table have seen its labels
            return cast(Audit, judge.audit(X, y, false_alarm_rate))
        return self._judged(unseen(self, X, y), false_alarm_rate)

    def _label_quality(self, y: FloatArray) -> FloatArray:
        """Probability that each label of the training rows, in their order, is right."""
        if self.separation_ is None:
            return np.ones(len(y))
        oof = self.oof_prediction_.latent
        z = self._on_scale(y) - oof.mean
        return label_quality(y, z, oof.var / self._variance_ratio, self.separation_)

    def _judged(self, found: Unseen, false_alarm_rate: float = 0.05) -> Audit:
        return Audit.from_residuals(
            found.given,
            found.mean,
            found.variance,
            alpha=found.alpha,
            separation=self.separation_,
            false_alarm_rate=false_alarm_rate,
            transform=self._scale,
        )

    def _unseen(self, X: Any, y: ArrayLike) -> Unseen:
        """Predictions by which labels are judged: out of fold for training rows, those of the members for others."""
        self._check_is_fitted()
        X, y, _ = self._checked(X, y, None, reset=False)
        unsaved = getattr(self, "_unsaved_rows", 0)
        if unsaved:
            raise ValueError(
                f"this model was read from a file without out-of-fold predictions of its {unsaved:,} training rows, "
                "by which labels are judged; audit with the model that was fitted, or write its file by "
                "save(model, path, out_of_fold=True), on the command line by levelhead fit --keep-out-of-fold"
            )
        if not hasattr(self, "oof_prediction_"):
            has_folds = getattr(self, "out_of_fold", True)  # trees have no such parameter
            how = "" if has_folds else "with out_of_fold=True, "
            raise ValueError(
                "this model has no out-of-fold predictions to judge labels by: "
                f"fit it {how}to at least {LEAST_ROWS} different rows"
            )
        return Unseen.joined(self._unseen_rows(X[rows], y[rows]) for rows in slices(X.shape))

    def _unseen_rows(self, X: Table, y: FloatArray) -> Unseen:
        place, known = self._find_training_rows(X, y)
        oof = self.oof_prediction_.latent
        mean, variance, alpha = oof.mean[place], oof.var[place], _alpha(oof)[place]
        if not known.all():
            new = self._predict_table(X[~known]).latent
            mean[~known], variance[~known], alpha[~known] = new.mean, new.var, _alpha(new)
        return Unseen(y, mean, variance / self._variance_ratio, alpha)

    @property
    def _variance_ratio(self) -> float:
        """Variance of clean labels over the calibrated variance."""
        return 1.0 if self.separation_ is None else self.separation_.variance_ratio

    def contributions(self, X: Any, background: Any = None, random_state: int = 0) -> Contributions:
        """By how much each column moves the mean and the spread of every row.

        Contributions are Shapley values by sampling: 24 rows of the background are turned into the row, one column
        after another in random order. This takes 24·(n_features + 1) predictions for each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        background : array-like or frame of shape (n_rows, n_features), default=None
            Rows to compare with; by default X.
        random_state : int, default=0
            Seed.

        Returns
        -------
        Contributions
            Contributions to the mean and to ln std, on the scale on which the model learns.
        """
        self._check_is_fitted()
        return sampled([self], lambda predictions: predictions[0], X, background, random_state)

    def _forget_optimizers(self) -> None:
        """Free the memory that only further training would need; trees need none."""

    def _find_training_rows(self, X: Table, y: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """For each row its index among the training rows, and whether it is one of them."""
        keys = _preparation.row_keys(X, y, self._stream)
        order = np.argsort(self._row_keys)
        place = order[np.minimum(np.searchsorted(self._row_keys, keys, sorter=order), len(order) - 1)]
        return place, self._row_keys[place] == keys

    # ------------------------------------------------------------------ calibration

    def _reset_contamination(self) -> None:
        self.calibration_, self.separation_, self.disagreement_ = IDENTITY, None, 0.0
        for name in ("oof_prediction_", "_unsaved_rows"):  # of an earlier fit to other rows
            self.__dict__.pop(name, None)

    def _separate(self, y: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Learn calibration and share of wrong labels from out-of-fold predictions; return calibrated variances."""
        given = self.contamination
        known = None if given is None or given == "auto" else float(given)
        self.calibration_, self.separation_ = calibrated_separation(y, mean, variance, known)
        return self.calibration_(variance)

    def _predicted(self, decoded: Decoded, location: Location | None = None) -> Prediction:
        """Predictions in the units of y, with calibrated variances."""
        return self._in_units(self._latent(decoded, location))

    def _latent(self, decoded: Decoded, location: Location | None) -> Prediction:
        """Predictions on the scale of the labels on which the model learns; `location` is added."""
        center, spread = self.target_scale_
        clean = self.calibration_(decoded.variance) * self._variance_ratio * (1 - self.disagreement_)
        sigma = None if decoded.sigma is None else decoded.sigma * spread**2
        mean, variance = decoded.mean * spread + center, clean * spread**2
        if location is not None:
            mean, variance = mean + location.mean, variance + location.variance
        return Prediction(mean, variance, alpha=decoded.alpha, sigma=sigma)


def _alpha(prediction: Prediction) -> FloatArray:
    """α of every row, NaN for models without one."""
    return np.full(len(prediction), np.nan) if prediction.member_alpha is None else prediction.alpha
