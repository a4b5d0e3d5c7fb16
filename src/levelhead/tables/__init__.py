"""Reading tables: files → columns with a meaning, and what is odd about them."""

from levelhead.tables.columns import ColumnFormat
from levelhead.tables.errors import TableError
from levelhead.tables.missing import Code
from levelhead.tables.quality import Finding
from levelhead.tables.reading import RawTable, choose, pieces, read, read_raw
from levelhead.tables.schema import Converted, TableFormats
from levelhead.tables.training import TrainingTable, training_table

__all__ = [
    "Code",
    "ColumnFormat",
    "Converted",
    "Finding",
    "RawTable",
    "TableError",
    "TableFormats",
    "TrainingTable",
    "choose",
    "pieces",
    "read",
    "read_raw",
    "training_table",
]
