"""A table with wrong labels in several files."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

for package in ("lightgbm", "pandas", "pyarrow", "polars"):
    pytest.importorskip(package)

import pandas as pd

from levelhead import GCPBoostingRegressor

N = 6000


class Planted(NamedTuple):
    frame: pd.DataFrame
    clean: np.ndarray
    wrong: np.ndarray
    parquet: Path
    csv: Path
    folder: Path


@pytest.fixture(scope="session")
def planted(tmp_path_factory):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"))
    frame["kind"] = rng.choice(["u", "v", "w"], N)
    frame["count"] = rng.integers(0, 9, N)
    clean = (2 * np.sin(2 * frame["a"]) + frame["b"].abs() + 1.5 * (frame["kind"] == "u")).to_numpy()
    wrong = rng.random(N) < 0.05
    frame["y"] = clean + 0.2 * rng.normal(size=N) + np.where(wrong, rng.choice([-5.0, 5.0], N), 0.0)
    home = tmp_path_factory.mktemp("large")
    frame.to_parquet(home / "all.parquet")
    frame.to_csv(home / "all.csv", index=False)
    (home / "parts").mkdir()
    for k, start in enumerate(range(0, N, 1700)):
        frame.iloc[start : start + 1700].to_parquet(home / "parts" / f"part-{k}.parquet")
    return Planted(frame, clean, wrong, home / "all.parquet", home / "all.csv", home / "parts")


@pytest.fixture(scope="session")
def estimator():
    return GCPBoostingRegressor(max_iter=80, random_state=0, n_jobs=1)
