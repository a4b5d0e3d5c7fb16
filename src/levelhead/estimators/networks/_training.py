"""How every network estimator learns: scales, members, out-of-fold networks, calibration.

A subclass defines the loss (`_objective`), the initial outputs (`_robust_outputs`) and how raw outputs are decoded
(`_decode`).
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from levelhead import engine
from levelhead.audits import LEAST_ROWS
from levelhead.engine.descriptions import ACTIVATIONS, OPTIMIZERS
from levelhead.estimators import _out_of_fold, _preparation, _steps
from levelhead.estimators._base import AuditedRegressor, Decoded
from levelhead.estimators._constraints import (
    CONTAMINATION,
    N_JOBS,
    POSITIVE,
    SHARE,
    LayerSizes,
    Whole,
    n_threads,
)
from levelhead.estimators._label_scale import TARGET_TRANSFORM
from levelhead.estimators._out_of_fold import Folds, Splitting
from levelhead.estimators._preparation import Prepared, Rows, Scale
from levelhead.estimators._separating import is_noiseless
from levelhead.estimators._steps import FirstStep, Steps, Training
from levelhead.estimators._tables import TrainingTable
from levelhead.estimators._types import Constraints, FloatArray, Table, Weights
from levelhead.estimators.networks import embeddings
from levelhead.estimators.networks.embeddings import Embedding
from levelhead.prediction import Prediction
from levelhead.prediction.calibration import MEDIAN_CHI2
from levelhead.progress import reporter, silent
from levelhead.theory.elementary import exp, log

Start = Sequence[engine.Network | None]
LEAST_FOLDS = 5
_LEAST_STEPS, _MOST_STEPS = 9_000, 40_000  # of the optimizer, if max_iter is "auto"
_FIRST_PHASE = 2 / 3  # share of the epochs in which every network leaves out its fold
_CHUNK = 8_192  # rows scaled at a time in a prediction
_CHANGED, _FEWEST = 5_000, 8  # predictions from which importances are estimated, and rows for each column
# Rows from which batches have 128 rows, and steps grow with the rows. Chosen on two made-up tables of 12 and 15 columns
# with 20,000 to 60,000 rows: 3 to 17 % less error than with 40,000 steps of 32 rows, in as much time.
_MANY_VISITS = 20_000
# Of the noise of rounding, which labels in whole units get. Chosen on simulated grades of 2,000 rows, clean, with 20 %
# replaced labels and with 5 % in wrong units: all of it is as good, none of it fails.
_PART_OF_ROUNDING = 0.5
_WIDEST = 2_000  # columns; for more, importances would take longer than the fit


class Together(NamedTuple):
    """What the models of several targets have in common, if their networks share layers.

    Attributes
    ----------
    seed : int
        Their seed.
    rows : Rows
        The rows with a label of this target.
    all_rows : Rows
        The rows with a label of any target.
    """

    seed: int
    rows: Rows
    all_rows: Rows


class NetworkRegressor(AuditedRegressor):
    """Base of the network estimators: how they learn."""

    _fitted_attribute = "networks_"
    _reader = "network"
    _label_step = 0.0  # of labels that are whole multiples of a unit; set by `AutoRegressor`
    networks_: list[engine.Network]
    input_scale_: Scale | Embedding
    _parameter_constraints: ClassVar[Constraints] = {
        "hidden_layer_sizes": [LayerSizes()],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "solver": [StrOptions(set(OPTIMIZERS))],
        "learning_rate_init": [POSITIVE],
        "learning_rate": [StrOptions({"cosine", "constant", "stairs"})],
        "batch_size": [Whole(1), StrOptions({"auto"})],
        "max_iter": [Whole(1), StrOptions({"auto"})],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "shared_trunk": ["boolean"],
        "input_scaling": [StrOptions({"standard", "robust", "piecewise"})],
        "n_members": [Whole(1)],
        "out_of_fold": ["boolean"],
        "contamination": CONTAMINATION,
        "target_transform": TARGET_TRANSFORM,
        "target_scaling": [StrOptions({"robust", "standard", "none"})],
        "early_stopping": ["boolean"],
        "validation_fraction": [SHARE],
        "n_iter_no_change": [Whole(1)],
        "tol": [Interval(Real, 0, np.inf, closed="both")],
        "drop_last": ["boolean"],
        "initial_outputs": [StrOptions({"robust", "zero"})],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
        "verbose": ["boolean", Integral],
    }

    @property
    @abstractmethod
    def _objective(self) -> engine.Objective:
        """The loss."""

    @property
    @abstractmethod
    def _robust_outputs(self) -> tuple[float, ...]:
        """Initial outputs that match location and scale of the labels, in scaled units."""

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: Weights = None, *, groups: Any = None, cv: Any = None
    ) -> Self:
        """Fit the networks.

        With `out_of_fold=True`, every network is first trained without one fold of the rows and predicts that fold.
        These predictions give the share of wrong labels and calibrate the variance (`oof_prediction_`,
        `contamination_`). Then the members are trained on all rows, with a smaller weight for labels that are probably
        wrong.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of at least 0. A row of weight 3 counts like three copies of it, a row of weight 0 not at all.
        groups : array-like of shape (n_samples,), default=None
            Rows with equal entries belong together, as visits of one patient: they fall into one fold.
        cv : int, splitter or iterable, default=None
            Folds of the out-of-fold networks, as in scikit-learn. By default, folds depend on the content of the rows,
            or on `groups`.

        Returns
        -------
        self
            The fitted estimator.
        """
        steps = self._fit_steps(X, y, sample_weight, groups, cv)
        _steps.first(steps)
        _steps.finish(steps)
        return self

    def _fit_steps(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: Weights,
        groups: Any,
        cv: Any,
        together: Together | None = None,
    ) -> Steps:
        self._check_parameters()
        continues = self.warm_start and hasattr(self, "networks_")
        X, y, weight = self._checked(X, y, sample_weight, reset=not continues)
        self._stream = seed = self._new_seed() if together is None else together.seed
        rows = _preparation.arrange(X, y, weight, seed) if together is None else together.rows
        y = self._unrounded(X, y, rows)
        splitting = Splitting(groups, cv).checked(len(y))
        rows = rows.joined(splitting.groups)
        if not continues:
            self._learn_label_scale(X, y, rows, splitting, seed)
        two_phases = not continues and self.out_of_fold and rows.n_groups >= LEAST_ROWS
        table = self._training_table(X, y, rows, splitting if two_phases else Splitting())
        table = table._replace(all_rows=None if together is None else together.all_rows)
        if two_phases:
            yield from self._fit_in_two_phases(table, seed)
        elif continues:
            data = self._prepared(table, first=False)
            more = yield Training(self, data, seed, None, [_restarted(network) for network in self.networks_])
            self.networks_ = [_with_history(one, two) for one, two in zip(self.networks_, more, strict=True)]
        else:
            data = self._prepared(table, first=True)
            self._reset_contamination()
            self.networks_ = yield Training(self, data, seed, None, [None] * self.n_members)
        self._record_history(X, rows)

    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: Weights = None) -> Self:
        """Train the networks for one epoch on the given rows.

        The first call learns the scales of inputs and labels; later calls keep them.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels, some of which may be wrong.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of at least 0. A row of weight 3 counts like three copies of it, a row of weight 0 not at all.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._check_parameters()
        first = not hasattr(self, "networks_")
        X, y, weight = self._checked(X, y, sample_weight, reset=first)
        if first:
            self._stream = self._new_seed()
        rows = _preparation.arrange(X, y, weight, self._stream)
        y = self._unrounded(X, y, rows)
        if first:
            self._learn_label_scale(X, y, rows, Splitting(), self._stream)
            self._reset_contamination()
        data = self._prepared(self._training_table(X, y, rows, Splitting()), first=first)
        start = [None] * self.n_members if first else self.networks_
        epochs = 1 if first else self.networks_[0].epochs + 1
        recipe = replace(self._recipe(len(rows.index), 1), epochs=epochs, schedule=engine.Schedule())
        self.networks_ = self._run(data, recipe, self._jobs(data, self._stream, None, start))
        return self._record_history(X, rows)

    def _unrounded(self, X: Table, y: FloatArray, rows: Rows) -> FloatArray:
        """Labels with a part of the noise of their rounding, if they are whole multiples of a unit.

        Many equal labels have a density without a limit: beside labels that are far away, a network would predict one
        value with a variance near 0, and call all others wrong.
        """
        labels = super()._unrounded(X, y, rows)
        if not self._label_step:
            return labels
        return labels + self._label_step * _PART_OF_ROUNDING * (rows.key / 2.0**64 - 0.5)

    def _predict_table(self, X: Table) -> Prediction:
        networks = self._predicting_networks()
        outputs = [
            self._forward(networks, self.input_scale_.apply(self._inputs(X[start : start + _CHUNK])))
            for start in range(0, len(X), _CHUNK)
        ]
        return self._predicted(self._decode(np.concatenate(outputs, axis=1)), self._location(X))

    def _forget_optimizers(self) -> None:
        self.networks_ = [replace(network, state=None) for network in self.networks_]

    def _predicting_networks(self) -> list[engine.Network]:
        return self.networks_

    def _forward(self, networks: Sequence[engine.Network], X: NDArray[np.float32]) -> FloatArray:
        outputs = _ensemble(networks).forward(X, n_threads=n_threads(self, len(X)))
        return outputs.astype(np.float64)

    # ------------------------------------------------------------------ two phases

    def _training_table(self, X: Table, y: FloatArray, rows: Rows, splitting: Splitting) -> TrainingTable:
        folds = _out_of_fold.assign(rows, max(self.n_members, LEAST_FOLDS), splitting, X, y)
        return TrainingTable(X, self._on_scale(y), rows, folds)

    def _first_phase(self, data: Prepared, table: TrainingTable, seed: int, epochs: int) -> Training:
        """Networks of which number k leaves out fold k, and those beyond the folds the first ones again."""
        n = max(self.n_members, table.folds.n)
        return Training(self, self._for_each_fold(data, table), seed, table.folds, [None] * n, epochs)

    def _held_out(
        self, X: Table, y: FloatArray, rows: Rows, splitting: Splitting, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Out-of-fold means and variances by the first phase alone, in the units of the given labels."""
        trial = clone(self).set_params(n_members=1, warm_start=False)
        trial.columns_, trial._only_column = self.columns_, self._only_column
        table = trial._training_table(X, y, rows, splitting)
        data = trial._prepared(table, first=True)
        epochs = max(1, round(_FIRST_PHASE * trial._epochs(len(rows.index))))
        early = trial._decode(trial._forward(trial._first_phase(data, table, seed, epochs).run(), data.X))
        row, fold, (center, spread) = np.arange(len(y)), table.folds.of_row, trial.target_scale_
        mean, variance = early.mean[fold, row] * spread + center, early.variance[fold, row] * spread**2
        location = trial._held_out_location(table)
        return (mean, variance) if location is None else (mean + location.mean, variance + location.variance)

    def _fit_in_two_phases(self, table: TrainingTable, seed: int) -> Steps:
        data = self._prepared(table, first=True)
        total = self._epochs(len(table.visited.index))
        first = max(1, round(_FIRST_PHASE * total))
        networks = yield self._first_phase(data, table, seed, first)
        fold, row = table.folds.of_row, np.arange(len(data.y))
        early = self._decode(self._forward(networks, data.X))
        oof = early.map(lambda part: part[fold, row][None])
        own = self._learn_from_held_out(oof, data)
        self.oof_prediction_ = self._predicted(oof, self._held_out_location(table))
        self._row_keys = data.rows.key
        latent = self.oof_prediction_.latent
        del data  # other models are fitted in between, and these inputs are many times as large as the table
        given = yield FirstStep(table.labels, latent.mean, latent.var, 1 - own)
        wrong = own if given is None else given
        data = self._prepared(table, first=False)
        weighted = replace(data, rows=data.rows.weighted(1 - wrong))
        start = [_restarted(network) for network in networks[: self.n_members]]
        rest = total - first
        finished = (yield Training(self, weighted, seed + 1, None, start, rest)) if rest else start
        if self.separation_ is not None:
            self._adjust_calibration(
                early, self._decode(self._forward(finished, data.X)), fold, data.rows.index
            )
        self.networks_ = [_with_history(one, two) for one, two in zip(networks, finished, strict=False)]

    def _adjust_calibration(
        self, early: Decoded, late: Decoded, fold: NDArray[np.int64], visits: NDArray[np.int64]
    ) -> None:
        """Adjust the calibration, which was learnt from the first phase, to the finished members.

        Labels that are probably wrong have smaller weights in the second phase, which removes their part of the
        variance: the calibration must not do so again. And a mixture of members adds their disagreement to the
        variance, which the residuals of single networks contain already.
        """
        change = (late.variance / early.variance[: self.n_members])[:, visits]
        self.calibration_ = self.calibration_.after(float(exp(np.median(log(change)))))
        if self.n_members > 1:
            row = np.arange(len(fold))
            alone = early.mean[fold, row]
            others = (early.mean.sum(axis=0) - alone) / (len(early.mean) - 1)
            relative = (alone - others) ** 2 * self.target_scale_.spread**2 / self.oof_prediction_.latent.var
            self.disagreement_ = float(min(np.median(relative[visits]) / MEDIAN_CHI2, 0.5))

    def _learn_from_held_out(self, oof: Decoded, data: Prepared) -> FloatArray:
        """Learn calibration and share of wrong labels; return the probability that each label is wrong."""
        y, variance = data.y.astype(np.float64), oof.variance[0]
        z = y - oof.mean[0]
        index = data.rows.index
        self._reset_contamination()
        if self.contamination is None or is_noiseless(y[index], oof.mean[0][index]):
            return np.zeros(len(z))
        self._separate(y[index], oof.mean[0][index], variance[index])
        assert self.separation_ is not None
        return self.separation_.probability(z, self.calibration_(variance))

    # ------------------------------------------------------------------ training

    def _train(
        self, data: Prepared, seed: int, folds: Folds | None, start: Start, epochs: int | None = None
    ) -> list[engine.Network]:
        n_visits = len(data.rows.index)
        recipe = self._recipe(n_visits, epochs or self._epochs(n_visits))
        return self._run(data, recipe, self._jobs(data, seed, folds, start))

    def _jobs(self, data: Prepared, seed: int, folds: Folds | None, start: Start) -> list[engine.Job]:
        """One job for each network to start from; network k leaves out fold k, if there are folds."""
        rows, jobs = data.rows, []
        outputs = self._robust_outputs * data.n_targets if self.initial_outputs == "robust" else None
        n = len(rows.group)
        for k, network in enumerate(start):
            held_out = np.zeros(n, dtype=bool) if folds is None else ~folds.seen[:, k % folds.n]
            shift = 0 if folds is None or len(data.y) == n else k % folds.n * n  # to the inputs of its fold
            validation_rows = None
            if self.early_stopping:
                validation = rows.sample_groups(self.validation_fraction, seed + k) & ~held_out
                validation_rows, held_out = rows.only(validation) + shift, held_out | validation
            jobs.append(
                engine.Job(
                    seed=seed,
                    network=k,
                    rows=rows.without(held_out) + shift,
                    held_out=validation_rows,
                    initial_outputs=outputs,
                    start=network,
                )
            )
        return jobs

    def _run(self, data: Prepared, recipe: engine.Recipe, jobs: list[engine.Job]) -> list[engine.Network]:
        architecture = engine.Architecture(
            n_features=data.X.shape[1],
            hidden=tuple(np.atleast_1d(self.hidden_layer_sizes)),
            n_outputs=recipe.objective.n_outputs * data.n_targets,
            shared_trunk=self.shared_trunk,
            activation=self.activation,
        )
        stopping = engine.Stopping(self.n_iter_no_change, self.tol) if self.early_stopping else None
        return engine.train(
            architecture,
            recipe,
            jobs,
            X=data.X,
            y=data.y,
            sample_weight=data.rows.weight,
            stopping=stopping,
            callback=self._report(len(jobs), recipe.epochs),
            n_threads=n_threads(self),
        )

    def _report(self, n_networks: int, n_epochs: int) -> Callable[[engine.Progress], None] | None:
        """A callback of the engine that reports how many of all epochs are done."""
        report, done = reporter(self), np.zeros(n_networks)
        if report is silent:
            return None

        def add(at: engine.Progress) -> None:
            done[at.network] = at.epoch / n_epochs
            report("networks", float(done.mean()))

        return add

    def _recipe(self, n_visits: int, epochs: int) -> engine.Recipe:
        batch_size = self._batch_size(n_visits)
        steps = max(1, epochs * -(-n_visits // batch_size))
        schedules = {
            "cosine": engine.Schedule("cosine", 0.0, steps),
            "constant": engine.Schedule(),
            "stairs": engine.Schedule("exponential", 0.9, 100),
        }
        return engine.Recipe(
            objective=self._objective,
            optimizer=self.solver,
            learning_rate=self.learning_rate_init,
            schedule=schedules[self.learning_rate],
            batch_size=batch_size,
            epochs=epochs,
            dropout=self.dropout,
            weight_decay=self.weight_decay,
            drop_last=self.drop_last,
        )

    def _batch_size(self, n_visits: int) -> int:
        return min(
            n_visits, _auto_batch_size(n_visits) if self.batch_size == "auto" else int(self.batch_size)
        )

    def _epochs(self, n_visits: int) -> int:
        if self.max_iter != "auto":
            return int(self.max_iter)
        steps_per_epoch = -(-n_visits // self._batch_size(n_visits))
        return max(1, round(_auto_steps(n_visits) / steps_per_epoch))

    def _prepared(self, table: TrainingTable, *, first: bool) -> Prepared:
        """Inputs and labels in the engine's units; the first time, encoding and scales are learnt."""
        if first:
            self._learn_encoding(table)
        inputs, labels = self._encoded(table)
        if first:
            self.input_scale_ = embeddings.learn(inputs, table.visited, self.input_scaling)
            self.target_scale_ = _preparation.target_scale(labels, table.rows, self.target_scaling)
        return _preparation.prepare(
            self._without_gaps(inputs), labels, table.rows, self.input_scale_, self.target_scale_
        )

    def _for_each_fold(self, data: Prepared, table: TrainingTable) -> Prepared:
        """The same rows once for each fold, encoded without the labels that its networks hold out."""
        if self.encoding_ is None or not self.encoding_.uses_labels:
            return data
        scales = self.input_scale_, self.target_scale_
        parts = [
            _preparation.prepare(*self._encoded(table, k), data.rows, *scales) for k in range(table.folds.n)
        ]
        weight = None if data.rows.weight is None else np.tile(data.rows.weight, len(parts))
        return Prepared(
            np.concatenate([part.X for part in parts]),
            np.concatenate([part.y for part in parts]),
            replace(data.rows, weight=weight),
        )

    def _inputs(self, X: Table) -> Table:
        return self._without_gaps(super()._inputs(X))

    def _without_gaps(self, inputs: Table) -> Table:
        """Means in place of gaps in columns that had none in `fit`."""
        gaps = np.isnan(inputs)
        return np.where(gaps, self.input_scale_.center, inputs) if gaps.any() else inputs

    def _record_history(self, X: Table, rows: Rows) -> Self:
        self.__dict__.pop("feature_importances_", None)  # of an earlier fit
        if X.shape[1] <= _WIDEST:
            self.feature_importances_ = self._importances(X, rows)
        self.n_iter_ = max(network.epochs for network in self.networks_)
        curves = [network.loss_curve for network in self.networks_]
        self.loss_curve_ = [float(np.mean(losses)) for losses in zip(*curves, strict=False)]
        return self

    def _importances(self, X: Table, rows: Rows) -> FloatArray:
        """How much the predicted means change if the cells of one column are exchanged between rows.

        In the canonical order, which is random, each row gets the cell of the next one.
        """
        chosen = np.unique(rows.group[rows.index], return_index=True)[1][
            : max(_FEWEST, _CHANGED // X.shape[1])
        ]
        table = X[rows.index[chosen]]
        mean, squares = self._predict_table(table).latent.mean, np.empty(X.shape[1])
        for column in range(X.shape[1]):
            original = table[:, column].copy()
            table[:, column] = np.roll(original, -1)
            squares[column] = np.mean((self._predict_table(table).latent.mean - mean) ** 2)
            table[:, column] = original
        return squares / (squares.sum() or 1.0)

    def _check_parameters(self) -> None:
        self._validate_params()
        if self.contamination is not None and not self.out_of_fold:
            raise ValueError(
                "contamination needs out-of-fold predictions: set out_of_fold=True, or contamination=None"
            )

    def _new_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))


# Of networks that are in use: laying them out takes longer than one row. Not part of a model, so that files and copies
# do not contain it; a new fit has new networks.
_ENSEMBLES: WeakKeyDictionary[engine.Network, tuple[list[ref[engine.Network]], engine.Ensemble]] = (
    WeakKeyDictionary()
)


def _ensemble(networks: Sequence[engine.Network]) -> engine.Ensemble:
    """The networks as the engine needs them, kept for the next prediction."""
    known = _ENSEMBLES.get(networks[0])
    if known is not None and [one() for one in known[0]] == list(networks):
        return known[1]
    ensemble = engine.Ensemble(networks)
    _ENSEMBLES[networks[0]] = [ref(network) for network in networks], ensemble
    return ensemble


def _auto_batch_size(n_visits: int) -> int:
    """Small data need many small steps; for large data, larger steps are faster and better."""
    if n_visits >= _MANY_VISITS:
        return 128
    return 16 if n_visits < 2000 else 32


def _auto_steps(n_visits: int) -> float:
    """Steps of each network in all: enough to converge on small data, some passes through large."""
    if n_visits >= _MANY_VISITS:
        return float(np.clip(0.1 * n_visits, 12_500, _MOST_STEPS))
    return float(np.clip(1.875 * n_visits, _LEAST_STEPS, _MOST_STEPS))


def _restarted(network: engine.Network) -> engine.Network:
    """The same weights with a new optimizer and schedule, without history."""
    empty = np.empty(0)
    return replace(network, state=None, epochs=0, best_epoch=0, loss_curve=empty, score_curve=empty)


def _with_history(first: engine.Network, second: engine.Network) -> engine.Network:
    """The second network with the history of both."""
    return replace(
        second,
        epochs=first.epochs + second.epochs,
        best_epoch=first.epochs + second.best_epoch,
        loss_curve=np.concatenate([first.loss_curve, second.loss_curve]),
        score_curve=np.concatenate([first.score_curve, second.score_curve]),
    )
