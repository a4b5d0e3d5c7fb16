"""Networks and trees together, with weights by their errors on held-out rows."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_monotonic_cst

from levelhead._extras import available, install
from levelhead.audits import LEAST_ROWS, Audit, Contributions
from levelhead.estimators import _large, _preparation, _steps, combination, repeats
from levelhead.estimators._base import FittedRegressor, Unseen, slices, unseen
from levelhead.estimators._clock import TIME_LIMIT, VERBOSE, Clock
from levelhead.estimators._constraints import N_JOBS, Whole
from levelhead.estimators._contributions import sampled
from levelhead.estimators._label_scale import TARGET_TRANSFORM
from levelhead.estimators._steps import FirstStep
from levelhead.estimators._tables import CheckedTable, TableReader
from levelhead.estimators._types import Constraints, FloatArray, Seed, TargetTransform, Weights
from levelhead.estimators.combination import Combination, HeldOut
from levelhead.estimators.networks.gcp import GCPRegressor
from levelhead.estimators.networks.pace import epochs_within
from levelhead.estimators.repeats import Repeats
from levelhead.estimators.trees.boosting import GCPBoostingRegressor
from levelhead.prediction import Prediction, Transform, TransformedPrediction
from levelhead.prediction.lattice import Lattice, find_lattice, find_step
from levelhead.prediction.lattice_prediction import LatticePrediction, learn_levels
from levelhead.tables.encoding import frames

Fitted = GCPRegressor | GCPBoostingRegressor
_NAMES = {"network": "networks", "trees": "trees", "both": "networks and trees together"}
_ROWS_OF_MEAN = 10_000  # rows over which the disagreement of members is averaged
_TIMES: tuple[float, ...] = (2.0, 1.0, 1.0, 0.1)  # parts of a time limit for the models
_WEIGHT_DECAY = 3e-3  # for piecewise-linear inputs; tuned on kc_house, diamonds, energy and concrete
# Settings of the trees that choose the scale of the labels: 60 % less time than with the defaults, and the same choices
# on kc_house, diamonds, energy and concrete with clean, replaced and swapped labels and wrong units.
_PILOT = {"learning_rate": 0.1, "max_iter": 300, "n_iter_no_change": 12}


class Comparison(NamedTuple):
    """Root mean squared errors of out-of-fold predictions of labels that are probably right."""

    network: float
    trees: float
    both: float


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


class AutoRegressor(FittedRegressor, TableReader):
    """Networks and boosted trees together, with weights by their errors on held-out rows.

    Four ensembles are fitted: `GCPBoostingRegressor`; `GCPRegressor` with piecewise-linear inputs, which follows sharp
    functions; `GCPRegressor` with one input per column and SiLU units, which follows smooth ones; and `GCPRegressor`
    without hidden layers, which follows linear ones, beyond the range of most inputs too. Labels are judged by the fold
    models of all of them together before the members are finished, so that a wrong label that one kind finds has a
    small weight in the others too. Out-of-fold predictions decide how the ensembles are combined. Weights are
    chosen by stacking on labels that are probably right, shrunk towards equal weights; a model with less than 5 % is
    left out. The variance is calibrated, and quantiles and intervals follow the out-of-fold residuals of labels that
    are probably right (conformal prediction), so that intervals cover clean labels as often as they say, on average
    over the table. Predictions stay within the range of trusted labels, with a margin of 20 % of it on both sides, and
    on another scale of the labels their variance is at most twice that of all trusted labels. If
    labels of training rows with equal inputs have something in common that the models do not explain, they correct
    predictions for rows with exactly these inputs. If labels are whole multiples of a unit, such as grades, quantiles
    and the ends of intervals are values that labels take; networks then learn from labels with a part of the noise of
    their rounding.

    Without the extra `boosting`, or with fewer than 60 rows, only networks are used.

    Tables of 100,000 rows or more are fitted in another way, unless `groups` or `cv` is given. All of the above happens
    on a sample of 50,000 rows, chosen by a hash of their content, with at most two members of each ensemble of networks
    and the fold models as trees. It judges the labels of all rows. Then the trees are fitted anew to all rows but one
    in twenty, with these judgements as weights, and combined with the networks of the sample on the rows that were left
    out.

    Parameters
    ----------
    n_members : int, default=5
        Number of members of each ensemble of networks. The trees have half as many, because they differ less.
    target_transform : {"auto", "log", "yeo-johnson"}, transformer or None, default="auto"
        Scale of the labels on which the models learn; predictions are in the units of y. "auto" chooses on held-out
        rows. A transformer has `transform` and `inverse_transform` and is monotone. None is the scale of y itself.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        Signs of the effects of columns on the mean, as in `GCPBoostingRegressor`. With any sign, only trees are used,
        because networks cannot keep them.
    time_limit : float or None, default=None
        Approximate limit of the time of a fit, in seconds. The models then get fewer trees and epochs, and how many
        depends on the machine. None is no limit.
    random_state : int, RandomState instance or None, default=None
        Seed.
    n_jobs : int or None, default=-1
        Number of threads; -1 means all cores.
    verbose : bool or int, default=False
        Whether to write the progress to standard error.

    Attributes
    ----------
    chosen_ : {"network", "trees", "both"}
        Which kinds have a weight.
    reason_ : str
        The reason, in one sentence.
    comparison_ : Comparison or None
        Errors of out-of-fold predictions of labels that are probably right, on the scale of the labels; None if nothing
        was compared.
    target_transform_ : Transform or None
        Scale of the labels.
    target_transform_reason_ : str
        The reason for this scale, in one sentence.
    estimators_ : list of estimators
        The fitted estimators that predict.
    combination_ : Combination or None
        Weights of the estimators, calibration of the variance, shape of the residuals. None with fewer than 30 rows, or
        if more than half of the labels are predicted exactly: then all members have equal weights.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each column, with the sum 1: the weighted mean of those of the estimators.
    repeats_ : Repeats or None
        Correlation of labels with equal inputs, by which labels of training rows correct predictions for rows with
        exactly the same inputs. None if there are too few of them, or no clear correlation.
    lattice_ : Lattice or None
        The values that labels take, if they are few and equally far apart, as grades: predicted quantiles are such
        values. Also the levels at which intervals between them hold as many labels as they say, on average. None for
        other labels.
    oof_prediction_ : Prediction
        Out-of-fold predictions of the training rows; of a large table, predictions of the rows left out.
    contamination_ : float
        Estimated share of wrong labels; NaN if there were too few rows.
    separation_ : ContaminationEstimate or None
        The estimate behind `contamination_`, with its standard error.
    judge_ : AutoRegressor
        Only for tables of 100,000 rows or more: the model of a sample of the rows, by which `audit` judges labels.
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
    >>> model = AutoRegressor(n_members=1, random_state=0).fit(X, y)
    >>> bool(model.comparison_.trees < model.comparison_.network)
    True
    """

    _fitted_attribute = "estimators_"
    _keeps_fold_models = False  # True while a judge of a large table is fitted
    estimators_: list[Fitted]
    comparison_: Comparison | None
    combination_: Combination | None
    repeats_: Repeats | None
    lattice_: Lattice | None
    target_transform_: Transform | None
    target_transform_reason_: str
    _parameter_constraints: ClassVar[Constraints] = {
        "n_members": [Whole(1)],
        "target_transform": TARGET_TRANSFORM,
        "monotonic_cst": ["array-like", dict, None],
        "time_limit": TIME_LIMIT,
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        n_members: int = 5,
        *,
        target_transform: TargetTransform = "auto",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        time_limit: float | None = None,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: bool | int = False,
    ) -> None:
        self.n_members = n_members
        self.target_transform = target_transform
        self.monotonic_cst = monotonic_cst
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: Weights = None, *, groups: Any = None, cv: Any = None
    ) -> Self:
        """Fit networks and trees, and learn how to combine them from their out-of-fold predictions.

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
            Folds of the fold models, as in scikit-learn. By default, folds depend on the content of the rows, or on
            `groups`.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._validate_params()
        clock = Clock(self.time_limit)
        if _large.fits_sparse(self, X, y, sample_weight, groups, cv):
            return self
        X = frames.collected(X)
        values, labels, weight = self._checked(X, y, sample_weight, reset=True)
        table = self._shared(X, values)
        del self.columns_  # those of the estimators are used
        counted = labels if weight is None else labels[weight > 0]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.__dict__.pop("judge_", None)  # of an earlier fit to a large table
        if _large.applies(len(labels), groups, cv):
            _large.fit(self, X, labels, weight, seed)
            return self
        kinds = self._kinds(seed)
        self.reason_ = ""
        constrained = bool(_check_monotonic_cst(self, self.monotonic_cst).any())
        pilot = clone(kinds[0]).set_params(**_PILOT) if available("lightgbm") or constrained else kinds[1]
        pilot.set_params(target_transform=self.target_transform)
        self.target_transform_, self.target_transform_reason_ = pilot._chosen_scale(
            table, labels, weight, groups, cv, also=() if constrained else kinds[3:]
        )
        for model in kinds:
            model.set_params(target_transform=self.target_transform_)
        if constrained:
            self.reason_ = "trees, because networks cannot keep the signs of monotonic_cst"
        elif not available("lightgbm"):
            self.reason_ = (
                f"networks, because trees need LightGBM, which is not installed: {install('boosting')}"
            )
        elif len(counted) < 2 * LEAST_ROWS:
            self.reason_ = f"networks, because a comparison with trees needs at least {2 * LEAST_ROWS} rows"
        elif (counted == counted[0]).all():
            self.reason_ = (
                f"networks, because all labels are {counted[0]:g}, so that there is nothing to compare"
            )
        used = slice(0, None) if not self.reason_ else slice(0, 1) if constrained else slice(1, None)
        kinds = kinds[used]
        for model, time in zip(kinds, _TIMES[used], strict=True):
            self._limit(model, table, labels, clock.part(time / sum(_TIMES[used])))
        self.estimators_ = kinds
        self._fit_together(table, labels, weight, groups, cv)
        for model in self.estimators_:
            model._forget_optimizers()
        self._combine(table, labels, weight)
        return self

    @staticmethod
    def _limit(model: Fitted, table: CheckedTable, labels: FloatArray, clock: Clock) -> None:
        """Let a model use the time of a clock: trees stop by themselves, networks get a number of epochs."""
        if isinstance(model, GCPBoostingRegressor):
            model.set_params(time_limit=max(clock.left, 1e-3) if clock.limited else None)
        elif clock.limited:
            within = epochs_within(model, table, labels, clock.left)
            model.set_params(max_iter=min(model._epochs(len(labels)), within))

    def _kinds(self, seed: int) -> list[Fitted]:
        """The unfitted models: trees, and networks for sharp, for smooth and for linear functions."""
        common: dict[str, Any] = {"random_state": seed, "n_jobs": self.n_jobs, "verbose": self.verbose}
        trees = GCPBoostingRegressor(
            n_members=max(1, self.n_members // 2), monotonic_cst=self.monotonic_cst, **common
        )
        if self._keeps_fold_models:
            trees._keeps_fold_models = True
        return [
            trees,
            GCPRegressor(
                n_members=self.n_members, input_scaling="piecewise", weight_decay=_WEIGHT_DECAY, **common
            ),
            GCPRegressor(n_members=self.n_members, input_scaling="robust", activation="silu", **common),
            GCPRegressor(n_members=self.n_members, hidden_layer_sizes=(), dropout=0.0, **common),
        ]

    def _fit_together(
        self, X: CheckedTable, y: FloatArray, weight: FloatArray | None, groups: Any, cv: Any
    ) -> None:
        """Fit the models; the labels are judged by the fold models of all of them, before members are finished."""
        unit = find_step(y if weight is None else y[weight > 0])
        networks = [model for model in self.estimators_ if isinstance(model, GCPRegressor)]
        for model in networks:
            model._label_step = unit
        steps = [model._fit_steps(X, y, weight, groups, cv) for model in self.estimators_]
        judged = [one for one in map(_steps.first, steps) if one is not None]
        wrong = self._judged_together(judged, weight) if len(judged) == len(steps) else None
        for one in steps:
            _steps.finish(one, wrong)
        for model in networks:
            del model._label_step

    @staticmethod
    def _judged_together(judged: list[FirstStep], weight: FloatArray | None) -> FloatArray | None:
        """Probability that each label is wrong, by all models; 0 for rows without a weight."""
        weight = np.ones(len(judged[0].y)) if weight is None else weight
        counts = weight > 0
        held_out = HeldOut(
            y=judged[0].y[counts],
            means=np.array([one.mean[counts] for one in judged]),
            variances=np.array([one.variance[counts] for one in judged]),
            qualities=np.array([one.quality[counts] for one in judged]),
            weight=weight[counts] / weight[counts].mean(),
            chance=np.zeros(len(judged)),
        )
        found = combination.probably_wrong(held_out)
        wrong = np.zeros(len(weight))
        if found is None:
            return None
        wrong[counts] = found
        return wrong

    def _trees_of(self, X: Any, y: FloatArray, sample_weight: Weights, seed: int) -> GCPBoostingRegressor:
        """The trees, fitted to rows on the scale of the labels; those of the estimators if they have a weight."""
        known = [model for model in self.estimators_ if isinstance(model, GCPBoostingRegressor)]
        trees = self._kinds(seed)[0].set_params(target_transform=self.target_transform_)
        return known[0] if known else cast(GCPBoostingRegressor, trees.fit(X, y, sample_weight))

    def _combine(self, X: Any, y: FloatArray, weight: FloatArray | None) -> None:
        """Learn the combination, and leave out models of little weight."""
        self.comparison_, self.combination_, self.separation_ = None, None, self.estimators_[0].separation_
        self.repeats_, self.lattice_ = None, None
        why = ""
        if y.min() < y.max() and all(hasattr(model, "oof_prediction_") for model in self.estimators_):
            held_out = self._held_out(X, y, weight)
            weights = combination.stacking_weights(held_out)
            why = self._compare(held_out, weights) if not self.reason_ else ""
            kept = combination.chosen_models(weights)
            self.estimators_ = [self.estimators_[k] for k in kept]
            transformed = self.target_transform_ is not None
            learnt, separation = combination.learn(held_out.only(kept), transformed=transformed)
            if separation is not None:
                self.combination_, self.separation_ = learnt, separation
                self._learn_labels(X, y, weight, held_out.only(kept))
        trees = [isinstance(model, GCPBoostingRegressor) for model in self.estimators_]
        self.chosen_ = "both" if len({*trees}) == 2 else "trees" if trees[0] else "network"
        self.reason_ = self.reason_ or f"{_NAMES[self.chosen_]}{why}"

    def _learn_labels(self, X: Any, y: FloatArray, weight: FloatArray | None, held_out: HeldOut) -> None:
        """What labels of rows with equal inputs have in common, and whether labels lie on a lattice."""
        assert self.combination_ is not None
        assert self.separation_ is not None
        mean, variance = self.combination_.pooled(held_out.means, held_out.variances)
        clean = 1 - self.separation_.probability(held_out.y - mean, variance)
        counts = np.ones(len(y), dtype=bool) if weight is None else weight > 0
        ratio = self.separation_.variance_ratio
        labels = repeats.Labels(held_out.y, mean, variance * ratio, clean)
        self.repeats_ = repeats.learn(self._keys(X)[counts], labels)
        self.lattice_ = find_lattice(y[counts], clean)
        if self.lattice_ is not None:
            unseen = LatticePrediction(self.oof_prediction_[counts], self.lattice_)
            self.lattice_ = learn_levels(unseen, y[counts], clean * held_out.weight)

    def _keys(self, X: Any) -> repeats.Keys:
        """A hash of the inputs of each row."""
        table = self.estimators_[0]._checked_inputs(X, reset=False)
        return _preparation.row_keys(table, np.zeros(len(table)), seed=0)

    def _held_out(self, X: Any, y: FloatArray, weight: FloatArray | None) -> HeldOut:
        """The rows with a weight, predicted by models that have not seen their labels."""
        unseen = [model.oof_prediction_.latent for model in self.estimators_]
        weight = np.ones(len(y)) if weight is None else weight
        counts = weight > 0
        weight = weight / weight[counts].mean()
        some = self._some_rows(counts)
        rows = frames.take(X, some)
        spread = [model.predict_dist(rows).latent.epistemic_var for model in self.estimators_]
        chance = [np.average(part, weights=weight[some]) for part in spread]
        return HeldOut(
            y=self.estimators_[0]._on_scale(y)[counts],
            means=np.array([one.mean[counts] for one in unseen]),
            variances=np.array([one.var[counts] for one in unseen]),
            qualities=np.array([model._label_quality(y)[counts] for model in self.estimators_]),
            weight=weight[counts],
            chance=np.array(chance),
        )

    def _some_rows(self, counts: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Rows that count, at most as many as a mean needs, chosen by their content."""
        rows = np.flatnonzero(counts)
        if len(rows) <= _ROWS_OF_MEAN:
            return rows
        keys = self.estimators_[0]._row_keys[rows]
        return np.sort(rows[np.argsort(keys, kind="stable")[:_ROWS_OF_MEAN]])

    def _compare(self, held_out: HeldOut, weights: FloatArray) -> str:
        """Compare networks, trees, and all of them, each with their weights; return the result in words."""
        networks = held_out.only(range(1, len(weights)))
        errors = Comparison(
            held_out.error(np.array([0.0, *combination.stacking_weights(networks)])),
            held_out.error(np.eye(len(weights))[0]),
            held_out.error(weights),
        )
        self.comparison_ = errors
        scale = self.target_transform_
        where = "" if scale is None else f" (on a {scale.name} scale)"
        return (
            f", with weights of {1 - weights[0]:.0%} for networks and {weights[0]:.0%} for trees: the error on "
            f"held-out rows{where} is {errors.both:.4g}, against {errors.network:.4g} for networks and "
            f"{errors.trees:.4g} for trees"
        )

    @property
    def feature_importances_(self) -> FloatArray:
        """Importance of each column: the weighted mean of those of the estimators."""
        parts = np.array([model.feature_importances_ for model in self._fitted()])
        known = self._combination
        weights = np.full(len(parts), 1 / len(parts)) if known is None else known.weights
        return np.asarray(np.sum(weights[:, None] * parts, axis=0))

    @property
    def oof_prediction_(self) -> Prediction:
        """Out-of-fold predictions of the training rows."""
        return self._combined([model.oof_prediction_ for model in self._fitted()], held_out=True)

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
        models = self._fitted()
        table = models[0]._shared(X, models[0]._checked_inputs(X, reset=False))
        parts = [model._predict_table(model._checked_inputs(table, reset=False)) for model in models]
        found = self._combined(parts, table)
        lattice = getattr(self, "lattice_", None)  # files of earlier versions have none
        return found if lattice is None else LatticePrediction(found, lattice)

    def _sliceable(self, X: Any) -> CheckedTable:
        return self._fitted()[0]._sliceable(X)

    def _combined(
        self, predictions: list[Prediction], X: Any = None, *, held_out: bool = False
    ) -> Prediction:
        if self._combination is None or self.separation_ is None:
            return mixture(predictions)
        kept = [1.0 if held_out else 1 - model.disagreement_ for model in self.estimators_]
        latent = [prediction.latent for prediction in predictions]
        joint = self._combination.predict(latent, kept, self.separation_.variance_ratio)
        known = getattr(self, "repeats_", None)  # files of earlier versions have none
        if known is not None and X is not None:
            joint = known.update(joint, self._keys(X))
        scale = predictions[0].transform
        return joint if scale is None else TransformedPrediction(joint, scale)

    @property
    def _combination(self) -> Combination | None:
        """None also for models of version 0.1, whose members had equal weights."""
        return getattr(self, "combination_", None)

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
        models, judge = self._fitted(), getattr(self, "judge_", None)
        if judge is not None:  # the trees of a large table have seen its labels
            return cast(Audit, judge.audit(X, y, false_alarm_rate))
        if len(models) == 1 and self._combination is None:
            return models[0].audit(X, y, false_alarm_rate)
        found = unseen(self, X, y)
        return Audit.from_residuals(
            found.given,
            found.mean,
            found.variance,
            alpha=found.alpha,
            separation=self.separation_,
            false_alarm_rate=false_alarm_rate,
            transform=getattr(self, "target_transform_", None),
        )

    def _unseen(self, X: Any, y: ArrayLike) -> Unseen:
        """Labels, and predictions by which they are judged, of all models together."""
        models = self._fitted()
        values, labels, _ = models[0]._checked(X, y, None, reset=False)
        table = models[0]._shared(X, values)
        return Unseen.joined(self._unseen_rows(table[rows], labels[rows]) for rows in slices(values.shape))

    def _unseen_rows(self, table: CheckedTable, labels: FloatArray) -> Unseen:
        models = self._fitted()
        parts = [model._unseen(table, labels) for model in models]
        variances = [part.variance * model._variance_ratio for part, model in zip(parts, models, strict=True)]
        joint = self._pooling.pooled(np.array([part.mean for part in parts]), np.array(variances))
        return Unseen(labels, *joint, np.min([part.alpha for part in parts], axis=0))

    def contributions(self, X: Any, background: Any = None, random_state: int = 0) -> Contributions:
        """By how much each column moves the mean and the spread of every row.

        Contributions are Shapley values by sampling: 24 rows of the background are turned into the row, one column
        after another in random order. This takes 24·(n_features + 1) predictions for each row. Explained is the
        prediction of the models, without what `repeats_` adds for rows with the inputs of training rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        background : array-like or frame of shape (n_rows, n_features), default=None
            Rows to compare with; by default X.
        random_state : int, default=0
            Seed.

        Returns
        -------
        Contributions
            Contributions to the mean and to ln std, on the scale on which the model learns.
        """
        return sampled(self._fitted(), self._combined, X, background, random_state)

    @property
    def _pooling(self) -> Combination:
        """How means and variances of the models become one; with equal weights if nothing was learnt."""
        n = len(self.estimators_)
        return self._combination or Combination(np.full(n, 1 / n))

    @property
    def _fills_gaps(self) -> bool:
        return any(model._fills_gaps for model in self._fitted())

    def _fitted(self) -> list[Fitted]:
        self._check_is_fitted()
        return self.estimators_
