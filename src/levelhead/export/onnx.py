"""Writes a fitted estimator as an ONNX file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

import levelhead
from levelhead._checks import share
from levelhead._files import refuse, whole
from levelhead.estimators import AutoRegressor, MultiTargetRegressor
from levelhead.estimators._base import AuditedRegressor
from levelhead.export import scales, tables
from levelhead.export.graph import ML_OPSET, OPSET, Graph
from levelhead.export.models import Members, members
from levelhead.prediction import Transform
from levelhead.prediction.lattice import Lattice

_STEPS = 50  # of the search for a quantile of a mixture: halves the interval so often


def to_onnx(model: Any, path: str | Path, *, coverage: float = 0.9, overwrite: bool = False) -> Path:
    """Write a fitted estimator as an ONNX file that gives mean, standard deviation and a central interval.

    A model that was fitted to numbers has one input, `X`, a matrix of doubles in which NaN is a missing cell. A model
    that was fitted to a frame with categories or dates has one input for each column: numbers and dates (days since
    1970-01-01) as doubles, categories as text. A column named like an output has the ending `_in`. The outputs `mean`,
    `std`, `lower` and `upper` are vectors of doubles. The file holds the version of levelhead, the names of the
    columns, their meaning and the coverage as metadata.

    Parameters
    ----------
    model : estimator
        A fitted `GCPRegressor`, `GCPBoostingRegressor`, `AutoRegressor`, `GaussianRegressor`, `BetaDivergenceRegressor`
        or `GammaDivergenceRegressor`.
    path : path-like
        File to write; if an error occurs, no partial file is left.
    coverage : float, default=0.9
        Probability that the interval holds the clean label.
    overwrite : bool, default=False
        Whether to replace an existing file.

    Returns
    -------
    pathlib.Path
        The path of the file.

    Raises
    ------
    TypeError
        If the estimator is of another class.
    ValueError
        If a part of the model has no exact counterpart in ONNX; the message says which.
    FileExistsError
        If the file exists and `overwrite` is False.
    """
    if isinstance(model, MultiTargetRegressor):
        raise TypeError(
            "to_onnx writes one target; give it the model of each target, such as model.estimators_[0], with its path"
        )
    if not isinstance(model, AuditedRegressor | AutoRegressor):
        raise TypeError(
            f"to_onnx takes a fitted network, GCPBoostingRegressor or AutoRegressor, not {type(model).__name__}; "
            "these take frames themselves and need no pipeline"
        )
    check_is_fitted(model, model._fitted_attribute)
    refuse(Path(path), overwrite=overwrite)
    file = _file(model, share("coverage", coverage))
    with whole(Path(path), overwrite=overwrite) as (partial,):
        partial.write_bytes(file.SerializeToString())
    return Path(path)


def _file(model: Any, coverage: float) -> Any:
    graph = Graph()
    helper = graph.onnx.helper
    first = model.estimators_[0] if isinstance(model, AutoRegressor) else model
    table = tables.read(graph, first)
    scale = getattr(model, "target_transform_", None)
    scales.check(scale)
    lattice = getattr(model, "lattice_", None)
    level = coverage if lattice is None else lattice.level(coverage)
    mean, std, *ends = _distribution(graph, members(graph, model, table), scale, level)
    results = mean, std, *(_on_lattice(graph, lattice, end) for end in ends)
    for name, result in zip(tables.OUTPUTS, results, strict=True):
        graph.nodes.append(helper.make_node("Identity", [result], [name]))
    outputs = [
        helper.make_tensor_value_info(name, graph.onnx.TensorProto.DOUBLE, ["rows"])
        for name in tables.OUTPUTS
    ]
    body = helper.make_graph(graph.nodes, type(model).__name__, graph.inputs, outputs, graph.constants)
    domains = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    file = helper.make_model(
        body,
        opset_imports=domains,
        ir_version=8,  # of the same time as the operators
        producer_name="levelhead",
        producer_version=levelhead.__version__,
    )
    helper.set_model_props(file, _metadata(model, table, scale, coverage))
    graph.onnx.checker.check_model(file)
    return file


def _metadata(model: Any, table: tables.Table, scale: Transform | None, coverage: float) -> dict[str, str]:
    return {
        "levelhead_version": levelhead.__version__,
        "estimator": type(model).__name__,
        "coverage": f"{coverage:g}",
        "label_scale": "linear" if scale is None else scale.name,
        "inputs": json.dumps(table.meaning, ensure_ascii=False),
        "feature_names": json.dumps([str(name) for name in getattr(model, "feature_names_in_", [])]),
    }


def _distribution(
    graph: Graph, found: Members, scale: Transform | None, level: float
) -> tuple[str, str, str, str]:
    """Mean, standard deviation and the ends of an interval of this level, in the units of y."""
    levels = 0.5 - level / 2, 0.5 + level / 2
    lower, upper = (scales.inverse(graph, scale, _quantile(graph, found, q)) for q in levels)
    mean, variance = scales.moments(graph, scale, found.mean, found.variance)
    total = graph("Add", graph.mean(variance), graph.variance(mean))
    return graph.mean(mean), graph("Sqrt", total), lower, upper


def _on_lattice(graph: Graph, lattice: Lattice | None, y: str) -> str:
    """The nearest value that labels take."""
    if lattice is None:
        return y
    place = graph("Round", graph("Div", graph("Sub", y, lattice.start), lattice.step))
    place = graph("Clip", place, 0.0, float(lattice.count - 1))
    return graph("Add", graph("Mul", place, lattice.step), lattice.start)


def _quantile(graph: Graph, found: Members, q: float) -> str:
    """A quantile on the scale of the labels."""
    if found.shape is not None:
        total = graph("Add", graph.mean(found.variance), graph.variance(found.mean))
        at = float(found.shape.inverse(ndtri(q)))
        return graph("Add", graph.mean(found.mean), graph("Mul", graph("Sqrt", total), at))
    std = graph("Sqrt", found.variance)
    ends = graph("Add", found.mean, graph("Mul", std, float(ndtri(q))))
    if found.n == 1:
        return graph.mean(ends)
    return _searched(graph, found.mean, std, ends, q)


def _searched(graph: Graph, mean: str, std: str, ends: str, q: float) -> str:
    """The quantile of a mixture of Gaussians, between the quantiles of its members, by bisection."""
    low = graph("ReduceMin", ends, axes=[0], keepdims=1)
    high = graph("ReduceMax", ends, axes=[0], keepdims=1)
    root = graph("Mul", std, float(np.sqrt(2)))
    for _ in range(_STEPS):
        middle = graph("Mul", graph("Add", low, high), 0.5)
        z = graph("Div", graph("Sub", middle, mean), root)
        error = graph.double(graph("Erf", graph("Cast", z, to=graph.onnx.TensorProto.FLOAT)))
        above = graph("Greater", graph.mean(error, keep=True), 2 * q - 1)
        low, high = graph("Where", above, low, middle), graph("Where", above, middle, high)
    return graph.mean(graph("Mul", graph("Add", low, high), 0.5))
