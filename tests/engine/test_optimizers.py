import numpy as np
import pytest

from levelhead.engine import Recipe, Schedule
from levelhead.engine._records import settings_of
from levelhead.engine.optimizers import step_size


def sizes(schedule, steps):
    settings = settings_of(Recipe(learning_rate=0.1, schedule=schedule), None)
    return [step_size(settings, step) for step in steps]


def test_constant():
    assert sizes(Schedule(), [0, 10, 10**6]) == [0.1] * 3


def test_stairs():
    assert sizes(Schedule("exponential", 0.9, 100), [0, 99, 100, 1000]) == pytest.approx(
        [0.1, 0.1, 0.09, 0.1 * 0.9**10]
    )


def test_cosine():
    got = sizes(Schedule("cosine", 0.2, 100), [0, 50, 100, 10**5])
    assert got == pytest.approx([0.1, 0.06, 0.02, 0.02])
    assert (np.diff(sizes(Schedule("cosine", 0.2, 100), range(101))) < 0).all()
