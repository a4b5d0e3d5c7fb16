"""What a picture shows, without a library that draws it."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._plot_style import BLUE
from levelhead.plots import drawing


@dataclass(frozen=True, eq=False)
class Mark:
    """A line, points, a band or bars.

    Attributes
    ----------
    kind : {"line", "points", "crosses", "band", "bars"}
        What is drawn. Bars are horizontal: x is their length and y their names.
    x : ndarray
        Numbers or names.
    y : ndarray
        Numbers or names; the lower end of a band.
    upper : ndarray or None, default=None
        The upper end of a band.
    label : str, default=""
        Text of the legend; none if it is empty.
    colour : str, default=BLUE
        Colour.
    dashed : bool, default=False
        Whether a line is dashed.
    """

    kind: Literal["line", "points", "crosses", "band", "bars"]
    x: NDArray[Any]
    y: NDArray[Any]
    upper: NDArray[Any] | None = None
    label: str = ""
    colour: str = BLUE
    dashed: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes with marks.

    Attributes
    ----------
    title : str
        Title.
    x_label : str
        Name of the horizontal axis.
    y_label : str
        Name of the vertical axis.
    marks : tuple of Mark
        What is drawn, the first at the back.
    """

    title: str
    x_label: str
    y_label: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Plot:
    """A picture of one or several panels side by side.

    Attributes
    ----------
    panels : tuple of Panel
        The panels.
    """

    panels: tuple[Panel, ...]

    def matplotlib(self, axes: Any = None) -> Any:
        """Draw with matplotlib.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, sequence of them, or None, default=None
            Axes to draw on, one for each panel; by default those of a new figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        return drawing.with_matplotlib(self, axes)

    def plotly(self) -> Any:
        """Draw with plotly.

        Returns
        -------
        plotly.graph_objects.Figure
            The figure.

        Raises
        ------
        ImportError
            If plotly is not installed.
        """
        return drawing.with_plotly(self)

    def __repr__(self) -> str:
        titles = ", ".join(panel.title for panel in self.panels)
        return f"Plot of {titles}; draw it with .matplotlib() or .plotly()"

    def _repr_png_(self) -> bytes:
        return drawing.png(self)


def numbers_or_names(values: ArrayLike) -> NDArray[Any]:
    """Values of an axis: numbers as floats, anything else as text."""
    given = np.asarray(values)
    if given.dtype.kind in "biuf":
        return given.astype(np.float64)
    return given if given.dtype.kind == "M" else given.astype(str)
