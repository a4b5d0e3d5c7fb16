"""An audit of the labels in a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from levelhead.auditing import groups_in_table, judge
from levelhead.audits import LEAST_ROWS, Audit, Findings, investigate
from levelhead.audits.presentation import flagged_in_words, percent, uncertain_in_words
from levelhead.estimators._types import Seed, TargetTransform
from levelhead.files.fitting import (
    FittedFile,
    estimator_text,
    fitted_to,
    read_table,
    rows_together,
    scale_text,
)
from levelhead.files.formats import after_formats, formats_of
from levelhead.progress import report_progress, reporter, silent
from levelhead.report import audit_report
from levelhead.tables import TrainingTable
from levelhead.tables.columns import free_name
from levelhead.tables.encoding.inputs import comparable

__all__ = ["FileAudit", "audit_file"]

_STAGE = "segments and kinds of errors"


@dataclass(frozen=True, eq=False, repr=False)
class FileAudit:
    """An audit of the labels in a file.

    Attributes
    ----------
    path : Path
        The file.
    target : str
        Column with the labels.
    id_column : str or None
        Column that names the rows.
    fitted : FittedFile
        The table and the model that judged its labels.
    audit : Audit
        The probability that each label is wrong, and which labels are flagged.
    findings : Findings
        Segments, likely kinds of errors, and explanations.
    inputs : ndarray of shape (n_labels, n_numbers), or None
        The inputs as numbers, with which the nearest rows are found.
    """

    path: Path
    target: str
    id_column: str | None
    fitted: FittedFile
    audit: Audit
    findings: Findings
    inputs: Any

    def __repr__(self) -> str:
        flagged = f"{len(self.audit.issues):,} of {len(self.audit):,} labels flagged"
        return f"FileAudit({self.path.name!r}, {self.target!r}: {flagged})"

    def _repr_html_(self) -> str:
        return self.audit._repr_html_()

    @property
    def table(self) -> TrainingTable:
        """Inputs and labels, with what was assumed about the file."""
        return self.fitted.table

    @property
    def model(self) -> Pipeline:
        """The formats of the columns, and the estimator that judged the labels."""
        return self.fitted.model

    @property
    def about_rows(self) -> list[str]:
        """Remarks on rows that may belong together; that on the scale of the labels comes first, if there is one."""
        return list(self.audit.remarks[0 if self.audit.scale is None else 1 :])

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was assumed about the file, what is odd about it, and how its labels were judged."""
        return (*self.fitted.remarks, *self.about_rows)

    def summary(self) -> str:
        """Return how many labels were judged, and how many look wrong, in words.

        Returns
        -------
        str
            One or two sentences, and one line for each segment and kind of error. If the audit is not reliable, the
            first line says so.
        """
        audit, table = self.audit, self.table
        first = [] if audit.reliable else [f"Not reliable: {'; '.join(audit.warnings)}."]
        shares = (
            f"Judged {table.labels_judged:,} of {table.labels_given:,} labels. "
            f"About {percent(audit.contamination)} of {len(audit):,} labels look wrong ({audit.shares}); "
            f"{flagged_in_words(len(audit.issues))} (at most {audit.false_alarm_rate:.0%} of them are expected to be "
            "false alarms)."
        )
        more = [uncertain_in_words(audit)] if len(audit.uncertain.rows) else []
        return "\n".join([*first, shares, *more, *self.findings.sentences])

    def to_frame(self) -> Any:
        """Return all labels, the most suspect first, with their rows in the file and what probably happened.

        Returns
        -------
        DataFrame
            One row per label.
        """
        frame = self.audit.to_frame().assign(**self.findings.columns(self.table.row))
        frame.insert(0, "row", self.table.row)
        if self.id_column is not None:
            frame.insert(1, free_name(self.id_column, frame.columns), self.table.identity)
        return frame.iloc[self.findings.ranking()]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values, for JSON.

        Returns
        -------
        dict
            What was assumed, the shares of wrong labels, the flagged rows, segments and kinds of errors.
        """
        audit = self.audit
        flagged = self.table.row[self.findings.ranking()[: len(audit.issues)]]
        return {
            "labels": len(audit),
            **self.table.to_dict(),
            "estimator": estimator_text(self.model),
            "scale": scale_text(self.model),
            "dependence": self.about_rows,
            "contamination": audit.contamination,
            "contamination_interval": list(audit.contamination_interval),
            "unrelated_limit": audit.unrelated_limit,
            "shares": audit.shares,
            "standing_out": audit.standing_out,
            "standing_out_interval": list(audit.standing_out_interval),
            "reliable": audit.reliable,
            "warnings": list(audit.warnings),
            "codes_for_missing": int(audit.is_code.sum()),
            "flagged": len(flagged),
            "false_alarm_rate": audit.false_alarm_rate,
            "flagged_rows": flagged.tolist(),
            "uncertain_rows": self.table.row[audit.uncertain.rows].tolist(),
            **self.findings.to_dict(),
        }

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write a page for the browser, to review the flagged labels one by one.

        Parameters
        ----------
        path : path-like
            File to write.
        overwrite : bool, default=False
            Whether to replace an existing file.

        Returns
        -------
        Path
            The file.
        """
        table, found = self.table, self.findings
        audit_report(
            self.audit,
            path,
            table=table.frame,
            target=self.target,
            rows=table.row - 1,
            id_column=self.id_column,
            inputs=self.inputs,
            title=f"Labels of {self.target} in {self.path.name}",
            file_name=self.path.name,
            remarks=(
                f"Judged {table.labels_judged:,} of {table.labels_given:,} labels.",
                *table.remarks,
                f"Estimator: {estimator_text(self.model)}.",
                f"Labels: {scale_text(self.model)}.",
                *self.about_rows,
                *([found.explained] if found.explained else []),
            ),
            segments=found.segments,
            diagnosis=found.diagnosis,
            explanations=found.explanations,
            quality=table.quality,
            overwrite=overwrite,
        )
        return Path(path)


def audit_file(
    path: str | Path,
    target: str,
    *,
    estimator: Any = "auto",
    model: Any = None,
    false_alarm_rate: float = 0.05,
    n_members: int = 5,
    random_state: Seed = 0,
    target_transform: TargetTransform = "auto",
    group: str | None = None,
    time: str | None = None,
    time_limit: float | None = None,
    id_column: str | None = None,
    **reading: Any,
) -> FileAudit:
    r"""Find wrong labels in the table in a file: what `levelhead audit` does, for a notebook or a program.

    Parameters
    ----------
    path : path-like
        CSV, Parquet, workbook or JSON lines; a folder of Parquet files; or "-" for standard input.
    target : str
        Column with the labels.
    estimator : {"auto", "network", "trees"} or estimator, default="auto"
        Kind of the estimator, or a levelhead estimator, which is cloned.
    model : Pipeline or None, default=None
        A model of this table, of `fit_file` or `levelhead fit`, which judges the labels instead of a new one.
    false_alarm_rate : float, default=0.05
        Largest expected share of clean labels among the flagged ones.
    n_members : int, default=5
        Size of the ensemble. Used only if `estimator` is a name.
    random_state : int or None, default=0
        Seed. Used only if `estimator` is a name.
    target_transform : {"auto", "log", "yeo-johnson"}, transformer or None, default="auto"
        Scale on which labels are judged. Used only if `estimator` is a name.
    group : str or None, default=None
        Column whose equal entries belong together, such as a patient; not used as a feature.
    time : str or None, default=None
        Column of times, by which rows are divided into blocks.
    time_limit : float or None, default=None
        Seconds that the fit may take.
    id_column : str or None, default=None
        Column that names the rows; not used as a feature.
    **reading : Any
        How the file is read: arguments of `levelhead.tables.training_table`.

    Returns
    -------
    FileAudit
        The audit, with the table, the model, and what was found beyond the verdict.

    Raises
    ------
    ValueError
        If the table has too few labels, or the model does not hold the formats of its table.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from levelhead import audit_file
    >>> area = np.linspace(30, 90, 60)
    >>> rent = np.where(np.arange(60) == 7, 9999, 10 * area + np.sin(40 * area))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "flats.csv"
    ...     _ = path.write_text("area,rent\n" + "".join(f"{a:.1f},{r:.1f}\n" for a, r in zip(area, rent)))
    ...     result = audit_file(path, "rent", estimator="network", n_members=1)
    >>> result.to_frame()["row"].tolist()[:1], result.table.labels_judged
    ([8], 60)
    """
    reading |= {} if model is None else {"formats": formats_of(model)}
    table = read_table(path, target, group, id_column=id_column, **reading)
    if len(table.y) < LEAST_ROWS:
        raise ValueError(f"{path} has {len(table.y)} rows with a label; an audit needs at least {LEAST_ROWS}")
    groups = rows_together(table, path, group, time)
    about_groups: tuple[str, ...] = ()
    if groups is None and model is None:
        with report_progress(silent):
            groups, about_groups = groups_in_table(table.X, table.y)
    if model is None:
        settings = {
            "n_members": n_members,
            "random_state": random_state,
            "target_transform": target_transform,
        }
        model = fitted_to(table, estimator, groups, time_limit, **settings)
    judging = after_formats(model)  # the columns of the table have their meaning already
    verdict = judge(
        judging,
        table.X,
        table.y,
        false_alarm_rate,
        check_rows=groups is None,
        row_numbers=table.row,
        groups=groups,
    ).with_remarks(*about_groups)
    inputs = comparable(table.X, table.y)
    report = reporter(model[-1])
    report(_STAGE, 0.0)
    found = investigate(
        verdict,
        _columns(table, {target, *reading.get("drop", ())}),
        rows=table.row,
        predict=judging.predict,
        X=table.X,
        inputs=inputs,
        input_names=[str(name) for name in table.X.columns],
    )
    report(_STAGE, 1.0)
    return FileAudit(Path(path), target, id_column, FittedFile(table, model), verdict, found, inputs)


def _columns(table: TrainingTable, excluded: set[str]) -> dict[str, Any]:
    """Columns in which segments are sought: inputs as the model reads them, others as they are in the file."""
    raw = {str(name): table.frame[name].to_numpy()[table.row - 1] for name in table.frame.columns}
    inputs = {str(name): table.X[name].to_numpy() for name in table.X.columns}
    return {name: column for name, column in (raw | inputs).items() if name not in excluded}
