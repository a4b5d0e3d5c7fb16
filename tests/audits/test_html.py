"""An audit in a notebook: its words, and a table of the most suspect rows."""

from xml.etree import ElementTree

import numpy as np
import pytest

from levelhead import Audit


@pytest.fixture
def audited():
    rng = np.random.default_rng(0)
    given = rng.normal(size=500)
    given[:20] += 30
    return Audit.from_residuals(given, np.zeros(500), 1.0)


def test_words_and_rows(audited):
    page = ElementTree.fromstring(f"<div>{audited._repr_html_()}</div>")
    text = "".join(page.itertext())
    assert audited.summary().splitlines()[0] in text
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    assert rows[0] == ["row", "given", "expected", "std", "z", "p_outlier"]
    assert [int(row[0]) for row in rows[1:]] == audited.issues[:10].tolist()
    assert f"… {len(audited.issues) - 10} more" in text
    assert "Most suspect rows: " not in text


def test_no_table_without_issues():
    given = np.random.default_rng(0).normal(size=300)
    clean = Audit.from_residuals(given, np.zeros(300), 1.0).at(1e-9)
    assert "<table" not in clean._repr_html_()
