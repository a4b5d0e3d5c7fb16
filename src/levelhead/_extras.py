"""Libraries that come with an extra: asked for when they are needed, and named with the line that installs them."""

import importlib
import importlib.util
from typing import Any


def install(extra: str) -> str:
    """The line that adds an extra; from a clone, because levelhead is on no package index."""
    return f"pip install '.[{extra}]' in a clone of levelhead"


def missing(library: str | None, purpose: str, extra: str) -> ImportError:
    """An error that says what needs the library and how to get it."""
    return ImportError(f"{purpose} needs {library}, which is not installed: {install(extra)}", name=library)


def needed(module: str, purpose: str, extra: str) -> Any:
    """The module; a library that is installed but broken raises its own error."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise missing(error.name, purpose, extra) from error


def available(library: str) -> bool:
    """Whether a library is installed, without importing it."""
    return importlib.util.find_spec(library) is not None
