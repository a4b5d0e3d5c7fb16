"""`levelhead audit`: which labels of a table are wrong."""

from pathlib import Path
from typing import Any

import levelhead
from levelhead import tables
from levelhead._extras import needed
from levelhead.cli import options, output, screen
from levelhead.cli.models import about_table, estimator_text, fitted, note_about

_ON_SCREEN = 10


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
    decimal: options.Decimal = None,
    thousands: options.Thousands = None,
    missing: options.Missing = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    allow_missing_labels: options.AllowMissingLabels = False,
) -> None:
    """Find the wrong labels of a table.

    Writes three files. report.html: a page for the browser, to review the flagged labels one by one. labels.csv: one
    row per flagged label, the most suspect first. audit.png: a figure. Row 1 is the first row after the header.
    """
    paths = out / "report.html", out / "labels.csv", out / "audit.png"
    output.refuse(*paths, force=force)
    if not 0 < false_alarm_rate < 1:
        raise ValueError(f"--false-alarm-rate is {false_alarm_rate}; it must lie strictly between 0 and 1")
    table = tables.training_table(
        data,
        target,
        id_column=id_column,
        drop=drop or (),
        keep=keep or (),
        encoding=encoding,
        sheet=sheet,
        allow_missing_labels=allow_missing_labels,
        **options.number_settings(decimal, thousands, missing),
    )
    from levelhead.auditing import judge  # loads scipy, which `--help` does not need
    from levelhead.audits import LEAST_ROWS

    if len(table.y) < LEAST_ROWS:
        raise ValueError(f"{data} has {len(table.y)} rows with a label; an audit needs at least {LEAST_ROWS}")
    model = fitted(table, members, seed, time_budget, estimator)
    verdict = judge(model, table.X, table.y, false_alarm_rate)
    suspects = _suspects(verdict, table, id_column)
    from levelhead.report import audit_report

    with output.whole(*paths, force=force) as (page, labels, picture):
        audit_report(
            verdict,
            page,
            table=table.frame,
            target=target,
            rows=table.row - 1,
            id_column=id_column,
            inputs=model[:-1].transform(table.X),
            title=f"Labels of {target} in {data.name}",
            remarks=(
                f"Judged {table.labels_judged:,} of {table.labels_given:,} labels.",
                *table.remarks,
                *(found.text for found in table.quality),
                f"Estimator: {estimator_text(model)}.",
            ),
        )
        output.write_csv(suspects, labels)
        _draw(verdict, picture)
    _print_result(verdict, suspects, table, paths, as_json, estimator_text(model))


def _suspects(verdict: levelhead.Audit, table: tables.TrainingTable, id_column: str | None) -> Any:
    """The flagged labels, the most suspect first, with their rows in the file."""
    frame = verdict.to_frame().drop(columns="is_label_issue")
    frame.insert(0, "row", table.row)
    if id_column is not None:
        frame.insert(1, output.free_name(id_column, frame.columns), table.identity)
    return frame.iloc[verdict.issues]


def _print_result(
    verdict: levelhead.Audit,
    suspects: Any,
    table: tables.TrainingTable,
    paths: tuple[Path, ...],
    as_json: bool,
    estimator: str,
) -> None:
    (low, high), level = verdict.contamination_interval, verdict.false_alarm_rate
    if as_json:
        screen.print_json(
            {
                "labels": len(verdict),
                **about_table(table),
                "estimator": estimator,
                "contamination": verdict.contamination,
                "contamination_interval": [low, high],
                "flagged": len(suspects),
                "false_alarm_rate": level,
                "flagged_rows": suspects["row"].tolist(),
                "files": [str(path) for path in paths],
            }
        )
        return
    note_about(table, f"Estimator: {estimator}.")
    screen.print_line(
        f"Judged {table.labels_judged:,} of {table.labels_given:,} labels. About {verdict.contamination:.1%} of {len(verdict):,} labels look wrong ({low:.1%} to {high:.1%}); "
        f"{len(suspects):,} are flagged (at most {level:.0%} of them are expected to be false alarms)."
    )
    if len(suspects):
        _show(suspects, named=table.identity is not None)
    screen.print_line(f"Wrote {paths[1]} and {paths[2]}.")
    screen.print_line(f"Next: open {paths[0]} in a browser to review them.")


def _show(suspects: Any, named: bool) -> None:
    """Print the first few flagged labels as a table."""
    columns = [*suspects.columns[: 2 if named else 1], "given_label", "predicted_label", "std", "p_outlier"]
    shown = suspects[columns].head(_ON_SCREEN)
    screen.table(
        f"Top {len(shown)} of {len(suspects):,} flagged labels"
        if len(suspects) > len(shown)
        else "Flagged labels",
        [*columns[:-4], "given", "expected", "± std", "P(wrong)"],
        [(*row[:-4], *map(_short, row[-4:])) for row in shown.itertuples(index=False)],
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if 1e4 <= abs(number) < 1e12 else f"{number:.4g}"


def _draw(verdict: levelhead.Audit, path: Path) -> None:
    needed("matplotlib", "a plot", "plot").use(
        "agg"
    )  # no window, and a picture of bounded size however many rows there are
    verdict.plot().savefig(path, format="png", dpi=150)
