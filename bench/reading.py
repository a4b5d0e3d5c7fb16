"""Reading a large table of plain numbers, beside polars: seconds, and memory beyond that of the numbers.

    python bench/reading.py --rows 1000000 --columns 20

Each reader runs in a process of its own. Memory is the peak of what the process itself holds (`RssAnon`), without the
pages of the file, which the system can drop at any time, and without what the libraries need before they read.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

_READERS = ("polars", "levelhead", "training_table")
_REPEATS = 3


def held() -> int:
    """Bytes of memory that belong to this process alone."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def measure(reader: str, path: str) -> dict[str, float]:
    import polars

    from levelhead import tables

    readers = {
        "polars": polars.read_csv,
        "levelhead": tables.read,
        "training_table": lambda file: tables.training_table(file, "c0"),
    }
    start, most, running = held(), [0], [True]

    def watch() -> None:
        while running[0]:
            most[0] = max(most[0], held())
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    table = readers[reader](path)
    seconds = time.perf_counter() - began
    running[0] = False
    watcher.join()
    del table
    return {"seconds": seconds, "bytes": most[0] - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--reader", choices=_READERS, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.reader:
        print(json.dumps(measure(given.reader, given.path)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "table.csv", given.rows, given.columns)
        compare(path, 8 * given.rows * given.columns)


def write(path: Path, rows: int, columns: int) -> Path:
    import numpy as np
    import polars

    rng = np.random.default_rng(0)
    polars.DataFrame({f"c{k}": rng.normal(100, 30, rows).round(4) for k in range(columns)}).write_csv(path)
    return path


def compare(path: Path, numbers: int) -> None:
    best: dict[str, float] = {}
    print(
        f"{path.stat().st_size / 1e6:.0f} MB of text, {numbers / 1e6:.0f} MB of numbers, best of {_REPEATS} runs"
    )
    print("reader            seconds   × polars   MB     × numbers")
    for reader in _READERS:
        runs = []
        for _ in range(_REPEATS):
            command = [sys.executable, __file__, "--reader", reader, "--path", str(path)]
            runs.append(
                json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            )
        seconds, size = (min(run[key] for run in runs) for key in ("seconds", "bytes"))
        best[reader] = seconds
        ratio = seconds / best["polars"]
        print(f"{reader:16} {seconds:8.2f} {ratio:10.2f} {size / 1e6:6.0f} {size / numbers:10.2f}")


if __name__ == "__main__":
    main()
