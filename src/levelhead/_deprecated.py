"""Old public names: they work for one more release, with a FutureWarning."""

import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from numbers import Real
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MOVED = {
    "levelhead.theory.calibration": "levelhead.prediction.calibration",
    "levelhead.theory.contaminated": "levelhead.theory.dynamics.contaminated",
    "levelhead.theory.equilibria": "levelhead.theory.dynamics.equilibria",
    "levelhead.theory.expansions": "levelhead.theory.dynamics.expansions",
    "levelhead.theory.information": "levelhead.theory.student",
    "levelhead.theory.populations": "levelhead.theory.dynamics.populations",
    "levelhead.theory.prognosis": "levelhead.theory.student",
    "levelhead.theory.separation": "levelhead.audits.separation",
    "levelhead.estimators.bayes": "levelhead.estimators.networks.bayes",
    "levelhead.estimators.boosting": "levelhead.estimators.trees.boosting",
    "levelhead.estimators.divergences": "levelhead.estimators.networks.divergences",
    "levelhead.estimators.gaussian": "levelhead.estimators.networks.gaussian",
    "levelhead.estimators.gcp": "levelhead.estimators.networks.gcp",
    "levelhead.study.beyond": "levelhead.study.paper.beyond",
    "levelhead.study.boosting": "levelhead.study.paper.trees",
    "levelhead.study.comparison": "levelhead.study.paper.comparison",
    "levelhead.study.grid_search": "levelhead.study.paper.grid_search",
    "levelhead.study.looks": "levelhead.study.line_styles",
    "levelhead.study.marks": "levelhead.study.paper.targets",
    "levelhead.study.synthetic_fits": "levelhead.study.paper.synthetic_fits",
    "levelhead.study.table1": "levelhead.study.paper.table1",
    "levelhead.study.theory_figures": "levelhead.study.paper.theory_figures",
    "levelhead.study.variance_corrections": "levelhead.study.paper.variance_corrections",
}


class _Finder(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Give the old module the names of the new one."""
        new = MOVED[module.__name__]
        _warn(f"{module.__name__} has moved to {new}")
        names = vars(importlib.import_module(new))
        vars(module).update({name: value for name, value in names.items() if not name.startswith("__")})


def renamed_argument(old: str, new: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function also take an argument by its old name."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            if old in kwargs:
                _warn(f"the argument {old!r} of {function.__qualname__} is now called {new!r}")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def percentages(old: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function also take percentages of wrong labels, and the kind of wrong labels as `contamination`."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
            name = function.__qualname__.removesuffix(".__init__")
            kind = kwargs.get("contamination", 0.0)
            if kind is None or hasattr(kind, "wrong_labels"):
                _warn(f"the kind of wrong labels is now the argument 'kind' of {name}")
                kwargs["kind"] = kwargs.pop("contamination")
            if old in kwargs:
                _warn(f"the argument {old!r} of {name}, in percent, is now 'contamination', a fraction")
                given: Any = kwargs.pop(old)
                kwargs["contamination"] = (
                    given / 100
                    if isinstance(given, Real)
                    else tuple(percentage / 100 for percentage in given)
                )
            return function(*args, **kwargs)

        return wrapped

    return decorate


def percentage(self: Any) -> float:
    """Return the contamination of an object in percent, for an attribute `share`."""
    _warn(f"{type(self).__name__}.share, in percent, is now contamination, a fraction", 4)
    return round(100 * float(self.contamination), 10)


def renamed_function(old: str, new: Callable[P, T]) -> Callable[P, T]:
    """A function under its old name."""

    @wraps(new)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        _warn(f"{old} is now called {new.__name__}")
        return new(*args, **kwargs)

    return wrapped


def renamed_attribute(old: str, new: str) -> Any:
    """A property under the old name of an attribute."""

    def read(self: Any) -> Any:
        return renamed_value(self, old, new)

    return property(read, doc=f"Old name of `{new}`.")


def renamed_value(self: Any, old: str, new: str) -> Any:
    """Return the value of an attribute that was asked for by its old name."""
    _warn(f"{type(self).__name__}.{old} is now called {new}", 4)
    return getattr(self, new)


def _warn(what: str, stacklevel: int = 3) -> None:
    warnings.warn(
        f"{what}; the old name will be removed in the next release", FutureWarning, stacklevel=stacklevel
    )


def install() -> None:
    """Register the finder of the old module names, after all others."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
