"""Predictions that are made from another one, and differ from it in their distributions."""

from levelhead._checks import FloatArray
from levelhead.prediction.prediction import Prediction
from levelhead.prediction.transforms import Transform


class WrappedPrediction(Prediction):
    """A prediction whose rows, members and scale are those of a continuous prediction.

    A subclass defines the distributions: `mixture`, `contaminated`, `sample`, and `__getitem__`. It may define other
    moments of the members, and another scale.

    Parameters
    ----------
    continuous : Prediction
        The prediction that this one is made from.
    """

    _continuous: Prediction

    def __init__(self, continuous: Prediction) -> None:
        self._store(
            _continuous=continuous,
            member_alpha=continuous.member_alpha,
            member_sigma=continuous.member_sigma,
        )

    def __len__(self) -> int:
        return len(self._continuous)

    @property
    def latent(self) -> Prediction:
        """The continuous prediction, on the scale on which the model learns."""
        return self._continuous.latent

    @property
    def transform(self) -> Transform | None:
        """The scale on which the model learns; None for the units of y."""
        return self._continuous.transform

    @property
    def n_members(self) -> int:
        """Number of members of the ensemble."""
        return self._continuous.n_members

    @property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of each member."""
        return self._continuous.member_mean, self._continuous.member_var

    @property
    def member_mean(self) -> FloatArray:
        """Mean of each member, in the units of y."""
        return self._moments[0]

    @property
    def member_var(self) -> FloatArray:
        """Variance of each member, in the units of y."""
        return self._moments[1]

    @property
    def student_var(self) -> FloatArray:
        """Variance (9) of the labels as they are given, as in the continuous prediction."""
        return self._continuous.student_var

    @property
    def finite_student_var(self) -> FloatArray:
        """V_St with max(α − 1, 5e-5) instead of α − 1, as in the continuous prediction."""
        return self._continuous.finite_student_var
