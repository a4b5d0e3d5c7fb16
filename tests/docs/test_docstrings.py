"""Docstrings of public names are numpydoc, and agree with signatures: the same parameters, the same defaults."""

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

MODULES = (
    "levelhead",
    "levelhead.audits",
    "levelhead.audits.separation",
    "levelhead.auditing",
    "levelhead.budget",
    "levelhead.contamination",
    "levelhead.datasets",
    "levelhead.engine",
    "levelhead.engine.baselines",
    "levelhead.export",
    "levelhead.large",
    "levelhead.large.auditing",
    "levelhead.large.fitting",
    "levelhead.large.judging",
    "levelhead.large.memory",
    "levelhead.large.pieces",
    "levelhead.large.stages",
    "levelhead.losses",
    "levelhead.metrics",
    "levelhead.mlflow",
    "levelhead.plots",
    "levelhead.prediction",
    "levelhead.prediction.calibration",
    "levelhead.report",
    "levelhead.study",
    "levelhead.study.verification",
    "levelhead.tables",
    "levelhead.theory.dynamics.contaminated",
    "levelhead.theory.dynamics.equilibria",
    "levelhead.theory.dynamics.expansions",
    "levelhead.theory.dynamics.gradient_flow",
    "levelhead.theory.dynamics.populations",
    "levelhead.theory.dynamics.three_outputs",
    "levelhead.theory.elementary",
    "levelhead.theory.normal_gamma",
    "levelhead.theory.special",
    "levelhead.theory.student",
    "levelhead.torch",
)
_ELSEWHERE = re.compile(r"[Ss]ee `\w+\.\w+`\.$")  # the same method of a protocol is documented there

_SECTION = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)
_ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (?P<type>.+))?$")
_DEFAULT = re.compile(r"\bdefault=(?P<value>.+)$")


class Entry(NamedTuple):
    """What a docstring says of one parameter or attribute."""

    type: str
    description: str


def sections(doc: str) -> dict[str, str]:
    parts = _SECTION.split(inspect.cleandoc(doc))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(section: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    names: list[str] = []
    for line in section.strip("\n").splitlines():
        if line[:1].strip():  # not indented
            match = _ENTRY.match(line)
            names = [name.strip("* ") for name in match["names"].split(",")] if match else [line]
            untyped = "any" if line.startswith("*") else ""  # as in `**options`
            found |= {name: Entry((match["type"] if match else None) or untyped, "") for name in names}
        else:
            found |= {name: Entry(found[name].type, found[name].description + line.strip()) for name in names}
    return found


def parameters(thing: Any) -> dict[str, inspect.Parameter]:
    if hasattr(thing, "_fields"):  # a named tuple, which may have another constructor
        return {name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in thing._fields}
    try:
        found = dict(inspect.signature(thing).parameters)
    except ValueError:  # a class without a constructor of its own, such as an exception
        return {}
    return {name: one for name, one in found.items() if name not in ("self", "cls") and name[0] != "_"}


def own(thing: Any) -> set[str] | None:
    """Of a constructor with `**common`, which stands for the parameters of its parent: those that are not the same."""
    init = getattr(thing, "__init__", None)
    code = getattr(init, "__code__", None)
    if not inspect.isclass(thing) or code is None or not code.co_flags & inspect.CO_VARKEYWORDS:
        return None
    parent = next(cls for cls in thing.__mro__ if cls.__init__ is not init)
    written = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 1]}
    here, there = parameters(thing), parameters(parent)
    return {
        name
        for name in written
        if not (name in here and name in there and here[name].default == there[name].default)
    }


def is_ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).startswith("levelhead")


def has_own_constructor(cls: type) -> bool:
    return hasattr(cls, "_fields") or any(
        "__init__" in vars(parent) and is_ours(parent) for parent in cls.__mro__
    )


def methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Methods that were written here, by the class in which their docstring stands."""
    for name in dir(cls):
        written = [parent for parent in cls.__mro__ if name in vars(parent)]
        documented = [parent for parent in written if getattr(vars(parent)[name], "__doc__", None)]
        home = (documented or written)[0] if written else cls
        member = vars(home).get(name)
        plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if name[0] != "_" and is_ours(home) and is_ours(plain) and inspect.isfunction(inspect.unwrap(plain)):
            yield f"{home.__name__}.{name}", plain


def public(module: str) -> dict[str, Any]:
    """Public classes, functions and methods of a module."""
    loaded = importlib.import_module(module)
    listed = getattr(loaded, "__all__", None)
    names = listed or [name for name, thing in vars(loaded).items() if name[0] != "_" and is_ours(thing)]
    found: dict[str, Any] = {}
    for name in names:
        thing = getattr(loaded, name)
        if not listed and thing.__module__ != module:
            continue
        if inspect.isclass(thing):
            found[name] = thing
            found |= dict(methods(thing))
        elif inspect.isfunction(inspect.unwrap(thing)):
            found[name] = thing
    return found


def same(stated: str, default: Any, constants: Mapping[str, Any] = MappingProxyType({})) -> bool:
    if stated in constants:
        return bool(constants[stated] == default)
    if not isinstance(default, (bool, int, float, str, tuple, type(None))):
        return True  # an object or a function, which is named in words
    try:
        value = ast.literal_eval(stated)
    except (ValueError, SyntaxError):
        return stated.removeprefix("np.").removeprefix("math.") == str(default)
    return value == default and isinstance(value, bool) == isinstance(default, bool)


def faults(thing: Any) -> Iterator[str]:
    """What is wrong with one docstring."""
    parts = sections(thing.__doc__ or "")
    if not (thing.__doc__ or "").strip():
        yield "no docstring"
    stated = entries(parts.get("Parameters", ""))
    attributes = entries(parts.get("Attributes", "")) if inspect.isclass(thing) else {}
    for name, entry in (stated | attributes).items():
        if not entry.type or not entry.description:
            yield f"{name} is not written as `name : type` with the description on the next line"
    if inspect.isclass(thing) and (not has_own_constructor(thing) or getattr(thing, "_is_protocol", False)):
        return
    if _ELSEWHERE.search(thing.__doc__ or ""):
        return
    actual = parameters(thing)
    only, constants = own(thing), vars(importlib.import_module(thing.__module__))
    for name, one in actual.items():
        if name not in stated and name not in attributes and (only is None or name in only):
            yield f"{name} is not documented"
        elif name in stated and one.default is not inspect.Parameter.empty:
            match = _DEFAULT.search(stated[name].type)
            if match is None:
                if one.default is not None or "optional" not in stated[name].type:
                    yield f"{name} has the default {one.default!r}, which is not documented"
            elif not same(match["value"], one.default, constants):
                yield f"{name} has the default {one.default!r}, documented as {match['value']}"
    for name in stated:
        if name not in actual and name not in (only or ()):
            yield f"{name} is documented and is not a parameter"


@pytest.mark.parametrize("module", MODULES)
def test_docstrings_agree_with_signatures(module):
    if module in ("levelhead.torch", "levelhead.mlflow"):
        pytest.importorskip(module.removeprefix("levelhead."))
    found = {f"{name}: {fault}" for name, thing in public(module).items() for fault in faults(thing)}
    assert not found, f"{module}:\n" + "\n".join(sorted(found))


# ---------------------------------------------------------------------- the check itself


def _good(x, rate=0.5, *, name=None):
    """Do something.

    Parameters
    ----------
    x : float
        A number.
    rate : float, default=0.5
        Another.
    name : str, optional
        A name.
    """


def _description_in_the_place_of_the_type(x):
    """Do something.

    Parameters
    ----------
    x : a number.
    """


def _wrong_names(x, y):
    """Do something.

    Parameters
    ----------
    x : float
        A number.
    z : float
        Another.
    """


def _wrong_defaults(x=1, y=True, z=3):
    """Do something.

    Parameters
    ----------
    x : int, default=2
        A number.
    y : bool, default=1
        Another.
    z : int
        A third.
    """


@pytest.mark.parametrize(
    ("stated", "default"),
    [
        ("2", 2.0),
        ("None", None),
        ('"auto"', "auto"),
        ("auto", "auto"),
        ("(64, 64)", (64, 64)),
        ("np.inf", float("inf")),
    ],
)
def test_ways_to_state_a_default(stated, default):
    assert same(stated, default)
    assert not same(stated, "another")


def test_it_finds_what_is_wrong():
    assert not list(faults(_good))
    assert len(list(faults(_description_in_the_place_of_the_type))) == 1
    assert sorted(faults(_wrong_names)) == [
        "y is not documented",
        "z is documented and is not a parameter",
    ]
    assert [fault.split()[0] for fault in faults(_wrong_defaults)] == ["x", "y", "z"]
