"""A table as rows of text, as a page shows and writes them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray


@dataclass(frozen=True, eq=False)
class RowTable:
    """A table as text for the page.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    columns : list of list of str
        Cells of each column; an empty text is a missing value.
    numbers : ndarray of shape (n_rows, n_numeric)
        Numeric columns other than target and id.
    target : str
        Column with the labels.
    id_column : str or None
        Column that identifies the rows.
    spread : dict of str to float
        Standard deviations of the columns of numbers, also of numbers that are stored as text.
    """

    names: list[str]
    columns: list[list[str]]
    numbers: FloatArray
    target: str
    id_column: str | None
    spread: dict[str, float]

    def __len__(self) -> int:
        return len(self.columns[0])

    def spreads(self) -> list[float | None]:
        """Standard deviation of each column of numbers, to judge differences by; None for other columns."""
        return [self.spread.get(name) for name in self.names]

    def inputs(self, importance: Mapping[str, float]) -> list[int]:
        """Places of the columns to show, without target and id: the most important first, constant ones last."""
        shown = [place for place, name in enumerate(self.names) if name not in (self.target, self.id_column)]
        constant = {place for place in shown if len(set(self.columns[place])) == 1}
        return sorted(
            shown, key=lambda place: (place in constant, -importance.get(self.names[place], 0.0), place)
        )

    def lines(self) -> Iterator[str]:
        """Each row as a JSON array, which contains no line break."""
        return (json.dumps(cells, ensure_ascii=False) for cells in zip(*self.columns, strict=True))


def read_table(table: Any, *, target: str, id_column: str | None = None) -> RowTable:
    """Read a pandas or polars frame, or a dictionary of columns."""
    columns = (
        dict(table.items()) if isinstance(table, Mapping) else {name: table[name] for name in table.columns}
    )
    named = {str(name): np.asarray(column) for name, column in columns.items()}
    for name in (target, *([id_column] if id_column is not None else [])):
        if name not in named:
            raise ValueError(f"the table has no column {name!r}; it has {', '.join(named)}")
    lengths = {len(column) for column in named.values()}
    if len(lengths) > 1:
        raise ValueError(f"the columns of the table differ in length: {sorted(lengths)}")
    numbers = [
        column.astype(np.float64)
        for name, column in named.items()
        if name not in (target, id_column) and column.dtype.kind in "biuf"
    ]
    return RowTable(
        names=list(named),
        columns=[[_text(cell) for cell in column.tolist()] for column in named.values()],
        numbers=np.column_stack(numbers) if numbers else np.empty((lengths.pop(), 0)),
        target=target,
        id_column=id_column,
        spread={name: spread for name, column in named.items() if (spread := _spread(column)) is not None},
    )


def _spread(column: NDArray[Any]) -> float | None:
    """Standard deviation of the known numbers of a column; None for text, dates and constants."""
    if column.dtype.kind == "M":
        return None
    try:
        values = np.array([cell if cell not in (None, "") else np.nan for cell in column], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    known = values[np.isfinite(values)]
    return float(known.std()) or None if known.size else None


def _text(cell: Any) -> str:
    """Format a cell as in a CSV file: a missing value is empty, a number has the fewest digits that identify it."""
    if isinstance(cell, str):
        return cell
    if cell is None or cell != cell or str(cell) in ("NaT", "<NA>"):
        return ""
    return str(cell)
