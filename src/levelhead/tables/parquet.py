"""Tables in Parquet files, and in folders of them."""

from collections.abc import Iterator
from typing import Any

from levelhead._extras import needed
from levelhead.tables import _frames
from levelhead.tables.errors import TableError
from levelhead.tables.sources import Source

Frame = Any  # a pandas frame


def pieces(source: Source, rows: int | None = None) -> Iterator[tuple[Frame, float]]:
    """Read a Parquet file, or a folder of them, in parts of at most `rows` rows.

    Parameters
    ----------
    source : Source
        File or folder. Folders named like `city=Paris` add a column.
    rows : int or None, default=None
        Rows of a part; None reads all at once.

    Yields
    ------
    tuple of pandas.DataFrame and float
        A part, and the fraction of the table that has been read.

    Raises
    ------
    TableError
        If a file is damaged, or the files do not fit together.
    """
    datasets = needed("pyarrow.dataset", "reading Parquet files", "cli")
    try:
        table = datasets.dataset(source.path, format="parquet", partitioning="hive")
        total, done = table.count_rows(), 0
        if rows is None or total == 0:
            yield _typed(table.to_table().to_pandas()), 1.0
            return
        for batch in table.to_batches(batch_size=rows):
            if batch.num_rows:
                done += batch.num_rows
                yield _typed(batch.to_pandas()), done / total
    except (OSError, ValueError, TypeError) as error:  # pyarrow has errors of either kind
        raise TableError(f"{source.name} is a damaged Parquet file or folder ({error})") from error


def _typed(frame: Frame) -> Frame:
    """Remove the index, and convert decimals to floats."""
    pandas = _frames.pandas()
    frame = frame.reset_index(drop=True)
    frame.columns = [str(name) for name in frame.columns]
    for name in frame.columns:
        column = frame[name]
        if column.dtype == object and pandas.api.types.infer_dtype(column, skipna=True) == "decimal":
            frame[name] = column.astype("float64")
    return frame
