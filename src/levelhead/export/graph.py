"""A graph of ONNX operators that is built from left to right, in double precision."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from levelhead._extras import needed

OPSET, ML_OPSET = 17, 3  # of 2022 and 2021: old programs can read the files too


class Graph:
    """Nodes, constants and inputs; every method returns the name of a result."""

    def __init__(self) -> None:
        self.onnx = needed("onnx", "to_onnx", "onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self._known: dict[Any, str] = {}

    def input(self, name: str, kind: type, width: int | None = None) -> str:
        """A tensor with one row per row of the table; with `width`, a matrix."""
        element = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        shape = ["rows"] if width is None else ["rows", width]
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, element, shape))
        return name

    def constant(self, value: ArrayLike) -> str:
        """An array; Python's and numpy's floats become doubles."""
        array = np.asarray(value)
        if array.dtype.kind == "f" and array.dtype != np.float32:
            array = array.astype(np.float64)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self._known:
            self._known[key] = f"levelhead/constant_{len(self.constants)}"
            self.constants.append(self.onnx.numpy_helper.from_array(array, self._known[key]))
        return self._known[key]

    def __call__(self, operator: str, *parts: Any, domain: str = "", **attributes: Any) -> str:
        """The result of an operator; anything but a name becomes a constant."""
        names = [part if isinstance(part, str) else self.constant(part) for part in parts]
        result = f"levelhead/{operator}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(operator, names, [result], domain=domain, **attributes)
        self.nodes.append(node)
        return result

    # ------------------------------------------------------------------ common combinations

    def double(self, x: str) -> str:
        """X as doubles."""
        return self("Cast", x, to=self.onnx.TensorProto.DOUBLE)

    def column(self, table: str, k: int) -> str:
        """Column k of a matrix, as a vector."""
        return self("Gather", table, np.int64(k), axis=1)

    def columns(self, vectors: list[str]) -> str:
        """A matrix of vectors."""
        return self("Concat", *(self("Unsqueeze", one, np.array([1])) for one in vectors), axis=1)

    def rows(self, vectors: list[str]) -> str:
        """A matrix whose rows are vectors."""
        return self("Concat", *(self("Unsqueeze", one, np.array([0])) for one in vectors), axis=0)

    def mean(self, matrix: str, *, keep: bool = False) -> str:
        """Mean over the rows of a matrix."""
        return self("ReduceMean", matrix, axes=[0], keepdims=int(keep))

    def variance(self, matrix: str) -> str:
        """Variance over the rows of a matrix."""
        around = self("Sub", matrix, self.mean(matrix, keep=True))
        return self.mean(self("Mul", around, around))

    def softplus(self, x: str) -> str:
        """ln(1 + eˣ), with full relative precision where it is small."""
        small = self("Exp", self("Neg", self("Abs", x)))
        log1p = self("Log", self("Add", 1.0, small))
        series = self("Mul", small, self("Sub", 1.0, self("Mul", 0.5, small)))
        rest = self("Where", self("Less", small, 1e-6), series, log1p)
        return self("Max", self("Add", self("Max", x, 0.0), rest), float(np.finfo(np.float32).tiny))

    def interpolated(self, x: str, coefficients: NDArray[np.float64]) -> str:
        """Chebyshev series Σ c_k T_k(x), by Clenshaw's recurrence."""
        twice, now, before = self("Mul", 2.0, x), self("Mul", 0.0, x), self("Mul", 0.0, x)
        for c in coefficients[:0:-1].tolist():
            now, before = self("Add", self("Sub", self("Mul", twice, now), before), c), now
        return self("Add", self("Sub", self("Mul", x, now), before), float(coefficients[0]))
