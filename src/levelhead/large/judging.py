"""The judge of a large table: a model of its sample, and the scores that it gives to all rows."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from levelhead._extras import needed
from levelhead.auditing import without_codes
from levelhead.audits import LEAST_ROWS
from levelhead.estimators._base import Unseen
from levelhead.estimators._large import as_judge, fit_judge, unseen
from levelhead.large.pieces import LargeTable, RawPiece
from levelhead.large.stages import Stages
from levelhead.progress import Report, report_progress, silent
from levelhead.tables import TableError, TableFormats, TrainingTable

FloatArray = NDArray[np.float64]
_ENOUGH = 0.8  # of the labels must be numbers
_AHEAD = 2  # pieces that each worker of a cluster gets at a time


class Judge(NamedTuple):
    """A model of the sample, with what the sample says about the table.

    Attributes
    ----------
    model : Pipeline
        What the columns mean, transformers, and the estimator.
    sample : TrainingTable
        The rows of the sample that have a label.
    codes : ndarray of float
        Labels that stand for a missing value.
    """

    model: Pipeline
    sample: TrainingTable
    codes: FloatArray

    @property
    def estimator(self) -> Any:
        """The fitted estimator."""
        return self.model[-1]

    @property
    def formats(self) -> TableFormats:
        """What the columns mean."""
        formats: TableFormats = self.model[0]
        return formats

    def inputs(self, X: Any) -> Any:
        """Inputs of the estimator, from those of the table.

        Parameters
        ----------
        X : pandas.DataFrame
            Numbers, dates and text.

        Returns
        -------
        frame or array
            What the transformers make of them.
        """
        between = self.model[1:-1]
        return between.transform(X) if len(between) else X

    def scores(self, X: Any, y: FloatArray) -> Unseen:
        """Predictions that have not seen the labels.

        Parameters
        ----------
        X : pandas.DataFrame
            Inputs.
        y : ndarray of shape (n_samples,)
            Labels.

        Returns
        -------
        Unseen
            Labels, means, variances on the scale on which labels are judged, and α.
        """
        return unseen(self.estimator, self.inputs(X), y)


def learn_judge(table: LargeTable, estimator: Any, stages: Stages, report: Report = silent) -> Judge:
    """Draw the sample and fit the judge to it.

    Parameters
    ----------
    table : LargeTable
        The table.
    estimator : estimator or pipeline
        A levelhead estimator, or a pipeline that ends in one; it is cloned.
    stages : Stages
        Where a fitted judge is kept.
    report : callable, default=silent
        Called with the name of the stage and the fraction that is done.

    Returns
    -------
    Judge
        The fitted judge.

    Raises
    ------
    ValueError
        If the sample has too few rows with a label, or if they cannot be judged.
    """
    drawn = table.sample(lambda share: report("drawing a sample", share))
    sample = table.training_table(drawn)
    if len(sample.y) < LEAST_ROWS:
        raise ValueError(
            f"{table.path} has {len(sample.y)} rows with a label; at least {LEAST_ROWS} are needed"
        )
    X, y, _ = without_codes(sample.X, sample.y)
    report(f"fitting a model to {len(y):,} rows", 0.0)
    with report_progress(report):
        model = stages.model("judge", lambda: _fitted(estimator, sample.formats, X, y))
    if model[-1].separation_ is None:
        raise ValueError(
            f"{table.path}: more than half of the labels are predicted exactly, so that there is no noise to judge "
            "labels by"
        )
    return Judge(model, sample, np.setdiff1d(sample.y, y))


def _fitted(estimator: Any, formats: TableFormats, X: Any, y: FloatArray) -> Pipeline:
    model = fit_judge(as_judge(estimator), X, y)
    steps = model.steps if hasattr(model, "steps") else [("regressor", model)]
    return Pipeline([("formats", formats), *steps])


def score_all(
    table: LargeTable,
    judge: Judge,
    stages: Stages,
    *,
    trees: Any = None,
    client: Any = None,
    report: Report = silent,
) -> int:
    """Score every row with a label and keep the scores of each piece.

    Parameters
    ----------
    table : LargeTable
        The table.
    judge : Judge
        The judge.
    stages : Stages
        Where the scores are kept; pieces that are there already are not scored again.
    trees : estimator or None, default=None
        Trees that are to be fitted to all rows; what they learn from each row is kept too.
    client : distributed.Client or None, default=None
        A Dask cluster that scores the pieces; by default this process does.
    report : callable, default=silent
        Called with the name of the stage and the fraction that is done.

    Returns
    -------
    int
        Number of pieces.
    """
    n_pieces = 0

    def missing() -> Iterator[tuple[int, RawPiece]]:
        nonlocal n_pieces
        for number, piece in enumerate(table.raw(lambda share: report("judging all rows", share))):
            n_pieces = number + 1
            if not stages.has(number):
                yield number, piece

    if client is None:
        for number, piece in missing():
            stages.keep(number, _scored(table, judge, piece, trees))
    else:
        _score_on(client, table, (judge, trees), missing(), stages)
    _refuse_few_labels(table, stages, n_pieces)
    return n_pieces


def _score_on(
    client: Any,
    table: LargeTable,
    models: tuple[Judge, Any],
    pieces: Iterator[tuple[int, RawPiece]],
    stages: Stages,
) -> None:
    """Score pieces on a cluster, a few for each worker at a time; Dask repeats those of workers that end."""
    distributed = needed("distributed", "a Dask cluster", "dask")
    there = client.scatter(models, broadcast=True)
    limit = _AHEAD * max(1, len(client.scheduler_info()["workers"]))
    running: dict[Any, int] = {}

    def finish_some() -> None:
        for future in distributed.wait(list(running), return_when="FIRST_COMPLETED").done:
            stages.keep(running.pop(future), future.result())

    for number, piece in pieces:
        running[client.submit(_scored_there, table, there, piece, pure=False)] = number
        while len(running) >= limit:
            finish_some()
    while running:
        finish_some()


def _scored_there(table: LargeTable, models: tuple[Judge, Any], piece: RawPiece) -> dict[str, NDArray[Any]]:
    judge, trees = models
    return _scored(table, judge, piece, trees)


def _scored(table: LargeTable, judge: Judge, piece: RawPiece, trees: Any) -> dict[str, NDArray[Any]]:
    X, y = table.read(piece, judge.formats)
    labelled = np.flatnonzero(np.isfinite(y))
    empty = {"row": piece.row[:0], "rows_read": np.array(len(y))}
    if not len(labelled):
        return empty
    inputs = judge.inputs(X.iloc[labelled].reset_index(drop=True))
    found = unseen(judge.estimator, inputs, y[labelled])
    arrays = {
        **empty,
        "row": piece.row[labelled],
        "given": y[labelled],
        "mean": found.mean,
        "variance": found.variance,
        "alpha": found.alpha.astype(np.float32),
    }
    if trees is None:
        return arrays
    learnt, labels = trees._learnt_rows(inputs, y[labelled])
    return arrays | {"inputs": _short(learnt), "labels": labels}


def _short(values: FloatArray) -> NDArray[Any]:
    """Numbers as float32, if that loses nothing."""
    with np.errstate(over="ignore"):
        short = values.astype(np.float32)
    return short if np.array_equal(short, values, equal_nan=True) else values


def scores(stages: Stages, n_pieces: int, *names: str) -> Iterator[dict[str, NDArray[Any]]]:
    """Go through the scores of all pieces that have a row with a label.

    Parameters
    ----------
    stages : Stages
        Where the scores are kept.
    n_pieces : int
        Number of pieces.
    *names : str
        Names of the arrays that are wanted besides the row numbers; by default all.

    Yields
    ------
    dict of str to ndarray
        Row numbers, labels, means, variances and α, and what trees learn, if it was kept.
    """
    for number in range(n_pieces):
        arrays = stages.arrays(number, *(("row", *names) if names else ()))
        if arrays is not None and len(arrays["row"]):
            yield arrays


def _refuse_few_labels(table: LargeTable, stages: Stages, n_pieces: int) -> None:
    labelled = sum(len(arrays["row"]) for arrays in scores(stages, n_pieces, "row"))
    if not table.allows_missing_labels and labelled < _ENOUGH * table.n_rows:
        raise TableError(
            f"{table.path}: {table.n_rows - labelled:,} of {table.n_rows:,} labels in {table.target!r} are missing or "
            "not numbers; --allow-missing-labels goes on with the others"
        )
