"""The result of an audit: the probability that each label is wrong, the flagged labels, and a summary in words."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._checks import share as check_share
from levelhead._checks import vector
from levelhead._deprecated import renamed_argument, renamed_attribute
from levelhead._extras import needed
from levelhead.audits import _corrections
from levelhead.audits._reliability import doubts
from levelhead.audits._unrelated import MANY, unrelated_limit, unrelated_share
from levelhead.audits.diagnosis import Diagnosis, diagnose
from levelhead.audits.flags import Uncertain, flagged, not_flagged
from levelhead.audits.html import audit_html
from levelhead.audits.judged import Judged, JudgedScale
from levelhead.audits.presentation import as_frame, drawn, in_words
from levelhead.audits.separation import ContaminationEstimate, estimate_contamination
from levelhead.prediction.transforms import Transform
from levelhead.tables.missing import label_codes
from levelhead.theory.elementary import exp

FloatArray = NDArray[np.float64]

LEAST_ROWS = 30  # fewer different rows say nothing about the share of wrong labels
_CODE_ODDS = 20.0  # log odds that a code for missing is wrong


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
    log_odds : ndarray of shape (n_samples,)
        Log odds that the label is wrong. They keep the order of labels whose probability rounds to 1.
    is_label_issue : ndarray of bool, of shape (n_samples,)
        Whether the label is flagged as wrong. As many of the most suspect labels are flagged as keep the expected
        share of false alarms among them below `false_alarm_rate`, and none that is more likely right than wrong.
    is_code : ndarray of bool, of shape (n_samples,)
        Whether the label is a code for a missing value. Codes are flagged, and do not count for the level.
    issues : ndarray of int
        The flagged rows, most suspect first.
    alpha : ndarray of shape (n_samples,)
        α of the prediction. It is small where training labels nearby were wrong. NaN if the model has no α.
    separation : ContaminationEstimate
        The fit behind the result: share of wrong labels, its standard error, width of the clean noise.
    false_alarm_rate : float
        Largest expected share of clean labels among the flagged ones.
    contamination : float
        Estimated share of wrong labels, those included that look like clean ones.
    contamination_interval : tuple of float
        Interval for that share. It reaches from the share that the likelihood of the fitted models demands to the
        largest of three shares that the residuals do not exclude: what the likelihood allows, what is wrong if clean
        noise has no heavier tails than a normal density, and `unrelated_limit`.
    standing_out : float
        Estimated share of labels that are wrong and differ visibly from clean ones.
    standing_out_interval : tuple of float
        Interval for that share.
    reliable : bool
        Whether there is no warning.
    unrelated : float
        Share of labels that look like labels of other rows, whatever the model expects; 0 if the residuals show no such
        thing. Beyond a third, the model itself has followed wrong labels, and the result is not reliable.
    unrelated_limit : float
        Largest share of labels that could be those of other rows and hide in the noise: little if the inputs predict
        well and the noise has light tails, much if they predict little.
    warnings : tuple of str
        Why the result should not be relied on: too many wrong labels, inputs that predict nothing, or residuals without
        a shape in which wrong labels can be distinguished.
    index : ndarray of shape (n_samples,) or None
        Names of the rows, used by `to_frame`.
    scale : JudgedScale or None
        The scale on which the labels were judged, if it is not that of the labels themselves.
    remarks : tuple of str
        What a reader of the result should know: the scale of the labels, rows that may belong together.
    """

    given_label: FloatArray
    predicted_label: FloatArray
    std: FloatArray
    p_outlier: FloatArray
    is_label_issue: NDArray[np.bool_]
    alpha: FloatArray
    separation: ContaminationEstimate
    false_alarm_rate: float
    log_odds: FloatArray
    is_code: NDArray[np.bool_]
    scale: JudgedScale | None = None
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    index: NDArray[Any] | None = None
    unrelated: float = 0.0

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
        transform: Transform | None = None,
        codes: ArrayLike | None = None,
        index: Any = None,
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
        transform : Transform, default=None
            The scale of `predicted` and `variance`, on which the labels are judged. By default that of `given`.
        codes : array-like of float, default=None
            Labels that stand for a missing value, such as −200 or 0. They are wrong, take no part in the fit, and do
            not count for `false_alarm_rate`. By default a value is taken for a code if it is the smallest or largest
            label, repeated, isolated from all others, and not what the model expects. Pass `()` for none.
        index : array-like of shape (n_samples,), default=None
            Names of the rows, for `to_frame`.

        Returns
        -------
        Audit
            The result, one entry per row, in the units of `given`.

        Raises
        ------
        ValueError
            If labels or predictions are not finite, if there are fewer than 10 rows to fit to, or if all labels are
            equal.
        """
        y, mean = vector("given", given), vector("predicted", predicted)
        level = check_share("false_alarm_rate", false_alarm_rate)
        spread = np.broadcast_to(np.asarray(variance, dtype=np.float64), y.shape)
        if separation is None and (y == y[0]).all():
            raise ValueError(f"all labels are {y[0]:g}: a constant target has no noise to judge labels by")
        return cls._of(
            y,
            mean,
            spread,
            alpha=alpha,
            separation=separation,
            level=level,
            transform=transform,
            codes=codes,
            index=index,
        )

    @classmethod
    def _of(
        cls,
        y: FloatArray,
        mean: FloatArray,
        spread: FloatArray,
        *,
        alpha: ArrayLike | None,
        separation: ContaminationEstimate | None,
        level: float,
        transform: Transform | None,
        codes: ArrayLike | None,
        index: Any = None,
        unrelated: float | None = None,
    ) -> "Audit":
        """Judge labels; `unrelated` is given for a part of a table, of which there are no warnings then."""
        labels = y if transform is None else transform.labels(y)
        residual = labels - mean
        known = label_codes(y, residual / np.sqrt(spread)) if codes is None else np.asarray(codes, float)
        is_code = np.isin(y, known)
        rest = ~is_code
        if separation is None:
            separation = estimate_contamination(residual[rest], spread[rest], core="student")
        odds = separation.log_odds(residual, spread)
        odds = np.where(is_code, np.maximum(odds, _CODE_ODDS), odds)
        p = 1 / (1 + exp(-odds))
        std = np.sqrt(separation.variance_ratio * spread)
        scale = None if transform is None else JudgedScale(transform, mean, std)
        warnings: tuple[str, ...] = ()
        if unrelated is None:
            unrelated = unrelated_share(labels[rest], mean[rest], std[rest])
            warnings = doubts(labels[rest], mean[rest], separation, unrelated)
        return cls(
            given_label=y,
            predicted_label=mean if scale is None else scale.predicted_label,
            std=std if scale is None else scale.label_std,
            scale=scale,
            p_outlier=p,
            is_label_issue=flagged(p, is_code, level),
            alpha=np.full(y.shape, np.nan) if alpha is None else np.asarray(alpha, dtype=np.float64),
            separation=separation,
            false_alarm_rate=level,
            log_odds=odds,
            is_code=is_code,
            unrelated=unrelated,
            warnings=warnings,
            index=None if index is None else np.asarray(index),
        )

    def __len__(self) -> int:
        return len(self.given_label)

    @property
    def z(self) -> FloatArray:
        """Residuals in units of the clean noise, on the scale on which the labels were judged."""
        judged = self.judged
        return (judged.given - judged.predicted) / judged.std

    @property
    def judged(self) -> Judged:
        """Labels, predictions and standard deviations on the scale on which the labels were judged."""
        if self.scale is None:
            return Judged(self.given_label, self.predicted_label, self.std)
        return Judged(self.scale.transform.labels(self.given_label), self.scale.predicted, self.scale.std)

    @property
    def label_quality(self) -> FloatArray:
        """1 − p_outlier."""
        return 1 - self.p_outlier

    @property
    def issues(self) -> NDArray[np.intp]:
        """Rows of the flagged labels, most suspect first."""
        rows = np.flatnonzero(self.is_label_issue)
        order = np.lexsort((-np.abs(self.z[rows]), -self.log_odds[rows]))
        return rows[order]

    @property
    def reliable(self) -> bool:
        """Whether there is no reason to distrust the result."""
        return not self.warnings

    @property
    def contamination(self) -> float:
        """Estimated share of wrong labels, including those that cannot be distinguished from clean ones."""
        return max(self._with_codes(max(self.separation.contamination, self._hidden)), self._found)

    @property
    def contamination_interval(self) -> tuple[float, float]:
        """Interval for the share of wrong labels, those included that could hide in the noise."""
        low, high = self.separation.contamination_interval
        highest = self._with_codes(max(high, self._hidden, self.unrelated_limit))
        return self._with_codes(low), max(highest, self._found)

    @functools.cached_property
    def unrelated_limit(self) -> float:
        """Largest share of labels that could be those of other rows and hide in the noise.

        0 if the share was given, or if it was estimated on other rows.
        """
        if self._is_given:
            return 0.0
        given, predicted, std = (values[~self.is_code] for values in self.judged)
        return unrelated_limit(given, predicted, std)

    @property
    def standing_out(self) -> float:
        """Estimated share of labels that are wrong and differ visibly from clean ones."""
        return self._with_codes(self.separation.standing_out)

    @property
    def standing_out_interval(self) -> tuple[float, float]:
        """Interval for the share of wrong labels that differ visibly from clean ones."""
        low, high = self.separation.standing_out_interval
        return self._with_codes(low), self._with_codes(high)

    @property
    def shares(self) -> str:
        """The intervals of both shares in words."""
        least, most = self.standing_out_interval[0], self.contamination_interval[1]
        return f"at least {least:.1%} stand out, up to {most:.1%} could be wrong with those that hide in the noise"

    @property
    def _is_given(self) -> bool:
        """Whether the share was given, or estimated on other rows."""
        return bool(
            self.separation.standard_error == 0 or self.separation.n + self.is_code.sum() != len(self)
        )

    @property
    def _hidden(self) -> float:
        """Share of wrong labels that the model has followed, if there are many."""
        return self.unrelated if self.unrelated > MANY else 0.0

    @property
    def _found(self) -> float:
        """Share of labels flagged and wrong, by their probabilities; powers of ten show more than residuals."""
        return 0.0 if self._is_given else float(self.p_outlier[self.is_label_issue].sum()) / len(self)

    def _with_codes(self, share: float) -> float:
        """Add the codes to a share among the other labels; in a fit to all rows they are a part of the share."""
        codes = int(self.is_code.sum())
        if self.separation.n + codes != len(self):
            return max(share, codes / len(self))
        return (codes + share * self.separation.n) / len(self)

    @property
    def uncertain(self) -> Uncertain:
        """Labels that are more likely wrong than right but not flagged, and the false-alarm rate that flags them."""
        return not_flagged(self.p_outlier, self.is_code, self.is_label_issue)

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
        flags = flagged(self.p_outlier, self.is_code, level)
        return replace(self, is_label_issue=flags, false_alarm_rate=level)

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
        return _corrections.allowing_for(self, gaps)

    def by_factors(self) -> "Audit":
        """Return the same audit, in which labels of a misplaced decimal point are judged as such.

        A label that is ten, a hundred or a thousand times a plausible one, or such a part of it, is more suspect than
        its residual alone says, if several labels of the table are. All other labels are then separated without them.

        Returns
        -------
        Audit
            A new audit; this one if there is no sign of such labels, or if the share of wrong labels was given or
            estimated on other rows.
        """
        return _corrections.by_factors(self)

    def by_groups(self, groups: ArrayLike) -> "Audit":
        """Return the same audit, in which a label is more suspect if other labels of its group are.

        Some patients, sensors or days are wrong as a whole. If the log odds show that wrong labels gather in groups,
        the prior probability that a label is wrong is that of its group; otherwise nothing changes.

        Parameters
        ----------
        groups : array-like of shape (n_samples,)
            Rows with equal entries belong together. Their labels should be judged by models that have seen none of
            them.

        Returns
        -------
        Audit
            A new audit with other probabilities and flags, and a remark that says in how many groups most labels look
            wrong; this one if wrong labels do not gather in groups.

        Raises
        ------
        ValueError
            If there is not one entry per label.
        """
        return _corrections.by_groups(self, groups)

    def by_neighbours(
        self,
        columns: Mapping[str, ArrayLike],
        importances: ArrayLike,
        groups: ArrayLike | None = None,
    ) -> "Audit":
        """Return the same audit, in which a label is less suspect if those of the nearest rows deviate alike.

        Wrong labels lie anywhere in a table. If neighbours deviate in the same direction and by about as much, the
        model errs there, or all of these labels are wrong together; such labels stay in doubt, and are not flagged.
        Without groups, rows that follow each other are neighbours too, if residuals of labels that nobody doubts agree
        in neighbouring rows: then the model misses something that lasts for some rows, such as the weather.

        Parameters
        ----------
        columns : mapping of str to array-like of shape (n_samples,)
            Inputs of the model: numbers, dates or categories.
        importances : array-like of shape (n_columns,)
            Importance of each column, by which it counts in the distance of two rows.
        groups : array-like of shape (n_samples,), default=None
            Rows with equal entries belong together and do not support each other.

        Returns
        -------
        Audit
            A new audit with other probabilities and flags, and a remark if fewer labels are flagged; this one if
            neighbours support none of the suspects.

        Raises
        ------
        ValueError
            If there is not one importance per column.
        """
        return _corrections.by_neighbours(self, columns, importances, groups)

    def with_remarks(self, *remarks: str) -> "Audit":
        """Return the same audit with more remarks.

        Parameters
        ----------
        *remarks : str
            Sentences for the reader of the result.

        Returns
        -------
        Audit
            A new audit.
        """
        return replace(self, remarks=(*self.remarks, *remarks))

    @functools.cached_property
    def diagnosis(self) -> Diagnosis:
        """The likely kind of error of every label that is flagged or in doubt; computed when it is first read."""
        return diagnose(self)

    def summary(self) -> str:
        """Return the result in words.

        Returns
        -------
        str
            A few lines: share of wrong labels, number of flagged labels, the most suspect rows.
        """
        return in_words(self)

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
        return drawn(self)

    def report(self, path: str | Path | None = None, *, overwrite: bool = False, **contents: Any) -> Any:
        """Return the page to review the flagged labels; a notebook shows it below the cell.

        Parameters
        ----------
        path : path-like or None, default=None
            A file to write the page to as well.
        overwrite : bool, default=False
            Whether to replace an existing file.
        **contents : object
            What else the page shows, as in `levelhead.report.audit_report`: `table` is the table that the labels come
            from, `target` the name of its column of labels.

        Returns
        -------
        levelhead.report.Page
            The page.

        Raises
        ------
        ImportError
            If a library of the extra `report` is not installed.
        """
        page = needed("levelhead.report", "Audit.report", "report").audit_page(self, **contents)
        if path is not None:
            page.save(path, overwrite=overwrite)
        return page

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
        return as_frame(self, backend)
