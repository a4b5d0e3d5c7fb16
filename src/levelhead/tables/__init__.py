"""Reading tables: files → columns with a meaning, and what is odd about them."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from levelhead.tables.columns import ColumnFormat as ColumnFormat
    from levelhead.tables.errors import TableError as TableError
    from levelhead.tables.missing import Code as Code
    from levelhead.tables.quality import Finding as Finding
    from levelhead.tables.reading import RawTable as RawTable
    from levelhead.tables.reading import choose as choose
    from levelhead.tables.reading import pieces as pieces
    from levelhead.tables.reading import read as read
    from levelhead.tables.reading import read_raw as read_raw
    from levelhead.tables.schema import Converted as Converted
    from levelhead.tables.schema import TableFormats as TableFormats
    from levelhead.tables.training import TrainingTable as TrainingTable
    from levelhead.tables.training import training_table as training_table

# Loaded on first use: the help of the command line needs none of them.
_HOME = {
    "Code": "missing",
    "ColumnFormat": "columns",
    "Converted": "schema",
    "Finding": "quality",
    "RawTable": "reading",
    "TableError": "errors",
    "TableFormats": "schema",
    "TrainingTable": "training",
    "choose": "reading",
    "pieces": "reading",
    "read": "reading",
    "read_raw": "reading",
    "training_table": "training",
}

__all__ = [*sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'levelhead.tables' has no attribute {name!r}")
    return getattr(importlib.import_module(f"levelhead.tables.{_HOME[name]}"), name)
