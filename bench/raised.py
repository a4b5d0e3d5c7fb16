"""What would be flagged if the log odds of every label were higher, in simulated and in public tables.

With a model in the loop of a simulation (bench/in_loop.py), probabilities are too low, by log odds of about one. The
page docs/tables/audits-raised.md shows what higher odds would cost there, and in public tables with planted errors
(bench/planted.py); it is made from the results of both.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from resuming import read
from scipy.special import expit
from simulated import LEVEL, mean_and_error

from levelhead import Audit
from levelhead.audits.flags import flagged

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/tables/audits-raised.md"
COLUMNS = ("raised_flagged", "raised_false")
HIGHER = 1.0


def raised(result: Audit, wrong: np.ndarray) -> dict[str, int]:
    """How many labels would be flagged, and how many of them falsely."""
    flags = flagged(expit(result.log_odds + HIGHER), result.is_code, LEVEL)
    return dict(zip(COLUMNS, (int(flags.sum()), int((flags & ~wrong).sum())), strict=True))


def write_page(in_loop: Path, planted: Path) -> None:
    """Compare false alarms and wrong labels found, as they are and with higher odds."""
    simulated = [row for row in read(in_loop) if row["n_wrong"] != "0"]
    groups = {
        f"simulated, n = {int(n):,}": [row for row in simulated if row["n"] == n]
        for n in sorted({row["n"] for row in simulated}, key=int)
    }
    groups["public tables"] = [row | {"n_wrong": row["wrong"]} for row in read(planted)]
    lines = [
        "| labels | audits | false alarms | wrong labels found | false alarms, odds raised | found, odds raised |",
        "|---|" + "---:|" * 5,
        *(_line(name, rows) for name, rows in groups.items() if rows),
    ]
    PAGE.write_text("\n".join([*lines, ""]))


def _line(name: str, rows: Sequence[Mapping[str, str]]) -> str:
    of = {
        key: np.array([float(row[key]) for row in rows]) for key in ("flagged", "false", "n_wrong", *COLUMNS)
    }
    cells = [name, str(len(rows))]
    for flags, false in ((of["flagged"], of["false"]), (of[COLUMNS[0]], of[COLUMNS[1]])):
        cells += [
            mean_and_error(false / np.maximum(flags, 1)),
            f"{np.mean((flags - false) / of['n_wrong']):.2f}",
        ]
    return f"| {' | '.join(cells)} |"
