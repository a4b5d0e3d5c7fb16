"""Distributions of estimators that are parts of scikit-learn's own: pipelines, searches and others."""

import inspect
from typing import Any

import numpy as np

from levelhead.prediction import Interval, MonotoneTransform, Prediction, TransformedPrediction
from levelhead.prediction.conformal import ShapedPrediction

_REACH = (1e-4, 1 - 1e-4)  # levels of the quantiles between which a transformer of labels is checked
_POINTS = 257


class NoDistributionError(TypeError):
    """The estimator only predicts means."""


def predict_dist(estimator: Any, X: Any) -> Prediction:
    """Return the `Prediction` of any estimator that predicts a distribution.

    Works through scikit-learn's pipelines, searches, recursive feature elimination, frozen estimators and
    `TransformedTargetRegressor`, in any order. An estimator that only has `predict(X, return_std=True)` gives a
    Gaussian.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator, pipeline or search.
    X : array-like of shape (n_samples, n_features)
        Inputs.

    Returns
    -------
    Prediction
        One distribution per row.

    Raises
    ------
    NoDistributionError
        If the estimator only predicts means; it is a `TypeError`.
    sklearn.exceptions.NotFittedError
        If it is not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = np.arange(10.0)[:, None]
    >>> predict_dist(make_pipeline(StandardScaler(), BayesianRidge()).fit(X, X[:, 0]), X).mean.shape
    (10,)
    """
    if hasattr(estimator, "predict_dist"):
        prediction: Prediction = estimator.predict_dist(X)
        return prediction
    inner = inside(estimator, X)
    if inner is not None:
        return predict_dist(*inner)
    if hasattr(estimator, "transformer_") and hasattr(estimator, "regressor_"):  # TransformedTargetRegressor
        inner_prediction = predict_dist(estimator.regressor_, X)
        return TransformedPrediction(*on_increasing_scale(inner_prediction, estimator.transformer_))
    if "return_std" not in inspect.signature(estimator.predict).parameters:
        raise _no_distribution(estimator)
    mean, std = estimator.predict(X, return_std=True)
    return Prediction(mean, np.square(std))


def predict_interval(estimator: Any, X: Any, coverage: float = 0.9) -> Interval:
    """Return central intervals of any estimator that predicts a distribution; see `predict_dist`.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator, pipeline or search.
    X : array-like of shape (n_samples, n_features)
        Inputs.
    coverage : float, default=0.9
        Probability that the interval holds the clean label.

    Returns
    -------
    Interval
        Lower and upper ends, one pair per row.

    Raises
    ------
    NoDistributionError
        If the estimator only predicts means; it is a `TypeError`.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    """
    return predict_dist(estimator, X).interval(coverage)


def inside(estimator: Any, X: Any) -> tuple[Any, Any] | None:
    """Find the fitted estimator inside a search, a pipeline or a recursive feature elimination.

    Parameters
    ----------
    estimator : estimator
        Any fitted estimator.
    X : array-like of shape (n_samples, n_features)
        Inputs.

    Returns
    -------
    tuple or None
        The estimator inside, and what it gets for X; None if there is none.
    """
    if hasattr(estimator, "best_estimator_"):
        return estimator.best_estimator_, X
    if hasattr(estimator, "named_steps"):
        before = estimator[:-1]
        return estimator[-1], before.transform(X) if len(before) else X
    if hasattr(estimator, "support_") and hasattr(estimator, "estimator_"):  # RFE, RFECV
        return estimator.estimator_, estimator.transform(X)
    return None


def on_increasing_scale(prediction: Prediction, transformer: Any) -> tuple[Prediction, MonotoneTransform]:
    """Return a prediction of transformed labels on an increasing scale, and that scale.

    Parameters
    ----------
    prediction : Prediction
        Prediction of transformed labels.
    transformer : transformer
        A fitted monotone transformer of labels, with an inverse.

    Returns
    -------
    tuple of Prediction and MonotoneTransform
        The prediction, mirrored if the transformer decreases, and the scale.

    Raises
    ------
    TypeError
        If the estimator transforms the labels once more.
    """
    if prediction.transform is not None:
        raise TypeError(
            "the labels are transformed twice, by TransformedTargetRegressor and by target_transform of the estimator "
            "in it; use one of them"
        )
    prediction = prediction.latent  # the transformer need not keep the steps of a lattice
    reach = prediction.ppf(_REACH)
    z = np.linspace(float(reach.min()), float(reach.max()), _POINTS)
    y = MonotoneTransform(transformer, 1.0, 1.0).inverse(z)
    scale = MonotoneTransform.of(transformer, y[np.isfinite(y)], float(np.ptp(y[np.isfinite(y)])))
    if scale.sign > 0:
        return prediction, scale
    parts = {name: getattr(prediction, f"member_{name}") for name in ("alpha", "sigma")}
    mirrored = -prediction.member_mean, prediction.member_var
    if isinstance(prediction, ShapedPrediction):
        return ShapedPrediction(*mirrored, **parts, shape=prediction.shape.mirrored()), scale
    return Prediction(*mirrored, **parts), scale


def _no_distribution(estimator: Any) -> Exception:
    from sklearn.utils.validation import check_is_fitted

    if hasattr(estimator, "fit"):
        check_is_fitted(estimator)
    return NoDistributionError(
        f"{type(estimator).__name__} does not predict a distribution: it needs predict_dist(X) or "
        "predict(X, return_std=True)"
    )
