"""What the package says of itself is the same everywhere."""

import re
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
