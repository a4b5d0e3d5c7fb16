"""A table with planted errors, and a model fitted to it by the command line itself."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

for package in ("typer", "rich", "pandas", "pyarrow", "skrub", "matplotlib", "jinja2", "plotly"):
    pytest.importorskip(package)

import pandas as pd
from typer.testing import CliRunner

import levelhead
from levelhead.cli.app import app
from levelhead.datasets import ENVIRONMENT


class Planted(NamedTuple):
    path: Path
    frame: pd.DataFrame
    wrong_rows: set[int]


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def run() -> Callable[..., Ran]:
    """The command line as a process of its own, in a folder."""

    def start(*arguments: object, cwd: Path, **variables: object) -> Ran:
        environment = {**os.environ, "LEVELHEAD_QUIET": "1", "PYTHONWARNINGS": "default"}
        environment |= {name: str(value) for name, value in variables.items()}
        done = subprocess.run(
            [sys.executable, "-m", "levelhead", *map(str, arguments)],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return start


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """The command line in this process, in a folder: for the many calls that need no process of their own."""

    def start(*arguments: object, cwd: Path, **variables: object) -> Ran:
        monkeypatch.chdir(cwd)
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        done = CliRunner().invoke(app, list(map(str, arguments)))
        return Ran(done.exit_code, done.stdout, done.stderr)

    return start


@pytest.fixture(scope="session")
def public_data() -> None:
    """Skips what needs the public data sets where they are not."""
    if not os.environ.get(ENVIRONMENT):
        pytest.skip(f"needs the public data sets in {ENVIRONMENT}")


def clean_flats(n: int, rng: np.random.Generator) -> pd.DataFrame:
    area, heating = rng.uniform(20, 150, n).round(1), rng.choice(["gas", "oil", "none yet"], n)
    listed = pd.to_datetime(np.datetime64("2021-01-01") + rng.integers(0, 900, n))
    rent = 200 + (8 + 3 * (heating == "gas")) * area + rng.normal(0, 15, n)
    names = [f"F{i}" for i in range(n)]
    return pd.DataFrame(
        {"id": names, "area": area, "heating": heating, "listed": listed.strftime("%d.%m.%Y"), "rent": rent}
    )


@pytest.fixture(scope="session")
def held_out() -> pd.DataFrame:
    return clean_flats(400, np.random.default_rng(1))


@pytest.fixture(scope="session")
def flats(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Flats with a category, dates, gaps, thousands separators, an index, and twenty rents off by a factor of ten."""
    rng = np.random.default_rng(0)
    frame = clean_flats(500, rng)
    wrong = rng.choice(np.arange(20, 500), 20, replace=False)
    frame.loc[wrong, "rent"] *= 10
    frame["rent"] = [f"{value:,.2f}" for value in frame["rent"]]
    frame.loc[wrong[0], "id"] = "=cmd()"
    frame.loc[3, "rent"] = "on request"
    frame.loc[5, "rent"] = None
    frame.loc[11, "heating"] = None
    path = tmp_path_factory.mktemp("flats") / "flats.csv"
    frame.to_csv(path, sep=";")
    return Planted(path, frame, {int(row) + 1 for row in wrong})


@pytest.fixture(scope="session")
def model(flats: Planted, run: Callable[..., Ran]) -> Path:
    done = run(
        *("fit", "flats.csv", "--target", "rent", "--drop", "id", "--out", "models/rent.levelhead"),
        cwd=flats.path.parent,
    )
    assert done.code == 0, done.err
    return flats.path.parent / "models" / "rent.levelhead"


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of one input that answers at once."""
    X = pd.DataFrame({"x": np.arange(40.0) % 7})
    model = levelhead.GCPRegressor(max_iter=1, random_state=0).fit(X, np.arange(40.0))
    return levelhead.save(model, tmp_path_factory.mktemp("quick") / "model.levelhead")
