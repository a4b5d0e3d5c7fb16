"""The estimator for Dask data frames."""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from levelhead._checks import share as check_share
from levelhead._extras import needed
from levelhead.audits import LEAST_ROWS, ContaminationEstimate
from levelhead.audits.counted import Odds, Residuals
from levelhead.dask.training import trained
from levelhead.estimators import _large
from levelhead.estimators._sampling import Hashes, Piece, Sample, place_hashes, smallest
from levelhead.estimators.trees.forest import Forest
from levelhead.large.auditing import Rule, residuals
from levelhead.prediction.prediction import Prediction

Frame = Any  # a Dask data frame
Arrays = dict[str, NDArray[Any]]

_MARGIN = 6.0  # standard deviations by which the first choice of rows is larger than the sample
_TRIED = 20  # numbers of trees that are compared on held-out rows
_FIELDS = {
    "given_label": "f8",
    "predicted_label": "f8",
    "std": "f8",
    "z": "f8",
    "p_outlier": "f8",
    "log_odds": "f8",
    "label_quality": "f8",
    "is_label_issue": "?",
    "is_code": "?",
    "alpha": "f8",
}
_PREDICTED = ("mean", "std", "lower", "upper", "alpha")


class DaskRegressor(BaseEstimator):  # type: ignore[misc]
    """Fits an estimator of levelhead to a Dask data frame.

    A sample of the rows, chosen by a hash of their places in the table, is fitted by the estimator on one worker: the
    judge. It judges the labels of all rows, partition by partition. Then trees learn from all rows, on all workers. The
    verdicts do not depend on the partitions; the trees do so as far as LightGBM's sums do.

    Parameters
    ----------
    estimator : estimator
        `AutoRegressor`, `GCPBoostingRegressor` or `GCPRegressor`. Networks learn from the sample alone.
    sample_rows : int, default=50000
        Number of rows of the sample, below 100,000.
    seed : int, default=0
        Decides which rows are in the sample.

    Attributes
    ----------
    judge_ : estimator
        The model of the sample.
    model_ : estimator
        The model of all rows. It predicts, audits and can be saved without Dask.
    n_rows_ : int
        Number of rows of the table.
    """

    def __init__(self, estimator: Any, *, sample_rows: int = _large.SAMPLE_ROWS, seed: int = 0) -> None:
        self.estimator = estimator
        self.sample_rows = sample_rows
        self.seed = seed

    def fit(self, X: Frame, y: Frame) -> Self:
        """Fit the judge to a sample and the trees to all rows.

        Parameters
        ----------
        X : dask.dataframe.DataFrame
            Inputs.
        y : dask.dataframe.Series
            Labels, with the partitions of X.

        Returns
        -------
        self
            The fitted estimator.
        """
        sample = self._learn_judge(X, y)
        judge = self.judge_
        trees = _large.trees_of(judge, sample.rows, self.seed)
        n = _large.n_held_out(sample)
        if trees is None or sample.n_rows == len(sample.key) or n == 0:
            self.model_ = judge
            return self
        held_out, limit = sample.rows.take(np.arange(n)), _large.first_key(trees, sample, n)
        delayed = _dask().delayed
        models, keyed = (delayed(judge), delayed(trees)), zip(self._parts(X, y), self._starts, strict=False)
        parts = [delayed(_learnt)(*models, *part, int(start), self.seed, limit) for part, start in keyed]
        booster = trained(trees, parts, sample.n_rows, self.seed)
        learnt = _large.learnt(judge, trees, held_out, self.seed)
        forest, scores = _cut(booster, learnt)
        self.model_ = _large.with_forest(judge, trees, forest, scores, held_out)
        return self

    def fit_judge(self, X: Frame, y: Frame) -> Self:
        """Fit the judge alone, which is enough for an audit.

        Parameters
        ----------
        X : dask.dataframe.DataFrame
            Inputs.
        y : dask.dataframe.Series
            Labels, with the partitions of X.

        Returns
        -------
        self
            The estimator, ready to audit.
        """
        self._learn_judge(X, y)
        return self

    def predict_dist(self, X: Frame, coverage: float = 0.9) -> Frame:
        """Predict the clean labels lazily.

        Parameters
        ----------
        X : dask.dataframe.DataFrame
            Inputs.
        coverage : float, default=0.9
            Probability that the interval contains the clean label.

        Returns
        -------
        dask.dataframe.DataFrame
            Mean, standard deviation, ends of the interval and α, with the partitions and the index of X.
        """
        check_is_fitted(self, "model_")
        delayed, level = _dask().delayed, check_share("coverage", coverage)
        model = delayed(self.model_)
        parts = [delayed(_predicted)(model, part, level) for part in _partitions(X)]
        return _collected(parts, dict.fromkeys(_PREDICTED, "f8"), X)

    def audit(self, X: Frame, y: Frame, false_alarm_rate: float = 0.05) -> Frame:
        """Judge all labels lazily.

        Parameters
        ----------
        X : dask.dataframe.DataFrame
            Inputs.
        y : dask.dataframe.Series
            Labels, with the partitions of X.
        false_alarm_rate : float, default=0.05
            Largest expected share of clean labels among the flagged ones.

        Returns
        -------
        dask.dataframe.DataFrame
            One row per label with the columns of `Audit.to_frame`, with the partitions and the index of X.
        """
        check_is_fitted(self, "judge_")
        delayed, level = _dask().delayed, check_share("false_alarm_rate", false_alarm_rate)
        judge = delayed(self.judge_)
        scores = [delayed(_scored)(judge, *part) for part in self._parts(X, y)]
        counts = _summed([delayed(_counted)(judge, score) for score in scores])
        rule = delayed(_rule)(judge, counts, level)
        odds = _summed([delayed(rule.odds)(score) for score in scores])
        flagging = delayed(_with_threshold)(rule, odds)
        # The index alone, so that no worker holds the inputs until the last label is scored.
        parts = [
            delayed(_verdicts)(flagging, score, delayed(_index)(part))
            for score, part in zip(scores, _partitions(X), strict=True)
        ]
        return _collected(parts, _FIELDS, X)

    def _learn_judge(self, X: Frame, y: Frame) -> Sample:
        delayed = _dask().delayed
        parts = self._parts(X, y)
        lengths = _dask().compute(*(delayed(len)(labels) for _, labels in parts))
        starts = np.concatenate([[0], np.cumsum(lengths)])
        self.n_rows_ = int(starts[-1])
        if self.n_rows_ < LEAST_ROWS:
            raise ValueError(f"the table has {self.n_rows_} rows; at least {LEAST_ROWS} are needed")
        wanted = min(_large.checked_sample(self.sample_rows), self.n_rows_)
        share = min(1.0, (wanted + _MARGIN * np.sqrt(wanted)) / self.n_rows_)
        limit = np.uint64(min(int(share * 2.0**64), 2**64 - 1))
        chosen = [
            delayed(_chosen)(*part, int(start), self.seed, limit)
            for part, start in zip(parts, starts, strict=False)
        ]
        found = list(_dask().compute(*chosen))
        rows, key = smallest(found, wanted)
        self._starts = starts
        fitted = delayed(_fitted)(_large.as_judge(self.estimator), rows)
        self.judge_ = fitted.compute()
        if self.judge_.separation_ is None:
            raise ValueError(
                "more than half of the labels are predicted exactly, so that there is no noise to judge labels by"
            )
        return Sample(rows, key, self.n_rows_)

    def _parts(self, X: Frame, y: Frame) -> list[tuple[Any, Any]]:
        inputs, labels = _partitions(X), _partitions(y)
        if len(inputs) != len(labels):
            raise ValueError(
                f"X has {len(inputs)} partitions and y {len(labels)}; take both from one data frame"
            )
        return list(zip(inputs, labels, strict=True))


def _dask() -> Any:
    return needed("dask", "levelhead.dask", "dask")


def _partitions(frame: Frame) -> list[Any]:
    """The partitions, as many as the collection says.

    Dask's optimizer would join those of a Parquet file if only a few of its columns are used, for example the labels.
    """
    return list(frame.simplify().to_delayed(optimize_graph=False))


def _collected(parts: Sequence[Any], columns: dict[str, str], like: Frame) -> Frame:
    frames, pandas = (
        needed("dask.dataframe", "levelhead.dask", "dask"),
        needed("pandas", "levelhead.dask", "dask"),
    )
    meta = pandas.DataFrame({name: np.empty(0, dtype=kind) for name, kind in columns.items()})
    meta.index = like._meta.index[:0]
    return frames.from_delayed(list(parts), meta=meta, divisions=like.divisions, verify_meta=False)


def _summed(parts: list[Any]) -> Any:
    """The sum of lazy values, in pairs, so that no worker holds many."""
    delayed = _dask().delayed
    while len(parts) > 1:
        pairs = [parts[k : k + 8] for k in range(0, len(parts), 8)]
        parts = [delayed(_sum)(pair) for pair in pairs]
    return parts[0]


def _cut(booster: Any, held_out: _large.Learnt) -> tuple[Forest, list[float]]:
    """The number of trees with the smallest error on held-out rows."""
    steps = np.unique(np.linspace(1, booster.num_trees(), _TRIED).astype(int))
    inputs = held_out.inputs.astype(np.float64)
    errors = [
        float(
            np.average(
                (held_out.labels - booster.predict(inputs, num_iteration=k)) ** 2, weights=held_out.weight
            )
        )
        for k in steps.tolist()
    ]
    return Forest.of(booster, int(steps[int(np.argmin(errors))])), errors


# ---------------------------------------------------------------------- what a worker does


def _learnt(
    judge: Any, trees: Any, X: Any, y: Any, start: int, seed: int, limit: Any
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Inputs, labels and weights of a partition, without the rows that are held out."""
    labels = np.asarray(y, dtype=np.float64)
    if not len(labels):
        return np.empty((0, trees.mean_forests_[0].n_features)), labels.astype("f4"), labels.astype("f4")
    key = place_hashes(np.arange(start + 1, start + len(labels) + 1), seed)
    found = _large.learnt(judge, trees, Piece(X, labels, key=key), seed)
    rows = np.flatnonzero(key >= limit)
    inputs = np.ascontiguousarray(found.inputs[rows], dtype=np.float64)
    return inputs, found.labels[rows].astype("f4"), found.weight[rows].astype("f4")


def _sum(values: list[Any]) -> Any:
    return reduce(add, values)


def _chosen(X: Any, y: Any, start: int, seed: int, limit: np.uint64) -> tuple[Piece, Hashes]:
    labels = np.asarray(y, dtype=np.float64)
    key = place_hashes(np.arange(start + 1, start + len(labels) + 1), seed)
    rows = np.flatnonzero(key <= limit)
    if not np.isfinite(labels).all():
        bad = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise ValueError(
            f"y has a label that is no finite number at row {start + bad}; remove such rows first"
        )
    return Piece(X, labels, key=key).take(rows), key[rows]


def _fitted(estimator: Any, rows: Piece) -> Any:
    return _large.fit_judge(estimator, rows.X, rows.y)


def _scored(judge: Any, X: Any, y: Any) -> Arrays:
    labels = np.asarray(y, dtype=np.float64)
    if not len(labels):
        empty = np.empty(0)
        return {"given": empty, "mean": empty, "variance": empty, "alpha": empty}
    found = _large.unseen(judge, X, labels)
    return {"given": labels, "mean": found.mean, "variance": found.variance, "alpha": found.alpha}


def _counted(judge: Any, score: Arrays) -> Residuals:
    scale = getattr(judge, "target_transform_", None)
    return Residuals.of(residuals(score, scale), score["variance"], judge.separation_)


def _rule(judge: Any, counts: Residuals, level: float) -> Rule:
    separation: ContaminationEstimate = counts.estimate()
    return Rule(separation, np.empty(0), getattr(judge, "target_transform_", None), level)


def _with_threshold(rule: Rule, odds: Odds) -> Rule:
    return rule.with_threshold(odds)


def _index(part: Any) -> Any:
    return part.index


def _verdicts(rule: Rule, score: Arrays, index: Any) -> Any:
    pandas = needed("pandas", "levelhead.dask", "dask")
    if not len(index):
        columns = {name: np.empty(0, dtype=kind) for name, kind in _FIELDS.items()}
        return pandas.DataFrame(columns, index=index)
    return rule.audit(score).to_frame().set_axis(index, axis=0)[list(_FIELDS)]


def _predicted(model: Any, part: Any, coverage: float) -> Any:
    pandas = needed("pandas", "levelhead.dask", "dask")
    if not len(part):
        return pandas.DataFrame({name: np.empty(0) for name in _PREDICTED}, index=part.index)
    prediction: Prediction = model.predict_dist(part)
    lower, upper = prediction.interval(coverage)
    alpha = np.full(len(part), np.nan) if prediction.member_alpha is None else prediction.alpha
    columns = (prediction.mean, prediction.std, lower, upper, alpha)
    return pandas.DataFrame(dict(zip(_PREDICTED, columns, strict=True)), index=part.index)
