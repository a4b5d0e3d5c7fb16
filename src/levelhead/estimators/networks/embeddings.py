"""Inputs of networks that are bounded for extreme values and let a network follow sharp functions.

`Embedding` scales every column by its median and quartiles, and bends extreme values towards a bound. "piecewise" adds
piecewise-linear inputs (Gorishniy et al., 2022): the range of a column is cut at quantiles, and each piece has an input
that rises from −½ to ½ along it and is constant elsewhere. So a network has a slope of its own in every piece, which a
small network would need many steps to learn from one input per column. Only comparisons, differences, divisions and
roots are used, which have the same bits on every processor.

>>> import numpy as np
>>> from levelhead.estimators._preparation import arrange
>>> X = np.array([[0.0], [1.0], [2.0], [3.0], [1e9]])
>>> robust = learn(X, arrange(X, np.zeros(5), None, seed=0), "robust")
>>> robust.apply(X).ravel().round(2)
array([-1.23, -0.66,  0.  ,  0.66,  3.  ], dtype=float32)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from levelhead.engine.embedding import embed
from levelhead.estimators import _preparation
from levelhead.estimators._preparation import Rows, Scale
from levelhead.estimators._types import FloatArray, InputScaling

# Tuned on kc_house, diamonds, energy and concrete, with 20 % replaced and 10 % swapped labels.
_BOUND = 3.0  # of scaled inputs; RealMLP uses the same
_PIECES = 16  # per column; 8 are worse on house prices, 32 and 64 no better and slower
_MOST_PIECES = 512  # of all columns together, so that the cost of a wide table stays in proportion
_QUARTILE = 0.6745  # of the standard normal distribution
_FAR = 1e6  # in spreads; farther inputs are at the bound anyway, and their squares could overflow


@dataclass(frozen=True, eq=False)
class Embedding:
    """A map from the columns of a table to the inputs of a network, all of them bounded.

    Parameters
    ----------
    center : ndarray of shape (n_features,)
        Medians.
    spread : ndarray of shape (n_features,)
        Spreads, by the quartiles.
    column : ndarray of int, of shape (n_pieces,)
        The column that each piece belongs to.
    start : ndarray of shape (n_pieces,)
        Where each piece begins.
    width : ndarray of shape (n_pieces,)
        Length of each piece.
    """

    center: FloatArray
    spread: FloatArray
    column: NDArray[np.int64]
    start: FloatArray
    width: FloatArray

    @property
    def n_inputs(self) -> int:
        """Number of inputs of the network."""
        return len(self.center) + len(self.column)

    def apply(self, X: NDArray[np.floating]) -> NDArray[np.float32]:
        """Embed the rows of a table.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The table.

        Returns
        -------
        ndarray of float32, of shape (n_samples, n_inputs)
            The scaled columns, then the pieces.
        """
        scale = np.stack([self.center, self.spread])
        return embed(X, scale, self.column, np.stack([self.start, self.width]), _BOUND, _FAR)


def learn(X: NDArray[np.floating], rows: Rows, how: InputScaling) -> Scale | Embedding:
    """Learn how the columns of a table become inputs.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The table.
    rows : Rows
        Which rows count, and their weights.
    how : {"standard", "robust", "piecewise"}
        "standard" scales by mean and standard deviation. "robust" scales by median and quartiles, with a bound.
        "piecewise" adds piecewise-linear inputs.

    Returns
    -------
    Scale or Embedding
        The map; its method `apply` takes tables with the same columns.
    """
    standard = _preparation.input_scale(X, rows)
    if how == "standard":
        return standard
    n_columns = X.shape[1]
    center, spread = np.array(standard.center), np.array(standard.spread)
    pieces: list[FloatArray] = []
    n_pieces = min(_PIECES, _MOST_PIECES // n_columns) if how == "piecewise" else 0
    for j in range(n_columns):
        column = X[rows.index, j].astype(np.float64)
        quartiles = _quantiles(column, 4, rows)
        if quartiles[3] > quartiles[1]:
            center[j] = quartiles[2]
            spread[j] = 0.5 * (quartiles[3] / _QUARTILE - quartiles[1] / _QUARTILE)
        edges = np.unique(_quantiles(column, n_pieces, rows)) if n_pieces > 1 else column[:0]
        if len(edges) > 2:  # a single piece would repeat the scaled column
            pieces.append(np.stack([np.full(len(edges) - 1, j), edges[:-1], np.diff(edges)]))
    column, start, width = np.concatenate(pieces, axis=1) if pieces else np.empty((3, 0))
    usable = np.isfinite(width) & (width > 0)
    return Embedding(center, spread, column[usable].astype(np.int64), start[usable], width[usable])


def _quantiles(column: FloatArray, n_parts: int, rows: Rows) -> FloatArray:
    """The ends of parts with equal numbers of rows, or equal sums of weights."""
    levels = np.arange(n_parts + 1) / n_parts
    if rows.weight is None:
        return np.quantile(column, levels)
    weight = rows.weight[rows.index].astype(np.float64)
    return np.quantile(column, levels, weights=weight, method="inverted_cdf")
