"""From the columns of a table to the inputs of a model, as in `levelhead.tables.encoding`."""

from typing import Any, NamedTuple

import numpy as np

from levelhead.export.graph import Graph
from levelhead.tables.encoding.columns import Column
from levelhead.tables.encoding.features import PHASES, Feature
from levelhead.tables.encoding.inputs import Encoding
from levelhead.tables.encoding.levels import FIRST

OUTPUTS = ("mean", "std", "lower", "upper")  # of the graph; a column of this name gets the ending "_in"
_MEANING = {"number": "numbers", "date": "days since 1970-01-01"}


class Table(NamedTuple):
    """Names of the columns in the graph, and the meaning of the inputs of the graph."""

    columns: list[str]
    meaning: dict[str, str]


def read(graph: Graph, model: Any) -> Table:
    """The inputs of the graph: one matrix of numbers, or one vector for each column of a frame."""
    learnt = getattr(model, "columns_", None)
    if learnt is None:
        whole = graph.input("X", np.float64, model.n_features_in_)
        return Table([graph.column(whole, k) for k in range(model.n_features_in_)], {"X": "numbers"})
    columns: list[str] = []
    meaning: dict[str, str] = {}
    for column in learnt.columns:
        columns.append("" if column.kind == "text" else _column(graph, column, meaning))
    return Table(columns, meaning)


def _column(graph: Graph, column: Column, meaning: dict[str, str]) -> str:
    name = f"{column.name}_in" if column.name in OUTPUTS else column.name
    if column.kind != "category":
        meaning[name] = _MEANING[column.kind]
        return graph.input(name, np.float64)
    if all(type(level) is str for level in column.levels):
        meaning[name] = "categories (text; empty if missing)"
        return _code_of_text(graph, graph.input(name, np.str_), column)
    if any(type(level) is str for level in column.levels):
        raise ValueError(
            f"column {column.name!r} mixes text and numbers as categories, which ONNX cannot compare; turn all of them "
            "into text"
        )
    meaning[name] = "categories (numbers; NaN if missing)"
    return code_of_number(graph, graph.input(name, np.float64), [float(level) for level in column.levels])


def _code_of_text(graph: Graph, name: str, column: Column) -> str:
    """The position of a level, −1 for an unknown one, NaN for a missing cell."""
    code = graph(
        "LabelEncoder",
        name,
        domain="ai.onnx.ml",
        keys_strings=[*column.levels, *([] if "" in column.levels else [""])],
        values_int64s=[*range(len(column.levels)), *([] if "" in column.levels else [-2])],
        default_int64=-1,
    )
    number = graph.double(code)
    return graph("Where", graph("Less", number, -1.5), np.nan, number)


def code_of_number(graph: Graph, cells: str, levels: list[float], unknown: float = -1.0) -> str:
    """The position of a number among levels, `unknown` if it is not among them, NaN for a missing cell."""
    equal = graph("Equal", graph("Unsqueeze", cells, np.array([1])), np.array([levels]))
    position = graph("Mul", graph.double(equal), np.arange(1.0, len(levels) + 1)[None])
    code = graph("Sub", graph("ReduceSum", position, np.array([1]), keepdims=0), 1.0)
    code = graph("Where", graph("Less", code, 0.0), unknown, code)
    return graph("Where", graph("IsNaN", cells), np.nan, code)


def encoded(graph: Graph, columns: list[str], encoding: Encoding) -> list[str]:
    """The inputs of a model."""
    return [_feature(graph, columns[feature.column], feature) for feature in encoding.features]


def offsets(graph: Graph, columns: list[str], encoding: Encoding) -> tuple[str, str] | None:
    """What is added to means and variances."""
    if encoding.offset is None:
        return None
    place = _places(graph, columns[encoding.offset.column])
    mean = encoding.center + encoding.spread * encoding.offset.location
    variance = encoding.spread**2 * encoding.offset.variance
    return graph("Gather", mean, place), graph("Gather", variance, place)


def _places(graph: Graph, code: str) -> str:
    place = graph("Where", graph("IsNaN", code), 0.0, graph("Add", code, float(FIRST)))
    return graph("Cast", place, to=graph.onnx.TensorProto.INT64)


def _feature(graph: Graph, x: str, feature: Feature) -> str:
    kind, values = feature.kind, feature.values
    if kind == "number":
        return x if np.isnan(values[0]) else graph("Where", graph("IsNaN", x), float(values[0]), x)
    if kind == "gap":
        return graph.double(graph("IsNaN", x))
    if kind == "level":
        return graph.double(graph("Equal", x, float(values[0])))
    if kind == "code":
        return graph("Where", graph("Less", x, 0.0), np.nan, x)
    if kind in ("location", "spread", "known"):
        return graph("Gather", values, _places(graph, x))
    return _phase(graph, x, kind)


def _phase(graph: Graph, days: str, kind: str) -> str:
    """The part of a year, week or day that has passed, or its cosine or sine."""
    name, _, wave = kind.partition(" ")
    period, start = PHASES[name]
    turns = graph("Div", graph("Add", days, start), period)
    passed = graph("Sub", turns, graph("Floor", turns))
    if not wave:
        return passed
    angle = graph("Mul", 2 * np.pi, graph("Sub", passed, 0.0 if wave == "cosine" else 0.25))
    # Programs need not have cosines of doubles; floats are exact enough, as the angle is below 2π.
    cosine = graph.double(graph("Cos", graph("Cast", angle, to=graph.onnx.TensorProto.FLOAT)))
    return graph("Where", graph("IsNaN", days), 0.0, cosine)
