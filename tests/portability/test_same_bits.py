"""The same fit gives the same bits, whatever the width of the processor's vectors."""

import json
import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from environment import restricted  # noqa: E402

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the promise is for x86-64"),
]


def fits(what: str, **environment: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, HERE / "fits.py", what],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@cache
def fits_here(what: str) -> dict[str, str]:
    return fits(what)


def test_networks_are_the_same_on_every_machine():
    """`python tests/portability/fits.py networks > tests/portability/networks.json` after a change of the engine."""
    assert fits_here("networks") == json.loads((HERE / "networks.json").read_text())


@pytest.mark.slow  # kernels are compiled for each kind of processor
@pytest.mark.parametrize("what", ["networks", "estimators"])
def test_older_processors_give_the_same_bits(what):
    assert fits(what, **restricted("haswell")) == fits_here(what)
    assert fits(what, **restricted("generic")) == fits_here(what)


def test_the_environment_is_really_restricted():
    code = "from levelhead.engine import _simd; import numpy; print(_simd._WIDE, numpy.show_config('dicts'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | restricted("haswell"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("False")
    assert "AVX512" not in done.stdout.partition("'found'")[2].partition("]")[0]
