"""A table in a file, read piece by piece: raw rows, the sample, and inputs and labels in the meaning of its columns."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._extras import needed
from levelhead.estimators._large import PIECE_ROWS, SAMPLE_ROWS, checked_sample
from levelhead.estimators._sampling import Hashes, Piece, draw, place_hashes
from levelhead.tables import RawTable, TableError, TableFormats, TrainingTable, choose, pieces
from levelhead.tables.sources import opened
from levelhead.tables.training import table_of

Frame = Any  # a pandas frame
Progress = Callable[[float], None]

# Bytes of memory that an audit of a table in memory takes: measured with `levelhead audit` on a million rows of
# twenty columns, 1,660 bytes a row.
BYTES_PER_CELL = 80
_BYTES_PER_BYTE_OF_TEXT = 8
_COMPRESSED = 4  # times smaller than the text


class RawPiece(NamedTuple):
    """Some rows of a file as they were read.

    Attributes
    ----------
    frame : pandas.DataFrame
        Cells.
    row : ndarray of int
        Number of each row in the file, counted from 1.
    """

    frame: Frame
    row: NDArray[np.int64]


class LargeTable:
    """A table in a file that is read in pieces.

    Parameters
    ----------
    path : path-like
        CSV, Parquet or JSON lines; or a folder of Parquet files.
    target : str
        Column with the labels.
    id_column : str or None, default=None
        Column that identifies the rows; not used as a feature.
    drop : collection of str, default=()
        Other columns that are not used as features.
    keep : collection of str, default=()
        Columns to use as features although they look like row identifiers.
    encoding : str or None, default=None
        Encoding of a text file; by default it is detected.
    sample_rows : int, default=50000
        Number of rows from which formats, models of the judge and figures come; below 100,000.
    piece_rows : int, default=50000
        Largest number of rows that are read at a time.
    seed : int, default=0
        Decides which rows are in the sample.
    **settings : object
        Further arguments of `levelhead.tables.training_table`: decimal, thousands, missing, allow_missing_labels.

    Attributes
    ----------
    n_rows : int
        Number of rows of the file, known once the sample has been drawn.
    """

    n_rows: int

    def __init__(
        self,
        path: str | Path,
        target: str,
        *,
        id_column: str | None = None,
        drop: Collection[str] = (),
        keep: Collection[str] = (),
        encoding: str | None = None,
        sample_rows: int = SAMPLE_ROWS,
        piece_rows: int = PIECE_ROWS,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self.path, self.target, self.id_column = Path(path), target, id_column
        self.drop, self.keep, self.encoding = tuple(drop), tuple(keep), encoding
        self.sample_rows, self.piece_rows, self.seed = checked_sample(sample_rows), piece_rows, seed
        self._settings = settings

    @property
    def allows_missing_labels(self) -> bool:
        """Whether more than a fifth of the labels may be missing."""
        return bool(self._settings.get("allow_missing_labels", False))

    def raw(self, progress: Progress | None = None) -> Iterator[RawPiece]:
        """Read the rows of the file.

        Parameters
        ----------
        progress : callable or None, default=None
            Called after each piece with the fraction of the file that has been read.

        Yields
        ------
        RawPiece
            Some rows.
        """
        done = 0
        read = pieces(self.path, self.piece_rows, progress, encoding=self.encoding, wanted=(self.target,))
        for frame in read:
            yield RawPiece(frame, np.arange(done + 1, done + len(frame) + 1))
            done += len(frame)

    def keys(self, row: NDArray[np.int64]) -> Hashes:
        """Hashes of row numbers.

        Parameters
        ----------
        row : ndarray of int
            Row numbers, counted from 1.

        Returns
        -------
        ndarray of uint64
            The hash of each.
        """
        return place_hashes(row, self.seed)

    def sample(self, progress: Progress | None = None) -> RawPiece:
        """Draw the sample: the rows with the smallest hashes of their numbers, in their order.

        Parameters
        ----------
        progress : callable or None, default=None
            Called after each piece with the fraction of the file that has been read.

        Returns
        -------
        RawPiece
            The sample.
        """
        parts = (
            Piece(piece.frame, piece.row.astype(np.float64), key=self.keys(piece.row))
            for piece in self.raw(progress)
        )
        drawn = draw(parts, self.sample_rows, self.seed)
        self.n_rows = drawn.n_rows
        row = drawn.rows.y.astype(np.int64)
        order = np.argsort(row)
        return RawPiece(drawn.rows.X.iloc[order].reset_index(drop=True), row[order])

    def training_table(self, sample: RawPiece) -> TrainingTable:
        """Learn from the sample what the columns mean.

        Parameters
        ----------
        sample : RawPiece
            The sample.

        Returns
        -------
        TrainingTable
            Inputs and labels of the sample, with its row numbers in the file.
        """
        table = table_of(
            RawTable(sample.frame),
            self.target,
            path=self.path,
            id_column=self.id_column,
            drop=self.drop,
            keep=self.keep,
            **self._settings,
        )
        of_columns = tuple(table.formats.remarks_)  # remarks on rows would have numbers of the sample
        return table._replace(row=sample.row[table.row - 1], remarks=of_columns)

    def read(self, piece: RawPiece, formats: TableFormats) -> tuple[Frame, NDArray[np.float64]]:
        """Inputs and labels of a piece.

        Parameters
        ----------
        piece : RawPiece
            Some rows.
        formats : TableFormats
            What the columns mean.

        Returns
        -------
        tuple of pandas.DataFrame and ndarray
            Inputs and labels of all rows of the piece; a label that is not a number is NaN.
        """
        choose(piece.frame, [*formats.columns_, self.target], self.path)
        read = formats.convert(piece.frame, self.target).frame
        return read.drop(columns=self.target), read[self.target].to_numpy(dtype=np.float64)

    def rows(self, wanted: NDArray[np.int64], progress: Progress | None = None) -> RawPiece:
        """Read some rows by their numbers.

        Parameters
        ----------
        wanted : ndarray of int
            Row numbers, counted from 1.
        progress : callable or None, default=None
            Called after each piece with the fraction of the file that has been read.

        Returns
        -------
        RawPiece
            These rows, in the order of the file.
        """
        pandas = needed("pandas", "a table in pieces", "cli")
        found = []
        for piece in self.raw(progress):
            here = np.isin(piece.row, wanted)
            found.append(piece.frame.iloc[np.flatnonzero(here)])
        return RawPiece(pandas.concat(found, ignore_index=True), np.sort(wanted))


def needs_pieces(path: str | Path, memory: float) -> bool:
    """Whether an audit or fit of the whole table would need more memory than it may take.

    Parameters
    ----------
    path : path-like
        The table.
    memory : float
        Bytes that it may take.

    Returns
    -------
    bool
        True if the table should be read in pieces. Workbooks and standard input are never read in pieces.
    """
    if str(path) == "-" or not Path(path).exists():
        return False
    with opened(path) as source:
        if source.kind == "excel":
            return False
        if source.kind == "parquet":
            datasets = needed("pyarrow.dataset", "reading Parquet files", "cli")
            try:
                table = datasets.dataset(source.path, format="parquet", partitioning="hive")
                return bool(table.count_rows() * len(table.schema) * BYTES_PER_CELL > memory)
            except (OSError, ValueError) as error:
                raise TableError(f"{source.name} is a damaged Parquet file or folder ({error})") from error
        factor = _BYTES_PER_BYTE_OF_TEXT * (1 if source.compression is None else _COMPRESSED)
        return source.path.stat().st_size * factor > memory
