import mpmath
import numpy as np
import pytest

from levelhead import engine
from levelhead.estimators.networks._gaussian_members import VARIANCE_FLOOR
from levelhead.estimators.networks._links import raw, softplus
from levelhead.estimators.networks.gaussian import GaussianRegressor
from levelhead.estimators.networks.gcp import GCPRegressor


@pytest.mark.parametrize("u", [-80.0, -30.0, -1.0, 0.0, 1e-8, 1.0, 30.0, 1e4])
def test_softplus_against_many_digits(u):
    with mpmath.workdps(60):
        expected = float(mpmath.log1p(mpmath.exp(u)))
    np.testing.assert_allclose(softplus(np.array(u)), expected, rtol=1e-14)


def test_softplus_is_never_zero_nor_infinite():
    values = softplus(np.array([-1e300, -1e4, 1e300]))
    assert (values > 0).all()
    assert np.isfinite(values).all()


@pytest.mark.parametrize("value", [1e-6, 0.1, 0.6931, 1.0, 20.0, 500.0])
def test_raw_inverts_softplus(value):
    np.testing.assert_allclose(softplus(np.array(raw(value))), value, rtol=1e-9)


def test_untrained_networks_know_the_location_and_scale_of_the_labels():
    """In scaled units: mean 0, variance 1, small α."""
    for cls in (GCPRegressor, GaussianRegressor):
        outputs = np.array(cls()._robust_outputs)[None, None]
        decoded = cls()._decode(outputs)
        assert decoded.mean.item() == 0
        assert decoded.variance.item() == pytest.approx(1)
    assert GCPRegressor()._decode(
        np.array(GCPRegressor()._robust_outputs)[None, None]
    ).alpha.item() == pytest.approx(1)


def test_variances_have_a_floor():
    far = np.full((1, 1, 4), -1e4)
    assert GCPRegressor()._decode(far).variance.item() > 0
    assert GaussianRegressor()._decode(far[..., :2]).variance.item() >= VARIANCE_FLOOR
    assert GaussianRegressor()._objective == engine.gaussian(variance_floor=VARIANCE_FLOOR)
