"""The options that study commands share."""

from pathlib import Path
from typing import Annotated

import typer

Datasets = Annotated[
    list[str] | None,
    typer.Option("--datasets", metavar="NAME,…", help="Data sets, separated by commas; default: all."),
]
Contamination = Annotated[
    list[str] | None,
    typer.Option(
        "--contamination",
        metavar="FRACTION,…",
        help="Shares of wrong labels, from 0 to 1; default: 0,0.05,0.1,0.15,0.2.",
    ),
]
OldShares = Annotated[
    list[str] | None, typer.Option("--shares", hidden=True, help="Old name of --contamination, in percent.")
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--methods",
        "--method",
        metavar="NAME,…",
        help="Methods, separated by commas; default: those of Table 1. GCPBoost and EnsGCPBoost are boosted trees, "
        "GCP3 is GCP with three outputs; BetaNLL, Faithful, Natural, Evidential, Huber, Student, RRNet and their "
        "ensembles (Ens…) are other methods. `package.module:Class` or `'package.module:Class(name=value)'` is any "
        "regressor that is installed or in the current folder. May be repeated.",
    ),
]
PaperMethods = Annotated[
    list[str] | None,
    typer.Option(
        "--methods", metavar="NAME,…", help="Methods, separated by commas; default: those of Table 1."
    ),
]
DataFile = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="A table of your own instead of the data sets of the paper, in any format that `levelhead fit` reads.",
    ),
]
TargetColumn = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COLUMN", help="Column of --data with the labels.")
]
OnlyCost = Annotated[
    bool,
    typer.Option(
        "--cost",
        help="Do three runs of each method on each data set, show what the others will cost, and stop.",
    ),
]
ShownMethods = Annotated[
    list[str] | None,
    typer.Option("--methods", metavar="NAME,…", help="Methods, separated by commas; default: all."),
]
SearchedMethods = Annotated[
    list[str] | None,
    typer.Option(
        "--methods",
        metavar="NAME,…",
        help="GCP, Beta, Gamma, Beta_Bayes, Gaussian, GCP3, BetaNLL, …; default: Beta, Gamma and Beta_Bayes.",
    ),
]
ShownContamination = Annotated[
    list[str] | None,
    typer.Option(
        "--contamination",
        metavar="FRACTION,…",
        help="Shares of wrong labels to show, from 0 to 1; default: all.",
    ),
]
Splits = Annotated[
    int, typer.Option("--splits", metavar="N", min=1, max=50, help="Number of splits, at most 50.")
]
FirstSplits = Annotated[
    int | None,
    typer.Option(
        "--splits",
        metavar="N",
        min=1,
        max=50,
        help="Use only the first N of the 50 splits; default: all runs.",
    ),
]
Kind = Annotated[
    str,
    typer.Option(
        "--kind",
        metavar="NAME",
        help="Kind of wrong labels: replaced (as in the paper), uniform, cluster, swapped, unit or sign.",
    ),
]
StoreFile = Annotated[Path, typer.Option("--store", metavar="FILE", help="SQLite file with the results.")]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="CSV",
        help="Read results from a file written by `study export`, not from the store.",
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        "--backend",
        metavar="NAME",
        help="Where to run: serial, threads, processes or dask (a local cluster).",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", metavar="ADDRESS", help="Address of a Dask scheduler, such as tcp://host:8786."),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", min=-1, help="Number of workers; -1: one per core.")
]
Measure = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="NAME,…",
        help="Measures, separated by commas: rmse, auc, nll, crps, coverage, robust_r2, …",
    ),
]
TableStyle = Annotated[
    str,
    typer.Option(
        "--style", metavar="NAME", help="Format: text, markdown, latex or html; in text, * marks bold."
    ),
]
BoldRule = Annotated[
    str,
    typer.Option(
        "--bold",
        metavar="RULE",
        help="Tests behind the bold: holm (corrected for their number) or paper (not corrected, as in the paper).",
    ),
]
FloorSplits = Annotated[
    int,
    typer.Option(
        "--splits", metavar="N", min=1, max=30, help="Use only the first N of the 30 splits of this study."
    ),
]
Floor = Annotated[
    float,
    typer.Option(
        "--floor", metavar="NUMBER", min=1e-9, help="Floor of the variance, in variances of the clean labels."
    ),
]
ResultsFile = Annotated[Path, typer.Argument(metavar="CSV", help="File written by `study export`.")]
SampleSize = Annotated[
    int, typer.Option("--sample", metavar="N", min=2, help="Number of runs, chosen at random.")
]
SampleSeed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Seed of the random choice.")]
OutFile = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")]
Failures = Annotated[
    bool, typer.Option("--failures", help="Show the last traceback of each data set and method.")
]
FigureNumber = Annotated[
    int, typer.Argument(metavar="NUMBER", min=1, max=5, help="Number of the figure, 1 to 5.")
]
CurvesFile = Annotated[
    Path | None,
    typer.Option("--curves", metavar="FILE", help="Also write the mean curves RMSE(n) to this CSV file."),
]
Update = Annotated[
    bool,
    typer.Option(
        "--update",
        help="Keep those rows of existing files that the store does not have, and replace the others.",
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="NAME,…",
        help="Only results with these kinds of wrong labels; default: all.",
    ),
]
OldKinds = Annotated[
    list[str] | None, typer.Option("--contamination", hidden=True, help="Old name of --kind.")
]
ChoicesRead = Annotated[
    Path | None,
    typer.Option(
        "--hyperparameters", metavar="CSV", help="File written by `study search`: use its settings."
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label", metavar="TEXT", help="Name of the methods in tables, such as '{method} (tuned)'."
    ),
]
Choices = Annotated[
    Path,
    typer.Option(
        "--choices",
        metavar="CSV",
        help="File to write the chosen settings to, one line per method and data set.",
    ),
]
OnTestRows = Annotated[
    bool,
    typer.Option(
        "--on-test-rows", help="Score on the clean test rows, as the paper did; this is optimistic."
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option("--epochs", metavar="N", min=1, help="Number of epochs; default: as in the paper."),
]
Draws = Annotated[
    int, typer.Option("--draws", metavar="N", min=1, help="Number of synthetic data sets to draw.")
]
CurvesRead = Annotated[
    Path | None, typer.Option("--curves", metavar="CSV", help="Curves written by `study export --curves`.")
]
