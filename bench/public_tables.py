"""The public tables in the folder LEVELHEAD_DATA, up to 2,000 rows of each, in the order of the file."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from levelhead import Audit, tabular_pipeline
from levelhead.auditing import judge
from levelhead.estimators.registry import make

TABLES = {
    **{name: f"{name}.csv" for name in ("boston", "concrete", "kin8nm", "power", "yacht")},
    **{
        name: f"tables/{name}.csv"
        for name in ("airfoil", "california", "diamonds", "energy", "kc_house", "wine_white")
    },
}
MOST_ROWS = 2000


def load(name: str, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Inputs and labels; the label is the last column."""
    frame = pd.read_csv(Path(os.environ["LEVELHEAD_DATA"]) / TABLES[name])
    if len(frame) > MOST_ROWS:
        rng = np.random.default_rng([seed, *name.encode()])
        frame = frame.iloc[np.sort(rng.choice(len(frame), MOST_ROWS, replace=False))].reset_index(drop=True)
    return frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy(dtype=np.float64)


def audited(X: Any, y: np.ndarray, seed: int) -> Audit:
    """The audit by boosted trees."""
    model = tabular_pipeline(make("trees", n_members=3, random_state=seed)).fit(X, y)
    return judge(model, X, y)
