"""One look for every picture: of the command line and of the manual."""

from typing import Any

# Okabe and Ito's colours, which colour-blind readers can tell apart; line styles differ as well, for print.
BLUE, RED, GREEN, AMBER, GREY, INK = "#0072b2", "#d55e00", "#007a59", "#b87900", "#8a8f98", "#1f2430"

STYLE: Any = {
    "figure.facecolor": "white",  # an opaque card, legible on light and dark pages alike
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.1,
    "figure.titlesize": 11,
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e6ea",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "lines.linewidth": 1.9,
    "legend.frameon": True,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "none",
    "legend.fontsize": 8.5,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "levelhead",  # the same picture is the same file, byte for byte
}


def shown_once(figure: Any) -> Any:
    """Return a figure of pyplot so that a notebook draws it once: as the value of its cell, not also at its end."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    if "inline" in mpl.get_backend():
        plt.close(figure)
    return figure
