"""Tables in Parquet files, and in folders of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from levelhead._extras import needed
from levelhead.tables import _frames
from levelhead.tables.errors import TableError, counted, examples
from levelhead.tables.sources import Source

Frame = Any  # a pandas frame
_MICROSECONDS = 86_400e6  # of a day


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
    try:
        table = _dataset(source)
        total, done = table.count_rows(), 0
        if rows is None or total == 0:
            yield _typed(table.to_table()), 1.0
            return
        for batch in table.to_batches(batch_size=rows, **_little_at_a_time()):
            if batch.num_rows:
                done += batch.num_rows
                yield _typed(batch), done / total
    except (OSError, ValueError, TypeError) as error:  # pyarrow has errors of either kind
        raise TableError(f"{source.name} is a damaged Parquet file or folder ({error})") from error


def _little_at_a_time() -> dict[str, Any]:
    """Settings of pyarrow by which it holds two parts at a time; by default it holds the whole file and many parts."""
    datasets = needed("pyarrow.dataset", "reading Parquet files", "cli")
    return {
        "batch_readahead": 1,
        "fragment_readahead": 1,
        "fragment_scan_options": datasets.ParquetFragmentScanOptions(pre_buffer=False),
    }


def remarks(source: Source) -> tuple[str, ...]:
    """Say which columns some of the files of a folder lack.

    Parameters
    ----------
    source : Source
        File or folder.

    Returns
    -------
    tuple of str
        One sentence for each column.
    """
    if not source.path.is_dir():
        return ()
    table = _dataset(source)
    named = {part.path: {*part.physical_schema.names} for part in table.get_fragments()}
    by_folder = {name for path in named for name in _folder_columns(path)}
    lacking = {
        name: [path for path, names in named.items() if name not in names]
        for name in table.schema.names
        if name not in by_folder
    }
    return tuple(
        f"{name}: {counted(len(paths), 'file')} of {len(named):,} without this column, whose cells were read as "
        f"missing: {examples([Path(path).name for path in paths])}"
        for name, paths in lacking.items()
        if paths
    )


def _folder_columns(path: str) -> list[str]:
    return [part.partition("=")[0] for part in Path(path).parent.parts if "=" in part]


def _dataset(source: Source) -> Any:
    """The files as one table with the columns of all of them."""
    datasets = needed("pyarrow.dataset", "reading Parquet files", "cli")
    pyarrow = needed("pyarrow", "reading Parquet files", "cli")
    table = datasets.dataset(source.path, format="parquet", partitioning="hive")
    schemas = [table.schema, *(part.physical_schema for part in table.get_fragments())]
    return table.replace_schema(pyarrow.unify_schemas(schemas, promote_options="permissive"))


def _typed(part: Any) -> Frame:
    """A pandas frame without index; decimals are floats, and times of day are parts of a day."""
    pyarrow = needed("pyarrow", "reading Parquet files", "cli")
    times = {
        field.name: part[field.name].cast(pyarrow.time64("us")).cast("int64").cast("float64").to_numpy(False)
        for field in part.schema
        if pyarrow.types.is_time(field.type)
    }
    frame = part.to_pandas(date_as_object=False).reset_index(drop=True)
    for name, ticks in times.items():
        frame[name] = ticks / _MICROSECONDS
    frame.columns = [str(name) for name in frame.columns]
    for name in frame.columns:
        column = frame[name]
        if (
            column.dtype == object
            and _frames.pandas().api.types.infer_dtype(column, skipna=True) == "decimal"
        ):
            frame[name] = column.astype("float64")
    return frame
