"""Line styles of the methods: one colour per family, solid lines for ensembles, dashes for single models."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from levelhead._plot_style import AMBER, BLUE, GREEN, GREY, INK, RED

_PLUM, _SKY, _ROSE = "#8a4f7d", "#56b4e9", "#cc79a7"


class LineStyle(NamedTuple):
    """Style of a line.

    Attributes
    ----------
    colour : str
        Colour.
    dashes : str
        Line style of matplotlib.
    marker : str
        Marker of matplotlib.
    width : float
        Line width.
    """

    colour: str
    dashes: str
    marker: str
    width: float

    def plot_options(self, name: str) -> dict[str, Any]:
        """Keyword arguments for matplotlib's `plot`, with `name` as the label."""
        return {
            "color": self.colour,
            "linestyle": self.dashes,
            "marker": self.marker,
            "markersize": 3.6,
            "linewidth": self.width,
            "label": name,
        }


_KNOWN = {
    "EnsGCP": LineStyle(BLUE, "-", "o", 2.1),
    "GCP": LineStyle(BLUE, "--", "o", 1.2),
    "GCP_St": LineStyle(_SKY, ":", "P", 1.4),
    "EnsBeta": LineStyle(RED, "-", "s", 1.5),
    "Beta": LineStyle(RED, "--", "s", 1.0),
    "EnsGamma": LineStyle(AMBER, "-", "^", 1.5),
    "Gamma": LineStyle(AMBER, "--", "^", 1.0),
    "Beta_Bayes": LineStyle(GREEN, "-.", "D", 1.2),
    "Gaussian": LineStyle(GREY, ":", "X", 1.4),
    "EnsGCPBoost": LineStyle(_PLUM, "-", "v", 2.1),
    "GCPBoost": LineStyle(_PLUM, "--", "v", 1.2),
    "GCP3": LineStyle(BLUE, ":", "<", 1.2),
    "Evidential": LineStyle(_PLUM, "-.", "h", 1.2),
    "Huber": LineStyle(GREEN, "-", "d", 1.2),
    "Student": LineStyle(INK, "-", "p", 1.2),
    "RRNet": LineStyle(_ROSE, "-", ">", 1.2),
    "BetaNLL": LineStyle(GREY, "-", "v", 1.2),  # those that follow wrong labels are grey
    "Faithful": LineStyle(GREY, "--", "^", 1.2),
    "Natural": LineStyle(GREY, "-.", "s", 1.2),
}
_OTHERS = (_ROSE, INK, _SKY, GREEN, _PLUM)
_DASHES = ("-", "--", "-.", ":")
_MARKERS = "v<>phd"


def line_styles(methods: Sequence[str]) -> dict[str, LineStyle]:
    """Assign a line style to every method; unknown methods get the remaining styles in their order.

    "GCP (tuned)" has the style of GCP if GCP itself is not drawn.
    """
    names = {method: method.partition(" (")[0] for method in methods}
    known = {
        method: _KNOWN[name]
        for method, name in names.items()
        if name in _KNOWN and (name == method or name not in names)
    }
    others = [method for method in methods if method not in known]
    free = {
        method: LineStyle(
            _OTHERS[k % len(_OTHERS)], _DASHES[k % len(_DASHES)], _MARKERS[k % len(_MARKERS)], 1.4
        )
        for k, method in enumerate(others)
    }
    return {method: known.get(method) or free[method] for method in methods}


def math_name(method: str) -> str:
    """Format a name as the paper prints it: the part after an underscore is a subscript."""
    base, _, low = method.partition("_")
    return rf"{base}$_\mathrm{{{low}}}$" if low.isalpha() else method
