"""The gallery of the manual: audits of real tables, where the truth is known compared with it.

    LEVELHEAD_DATA=folder python examples/gallery.py [--write]

The tables are public, and not part of this repository. `--write` stores what is printed beside the manual.
"""

import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from levelhead import audit
from levelhead.audits import investigate
from levelhead.tables import training_table

DATA = Path(os.environ.get("LEVELHEAD_DATA", "data"))
WRITTEN = Path(__file__).parents[1] / "docs" / "tables" / "gallery"


# --8<-- [start:cars]
def used_cars() -> None:
    """Used cars from a web site: prices with Indian grouping or words, distances with units, rows shifted."""
    table = training_table(DATA / "messy/used_cars.csv", "Price")
    print(*table.remarks[:4], sep="\n")
    result = audit(table.X, table.y, random_state=0)
    print(result)
    for label in np.argsort(-result.p_outlier)[:3]:
        row = table.row[label]
        print(f"row {row}: {table.frame['Name of car'][row - 1]}, {result.given_label[label]:,.0f} given,",
              f"{result.predicted_label[label]:,.0f} expected")  # fmt: skip


# --8<-- [end:cars]


# --8<-- [start:pressure]
def blood_pressure() -> None:
    """Diastolic blood pressure of 768 patients: 0 stands for missing, and nobody said so."""
    table = training_table(DATA / "errors/blood_pressure.csv", "given", drop=["wrong", "true"])
    result = audit(table.X, table.y, random_state=0)
    found = investigate(result, {name: table.X[name].to_numpy() for name in table.X})
    print(*[finding.text for finding in table.quality], sep="\n")
    print(result)
    print(*found.sentences, sep="\n")
    compare("errors/blood_pressure.csv", table.row, result)


# --8<-- [end:pressure]


# --8<-- [start:air]
def air_quality() -> None:
    """Carbon monoxide by the hour: a reference instrument reports −200 if it has no value."""
    table = training_table(DATA / "errors/air_quality.csv", "given", drop=["wrong", "true"])
    result = audit(table.X, table.y, random_state=0)
    print(*[finding.text for finding in table.quality], sep="\n")
    print(result)
    compare("errors/air_quality.csv", table.row, result)


# --8<-- [end:air]


# --8<-- [start:flights]
def flights() -> None:
    """Scheduled arrivals as 36 web sites report them: rows of one flight belong together."""
    table = training_table(DATA / "errors/flights.csv", "given", drop=["wrong", "true"])
    result = audit(table.X, table.y, random_state=0)
    print(result)
    compare("errors/flights.csv", table.row, result)


# --8<-- [end:flights]


def compare(name: str, row: np.ndarray, result: object) -> None:
    """Print how many of the flagged labels are wrong, and how many of the wrong ones are flagged."""
    wrong = pd.read_csv(DATA / name)["wrong"].to_numpy()[row - 1] == 1
    flagged = result.is_label_issue
    both = int((wrong & flagged).sum())
    print(
        f"the truth: {wrong.sum():,} wrong labels; {both:,} of {flagged.sum():,} flagged labels are among them"
    )


EXAMPLES: dict[str, Callable[[], None]] = {
    "used_cars": used_cars,
    "blood_pressure": blood_pressure,
    "air_quality": air_quality,
    "flights": flights,
}


def output(name: str) -> str:
    """What an example prints."""
    with redirect_stdout(StringIO()) as printed:
        EXAMPLES[name]()
    return printed.getvalue()


if __name__ == "__main__":
    for name in EXAMPLES:
        text = output(name)
        print(f"== {name}\n{text}", flush=True)
        if "--write" in sys.argv:
            WRITTEN.mkdir(exist_ok=True)
            (WRITTEN / f"{name}.txt").write_text(text, encoding="utf-8")
