"""`levelhead audit`: which labels of a table are wrong."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import levelhead
from levelhead._rounding import with_noise
from levelhead.cli import options, output, screen

if TYPE_CHECKING:
    from levelhead.files import FileAudit

_ON_SCREEN = 10
_ALMOST_SURE = 0.9995


@screen.command
def audit(
    data: options.Data,
    target: options.Target,
    out: options.Folder = Path("levelhead-audit"),
    false_alarm_rate: options.FalseAlarmRate = 0.05,
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
    fitted_model: options.FittedModel = None,
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    missing: options.Missing = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    allow_missing_labels: options.AllowMissingLabels = False,
    memory: options.Memory = None,
    dask: options.Dask = None,
) -> None:
    """Find wrong labels in a table.

    Writes three files. report.html: a page for the browser, to review the flagged labels one by one. labels.csv: one
    row per label, the most suspect first, with its likely error and the repaired label. audit.png: a figure. Row 1 is
    the first row after the header.

    A table that is larger than --memory is read in pieces. Then labels.parquet, in the order of the file, takes the
    place of labels.csv, and the report holds the most suspect labels and a sample of the others. If the command is
    interrupted, run it again: it continues after the last finished stage.
    """
    if not 0 < false_alarm_rate < 1:
        raise ValueError(f"--false-alarm-rate is {false_alarm_rate}; it must lie strictly between 0 and 1")
    reading = options.reading(decimal, thousands, missing, encoding, drop, keep, allow_missing_labels)
    from levelhead.cli import large

    if large.in_pieces(data, memory, dask):
        large.refuse_options(group=group, time=time_column, time_budget=time_budget, model=fitted_model)
        model = large.unfitted(estimator, scale, members, seed)
        table = large.table_of(data, target, memory, seed, id_column=id_column, **reading)
        large.audit(table, model, out, dask, false_alarm_rate, force=force, as_json=as_json)
        return
    paths = out / "report.html", out / "labels.csv", out / "audit.png"
    output.refuse(*paths, force=force)
    options.one_of(group=group, time=time_column)
    with screen.progress() as report, levelhead.report_progress(report):
        result = levelhead.audit_file(
            data,
            target,
            estimator=estimator.value,
            model=None if fitted_model is None else levelhead.load(fitted_model),
            false_alarm_rate=false_alarm_rate,
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
    ranked = result.to_frame()
    with output.whole(*paths, force=force) as (page, labels, picture):
        result.report(page)
        output.write_csv(ranked, labels)
        output.draw(result.audit, picture)
    if as_json:
        screen.print_json({**result.to_dict(), "files": [str(path) for path in paths]})
    else:
        _print_result(result, ranked, paths)


def _print_result(result: "FileAudit", ranked: Any, paths: tuple[Path, ...]) -> None:
    for remark in result.remarks:
        screen.note(remark)
    for line in result.summary().splitlines():
        screen.print_line(line)
    named, flagged = result.table.identity is not None, ranked["is_label_issue"]
    if flagged.any():
        _show(ranked[flagged], "flagged labels", named)
    uncertain = ranked[~flagged & (ranked["p_outlier"] > 0.5)]
    if len(uncertain):
        _show(uncertain, "labels that are not flagged, but more likely wrong than right", named)
    screen.print_line(f"Wrote {paths[1]} and {paths[2]}.")
    screen.print_line(f"Next: open {paths[0]} in a browser to review them.")


def _show(suspects: Any, what: str, named: bool) -> None:
    """Print the first few labels as a table."""
    columns = [*suspects.columns[: 2 if named else 1], "given_label", "predicted_label", "std", "p_outlier"]
    shown = suspects[columns].head(_ON_SCREEN)
    screen.table(
        f"Top {len(shown)} of {len(suspects):,} {what}" if len(suspects) > len(shown) else what.capitalize(),
        [*columns[:-4], "given", "expected", "± std", "P(wrong)"],
        [(*row[:-4], *_numbers(*row[-4:])) for row in shown.itertuples(index=False)],
    )


def _numbers(given: float, expected: float, std: float, p: float) -> tuple[str, ...]:
    """The given label as it is, the others with the digits that the noise leaves meaningful."""
    chance = ">99.9%" if p > _ALMOST_SURE else f"{p:.1%}"
    return f"{given:,.10g}", with_noise(expected, std), with_noise(std, std), chance
