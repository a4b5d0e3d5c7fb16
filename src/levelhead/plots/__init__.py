"""Pictures of predictions and audits, in matplotlib and in plotly.

Every function returns a `Plot`, a description of the picture. `plot.matplotlib()` and `plot.plotly()` draw it, and a
notebook shows it as the value of a cell. Needs the extra `plot` (matplotlib) or `report` (plotly).

| question | function |
|---|---|
| are the probabilities right? | `calibration` |
| how wide are the intervals along a column? | `intervals` |
| does the variance predict the error? | `retention` |
| how do mean and spread depend on a column? | `partial_dependence` |
| which labels are suspect? | `suspects` |
| which columns move the predictions? | `importance` |

>>> from levelhead import Prediction, plots
>>> plot = plots.calibration([0.1, -0.4, 0.9], Prediction([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]))
>>> [panel.title for panel in plot.panels]
['Calibration']
"""

from levelhead.plots.charts import calibration, importance, intervals, partial_dependence, retention, suspects
from levelhead.plots.description import Mark, Panel, Plot

__all__ = [
    "Mark",
    "Panel",
    "Plot",
    "calibration",
    "importance",
    "intervals",
    "partial_dependence",
    "retention",
    "suspects",
]
