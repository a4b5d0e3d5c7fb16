"""Plants each bug of the lists beside this file in a copy of the project and runs the tests that must fail.

python tests/mutants/run.py                 every mutant
python tests/mutants/run.py tables trees:   those of a list, and those with a word in their name

A mutant is killed if one of its tests fails, or none ends in time; it survives if all pass. Anything else (a pattern
that is not found exactly once, a module that cannot be imported) is an error of the list. The tests must pass on the
copy before anything is planted. Each result is written to a file as soon as it is known; the next call goes on from
there, as long as sources and tests are the same. Mutants of the engine run without the compiler, which would take
longer than their tests.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter

PROJECT = Path(__file__).parents[2]
LISTS = Path(__file__).parent
COPIED = ("src", "tests", "docs", "conftest.py", "pyproject.toml")
LEAST_KILLED = 0.95
_UNCHANGED = "nothing planted"
_PASSED, _FAILED = 0, 1  # exit codes of pytest
_SHOWN = 15  # lines of its output


@dataclass(frozen=True)
class Mutant:
    """A planted bug.

    Attributes
    ----------
    area : name of the list that it is in.
    name : what is wrong, in words.
    file : path below src/levelhead.
    find, replace : text that occurs once in the file, and what stands there instead.
    tests : pytest's names of the tests one of which must fail.
    """

    area: str
    name: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]

    def planted(self, source: str) -> str:
        """The source with the bug in it."""
        if source.count(self.find) != 1:
            raise ValueError(f"{self.file} has {self.find!r} {source.count(self.find)} times; needed: once")
        return source.replace(self.find, self.replace)

    @property
    def compiled(self) -> bool:
        """Whether its tests run with numba's compiler."""
        return not self.file.startswith("engine/")


@dataclass(frozen=True)
class Result:
    """What became of a mutant: "killed", "survived" or "error", and the end of what pytest wrote."""

    name: str
    outcome: str
    seconds: float
    output: str


def load(folder: Path = LISTS) -> list[Mutant]:
    """The mutants of every list in a folder."""
    return [
        Mutant(path.stem, **entry | {"tests": tuple(entry["tests"])})
        for path in sorted(folder.glob("*.toml"))
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    ]


def chosen(mutants: Iterable[Mutant], words: list[str]) -> list[Mutant]:
    """Those that are in a list of one of these names or have one of them in their own; all, if there are none."""
    return [m for m in mutants if not words or any(w == m.area or w in m.name for w in words)]


class Copy:
    """A copy of the project in which tests run."""

    def __init__(self, project: Path, folder: Path, timeout: float) -> None:
        self.folder, self.timeout = folder, timeout
        for name in COPIED:
            source = project / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy2(source, folder / name)

    @contextmanager
    def _planted(self, mutant: Mutant) -> Iterator[None]:
        path = self.folder / "src" / "levelhead" / mutant.file
        source = path.read_text(encoding="utf-8")
        path.write_text(mutant.planted(source), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(source, encoding="utf-8")

    def judge(self, mutant: Mutant) -> Result:
        """Plant a bug, run its tests, take it out again."""
        began = perf_counter()
        try:
            with self._planted(mutant):
                code, output = self.run(mutant.tests, compiled=mutant.compiled)
        except ValueError as error:
            code, output = -1, str(error)
        outcome = {_PASSED: "survived", _FAILED: "killed", None: "killed"}.get(code, "error")
        return Result(mutant.name, outcome, perf_counter() - began, output)

    def run(self, tests: Iterable[str], *, compiled: bool) -> tuple[int | None, str]:
        """Exit code of pytest and the end of what it writes; None if it does not end in time."""
        # Python compares modules with their compiled form by the second, in which several mutants may be planted.
        environment = os.environ | {
            "PYTHONPATH": str(self.folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(self.folder / "numba"),
            "NUMBA_DISABLE_JIT": "0" if compiled else "1",
        }
        # Tests that need the compiler cannot do without it.
        options = [
            "-x",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            *([] if compiled else ["-m", "not compiled"]),
        ]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, f"no end within {self.timeout:.0f} s"
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, "\n".join(output.splitlines()[-_SHOWN:])


class Results:
    """Results on disk, one a line, valid for one state of sources and tests."""

    def __init__(self, path: Path, state: str) -> None:
        self.path, self.state = path, state
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        records = [record for record in map(json.loads, lines) if record.pop("state") == state]
        self.known = {record["name"]: Result(**record) for record in records}
        if not records:
            path.write_text("", encoding="utf-8")

    def add(self, result: Result) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"state": self.state} | vars(result), ensure_ascii=False) + "\n")


def state_of(project: Path) -> str:
    """Digest of every file that is copied."""
    digest = hashlib.sha256()
    for name in COPIED:
        found = project / name
        for path in sorted(found.rglob("*")) if found.is_dir() else [found]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(project)).encode() + path.read_bytes())
    return digest.hexdigest()


def check_unchanged(copy: Copy, mutants: list[Mutant], results: Results) -> None:
    """End with a message if tests fail where nothing is planted."""
    for compiled in (True, False):
        tests = dict.fromkeys(test for m in mutants if m.compiled is compiled for test in m.tests)
        name = f"{_UNCHANGED}, {'with' if compiled else 'without'} compiler, {len(tests)} tests"
        if not tests or name in results.known:
            continue
        began = perf_counter()
        code, output = copy.run(tests, compiled=compiled)
        if code != _PASSED:
            sys.exit(f"{output}\n{_UNCHANGED}, and tests do not pass: fix that first")
        results.add(Result(name, "survived", perf_counter() - began, ""))
        print(f"{name}: all pass, {perf_counter() - began:.0f} s", flush=True)


def run_all(mutants: list[Mutant], copies: list[Copy], results: Results) -> list[Result]:
    """Judge every mutant that has no result yet, as many at a time as there are copies."""
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def judge(mutant: Mutant) -> Result:
        copy = free.get()
        try:
            return copy.judge(mutant)
        finally:
            free.put(copy)

    done = [results.known[m.name] for m in mutants if m.name in results.known]
    with ThreadPoolExecutor(len(copies)) as pool:
        futures = [pool.submit(judge, m) for m in mutants if m.name not in results.known]
        try:
            for future in as_completed(futures):
                result = future.result()
                results.add(result)
                done.append(result)
                progress = f"{len(done):3d}/{len(mutants)}  {result.outcome:8s} {result.seconds:5.0f} s"
                print(f"{progress}  {result.name}", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return done


def main(arguments: list[str] | None = None) -> int:
    """0 if enough mutants are killed and the list has no error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("words", nargs="*", help="a list, or part of a name")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for the tests of one mutant")
    parser.add_argument("--results", type=Path, default=PROJECT / ".mutants.jsonl")
    parser.add_argument("--project", type=Path, default=PROJECT)
    parser.add_argument("--lists", type=Path, default=LISTS)
    options = parser.parse_args(arguments)
    mutants = chosen(load(options.lists), options.words)
    if not mutants:
        parser.error(f"no list is called, and no mutant has in its name, {' or '.join(options.words)}")
    results = Results(options.results, state_of(options.project))
    with tempfile.TemporaryDirectory(prefix="levelhead-mutants-") as folder:
        copies = [Copy(options.project, Path(folder) / str(k), options.timeout) for k in range(options.jobs)]
        check_unchanged(copies[0], mutants, results)
        done = run_all(mutants, copies, results)
    return _summary(done)


def _summary(done: list[Result]) -> int:
    count = Counter(result.outcome for result in done)
    for result in done:
        if result.outcome == "error":
            print(f"\nerror: {result.name}\n{result.output}")
    for result in done:
        if result.outcome == "survived":
            print(f"survived: {result.name}")
    share = count["killed"] / len(done)
    print(f"{count['killed']} of {len(done)} mutants killed ({share:.0%}; needed: {LEAST_KILLED:.0%})")
    return int(count["error"] > 0 or share < LEAST_KILLED)


if __name__ == "__main__":
    sys.exit(main())
