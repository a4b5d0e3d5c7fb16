"""Figure 2: robust curves follow the truth, the likelihood does not, and the figure is drawn from the file alone."""

import numpy as np
import pytest

from levelhead.study.paper import synthetic_fits
from levelhead.study.paper.synthetic_fits import Point
from levelhead.study.paper.table1 import Hyperparameters

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def points() -> list[Point]:
    return synthetic_fits.compute(settings=Hyperparameters(1e-3, 0.0, 150, 0.4))


def test_robust_fits_follow_the_truth(points):
    of = lambda kind, field: np.array([getattr(p, field) for p in points if p.kind == kind])
    error = {
        kind: np.sqrt(np.mean((of(kind, "mean") - of("truth", "mean")) ** 2))
        for kind in ("EnsGCP", "EnsBeta", "EnsGamma", "Beta_Bayes", "Gaussian")
    }
    assert max(error[kind] for kind in error if kind != "Gaussian") < 0.6 * error["Gaussian"]
    assert np.median(of("Gaussian", "std") / of("truth", "std")) > 2
    assert 0.6 < np.median(of("EnsGCP", "std") / of("truth", "std")) < 1.7
    assert len(of("clean", "x")) + len(of("wrong", "x")) == 400


def test_from_a_file(points, tmp_path):
    synthetic_fits.write(points, tmp_path / "fits.csv")
    again = synthetic_fits.read(tmp_path / "fits.csv")
    assert [p.kind for p in again] == [p.kind for p in points]
    np.testing.assert_allclose([p.mean for p in again], [p.mean for p in points], rtol=1e-5)
    figure = synthetic_fits.figure(again)
    labels, means, spreads = figure.axes
    assert len(labels.lines[1].get_xdata()) == sum(p.kind == "wrong" for p in points)
    assert [line.get_label() for line in means.lines] == [
        "truth",
        "EnsGCP",
        "EnsBeta",
        "EnsGamma",
        "Gaussian",
        r"Beta$_\mathrm{Bayes}$",
    ]
    np.testing.assert_allclose(spreads.lines[1].get_ydata(), [p.std for p in again if p.kind == "EnsGCP"])
    (tmp_path / "other.csv").write_text("x\n1\n")
    with pytest.raises(ValueError, match="contains no fits"):
        synthetic_fits.read(tmp_path / "other.csv")
