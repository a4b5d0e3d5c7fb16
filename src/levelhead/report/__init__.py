"""HTML pages that open without a network: one file each, with everything inside.

`audit_report` writes the page on which suspect labels are worked through. `study_report` shows a study.
`render` and `write` make any other
page from a template that extends `base.html`, with `Panel`s for its figures. Needs the extra `report`.
"""

from levelhead.report.audit import audit_report
from levelhead.report.page import Panel, plot_text, render, write
from levelhead.report.study import study_report

__all__ = ["Panel", "audit_report", "plot_text", "render", "study_report", "write"]
