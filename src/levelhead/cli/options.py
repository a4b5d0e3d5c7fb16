"""The arguments and options that commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Kind(StrEnum):
    """Kinds of estimators."""

    auto = "auto"
    network = "network"
    trees = "trees"


Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="Table: CSV (any separator, may be compressed) or Parquet.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by `levelhead fit`.")]
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
