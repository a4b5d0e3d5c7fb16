"""The page to review the flagged labels of an audit."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._files import refuse
from levelhead.audits import Audit, Diagnosis, Explanation, Segment, doubtful
from levelhead.audits.neighbours import nearest
from levelhead.prediction.transforms import LogTransform
from levelhead.report import encoding, headline, panels
from levelhead.report.findings import Contents
from levelhead.report.page import Panel, render, write
from levelhead.report.rows import RowTable, read_table

_MOST_ROWS = 200_000  # in a page; if there are more, only the most suspect and their neighbours
_MOST_EXAMINED = 20_000  # rows for which nearest neighbours are computed
_LARGEST_TABLE = 6_000_000  # bytes in the page that the table may take
_NEIGHBOURS = 6
_LONGEST_NAME = 60  # characters of a file that the page writes
_SCRIPTS = ("decisions.js", "grid.js", "findings.js", "detail.js", "audit.js")

Index = NDArray[np.intp]


def audit_report(
    audit: Audit,
    path: str | Path,
    *,
    table: Any = None,
    target: str = "label",
    rows: ArrayLike | None = None,
    row_numbers: ArrayLike | None = None,
    id_column: str | None = None,
    inputs: ArrayLike | None = None,
    title: str | None = None,
    file_name: str | None = None,
    remarks: Sequence[str] = (),
    segments: Sequence[Segment] = (),
    diagnosis: Diagnosis | None = None,
    explanations: Sequence[Explanation] = (),
    quality: Sequence[Any] = (),
    log_scale: bool | None = None,
    front: Sequence[Panel] = (),
    overwrite: bool = False,
) -> None:
    """Write an audit as an HTML page: a summary, figures, and a table to review the flagged labels.

    The page counts rows from 1, as spreadsheets and the command line do.

    Parameters
    ----------
    audit : Audit
        Result of an audit.
    path : path-like
        File to write; if an error occurs, no partial file is left.
    table : DataFrame, mapping of str to array-like, or None, default=None
        The whole table that the labels come from (pandas, polars or a dictionary of columns). The page shows its rows
        and writes the cleaned table. Without it, the page writes the cleaned labels.
    target : str, default="label"
        Column with the labels.
    rows : array-like of int of shape (n_labels,) or None, default=None
        Row of the table for each label, counted from 0; by default 0, 1, 2, ….
    row_numbers : array-like of int of shape (n_rows,) or None, default=None
        Number of each row of the table in its file, counted from 1, if the table is a part of a larger one; by default
        1, 2, 3, …. Without a table, one number for each label.
    id_column : str or None, default=None
        Column that identifies the rows.
    inputs : array-like of shape (n_labels, n_features) or None, default=None
        Numbers to find the nearest rows with, for example the transformed features of the model; by default the numeric
        columns of the table.
    title : str or None, default=None
        Title of the page.
    file_name : str or None, default=None
        Name of the file that the table was read from. What the page writes is named after it: `homes-cleaned.csv` for
        `homes.csv`. By default it is named after `target`.
    remarks : sequence of str, default=()
        Notes for the reader, one sentence each.
    segments : sequence of Segment, default=()
        Segments of shifted or doubtful labels, from `levelhead.audits.find_segments`.
    diagnosis : Diagnosis or None, default=None
        Likely kinds of errors with repaired labels, from `levelhead.audits.diagnose`.
    explanations : sequence of Explanation, default=()
        Explanations of suspect rows, from `levelhead.audits.explain`.
    quality : sequence, default=()
        Findings about the quality of the table, each with a `title`, and with `text` or `examples`.
    log_scale : bool or None, default=None
        Whether labels are drawn on logarithmic axes; labels that are not positive are left out of that figure then. By
        default they are if the labels were judged on a logarithmic scale.
    front : sequence of Panel, default=()
        Panels to show before the table.
    overwrite : bool, default=False
        Whether to replace an existing file.

    Raises
    ------
    ValueError
        If the table, `rows` or `inputs` do not fit the audit.
    FileExistsError
        If the file exists and `overwrite` is False.
    """
    refuse(Path(path), overwrite=overwrite)
    if log_scale is None:
        log_scale = audit.scale is not None and isinstance(audit.scale.transform, LogTransform)
    place = _places(audit, rows)
    source = None if table is None else read_table(table, target=target, id_column=id_column)
    if source is not None and len(place) and not 0 <= place.min() <= place.max() < len(source):
        raise ValueError(
            f"rows range from {place.min()} to {place.max()} but the table has {len(source)} rows, "
            "counted from 0; pass the table that the labels came from"
        )
    verdict = verdicts(audit)
    found = Contents(segments, diagnosis, explanations, quality)
    near = _neighbours(audit, verdict, inputs, source, place)
    shown = _shown(audit, near, segments)
    position = np.full(len(audit), -1, dtype=np.int32)
    position[shown] = np.arange(len(shown), dtype=np.int32)
    number = place + 1 if row_numbers is None else np.asarray(row_numbers, dtype=np.intp)[place]
    data = _payload(audit, verdict, near, position, place, target)
    data |= {"log_scale": log_scale, **found.payload(position, number, audit.std)}
    data["file"] = _stem(file_name or target)
    if source is not None:
        data["table"] = _table(source, near, place, found.importance())
    if row_numbers is not None:
        _renumber(data, place[shown], number[shown])
    data = {"digest": hashlib.sha256(encoding.to_json(data).encode()).hexdigest()[:16], **data}
    page = render(
        "audit.html",
        title=title or f"Audit of {target}",
        headline=headline.headline(audit),
        summary=headline.summary(audit),
        warnings=list(getattr(audit, "warnings", ())),
        segments=[segment.text for segment in segments],
        kinds=found.kinds(),
        doubtful=0 if diagnosis is None else len(diagnosis),
        quality=found.quality_items(),
        tiles=headline.tiles(audit, verdict, None if source is None else len(source)),
        remarks=[*remarks, *headline.remarks(audit, len(shown), _MOST_EXAMINED, log_scale)],
        front=front,
        panels=[*panels.of_audit(audit, verdict, position, number, target, log_scale), *front],
        target=target,
        payload=encoding.to_json(data),
        scripts=_SCRIPTS,
    )
    write(path, page, overwrite=overwrite)


def verdicts(audit: Audit) -> NDArray[np.uint8]:
    """Classify the labels of an audit.

    Parameters
    ----------
    audit : Audit
        Result of an audit.

    Returns
    -------
    ndarray of uint8 of shape (n_labels,)
        2 for flagged labels, 1 for labels in doubt, 0 for fully trusted ones.
    """
    return np.where(audit.is_label_issue, 2, doubtful(audit)).astype(np.uint8)


def _places(audit: Audit, rows: ArrayLike | None) -> Index:
    place = np.arange(len(audit)) if rows is None else np.asarray(rows)
    if place.shape != (len(audit),) or place.dtype.kind not in "iu":
        raise ValueError(
            f"rows has shape {place.shape} and type {place.dtype}; give one integer for each of {len(audit)} labels"
        )
    return place.astype(np.intp)


def _neighbours(
    audit: Audit, verdict: NDArray[np.uint8], inputs: ArrayLike | None, source: RowTable | None, place: Index
) -> tuple[Index, Index]:
    """The labels to review, and the nearest trusted rows of each."""
    by_suspicion = np.lexsort((-np.abs(audit.z), -audit.p_outlier, -verdict.astype(int)))
    examined = by_suspicion[: min(int((verdict > 0).sum()), _MOST_EXAMINED)]
    if inputs is not None:
        numbers = np.asarray(inputs, dtype=np.float64)
        if numbers.ndim != 2 or len(numbers) != len(audit):
            raise ValueError(
                f"inputs has shape {numbers.shape}; give {len(audit)} rows of numbers, one per label"
            )
    elif source is not None and source.numbers.shape[1]:
        numbers = source.numbers[place]
    else:
        return examined, np.empty((len(examined), 0), dtype=np.intp)
    trusted = verdict == 0
    return examined, nearest(numbers, examined, _NEIGHBOURS, trusted if trusted.sum() > _NEIGHBOURS else None)


def _shown(audit: Audit, near: tuple[Index, Index], segments: Sequence[Segment]) -> Index:
    """The labels in the page: all, unless there are too many."""
    if len(audit) <= _MOST_ROWS:
        return np.arange(len(audit))
    in_segments = [segment.rows[:_MOST_EXAMINED] for segment in segments]
    return np.unique(np.concatenate([near[0], near[1].ravel(), *in_segments]))


def _payload(
    audit: Audit,
    verdict: NDArray[np.uint8],
    near: tuple[Index, Index],
    position: NDArray[np.int32],
    place: Index,
    target: str,
) -> dict[str, Any]:
    shown = np.flatnonzero(position >= 0)
    std, alpha = audit.std[shown], audit.alpha[shown]
    columns = {
        "given": encoding.packed(audit.given_label[shown]),
        "predicted": encoding.packed(encoding.coarse(audit.predicted_label[shown], 1e-3 * std)),
        "std": encoding.packed(encoding.coarse(std, 1e-4 * std).astype(np.float32)),
        "p": encoding.packed(_coarse_probability(audit.p_outlier[shown])),
        "z": None if audit.scale is None else encoding.packed(audit.z[shown].astype(np.float32)),
        "verdict": encoding.packed(verdict[shown]),
        "place": encoding.packed(place[shown].astype(np.int32)),
        "alpha": encoding.packed(encoding.coarse(alpha, 1e-3 * alpha).astype(np.float32))
        if panels.alpha_varies(audit)
        else None,
    }
    return {
        "target": target,
        "all_labels": len(shown) == len(audit),
        "columns": columns,
        "near": {
            "of": encoding.packed(position[near[0]]),
            "rows": encoding.packed(position[near[1]].astype(np.int32)),
            "each": near[1].shape[1],
        },
        "table": None,
    }


def _renumber(data: dict[str, Any], place: Index, number: Index) -> None:
    """Show the rows of a part of a table by their numbers in the whole, which the page cannot write then."""
    data["columns"] |= {
        "place": encoding.packed((number - 1).astype(np.int32)),
        "line": encoding.packed(place.astype(np.int32)),
    }
    data["all_labels"] = False
    if data.get("table") is not None:
        data["table"]["complete"] = False


def _coarse_probability(p: NDArray[np.float64]) -> NDArray[np.float32]:
    return encoding.coarse(p, 1e-3 * np.minimum(p, 1 - p)).astype(np.float32)


def _stem(name: str) -> str:
    """The name of a file without folder, ending and what a file name should not contain."""
    return re.sub(r"[^\w-]+", "-", Path(name).name.split(".")[0]).strip("-")[:_LONGEST_NAME] or "audit"


def _table(
    source: RowTable, near: tuple[Index, Index], place: Index, importance: Mapping[str, float]
) -> dict[str, Any]:
    """The rows of the table; if there are too many, those of labels to review and their neighbours."""
    whole = encoding.packed_text("\n".join(source.lines()))
    complete = len(whole["zlib"]) <= _LARGEST_TABLE
    if not complete:
        wanted = np.unique(place[np.concatenate([near[0], near[1].ravel()])])
        keep = np.zeros(len(source), dtype=bool)
        keep[wanted] = True
        whole = encoding.packed_text(
            "\n".join(line if kept else "" for line, kept in zip(source.lines(), keep, strict=True))
        )
        if len(whole["zlib"]) > _LARGEST_TABLE:
            whole = encoding.packed_text("")
    return {
        "names": source.names,
        "target": source.names.index(source.target),
        "id": None if source.id_column is None else source.names.index(source.id_column),
        "rows": len(source),
        "complete": complete,
        "spread": source.spreads(),
        "inputs": source.inputs(importance),
        "lines": whole,
    }
