"""The Gaussian likelihood: the yardstick that every robust method is measured against."""

from levelhead import engine
from levelhead.estimators._gaussian_members import VARIANCE_FLOOR, GaussianMembers


class GaussianRegressor(GaussianMembers):
    """Mean and variance by the Gaussian likelihood: fine on clean labels, bent by wrong ones.

    Parameters as in `GCPRegressor`; there is nothing to choose between variances, and by default no
    out-of-fold networks are trained (`out_of_fold`, `contamination`).
    """

    @property
    def _objective(self) -> engine.Objective:
        return engine.gaussian(variance_floor=VARIANCE_FLOOR)
