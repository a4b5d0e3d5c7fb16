"""Files and frames as tables with a meaning: reading, separators and number formats, what to leave out."""

from levelhead.tables.dialect import TableError
from levelhead.tables.reading import TrainingTable, choose, pieces, read, training_table

__all__ = ["TableError", "TrainingTable", "choose", "pieces", "read", "training_table"]
