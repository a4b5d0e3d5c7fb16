r"""Inputs and labels from a table.

>>> import tempfile, pathlib
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "flats.csv"
...     _ = path.write_text('area;rent\n50;"1.200,50"\n60;unknown\n' + "70;900,00\n" * 8)
...     table = training_table(path, "rent")
>>> table.y[:2].tolist(), table.row[:2].tolist(), table.labels_judged, table.labels_given
([1200.5, 900.0], [1, 3], 9, 10)
>>> table.remarks[-1]
"rent: left out 1 row whose label is not a number: row 2 ('unknown')"
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead.tables import _frames, quality
from levelhead.tables.columns import UNUSABLE
from levelhead.tables.errors import TableError, counted, examples, row_list
from levelhead.tables.quality import Finding
from levelhead.tables.reading import RawTable, choose, read_raw
from levelhead.tables.schema import Converted, TableFormats, iso_remark

Frame = Any  # a pandas frame

_FEW = 20  # rows, among which different cells say little
_ID = re.compile(r"(?i)(?:.*[ _-])?(?:id|index|nr|row|key|uuid|guid)|.*[a-z]Id|#|unnamed: \d+")


class TrainingTable(NamedTuple):
    """Inputs and labels of the rows that have a label.

    Attributes
    ----------
    X : pandas.DataFrame
        Inputs: numbers, dates and text.
    y : ndarray of shape (n_samples,)
        Labels.
    row : ndarray of int of shape (n_samples,)
        Row number in the file, counted from 1 without the header.
    identity : ndarray of shape (n_samples,) or None
        Content of the id column.
    remarks : tuple of str
        What was assumed or left out, one sentence each.
    frame : pandas.DataFrame
        The whole table as it was read.
    quality : tuple of Finding
        What is odd about the data, the most important first.
    labels_given : int
        Rows of the table.
    labels_judged : int
        Rows whose label is a number: those of `y`.
    target_codes : dict of float to int
        Labels that are probably codes for "missing", and how often they occur.
    formats : TableFormats
        What the columns mean; turns other raw tables into inputs like `X`.
    """

    X: Frame
    y: FloatArray
    row: NDArray[np.intp]
    identity: NDArray[Any] | None
    remarks: tuple[str, ...]
    frame: Frame
    quality: tuple[Finding, ...]
    labels_given: int
    labels_judged: int
    target_codes: dict[float, int]
    formats: TableFormats

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed or left out, and what is odd about the data."""
        return (*self.remarks, *(found.text for found in self.quality))

    def to_dict(self) -> dict[str, Any]:
        """Return how many labels were used, what was assumed, and what is odd about the data, for JSON.

        Returns
        -------
        dict
            Numbers of labels, codes for missing labels, remarks and findings.
        """
        codes = [{"label": label, "count": count} for label, count in self.target_codes.items()]
        return {
            "labels_given": self.labels_given,
            "labels_judged": self.labels_judged,
            "probable_codes_for_missing": codes,
            "remarks": self.remarks,
            "quality": [asdict(found) for found in self.quality],
        }


def training_table(
    path: str | Path,
    target: str,
    *,
    id_column: str | None = None,
    drop: Collection[str] = (),
    keep: Collection[str] | Literal["all"] = (),
    decimal: str | Mapping[str, str] | None = None,
    thousands: str | Mapping[str, str] | None = None,
    missing: str | Sequence[float] | Mapping[str, Sequence[float]] = "auto",
    encoding: str | None = None,
    sheet: str | None = None,
    allow_missing_labels: bool = False,
    formats: TableFormats | None = None,
) -> TrainingTable:
    """Read inputs and labels from a file; rows without a numeric label are left out and reported.

    Parameters
    ----------
    path : path-like
        CSV, Parquet, workbook or JSON lines; a folder of Parquet files; or "-" for standard input.
    target : str
        Column with the labels.
    id_column : str or None, default=None
        Column that identifies the rows; not used as a feature.
    drop : collection of str, default=()
        Other columns that are not used as features.
    keep : collection of str or "all", default=()
        Columns to use as features although they look like row identifiers.
    decimal : str, mapping of str to str, or None, default=None
        Decimal mark, for all columns or by column ("*" stands for the others); by default it is learnt.
    thousands : str, mapping of str to str, or None, default=None
        Mark between groups of digits, "" for none; by default it is learnt.
    missing : "auto", sequence of float, or mapping of str to sequence of float, default="auto"
        Numbers that stand for "missing". "auto" finds them, and replaces them in inputs but not in labels.
    encoding : str or None, default=None
        Encoding of a text file; by default it is detected.
    sheet : str or None, default=None
        Sheet of a workbook.
    allow_missing_labels : bool, default=False
        Whether to go on if more than a fifth of the labels are missing or not numbers.
    formats : TableFormats or None, default=None
        What the columns mean, if a model has learnt it. Its columns are the features, and the settings above replace
        what it has learnt.

    Returns
    -------
    TrainingTable
        Inputs, labels, row numbers, remarks and findings about the quality of the data.

    Raises
    ------
    TableError
        If the file cannot be read, a column does not exist, there is no feature, or too many labels or cells of a
        column cannot be used.
    """
    settings: dict[str, Any] = {"decimal": decimal, "thousands": thousands, "missing": missing}
    learnt = None if formats is None else formats.rewritten(**settings)
    raw = read_raw(
        path,
        encoding=encoding,
        sheet=sheet,
        as_text=() if learnt is None else learnt.unusual,
        wanted=(target,),
    )
    return table_of(
        raw,
        target,
        path=path,
        id_column=id_column,
        drop=drop,
        keep=keep,
        allow_missing_labels=allow_missing_labels,
        learnt=learnt,
        **settings,
    )


def table_of(
    raw: RawTable,
    target: str,
    *,
    path: str | Path,
    id_column: str | None = None,
    drop: Collection[str] = (),
    keep: Collection[str] | Literal["all"] = (),
    decimal: str | Mapping[str, str] | None = None,
    thousands: str | Mapping[str, str] | None = None,
    missing: str | Sequence[float] | Mapping[str, Sequence[float]] = "auto",
    allow_missing_labels: bool = False,
    learnt: TableFormats | None = None,
) -> TrainingTable:
    """Inputs and labels of a table that was read already.

    Parameters
    ----------
    raw : RawTable
        The table as it was read.
    target : str
        Column with the labels.
    path : path-like
        Name of the table, for messages.
    id_column, drop, keep, decimal, thousands, missing, allow_missing_labels : object
        As in `training_table`.
    learnt : TableFormats or None, default=None
        What the columns mean, if it is known.

    Returns
    -------
    TrainingTable
        Inputs, labels, row numbers, remarks and findings about the quality of the data.
    """
    settings: dict[str, Any] = {"decimal": decimal, "thousands": thousands, "missing": missing}
    excluded = list(dict.fromkeys([target, *([id_column] if id_column is not None else []), *drop]))
    choose(raw.frame, [*excluded, *(() if keep == "all" else keep)], path)
    if learnt is None:
        learnt = TableFormats(**settings, separator=raw.separator)
        read = learnt.learn(_relevant(raw.frame, excluded, target, path), target)
        of_columns = learnt.remarks_
    else:
        choose(raw.frame, list(learnt.columns_), path)
        read = learnt.convert(raw.frame, target)
        of_columns = [f"as in the table of the model, {remark}" for remark in learnt.remarks_]
        keep = "all"
    y = read.frame[target].to_numpy()
    if y.dtype.kind != "f":
        what = "dates" if y.dtype.kind == "M" else "no numbers"
        raise TableError(f"{path}: column {target!r} holds {what}, so it cannot be the target")
    said = _about_labels(raw.frame[target], y, target)
    kept = np.flatnonzero(np.isfinite(y))
    unit = learnt.target_[target].unit if target in learnt.target_ else ""
    _refuse_few_labels(raw.frame[target], y, target, path, allow_missing_labels, unit)
    inputs, findings = _inputs(read, kept, target, keep)
    findings += _findings(read, raw.frame, inputs, y[kept], target, missing != "auto")
    target_codes = {} if missing != "auto" else {c.value: c.count for c in read.codes.get(target, [])}
    return TrainingTable(
        X=inputs,
        y=y[kept],
        row=kept + 1,
        identity=None if id_column is None else raw.frame[id_column].to_numpy()[kept],
        remarks=(*raw.remarks, *of_columns, *_about_dates(read, learnt), *said),
        frame=raw.frame,
        quality=quality.ranked(findings),
        labels_given=len(y),
        labels_judged=len(kept),
        target_codes=target_codes,
        formats=learnt.restricted(list(inputs.columns)),
    )


def _relevant(frame: Frame, excluded: list[str], target: str, path: str | Path) -> Frame:
    """The columns that are features, and the labels."""
    left_out = [name for name in excluded if name != target]
    if frame.shape[1] <= len(excluded):
        raise TableError(
            f"{path} has no column besides {', '.join(map(repr, excluded))} to predict {target!r} from"
        )
    return frame.drop(columns=left_out) if left_out else frame


def _about_dates(read: Converted, learnt: TableFormats) -> list[str]:
    return [iso_remark(name, n, learnt.columns_[name]) for name, n in read.iso_dates.items()]


def _about_labels(column: Any, y: FloatArray, target: str) -> list[str]:
    """Remarks about the rows without a label, and about labels that are classes."""
    empty, odd = _without_label(column, y)
    remarks = []
    values, counts = np.unique(y[np.isfinite(y)], return_counts=True)
    if len(values) == 2 and counts.sum() >= _FEW:
        shown = " and ".join(f"{value:g}" for value in values)
        remarks.append(
            f"{target}: only two different labels, {shown}; if they stand for classes, such as no and yes, use a "
            "classifier: levelhead is for labels that are measured or counted"
        )
    if len(empty):
        rows = row_list((empty + 1).tolist())
        remarks.append(f"{target}: left out {counted(len(empty))} without a label: {rows}")
    if len(odd):
        rows = row_list((odd + 1).tolist(), [column.iloc[k] for k in odd[:5]])
        remarks.append(f"{target}: left out {counted(len(odd))} whose label is not a number: {rows}")
    return remarks


def _without_label(column: Any, y: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of the rows whose label is missing, and of those whose label is not a number."""
    absent = np.isnan(y)
    empty = absent & _frames.missing(column)
    return np.flatnonzero(empty), np.flatnonzero(absent & ~empty)


def _refuse_few_labels(
    column: Any, y: FloatArray, target: str, path: str | Path, allowed: bool, unit: str
) -> None:
    if not len(y):
        raise TableError(f"{path} has a header, but no rows")
    empty, odd = _without_label(column, y)
    of = f" in {unit}" if unit else ""
    if not np.isfinite(y).any():
        shown = f" ({examples([column.iloc[k] for k in odd[:20]])})" if len(odd) else ""
        raise TableError(
            f"{path}: column {target!r} contains no numbers{of}{shown}, so it cannot be the target"
        )
    unusable = len(empty) + len(odd)
    if allowed or unusable <= UNUSABLE * len(y):
        return
    shown = f", such as {examples([column.iloc[k] for k in odd[:20]])}" if len(odd) else ""
    raise TableError(
        f"{path}: {unusable:,} of {len(y):,} labels in {target!r} cannot be used: {len(empty):,} are missing and "
        f"{len(odd):,} are not numbers{of}{shown}; {'convert labels to one unit, ' if unit else ''}--decimal and "
        "--thousands say how numbers are written, and --allow-missing-labels goes on with the others"
    )


def _inputs(
    read: Converted, kept: NDArray[np.intp], target: str, keep: Collection[str] | Literal["all"]
) -> tuple[Frame, list[Finding]]:
    """The features of the rows with a label, without columns that only identify the rows."""
    inputs = read.frame.drop(columns=target)
    if len(kept) < len(inputs):
        inputs = inputs.iloc[kept].reset_index(drop=True)
    if keep == "all":
        return inputs, []
    empty = [name for name in inputs.columns if inputs[name].isna().all()]
    found = [Finding("empty column", f"{name}: empty, and left out", name, len(inputs)) for name in empty]
    if len(empty) < inputs.shape[1]:
        inputs = inputs.drop(columns=empty)
    names = _identifiers(inputs, keep)
    if not names or len(names) == inputs.shape[1]:
        return inputs, found
    return inputs.drop(columns=names), found + [
        Finding(
            "names the rows",
            f"{name}: not used as a feature, it only identifies the rows (all values differ); --keep '{name}' uses it",
            name,
            len(inputs),
        )
        for name in names
    ]


def _identifiers(frame: Frame, keep: Collection[str]) -> list[str]:
    """Columns that only identify the rows: a model could only memorise them. Copies of rows do not count."""
    names = [name for name in frame.columns if name not in keep and _may_identify(frame[name])]
    unique = [name for name in names if frame[name].is_unique]
    repeated = [name for name in names if name not in unique]
    if repeated:
        distinct = frame.drop_duplicates()
        unique += [name for name in repeated if len(distinct) >= _FEW and distinct[name].is_unique]
    return [name for name in frame.columns if name in unique]


def _may_identify(column: Any) -> bool:
    """Whether a column holds single words, or whole numbers and is named like an id; and mostly different ones."""
    if len(column) < _FEW or column.nunique() < 0.5 * len(column):
        return False
    if column.dtype.kind == "f":
        values = column.to_numpy()
        return bool(_ID.fullmatch(str(column.name)) and (values == np.rint(values)).all())
    if not _frames.is_text(column):
        return False
    return not column.dropna().astype(str).str.contains(r"\s", regex=True).any()


def _findings(
    read: Converted, raw: Frame, inputs: Frame, y: FloatArray, target: str, given: bool
) -> list[Finding]:
    unreadable = {name: places for name, places in read.unreadable.items() if name in inputs.columns}
    return [
        *quality.of_codes(read.codes, target, given),
        *quality.of_unreadable(raw, unreadable),
        *quality.of_units(read.learnt),
        *quality.of_words(read.learnt),
        *quality.of_rows(raw),
        *quality.of_columns(inputs, y),
    ]
