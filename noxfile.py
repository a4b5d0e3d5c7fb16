"""Tests of what a user installs: the wheel, with the oldest and the newest libraries, on every Python.

`nox -l` lists the sessions, `nox -s oldest` runs one, `nox` runs all. A Python that is not here is skipped and named.
"""

import re
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import nox

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = (
    "cli",
    "tables",
    "datasets",
    "dask",
    "plot",
    "boosting",
    "report",
    "test",
)  # not torch, which is gigabytes
MAY_SKIP = {"LEVELHEAD_NO_SKIPS": ""}  # torch and the browser are not installed
NEEDS_FILES = (
    "tests/docs/test_study_pages.py",
    "tests/test_extras.py",
    "tests/test_package.py",
    "tests/theory/test_special.py",
)


def newest_here() -> str:
    """The newest Python that starts; pyenv also has names of versions that are not switched on."""
    for version in reversed(PYTHONS):
        found = shutil.which(f"python{version}")
        if found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return version
    raise RuntimeError(f"none of Python {', '.join(PYTHONS)} is here")


@nox.session(python=PYTHONS[0])
def oldest(session: nox.Session) -> None:
    """The quick tests, every dependency at the lower bound in pyproject.toml."""
    optional = PROJECT["optional-dependencies"]
    stated = [*PROJECT["dependencies"], *(line for extra in EXTRAS for line in optional[extra])]
    lowest = [re.sub(r"\[.*\]", "", line).replace(">=", "==") for line in stated if ">=" in line]
    floors = Path(session.create_tmp()) / "floors.txt"
    floors.write_text("\n".join(lowest), encoding="utf-8")  # pip takes no extras in constraints
    quick_tests(session, "--constraint", str(floors))


@nox.session(python=newest_here())
def newest(session: nox.Session) -> None:
    """The quick tests with nothing pinned, on the newest Python that is here."""
    quick_tests(session)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The quick tests on each Python, with the versions that `make test` uses."""
    quick_tests(session, "--constraint", "requirements/constraints.txt")


@nox.session(python=newest_here())
def smoke(session: nox.Session) -> None:
    """Wheel and sdist with nothing pinned: a user's first hour in the one, tests that need files in the other."""
    wheel, sdist = build(session)
    session.install(f"{wheel}[cli]")
    came_from_the_wheel(session)
    session.run("python", "-P", "tests/smoke.py", session.create_tmp())  # -P: tests/torch is not torch
    session.install(f"{wheel}[test]")
    with tarfile.open(sdist) as packed:
        packed.extractall(session.create_tmp(), filter="data")
    session.chdir(Path(session.create_tmp()) / sdist.name.removesuffix(".tar.gz"))
    session.run("pytest", "-qq", "--collect-only", "tests", silent=True, env=MAY_SKIP)
    session.run("pytest", "-q", *NEEDS_FILES, env=MAY_SKIP)


@nox.session(python=PYTHONS[0])
def clients(session: nox.Session) -> None:
    """Libraries that build on ours and that no extra installs; with torch, so it downloads gigabytes."""
    wheel, _ = build(session)
    session.install(f"{wheel}[test,torch,skpro]", "lightning-uq-box", "torch-uncertainty", "timm")
    came_from_the_wheel(session)
    # Their own warnings are not ours to fix.
    session.run("pytest", "-q", "-o", "filterwarnings=default", "tests/clients", env=MAY_SKIP)


def quick_tests(session: nox.Session, *versions: str) -> None:
    """Install the wheel with the versions that are asked for, and test it."""
    wheel, _ = build(session)
    session.install(f"{wheel}[{','.join(EXTRAS)}]", *versions)
    session.run("pip", "freeze")
    came_from_the_wheel(session)
    session.run(
        "pytest",
        "-q",
        "-n",
        "auto",
        "--dist",
        "loadfile",
        "-m",
        "not slow",
        "tests",
        *session.posargs,
        env=MAY_SKIP,
    )


def build(session: nox.Session) -> tuple[Path, Path]:
    """The wheel, built from the sdist, and the sdist."""
    folder = Path(session.create_tmp()) / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    session.install("build")
    session.run("python", "-m", "build", "--outdir", str(folder), silent=True)
    return next(folder.glob("*.whl")).resolve(), next(folder.glob("*.tar.gz")).resolve()


def came_from_the_wheel(session: nox.Session) -> None:
    """Fail if Python finds the checkout instead of what was installed."""
    check = "import levelhead, sys; sys.exit(not levelhead.__file__.startswith(sys.prefix) and levelhead.__file__)"
    session.run("python", "-c", check)
