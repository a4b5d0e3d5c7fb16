"""Models as JSON and arrays, and back: the types of values that are known, and nothing else.

Numbers, text, None and lists are themselves in JSON. Everything else is an object with one key that names its
kind, as in `{"tuple": [1, 2]}`. An instance is its allow-listed name and its attributes; a record (an
immutable value) is rebuilt by its own constructor, which checks it. Instances and arrays that occur
twice are written once. Long text, as that of trees, is compressed.
"""

import zlib
from collections.abc import Callable
from inspect import signature
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from levelhead.persistence import _allowed, _records, _soundness, _version_0_1
from levelhead.persistence._archive import ModelFileError

_BUILTINS: dict[str, type] = {t.__name__: t for t in (bool, int, float, str, object)}
_NUMPY_TYPES = "biufcSUmMO"
_SCALARS = "biufcSUmM"
_MOST_MENTIONS = 16
_LONG_TEXT = 2**16  # characters; longer text is compressed
_MOST_EXPANSION = 8  # of compressed text, so that the memory of a reader stays in proportion to the file
_LARGEST_TYPE = 2**16  # bytes: values that are compared with such text become as long


class Encoder:
    """Turns a model into JSON; arrays are collected in `arrays` and referred to by number.

    Parameters
    ----------
    most_rows : float, default=inf
        Out-of-fold predictions of more training rows than this are left out, and their number is kept instead.
    """

    def __init__(self, most_rows: float = np.inf) -> None:
        self._most_rows = most_rows
        self.arrays: list[NDArray[Any]] = []
        self._seen: dict[int, dict[str, int]] = {}
        self._alive: list[object] = []  # an id is only unique as long as its object lives
        self._instances = 0

    def encode(self, value: Any, where: str) -> Any:
        """JSON for a value; `where` says in an error which part of the model it is."""
        if (
            type(value).__name__ == "_RemainderColsList"
        ):  # how scikit-learn before 1.7 keeps a list of columns
            value = value.data
        if type(value) is str and len(value) > _LONG_TEXT:
            return self._text(value)
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"float": repr(value)}
        if type(value) in (list, tuple, set, frozenset):
            items = [self.encode(item, f"{where}[{k}]") for k, item in enumerate(_ordered(value))]
            return items if type(value) is list else {type(value).__name__: items}
        if type(value) is dict:
            pairs = [
                [self.encode(k, f"{where} key {k!r}"), self.encode(v, f"{where}[{k!r}]")]
                for k, v in value.items()
            ]
            return {"dict": pairs}
        if type(value) is slice:
            return {"slice": [self.encode(v, where) for v in (value.start, value.stop, value.step)]}
        if isinstance(value, (np.ndarray, np.generic, np.dtype)):
            return self._numpy(value, where)
        if isinstance(value, type):
            return self._type(value, where)
        return self._named(value, where)

    def _text(self, value: str) -> Any:
        plain = value.encode("utf-8", "surrogatepass")
        small = np.frombuffer(zlib.compress(plain), dtype=np.uint8)
        if len(plain) > _MOST_EXPANSION * len(small):
            return value
        self.arrays.append(small)
        return {"deflated": [len(self.arrays) - 1, len(plain)]}

    def _numpy(self, value: Any, where: str) -> Any:
        if isinstance(value, np.dtype):
            if value.kind not in _NUMPY_TYPES:
                raise _cannot(value, where)
            return {"dtype": value.str}
        if isinstance(value, np.generic):
            if value.dtype.kind not in _SCALARS:
                raise _cannot(value, where)
            return {"scalar": [value.dtype.str, value.tobytes().hex()]}
        if id(value) in self._seen:
            return self._seen[id(value)]
        if type(value) not in (np.ndarray, np.memmap) or value.dtype.kind not in _NUMPY_TYPES:
            raise _cannot(value, where)
        if value.dtype.kind == "O":
            items = [self.encode(item, f"{where}[{k}]") for k, item in enumerate(value.ravel().tolist())]
            return {"objects": [list(value.shape), items]}
        self.arrays.append(np.asarray(value))
        return self._remember(value, {"array": len(self.arrays) - 1})

    def _type(self, value: type, where: str) -> Any:
        if _BUILTINS.get(value.__name__) is value:
            return {"builtin": value.__name__}
        if issubclass(value, np.generic) and np.dtype(value).kind in _SCALARS:
            return {"numpy type": np.dtype(value).name}
        raise _cannot(value, where)

    def _named(self, value: Any, where: str) -> Any:
        """A function, record or instance that is on the list."""
        if id(value) in self._seen:
            return self._seen[id(value)]
        function = _allowed.name_of(value, _allowed.FUNCTIONS)
        if function is not None:
            return {"function": function}
        record = _allowed.name_of(type(value), _allowed.RECORDS)
        if record is not None:
            parts = _allowed.parts(record, type(value)).items()
            fields = {k: self.encode(get(value), f"{where}.{k}") for k, get in parts}
            return {"record": record, "fields": fields}
        name = _allowed.name_of(type(value), _allowed.classes())
        if name is None:
            raise _cannot(value, where)
        return self._instance(value, name, where)

    def _instance(self, value: Any, name: str, where: str) -> Any:
        number = self._instances
        self._instances += 1
        self._remember(value, {"same": number})
        state = value.__getstate__() or {}
        if not isinstance(state, dict):
            raise _cannot(value, where)
        most_rows, state = self._most_rows, self._without_rows(state)
        _allowed.check_attributes(type(value), state, where, TypeError)
        attributes = {k: self.encode(v, f"{where}.{k}") for k, v in state.items()}
        self._most_rows = most_rows
        return {"instance": name, "number": number, "attributes": attributes}

    def _without_rows(self, state: dict[str, Any]) -> dict[str, Any]:
        """The attributes of an instance, without out-of-fold predictions of too many training rows.

        A judge without them cannot audit and is left out too, and then no other part of the model may audit.
        """
        judge = state.get("judge_")
        if judge is not None and _n_judged(judge) > self._most_rows:
            state, self._most_rows = {k: v for k, v in state.items() if k != "judge_"}, 0
        n_rows = len(state["_row_keys"]) if "oof_prediction_" in state and "_row_keys" in state else 0
        if n_rows <= self._most_rows:
            return state
        kept = {k: v for k, v in state.items() if k not in ("oof_prediction_", "_row_keys")}
        return kept | {"_unsaved_rows": n_rows}

    def _remember(self, value: object, reference: dict[str, int]) -> dict[str, int]:
        self._alive.append(value)
        self._seen[id(value)] = reference
        return reference


class Decoder:
    """Rebuilds a model from JSON and arrays.

    Parameters
    ----------
    arrays : list of ndarray
        The arrays that the JSON refers to by number.
    size : int
        Bytes of the file. What is mentioned twice counts twice, and the total is limited to a few times this size, so
        that neither memory nor the cost of a prediction can grow without the file.
    n_jobs : int, default=None
        Set in every part that has such a parameter; by default to the default of the part's constructor. The value in
        the file is ignored: the reader chooses the number of threads or processes.
    """

    def __init__(self, arrays: list[NDArray[Any]], size: int, n_jobs: int | None = None) -> None:
        self.arrays = arrays
        self._size = size
        self._n_jobs = n_jobs
        self._spent = 0
        self._costs: dict[int, int] = {}
        self._instances: dict[int, Any] = {}
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "float": lambda text: {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[text],
            "tuple": lambda items: tuple(self._all(items)),
            "set": lambda items: set(_keys(self._all(items))),
            "frozenset": lambda items: frozenset(_keys(self._all(items))),
            "dict": self._dict,
            "slice": lambda items: slice(*self._all(items)),
            "array": self._array,
            "objects": self._objects,
            "scalar": self._scalar,
            "dtype": lambda text: _dtype(text, _NUMPY_TYPES),
            "builtin": lambda name: _BUILTINS[name],
            "numpy type": lambda name: _dtype(name, _SCALARS).type,
            "function": lambda name: _allowed.resolve(name, _allowed.FUNCTIONS),
            "same": self._same,
            "deflated": self._inflated,
        }

    def decode(self, value: Any) -> Any:
        """The value that a piece of JSON describes."""
        self._spend(len(value) if isinstance(value, str) else 1)
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, list):
            return self._all(value)
        if "instance" in value:
            return self._instance(value["instance"], value["number"], value["attributes"])
        if "record" in value:
            return self._record(value["record"], value["fields"])
        if len(value) != 1 or next(iter(value)) not in self._kinds:
            raise ModelFileError(f"unknown kind of value: {', '.join(map(repr, list(value)[:5]))}")
        ((kind, content),) = value.items()
        return self._kinds[kind](content)

    def _all(self, items: list[Any]) -> list[Any]:
        return [self.decode(item) for item in items]

    def _dict(self, pairs: list[Any]) -> dict[Any, Any]:
        keys = _keys([self.decode(k) for k, _ in pairs])
        return dict(zip(keys, [self.decode(v) for _, v in pairs], strict=True))

    def _array(self, k: int) -> NDArray[Any]:
        array = self.arrays[_index(k)]
        self._spend(array.nbytes)
        return array

    def _inflated(self, content: list[Any]) -> str:
        k, length = content
        small = self._array(k)
        if small.dtype != np.uint8 or not 0 <= _index(length) <= _MOST_EXPANSION * small.size:
            raise ModelFileError(f"text of {length} bytes is compressed to {small.size}")
        self._spend(length)
        reader = zlib.decompressobj()
        plain = reader.decompress(small.tobytes(), length + 1)
        if len(plain) != length or not reader.eof:
            raise ModelFileError("compressed text is damaged")
        return plain.decode("utf-8", "surrogatepass")

    def _same(self, k: int) -> Any:
        if _index(k) in self._instances and k not in self._costs:
            raise ModelFileError("a part of the model contains itself")
        self._spend(self._costs[k])
        return self._instances[k]

    def _owner(self, value: Any) -> Any:
        """The estimator whose metadata request this is: the only case in which a part may refer to its container."""
        if isinstance(value, dict) and set(value) == {"same"}:
            return self._instances[_index(value["same"])]
        return self.decode(value)

    def _spend(self, cost: int) -> None:
        self._spent += cost
        if self._spent > 2**20 + _MOST_MENTIONS * self._size:
            raise ModelFileError("the file mentions the same arrays or parts too many times")

    def _objects(self, content: list[Any]) -> NDArray[Any]:
        shape, items = content
        if any(_index(length) > max(len(items), 1) for length in shape):
            raise ModelFileError(f"an array of {len(items)} objects declares the shape {shape}")
        flat = np.empty(len(items), dtype=object)
        for k, item in enumerate(items):
            flat[k] = self.decode(item)
        return flat.reshape(shape)

    def _scalar(self, content: list[str]) -> Any:
        dtype, content_hex = content
        return np.frombuffer(bytes.fromhex(content_hex), dtype=_dtype(dtype, _SCALARS), count=1)[0]

    def _record(self, name: str, fields: dict[str, Any]) -> Any:
        cls = _allowed.resolve(name, _allowed.RECORDS)
        expected, fields = _allowed.parts(name, cls), _allowed.today(name, fields)
        arguments = _version_0_1.converted(cls, {k: self.decode(v) for k, v in fields.items()})
        if set(arguments) != set(expected):
            raise ModelFileError(f"{name} has the fields {', '.join(fields)}; needed: {', '.join(expected)}")
        _records.check_fields(cls, arguments)
        record = cls(**arguments)
        _records.check_record(record)
        return record

    def _instance(self, name: str, number: int, attributes: dict[str, Any]) -> Any:
        cls = _allowed.resolve(name, _allowed.classes())
        if _index(number) in self._instances:
            raise ModelFileError(f"two instances have the number {number}")
        before, instance = self._spent, cls.__new__(cls)
        self._instances[number] = instance
        state = {k: self._owner(v) if k == "owner" else self.decode(v) for k, v in attributes.items()}
        _allowed.check_attributes(cls, state, name, ModelFileError)
        if isinstance(instance, BaseEstimator):
            if name.startswith("levelhead."):
                added = set(_allowed.ADDED_SETTINGS) & set(cls._get_param_names())
                state = {setting: _allowed.ADDED_SETTINGS[setting] for setting in added} | state
            _check_settings(cls, state, name)
            if "n_jobs" in state:
                state["n_jobs"] = _default_n_jobs(cls) if self._n_jobs is None else self._n_jobs
            BaseEstimator.__setstate__(instance, state)  # warns if another version of scikit-learn wrote it
        else:
            vars(instance).update(state)
        _soundness.check_instance(instance, self._size)
        self._costs[number] = self._spent - before
        return instance


def _check_settings(cls: Any, state: dict[str, Any], name: str) -> None:
    """Refuse an estimator without all its settings, or with what is neither a setting nor learnt nor private."""
    settings = set(cls._get_param_names())
    missing = settings - set(state)
    if missing:
        raise ModelFileError(
            f"{name} lacks the parameters {', '.join(sorted(missing))}: another version wrote the file"
        )
    for attribute in sorted(set(state) - settings):
        known = attribute.startswith("_") or attribute.endswith("_") or name.startswith("skrub.")
        if not known:  # for example, scikit-learn treats a model with `steps` as a pipeline
            raise ModelFileError(f"{name} has an attribute {attribute!r}, which is not a setting of it")


def _default_n_jobs(cls: type) -> int | None:
    given = signature(cls).parameters.get("n_jobs")
    return None if given is None else given.default


def _keys(keys: list[Any]) -> list[Any]:
    """The same keys: chosen to have one hash, they would make a set or dict extremely slow."""
    if len({hash(key) for key in keys}) < len(keys) // 2:
        raise ModelFileError(f"{len(keys)} keys of a set or dict have few different hashes")
    return keys


def _index(k: Any) -> int:
    if type(k) is not int or k < 0:
        raise ModelFileError(f"{k!r} is given instead of the number of an array or instance")
    return k


def _dtype(text: str, kinds: str) -> np.dtype[Any]:
    dtype = np.dtype(str(text))
    if dtype.kind not in kinds or dtype.names is not None or dtype.itemsize > _LARGEST_TYPE:
        raise ModelFileError(f"the type {text!r} does not occur in models")
    return dtype


def _n_judged(model: Any) -> int:
    """Training rows whose labels a model judges by out-of-fold predictions."""
    return max(len(getattr(part, "_row_keys", ())) for part in getattr(model, "estimators_", [model]))


def _ordered(items: Any) -> list[Any]:
    """Sets in an order that does not change from run to run."""
    return sorted(items, key=repr) if isinstance(items, (set, frozenset)) else list(items)


def _cannot(value: Any, where: str) -> TypeError:
    cls = value if isinstance(value, type) else type(value)
    what = f"{cls.__module__}.{cls.__qualname__}"
    if callable(value) and hasattr(value, "__qualname__"):
        what = f"{value.__module__}.{value.__qualname__}"
    return TypeError(
        f"{where} is {what}, which a model file cannot contain: only classes on levelhead's list are safe to load. "
        "Leave it out or replace it, or save the model with pickle or joblib for your own use"
    )
