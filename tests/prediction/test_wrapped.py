"""What a prediction on a lattice, or in the units of y, takes over from the prediction that it is made from."""

import numpy as np
import pytest

from levelhead.prediction import LogTransform, Prediction, TransformedPrediction
from levelhead.prediction.lattice import Lattice
from levelhead.prediction.lattice_prediction import LatticePrediction

SCALE = LogTransform(1e-3)
GRADES = Lattice(1.0, 1.0, 9)


@pytest.fixture
def continuous():
    rng = np.random.default_rng(0)
    shape = (3, 5)
    return Prediction.from_student(
        rng.uniform(0, 2, shape), rng.uniform(1.5, 4, shape), rng.uniform(0.1, 0.2, shape)
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda continuous: LatticePrediction(continuous, GRADES),
        lambda continuous: TransformedPrediction(continuous, SCALE),
        lambda continuous: LatticePrediction(TransformedPrediction(continuous, SCALE), GRADES),
    ],
    ids=["lattice", "scale", "both"],
)
def test_rows_and_members_are_those_of_the_continuous_prediction(make, continuous):
    prediction = make(continuous)
    assert len(prediction) == 5
    assert prediction.n_members == 3
    assert prediction.latent is continuous
    assert prediction.member_alpha is continuous.member_alpha
    assert prediction.member_sigma is continuous.member_sigma
    np.testing.assert_array_equal(prediction.alpha, continuous.alpha)
    np.testing.assert_array_equal(prediction[[3, 1]].alpha, continuous.alpha[[3, 1]])


def test_variances_of_given_labels_are_those_of_the_continuous_prediction(continuous):
    prediction = LatticePrediction(continuous, GRADES)
    for name in ("student_var", "finite_student_var"):
        np.testing.assert_array_equal(getattr(prediction, name), getattr(continuous, name))
    scaled = LatticePrediction(TransformedPrediction(continuous, SCALE), GRADES)
    with pytest.raises(AttributeError, match="has no student_var: its Student's t stands on a log scale"):
        _ = scaled.student_var
