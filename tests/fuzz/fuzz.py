"""Mutates model files at random and reports every one that neither is refused nor works.

Run it long with `make fuzz` (`COUNT=20000` mutations, `SEED=0` the first of their seeds). A finding is repeated by
`python tests/fuzz/fuzz.py --only network:123`.
"""

import argparse
import collections
import json
import os
import pickle
import select
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = 60  # that a file may take, generous for a busy machine
SLOW_START = 600  # seconds in which kernels may have to be compiled


class Worker:
    """The process that opens the files; started again when it has died."""

    def __init__(self, command, seconds=SECONDS):
        self.command, self.seconds = command, seconds
        self.process = None

    def ask(self, name, seed):
        """What a mutation does: a kind of outcome, and the details."""
        if self.process is None:
            self._start()
        try:
            self.process.stdin.write(f"{name} {seed}\n".encode())
            self.process.stdin.flush()
            line = self._line(self.seconds)
        except TimeoutError:
            self.stop()
            return "hang", f"no answer within {self.seconds} s"
        if not line:
            code = self.process.wait()
            self.stop()
            return "crash", f"the process ended with code {code}"
        answer = json.loads(line)
        return answer["what"], answer["why"]

    def _start(self):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        if self._line(SLOW_START) != b"ready\n":
            raise RuntimeError("the worker does not start")

    def _line(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise TimeoutError
        return self.process.stdout.readline()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def run(seeds, only=None, report=None):
    """Outcomes of the mutations with these seeds, in turn of every model: counts, and what went wrong."""
    import subjects

    from levelhead import save

    counts, findings = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        models = {name: it for name, it in subjects.fitted().items() if only in (None, name)}
        for name, (model, *_) in models.items():
            save(model, Path(folder) / name)
        rows = {name: (X, y) for name, (_, X, y) in models.items()}
        (Path(folder) / "subjects.pickle").write_bytes(pickle.dumps(rows))
        worker, names = Worker([sys.executable, str(HERE / "worker.py"), folder]), sorted(models)
        try:
            for k, seed in enumerate(seeds):
                name = names[k % len(names)]
                what, why = worker.ask(name, seed)
                counts[what] += 1
                if what not in ("refused", "works", "error in use"):
                    findings.append((name, seed, what, why))
                if report:
                    report(name, seed, what, why, counts)
        finally:
            worker.stop()
    return counts, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one finding, as in network:123")
    parser.add_argument("--subject", help="mutate the file of one model only")
    parser.add_argument("--errors", action="store_true", help="show what ends in a ValueError too")
    given = parser.parse_args()

    def report(name, seed, what, why, counts):
        if what in ("refused", "works") or (what == "error in use" and not given.errors):
            if counts.total() % 1000 == 0:
                print(f"{counts.total():,} mutations: {dict(counts)}", flush=True)
        else:
            print(f"--only {name}:{seed}  {what}\n{why}", flush=True)

    if given.only:
        name, seed = given.only.split(":")
        counts, findings = run([int(seed)], name, report)
    else:
        counts, findings = run(range(given.seed, given.seed + given.count), given.subject, report)
    print(f"{counts.total():,} mutations: {dict(counts)}; {len(findings)} findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
