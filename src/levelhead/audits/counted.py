"""Verdicts on labels that come in pieces: residuals are counted, counts add up, and the sum decides.

Every sum is one of whole numbers, so the result does not depend on the pieces.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from levelhead.audits import _averaging
from levelhead.audits._bins import Histogram, count_piece
from levelhead.audits.separation import ContaminationEstimate
from levelhead.theory.elementary import exp

FloatArray = NDArray[np.float64]

_STEP = 1 / 256  # of log odds: a flag changes the expected share of false alarms by less than 0.1 % of it
_MOST = 40.0  # log odds beyond which a label is wrong for certain
_BINS = int(_MOST / _STEP)

__all__ = ["Odds", "Residuals"]


@dataclass(frozen=True, eq=False)
class Residuals:
    """Counts of scaled residuals.

    Attributes
    ----------
    histogram : Histogram
        The counts, in bins around the core of the residuals of a sample.
    """

    histogram: Histogram

    @classmethod
    def of(cls, z: FloatArray, variance: FloatArray, like: ContaminationEstimate) -> "Residuals":
        """Count the residuals of a piece.

        Parameters
        ----------
        z : ndarray of shape (n_samples,)
            Residuals, label minus predicted mean.
        variance : ndarray of shape (n_samples,)
            Variances, as in `like`.
        like : ContaminationEstimate
            The estimate of a sample, whose center and scale give the bins.

        Returns
        -------
        Residuals
            The counts.
        """
        return cls(count_piece(z / np.sqrt(variance), like.center, like.scale))

    def __add__(self, other: "Residuals") -> "Residuals":
        return Residuals(self.histogram + other.histogram)

    def estimate(self) -> ContaminationEstimate:
        """Estimate the share of wrong labels, and the odds that a label is wrong, from all counts.

        Returns
        -------
        ContaminationEstimate
            The estimate.
        """
        return ContaminationEstimate(**_averaging.separate_counts(self.histogram, None))


@dataclass(frozen=True, eq=False)
class Odds:
    """Counts of log odds that labels are wrong, from 0 on: only these labels can be flagged.

    Attributes
    ----------
    counts : ndarray of int
        Number of labels in each step of the log odds.
    """

    counts: NDArray[np.int64]

    @classmethod
    def of(cls, log_odds: FloatArray) -> "Odds":
        """Count the log odds of a piece.

        Parameters
        ----------
        log_odds : ndarray of shape (n_samples,)
            Log odds that each label is wrong; codes for "missing" left out.

        Returns
        -------
        Odds
            The counts.
        """
        above = np.minimum(log_odds[log_odds > 0], _MOST)
        return cls(np.bincount(np.minimum((above / _STEP).astype(np.int64), _BINS), minlength=_BINS + 1))

    def __add__(self, other: "Odds") -> "Odds":
        return Odds(self.counts + other.counts)

    def threshold(self, false_alarm_rate: float) -> float:
        """The smallest log odds at which a label is flagged.

        As many of the most suspect labels are flagged as keep the expected share of false alarms among them below the
        rate, and none that is more likely right than wrong.

        Parameters
        ----------
        false_alarm_rate : float
            Largest expected share of clean labels among the flagged ones.

        Returns
        -------
        float
            The threshold; infinity if no label can be flagged.
        """
        middle = (np.arange(_BINS + 1) + 0.5) * _STEP
        clean = 1 / (1 + exp(middle))
        flagged = np.cumsum(self.counts[::-1])
        false = np.cumsum((self.counts * clean)[::-1])
        allowed = np.flatnonzero((flagged > 0) & (false <= false_alarm_rate * flagged))
        if not len(allowed):
            return float("inf")
        return float((_BINS - allowed[-1]) * _STEP)
