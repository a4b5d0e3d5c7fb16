"""A robust head for any PyTorch network: the mean and the variance of the clean labels.

Put a `GCPHead` behind any trunk, train it with a `GCPLoss`, and compute mean and variance of the clean labels with
`prognosis`:

>>> import torch
>>> network = torch.nn.Sequential(torch.nn.Linear(8, 50), torch.nn.ReLU(), GCPHead(50))
>>> loss = GCPLoss()(network(torch.zeros(32, 8)), torch.zeros(32, 1))
>>> loss.backward()
>>> prognosis(network(torch.zeros(32, 8))).variance.shape
torch.Size([32, 1])
"""

from levelhead._extras import missing

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    raise missing(error.name, "levelhead.torch", "torch") from error

from levelhead.torch.auditing import label_audit
from levelhead.torch.distributions import Mixture, StudentT, mixture
from levelhead.torch.ensembles import StackedModules, stack_heads
from levelhead.torch.heads import GCPHead, NormalHead
from levelhead.torch.losses import (
    BetaDivergenceLoss,
    GammaDivergenceLoss,
    GCPLoss,
    beta_divergence_loss,
    gamma_divergence_loss,
    gcp_loss,
)
from levelhead.torch.parameters import (
    GCPParameters,
    NormalParameters,
    Prognosis,
    PrognosisLayer,
    prognosis,
)
from levelhead.torch.special import A, alpha_minus_A, b

__all__ = [
    "A",
    "BetaDivergenceLoss",
    "GCPHead",
    "GCPLoss",
    "GCPParameters",
    "GammaDivergenceLoss",
    "Mixture",
    "NormalHead",
    "NormalParameters",
    "Prognosis",
    "PrognosisLayer",
    "StackedModules",
    "StudentT",
    "alpha_minus_A",
    "b",
    "beta_divergence_loss",
    "gamma_divergence_loss",
    "gcp_loss",
    "label_audit",
    "mixture",
    "prognosis",
    "stack_heads",
]
