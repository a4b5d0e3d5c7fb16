"""Runs a random sample of stored results again and says what agrees.

A run is determined by its spec, so that the same engine must give the same numbers. Results of another engine, or of
unknown origin, may differ in each run, but not on average: the differences are tested.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ttest_1samp

from levelhead._checks import FloatArray
from levelhead.study.runs import run, versions
from levelhead.study.significance import LEVEL
from levelhead.study.specs import Spec
from levelhead.study.store import UNKNOWN, Row

CHECKED = ("rmse", "auc")
_DIGITS = 1e-6  # result files have seven digits


class Verified(NamedTuple):
    """A stored row and the same run of today.

    Attributes
    ----------
    row : Row
        The stored row.
    rmse, auc : float or None
        The measures of the run of today; methods without a variance have no AUC.
    spread : tuple of float
        Standard deviation over the stored splits of the same cell, for RMSE and AUC.
    """

    row: Row
    rmse: float
    auc: float | None
    spread: tuple[float, float]

    @property
    def same(self) -> bool:
        """Whether both measures agree to the seven digits of a result file."""
        return all(_agree(*pair) for pair in _pairs(self))

    @property
    def differences(self) -> tuple[float, ...]:
        """Today minus stored, in standard deviations over the splits, for RMSE and AUC; NaN where there is none.

        What agrees to seven digits differs by 0: the rounding of the file is no difference.
        """
        return tuple(
            np.nan if None in pair else 0.0 if _agree(*pair) else (pair[0] - pair[1]) / spread
            for pair, spread in zip(_pairs(self), self.spread, strict=True)
        )


@dataclass(frozen=True)
class Verification:
    """What a verification found.

    Attributes
    ----------
    lines : tuple of Verified
        The runs.
    engine : str
        Digest of the engine of today.
    """

    lines: tuple[Verified, ...]
    engine: str

    @property
    def n_same(self) -> int:
        """Number of runs that agree to seven digits."""
        return sum(line.same for line in self.lines)

    @property
    def n_broken(self) -> int:
        """Number of runs of the engine of today that do not agree."""
        return sum(line.row.engine == self.engine and not line.same for line in self.lines)

    @property
    def p_values(self) -> Mapping[str, float]:
        """For each measure the p-value of a systematic difference (t-test); 1 where all runs agree."""
        return {name: _p_value(self._differences(k)) for k, name in enumerate(CHECKED)}

    def _differences(self, k: int) -> FloatArray:
        """The differences of one measure, without the methods that do not have it."""
        column = np.array([line.differences[k] for line in self.lines])
        known: FloatArray = column[~np.isnan(column)]
        return known

    @property
    def sound(self) -> bool:
        """Whether no run of this engine differs, and no measure differs systematically."""
        return self.n_broken == 0 and min(self.p_values.values()) * len(CHECKED) >= LEVEL

    def __str__(self) -> str:
        known = sum(line.row.engine == self.engine for line in self.lines)
        unknown = sum(line.row.engine == UNKNOWN for line in self.lines)
        other = len(self.lines) - known - unknown
        origin = f"{known} of this engine, {self.engine}, {other} of another, {unknown} of an unknown one"
        parts = [f"{self.n_same} of {len(self.lines)} runs are the same to seven digits ({origin})."]
        if self.n_same < len(self.lines):
            for k, name in enumerate(CHECKED):
                column = self._differences(k)
                if len(column) > 1:
                    mean, error = column.mean(), column.std(ddof=1) / np.sqrt(len(column))
                    parts.append(
                        f"{name.upper()} of today minus stored: {mean:+.2f} ± {error:.2f} standard deviations over "
                        f"the splits, p = {self.p_values[name]:.2f}."
                    )
        if self.n_broken:
            parts.append(f"{self.n_broken} runs of this engine differ: the results are not reproduced.")
        elif not self.sound:
            parts.append("The difference is systematic: the results are not reproduced.")
        return "\n".join(parts)


def sample(rows: Sequence[Row], specs: Iterable[Spec], n: int, seed: int = 0) -> list[tuple[Row, Spec]]:
    """Choose random rows, with the specs that produce them.

    Parameters
    ----------
    rows : sequence of Row
        Stored results.
    specs : iterable of Spec
        Specs that may have produced them.
    n : int
        Number of rows; all, if there are fewer.
    seed : int, default=0
        Seed of the choice.

    Returns
    -------
    list of (Row, Spec)
        Rows and their specs.

    Raises
    ------
    ValueError
        If no row belongs to one of the specs.
    """
    known = {
        (s.dataset_name, s.contamination, repr(s.kind), name, s.seed): s
        for s in specs
        for name in (s.method, s.student)
    }
    found = [(row, known[row[:5]]) for row in rows if row[:5] in known]
    if not found:
        raise ValueError("none of these results belongs to the chosen methods; name them with --methods")
    chosen = np.random.default_rng(seed).choice(len(found), size=min(n, len(found)), replace=False)
    return [found[k] for k in sorted(chosen)]


def verify(rows: Sequence[Row], chosen: Iterable[tuple[Row, Spec]]) -> Iterator[Verified]:
    """Run the chosen specs again, one after the other.

    Parameters
    ----------
    rows : sequence of Row
        All stored results, for the spread over the splits.
    chosen : iterable of (Row, Spec)
        What to run, from `sample`.

    Yields
    ------
    Verified
        Stored and new measures.
    """
    cells: dict[tuple[str, float, str, str], list[Row]] = {}
    for row in rows:
        cells.setdefault(row[:4], []).append(row)
    for row, spec in chosen:
        today = run(spec).measures[row.method]
        yield Verified(row, today.rmse, today.auc, _spread(cells[row[:4]]))


def engine_of_today() -> str:
    """Return the digest of the engine as it is installed."""
    return versions()["engine"]


def _agree(today: float | None, stored: float | None) -> bool:
    if today is None or stored is None:
        return today is stored
    return abs(today - stored) <= _DIGITS * abs(stored)


def _pairs(line: Verified) -> list[tuple[Any, Any]]:
    """For each measure its value of today and the stored one."""
    return [(getattr(line, name), getattr(line.row, name)) for name in CHECKED]


def _spread(cell: Sequence[Row]) -> tuple[float, float]:
    found = [[value for row in cell if (value := getattr(row, name)) is not None] for name in CHECKED]
    rmse, auc = (float(np.std(v, ddof=1)) if len(v) > 1 else abs(sum(v)) for v in found)
    return rmse or 1.0, auc or 1.0


def _p_value(differences: FloatArray) -> float:
    if len(differences) < 2 or np.ptp(differences) == 0:
        return 1.0 if not np.any(differences) else 0.0
    return float(ttest_1samp(differences, 0.0).pvalue)
