"""A command that fails says so in a line, with an exit code that scripts can trust, and leaves no file behind."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from typer.testing import CliRunner

import levelhead
from levelhead import GCPRegressor
from levelhead._extras import install
from levelhead.cli.app import app
from levelhead.files import fitting

RUNNER = CliRunner()


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i},{i % 7},{i * 2 + i % 3}\n" for i in range(40))
    (tmp_path / "table.csv").write_text("id,x,y\n" + rows)
    return tmp_path


@pytest.fixture
def fitted(small: Path) -> Path:
    import pandas as pd

    X = pd.DataFrame({"x": np.arange(40) % 7})
    return levelhead.save(GCPRegressor(max_iter=1, random_state=0).fit(X, np.arange(40.0)), small / "model")


def failure(*arguments: str) -> tuple[int, str]:
    result = RUNNER.invoke(app, list(arguments))
    assert result.exit_code != 0
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.exit_code, result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("audit nothing.csv -t y", "nothing.csv does not exist"),
        ("audit table.csv -t Y", "table.csv has no column 'Y'; did you mean 'y'?"),
        ("audit table.csv -t y --drop idd", "no column 'idd'; did you mean 'id'?"),
        (
            "audit table.csv -t y --false-alarm-rate 1.5",
            "--false-alarm-rate is 1.5; it must lie strictly between 0 and 1",
        ),
        ("fit table.csv -t y -o model --id-column name", "no column 'name'"),
        ("fit table.csv -t y -o model --time-budget 0", "time budget is 0.0 seconds; give more than 0"),
        ("fit table.csv -t y -o .", ". is a folder; give the name of a file"),
        ("fit table.csv -t y -o table.csv/model", "table.csv is not a folder"),
        ("predict table.csv table.csv -o out.csv", "table.csv"),
        ("predict nothing table.csv -o out.csv", "nothing: No such file or directory"),
    ],
)
def test_one_line_says_what_is_wrong(arguments: str, words: str, small: Path) -> None:
    before = sorted(small.rglob("*"))
    code, message = failure(*arguments.split())
    assert code == 1
    assert message.startswith("levelhead: ")
    assert words in message
    assert message.count("\n") == 1
    assert sorted(small.rglob("*")) == before


@pytest.mark.parametrize(
    "arguments", ["audit table.csv", "fit table.csv -t y", "nonsense", "audit table.csv -t y --members 0"]
)
def test_a_wrong_call_is_code_two(arguments: str, small: Path) -> None:
    assert failure(*arguments.split())[0] == 2


def test_a_missing_input_column_suggests_the_nearest(fitted: Path, small: Path) -> None:
    (small / "new.csv").write_text("X,id\n1,2\n")
    code, message = failure("predict", str(fitted), "new.csv", "-o", "out.csv")
    assert code == 1
    assert "new.csv has no column 'x'; did you mean 'X'?" in message


def test_a_model_without_distributions_has_an_error_that_says_so(small: Path) -> None:
    levelhead.save(LinearRegression().fit(np.arange(40.0)[:, None], np.arange(40.0)), small / "line")
    (small / "new.csv").write_text("x\n1\n")
    code, message = failure("predict", "line", "new.csv", "-o", "out.csv")
    assert code == 1
    assert "LinearRegression does not predict a distribution" in message


def test_a_row_that_breaks_half_way_leaves_no_file(
    fitted: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (small / "long.csv").write_text("x,y\n" + "1,2\n" * 60_000 + "1,2,3\n")
    before = sorted(small.rglob("*"))
    code, message = failure("predict", str(fitted), "long.csv", "-o", "out.csv")
    assert code == 1
    assert "line 60002 has 3 cells where 2 are expected" in message
    assert sorted(small.rglob("*")) == before


def test_nothing_is_overwritten_unless_forced(fitted: Path, small: Path) -> None:
    out = small / "out.csv"
    out.write_text("precious")
    code, message = failure("predict", str(fitted), "table.csv", "-o", "out.csv")
    assert code == 1
    assert "out.csv exists; give another path, or --force to replace it" in message
    assert out.read_text() == "precious"
    done = RUNNER.invoke(app, ["predict", str(fitted), "table.csv", "-o", "out.csv", "--force"])
    assert done.exit_code == 0, done.stderr
    assert out.read_text().startswith("row,mean,std,lower,upper,alpha\n1,")
    assert len(out.read_text().splitlines()) == 41


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("/dev/full", "/dev/full is a device, pipe or socket, which is never replaced; give another path"),
        ("fifo", "fifo is a device, pipe or socket"),
        ("link", "link is a link, which is neither followed nor replaced"),
        ("dangling", "dangling is a link"),
        ("device", "device is a link"),
        ("folder", "folder is a folder; give the name of a file"),
    ],
)
def test_force_replaces_regular_files_only(out: str, words: str, fitted: Path, small: Path) -> None:
    (small / "link").symlink_to("table.csv")
    (small / "dangling").symlink_to("nowhere")
    (small / "device").symlink_to("/dev/null")
    (small / "folder").mkdir()
    os.mkfifo(small / "fifo")
    listing = lambda: [
        (path.name, path.lstat().st_mode, path.lstat().st_ino) for path in sorted(small.iterdir())
    ]
    before, table = listing(), (small / "table.csv").read_text()
    for command in (f"predict {fitted} table.csv", "fit table.csv -t y"):
        code, message = failure(*command.split(), "-o", out, "--force")
        assert code == 1
        assert message.startswith(f"levelhead: {words}")
        assert message.count("\n") == 1
    assert listing() == before
    assert (small / "table.csv").read_text() == table
    for device in ("/dev/full", "/dev/null"):
        assert stat.S_ISCHR(os.lstat(device).st_mode)


def test_a_table_without_rows_gives_a_table_without_rows(fitted: Path, small: Path) -> None:
    (small / "empty.csv").write_text("id,x\n")
    done = RUNNER.invoke(app, ["predict", str(fitted), "empty.csv", "-o", "out.csv", "--id-column", "id"])
    assert done.exit_code == 0, done.stderr
    assert (small / "out.csv").read_text() == "id,mean,std,lower,upper,alpha\n"


def test_an_id_column_of_any_name(fitted: Path, small: Path) -> None:
    (small / "new.csv").write_text("x,mean\n1,a\n2,b\n")
    done = RUNNER.invoke(app, ["predict", str(fitted), "new.csv", "-o", "out.csv", "--id-column", "mean"])
    assert done.exit_code == 0, done.stderr
    lines = (small / "out.csv").read_text().splitlines()
    assert lines[0] == "mean (id),mean,std,lower,upper,alpha"
    assert [line[0] for line in lines[1:]] == ["a", "b"]


def test_too_few_rows_for_an_audit(small: Path) -> None:
    (small / "few.csv").write_text("x,y\n" + "1,2\n" * 29)
    assert (
        "few.csv has 29 rows with a label; an audit needs at least 30"
        in failure("audit", "few.csv", "-t", "y")[1]
    )


@pytest.mark.compiled
def test_an_audit_that_finds_nothing(small: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{x},{x + 0.1 * e},{i}\n" for i, (x, e) in enumerate(rng.normal(size=(60, 2)))]
    (small / "clean.csv").write_text("x,y,row\n" + "".join(lines))
    done = RUNNER.invoke(
        app, ["audit", "clean.csv", "-t", "y", "--id-column", "row", "--members", "1", "--out", "new"]
    )
    assert done.exit_code == 0, done.stderr
    assert "0 are flagged" in done.stdout
    assert "Flagged labels" not in done.stdout
    assert (small / "new" / "labels.csv").read_text().startswith("row,row (id),given_label,")


def test_debug_shows_the_traceback(small: Path) -> None:
    result = RUNNER.invoke(app, ["audit", "nothing.csv", "-t", "y", "--debug"])
    assert isinstance(result.exception, ValueError)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (
            RuntimeError("the floor\n  gave way"),
            3,
            "the floor gave way (RuntimeError; please run it again with --debug",
        ),
        (KeyboardInterrupt(), 130, "interrupted; no unfinished file is left"),
        (MemoryError(), 1, "not enough memory; use a table with fewer rows or columns"),
        (
            MemoryError("Unable to allocate 9 GiB"),
            1,
            "not enough memory: Unable to allocate 9 GiB; use a table",
        ),
    ],
)
def test_exit_codes_tell_bugs_from_bad_data(
    error: BaseException, code: int, words: str, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **settings: object) -> None:
        raise error

    monkeypatch.setattr(fitting, "fitted_to", fail)
    found, message = failure("fit", "table.csv", "-t", "y", "-o", "model")
    assert found == code
    assert words in message
    assert not (small / "model").exists()


def test_text_from_a_file_does_not_steer_the_terminal(small: Path) -> None:
    (small / "evil.csv").write_text("x,\x1b[31mred\n1,2\n")
    _, message = failure("audit", "evil.csv", "-t", "yy")
    assert "\x1b" not in message
    assert "�[31mred" in message


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (
            "sys.modules['typer'] = None",
            f"the command line needs typer, which is not installed: {install('cli')}",
        ),
        (
            "sys.meta_path.insert(0, type('', (), {'find_spec': exec('def f(*_): raise MemoryError') or f}))",
            "not enough memory; use a table with fewer rows or columns, or a computer with more memory",
        ),
    ],
)
def test_imports_that_fail_are_one_line(broken: str, words: str) -> None:
    program = f"import sys; from levelhead.cli import main; {broken}; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert done.stderr == f"levelhead: {words}\n"
