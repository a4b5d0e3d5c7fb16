"""Fitted estimators as ONNX files, for programs without Python.

`to_onnx` writes the preparation of the columns, the networks or trees, and the distribution into one graph of standard
operators: mean, standard deviation and a central interval of every row. Needs the extra `onnx`.
"""

from levelhead.export.onnx import to_onnx

__all__ = ["to_onnx"]
