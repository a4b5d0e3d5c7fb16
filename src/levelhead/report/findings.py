"""What the page of an audit says beyond the verdict: segments, kinds of errors, explanations, quality of the data."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import FloatArray
from levelhead._rounding import with_noise
from levelhead.audits import Diagnosis, Explanation, Segment
from levelhead.audits._kinds import CODE, SHIFT, STUCK, UNKNOWN
from levelhead.audits.explanation import cell_text
from levelhead.report import encoding

Index = NDArray[np.intp]
Position = NDArray[np.int32]

_ESTIMATED = (CODE, STUCK, SHIFT)  # kinds of errors whose repaired label is an estimate
_MOST_MOVED = 6  # inputs of an explanation that are shown
_MOST_EXAMPLES = 8  # of a finding


class Contents(NamedTuple):
    """What was found besides the verdict.

    Attributes
    ----------
    segments : sequence of Segment
        Segments of shifted or doubtful labels.
    diagnosis : Diagnosis or None
        Likely kinds of errors.
    explanations : sequence of Explanation
        Explanations of rows.
    quality : sequence
        Findings about the table: objects or dictionaries with `title`, `text` and `examples`.
    """

    segments: Sequence[Segment] = ()
    diagnosis: Diagnosis | None = None
    explanations: Sequence[Explanation] = ()
    quality: Sequence[Any] = ()

    def payload(self, position: Position, number: Index, std: FloatArray) -> dict[str, Any]:
        """Return the data for the scripts of the page.

        Parameters
        ----------
        position : ndarray of int of shape (n_labels,)
            Index of each label among those in the page; −1 if it is not in the page.
        number : ndarray of int of shape (n_labels,)
            Row number of each label.
        std : ndarray of shape (n_labels,)
            Standard deviation of each label.

        Returns
        -------
        dict
            Segments, diagnosis and explanations of the labels in the page.
        """
        return {
            "segments": [_segment(segment, position) for segment in self.segments],
            "diagnosis": None
            if self.diagnosis is None
            else _diagnosis(self.diagnosis, position, number, std),
            "explanations": {
                int(position[found.row]): _explanation(found)
                for found in self.explanations
                if position[found.row] >= 0
            },
        }

    def kinds(self) -> dict[str, int]:
        """Return the number of labels of each known kind of error, the most frequent first.

        Returns
        -------
        dict of str to int
            Empty without a diagnosis.
        """
        counts = {} if self.diagnosis is None else self.diagnosis.counts
        return {kind: count for kind, count in counts.items() if kind != UNKNOWN}

    def importance(self) -> dict[str, float]:
        """Return the mean size of what each input contributes to the explained predictions.

        Returns
        -------
        dict of str to float
            Empty without explanations.
        """
        sums: dict[str, float] = {}
        for found in self.explanations:
            for name, value in found.contributions.items():
                sums[name] = sums.get(name, 0.0) + abs(value) / len(self.explanations)
        return sums

    def quality_items(self) -> list[dict[str, Any]]:
        """Return title, text and examples of each finding about the table.

        Returns
        -------
        list of dict
            One dictionary per finding.
        """
        return [_quality(finding) for finding in self.quality]


def _segment(segment: Segment, position: Position) -> dict[str, Any]:
    rows = position[segment.rows]
    return {"where": segment.where, "text": segment.text, "rows": encoding.packed(rows[rows >= 0])}


def _diagnosis(diagnosis: Diagnosis, position: Position, number: Index, std: FloatArray) -> dict[str, Any]:
    inside = np.flatnonzero(position[diagnosis.rows] >= 0)
    kinds = list(diagnosis.counts)
    texts = [diagnosis.text(int(place), number) for place in inside]
    return {
        "of": encoding.packed(position[diagnosis.rows[inside]]),
        "kinds": kinds,
        "kind": encoding.packed(
            np.array([kinds.index(str(kind)) for kind in diagnosis.kind[inside]], dtype=np.uint8)
        ),
        "repaired": encoding.packed(
            np.array([_repaired(diagnosis, int(place), std) for place in inside], dtype=np.float64)
        ),
        "texts": encoding.packed_text("\n".join(texts)),
    }


def _repaired(diagnosis: Diagnosis, place: int, std: FloatArray) -> float:
    """The repaired label; one that is estimated has the digits that the noise leaves meaningful."""
    value = float(diagnosis.repaired[place])
    if diagnosis.kind[place] not in _ESTIMATED:
        return value
    return float(with_noise(value, float(std[diagnosis.rows[place]])).replace(",", ""))


def _explanation(found: Explanation) -> dict[str, Any]:
    moved = [(name, value) for name, value in found.contributions.items() if value != 0][:_MOST_MOVED]
    return {
        "expected": found.expected,
        "usual": found.usual,
        "moved": [[name, cell_text(found.cells[name]), value] for name, value in moved],
    }


def _quality(finding: Any) -> dict[str, Any]:
    values = (
        finding
        if isinstance(finding, dict)
        else {name: getattr(finding, name, None) for name in ("title", "text", "examples")}
    )
    text = str(values.get("text") or "")
    examples = [str(example) for example in values.get("examples") or () if str(example) not in text]
    title = str(values.get("title") or "")
    return {
        "title": title[:1].upper() + title[1:],
        "text": text,
        "examples": examples[:_MOST_EXAMPLES],
        "more": max(0, len(examples) - _MOST_EXAMPLES),
    }
