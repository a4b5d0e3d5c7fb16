"""A quick start: libraries are loaded without garbage collection."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Load libraries and models without garbage collection, and leave what they hold out of later collections.

    They create some hundred thousand objects that live as long as the process. Python searches them for garbage again
    and again while they are created, and once more at the end: a third of the CPU time of a prediction of ten rows.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()
