"""Head and prognosis leave PyTorch: ONNX in onnxruntime answers what PyTorch answers."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from levelhead import torch as robust


@pytest.fixture
def served():
    torch.manual_seed(0)
    head = robust.GCPHead(32, 2).start_from(torch.randn(100, 2) * 30 + 200)
    trunk = [torch.nn.Linear(5, 32), torch.nn.ReLU()]
    return torch.nn.Sequential(*trunk, head, robust.PrognosisLayer()).eval()


@pytest.mark.slow
def test_onnx_gives_the_same_outputs_as_pytorch(served, tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    path = tmp_path / "served.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns about itself
        torch.onnx.export(
            served,
            (torch.zeros(3, 5),),
            path,
            input_names=["x"],
            output_names=["mean", "variance", "student_variance"],
            dynamic_shapes=({0: torch.export.Dim("rows")},),
            dynamo=True,
            verbose=False,
        )
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == ["mean", "variance", "student_variance"]
    x = 10 * torch.randn(257, 5)  # another number of rows than was exported
    expected = served(x)
    assert expected.student_variance.isinf().any()
    assert expected.student_variance.isfinite().any()
    mean, variance, student = session.run(None, {"x": x.numpy()})
    assert_allclose(mean, expected.mean.detach(), rtol=1e-5)
    assert_allclose(variance, expected.variance.detach(), rtol=1e-5)
    excess = served[:-1](x).alpha.detach().numpy() - 1
    sure = np.abs(excess) > 0.05  # σ/(α − 1) magnifies rounding as α comes close to 1
    assert_allclose(student[sure], expected.student_variance.detach().numpy()[sure], rtol=2e-5)


def test_a_compiled_network_gives_the_same_outputs(served):
    compiled = torch.compile(served, fullgraph=True, backend="eager")
    x = torch.randn(16, 5)
    for got, exact in zip(compiled(x), served(x), strict=True):
        assert_allclose(got.detach(), exact.detach(), rtol=1e-5)


def test_export_keeps_the_names(served):
    program = torch.export.export(served, (torch.zeros(3, 5),))
    answer = program.module()(torch.ones(3, 5))
    assert isinstance(answer, robust.Prognosis)
    assert answer.variance.isfinite().all()


@pytest.mark.parametrize("rows", [1, 4096, 5000])
def test_export_with_a_dynamic_batch_has_no_upper_end(served, rows):
    program = torch.export.export(
        served, (torch.zeros(3, 5),), dynamic_shapes=({0: torch.export.Dim("rows")},)
    )
    x = torch.randn(rows, 5)
    for got, exact in zip(program.module()(x), served(x), strict=True):
        assert_allclose(got.detach(), exact.detach(), rtol=1e-4)
