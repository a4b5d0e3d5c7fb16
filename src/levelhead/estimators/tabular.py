"""From a raw table to numbers: a pipeline around an estimator for frames as they come from a database."""

from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from levelhead._extras import needed


def tabular_pipeline(estimator: BaseEstimator) -> Pipeline:
    """Put a regressor behind skrub's table vectorizer, so that it takes a raw pandas or polars frame.

    Categories become indicator columns (or, with forty and more, a few numbers that describe their text),
    dates their parts, and text that looks like a number or a date is read as one. Missing numbers are filled by the
    median, with a column beside it that says where. Categories that were never seen are no error later.

    Needs the extra `tables`. The pipeline can be saved by `levelhead.save`.

    Parameters
    ----------
    estimator : a regressor; it is not changed, the pipeline holds it as its last step, `"regressor"`.

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
        raise TypeError(f"tabular_pipeline takes a regressor, say GCPRegressor(), not {estimator!r}")
    skrub = needed("skrub", "tabular_pipeline", "tables")
    return Pipeline(
        [
            ("table", skrub.TableVectorizer()),
            ("missing", SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)),
            ("regressor", estimator),
        ]
    )
