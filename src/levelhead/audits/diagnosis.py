"""What happened to each suspect label: the likely kind of error, its probability, and the repaired label.

Every kind (a factor of ten, another unit, a changed sign, two labels exchanged, digits transposed, a code for missing,
a value stuck from the row before, the shift of a segment) says where the true label would be. The likelihood of a kind
is the density of that repaired label under the predicted distribution of the row; that of `unknown` is a wide
background. How frequent each kind is in this table is learnt from all suspects.

>>> import numpy as np
>>> from levelhead.audits import Audit
>>> rng = np.random.default_rng(0)
>>> mean = rng.uniform(50, 100, 500)
>>> y = np.round(mean + rng.normal(size=500), 1)
>>> y[:8] *= 10
>>> found = diagnose(Audit.from_residuals(y, mean, 1.0))
>>> found.counts
{'factor of ten': 8}
>>> bool((abs(found.repaired - mean[found.rows]) < 4).all())
True
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._checks import FloatArray
from levelhead.audits._kinds import (
    EXCHANGED,
    KINDS,
    UNIT,
    UNKNOWN,
    Hypothesis,
    Labels,
    centre_and_scale,
    hypotheses,
    plain,
)
from levelhead.audits.segments import Segment, doubtful
from levelhead.prediction import make_frame
from levelhead.theory.elementary import exp

if TYPE_CHECKING:
    from levelhead.audits.audit import Audit

__all__ = ["KINDS", "Diagnosis", "diagnose"]

Index = NDArray[np.intp]

# Chosen with errors planted into all tables of bench/diagnosis.py, seeds 0 and 1; that file judges with seed 2, which
# has other errors and, of large tables, other rows, but no other tables.
_NAMED = 0.8  # probability from which a kind is named; below it is "unknown"
_UNKNOWN_COUNT = 1.0  # suspects of unknown kind, and of all other kinds together, that the prior stands for
_KNOWN_COUNT = 1.0
_ALMOST_SURE = 0.995  # 100 % would be said of what is not certain
_ROUNDS = 50
_CONVERGED = 1e-6


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The likely kind of error of every suspect; every array has one entry per suspect, the most suspect first.

    Attributes
    ----------
    rows : ndarray of int of shape (n_suspects,)
        Positions of the suspects in the audit.
    kind : ndarray of str of shape (n_suspects,)
        One of "factor of ten", "other unit", "sign", "exchanged", "digits transposed", "missing code", "stuck value",
        "segment shift" and "unknown". "unknown" if no kind has a probability of at least 0.8.
    detail : ndarray of str of shape (n_suspects,)
        Which factor or unit; empty for other kinds.
    probability : ndarray of shape (n_suspects,)
        Probability that the label is wrong in this way.
    repaired : ndarray of shape (n_suspects,)
        The label before the error; the expected label if the error does not say.
    partner : ndarray of int of shape (n_suspects,)
        Position of the label that it was exchanged with; −1 for other kinds, and if several labels may be it.
    frequency : dict of str to float
        Estimated share of each kind among the wrong labels.
    """

    rows: Index
    kind: NDArray[np.str_]
    detail: NDArray[np.str_]
    probability: FloatArray
    repaired: FloatArray
    partner: Index
    frequency: dict[str, float]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counts(self) -> dict[str, int]:
        """Number of suspects of each kind, the most frequent first."""
        return dict(Counter(self.kind.tolist()).most_common())

    def text(self, place: int, numbers: ArrayLike | None = None) -> str:
        """Return the diagnosis of one suspect in words, with its probability.

        Parameters
        ----------
        place : int
            Place of the suspect in `rows`.
        numbers : array-like of int of shape (n_labels,), default=None
            Row number of each label of the audit; by default 1, 2, 3, ….

        Returns
        -------
        str
            Kind or detail, and probability; empty if the kind is unknown.
        """
        words, p = self.words(place, numbers), float(self.probability[place])
        chance = ">99%" if p >= _ALMOST_SURE else f"{p:.0%}"
        return f"{words} ({chance})" if words else ""

    def words(self, place: int, numbers: ArrayLike | None = None) -> str:
        """Return the diagnosis of one suspect in words.

        Parameters
        ----------
        place : int
            Place of the suspect in `rows`.
        numbers : array-like of int of shape (n_labels,), default=None
            Row number of each label of the audit; by default 1, 2, 3, ….

        Returns
        -------
        str
            Kind or detail; empty if the kind is unknown.
        """
        kind = str(self.kind[place])
        if kind == UNKNOWN:
            return ""
        if kind == EXCHANGED:
            return f"exchanged with {self._partner_words(int(self.partner[place]), numbers)}"
        if kind == UNIT:
            return f"other unit: {self.detail[place]}"
        return str(self.detail[place]) or kind

    @staticmethod
    def _partner_words(partner: int, numbers: ArrayLike | None) -> str:
        if partner < 0:
            return "another row"
        return f"row {partner + 1 if numbers is None else int(np.asarray(numbers)[partner])}"

    def summary(self) -> str:
        """Return the number of suspects of each kind in words.

        Returns
        -------
        str
            One sentence; empty if no kind is known.
        """
        known = {kind: count for kind, count in self.counts.items() if kind != UNKNOWN}
        if not known:
            return ""
        listed = ", ".join(f"{kind} ({count:,})" for kind, count in known.items())
        return f"Likely kinds of error among {len(self):,} doubtful labels: {listed}."

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a table with one row per suspect.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default="pandas"
            The library whose data frame is returned.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            Columns `label` (position in the audit), `kind`, `detail`, `probability`, `repaired` and `partner`.
        """
        names = ("kind", "detail", "probability", "repaired", "partner")
        return make_frame({"label": self.rows, **{name: getattr(self, name) for name in names}}, backend)


def diagnose(
    audit: "Audit",
    *,
    segments: Sequence[Segment] = (),
    factors: Mapping[str, float] | None = None,
) -> Diagnosis:
    """Find the likely kind of error of every label that is flagged or in doubt.

    Parameters
    ----------
    audit : Audit
        Result of an audit, its labels in the order of the file.
    segments : sequence of Segment, default=()
        Segments from `find_segments`, whose shifts may explain suspects.
    factors : mapping of str to float, default=None
        Further units or currencies: a name and the factor between the two, such as {"EUR and USD": 1.08}.

    Returns
    -------
    Diagnosis
        One entry per suspect.

    Raises
    ------
    ValueError
        If a factor is not positive and finite, or is 1.
    """
    given_factors = dict(factors or {})
    for name, factor in given_factors.items():
        if not (np.isfinite(factor) and factor > 0 and factor != 1):
            raise ValueError(f"the factor of {name!r} is {factor}; give a positive number other than 1")
    suspects = np.flatnonzero(doubtful(audit))
    order = np.lexsort((-np.abs(audit.z[suspects]), -audit.p_outlier[suspects]))
    labels = _labels(audit, suspects[order], segments)
    if not len(suspects):
        return _empty()
    return _read(labels, list(hypotheses(labels, given_factors)))


def _labels(audit: "Audit", suspects: Index, segments: Sequence[Segment]) -> Labels:
    judged = audit.judged
    residual, shifts = judged.given - judged.predicted, np.full(len(audit), np.nan)
    for segment in reversed(segments):  # the most significant segment last, so that it counts
        if segment.is_shifted:
            outside = np.setdiff1d(np.arange(len(audit)), segment.rows)
            shifts[segment.rows] = np.median(residual[segment.rows]) - np.median(residual[outside])
    centre, scale = centre_and_scale(audit.given_label, audit.predicted_label, audit.std)
    judged_centre, judged_scale = centre_and_scale(*judged)
    return Labels(
        given=audit.given_label,
        centre=centre,
        scale=scale,
        judged_centre=judged_centre,
        judged_scale=judged_scale,
        transform=None if audit.scale is None else audit.scale.transform,
        suspects=suspects,
        doubtful=doubtful(audit),
        p_outlier=audit.p_outlier,
        shifts=shifts,
    )


def _empty() -> Diagnosis:
    nothing, words = np.empty(0), np.empty(0, dtype=np.str_)
    rows = np.empty(0, dtype=np.intp)
    return Diagnosis(rows, words, words, nothing, nothing, rows, {})


def _read(labels: Labels, found: list[Hypothesis]) -> Diagnosis:
    """Choose the kind of each suspect, and the best hypothesis of that kind."""
    posterior, frequency = _posterior(found, labels.p_outlier[labels.suspects])
    kinds = np.array([hypothesis.kind for hypothesis in found])
    by_kind = np.column_stack([posterior[:, kinds == kind].sum(axis=1) for kind in KINDS])
    choice = by_kind.argmax(axis=1)
    choice[by_kind.max(axis=1) < _NAMED] = KINDS.index(UNKNOWN)
    kind = np.array(KINDS)[choice]
    best = np.where(kinds == kind[:, None], posterior, -1.0).argmax(axis=1)
    rows = np.arange(len(kind))
    partners = [np.full(len(kind), -1) if h.partner is None else h.partner for h in found]
    shares = {name: float(frequency[kinds == name].sum()) for name in KINDS}
    return Diagnosis(
        rows=labels.suspects,
        kind=kind,
        detail=np.array([found[place].detail for place in best]),
        probability=by_kind[rows, choice],
        repaired=np.array([plain(found[place].repaired[row]) for row, place in enumerate(best)]),
        partner=np.column_stack(partners)[rows, best].astype(np.intp),
        frequency=shares,
    )


def _posterior(found: list[Hypothesis], p_outlier: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities that a label is wrong in each way, and how frequent each way is.

    `p_outlier` weighs a clean label against one that is wrong in an unknown way. The frequencies are learnt from all
    suspects; those that a suspect is judged by are learnt from the others, so that it does not confirm itself.
    """
    density = np.column_stack([hypothesis.log_density for hypothesis in found])
    relative = density - density[:, [-1]]  # `unknown` is the last
    top = np.maximum(relative.max(axis=1), 0.0)
    likelihood = p_outlier[:, None] * exp(relative - top[:, None])
    clean = (1 - p_outlier) * exp(-top)
    pseudo = _pseudo_counts(found)
    posterior = _normalised(likelihood * pseudo / pseudo.sum(), clean)
    for _ in range(_ROUNDS):
        before = posterior
        frequency = before.sum(axis=0) - before + pseudo
        posterior = _normalised(likelihood * frequency / frequency.sum(axis=1, keepdims=True), clean)
        if np.abs(posterior - before).max() < _CONVERGED:
            break
    total = posterior.sum(axis=0) + pseudo
    return posterior, total / total.sum()


def _normalised(joint: FloatArray, clean: FloatArray) -> FloatArray:
    total: FloatArray = np.maximum(joint.sum(axis=1) + clean, 1e-300)
    return joint / total[:, None]


def _pseudo_counts(found: list[Hypothesis]) -> FloatArray:
    """The prior: every kind is equally frequent, and every detail within its kind; unknown as all others together."""
    size = Counter(hypothesis.kind for hypothesis in found)
    each = _KNOWN_COUNT / (len(size) - 1)
    return np.array([_UNKNOWN_COUNT if h.kind == UNKNOWN else each / size[h.kind] for h in found])
