"""Fits core and backgrounds to counts in bins, by penalised maximum likelihood, from many starts at once.

Backgrounds are added one by one, each time the one that gains most at the present core; then core and shares are fitted
together by damped Fisher scoring. All arrays have one row per start.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead.audits._backgrounds import EXISTENCE, PAID_IN_THE_AVERAGE, dictionary, outside, per_label
from levelhead.audits._bins import WIDTHS, X, half_scale
from levelhead.audits._cores import Core
from levelhead.theory.elementary import exp, log, log1p

FloatArray = NDArray[np.float64]

_SLOTS = 4  # most backgrounds in one model
_STEPS, _LAST_STEPS = 8, 12  # of Fisher scoring, after each background and at the end
_ALONE, _ALONE_STEPS = 3, 25  # starts and steps for a core without background
_GROWING_STEPS = 6
_ENOUGH = 1e-3  # gain in log likelihood that is not worth another step
_NONE = 0.05  # a background with fewer labels is dropped
_TOO_NARROW = (
    0.75  # backgrounds for a core that is narrower than this, relative to the fitted one, do not count
)
_BULK = 2.5  # half-widths of the core
_ALIKE = 0.02  # models whose shares of the bins differ by less in total are one
_TINY = 1e-300


class _State(NamedTuple):
    cost: FloatArray
    mass: FloatArray
    slopes: FloatArray
    clean: FloatArray
    shares: FloatArray
    density: FloatArray


@dataclass(frozen=True)
class Model:
    """One fitted model.

    Attributes
    ----------
    cost : float
        Penalised −ln likelihood, with the prices of the backgrounds that count in an average.
    core : Core
        The family of the core.
    at : ndarray
        Parameters of the core.
    mass : ndarray of shape (n_bins,)
        The core: share of the clean labels in each bin.
    shapes, shares, prices : ndarray
        The backgrounds, their shares of all labels, and their prices.
    """

    cost: float
    core: Core
    at: FloatArray
    mass: FloatArray
    shapes: FloatArray
    shares: FloatArray
    prices: FloatArray

    @property
    def wrong(self) -> FloatArray:
        """Share of all labels that is wrong and lies in each bin."""
        total: FloatArray = (self.shares[:, None] * self.shapes).sum(axis=0)
        return total

    @property
    def clean(self) -> FloatArray:
        """Share of all labels that is clean and lies in each bin."""
        return (1 - float(self.shares.sum())) * self.mass

    @property
    def outside_the_bulk(self) -> FloatArray:
        """A density of wrong labels of which nothing is known but that they lie outside the bulk."""
        return outside(float(X[np.argmax(self.mass / WIDTHS)]), _BULK * half_scale(self.mass))

    def with_background(self, shape: FloatArray, share: float) -> "Model":
        """The same core with one background, which costs nothing."""
        return replace(self, shapes=shape[None, :], shares=np.array([share]), prices=np.zeros(1))

    def is_like(self, other: "Model") -> bool:
        """Whether both put the same labels into core and backgrounds."""
        if self.core is not other.core or self.shares.size != other.shares.size:
            return False
        distance = np.abs(self.clean - other.clean).sum() + np.abs(self.wrong - other.wrong).sum()
        return bool(distance < _ALIKE)


class Batch:
    """Several starts of one family, fitted side by side.

    Parameters
    ----------
    core : Core
        The family of the core.
    counts : ndarray of shape (n_bins,)
        Labels in each bin.
    at : ndarray of shape (n_starts, n_parameters)
        Where to begin.
    slots : int
        Most backgrounds of each start.
    known : ndarray of shape (n_starts,), default=None
        Share of all labels in backgrounds, if it is given.
    """

    def __init__(
        self, core: Core, counts: FloatArray, at: FloatArray, slots: int, known: FloatArray | None = None
    ) -> None:
        self.core, self.counts, self.at, self.known = core, counts, at, known
        self.n = float(counts.sum())
        size = len(at)
        self.logits = np.full((size, slots), -np.inf)
        self.shapes = np.zeros((size, slots, counts.size))
        self.prices = np.zeros((size, slots))
        self.refresh()

    def refresh(self) -> None:
        """Evaluate again after a change of backgrounds."""
        self.damping = np.full(len(self.at), 0.1)
        self.state = self.evaluate(self.at, self.logits)

    def evaluate(self, at: FloatArray, logits: FloatArray) -> _State:
        """Penalised −ln likelihood, and what its derivatives need."""
        mass, slopes = self.core.masses(at)
        odds = exp(logits)
        if self.known is None:
            clean = 1 / (1 + odds.sum(axis=1))
            shares = odds * clean[:, None]
        else:
            clean = 1 - self.known
            shares = self.known[:, None] * odds / np.maximum(odds.sum(axis=1, keepdims=True), _TINY)
        density = clean[:, None] * mass + (shares[:, :, None] * self.shapes).sum(axis=1)
        density = np.maximum(density, _TINY)
        cost = (self.prices * log1p(self.n * shares)).sum(axis=1) + self.core.penalty(at)[0]
        return _State(cost - (self.counts * log(density)).sum(axis=1), mass, slopes, clean, shares, density)

    def derivatives(self) -> tuple[FloatArray, FloatArray]:
        """Gradient and Fisher information in the parameters of the core and the logits of the shares."""
        s = self.state
        if self.known is None:
            around = s.density
        else:
            wrong = (s.shares[:, :, None] * self.shapes).sum(axis=1)
            around = wrong / np.maximum(self.known, _TINY)[:, None]
        rises = np.concatenate(
            [
                (s.clean[:, None] * s.mass)[:, None, :] * s.slopes,
                s.shares[:, :, None] * (self.shapes - around[:, None, :]),
            ],
            axis=1,
        )
        gradient = -(rises * (self.counts / s.density)[:, None, :]).sum(axis=2)
        scaled = rises * (self.n / s.density)[:, None, :]
        size = rises.shape[1]
        information = np.empty((len(rises), size, size))
        for i in range(size):
            information[:, i, i:] = (rises[:, i : i + 1] * scaled[:, i:]).sum(axis=2)
            information[:, i:, i] = information[:, i, i:]
        p = self.at.shape[1]
        _, by_core, curvature = self.core.penalty(self.at)
        gradient[:, :p] += by_core
        paid = self.prices * self.n * s.shares / (1 + self.n * s.shares)
        total = paid.sum(axis=1, keepdims=True)
        base = 1.0 if self.known is None else np.maximum(self.known, _TINY)[:, None]
        gradient[:, p:] += paid - s.shares / base * total
        diagonal = np.arange(p)
        information[:, diagonal, diagonal] += curvature
        return gradient, information

    def polish(self, steps: int) -> None:
        """Fit core and shares together."""
        p = self.at.shape[1]
        for _ in range(steps):
            gradient, information = self.derivatives()
            low = (self.at <= self.core.lower + 1e-9) & (gradient[:, :p] > 0)
            high = (self.at >= self.core.upper - 1e-9) & (gradient[:, :p] < 0)
            fixed = np.concatenate([low | high, ~np.isfinite(self.logits)], axis=1)
            step = np.clip(_damped_step(gradient, information, self.damping, fixed), -1, 1)
            at = np.clip(self.at + np.clip(step[:, :p], -0.5, 0.5), self.core.lower, self.core.upper)
            if not self._accept(at, self.logits + step[:, p:]):
                break
        self._drop_empty()

    def _accept(self, at: FloatArray, logits: FloatArray) -> bool:
        """Take over the starts that got better; return whether another step may be worth it."""
        tried = self.evaluate(at, logits)
        better = tried.cost <= self.state.cost
        gain = np.where(better, self.state.cost - tried.cost, 0.0)
        self.at = _chosen(better, at, self.at)
        self.logits = _chosen(better, logits, self.logits)
        self.state = _State(*(_chosen(better, new, old) for new, old in zip(tried, self.state, strict=True)))
        self.damping = np.where(better, np.maximum(self.damping / 5, 1e-4), np.minimum(self.damping * 8, 1e6))
        settled = (gain < _ENOUGH) & (better | (self.damping > 1e3))
        return not bool(settled.all())

    def _drop_empty(self) -> None:
        empty = np.isfinite(self.logits) & (self.n * self.state.shares < _NONE)
        if self.known is None and empty.any():
            self.logits[empty], self.shapes[empty], self.prices[empty] = -np.inf, 0.0, 0.0
            self.refresh()

    def grow(self, shapes: FloatArray, prices: FloatArray) -> bool:
        """Add to each start the background that gains most, if any does; return whether one was added."""
        gain, share = self._gains(shapes, prices)
        empty = ~np.isfinite(self.logits)
        rows = np.arange(len(self.at))
        best = gain.argmax(axis=1)
        chosen = rows[(gain[rows, best] > 0) & empty.any(axis=1)]
        for row in chosen:
            slot, which = int(empty[row].argmax()), best[row]
            self.shapes[row, slot], self.prices[row, slot] = shapes[row, which], prices[row, which]
            odds = share[row, which] / (1 - share[row, which])
            self.logits[row, slot] = log(odds / self.state.clean[row])
        self.refresh()
        return bool(chosen.size > 0)

    def _gains(self, shapes: FloatArray, prices: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gain in penalised log likelihood of each background, the others being kept, and its share."""
        some = self.counts > 0
        counts = self.counts[some]
        excess = shapes[:, :, some] / self.state.density[:, None, some] - 1
        share = np.full(prices.shape, 0.03)
        for _ in range(_GROWING_STEPS):
            part = share[:, :, None] * (excess + 1)
            found = (counts * (part / (1 + share[:, :, None] * excess))).sum(axis=2)
            share = np.clip(found / (self.n + prices / (1 + found)), 1e-9, 0.9)
        gain = (counts * log(1 + share[:, :, None] * excess)).sum(axis=2)
        paid = prices * log1p(self.n * share) + EXISTENCE + per_label(prices) * self.n * share
        return gain - paid, share

    def models(self, scales: FloatArray) -> list[Model]:
        """The fitted models, those left out whose backgrounds are too near for their core."""
        found = []
        for i, scale in enumerate(scales):
            mass, shares = self.state.mass[i], self.state.shares[i]
            if scale < 1 and scale < _TOO_NARROW * half_scale(mass):
                continue
            used = shares > 0
            paid = self.n * (per_label(self.prices[i]) * shares).sum()
            cost = self.state.cost[i] + PAID_IN_THE_AVERAGE * paid
            found.append(
                Model(
                    float(cost),
                    self.core,
                    self.at[i],
                    mass,
                    self.shapes[i][used],
                    shares[used],
                    self.prices[i][used],
                )
            )
        return found


def fit(core: Core, counts: FloatArray) -> list[Model]:
    """Fit one family of cores, with and without backgrounds.

    Parameters
    ----------
    core : Core
        The family.
    counts : ndarray of shape (n_bins,)
        Labels in each bin.

    Returns
    -------
    list of Model
        One model per start.
    """
    scales = np.array([scale for scale, _ in core.starts])
    at = np.array([start for _, start in core.starts])
    entries = [dictionary(float(scale)) for scale in scales]
    shapes, prices = np.array([e[0] for e in entries]), np.array([e[1] for e in entries])
    batch = Batch(core, counts, at.copy(), _SLOTS)
    for _ in range(_SLOTS):
        grown = batch.grow(shapes, prices)
        batch.polish(_STEPS)
        if not grown:
            break
    batch.polish(_LAST_STEPS)
    alone = Batch(core, counts, at[:_ALONE].copy(), 1)
    alone.polish(_ALONE_STEPS)
    return batch.models(scales) + alone.models(np.ones(len(alone.at)))


def distinct(models: list[Model]) -> list[Model]:
    """The models that differ, in the order of their costs.

    Parameters
    ----------
    models : list of Model
        Fitted models.

    Returns
    -------
    list of Model
        Of models that are alike, the best.
    """
    kept: list[Model] = []
    for model in sorted(models, key=lambda model: model.cost):
        if not any(model.is_like(other) for other in kept):
            kept.append(model)
    return kept


def refit(model: Model, counts: FloatArray, shares: FloatArray) -> Batch:
    """Fit a model again with given shares of wrong labels, one row per share.

    Parameters
    ----------
    model : Model
        A model with at least one background.
    counts : ndarray of shape (n_bins,)
        Labels in each bin.
    shares : ndarray of shape (n_shares,)
        Shares of all labels that lie in backgrounds.

    Returns
    -------
    Batch
        The fits.
    """
    size = len(shares)
    batch = Batch(model.core, counts, np.tile(model.at, (size, 1)), len(model.shares), shares)
    batch.shapes = np.tile(model.shapes, (size, 1, 1))
    batch.prices = np.tile(model.prices, (size, 1))
    batch.logits = np.tile(log(model.shares), (size, 1))
    batch.refresh()
    batch.polish(_LAST_STEPS)
    return batch


def _damped_step(
    gradient: FloatArray, information: FloatArray, damping: FloatArray, fixed: NDArray[np.bool_]
) -> FloatArray:
    size = gradient.shape[1]
    diagonal = np.arange(size)
    matrix = np.where(fixed[:, :, None] | fixed[:, None, :], 0.0, information)
    raised = information[:, diagonal, diagonal] * (1 + damping[:, None]) + 1e-6
    matrix[:, diagonal, diagonal] = np.where(fixed, 1.0, raised)
    return _solve(matrix, np.where(fixed, 0.0, -gradient))


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Gaussian elimination for positive definite matrices; a BLAS would round differently on other processors."""
    a, b = matrix.copy(), right.copy()
    size = b.shape[1]
    for k in range(size - 1):
        factor = a[:, k + 1 :, k] / a[:, k, k][:, None]
        a[:, k + 1 :, k:] -= factor[:, :, None] * a[:, k : k + 1, k:]
        b[:, k + 1 :] -= factor * b[:, k : k + 1]
    for k in range(size - 1, -1, -1):
        b[:, k] = (b[:, k] - (a[:, k, k + 1 :] * b[:, k + 1 :]).sum(axis=1)) / a[:, k, k]
    return b


def _chosen(which: NDArray[np.bool_], new: FloatArray, old: FloatArray) -> FloatArray:
    chosen: FloatArray = np.where(which.reshape((-1,) + (1,) * (new.ndim - 1)), new, old)
    return chosen
