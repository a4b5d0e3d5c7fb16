"""Figures 1 (right) and 4 of the paper, from its theory: the dynamics of learning, and A(α)."""

from typing import Any

import numpy as np

from levelhead._plot_style import AMBER, BLUE, GREY, INK, RED
from levelhead.study.figures import styled
from levelhead.theory.dynamics import (
    ContaminatedPopulation,
    DirectTrajectory,
    Gaussian,
    Trajectory,
    direct_flow,
    equilibrium,
    field,
    flow,
)
from levelhead.theory.dynamics.three_outputs import speed_factor
from levelhead.theory.special import A, A_rough, alpha_minus_A

_TRUTH = Gaussian(0.0, 1.0)
_WIDE = Gaussian(0.0, 100.0)
_EPSILON = 0.05


def phase_portraits() -> Any:
    """Draw the flow in the (α, σ) plane without and with outliers (Figure 1, right).

    The clean labels are N(0, 1), the outliers N(0, 10²). Without outliers α and σ grow without limit; with outliers
    they converge.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    with styled() as new_figure:
        from matplotlib.lines import Line2D

        figure = new_figure(figsize=(8.4, 4.4))
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, epsilon in zip(panels, (0.0, _EPSILON), strict=True):
            _portrait(axes, ContaminatedPopulation(epsilon, _TRUTH, _WIDE))
            axes.set(
                title="without outliers" if epsilon == 0 else rf"with $\varepsilon = {epsilon:g}$ of outliers"
            )
        rest = equilibrium(ContaminatedPopulation(_EPSILON, _TRUTH, _WIDE))
        panels[1].plot(rest.alpha, rest.sigma, "o", color=INK, ms=8, mec="white", zorder=5)
        panels[0].set_ylabel(r"$\sigma$")
        handles = [
            Line2D([], [], color=BLUE, label=r"$\dot\alpha = 0$"),
            Line2D([], [], color=RED, ls="--", label=r"$\dot\sigma = 0$"),
            Line2D([], [], color=AMBER, label="a path of the flow"),
            Line2D([], [], color=INK, marker="o", ls="", label="equilibrium"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def phase_portraits_of_both_forms() -> Any:
    """Draw the flow with four and with three outputs, side by side, without and with outliers.

    The curves on which α̇ or σ̇ vanish are the same, and so are the equilibria; the paths are not.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    with styled() as new_figure:
        figure = new_figure(figsize=(8.4, 7.8))
        panels = figure.subplots(2, 2, sharex=True, sharey=True)
        for row, epsilon in zip(panels, (0.0, _EPSILON), strict=True):
            p_c = ContaminatedPopulation(epsilon, _TRUTH, _WIDE)
            for axes, direct in zip(row, (False, True), strict=True):
                _portrait(axes, p_c, direct=direct)
                if epsilon:
                    rest = equilibrium(p_c)
                    axes.plot(rest.alpha, rest.sigma, "o", color=INK, ms=8, mec="white", zorder=5)
                    axes.set_title(rf"$\varepsilon = {epsilon:g}$")
            row[0].set_ylabel(r"$\sigma$")
        panels[0, 0].set_title(r"four outputs $m, \nu, \alpha, \beta$; no outliers")
        panels[0, 1].set_title(r"three outputs $m, \alpha, \sigma$; no outliers")
        for axes in panels[0]:
            axes.set_xlabel("")
    return figure


def _portrait(axes: Any, p_c: ContaminatedPopulation, *, direct: bool = False) -> None:
    """Nullclines, directions of the vector field (at ν = 1), and two paths, with m = m_g by symmetry."""
    fine = 3 * np.linspace(0.04, 1, 60) ** 2  # finer near 0, where the curves bend
    alpha, sigma = np.meshgrid(fine, fine)
    _, G, H = field(p_c, 0.0, alpha, sigma)
    axes.contour(alpha, sigma, G, levels=[0], colors=BLUE, linewidths=2)
    axes.contour(alpha, sigma, H, levels=[0], colors=RED, linewidths=2, linestyles="--")
    nu = 1.0
    alpha, sigma = np.meshgrid(np.linspace(0.15, 2.85, 10), np.linspace(0.15, 2.85, 10))
    _, G, H = field(p_c, 0.0, alpha, sigma)
    sigma_dot = H / sigma * (1 if direct else speed_factor(nu, sigma))  # eq. (18)
    length = np.hypot(G, sigma_dot)
    axes.quiver(
        alpha, sigma, -G / length, sigma_dot / length, color=GREY, scale=26, width=0.0045, pivot="mid"
    )
    for start in ((0.25, 2.6), (2.6, 0.6)):
        times = np.concatenate([[0], np.geomspace(1e-3, 300, 200)])
        path: DirectTrajectory | Trajectory
        if direct:
            path = direct_flow(p_c, m=0.0, alpha=start[0], sigma=start[1], times=times)
        else:
            path = flow(p_c, m=0.0, nu=nu, alpha=start[0], beta=start[1] / 2, times=times)
        axes.plot(path.alpha, path.sigma, color=AMBER, lw=1.6)
    axes.set(xlim=(0, 3), ylim=(0, 3), xlabel=r"$\alpha$")


def a_of_alpha() -> Any:
    """Draw A(α) (Figure 4), the approximation of the paper, and the effect of the difference on the variance.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    alpha = np.geomspace(1e-2, 1e2, 400)
    with styled() as new_figure:
        figure = new_figure(figsize=(8.4, 2.9))
        left, middle, right = figure.subplots(1, 3, sharex=True)
        left.plot(alpha, A(alpha), color=BLUE, label=r"$A(\alpha)$")
        left.plot(alpha, A_rough(alpha), color=RED, ls="--", label=r"$2\alpha/(2\alpha+3)$")
        left.set(title=r"$A(\alpha)$, root of (7)", ylim=(0, 1.02))
        left.legend()
        middle.plot(alpha, A(alpha) - A_rough(alpha), color=RED)
        middle.set(title=r"$A(\alpha)$ minus the rough formula", ylim=(0, 0.08))
        right.plot(alpha, alpha_minus_A(alpha) / (alpha - A_rough(alpha)), color=RED)
        right.axhline(1, color=INK, lw=0.9)
        right.set(title=r"$V_p$ by the rough formula, relative", ylim=(0, 1.1))
        for axes in (left, middle, right):
            axes.set(xscale="log", xlabel=r"$\alpha$", xlim=(alpha[0], alpha[-1]))
    return figure
