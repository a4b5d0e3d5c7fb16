"""`levelhead audit`: which labels of a table are wrong."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import levelhead
from levelhead import tables
from levelhead._extras import needed
from levelhead._rounding import with_noise
from levelhead.cli import options, output, screen
from levelhead.cli.formats import after_formats, formats_of
from levelhead.cli.models import (
    about_table,
    estimator_text,
    fitted,
    note_about,
    rows_together,
    scale_text,
)

if TYPE_CHECKING:
    from levelhead.audits import Findings

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
    from levelhead.cli import large

    if large.in_pieces(data, memory, dask):
        large.refuse_options(group=group, time=time_column, time_budget=time_budget, model=fitted_model)
        large.audit(
            data,
            target,
            out,
            id_column=id_column,
            drop=drop or [],
            keep=keep or [],
            settings=options.number_settings(decimal, thousands, missing)
            | {"allow_missing_labels": allow_missing_labels},
            encoding=encoding,
            estimator=estimator,
            scale=scale,
            members=members,
            seed=seed,
            memory=memory,
            dask=dask,
            false_alarm_rate=false_alarm_rate,
            force=force,
            as_json=as_json,
        )
        return
    paths = out / "report.html", out / "labels.csv", out / "audit.png"
    output.refuse(*paths, force=force)
    known = None if fitted_model is None else levelhead.load(fitted_model)
    table = tables.training_table(
        data,
        target,
        id_column=id_column,
        drop=[*(drop or ()), *([] if group is None else [group])],
        keep=keep or (),
        encoding=encoding,
        sheet=sheet,
        allow_missing_labels=allow_missing_labels,
        formats=None if known is None else formats_of(known, fitted_model),
        **options.number_settings(decimal, thousands, missing),
    )
    from levelhead.auditing import groups_in_table, judge  # loads scipy, which `--help` does not need
    from levelhead.audits import LEAST_ROWS, investigate
    from levelhead.tables.encoding.inputs import comparable

    if len(table.y) < LEAST_ROWS:
        raise ValueError(f"{data} has {len(table.y)} rows with a label; an audit needs at least {LEAST_ROWS}")
    groups = rows_together(table, group, time_column, data)
    ordered = groups is None and known is None
    groups, about_groups = groups_in_table(table.X, table.y) if ordered else (groups, ())
    model = fitted(table, members, seed, time_budget, estimator, scale, groups) if known is None else known
    estimate = after_formats(model)  # the columns of the table have their meaning already
    verdict = judge(
        estimate,
        table.X,
        table.y,
        false_alarm_rate,
        check_rows=groups is None,
        row_numbers=table.row,
        groups=groups,
    ).with_remarks(*about_groups)
    inputs = comparable(table.X, table.y)
    with screen.busy("looking for segments and kinds of errors"):
        found = investigate(
            verdict,
            _columns(table, [target, *(drop or ())]),
            rows=table.row,
            predict=estimate.predict,
            X=table.X,
            inputs=inputs,
            input_names=[str(name) for name in table.X.columns],
        )
    ranked = _ranked(verdict, found, table, id_column)
    from levelhead.report import audit_report

    with output.whole(*paths, force=force) as (page, labels, picture):
        audit_report(
            verdict,
            page,
            table=table.frame,
            target=target,
            rows=table.row - 1,
            id_column=id_column,
            inputs=inputs,
            title=f"Labels of {target} in {data.name}",
            file_name=data.name,
            remarks=(
                f"Judged {table.labels_judged:,} of {table.labels_given:,} labels.",
                *table.remarks,
                f"Estimator: {estimator_text(model)}.",
                f"Labels: {scale_text(model)}.",
                *_about_rows(verdict),
                *([found.explained] if found.explained else []),
            ),
            segments=found.segments,
            diagnosis=found.diagnosis,
            explanations=found.explanations,
            quality=table.quality,
        )
        output.write_csv(ranked, labels)
        _draw(verdict, picture)
    suspects = ranked[ranked["is_label_issue"]]
    _print_result(verdict, found, suspects, table, paths, as_json, estimator_text(model), scale_text(model))


def _about_rows(verdict: "levelhead.Audit") -> list[str]:
    """The remarks on rows that may belong together; that on the scale of the labels comes first, if there is one."""
    return list(verdict.remarks[0 if verdict.scale is None else 1 :])


def _columns(table: "tables.TrainingTable", excluded: list[str]) -> dict[str, Any]:
    """Columns in which segments are sought: inputs as the model reads them, others as they are in the file."""
    raw = {str(name): table.frame[name].to_numpy()[table.row - 1] for name in table.frame.columns}
    inputs = {str(name): table.X[name].to_numpy() for name in table.X.columns}
    return {name: column for name, column in (raw | inputs).items() if name not in excluded}


def _ranked(
    verdict: "levelhead.Audit", found: "Findings", table: "tables.TrainingTable", id_column: str | None
) -> Any:
    """All labels, the most suspect first, with their rows in the file and what probably happened."""
    frame = verdict.to_frame().assign(**found.columns(table.row))
    frame.insert(0, "row", table.row)
    if id_column is not None:
        frame.insert(1, output.free_name(id_column, frame.columns), table.identity)
    return frame.iloc[found.ranking()]


def _print_result(
    verdict: "levelhead.Audit",
    found: "Findings",
    suspects: Any,
    table: "tables.TrainingTable",
    paths: tuple[Path, ...],
    as_json: bool,
    estimator: str,
    scale: str,
) -> None:
    from levelhead.audits.presentation import flagged_in_words

    level = verdict.false_alarm_rate
    if as_json:
        screen.print_json(
            {
                "labels": len(verdict),
                **about_table(table),
                "estimator": estimator,
                "scale": scale,
                "dependence": _about_rows(verdict),
                "contamination": verdict.contamination,
                "contamination_interval": list(verdict.contamination_interval),
                "unrelated_limit": verdict.unrelated_limit,
                "shares": verdict.shares,
                "standing_out": verdict.standing_out,
                "standing_out_interval": list(verdict.standing_out_interval),
                "reliable": verdict.reliable,
                "warnings": list(verdict.warnings),
                "codes_for_missing": int(verdict.is_code.sum()),
                "flagged": len(suspects),
                "false_alarm_rate": level,
                "flagged_rows": suspects["row"].tolist(),
                **found.to_dict(),
                "files": [str(path) for path in paths],
            }
        )
        return
    note_about(table, f"Estimator: {estimator}.", f"Labels: {scale}.", *_about_rows(verdict))
    if not verdict.reliable:
        screen.print_line(f"Not reliable: {'; '.join(verdict.warnings)}.")
    screen.print_line(
        f"Judged {table.labels_judged:,} of {table.labels_given:,} labels. "
        f"About {verdict.contamination:.1%} of {len(verdict):,} labels look wrong ({verdict.shares}); "
        f"{flagged_in_words(len(suspects))} (at most {level:.0%} of them are expected to be false alarms)."
    )
    for sentence in found.sentences:
        screen.print_line(sentence)
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
        [(*row[:-4], *_numbers(*row[-4:])) for row in shown.itertuples(index=False)],
    )


def _numbers(given: float, expected: float, std: float, p: float) -> tuple[str, ...]:
    """The given label as it is, the others with the digits that the noise leaves meaningful."""
    chance = ">99.9%" if p > _ALMOST_SURE else f"{p:.1%}"
    return f"{given:,.10g}", with_noise(expected, std), with_noise(std, std), chance


def _draw(verdict: "levelhead.Audit", path: Path) -> None:
    needed("matplotlib", "a plot", "plot").use(
        "agg"
    )  # no window, and a picture of bounded size however many rows there are
    verdict.plot().savefig(path, format="png", dpi=150)
