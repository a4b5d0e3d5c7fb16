"""The gradient conjugate prior network: robust mean and variance of the clean labels."""

import numpy as np

from levelhead import engine
from levelhead.estimators._base import Reading
from levelhead.estimators.networks._links import raw, softplus
from levelhead.estimators.networks._training import NetworkRegressor
from levelhead.prediction import Prediction
from levelhead.theory.special import alpha_minus_A
from levelhead.theory.student import prognostic_variance, student_variance

_ALPHA_FLOOR = 0.1  # the paper's
_BETA_FLOOR = 1e-6  # keeps σ positive, so that residuals of exactly 0 cannot make the likelihood unbounded
_FIRST_ALPHA = 1.0  # small: far labels are disbelieved from the first step on


class GCPRegressor(NetworkRegressor):
    """Robust probabilistic regression by gradient conjugate priors.

    Networks give the parameters m, ν, α, β of a normal-gamma prior for every row; the loss is −ln of Student's t
    (Algorithm 2 of the paper). The answer describes the **clean** labels: mean m and the prognostic variance
    σ/(α − A(α)), equation (6), made honest by predictions of rows that a network had not seen.

    Parameters
    ----------
    hidden_layer_sizes : sizes of the hidden layers.
    activation : "relu", "tanh" or "silu".
    solver : "adam", "rmsprop" or "nesterov".
    learning_rate_init : the first step size.
    learning_rate : "cosine" (down to 0 over the training) or "constant".
    batch_size : rows of a minibatch, or "auto".
    max_iter : epochs, or "auto".
    dropout : share of hidden units left out at random during training.
    weight_decay : L2 penalty on weights, not biases.
    shared_trunk : one stack of hidden layers for all four outputs, or (the paper) a separate one for each.
    n_members : networks whose answers are mixed.
    out_of_fold : whether every training row gets a prediction by a network that had not seen it. Five networks
        or more first leave out one fold each, then the members learn from all rows.
    contamination : None leaves the variance as the prognostic one; a number is the known share of wrong
        labels; "auto" estimates it. The latter two calibrate the variance on out-of-fold residuals.
    variance : "prognostic", of the clean labels; or "student", of the labels with their wrong ones (9).
    target_scaling : "robust" (median and median deviation), "standard" (the paper's mean and deviation) or
        "none".
    early_stopping, validation_fraction, n_iter_no_change, tol : stop when a robust score on held-out rows
        improves no more.
    drop_last : leave out an incomplete last minibatch of each epoch (the paper does).
    initial_outputs : "robust" starts at the labels' location and scale with α = 1; "zero" at zero biases.
    warm_start : a second `fit` goes on from the networks of the first.
    random_state : seed; the same seed gives the same model, whatever the order of rows or number of threads.
    n_jobs : threads; -1 means all cores.
    verbose : whether to report progress on stderr.

    Attributes
    ----------
    networks_ : the trained members.
    oof_prediction_ : `Prediction` of the training rows by networks that had not seen them.
    contamination_ : estimated (or given) share of wrong labels; NaN without one.
    separation_ : the estimate behind it, with its standard error.
    calibration_ : the map from a network's variance to an honest one.
    loss_curve_, n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn's `MLPRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from levelhead import GCPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 1))
    >>> y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> y[::20] += 5  # one label in twenty is wrong
    >>> model = GCPRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.5)) < 0.1), bool(0.07 < std[0] < 0.16)
    (True, True)
    """

    def __init__(
        self,
        hidden_layer_sizes=(64, 64),
        *,
        activation="relu",
        solver="adam",
        learning_rate_init=0.005,
        learning_rate="cosine",
        batch_size="auto",
        max_iter="auto",
        dropout=0.025,
        weight_decay=1e-4,
        shared_trunk=True,
        n_members=1,
        out_of_fold=True,
        contamination="auto",
        variance="prognostic",
        target_scaling="robust",
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-4,
        drop_last=False,
        initial_outputs="robust",
        warm_start=False,
        random_state=None,
        n_jobs=-1,
        verbose=False,
    ):
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.learning_rate_init = learning_rate_init
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.shared_trunk = shared_trunk
        self.n_members = n_members
        self.out_of_fold = out_of_fold
        self.contamination = contamination
        self.variance = variance
        self.target_scaling = target_scaling
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.drop_last = drop_last
        self.initial_outputs = initial_outputs
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _objective(self) -> engine.Objective:
        return engine.gcp(alpha_floor=_ALPHA_FLOOR, beta_floor=_BETA_FLOOR)

    @property
    def _robust_outputs(self) -> tuple[float, ...]:
        """M = 0, ν = 1, α = 1, and β such that the prognostic variance is 1, in scaled units."""
        sigma = float(alpha_minus_A(_FIRST_ALPHA))  # eq. (6)
        beta = sigma / 2  # eq. (4) at ν = 1
        return (0.0, raw(1.0), raw(_FIRST_ALPHA - _ALPHA_FLOOR), raw(beta - _BETA_FLOOR))

    def _read(self, outputs: np.ndarray) -> Reading:
        m, o_nu, o_alpha, o_beta = np.moveaxis(outputs, -1, 0)
        nu = softplus(o_nu)
        alpha = softplus(o_alpha) + _ALPHA_FLOOR
        beta = softplus(o_beta) + _BETA_FLOOR
        sigma = beta * (nu + 1) / nu  # eq. (4)
        return Reading(m, prognostic_variance(alpha, sigma), alpha, sigma)

    def _predicted(self, reading: Reading) -> Prediction:
        clean = super()._predicted(reading)
        if self.variance == "prognostic" or clean.member_alpha is None or clean.member_sigma is None:
            return clean
        spread = student_variance(clean.member_alpha, clean.member_sigma, finite=True)
        return Prediction(clean.member_mean, spread, alpha=clean.member_alpha, sigma=clean.member_sigma)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.variance not in ("prognostic", "student"):
            raise ValueError(f"variance is {self.variance!r}; choose 'prognostic' or 'student'")
