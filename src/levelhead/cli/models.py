"""`levelhead fit`, `predict` and `evaluate`: from tables to a model file, and from a model file to predictions."""

import time
from pathlib import Path
from typing import Any

import numpy as np

import levelhead
from levelhead import tables
from levelhead.cli import options, output, screen, starting
from levelhead.files.formats import Reader, formats_for, known_formats
from levelhead.tables.columns import free_name

_COVERAGES = (0.5, 0.8, 0.9, 0.95)
_NO_ROWS: dict[str, Any] = {name: np.empty(0) for name in ("mean", "std", "lower", "upper", "alpha")}
_MEANING = {
    "rmse": "root mean squared error; sensitive to wrong labels",
    "robust_r2": "1 is perfect, 0 as good as a constant; robust against wrong labels",
    "retention_auc": "mean RMSE while the most uncertain rows are left out one by one",
    "ause": "the same, minus that of the best possible order; 0 is perfect",
    "nll": "negative log-likelihood; sensitive to wrong labels",
    "crps": "error of the predicted distribution, in units of the label",
    "calibration_error": "mean distance from the calibration line; 0 is perfect, 0.5 the worst",
}
_SHARES_DROPPED = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)


@screen.command
def fit(
    data: options.Data,
    target: options.Target,
    out: options.ModelFile,
    id_column: options.IdColumn = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    members: options.Members = 5,
    seed: options.Seed = 0,
    time_budget: options.TimeBudget = None,
    force: options.Force = False,
    as_json: options.Json = False,
    estimator: options.Estimator = options.Kind.auto,
    scale: options.Scale_ = options.Scale.auto,
    group: options.Group = None,
    time_column: options.Time = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    missing: options.Missing = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    allow_missing_labels: options.AllowMissingLabels = False,
    keep_out_of_fold: options.KeepOutOfFold = False,
    memory: options.Memory = None,
    dask: options.Dask = None,
) -> None:
    """Fit a model to a table in which some labels may be wrong, and save it."""
    output.refuse(out, force=force)
    began = time.perf_counter()
    reading = options.reading(decimal, thousands, missing, encoding, drop, keep, allow_missing_labels)
    from levelhead.cli import large

    if large.in_pieces(data, memory, dask):
        large.refuse_options(group=group, time=time_column, time_budget=time_budget)
        model = large.unfitted(estimator, scale, members, seed)
        table = large.table_of(data, target, memory, seed, id_column=id_column, **reading)
        large.fit(table, model, out, dask, force=force, as_json=as_json)
        return
    options.one_of(group=group, time=time_column)
    with screen.progress() as report, levelhead.report_progress(report):
        fitted = levelhead.fit_file(
            data,
            target,
            estimator=estimator.value,
            n_members=members,
            random_state=seed,
            target_transform=options.transform(scale),
            group=group,
            time=time_column,
            time_limit=time_budget,
            id_column=id_column,
            sheet=sheet,
            **reading,
        )
    with output.whole(out, force=force) as (partial,):
        levelhead.save(fitted.model, partial, out_of_fold=keep_out_of_fold or "auto")
    result = {**fitted.to_dict(), "seconds": time.perf_counter() - began, "files": [str(out)]}
    if as_json:
        screen.print_json(result)
        return
    for remark in fitted.remarks:
        screen.note(remark)
    wrong = (
        f"; about {result['contamination']:.1%} of the labels look wrong"
        if np.isfinite(result["contamination"])
        else ""
    )
    screen.print_line(
        f"Fitted {result['labels_judged']:,} of {result['labels_given']:,} rows with {len(result['features'])} "
        f"features in {result['seconds']:.0f} s{wrong}."
    )
    screen.print_line(f"Wrote {out}. Next: levelhead predict {out} DATA --out FILE")


@screen.command
def predict(
    model: options.Model,
    data: options.Data,
    out: options.PredictionFile,
    id_column: options.IdColumn = None,
    coverage: options.Coverage = 0.9,
    force: options.Force = False,
    as_json: options.Json = False,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    missing: options.Missing = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
) -> None:
    """Predict the clean label of every row: mean, standard deviation, interval and α.

    The table is read in chunks, so a large file needs little memory. A small α means that many training labels near
    this row were wrong.
    """
    output.refuse(out, force=force)
    if not 0 < coverage < 1:
        raise ValueError(f"--coverage is {coverage}; it must lie strictly between 0 and 1")
    loaded, rows = _loaded(model), 0
    reader = Reader(loaded, options.number_settings(decimal, thousands, missing), data)
    with (
        screen.bar("predicting") as progress,
        output.whole(out, force=force) as (partial,),
        output.writer(partial) as write,
    ):
        said: list[str] = []
        for piece in tables.pieces(
            data, progress=progress, encoding=encoding, sheet=sheet, remark=said.append, wanted=reader.columns
        ):
            write(_prediction_frame(loaded, reader, piece, id_column, coverage, rows))
            rows += len(piece)
    said += reader.remarks()
    if as_json:
        screen.print_json({"rows": rows, "remarks": said, "files": [str(out)]})
        return
    for remark in said:
        screen.note(remark)
    screen.print_line(f"Wrote {rows:,} predictions to {out}.")


@screen.command
def evaluate(
    model: options.Model,
    data: options.Data,
    target: options.Target,
    as_json: options.Json = False,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    missing: options.Missing = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    allow_missing_labels: options.AllowMissingLabels = False,
) -> None:
    """Evaluate a model on a table with labels: error, calibration, and whether the uncertainty predicts the error."""
    loaded = _loaded(model)
    settings = options.number_settings(decimal, thousands, missing)
    table = tables.training_table(
        data,
        target,
        keep="all",  # the model knows its features
        encoding=encoding,
        sheet=sheet,
        allow_missing_labels=allow_missing_labels,
        formats=known_formats(loaded)
        or formats_for(loaded, tables.read(data, encoding=encoding, sheet=sheet), settings, data),
        **settings,
    )
    prediction = _prediction(loaded, table.X, data)
    result = _measures(table.y, prediction)
    if as_json:
        screen.print_json({"rows": len(table.y), **result, **table.to_dict()})
        return
    for note in table.notes:
        screen.note(note)
    measures = [(name, f"{value:.4g}", _MEANING[name]) for name, value in result["measures"].items()]
    title = f"{table.labels_judged:,} of {table.labels_given:,} labels"
    screen.table(title, ["measure", "value", "meaning"], measures, words=[2])
    held = [(f"{share['expected']:.0%}", f"{share['observed']:.1%}") for share in result["coverage"]]
    screen.table("Coverage of the intervals", ["expected", "observed"], held)
    kept = [(f"{s:.0%}", f"{result['retention_curve'][int(s * len(table.y))]:.4g}") for s in _SHARES_DROPPED]
    screen.table("RMSE without the most uncertain rows", ["left out", "RMSE"], kept)


def _loaded(path: Path) -> Any:
    """A model and the libraries for tables, which take most of the time of a short command."""
    with starting.without_collection():
        import polars  # noqa: F401

        return levelhead.load(path)


def _prediction_frame(
    model: Any, reader: Reader, piece: Any, id_column: str | None, coverage: float, rows_before: int
) -> Any:
    """A frame with one row for each row of a chunk of the table."""
    import pandas as pd

    data = reader.data
    result = pd.DataFrame(
        _prediction_columns(_prediction(model, reader.inputs(piece), data), coverage)
        if len(piece)
        else _NO_ROWS
    )
    if id_column is None:
        result.insert(0, "row", np.arange(rows_before + 1, rows_before + len(piece) + 1))
    else:
        names = tables.choose(piece, [id_column], data)[id_column].to_numpy()
        result.insert(0, free_name(id_column, result.columns), names)
    return result


def _prediction_columns(prediction: "levelhead.Prediction", coverage: float) -> dict[str, Any]:
    interval = prediction.interval(coverage)
    return {
        "mean": prediction.mean,
        "std": prediction.std,
        "lower": interval.lower,
        "upper": interval.upper,
        "alpha": np.full(len(prediction), np.nan) if prediction.member_alpha is None else prediction.alpha,
    }


def _prediction(model: Any, frame: Any, data: Path) -> "levelhead.Prediction":
    """Predict from the columns the model was fitted to; from all columns if it was fitted to an array."""
    inputs = tables.choose(frame, list(getattr(model, "feature_names_in_", frame.columns)), data)
    try:
        return levelhead.metrics.predict_dist(model, inputs)
    except TypeError as error:  # a model saved from Python that predicts no distribution
        raise ValueError(str(error)) from error


def _measures(y: Any, prediction: "levelhead.Prediction") -> dict[str, Any]:
    moments = (prediction.mean, prediction.var)
    curve = levelhead.metrics.calibration_curve(y, prediction)
    return {
        "measures": {
            "rmse": levelhead.metrics.rmse(y, prediction.mean),
            "robust_r2": levelhead.metrics.robust_r2(y, prediction.mean),
            "retention_auc": levelhead.metrics.retention_auc(y, *moments),
            "ause": levelhead.metrics.ause(y, *moments),
            "nll": levelhead.metrics.nll(y, prediction),
            "crps": levelhead.metrics.crps(y, prediction),
            "calibration_error": levelhead.metrics.calibration_error(y, prediction),
        },
        "coverage": [
            {"expected": share, "observed": levelhead.metrics.coverage(y, *prediction.interval(share))}
            for share in _COVERAGES
        ],
        "calibration_curve": curve._asdict(),
        "retention_curve": levelhead.metrics.retention_curve(y, *moments),
    }
