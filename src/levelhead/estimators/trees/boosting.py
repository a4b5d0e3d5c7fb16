"""Boosted trees with a GCP head: robust mean and variance of the clean labels, for raw tables."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_monotonic_cst, check_is_fitted

from levelhead.audits import LEAST_ROWS, Contributions
from levelhead.engine.elementwise import exp, prognostic_variance
from levelhead.estimators import _large, _out_of_fold, _preparation, _steps
from levelhead.estimators._base import AuditedRegressor, Decoded
from levelhead.estimators._clock import TIME_LIMIT, VERBOSE, Clock
from levelhead.estimators._constraints import CONTAMINATION, N_JOBS, Whole, n_threads
from levelhead.estimators._contributions import names, scale_name
from levelhead.estimators._label_scale import TARGET_TRANSFORM
from levelhead.estimators._out_of_fold import Splitting
from levelhead.estimators._preparation import Rows, Scale
from levelhead.estimators._separating import is_noiseless
from levelhead.estimators._steps import FirstStep, Steps
from levelhead.estimators._tables import CheckedTable, Location, TrainingTable
from levelhead.estimators._types import (
    Constraints,
    Contamination,
    FloatArray,
    Seed,
    Table,
    TargetTransform,
    Weights,
)
from levelhead.estimators.trees import categories, growing
from levelhead.estimators.trees import forest as forests
from levelhead.estimators.trees.forest import Forest, lightgbm
from levelhead.estimators.trees.growing import Grown, Growth, Shape
from levelhead.prediction import Prediction
from levelhead.progress import reporter
from levelhead.tables.encoding import frames
from levelhead.tables.encoding.columns import Columns
from levelhead.tables.encoding.levels import FIRST, UNKNOWN
from levelhead.theory.elementary import log

_FOLDS = 5
_FEW = 10  # different rows; with fewer, none are held out
_PASSES_OF_FEW = 4
_LEAVES, _MORE_LEAVES, _MANY_ROWS = 15, 31, 5000
# In a leaf of few rows, most labels may be wrong by chance: if many labels are wrong, leaves of ln s need more rows.
_SCALE_ROWS, _MORE_SCALE_ROWS, _VERY_MANY_WRONG = 20, 80, 0.25
_THREADED_ROWS = 20_000  # with fewer, threads are slower than one thread
_LARGEST_TARGET = 1e6  # in spreads; labels are clipped here
_FOLDS_TIME = 0.5  # share of a time limit for the fold models
_UP_TO_1 = Interval(Real, 0, 1, closed="right")


class GCPBoostingRegressor(AuditedRegressor):
    """Robust probabilistic regression by boosted trees with a Student's t.

    Trees give the location m and the scale s of a Student's t with one α for all rows. Five fold models are trained
    together, each without one fold of the rows. Every label gets its weight from the fold model that was not trained
    on it, so a tree cannot fit a wrong label and then accept it. The members then learn m from all rows, with a
    smaller weight for labels that are probably wrong. The prediction describes the **clean** labels: mean m and the
    prognostic variance σ/(α − A(α)), equation (6), calibrated on the held-out rows.

    In tables of 100,000 rows or more, labels are judged by a model of a sample of 50,000 rows, unless `groups` or
    `cv` is given; there is one member then, fitted to all rows but one in twenty, which calibrate its variance.

    Missing values (NaN) and columns of categories need no preparation. Needs the extra `boosting` (LightGBM).

    Parameters
    ----------
    learning_rate : float, default=0.05
        Learning rate of the members' trees, above 0 and at most 1.
    max_iter : int, default=1000
        Largest number of trees of a member; a robust score on held-out rows stops training earlier.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves of a tree for m. None uses 15, or 31 from 5,000 rows on.
    min_samples_leaf : int, default=3
        Smallest number of rows in a leaf of m, counted by the weights of their labels.
    max_features : float, default=0.6
        Share of the features that are candidates at a split.
    subsample : float, default=0.8
        Share of the rows that are used for a tree.
    n_iter_no_change : int, default=40
        Number of rounds without a better score on held-out rows before training stops.
    n_members : int, default=1
        Number of boosted models in the ensemble; they differ by their random numbers.
    contamination : float, "auto" or None, default="auto"
        Share of wrong labels, from 0 to below 1. "auto" estimates it. With a number or "auto", the variance is
        calibrated on held-out residuals. With None, it is not calibrated.
    target_transform : {"auto", "log", "yeo-johnson"}, transformer or None, default=None
        Scale of the labels on which the model learns; predictions are in the units of y. "auto" chooses on held-out
        rows. A transformer has `transform` and `inverse_transform` and is monotone. None is the scale of y itself.
    categorical_features : "from_dtype", list of int or str, or None, default="from_dtype"
        Columns of categories, by position or name. "from_dtype" selects the columns of a frame that hold categories or
        text.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        Signs of the effects of columns on the mean, as in scikit-learn: 1 for increasing, −1 for decreasing, 0 for any.
        A dict maps names of columns to signs. Every tree keeps them, on the scale of `target_transform`, and so the
        median does in the units of y. Columns of categories, dates or text take none.
    time_limit : float or None, default=None
        Approximate limit of the time of a fit, in seconds. Training then stops with fewer trees, and how many depends
        on the machine. None is no limit.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed gives the same model, for any order of the rows and any number of threads.
    n_jobs : int or None, default=-1
        Number of threads; -1 means all cores.
    verbose : bool or int, default=False
        Whether to write the progress to standard error.

    Attributes
    ----------
    mean_forests_ : list of Forest
        Trees for m, one forest for each member.
    scale_forests_ : list of Forest
        Trees for ln s, one forest for each fold model; their mean is used.
    shape_ : Shape
        Offset and slope of ln s, and ln α.
    oof_prediction_ : Prediction
        Out-of-fold predictions of the training rows; of a large table, predictions of the rows left out.
    contamination_ : float
        Share of wrong labels, estimated or given; NaN if `contamination=None` or there were too few rows.
    separation_ : ContaminationEstimate or None
        The estimate behind `contamination_`, with its standard error.
    calibration_ : Calibration
        Map from a fold model's variance to the variance calibrated on held-out rows.
    target_scale_ : Scale
        Center and spread of the labels.
    target_transform_ : Transform or None
        Scale of the labels.
    target_transform_reason_ : str
        The reason for this scale, in one sentence.
    n_iter_ : int
        Number of trees of a member.
    loss_curve_ : list of float
        Mean −ln t of the held-out labels after each round.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Importance of each column for the mean, with the sum 1: its share of the decrease of the squared error, each
        label with its final weight.
    categories_ : dict of int to list
        Categories of each categorical column, by its position.
    columns_ : Columns or None
        What the columns of a frame with categories, dates or text hold; None for other tables.
    encoding_ : Encoding or None
        How a table becomes inputs; None if it is used as it is.
    judge_ : GCPBoostingRegressor
        Only for tables of 100,000 rows or more: the model of a sample of the rows, by which `audit` judges labels.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X was a frame with string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from levelhead import GCPBoostingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(400, 1))
    >>> y = np.sign(X[:, 0]) + 0.1 * rng.normal(size=400)
    >>> y[::20] += 5  # one label in twenty is wrong
    >>> model = GCPBoostingRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0] - 1) < 0.1), bool(0.07 < std[0] < 0.16)
    (True, True)
    """

    _fitted_attribute = "mean_forests_"
    _reader = "trees"
    _keeps_fold_models = False  # whether these are the members, as in the judge of a large table
    mean_forests_: list[Forest]
    scale_forests_: list[Forest]
    shape_: Shape
    _parameter_constraints: ClassVar[Constraints] = {
        "learning_rate": [_UP_TO_1],
        "max_iter": [Whole(1)],
        "max_leaf_nodes": [Whole(2), None],
        "min_samples_leaf": [Whole(1)],
        "max_features": [_UP_TO_1],
        "subsample": [_UP_TO_1],
        "n_iter_no_change": [Whole(1)],
        "n_members": [Whole(1)],
        "contamination": CONTAMINATION,
        "target_transform": TARGET_TRANSFORM,
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "monotonic_cst": ["array-like", dict, None],
        "time_limit": TIME_LIMIT,
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    def __init__(
        self,
        learning_rate: float = 0.05,
        *,
        max_iter: int = 1000,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 3,
        max_features: float = 0.6,
        subsample: float = 0.8,
        n_iter_no_change: int = 40,
        n_members: int = 1,
        contamination: Contamination = "auto",
        target_transform: TargetTransform = None,
        categorical_features: Literal["from_dtype"] | Sequence[int | str] | None = "from_dtype",
        monotonic_cst: ArrayLike | dict[str, int] | None = None,
        time_limit: float | None = None,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: bool | int = False,
    ) -> None:
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.subsample = subsample
        self.n_iter_no_change = n_iter_no_change
        self.n_members = n_members
        self.contamination = contamination
        self.target_transform = target_transform
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: Weights = None, *, groups: Any = None, cv: Any = None
    ) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs: numbers, missing values (NaN), and categories in the columns of `categorical_features`.
        y : array-like of shape (n_samples,)
            Labels, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of at least 0. A row of weight 3 counts like three copies of it, a row of weight 0 not at all.
        groups : array-like of shape (n_samples,), default=None
            Rows with equal entries belong together, as visits of one patient: they fall into one fold.
        cv : int, splitter or iterable, default=None
            Folds of the fold models, as in scikit-learn. By default there are five, which depend on the content of the
            rows, or on `groups`.

        Returns
        -------
        self
            The fitted estimator.
        """
        steps = self._fit_steps(X, y, sample_weight, groups, cv)
        _steps.first(steps)
        _steps.finish(steps)
        return self

    def _fit_steps(self, X: Any, y: ArrayLike, sample_weight: Weights, groups: Any, cv: Any) -> Steps:
        self._validate_params()
        lightgbm()
        clock = Clock(self.time_limit)
        if _large.fits_sparse(self, X, y, sample_weight, groups, cv):
            return
        source = frames.collected(X)
        X, y, weight = self._checked(source, y, sample_weight, reset=True)
        self._stream = seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.__dict__.pop("judge_", None)  # of an earlier fit to a large table
        if _large.applies(len(y), groups, cv):
            _large.fit(self, source, y, weight, seed)
            return
        rows = _preparation.arrange(X, y, weight, seed)
        self._row_keys = rows.key
        y = self._unrounded(X, y, rows)
        splitting = Splitting(groups, cv).checked(len(y))
        self._learn_label_scale(X, y, rows, splitting, seed)
        self._reset_contamination()
        visits, many = rows.index, rows.n_groups >= _FEW
        table = self._training_table(X, self._on_scale(y), rows, splitting if many else Splitting())
        learnt = self._learnt_labels(table)
        self.target_scale_, labels, given = learnt.scale, learnt.labels, learnt.weight
        inputs, growth = learnt.inputs[visits], self._growth(len(visits))
        if not many:
            growth = replace(growth, row_share=1.0)
            grown, weight = self._without_folds(len(labels)), given
        else:
            rounds = partial(
                growing.grow, inputs, labels, given, table.folds.at(visits), seed=seed, by_fold=learnt.by_fold
            )
            grown, calibrated = self._learn_from_held_out(labels, rounds, growth, rows.n_groups, clock)
            wrong = self._wrong(labels, grown, calibrated)
            if wrong is not None:
                left = clock.left if clock.limited else None
                judged = yield self._first_step(table, grown, wrong)
                clock = Clock(left)  # without the time that other models took in between
                wrong = wrong if judged is None else judged[visits]
            weight = given * self._label_weights(labels, grown, wrong)
        self.shape_, self.scale_forests_ = grown.shape, grown.scale_forests
        self.mean_forests_ = grown.mean_forests or self._members(
            inputs, labels, weight, growth, grown.n_passes, seed, clock
        )
        self.n_iter_, self.loss_curve_ = self.mean_forests_[0].n_trees, grown.scores
        self.feature_importances_ = self._importances(table, learnt, weight)
        if rows.n_groups >= LEAST_ROWS:
            self._predict_training_rows(learnt.inputs, visits, grown, self._held_out_location(table))

    def _predict_table(self, X: Table) -> Prediction:
        mean, trees = self._sums(self._inputs(X))
        return self._predicted(self._decoded(mean, self.shape_.log_scale(trees)), self._location(X))

    def contributions(self, X: Any, background: Any = None, random_state: int = 0) -> Contributions:
        """By how much each column moves the mean and the spread of every row.

        They are Shapley values of the trees, exact and with the training rows as the background (LightGBM's
        `pred_contrib`).

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        background : array-like or frame of shape (n_rows, n_features), default=None
            Rows to compare with; by default X. Not used by trees.
        random_state : int, default=0
            Seed. Not used by trees.

        Returns
        -------
        Contributions
            Contributions to the mean and to ln std, on the scale on which the model learns.
        """
        check_is_fitted(self, self._fitted_attribute)
        return self._explained(self._checked_inputs(X, reset=False))

    def _explained(self, X: Table) -> Contributions:
        inputs, threads = self._inputs(X), n_threads(self) if len(X) >= _THREADED_ROWS else 1
        parts = np.zeros((2, len(X), self.n_features_in_ + 1))
        places = [*self._columns_of_inputs(), self.n_features_in_]
        factor = self.target_scale_.spread, self.calibration_.power * self.shape_.slope
        for k, ensemble in enumerate((self.mean_forests_, self.scale_forests_)):
            for forest in ensemble:
                found = forest.contributions(inputs, threads) * (factor[k] / len(ensemble))
                np.add.at(parts[k].T, places, found.T)
        latent = self._predict_table(X).latent
        left = np.stack([latent.mean, 0.5 * log(latent.aleatoric_var)]) - parts.sum(axis=2)
        # What the trees do not add is the same for all rows, but for the offset of a category.
        base = left[:, 0]
        if self.encoding_ is not None and self.encoding_.offset is not None:
            usual = self.encoding_.offsets(np.full((1, self.n_features_in_), float(UNKNOWN - FIRST)))[0][0]
            base = np.array([left[0, 0] - self.encoding_.offsets(X[:1])[0][0] + usual, np.median(left[1])])
            parts[:, :, self.encoding_.offset.column] += left - base[:, None]
        mean, log_std = (part[:, :-1] for part in parts)
        base_mean, base_log_std = (base + parts[:, 0, -1]).tolist()
        columns = names(self, self.n_features_in_)
        return Contributions(mean, log_std, base_mean, base_log_std, columns, scale_name(self))

    # ------------------------------------------------------------------ learning

    def _training_table(
        self, X: Table, labels: FloatArray, rows: Rows, splitting: Splitting
    ) -> TrainingTable:
        return TrainingTable(X, labels, rows, _out_of_fold.assign(rows, _FOLDS, splitting, X, labels))

    def _learnt_labels(self, table: TrainingTable) -> "_Labels":
        """Learn the encoding, and scale what the trees learn."""
        self._learn_encoding(table)
        inputs, left = self._encoded(table)
        rows, by_fold = table.rows, None
        scale = _preparation.target_scale(left, rows, "robust")
        if self.encoding_ is not None and self.encoding_.offset is not None:
            each = [self._encoded(table, k)[1][rows.index] for k in range(table.folds.n)]
            by_fold = np.stack([_scaled(labels, scale) for labels in each], axis=1)
        weight = (
            np.ones(len(rows.index)) if rows.weight is None else rows.weight[rows.index].astype(np.float64)
        )
        return _Labels(scale, inputs, _scaled(left[rows.index], scale), weight, by_fold)

    def _learnt_rows(self, X: Any, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Inputs and labels in the units of the fitted trees, for rows that the encoding was not learnt from."""
        table = self._checked_inputs(X, reset=False)
        labels, location = self._on_scale(y), self._location(table)
        labels = labels if location is None else labels - location.mean
        return np.asarray(self._inputs(table), dtype=np.float64), _scaled(labels, self.target_scale_)

    def _held_out(
        self, X: Table, y: FloatArray, rows: Rows, splitting: Splitting, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Out-of-fold means and variances of the fold models, in the units of the given labels."""
        visits, table = rows.index, self._training_table(X, y, rows, splitting)
        learnt = self._learnt_labels(table)
        grown = growing.grow(
            learnt.inputs[visits],
            learnt.labels,
            learnt.weight,
            table.folds.at(visits),
            growth=self._growth(len(visits)),
            seed=seed,
            by_fold=learnt.by_fold,
        )
        mean, variance = np.full(len(y), np.nan), np.full(len(y), np.nan)
        mean[visits] = grown.mean * learnt.scale.spread + learnt.scale.center
        variance[visits] = self._fold_variance(grown) * learnt.scale.spread**2
        location = self._held_out_location(table)
        return (mean, variance) if location is None else (mean + location.mean, variance + location.variance)

    def _growth(self, n: int) -> Growth:
        leaves = _LEAVES if n < _MANY_ROWS else _MORE_LEAVES
        return Growth(
            rate=self.learning_rate,
            n_trees=self.max_iter,
            leaves=leaves if self.max_leaf_nodes is None else self.max_leaf_nodes,
            rows_in_leaf=self.min_samples_leaf,
            rows_in_scale_leaf=_SCALE_ROWS,
            feature_share=self.max_features,
            row_share=self.subsample,
            patience=self.n_iter_no_change,
            n_threads=n_threads(self) if n >= _THREADED_ROWS else 1,
            categorical=list(self.categories_) if self.encoding_ is None else self.encoding_.categories,
            monotone=self._monotone(),
        )

    def _monotone(self) -> list[int]:
        """The sign of the effect of every input of the trees."""
        signs = _check_monotonic_cst(self, self.monotonic_cst).tolist()
        for column in np.flatnonzero(signs).tolist():
            kind = "category" if column in self.categories_ else "number"
            kind = kind if self.columns_ is None else self.columns_.columns[column].kind
            if kind != "number":
                names = getattr(self, "feature_names_in_", range(self.n_features_in_))
                raise ValueError(
                    f"monotonic_cst has a sign for column {names[column]!r}, which holds no numbers (kind: {kind}); "
                    "set it to 0"
                )
        return [signs[k] for k in self._columns_of_inputs()]

    def _columns_of_inputs(self) -> list[int]:
        """The column of X that every input of the trees comes from."""
        if self.encoding_ is None:
            return list(range(self.n_features_in_))
        return [feature.column for feature in self.encoding_.features]

    def _without_folds(self, n: int) -> Grown:
        """Too few rows to hold any out: a few trees, and the spread of the labels as the scale."""
        zeros = np.zeros(n)
        return Grown(zeros, zeros, Shape(0.0, 0.0, 0.0), [], [], min(_PASSES_OF_FEW, self.max_iter), [])

    def _learn_from_held_out(
        self, labels: FloatArray, grow: Callable[..., Grown], growth: Growth, n_groups: int, clock: Clock
    ) -> tuple[Grown, FloatArray | None]:
        """Train the fold models; learn calibration and share of wrong labels from their held-out residuals.

        Returns the calibrated variances too, or None if the share cannot be estimated.
        """
        grow = partial(grow, report=reporter(self), keep=self._keeps_fold_models)
        grown = grow(growth=growth, clock=clock.part(_FOLDS_TIME))
        if self.contamination is None or n_groups < LEAST_ROWS or is_noiseless(labels, grown.mean):
            return grown, None
        calibrated = self._separate(labels, grown.mean, self._fold_variance(grown))
        if self.separation_ is not None and self.separation_.contamination > _VERY_MANY_WRONG:
            larger = replace(growth, rows_in_scale_leaf=_MORE_SCALE_ROWS)
            grown = grow(growth=larger, clock=clock.part(_FOLDS_TIME))
            calibrated = self._separate(labels, grown.mean, self._fold_variance(grown))
        return grown, calibrated

    def _fold_variance(self, grown: Grown) -> FloatArray:
        log_s = grown.shape.log_scale(grown.trees)
        variance: FloatArray = self._decoded(grown.mean[None], log_s, grown.shape).variance[0]
        return variance

    def _wrong(self, labels: FloatArray, grown: Grown, calibrated: FloatArray | None) -> FloatArray | None:
        """Probability that each label is wrong; None if no share of wrong labels was estimated."""
        if self.separation_ is None or calibrated is None:
            return None
        return self.separation_.probability(labels - grown.mean, calibrated)

    def _first_step(self, table: TrainingTable, grown: Grown, wrong: FloatArray) -> FirstStep:
        """What the fold models predict for the labels, before the members are trained."""
        visits, location = table.rows.index, self._held_out_location(table)
        mean, variance, quality = np.full((3, len(table.labels)), np.nan)
        latent = self._latent(
            self._decoded(grown.mean[None], grown.shape.log_scale(grown.trees), grown.shape), None
        )
        mean[visits], variance[visits], quality[visits] = latent.mean, latent.var, 1 - wrong
        if location is not None:
            mean, variance = mean + location.mean, variance + location.variance
        return FirstStep(table.labels, mean, variance, quality)

    def _label_weights(self, labels: FloatArray, grown: Grown, wrong: FloatArray | None) -> FloatArray:
        """Weight of each label in the members' trees, from the probability that it is wrong."""
        z, log_s, alpha = labels - grown.mean, grown.shape.log_scale(grown.trees), grown.shape.alpha
        if wrong is None:
            return growing.residual_ratios(z, log_s, alpha).near
        return growing.label_trust(wrong, z * exp(-log_s), alpha)

    def _members(
        self,
        X: Table,
        labels: FloatArray,
        weight: FloatArray,
        growth: Growth,
        n_passes: int,
        seed: int,
        clock: Clock,
    ) -> list[Forest]:
        at_once = growth.n_threads == 1 and self.n_members > 1
        report = reporter(self)

        def train(k: int) -> Forest:
            until = clock.part(1.0 if at_once else 1 / (self.n_members - k))
            callbacks = [growing.report_trees(f"trees of member {k + 1} of {self.n_members}", report)]
            if until.limited:
                callbacks.append(growing.stop_at_the_end(until))
            return growing.finish(X, labels, weight, growth, n_passes, (seed + k) % 2**31, callbacks)

        if not at_once:
            return [train(k) for k in range(self.n_members)]
        with ThreadPoolExecutor(n_threads(self)) as pool:
            return list(pool.map(train, range(self.n_members)))

    def _importances(self, table: TrainingTable, learnt: "_Labels", weight: FloatArray) -> FloatArray:
        """Share of every column in the decrease of the squared error: by splits, and by the offset, if there is one."""
        total = np.zeros(self.n_features_in_)
        gains = np.mean([forest.gains for forest in self.mean_forests_], axis=0)
        # A step of rate r along a split keeps (1 − r)² of the squared error that the split explains.
        np.add.at(total, self._columns_of_inputs(), gains * self.learning_rate * (2 - self.learning_rate))
        if self.encoding_ is not None and self.encoding_.offset is not None:
            visits = table.rows.index
            before = _squares(_scaled(table.labels[visits], learnt.scale), weight)
            total[self.encoding_.offset.column] += max(before - _squares(learnt.labels, weight), 0.0)
        return total / (total.sum() or 1.0)

    def _predict_training_rows(
        self, X: FloatArray, visits: NDArray[np.int64], grown: Grown, location: Location | None
    ) -> None:
        mean, trees = np.full(len(X), np.nan), np.full(len(X), np.nan)
        mean[visits], trees[visits] = grown.mean, grown.trees
        never = np.isnan(mean)  # rows of weight 0, which no fold model predicts
        if never.any():
            members, trees[never] = self._sums(X[never])
            mean[never] = members.mean(axis=0)
        decoded = self._decoded(mean[None], self.shape_.log_scale(trees))
        self.oof_prediction_ = self._predicted(decoded, location)
        if len(self.mean_forests_) > 1 and self.separation_ is not None:
            members, _ = self._sums(X[visits])
            relative = (
                members.var(axis=0) * self.target_scale_.spread**2 / self.oof_prediction_.latent.var[visits]
            )
            self.disagreement_ = float(min(np.median(relative), 0.5))

    # ------------------------------------------------------------------ prediction

    def _sums(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sums of the trees for m, shape (members, rows), and mean sums of those for ln s, shape (rows,)."""
        n_members = len(self.mean_forests_)
        both = forests.sums([*self.mean_forests_, *self.scale_forests_], X, n_threads(self, len(X)))
        return both[:n_members], both[n_members:].mean(axis=0) if self.scale_forests_ else np.zeros(len(X))

    def _decoded(self, mean: FloatArray, log_s: FloatArray, shape: Shape | None = None) -> Decoded:
        alpha = (shape or self.shape_).alpha
        sigma = alpha * np.broadcast_to(exp(2 * log_s), mean.shape)  # σ/α is the squared scale (3)
        return Decoded(mean, prognostic_variance(alpha, sigma), np.full(mean.shape, alpha), sigma)

    def _decode(self, outputs: FloatArray) -> Decoded:
        return self._decoded(outputs[..., 0], outputs[..., 1])

    # ------------------------------------------------------------------ checks

    def _read(self, X: Any, *, reset: bool) -> tuple[Any, bool]:
        X, read = super()._read(X, reset=reset)
        if reset:
            learnt = self.columns_
            self.categories_ = (
                categories.learn(X, self.categorical_features) if learnt is None else learnt.categories
            )
        return X if read else categories.encode(X, self.categories_), read

    def _is_plain(self, X: Any) -> bool:
        return super()._is_plain(X) and not self.categories_

    def _learn_features(self, X: CheckedTable) -> None:
        super()._learn_features(X)
        self.categories_ = {} if X.columns is None else X.columns.categories

    def _learnt_columns(self, X: Any) -> Columns | None:
        which = self.categorical_features
        if which is not None and not isinstance(which, str):
            return Columns.learn(X, categories.positions(X, which))
        learnt = super()._learnt_columns(X)
        if which is None and learnt is not None and learnt.categories:
            name = learnt.columns[min(learnt.categories)].name
            raise ValueError(
                f"column {name!r} holds categories, but categorical_features is None; set it to "
                "'from_dtype', or drop the column"
            )
        return learnt


class _Labels(NamedTuple):
    """What the trees learn: inputs of all rows; labels and weight of every visit, and labels for each fold model."""

    scale: Scale
    inputs: Table
    labels: FloatArray
    weight: FloatArray
    by_fold: FloatArray | None


def _squares(labels: FloatArray, weight: FloatArray) -> float:
    """Weighted sum of squared deviations from the mean, in which the weights have the mean 1."""
    mean = np.average(labels, weights=weight)
    return float(np.sum(weight / weight.mean() * (labels - mean) ** 2))


def _scaled(labels: FloatArray, scale: Scale) -> FloatArray:
    """Labels in the units of the trees."""
    return np.clip((labels - scale.center) / scale.spread, -_LARGEST_TARGET, _LARGEST_TARGET)
