"""Tables with label errors whose truth is known: four with real errors, others with errors as people make them.

The folder LEVELHEAD_DATA holds the tables. Real ones are in its folder `errors`. The others are public tables, or
simulated ones, into which errors are planted: prices times or over ten, rounded labels, whole patients, shifted hours,
most labels wrong, inputs without information. No choice in the library was made on the planted errors at seeds above 0.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

Array = np.ndarray


@dataclass(frozen=True)
class ErrorTable:
    """Inputs, labels as given, which of them are wrong (NaN where nobody knows), and what belongs together.

    `differs` marks labels that differ from the truth at all, if a table calls only larger differences wrong.
    """

    X: pd.DataFrame
    y: Array
    wrong: Array
    groups: Array | None = None
    differs: Array | None = None


def _file(name: str) -> pd.DataFrame:
    return pd.read_csv(Path(os.environ["LEVELHEAD_DATA"]) / name)


def real(name: str) -> Callable[[np.random.Generator], ErrorTable]:
    """A table with real errors; there is nothing random about it."""

    def made(rng: np.random.Generator) -> ErrorTable:
        frame = _file(f"errors/{name}.csv")
        inputs = frame.drop(columns=["wrong", "true", "given"])
        given, true, wrong = (frame[name].to_numpy(float) for name in ("given", "true", "wrong"))
        return ErrorTable(inputs, given, wrong, differs=(wrong == 1) | (np.abs(given - true) > 0))

    return made


def some_rows(name: str, rng: np.random.Generator, most: int) -> tuple[pd.DataFrame, Array]:
    frame = _file(name)
    if len(frame) > most:
        frame = frame.iloc[np.sort(rng.choice(len(frame), most, replace=False))].reset_index(drop=True)
    return frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy(float)


def cars(rng: np.random.Generator, most: int) -> tuple[pd.DataFrame, Array]:
    """The used cars whose price, year and distance can be read."""
    frame = _file("messy/used_cars.csv")
    number = lambda name: pd.to_numeric(
        frame[name].astype(str).str.replace(r",|kms", "", regex=True).str.strip(), errors="coerce"
    )
    table = pd.DataFrame(
        {
            "name": frame["Name of car"],
            "company": frame["Company name"],
            "year": number("Year"),
            "distance": number("Kms driven"),
            "fuel": frame["Fuel_type"],
        }
    )
    price = number("Price")
    known = (price.notna() & table["year"].notna()).to_numpy()
    return table[known].reset_index(drop=True), price[known].to_numpy(float)


Change = Callable[[Array, Array, np.random.Generator], Array]


def times_ten(y: Array, rows: Array, rng: np.random.Generator) -> Array:
    return y[rows] * 10.0 ** rng.choice([-1, 1], len(rows))


def replaced(y: Array, rows: Array, rng: np.random.Generator) -> Array:
    return rng.uniform(y.min(), y.max(), len(rows))


def of_another_row(y: Array, rows: Array, rng: np.random.Generator) -> Array:
    return y[rng.permutation(len(y))[: len(rows)]]


def clustered(y: Array, rows: Array, rng: np.random.Generator) -> Array:
    """Labels that agree with one another, four standard deviations above the median."""
    return np.median(y) + y.std() * rng.normal(4, 0.25, len(rows))


def _rounded_and_replaced(y: Array, rows: Array, rng: np.random.Generator) -> Array:
    return np.round(replaced(y, rows, rng))


def planted(
    source: str | Callable[..., tuple[pd.DataFrame, Array]],
    change: Change,
    share: float,
    *,
    most: int = 2000,
    before: Callable[[Array], Array] = lambda y: y,
) -> Callable[[np.random.Generator], ErrorTable]:
    """A public table with changed labels; `before` is applied to all of them."""

    def made(rng: np.random.Generator) -> ErrorTable:
        X, y = some_rows(source, rng, most) if isinstance(source, str) else source(rng, most)
        y = before(y)
        rows = rng.choice(len(y), int(share * len(y)), replace=False)
        given = y.copy()
        given[rows] = change(y, rows, rng)
        return ErrorTable(X, given, (given != y).astype(float))

    return made


def _patients(grouped: bool) -> Callable[[np.random.Generator], ErrorTable]:
    """150 patients with 8 visits each; all labels of one patient in ten are off by five deviations."""

    def made(rng: np.random.Generator) -> ErrorTable:
        patient = np.repeat(np.arange(150), 8)
        fixed = rng.normal(size=(150, 4))[patient]
        visit = np.tile(np.arange(8.0), 150)
        y = fixed[:, 0] + np.sin(fixed[:, 1]) + 0.1 * visit + 0.5 * rng.normal(size=1200)
        bad = np.isin(patient, rng.choice(150, 15, replace=False))
        y = np.where(bad, y + 2.5 * rng.choice([-1, 1], 150)[patient], y)
        X = pd.DataFrame(fixed, columns=list("abcd")).assign(visit=visit)
        return ErrorTable(X, y, bad.astype(float), patient if grouped else None)

    return made


def _hours(size: float) -> Callable[[np.random.Generator], ErrorTable]:
    """Hourly measurements, 24 consecutive ones of which are shifted by `size` deviations of all labels."""

    def made(rng: np.random.Generator) -> ErrorTable:
        frame = _file("errors/air_quality.csv")
        frame = frame[(frame["given"] != -200) & (frame["PT08.S1(CO)"] != -200)].iloc[:3000]
        frame = frame.reset_index(drop=True)
        y = frame["given"].to_numpy(float)
        start = int(rng.integers(0, len(y) - 24))
        bad = (np.arange(len(y)) >= start) & (np.arange(len(y)) < start + 24)
        given = np.where(bad, y + size * y.std(), y)
        return ErrorTable(frame.drop(columns=["wrong", "true", "given"]), given, bad.astype(float))

    return made


def _simulated(kind: str) -> Callable[[np.random.Generator], ErrorTable]:
    def made(rng: np.random.Generator) -> ErrorTable:
        n = 1500
        X = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
        signal = X["a"] + np.sin(2 * X["b"]) + 0.5 * X["c"] * X["d"]
        wrong = rng.random(n) < (0.05 if kind != "clean" else 0.0)
        if kind == "no signal":
            y = rng.normal(size=n)
            y[wrong] += 6 * rng.choice([-1, 1], n)[wrong]
        elif kind == "counts":
            y = rng.poisson(np.exp(1 + 0.5 * signal)).astype(float)
            y[wrong] = np.round(10 * y[wrong] + 1)
        elif kind == "grades":
            y = np.clip(np.round(3 + signal + 0.3 * rng.normal(size=n)), 1, 6)
            y[wrong] = 7 - y[wrong]
        else:
            y = (signal + 0.3 * rng.standard_t(4, n)).to_numpy()
        return ErrorTable(X, np.asarray(y, dtype=float), wrong.astype(float))

    return made


REAL = {name: real(name) for name in ("air_quality", "blood_pressure", "flights", "solubility")}
PLANTED: dict[str, Callable[[np.random.Generator], ErrorTable]] = {
    "used cars, × or ÷ 10": planted(cars, times_ten, 0.01),
    "kc_house, × or ÷ 10": planted("tables/kc_house.csv", times_ten, 0.01),
    "diamonds, × or ÷ 10": planted("tables/diamonds.csv", times_ten, 0.02),
    "diamonds, another row's, 5 %": planted("tables/diamonds.csv", of_another_row, 0.05),
    "california, replaced, 5 %": planted("tables/california.csv", replaced, 0.05),
    "concrete, rounded, replaced, 5 %": planted(
        "concrete.csv", _rounded_and_replaced, 0.05, before=lambda y: np.round(y)
    ),
    "wine_white, another row's, 10 %": planted("tables/wine_white.csv", of_another_row, 0.1),
    "energy, another row's, 60 %": planted("tables/energy.csv", of_another_row, 0.6),
    "kin8nm, replaced, 60 %": planted("kin8nm.csv", replaced, 0.6),
    "power, another row's, 60 %": planted("power.csv", of_another_row, 0.6),
    "boston, as it is": planted("boston.csv", replaced, 0.0),
    "kc_house, as it is": planted("tables/kc_house.csv", replaced, 0.0),
    "wine_white, as it is": planted("tables/wine_white.csv", replaced, 0.0),
    "patients, no groups given": _patients(False),
    "patients, groups given": _patients(True),
    "hours, 24 shifted by 1 sd": _hours(1.0),
    "hours, 24 shifted by 3 sd": _hours(3.0),
    "inputs without information": _simulated("no signal"),
    "counts, ten times and one more": _simulated("counts"),
    "grades, reversed scale": _simulated("grades"),
    "simulated, clean": _simulated("clean"),
}
