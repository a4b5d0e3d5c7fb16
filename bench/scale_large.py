"""Time and memory of audits and fits of tables that are read in pieces, beside LightGBM in memory.

    python bench/scale_large.py 1000000                    # all kinds, results are appended as they come
    python bench/scale_large.py 10000000 --kinds audit lightgbm --memory 3GB

Every kind runs in a process of its own, whose CPU seconds and peak memory are measured. The table has 20 columns and
5 % wrong labels, and is written as Parquet into a temporary folder. CPU seconds, because they depend less than the
time on what else runs on the computer; `--cores` limits all kinds alike.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

RESULTS = Path(__file__).parent / "results" / "scale_large.csv"
KINDS = ("lightgbm", "audit", "fit", "dask")
COLUMNS = [f"x{k}" for k in range(20)]
PIECE = 100_000
TESTED = 20_000


def clean(X: np.ndarray) -> np.ndarray:
    """The mean of the labels."""
    return np.sin(2 * X[:, 0]) * X[:, 1] + np.abs(X[:, 2]) + 0.5 * X[:, 3] * X[:, 4] + (X[:, 5] > 0) * X[:, 6]


def piece(seed: int, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Some rows, and which of their labels are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(COLUMNS))).astype(np.float32)
    y = clean(X) + 0.3 * np.exp(0.3 * X[:, 7]) * rng.normal(size=n)
    wrong = rng.random(n) < 0.05
    y[wrong] += 6 * rng.normal(size=int(wrong.sum()))
    return pd.DataFrame(X, columns=COLUMNS).assign(y=y), wrong


def write(path: Path, n: int) -> None:
    """Write the table piece by piece."""
    file = None
    for seed, start in enumerate(range(0, n, PIECE)):
        table = pa.Table.from_pandas(piece(seed, min(PIECE, n - start))[0], preserve_index=False)
        file = file or pq.ParquetWriter(path, table.schema)
        file.write_table(table)
    assert file is not None
    file.close()


def lightgbm(path: Path, _: str) -> dict[str, float]:
    import lightgbm as lgb

    frame = pd.read_parquet(path)
    X, y = frame[COLUMNS].to_numpy(), frame["y"].to_numpy()
    model = lgb.LGBMRegressor(objective="l1", n_estimators=1000, learning_rate=0.05, verbosity=-1).fit(X, y)
    return {"rmse": rmse(model.predict)}


def rmse(predict) -> float:
    test = piece(10**6, TESTED)[0][COLUMNS]
    return float(np.sqrt(np.mean((predict(test.to_numpy()) - clean(test.to_numpy())) ** 2)))


def audit(path: Path, memory: str) -> dict[str, float]:
    out = path.with_suffix(".audit")
    command("audit", path, "--target", "y", "--out", out, "--memory", memory, "--force", "--json")
    flagged = pd.read_parquet(out / "labels.parquet", columns=["is_label_issue"])["is_label_issue"].to_numpy()
    n = len(flagged)
    wrong = np.concatenate([piece(k, min(PIECE, n - k * PIECE))[1] for k in range(-(-n // PIECE))])
    size = (out / "report.html").stat().st_size / 1e6
    return {"precision": wrong[flagged].mean(), "recall": flagged[wrong].mean(), "report_mb": size}


def fit(path: Path, memory: str) -> dict[str, float]:
    out = path.with_suffix(".levelhead")
    command("fit", path, "--target", "y", "--out", out, "--memory", memory, "--force", "--json")
    import levelhead

    model = levelhead.load(out)
    test = piece(10**6, TESTED)[0]
    error = rmse(lambda _: model.predict(test[COLUMNS]))
    return {"rmse": error, "file_mb": out.stat().st_size / 1e6}


def dask(path: Path, _: str) -> dict[str, float]:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from levelhead import AutoRegressor
    from levelhead.dask import DaskRegressor

    ddf = dd.read_parquet(path, split_row_groups=True)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="2GB", dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        model = DaskRegressor(AutoRegressor(random_state=0, n_jobs=1))
        frame = model.fit_judge(ddf[COLUMNS], ddf["y"]).audit(ddf[COLUMNS], ddf["y"])
        flagged = frame["is_label_issue"].compute().to_numpy()
    alone = path.with_suffix(".audit") / "labels.parquet"
    if not alone.exists():
        return {}
    same = pd.read_parquet(alone, columns=["is_label_issue"])["is_label_issue"].to_numpy() == flagged
    return {"agreement": same.mean()}


def command(*arguments: object) -> None:
    """Run a command of levelhead; what it prints is not needed."""
    subprocess.run(
        [sys.executable, "-m", "levelhead", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL
    )


def measured(kind: str, path: Path, memory: str) -> dict[str, float]:
    """Run a kind in this process and its children, and measure it."""
    began = time.perf_counter()
    found = {"lightgbm": lightgbm, "audit": audit, "fit": fit, "dask": dask}[kind](path, memory)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(usage.ru_utime + usage.ru_stime for usage in used)
    peak = used[0 if kind == "lightgbm" else 1].ru_maxrss / 1e6
    return {"seconds": time.perf_counter() - began, "cpu": cpu, "peak_gb": peak, **found}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("rows", type=int)
    arguments.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    arguments.add_argument("--memory", default="1GB")
    arguments.add_argument("--cores", type=int, default=os.cpu_count())
    arguments.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "levelhead-scale")
    arguments.add_argument("--run", choices=KINDS, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    given.folder.mkdir(exist_ok=True)
    path = given.folder / f"{given.rows}.parquet"
    if given.run:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: given.cores])
        print(json.dumps(measured(given.run, path, given.memory)))
        return
    if not path.exists():
        write(path, given.rows)
    for kind in given.kinds:
        again = [sys.executable, __file__, str(given.rows), "--run", kind, "--cores", str(given.cores)]
        ran = subprocess.run(
            [*again, "--folder", str(given.folder)], check=True, stdout=subprocess.PIPE, text=True
        )
        found = json.loads(ran.stdout.splitlines()[-1])
        line = pd.DataFrame(
            [{"rows": given.rows, "kind": kind, "cores": given.cores, "memory": given.memory, **found}]
        )
        print(line.to_string(index=False, header=True), flush=True)
        RESULTS.parent.mkdir(exist_ok=True)
        known = pd.read_csv(RESULTS) if RESULTS.exists() else None
        pd.concat([known, line]).to_csv(RESULTS, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
