"""Reading tables: file formats, separators and number formats, and which columns are features."""

from levelhead.tables.dialect import TableError
from levelhead.tables.reading import TrainingTable, choose, pieces, read, training_table

__all__ = ["TableError", "TrainingTable", "choose", "pieces", "read", "training_table"]
