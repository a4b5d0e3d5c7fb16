"""A short command starts quickly: it loads what it needs, and is not held up by garbage collection."""

import gc
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from levelhead.cli import starting

NOT_FOR_PREDICTIONS = {
    *("lightgbm", "skrub", "matplotlib", "plotly", "jinja2", "torch", "dask", "distributed", "onnx"),
    *("levelhead.auditing", "levelhead.large", "levelhead.report", "levelhead.study", "levelhead.plots"),
    *(
        "levelhead.losses",
        "levelhead.theory.dynamics",
        "levelhead.tables.training",
        "levelhead.tables.quality",
    ),
}


@pytest.mark.slow
def test_a_prediction_loads_no_library_for_training(
    model: Path, held_out: pd.DataFrame, tmp_path: Path
) -> None:
    held_out.drop(columns="rent").head(10).to_csv(tmp_path / "ten.csv", index=False)
    predicts = f"""
import sys
from typer.testing import CliRunner
from levelhead.cli.app import app
done = CliRunner().invoke(app, ["predict", {str(model)!r}, "ten.csv", "--out", "out.csv"])
assert done.exit_code == 0, done.output
print(sorted({NOT_FOR_PREDICTIONS} & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", predicts], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "[]"
    assert len(pd.read_csv(tmp_path / "out.csv")) == 10


def test_a_model_is_loaded_without_garbage_collection(quick: Path, tmp_path: Path) -> None:
    """Counts the collections of a command between the start of `load` and its end."""
    (tmp_path / "x.csv").write_text("x\n1\n2\n")
    predicts = f"""
import gc, levelhead
from typer.testing import CliRunner
from levelhead.cli.app import app
load, seen = levelhead.load, []
def counted(path):
    gc.callbacks.append(lambda phase, info: seen.append(info))
    try:
        return load(path)
    finally:
        gc.callbacks.clear()
levelhead.load = counted
assert CliRunner().invoke(app, ["predict", {str(quick)!r}, "x.csv", "--out", "out.csv"]).exit_code == 0
print(len(seen), gc.isenabled(), gc.get_freeze_count() > 50_000)
"""
    done = subprocess.run(
        [sys.executable, "-c", predicts], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["0", "True", "True"]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with starting.without_collection():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
        with pytest.raises(ZeroDivisionError), starting.without_collection():
            _ = 1 / 0
        assert gc.isenabled() == enabled
    finally:
        gc.unfreeze()
        (gc.enable if before else gc.disable)()
