"""How predictions are shown: data frames, and aligned lines of text."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead._extras import needed


def make_frame(columns: dict[str, NDArray[Any]], backend: Literal["pandas", "polars"]) -> Any:
    """Build a data frame from copies of the columns.

    Parameters
    ----------
    columns : dict of str to ndarray
        Name and values of each column.
    backend : {"pandas", "polars"}
        The library whose data frame is returned.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        The table.

    Raises
    ------
    ImportError
        If the library is not installed.
    """
    if backend not in ("pandas", "polars"):
        raise ValueError(f"backend is {backend!r}; choose 'pandas' or 'polars'")
    return needed(backend, "to_frame", "tables").DataFrame(
        {name: values.copy() for name, values in columns.items()}
    )


def text_table(mean: FloatArray, std: FloatArray, alpha: FloatArray | None) -> list[str]:
    """Return aligned lines `row  mean ± std  α`, with decimals chosen by the spread."""
    if mean.size == 0:
        return []
    form = number_form(mean, std)
    means, stds = (_right([format(value, form) for value in values]) for values in (mean, std))
    columns = [
        _right(["row", *map(str, range(mean.size))]),
        _left(
            [f"{'mean':>{len(means[0])}} ± std", *(f"{m} ± {s}" for m, s in zip(means, stds, strict=True))]
        ),
    ]
    if alpha is not None:
        columns.append(["α", *(f"{a:#.3g}" for a in alpha)])
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def number_form(values: FloatArray, spread: FloatArray) -> str:
    """Return the format of numbers, with as many decimals as their median spread deserves."""
    size = np.log10(np.median(spread) + np.finfo(float).tiny)
    plain = -6 < size < 6 and np.abs(values).max() < 1e9
    return f".{int(np.clip(2 - np.floor(size), 0, 9))}f" if plain else ".3e"


def _right(texts: list[str]) -> list[str]:
    width = max(map(len, texts))
    return [f"{text:>{width}}" for text in texts]


def _left(texts: list[str]) -> list[str]:
    width = max(map(len, texts))
    return [f"{text:<{width}}" for text in texts]


def count(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
