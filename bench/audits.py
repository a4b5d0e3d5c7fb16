"""How labels are judged, on residuals of known origin, beside an oracle that knows both densities and the share.

    python bench/audits.py [--repetitions 20] [--first 0] [--sizes 200 1000] [--minutes 8] [--table]
    python bench/audits.py --in-loop     labels of a known function, judged by a model, see bench/in_loop.py
    python bench/audits.py --real        real and planted errors in tables, see bench/real_errors.py
    python bench/audits.py --planted     errors planted into many tables, several times, see bench/planted.py

Noises × wrong labels (bench/noises.py) × sizes × shares. One row per draw is appended to
bench/results/audits-simulation.csv; what is there is not run again. The page docs/tables/audits-simulation.md is made
from that file. Choices were made on the noises and wrong labels in CHOSEN_ON. The others were looked at twice
(docs/howto/audit.md), so they are not an independent test of the present constants.
"""

import argparse
import time
from itertools import product
from pathlib import Path

import in_loop
import numpy as np
import planted
import raised
import real_errors
from noises import NOISES, WRONG
from resuming import read, run_missing
from simulated import COLUMNS, LEVEL, SHARES, SIZES, draw, oracle, page, record

from levelhead.audits.flags import most_suspect
from levelhead.audits.separation import estimate_contamination

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench/results/audits-simulation.csv"
PAGE = ROOT / "docs/tables/audits-simulation.md"


def run(noise: str, kind: str, n: int, share: float, repetition: int) -> dict:
    r, wrong = draw(noise, kind, n, share, repetition)
    fitted = estimate_contamination(r, 1.0, core="student")
    p, best = fitted.probability(r, 1.0), oracle(r, noise, kind, share)
    return record(fitted, p, most_suspect(p, LEVEL), best, wrong) | {
        "variance_ratio": fitted.variance_ratio,
        "true_variance": float(np.mean(r[~wrong] ** 2)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="number of the first repetition")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--table", action="store_true", help="only write the page from what is stored")
    parser.add_argument(
        "--real", action="store_true", help="tables with errors instead of simulated residuals"
    )
    parser.add_argument("--planted", action="store_true", help="errors planted into many tables")
    parser.add_argument("--in-loop", action="store_true", help="labels that a model has to predict")
    parser.add_argument("--tables", nargs="+", help="which of those; all by default")
    parser.add_argument("--seeds", type=int, default=1, help="of those")
    options = parser.parse_args()
    if options.in_loop:
        last = options.first + (0 if options.table else options.repetitions)
        in_loop.main(options.sizes, range(options.first, last), options.minutes)
        raised.write_page(in_loop.RESULT, planted.RESULT)
        return
    if options.real:
        real_errors.main(options.tables, options.seeds, options.minutes, options.table)
        return
    if options.planted:
        planted.main(options.tables, options.seeds, options.minutes, options.table)
        raised.write_page(in_loop.RESULT, planted.RESULT)
        return
    end = time.monotonic() + 60 * options.minutes
    cells = [
        (noise, kind, n, share)
        for n, share, noise, kind in product(options.sizes, SHARES, NOISES, WRONG)
        if share or kind == next(iter(WRONG))
    ]
    last = options.first + (0 if options.table else options.repetitions)
    for repetition in range(options.first, last):
        for start in range(0, len(cells), 50):
            if time.monotonic() < end:
                run_missing(RESULT, COLUMNS, [(*cell, repetition) for cell in cells[start : start + 50]], run)
    PAGE.write_text(f"{page(read(RESULT))}\n")


if __name__ == "__main__":
    main()
