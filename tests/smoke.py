"""A user's first hour with an installed levelhead, in the folder that is named: library, files, command line, report.

`nox -s smoke` runs it with a fresh wheel and nothing pinned. Warnings are shown, not raised: with newer libraries than
any test has seen, a deprecation is no failure.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import levelhead
from levelhead import GCPRegressor, audit, datasets, load, save


def main(folder: Path) -> None:
    data = datasets.synthetic(400, contamination=0.05, random_state=0)

    model = GCPRegressor(n_members=2, random_state=0).fit(data.X, data.y)
    answer = model.predict_dist(data.X)
    assert np.sqrt(np.mean((answer.mean - data.mean) ** 2)) < 0.5, "the mean is off"
    assert 0.5 < np.median(answer.std / data.std) < 2, "the noise is off"

    found = audit(data.X, data.y, random_state=0)
    assert data.mask[found.issues].mean() > 0.7, "labels called wrong are right"
    assert found.is_label_issue[data.mask].mean() > 0.5, "wrong labels are not found"

    path = save(model, folder / "model.levelhead", overwrite=True)
    np.testing.assert_array_equal(load(path).predict(data.X), model.predict(data.X))

    rows = np.column_stack([data.X, data.y])
    names = [*(f"x{i}" for i in range(data.X.shape[1])), "y"]
    np.savetxt(folder / "table.csv", rows, delimiter=",", header=",".join(names), comments="")
    result = json.loads(command(folder, "audit", "table.csv", "--target", "y", "--json", "--force"))
    assert result["flagged"] > 0, "the command line flags no label"
    page = (folder / "levelhead-audit" / "report.html").read_text(encoding="utf-8")
    assert "plotly" in page.lower(), "the report has no figures"
    command(folder, "fit", "table.csv", "--target", "y", "--out", "y.levelhead", "--force")
    command(folder, "predict", "y.levelhead", "table.csv", "--out", "predictions.csv", "--force")
    lines = (folder / "predictions.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(data.y) + 1, "a prediction for every row"
    versions = json.loads(command(folder, "doctor", "--json"))["versions"]
    assert versions["levelhead"] == levelhead.__version__
    print(", ".join(f"{name} {version}" for name, version in versions.items()))


def command(folder: Path, *arguments: str) -> str:
    """What `levelhead` prints; it fails with what went wrong."""
    program = [sys.executable, "-m", "levelhead", *arguments]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"levelhead {' '.join(arguments)}: {done.stderr}"
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
