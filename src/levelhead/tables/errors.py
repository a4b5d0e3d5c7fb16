"""The error of a table that cannot be read, and how rows and cells are named in messages."""

from collections.abc import Sequence
from typing import Any

_SHOWN = 5
_LONGEST = 40  # characters of a cell in a message


class TableError(ValueError):
    """A file that cannot be read as a table; the message says what to do."""


def counted(n: int, noun: str = "row") -> str:
    """A number and its noun: "1 row", "2,000 rows"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def cell_text(cell: Any) -> str:
    """A cell in quotes, shortened."""
    text = str(cell)
    return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def row_list(numbers: Sequence[int], cells: Sequence[Any] | None = None) -> str:
    """The first few rows by their numbers in the file, counted from 1, with what they hold."""
    shown = [
        f"{number}" if cells is None else f"{number} ({cell_text(cells[k])})"
        for k, number in enumerate(list(numbers)[:_SHOWN])
    ]
    more = f" and {len(numbers) - _SHOWN:,} more" if len(numbers) > _SHOWN else ""
    return f"row{'s' if len(numbers) > 1 else ''} {', '.join(shown)}{more}"


def examples(cells: Sequence[Any]) -> str:
    """The first few different cells, in quotes."""
    return ", ".join(list(dict.fromkeys(map(cell_text, cells)))[:_SHOWN])
