"""Scales of the labels: from members on a scale to mean, variance and quantiles in the units of y."""

import numpy as np

from levelhead.export.graph import Graph
from levelhead.prediction import LogTransform, Transform, YeoJohnsonTransform
from levelhead.prediction._quadrature import panels

# Points of the quadrature, in standard deviations. Panels are narrow, because none ends at the kink of a scale.
_REACH, _PANEL, _NODES = 9.0, 0.25, 6


def check(scale: Transform | None) -> None:
    """Refuse a scale that has no counterpart in ONNX."""
    if scale is not None and not isinstance(scale, LogTransform | YeoJohnsonTransform):
        raise ValueError(
            f"the model learns on the scale of {scale.name}, which to_onnx cannot write; fit it with "
            "target_transform='log', 'yeo-johnson' or None"
        )


def inverse(graph: Graph, scale: Transform | None, z: str) -> str:
    """Labels of transformed ones."""
    if isinstance(scale, LogTransform):
        return graph("Exp", z)
    if not isinstance(scale, YeoJohnsonTransform):
        return z
    size = graph("Abs", z)
    above = _straightened(graph, size, scale.power)
    below = graph("Neg", _straightened(graph, size, 2 - scale.power))
    u = graph("Where", graph("GreaterOrEqual", z, 0.0), above, below)
    return graph("Add", graph("Mul", u, scale.spread), scale.center)


def _straightened(graph: Graph, size: str, exponent: float) -> str:
    if exponent == 0:
        return graph("Sub", graph("Exp", size), 1.0)
    grown = graph("Add", graph("Mul", size, exponent), 1.0)
    return graph("Sub", graph("Pow", grown, 1 / exponent), 1.0)


def moments(graph: Graph, scale: Transform | None, mean: str, variance: str) -> tuple[str, str]:
    """Means and variances of the members in the units of y; shape (members, rows)."""
    if isinstance(scale, LogTransform):  # log-normal
        mean = graph("Exp", graph("Add", mean, graph("Mul", variance, 0.5)))
        return mean, graph("Mul", graph("Mul", mean, mean), graph("Sub", graph("Exp", variance), 1.0))
    if scale is None:
        return mean, variance
    edges = np.arange(-_REACH, _REACH + _PANEL / 2, _PANEL)[None]
    u, width = (part[0] for part in panels(edges, _NODES))
    weight = width * np.exp(-0.5 * u * u)
    weight /= weight.sum()
    last = np.array([2])
    std = graph("Unsqueeze", graph("Sqrt", variance), last)
    points = graph("Add", graph("Unsqueeze", mean, last), graph("Mul", std, u[None, None]))
    values = inverse(graph, scale, points)
    first = graph("ReduceSum", graph("Mul", values, weight[None, None]), last, keepdims=1)
    apart = graph("Sub", values, first)
    second = graph(
        "ReduceSum", graph("Mul", graph("Mul", apart, apart), weight[None, None]), last, keepdims=0
    )
    return graph("Squeeze", first, last), second
