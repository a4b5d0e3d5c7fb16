"""From any table to the inputs of a model: checks, columns of frames, gaps, categories, dates."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_X_y,
    column_or_1d,
    validate_data,
)

from levelhead.estimators import _preparation
from levelhead.estimators._inputs import explained
from levelhead.estimators._out_of_fold import Folds, Splitting, assign
from levelhead.estimators._preparation import Rows
from levelhead.estimators._types import FloatArray, Table, Weights
from levelhead.tables.encoding import frames, inputs
from levelhead.tables.encoding.columns import Columns
from levelhead.tables.encoding.features import Reader
from levelhead.tables.encoding.inputs import CrossFitted, Encoding

_FOLDS = 5  # in which labels are compared with the medians of their level
_NOTHING = np.empty(0, dtype=object)
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_TYPES = {"dtype": list(_FLOATS), "ensure_all_finite": False}


class Location(NamedTuple):
    """What is added to the predicted means and variances of rows, in the units of the labels."""

    mean: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """A table that one estimator has read and checked for several others.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features)
        Numbers, codes and days.
    columns : Columns or None
        What the columns of a frame hold.
    names : ndarray or None
        Names of the features, if they are strings.
    source : object
        The table as it was given.
    """

    values: Table
    columns: Columns | None
    names: Any
    source: Any

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> "CheckedTable":
        return replace(self, values=self.values[rows])


class TrainingTable(NamedTuple):
    """A table of numbers, codes and days, labels on the scale on which a model learns, and folds.

    With several targets, a model is also trained on rows without a label of its own, which belong to `all_rows`.
    """

    X: Table
    labels: FloatArray
    rows: Rows
    folds: Folds
    all_rows: Rows | None = None

    @property
    def visited(self) -> Rows:
        """The rows that a model is trained on."""
        return self.rows if self.all_rows is None else self.all_rows


class TableReader(BaseEstimator):  # type: ignore[misc]
    """An estimator that takes arrays and frames, remembers their columns and encodes them for its models."""

    columns_: Columns | None
    encoding_: Encoding | None
    _only_column: int | None  # the category that determines the clean labels
    _reader: ClassVar[Reader]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------ checks of input

    def _checked(
        self, X: Any, y: Any, sample_weight: Weights, *, reset: bool
    ) -> tuple[Table, FloatArray, FloatArray | None]:
        """X as a table of numbers, codes and days, y and weights as arrays of finite numbers."""
        if isinstance(X, CheckedTable):
            return self._checked_again(X, y, sample_weight, reset=reset)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        with explained(X, y):
            X, read = self._read(X, reset=reset)
            if read:
                X, y = check_X_y(X, y, y_numeric=True, estimator=self, **_TYPES)
            else:
                X, y = validate_data(self, X, y, y_numeric=True, reset=reset, **_TYPES)
            y = np.asarray(y, dtype=np.float64)
        return self._finite_inputs(X), y, self._checked_weights(X, sample_weight)

    @staticmethod
    def _checked_weights(X: Table, sample_weight: Weights) -> FloatArray | None:
        if sample_weight is None:
            return None
        weight: FloatArray = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not weight.any():
            raise ValueError(
                "sample_weight is zero everywhere; at least one row must have a weight above zero"
            )
        return weight

    def _checked_again(
        self, X: CheckedTable, y: Any, sample_weight: Weights, *, reset: bool
    ) -> tuple[Table, FloatArray, FloatArray | None]:
        """The same for a table whose columns another estimator has learnt."""
        if not reset and self._has_other_columns(X):
            return self._checked(X.source, y, sample_weight, reset=False)
        if reset:
            self._learn_features(X)
        y = np.asarray(column_or_1d(y), dtype=np.float64)
        return X.values, y, self._checked_weights(X.values, sample_weight)

    def _has_other_columns(self, X: CheckedTable) -> bool:
        own = getattr(self, "columns_", None)
        return own is not X.columns and bool(own != X.columns)

    def _learn_features(self, X: CheckedTable) -> None:
        """Take over what another estimator has learnt about the columns."""
        self.columns_, self.n_features_in_ = X.columns, X.values.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if X.names is not None:
            self.feature_names_in_ = X.names

    def _shared(self, X: Any, values: Table) -> CheckedTable:
        """A table that this estimator has checked, for others."""
        return CheckedTable(
            values, getattr(self, "columns_", None), getattr(self, "feature_names_in_", None), X
        )

    def _checked_inputs(self, X: Any, *, reset: bool) -> Table:
        if isinstance(X, CheckedTable):
            return self._checked_inputs(X.source, reset=reset) if self._has_other_columns(X) else X.values
        if not reset and self._is_plain(X):
            return self._finite_inputs(X)
        with explained(X):
            X, read = self._read(X, reset=reset)
            if not read:
                X = validate_data(self, X, reset=reset, **_TYPES)
            elif reset or not len(X):  # otherwise it was made here
                X = check_array(X, estimator=self, **_TYPES)
        return self._finite_inputs(X)

    def _is_plain(self, X: Any) -> bool:
        """Whether a table is one of numbers like that of `fit`, so that no check of scikit-learn could fail."""
        return (
            type(X) is np.ndarray
            and X.dtype in _FLOATS
            and X.shape[1:] == (self.n_features_in_,)
            and len(X) > 0
            and not hasattr(self, "feature_names_in_")
            and getattr(self, "columns_", None) is None
        )

    def _read(self, X: Any, *, reset: bool) -> tuple[Any, bool]:
        """Turn a frame with categories, dates or text into numbers; the second value says whether X is such a frame."""
        X = frames.collected(X)
        framed = frames.library(X) is not None
        if framed and not X.shape[0]:
            raise ValueError(f"X has no rows (shape {tuple(X.shape)}); at least one is needed")
        if reset:
            self.columns_ = self._learnt_columns(X) if framed else None
        columns = getattr(self, "columns_", None)  # files of version 0.1 have none
        if columns is None:
            return X, False
        if not framed:
            raise ValueError(
                f"{type(self).__name__} was fitted to a frame with categories, dates or text; give a pandas or polars "
                f"frame or a pyarrow table with its columns, not {type(X).__name__!r}"
            )
        if reset or frames.names(X) != getattr(self, "feature_names_in_", _NOTHING).tolist():
            validate_data(self, X, reset=reset, skip_check_array=True)  # names and number of the columns
        return columns.table(X), True

    def _learnt_columns(self, X: Any) -> Columns | None:
        return None if frames.is_numeric(X) else Columns.learn(X)

    def _finite_inputs(self, X: Table) -> Table:
        """NaN is a missing value; infinity is refused."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = X.sum(dtype=np.float64)
        if np.isfinite(total):  # a cheap test first: a sum may also overflow
            return X
        infinite = np.isinf(X)
        if infinite.any():
            row, column = np.argwhere(infinite)[0]
            names = getattr(self, "feature_names_in_", None)
            called = f"column {column}" if names is None else f"column {column} ({names[column]!r})"
            raise ValueError(
                f"X has {np.count_nonzero(infinite)} infinite values, the first in {called}, row {row}; correct them, "
                "or replace them by NaN, which is a missing value"
            )
        return np.where(np.isnan(X), X.dtype.type(np.nan), X)  # one bit pattern, so that row keys agree

    @property
    def _fills_gaps(self) -> bool:
        """Whether missing cells are filled in, which adds to the variance of clean labels."""
        return self._reader == "network"

    # ------------------------------------------------------------------ encoding

    @property
    def _learnt_encoding(self) -> Encoding | None:
        return getattr(self, "encoding_", None)  # files of version 0.1 have none

    def _unrounded(self, X: Table, y: FloatArray, rows: Rows) -> FloatArray:
        """Labels with the noise of their rounding, if they have no other; else the same labels."""
        columns = getattr(self, "columns_", None)  # files of version 0.1 have none
        self._only_column = None
        if columns is None:
            return y
        folds = assign(rows, _FOLDS, Splitting(), X, y)
        found = inputs.find_repetition(X, y, rows.index, folds, columns)
        if found is None:
            return y
        self._only_column = found.column
        return y + found.unit * (rows.key / 2.0**64 - 0.5)

    def _learn_encoding(self, table: TrainingTable) -> None:
        self.encoding_ = None
        X, labels, rows, folds = table[:4]
        if self.columns_ is None and (self._reader == "trees" or not np.isnan(X).any()):
            return  # the models can use the table as it is
        center, spread = _preparation.target_scale(labels, rows, "robust")
        self.encoding_ = inputs.learn(
            X,
            labels,
            table.visited.index,
            folds,
            self.columns_,
            self._reader,
            (float(center), float(spread)),
            self._only_column,
        )

    def _encoded(self, table: TrainingTable, without: int | None = None) -> tuple[Table, FloatArray]:
        """Inputs and what is left of the labels, for the rows of each fold from the labels of the other folds.

        `without` names one more fold whose labels are not used: that of the model which holds it out.
        """
        learnt = self._learnt_encoding
        if learnt is None:
            return table.X, table.labels
        fitted = self._cross_fitted(table, without)
        return fitted.inputs, table.labels - fitted.offset

    def _cross_fitted(self, table: TrainingTable, without: int | None = None) -> CrossFitted:
        assert self.encoding_ is not None
        return inputs.cross_fitted(
            self.encoding_, table.X, table.labels, table.rows.index, table.folds, without
        )

    def _inputs(self, X: Table) -> Table:
        """Inputs of the models in a prediction."""
        learnt = self._learnt_encoding
        return X if learnt is None else learnt.inputs(X)

    def _location(self, X: Table) -> Location | None:
        """What is added to the predictions for rows."""
        learnt = self._learnt_encoding
        return None if learnt is None or learnt.offset is None else Location(*learnt.offsets(X))

    def _held_out_location(self, table: TrainingTable) -> Location | None:
        """What is added to the out-of-fold predictions of the training rows."""
        if self.encoding_ is None or self.encoding_.offset is None:
            return None
        return Location(self._cross_fitted(table).offset, self.encoding_.offsets(table.X)[1])
