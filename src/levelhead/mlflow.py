"""Logs models with MLflow, and loads them again.

A logged model holds a file of `levelhead.save`, which is safe to open. `load_model` returns the estimator;
`mlflow.pyfunc.load_model` returns MLflow's general model, whose `predict` gives the columns mean, std, lower and upper:

    with mlflow.start_run():
        logged = levelhead.mlflow.log_model(model, "rents", input_example=flats.head())
    rents = mlflow.pyfunc.load_model(logged.model_uri).predict(flats, params={"coverage": 0.8})
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from levelhead import __version__
from levelhead._extras import missing
from levelhead.metrics import predict_dist
from levelhead.persistence import ModelFileError, load, save
from levelhead.prediction import MultiPrediction

try:
    import mlflow
    import pandas as pd
    from mlflow.models import Model, infer_signature
except ModuleNotFoundError as error:
    raise missing(error.name, "levelhead.mlflow", "mlflow") from error

__all__ = ["PredictionModel", "load_model", "log_model", "save_model"]

FLAVOR = "levelhead"
_FILE = "model.levelhead"
_COVERAGE = 0.9


class PredictionModel:
    """What `mlflow.pyfunc.load_model` calls: a fitted estimator whose `predict` returns a table.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator, or a pipeline or search around one.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Predict mean, standard deviation and interval of the clean label of every row.

        Parameters
        ----------
        model_input : DataFrame or array-like of shape (n_samples, n_features)
            Inputs.
        params : dict, default=None
            "coverage" is the probability that the interval holds the label, 0.9 by default.

        Returns
        -------
        DataFrame
            The columns mean, std, lower and upper, with the index of the inputs; for several targets, with the name of
            the target in front, such as "height mean".

        Raises
        ------
        ValueError
            If a parameter is not known.
        """
        options = {"coverage": _COVERAGE} | (params or {})
        if set(options) != {"coverage"}:
            raise ValueError(f"params has {', '.join(map(repr, sorted(options)))}; only 'coverage' is known")
        # Estimators that were fitted to arrays would warn about the names of the columns.
        by_name = hasattr(self.estimator, "feature_names_in_") or hasattr(self.estimator, "named_steps")
        is_frame = isinstance(model_input, pd.DataFrame)
        inputs = model_input.to_numpy() if is_frame and not by_name else model_input
        prediction: Any = predict_dist(self.estimator, inputs)
        several = isinstance(prediction, MultiPrediction)
        named = zip(prediction.targets, prediction, strict=True) if several else [("", prediction)]
        columns: dict[str, Any] = {}
        for name, one in named:
            lower, upper = one.interval(options["coverage"])
            parts = {"mean": one.mean, "std": one.std, "lower": lower, "upper": upper}
            columns |= {f"{name} {part}".strip(): values for part, values in parts.items()}
        return pd.DataFrame(columns, index=model_input.index if is_frame else None)


def save_model(
    model: Any,
    path: str | Path,
    *,
    input_example: Any = None,
    signature: Any = None,
    pip_requirements: list[str] | None = None,
    mlflow_model: Any = None,
    **options: Any,
) -> None:
    """Save a model as a folder that MLflow can serve.

    Parameters
    ----------
    model : estimator
        A fitted estimator that `levelhead.save` takes.
    path : str or path-like
        The folder; it must not exist.
    input_example : DataFrame or ndarray, default=None
        A few rows of inputs. They are stored, and the signature is inferred from them.
    signature : mlflow.models.ModelSignature, default=None
        Types of inputs and outputs. By default inferred from `input_example`, if there is one.
    pip_requirements : list of str, default=None
        What the served model needs. By default this version of levelhead; it is on no package index, so name a wheel
        where the model is to be served in an environment of its own.
    mlflow_model : mlflow.models.Model, default=None
        The description that this flavor is added to.
    **options : dict
        More arguments of `mlflow.pyfunc.save_model`, such as `metadata`.

    Raises
    ------
    TypeError
        If a part of the model may not be saved; the message says which.
    """
    description = Model() if mlflow_model is None else mlflow_model
    description.add_flavor(FLAVOR, levelhead_version=__version__, data=f"data/{_FILE}")
    if signature is None and input_example is not None:
        answer = PredictionModel(model).predict(input_example)
        signature = infer_signature(input_example, answer, params={"coverage": _COVERAGE})
    with tempfile.TemporaryDirectory() as folder:
        mlflow.pyfunc.save_model(
            str(path),
            loader_module=__name__,
            data_path=str(save(model, Path(folder) / _FILE)),
            mlflow_model=description,
            signature=signature,
            input_example=input_example,
            pip_requirements=pip_requirements or [f"levelhead=={__version__}"],
            **options,
        )


def log_model(model: Any, name: str, **options: Any) -> Any:
    """Log a model in the current run.

    Parameters
    ----------
    model : estimator
        A fitted estimator that `levelhead.save` takes.
    name : str
        Name of the logged model.
    **options : dict
        Arguments of `save_model`, and of `mlflow.models.Model.log`, such as `registered_model_name`.

    Returns
    -------
    mlflow.models.model.ModelInfo
        What was logged; `model_uri` is its address.
    """
    return Model.log(None, flavor=sys.modules[__name__], name=name, model=model, **options)


def load_model(model_uri: str, *, n_jobs: int | None = None) -> Any:
    """Load the estimator of a logged or saved model. Nothing in its files is executed.

    Parameters
    ----------
    model_uri : str
        Address as MLflow writes it, such as "models:/rents/1" or "runs:/…/rents", or a folder.
    n_jobs : int, default=None
        Number of threads; see `levelhead.load`.

    Returns
    -------
    estimator
        The fitted estimator.

    Raises
    ------
    ModelFileError
        If the model was not saved by this flavor, or its file is damaged.
    """
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri)))
    flavors = Model.load(str(folder)).flavors
    if FLAVOR not in flavors:
        raise ModelFileError(
            f"{model_uri} has the flavors {', '.join(flavors)}; levelhead.mlflow.save_model did not write it"
        )
    return load(folder / "data" / _FILE, n_jobs=n_jobs)


def _load_pyfunc(path: str) -> PredictionModel:
    """Called by MLflow, by this name, with the path of the data."""
    return PredictionModel(load(path))
