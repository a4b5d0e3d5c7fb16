"""Finished stages of a long piece of work, kept in a folder until all of it is done."""

import hashlib
import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead._files import whole
from levelhead.persistence import load, save

_SCORES = "scores"


class Stages:
    """A folder of finished stages.

    Parameters
    ----------
    folder : path-like or None, default=None
        The folder; None makes a temporary one.
    settings : mapping of str to object or None, default=None
        What the results depend on: the file, its size and time, options. Stages of other settings are removed.

    Attributes
    ----------
    folder : Path
        The folder.
    """

    def __init__(self, folder: str | Path | None = None, settings: Mapping[str, Any] | None = None) -> None:
        if folder is None:
            folder = tempfile.mkdtemp(prefix="levelhead-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = Path(folder)
        text = json.dumps(settings, sort_keys=True, default=str)
        mark = self.folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        if self.folder.exists() and any(self.folder.iterdir()) and not mark.exists():
            shutil.rmtree(self.folder)
        (self.folder / _SCORES).mkdir(parents=True, exist_ok=True)
        mark.touch()

    def model(self, name: str, make: Callable[[], Any]) -> Any:
        """The model of a stage: loaded if it is finished, else made and saved.

        Parameters
        ----------
        name : str
            Name of the stage.
        make : callable
            Makes the model.

        Returns
        -------
        estimator
            The model.
        """
        path = self.folder / f"{name}.levelhead"
        if path.exists():
            return load(path)
        made = make()
        save(made, path, out_of_fold=True)  # by which labels of the sample are judged
        return made

    def has(self, number: int) -> bool:
        """Whether a piece is finished.

        Parameters
        ----------
        number : int
            Number of the piece.

        Returns
        -------
        bool
            Whether its scores are kept.
        """
        return self._piece(number).exists()

    def arrays(self, number: int, *names: str) -> dict[str, NDArray[Any]] | None:
        """The scores of a piece; arrays that are not wanted are not read.

        Parameters
        ----------
        number : int
            Number of the piece.
        *names : str
            Names of the arrays that are wanted; by default all.

        Returns
        -------
        dict of str to ndarray, or None
            The arrays; None if the piece is not finished.
        """
        if not self.has(number):
            return None
        with np.load(self._piece(number), allow_pickle=False) as held:
            return {name: held[name] for name in held.files if not names or name in names}

    def keep(self, number: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the scores of a piece.

        Parameters
        ----------
        number : int
            Number of the piece.
        arrays : mapping of str to ndarray
            The scores.
        """
        with whole(self._piece(number), overwrite=True) as (partial,), partial.open("wb") as file:
            named: Any = arrays
            np.savez(file, **named)

    def _piece(self, number: int) -> Path:
        return self.folder / _SCORES / f"{number:06}.npz"

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
