"""Contributions of columns to the predictions of any model, by sampling; trees compute theirs exactly."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from levelhead.audits.explanation import Contributions
from levelhead.audits.shapley import shapley_values
from levelhead.estimators._types import FloatArray, Table
from levelhead.prediction import Prediction
from levelhead.theory.elementary import log


class _Model(Protocol):
    """A fitted model that predicts the rows of a checked table."""

    def _checked_inputs(self, X: Any, *, reset: bool) -> Table: ...

    def _predict_table(self, X: Table) -> Prediction: ...


def sampled(
    models: Sequence[_Model],
    combine: Callable[[list[Prediction]], Prediction],
    X: Any,
    background: Any,
    random_state: int,
) -> Contributions:
    """Sample the contributions of the columns to the combined prediction of several models."""
    explained = [model._checked_inputs(X, reset=False) for model in models]
    n, n_columns = explained[0].shape
    if background is None:
        if n < 2:
            raise ValueError(
                "contributions compare rows with a background, which is X by default, and X has one row; give several "
                "rows, such as the training rows, as background"
            )
        tables, others = explained, np.arange(n)
    else:
        added = [model._checked_inputs(background, reset=False) for model in models]
        tables = [np.vstack(pair) for pair in zip(explained, added, strict=True)]
        others = np.arange(n, len(tables[0]))
    column = np.arange(n_columns)

    def predict(source: NDArray[np.intp]) -> FloatArray:
        pairs = zip(models, tables, strict=True)
        latent = combine([model._predict_table(table[source, column]) for model, table in pairs]).latent
        return np.stack([latent.mean, 0.5 * log(latent.aleatoric_var)], axis=1)

    found = shapley_values(predict, np.arange(n), others, n_columns, random_state)
    return Contributions(
        found.contributions[..., 0],
        found.contributions[..., 1],
        float(found.base[0]),
        float(found.base[1]),
        names(models[0], n_columns),
        scale_name(models[0]),
    )


def names(model: Any, n_columns: int) -> tuple[str, ...]:
    """Names of the columns, or their numbers."""
    return tuple(map(str, getattr(model, "feature_names_in_", [f"column {k + 1}" for k in range(n_columns)])))


def scale_name(model: Any) -> str | None:
    """Name of the scale of the labels on which a model learns."""
    scale = getattr(model, "target_transform_", None)
    return None if scale is None else str(scale.name)
