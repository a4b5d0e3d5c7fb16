"""Networks, trees and their combination: from a table to members of a prediction on the scale of the labels."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from levelhead.engine import Network
from levelhead.estimators import AutoRegressor, BayesianBetaRegressor, GCPBoostingRegressor, GCPRegressor
from levelhead.estimators.combination import _DISAGREEMENT, _LEAST_NOISE, _LOG_RATIO, Combination, _repeated
from levelhead.estimators.networks._gaussian_members import VARIANCE_FLOOR, GaussianMembers
from levelhead.estimators.networks._training import NetworkRegressor
from levelhead.estimators.networks.embeddings import _BOUND, _FAR, Embedding
from levelhead.estimators.networks.gcp import _ALPHA_FLOOR, _BETA_FLOOR, _SIGMA_FLOOR
from levelhead.export import tables, trees
from levelhead.export.graph import Graph
from levelhead.prediction.calibration import Calibration
from levelhead.prediction.conformal import ResidualShape
from levelhead.theory import _chebyshev
from levelhead.theory.special import alpha_minus_A

_LARGEST_INPUT = 1e6


class Members(NamedTuple):
    """Means and variances of the members, shape (members, rows); a shape, if the mixture is not that of Gaussians."""

    mean: str
    variance: str
    n: int
    shape: ResidualShape | None = None


def members(graph: Graph, model: Any, table: tables.Table) -> Members:
    """The members of a prediction, on the scale of the labels."""
    if isinstance(model, AutoRegressor):
        if getattr(model, "repeats_", None) is not None:
            raise ValueError(
                "the model remembers labels of training rows with equal inputs (repeats_), which ONNX cannot; set "
                "model.repeats_ = None to export it without, which changes the predictions of rows with these inputs"
            )
        parts = [members(graph, one, table) for one in model.estimators_]
        known = model._combination
        if known is None or model.separation_ is None:
            return _joined(graph, parts)
        kept = [1 - one.disagreement_ for one in model.estimators_]
        return _combined(graph, parts, known, kept, model.separation_.variance_ratio)
    inputs = _inputs(graph, model, table)
    if isinstance(model, GCPBoostingRegressor):
        mean, variance, n = _of_trees(graph, model, inputs)
    else:
        mean, variance, n = _of_networks(graph, model, inputs)
    return _in_units(graph, model, table, mean, variance, n)


def _inputs(graph: Graph, model: Any, table: tables.Table) -> list[str]:
    columns = list(table.columns)
    encoding = getattr(model, "encoding_", None)
    if encoding is not None:
        return tables.encoded(graph, columns, encoding)
    for k, levels in getattr(model, "categories_", {}).items():
        if not all(isinstance(level, int | float) for level in levels):
            raise ValueError(
                f"column {k} has categories that are not numbers; give a frame instead of an array"
            )
        columns[k] = tables.code_of_number(graph, columns[k], [float(level) for level in levels], np.nan)
    return columns


def _in_units(graph: Graph, model: Any, table: tables.Table, mean: str, variance: str, n: int) -> Members:
    """Calibrated variances, and both in the units of the scale of the labels."""
    center, spread = map(float, model.target_scale_)
    ratio = 1.0 if model.separation_ is None else model.separation_.variance_ratio
    variance = _calibrated(graph, variance, model.calibration_, ratio * (1 - model.disagreement_) * spread**2)
    mean = graph("Add", graph("Mul", mean, spread), center)
    encoding = getattr(model, "encoding_", None)
    added = None if encoding is None else tables.offsets(graph, table.columns, encoding)
    if added is not None:
        mean, variance = graph("Add", mean, added[0]), graph("Add", variance, added[1])
    return Members(mean, variance, n)


def _calibrated(graph: Graph, variance: str, calibration: Calibration, factor: float) -> str:
    relative = graph("Pow", graph("Div", variance, calibration.center), calibration.power)
    return graph("Mul", relative, factor * calibration.factor * calibration.center)


# ---------------------------------------------------------------------- trees


def _of_trees(graph: Graph, model: GCPBoostingRegressor, inputs: list[str]) -> tuple[str, str, int]:
    n = len(model.mean_forests_)
    mean = graph("Transpose", trees.sums(graph, inputs, model.mean_forests_, average=False), perm=[1, 0])
    shape = model.shape_
    if model.scale_forests_:
        scale = graph("Transpose", trees.sums(graph, inputs, model.scale_forests_, average=True), perm=[1, 0])
        log_s = graph("Add", graph("Mul", scale, shape.slope), shape.offset)
    else:
        log_s = graph("Add", graph("Mul", graph.mean(mean, keep=True), 0.0), shape.offset)
    factor = shape.alpha / float(alpha_minus_A(shape.alpha))  # V_p = σ/(α − A) with σ = αs²
    variance = graph("Mul", graph("Exp", graph("Mul", log_s, 2.0)), factor)
    return mean, graph("Add", variance, graph("Mul", mean, 0.0)), n


# ---------------------------------------------------------------------- networks


def _of_networks(graph: Graph, model: NetworkRegressor, inputs: list[str]) -> tuple[str, str, int]:
    if isinstance(model, BayesianBetaRegressor):
        raise ValueError("BayesianBetaRegressor draws samples of its weights and cannot be exported to ONNX")
    scaled = _scaled(graph, model, inputs)
    outputs = [_outputs(graph, network, scaled) for network in model.networks_]
    parts = [_decoded(graph, model, one) for one in outputs]
    mean, variance = (graph.rows([part[k] for part in parts]) for k in (0, 1))
    return mean, variance, len(parts)


def _scaled(graph: Graph, model: NetworkRegressor, inputs: list[str]) -> str:
    """Inputs of the networks, rounded to floats as in training."""
    scale = model.input_scale_
    center, spread = np.asarray(scale.center, dtype=np.float64), np.asarray(scale.spread, dtype=np.float64)
    x = graph.columns(inputs)
    x = graph("Where", graph("IsNaN", x), center[None], x)
    standard = graph("Div", graph("Sub", x, center[None]), spread[None])
    if not isinstance(scale, Embedding):
        return _rounded(graph, graph("Clip", standard, -_LARGEST_INPUT, _LARGEST_INPUT))
    standard = _rounded(graph, graph("Clip", standard, -_FAR, _FAR))
    relative = graph("Div", standard, _BOUND)
    bounded = graph("Div", standard, graph("Sqrt", graph("Add", graph("Mul", relative, relative), 1.0)))
    if not len(scale.column):
        return _rounded(graph, bounded)
    pieces = graph("Gather", x, scale.column.astype(np.int64), axis=1)
    pieces = graph("Div", graph("Sub", pieces, scale.start[None]), scale.width[None])
    pieces = graph("Sub", graph("Clip", pieces, 0.0, 1.0), 0.5)
    return _rounded(graph, graph("Concat", bounded, pieces, axis=1))


def _rounded(graph: Graph, x: str) -> str:
    return graph.double(graph("Cast", x, to=graph.onnx.TensorProto.FLOAT))


def _outputs(graph: Graph, network: Network, x: str) -> str:
    """Raw outputs, shape (rows, outputs); weights are stored as floats and used as doubles."""
    architecture = network.architecture
    found = []
    for trunk in architecture.unpack(network.weights):
        at = x
        for k, (W, b) in enumerate(trunk):
            weights = graph.double(graph.constant(np.ascontiguousarray(W)))
            at = graph("Add", graph("MatMul", at, weights), np.asarray(b, dtype=np.float64)[None])
            if k < len(trunk) - 1:
                at = _activated(graph, at, architecture.activation)
        found.append(at)
    return found[0] if len(found) == 1 else graph("Concat", *found, axis=1)


def _activated(graph: Graph, x: str, activation: str) -> str:
    if activation == "relu":
        return graph("Max", x, 0.0)
    if activation == "silu":
        return graph("Div", x, graph("Add", graph("Exp", graph("Neg", x)), 1.0))
    decay = graph("Exp", graph("Mul", graph("Abs", x), -2.0))  # tanh |x| = (1 − d)/(1 + d)
    return graph("Mul", graph("Sign", x), graph("Div", graph("Sub", 1.0, decay), graph("Add", 1.0, decay)))


def _decoded(graph: Graph, model: NetworkRegressor, outputs: str) -> tuple[str, str]:
    """Mean and variance, in scaled units."""
    mean = graph.column(outputs, 0)
    if type(model)._decode is GaussianMembers._decode:
        return mean, graph("Add", graph.softplus(graph.column(outputs, 1)), VARIANCE_FLOOR)
    if not isinstance(model, GCPRegressor):
        raise ValueError(f"{type(model).__name__} cannot be exported to ONNX")
    if model.variance != "prognostic":
        raise ValueError(f"variance={model.variance!r} cannot be exported to ONNX; use variance='prognostic'")
    positive = [graph.softplus(graph.column(outputs, k)) for k in range(1, len(model._robust_outputs))]
    alpha = graph("Add", positive[-2], _ALPHA_FLOOR)
    if len(positive) == 2:
        sigma = graph("Add", positive[1], _SIGMA_FLOOR)
    else:
        nu, beta = positive[0], graph("Add", positive[2], _BETA_FLOOR)
        sigma = graph("Div", graph("Mul", beta, graph("Add", nu, 1.0)), nu)  # eq. (4)
    return mean, graph("Div", sigma, _alpha_minus_A(graph, alpha))  # eq. (6)


def _alpha_minus_A(graph: Graph, alpha: str) -> str:
    """α − A(α), by the series of `levelhead.theory.special`."""
    x = graph("Sub", 1.0, graph("Div", 4.0, graph("Add", alpha, 2.0)))
    series = graph.interpolated(x, np.array(_chebyshev.S))
    square = graph("Mul", alpha, alpha)
    return graph("Mul", series, graph("Div", square, graph("Add", alpha, 1.0)))


# ---------------------------------------------------------------------- several models


def _joined(graph: Graph, parts: Sequence[Members]) -> Members:
    """All members with equal weights."""
    if len(parts) == 1:
        return parts[0]
    mean, variance = (graph("Concat", *(part[k] for part in parts), axis=0) for k in (0, 1))
    return Members(mean, variance, sum(part.n for part in parts))


def _near_median(graph: Graph, values: list[str]) -> list[str]:
    """Numbers within `_LOG_RATIO` of their median; there are one to four of them."""
    low, high = (graph(how, *values) for how in ("Min", "Max")) if len(values) > 1 else (values[0], values[0])
    if len(values) <= 2:
        middle = graph("Mul", graph("Add", low, high), 0.5)
    else:
        inner = graph("Sub", graph("Sub", graph("Sum", *values), low), high)
        middle = graph("Div", inner, float(len(values) - 2))
    least, most = graph("Sub", middle, _LOG_RATIO), graph("Add", middle, _LOG_RATIO)
    return [graph("Max", graph("Min", value, most), least) for value in values]


def _combined(
    graph: Graph, parts: Sequence[Members], known: Combination, kept: Sequence[float], ratio: float
) -> Members:
    """As in `Combination.predict`."""

    def weighted(values: list[str]) -> str:
        terms = [graph("Mul", value, float(w)) for value, w in zip(values, known.weights, strict=True)]
        return terms[0] if len(terms) == 1 else graph("Sum", *terms)

    means = [graph.mean(part.mean) for part in parts]
    variances = [
        graph("Div", graph.mean(part.variance), share) for part, share in zip(parts, kept, strict=True)
    ]
    joint = weighted(means)
    apart = [graph("Sub", mean, joint) for mean in means]
    squares = [graph("Mul", graph("Mul", one, one), _DISAGREEMENT) for one in apart]
    each = [graph("Log", graph("Add", v, s)) for v, s in zip(variances, squares, strict=True)]
    pooled = graph("Exp", weighted(_near_median(graph, each)))
    variance = graph("Min", _calibrated(graph, pooled, known.calibration, ratio), ratio * known.widest)
    most = max(part.n for part in parts)
    places = _repeated([np.arange(part.n) for part in parts])
    each = [graph("Gather", part.mean, place, axis=0) for part, place in zip(parts, places, strict=True)]
    centered = [
        graph("Add", graph("Sub", one, graph.mean(one, keep=True)), mean)
        for one, mean in zip(each, means, strict=True)
    ]
    member = graph("Clip", weighted(centered), known.lowest, known.highest)
    noise = graph("Sub", variance, graph.variance(member))
    noise = graph("Max", noise, graph("Mul", variance, _LEAST_NOISE))
    return Members(member, graph("Add", noise, graph("Mul", member, 0.0)), most, known.shape)
