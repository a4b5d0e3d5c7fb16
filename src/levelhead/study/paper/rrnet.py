"""rRNet: the β-divergence with one scale for all rows (Ghosh and Jana 2026, arXiv:2602.08933), for comparison.

The model is y = f(x) + s·e with Gaussian e. Network and scale are learnt by turns: the network by steps on the
β-divergence at the present scale, the scale as the minimum of the same divergence over the residuals.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from levelhead import engine
from levelhead._checks import FloatArray
from levelhead.estimators._base import Decoded
from levelhead.estimators._constraints import POSITIVE
from levelhead.estimators._types import Constraints
from levelhead.estimators.networks._gaussian_members import GaussianMembers
from levelhead.estimators.networks._signature import adds_to
from levelhead.theory import elementary

_TURN = 10  # epochs of the network between two updates of the scale
_LEAST, _MOST = 1e-3, 10.0  # scales, in units of the scaled labels
_MAD = 1.4826  # standard deviations of a Gaussian in one median absolute deviation


class RRNet(GaussianMembers):
    """Networks whose β-divergence has one scale for all rows; parameters as in `BetaDivergenceRegressor`.

    Attributes
    ----------
    scales_ : ndarray of shape (n_members,)
        The scale of each network, in units of the scaled labels.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **GaussianMembers._parameter_constraints,
        "beta": [POSITIVE],
    }

    @adds_to(GaussianMembers)
    def __init__(
        self, hidden_layer_sizes: int | Sequence[int] = (50,), *, beta: float = 0.5, **common: Any
    ) -> None:
        super().__init__(hidden_layer_sizes, **common)
        self.beta = beta

    @property
    def _objective(self) -> engine.Objective:
        return self._at(1.0)

    def _at(self, scale: float) -> engine.Objective:
        return engine.beta_location(self.beta, std=scale)

    @property
    def _robust_outputs(self) -> tuple[float, ...]:
        return (0.0,)

    def _run(self, data: Any, recipe: engine.Recipe, jobs: list[engine.Job]) -> list[engine.Network]:
        trained = [self._by_turns(data, recipe, job) for job in jobs]
        self.scales_ = np.array([scale for _, scale in trained])
        return [network for network, _ in trained]

    def _by_turns(self, data: Any, recipe: engine.Recipe, job: engine.Job) -> tuple[engine.Network, float]:
        labels = data.y[job.rows].astype(np.float64)
        scale = float(np.clip(_MAD * np.median(np.abs(labels - np.median(labels))), _LEAST, _MOST))
        for epochs in (*range(_TURN, recipe.epochs, _TURN), recipe.epochs):
            turn = replace(recipe, epochs=epochs, objective=self._at(scale))
            [network] = super()._run(data, turn, [job])
            job = replace(job, start=network)
            residuals = labels - self._forward([network], data.X[job.rows])[0, :, 0]
            scale = scale_of(residuals, self.beta)
        return network, scale

    def _decode(self, outputs: FloatArray) -> Decoded:
        mean = outputs[..., 0]
        return Decoded(mean, np.broadcast_to(self.scales_[:, None] ** 2, mean.shape))


def scale_of(residuals: FloatArray, beta: float) -> float:
    """Find the scale s at which the β-divergence between residuals and N(0, s²) is smallest.

    Parameters
    ----------
    residuals : ndarray of shape (n,)
        Residuals, in units of the scaled labels.
    beta : float
        β > 0.

    Returns
    -------
    float
        The scale, rounded to six digits.
    """
    squares = residuals**2

    def divergence(log_scale: float) -> float:
        kept = float(elementary.exp(-0.5 * beta * squares / _exp(log_scale) ** 2).mean())
        return _exp(-beta * log_scale) * (1 / math.sqrt(1 + beta) - (1 + 1 / beta) * kept)

    low, high = (float(end) for end in elementary.log(np.array([_LEAST, _MOST])))
    found = minimize_scalar(divergence, bounds=(low, high), method="bounded", options={"xatol": 1e-7})
    return float(f"{_exp(float(found.x)):.6g}")


def _exp(x: float) -> float:
    return float(elementary.exp(np.array([x]))[0])
