"""From a file to a model or an audit in one call, as `levelhead fit` and `levelhead audit` do."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from levelhead.files.auditing import FileAudit as FileAudit
    from levelhead.files.auditing import audit_file as audit_file
    from levelhead.files.fitting import FittedFile as FittedFile
    from levelhead.files.fitting import fit_file as fit_file

_HOME = {"FileAudit": "auditing", "audit_file": "auditing", "FittedFile": "fitting", "fit_file": "fitting"}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:  # `levelhead predict` needs neither
    if name not in _HOME:
        raise AttributeError(f"module 'levelhead.files' has no attribute {name!r}")
    return getattr(importlib.import_module(f"levelhead.files.{_HOME[name]}"), name)
