"""One look for all pictures of the manual, and files that are the same byte for byte on every run."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

ASSETS = Path(__file__).parent.parent / "assets"

# Okabe and Ito's colours, which colour-blind readers can tell apart; line styles differ as well, for print.
BLUE, RED, GREEN, AMBER, GREY, INK = "#0072b2", "#d55e00", "#007a59", "#b87900", "#8a8f98", "#1f2430"

STYLE = {
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
    "svg.hashsalt": "levelhead",
}


def draw(pictures: dict[str, Callable[[], Figure]], folder: Path = ASSETS) -> None:
    """Draw every picture into `folder` and say which file was written."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, picture) in enumerate(pictures.items(), start=1):
        if sys.stderr.isatty():
            print(
                f"\r\033[Kdrawing {number} of {len(pictures)}: {name} …", end="", file=sys.stderr, flush=True
            )
        began = time.perf_counter()
        with plt.rc_context(STYLE):
            figure = picture()
            path = folder / f"{name}.svg"
            figure.savefig(path, metadata={"Date": None, "Creator": None})
            plt.close(figure)
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        print(f"wrote {_short(path)} ({time.perf_counter() - began:.1f} s)", flush=True)


def _short(path: Path) -> Path:
    here = Path.cwd()
    return path.resolve().relative_to(here) if path.resolve().is_relative_to(here) else path
