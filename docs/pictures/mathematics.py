"""Draws the pictures of the manual's page on the mathematics into docs/assets: `make docs`."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from plot_style import ASSETS, draw
from scipy.optimize import brentq

from levelhead._plot_style import AMBER, BLUE, GREEN, GREY, INK, RED
from levelhead.study.paper.theory_figures import a_of_alpha, phase_portraits, phase_portraits_of_both_forms
from levelhead.theory.dynamics import ContaminatedPopulation, Gaussian, equilibrium
from levelhead.theory.dynamics.expansions import bifurcating_equilibrium, variance_ratio
from levelhead.theory.special import alpha_minus_A, b

TRUTH = Gaussian(0.0, 1.0)
WIDE = Gaussian(0.0, 100.0)
ASIDE = Gaussian(1.0, 3.0)


def b_of_alpha() -> Figure:
    """b(α) with its limits, and up to which share of outliers the corrections make sense."""
    alpha = np.geomspace(1e-2, 1e2, 400)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.2), sharex=True)
    left.plot(alpha, b(alpha), color=BLUE, label=r"$b(\alpha)=2\alpha/A(\alpha)$")
    left.axhline(2, color=GREY, ls=":", label="2")
    left.plot(alpha, 2 * alpha + 3, color=RED, ls="--", lw=1.3, label=r"$2\alpha+3$")
    left.set(title=r"$b(\alpha)$", yscale="log", ylim=(1.5, 300))
    left.legend()
    right.plot(alpha, 1 / (2 * alpha + 1), color=GREEN, label=r"$1/(2\alpha+1)$: $V_\mathrm{far}$ ends")
    right.plot(
        alpha, 1 / b(alpha), color=AMBER, ls="--", label=r"$1/b$: $(1-b\varepsilon)V_p$ turns negative"
    )
    right.set(title=r"largest share $\varepsilon$ that can be corrected", ylim=(0, 1))
    right.legend()
    for axes in (left, right):
        axes.set(xscale="log", xlabel=r"$\alpha$", xlim=(alpha[0], alpha[-1]))
    return figure


def variances() -> Figure:
    """The variances read off the equilibrium, against the share of outliers N(0, 10²)."""
    heaviest = brentq(
        lambda e: equilibrium(ContaminatedPopulation(e, TRUTH, WIDE)).alpha - 1, 0.01, 0.2
    )  # V_St = ∞
    near = heaviest - np.geomspace(5e-4, 0.01, 6)
    epsilon = np.sort(np.concatenate([np.geomspace(1e-4, 1e-2, 12), np.linspace(0.012, 0.3, 36), near]))
    rests = [equilibrium(ContaminatedPopulation(float(e), TRUTH, WIDE)) for e in epsilon]
    alpha, sigma = (np.array([getattr(rest, name) for rest in rests]) for name in ("alpha", "sigma"))
    V_p = sigma / alpha_minus_A(alpha)
    V_St = np.divide(sigma, alpha - 1, out=np.full_like(sigma, np.inf), where=alpha > 1)
    V_far = sigma / alpha_minus_A(alpha / (1 - epsilon * (2 * alpha + 1)))
    first = (1 - b(alpha) * epsilon) * V_p
    figure, axes = plt.subplots(figsize=(7.0, 4.4))
    axes.plot(epsilon, 1 - epsilon + 100 * epsilon, color=GREY, ls=":", label="variance of all labels")
    axes.plot(epsilon, V_St, color=RED, ls="--", label=rf"Student $V_\mathrm{{St}}$, ∞ beyond {heaviest:.3f}")
    axes.plot(epsilon, V_p, color=BLUE, label=r"prognostic $V_p$")
    axes.plot(epsilon, first, color=AMBER, ls="-.", label=r"first order $(1-b\varepsilon)V_p$")
    axes.plot(epsilon, V_far, color=GREEN, ls=(0, (6, 1)), label=r"far outliers $V_\mathrm{far}$")
    axes.axhline(1, color=INK, lw=0.9, label=r"truth $V_g$")
    axes.set(yscale="log", ylim=(0.5, 20), xlim=(0, 0.3), xlabel=r"share of outliers $\varepsilon$")
    axes.set(ylabel=r"variance, in units of $V_g$", title=r"Outliers $N(0, 10^2)$ on the truth $N(0, 1)$")
    axes.set_yticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"], minor=False)
    axes.minorticks_off()
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def equilibrium_against_epsilon() -> Figure:
    """The equilibrium for a growing share of outliers N(1, 3), and what Theorem 3.1 leaves out."""
    epsilon = np.geomspace(1e-5, 0.4, 48)
    cases = [ContaminatedPopulation(float(e), TRUTH, ASIDE) for e in epsilon]
    exact = np.array([equilibrium(p_c) for p_c in cases])
    theorem = np.array([bifurcating_equilibrium(p_c) for p_c in cases])
    figure, rows = plt.subplots(2, 3, figsize=(8.4, 5.2), sharex=True)
    for column, name in enumerate(("m", r"\alpha", r"\sigma")):
        top, bottom = rows[:, column]
        shown = theorem[:, column] > 0
        top.plot(epsilon, exact[:, column], color=BLUE, label="equilibrium")
        top.plot(epsilon[shown], theorem[shown, column], color=RED, ls="--", label="Theorem 3.1")
        bottom.plot(epsilon, np.abs(exact - theorem)[:, column], color=RED, label="|difference|")
        top.set(title=rf"${name}_\varepsilon$", yscale="log")
        bottom.set(yscale="log", xlabel=r"$\varepsilon$", xscale="log", xlim=(1e-5, 0.4))
    small = epsilon < 1e-2
    for column, (axes, slope) in enumerate(zip(rows[1], (3, 0, 0), strict=True)):
        guide = 2 * np.abs(exact - theorem)[0, column] * (epsilon / epsilon[0]) ** slope
        axes.plot(epsilon[small], guide[small], color=GREY, ls=":", label=rf"slope $\varepsilon^{slope}$")
    for axes in rows[1, 1:]:
        axes.set_ylim(0.1, 100)
    for axes in rows.flat:
        axes.legend()
    return figure


def corrections() -> Figure:
    """V_g/V_p for far outliers at a fixed equilibrium, with the orders of Theorem 4.2."""
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 3.2))
    for axes, alpha, end in zip(panels, (0.3, 2.0), (0.5, 0.18), strict=True):
        epsilon = np.linspace(0, end, 200)
        exact = alpha_minus_A(alpha) / alpha_minus_A(alpha / (1 - epsilon * (2 * alpha + 1)))
        axes.plot(epsilon, exact, color=GREEN, lw=5, alpha=0.35, label=r"exact, $V_\mathrm{far}/V_p$")
        axes.plot(epsilon, variance_ratio(alpha, epsilon), color=BLUE, ls="--", label=r"to $\varepsilon^2$")
        axes.plot(
            epsilon, 1 - b(alpha) * epsilon, color=AMBER, ls="-.", label=r"to $\varepsilon$ (Theorem 4.2)"
        )
        axes.set(
            title=rf"$\alpha = {alpha:g}$", xlabel=r"share of far outliers $\varepsilon$", ylim=(-0.1, 1)
        )
        axes.set(xlim=(0, end))
        axes.axhline(0, color=INK, lw=0.9)
    panels[0].set_ylabel(r"$V_g/V_p$")
    panels[0].legend()
    return figure


PICTURES = {
    "a-of-alpha": a_of_alpha,
    "b-of-alpha": b_of_alpha,
    "variances": variances,
    "phase-portraits": phase_portraits,
    "phase-portraits-of-both-forms": phase_portraits_of_both_forms,
    "equilibrium-against-epsilon": equilibrium_against_epsilon,
    "corrections": corrections,
}


def main(folder: Path = ASSETS) -> None:
    """Draw them all."""
    draw(PICTURES, folder)


if __name__ == "__main__":
    main()
