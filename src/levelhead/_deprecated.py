"""Old public names: they work for one more release, with a FutureWarning."""

import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
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
    "levelhead.study.pages": "levelhead.study.paper.pages",
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


def renamed_attribute(old: str, new: str) -> Any:
    """A property under the old name of an attribute."""

    def read(self: Any) -> Any:
        _warn(f"{type(self).__name__}.{old} is now called {new}")
        return getattr(self, new)

    return property(read, doc=f"Old name of `{new}`.")


def _warn(what: str) -> None:
    warnings.warn(f"{what}; the old name goes with the next release", FutureWarning, stacklevel=3)


def install() -> None:
    """Register the finder of the old module names, after all others."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
