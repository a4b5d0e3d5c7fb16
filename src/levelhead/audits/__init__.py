"""Judges labels by the residuals of predictions that have not seen them. Works without any estimator."""

from levelhead.audits.audit import LEAST_ROWS, Audit
from levelhead.audits.separation import ContaminationEstimate, estimate_contamination

__all__ = ["LEAST_ROWS", "Audit", "ContaminationEstimate", "estimate_contamination"]
