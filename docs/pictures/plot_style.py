"""Draws the pictures of the manual, in files that are the same byte for byte on every run."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from levelhead._plot_style import STYLE

ASSETS = Path(__file__).parent.parent / "assets"


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
