"""Experiments: frozen specs → runs → one file of results → tables and figures.

A study is a list of `Spec`. `run_study` runs the specs that are not in its `Store` yet, locally or on a cluster.
`table` and `compare` read the stored results. `table1_specs` creates the runs of Table 1 of the paper,
`boosting_specs` those of boosted trees.
"""

from levelhead.study.figures import (
    measure_against_contamination,
    measure_against_share,
    measure_by_kind,
    ratios_by_kind,
    retention_curves,
)
from levelhead.study.paper.comparison import compare, compared
from levelhead.study.paper.grid_search import search
from levelhead.study.paper.table1 import Hyperparameters, table1_specs
from levelhead.study.paper.trees import boosting_specs
from levelhead.study.ratios import Ratio, ratios
from levelhead.study.running import Summary, run_study
from levelhead.study.runs import Measures, Result, run
from levelhead.study.specs import Data, Spec
from levelhead.study.store import Row, Store, read_csv, write_csv
from levelhead.study.tables import cells, table

__all__ = [
    "Data",
    "Hyperparameters",
    "Measures",
    "Ratio",
    "Result",
    "Row",
    "Spec",
    "Store",
    "Summary",
    "boosting_specs",
    "cells",
    "compare",
    "compared",
    "measure_against_contamination",
    "measure_against_share",
    "measure_by_kind",
    "ratios",
    "ratios_by_kind",
    "read_csv",
    "retention_curves",
    "run",
    "run_study",
    "search",
    "table",
    "table1_specs",
    "write_csv",
]
