"""Mean-field Gaussian weights: reparametrised samples, their gradient, and the divergence to the prior.

The free parameters of a variational network are its locations followed by ρ, where softplus(ρ) is the scale
of a weight. With ε ~ N(0, 1) a sample is w = location + softplus(ρ)·ε (Beta_Bayes; Futami et al. 2017).
"""

from dataclasses import replace

import numpy as np

from levelhead.engine import _random
from levelhead.engine._instructions import fma
from levelhead.engine._jit import inline, leaf
from levelhead.engine._math import cos_turns, log, sigmoid, softplus
from levelhead.engine._types import Float32
from levelhead.engine.descriptions import Network
from levelhead.theory import elementary

F = np.float32
_ZERO, _ONE = F(0), F(1)


@inline
def _normal(bits: np.uint64) -> F:
    """A standard normal number from 64 random bits, by Box and Muller."""
    u = (F(np.uint32(bits >> np.uint64(40))) + F(0.5)) * F(2.0**-24)
    turn = F(np.uint32((bits >> np.uint64(16)) & np.uint64(0xFFFFFF))) * F(2.0**-24)
    return F(np.sqrt(F(-2) * log(u))) * cos_turns(turn)


@leaf
def sample_weights(
    free: Float32, live: Float32, size: int, key: np.uint64, noise: Float32, drawn: Float32
) -> None:
    """Draw all weights; `live` is 1 at weights and 0 at padding."""
    for i in range(size):
        noise[i] = live[i] * _normal(_random.at(key, np.uint64(i)))
        drawn[i] = fma(softplus(free[size + i]), noise[i], free[i])


@leaf
def add_sample(free: Float32, size: int, noise: Float32, g: Float32, share: F, total: Float32) -> None:
    """Add the gradient g of one sample's weights to that of locations and ρ."""
    for i in range(size):
        total[i] = fma(share, g[i], total[i])
        total[size + i] = fma(share, g[i] * noise[i] * sigmoid(free[size + i]), total[size + i])


@leaf
def add_divergence(free: Float32, live: Float32, size: int, prior_std: F, share: F, total: Float32) -> None:
    """Add share · ∂KL(q‖N(0, prior_std²)); KL = Σ ln(prior/s) + (s² + location²)/(2 prior²) − ½."""
    precision = _ONE / (prior_std * prior_std)
    for i in range(size):
        s = softplus(free[size + i])
        total[i] += share * live[i] * (free[i] * precision)
        total[size + i] += share * live[i] * ((s * precision - _ONE / s) * sigmoid(free[size + i]))


def draw(network: Network, n_samples: int, *, seed: int) -> list[Network]:
    """Draw networks from the posterior of a variational network.

    Sample k depends only on the seed and on k, so that more samples do not change the earlier ones.

    Parameters
    ----------
    network : Network
        A network trained with `Recipe.variational`.
    n_samples : int
        Number of networks.
    seed : int
        Seed of the draws.

    Returns
    -------
    list of Network
        Networks with point weights.

    Raises
    ------
    ValueError
        If the network has point weights.
    """
    if network.rho is None:
        raise ValueError("this network has point weights; draw needs one trained with Recipe.variational")
    scale = elementary.softplus(network.rho)
    return [
        replace(
            network,
            weights=(network.weights + scale * _random.normals(key, scale.size)).astype(np.float32),
            rho=None,
            state=None,
        )
        for key in (_random.stream(seed, k, _random.DRAW) for k in range(n_samples))
    ]
