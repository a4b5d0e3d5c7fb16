"""Other methods of the field as baselines, with the same networks and training: one table entry each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from levelhead import engine
from levelhead.engine import baselines
from levelhead.estimators._base import Decoded
from levelhead.estimators._types import Constraints, FloatArray
from levelhead.estimators.networks._gaussian_members import VARIANCE_FLOOR, GaussianMembers
from levelhead.estimators.networks._links import raw, softplus
from levelhead.estimators.networks._signature import adds_to
from levelhead.estimators.networks.gaussian import LARGEST_GRADIENT
from levelhead.theory.special import alpha_minus_A
from levelhead.theory.student import prognostic_variance, student_variance

LossName = Literal["beta-nll", "faithful", "natural", "evidential", "huber", "student"]
_EVIDENTIAL_ALPHA = 2.0  # where α starts; its link keeps it above 1


@dataclass(frozen=True)
class Baseline:
    """How a network with one of these losses starts, learns and is read.

    Attributes
    ----------
    constant : float
        Default of the loss's constant; 0 if it has none.
    objective : callable
        The loss of the engine, from the constant.
    first_outputs : callable
        Outputs at location 0 and variance 1, from the constant.
    decode : callable
        Mean and variance from outputs and constant.
    """

    constant: float
    objective: Callable[[float], engine.Objective]
    first_outputs: Callable[[float], tuple[float, ...]]
    decode: Callable[[FloatArray, float], Decoded]


def _gaussian_outputs(_: float) -> tuple[float, ...]:
    return (0.0, raw(1.0 - VARIANCE_FLOOR))


def _gaussian(outputs: FloatArray, _: float) -> Decoded:
    mu, o_variance = np.moveaxis(outputs, -1, 0)
    return Decoded(mu, softplus(o_variance) + VARIANCE_FLOOR)


def _natural(outputs: FloatArray, _: float) -> Decoded:
    eta, o_precision = np.moveaxis(outputs, -1, 0)
    precision = softplus(o_precision) + VARIANCE_FLOOR
    return Decoded(eta / precision, 1 / precision)


def _evidential_outputs(_: float) -> tuple[float, ...]:
    beta = (_EVIDENTIAL_ALPHA - 1) / 2  # V_St = 1 at ν = 1
    return (0.0, raw(1.0), raw(_EVIDENTIAL_ALPHA - 1), raw(beta - VARIANCE_FLOOR))


def _evidential(outputs: FloatArray, _: float) -> Decoded:
    """Mean and variance as its authors report them: aleatoric plus epistemic, β(1+ν)/(ν(α−1))."""
    m, o_nu, o_alpha, o_beta = np.moveaxis(outputs, -1, 0)
    nu = softplus(o_nu)
    sigma = (softplus(o_beta) + VARIANCE_FLOOR) * (nu + 1) / nu
    return Decoded(m, student_variance(softplus(o_alpha) + 1, sigma, finite=True))


def _student_outputs(degrees: float) -> tuple[float, ...]:
    return (0.0, raw(float(alpha_minus_A(degrees / 2)) - VARIANCE_FLOOR))


def _student(outputs: FloatArray, degrees: float) -> Decoded:
    m, o_sigma = np.moveaxis(outputs, -1, 0)
    sigma = softplus(o_sigma) + VARIANCE_FLOOR
    return Decoded(m, prognostic_variance(np.full_like(sigma, degrees / 2), sigma))


BASELINES: Mapping[str, Baseline] = MappingProxyType(
    {
        "beta-nll": Baseline(
            0.5,
            lambda beta: baselines.beta_nll(beta, variance_floor=VARIANCE_FLOOR),
            _gaussian_outputs,
            _gaussian,
        ),
        "faithful": Baseline(
            0.0, lambda _: baselines.faithful(variance_floor=VARIANCE_FLOOR), _gaussian_outputs, _gaussian
        ),
        "natural": Baseline(
            0.0,
            lambda _: baselines.natural(precision_floor=VARIANCE_FLOOR),
            _gaussian_outputs,
            _natural,
        ),
        "evidential": Baseline(
            0.01,
            lambda penalty: baselines.evidential(penalty, beta_floor=VARIANCE_FLOOR),
            _evidential_outputs,
            _evidential,
        ),
        "huber": Baseline(
            1.345, lambda k: baselines.huber(k, variance_floor=VARIANCE_FLOOR), _gaussian_outputs, _gaussian
        ),
        "student": Baseline(
            4.0,
            lambda degrees: baselines.fixed_student(degrees / 2, sigma_floor=VARIANCE_FLOOR),
            _student_outputs,
            _student,
        ),
    }
)


class BaselineRegressor(GaussianMembers):
    """Other methods for mean and variance, with the networks and the training of this library.

    For comparisons: none of them is meant for wrong labels but "huber" and "student". See "What to use when" in the
    manual.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(64, 64)
        Number of units in each hidden layer; () for none, a linear model.
    loss : {"beta-nll", "faithful", "natural", "evidential", "huber", "student"}, default="beta-nll"
        "beta-nll" weights the likelihood of each label by V^β (Seitzer et al. 2022); "faithful" fits the mean by least
        squares and the variance by likelihood (Stirn et al. 2023); "natural" is the likelihood with outputs μ/V and 1/V
        (Immer et al. 2023); "evidential" is deep evidential regression (Amini et al. 2020), whose variance is the sum
        of its aleatoric and epistemic parts; "huber" is Huber's density; "student" is Student's t with given degrees
        of freedom, whose variance is that of clean labels, equation (6).
    loss_parameter : float or None, default=None
        The constant of the loss: β of "beta-nll" (by default 0.5), the weight of the penalty of "evidential" (0.01), k
        of "huber" (1.345), the degrees of freedom of "student" (4). The others have none.
    activation : {"relu", "tanh", "silu"}, default="relu"
        Activation function of the hidden layers.
    solver : {"adam", "rmsprop", "nesterov"}, default="adam"
        Optimizer.
    learning_rate_init : float, default=0.005
        Initial learning rate.
    learning_rate : {"cosine", "constant", "stairs"}, default="cosine"
        Schedule of the learning rate. "cosine" decreases it to 0 over the training; "stairs" multiplies it by 0.9
        every 100 steps.
    batch_size : int or "auto", default="auto"
        Number of rows in a minibatch. "auto" uses 16, 32 from 2,000 rows on, and 128 from 20,000 rows on.
    max_iter : int or "auto", default="auto"
        Number of epochs. "auto" chooses it by the number of rows.
    dropout : float, default=0.025
        Share of hidden units that are left out at random during training.
    weight_decay : float, default=1e-4
        L2 penalty on weights; biases are not penalized.
    shared_trunk : bool, default=False
        Whether all outputs share one stack of hidden layers. With False, each output has its own stack, as "faithful"
        needs it to keep the variance away from the mean.
    input_scaling : {"standard", "robust", "piecewise"}, default="standard"
        How columns become inputs. "standard" uses mean and standard deviation. "robust" uses median and quartiles, with
        a bound for extreme values. "piecewise" adds up to 16 piecewise-linear inputs per column, by which networks
        follow sharp functions; it takes about twice as long, and works best with `weight_decay=3e-3`.
    n_members : int, default=1
        Number of networks in the ensemble.
    out_of_fold : bool, default=False
        Whether to predict every training row by a network that was not trained on it. For this, at least five networks
        are trained first, each without one fold of the rows.
    contamination : float, "auto" or None, default=None
        Share of wrong labels, from 0 to below 1. "auto" estimates it. With a number or "auto", the variance is
        calibrated on out-of-fold residuals, which needs `out_of_fold=True`. With None, it is not calibrated.
    target_transform : {"auto", "log", "yeo-johnson"}, transformer or None, default=None
        Scale of the labels on which the model learns; predictions are in the units of y. "auto" chooses on held-out
        rows. A transformer has `transform` and `inverse_transform` and is monotone. None is the scale of y itself.
    target_scaling : {"robust", "standard", "none"}, default="robust"
        How labels are scaled: "robust" uses the median and the median absolute deviation, "standard" the mean and the
        standard deviation (as in the paper).
    early_stopping : bool, default=False
        Whether to stop when a robust score on held-out rows no longer improves.
    validation_fraction : float, default=0.1
        Share of the rows that are held out if `early_stopping=True`.
    n_iter_no_change : int, default=10
        Number of epochs without improvement before training stops early.
    tol : float, default=1e-4
        Smallest change of the score that counts as an improvement.
    drop_last : bool, default=False
        Whether to skip an incomplete last minibatch in each epoch (as in the paper).
    initial_outputs : {"robust", "zero"}, default="robust"
        Outputs of the untrained networks: "robust" starts at the location and scale of the labels, "zero" with zero
        biases.
    warm_start : bool, default=False
        Whether a second call of `fit` continues with the networks of the first.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed gives the same model, for any order of the rows and any number of threads.
    n_jobs : int or None, default=-1
        Number of threads; -1 means all cores.
    verbose : bool, default=False
        Whether to print progress to stderr.

    Attributes
    ----------
    networks_ : list of Network
        The trained members.
    oof_prediction_ : Prediction
        Out-of-fold predictions of the training rows, if `out_of_fold=True`.
    contamination_ : float
        Share of wrong labels, estimated or given; NaN if `contamination=None` or there were too few rows.
    separation_ : ContaminationEstimate or None
        The estimate behind `contamination_`, with its standard error.
    calibration_ : Calibration
        Map from a network's variance to the variance calibrated on held-out rows.
    input_scale_ : Scale or Embedding
        How columns become inputs: center and spread of each column of X, and pieces.
    target_scale_ : Scale
        Center and spread of the labels.
    target_transform_ : Transform or None
        Scale of the labels.
    target_transform_reason_ : str
        The reason for this scale, in one sentence.
    loss_curve_ : list of float
        Mean training loss of the members after each epoch.
    n_iter_ : int
        Number of epochs.
    columns_ : Columns or None
        What the columns of a frame with categories, dates or text hold; None for other tables.
    encoding_ : Encoding or None
        How a table becomes inputs; None if it is used as it is.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X was a frame with string column names.

    Examples
    --------
    >>> import numpy as np
    >>> from levelhead import BaselineRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = BaselineRegressor(loss="student", max_iter=50, random_state=0).fit(X, np.sin(3 * X[:, 0]))
    >>> bool(abs(model.predict([[0.5]])[0] - np.sin(1.5)) < 0.1)
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **GaussianMembers._parameter_constraints,
        "loss": [StrOptions(set(BASELINES))],
        "loss_parameter": [Interval(Real, 0, None, closed="left"), None],
    }

    @adds_to(GaussianMembers)
    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (64, 64),
        *,
        loss: LossName = "beta-nll",
        loss_parameter: float | None = None,
        shared_trunk: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(hidden_layer_sizes, shared_trunk=shared_trunk, **common)
        self.loss = loss
        self.loss_parameter = loss_parameter

    @property
    def _constant(self) -> float:
        given = self.loss_parameter
        return BASELINES[self.loss].constant if given is None else float(given)

    @property
    def _objective(self) -> engine.Objective:
        return BASELINES[self.loss].objective(self._constant)

    @property
    def _robust_outputs(self) -> tuple[float, ...]:
        return BASELINES[self.loss].first_outputs(self._constant)

    def _decode(self, outputs: FloatArray) -> Decoded:
        return BASELINES[self.loss].decode(outputs, self._constant)

    def _recipe(self, n_visits: int, epochs: int) -> engine.Recipe:
        """With a bound on the gradient, which grows with the error of a wrong label."""
        return replace(super()._recipe(n_visits, epochs), clip=LARGEST_GRADIENT)
