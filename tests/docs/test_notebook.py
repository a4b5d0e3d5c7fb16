"""The notebook runs in a kernel of its own; predictions and audits are tables there, and a figure is drawn once."""

import base64
import struct
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOK = Path(__file__).parents[2] / "examples/first_look.ipynb"


@pytest.fixture(scope="module")
def outputs():
    """Output of every cell, by the name of the cell."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "store the notebook without outputs"
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def data(outputs, kind):
    return [output.data[kind] for output in outputs if kind in output.get("data", {})]


def test_predictions_and_audits_are_tables(outputs):
    for name, caption in (("prediction", "Prediction of 300 rows"), ("audit", "Most suspect rows")):
        (page,) = data(outputs[name], "text/html")
        assert caption in page
        assert len(data(outputs[name], "text/plain")) == 1  # for those who read without HTML
    (page,) = data(outputs["pipeline"], "text/html")
    assert "Prediction of 3 rows" in page


def test_a_figure_is_drawn_once(outputs):
    (picture,) = data(outputs["plot"], "image/png")
    content = base64.b64decode(picture)
    width, height = struct.unpack(">II", content[16:24])
    assert width > 2 * height > 400  # three panels side by side
    assert len(content) > 10_000  # with something in them


def test_no_cell_writes_to_stderr(outputs):
    streams = [
        o.text for cell in outputs.values() for o in cell if o.output_type == "stream" and o.name == "stderr"
    ]
    assert streams == []
