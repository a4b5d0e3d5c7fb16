"""The arguments and options that commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Kind(StrEnum):
    """Kinds of estimators."""

    auto = "auto"
    network = "network"
    trees = "trees"


class Scale(StrEnum):
    """Scales of the labels."""

    auto = "auto"
    linear = "linear"
    log = "log"


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table: CSV (any separator and encoding, may be compressed), Parquet (file or folder), a workbook, "
        "JSON lines, or - for standard input.",
    ),
]
Decimal = Annotated[
    list[str] | None,
    typer.Option(
        "--decimal",
        metavar="[COLUMN=]MARK",
        help="Decimal mark, . or , (default: detected); may be repeated.",
    ),
]
Thousands = Annotated[
    list[str] | None,
    typer.Option(
        "--thousands",
        metavar="[COLUMN=]MARK",
        help="Mark between groups of digits, or `none` (default: detected); may be repeated.",
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="[COLUMN=]NUMBER",
        help="Number that stands for a missing value, or `none` (default: detected); may be repeated.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Encoding of a text file (default: detected)."),
]
Sheet = Annotated[str | None, typer.Option("--sheet", metavar="NAME", help="Sheet of a workbook.")]
AllowMissingLabels = Annotated[
    bool,
    typer.Option(
        "--allow-missing-labels", help="Go on if more than a fifth of the labels are missing or not numbers."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by `levelhead fit`.")]
FittedModel = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Judge by this model file instead of fitting anew, for example after repairs; rows and labels that the "
        "model was fitted to are judged by models that were not trained on them.",
    ),
]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="Column with the labels.")]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id-column", metavar="COLUMN", help="Column that identifies the rows; not used as a feature."
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Column not to use as a feature; may be repeated."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COLUMN",
        help="Feature to keep although it looks like a row identifier; may be repeated.",
    ),
]
Members = Annotated[int, typer.Option("--members", min=1, help="Number of members of the ensemble.")]
Estimator = Annotated[
    Kind,
    typer.Option(
        "--estimator",
        help="Networks, boosted trees, or (auto) the best of both, and of their combination, on held-out rows.",
    ),
]
Scale_ = Annotated[
    Scale,
    typer.Option(
        "--scale", help="Scale on which labels are learnt and judged; auto chooses one on held-out rows."
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Rows with equal entries belong together, as visits of one patient; not used as a feature.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time", metavar="COLUMN", help="Time of each row: rows that follow each other belong together."
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", min=0, max=2**32 - 1, help="Random seed; the same seed gives the same result."),
]
TimeBudget = Annotated[
    float | None,
    typer.Option(
        "--time-budget",
        metavar="SECONDS",
        help="Approximate limit of the training time; by default there is none.",
    ),
]
FalseAlarmRate = Annotated[
    float,
    typer.Option(
        "--false-alarm-rate", metavar="SHARE", help="Expected share of false alarms among flagged labels."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory to use, such as 3GB (default: half of what is free). A larger table is read in pieces: models of "
        "a sample judge all rows, and trees learn from all of them.",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Scheduler of a Dask cluster, such as tcp://10.0.0.1:8786: the table is read in pieces, which the cluster "
        "judges.",
    ),
]
Coverage = Annotated[
    float,
    typer.Option(
        "--coverage", metavar="SHARE", help="Probability that the interval contains the clean label."
    ),
]
Folder = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder to write to.")]
ModelFile = Annotated[Path, typer.Option("--out", "-o", metavar="MODEL", help="Model file to write.")]
PredictionFile = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="FILE", help="File to write: CSV (also .csv.gz, .bz2, .xz) or .parquet."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

_MARKS = {".": ".", ",": ",", "'": "'", " ": " ", "none": ""}


def number_settings(
    decimal: list[str] | None, thousands: list[str] | None, missing: list[str] | None
) -> dict[str, Any]:
    """The options about numbers, as `levelhead.tables` takes them."""
    return {
        "decimal": _by_column("--decimal", decimal, (".", ",")),
        "thousands": _by_column("--thousands", thousands, tuple(_MARKS)),
        "missing": _codes(missing),
    }


def _by_column(option: str, given: list[str] | None, allowed: tuple[str, ...]) -> dict[str, str] | None:
    """Marks by column; * stands for all others."""
    marks = {}
    for entry in given or ():
        column, _, mark = entry.rpartition("=")
        if mark not in allowed:
            raise ValueError(f"{option} is {mark!r}; give one of {' '.join(map(repr, allowed))}")
        marks[column or "*"] = _MARKS[mark]
    return marks or None


def _codes(given: list[str] | None) -> Any:
    codes: dict[str, list[float]] = {}
    for entry in given or ():
        column, _, number = entry.rpartition("=")
        known = codes.setdefault(column or "*", [])
        if number == "none":
            continue
        try:
            known.append(float(number))
        except ValueError:
            raise ValueError(f"--missing is {number!r}; give a number, or none") from None
    return codes or "auto"
