"""Optional libraries: imported when they are needed; the error of a missing one says how to install it."""

import importlib
import importlib.util
from typing import Any


def install(extra: str) -> str:
    """The command that adds an extra; from a clone, because levelhead is not on a package index."""
    return f"pip install '.[{extra}]' in a clone of levelhead"


def missing(library: str | None, purpose: str, extra: str) -> ImportError:
    """Return an error that says what needs the library and how to install it."""
    return ImportError(f"{purpose} needs {library}, which is not installed: {install(extra)}", name=library)


def needed(module: str, purpose: str, extra: str) -> Any:
    """Import a module; a library that is installed but broken raises its own error."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise missing(error.name, purpose, extra) from error


def available(library: str) -> bool:
    """Whether a library is installed, without importing it."""
    return importlib.util.find_spec(library) is not None
