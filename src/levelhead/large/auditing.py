"""Audits of tables that are read in pieces."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from levelhead._checks import share as check_share
from levelhead.audits import Audit, ContaminationEstimate, doubtful
from levelhead.audits.counted import Odds, Residuals
from levelhead.audits.presentation import flagged_in_words, percent
from levelhead.large.judging import Judge, learn_judge, score_all, scores
from levelhead.large.pieces import LargeTable
from levelhead.large.stages import Stages
from levelhead.prediction import Transform
from levelhead.progress import Report, silent

__all__ = ["Counts", "LargeAudit", "Rows", "Rule", "audit_table", "residuals", "verdict_of"]

FloatArray = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]


class Counts(NamedTuple):
    """How many labels got which verdict.

    Attributes
    ----------
    rows : int
        Rows of the table.
    labels : int
        Rows whose label is a number.
    flagged, in_doubt, trusted : int
        Labels by verdict.
    codes : int
        Flagged labels that stand for a missing value.
    """

    rows: int
    labels: int
    flagged: int = 0
    in_doubt: int = 0
    trusted: int = 0
    codes: int = 0

    def with_codes(self, share: float) -> float:
        """Add the codes to a share of wrong labels among the other labels.

        Parameters
        ----------
        share : float
            Share of wrong labels among those that are no codes.

        Returns
        -------
        float
            Share of wrong labels among all.
        """
        return (self.codes + share * (self.labels - self.codes)) / self.labels


class Rows(NamedTuple):
    """Verdicts on some labels.

    Attributes
    ----------
    row : ndarray of int
        Numbers of the rows in the file, counted from 1.
    audit : Audit
        The verdict on each.
    """

    row: NDArray[np.int64]
    audit: Audit


@dataclass(frozen=True, eq=False, repr=False)
class PartialAudit(Audit):
    """Verdicts on some labels of a table, with the shares and counts of the whole table.

    Attributes
    ----------
    counts : Counts
        How many labels of the whole table got which verdict.
    """

    counts: Counts = field(default_factory=lambda: Counts(0, 0))

    def _with_codes(self, share: float) -> float:
        return self.counts.with_codes(share)


@dataclass(frozen=True, eq=False)
class Rule:
    """By what labels are judged, whichever piece they are in.

    Attributes
    ----------
    separation : ContaminationEstimate
        The odds that a label is wrong, from the residuals of all rows.
    codes : ndarray of float
        Labels that stand for a missing value.
    transform : Transform or None
        The scale on which labels are judged.
    false_alarm_rate : float
        Largest expected share of clean labels among the flagged ones.
    threshold : float
        Log odds from which a label is flagged.
    unrelated : float
        Share of labels that look like labels of other rows, in the sample.
    """

    separation: ContaminationEstimate
    codes: FloatArray
    transform: Transform | None
    false_alarm_rate: float
    threshold: float = np.inf
    unrelated: float = 0.0

    def audit(self, piece: Arrays) -> Audit:
        """Judge the labels of a piece.

        Parameters
        ----------
        piece : mapping of str to ndarray
            Labels, and the means, variances and α of the judge.

        Returns
        -------
        Audit
            The verdict on each label.
        """
        verdict = Audit._of(
            piece["given"],
            piece["mean"],
            piece["variance"],
            alpha=piece["alpha"],
            separation=self.separation,
            level=self.false_alarm_rate,
            transform=self.transform,
            codes=self.codes,
            unrelated=self.unrelated,
        )
        odds = verdict.log_odds
        flagged = verdict.is_code | ((odds > 0) & (odds >= self.threshold))
        return replace(verdict, is_label_issue=flagged)

    def with_threshold(self, odds: Odds) -> "Rule":
        """The same rule with the threshold that follows from the odds of all labels.

        Parameters
        ----------
        odds : Odds
            Counts of the log odds of all labels.

        Returns
        -------
        Rule
            A rule that flags labels.
        """
        return replace(self, threshold=odds.threshold(self.false_alarm_rate))

    def odds(self, piece: Arrays) -> Odds:
        """Count the log odds of a piece.

        Parameters
        ----------
        piece : mapping of str to ndarray
            Labels, means and variances.

        Returns
        -------
        Odds
            The counts, without codes for missing labels.
        """
        measured = ~np.isin(piece["given"], self.codes)
        z = residuals(piece, self.transform)[measured]
        return Odds.of(self.separation.log_odds(z, piece["variance"][measured]))


def residuals(piece: Arrays, transform: Transform | None) -> FloatArray:
    """Labels minus means, on the scale on which labels are judged.

    Parameters
    ----------
    piece : mapping of str to ndarray
        Labels and means.
    transform : Transform or None
        The scale.

    Returns
    -------
    ndarray of shape (n_samples,)
        Residuals.
    """
    labels = piece["given"] if transform is None else transform.labels(piece["given"])
    return np.asarray(labels - piece["mean"])


@dataclass(frozen=True, eq=False)
class LargeAudit:
    """The result of an audit of a table in pieces.

    Attributes
    ----------
    judge : Judge
        The model of the sample, by which labels were judged.
    rule : Rule
        Odds and threshold of the verdict.
    counts : Counts
        How many labels got which verdict.
    warnings : tuple of str
        Why the result should not be relied on.
    """

    judge: Judge
    rule: Rule
    counts: Counts
    warnings: tuple[str, ...]
    _stages: Stages
    _n_pieces: int

    @property
    def contamination(self) -> float:
        """Estimated share of wrong labels, codes for missing labels included."""
        return self._with_codes(self.rule.separation.contamination)

    @property
    def contamination_interval(self) -> tuple[float, float]:
        """Interval for that share."""
        low, high = self.rule.separation.contamination_interval
        return self._with_codes(low), self._with_codes(high)

    def _with_codes(self, share: float) -> float:
        return self.counts.with_codes(share)

    def pieces(self) -> Iterator[Rows]:
        """Go through the verdicts, in the order of the file.

        Yields
        ------
        Rows
            Row numbers and verdicts.
        """
        for piece in scores(self._stages, self._n_pieces):
            yield Rows(piece["row"], self.rule.audit(piece))

    def most_suspect(self, n: int) -> Rows:
        """Return the verdicts on the most suspect labels.

        Parameters
        ----------
        n : int
            Largest number of labels.

        Returns
        -------
        Rows
            Flagged labels, and those in doubt, by row number.
        """
        kept: list[tuple[FloatArray, NDArray[np.int64], Arrays]] = []
        for piece in scores(self._stages, self._n_pieces):
            audit = self.rule.audit(piece)
            some = np.flatnonzero(doubtful(audit))
            kept.append((audit.log_odds[some], some, {k: piece[k][some] for k in _PER_ROW}))
            if sum(len(odds) for odds, _, _ in kept) > 4 * n:
                kept = [_largest(kept, n)]
        joined = _largest(kept, n)[2]
        return self._ordered(joined)

    def rows(self, wanted: NDArray[np.int64]) -> Rows:
        """Return the verdicts on some rows.

        Parameters
        ----------
        wanted : ndarray of int
            Row numbers; those without a label are left out.

        Returns
        -------
        Rows
            Row numbers and verdicts, by row number.
        """
        parts = []
        for piece in scores(self._stages, self._n_pieces):
            here = np.isin(piece["row"], wanted)
            parts.append({k: piece[k][here] for k in _PER_ROW})
        return self._ordered({k: np.concatenate([part[k] for part in parts]) for k in _PER_ROW})

    def _ordered(self, arrays: Arrays) -> Rows:
        order = np.argsort(arrays["row"], kind="stable")
        ordered = {name: values[order] for name, values in arrays.items()}
        verdict = self.rule.audit(ordered)
        held = {part.name: getattr(verdict, part.name) for part in fields(verdict)}
        part = PartialAudit(**held | {"warnings": self.warnings, "counts": self.counts})
        return Rows(ordered["row"], part)

    def summary(self) -> str:
        """Return the result in words.

        Returns
        -------
        str
            Share of wrong labels and number of flagged ones.
        """
        (low, high), counts = self.contamination_interval, self.counts
        lines = [f"Not reliable: {'; '.join(self.warnings)}."] if self.warnings else []
        lines += [
            f"Judged {counts.labels:,} of {counts.rows:,} labels. About {percent(self.contamination)} look wrong "
            f"({low:.1%} to {high:.1%}); {flagged_in_words(counts.flagged)} (at most "
            f"{self.rule.false_alarm_rate:.0%} of them are expected to be false alarms), {counts.in_doubt:,} are in "
            f"doubt, {counts.trusted:,} are fully trusted."
        ]
        if counts.codes:
            shown = ", ".join(f"{code:g}" for code in self.rule.codes)
            lines.append(f"{counts.codes:,} labels are {shown}, which seems to stand for a missing value.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()


_PER_ROW = ("row", "given", "mean", "variance", "alpha")


def _largest(
    kept: list[tuple[FloatArray, NDArray[np.int64], Arrays]], n: int
) -> tuple[FloatArray, NDArray[np.int64], Arrays]:
    odds = np.concatenate([part for part, _, _ in kept])
    arrays = {k: np.concatenate([part[k] for _, _, part in kept]) for k in _PER_ROW}
    order = np.lexsort((arrays["row"], -odds))[:n]
    return odds[order], order, {k: values[order] for k, values in arrays.items()}


def audit_table(
    table: LargeTable,
    estimator: Any,
    *,
    false_alarm_rate: float = 0.05,
    stages: Stages | None = None,
    client: Any = None,
    report: Report = silent,
) -> LargeAudit:
    """Find the wrong labels of a table that is read in pieces.

    Parameters
    ----------
    table : LargeTable
        The table.
    estimator : estimator or pipeline
        A levelhead estimator, or a pipeline that ends in one, for the sample.
    false_alarm_rate : float, default=0.05
        Largest expected share of clean labels among the flagged ones.
    stages : Stages or None, default=None
        Where finished stages are kept; by default in a temporary folder. The result reads from it, until
        `Stages.remove`.
    client : distributed.Client or None, default=None
        A Dask cluster that scores the pieces; by default this process does.
    report : callable, default=silent
        Called with the name of the stage and the fraction that is done.

    Returns
    -------
    LargeAudit
        The verdicts, piece by piece.
    """
    level = check_share("false_alarm_rate", false_alarm_rate)
    stages = stages or Stages()
    judge = learn_judge(table, estimator, stages, report)
    n_pieces = score_all(table, judge, stages, client=client, report=report)
    return verdict_of(judge, stages, n_pieces, table.n_rows, level)


def verdict_of(judge: Judge, stages: Stages, n_pieces: int, n_rows: int, level: float) -> LargeAudit:
    """Judge all labels by the scores of all pieces.

    Parameters
    ----------
    judge : Judge
        The judge that gave the scores.
    stages : Stages
        Where the scores are kept.
    n_pieces : int
        Number of pieces.
    n_rows : int
        Rows of the table.
    level : float
        Largest expected share of clean labels among the flagged ones.

    Returns
    -------
    LargeAudit
        The verdicts.
    """
    estimator = judge.estimator
    transform = getattr(estimator, "target_transform_", None)
    counted: Residuals | None = None
    for piece in scores(stages, n_pieces):
        measured = ~np.isin(piece["given"], judge.codes)
        z = residuals(piece, transform)[measured]
        found = Residuals.of(z, piece["variance"][measured], estimator.separation_)
        counted = found if counted is None else counted + found
    assert counted is not None, "the sample has labels, so some piece has"
    rule = Rule(counted.estimate(), judge.codes, transform, level)
    odds: Odds | None = None
    for piece in scores(stages, n_pieces):
        odds = rule.odds(piece) if odds is None else odds + rule.odds(piece)
    assert odds is not None
    rule = rule.with_threshold(odds)
    scored = judge.scores(judge.sample.X, judge.sample.y)
    of_sample = Audit.from_residuals(
        judge.sample.y,
        scored.mean,
        scored.variance,
        separation=rule.separation,
        transform=transform,
        codes=judge.codes,
    )
    rule = replace(rule, unrelated=of_sample.unrelated)
    counts = Counts(n_rows, 0)
    for piece in scores(stages, n_pieces):
        counts = _added(counts, rule.audit(piece))
    return LargeAudit(judge, rule, counts, of_sample.warnings, stages, n_pieces)


def _added(counts: Counts, audit: Audit) -> Counts:
    flagged, suspect = int(audit.is_label_issue.sum()), int(doubtful(audit).sum())
    return counts._replace(
        labels=counts.labels + len(audit),
        flagged=counts.flagged + flagged,
        in_doubt=counts.in_doubt + suspect - flagged,
        trusted=counts.trusted + len(audit) - suspect,
        codes=counts.codes + int(audit.is_code.sum()),
    )
