"""Residuals of models that do not know a column: a model learns the shift of a category, and its residuals hide it.

A sensor that reads too high is a category with an effect. If it is an input, the model learns this effect, and the
labels look right. For a scan of such a column, the predictions of the model are therefore predicted from all other
inputs by boosted trees, on rows that these have not seen; what the column alone explains stays in the residual. Whether
a level has a true effect or wrong labels, residuals cannot show. A level stands out only if most others have no effect.
"""

from collections.abc import Collection

import numpy as np

from levelhead._checks import FloatArray
from levelhead._extras import available, needed
from levelhead.audits._ranges import Column

LEAST_LEVELS = 5  # fewer do not show whether levels differ anyway
_MOST_LEVELS = 50
_MOST_COLUMNS = 8  # categories, those with the fewest levels: each takes three small fits
_ROWS = 200, 50_000
_FOLDS = 3
_ROUNDS = 150
_TREES = {
    "objective": "l2",
    "learning_rate": 0.1,
    "num_leaves": 31,
    "min_data_in_leaf": 10,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}


def unaware_residuals(
    given: FloatArray, predicted: FloatArray, std: FloatArray, columns: list[Column], inputs: Collection[str]
) -> dict[str, FloatArray]:
    """Residuals in units of the noise around predictions that do not know a category.

    Parameters
    ----------
    given, predicted, std : ndarray of shape (n_samples,)
        Labels, predictions and standard deviations.
    columns : list of Column
        Columns of the table.
    inputs : collection of str
        Names of those that the model was fitted to.

    Returns
    -------
    dict of str to ndarray of shape (n_samples,)
        One entry per category among the inputs; empty without LightGBM, and for very small or large tables.
    """
    used = [column for column in columns if column.name in inputs and column.meaning != "order"]
    categories = [
        column
        for column in used
        if column.meaning == "category" and LEAST_LEVELS <= len(column.levels) <= _MOST_LEVELS
    ]
    categories = sorted(categories, key=lambda column: len(column.levels))[:_MOST_COLUMNS]
    fits = _ROWS[0] <= len(given) <= _ROWS[1] and len(used) > 1 and available("lightgbm")
    found = {}
    for category in categories if fits else ():
        others = np.column_stack([column.values for column in used if column is not category])
        found[category.name] = (given - _held_out(others, predicted)) / std
    return found


def _held_out(inputs: FloatArray, target: FloatArray) -> FloatArray:
    """Predictions by trees that have not seen the row; every third row is one fold."""
    lightgbm = needed("lightgbm", "a scan of inputs for shifts", "boosting")
    fold, found = np.arange(len(target)) % _FOLDS, np.empty(len(target))
    for k in range(_FOLDS):
        rows = lightgbm.Dataset(inputs[fold != k], target[fold != k], params=_TREES)
        found[fold == k] = lightgbm.train(_TREES, rows, _ROUNDS).predict(inputs[fold == k], num_threads=1)
    return found
