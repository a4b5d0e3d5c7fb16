"""Pages inside notebooks."""

import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from levelhead._files import refuse
from levelhead.audits import Audit
from levelhead.report.audit import audit_report
from levelhead.report.page import write

_HEIGHT = 900  # pixels


@dataclass(frozen=True, repr=False)
class Page:
    """An HTML page that a notebook shows below the cell.

    Attributes
    ----------
    html : str
        The page.
    """

    html: str

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the page to a file; if an error occurs, no partial file is left.

        Parameters
        ----------
        path : path-like
            File to write.
        overwrite : bool, default=False
            Whether to replace an existing file.

        Raises
        ------
        FileExistsError
            If the file exists and `overwrite` is False.
        """
        refuse(Path(path), overwrite=overwrite)
        write(path, self.html, overwrite=overwrite)

    def __repr__(self) -> str:
        return f"HTML page of {len(self.html) / 1e6:.1f} MB; a notebook shows it, and save(path) writes it"

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {_HEIGHT}px; border: 1px solid #8a8f98"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}" title="Audit"></iframe>'


def audit_page(audit: Audit, **contents: Any) -> Page:
    """Make the page to review the flagged labels of an audit.

    Parameters
    ----------
    audit : Audit
        Result of an audit.
    **contents : object
        What the page shows, as in `audit_report`: `table`, `target`, `rows`, `segments` and others.

    Returns
    -------
    Page
        The page.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.html"
        audit_report(audit, path, **contents)
        return Page(path.read_text(encoding="utf-8"))
