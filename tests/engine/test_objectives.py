import numpy as np
import pytest

from levelhead import engine, losses
from levelhead.engine import baselines
from levelhead.engine._simd import BLOCK
from levelhead.engine.objectives import sample_losses

PAIRS = [
    (engine.gcp(), losses.gcp()),
    (engine.gcp(alpha_floor=0.3, beta_floor=0.01), losses.gcp(alpha_floor=0.3, beta_floor=0.01)),
    (engine.gaussian(), losses.normal()),
    (engine.gaussian(variance_floor=0.2), losses.normal(variance_floor=0.2)),
    (engine.beta(0.3), losses.beta_normal(0.3)),
    (engine.beta(1.0, variance_floor=0.05), losses.beta_normal(1.0, variance_floor=0.05)),
    (engine.gamma(0.1), losses.gamma_normal(0.1)),
    (engine.gamma(0.6, variance_floor=0.05), losses.gamma_normal(0.6, variance_floor=0.05)),
    (engine.gcp_direct(), losses.gcp_direct()),
    (
        engine.gcp_direct(alpha_floor=0.3, sigma_floor=0.01),
        losses.gcp_direct(alpha_floor=0.3, sigma_floor=0.01),
    ),
    (baselines.beta_nll(0.5, variance_floor=0.01), losses.beta_nll_normal(0.5, variance_floor=0.01)),
    (baselines.faithful(variance_floor=0.01), losses.faithful_normal(variance_floor=0.01)),
    (baselines.natural(precision_floor=0.01), losses.natural_normal(precision_floor=0.01)),
    (baselines.evidential(0.01, beta_floor=0.01), losses.evidential_student(0.01, beta_floor=0.01)),
    (baselines.huber(1.345, variance_floor=0.01), losses.huber_scale(1.345, variance_floor=0.01)),
    (baselines.fixed_student(2.0, sigma_floor=0.01), losses.fixed_student_scale(2.0, sigma_floor=0.01)),
]


def evaluate(objective, y, outputs):
    """Values and gradients of at most BLOCK samples by the engine."""
    n = len(y)
    out = np.zeros((4, BLOCK), dtype=np.float32)
    out[: outputs.shape[1], :n] = outputs.T
    labels, value = np.zeros(BLOCK, dtype=np.float32), np.zeros(BLOCK, dtype=np.float32)
    labels[:n] = y
    grad = np.zeros(4 * BLOCK, dtype=np.float32)
    with np.errstate(all="ignore"):
        sample_losses(objective.code, objective.packed(), labels, n, out.ravel(), value, grad)
    return value[:n], grad.reshape(4, BLOCK)[: outputs.shape[1], :n].T


@pytest.mark.parametrize("scale", [0.1, 1, 4])
@pytest.mark.parametrize(("objective", "loss"), PAIRS, ids=lambda pair: getattr(pair, "name", ""))
def test_agrees_with_the_reference(rng, objective, loss, scale):
    y = (scale * rng.normal(size=100)).astype(np.float32)
    outputs = (scale * rng.normal(size=(100, objective.n_outputs))).astype(np.float32)
    value, gradient = evaluate(objective, y, outputs)
    expected_value, expected_gradient = loss.of_outputs(y, outputs)
    np.testing.assert_allclose(value, expected_value, rtol=3e-6, atol=3e-6)
    # Where two terms of a derivative cancel, rounding is relative to the terms and not to what is left.
    size = np.abs(expected_gradient).max(axis=1, keepdims=True) + 1
    np.testing.assert_array_less(np.abs(gradient - expected_gradient) / size, 5e-6)


def test_beta_location_is_the_beta_divergence_at_a_given_variance(rng):
    b, std = 0.3, 0.7
    y, mu = rng.normal(size=50).astype(np.float32), rng.normal(size=50).astype(np.float32)
    value, gradient = evaluate(engine.beta_location(b, std=std), y, mu[:, None])
    reference = losses.beta_divergence(y, mu, np.full(50, std**2), beta=b)
    integral = (2 * np.pi * std**2) ** (-b / 2) / np.sqrt(1 + b)
    np.testing.assert_allclose(value, reference.value - integral, rtol=1e-5)
    np.testing.assert_allclose(gradient[:, 0], reference.gradient[0], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("label", [1e6, -1e12, 1e20, 1e30])
def test_the_gcp_loss_is_exact_and_finite_for_huge_labels(label):
    outputs = np.array([[0.5, 0.2, -0.3, 0.4]], dtype=np.float32)
    value, gradient = evaluate(engine.gcp(), np.array([label], dtype=np.float32), outputs)
    expected_value, expected_gradient = losses.gcp().of_outputs(np.array([np.float32(label)]), outputs)
    np.testing.assert_allclose(value, expected_value, rtol=1e-5)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("objective", [engine.gcp(), engine.gaussian(), engine.beta(0.2), engine.gamma(0.2)])
def test_a_nan_output_gives_a_nan_loss(objective):
    for k in range(objective.n_outputs):
        outputs = np.zeros((1, objective.n_outputs), dtype=np.float32)
        outputs[0, k] = np.nan
        value, _ = evaluate(objective, np.zeros(1, dtype=np.float32), outputs)
        assert np.isnan(value[0])


def test_constants_are_checked():
    with pytest.raises(ValueError, match="beta is 0"):
        engine.beta(0)
    with pytest.raises(ValueError, match="std is -1"):
        engine.beta_location(0.1, std=-1)
    with pytest.raises(ValueError, match="none may be negative"):
        engine.gcp(alpha_floor=-0.1)
    with pytest.raises(ValueError, match="none may be negative"):
        baselines.evidential(-0.1)
    with pytest.raises(ValueError, match=r"beta is 1\.5"):
        baselines.beta_nll(1.5)
    with pytest.raises(ValueError, match="k is 0"):
        baselines.huber(0)
    with pytest.raises(ValueError, match="alpha is 0"):
        baselines.fixed_student(0)
