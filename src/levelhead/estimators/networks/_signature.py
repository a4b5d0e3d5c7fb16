"""Signatures of estimators that add parameters to those of their parent class."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Init = TypeVar("Init", bound=Callable[..., Any])


def adds_to(parent: type) -> Callable[[Init], Init]:
    """Show scikit-learn (and `help`) the parameters of `parent` in place of a constructor's `**common`."""

    def decorate(init: Init) -> Init:
        own = [p for p in inspect.signature(init).parameters.values() if p.kind is not p.VAR_KEYWORD]
        named = {p.name for p in own}
        inherited = [
            p for p in inspect.signature(vars(parent)["__init__"]).parameters.values() if p.name not in named
        ]
        order = sorted(own + inherited, key=lambda p: (p.kind, p.kind is p.KEYWORD_ONLY and p in inherited))
        init.__signature__ = inspect.Signature(order)  # type: ignore[attr-defined]
        return init

    return decorate
