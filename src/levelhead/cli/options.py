"""The arguments and options that commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

_COLUMNS, _MODEL, _READING = "Columns", "Model", "Reading the file"  # panels of the help


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
        help="Decimal separator, . or , (default: detected). May be repeated.",
        rich_help_panel=_READING,
    ),
]
Thousands = Annotated[
    list[str] | None,
    typer.Option(
        "--thousands",
        metavar="[COLUMN=]MARK",
        help="Thousands separator, or `none` (default: detected). May be repeated.",
        rich_help_panel=_READING,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="[COLUMN=]NUMBER",
        help="Number that stands for a missing value, or `none` (default: detected). May be repeated.",
        rich_help_panel=_READING,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Encoding of a text file (default: detected).",
        rich_help_panel=_READING,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        metavar="NAME",
        help="Sheet of a workbook (default: the first).",
        rich_help_panel=_READING,
    ),
]
AllowMissingLabels = Annotated[
    bool,
    typer.Option(
        "--allow-missing-labels",
        help="Continue even if more than a fifth of the labels are missing or not numbers.",
        rich_help_panel=_READING,
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by `levelhead fit`.")]
FittedModel = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Use this model file instead of fitting a new model, for example after repairs. Rows and labels that it "
        "was fitted to are still judged by models that were not trained on them.",
        rich_help_panel=_MODEL,
    ),
]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="Column with the labels.")]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id-column",
        metavar="COLUMN",
        help="Column that identifies the rows; not used as a feature.",
        rich_help_panel=_COLUMNS,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COLUMN",
        help="Column not to use as a feature. May be repeated.",
        rich_help_panel=_COLUMNS,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COLUMN",
        help="Column to use as a feature although it looks like a row identifier. May be repeated.",
        rich_help_panel=_COLUMNS,
    ),
]
Members = Annotated[
    int,
    typer.Option(
        "--members", min=1, metavar="N", help="Number of members of the ensemble.", rich_help_panel=_MODEL
    ),
]
Estimator = Annotated[
    Kind,
    typer.Option(
        "--estimator",
        help="Networks, boosted trees, or auto: both, weighted by their errors on held-out rows.",
        rich_help_panel=_MODEL,
    ),
]
Scale_ = Annotated[
    Scale,
    typer.Option(
        "--scale",
        help="Scale on which labels are learned and judged; auto chooses one on held-out rows.",
        rich_help_panel=_MODEL,
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Column that says which rows belong together, such as the visits of one patient; they are held out "
        "together. "
        "Not used as a feature.",
        rich_help_panel=_COLUMNS,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Column with the time of each row; rows that are close in time are held out together.",
        rich_help_panel=_COLUMNS,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        min=0,
        max=2**32 - 1,
        metavar="N",
        help="Random seed; the same seed gives the same result.",
        rich_help_panel=_MODEL,
    ),
]
TimeBudget = Annotated[
    float | None,
    typer.Option(
        "--time-budget",
        metavar="SECONDS",
        help="Approximate limit of the training time (default: none).",
        rich_help_panel=_MODEL,
    ),
]
FalseAlarmRate = Annotated[
    float,
    typer.Option(
        "--false-alarm-rate",
        metavar="SHARE",
        help="Largest expected share of false alarms among flagged labels.",
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
KeepOutOfFold = Annotated[
    bool,
    typer.Option(
        "--keep-out-of-fold",
        help="Keep the out-of-fold predictions of more than 20,000 training rows in the file, which `audit --model` "
        "needs; they take up to 120 bytes per row.",
    ),
]
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


def reading(
    decimal: list[str] | None,
    thousands: list[str] | None,
    missing: list[str] | None,
    encoding: str | None,
    drop: list[str] | None,
    keep: list[str] | None,
    allow_missing_labels: bool,
) -> dict[str, Any]:
    """The options about columns and reading, as `tables.training_table` and `large.LargeTable` take them."""
    return {
        **number_settings(decimal, thousands, missing),
        "encoding": encoding,
        "drop": drop or [],
        "keep": keep or [],
        "allow_missing_labels": allow_missing_labels,
    }


def transform(scale: Scale) -> str | None:
    """The scale of the labels, as estimators take it."""
    return None if scale == Scale.linear else scale.value


def one_of(**given: Any) -> None:
    """Refuse options that exclude each other."""
    names = [f"--{name}" for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(f"{' and '.join(names)} exclude each other; give one of them")


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
