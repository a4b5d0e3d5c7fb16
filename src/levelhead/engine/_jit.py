"""All compiler options in one place, and the disk cache of compiled kernels.

`leaf`, `part` and `inline` mark the functions that kernels consist of. `kernel` marks the few functions that Python
calls: each is always called with the same argument types and is kept on disk. Numba's own cache checks only whether the
file of the kernel itself has changed. Ours checks everything that kernels are built from, so that no kernel contains
old parts.

No option lets the compiler change a result: it may not reorder a sum, fuse a multiplication with an addition, or
replace a division. Fused operations are written as such (`fma`), and parallel sums have a fixed number of lanes
(`lane_sum`). So the same job gives the same bits on every processor, for any width of its vectors.
"""

import hashlib
import inspect
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from numba import njit
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile

from levelhead.theory import _chebyshev, elementary

FunctionT = TypeVar("FunctionT")

JIT = not vars(config)["DISABLE_JIT"]


class _Decorator(Protocol):
    """A compiled function has the signature of the plain one."""

    def __call__(self, function: FunctionT, /) -> FunctionT: ...


_njit: Any = njit
_options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False, "fastmath": False}
# A loop of its own, compiled by itself.
leaf: _Decorator = partial(_njit, **_options)
# Merged into its caller before compilation: every level of calls that is left costs a pass of the compiler.
part: _Decorator = partial(_njit, inline="always", **_options)
# Merged by the compiler itself, which a loop needs in order to become vector code.
inline: _Decorator = partial(_njit, forceinline=True, **_options)

_announced = False
_caches: list["_EngineCache"] = []
_added = ""  # sources of losses from other files
_in_use = False


def kernel(function: FunctionT) -> FunctionT:
    """Compile on first call, or load from disk what an earlier process compiled."""
    dispatcher = leaf(function)
    if JIT:
        # No writable folder: every process compiles for itself.
        with suppress(OSError, RuntimeError):
            vars(dispatcher)["_cache"] = _EngineCache(function)
            _caches.append(vars(dispatcher)["_cache"])
    return dispatcher


class _EngineCache(FunctionCache):
    """A function's cache that is stamped with the sources of the whole engine."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self.stamp()

    def stamp(self) -> None:
        """Use the files that belong to the sources as they are now.

        Numba writes the index before the kernel, so that another process could load an old kernel by a new index.
        With the sources in their names, no two versions share a file.
        """
        stamp = _source_stamp()
        self._cache_file = IndexDataCacheFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}-{stamp[:12]}",
            source_stamp=stamp,
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        global _in_use
        _in_use = True
        try:
            loaded = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception:  # a damaged or foreign file counts as missing
            loaded = None
            with suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]
        if loaded is None:
            _announce()
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        # Without the file the next process compiles again.
        with suppress(OSError):
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]


def add_source(function: Any) -> None:
    """Let kernels be compiled anew for a function from another file that becomes part of them."""
    global _added
    if function.__module__.startswith("levelhead.engine."):
        return
    if _in_use:
        raise RuntimeError("kernels are compiled already; add functions before the first network is trained")
    _added += Path(inspect.getfile(function)).read_text()
    for cache in _caches:
        cache.stamp()


def _source_stamp() -> str:
    sources = [
        *sorted(Path(__file__).parent.glob("*.py")),
        Path(_chebyshev.__file__),
        Path(elementary.__file__),
    ]
    digest = hashlib.sha256(_added.encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _announce() -> None:
    global _announced
    if not _announced:
        print(  # noqa: T201
            "levelhead: compiling the training kernels for this machine, once (about 15 seconds)",
            file=sys.stderr,
            flush=True,
        )
    _announced = True
