"""A pipeline that converts raw frames to numbers for an estimator."""

from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from levelhead._extras import needed


def tabular_pipeline(estimator: BaseEstimator) -> Pipeline:
    """Pipeline of skrub's table vectorizer and a regressor, for raw pandas or polars frames.

    Categories become indicator columns, or a few numeric columns if there are 40 or more of them. Dates become
    numeric columns (year, month, …). Text that contains numbers or dates is converted. Missing numbers are replaced
    by the median, with an indicator column. Categories that were not seen in `fit` raise no error in `predict`.

    Needs the extra `tables`. The pipeline can be saved by `levelhead.save`.

    Parameters
    ----------
    estimator : estimator
        A regressor. It is not changed; it becomes the last step of the pipeline, named "regressor".

    Returns
    -------
    Pipeline
        An unfitted scikit-learn pipeline.

    Raises
    ------
    TypeError
        If `estimator` is not a regressor.
    ImportError
        If skrub is not installed.

    Examples
    --------
    >>> import pandas as pd
    >>> from levelhead import GCPRegressor, tabular_pipeline
    >>> flats = pd.DataFrame({"area": [50, 70, None, 40] * 10, "heating": ["gas", "oil", "gas", None] * 10})
    >>> model = tabular_pipeline(GCPRegressor(max_iter=50, random_state=0))
    >>> rent = model.fit(flats, [500.0, 600.0, 550.0, 450.0] * 10).predict(flats.head(2))
    >>> rent.shape
    (2,)
    """
    if not hasattr(estimator, "predict") or not hasattr(estimator, "get_params"):
        raise TypeError(f"tabular_pipeline takes a regressor, such as GCPRegressor(), not {estimator!r}")
    skrub = needed("skrub", "tabular_pipeline", "tables")
    return Pipeline(
        [
            ("table", skrub.TableVectorizer(high_cardinality=skrub.StringEncoder(random_state=0))),
            ("missing", SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)),
            ("regressor", estimator),
        ]
    )
