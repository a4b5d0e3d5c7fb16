"""What the manual promises of every command: help, JSON, exit codes, quiet pipes, completion, bounded memory."""

import json
import os
import pty
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from levelhead.cli.app import app

pytestmark = pytest.mark.compiled
COMMANDS = get_command(app).commands
LONGEST = 600  # seconds; only a process that hangs takes as long
LEVELHEAD = [sys.executable, "-m", "levelhead"]


def commands(group=COMMANDS, before=()):
    """Every command by its full name, subcommands included."""
    for name, command in group.items():
        if hasattr(command, "commands"):
            yield from commands(command.commands, (*before, name))
        else:
            yield (*before, name), command


@pytest.mark.parametrize(
    ("name", "command"), [pytest.param(*pair, id=" ".join(pair[0])) for pair in commands()]
)
def test_every_command_has_examples_json_and_debug(name, command) -> None:
    assert f"levelhead {' '.join(name)}" in (command.epilog or "")
    options = {option for parameter in command.params for option in parameter.opts}
    assert "--debug" in options
    assert "--json" in options
    assert all(parameter.help for parameter in command.params if hasattr(parameter, "help"))
    if "--out" in options:
        assert "--force" in options


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_shown(shell: str, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_LEVELHEAD_COMPLETE", f"source_{shell}")
    script = run(cwd=tmp_path)
    assert script.code == 0, script.err
    assert "_LEVELHEAD_COMPLETE" in script.out


@pytest.mark.parametrize(
    ("words", "place", "expected"),
    [
        ("levelhead au", 1, {"audit"}),
        ("levelhead audit t.csv --tar", 3, {"--target"}),
        ("levelhead audit --fa", 2, {"--false-alarm-rate"}),
    ],
)
def test_completion_completes(words: str, place: int, expected: set[str], tmp_path: Path) -> None:
    """As bash asks the program: with the line so far and the place of the word."""
    asked = {"_LEVELHEAD_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    program = "import sys; sys.argv[0] = 'levelhead'; from levelhead.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | asked,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    assert set(done.stdout.split()) == expected, done.stderr


def on_a_terminal(*arguments: str, cwd: Path, **environment: str) -> str:
    """What a command prints when its output is a terminal."""
    master, slave = pty.openpty()
    settings = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CI")}
    settings |= {"TERM": "xterm-256color", "LEVELHEAD_QUIET": "1", **environment}
    process = subprocess.Popen([*LEVELHEAD, *arguments], cwd=cwd, env=settings, stdout=slave, stderr=slave)
    os.close(slave)
    printed = b""
    while True:
        try:
            printed += os.read(master, 65536) or b""
        except OSError:  # the other end is closed
            break
    os.close(master)
    assert process.wait(timeout=LONGEST) == 1
    return printed.decode()


def test_colours_are_for_terminals_only(run, tmp_path: Path) -> None:
    call = ("audit", "nothing.csv", "-t", "y")
    assert "\x1b[31m" in on_a_terminal(*call, cwd=tmp_path)
    assert "\x1b" not in on_a_terminal(*call, cwd=tmp_path, NO_COLOR="1")
    piped = run(*call, cwd=tmp_path)
    assert piped.code == 1
    assert piped.err == "levelhead: nothing.csv does not exist\n"
    assert piped.out == ""


def test_debug_shows_the_traceback_and_nothing_else_does(run, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("x,y\n1,a\n")
    call = ("audit", "table.csv", "-t", "y")
    plain, debug = run(*call, cwd=tmp_path), run(*call, "--debug", cwd=tmp_path)
    assert plain.code == 1
    assert len(plain.err.splitlines()) == 1
    assert "column 'y' contains no numbers" in plain.err
    assert debug.code != 0
    assert "Traceback (most recent call last)" in debug.err


def peak_of_predicting(model: Path, data: Path, folder: Path) -> float:
    """The largest memory of the process, in megabytes."""
    program = (
        "import resource, sys; from levelhead.cli.app import app\n"
        "try: app(sys.argv[1:], prog_name='levelhead')\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    call = ["predict", model, data, "--out", data.with_suffix(".parquet"), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, call)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    assert done.returncode == 0, done.stderr
    result, peak = done.stdout.splitlines()
    assert json.loads(result)["rows"] == data.read_bytes().count(b"\n") - 1
    return float(peak)


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_SELF"), reason="no resource usage on this system")
def test_predict_streams_in_bounded_memory(quick: Path, tmp_path: Path) -> None:
    """A table of 110 MB takes little more memory than its first third, in which every buffer has been used."""
    few, many = 180_000, 540_000
    for name, rows in (("few", few), ("many", many)):
        (tmp_path / f"{name}.csv").write_text("x,note\n" + ("1.5," + "x" * 200 + "\n") * rows)
    assert (tmp_path / "many.csv").stat().st_size > 110e6
    small, large = (peak_of_predicting(quick, tmp_path / f"{name}.csv", tmp_path) for name in ("few", "many"))
    assert (
        large < small + 50
    )  # the rest of the larger one alone has 74 MB; memory is returned late on a busy machine
