"""Saves fitted models to files that are safe to open, whoever wrote them.

>>> import tempfile, numpy as np
>>> from levelhead import GCPRegressor, load, save
>>> X = np.linspace(-1, 1, 60)[:, None]
>>> model = GCPRegressor(max_iter=5, random_state=0).fit(X, X[:, 0])
>>> with tempfile.TemporaryDirectory() as folder:
...     again = load(save(model, f"{folder}/line.levelhead"))
>>> bool((again.predict(X) == model.predict(X)).all())
True

A model file is an uncompressed zip archive. `levelhead.json` describes the model, and its arrays are stored beside it
in numpy's format, which other programs can read too; long text is compressed. It contains no pickle. What a file may
name is an explicit list (`_allowed.py`): the estimators of levelhead, scikit-learn's preprocessing, pipelines and
linear models, and the parts of `tabular_pipeline`. A file that names anything else, or whose parts do not fit together,
is refused; any other file works. The cost of opening a file and of predicting with it is bounded by its size.

Trees and boosting models of other libraries are not on the list, because their compiled code does not check the indices
in a file. The trees of `GCPBoostingRegressor` are stored as text, and are written again from its numbers before
LightGBM reads them.
"""

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator

from levelhead._files import refuse, whole
from levelhead.persistence import _archive, _trial
from levelhead.persistence._archive import ModelFileError
from levelhead.persistence._codec import Decoder, Encoder

__all__ = ["ModelFileError", "load", "save"]

_MOST_ROWS = 20_000  # whose out-of-fold predictions a file holds by default, 2.4 MB for three models
AnyPath = str | os.PathLike[str]


def save(
    model: Any, path: AnyPath, *, overwrite: bool = False, out_of_fold: bool | Literal["auto"] = "auto"
) -> Path:
    """Save a model to a file. The file is written completely or not at all.

    Out-of-fold predictions of the training rows, by which `audit` judges their labels, take up to 120 bytes a row. The
    fitted model keeps them, but a file holds them only for at most 20,000 rows, unless `out_of_fold` is True.

    Parameters
    ----------
    model : estimator
        A levelhead estimator, or a scikit-learn pipeline of parts that may be saved; fitted or not.
    path : str or path-like
        The file. Its folder must exist. Any ending is allowed; `.levelhead` is usual.
    overwrite : bool, default=False
        Whether an existing file may be replaced.
    out_of_fold : bool or "auto", default="auto"
        Whether the file holds the out-of-fold predictions of the training rows. A model without them predicts as
        before, and cannot audit. "auto" keeps those of at most 20,000 rows.

    Returns
    -------
    pathlib.Path
        The path of the file.

    Raises
    ------
    TypeError
        If a part of the model is not on the list of what may be saved; the message says which.
    ModelFileError
        If `load` would refuse the file, for example because a setting of the model is not valid.
    FileExistsError
        If the file exists and `overwrite` is False.
    """
    target = Path(path)
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"save takes an estimator, not {type(model).__name__!r}")
    refuse(target, overwrite=overwrite)
    encoder = Encoder(_most_rows(out_of_fold))
    description = encoder.encode(model, "model")
    with whole(target, overwrite=overwrite) as (partial,):
        with partial.open("xb") as file:
            _archive.write(file, description, encoder.arrays)
        try:
            _read(partial)
        except ModelFileError as error:
            raise ModelFileError(f"{type(model).__name__} cannot be saved: {error}") from error
    return target


def _most_rows(out_of_fold: bool | str) -> float:
    if out_of_fold not in (True, False, "auto"):
        raise ValueError(f"out_of_fold is {out_of_fold!r}; give True, False or 'auto'")
    return _MOST_ROWS if out_of_fold == "auto" else np.inf if out_of_fold else 0


def load(path: AnyPath, *, n_jobs: int | None = None) -> Any:
    """Read a model that `save` wrote. Nothing in the file is executed.

    The parts of the model are checked, and those of other libraries are tried on a few rows, so that a file is either
    refused or works. The cost of opening it and of predicting with it is bounded by its size.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_jobs : int, default=None
        Number of threads or processes, for every part of the model that has this setting. By default each part gets the
        default of its constructor; the value in the file is ignored, because it was chosen for another computer.

    Returns
    -------
    estimator
        The model, ready to predict.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If `n_jobs` is not a number of jobs.
    ModelFileError
        If the file is not a model, is damaged, was written by a newer version, or names something that models do not
        consist of.
    """
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise ValueError(
            f"n_jobs is {n_jobs!r}; give a whole number other than 0, such as 2, or -1 for all cores"
        )
    try:
        return _read(path, n_jobs)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


def _read(path: AnyPath, n_jobs: int | None = None) -> Any:
    with Path(path).open("rb") as file:
        try:
            description, arrays, size = _archive.read(file)
            model = Decoder(arrays, size, n_jobs).decode(description)
            if not isinstance(model, BaseEstimator):
                raise ModelFileError(f"the file contains no estimator but {type(model).__name__!r}")
            _trial.run(model)
        except (ModelFileError, MemoryError):  # a lack of memory says nothing about the file
            raise
        except Warning:  # for those who turn warnings into errors: another version of scikit-learn wrote it
            raise
        # Numbers that do not fit together can fail in any constructor; to the reader it is all one: a bad file.
        except Exception as error:
            raise ModelFileError(
                f"the file is damaged or was not written by levelhead.save: {error}"
            ) from error
    return model
