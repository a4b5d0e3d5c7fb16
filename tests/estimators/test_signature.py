import inspect

import pytest
from sklearn.base import BaseEstimator

from levelhead import (
    BayesianBetaRegressor,
    BetaDivergenceRegressor,
    GammaDivergenceRegressor,
    GaussianRegressor,
)
from levelhead.estimators.networks._signature import adds_to


class Parent(BaseEstimator):
    def __init__(self, a=1, *, b=2, c=3):
        self.a, self.b, self.c = a, b, c


class Child(Parent):
    @adds_to(Parent)
    def __init__(self, a=1, *, b=20, d=4, **common):
        super().__init__(a, b=b, **common)
        self.d = d


def test_a_child_shows_its_own_parameters_and_its_parents():
    parameters = inspect.signature(Child).parameters
    assert list(parameters) == ["a", "b", "d", "c"]
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())
    assert parameters["b"].default == 20
    assert parameters["c"].default == 3


def test_scikit_learn_sees_all_of_them():
    assert Child(c=30).get_params() == {"a": 1, "b": 20, "c": 30, "d": 4}
    assert Child().set_params(d=5, c=6).get_params() == {"a": 1, "b": 20, "c": 6, "d": 5}


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="surprise"):
        Child(surprise=1)


@pytest.mark.parametrize("cls", [BayesianBetaRegressor, BetaDivergenceRegressor, GammaDivergenceRegressor])
def test_our_children_have_every_parameter_of_their_parent(cls):
    assert set(GaussianRegressor().get_params()) < set(cls().get_params())
    with pytest.raises(TypeError, match="surprise"):
        cls(surprise=1)
