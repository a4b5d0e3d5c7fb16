"""Time and memory from 10⁵ to 10⁷ rows: fits, predictions and audits, in memory, from files and on Dask.

    python bench/scale.py --rows 100000 1000000           # what is missing in bench/results/scale.csv
    python bench/scale.py --rows 10000000 --kinds lightgbm command-audit
    python bench/scale.py --rows 10 --kinds command-predict command-help
    python bench/scale.py --pages                         # docs/tables/scale.md and scale_marks.md

Every kind runs in a process of its own on one core, because the CPU seconds of threads that wait for each other depend
on what else runs on the computer; the two workers of Dask share that core. Stored are seconds, CPU seconds and the peak
of the memory: for kinds in memory the bytes above those of the data, for the command line the largest resident size of
a process. The peer is LightGBM with the L1 loss and 1,000 trees; `lightgbm-100` has 100 trees, for sizes at which 1,000
take too long. The table has 20 columns, of which 8 matter, and 5 % wrong labels; no setting was chosen by errors on it.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import resuming

RESULTS = Path(__file__).parent / "results" / "scale.csv"
TABLES = Path(__file__).parents[1] / "docs" / "tables"
FEATURES = [f"x{k}" for k in range(20)]
PIECE = 100_000
PREDICTED = 100_000
TEST_SEED = 10**6
SHORT_CALLS = 5
MODEL_ROWS = 10**5  # of the model that predicts and audits tables of all sizes
MEMORY = {
    3 * 10**6: "3GB",
    10**7: "3GB",
}  # of commands; smaller tables get 1GB, so that they too are read in pieces
FIELDS = (
    *("rows", "kind", "seconds", "cpu", "bytes_per_row", "peak_gb", "rmse", "precision", "recall"),
    *("file_mb", "report_mb", "report_seconds", "agreement"),
)
Found = dict[str, float]


# ---------------------------------------------------------------------- the table


def clean(X: np.ndarray) -> np.ndarray:
    """The mean of the labels."""
    return np.sin(2 * X[:, 0]) * X[:, 1] + np.abs(X[:, 2]) + 0.5 * X[:, 3] * X[:, 4] + (X[:, 5] > 0) * X[:, 6]


def piece(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs and labels of some rows, and which labels are wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(FEATURES))).astype(np.float32)
    y = clean(X) + 0.3 * np.exp(0.3 * X[:, 7]) * rng.normal(size=n)
    wrong = rng.random(n) < 0.05
    y[wrong] += 6 * rng.normal(size=int(wrong.sum()))
    return X, y, wrong


def pieces(n: int):
    """The table, piece by piece."""
    return (piece(seed, min(PIECE, n - start)) for seed, start in enumerate(range(0, n, PIECE)))


def in_memory(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The table, without a second copy of it."""
    X, y, wrong = np.empty((n, len(FEATURES)), np.float32), np.empty(n), np.empty(n, bool)
    for k, part in enumerate(pieces(n)):
        for whole, some in zip((X, y, wrong), part, strict=True):
            whole[k * PIECE : k * PIECE + len(some)] = some
    return X, y, wrong


def written(folder: Path, n: int) -> Path:
    """The table as a Parquet file."""
    path = folder / f"{n}.parquet"
    if path.exists():
        return path
    schema = pa.schema([*((name, pa.float32()) for name in FEATURES), ("y", pa.float64())])
    with pq.ParquetWriter(path.with_suffix(".part"), schema) as file:
        for X, y, _ in pieces(n):
            file.write_table(pa.table([*X.T.copy(), y], schema=schema))
    return path.with_suffix(".part").rename(path)


def rmse(predict: Callable) -> float:
    """Error of the means on rows of another seed."""
    X = piece(TEST_SEED, 20_000)[0]
    return float(np.sqrt(np.mean((predict(X) - clean(X)) ** 2)))


def verdicts(flagged: np.ndarray) -> Found:
    """Precision and recall of flags, in the order of the table."""
    wrong = np.concatenate([part[2] for part in pieces(len(flagged))])
    return {"precision": float(wrong[flagged].mean()), "recall": float(flagged[wrong].mean())}


# ---------------------------------------------------------------------- measuring


class Meter:
    """CPU seconds and seconds of a block, children included, and the memory that it takes above what is held before."""

    def __enter__(self) -> "Meter":
        with suppress(OSError):  # without it, the peak before the block counts too
            Path("/proc/self/clear_refs").write_text("5")
        self._held, self._began, self._cpu = _memory("VmRSS"), time.perf_counter(), _cpu()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds, self.cpu = time.perf_counter() - self._began, _cpu() - self._cpu
        self.bytes = _memory("VmHWM") - self._held

    def found(self, n_rows: int) -> Found:
        """What is stored of a block that worked on so many rows."""
        return {"seconds": self.seconds, "cpu": self.cpu, "bytes_per_row": self.bytes / n_rows}


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _memory(name: str) -> float:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1024 * float(lines[name].split()[0])


def _peak_of_children() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9


# ---------------------------------------------------------------------- kinds


def lightgbm(folder: Path, n: int, n_trees: int = 1000) -> Found:
    import lightgbm as lgb

    X, y, _ = in_memory(n)
    with Meter() as meter:
        model = lgb.LGBMRegressor(objective="l1", n_estimators=n_trees, learning_rate=0.05, verbosity=-1).fit(
            X, y
        )
    model.booster_.save_model(folder / f"{n}.lightgbm")
    return meter.found(n) | {"rmse": rmse(model.predict)}


def lightgbm_predict(folder: Path, n: int) -> Found:
    import lightgbm as lgb

    model, X = lgb.Booster(model_file=folder / f"{n}.lightgbm"), piece(TEST_SEED, PREDICTED)[0]
    model.predict(X[:1000])
    with Meter() as meter:
        model.predict(X)
    return meter.found(PREDICTED)


def auto(folder: Path, n: int) -> Found:
    import levelhead

    X, y, _ = in_memory(n)
    levelhead.AutoRegressor(n_members=1, random_state=0).fit(X[:500], y[:500])  # loads libraries and kernels
    with Meter() as meter:
        model = levelhead.AutoRegressor(random_state=0).fit(X, y)
    levelhead.save(model, folder / f"{n}.auto", out_of_fold=True, overwrite=True)
    small = levelhead.save(model, folder / f"{n}.small", overwrite=True)
    return meter.found(n) | {"rmse": rmse(model.predict), "file_mb": small.stat().st_size / 1e6}


def auto_predict_dist(folder: Path, n: int) -> Found:
    import levelhead

    model, X = levelhead.load(folder / f"{MODEL_ROWS}.auto"), piece(TEST_SEED, PREDICTED)[0]
    model.predict_dist(X[:1000])
    with Meter() as meter:
        model.predict_dist(X)
    return meter.found(PREDICTED)


def auto_predict(folder: Path, n: int) -> Found:
    import levelhead

    model, (X, _, _) = levelhead.load(folder / f"{MODEL_ROWS}.auto"), in_memory(n)
    model.predict(X[:1000])
    with Meter() as meter:
        model.predict(X)
    return meter.found(n)


def auto_audit(folder: Path, n: int) -> Found:
    import levelhead

    model, (X, y, _) = levelhead.load(folder / f"{MODEL_ROWS}.auto"), in_memory(n)
    model.predict(X[:1000])
    with Meter() as meter:
        audit = model.audit(X, y)
    return meter.found(n) | verdicts(audit.is_label_issue)


def command_audit(folder: Path, n: int) -> Found:
    out = folder / f"{n}.audit"
    with Meter() as meter:
        result = command(n, "audit", written(folder, n), "--target", "y", "--out", out)
    labels = pd.read_parquet(out / "labels.parquet", columns=["is_label_issue"])
    return {
        "seconds": meter.seconds,
        "cpu": meter.cpu,
        "peak_gb": _peak_of_children(),
        **verdicts(labels["is_label_issue"].to_numpy()),
        "report_mb": (out / "report.html").stat().st_size / 1e6,
        "report_seconds": result["stage_seconds"]["writing the report"],
    }


def table_audit(folder: Path, n: int) -> Found:
    """Frames of verdicts without files and report: what `dask-audit` computes, in one process."""
    from levelhead import AutoRegressor
    from levelhead.large import LargeTable, audit_table

    table = LargeTable(written(folder, n), "y")
    with Meter() as meter:
        result = audit_table(table, AutoRegressor(random_state=0, n_jobs=1))
        frames = (part.audit.to_frame() for part in result.pieces())
        flagged = np.concatenate([frame["is_label_issue"].to_numpy() for frame in frames])
    np.save(folder / f"{n}.flagged.npy", flagged)
    return meter.found(n) | verdicts(flagged)


def command_fit(folder: Path, n: int) -> Found:
    import levelhead

    out = folder / f"{n}.levelhead"
    with Meter() as meter:
        command(n, "fit", written(folder, n), "--target", "y", "--out", out)
    model = levelhead.load(out)
    return {
        "seconds": meter.seconds,
        "cpu": meter.cpu,
        "peak_gb": _peak_of_children(),
        "rmse": rmse(lambda X: model.predict(pd.DataFrame(X, columns=FEATURES))),
        "file_mb": out.stat().st_size / 1e6,
    }


def command_predict(folder: Path, n: int) -> Found:
    """A model of 300 rows with a category and a date predicts n rows of a CSV file: nearly all of it is the start."""
    model, table = folder / "small.levelhead", _small_table(300)
    if not model.exists():
        table.to_csv(folder / "small.csv", index=False)
        command(300, "fit", folder / "small.csv", "--target", "y", "--out", model)
    table.head(n).drop(columns="y").to_csv(folder / "few.csv", index=False)
    return _of_short("predict", model, folder / "few.csv", "--out", folder / "predicted.csv", "--force")


def command_help(folder: Path, n: int) -> Found:
    return _of_short("--help")


def _small_table(n: int) -> pd.DataFrame:
    X, y, _ = piece(0, n)
    colour = np.array(["red", "green", "blue"])[np.digitize(X[:, 1], [-0.5, 0.5])]
    day = pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d")
    return pd.DataFrame({"size": X[:, 0], "colour": colour, "day": day, "y": y})


def _of_short(*arguments: object) -> Found:
    """Mean of five calls of a short command, after one that fills the caches of files and kernels."""
    called = [sys.executable, "-m", "levelhead", *map(str, arguments)]
    subprocess.run(called, check=True, stdout=subprocess.DEVNULL)
    with Meter() as meter:
        for _ in range(SHORT_CALLS):
            subprocess.run(called, check=True, stdout=subprocess.DEVNULL)
    return {"seconds": meter.seconds / SHORT_CALLS, "cpu": meter.cpu / SHORT_CALLS}


def command(n: int, *arguments: object) -> dict:
    """Run a command of levelhead on n rows, and read what it prints."""
    memory = MEMORY.get(n, "1GB")
    called = [
        sys.executable,
        "-m",
        "levelhead",
        *map(str, arguments),
        "--memory",
        memory,
        "--force",
        "--json",
    ]
    return json.loads(subprocess.run(called, check=True, stdout=subprocess.PIPE, text=True).stdout)


def dask_audit(folder: Path, n: int) -> Found:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from levelhead import AutoRegressor
    from levelhead.dask import DaskRegressor

    ddf = dd.read_parquet(written(folder, n), split_row_groups=True)
    limits = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "2GB", "dashboard_address": ":0"}
    with Meter() as meter, LocalCluster(**limits) as cluster, Client(cluster):
        model = DaskRegressor(AutoRegressor(random_state=0, n_jobs=1))
        frame = model.fit_judge(ddf[FEATURES], ddf["y"]).audit(ddf[FEATURES], ddf["y"])
        flagged = frame["is_label_issue"].compute().to_numpy()
    found = {"seconds": meter.seconds, "cpu": meter.cpu, "peak_gb": _peak_of_children()} | verdicts(flagged)
    alone = folder / f"{n}.flagged.npy"
    if alone.exists():
        found["agreement"] = float((np.load(alone) == flagged).mean())
    return found


KINDS: dict[str, Callable[[Path, int], Found]] = {
    "lightgbm": lightgbm,
    "lightgbm-100": partial(lightgbm, n_trees=100),
    "lightgbm-predict": lightgbm_predict,
    "auto": auto,
    "auto-predict-dist": auto_predict_dist,
    "auto-predict": auto_predict,
    "auto-audit": auto_audit,
    "command-audit": command_audit,
    "table-audit": table_audit,
    "command-fit": command_fit,
    "command-predict": command_predict,
    "command-help": command_help,
    "dask-audit": dask_audit,
}
ON_REQUEST = ("lightgbm-100", "command-predict", "command-help")  # kinds that run only if they are named


def apart(folder: Path) -> Callable[[int, str], Found]:
    """A function that runs a kind in a process of its own."""

    def run(rows: int, kind: str) -> Found:
        again = [sys.executable, __file__, "--rows", str(rows), "--folder", str(folder), "--run", kind]
        ran = subprocess.run(again, check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(ran.stdout.splitlines()[-1])

    return run


# ---------------------------------------------------------------------- pages


def pages() -> None:
    """Write the tables of the manual from the stored results."""
    stored = pd.read_csv(RESULTS).set_index(["rows", "kind"])
    (TABLES / "scale.md").write_text(_measured(stored), encoding="utf-8")
    (TABLES / "scale_marks.md").write_text(_marks(stored), encoding="utf-8")


def _measured(stored: pd.DataFrame) -> str:
    shown = {
        "cpu": ("CPU s", "{:.1f}"),
        "bytes_per_row": ("bytes a row above the data", "{:.0f}"),
        "peak_gb": ("peak, GB", "{:.2f}"),
        "rmse": ("RMSE", "{:.4f}"),
        "precision": ("precision", "{:.3f}"),
        "recall": ("recall", "{:.3f}"),
        "file_mb": ("model file, MB", "{:.2f}"),
        "report_mb": ("report, MB", "{:.1f}"),
        "agreement": ("same verdict as one process", "{:.3%}"),
    }
    lines = ["| rows | what | " + " | ".join(name for name, _ in shown.values()) + " |"]
    lines.append("|--:|---|" + "--:|" * len(shown))
    for (rows, kind), row in stored.sort_index().iterrows():
        cells = ["" if np.isnan(row[c]) else form.format(row[c]) for c, (_, form) in shown.items()]
        lines.append(f"| {rows:,} | {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _marks(stored: pd.DataFrame) -> str:
    def value(rows: int, kind: str, what: str) -> float:
        return float(stored[what].get((rows, kind), np.nan))

    def ratio(rows: int, kind: str, peer: str = "lightgbm") -> float:
        return value(rows, kind, "cpu") / value(rows, peer, "cpu")

    small, million, ten = 10**5, 10**6, 10**7
    largest = max((rows for rows, kind in stored.index if kind == "command-audit"), default=ten)
    growth = [
        np.log(value(high, kind, "cpu") / value(low, kind, "cpu")) / np.log(high / low)
        for kind, low, high in (("auto", small, million), ("command-audit", million, largest))
    ]
    better = 1 - value(million, "auto", "rmse") / value(million, "lightgbm", "rmse")
    files = stored["file_mb"].dropna()
    marks = [
        ("`AutoRegressor.fit`, 10⁵ rows: CPU over LightGBM's", ratio(small, "auto"), 4.0, "{:.2f} ×"),
        ("the same, 10⁶ rows", ratio(million, "auto"), 2.5, "{:.2f} ×"),
        ("RMSE above LightGBM's, 10⁶ rows", -better, -0.1, "{:+.1%}"),
        (
            "`predict_dist` of 10⁵ rows: CPU over one LightGBM model's",
            ratio(small, "auto-predict-dist", "lightgbm-predict"),
            1.5,
            "{:.2f} ×",
        ),
        (
            "bytes a row above the data, 10⁶ rows: `fit`",
            value(million, "auto", "bytes_per_row"),
            300,
            "{:.0f}",
        ),
        ("`predict`", value(million, "auto-predict", "bytes_per_row"), 100, "{:.0f}"),
        ("`audit`", value(million, "auto-audit", "bytes_per_row"), 200, "{:.0f}"),
        ("largest model file, MB", float(files.max()) if len(files) else np.nan, 5, "{:.2f}"),
        (
            "`levelhead audit` of 10⁷ rows in Parquet: CPU over LightGBM's",
            ratio(ten, "command-audit"),
            3,
            "{:.2f} ×",
        ),
        ("its peak, GB", value(ten, "command-audit", "peak_gb"), 3, "{:.2f}"),
        ("its report, MB", value(ten, "command-audit", "report_mb"), 15, "{:.1f}"),
        ("seconds for its report", value(ten, "command-audit", "report_seconds"), 60, "{:.0f}"),
        (
            "`levelhead.dask`, 2 workers, 10⁷ rows: CPU over that of `levelhead audit`",
            ratio(ten, "dask-audit", "command-audit"),
            1.3,
            "{:.2f} ×",
        ),
        (
            "the same, over one process without files and report",
            ratio(ten, "dask-audit", "table-audit"),
            1.3,
            "{:.2f} ×",
        ),
        ("the same with 10⁶ rows", ratio(million, "dask-audit", "table-audit"), 1.3, "{:.2f} ×"),
        ("rows with another verdict, 10⁷ rows", 1 - value(ten, "dask-audit", "agreement"), 0.001, "{:.4%}"),
        ("exponent of growth, fit, 10⁵ to 10⁶ rows", growth[0], 1.05, "{:.2f}"),
        (f"exponent of growth, audit, 10⁶ to {largest:,} rows", growth[1], 1.05, "{:.2f}"),
        ("`levelhead predict` of ten rows: CPU s", value(10, "command-predict", "cpu"), 2.5, "{:.2f}"),
        ("`levelhead --help`: CPU s", value(10, "command-help", "cpu"), 0.5, "{:.2f}"),
    ]
    lines = ["| | measured | at most | |", "|---|--:|--:|---|"]
    for name, found, limit, form in marks:
        outcome = "not measured" if np.isnan(found) else "reached" if found <= limit else "**missed**"
        shown = "" if np.isnan(found) else form.format(found)
        lines.append(f"| {name} | {shown} | {form.format(limit)} | {outcome} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6])
    usual = [kind for kind in KINDS if kind not in ON_REQUEST]
    arguments.add_argument("--kinds", nargs="+", choices=KINDS, default=usual)
    arguments.add_argument("--minutes", type=float, default=float("inf"), help="no kind begins after them")
    arguments.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "levelhead-scale")
    arguments.add_argument("--pages", action="store_true", help="write the tables of the manual alone")
    arguments.add_argument("--run", choices=KINDS, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    given.folder.mkdir(exist_ok=True)
    if given.run:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
        print(json.dumps(KINDS[given.run](given.folder, given.rows[0])))
        return
    if not given.pages:
        specs = [(rows, kind) for rows in given.rows for kind in given.kinds]
        resuming.run_missing(RESULTS, FIELDS, specs, apart(given.folder), given.minutes)
    pages()


if __name__ == "__main__":
    main()
