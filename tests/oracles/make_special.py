"""Writes `tests/data/special.csv`, the reference table of the special functions.

python tests/oracles/make_special.py
"""

import csv
from pathlib import Path

import mpmath as mp
import reference

TARGET = Path(__file__).parents[1] / "data/special.csv"
COLUMNS = ("A", "alpha_minus_A", "dA", "b", "delta_psi", "log_gamma_ratio")


def alphas() -> list[float]:
    """Powers of ten with irregular neighbours, and a closer look where most fits end: 0.05 to 50."""
    wide = [float(mp.mpf(10) ** (mp.mpf(k) / 2)) for k in range(-24, 25)]
    near = [float(mp.mpf("0.05") * mp.mpf(1000) ** (mp.mpf(k) / 60)) for k in range(61)]
    return sorted({*wide, *near, 0.73, 2.0})


def main() -> None:
    with TARGET.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("alpha", *COLUMNS))
        for alpha in alphas():
            values = (getattr(reference, name)(mp.mpf(alpha)) for name in COLUMNS)
            table.writerow((repr(alpha), *(mp.nstr(v, 20) for v in values)))


if __name__ == "__main__":
    main()
