"""The Gaussian likelihood: the yardstick that every robust method is measured against."""

from dataclasses import replace

from levelhead import engine
from levelhead.estimators.networks._gaussian_members import VARIANCE_FLOOR, GaussianMembers

_LARGEST_GRADIENT = (
    1e12  # never met in sane training; the square of a larger one would overflow in the optimiser
)


class GaussianRegressor(GaussianMembers):
    """Mean and variance by the Gaussian likelihood: fine on clean labels, bent by wrong ones.

    Parameters as in `GCPRegressor`; there is nothing to choose between variances, and by default no
    out-of-fold networks are trained (`out_of_fold`, `contamination`).
    """

    @property
    def _objective(self) -> engine.Objective:
        return engine.gaussian(variance_floor=VARIANCE_FLOOR)

    def _recipe(self, n_visits: int, epochs: int) -> engine.Recipe:
        """With a bound on the gradient, which grows with the square of how far a wrong label lies off."""
        return replace(super()._recipe(n_visits, epochs), clip=_LARGEST_GRADIENT)
