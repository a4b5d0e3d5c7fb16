"""Arrays as parameters of distributions: copies, checks and shapes."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def read_only_copy(value: ArrayLike) -> FloatArray:
    """Return a read-only copy of the given numbers."""
    array = np.array(value, dtype=np.float64)
    array.flags.writeable = False
    return array


def check_positive(name: str, value: FloatArray) -> None:
    """Refuse values that are not positive; `name` is the argument that the error names."""
    bad = np.flatnonzero(~(value > 0))
    if bad.size:
        raise ValueError(
            f"{name} must be positive; {bad.size} of {value.size} values are not "
            f"(first at position {bad[0]}: {value.ravel()[bad[0]]})"
        )


def shape_of(size: int | tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that a size stands for."""
    return (size,) if isinstance(size, int) else tuple(size)
