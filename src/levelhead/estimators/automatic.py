"""Networks, trees or both: the choice with the smallest error on held-out rows."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from levelhead._extras import available, install
from levelhead.audits import LEAST_ROWS, Audit
from levelhead.audits.separation import ContaminationEstimate, estimate_contamination
from levelhead.estimators._base import FittedRegressor
from levelhead.estimators._constraints import N_JOBS, Whole
from levelhead.estimators._label_scale import TARGET_TRANSFORM
from levelhead.estimators._out_of_fold import Splitting
from levelhead.estimators._preparation import row_keys
from levelhead.estimators._tables import TableReader
from levelhead.estimators._types import Constraints, FloatArray, Seed, TargetTransform, Weights
from levelhead.estimators.networks.gcp import GCPRegressor
from levelhead.estimators.trees.boosting import GCPBoostingRegressor
from levelhead.prediction import Prediction, Transform, TransformedPrediction
from levelhead.tables.encoding import frames

Fitted = GCPRegressor | GCPBoostingRegressor
_TRIAL_ROWS = 3000  # used to compare networks and trees; more would take long and change little
_FEW_ROWS = 1000  # up to this number, each row is held out once; with more, one fifth is held out
_FOLDS, _FEWER_FOLDS = 5, 3
_NAMES = {"network": "networks", "trees": "trees", "both": "networks and trees together"}


class Comparison(NamedTuple):
    """Root mean squared errors on held-out labels that are probably right."""

    network: float
    trees: float
    both: float


class HeldOut(NamedTuple):
    """Means and variances of held-out labels, and α."""

    mean: FloatArray
    variance: FloatArray
    alpha: FloatArray


def compare(
    y: FloatArray, network: Sequence[Audit], trees: Sequence[Audit], weight: FloatArray | None = None
) -> Comparison:
    """Root mean squared residuals of the held-out labels that at least one of the two models judges to be right.

    The same labels count for all models, so no model gains by flagging labels that it predicts badly. A label counts
    fully or not at all: outliers with small weights would still dominate the mean.
    """
    expected = [np.concatenate([audit.judged.predicted for audit in audits]) for audits in (network, trees)]
    quality = [np.concatenate([audit.label_quality for audit in audits]) for audits in (network, trees)]
    right = np.maximum(*quality) > 0.5
    if not right.any():
        right[:] = True

    def error(mean: FloatArray) -> float:
        weights = None if weight is None else weight[right]
        return float(np.sqrt(np.average((y - mean)[right] ** 2, weights=weights)))

    return Comparison(error(expected[0]), error(expected[1]), error(np.mean(expected, axis=0)))


def mixture(predictions: Sequence[Prediction]) -> Prediction:
    """One prediction with the members of several."""
    if len(predictions) == 1:
        return predictions[0]
    parts = {
        name: np.concatenate([np.atleast_2d(getattr(one.latent, f"member_{name}")) for one in predictions])
        for name in ("mean", "var", "alpha", "sigma")
    }
    joint = Prediction(parts["mean"], parts["var"], alpha=parts["alpha"], sigma=parts["sigma"])
    scale = predictions[0].transform
    return joint if scale is None else TransformedPrediction(joint, scale)


def combine(audits: Sequence[Audit]) -> HeldOut:
    """Combine audits of the same rows by several models: mean and variance of their mixture, the smallest α.

    All on the scale on which the labels are judged.
    """
    means = np.stack([audit.judged.predicted for audit in audits])
    variances = np.stack([audit.judged.std**2 for audit in audits])
    return HeldOut(
        means.mean(axis=0),
        variances.mean(axis=0) + means.var(axis=0),
        np.min([audit.alpha for audit in audits], axis=0),
    )


def _weights(X: Any, sample_weight: Weights) -> FloatArray:
    """The weight of every row, 1 by default."""
    weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return weights


def _trials(
    n: int, seed: int, splitting: Splitting, X: Any, y: FloatArray
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Training and held-out rows: in a small table each row is held out once, in a large one a fifth of a sample.

    Groups are not divided. A splitter of the user gives its own last sets, which are the largest of a time series.
    """
    if splitting.cv is not None and not isinstance(splitting.cv, int | np.integer):
        return list(check_cv(splitting.cv).split(X, y, splitting.groups))[-_FEWER_FOLDS:]
    some = np.random.default_rng(seed).permutation(n)[:_TRIAL_ROWS]
    if splitting.groups is not None:
        folds = GroupKFold(_FEWER_FOLDS if n <= _FEW_ROWS else _FOLDS)
        found = [
            (np.sort(some[a]), np.sort(some[b])) for a, b in folds.split(some, groups=splitting.groups[some])
        ]
        return found if n <= _FEW_ROWS else found[:1]
    if n <= _FEW_ROWS:
        return [(np.sort(some[a]), np.sort(some[b])) for a, b in KFold(_FEWER_FOLDS).split(some)]
    held = len(some) // _FOLDS
    return [(np.sort(some[held:]), np.sort(some[:held]))]


def _with_copies_together(splitting: Splitting, content: NDArray[np.uint64]) -> Splitting:
    """The same, with copies of a row as a group, if there are any and the user has not divided the rows."""
    by_user = splitting.groups is not None or splitting.cv is not None
    _, copies = np.unique(content, return_inverse=True)
    return splitting if by_user or copies.max() + 1 == len(content) else Splitting(copies)


class AutoRegressor(FittedRegressor, TableReader):
    """`GCPRegressor`, `GCPBoostingRegressor` or both together, whichever has the smallest error on held-out rows.

    Without the extra `boosting`, or with fewer than 60 rows, it is the network.

    Parameters
    ----------
    n_members : int, default=5
        Number of members of each ensemble.
    target_transform : {"auto", "log", "yeo-johnson"}, transformer or None, default="auto"
        Scale of the labels on which the models learn; predictions are in the units of y. "auto" chooses on held-out
        rows. A transformer has `transform` and `inverse_transform` and is monotone. None is the scale of y itself.
    random_state : int, RandomState instance or None, default=None
        Seed.
    n_jobs : int or None, default=-1
        Number of threads; -1 means all cores.

    Attributes
    ----------
    chosen_ : {"network", "trees", "both"}
        The choice.
    reason_ : str
        The reason for the choice, in one sentence.
    comparison_ : Comparison or None
        Errors on held-out labels that are probably right, on the scale of the labels; None if nothing was compared.
    target_transform_ : Transform or None
        Scale of the labels.
    target_transform_reason_ : str
        The reason for this scale, in one sentence.
    estimators_ : list of estimators
        The fitted estimators that predict. All their members have equal weights.
    oof_prediction_ : Prediction
        Out-of-fold predictions of the training rows.
    contamination_ : float
        Estimated share of wrong labels; NaN if there were too few rows.
    separation_ : ContaminationEstimate or None
        The estimate behind `contamination_`, with its standard error.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X was a frame with string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from levelhead import AutoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(400, 4))
    >>> y = np.sign(X[:, 0]) + 2 * np.sign(X[:, 1]) + 0.1 * rng.normal(size=400)
    >>> AutoRegressor(n_members=1, random_state=0).fit(X, y).chosen_
    'trees'
    """

    _fitted_attribute = "estimators_"
    estimators_: list[Fitted]
    comparison_: Comparison | None
    target_transform_: Transform | None
    target_transform_reason_: str
    _parameter_constraints: ClassVar[Constraints] = {
        "n_members": [Whole(1)],
        "target_transform": TARGET_TRANSFORM,
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_members: int = 5,
        *,
        target_transform: TargetTransform = "auto",
        random_state: Seed = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_members = n_members
        self.target_transform = target_transform
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: Weights = None, *, groups: Any = None, cv: Any = None
    ) -> Self:
        """Compare both kinds and their mixture on held-out rows, and fit the best one to all rows.

        Out-of-fold predictions are not used for the comparison: they come from single models before the last phase of
        training, and networks gain more from both than trees do.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs: numbers, and in a frame also categories, dates and text. Cells may be missing.
        y : array-like of shape (n_samples,)
            Labels, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of at least 0. A row of weight 0 counts neither in the fit nor in the comparison.
        groups : array-like of shape (n_samples,), default=None
            Rows with equal entries belong together, as visits of one patient: they fall into one fold.
        cv : int, splitter or iterable, default=None
            Folds of the fold models and of the comparison, as in scikit-learn. By default, folds depend on the content
            of the rows, or on `groups`.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        X = frames.collected(X)
        table, labels, _ = self._checked(X, y, sample_weight, reset=True)
        rows = table if self.columns_ is None else X
        del self.columns_  # those of the estimators are used
        weight = _weights(table, sample_weight)
        counted = labels[weight > 0]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        kinds: dict[str, Fitted] = {
            "network": GCPRegressor(n_members=self.n_members, random_state=seed, n_jobs=self.n_jobs),
            "trees": GCPBoostingRegressor(n_members=self.n_members, random_state=seed, n_jobs=self.n_jobs),
        }
        self.comparison_, self.chosen_ = None, "network"
        pilot = kinds["trees" if available("lightgbm") else "network"].set_params(
            target_transform=self.target_transform
        )
        self.target_transform_, self.target_transform_reason_ = pilot._chosen_scale(
            X, y, sample_weight, groups, cv
        )
        for model in kinds.values():
            model.set_params(target_transform=self.target_transform_)
        if not available("lightgbm"):
            self.reason_ = (
                f"networks, because trees need LightGBM, which is not installed: {install('boosting')}"
            )
        elif len(counted) < 2 * LEAST_ROWS:
            self.reason_ = f"networks, because a comparison with trees needs at least {2 * LEAST_ROWS} rows"
        elif (counted == counted[0]).all():
            self.reason_ = (
                f"networks, because all labels are {counted[0]:g}, so that there is nothing to compare"
            )
        else:
            splitting = Splitting(groups, cv).checked(len(labels))
            self._compare(rows, labels, weight, kinds, seed, splitting, row_keys(table, labels, seed))
        chosen = list(kinds.values()) if self.chosen_ == "both" else [kinds[self.chosen_]]
        self.estimators_ = [model.fit(X, y, sample_weight, groups=groups, cv=cv) for model in chosen]
        self.separation_ = self._separated(X, y, sample_weight)
        return self

    def _compare(
        self,
        X: Any,
        labels: FloatArray,
        weight: FloatArray,
        kinds: dict[str, Fitted],
        seed: int,
        splitting: Splitting,
        content: NDArray[np.uint64],
    ) -> None:
        counted = np.flatnonzero(weight > 0)
        X, labels, weight = frames.take(X, counted), labels[counted], weight[counted]
        splitting = splitting.take(counted)
        divided = _with_copies_together(splitting, content[counted])
        audits: dict[str, list[Audit]] = {kind: [] for kind in kinds}
        held_out = []
        for kept, held in _trials(len(labels), seed, divided, X, labels):
            inner, known, new = splitting.take(kept), frames.take(X, kept), frames.take(X, held)
            for kind, model in kinds.items():
                fitted = clone(model).fit(known, labels[kept], weight[kept], groups=inner.groups, cv=inner.cv)
                audits[kind].append(fitted.audit(new, labels[held]))
            held_out.append(held)
        judged = np.concatenate(held_out)
        scale = self.target_transform_
        given = labels if scale is None else scale.labels(labels)
        errors = self.comparison_ = compare(given[judged], **audits, weight=weight[judged])
        best, *others = sorted(errors._asdict().items(), key=lambda item: item[1])
        self.chosen_ = best[0]
        rows = "held-out rows" if len(judged) == len(labels) else f"{len(judged):,} held-out rows"
        than = " and ".join(f"{error:.4g} for {_NAMES[kind]}" for kind, error in others if kind != "both")
        where = "" if scale is None else f" (on a {scale.name} scale)"
        self.reason_ = (
            f"{_NAMES[best[0]]}, because the error on {rows}{where} is {best[1]:.4g}, against {than}"
        )

    def _separated(self, X: Any, y: ArrayLike, sample_weight: Weights) -> ContaminationEstimate | None:
        if len(self.estimators_) == 1:
            return self.estimators_[0].separation_
        audits = [model.audit(X, y) for model in self.estimators_]
        joint = combine(audits)
        residual = audits[0].judged.given - joint.mean
        counts = _weights(residual, sample_weight) > 0
        return estimate_contamination(residual[counts], joint.variance[counts], core="student")

    @property
    def oof_prediction_(self) -> Prediction:
        """Out-of-fold predictions of the training rows."""
        return mixture([model.oof_prediction_ for model in self._fitted()])

    def predict_dist(self, X: Any) -> Prediction:
        """Predict the distribution of the clean label of every row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs: numbers, and in a frame also categories, dates and text. Cells may be missing.

        Returns
        -------
        Prediction
            Means, variances, quantiles and densities, one for each row.
        """
        return mixture([model.predict_dist(X) for model in self._fitted()])

    def audit(self, X: Any, y: ArrayLike, false_alarm_rate: float = 0.05) -> Audit:
        """Judge which labels are wrong.

        Rows that the model was fitted to are judged by their out-of-fold predictions (`oof_prediction_`), all others by
        predictions of the model.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs: numbers, and in a frame also categories, dates and text. Cells may be missing.
        y : array-like of shape (n_samples,)
            Labels.
        false_alarm_rate : float, default=0.05
            Expected share of false alarms among flagged labels.

        Returns
        -------
        Audit
            A verdict on each label.

        Raises
        ------
        ValueError
            If the model has no out-of-fold predictions.
        """
        audits = [model.audit(X, y, false_alarm_rate) for model in self._fitted()]
        if len(audits) == 1:
            return audits[0]
        joint = combine(audits)
        return Audit.from_residuals(
            audits[0].given_label,
            joint.mean,
            joint.variance,
            alpha=joint.alpha,
            separation=self.separation_,
            false_alarm_rate=false_alarm_rate,
            transform=getattr(self, "target_transform_", None),
        )

    @property
    def _fills_gaps(self) -> bool:
        return any(model._fills_gaps for model in self._fitted())

    def _fitted(self) -> list[Fitted]:
        check_is_fitted(self, self._fitted_attribute)
        return self.estimators_
