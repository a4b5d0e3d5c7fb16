"""The result of an audit: the probability that each label is wrong, the flagged labels, and a summary in words."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._checks import share as check_share
from levelhead._checks import vector
from levelhead._deprecated import renamed_argument, renamed_attribute
from levelhead._extras import needed
from levelhead._plot_style import shown_once
from levelhead.audits.html import audit_html
from levelhead.audits.separation import ContaminationEstimate, estimate_contamination
from levelhead.prediction import make_frame
from levelhead.prediction.calibration import added_variance

FloatArray = NDArray[np.float64]

LEAST_ROWS = 30  # fewer different rows say nothing about the share of wrong labels


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The result of an audit; every array has one entry per row.

    Made by `levelhead.audit`, by `audit` of a fitted estimator, and by `Audit.from_residuals`.

    Attributes
    ----------
    given_label : ndarray of shape (n_samples,)
        The label as it was given.
    predicted_label : ndarray of shape (n_samples,)
        The label as predicted by a model that has not seen it.
    std : ndarray of shape (n_samples,)
        Standard deviation of the clean label around the prediction.
    z : ndarray of shape (n_samples,)
        (given − predicted)/std.
    p_outlier : ndarray of shape (n_samples,)
        Probability that the label is wrong.
    label_quality : ndarray of shape (n_samples,)
        1 − p_outlier, from 0 (certainly wrong) to 1.
    is_label_issue : ndarray of bool, of shape (n_samples,)
        Whether the label is flagged as wrong. As many of the most suspect labels are flagged as keep the expected
        share of false alarms among them below `false_alarm_rate`.
    issues : ndarray of int
        The flagged rows, most suspect first.
    alpha : ndarray of shape (n_samples,)
        α of the prediction. It is small where training labels nearby were wrong. NaN if the model has no α.
    separation : ContaminationEstimate
        The fit behind the result: share of wrong labels, its standard error, width of the clean noise.
    false_alarm_rate : float
        Largest expected share of clean labels among the flagged ones.
    contamination : float
        Estimated share of wrong labels.
    contamination_interval : tuple of float
        Interval of about 95 % for that share.
    """

    given_label: FloatArray
    predicted_label: FloatArray
    std: FloatArray
    p_outlier: FloatArray
    is_label_issue: NDArray[np.bool_]
    alpha: FloatArray
    separation: ContaminationEstimate
    false_alarm_rate: float

    epsilon = renamed_attribute("epsilon", "contamination")
    epsilon_interval = renamed_attribute("epsilon_interval", "contamination_interval")
    trust = renamed_attribute("trust", "alpha")

    @classmethod
    @renamed_argument("trust", "alpha")
    def from_residuals(
        cls,
        given: ArrayLike,
        predicted: ArrayLike,
        variance: ArrayLike,
        *,
        alpha: ArrayLike | None = None,
        separation: ContaminationEstimate | None = None,
        false_alarm_rate: float = 0.05,
    ) -> "Audit":
        """Judge labels by predictions that have not seen them.

        Parameters
        ----------
        given : array-like of shape (n_samples,)
            Labels as given.
        predicted : array-like of shape (n_samples,)
            Predicted means, from a model that has not seen these labels.
        variance : array-like of shape (n_samples,), or float
            The model's variance of each label, correct up to a common factor. With a `separation` that was fitted to
            other rows, the variance on the scale that it was fitted with.
        alpha : array-like of shape (n_samples,), default=None
            α of each prediction, if the model has one.
        separation : ContaminationEstimate, default=None
            The fit of an audit of other rows. By default it is fitted to these rows.
        false_alarm_rate : float, default=0.05
            Largest expected share of clean labels among the flagged ones.

        Returns
        -------
        Audit
            The result, one entry per row.

        Raises
        ------
        ValueError
            If labels or predictions are not finite, if there are fewer than 10 rows to fit to, or if all labels are
            equal.
        """
        y, mean = vector("given", given), vector("predicted", predicted)
        level = check_share("false_alarm_rate", false_alarm_rate)
        spread = np.broadcast_to(np.asarray(variance, dtype=np.float64), y.shape)
        if separation is None and (y == y[0]).all() and np.median(np.abs(y - mean)) == 0:
            raise ValueError(f"all labels are {y[0]:g}: a constant target has no noise to judge labels by")
        fitted = (
            estimate_contamination(y - mean, spread, core="student") if separation is None else separation
        )
        p = fitted.probability(y - mean, spread)
        return cls(
            given_label=y,
            predicted_label=mean,
            std=np.sqrt(fitted.variance_ratio * spread),
            p_outlier=p,
            is_label_issue=most_suspect(p, level),
            alpha=np.full(y.shape, np.nan) if alpha is None else np.asarray(alpha, dtype=np.float64),
            separation=fitted,
            false_alarm_rate=level,
        )

    def __len__(self) -> int:
        return len(self.given_label)

    @property
    def z(self) -> FloatArray:
        """Residuals in units of the clean noise."""
        return (self.given_label - self.predicted_label) / self.std

    @property
    def label_quality(self) -> FloatArray:
        """1 − p_outlier."""
        return 1 - self.p_outlier

    @property
    def issues(self) -> NDArray[np.intp]:
        """Rows of the flagged labels, most suspect first."""
        rows = np.flatnonzero(self.is_label_issue)
        order = np.lexsort((-np.abs(self.z[rows]), -self.p_outlier[rows]))
        return rows[order]

    @property
    def contamination(self) -> float:
        """Estimated share of wrong labels, including those that cannot be distinguished from clean ones."""
        return self.separation.contamination

    @property
    def contamination_interval(self) -> tuple[float, float]:
        """Interval of about 95 % for the share of wrong labels."""
        width = 1.96 * self.separation.standard_error
        return max(0.0, self.contamination - width), min(1.0, self.contamination + width)

    def at(self, false_alarm_rate: float) -> "Audit":
        """Return the same audit with another limit for false alarms.

        Parameters
        ----------
        false_alarm_rate : float
            Largest expected share of clean labels among the flagged ones.

        Returns
        -------
        Audit
            A new audit with the same probabilities and other flags.
        """
        level = check_share("false_alarm_rate", false_alarm_rate)
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return Audit(
            **fields | {"is_label_issue": most_suspect(self.p_outlier, level), "false_alarm_rate": level}
        )

    def allowing_for(self, gaps: ArrayLike) -> "Audit":
        """Return the same audit, corrected for missing inputs that were filled in.

        A filled-in value makes the error of a clean label larger. A model that has seen few rows with the same gap does
        not know by how much. So that such rows are not flagged for it, the audit estimates from all rows what a gap in
        each column adds to the variance, and then separates wrong labels from clean ones again.

        Parameters
        ----------
        gaps : array-like of bool, of shape (n_samples, n_features)
            True where a cell was missing.

        Returns
        -------
        Audit
            A new audit; this one if there are no gaps.
        """
        missing = np.asarray(gaps, dtype=bool)
        missing = missing[:, missing.any(axis=0)]
        residual = self.given_label - self.predicted_label
        if not missing.any() or np.median(np.abs(residual)) == 0:
            return self
        variance = self.std**2 + added_variance(residual, self.std**2, missing)
        known = self.contamination if self.separation.standard_error == 0 else None
        return Audit.from_residuals(
            self.given_label,
            self.predicted_label,
            variance,
            alpha=self.alpha,
            separation=estimate_contamination(residual, variance, contamination=known, core="student"),
            false_alarm_rate=self.false_alarm_rate,
        )

    def summary(self) -> str:
        """Return the result in words.

        Returns
        -------
        str
            A few lines: share of wrong labels, number of flagged labels, the most suspect rows.
        """
        n, found = len(self), int(self.is_label_issue.sum())
        low, high = self.contamination_interval
        trusted = int((~self.is_label_issue & (self.p_outlier < 0.5 * self.false_alarm_rate)).sum())
        lines = [
            f"{n:,} labels. About {self.contamination:.1%} look wrong ({low:.1%} to {high:.1%}).",
            f"{trusted:,} are fully trusted, {n - found - trusted:,} are in doubt, {found:,} are flagged "
            f"(at most {self.false_alarm_rate:.0%} of them are expected to be false alarms).",
        ]
        if found:
            shown = ", ".join(
                f"{row} ({self.given_label[row]:.4g} given, {self.predicted_label[row]:.4g} expected)"
                for row in self.issues[:5]
            )
            more = f", and {found - 5:,} more" if found > 5 else ""
            lines.append(f"Most suspect rows: {shown}{more}.")
        if self.separation.tail > 0:
            lines.append(
                f"Clean noise has heavier tails than a Gaussian (about {1 / self.separation.tail:.0f} degrees of "
                "freedom); that was allowed for."
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return audit_html(self)

    def plot(self) -> Any:
        """Plot given against expected labels, residuals in units of the noise, and probabilities.

        Returns
        -------
        matplotlib.figure.Figure
            A figure with three panels.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        plt = needed("matplotlib.pyplot", "Audit.plot", "plot")
        figure, (labels, scores, chances) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
        wrong = self.is_label_issue
        for axes, y in ((labels, self.given_label), (scores, np.arcsinh(self.z))):
            axes.plot(self.predicted_label[~wrong], y[~wrong], ".", ms=3, color="#8a8f98", label="kept")
            axes.plot(self.predicted_label[wrong], y[wrong], "x", ms=6, color="#d55e00", label="flagged")
            axes.set_xlabel("expected label")
        labels.axline((self.predicted_label[0],) * 2, slope=1, color="#1f2430", lw=0.8)
        labels.set(ylabel="given label", title=f"{wrong.sum():,} of {len(self):,} labels are flagged")
        labels.legend()
        ticks = np.array([-1000, -100, -10, -3, 0, 3, 10, 100, 1000])
        scores.set_yticks(np.arcsinh(ticks), [str(t) for t in ticks])
        scores.set(ylabel="(given − expected)/std", title="Residuals in units of the clean noise")
        chances.hist(self.p_outlier, bins=np.linspace(0, 1, 41), color="#0072b2")
        chances.set(
            yscale="log",
            xlabel="probability that the label is wrong",
            ylabel="labels",
            title="How sure it is",
        )
        return shown_once(figure)

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """Return a table with one row per label.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default="pandas"
            The library whose data frame is returned.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One column per attribute.
        """
        columns = (
            "given_label",
            "predicted_label",
            "std",
            "z",
            "p_outlier",
            "label_quality",
            "is_label_issue",
            "alpha",
        )
        return make_frame({name: getattr(self, name) for name in columns}, backend)


def most_suspect(p: FloatArray, false_alarm_rate: float) -> NDArray[np.bool_]:
    """Choose the largest set of labels whose expected share of clean ones stays within a limit.

    Parameters
    ----------
    p : ndarray of shape (n_samples,)
        Probability that each label is wrong.
    false_alarm_rate : float
        Largest expected share of clean labels in the set.

    Returns
    -------
    ndarray of bool, of shape (n_samples,)
        Whether each label is in the set.
    """
    order = np.argsort(-p, kind="stable")
    expected = np.cumsum(1 - p[order]) / np.arange(1, p.size + 1)
    chosen = np.zeros(p.size, dtype=bool)
    chosen[order[: np.searchsorted(expected, false_alarm_rate, side="right")]] = True
    return chosen
