"""The arguments and options that commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Kind(StrEnum):
    """What a model is made of."""

    auto = "auto"
    network = "network"
    trees = "trees"


Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="Table: CSV (any separator, compressed too) or Parquet.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model that `levelhead fit` wrote.")]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="Column of the labels.")]
IdColumn = Annotated[
    str | None,
    typer.Option("--id-column", metavar="COLUMN", help="Column that names the rows; it is no input."),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Column that is no input; may be given several times."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep", metavar="COLUMN", help="Input that only seems to name the rows; may be given several times."
    ),
]
Members = Annotated[int, typer.Option("--members", min=1, help="Members of the ensemble.")]
Estimator = Annotated[
    Kind,
    typer.Option("--estimator", help="Networks, boosted trees, or what errs least on rows held out."),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=2**32 - 1, help="The same seed gives the same result.")
]
TimeBudget = Annotated[
    float | None,
    typer.Option(
        "--time-budget", metavar="SECONDS", help="Train no longer than about this; default: as needed."
    ),
]
FalseAlarmRate = Annotated[
    float,
    typer.Option(
        "--false-alarm-rate", metavar="SHARE", help="Clean labels accepted among those called wrong."
    ),
]
Coverage = Annotated[
    float,
    typer.Option("--coverage", metavar="SHARE", help="Probability that the interval holds the clean label."),
]
Folder = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to write.")]
ModelFile = Annotated[Path, typer.Option("--out", "-o", metavar="MODEL", help="File for the model.")]
PredictionFile = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="CSV (also .csv.gz, .bz2, .xz) or .parquet.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
