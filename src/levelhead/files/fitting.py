"""A model of the table in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from levelhead import tables
from levelhead.auditing import time_blocks, without_codes
from levelhead.budget import fit_within
from levelhead.estimators._out_of_fold import fit_parameters
from levelhead.estimators._types import Seed, TargetTransform
from levelhead.estimators.registry import make
from levelhead.tables import TrainingTable

__all__ = ["FittedFile", "fit_file"]


@dataclass(frozen=True, eq=False, repr=False)
class FittedFile:
    """A model of the table in a file.

    Attributes
    ----------
    table : TrainingTable
        Inputs and labels, with what was assumed about the file.
    model : Pipeline
        The formats of the columns, and the fitted estimator: it predicts from raw tables, and can be saved.
    """

    table: TrainingTable
    model: Pipeline

    def __repr__(self) -> str:
        size = f"{len(self.table.y):,} rows, {self.table.X.shape[1]:,} features"
        return f"FittedFile({size}, {estimator_text(self.model).partition(',')[0]})"

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was assumed, what is odd about the data, and which model and scale of the labels were chosen."""
        return (
            *self.table.notes,
            f"Estimator: {estimator_text(self.model)}.",
            f"Labels: {scale_text(self.model)}.",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the facts about the fit as plain values, for JSON.

        Returns
        -------
        dict
            Rows, features, remarks, estimator, scale and `contamination`, the share of wrong labels.
        """
        return {
            "rows": len(self.table.y),
            **self.table.to_dict(),
            "features": list(self.table.X.columns),
            "estimator": estimator_text(self.model),
            "scale": scale_text(self.model),
            "contamination": self.model[-1].contamination_,
        }


def fit_file(
    path: str | Path,
    target: str,
    *,
    estimator: Any = "auto",
    n_members: int = 5,
    random_state: Seed = 0,
    target_transform: TargetTransform = "auto",
    group: str | None = None,
    time: str | None = None,
    time_limit: float | None = None,
    **reading: Any,
) -> FittedFile:
    r"""Fit a model to the table in a file, in which some labels may be wrong.

    Parameters
    ----------
    path : path-like
        CSV, Parquet, workbook or JSON lines; a folder of Parquet files; or "-" for standard input.
    target : str
        Column with the labels.
    estimator : {"auto", "network", "trees"} or estimator, default="auto"
        Kind of the estimator, or a levelhead estimator, which is cloned.
    n_members : int, default=5
        Size of the ensemble. Used only if `estimator` is a name.
    random_state : int or None, default=0
        Seed. Used only if `estimator` is a name.
    target_transform : {"auto", "log", "yeo-johnson"}, transformer or None, default="auto"
        Scale on which labels are learnt. Used only if `estimator` is a name.
    group : str or None, default=None
        Column whose equal entries belong together, such as a patient; not used as a feature.
    time : str or None, default=None
        Column of times, by which rows are divided into blocks.
    time_limit : float or None, default=None
        Seconds that the fit may take.
    **reading : Any
        How the file is read: arguments of `levelhead.tables.training_table`.

    Returns
    -------
    FittedFile
        The table and the model.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from levelhead import fit_file
    >>> area = np.linspace(30, 90, 60)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "flats.csv"
    ...     _ = path.write_text("area,rent\n" + "".join(f"{a:.1f},{10 * a:.1f}\n" for a in area))
    ...     fitted = fit_file(path, "rent", estimator="network", n_members=1)
    >>> bool(abs(fitted.model.predict(fitted.table.frame)[30] - 605) < 60)
    True
    """
    settings = {"n_members": n_members, "random_state": random_state, "target_transform": target_transform}
    table = read_table(path, target, group, **reading)
    groups = rows_together(table, path, group, time)
    return FittedFile(table, fitted_to(table, estimator, groups, time_limit, **settings))


def read_table(path: str | Path, target: str, group: str | None, **reading: Any) -> TrainingTable:
    """Read inputs and labels; a column of groups is not used as a feature."""
    drop = [*reading.pop("drop", ()), *([] if group is None else [group])]
    return tables.training_table(path, target, drop=drop, **reading)


def fitted_to(
    table: TrainingTable, estimator: Any, groups: Any, time_limit: float | None, **settings: Any
) -> Pipeline:
    """Fit an estimator to a table. The formats of its columns come first: the model takes raw tables."""
    model = clone(estimator) if hasattr(estimator, "fit") else make(estimator, **settings)
    X, y, given = without_codes(table.X, table.y, groups=groups)
    given = fit_parameters(model, **given)
    if time_limit is None:
        model.fit(X, y, **given)
    else:
        fit_within(model, X, y, time_limit, **given)
    return Pipeline([("formats", table.formats), ("regressor", model)])


def rows_together(table: TrainingTable, path: str | Path, group: str | None, time: str | None) -> Any:
    """The groups of the rows: entries of a column, or blocks of time; None if no column is given."""
    if group is not None and time is not None:
        raise ValueError("a column of groups and a column of times exclude each other; give one of them")
    name = group if group is not None else time
    if name is None:
        return None
    raw = tables.choose(table.frame, [name], path)[name].iloc[table.row - 1]
    return raw.to_numpy() if group is not None else time_blocks(table.X.get(name, raw).to_numpy())


def estimator_text(model: Pipeline) -> str:
    """The kind of the estimator and, for `auto`, the reason for the choice."""
    names = {"GCPRegressor": "networks", "GCPBoostingRegressor": "trees"}
    last = model[-1]
    return str(getattr(last, "reason_", None) or names.get(type(last).__name__, type(last).__name__))


def scale_text(model: Pipeline) -> str:
    """The scale of the labels and the reason for it."""
    return str(getattr(model[-1], "target_transform_reason_", "linear scale"))
