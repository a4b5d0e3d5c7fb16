"""Tables as JSON: one object per line, or an array of objects."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from levelhead.tables import _frames
from levelhead.tables.errors import TableError, cell_text
from levelhead.tables.sources import Source

Frame = Any  # a pandas frame
_MARK = b"\xef\xbb\xbf"


def is_json(source: Source) -> bool:
    """Whether a text file begins with a JSON object on its first line, or with an array of objects.

    Parameters
    ----------
    source : Source
        Text file.

    Returns
    -------
    bool
        True if it is.
    """
    start = next((block for block, _ in source.blocks()), b"").removeprefix(_MARK).lstrip()
    if re.match(rb"\[\s*\{\s*\"", start):
        return True
    if re.match(rb"\{\s*\n", start):
        raise TableError(
            f"{source.name} is one JSON object; give an array of objects, or one object per line"
        )
    if not start.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(start.partition(b"\n")[0]), dict)
    except ValueError:
        return False


def pieces(source: Source, rows: int | None = None) -> Iterator[tuple[Frame, float]]:
    """Read JSON in parts of `rows` rows, or at once.

    Parameters
    ----------
    source : Source
        JSON lines, or an array of objects, which is held in memory.
    rows : int or None, default=None
        Rows of a part.

    Yields
    ------
    tuple of pandas.DataFrame and float
        A part, and the fraction of the file that has been read.

    Raises
    ------
    TableError
        If a line is not a JSON object, or a cell holds a list or an object.
    """
    objects, names = _objects(source), None
    while part := list(islice(objects, rows)):
        names = names or list(dict.fromkeys(name for one, _ in part for name in one))
        columns = [_column([one.get(name) for one, _ in part], name, source) for name in names]
        yield _frames.named(names, columns), part[-1][1]


def _objects(source: Source) -> Iterator[tuple[dict[str, Any], float]]:
    if next((block for block, _ in source.blocks()), b"").removeprefix(_MARK).lstrip().startswith(b"["):
        yield from _of_array(source)
        return
    rest, number = b"", 0
    blocks = ((block, share) for block, share in source.blocks())
    for block, share in blocks:
        lines = (rest + block).split(b"\n")
        rest = lines.pop()
        for line in lines:
            number += 1
            yield from _object(line, number, share, source)
    yield from _object(rest, number + 1, 1.0, source)


def _of_array(source: Source) -> Iterator[tuple[dict[str, Any], float]]:
    try:
        found = json.loads(b"".join(block for block, _ in source.blocks()).decode("utf-8-sig"))
    except ValueError as error:
        raise TableError(f"{source.name} is not JSON ({error})") from error
    odd = next((one for one in found if not isinstance(one, dict)), None)
    if odd is not None:
        raise TableError(f"{source.name}: an entry of the array is not a JSON object: {cell_text(odd)}")
    yield from ((one, (k + 1) / len(found)) for k, one in enumerate(found))


def _object(line: bytes, number: int, share: float, source: Source) -> Iterator[tuple[dict[str, Any], float]]:
    if not line.strip():
        return
    try:
        found = json.loads(line.decode("utf-8-sig"))
    except ValueError as error:
        raise TableError(f"{source.name}: line {number} is not JSON ({error}); fix or remove it") from error
    if not isinstance(found, dict):
        raise TableError(f"{source.name}: line {number} is not a JSON object: {cell_text(line.decode())}")
    yield found, share


def _column(cells: list[Any], name: str, source: Source) -> Any:
    pandas = _frames.pandas()
    held = [cell for cell in cells if cell is not None]
    nested = next((cell for cell in held if isinstance(cell, (list, dict))), None)
    if nested is not None:
        raise TableError(f"{source.name}: {name!r} holds {cell_text(nested)}; give one value per cell")
    if held and all(isinstance(cell, bool) for cell in held):
        return _frames.text(None if cell is None else str(cell).lower() for cell in cells)
    if held and all(isinstance(cell, (int, float)) for cell in held):
        return pandas.Series(
            [float("nan") if cell is None else float(cell) for cell in cells], dtype="float64"
        )
    if all(isinstance(cell, str) for cell in held):
        return _frames.text(cells)
    return pandas.Series(
        [str(cell).lower() if isinstance(cell, bool) else cell for cell in cells], dtype=object
    )
