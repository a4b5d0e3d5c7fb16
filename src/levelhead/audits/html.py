"""An audit as HTML, for notebooks: what it says in words, and the most suspect rows."""

from html import escape
from typing import TYPE_CHECKING

from levelhead.prediction.html import numbers, table

if TYPE_CHECKING:
    from levelhead.audits.audit import Audit

_ROWS = 10


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
