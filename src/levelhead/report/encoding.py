r"""Encoding of data in a page: JSON that cannot end its element, and compressed columns.

>>> to_json({"name": "</script>", "share": float("nan")})
'{"name":"\\u003c/script\\u003e","share":null}'
"""

import base64
import json
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}  # in JSON they occur inside strings only


def to_json(value: Any) -> str:
    """JSON for a `<script type="application/json">`; numbers that are not finite become null, arrays base64."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(
        _UNSAFE
    )


def packed(array: ArrayLike) -> dict[str, Any]:
    """Numbers as compressed bytes, little-endian; the page's `unpack` reads them."""
    values = np.asarray(array)
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return {"dtype": values.dtype.str[1:], "shape": list(values.shape), "zlib": _compressed(little.tobytes())}


def packed_text(text: str) -> dict[str, Any]:
    """A long text as compressed UTF-8; the page's `unpackText` reads it."""
    return {"zlib": _compressed(text.encode("utf-8", "replace"))}


def coarse(array: ArrayLike, step: ArrayLike) -> NDArray[np.float64]:
    """Round numbers to about `step` so that their low bits are zero, which compresses well."""
    values = np.asarray(array, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.exp2(np.floor(np.log2(np.asarray(step, dtype=np.float64))))
        rounded = np.round(values / unit) * unit
    return np.where(np.isfinite(rounded), rounded, values)


def _compressed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")


def _plain(value: Any) -> Any:
    """Convert to what `json` can write, with numeric arrays in plotly's format."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _array(values: NDArray[Any]) -> Any:
    kind = {"f8": "f8", "f4": "f4", "i4": "i4", "i2": "i2", "u1": "u1"}.get(values.dtype.str[1:])
    if kind is None or values.ndim != 1:
        return _plain(values.tolist())
    little = np.ascontiguousarray(values, dtype=f"<{kind}")
    return {"dtype": kind, "bdata": base64.b64encode(little.tobytes()).decode("ascii")}
