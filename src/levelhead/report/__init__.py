"""HTML pages that work offline, each in a single file.

`audit_report` writes a page to review the flagged labels of an audit, and `audit_page` makes one for a notebook.
`study_report` shows the results of a study. `render` and `write` create other pages from a template that extends
`base.html`, with `Panel`s for the figures. Needs the extra `report`.
"""

from levelhead.report.audit import audit_report
from levelhead.report.notebook import Page, audit_page
from levelhead.report.page import Panel, plot_text, render, write
from levelhead.report.study import study_report

__all__ = ["Page", "Panel", "audit_page", "audit_report", "plot_text", "render", "study_report", "write"]
