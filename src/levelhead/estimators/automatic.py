"""Networks or trees? Whichever meets labels better that it has not seen."""

import importlib.util
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted, check_X_y

from levelhead import metrics
from levelhead.auditing import LEAST_ROWS, Audit
from levelhead.estimators.boosting import GCPBoostingRegressor
from levelhead.estimators.gcp import GCPRegressor
from levelhead.prediction import Interval, Prediction

Kind = Literal["auto", "network", "trees"]
KINDS = ("auto", "network", "trees")
_TRIAL_ROWS = 3000  # networks and trees are compared on so many rows; more would take long and change little
_FEW_ROWS = 1000  # up to so many, each row is held out once; with more, one fifth says enough
_FOLDS, _FEWER_FOLDS = 5, 3


class Comparison(NamedTuple):
    """Errors on the clean labels among those that a model had not seen: the robust score of both kinds."""

    network: float
    trees: float


def make(kind: Kind = "auto", n_members: int = 5, random_state=None, n_jobs: int = -1):
    """The estimator of a kind: "network", "trees", or "auto", which finds out which of the two is better."""
    if kind not in KINDS:
        raise ValueError(f"estimator is {kind!r}; choose one of {', '.join(KINDS)}")
    cls = {"auto": AutoRegressor, "network": GCPRegressor, "trees": GCPBoostingRegressor}[kind]
    return cls(n_members=n_members, random_state=random_state, n_jobs=n_jobs)


def compare(y: np.ndarray, network: Sequence[Audit], trees: Sequence[Audit]) -> Comparison:
    """Root mean squared residuals of unseen labels, each label counted as far as one of the two trusts it.

    A label counts for both or for neither, so no model gains by calling those wrong which it does not understand.
    """
    weight = np.maximum(_joined(network, "label_quality"), _joined(trees, "label_quality"))

    def error(audits: Sequence[Audit]) -> float:
        return float(np.sqrt(np.average((y - _joined(audits, "predicted_label")) ** 2, weights=weight)))

    return Comparison(error(network), error(trees))


def _joined(audits: Sequence[Audit], part: str) -> np.ndarray:
    return np.concatenate([getattr(audit, part) for audit in audits])


def _trials(n: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to fit and rows to judge by: each row once in a small table, a fifth of some rows in a large one."""
    some = np.random.default_rng(seed).permutation(n)[:_TRIAL_ROWS]
    if n <= _FEW_ROWS:
        return [(np.sort(some[a]), np.sort(some[b])) for a, b in KFold(_FEWER_FOLDS).split(some)]
    held = len(some) // _FOLDS
    return [(np.sort(some[held:]), np.sort(some[:held]))]


class AutoRegressor(RegressorMixin, BaseEstimator):
    """The better of `GCPRegressor` and `GCPBoostingRegressor` for a table, found on labels they had not seen.

    Without the extra `boosting`, or with fewer than 60 rows, it is the network.

    Parameters
    ----------
    n_members : members of the ensemble.
    random_state : seed.
    n_jobs : threads; -1 means all cores.

    Attributes
    ----------
    chosen_ : "network" or "trees".
    reason_ : why, in a sentence.
    comparison_ : the errors of both on trusted labels held out, or None if there was nothing to compare.
    estimator_ : the fitted estimator that answers.

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

    def __init__(self, n_members=5, *, random_state=None, n_jobs=-1):
        self.n_members = n_members
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None):
        """Compare both kinds on rows held out, and fit the better one to all rows.

        Out-of-fold predictions do not serve for that: they come from single models before their last training,
        and networks gain more from both than trees do.

        Parameters
        ----------
        X : array or frame of shape (n, features), numbers only.
        y : n labels, some of which may be wrong.
        sample_weight : n weights ≥ 0.
        """
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        kinds = {
            "network": GCPRegressor(n_members=self.n_members, random_state=seed, n_jobs=self.n_jobs),
            "trees": GCPBoostingRegressor(n_members=self.n_members, random_state=seed, n_jobs=self.n_jobs),
        }
        self.comparison_, self.chosen_ = None, "network"
        if importlib.util.find_spec("lightgbm") is None:
            install = "pip install 'levelhead[boosting]'"
            self.reason_ = f"networks, because trees need LightGBM, which is not installed: {install}"
        elif X is not None and _num_samples(X) < 2 * LEAST_ROWS:
            self.reason_ = f"networks, because fewer than {2 * LEAST_ROWS} rows allow no comparison"
        else:
            self._compare(X, y, sample_weight, kinds, seed)
        self.estimator_ = kinds[self.chosen_].fit(X, y, sample_weight)
        return self._tell()

    def _compare(self, X, y, sample_weight, kinds, seed: int) -> None:
        X, labels = check_X_y(X, y, accept_sparse="csr", y_numeric=True, estimator=self)
        audits: dict[str, list[Audit]] = {kind: [] for kind in kinds}
        held_out = []
        for kept, held in _trials(len(labels), seed):
            weight = None if sample_weight is None else np.asarray(sample_weight)[kept]
            for kind, model in kinds.items():
                fitted = clone(model).fit(X[kept], labels[kept], weight)
                audits[kind].append(fitted.audit(X[held], labels[held]))
            held_out.append(held)
        errors = self.comparison_ = compare(labels[np.concatenate(held_out)], **audits)
        self.chosen_ = "trees" if errors.trees < errors.network else "network"
        better, worse = sorted(errors)
        names = {"trees": ("trees", "networks"), "network": ("networks", "trees")}[self.chosen_]
        n_held = sum(map(len, held_out))
        rows = "rows" if n_held == len(labels) else f"{n_held:,} rows"
        self.reason_ = (
            f"{names[0]}, because on {rows} that they had not seen their error on trusted labels is {better:.4g}, "
            f"that of {names[1]} {worse:.4g}"
        )

    def _tell(self):
        self.n_features_in_ = self.estimator_.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    @property
    def contamination_(self) -> float:
        """Share of wrong labels among the training labels; NaN if there were too few rows to tell."""
        return self._fitted().contamination_

    @property
    def oof_prediction_(self) -> Prediction:
        """`Prediction` of the training rows by models that had not seen them."""
        return self._fitted().oof_prediction_

    def predict(self, X, return_std=False):
        """Means of the clean labels; with `return_std`, a pair of means and standard deviations."""
        return self._fitted().predict(X, return_std)

    def predict_dist(self, X) -> Prediction:
        """The distribution of the clean label of every row."""
        return self._fitted().predict_dist(X)

    def predict_interval(self, X, coverage=0.9) -> Interval:
        """Central intervals that hold the clean label with the given probability."""
        return self._fitted().predict_interval(X, coverage)

    def predict_quantiles(self, X, alpha):
        """Quantiles of the clean label: shape (n,) for one level, (levels, n) for several."""
        return self._fitted().predict_quantiles(X, alpha)

    def log_prob(self, X, y):
        """Log density of each label under the distribution of clean labels."""
        return self._fitted().log_prob(X, y)

    def audit(self, X, y, false_alarm_rate=0.05) -> Audit:
        """Say which of these labels are wrong; training rows are judged by models that had not seen them."""
        return self._fitted().audit(X, y, false_alarm_rate)

    def score(self, X, y, sample_weight=None):
        """`metrics.robust_r2` of the prediction."""
        return metrics.robust_r2(y, self.predict(X), sample_weight=sample_weight)

    def _fitted(self):
        check_is_fitted(self, "estimator_")
        return self.estimator_
