"""Tables larger than memory: audits and fits that read a file piece by piece.

1. A sample of the rows is drawn by a hash of their numbers, and a model, the judge, is fitted to it.
2. Every row is scored: its label is compared with a prediction of the judge that has not seen it.
3. Counts of all residuals give the share of wrong labels, and the level from which labels are flagged.
4. For a fit, trees learn from all rows, with the judgements as weights.

The results do not depend on the pieces. Finished stages can be kept in a folder, so that work that was interrupted goes
on where it ended.
"""

from levelhead.large.auditing import LargeAudit, audit_table
from levelhead.large.fitting import fit_table
from levelhead.large.pieces import LargeTable, needs_pieces
from levelhead.large.stages import Stages

__all__ = ["LargeAudit", "LargeTable", "Stages", "audit_table", "fit_table", "needs_pieces"]
