"""Results in one SQLite file; each run is stored in one transaction.

Only the process that starts the runs writes. Others may read at any time. The file must be on a local disk, because its
write-ahead log does not work on network file systems; workers on other computers only send their results.
"""

import csv
import json
import os
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from levelhead._checks import FloatArray
from levelhead._deprecated import percentage, percentages
from levelhead.study.runs import Measures, Outcome
from levelhead.study.specs import Spec, percent

_APPLICATION = 0x6C68  # marks the file as a study of ours
_LAYOUT = 3  # 1 had no processor time; in 2 every method had a variance
_PATIENCE = 60  # seconds to wait for another connection
_OUT_OF_REACH = (
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
    *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN),
)
_NO_LIBRARY = ("processor", "engine", "code")  # entries of the stored versions
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
# Contamination and kind of wrong labels in the table `runs`, whose columns have the names and the unit of version 0.1.
_COLUMNS = {"contamination": "r.share / 100", "kind": "r.contamination"}
_RUNS = """
CREATE TABLE runs (
    digest TEXT PRIMARY KEY,
    dataset TEXT NOT NULL,
    share REAL NOT NULL,
    contamination TEXT NOT NULL,
    method TEXT NOT NULL,
    seed INTEGER NOT NULL,
    content TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    error TEXT,
    fit_seconds REAL,
    seconds REAL NOT NULL,
    host TEXT NOT NULL,
    versions TEXT NOT NULL,
    finished TEXT NOT NULL,
    cpu_seconds REAL
) WITHOUT ROWID;
"""
_MEASURES = """
CREATE TABLE measures (
    digest TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    method TEXT NOT NULL,
    rmse REAL NOT NULL,
    auc REAL,
    nll REAL,
    crps REAL,
    coverage REAL,
    robust_r2 REAL NOT NULL,
    mean_alpha REAL,
    curve BLOB NOT NULL,
    PRIMARY KEY (digest, method),
    CHECK ((auc IS NULL) + (nll IS NULL) + (crps IS NULL) + (coverage IS NULL) IN (0, 4))
) WITHOUT ROWID;
"""


UNKNOWN = "unknown"
Result = TypeVar("Result", bound=tuple[Any, ...])


class Row(NamedTuple):
    """The measures of one method in one finished run; the attributes of the spec come first, where it ran last.

    Attributes
    ----------
    dataset : str
        Name of the table.
    contamination : float
        Share of wrong labels, a fraction.
    kind : str
        Kind of wrong labels.
    method : str
        Name of the method.
    seed : int
        Seed of the split.
    rmse, robust_r2 : float
        See `Measures`.
    auc, nll, crps, coverage : float or None
        See `Measures`; None for methods that predict no variance.
    mean_alpha : float or None
        Mean of α, for GCP models.
    fit_seconds : float
        Duration of the fit.
    cpu_seconds : float or None
        Processor time of the fit; None for runs of older versions.
    processor : str
        Name of the processor; "unknown" for rows of older files.
    engine : str
        Digest of the code that trains networks; "unknown" for rows of older files.
    versions : str
        Versions of Python and of the libraries; "unknown" for rows of older files.
    """

    dataset: str
    contamination: float
    kind: str
    method: str
    seed: int
    rmse: float
    auc: float | None
    nll: float | None
    crps: float | None
    coverage: float | None
    robust_r2: float
    mean_alpha: float | None
    fit_seconds: float
    cpu_seconds: float | None = None
    processor: str = UNKNOWN
    engine: str = UNKNOWN
    versions: str = UNKNOWN

    @property
    def share(self) -> float:
        """Old name of `contamination`, in percent."""
        return percentage(self)


_PROVENANCE = ("processor", "engine", "versions")
_BEFORE = Row._fields[: Row._fields.index("cpu_seconds")]  # the columns of files without provenance
MEASURES = (*_BEFORE[5:], "cpu_seconds")  # what tables can show


class Failure(NamedTuple):
    """A run that failed when it was last tried.

    Attributes
    ----------
    digest : str
        Digest of the spec.
    dataset, contamination, method, seed
        As in `Row`.
    error : str
        Traceback.
    host : str
        Name of the computer.
    """

    digest: str
    dataset: str
    contamination: float
    method: str
    seed: int
    error: str
    host: str

    @property
    def share(self) -> float:
        """Old name of `contamination`, in percent."""
        return percentage(self)


class Store:
    """The SQLite file with the results of a study; use it as a context manager, or call `close`.

    Parameters
    ----------
    path : path-like
        The file; created if it does not exist.

    Raises
    ------
    ValueError
        If the file is not a study of this version, or is damaged.
    OSError
        If the file cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        try:
            self._prepare_in_turn()
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise OSError(
                f"{self.path} cannot be opened ({error}); close the program that uses it, or wait"
            ) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            self._connection.close()
            raise ValueError(
                f"{self.path} is not a file of study results, or is damaged ({error}); choose another file"
            ) from error
        except ValueError:
            self._connection.close()
            raise

    def _prepare_in_turn(self) -> None:
        """Prepare the file; wait while another connection does.

        Switching to the write-ahead log needs exclusive access, and SQLite does not wait for it.
        """
        latest = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._prepare()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > latest:
                    raise
                time.sleep(0.01)

    def _prepare(self) -> None:
        # The tables and the application id are written in one transaction, so a file with tables has the id, too.
        [objects] = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        [application] = self._connection.execute("PRAGMA application_id").fetchone()
        [layout] = self._connection.execute("PRAGMA user_version").fetchone()
        if objects and (application != _APPLICATION or not 1 <= layout <= _LAYOUT):
            raise ValueError(
                f"{self.path} is not a file of study results of this version of levelhead; choose another file"
            )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")  # a finished run outlives a power cut, too
        self._connection.execute("PRAGMA foreign_keys = ON")
        if not objects:
            with self._transaction():
                [objects] = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                if not objects:  # no other process was faster
                    self._connection.execute(_RUNS)
                    self._connection.execute(_MEASURES)
                    self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                    self._connection.execute(f"PRAGMA user_version = {_LAYOUT}")
        elif layout < _LAYOUT:
            with self._transaction():
                [layout] = self._connection.execute("PRAGMA user_version").fetchone()
                if layout < _LAYOUT:  # no other process was faster
                    self._upgrade(layout)

    def _upgrade(self, layout: int) -> None:
        if layout < 2:
            self._connection.execute("ALTER TABLE runs ADD COLUMN cpu_seconds REAL")
        self._connection.execute("ALTER TABLE measures RENAME TO measures_before")
        self._connection.execute(_MEASURES)
        self._connection.execute("INSERT INTO measures SELECT * FROM measures_before")
        self._connection.execute("DROP TABLE measures_before")
        self._connection.execute(f"PRAGMA user_version = {_LAYOUT}")

    def record(self, spec: Spec, outcome: Outcome) -> None:
        """Store an outcome in one transaction; it replaces an earlier failure of the same spec.

        Parameters
        ----------
        spec : Spec
            Description of the run.
        outcome : Outcome
            Its result or failure.
        """
        result = outcome.result
        run = (
            spec.digest, spec.dataset_name, percent(spec.contamination), repr(spec.kind), spec.method, spec.seed,
            json.dumps(spec.content, ensure_ascii=False), "failed" if result is None else "done",
            outcome.error, None if result is None else result.fit_seconds, outcome.seconds, outcome.host,
            json.dumps(dict(outcome.versions)), datetime.now(UTC).isoformat(timespec="seconds"),
            None if result is None else result.cpu_seconds,
        )  # fmt: skip
        with self._sound(), self._transaction():
            self._connection.execute("DELETE FROM runs WHERE digest = ?", (spec.digest,))
            self._connection.execute(f"INSERT INTO runs VALUES ({_places(run)})", run)
            for method, m in ({} if result is None else result.measures).items():
                values = (spec.digest, method, *m[:-1], np.asarray(m.curve, dtype="<f4").tobytes())
                self._connection.execute(f"INSERT INTO measures VALUES ({_places(values)})", values)

    def seconds(self, specs: Iterable[Spec]) -> dict[tuple[str, str], float]:
        """Return the median duration of the finished runs.

        Parameters
        ----------
        specs : iterable of Spec
            Only runs of these specs.

        Returns
        -------
        dict of (str, str) to float
            Seconds by data set and method, without those that have no finished run.
        """
        chosen = _digests(specs) or ()
        found: dict[tuple[str, str], list[float]] = {}
        for digest, dataset, method, seconds in self._all(
            "SELECT digest, dataset, method, seconds FROM runs WHERE status = 'done'"
        ):
            if digest in chosen:
                found.setdefault((dataset, method), []).append(seconds)
        return {key: median(values) for key, values in found.items()}

    def done(self) -> set[str]:
        """Return the digests of the finished runs.

        Returns
        -------
        set of str
            Digests.
        """
        return {d for (d,) in self._all("SELECT digest FROM runs WHERE status = 'done'")}

    def failures(self, specs: Iterable[Spec] | None = None) -> list[Failure]:
        """Return the runs that failed when they were last tried.

        Parameters
        ----------
        specs : iterable of Spec or None, default=None
            Only runs of these specs; by default all.

        Returns
        -------
        list of Failure
            Failed runs with their tracebacks.
        """
        chosen = _digests(specs)
        found = self._all(
            f"SELECT digest, dataset, {_COLUMNS['contamination']}, method, seed, error, host FROM runs r "
            "WHERE status = 'failed' ORDER BY digest"
        )
        return [Failure(*row) for row in found if chosen is None or row[0] in chosen]

    def rows(self, specs: Iterable[Spec] | None = None) -> list[Row]:
        """Return the measures of the finished runs.

        Parameters
        ----------
        specs : iterable of Spec or None, default=None
            Only runs of these specs; by default all.

        Returns
        -------
        list of Row
            One row per method and run, sorted by data set, contamination, kind, method and split.
        """
        chosen = _digests(specs)
        columns = ", ".join(
            f"m.{c}" if c in Measures._fields or c == "method" else _COLUMNS.get(c, f"r.{c}")
            for c in Row._fields
            if c not in _PROVENANCE
        )
        found = self._all(
            f"SELECT r.digest, r.versions, {columns} FROM runs r JOIN measures m ON m.digest = r.digest "
            "ORDER BY r.dataset, r.share, r.contamination, m.method, r.seed, r.digest"
        )
        return [
            Row(*(*row, *_provenance(versions)))
            for digest, versions, *row in found
            if chosen is None or digest in chosen
        ]

    @percentages("share")
    def curves(
        self, dataset: str, contamination: float, method: str, specs: Iterable[Spec] | None = None
    ) -> list[FloatArray]:
        """Return the curves RMSE(n) of one data set, contamination and method.

        Parameters
        ----------
        dataset : str
            Name of the table.
        contamination : float
            Share of wrong labels, a fraction.
        method : str
            Name of the method.
        specs : iterable of Spec or None, default=None
            Only runs of these specs; by default all.

        Returns
        -------
        list of ndarray
            One curve per run, sorted by the seed of the split.
        """
        chosen = _digests(specs)
        found = self._all(
            "SELECT r.digest, m.curve FROM runs r JOIN measures m ON m.digest = r.digest "
            "WHERE r.dataset = ? AND r.share = ? AND m.method = ? ORDER BY r.seed",
            dataset,
            percent(contamination),
            method,
        )
        return [
            np.frombuffer(curve, dtype="<f4").astype(np.float64)
            for digest, curve in found
            if chosen is None or digest in chosen
        ]

    def each_curve(
        self, specs: Iterable[Spec] | None = None
    ) -> Iterator[tuple[str, float, str, str, int, FloatArray]]:
        """Iterate over the curves RMSE(n) of all runs; those of one cell follow each other.

        Parameters
        ----------
        specs : iterable of Spec or None, default=None
            Only runs of these specs; by default all.

        Yields
        ------
        tuple
            Data set, contamination, kind, method, seed of the split, and RMSE(n) as an array.
        """
        chosen = _digests(specs)
        found = self._all(
            f"SELECT r.digest, r.dataset, {_COLUMNS['contamination']}, {_COLUMNS['kind']}, m.method, r.seed, m.curve "
            "FROM runs r "
            "JOIN measures m ON m.digest = r.digest ORDER BY r.dataset, r.share, r.contamination, m.method, r.seed"
        )
        for digest, *cell, curve in found:
            if chosen is None or digest in chosen:
                yield (*cell, np.frombuffer(curve, dtype="<f4").astype(np.float64))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _all(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a query returns."""
        with self._sound():
            yield from self._connection.execute(query, values)

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Name the file, and what to do, if it is damaged or not accessible."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            code = getattr(error, "sqlite_errorcode", 0)
            if code & 0xFF == sqlite3.SQLITE_CONSTRAINT:  # what was to be stored is wrong, not the file
                raise
            if code & 0xFF in _OUT_OF_REACH:
                raise OSError(f"{self.path} cannot be used ({error}); check its disk") from error
            raise ValueError(
                f"{self.path} is damaged ({error}); use a backup, or start a new study in another file"
            ) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:  # SQLite has ended it by itself if the disk is full
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


def write_csv(rows: Iterable[Row], path: str | os.PathLike[str]) -> None:
    """Write rows to a CSV file, with seven significant digits.

    Parameters
    ----------
    rows : iterable of Row
        Results.
    path : path-like
        File to write.
    """
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows([_short(value) for value in row] for row in rows)


def read_csv(path: str | os.PathLike[str]) -> list[Row]:
    """Read a file written by `write_csv`, of this version or of version 0.1.

    Parameters
    ----------
    path : path-like
        CSV file.

    Returns
    -------
    list of Row
        Results.

    Raises
    ------
    ValueError
        If the file has other columns.
    """
    with Path(path).open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        given = tuple(reader.fieldnames or ())
        if given not in (Row._fields, _BEFORE, old_columns(_BEFORE)):
            raise ValueError(
                f"{path} has the columns {reader.fieldnames}; results of a study have {list(Row._fields)}"
            )
        return [_parsed(line) for line in reader]


def updated(before: Iterable[Result], after: Iterable[Result]) -> list[Result]:
    """Replace results of the same runs, or of the same cells, and keep the others.

    A mean curve over fewer splits does not replace one over more.

    Parameters
    ----------
    before : iterable of Row or Curve
        Results of a file.
    after : iterable of Row or Curve
        New results.

    Returns
    -------
    list of Row or Curve
        All of them, in the order of the file; those that it does not have come last.
    """
    found = {_of(result): result for result in before}
    for result in after:
        known = found.get(_of(result), result)
        if getattr(result, "n_splits", 1) >= getattr(known, "n_splits", 1):
            found[_of(result)] = result
    return list(found.values())


def _of(result: Any) -> tuple[object, ...]:
    """Data set, share and kind of wrong labels and method, and the seed of a single run."""
    return (*result[:4], getattr(result, "seed", None))


def old_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a result file as version 0.1 wrote them: `share` was the contamination in percent."""
    before = {"contamination": "share", "kind": "contamination"}
    return tuple(before.get(column, column) for column in columns)


def _short(value: object) -> object:
    return f"{value:.7g}" if isinstance(value, float) else value


def _parsed(line: dict[str, str]) -> Row:
    given = dict(zip(Row._fields, line.values(), strict=False))  # older files end before the provenance
    text = ("dataset", "kind", "method", *_PROVENANCE)
    numbers = {key: float(value) if value else None for key, value in given.items() if key not in text}
    if "share" in line:
        numbers["contamination"] = float(line["share"]) / 100
    return Row(**{**given, **numbers, "seed": int(line["seed"])})  # type: ignore[arg-type]


def _provenance(versions: str) -> tuple[str, str, str]:
    """Processor, engine and versions of a run from what was stored with it."""
    stored: dict[str, str] = json.loads(versions)
    libraries = [f"{name} {number}" for name, number in stored.items() if name not in _NO_LIBRARY]
    processor, engine = (stored.get(name, UNKNOWN) for name in ("processor", "engine"))
    return processor, engine, ", ".join(libraries) or UNKNOWN


def _digests(specs: Iterable[Spec] | None) -> Collection[str] | None:
    return None if specs is None else {spec.digest for spec in specs}


def _places(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))
