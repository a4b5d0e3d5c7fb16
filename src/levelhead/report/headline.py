"""The first lines of the page of an audit: the verdict, its numbers, and remarks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelhead._rounding import with_noise
from levelhead.audits import Audit
from levelhead.audits.presentation import uncertain_in_words

_PER_CENT = "\u00a0%"  # no line break before the sign


def headline(audit: Audit) -> str:
    """Return the verdict in one line: how many labels are flagged."""
    whole = _whole(audit)
    flagged = int(audit.is_label_issue.sum()) if whole is None else whole.flagged
    labels = f"{len(audit) if whole is None else whole.labels:,} labels"
    if flagged == 0:
        return f"None of {labels} is flagged"
    return f"{flagged:,} of {labels} {'is' if flagged == 1 else 'are'} flagged as probably wrong"


def summary(audit: Audit) -> str:
    """Return the estimated share of wrong labels, and what a flag means."""
    least, most = audit.standing_out_interval[0], audit.contamination_interval[1]
    uncertain = f" {uncertain_in_words(audit)}" if _whole(audit) is None and len(audit.uncertain.rows) else ""
    return (
        f"About {_percent(audit.contamination)}{_PER_CENT} of the labels look wrong: at least "
        f"{_percent(least)}{_PER_CENT} stand out, up to {_percent(most)}{_PER_CENT} could be wrong with those that "
        f"hide in the noise. Every label was compared with the prediction of models "
        f"that were not trained on it. At most {100 * audit.false_alarm_rate:.3g}{_PER_CENT} of the flagged labels "
        f"are expected to be false alarms.{uncertain}"
    )


def tiles(audit: Audit, verdict: NDArray[np.uint8], n_rows: int | None) -> list[tuple[str, str]]:
    """Return the numbers below the verdict, with a label each; `n_rows` is the length of the table, if it is known."""
    trusted, doubtful, wrong = (int((verdict == kind).sum()) for kind in range(3))
    noise, n, whole = float(np.median(audit.std)), len(audit), _whole(audit)
    if whole is not None:
        n, n_rows, trusted, doubtful, wrong = (
            whole.labels,
            whole.rows,
            whole.trusted,
            whole.in_doubt,
            whole.flagged,
        )
    judged = (f"{n:,}", "labels judged") if n_rows is None else (f"{n:,} of {n_rows:,}", "rows judged")
    return [
        judged,
        (f"{wrong:,}", "flagged"),
        (f"{doubtful:,}", "in doubt"),
        (f"{trusted:,}", "fully trusted"),
        (f"± {with_noise(noise, noise)}", "noise of clean labels (median std)"),
    ]


def remarks(audit: Audit, shown: int, most: int, log_scale: bool) -> list[str]:
    """Return what a reader should know about the noise and about what is left out of the page.

    `shown` labels are in the page, because it contains at most the `most` most suspect ones and their neighbours.
    """
    notes = []
    if audit.separation.tail > 0:
        freedom = 1 / audit.separation.tail
        notes.append(
            f"The noise of clean labels has heavier tails than a Gaussian (about {freedom:.0f} degrees of freedom); "
            "the result takes this into account."
        )
    if shown < len(audit):
        notes.append(
            f"The table is large. Of {len(audit):,} labels, this page contains at most the {most:,} most "
            f"suspect and their neighbours: {shown:,} in total."
        )
    hidden = int(((audit.given_label <= 0) | (audit.predicted_label <= 0)).sum())
    if log_scale and hidden:
        notes.append(
            f"{hidden:,} labels that are not positive are left out of the figure with logarithmic axes."
        )
    return notes


def _whole(audit: Audit) -> Any:
    """The counts of the table that the audit is a part of (`levelhead.large.PartialAudit`); None if it is all of it."""
    return getattr(audit, "counts", None)


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
