"""Environments in which a processor pretends to be an older one; run as a script, it prints one for the shell.

`env $(python tests/portability/environment.py haswell) make unit` tests what machines with AVX2 but without AVX-512
will do.
"""

import sys

import numpy as np

_HASWELL = "sse sse2 sse3 ssse3 sse4.1 sse4.2 avx avx2 fma bmi bmi2 cx16 f16c lzcnt movbe popcnt"


def _numpy_features(*, beyond_avx2: bool) -> str:
    """What numpy uses on this machine beyond its minimum, or beyond AVX2; its versions have different names."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    wide = [name for name in found if "AVX512" in name or name == "X86_V4"]
    return ",".join(wide if beyond_avx2 else found)


def restricted(kind: str) -> dict[str, str]:
    """Variables for "haswell" (AVX2, no AVX-512) or "generic" (what every x86-64 processor has)."""
    if kind == "haswell":
        features = ",".join(f"+{name}" for name in _HASWELL.split())
        return {
            "NUMBA_CPU_NAME": "haswell",
            "NUMBA_CPU_FEATURES": features,
            "NPY_DISABLE_CPU_FEATURES": _numpy_features(beyond_avx2=True),
            "OPENBLAS_CORETYPE": "Haswell",
        }
    if kind == "generic":
        return {
            "NUMBA_CPU_NAME": "generic",
            "NPY_DISABLE_CPU_FEATURES": _numpy_features(beyond_avx2=False),
            "OPENBLAS_CORETYPE": "Prescott",
        }
    raise ValueError(f"{kind!r} is not one of haswell, generic")


if __name__ == "__main__":
    print(*(f"{name}={value}" for name, value in restricted(sys.argv[1]).items()))
