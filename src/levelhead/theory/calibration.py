"""Makes variances honest: how the squared residuals of unseen labels really grow with a predicted variance.

Networks of finite size see their own training labels too well, and their local variances are noisy: too small
where they overfit, too large elsewhere. From residuals of predictions that have not seen the labels (out of
fold), `calibrate` learns `V ↦ factor · V^power`. It fits Student's t with one α for all rows, the GCP loss,
so that wrong labels among the residuals do no harm.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> truth = np.exp(rng.normal(size=4000))
>>> told = truth * np.exp(rng.normal(size=4000))  # half of what the model says is noise
>>> calibration = calibrate(np.sqrt(truth) * rng.normal(size=4000), told)
>>> bool(0.4 < calibration.power < 0.6)
True
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from levelhead.losses import student
from levelhead.theory.special import alpha_minus_A

FloatArray = NDArray[np.float64]
