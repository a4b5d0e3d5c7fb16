"""`levelhead doctor`: what is installed, what is compiled, where data sets are searched for."""

import importlib
import importlib.metadata
import os
import pkgutil
import platform
import re
from pathlib import Path
from typing import Any

import levelhead
from levelhead._extras import available, install
from levelhead.cli import options, screen

_FOR_DEVELOPERS = ("all", "bench", "dev", "docs", "test", "torch-dev")


@screen.command
def doctor(as_json: options.Json = False) -> None:
    """Show versions, threads, compiled kernels, installed extras, and where data sets are looked up."""
    packages = _requirements()
    result: dict[str, Any] = {
        "versions": {
            "levelhead": levelhead.__version__,
            "python": platform.python_version(),
            **_versions(packages.pop("")),
        },
        "machine": _machine(),
        "kernels": _kernels(),
        "extras": {extra: _versions(names) for extra, names in packages.items()},
        "data": _data(),
    }
    if as_json:
        screen.print_json(result)
        return
    screen.facts("Versions", result["versions"].items())
    screen.facts("Machine", result["machine"].items())
    kernels = result["kernels"]
    screen.facts("Kernels", [("folder", kernels["folder"]), *kernels["compiled"].items()])
    screen.facts("Extras", [(name, _state(name, found)) for name, found in result["extras"].items()])
    screen.facts("Data sets", result["data"].items())


def _requirements() -> dict[str, list[str]]:
    """The packages that each extra requires; under the empty name, those that are always required."""
    found: dict[str, list[str]] = {"": []}
    for line in importlib.metadata.requires("levelhead") or []:
        package = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)", line)
        if package != "levelhead" and (extra is None or extra[1] not in _FOR_DEVELOPERS):
            found.setdefault(extra[1] if extra else "", []).append(package)
    return found


def _versions(packages: list[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found


def _state(extra: str, found: dict[str, str | None]) -> str:
    missing = [package for package, version in found.items() if version is None]
    if missing:
        return f"{', '.join(missing)} missing: {install(extra)}"
    return ", ".join(f"{package} {version}" for package, version in found.items())


def _machine() -> dict[str, Any]:
    from joblib import effective_n_jobs

    set_here = {
        name: os.environ[name] for name in ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS") if name in os.environ
    }
    return {
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "threads": effective_n_jobs(-1),
        **set_here,
    }


def _kernels() -> dict[str, Any]:
    """Where compiled kernels are cached, and which of them are up to date."""
    from levelhead import engine

    compiled: dict[str, str] = {}
    folder = "none: every process compiles again"
    for module in pkgutil.iter_modules(engine.__path__):
        for name, member in vars(importlib.import_module(f"{engine.__name__}.{module.name}")).items():
            file = getattr(getattr(member, "_cache", None), "_cache_file", None)
            if file is not None:
                folder = member._cache.cache_path
                compiled[name] = "compiled" if file._load_index() else "not yet compiled"
    return {"folder": folder, "compiled": compiled}


def _data() -> dict[str, str]:
    named = os.environ.get(levelhead.datasets.ENVIRONMENT)
    cached = [levelhead.datasets.user_cache()] if available("pooch") else []
    folders = [*([Path(named)] if named else []), *cached]
    found = {
        levelhead.datasets.ENVIRONMENT: named or "not set",
        "cache": str(cached[0]) if cached else f"none; downloads need: {install('datasets')}",
    }
    absent = "not found; will be downloaded on first use" if cached else "not found"
    for name in levelhead.datasets.TABLES:
        here = [folder for folder in folders if (folder / f"{name}.csv").is_file()]
        found[name] = str(here[0] / f"{name}.csv") if here else absent
    return found
