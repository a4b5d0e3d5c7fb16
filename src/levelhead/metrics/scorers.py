"""The measures as scorers for scikit-learn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from numpy.typing import ArrayLike

from levelhead.metrics.composition import predict_dist
from levelhead.metrics.distributions import calibration_error, crps, nll
from levelhead.metrics.means import rmse, robust_r2
from levelhead.metrics.retention import ause, retention_auc


@dataclass(frozen=True)
class Scorer:
    """A measure as a scikit-learn scorer: called with (estimator, X, y), greater is better.

    Parameters
    ----------
    name : str
        The name that `get_scorer` takes.
    function : callable
        The measure. It is called with the labels and the quantities that `wants` names.
    sign : float
        −1 for losses, 1 otherwise.
    wants : {"mean", "moments", "distribution"}
        "mean" (`predict`), "moments" (mean and variance) or "distribution" (the `Prediction`).
    weighted : bool, default=True
        Whether the measure takes a sample_weight.
    request : bool or str, default=None
        Whether to request the sample_weight from metadata routing; see `set_score_request`.
    """

    name: str
    function: Callable[..., float]
    sign: float
    wants: Literal["mean", "moments", "distribution"]
    weighted: bool = True
    request: bool | str | None = None

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score an estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator.
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; equal by default.

        Returns
        -------
        float
            The score; greater is better.

        Raises
        ------
        ValueError
            If weights are given to a measure that takes none.
        """
        if sample_weight is not None and not self.weighted:
            raise ValueError(f"{self.name} takes no sample_weight; leave it out")
        options = {"sample_weight": sample_weight} if self.weighted else {}
        return self.sign * self.function(y, *self._predicted(estimator, X), **options)

    def set_score_request(self, *, sample_weight: bool | str | None) -> "Scorer":
        """Return a copy that requests the sample_weight from metadata routing, or declines it.

        Parameters
        ----------
        sample_weight : bool, str or None
            True, or the alias of the weights, to request them; False to decline them.

        Returns
        -------
        Scorer
            The copy.
        """
        return replace(self, request=sample_weight)

    def get_metadata_routing(self) -> Any:
        """Return the request for scikit-learn's metadata routing.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
            The request.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        if self.weighted:
            request.score.add_request(param="sample_weight", alias=self.request)
        return request

    def _predicted(self, estimator: Any, X: Any) -> tuple[Any, ...]:
        if self.wants == "mean":
            return (estimator.predict(X),)
        prediction = predict_dist(estimator, X)
        if self.wants == "moments":
            return prediction.mean, prediction.var
        return (prediction,)


SCORERS: Mapping[str, Scorer] = MappingProxyType(
    {
        scorer.name: scorer
        for scorer in (
            Scorer("robust_r2", robust_r2, 1, "mean"),
            Scorer("neg_rmse", rmse, -1, "mean"),
            Scorer("neg_retention_auc", retention_auc, -1, "moments", weighted=False),
            Scorer("neg_ause", ause, -1, "moments", weighted=False),
            Scorer("neg_nll", nll, -1, "distribution"),
            Scorer("neg_crps", crps, -1, "distribution"),
            Scorer("neg_calibration_error", calibration_error, -1, "distribution"),
        )
    }
)


def get_scorer(name: str) -> Scorer:
    """Return a scorer for the argument `scoring` of scikit-learn's searches and cross-validation.

    Parameters
    ----------
    name : str
        A key of `SCORERS`, for example "neg_crps" or "robust_r2".

    Returns
    -------
    Scorer
        The scorer.

    Raises
    ------
    ValueError
        If there is no scorer of this name.

    Examples
    --------
    >>> get_scorer("neg_crps").sign
    -1
    """
    if name not in SCORERS:
        raise ValueError(f"there is no scorer {name!r}; choose one of {', '.join(SCORERS)}")
    return SCORERS[name]
