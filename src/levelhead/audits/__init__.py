"""Judges labels by the residuals of predictions that have not seen them. Works without any estimator."""

from levelhead.audits.audit import LEAST_ROWS, Audit
from levelhead.audits.diagnosis import Diagnosis, diagnose
from levelhead.audits.explanation import Contributions, Explanation, affordable, explain
from levelhead.audits.findings import Findings, investigate
from levelhead.audits.multiple import MultiAudit
from levelhead.audits.segments import Segment, doubtful, find_segments
from levelhead.audits.separation import ContaminationEstimate, estimate_contamination

__all__ = [
    "LEAST_ROWS",
    "Audit",
    "ContaminationEstimate",
    "Contributions",
    "Diagnosis",
    "Explanation",
    "Findings",
    "MultiAudit",
    "Segment",
    "affordable",
    "diagnose",
    "doubtful",
    "estimate_contamination",
    "explain",
    "find_segments",
    "investigate",
]
