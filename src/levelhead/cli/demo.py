"""`levelhead demo`: the paper's synthetic data with 5 % wrong labels, GCP next to a Gaussian network."""

import time
from pathlib import Path
from typing import Any

import numpy as np

import levelhead
from levelhead._plot_style import BLUE, RED
from levelhead.cli import options, output, screen

_OURS, _PLAIN = "levelhead (GCP)", "Gaussian likelihood"
_GRID = np.linspace(-1, 1, 400)[:, None]


@screen.command
def demo(
    out: options.Folder = Path("levelhead-demo"),
    members: options.Members = 5,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Try levelhead on synthetic data with 5 % wrong labels, next to an ordinary Gaussian network.

    Writes a page for the browser (report.html), the data with the result for every label (labels.csv) and a figure
    (demo.svg).
    """
    paths = out / "report.html", out / "labels.csv", out / "demo.svg"
    output.refuse(*paths, force=force)
    data = levelhead.datasets.synthetic(400, contamination=0.05, random_state=seed)
    models = {
        _OURS: levelhead.GCPRegressor(n_members=members, random_state=seed),
        _PLAIN: levelhead.GaussianRegressor(n_members=members, random_state=seed),
    }
    with screen.busy("fitting two ensembles to 400 rows"):
        _compile(data)
        scores = {name: _fitted(model, data) for name, model in models.items()}
        verdict = models[_OURS].audit(data.X, data.y)
    flagged = verdict.is_label_issue
    found = {
        "wrong": data.mask.sum(),
        "flagged": flagged.sum(),
        "correctly_flagged": (flagged & data.mask).sum(),
    }
    with output.whole(*paths, force=force) as (page, labels, picture):
        _report(data, models, verdict, page)
        output.write_csv(verdict.to_frame().assign(x=data.X[:, 0], is_wrong=data.mask), labels)
        _draw(data, models, flagged, picture)
    if as_json:
        screen.print_json({"models": scores, "labels": found, "files": [str(path) for path in paths]})
        return
    screen.table(
        f"The paper's synthetic data: {len(data.y)} labels, {data.mask.sum()} of them wrong",
        ["", "RMSE to true mean", "predicted/true std", "seconds"],
        [(name, *(f"{score:.2f}" for score in row.values())) for name, row in scores.items()],
    )
    screen.print_line(
        f"\n{found['flagged']} labels are flagged as wrong; {found['correctly_flagged']} of them really are."
    )
    screen.print_line(f"Wrote {paths[1]} and {paths[2]}.")
    screen.print_line(
        f"Next: open {paths[0]} in a browser, then try levelhead audit YOUR.csv --target COLUMN"
    )


def _compile(data: "levelhead.datasets.Synthetic") -> None:
    """Compile first, so that the times shown are those of the fits alone."""
    short = levelhead.GCPRegressor(max_iter=1, out_of_fold=False, contamination=None)
    short.fit(data.X, data.y).predict(data.X)


def _fitted(model: Any, data: "levelhead.datasets.Synthetic") -> dict[str, float]:
    began = time.perf_counter()
    prediction = model.fit(data.X, data.y).predict_dist(data.X)
    return {
        "rmse_to_true_mean": float(np.sqrt(np.mean((prediction.mean - data.mean) ** 2))),
        "predicted_over_true_std": float(np.median(prediction.std / data.std)),
        "seconds": time.perf_counter() - began,
    }


def _report(
    data: "levelhead.datasets.Synthetic", models: dict[str, Any], verdict: "levelhead.Audit", path: Path
) -> None:
    """The page of the audit, with the paper's Figure 2 in front."""
    from levelhead.report import audit_report

    audit_report(
        verdict,
        path,
        table={"x": data.X[:, 0], "y": data.y, "is_wrong": data.mask},
        target="y",
        inputs=data.X,
        title="The paper's synthetic data, 5 % of its labels wrong",
        front=_figure_2(data, models, verdict),
    )


def _figure_2(
    data: "levelhead.datasets.Synthetic", models: dict[str, Any], verdict: "levelhead.Audit"
) -> list[Any]:
    """The paper's Figure 2: labels, means and standard deviations, with the truth."""
    from levelhead.report import Panel

    x, order = data.X[:, 0], np.argsort(data.X[:, 0])
    kinds = (
        ("clean", ~data.mask, {"size": 4, "color": "var(--grey)"}),
        (
            "wrong",
            data.mask,
            {"size": 8, "symbol": "x-thin-open", "color": "var(--red)", "line": {"width": 2}},
        ),
        (
            "flagged",
            verdict.is_label_issue,
            {"size": 12, "symbol": "circle-open", "color": "var(--blue)", "line": {"width": 1.6}},
        ),
    )
    labels = [
        {"mode": "markers", "name": name, "x": x[rows], "y": data.y[rows], "marker": marker}
        for name, rows, marker in kinds
    ]
    lines: dict[str, list[dict[str, Any]]] = {}
    for moment in ("mean", "std"):
        truth = np.asarray(getattr(data, moment))
        lines[moment] = [_curve("truth", x[order], truth[order], "var(--ink)", "dash")]
        for (name, model), color, dash in zip(
            models.items(), ("var(--blue)", "var(--red)"), ("solid", "dashdot"), strict=True
        ):
            prediction = np.asarray(getattr(model.predict_dist(_GRID), moment))
            lines[moment].append(_curve(name, _GRID[:, 0], prediction, color, dash))
    wrong = int(data.mask.sum())
    return [
        Panel(
            "figure-labels",
            "Labels",
            {"data": labels, "layout": _axes("y")},
            f"{len(data.y)} labels, of which {wrong} were replaced by wrong ones. A ring marks a flagged label.",
        ),
        Panel(
            "figure-means",
            "Mean of the clean labels",
            {"data": lines["mean"], "layout": _axes("mean")},
            "Both ensembles were trained on all labels, including the wrong ones. Dashed: the truth.",
        ),
        Panel(
            "figure-deviations",
            "Standard deviation of the clean labels",
            {"data": lines["std"], "layout": _axes("standard deviation", log=True)},
            "The Gaussian network mistakes wrong labels for noise; levelhead separates the two.",
        ),
    ]


def _curve(name: str, x: Any, y: Any, color: str, dash: str) -> dict[str, Any]:
    line = {"color": color, "dash": dash, "width": 2.2}
    return {"mode": "lines", "name": name, "x": x, "y": y, "line": line}


def _axes(title: str, log: bool = False) -> dict[str, Any]:
    y_axis: dict[str, Any] = {"title": {"text": title}} | ({"type": "log"} if log else {})
    return {"xaxis": {"title": {"text": "x"}}, "yaxis": y_axis}


def _draw(data: "levelhead.datasets.Synthetic", models: dict[str, Any], flagged: Any, path: Path) -> None:
    """The paper's Figure 2: labels, means, standard deviations."""
    from levelhead.study.figures import save
    from levelhead.study.line_styles import LineStyle
    from levelhead.study.paper.synthetic_fits import draw

    x = data.X[:, 0]
    labels = {
        "clean": np.array([x[~data.mask], data.y[~data.mask]]),
        "wrong": np.array([x[data.mask], data.y[data.mask]]),
    }
    order = np.argsort(x)
    curves = {}
    for name, model in models.items():
        prediction = model.predict_dist(_GRID)
        curves[name] = np.array([_GRID[:, 0], prediction.mean, prediction.std])
    styles = {_OURS: LineStyle(BLUE, "-", "", 1.9), _PLAIN: LineStyle(RED, "-.", "", 1.9)}
    truth = np.array([x[order], data.mean[order], data.std[order]])
    save(draw(labels, truth, curves, styles, np.array([x[flagged], data.y[flagged]])), path)
