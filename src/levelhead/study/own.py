"""Tables and methods from outside: a file with labels, and any regressor that can be imported.

>>> method = load_method("sklearn.linear_model:Ridge(alpha=2.0)")
>>> method.name, method.estimator, method.version.split()[0]
('Ridge(alpha=2.0)', Ridge(alpha=2.0), 'scikit-learn')
"""

import ast
import difflib
import hashlib
import importlib
import importlib.metadata
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from levelhead import tables
from levelhead.contamination import Contamination, Replaced
from levelhead.estimators import tabular_pipeline
from levelhead.study.paper.table1 import CONTAMINATIONS, SEEDS, TEST_SIZE
from levelhead.study.specs import Data, Spec

_SOURCE = 12  # digits of the digest of a source file


class Method(NamedTuple):
    """A regressor from outside.

    Attributes
    ----------
    name : str
        Name in tables: the class with the given arguments.
    estimator : estimator
        Unfitted.
    version : str
        Name and version of its package, or a digest of its source file.
    """

    name: str
    estimator: Any
    version: str


def load_method(text: str) -> Method:
    """Import a class and call it.

    Parameters
    ----------
    text : str
        ``package.module:Class`` or ``package.module:Class(name=value, …)``, with numbers, text, lists and other
        literals as values. The package is installed, or lies in the current folder. A function that returns a
        regressor will do, too.

    Returns
    -------
    Method
        The regressor with its name and version.

    Raises
    ------
    ValueError
        If the text has another form, the class does not exist, or it is not a regressor of scikit-learn's kind.
    """
    place, _, call = text.partition(":")
    name, arguments = _parsed(text, call)
    module = _imported(text, place)
    if not hasattr(module, name):
        public = [one for one in dir(module) if not one.startswith("_")]
        near = difflib.get_close_matches(name, public, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{text}: {place} has no class {name!r}{hint}")
    try:
        estimator = getattr(module, name)(**arguments)
    except Exception as error:
        raise ValueError(f"{text}: cannot be created ({error})") from error
    lacking = [part for part in ("fit", "predict", "get_params") if not hasattr(estimator, part)]
    if lacking:
        raise ValueError(
            f"{text}: not a regressor of scikit-learn's kind, because it has no {lacking[0]}; derive the class from "
            "sklearn.base.RegressorMixin and BaseEstimator"
        )
    return Method(call.strip(), estimator, _version(module))


def load_data(
    path: str | os.PathLike[str], target: str, *, drop: Collection[str] = (), keep: Collection[str] = ()
) -> tuple[Data, tuple[str, ...]]:
    """Read a table as `levelhead fit` does. Labels that stand for "missing" are left out.

    Parameters
    ----------
    path : path-like
        Any file that `levelhead.tables` reads; its name without the ending is the name of the table.
    target : str
        Column with the labels.
    drop : collection of str, default=()
        Columns not to use as features.
    keep : collection of str, default=()
        Columns to use as features although they seem to identify the rows.

    Returns
    -------
    tuple of Data and tuple of str
        The table, and what was assumed or left out.
    """
    table = tables.training_table(Path(path), target, drop=drop, keep=keep)
    kept = ~np.isin(table.y, list(table.target_codes))
    said = [*table.remarks, *(found.text for found in table.quality)]
    if not kept.all():
        said.append(f"{target}: left out {np.sum(~kept):,} labels that probably stand for a missing value")
    name = Path(path).name.partition(".")[0]
    return Data(name, table.X[kept].reset_index(drop=True), table.y[kept]), tuple(said)


def own_specs(
    datasets: Sequence[str | Data],
    methods: Sequence[Method],
    contamination: Sequence[float] = CONTAMINATIONS,
    seeds: Sequence[int] = SEEDS,
    *,
    kind: Contamination | None = None,
    label: str = "{method}",
) -> Iterator[Spec]:
    """Create the specs of methods from outside, with the protocol, splits and wrong labels of Table 1.

    Methods of other packages get raw tables (categories, dates, missing cells) through `tabular_pipeline`.

    Parameters
    ----------
    datasets : sequence of str or Data
        Public data sets, or tables of your own.
    methods : sequence of Method
        Methods, from `load_method`.
    contamination : sequence of float, default=CONTAMINATIONS
        Shares of wrong labels, fractions.
    seeds : sequence of int, default=SEEDS
        Seeds of the splits.
    kind : Contamination or None, default=None
        Kind of wrong labels; by default that of the paper.
    label : str, default="{method}"
        Name of the methods in tables.

    Yields
    ------
    Spec
        One run.
    """
    kind = Replaced() if kind is None else kind
    for dataset in datasets:
        for seed in seeds:
            for wrong in contamination:
                for method in methods:
                    yield Spec(
                        dataset,
                        wrong,
                        label.format(method=method.name),
                        seed,
                        _taking(dataset, method.estimator),
                        kind=kind,
                        test_size=TEST_SIZE,
                        version=method.version,
                    )


def _taking(dataset: str | Data, estimator: Any) -> Any:
    """The estimator, or a pipeline with it if it would not take the columns of the table."""
    raw = isinstance(dataset, Data) and not isinstance(dataset.X, np.ndarray)
    ours = type(estimator).__module__.partition(".")[0] == "levelhead"
    return tabular_pipeline(estimator) if raw and not ours else estimator


def _parsed(text: str, call: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of `Class` or `Class(name=value)`."""
    try:
        expression = ast.parse(call.strip(), mode="eval").body
        if isinstance(expression, ast.Name):
            return expression.id, {}
        if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name) and not expression.args:
            given = {str(one.arg): ast.literal_eval(one.value) for one in expression.keywords if one.arg}
            return expression.func.id, given
    except (SyntaxError, ValueError):
        pass
    raise ValueError(
        f"{text!r} does not name a method; write package.module:Class, or 'package.module:Class(name=value)' "
        "with plain values"
    )


def _imported(text: str, place: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)  # workers in other processes get this path, too
    try:
        return importlib.import_module(place)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{place}.".startswith(f"{error.name}.")
        reason = "neither installed nor in this folder" if missing else f"{type(error).__name__}: {error}"
        raise ValueError(f"{text}: {place} cannot be imported ({reason})") from error


def _version(module: Any) -> str:
    top = module.__name__.partition(".")[0]
    found = importlib.metadata.packages_distributions().get(top)
    if found:
        return f"{found[0]} {importlib.metadata.version(found[0])}"
    source = Path(module.__file__).read_bytes()
    return f"{module.__name__} {hashlib.sha256(source).hexdigest()[:_SOURCE]}"
