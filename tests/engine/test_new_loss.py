"""A new loss needs one file: `new_loss.py` registers one and trains with it, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from levelhead import engine
from levelhead.engine._jit import JIT
from levelhead.engine.objectives import register

SCRIPT = Path(__file__).with_name("new_loss.py")


def run(epochs: int, **environment: str) -> list[float]:
    done = subprocess.run(
        [sys.executable, SCRIPT, str(epochs)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(word) for word in done.stdout.split()]


def test_engine_and_reference_agree_without_the_compiler():
    by_reference, by_engine, by_another_loss, _, _ = run(0, NUMBA_DISABLE_JIT="1")
    assert by_engine == pytest.approx(by_reference, abs=1e-5)
    assert by_another_loss != pytest.approx(by_reference, abs=1e-2)


@pytest.mark.slow
@pytest.mark.compiled
def test_it_is_compiled_and_trained(tmp_path):
    first = run(5, NUMBA_CACHE_DIR=str(tmp_path))
    by_reference, by_engine, _, error_of_mean, scale = first
    assert by_engine == pytest.approx(by_reference, abs=1e-5)
    assert error_of_mean < 0.1
    assert scale == pytest.approx(0.3, abs=0.05)
    compiled = {path: path.stat().st_mtime for path in tmp_path.rglob("*.nbc")}
    assert run(5, NUMBA_CACHE_DIR=str(tmp_path)) == first
    assert {path: path.stat().st_mtime for path in tmp_path.rglob("*.nbc")} == compiled


def some_loss(y, o0, o1, o2, o3, c):
    return y, o0, o1, o2, o3


def test_names_are_unique_and_numbers_of_outputs_known():
    for name, n_outputs in (("gcp", 4), ("new", 5)):
        with pytest.raises(ValueError, match="cannot register"):
            register(name, some_loss, n_outputs)


@pytest.mark.compiled
@pytest.mark.skipif(not JIT, reason="without the compiler a loss can be added at any time")
def test_a_loss_that_comes_too_late_is_refused():
    engine.forward(
        [engine.Network(engine.Architecture(1, (), 1), np.zeros(2, np.float32))], np.zeros((1, 1), np.float32)
    )
    with pytest.raises(RuntimeError, match="compiled already"):
        register("late", some_loss, 1)
