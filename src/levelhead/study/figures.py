"""Figures 3 and 5 of the paper, from stored results only."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from levelhead.study.specs import Spec
from levelhead.study.store import Row, Store
from levelhead.study.tables import cells, in_order

# Okabe and Ito's colours, which colour-blind readers can tell apart; markers and dashes differ as well, for print.
_COLOURS = ("#0072b2", "#d55e00", "#007a59", "#b87900", "#8a4f7d", "#56b4e9", "#8a8f98", "#1f2430", "#cc79a7")
_MARKERS = "osv^DPX*h"
_DASHES = ("-", "--", "-.", ":")
_WIDTH, _HEIGHT = 3.4, 3.0  # inches of one panel


def measure_against_share(
    rows: Iterable[Row], measure: str = "auc", methods: Sequence[str] | None = None
) -> Any:
    """A measure against λ, with standard errors, a panel for every data set (Figure 3 for `auc`).

    Parameters
    ----------
    rows : from `Store.rows` or `read_csv`; of one contamination.
    measure : as for `table`.
    methods : which to draw; all if None.

    Returns
    -------
    figure : of matplotlib; `figure.savefig("auc.svg")` keeps it.
    """
    found = {key: cell for key, cell in cells(rows, measure).items() if methods is None or key[2] in methods}
    names = in_order({method for _, _, method in found})

    def draw(axes: Any, dataset: str) -> None:
        for k, method in enumerate(names):
            line = [(key[1], cell) for key, cell in found.items() if key[0] == dataset and key[2] == method]
            line.sort(key=lambda pair: pair[0])
            error = [0.0 if cell.n_splits < 2 else cell.std / np.sqrt(cell.n_splits) for _, cell in line]
            axes.errorbar([x for x, _ in line], [cell.mean for _, cell in line], error, **_look(k, method))
        axes.set_xlabel("λ, % of wrong labels")

    return _panels(list(dict.fromkeys(dataset for dataset, _, _ in found)), draw, measure.upper())


def retention_curves(
    store: Store,
    share: float = 5,
    methods: Sequence[str] | None = None,
    specs: Iterable[Spec] | None = None,
) -> Any:
    """RMSE(n) without the n most uncertain test rows, mean over the splits (Figure 5 for λ = 5).

    Parameters
    ----------
    store : where the results are.
    share : λ.
    methods : which to draw; all if None.
    specs : the study to draw, if the store holds several; all runs if None.
    """
    study = None if specs is None else list(specs)
    found = cells(store.rows(study), "auc")  # refuses mixed results
    keys = [key for key in found if key[1] == share and (methods is None or key[2] in methods)]
    names = in_order({method for _, _, method in keys})

    def draw(axes: Any, dataset: str) -> None:
        for k, method in enumerate(names):
            curves = store.curves(dataset, share, method, study)
            if curves:
                mean = np.mean(curves, axis=0)
                axes.plot(np.arange(mean.size), mean, **_look(k, method) | {"marker": ""})
        axes.set_xlabel("n, rows left out")

    return _panels(list(dict.fromkeys(dataset for dataset, _, _ in keys)), draw, "RMSE(n)")


def _look(k: int, method: str) -> dict[str, Any]:
    return {
        "color": _COLOURS[k % len(_COLOURS)],
        "marker": _MARKERS[k % len(_MARKERS)],
        "linestyle": _DASHES[k % len(_DASHES)],
        "markersize": 4,
        "linewidth": 1.5,
        "label": method,
    }


def _panels(datasets: Sequence[str], draw: Callable[[Any, str], None], label: str) -> Any:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError('figures need matplotlib: pip install "levelhead[plot]"') from error
    if not datasets:
        raise ValueError("there is nothing to draw: no stored results for these methods and this λ")
    figure = Figure(figsize=(_WIDTH * len(datasets), _HEIGHT), layout="constrained")
    for k, (axes, dataset) in enumerate(
        zip(figure.subplots(1, len(datasets), squeeze=False)[0], datasets, strict=True)
    ):
        draw(axes, dataset)
        axes.set_title(dataset)
        axes.grid(color="#e4e6ea", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        if k == 0:
            axes.set_ylabel(label)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), frameon=False)
    return figure
