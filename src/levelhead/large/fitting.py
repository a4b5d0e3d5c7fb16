"""Fits of tables that are read in pieces."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from levelhead.estimators._base import Unseen
from levelhead.estimators._large import Learnt, refitted, trees_of, trust_in
from levelhead.estimators._sampling import Piece, Sample
from levelhead.large.auditing import residuals
from levelhead.large.judging import Judge, learn_judge, score_all, scores
from levelhead.large.pieces import LargeTable
from levelhead.large.stages import Stages
from levelhead.progress import Report, report_progress, silent


def fit_table(
    table: LargeTable,
    estimator: Any,
    *,
    stages: Stages | None = None,
    client: Any = None,
    report: Report = silent,
) -> Pipeline:
    """Fit an estimator to a table that is read in pieces.

    Parameters
    ----------
    table : LargeTable
        The table.
    estimator : estimator or pipeline
        A levelhead estimator, or a pipeline that ends in one. Its networks, if it has some, are fitted to the sample,
        and its trees to all rows.
    stages : Stages or None, default=None
        Where finished stages are kept; by default in a temporary folder, which is removed.
    client : distributed.Client or None, default=None
        A Dask cluster that scores the pieces; by default this process does.
    report : callable, default=silent
        Called with the name of the stage and the fraction that is done.

    Returns
    -------
    Pipeline
        The fitted model. It takes raw tables, and can be saved by `levelhead.save`.
    """
    kept = stages or Stages()
    judge = learn_judge(table, estimator, kept, report)
    sample = _sample_of(table, judge)
    trees = _trees(judge, sample, kept, table.seed)
    n_pieces = score_all(table, judge, kept, trees=trees, client=client, report=report)
    labels = (piece["given"] for piece in scores(kept, n_pieces, "given"))
    n_rows = sum(int((~np.isin(given, judge.codes)).sum()) for given in labels)
    report("fitting trees to all rows", 0.0)

    def source() -> Iterator[Learnt]:
        return (_learnt(table, judge, piece) for piece in scores(kept, n_pieces))

    with report_progress(report):
        last = refitted(judge.estimator, trees, source, sample._replace(n_rows=n_rows), table.seed)
    if stages is None:
        kept.remove()
    return Pipeline([*judge.model.steps[:-1], (judge.model.steps[-1][0], last)])


def _sample_of(table: LargeTable, judge: Judge) -> Sample:
    """The labelled rows of the sample in the order of their hashes, as inputs of the estimator."""
    measured = np.flatnonzero(~np.isin(judge.sample.y, judge.codes))
    key = table.keys(judge.sample.row)
    rows = measured[np.argsort(key[measured])]
    X = judge.inputs(judge.sample.X)
    return Sample(Piece(X, judge.sample.y, key=key).take(rows), key[rows], len(rows))


def _trees(judge: Judge, sample: Sample, stages: Stages, seed: int) -> Any:
    """The trees that are fitted to all rows: those of the judge, or trees of the sample if it has none."""
    own = [part for part in getattr(judge.estimator, "estimators_", []) if hasattr(part, "mean_forests_")]
    if own:
        return own[0]
    if not hasattr(judge.estimator, "estimators_"):
        return trees_of(judge.estimator, sample.rows, seed)
    return stages.model("trees", lambda: trees_of(judge.estimator, sample.rows, seed))


def _learnt(table: LargeTable, judge: Judge, piece: dict[str, NDArray[Any]]) -> Learnt:
    """The scores of a piece as the final trees learn its rows."""
    measured = ~np.isin(piece["given"], judge.codes)
    z = residuals(piece, getattr(judge.estimator, "target_transform_", None))
    found = Unseen(z + piece["mean"], piece["mean"], piece["variance"], piece["alpha"])
    weight = trust_in(found, judge.estimator.separation_)
    return Learnt(
        piece["inputs"][measured],
        piece["labels"][measured],
        weight[measured],
        table.keys(piece["row"])[measured],
    )
