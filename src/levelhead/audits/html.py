"""An audit as HTML, for notebooks: what it says in words, and the most suspect rows."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from levelhead.prediction.html import numbers, table

if TYPE_CHECKING:
    from levelhead.audits.audit import Audit
    from levelhead.audits.multiple import MultiAudit

_ROWS = 10


def multi_audit_html(audit: "MultiAudit") -> str:
    """The summary, and a table of the most suspect labels with their targets.

    Parameters
    ----------
    audit : MultiAudit
        The audits of several targets.

    Returns
    -------
    str
        HTML.
    """
    words = "".join(f"<p>{escape(line)}</p>" for line in audit.summary().splitlines())
    issues = audit.issues[:_ROWS]
    if not issues:
        return words
    columns: dict[str, list[str]] = {"target": [target for _, target in issues]}
    of = [(audit[target], np.array([row])) for row, target in issues]
    columns |= {
        "given": [numbers(one.given_label[row], one.std[row])[0] for one, row in of],
        "expected": [numbers(one.predicted_label[row], one.std[row])[0] for one, row in of],
        "std": [numbers(one.std[row], one.std[row])[0] for one, row in of],
        "p_outlier": [f"{one.p_outlier[row][0]:.4f}" for one, row in of],
    }
    rows = [row for row, _ in issues]
    return words + table("Most suspect labels", rows, columns, hidden=len(audit.issues) - len(rows))


def audit_html(audit: "Audit") -> str:
    """The summary without its list of rows, and a table of them.

    Parameters
    ----------
    audit : Audit
        The audit.

    Returns
    -------
    str
        HTML.
    """
    lines = [line for line in audit.summary().splitlines() if not line.startswith("Most suspect rows")]
    words = "".join(f"<p>{escape(line)}</p>" for line in lines)
    rows = audit.issues[:_ROWS]
    if len(rows) == 0:
        return words
    columns = {
        "given": numbers(audit.given_label[rows], audit.std[rows]),
        "expected": numbers(audit.predicted_label[rows], audit.std[rows]),
        "std": numbers(audit.std[rows], audit.std[rows]),
        "z": [f"{z:+.1f}" for z in audit.z[rows]],
        "p_outlier": [f"{p:.4f}" for p in audit.p_outlier[rows]],
    }
    return words + table("Most suspect rows", rows.tolist(), columns, hidden=len(audit.issues) - len(rows))
