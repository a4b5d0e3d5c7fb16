"""An audit in words, as a figure and as a table."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from levelhead._extras import needed
from levelhead._plot_style import shown_once
from levelhead.audits._unrelated import MANY
from levelhead.prediction import make_frame

if TYPE_CHECKING:
    from levelhead.audits.audit import Audit

_LEAST_SHARE = 1e-6  # smaller ones are written as 0
_SHOWN = 5  # most suspect rows in the summary
_COLUMNS = (
    "given_label",
    "predicted_label",
    "std",
    "z",
    "p_outlier",
    "log_odds",
    "label_quality",
    "is_label_issue",
    "is_code",
    "alpha",
)


def in_words(audit: "Audit") -> str:
    """Sum an audit up.

    Parameters
    ----------
    audit : Audit
        Result of an audit.

    Returns
    -------
    str
        A few lines: share of wrong labels, number of flagged labels, the most suspect rows, remarks.
    """
    n, found = len(audit), int(audit.is_label_issue.sum())
    trusted = int((~audit.is_label_issue & (audit.p_outlier < 0.5 * audit.false_alarm_rate)).sum())
    lines = [f"Not reliable: {'; '.join(audit.warnings)}."] if audit.warnings else []
    lines += [
        f"{n:,} labels. About {percent(audit.contamination)} look wrong: {audit.shares}.",
        f"{trusted:,} are fully trusted, {n - found - trusted:,} are in doubt, {flagged_in_words(found)} "
        f"(at most {audit.false_alarm_rate:.0%} of them are expected to be false alarms).",
    ]
    if len(audit.uncertain.rows):
        lines.append(uncertain_in_words(audit))
    for code in np.unique(audit.given_label[audit.is_code]):
        count = int((audit.given_label == code).sum())
        lines.append(f"{count:,} labels are {code:g}, which seems to stand for a missing value.")
    if found:
        lines.append(_most_suspect(audit, found))
    if audit.unrelated_limit > MANY:
        lines.append(
            f"The inputs predict so little that up to {audit.unrelated_limit:.0%} of the labels could be those of "
            "other rows."
        )
    if audit.separation.tail > 0:
        lines.append(
            f"Clean noise has heavier tails than a Gaussian (about {1 / audit.separation.tail:.0f} degrees of "
            "freedom); that was allowed for."
        )
    return "\n".join([*lines, *audit.remarks])


def _most_suspect(audit: "Audit", found: int) -> str:
    shown = ", ".join(
        f"{row} ({audit.given_label[row]:.4g} given, {audit.predicted_label[row]:.4g} expected)"
        for row in audit.issues[:_SHOWN]
    )
    more = f", and {found - _SHOWN:,} more" if found > _SHOWN else ""
    return f"Most suspect rows: {shown}{more}."


def percent(share: float) -> str:
    """Write a share as a percentage, with enough digits to tell one label in a million from none.

    Parameters
    ----------
    share : float
        From 0 to 1.

    Returns
    -------
    str
        One digit behind the point; one significant digit below 0.05 %.
    """
    return f"{100 * share:.1g}%" if _LEAST_SHARE <= share < 0.0005 else f"{share:.1%}"


def flagged_in_words(count: int) -> str:
    """Say how many labels are flagged.

    Parameters
    ----------
    count : int
        Number of flagged labels.

    Returns
    -------
    str
        The end of a sentence about labels.
    """
    return f"{count:,} {'is' if count == 1 else 'are'} flagged"


def uncertain_in_words(audit: "Audit") -> str:
    """Say how many labels are more likely wrong than right but not flagged, and what would flag them.

    Parameters
    ----------
    audit : Audit
        Result of an audit with such labels.

    Returns
    -------
    str
        A sentence.
    """
    rows, rate = audit.uncertain
    one = len(rows) == 1
    more = " more" if len(audit.issues) else ""
    return (
        f"{len(rows):,}{more} label{' is' if one else 's are'} more likely wrong than right; a false-alarm rate of "
        f"{rate:g} flags {'it' if one else 'them'}."
    )


def drawn(audit: "Audit") -> Any:
    """Draw an audit.

    Parameters
    ----------
    audit : Audit
        Result of an audit.

    Returns
    -------
    matplotlib.figure.Figure
        A figure with three panels.
    """
    plt = needed("matplotlib.pyplot", "Audit.plot", "plot")
    figure, (labels, scores, chances) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    wrong = audit.is_label_issue
    for axes, y in ((labels, audit.given_label), (scores, np.arcsinh(audit.z))):
        axes.plot(audit.predicted_label[~wrong], y[~wrong], ".", ms=3, color="#8a8f98", label="kept")
        axes.plot(audit.predicted_label[wrong], y[wrong], "x", ms=6, color="#d55e00", label="flagged")
        axes.set_xlabel("expected label")
    labels.axline((audit.predicted_label[0],) * 2, slope=1, color="#1f2430", lw=0.8)
    labels.set(ylabel="given label", title=f"{wrong.sum():,} of {len(audit):,} labels are flagged")
    labels.legend()
    ticks = np.array([-1000, -100, -10, -3, 0, 3, 10, 100, 1000])
    scores.set_yticks(np.arcsinh(ticks), [str(t) for t in ticks])
    scores.set(ylabel="(given − expected)/std", title="Residuals in units of the clean noise")
    chances.hist(audit.p_outlier, bins=np.linspace(0, 1, 41), color="#0072b2")
    chances.set(
        yscale="log",
        xlabel="probability that the label is wrong",
        ylabel="labels",
        title="How sure it is",
    )
    return shown_once(figure)


def as_frame(audit: "Audit", backend: Literal["pandas", "polars"]) -> Any:
    """Make a table with one row per label, and the names of the rows if there are any.

    Parameters
    ----------
    audit : Audit
        Result of an audit.
    backend : {"pandas", "polars"}
        The library whose data frame is returned.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        One column per attribute.
    """
    values = {name: getattr(audit, name) for name in _COLUMNS}
    if audit.index is None:
        return make_frame(values, backend)
    if backend == "pandas":
        return make_frame(values, backend).set_axis(audit.index, axis=0)
    return make_frame({"index": audit.index} | values, backend)
