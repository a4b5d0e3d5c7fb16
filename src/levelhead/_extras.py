"""Libraries that come with an extra, asked for at the moment they are needed."""

import importlib
from typing import Any


def needed(module: str, purpose: str, extra: str) -> Any:
    """The module, or an error that says what needs it and how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(f"{purpose} needs {library}: pip install 'levelhead[{extra}]'") from error
