"""What the package says of itself is the same everywhere."""

import re
import subprocess
import sys
from pathlib import Path

import levelhead

ROOT = Path(__file__).parents[1]


def test_version_and_date_of_the_release_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version, date = re.search(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$", changes, re.MULTILINE).groups()
    assert version == levelhead.__version__
    assert f"\nversion: {version}\n" in citation
    assert f'\ndate-released: "{date}"\n' in citation


def test_the_constraints_pin_each_package_once() -> None:
    lines = (ROOT / "requirements/constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [line.partition("==")[0] for line in lines if not line.startswith("#")]
    assert sorted(pinned) == sorted(set(pinned))


def test_modules_are_reachable_after_the_import_alone() -> None:
    code = """
import sys
import levelhead
assert "levelhead.metrics" not in sys.modules
assert "sklearn" not in sys.modules
assert {"contamination", "datasets", "metrics", "predict_dist"} <= set(dir(levelhead))
assert levelhead.metrics.rmse([1.0], [1.0]) == 0
assert levelhead.datasets.synthetic(10, random_state=0).X.shape[0] == 10
assert levelhead.contamination.Replaced
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_import_takes_less_than_half_a_second() -> None:
    code = "import time; start = time.process_time(); import levelhead; print(time.process_time() - start)"
    spent = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(3)
    ]
    assert min(map(float, spent)) < 0.5
