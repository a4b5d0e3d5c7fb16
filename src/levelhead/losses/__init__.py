"""Every loss as a value with its gradient, elementwise, in plain numpy: the readable reference.

`reference` holds the losses of the paper, `baselines` those of other methods.

>>> import numpy as np
>>> from levelhead import losses
>>> value, gradient = losses.gcp().of_outputs(np.array([0.3]), np.zeros((1, 4)))
>>> value.shape, gradient.shape
((1,), (1, 4))
"""

from levelhead.losses.baselines import (
    beta_nll,
    beta_nll_normal,
    evidential,
    evidential_student,
    faithful,
    faithful_normal,
    fixed_student,
    fixed_student_scale,
    huber,
    huber_scale,
    natural,
    natural_normal,
)
from levelhead.losses.reference import (
    Loss,
    LossAndGradient,
    beta_divergence,
    beta_normal,
    gamma_divergence,
    gamma_normal,
    gaussian,
    gcp,
    gcp_direct,
    kl,
    normal,
    student,
    student_direct,
)

__all__ = [
    "Loss",
    "LossAndGradient",
    "beta_divergence",
    "beta_nll",
    "beta_nll_normal",
    "beta_normal",
    "evidential",
    "evidential_student",
    "faithful",
    "faithful_normal",
    "fixed_student",
    "fixed_student_scale",
    "gamma_divergence",
    "gamma_normal",
    "gaussian",
    "gcp",
    "gcp_direct",
    "huber",
    "huber_scale",
    "kl",
    "natural",
    "natural_normal",
    "normal",
    "student",
    "student_direct",
]
