import numpy as np
import pytest

from levelhead.theory._optimum import optimum


def _bowl(at, center):
    z = at - center
    return float((z * z).sum()), 2 * z


def test_finds_the_minimum_inside_the_bounds():
    found = optimum(_bowl, [0.0, 0.0], (np.array([0.3, 5.0]),), bounds=[(None, None), (0.0, 1.0)], tol=1e-12)
    assert found == pytest.approx([0.3, 1.0], abs=1e-5)
