"""The same work in other libraries, written as their manuals show it."""

import math
import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from torch import nn
from torch.nn import functional as torch_functional


def student_loss(y, m, nu, alpha, beta):
    """−ln t of the paper, in torch."""
    sigma = beta * (nu + 1) / nu
    constant = torch.lgamma(alpha) - torch.lgamma(alpha + 0.5) + 0.5 * torch.log(2 * math.pi * sigma)
    return constant + (alpha + 0.5) * torch.log1p((y - m) ** 2 / (2 * sigma))


class Quantity(nn.Module):
    """One of the paper's four networks."""

    def __init__(self, n_features, width, dropout):
        super().__init__()
        layers = [nn.Linear(n_features, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, 1)]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        """One output a row."""
        return self.layers(x).squeeze(-1)


class GCP(nn.Module):
    """The paper's network: m, ν, α, β by four networks."""

    def __init__(self, n_features, width, dropout):
        super().__init__()
        self.parts = nn.ModuleList(Quantity(n_features, width, dropout) for _ in range(4))

    def forward(self, x):
        """The natural parameters."""
        m, nu, alpha, beta = (part(x) for part in self.parts)
        softplus = torch_functional.softplus
        return m, softplus(nu), softplus(alpha) + 0.1, softplus(beta)


class _Minibatches:
    """Idiomatic PyTorch: modules, a data loader's indices, fused Adam, a penalty on the weights."""

    def __init__(self, X, y, network, *, batch, penalty):
        self.X, self.y, self.batch, self.penalty = torch.from_numpy(X), torch.from_numpy(y), batch, penalty
        self.network = network
        self.weights = [p for name, p in network.named_parameters() if name.endswith("weight")]
        self.optimizer = torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)

    def steps(self, n):
        """Take n steps."""
        done = 0
        while done < n:
            for rows in torch.randperm(len(self.y)).split(self.batch)[: n - done]:
                self.optimizer.zero_grad()
                loss = self.losses(self.y[rows], *self.network(self.X[rows])).mean()
                loss = loss + self.penalty * sum((w**2).sum() for w in self.weights)
                loss.backward()
                self.optimizer.step()
                done += 1


class TorchModules(_Minibatches):
    """The paper's network."""

    losses = staticmethod(student_loss)

    def __init__(self, X, y, *, width, batch, dropout, penalty):
        super().__init__(X, y, GCP(X.shape[1], width, dropout), batch=batch, penalty=penalty)


class MeanAndVariance(nn.Module):
    """Mean and variance by two networks, as in the baselines of the paper."""

    def __init__(self, n_features, width, dropout):
        super().__init__()
        self.parts = nn.ModuleList(Quantity(n_features, width, dropout) for _ in range(2))

    def forward(self, x):
        """Mean, variance."""
        mean, raw = (part(x) for part in self.parts)
        return mean, torch_functional.softplus(raw)


def divergence_loss(kind, robustness, y, mean, variance):
    """The likelihood, the β- or the γ-divergence to a Gaussian."""
    z2 = (y - mean) ** 2 / variance
    if kind == "Gaussian":
        return 0.5 * (torch.log(2 * math.pi * variance) + z2)
    r = robustness
    if kind == "Beta":
        scale = (2 * math.pi * variance) ** (-r / 2)
        return -(1 + r) / r * scale * torch.exp(-0.5 * r * z2) + scale / math.sqrt(1 + r)
    power = r / (2 * (1 + r))
    return -(1 + r) / r * (2 * math.pi * variance / (1 + r)) ** -power * torch.exp(-0.5 * r * z2)


class TorchGaussian(_Minibatches):
    """The baselines of the paper: a divergence to a Gaussian."""

    def __init__(self, X, y, *, kind, robustness, width, batch, dropout, penalty):
        super().__init__(X, y, MeanAndVariance(X.shape[1], width, dropout), batch=batch, penalty=penalty)
        self.losses = partial(divergence_loss, kind, robustness)


class TorchVariational:
    """Beta_Bayes: a mean-field posterior over the weights; all weight samples of a step in one batched product."""

    def __init__(self, X, y, *, widths, batch, beta, noise_std, samples):
        self.X, self.y, self.batch = torch.from_numpy(X), torch.from_numpy(y), batch
        self.beta, self.std, self.samples = beta, noise_std, samples
        sizes = [X.shape[1], *widths, 1]
        shapes = [shape for a, b in pairwise(sizes) for shape in ((a, b), (1, b))]
        self.means = [(0.01 * torch.randn(shape)).requires_grad_() for shape in shapes]
        self.raw = [(0.01 * torch.randn(shape)).requires_grad_() for shape in shapes]
        self.optimizer = torch.optim.Adam([*self.means, *self.raw], lr=0.1, fused=True)

    def steps(self, n):
        """Take n steps."""
        done = 0
        while done < n:
            for rows in torch.randperm(len(self.y)).split(self.batch)[: n - done]:
                self.optimizer.zero_grad()
                self._loss(self.X[rows], self.y[rows]).backward()
                self.optimizer.step()
                done += 1

    def _loss(self, x, y):
        scales = [torch_functional.softplus(raw) for raw in self.raw]
        drawn = [
            mean + scale * torch.randn(self.samples, *mean.shape)
            for mean, scale in zip(self.means, scales, strict=True)
        ]
        hidden = x.expand(self.samples, *x.shape)
        for k in range(0, len(drawn), 2):
            hidden = torch.baddbmm(drawn[k + 1], hidden, drawn[k])
            hidden = hidden.relu() if k + 2 < len(drawn) else hidden
        z2 = ((y - hidden.squeeze(-1)) / self.std) ** 2
        power = (2 * math.pi * self.std**2) ** (-self.beta / 2) * torch.exp(-0.5 * self.beta * z2)
        fit = (1 + self.beta) / self.beta * power.mean(dim=0).sum() * len(self.y) / len(y)
        divergence = sum(
            (0.5 * (scale**2 + mean**2 - 1) - torch.log(scale)).sum()
            for mean, scale in zip(self.means, scales, strict=True)
        )
        return divergence - fit


class TorchStacked:
    """PyTorch with all networks stacked: every layer is one batched matrix product."""

    def __init__(self, X, y, *, networks, width, batch, dropout, penalty):
        self.X, self.y = torch.from_numpy(X), torch.from_numpy(y)
        self.n, self.batch, self.dropout, self.penalty = networks, batch, dropout, penalty
        stack, n_features = 4 * networks, X.shape[1]
        bound = math.sqrt(6 / (n_features + width))
        self.W1 = ((2 * torch.rand(stack, n_features, width) - 1) * bound).requires_grad_()
        self.b1 = torch.zeros(stack, 1, width, requires_grad=True)
        self.W2 = ((2 * torch.rand(stack, width, 1) - 1) * bound).requires_grad_()
        self.b2 = torch.zeros(stack, 1, 1, requires_grad=True)
        self.optimizer = torch.optim.Adam([self.W1, self.b1, self.W2, self.b2], lr=1e-4, fused=True)

    def steps(self, n):
        """Take n steps of every network."""
        done = 0
        while done < n:
            order = torch.rand(self.n, len(self.y)).argsort(dim=1)
            for rows in order.split(self.batch, dim=1)[: n - done]:
                self._step(rows)
                done += 1

    def _step(self, rows):
        x = self.X[rows].repeat(4, 1, 1)
        hidden = torch.baddbmm(self.b1, x, self.W1).relu()
        hidden = torch_functional.dropout(hidden, self.dropout)
        m, nu, alpha, beta = torch.baddbmm(self.b2, hidden, self.W2).view(4, self.n, -1)
        softplus = torch_functional.softplus
        loss = student_loss(self.y[rows], m, softplus(nu), softplus(alpha) + 0.1, softplus(beta))
        total = loss.mean(dim=1).sum() + self.penalty * ((self.W1**2).sum() + (self.W2**2).sum())
        self.optimizer.zero_grad()
        total.backward()
        self.optimizer.step()


class JaxVmap:
    """JAX: vmap over networks, scan over the steps of an epoch, compiled as a whole."""

    def __init__(self, X, y, *, networks, width, batch, dropout, penalty):
        import jax
        import jax.numpy as jnp

        X, y, n_rows = jnp.asarray(X), jnp.asarray(y), len(y)
        self.steps_an_epoch = n_rows // batch
        keep = 1 - dropout

        def loss(parameters, rows, key):
            W1, b1, W2, b2 = parameters
            hidden = jax.nn.relu(jnp.einsum("bf,qfh->qbh", X[rows], W1) + b1)
            hidden = jnp.where(jax.random.bernoulli(key, keep, hidden.shape), hidden / keep, 0)
            m, nu, alpha, beta = jnp.einsum("qbh,qh->qb", hidden, W2) + b2
            nu, alpha, beta = jax.nn.softplus(nu), jax.nn.softplus(alpha) + 0.1, jax.nn.softplus(beta)
            sigma = beta * (nu + 1) / nu
            value = jax.lax.lgamma(alpha) - jax.lax.lgamma(alpha + 0.5) + 0.5 * jnp.log(2 * jnp.pi * sigma)
            value += (alpha + 0.5) * jnp.log1p((y[rows] - m) ** 2 / (2 * sigma))
            return value.mean() + penalty * ((W1**2).sum() + (W2**2).sum())

        def step(carry, given):
            parameters, first, second, t = carry
            rows, key = given
            gradient = jax.grad(loss)(parameters, rows, key)
            tree = jax.tree.map
            first = tree(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
            second = tree(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
            size, scale = 1e-4 / (1 - 0.9**t), 1 / (1 - 0.999**t)
            move = lambda p, m, v: p - size * m / (jnp.sqrt(v * scale) + 1e-8)
            return (tree(move, parameters, first, second), first, second, t + 1), None

        def epoch(carry, key):
            order_key, drop_key = jax.random.split(key)
            order = jax.random.permutation(order_key, n_rows)[: self.steps_an_epoch * batch]
            keys = jax.random.split(drop_key, self.steps_an_epoch)
            return jax.lax.scan(step, carry, (order.reshape(-1, batch), keys))[0]

        self.jax, self.epoch = jax, jax.jit(jax.vmap(epoch))
        keys = jax.random.split(jax.random.key(0), 3)
        bound = math.sqrt(6 / (X.shape[1] + width))
        self.keys = jax.random.split(keys[0], networks)
        parameters = (
            jax.random.uniform(keys[1], (networks, 4, X.shape[1], width), minval=-bound, maxval=bound),
            jnp.zeros((networks, 4, 1, width)),
            jax.random.uniform(keys[2], (networks, 4, width), minval=-bound, maxval=bound),
            jnp.zeros((networks, 4, 1)),
        )
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        self.carry = (parameters, zeros, zeros, jnp.ones(networks))

    def steps(self, n):
        """Take n steps of every network, in whole epochs."""
        for _ in range(n // self.steps_an_epoch):
            self.carry = self.epoch(self.carry, self.keys)
        self.jax.block_until_ready(self.carry)


class TorchWide:
    """One wide network with the Gaussian likelihood."""

    def __init__(self, X, y, *, width, batch):
        self.X, self.y, self.batch = torch.from_numpy(X), torch.from_numpy(y), batch
        sizes = [
            nn.Linear(X.shape[1], width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 2),
        ]
        self.network = nn.Sequential(*sizes)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-3, fused=True)

    def steps(self, n):
        """Take n steps."""
        done = 0
        while done < n:
            for rows in torch.randperm(len(self.y)).split(self.batch)[: n - done]:
                mean, raw = self.network(self.X[rows]).unbind(dim=1)
                variance = torch_functional.softplus(raw)
                loss = torch_functional.gaussian_nll_loss(mean, self.y[rows], variance, full=True)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                done += 1


class TorchForward:
    """The outputs of an ensemble for many rows, in blocks that fit the cache or in one piece."""

    def __init__(self, X, *, members, width, block):
        self.X, self.block = torch.from_numpy(X), block
        self.members = [GCP(X.shape[1], width, 0.0).eval() for _ in range(members)]

    def __call__(self):
        """Outputs: members × rows × 4."""
        outputs = torch.empty(len(self.members), len(self.X), 4)
        with torch.inference_mode():
            for k, member in enumerate(self.members):
                for start in range(0, len(self.X), self.block):
                    rows = slice(start, start + self.block)
                    outputs[k, rows] = torch.stack([part(self.X[rows]) for part in member.parts], dim=1)
        return outputs


def sklearn_fit(X, y, *, width, batch, epochs):
    """Epochs of scikit-learn's MLPRegressor."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    model = MLPRegressor(
        hidden_layer_sizes=(width,), batch_size=batch, max_iter=epochs, tol=0, n_iter_no_change=epochs + 1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, np.asarray(y, dtype=X.dtype))
