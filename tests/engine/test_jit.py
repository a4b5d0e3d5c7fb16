import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from levelhead.engine import Job, Stopping, _epochs, forward, networks, train

pytestmark = [pytest.mark.compiled, pytest.mark.slow]  # processes that compile

MODULE = """
import numpy as np
from levelhead.engine import _jit
{prepare}

@_jit.kernel
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s

print(total(np.arange(5.0)))
"""


@pytest.fixture
def run(tmp_path):
    """Run a process with a kernel of its own and a cache of its own; returns what it says."""

    def run(prepare=""):
        script, draft = tmp_path / "script.py", tmp_path / f"{threading.get_ident()}.draft"
        draft.write_text(MODULE.format(prepare=prepare))
        draft.replace(script)  # whole at every moment: other threads start it too
        environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PATH": "", "HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, script], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == "10.0\n"
        return done.stderr

    return run


def test_only_the_first_process_compiles_and_says_so_in_one_line(run):
    assert run() == "levelhead: compiling the training kernels for this machine, once (about 15 seconds)\n"
    assert run() == ""


def test_a_change_anywhere_in_the_engine_compiles_anew(run):
    run()
    assert "compiling" in run('_jit._source_stamp = lambda: "another version"')


def test_no_two_versions_of_the_engine_share_a_file(run, tmp_path):
    """Or a process could read the index of the new version and the kernel of the old one."""
    run()
    before = {path.name: path.read_bytes() for path in (tmp_path / "cache").rglob("*.nb*")}
    run('_jit._source_stamp = lambda: "another version"')
    after = {path.name: path.read_bytes() for path in (tmp_path / "cache").rglob("*.nb*")}
    assert len(after) == 2 * len(before)
    assert after.items() >= before.items()


def test_a_damaged_cache_is_compiled_over(run, tmp_path):
    run()
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert len(files) >= 2
    for path in files:
        path.write_bytes(path.read_bytes()[:20])
    assert "compiling" in run()
    assert run() == ""


def test_without_a_place_to_write_every_process_compiles(run):
    nowhere = "def nowhere(function): raise RuntimeError('no locator')\n_jit._EngineCache = nowhere"
    assert run(nowhere) == run(nowhere) == ""


def test_a_disk_that_fills_up_is_no_failure(run):
    full = "from numba.core.caching import IndexDataCacheFile\n"
    full += "def save(*a): raise OSError('no space left')\nIndexDataCacheFile.save = save"
    assert "compiling" in run(full)
    assert "compiling" in run(full)


def test_many_processes_may_start_at_once(run):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: run(), range(8)))
    assert run() == ""


def test_every_kernel_has_one_set_of_types(data, small, quick):
    # A second one would be compiled while a user waits, and two processes could mix them up on disk.
    weight = np.ones(60, np.float32)
    held = {"rows": np.arange(40), "held_out": np.arange(40, 60)}
    (network,) = train(small, quick, [Job()], **data)
    train(small, replace(quick, epochs=5), [Job(start=network)], sample_weight=weight, **data)
    train(
        small, replace(quick, clip=1, dropout=0, weight_decay=1), [Job(**held)], stopping=Stopping(), **data
    )
    frozen = {name: array.copy() for name, array in data.items()}
    for array in frozen.values():
        array.flags.writeable = False
    train(small, quick, [Job(rows=[1, 2, 3])], **frozen)
    forward([network], frozen["X"])
    forward([network], data["X"].astype(np.float64)[::2])
    for kernel in (_epochs.train_epochs, networks._forward_rows):
        assert len(kernel.signatures) == 1


def test_the_stamp_covers_every_source_of_the_engine():
    from levelhead.engine import _jit

    folder = Path(_jit.__file__).parent
    assert not [path for path in folder.rglob("*.py") if path.parent != folder]
