"""A sample of the rows of a large table that depends on their content alone.

Every row gets a 64-bit hash of its cells, its label and the seed, and the rows with the smallest hashes are the sample.
So neither the order of the rows nor the pieces in which a table is read change it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.estimators._preparation import row_keys
from levelhead.estimators._types import FloatArray
from levelhead.tables.encoding import frames

Hashes = NDArray[np.uint64]

_MOST_CELLS = 100_000  # different cells of text whose hashes are remembered in a piece


class Piece(NamedTuple):
    """Some rows of a table.

    Attributes
    ----------
    X : array or frame of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Labels.
    weight : ndarray of shape (n_samples,) or None
        Sample weights; None if all are 1.
    key : ndarray of uint64 or None
        Hash of each row; None takes that of its content.
    """

    X: Any
    y: FloatArray
    weight: FloatArray | None = None
    key: Hashes | None = None

    def take(self, rows: NDArray[Any]) -> "Piece":
        """Some of the rows, by position."""
        per_row = (None if values is None else values[rows] for values in self[2:])
        return Piece(frames.take(self.X, rows), self.y[rows], *per_row)

    def keys(self, seed: int) -> Hashes:
        """The hash of each row."""
        return hashes(self.X, self.y, seed) if self.key is None else self.key


class Sample(NamedTuple):
    """The rows with the smallest hashes, in their order.

    Attributes
    ----------
    rows : Piece
        Inputs and labels.
    key : ndarray of uint64
        Hash of each row, ascending.
    n_rows : int
        Number of rows of the table.
    """

    rows: Piece
    key: Hashes
    n_rows: int


def hashes(X: Any, y: FloatArray, seed: int) -> Hashes:
    """A hash of each row of an array or frame.

    Numbers are hashed as float64 and text by its characters, so that a column of whole numbers gives the same hashes
    whether or not the piece has missing cells.
    """
    if frames.library(X) is None:
        return row_keys(np.asarray(X), y, seed)
    columns = [_as_numbers(column.values) for column in frames.cells(X)]
    return row_keys(np.stack(columns, axis=1), y, seed)


def _as_numbers(values: NDArray[Any]) -> FloatArray:
    """Cells as float64, whose bits are hashed."""
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]").view(np.int64)
    if values.dtype.kind != "O":
        return values.astype(np.float64)
    known: dict[Any, float] = {}
    numbers = np.empty(len(values))
    for place, cell in enumerate(values.tolist()):
        number = known.get(cell)
        if number is None:
            number = _text_number(cell)
            if len(known) < _MOST_CELLS:
                known[cell] = number
        numbers[place] = number
    return numbers


def _text_number(cell: Any) -> float:
    """A number from 0 to 2⁵³ for the text of a cell; −1 for a missing one."""
    if cell is None:
        return -1.0
    digest = hashlib.blake2b(str(cell).encode(), digest_size=8).digest()
    return float(int.from_bytes(digest, "little") >> 11)


def place_hashes(places: NDArray[np.int64], seed: int) -> Hashes:
    """A hash of the place of each row in its table, for tables whose content is costly to hash."""
    return row_keys(np.empty((len(places), 0)), places.astype(np.float64), seed)


def draw(pieces: Iterable[Piece], n_sample: int, seed: int) -> Sample:
    """Go through a table once and keep the rows with the smallest hashes.

    Parameters
    ----------
    pieces : iterable of Piece
        The table.
    n_sample : int
        Number of rows of the sample.
    seed : int
        Part of every hash.

    Returns
    -------
    Sample
        The sample, ordered by the hashes of its rows; the whole table if it has fewer rows.
    """
    kept: list[tuple[Piece, Hashes]] = []
    n_rows, n_kept, limit = 0, 0, np.uint64(2**64 - 1)
    for piece in pieces:
        key = piece.keys(seed)
        n_rows += len(key)
        candidates = np.flatnonzero(key <= limit)
        kept.append((piece.take(candidates), key[candidates]))
        n_kept += len(candidates)
        if n_kept > 2 * n_sample:
            kept, limit = [smallest(kept, n_sample)], kept_limit(kept, n_sample)
            n_kept = n_sample
    if not n_rows:
        raise ValueError("the table has no rows")
    return Sample(*smallest(kept, n_sample), n_rows)


def kept_limit(kept: list[tuple[Piece, Hashes]], n: int) -> Any:
    """The n-th smallest hash."""
    return np.partition(np.concatenate([key for _, key in kept]), n - 1)[n - 1]


def smallest(kept: list[tuple[Piece, Hashes]], n: int) -> tuple[Piece, Hashes]:
    """The rows with the n smallest hashes of several pieces, in the order of their hashes."""
    key = np.concatenate([part for _, part in kept])
    joined = _joined([piece for piece, _ in kept])
    order = np.argsort(key, kind="stable")[:n]
    return joined.take(order), key[order]


def _joined(pieces: list[Piece]) -> Piece:
    weights = [piece.weight for piece in pieces if piece.weight is not None]
    return Piece(
        _stacked([piece.X for piece in pieces]),
        np.concatenate([piece.y for piece in pieces]),
        np.concatenate(weights) if weights else None,
    )


def _stacked(parts: list[Any]) -> Any:
    """Tables of one kind as one."""
    kind = frames.library(parts[0])
    if kind is None:
        return np.concatenate(parts)
    if kind == "pandas":
        import pandas  # a frame of it exists

        filled = [part for part in parts if len(part)] or parts[:1]
        return pandas.concat(filled, ignore_index=True)
    if kind == "polars":
        import polars

        return polars.concat(parts)
    import pyarrow

    tables = [
        part if isinstance(part, pyarrow.Table) else pyarrow.Table.from_batches([part]) for part in parts
    ]
    return pyarrow.concat_tables(tables)


def sliced(whole: Piece, rows: int) -> Iterator[Piece]:
    """A table in memory as pieces of at most `rows` rows; those of a sparse table are dense."""
    n = len(whole.y)
    for start in range(0, n, rows):
        part = slice(start, start + rows)
        kind = frames.library(whole.X)
        if kind == "pandas":
            X = whole.X.iloc[part]
        elif kind == "pyarrow":
            X = whole.X.slice(start, rows)
        else:
            X = frames.collected(whole.X[part])
        yield Piece(X, whole.y[part], None if whole.weight is None else whole.weight[part])
