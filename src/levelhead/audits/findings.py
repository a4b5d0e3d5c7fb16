"""What an audit finds beyond the verdict: segments, likely kinds of errors, explanations of the most suspect rows."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead.audits.diagnosis import Diagnosis, diagnose
from levelhead.audits.explanation import Explanation, affordable, explain
from levelhead.audits.segments import Segment, doubtful, find_segments

if TYPE_CHECKING:
    from levelhead.audits.audit import Audit

__all__ = ["Findings", "investigate"]

_MOST_EXPLAINED = 100  # rows: more would take longer than the fit of a small table


@dataclass(frozen=True, eq=False)
class Findings:
    """Segments, likely kinds of errors, and explanations.

    Attributes
    ----------
    audit : Audit
        The audit that they belong to.
    segments : list of Segment
        Segments whose labels are shifted or hold too many suspects.
    diagnosis : Diagnosis
        The likely kind of error of every suspect, with the repaired label.
    explanations : list of Explanation
        Explanations of the most suspect rows.
    """

    audit: "Audit"
    segments: list[Segment]
    diagnosis: Diagnosis
    explanations: list[Explanation] = field(default_factory=list)

    @property
    def sentences(self) -> list[str]:
        """The segments, the kinds of errors and the number of explained rows in words."""
        texts = (*(segment.text for segment in self.segments), self.diagnosis.summary(), self.explained)
        return [text for text in texts if text]

    @property
    def explained(self) -> str:
        """How many of the suspect rows are explained; empty if all are, or if no explanation was asked for."""
        suspects = int(doubtful(self.audit).sum())
        if not 0 < len(self.explanations) < suspects:
            return ""
        return f"The {len(self.explanations):,} most suspect of {suspects:,} doubtful rows are explained."

    def to_dict(self) -> dict[str, Any]:
        """Return segments and kinds as plain values, for JSON.

        Returns
        -------
        dict
            `segments`, one dictionary each, and `kinds`, the number of suspects of each kind of error.
        """
        return {"segments": [segment.to_dict() for segment in self.segments], "kinds": self.diagnosis.counts}

    def ranking(self) -> NDArray[np.intp]:
        """Return all rows, the most suspect first.

        Returns
        -------
        ndarray of int of shape (n_labels,)
            Positions: flagged labels first, then by the probability that they are wrong.
        """
        audit = self.audit
        return np.lexsort((-np.abs(audit.z), -audit.p_outlier, ~audit.is_label_issue))

    def columns(self, numbers: ArrayLike | None = None) -> dict[str, NDArray[Any]]:
        """Return what is known about each label, one array per column, in the order of the audit.

        Parameters
        ----------
        numbers : array-like of int of shape (n_labels,), default=None
            Row number of each label; by default 1, 2, 3, ….

        Returns
        -------
        dict of str to ndarray
            `likely_error` and its probability, `repaired_label` and `segment`; empty or NaN where nothing is known.
        """
        n, found = len(self.audit), self.diagnosis
        text, segment = np.full(n, "", dtype=object), np.full(n, "", dtype=object)
        probability, repaired = np.full(n, np.nan), np.full(n, np.nan)
        for place in np.flatnonzero(found.kind != "unknown"):
            row = found.rows[place]
            text[row] = found.words(int(place), numbers)
            probability[row], repaired[row] = found.probability[place], found.repaired[place]
        for each in reversed(self.segments):
            segment[each.rows] = each.where
        return {
            "likely_error": text,
            "p_likely_error": probability,
            "repaired_label": repaired,
            "segment": segment,
        }


def investigate(
    audit: "Audit",
    table: Any = None,
    *,
    rows: ArrayLike | None = None,
    skip: Collection[str] = (),
    factors: Mapping[str, float] | None = None,
    predict: Callable[[Any], ArrayLike] | None = None,
    X: Any = None,
    inputs: ArrayLike | None = None,
    input_names: Collection[str] = (),
) -> Findings:
    """Find segments, likely kinds of errors, and reasons for the expectations of the most suspect rows.

    Parameters
    ----------
    audit : Audit
        Result of an audit, its labels in the order of the file.
    table : DataFrame, mapping of str to array-like, or 2-D array, default=None
        Columns to look for segments in, one row per label.
    rows : array-like of int of shape (n_labels,), default=None
        Row number of each label, for the words; by default 1, 2, 3, ….
    skip : collection of str, default=()
        Columns in which no segments are looked for, such as the label.
    factors : mapping of str to float, default=None
        Further units or currencies; see `diagnose`.
    predict : callable, default=None
        Predicts the labels of rows like X; without it no row is explained.
    X : array-like, n_samples × n_features, default=None
        Inputs of the model.
    inputs : array-like of shape (n_labels, n_numbers), default=None
        Numbers to find the nearest rows with.
    input_names : collection of str, default=()
        Columns that the model was fitted to; see `find_segments`.

    Returns
    -------
    Findings
        Segments, diagnosis and explanations.
    """
    segments = find_segments(audit, table, rows=rows, skip=skip, inputs=input_names)
    found = Findings(audit, segments, diagnose(audit, segments=segments, factors=factors))
    suspect = doubtful(audit)
    if predict is None or X is None or suspect.all() or not suspect.any():
        return found
    most = min(_MOST_EXPLAINED, affordable(np.shape(X)[1]), int(suspect.sum()))
    first = found.ranking()[:most]
    found.explanations.extend(explain(predict, X, first, trusted=~suspect, inputs=inputs))
    return found
