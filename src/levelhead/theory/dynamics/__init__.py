"""The dynamics of a fit: populations of labels, the gradient flow, equilibria, the paper's expansions.

For researchers; no estimator needs it.
"""

from levelhead.theory.dynamics.contaminated import ContaminatedPopulation, Mixture
from levelhead.theory.dynamics.equilibria import Equilibrium, equilibrium
from levelhead.theory.dynamics.gradient_flow import Field, Trajectory, field, flow, risk
from levelhead.theory.dynamics.populations import (
    Gaussian,
    Point,
    Population,
    Sample,
    Student,
    Uniform,
    expect,
)
from levelhead.theory.dynamics.three_outputs import DirectTrajectory, direct_flow, rates

__all__ = [
    "ContaminatedPopulation",
    "DirectTrajectory",
    "Equilibrium",
    "Field",
    "Gaussian",
    "Mixture",
    "Point",
    "Population",
    "Sample",
    "Student",
    "Trajectory",
    "Uniform",
    "direct_flow",
    "equilibrium",
    "expect",
    "field",
    "flow",
    "rates",
    "risk",
]
