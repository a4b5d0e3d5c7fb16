"""From a table of numbers, codes and days (`levelhead.tables.encoding.columns`) to the inputs of a model.

Trees get numbers with their gaps, codes of categories, and parts of dates. Networks get numbers with gaps filled by
the median and an indicator of the gap, indicators of few levels, and robust statistics of the labels of many levels.

If the median label of one category explains most of the labels, it is their `offset`: the model learns the rest.
Statistics of labels must not contain the label that is predicted from them; `cross_fitted` computes them for every
row without the rows of its own fold.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead.tables.encoding.columns import Column, Columns
from levelhead.tables.encoding.features import FEATURES, STATISTICS, Feature, Reader, features_of
from levelhead.tables.encoding.levels import FIRST, LevelStatistics, level_statistics, places

_EXPLAINED = (
    0.5  # an offset leaves at most this share of the typical deviation of labels, and else is not used
)
_KEPT = 0.75  # share of the deviations, the smallest, that are typical
_EXACT = 1e-9  # a relative difference this small is one of floating-point numbers
_ROUNDED = 0.95  # share of the labels that are multiples of the unit to which labels are rounded
_SEEN = 10  # rows of unknown levels from which a model learns how uncertain they are
_LARGEST = 1e12  # scaled labels are cut here, so that their squares are floats
_NOTHING = Feature("gap", 0, np.empty(0))  # of a table of text only: a model needs at least one input


class Offset(NamedTuple):
    """A prediction of every label from the level of one category.

    Attributes
    ----------
    column : int
        Column of the category.
    location : ndarray of shape (n_levels + 2,)
        The median label of a missing cell, of unknown levels, and of each level.
    variance : ndarray of shape (n_levels + 2,)
        Variance to add: above 0 for levels without labels, if the model could not learn how uncertain they are.
    """

    column: int
    location: FloatArray
    variance: FloatArray


@dataclass(frozen=True)
class Encoding:
    """How a table of numbers, codes and days becomes the inputs of a model.

    Attributes
    ----------
    n_columns : int
        Number of columns of the table.
    features : tuple of Feature
        The inputs, one column each.
    offset : Offset or None
        What is predicted before the model predicts the rest.
    center : float
        Center of the labels. Statistics are those of (label − center)/spread.
    spread : float
        Spread of the labels.
    """

    n_columns: int
    features: tuple[Feature, ...]
    offset: Offset | None = None
    center: float = 0.0
    spread: float = 1.0

    def __len__(self) -> int:
        return len(self.features)

    @property
    def uses_labels(self) -> bool:
        """Whether it contains statistics of labels."""
        return self.offset is not None or any(feature.kind in STATISTICS for feature in self.features)

    @property
    def categories(self) -> list[int]:
        """Positions of the inputs that hold codes of categories."""
        return [k for k, feature in enumerate(self.features) if feature.kind == "code"]

    def inputs(self, table: FloatArray) -> FloatArray:
        """Compute the inputs of a model.

        Parameters
        ----------
        table : ndarray of shape (n_samples, n_columns)
            Numbers, codes and days.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Inputs.
        """
        inputs = np.empty((len(table), len(self.features)))
        for k, (kind, column, values) in enumerate(self.features):
            inputs[:, k] = FEATURES[kind](table[:, column], values)
        return inputs

    def offsets(self, table: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute offsets of labels.

        Parameters
        ----------
        table : ndarray of shape (n_samples, n_columns)
            Numbers, codes and days.

        Returns
        -------
        tuple of two ndarray of shape (n_samples,)
            What is added to the predicted means, and to the predicted variances.
        """
        if self.offset is None:
            return np.zeros(len(table)), np.zeros(len(table))
        place = places(table[:, self.offset.column])
        mean = self.center + self.spread * self.offset.location[place]
        return mean, self.spread**2 * self.offset.variance[place]

    def _scaled(self, y: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.clip((y - self.center) / self.spread, -_LARGEST, _LARGEST)

    def learnt_from(self, table: FloatArray, y: FloatArray) -> "Encoding":
        """Compute the same statistics from other rows.

        Parameters
        ----------
        table : ndarray of shape (n_samples, n_columns)
            Numbers, codes and days.
        y : ndarray of shape (n_samples,)
            Labels.

        Returns
        -------
        Encoding
            The same inputs and the same offset, with statistics of these labels.
        """
        known: dict[int, LevelStatistics] = {}
        labels = self._scaled(y)

        def statistics(column: int, n_places: int) -> LevelStatistics:
            if column not in known:
                known[column] = level_statistics(places(table[:, column]), labels, n_places)
            return known[column]

        features = tuple(
            feature._replace(values=STATISTICS[feature.kind](statistics(feature.column, len(feature.values))))
            if feature.kind in STATISTICS
            else feature
            for feature in self.features
        )
        offset = self.offset
        if offset is not None:
            offset = offset._replace(location=statistics(offset.column, len(offset.location)).location)
        return replace(self, features=features, offset=offset)


class Folds(Protocol):
    """Folds of the rows of a table."""

    @property
    def of_row(self) -> NDArray[np.int64]:
        """The fold of each row: the model that predicts it."""

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether the model of each fold may know the label of each row; shape (n_samples, n_folds)."""


class CrossFitted(NamedTuple):
    """Inputs and offsets in which no label of the row's own fold is contained.

    Attributes
    ----------
    inputs : ndarray of shape (n_samples, n_features)
        Inputs of the model.
    offset : ndarray of shape (n_samples,)
        Offsets of the labels.
    """

    inputs: FloatArray
    offset: FloatArray


def cross_fitted(
    encoding: Encoding,
    table: FloatArray,
    y: FloatArray,
    visits: NDArray[np.int64],
    folds: Folds,
    without: int | None = None,
) -> CrossFitted:
    """Compute inputs and offsets, for the rows of each fold from the labels of the other folds.

    Parameters
    ----------
    encoding : Encoding
        What to compute.
    table : ndarray of shape (n_samples, n_columns)
        Numbers, codes and days.
    y : ndarray of shape (n_samples,)
        Labels.
    visits : ndarray of int
        Rows whose labels count; a row of weight 3 occurs three times.
    folds : Folds
        The fold of each row, and the rows whose labels its model may know.
    without : int or None, default=None
        A fold whose labels are used for no row at all: the model that holds it out must not know them.

    Returns
    -------
    CrossFitted
        Inputs and offsets of all rows.
    """
    if not encoding.uses_labels:
        return CrossFitted(encoding.inputs(table), np.zeros(len(y)))
    inputs, offset = np.empty((len(y), len(encoding))), np.empty(len(y))
    for k in np.unique(folds.of_row).tolist():
        rows = np.flatnonzero(folds.of_row == k)
        used = visits[folds.seen[visits, k] & folds.seen[visits, k if without is None else without]]
        fitted = encoding.learnt_from(table[used], y[used])
        inputs[rows], offset[rows] = fitted.inputs(table[rows]), fitted.offsets(table[rows])[0]
    return CrossFitted(inputs, offset)


def learn(
    table: FloatArray,
    y: FloatArray,
    visits: NDArray[np.int64],
    folds: Folds,
    columns: Columns | None,
    reader: Reader,
    scale: tuple[float, float] = (0.0, 1.0),
    only: int | None = None,
) -> Encoding:
    """Learn how to encode a table for a model.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_columns)
        Numbers, codes and days.
    y : ndarray of shape (n_samples,)
        Labels.
    visits : ndarray of int
        Rows that count; a row of weight 3 occurs three times.
    folds : Folds
        The fold of each row, and the rows whose labels its model may know.
    columns : Columns or None
        What the columns hold; numbers by default.
    reader : {"network", "trees"}
        The kind of model.
    scale : tuple of two floats, default=(0.0, 1.0)
        Center and spread of the labels.
    only : int or None, default=None
        The only column to use, by default all.

    Returns
    -------
    Encoding
        The encoding.
    """
    width = table.shape[1]
    described = (Column("", "number"),) * width if columns is None else columns.columns
    features: list[Feature] = []
    for k, column in enumerate(described):
        if only not in (None, k):
            continue
        values = table[visits, k].astype(np.float64)
        features += features_of(k, column.kind, len(column.levels), values, reader)
    features = features or [_NOTHING]
    encoding = Encoding(width, tuple(features), None, float(scale[0]), float(scale[1]))
    categories = (
        []
        if columns is None
        else [(k, len(levels)) for k, levels in columns.categories.items() if only in (None, k)]
    )
    encoding = _with_offset(encoding, categories, table, y, visits, folds)
    return encoding.learnt_from(table[visits], y[visits])


def comparable(X: Any, y: FloatArray) -> FloatArray:
    """Turn a frame into numbers without gaps, by which rows can be compared.

    Parameters
    ----------
    X : frame
        A pandas or polars frame, or a pyarrow table.
    y : ndarray of shape (n_samples,)
        Labels. Categories with many levels are compared by the median and the spread of their labels.

    Returns
    -------
    ndarray of shape (n_samples, n_numbers)
        What networks get: numbers with gaps filled, indicators of few levels, statistics of many.
    """
    columns = Columns.learn(X)
    table = columns.table(X)
    features = tuple(
        feature
        for k, column in enumerate(columns.columns)
        for feature in features_of(k, column.kind, len(column.levels), table[:, k], "network")
    )
    center = float(np.median(y))
    features = features or (_NOTHING,)
    encoding = Encoding(len(columns), features, None, center, _typical(y - center) or 1.0)
    return encoding.learnt_from(table, y).inputs(table)


def _with_offset(
    encoding: Encoding,
    categories: list[tuple[int, int]],
    table: FloatArray,
    y: FloatArray,
    visits: NDArray[np.int64],
    folds: Folds,
) -> Encoding:
    """The same encoding, with the category whose medians explain the labels best, if they explain most of them."""
    labels = encoding._scaled(y[visits])
    best, smallest = encoding, _EXPLAINED * _typical(labels - np.median(labels))
    for column, n_levels in categories:
        zeros = np.zeros(n_levels + FIRST)
        tried = replace(encoding, features=(), offset=Offset(column, zeros, zeros))
        medians = cross_fitted(tried, table, y, visits, folds).offset[visits]
        left = _typical(labels - encoding._scaled(medians))
        if left < smallest:
            best, smallest = replace(encoding, offset=tried.offset), left
    if best.offset is None:
        return best
    place = places(table[:, best.offset.column])
    known = level_statistics(place[visits], labels, len(best.offset.location))
    n_unknown = _count_unknown(place[visits], folds.of_row[visits], folds.seen[visits])
    variance = np.where(known.n_labels > 0, 0.0, known.between if n_unknown < _SEEN else 0.0)
    return replace(best, offset=best.offset._replace(variance=variance))


def _count_unknown(place: NDArray[np.int64], fold: NDArray[np.int64], seen: NDArray[np.bool_]) -> int:
    """Number of rows whose level the model of their fold does not know."""
    unknown = [np.isin(place[fold == k], place[seen[:, k]], invert=True) for k in np.unique(fold).tolist()]
    return sum(int(np.count_nonzero(rows)) for rows in unknown)


class Repetition(NamedTuple):
    """A category whose level determines the clean label, and the unit to which labels are rounded.

    Attributes
    ----------
    column : int
        Column of the category.
    unit : float
        The largest power of ten of which almost all labels are multiples; 0 if there is none.
    """

    column: int
    unit: float


def find_repetition(
    table: FloatArray, y: FloatArray, visits: NDArray[np.int64], folds: Folds, columns: Columns
) -> Repetition | None:
    """Find out whether labels repeat one value for each level of a category, as several reports of one fact do.

    That is so if most labels are equal to the median of the other labels at their level. Then other columns can only
    explain the wrong labels, and clean labels have no noise but their rounding.

    Parameters
    ----------
    table : ndarray of shape (n_samples, n_columns)
        Numbers, codes and days.
    y : ndarray of shape (n_samples,)
        Labels.
    visits : ndarray of int
        Rows whose labels count; a row of weight 3 occurs three times.
    folds : Folds
        The fold of each row, and the rows whose labels its model may know.
    columns : Columns
        What the columns hold.

    Returns
    -------
    Repetition or None
        The category; None if labels have noise of their own.
    """
    labels = y[visits]
    for column, levels in columns.categories.items() if np.ptp(labels) > 0 else ():
        zeros = np.zeros(len(levels) + FIRST)
        medians = Encoding(table.shape[1], (), Offset(column, zeros, zeros))
        left = np.abs(labels - cross_fitted(medians, table, y, visits, folds).offset[visits])
        if np.median(left) <= _EXACT * np.median(np.abs(labels)):
            return Repetition(column, _largest_unit(labels))
    return None


def _largest_unit(labels: FloatArray) -> float:
    for digits in range(-9, 10):
        unit = float(f"1e{-digits}")
        whole = labels / unit
        if np.mean(np.abs(whole - np.round(whole)) <= _EXACT * np.abs(whole)) >= _ROUNDED:
            return unit
    return 0.0


def _typical(deviation: FloatArray) -> float:
    size = np.sort(np.abs(deviation))
    return float(np.mean(size[: max(1, int(_KEPT * len(size)))]))
