"""Keeps fitted models in a file that is safe to open, whoever wrote it.

>>> import tempfile, numpy as np
>>> from levelhead import GCPRegressor, load, save
>>> X = np.linspace(-1, 1, 60)[:, None]
>>> model = GCPRegressor(max_iter=5, random_state=0).fit(X, X[:, 0])
>>> with tempfile.TemporaryDirectory() as folder:
...     again = load(save(model, f"{folder}/line.levelhead"))
>>> bool((again.predict(X) == model.predict(X)).all())
True

A model file is an uncompressed zip archive: `levelhead.json` describes the model, and the arrays it mentions lie
beside it in numpy's format, which other programs can read too. There is no pickle in it. What a file may
name is an explicit list (`_allowed.py`): our estimators, scikit-learn's preprocessing, pipelines and linear
models, and the parts of `tabular_pipeline`. A file that names anything else, or whose parts do not fit
together, is refused; any other works. What opening a file and predicting with it costs is bounded by its size.

Other people's trees and boosting machines are not on the list: their compiled code follows the indices in a file
blindly. The trees of `GCPBoostingRegressor` are kept as text, and written anew from its numbers before LightGBM sees
them.
"""

import os
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from levelhead._files import refuse, whole
from levelhead.persistence import _archive, _trial
from levelhead.persistence._archive import ModelFileError
from levelhead.persistence._codec import Decoder, Encoder

__all__ = ["ModelFileError", "load", "save"]

AnyPath = str | os.PathLike[str]


def save(model: Any, path: AnyPath, *, overwrite: bool = False) -> Path:
    """Write a model to a file, whole or not at all, and return the file's path.

    Parameters
    ----------
    model : an estimator of ours, or a scikit-learn pipeline of well-known parts; fitted or not.
    path : the file; its folder must exist. Any ending will do, `.levelhead` is customary.
    overwrite : whether a file that exists may be replaced.

    Raises
    ------
    TypeError : a part of the model is not on the list of what may be saved; the message says where it is.
    ModelFileError : `load` would refuse the file, say because a setting of the model is not valid.
    FileExistsError : there is such a file already.
    """
    target = Path(path)
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"save takes an estimator, not {type(model).__name__!r}")
    refuse(target, overwrite=overwrite)
    encoder = Encoder()
    description = encoder.encode(model, "model")
    with whole(target, overwrite=overwrite) as (partial,):
        with partial.open("xb") as file:
            _archive.write(file, description, encoder.arrays)
        try:
            _read(partial)
        except ModelFileError as error:
            raise ModelFileError(f"{type(model).__name__} cannot be saved: {error}") from error
    return target


def load(path: AnyPath, *, n_jobs: int | None = None) -> Any:
    """Read a model that `save` wrote. Nothing in the file is ever executed.

    The parts of the model are checked, and those of other libraries are tried on a few rows: a file is refused, or
    works. What opening it and predicting with it costs is bounded by its size.

    Parameters
    ----------
    path : the file.
    n_jobs : threads or processes of every part of the model that has such a setting. By default each part gets its
        constructor's default, whatever the file says: the reader decides about this machine, not the author.

    Raises
    ------
    FileNotFoundError : there is no such file.
    ModelFileError : the file is no model, is damaged, comes from a newer version, or asks for something that
        models are not made of.
    """
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
                raise ModelFileError(f"the file holds no estimator but {type(model).__name__!r}")
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
