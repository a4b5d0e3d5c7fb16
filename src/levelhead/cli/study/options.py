"""The options that study commands share."""

from pathlib import Path
from typing import Annotated

import typer

Datasets = Annotated[
    list[str] | None,
    typer.Option("--datasets", metavar="NAME,…", help="Data sets, with commas between; default: all."),
]
Shares = Annotated[
    list[str] | None,
    typer.Option("--shares", metavar="λ,…", help="Percentages of wrong labels; default: 0,5,10,15,20."),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--methods",
        metavar="NAME,…",
        help="Methods, with commas between; default: those of Table 1. GCPBoost and EnsGCPBoost are trees.",
    ),
]
ShownMethods = Annotated[
    list[str] | None,
    typer.Option("--methods", metavar="NAME,…", help="Methods, with commas between; default: all."),
]
ShownShares = Annotated[
    list[str] | None, typer.Option("--shares", metavar="λ,…", help="Percentages to show; default: all.")
]
Splits = Annotated[int, typer.Option("--splits", min=1, max=50, help="How many of the 50 splits.")]
FirstSplits = Annotated[
    int | None,
    typer.Option(
        "--splits", min=1, max=50, help="Only the first so many of the 50 splits; default: all runs."
    ),
]
ContaminationName = Annotated[
    str,
    typer.Option("--contamination", metavar="NAME", help="Kind of wrong labels; `replaced` is the paper's."),
]
StoreFile = Annotated[Path, typer.Option("--store", metavar="FILE", help="File of the results (SQLite).")]
From = Annotated[
    Path | None, typer.Option("--from", metavar="CSV", help="Read what `study export` wrote, not the store.")
]
Backend = Annotated[
    str,
    typer.Option("--backend", metavar="NAME", help="serial, threads, processes or dask (a local cluster)."),
]
Dask = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="A Dask scheduler: tcp://host:8786.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=-1, help="Workers to start; -1: one a core.")]
Measure = Annotated[
    list[str] | None,
    typer.Option("--measure", metavar="NAME,…", help="rmse, auc, nll, crps, coverage, robust_r2, …"),
]
TableStyle = Annotated[
    str, typer.Option("--style", metavar="NAME", help="text, markdown, latex or html; in text, * is bold.")
]
OutFile = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")]
Failures = Annotated[bool, typer.Option("--failures", help="Show the last traceback of each.")]
FigureNumber = Annotated[int, typer.Argument(metavar="NUMBER", min=1, max=5, help="Of the figure: 1 to 5.")]
CurvesFile = Annotated[
    Path | None, typer.Option("--curves", metavar="FILE", help="CSV file for the mean curves RMSE(n).")
]
AnyContamination = Annotated[
    list[str] | None,
    typer.Option("--contamination", metavar="NAME,…", help="Only results of these; default: all."),
]
ChoicesRead = Annotated[
    Path | None,
    typer.Option("--hyperparameters", metavar="CSV", help="Settings that `study search` chose."),
]
Label = Annotated[
    str | None,
    typer.Option("--label", metavar="TEXT", help="What methods are called, such as '{method} (tuned)'."),
]
Choices = Annotated[
    Path, typer.Option("--choices", metavar="CSV", help="File of the choices, which grows line by line.")
]
OnTestRows = Annotated[
    bool,
    typer.Option("--on-test-rows", help="Judge by the clean test rows, as the paper did: optimistic."),
]
Epochs = Annotated[int | None, typer.Option("--epochs", min=1, help="Instead of the paper's.")]
Results = Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder with table1.csv and others.")]
Manual = Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder of the manual.")]
Draws = Annotated[int, typer.Option("--draws", min=1, help="Data sets to draw.")]
CurvesRead = Annotated[
    Path | None, typer.Option("--curves", metavar="CSV", help="Curves that `study export` wrote.")
]
