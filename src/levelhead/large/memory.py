"""How much memory a command may take, and what is read at a time within it."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from levelhead.estimators._large import PIECE_ROWS, SAMPLE_ROWS
from levelhead.large.pieces import BYTES_PER_CELL
from levelhead.tables import pieces

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", re.IGNORECASE)
_USED = 0.5  # of the memory that is free
_SAMPLE_SHARE, _PIECE_SHARE = 0.4, 0.05  # of the memory for the sample, and for a piece
_LEAST_SAMPLE, _LEAST_PIECE = 2000, 500


class Plan(NamedTuple):
    """How many rows are held at a time.

    Attributes
    ----------
    sample_rows : int
        Rows of the sample.
    piece_rows : int
        Rows of a piece.
    """

    sample_rows: int
    piece_rows: int


def size_in_bytes(text: str) -> float:
    """Read a size such as 3GB, 500M or 2e9.

    Parameters
    ----------
    text : str
        The size.

    Returns
    -------
    float
        Bytes.

    Raises
    ------
    ValueError
        If it is no size.

    Examples
    --------
    >>> size_in_bytes("1.5 GB")
    1500000000.0
    """
    found = _SIZE.fullmatch(text)
    if found is None or float(found[1]) == 0:
        raise ValueError(f"{text!r} is not a size; give one like 3GB or 500MB")
    return float(found[1]) * _UNITS[found[2].upper()]


def free_memory() -> float:
    """Find out how many bytes of memory are free.

    Returns
    -------
    float
        Free bytes of this computer, or of the container that the process runs in.
    """
    free = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free = float(lines["MemAvailable"].split()[0]) * 1024
        folder = Path("/sys/fs/cgroup")
        limit, used = ((folder / f"memory.{name}").read_text().strip() for name in ("max", "current"))
        return free if limit == "max" else min(free, max(float(limit) - float(used), 0.0))
    except (OSError, KeyError, ValueError):
        return free


def allowed_memory(given: str | None) -> float:
    """Bytes that a command may take: those that were given, or half of what is free.

    Parameters
    ----------
    given : str or None
        A size such as 3GB.

    Returns
    -------
    float
        Bytes.
    """
    return _USED * free_memory() if given is None else size_in_bytes(given)


def plan(path: str | Path, memory: float, encoding: str | None = None) -> Plan:
    """Choose how many rows are held at a time.

    Parameters
    ----------
    path : path-like
        The table.
    memory : float
        Bytes that may be taken.
    encoding : str or None, default=None
        Encoding of a text file.

    Returns
    -------
    Plan
        Rows of the sample and of a piece: fewer than usual if the table is very wide or the memory small.
    """
    bytes_per_row = BYTES_PER_CELL * max(next(pieces(path, 100, encoding=encoding)).shape[1], 1)
    sample = int(_SAMPLE_SHARE * memory / bytes_per_row)
    piece = int(_PIECE_SHARE * memory / bytes_per_row)
    return Plan(min(max(sample, _LEAST_SAMPLE), SAMPLE_ROWS), min(max(piece, _LEAST_PIECE), PIECE_ROWS))
