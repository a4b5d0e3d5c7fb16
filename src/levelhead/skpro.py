"""Our estimators as probabilistic regressors of skpro.

>>> from sklearn.datasets import load_diabetes
>>> from levelhead import GCPRegressor
>>> X, y = load_diabetes(return_X_y=True, as_frame=True)
>>> model = SkproRegressor(GCPRegressor(n_members=2, max_iter=20, random_state=0)).fit(X, y)
>>> model.predict_proba(X.head(3)).mean().shape
(3, 1)
"""

from typing import Any

import numpy as np

from levelhead._extras import missing
from levelhead.estimators import GCPRegressor
from levelhead.metrics import predict_dist
from levelhead.prediction import Prediction

try:
    import pandas as pd
    from skpro.distributions import Normal, NormalMixture
    from skpro.regression.base import BaseProbaRegressor
    from skpro.utils.sklearn import prep_skl_df
except ModuleNotFoundError as error:
    raise missing(error.name, "levelhead.skpro", "skpro") from error

__all__ = ["SkproRegressor"]


class SkproRegressor(BaseProbaRegressor):
    """Any estimator that predicts a distribution, as a probabilistic regressor of skpro.

    `predict_proba` returns the distribution of the clean labels: a Gaussian, or for an ensemble a mixture of Gaussians.
    Intervals and quantiles are those of our `Prediction`, which are exact for mixtures too.

    Parameters
    ----------
    estimator : estimator, default=None
        An estimator of levelhead, or a pipeline or search around one. None stands for `GCPRegressor()`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted copy; its `audit` judges the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from levelhead import GCPRegressor
    >>> from levelhead.skpro import SkproRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SkproRegressor(GCPRegressor(n_members=2, max_iter=20, random_state=0)).fit(X, y)
    >>> model.predict_interval(X.head(3), coverage=0.9).shape
    (3, 2)
    """

    _tags = {  # noqa: RUF012, skpro reads a plain dictionary
        "authors": ["levelhead"],
        "python_dependencies": "levelhead",
        "capability:multioutput": False,
        "capability:missing": False,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
    }

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator
        super().__init__()

    def _fit(self, X: Any, y: Any) -> "SkproRegressor":
        from sklearn.base import clone

        self._label_columns = y.columns
        estimator = GCPRegressor() if self.estimator is None else clone(self.estimator)
        self.estimator_ = estimator.fit(prep_skl_df(X), y.to_numpy()[:, 0])
        return self

    def _predict(self, X: Any) -> Any:
        return self._frame(X, self._distribution(X).mean)

    def _predict_var(self, X: Any) -> Any:
        return self._frame(X, self._distribution(X).var)

    def _predict_quantiles(self, X: Any, alpha: list[float]) -> Any:
        quantiles = self._distribution(X).ppf(alpha).T
        columns = pd.MultiIndex.from_product([self._label_columns, alpha])
        return pd.DataFrame(quantiles, index=X.index, columns=columns)

    def _predict_proba(self, X: Any) -> Any:
        prediction = self._distribution(X)
        place = {"index": X.index, "columns": self._label_columns}
        mean, std = prediction.member_mean, np.sqrt(prediction.member_var)
        if prediction.n_members == 1:
            return Normal(mu=mean.T, sigma=std.T, **place)
        pi = np.full(mean.T.shape, 1 / prediction.n_members)
        return NormalMixture(pi=pi, mu=mean.T[:, :, None], sigma=std.T[:, :, None], **place)

    def _distribution(self, X: Any) -> Prediction:
        return predict_dist(self.estimator_, prep_skl_df(X))

    def _frame(self, X: Any, values: Any) -> Any:
        return pd.DataFrame(values[:, None], index=X.index, columns=self._label_columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return arguments for skpro's own tests.

        Parameters
        ----------
        parameter_set : str, default="default"
            Ignored: there is one set.

        Returns
        -------
        list of dict
            Arguments of the constructor.
        """
        from levelhead.estimators import GaussianRegressor

        return [
            {"estimator": GCPRegressor(n_members=2, max_iter=10, random_state=0)},
            {"estimator": GaussianRegressor(max_iter=10, random_state=0)},
        ]
