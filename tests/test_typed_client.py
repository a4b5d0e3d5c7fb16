"""A client that is checked by `mypy --strict` can use the public interface."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
pytestmark = pytest.mark.slow

# The signatures of the core: no estimator is called.
CORE = """
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead import Audit, Prediction, audit, load, losses, metrics, save
from levelhead.audits import ContaminationEstimate, estimate_contamination
from levelhead.engine import Architecture, Job, Network, Recipe, Stopping, forward, gcp, loss_and_gradient, train
from levelhead.theory.special import A
from levelhead.theory.student import prognostic_variance


def judge(X: NDArray[np.float64], y: NDArray[np.float64]) -> list[int]:
    result: Audit = audit(X, y, n_members=3, false_alarm_rate=0.1, random_state=0)
    share: float = result.contamination
    low, high = result.contamination_interval
    print(result.summary(), share, low + high, result.at(0.2).p_outlier.mean())
    rows: list[int] = result.issues.tolist()
    return rows


def from_residuals(y: NDArray[np.float64]) -> ContaminationEstimate:
    judged = Audit.from_residuals(y, np.zeros_like(y), 1.0, alpha=None, false_alarm_rate=0.05)
    return estimate_contamination(y, judged.std**2, contamination=None, core="student")


def measure(y: NDArray[np.float64], prediction: Prediction) -> float:
    lower, upper = prediction.interval(0.9)
    covered: float = metrics.coverage(y, lower, upper)
    median: NDArray[np.float64] = prediction.ppf(0.5)
    return covered + metrics.nll(y, prediction.mean, prediction.var) + float(median.sum())


def keep(model: Any, path: Path) -> Any:
    return load(save(model, path, overwrite=True), n_jobs=1)


def networks(X: NDArray[np.float32], y: NDArray[np.float32]) -> list[Network]:
    architecture = Architecture(n_features=X.shape[1], hidden=(8,), n_outputs=4, activation="tanh")
    recipe = Recipe(objective=gcp(alpha_floor=0.2), epochs=2)
    jobs = [Job(seed=1, network=k, held_out=np.arange(3)) for k in range(2)]
    trained = train(architecture, recipe, jobs, X=X, y=y, stopping=Stopping(patience=2))
    outputs: NDArray[np.float32] = forward(trained, X)
    loss, gradient = loss_and_gradient(architecture, recipe.objective, trained[0].weights, X, y)
    print(outputs.shape, loss + float(gradient.sum()))
    return trained


variance: NDArray[np.float64] = prognostic_variance(1.0, 2.0) + A([0.5, 2.0])
value, gradient = losses.gcp("kl").of_outputs(np.zeros(1), np.zeros((1, 4)))
"""

ESTIMATORS = """
import numpy as np
from numpy.typing import NDArray

from levelhead import Audit, AutoRegressor, GCPBoostingRegressor, GCPRegressor, GaussianRegressor, Prediction


def fit(X: NDArray[np.float64], y: NDArray[np.float64]) -> Prediction:
    network: GCPRegressor = GCPRegressor(n_members=3, random_state=0).fit(X, y)
    trees = GCPBoostingRegressor(random_state=0).fit(X, y)
    both = AutoRegressor(n_members=2).fit(X, y)
    baseline = GaussianRegressor().fit(X, y)
    mean: NDArray[np.float64] = network.predict(X)
    judged: Audit = network.audit(X, y, false_alarm_rate=0.1)
    lower, upper = trees.predict_interval(X, coverage=0.8)
    score: float = baseline.score(X, y)
    print(mean.shape, judged.contamination, (upper - lower).mean(), score)
    return both.predict_dist(X)
"""

# A client that misuses the interface gets an error: the types are there, not merely Any.
WRONG = {
    'from levelhead import audit\naudit([[0.0]], [0.0], false_alarm_rate="low")\n': "arg-type",
    "from levelhead import metrics\nn: int = metrics.rmse([0.0], [0.0])\n": "assignment",
    "from levelhead.audits import estimate_contamination\nestimate_contamination([0.0], [1.0], part=1)\n": "call-arg",
}


def mypy(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    client = folder / "client.py"
    client.write_text(program)
    options = ["--strict", "--config-file=", f"--cache-dir={folder / 'cache'}", "--ignore-missing-imports"]
    source = str(Path(__file__).parents[1] / "src")
    return subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(client)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"MYPYPATH": source, "PATH": "", "HOME": str(folder)},
        check=False,
    )


def about_the_client(done: subprocess.CompletedProcess[str]) -> str:
    """Messages about the library itself are the business of its own run of mypy."""
    return "".join(line for line in done.stdout.splitlines(keepends=True) if line.startswith("client.py"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("client")


def test_core(folder: Path) -> None:
    done = mypy(CORE, folder)
    assert about_the_client(done) == "", done.stdout
    assert done.stderr == ""


def test_estimators(folder: Path) -> None:
    done = mypy(ESTIMATORS, folder)
    assert about_the_client(done) == "", done.stdout


@pytest.mark.parametrize(("program", "code"), WRONG.items(), ids=WRONG.values())
def test_misuse_is_found(folder: Path, program: str, code: str) -> None:
    assert f"[{code}]" in about_the_client(mypy(program, folder))
