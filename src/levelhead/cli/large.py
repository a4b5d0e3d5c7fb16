"""`levelhead audit` and `levelhead fit` of tables that are read in pieces."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import levelhead
from levelhead._extras import needed
from levelhead.cli import ending, options, output, screen
from levelhead.files.fitting import estimator_text, scale_text
from levelhead.tables.columns import free_name

if TYPE_CHECKING:
    from levelhead.large import LargeAudit, LargeTable, Stages

_MOST_SUSPECT = 5000  # labels in the page
_SAMPLED = 20_000  # further labels in the page
_PATIENCE = "10s"  # for a connection to a cluster
_LISTED = 1000  # flagged rows in JSON
_EXPLAINED = 100


def in_pieces(data: Path, memory: str | None, dask: str | None) -> bool:
    """Whether a table is too large for the memory that may be used, or a cluster is to judge its pieces."""
    if dask is not None:
        return True
    from levelhead.large import needs_pieces
    from levelhead.large.memory import allowed_memory

    return needs_pieces(data, allowed_memory(memory))


def refuse_options(**given: Any) -> None:
    """Refuse options that need the whole table in memory."""
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(
                f"{option} needs the whole table in memory, which --memory does not allow; leave {option} out, or "
                "raise --memory"
            )


def audit(
    table: "LargeTable",
    model: Any,
    out: Path,
    dask: str | None,
    false_alarm_rate: float,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Audit a table in pieces; writes report.html, labels.parquet and audit.png."""
    from levelhead.large import audit_table

    paths = out / "report.html", out / "labels.parquet", out / "audit.png"
    output.refuse(*paths, force=force)
    with (
        _kept_stages(out / "stages", table, model) as stages,
        screen.progress() as progress,
        _client(dask) as client,
    ):
        report, seconds = _timed(progress)
        result = audit_table(
            table, model, false_alarm_rate=false_alarm_rate, stages=stages, client=client, report=report
        )
        with output.whole(*paths, force=force) as (page, labels, picture):
            _write_labels(result, table, labels, lambda share: report("writing the labels", share))
            found = _write_page(result, table, page, lambda share: report("writing the report", share))
            output.draw(result.rows(result.judge.sample.row).audit, picture)
        _print_audit(result, table, found, paths, as_json, seconds())
    stages.remove()


def fit(
    table: "LargeTable", unfitted: Any, out: Path, dask: str | None, *, force: bool, as_json: bool
) -> None:
    """Fit a model to a table in pieces and save it."""
    from levelhead.large import fit_table

    output.refuse(out, force=force)
    began = time.perf_counter()
    with (
        _kept_stages(out.with_name(f"{out.name}.stages"), table, unfitted) as stages,
        screen.progress() as progress,
        _client(dask) as client,
    ):
        report, seconds = _timed(progress)
        model = fit_table(table, unfitted, stages=stages, client=client, report=report)
        with output.whole(out, force=force) as (partial,):
            levelhead.save(model, partial)
    stages.remove()
    result = {
        "rows": table.n_rows,
        "in_pieces": True,
        "sample_rows": min(table.sample_rows, table.n_rows),
        "features": list(model[0].columns_),
        "estimator": estimator_text(model),
        "scale": scale_text(model),
        "contamination": model[-1].contamination_,
        "remarks": [_about_pieces(table), *model[0].remarks_],
        "seconds": time.perf_counter() - began,
        "stage_seconds": seconds(),
        "files": [str(out)],
    }
    if as_json:
        screen.print_json(result)
        return
    for remark in result["remarks"]:
        screen.note(remark)
    screen.note(f"Estimator: {result['estimator']}.")
    screen.print_line(
        f"Fitted {table.n_rows:,} rows with {len(result['features'])} features in {result['seconds']:.0f} s; about "
        f"{result['contamination']:.1%} of the labels look wrong."
    )
    screen.print_line(f"Wrote {out}. Next: levelhead predict {out} DATA --out FILE")


# ---------------------------------------------------------------------- what both need


def table_of(data: Path, target: str, memory: str | None, seed: int, **reading: Any) -> "LargeTable":
    """The table, to be read in pieces that fit into the memory that may be used."""
    from levelhead.large import LargeTable
    from levelhead.large.memory import allowed_memory, plan

    rows = plan(data, allowed_memory(memory), reading["encoding"])
    return LargeTable(
        data, target, sample_rows=rows.sample_rows, piece_rows=rows.piece_rows, seed=seed, **reading
    )


def unfitted(estimator: options.Kind, scale: options.Scale, members: int, seed: int) -> Any:
    """The estimator that the options describe."""
    from levelhead.estimators.registry import make

    kind: Any = estimator.value
    return make(kind, n_members=members, random_state=seed, target_transform=options.transform(scale))


@contextmanager
def _kept_stages(folder: Path, table: "LargeTable", model: Any) -> Iterator["Stages"]:
    """Stages of the same table and settings; what is finished stays if the work is interrupted."""
    from levelhead.large import Stages

    files = [table.path] if table.path.is_file() else sorted(table.path.rglob("*.parquet"))
    described = {
        "version": levelhead.__version__,
        "files": [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files],
        "table": {name: str(value) for name, value in vars(table).items()},
        "model": repr(model.get_params()),
    }
    stages = Stages(folder, described)
    with ending.outcome(f"finished stages are kept in {folder}; the same command goes on from there"):
        yield stages


@contextmanager
def _client(address: str | None) -> Iterator[Any]:
    """A client of a Dask cluster, if there is an address."""
    if address is None:
        yield None
        return
    distributed = needed("distributed", "--dask", "dask")
    try:
        client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(f"--dask: there is no Dask scheduler at {address} ({error})") from error
    with client:
        yield client


def _timed(
    progress: Callable[[str, float], None],
) -> tuple[Callable[[str, float], None], Callable[[], dict[str, float]]]:
    """The same report, and a function that returns the seconds of each stage so far."""
    began: dict[str, float] = {}

    def report(stage: str, share: float) -> None:
        began.setdefault(stage, time.perf_counter())
        progress(stage, share)

    def seconds() -> dict[str, float]:
        times = [*began.values(), time.perf_counter()]
        return {stage: end - start for stage, start, end in zip(began, times, times[1:], strict=False)}

    return report, seconds


def _about_pieces(table: "LargeTable") -> str:
    return (
        f"Read in pieces, because the table is large: formats, judge and figures come from a sample of "
        f"{min(table.sample_rows, table.n_rows):,} of {table.n_rows:,} rows."
    )


# ---------------------------------------------------------------------- files of an audit


def _write_labels(
    result: "LargeAudit", table: "LargeTable", path: Path, progress: Callable[[float], None]
) -> None:
    """One row per label, in the order of the file."""
    names = None if table.id_column is None else _names(table)
    done = 0
    with output.writer(path) as write:
        for part in result.pieces():
            frame = part.audit.to_frame()
            frame.insert(0, "row", part.row)
            if names is not None:
                frame.insert(1, free_name(str(table.id_column), frame.columns), names(part.row))
            write(frame)
            done += len(part.row)
            progress(done / result.counts.labels)


def _names(table: "LargeTable") -> Callable[[Any], Any]:
    """A function that returns the ids of rows, which come in the order of the file."""
    raw = table.raw()
    held = next(raw)

    def names(row: Any) -> Any:
        nonlocal held
        while held.row[-1] < row[-1]:
            held = next(raw)
        return held.frame[table.id_column].astype(str).to_numpy()[row - held.row[0]]

    return names


def _write_page(
    result: "LargeAudit", table: "LargeTable", path: Path, progress: Callable[[float], None]
) -> Any:
    """The page with the most suspect labels and a sample of the others; returns what was found."""
    from levelhead.audits import diagnose, explain, find_segments
    from levelhead.audits.findings import Findings
    from levelhead.report import audit_report

    progress(0.0)
    sample = result.judge.sample
    of_sample = result.rows(sample.row)
    columns = {str(name): sample.X[name].to_numpy() for name in sample.X.columns}
    segments = find_segments(of_sample.audit, columns, rows=sample.row)
    some = sample.row[np.argsort(table.keys(sample.row))[:_SAMPLED]]
    shown = result.rows(np.union1d(result.most_suspect(_MOST_SUSPECT).row, some))
    raw = table.rows(shown.row, progress)
    here = [_moved(segment, sample.row, shown.row) for segment in segments]
    found = Findings(shown.audit, here, diagnose(shown.audit, segments=here))
    X, _ = table.read(raw, result.judge.formats)
    suspect = found.ranking()[:_EXPLAINED]
    trusted = shown.audit.p_outlier < 0.5 * shown.audit.false_alarm_rate
    if trusted.any() and result.counts.flagged:
        model = result.judge.model
        found.explanations.extend(
            explain(lambda rows: model[-1].predict(result.judge.inputs(rows)), X, suspect, trusted=trusted)
        )
    audit_report(
        shown.audit,
        path,
        table=raw.frame,
        row_numbers=shown.row,
        target=table.target,
        id_column=table.id_column,
        title=f"Labels of {table.target} in {table.path.name}",
        file_name=table.path.name,
        remarks=(
            result.summary(),
            _about_pieces(table),
            f"This page holds {len(shown.row):,} labels: at most the {_MOST_SUSPECT:,} most suspect, and a sample of "
            "all labels for the figures. labels.parquet has all of them.",
            *sample.remarks,
            f"Estimator: {estimator_text(result.judge.model)}.",
            f"Labels: {scale_text(result.judge.model)}.",
        ),
        segments=here,
        diagnosis=found.diagnosis,
        explanations=found.explanations,
        quality=sample.quality,
    )
    return found


def _moved(segment: Any, before: Any, after: Any) -> Any:
    """A segment of the sample, with the positions of its rows among the labels that are shown."""
    return replace(segment, rows=np.flatnonzero(np.isin(after, before[segment.rows])))


def _print_audit(
    result: "LargeAudit",
    table: "LargeTable",
    found: Any,
    paths: tuple[Path, ...],
    as_json: bool,
    seconds: dict[str, float],
) -> None:
    counts, sample = result.counts, result.judge.sample
    suspects = result.most_suspect(_LISTED)
    order = suspects.audit.issues
    if as_json:
        screen.print_json(
            {
                "labels": counts.labels,
                "labels_given": counts.rows,
                "labels_judged": counts.labels,
                "in_pieces": True,
                "sample_rows": len(sample.y),
                "remarks": [_about_pieces(table), *sample.remarks],
                "quality": [asdict(finding) for finding in sample.quality],
                "estimator": estimator_text(result.judge.model),
                "scale": scale_text(result.judge.model),
                "contamination": result.contamination,
                "contamination_interval": list(result.contamination_interval),
                "reliable": not result.warnings,
                "warnings": list(result.warnings),
                "codes_for_missing": counts.codes,
                "flagged": counts.flagged,
                "in_doubt": counts.in_doubt,
                "false_alarm_rate": result.rule.false_alarm_rate,
                "flagged_rows": suspects.row[order],
                "flagged_rows_are_complete": len(order) == counts.flagged,
                **found.to_dict(),
                "stage_seconds": seconds,
                "files": [str(path) for path in paths],
            }
        )
        return
    for remark in (_about_pieces(table), *sample.remarks, *(finding.text for finding in sample.quality)):
        screen.note(remark)
    screen.note(f"Estimator: {estimator_text(result.judge.model)}.")
    for line in (*result.summary().splitlines(), *found.sentences):
        screen.print_line(line)
    if len(order):
        rows = ", ".join(f"{row:,}" for row in suspects.row[order[:10]])
        screen.print_line(f"Most suspect rows: {rows}.")
    screen.print_line(f"Wrote {paths[1]} and {paths[2]}.")
    screen.print_line(f"Next: open {paths[0]} in a browser to review the most suspect labels.")
