"""A signal ends a command at any time with one line and its exit code, and leaves no temporary file.

Each process sends the signal to itself at a chosen moment, so that no test depends on how fast the machine is.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.compiled
PROGRAM = """
import os, signal, sys

moment, number = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)  # nohup may ignore it

def ask():
    os.kill(os.getpid(), number)

def after(module, name):
    real = getattr(module, name)
    def asking(*args, **options):
        result = real(*args, **options)
        ask()
        return result
    setattr(module, name, asking)

class Finder:
    def find_spec(self, name, *rest):
        if moment == f"import of {name}":
            ask()

class Dying:
    def __del__(self):
        ask()

sys.meta_path.insert(0, Finder())
from levelhead.cli import main

if moment == "parsing":
    import typer.main
    after(typer.main, "get_command")
elif moment == "writing":
    import pandas
    after(pandas.DataFrame, "to_csv")
elif moment == "fsync":
    after(os, "fsync")
elif moment == "destructor":
    import levelhead
    from levelhead import load
    levelhead.load = lambda path: (Dying(), load(path))[1]
elif moment == "cleaning up":
    import pandas, pathlib
    after(pandas.DataFrame, "to_csv")
    after(pathlib.Path, "unlink")
elif moment == "thread":  # of another library, which fails when it is ended
    import pandas, pathlib, threading
    after(pandas.DataFrame, "to_csv")
    unlink = pathlib.Path.unlink
    def fail_and_unlink(*args, **options):
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
        unlink(*args, **options)
    pathlib.Path.unlink = fail_and_unlink
elif moment == "swallowed":  # by code of another library that catches everything
    import pandas
    to_csv = pandas.DataFrame.to_csv
    def write_and_swallow(*args, **options):
        try:
            ask()
        except BaseException:
            pass
        return to_csv(*args, **options)
    pandas.DataFrame.to_csv = write_and_swallow
elif moment == "ignored":
    import pandas
    signal.signal(number, signal.SIG_IGN)
    after(pandas.DataFrame, "to_csv")
main()
"""
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


def ended(moment: str, number: int, quick: Path, folder: Path) -> tuple[int, str, list[str]]:
    """Exit code, what was said, and the files that are there afterwards."""
    (folder / "table.csv").write_text("x\n1\n2\n")
    call = ["predict", quick, "table.csv", "--out", "deep/er/out.csv"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, moment, str(int(number)), *map(str, call)],
        cwd=folder,
        env=os.environ | {"LEVELHEAD_QUIET": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    return done.returncode, done.stderr, left


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("import of typer", signal.SIGINT),
        ("import of scipy.special", signal.SIGTERM),
        ("import of numpy._core._multiarray_umath", signal.SIGINT),
        ("import of pandas", signal.SIGHUP),
        ("parsing", signal.SIGTERM),
        ("writing", signal.SIGINT),
        ("writing", signal.SIGTERM),
        ("writing", signal.SIGHUP),
        ("destructor", signal.SIGTERM),
        ("cleaning up", signal.SIGINT),
        ("thread", signal.SIGTERM),
    ],
)
def test_a_signal_leaves_one_line_and_no_file(moment: str, number: int, quick: Path, tmp_path: Path) -> None:
    code, said, left = ended(moment, number, quick, tmp_path)
    assert said == f"levelhead: {WORDS[number]}; no unfinished file is left\n"
    assert code == 128 + number
    assert left == ["table.csv"]


def test_files_that_get_their_names_just_then_are_whole(quick: Path, tmp_path: Path) -> None:
    code, said, left = ended("fsync", signal.SIGTERM, quick, tmp_path)
    assert code == 143
    assert said.count("\n") == 1
    assert left == ["deep", "deep/er", "deep/er/out.csv", "table.csv"]
    assert len((tmp_path / "deep/er/out.csv").read_text().splitlines()) == 3


def test_nohup_is_obeyed(quick: Path, tmp_path: Path) -> None:
    code, said, left = ended("ignored", signal.SIGHUP, quick, tmp_path)
    assert (code, said) == (0, "")
    assert "deep/er/out.csv" in left


def test_a_signal_that_other_code_swallows_still_ends_the_command(quick: Path, tmp_path: Path) -> None:
    code, message, _ = ended("swallowed", signal.SIGTERM, quick, tmp_path)
    assert message == "levelhead: terminated; no unfinished file is left\n"
    assert code == 143
